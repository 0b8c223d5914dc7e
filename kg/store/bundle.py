"""Backups: one file that git can clone from, and a repository made of it again."""

from __future__ import annotations

import os
import shutil

from kg.errors import AlreadyExistsError, RefusedError, StoreError
from kg.gitprogram import git
from kg.place import Place
from kg.store.repository import create


def make_bundle(place: Place, file: str) -> str:
    """Write all branches, tags and HEAD to a bundle, read it back, and return its path.

    It appears under its name only once git has found it whole.

    Raises:
        AlreadyExistsError: there is such a file.
        StoreError: git or the disk says no; nothing is left behind.
    """
    file = os.path.abspath(file)
    if os.path.lexists(file):
        raise AlreadyExistsError(f"{file} is there already: name another file")
    if not os.path.isdir(os.path.dirname(file)):
        raise RefusedError(f"{os.path.dirname(file)} is no folder: make it first")
    new = f"{file}.new"
    try:
        git(place.gitdir, ("bundle", "create", "--quiet", new, "HEAD", "--branches", "--tags"))
        git(place.gitdir, ("bundle", "verify", "--quiet", new))
        if heads_of(place.gitdir, new).get("HEAD") != _head(place.gitdir):
            raise StoreError(f"{file} has another HEAD than the store: write it again")
        os.replace(new, file)
    finally:
        if os.path.lexists(new):
            os.unlink(new)
    return file


def heads_of(gitdir: str, file: str) -> dict[str, str]:
    """Return {ref: commit} of a bundle."""
    said = git(gitdir, ("bundle", "list-heads", file)).decode("utf-8", "replace")
    pairs = (line.partition(" ") for line in said.splitlines())
    return {ref: commit for commit, _, ref in pairs}


def restore_bundle(file: str, folder: str, *, bare: bool = False) -> str:
    """Make a repository of a bundle in a new folder; return its git directory.

    Raises:
        AlreadyExistsError: the folder is there and not empty.
        StoreError: git cannot read the bundle; nothing is left behind.
    """
    file, folder = os.path.abspath(file), os.path.abspath(folder)
    if not os.path.isfile(file):
        raise RefusedError(f"there is no file {file}: name the backup that kg backup wrote")
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise AlreadyExistsError(f"{folder} is there already: name a new folder")
    existed = os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    gitdir = folder if bare else f"{folder}/.git"
    try:
        create(folder, bare=bare)
        _fill(gitdir, file)
        if not bare:
            git(gitdir, ("reset", "--quiet", "--hard"), top=folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            os.makedirs(folder, exist_ok=True)
        raise
    return gitdir


def _fill(gitdir: str, file: str) -> None:
    heads = heads_of(gitdir, file)
    names = [ref for ref in heads if ref.startswith("refs/heads/")]
    same = [ref for ref in names if heads[ref] == heads.get("HEAD")]
    if not names:
        raise StoreError(f"{file} has no branch: name a backup that kg backup wrote")
    git(gitdir, ("bundle", "unbundle", file))
    refs = [ref for ref in heads if ref.startswith(("refs/heads/", "refs/tags/"))]
    commands = "".join(f"create {ref} {heads[ref]}\n" for ref in refs)
    git(gitdir, ("update-ref", "--stdin"), data=commands.encode())
    git(gitdir, ("symbolic-ref", "HEAD", (same or names)[0]))


def _head(gitdir: str) -> str:
    return git(gitdir, ("rev-parse", "HEAD")).decode().strip()
