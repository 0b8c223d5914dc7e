"""The recall index of one store: opened, brought up to HEAD, and asked.

One SQLite file beside the repository, keyed by the store folder's tree, so that what it
answers is what one commit says. Readers never wait: they see the snapshot before or after a
change. Whoever writes to the file or replaces it holds a lock, because a database and its
log must not be swapped under a writer (sqlite.org/howtocorrupt.html). Where nothing can be
written the index is built in memory, which is slower and no error.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from kg import place as places
from kg.recall import near, schema
from kg.recall.engine import BUSY, index_file, index_uris
from kg.recall.forms import squash
from kg.recall.load import Loader
from kg.recall.lock import Held
from kg.recall.source import (
    Git,
    GitFailedError,
    GitMissingError,
    changed_to,
    folder_changes,
    order,
    read_by_kg,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from kg.place import Place
    from kg.recall.source import Change


class Index:
    """What a store says at one commit. Close it, or use it in a `with` statement.

    `tree` and `head` are "" where the content is a folder's; `notes` tell a person what was
    not as usual.
    """

    def __init__(self, place: Place) -> None:
        """Use `Index.fresh`: this one is empty until it is refreshed."""
        self.place, self.tree, self.head = place, "", ""
        self.notes: list[str] = []
        self.connection = _in_memory(place.prefix)
        self._file = index_file(place)
        self._on_disk = self._writes = False

    @classmethod
    def fresh(cls, place: Place) -> Index:
        """Return the index of what HEAD says now.

        Raises:
            StoreError: the repository cannot be read.
        """
        index = cls(place)
        index.refresh()
        return index

    @classmethod
    def rebuilt(cls, place: Place) -> Index:
        """Return the index of what HEAD says, made anew: for one that proves to be damaged."""
        index = cls(place)
        index.rebuild()
        return index

    def __enter__(self) -> Self:
        """Return the index itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        git = Git(self.place.gitdir)
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
        self._use(_in_memory(self.place.prefix), on_disk=False)
        self.tree = self.head = ""
        if self._file:
            with suppress(OSError), Held(self._file + ".lock"):
                _remove(self._file)
        self.refresh()

    def advance(
        self, old_tree: str, new_tree: str, new_head: str, changes: Mapping[str, bytes | None]
    ) -> None:
        """Apply a commit that the caller has just made; paths are relative to the store.

        Does nothing where the index is not at `old_tree` or is busy: the next reader catches up.
        """
        wide = len(new_tree) == 64  # hex digits: a repository of sha256 ids
        rows = [
            changed_to(path, "" if data is None else _blob_id(data, wide=wide), data)
            for path, data in sorted(changes.items(), key=lambda item: order(item[0]))
            if read_by_kg(path)
        ]
        if not self._on_disk:
            if self.tree == old_tree:
                self._step(self.connection, old_tree, new_tree, new_head, rows)
            return
        with suppress(OSError, sqlite3.Error), Held(self._file + ".lock", 0):
            self._open_to_write()
            self._step(self.connection, old_tree, new_tree, new_head, rows)

    def ids_named(self, type_prefix: str, folded: str) -> list[str]:
        """Return the entities of a type ("org") with a name or alias of that folded form."""
        sql = (
            "select distinct e.id from key k join ent e on e.n = k.ent"
            " where k.squash = ? and k.folded = ? and k.kind in ('name', 'alias')"
            " and e.id between ? and ?"
            " order by e.id"
        )
        row = (squash(folded), folded, f"{type_prefix}/", f"{type_prefix}/\U0010ffff")
        return [found[0] for found in self.connection.execute(sql, row)]

    def ids_like(self, text: str) -> list[str]:
        """Return a few ids whose id or name is near `text`, nearest first."""
        return near.ids_like(self.connection, text)

    def edges_of(self, id: str) -> list[tuple[str, str, str, str]]:  # noqa: A002
        """Return (subject, predicate, object, path) of each edge at `id`, either way."""
        sql = (
            "select s, p, o, path from edge where s = ? union"
            " select s, p, o, path from edge where o = ? order by 1, 2, 3, 4"
        )
        return self.connection.execute(sql, (id, id)).fetchall()

    def path_of(self, id: str) -> str | None:  # noqa: A002
        """Return the path of an entity's file in the store, None where there is none."""
        sql = "select min(p.path) from ent e join page p on p.n = e.n where e.id = ?"
        found: str | None = self.connection.execute(sql, (id,)).fetchone()[0]
        return found

    # --- how it gets there ---

    def _refresh(self, git: Git, head: str) -> None:
        if not head:
            self._from_folder()
            return
        if (self._on_disk and self._is_at(head=head)) or self._open_at(head=head):
            return
        tree = git.tree(head, self.place.prefix)
        if not tree:
            self._from_folder()
        elif self._open_at(tree=tree):
            self._record(tree, head)
        elif not self._on_file(git, tree, head):
            self._use(_in_memory(self.place.prefix), on_disk=False)
            self._fill(self.connection, git.changes(git.entries(tree)), tree, head)

    def _from_folder(self) -> None:
        self._use(_in_memory(self.place.prefix), on_disk=False)
        changes = folder_changes(self.place.folder) if self.place.folder else ()
        self._fill(self.connection, changes, "", "")

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
        changes = git.changes(git.changed(old, tree)) if old != tree else ()
        self._step(self.connection, old, tree, head, changes)

    def _build(self, git: Git, tree: str, head: str) -> None:
        """Write a new file beside the old one and put it in its place."""
        self._use(_in_memory(self.place.prefix), on_disk=False)  # lets go of the old one
        new = self._file + ".new"
        for suffix in ("", "-wal", "-shm", "-journal"):
            _remove(new + suffix)
        con = sqlite3.connect(new, isolation_level=None)
        try:
            for pragma in ("journal_mode=off", "synchronous=off", "cache_size=-65536"):
                con.execute(f"pragma {pragma}")
            schema.create(con, self.place.prefix)
            self._fill(con, git.changes(git.entries(tree)), tree, head)
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
        with _transaction(con):
            Loader(con).apply(changes, empty=True)
            con.execute("update meta set tree = ?, head = ?", (tree, head))
        self.tree, self.head = tree, head

    def _step(
        self, con: sqlite3.Connection, old: str, tree: str, head: str, changes: Iterable[Change]
    ) -> None:
        with _transaction(con):
            if con.execute("select tree from meta").fetchone()[0] != old:
                return
            if tree != old:
                Loader(con).apply(changes)
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
                if schema.usable(con, self.place.prefix):
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
        if not schema.usable(con, self.place.prefix):
            con.close()
            raise sqlite3.DatabaseError("another version")
        con.execute("pragma synchronous=normal")
        self._use(con, on_disk=True, writes=True)

    def _use(self, con: sqlite3.Connection, *, on_disk: bool, writes: bool = False) -> None:
        self.connection.close()
        self.connection, self._on_disk, self._writes = con, on_disk, writes


@contextmanager
def _transaction(con: sqlite3.Connection) -> Iterator[None]:
    con.execute("begin immediate")
    try:
        yield
    except BaseException:
        con.execute("rollback")
        raise
    con.execute("commit")


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, timeout=BUSY, isolation_level=None, uri=True)


def _in_memory(prefix: str) -> sqlite3.Connection:
    con = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(con, prefix)
    return con


def _blob_id(data: bytes, *, wide: bool) -> str:
    whole = b"blob %d\0" % len(data) + data
    made: Any = hashlib.sha256(whole) if wide else hashlib.sha1(whole, usedforsecurity=False)
    return str(made.hexdigest())


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
