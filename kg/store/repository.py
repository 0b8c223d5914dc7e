"""The git repository of a store, through libgit2: the only module that imports pygit2.

pygit2's errors never leave here. Trees are edited one by one along the touched paths, never
through the index: 2 ms a commit at any size (GIT.md, 2). libgit2 runs no hooks and reads no
GIT_* variable.
"""

from __future__ import annotations

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
    UnsupportedError,
)
from kg.place import Place
from kg.store.locks import held, release_ref_lock
from kg.store.loose import Loose, is_object_name, unreadable_head
from kg.store.refusals import OWN, PARTIAL, UNFOLD, config_text, told
from kg.store.signing import signed_commit
from kg.store.snapshot import Node, Snapshot

# libgit2 refuses to open a repository with this extension unless told that it is known;
# reading then works as long as the objects are there.
pygit2.settings.set_extensions(["partialclone"])
_KINDS = {FileMode.BLOB: "blob", FileMode.BLOB_EXECUTABLE: "blob", FileMode.TREE: "tree"}
_KINDS |= {FileMode.LINK: "link", FileMode.COMMIT: "commit"}
CONFLICT = "a conflict"  # in the place of a blob id, where a path is staged in several versions
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
        self._objects = Loose(place.commondir)
        with _git_errors(place):
            self._repo = pygit2.Repository(place.top or place.gitdir)

    def beside(self, prefix: str) -> Repository:
        """Return the store at a prefix of the same repository: itself where it is that one."""
        if prefix == self.place.prefix:
            return self
        place = self.place
        folder = f"{place.top}/{prefix}" if prefix else place.top
        return Repository(Place(folder, place.top, place.gitdir, place.why), self._committer)

    # reading

    def head(self) -> Snapshot:
        """Return the store as HEAD has it; empty before the first commit."""
        with _git_errors(self.place):
            try:
                found = self._repo.head.target
            except pygit2.GitError:
                if self._repo.head_is_unborn:
                    return Snapshot(self, "", "")
                raise
            try:
                return self.at(str(found))
            except NotFoundError:
                raise unreadable_head(str(found)) from None

    def at(self, revision: str) -> Snapshot:
        """Return the store at a revision, as git names them.

        Raises:
            NotFoundError: there is no such commit.
        """
        try:
            if is_object_name(revision):
                self._objects.check(revision)
            commit = self._repo.revparse_single(revision).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError):
            raise NotFoundError(f"{revision!a} names no commit: see git log") from None
        return Snapshot(self, str(commit.id), self._store_tree(commit))

    def entry(self, tree: str, path: str) -> Node | None:
        """Return the entry at a path below a tree, None where there is none."""
        with _git_errors(self.place):
            *folders, name = path.split("/")
            try:
                for folder in folders:
                    tree = str(self._tree(tree)[folder].id)
                return _node(self._tree(tree)[name])
            except (KeyError, ValueError):
                return None

    def entries(self, tree: str) -> list[Node]:
        """Return the entries directly in a tree."""
        with _git_errors(self.place):
            return [_node(entry) for entry in self._tree(tree)]

    def count(self, tree: str) -> int:
        """Return how many entries a tree has."""
        with _git_errors(self.place):
            return len(self._tree(tree))

    def blob(self, id_: str) -> bytes:
        """Return a blob's bytes."""
        with _git_errors(self.place):
            self._objects.check(id_)
            return self._repo[id_].peel(pygit2.Blob).data

    def blob_id(self, data: bytes) -> str:
        """Return the id git gives to these bytes, without writing them."""
        return str(pygit2.hash(data))

    def identity(self) -> tuple[str, str]:
        """Return (name, e-mail) of who commits here: as told, else as git is configured."""
        if self._committer:
            return self._committer
        config = self._repo.config
        try:
            return config["user.name"] or NOBODY[0], config["user.email"] or NOBODY[1]
        except (KeyError, pygit2.GitError):
            return NOBODY

    @property
    def signs(self) -> bool:
        """Whether git is configured to sign commits here."""
        return self._is_set("commit.gpgsign")

    # checks before a write

    def check_writable(self) -> None:
        """Refuse what kg cannot write, for good.

        Raises:
            UnsupportedError: partial clone, attributes with a filter, or a read-only folder.
        """
        if PARTIAL.search(config_text(self.place)):
            raise UnsupportedError(
                f"{self.place.gitdir} is a partial clone, which kg only reads: clone it in full"
            )
        probe = self.in_tree("entities/object/x.json")
        with _git_errors(self.place):  # attributes are looked up in the index too
            filtered = not self.place.bare and self._repo.get_attr(probe, "filter")
        if filtered:
            raise UnsupportedError(
                f"git attributes set a filter on {probe}, which kg would bypass: "
                f"write '{self.place.prefix or '*'} -filter' in .gitattributes, or {OWN}"
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
            raise StateError(f"a {name} is in progress in {self._where}: finish or abort it")
        if self.place.shared and self._repo.head_is_detached:
            raise StateError(f"HEAD is detached in {self._where}: check out a branch")

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
            root = self._tree(parent) if parent else None
            nested: dict[str, Any] = {}
            for path, data in changes.items():
                _put(nested, self.in_tree(path).split("/"), data)
            tree = self._edit(root, nested) or self._repo.TreeBuilder().write()
            if self.signs:
                return signed_commit(
                    self.place, str(tree), parent, message, author=author,
                    committer=self.identity(),
                )  # fmt: skip
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

    def ref_of_head(self) -> str:
        """Return the name of the ref that HEAD stands for, "HEAD" where it is detached."""
        with _git_errors(self.place):
            head = self._repo.lookup_reference("HEAD")
            symbolic = head.type == pygit2.enums.ReferenceType.SYMBOLIC
            return str(head.target) if symbolic else "HEAD"

    def move(self, ref: str, old: str, new: str, why: str, deadline: float) -> None:
        """Move a ref from `old` ("" where there is none) to `new`, compare and swap.

        Raises:
            Moved: it is not at `old` any more.
            BusyError: another program held its lock until the deadline.
        """
        while True:
            try:
                self._swap(ref, old, new, why)
            except (pygit2.GitError, OSError, KeyError, ValueError) as error:
                if self._id_of(ref) != old:
                    raise Moved from None
                if "lock" not in str(error):
                    raise told(self.place, str(error)) from None
                if time.monotonic() > deadline:
                    raise BusyError(held(self._ref_lock(ref))) from None
                time.sleep(0.005)  # libgit2 never waits for a lock
            else:
                return

    def unlock_ref(self, ref: str, commit: str) -> None:
        """Remove the lock on a ref that a dead writer, who was to move it there, left behind."""
        release_ref_lock(self._ref_lock(ref), commit)

    def contains(self, commit: str) -> bool:
        """Whether HEAD is at this commit or after it."""
        with _git_errors(self.place):
            head = self.head().commit
            if not head or commit not in self._repo:
                return False
            return head == commit or self._repo.descendant_of(head, commit)

    def new_index(self, path: str) -> LoadedIndex:
        """Return an index in memory that will be read from a file, which is not there yet."""
        return LoadedIndex(self, pygit2.Index(path))

    @property
    def sparse(self) -> bool:
        """Whether the working tree leaves files of HEAD out on purpose."""
        return self._is_set("core.sparsecheckout")

    @property
    def sparse_index(self) -> bool:
        """Whether git is told to fold folders outside the working tree into one entry."""
        return self.sparse and self._is_set("index.sparse")

    def in_tree(self, path: str) -> str:
        """Return a path of the store as a path in the repository's tree."""
        return f"{self.place.prefix}/{path}" if self.place.prefix else path

    @property
    def _where(self) -> str:
        return self.place.top or self.place.gitdir

    def _is_set(self, name: str) -> bool:
        config = self._repo.config
        return name in config and config.get_bool(name)

    def _swap(self, name: str, old: str, new: str, why: str) -> None:
        if not old:
            self._repo.create_reference(name, pygit2.Oid(hex=new), message=why)
            return
        ref = self._repo.lookup_reference(name)
        if str(ref.target) != old:
            raise Moved
        ref.set_target(pygit2.Oid(hex=new), why)  # compares with the value just loaded

    def _id_of(self, ref: str) -> str:
        try:
            return str(self._repo.lookup_reference(ref).target)
        except (KeyError, ValueError, pygit2.GitError):
            return ""

    def _ref_lock(self, ref: str) -> str:
        return f"{self.place.gitdir if ref == 'HEAD' else self.place.commondir}/{ref}.lock"

    def _tree(self, id_: str) -> pygit2.Tree:
        self._objects.check(id_)
        found = self._repo[id_]
        if not isinstance(found, pygit2.Tree):
            self._objects.check(str(found.peel(pygit2.Commit).tree.id))
        return found.peel(pygit2.Tree)

    def _store_tree(self, commit: pygit2.Commit) -> str:
        if not self.place.prefix:
            return str(commit.tree.id)
        found = self.entry(str(commit.tree.id), self.place.prefix)
        return found.id if found and found.kind == "tree" else ""

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


def _node(entry: Any) -> Node:  # noqa: ANN401 - any kind of git object
    return Node(entry.name or "", str(entry.id), _KINDS[FileMode(entry.filemode)])


def _put(nested: dict[str, Any], parts: list[str], data: bytes | None) -> None:
    for part in parts[:-1]:
        nested = nested.setdefault(part, {})
    nested[parts[-1]] = data


class LoadedIndex:
    """An index file that libgit2 has read; paths are the store's."""

    def __init__(self, repository: Repository, index: pygit2.Index) -> None:
        self._repository, self._index = repository, index
        self._conflicts = index.conflicts

    def read(self) -> None:
        """Read the file. Not by `pygit2.Index(path)`: where that fails, it fails again later.

        Raises:
            UnsupportedError: an index libgit2 cannot read (split, sparse).
        """
        try:
            self._index.read(True)
        except pygit2.GitError as error:
            top = self._repository.place.top
            raise UnsupportedError(f"the index of {top}: {error}: {UNFOLD}") from None
        self._conflicts = self._index.conflicts

    def id_of(self, path: str) -> str:
        """Return the staged blob id, "" where there is none, CONFLICT where there are several."""
        full = self._repository.in_tree(path)
        if self._conflicts is not None and full in self._conflicts:
            return CONFLICT
        try:
            return str(self._index[full].id)
        except KeyError:
            return ""

    def write(self, ids: Mapping[str, str]) -> None:
        """Set these paths' entries ("" removes) and write the file it came from."""
        with _git_errors(self._repository.place):
            for path, id_ in ids.items():
                full = self._repository.in_tree(path)
                if id_:
                    self._index.add(pygit2.IndexEntry(full, pygit2.Oid(hex=id_), FileMode.BLOB))
                elif self.id_of(path):
                    self._index.remove(full)
            self._index.write()


@contextmanager
def _git_errors(place: Place) -> Iterator[None]:
    try:
        yield
    except KgError:
        raise
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise told(place, str(error)) from None
