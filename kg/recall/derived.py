"""A SQLite file that is derived from a tree: opened, brought up to HEAD, made anew.

It lies beside the repository and is keyed by the tree of a folder, so that what it answers is
what one commit says. Readers never wait: they see the snapshot before or after a change.
Whoever writes to the file or replaces it holds a lock, because a database and its log must not
be swapped under a writer (sqlite.org/howtocorrupt.html). Where nothing can be written it is
built in memory, which is slower and no error. What it holds, its heirs know.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from kg import place as places
from kg.recall.engine import BUSY, index_uris
from kg.recall.lock import Held
from kg.recall.source import Git, GitFailedError, GitMissingError, committed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kg.place import Place
    from kg.recall.source import Change


class Derived:
    """What a folder of the store says at one commit. Close it, or use it in a `with` statement.

    `tree` and `head` are "" where the content is a folder's; `notes` tell a person what was
    not as usual. An heir says which folder it is (`_below`, from the repository's top), how
    its tables are made, and what to read and load into them.
    """

    optional = False  # whether a store without the folder has nothing, rather than no commit

    def __init__(self, place: Place, file: str, below: str) -> None:
        """Use `fresh`: this one is empty until it is refreshed."""
        self.place, self.tree, self.head = place, "", ""
        self.notes: list[str] = []
        self._file, self._below = file, below
        self._on_disk = self._writes = False
        self.connection = self._empty()

    @classmethod
    def fresh(cls, place: Place) -> Self:
        """Return the index of what HEAD says now.

        Raises:
            StoreError: the repository cannot be read.
        """
        index = cls.of(place)
        index.refresh()
        return index

    @classmethod
    def rebuilt(cls, place: Place) -> Self:
        """Return the index of what HEAD says, made anew: for one that proves to be damaged."""
        index = cls.of(place)
        index.rebuild()
        return index

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return an empty one for a store."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the index itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def refresh(self) -> None:
        """Bring the index to what HEAD says now: microseconds where it is there already."""
        self.notes = []
        if not self.place.gitdir or self.place.seed:
            self._from_folder()
            return
        git = self._git()
        try:
            head = places.head(self.place.gitdir)
            self._refresh(git, git.head() if head is None else head)
        except GitMissingError as error:
            if self.place.bare:
                raise
            self.notes.append(f"{error}; meanwhile these are the files in {self.place.folder}")
            self._from_folder()

    def rebuild(self) -> None:
        """Make the index anew, and the file with it."""
        self._use(self._empty(), on_disk=False)
        self.tree = self.head = ""
        if self._file:
            with suppress(OSError), Held(self._file + ".lock"):
                _remove(self._file)
        self.refresh()

    def advance(self, old: str, tree: str, head: str, changes: Mapping[str, bytes | None]) -> None:
        """Apply a commit that the caller has just made; paths are relative to the store.

        Does nothing where this is not at the tree `old` or is busy: the next reader catches up.
        """
        rows = committed(changes, tree)
        if not self._on_disk:
            if self.tree == old:
                self._step(self.connection, old, tree, head, rows)
            return
        with suppress(OSError, sqlite3.Error), Held(self._file + ".lock", 0):
            self._open_to_write()
            self._step(self.connection, old, tree, head, rows)

    # --- what it holds, for heirs to say ---

    def _create(self, con: sqlite3.Connection) -> None:
        """Create the tables; `meta` has one row, with columns `tree` and `head`."""
        raise NotImplementedError

    def _usable(self, con: sqlite3.Connection) -> bool:
        """Whether a file has tables of this version."""
        raise NotImplementedError

    def _apply(self, con: sqlite3.Connection, changes: Iterable[Change], *, empty: bool) -> None:
        """Bring changes into the tables."""
        raise NotImplementedError

    def _all(self, git: Git, tree: str) -> Iterable[Change]:
        """Return every file of a tree."""
        raise NotImplementedError

    def _changed(self, git: Git, old: str, tree: str) -> Iterable[Change]:
        """Return what differs in a tree from an old one."""
        raise NotImplementedError

    def _in_folder(self) -> Iterable[Change]:
        """Return every file of the store's folder, for a store without git."""
        raise NotImplementedError

    def _git(self) -> Git:
        return Git(self.place.gitdir)

    # --- how it gets there ---

    def _refresh(self, git: Git, head: str) -> None:
        if not head:
            self._from_folder()
            return
        if (self._on_disk and self._is_at(head=head)) or self._open_at(head=head):
            return
        tree = git.tree(head, self._below)
        if not tree:
            self._nothing(head) if self.optional else self._from_folder()
        elif self._open_at(tree=tree):
            self._record(tree, head)
        elif not self._on_file(git, tree, head):
            self._use(self._empty(), on_disk=False)
            self._fill(self.connection, self._all(git, tree), tree, head)

    def _nothing(self, head: str) -> None:
        self._use(self._empty(), on_disk=False)
        self.tree, self.head = "", head

    def _from_folder(self) -> None:
        self._use(self._empty(), on_disk=False)
        self._fill(self.connection, self._in_folder(), "", "")

    def _on_file(self, git: Git, tree: str, head: str) -> bool:
        """Bring the file there; False where it cannot be written."""
        try:
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with Held(self._file + ".lock"):
                try:
                    self._open_to_write()
                    self._catch_up(git, tree, head)
                except (sqlite3.Error, GitFailedError):
                    # missing, damaged, of another version, or its tree is no longer there
                    self._build(git, tree, head)
        except (OSError, sqlite3.Error):
            return False
        return True

    def _catch_up(self, git: Git, tree: str, head: str) -> None:
        old = self.connection.execute("select tree from meta").fetchone()[0]
        changes = self._changed(git, old, tree) if old != tree else ()
        self._step(self.connection, old, tree, head, changes)

    def _build(self, git: Git, tree: str, head: str) -> None:
        """Write a new file beside the old one and put it in its place."""
        self._use(self._empty(), on_disk=False)  # lets go of the old one
        new = self._file + ".new"
        for suffix in ("", "-wal", "-shm", "-journal"):
            _remove(new + suffix)
        con = sqlite3.connect(new, isolation_level=None)
        try:
            for pragma in ("journal_mode=off", "synchronous=off", "cache_size=-65536"):
                con.execute(f"pragma {pragma}")
            self._create(con)
            self._fill(con, self._all(git, tree), tree, head)
            con.execute("pragma journal_mode=wal")
        finally:
            con.close()
        with open(new, "rb+") as file:
            os.fsync(file.fileno())
        for suffix in ("-wal", "-shm"):
            _remove(self._file + suffix)
        os.replace(new, self._file)
        self._open_to_write()
        self.tree, self.head = tree, head

    def _fill(
        self, con: sqlite3.Connection, changes: Iterable[Change], tree: str, head: str
    ) -> None:
        with transaction(con):
            self._apply(con, changes, empty=True)
            con.execute("update meta set tree = ?, head = ?", (tree, head))
        self.tree, self.head = tree, head

    def _step(
        self, con: sqlite3.Connection, old: str, tree: str, head: str, changes: Iterable[Change]
    ) -> None:
        with transaction(con):
            if con.execute("select tree from meta").fetchone()[0] != old:
                return
            if tree != old:
                self._apply(con, changes, empty=False)
            con.execute("update meta set tree = ?, head = ?", (tree, head))
        self.tree, self.head = tree, head

    def _record(self, tree: str, head: str) -> None:
        """Note that another commit has the same tree, so that the next reader need not ask."""
        self.head = head
        with suppress(OSError, sqlite3.Error), Held(self._file + ".lock", 0):
            self._open_to_write()
            self._step(self.connection, tree, tree, head, ())

    def _open_at(self, **wanted: str) -> bool:
        """Open the file for reading if it is there, sound, and at that head or tree."""
        for uri in index_uris(self._file):
            with suppress(sqlite3.Error):
                con = _connect(uri)
                if self._usable(con):
                    before = self.connection, self._on_disk, self._writes
                    self.connection = con
                    if self._is_at(**wanted):
                        self.connection = before[0]
                        self._use(con, on_disk=True)
                        return True
                    self.connection, self._on_disk, self._writes = before
                con.close()
        return False

    def _is_at(self, **wanted: str) -> bool:
        tree, head = self.connection.execute("select tree, head from meta").fetchone()
        if wanted not in ({"head": head}, {"tree": tree}):
            return False
        self.tree, self.head = tree, head
        return True

    def _open_to_write(self) -> None:
        """Open the file for writing; the caller holds the lock.

        Raises:
            sqlite3.Error: it is missing, damaged or of another version.
        """
        if self._writes:
            return
        con = _connect(index_uris(self._file)[0].replace("mode=ro", "mode=rw"))
        if not self._usable(con):
            con.close()
            raise sqlite3.DatabaseError("another version")
        con.execute("pragma synchronous=normal")
        self._use(con, on_disk=True, writes=True)

    def _empty(self) -> sqlite3.Connection:
        con = sqlite3.connect(":memory:", isolation_level=None)
        self._create(con)
        return con

    def _use(self, con: sqlite3.Connection, *, on_disk: bool, writes: bool = False) -> None:
        self.connection.close()
        self.connection, self._on_disk, self._writes = con, on_disk, writes


@contextmanager
def transaction(con: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done within, or nothing of it."""
    con.execute("begin immediate")
    try:
        yield
    except BaseException:
        con.execute("rollback")
        raise
    con.execute("commit")


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, timeout=BUSY, isolation_level=None, uri=True)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
