"""What libgit2's and the disk's errors mean to a person, and what they can do about them."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kg.errors import StoreError, UnsupportedError

if TYPE_CHECKING:
    from kg.place import Place

OWN = "put the store in a repository of its own: kg init in another folder"
UNFOLD = (  # a split or sparse index
    "libgit2 cannot read it: git update-index --no-split-index, or git sparse-checkout reapply "
    f"--no-sparse-index; or {OWN}"
)
PARTIAL = re.compile(r"(?im)^\s*(promisor\s*=\s*true|partialclone\s*=)")  # in git's config


def told(place: Place, said: str) -> StoreError:
    """Return the error that tells a person what libgit2's means."""
    where, config = place.top or place.gitdir, config_text(place)
    for sign, text, kind, message in (
        (r"(?im)^\s*objectformat\s*=\s*sha256", config, UnsupportedError,
         f"uses sha256 object names, which libgit2 cannot write: {OWN}"),
        (r"(?im)^\s*refstorage\s*=\s*reftable", config, UnsupportedError,
         f"keeps its refs in a reftable, which libgit2 cannot read: {OWN}"),
        (r"No space left|quota", said, StoreError,
         "is on a disk that is full: make room and write again"),
        (r"Read-only file system|Permission denied", said, UnsupportedError,
         "is read-only: make it writable to write"),
        (r"owner|owned", said, UnsupportedError,
         f"belongs to another user: git config --global --add safe.directory {where}"),
        (r"not found|no match", said, StoreError, f"is damaged, run git fsck: {said}"),
    ):  # fmt: skip
        if re.search(sign, text):
            return kind(f"{where} {message}")
    return StoreError(f"{where}: {said}: run git fsck, and git status for its state")


@contextmanager
def disk_errors(place: Place) -> Iterator[None]:
    """Turn the operating system's errors into the store's."""
    try:
        yield
    except OSError as error:
        where = place.folder or place.gitdir
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise UnsupportedError(
                f"{error.filename or where} is read-only: make it writable to write"
            ) from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"the disk of {where} is full: make room and write again") from None
        raise StoreError(f"{where}: {error.strerror or error}: see git status") from None


def config_text(place: Place) -> str:
    """Return the repository's own configuration, as it stands in the file."""
    try:
        with open(f"{place.commondir}/config", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
