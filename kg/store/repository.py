"""The git repository of a store, through libgit2: the only module that imports pygit2.

pygit2's errors never leave here. Trees are edited one by one along the touched paths, never
through the index: 2 ms a commit at any size (GIT.md, 2). libgit2 runs no hooks and reads no
GIT_* variable.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pygit2
from pygit2.enums import FileMode

from kg.errors import (
    BusyError,
    KgError,
    NotARepositoryError,
    NotFoundError,
    StateError,
    StoreError,
    UnsupportedError,
)
from kg.place import Place
from kg.store.snapshot import Node, Snapshot

# libgit2 refuses to open a repository with this extension unless told that it is known;
# reading then works as long as the objects are there.
pygit2.settings.set_extensions(["partialclone"])
_KINDS = {FileMode.BLOB: "blob", FileMode.BLOB_EXECUTABLE: "blob", FileMode.TREE: "tree"}
_KINDS |= {FileMode.LINK: "link", FileMode.COMMIT: "commit"}
_OWN = "put the store in a repository of its own: kg init in another folder"
NOBODY = ("kg", "kg@kg.invalid")  # the committer where git knows no identity


class Moved(Exception):  # noqa: N818 - not an error: the write is planned anew
    """HEAD moved between reading it and writing it."""


class Repository:
    """One store's repository. `place` says where; nothing is kept but the handle."""

    def __init__(self, place: Place, committer: tuple[str, str] | None = None) -> None:
        """Open it.

        Raises:
            NotARepositoryError: there is none, or the folder is in none.
            UnsupportedError: libgit2 cannot open it; the message says what to do instead.
        """
        if not place.gitdir:
            raise NotARepositoryError(f"{place.folder} is in no git repository: run kg init there")
        self.place = place
        self._committer = committer
        with _git_errors(place):
            self._repo = pygit2.Repository(place.top or place.gitdir)

    # reading

    def head(self) -> Snapshot:
        """Return the store as HEAD has it; empty before the first commit."""
        with _git_errors(self.place):
            if self._repo.head_is_unborn:
                return Snapshot(self, "", "")
            return self.at(str(self._repo.head.target))

    def at(self, revision: str) -> Snapshot:
        """Return the store at a revision, as git names them.

        Raises:
            NotFoundError: there is no such commit.
        """
        try:
            commit = self._repo.revparse_single(revision).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError):
            raise NotFoundError(f"{ascii(revision)} names no commit: see git log") from None
        return Snapshot(self, str(commit.id), self._store_tree(commit))

    def entry(self, tree: str, path: str) -> Node | None:
        """Return the entry at a path below a tree, None where there is none."""
        with _git_errors(self.place):
            try:
                found = self._tree(tree)[path]
            except (KeyError, ValueError):
                return None
            return Node(found.name or "", str(found.id), _KINDS[FileMode(found.filemode)])

    def entries(self, tree: str) -> list[Node]:
        """Return the entries directly in a tree."""
        with _git_errors(self.place):
            return [
                Node(e.name or "", str(e.id), _KINDS[FileMode(e.filemode)]) for e in self._tree(tree)
            ]

    def count(self, tree: str) -> int:
        """Return how many entries a tree has."""
        with _git_errors(self.place):
            return len(self._tree(tree))

    def blob(self, id_: str) -> bytes:
        """Return a blob's bytes."""
        with _git_errors(self.place):
            return self._repo[id_].peel(pygit2.Blob).data

    def blob_id(self, data: bytes) -> str:
        """Return the id git gives to these bytes, without writing them."""
        return str(pygit2.hash(data))

    def commit_info(self, revision: str) -> tuple[str, str, int, tuple[str, ...]]:
        """Return (message, author name, author time, parents) of a commit."""
        with _git_errors(self.place):
            commit = self._repo[revision].peel(pygit2.Commit)
            parents = tuple(str(p) for p in commit.parent_ids)
            return commit.message, commit.author.name or "", commit.author.time, parents

    def identity(self) -> tuple[str, str]:
        """Return (name, e-mail) of who commits here: as told, else as git is configured."""
        if self._committer:
            return self._committer
        config = self._repo.config
        try:
            return config["user.name"] or NOBODY[0], config["user.email"] or NOBODY[1]
        except (KeyError, pygit2.GitError):
            return NOBODY

    # checks before a write

    def check_writable(self) -> None:
        """Refuse what kg cannot write, for good.

        Raises:
            UnsupportedError: partial clone, attributes with a filter, or a read-only folder.
        """
        config = self._repo.config
        if "extensions.partialclone" in config:
            raise UnsupportedError(
                f"{self.place.gitdir} is a partial clone, which kg only reads: clone it in full"
            )
        probe = self._in_tree("entities/object/x.json")
        if not self.place.bare and self._repo.get_attr(probe, "filter"):
            raise UnsupportedError(
                f"git attributes set a filter on {probe}, which kg would bypass: "
                f"write '{self.place.prefix or '*'} -filter' in .gitattributes, or {_OWN}"
            )
        if not os.access(self.place.gitdir, os.W_OK):
            raise UnsupportedError(f"{self.place.gitdir} is read-only: make it writable to write")

    def check_state(self) -> None:
        """Refuse while something is under way that an interruption would undo.

        Raises:
            StateError: a merge, rebase, bisect ... is in progress, or HEAD is detached in a
                repository that holds more than the store.
        """
        state = self._repo.state()
        if state:
            name = re.sub(r"[^a-z]+", " ", state.name.lower())
            raise StateError(
                f"a {name} is in progress in {self.place.top or self.place.gitdir}: finish or abort it"
            )
        if self.place.shared and self._repo.head_is_detached:
            raise StateError(
                f"HEAD is detached in {self.place.top or self.place.gitdir}: check out a branch"
            )

    # writing

    def commit_objects(
        self,
        parent: str,
        changes: Mapping[str, bytes | None],
        message: str,
        author: tuple[str, str, int],
    ) -> str:
        """Write blobs, the touched trees and a commit on `parent`; return its id. No ref moves."""
        with _git_errors(self.place):
            root = self._repo[parent].peel(pygit2.Tree) if parent else None
            nested: dict[str, Any] = {}
            for path, data in changes.items():
                _put(nested, self._in_tree(path).split("/"), data)
            tree = self._edit(root, nested) or self._repo.TreeBuilder().write()
            committer = pygit2.Signature(*self.identity())
            name, email, at = author
            return str(
                self._repo.create_commit(
                    None,
                    pygit2.Signature(name, email, at, 0),
                    committer,
                    message,
                    tree,
                    [pygit2.Oid(hex=parent)] if parent else [],
                )
            )

    def move_head(self, old: str, new: str, why: str, deadline: float) -> str:
        """Move the ref that HEAD names from `old` to `new`, compare and swap; return its name.

        Raises:
            Moved: it is not at `old` any more.
            BusyError: another program held its lock until the deadline.
        """
        while True:
            try:
                return self._swap(old, new, why)
            except (pygit2.GitError, OSError, ValueError) as error:
                if "does not match" in str(error) or self.head().commit != old:
                    raise Moved from None
                if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS):
                    raise
                if time.monotonic() > deadline:
                    raise BusyError(f"a ref stays locked ({error}): try again") from None
                time.sleep(0.005)  # libgit2 never waits for a lock

    def contains(self, commit: str) -> bool:
        """Whether HEAD is at this commit or after it."""
        with _git_errors(self.place):
            head = self.head().commit
            if not head or commit not in self._repo:
                return False
            return head == commit or self._repo.descendant_of(head, commit)

    def index_ids(self, index: str, paths: list[str]) -> dict[str, str]:
        """Return {path: staged blob id or ""} from an index file.

        Raises:
            UnsupportedError: an index libgit2 cannot read (split, sparse).
        """
        loaded = self._index(index)
        entries = {path: _entry(loaded, self._in_tree(path)) for path in paths}
        return {path: str(entry.id) if entry else "" for path, entry in entries.items()}

    @property
    def sparse(self) -> bool:
        """Whether the working tree leaves files of HEAD out on purpose."""
        config = self._repo.config
        return "core.sparsecheckout" in config and config.get_bool("core.sparsecheckout")

    def edit_index(self, index: str, ids: Mapping[str, str]) -> None:
        """Set these paths' entries in an index file ("" removes); all others stay as they are."""
        loaded = self._index(index)
        with _git_errors(self.place):
            for path, id_ in ids.items():
                full = self._in_tree(path)
                if id_:
                    loaded.add(pygit2.IndexEntry(full, pygit2.Oid(hex=id_), FileMode.BLOB))
                elif _entry(loaded, full):
                    loaded.remove(full)
            loaded.write()

    def _index(self, path: str) -> pygit2.Index:
        try:
            loaded = pygit2.Index(path)
            loaded.read(True)  # noqa: FBT003 - positional in pygit2
        except pygit2.GitError as error:
            raise UnsupportedError(
                f"libgit2 cannot read the index ({error}): turn the split or sparse index off "
                f"(git update-index --no-split-index; git sparse-checkout reapply --no-sparse-index), or {_OWN}"
            ) from None
        return loaded

    def _swap(self, old: str, new: str, why: str) -> str:
        head = self._repo.lookup_reference("HEAD")
        name = str(head.target) if head.type == pygit2.enums.ReferenceType.SYMBOLIC else "HEAD"
        if not old:
            self._repo.create_reference(name, pygit2.Oid(hex=new), message=why)
            return name
        ref = self._repo.lookup_reference(name)
        if str(ref.target) != old:
            raise Moved
        ref.set_target(pygit2.Oid(hex=new), why)  # compares with the value just loaded
        return name

    def _tree(self, id_: str) -> pygit2.Tree:
        return self._repo[id_].peel(pygit2.Tree)

    def _store_tree(self, commit: pygit2.Commit) -> str:
        if not self.place.prefix:
            return str(commit.tree.id)
        found = self.entry(str(commit.tree.id), self.place.prefix)
        return found.id if found and found.kind == "tree" else ""

    def _in_tree(self, path: str) -> str:
        return f"{self.place.prefix}/{path}" if self.place.prefix else path

    def _edit(self, tree: pygit2.Tree | None, nested: Mapping[str, Any]) -> pygit2.Oid | None:
        """Return the id of `tree` with the changes; None where nothing is left in it."""
        builder = self._repo.TreeBuilder(tree) if tree is not None else self._repo.TreeBuilder()
        for name, change in nested.items():
            if isinstance(change, dict):
                below = builder.get(name)
                id_ = self._edit(below if isinstance(below, pygit2.Tree) else None, change)
                mode = FileMode.TREE
            else:
                id_ = None if change is None else self._repo.create_blob(change)
                mode = FileMode.BLOB
            if id_ is not None:
                builder.insert(name, id_, mode)
            elif builder.get(name) is not None:
                builder.remove(name)
        return builder.write() if len(builder) else None


def create(folder: str, *, bare: bool) -> None:
    """Make a git repository in the format libgit2 can read, whatever git's own default is."""
    pygit2.init_repository(folder, bare=bare, initial_head="main")


def _put(nested: dict[str, Any], parts: list[str], data: bytes | None) -> None:
    for part in parts[:-1]:
        nested = nested.setdefault(part, {})
    nested[parts[-1]] = data


def _entry(index: pygit2.Index, path: str) -> pygit2.IndexEntry | None:
    try:
        found: pygit2.IndexEntry = index[path]
    except KeyError:
        return None
    return found


@contextmanager
def _git_errors(place: Place) -> Iterator[None]:
    try:
        yield
    except KgError:
        raise
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise _told(place, str(error)) from None


def _told(place: Place, said: str) -> StoreError:
    where = place.top or place.gitdir
    config = _text(f"{place.commondir}/config")
    if re.search(r"(?im)^\s*objectformat\s*=\s*sha256", config):
        return UnsupportedError(f"{where} uses sha256 object names, which libgit2 cannot write: {_OWN}")
    if re.search(r"(?im)^\s*refstorage\s*=\s*reftable", config):
        return UnsupportedError(f"{where} keeps its refs in a reftable, which libgit2 cannot read: {_OWN}")
    if "No space left" in said or "quota" in said:
        return StoreError(f"the disk of {where} is full: make room and write again")
    if "Read-only file system" in said or "Permission denied" in said:
        return UnsupportedError(f"{where} is read-only: make it writable to write")
    if "owner" in said or "owned" in said:
        return UnsupportedError(
            f"{where} belongs to another user: git config --global --add safe.directory {where}"
        )
    if "not found" in said or "no match" in said:
        return StoreError(f"{where}: {said}: the repository is damaged, run git fsck")
    return StoreError(f"{where}: {said}: run git fsck, and git status for its state")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


