"""`.git/kg/resolve.db`: the names of a store, to be found by what is alike.

A candidate pair is what a person may have to judge: two entities of a type that are alike, share
an identifying fact, or are one slip of the pen apart, or two of different types with one name.
Each entity has the few nearest of those that came before it, so that the pairs are a function
of the tree, and a new entity costs a look at its own names. They are found when somebody asks
for them: a write only notes whose are to be found anew.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from kg.graph.pairing import CandidatePair, Known, Pairing, Rules, mark_of
from kg.recall import parse
from kg.recall.derived import Derived, transaction
from kg.recall.engine import index_file
from kg.recall.lock import Held
from kg.recall.source import Git, folder_changes
from kg.resolve.blocking import TABLES, Alike, Names
from kg.text import fold

if TYPE_CHECKING:
    from kg.place import Place
    from kg.recall.source import Change

T = TypeVar("T")
_AT_ONCE = 2000  # entities that are paired while others wait
VERSION = 1  # of these tables and of what goes into them, the scorers' readings included
_TABLES = """
create table meta (version int, prefix text, rules text, tree text, head text);
create table ent (id text primary key, path text, born text, facts int, printed text, paired int)
    without rowid;
create index ent_path on ent (path);
create index ent_born on ent (born);
create index ent_paired on ent (paired) where paired = 0;
create table called (folded text, id text, primary key (folded, id)) without rowid;
create table marked (mark text, id text, primary key (mark, id)) without rowid;
create table pair (later text, earlier text, kind text, detail text, score text, weight real,
                   gap real,
                   primary key (later, earlier)) without rowid;
create index pair_earlier on pair (earlier);
"""


class Blocks(Derived):
    """The names of a store at one commit, as `Derived` has it."""

    def __init__(self, place: Place, rules: Rules) -> None:
        """Use `refresh` next: it is empty until then."""
        self.rules = rules
        folder, _, name = index_file(place).rpartition("/")
        file = f"{folder}/resolve{name.removeprefix('recall')}" if name else ""
        super().__init__(place, file, place.prefix)

    def alike(self, type_name: str, name: str, cut: Fraction, most: int = 0) -> list[Alike]:
        """Return the entities with a name that scores `cut` or more, as `Names.alike` has it."""
        return self._sound(lambda: self._names.alike(type_name, name, cut, most))

    def marked(self, mark: str) -> list[str]:
        """Return the entities that have an identifying fact (`mark_of`)."""
        sql = "select id from marked where mark = ? order by id"
        return self._sound(lambda: [row[0] for row in self.connection.execute(sql, (mark,))])

    def pairs(self, most: int) -> list[CandidatePair]:
        """Return the candidate pairs, what weighs most first; finds those not found yet."""
        return self._sound(
            lambda: self._pairs("order by weight desc, later, earlier limit ?", most)
        )

    def pairs_of(self, id_: str) -> list[CandidatePair]:
        """Return the candidate pairs that an entity is in."""
        which = "where later = ?1 or earlier = ?1 order by weight desc"
        return self._sound(lambda: self._pairs(which, id_))

    @property
    def _names(self) -> Names:
        return Names(self.connection, self.rules.scorer_of)

    def _sound(self, ask: Callable[[], T]) -> T:
        """Return an answer; of a file that proves to be damaged, from one made anew."""
        try:
            return ask()
        except (sqlite3.DatabaseError, ValueError):
            self.rebuild()
            return ask()

    def _pairs(self, which: str, value: object) -> list[CandidatePair]:
        self._pair_up()
        sql = (
            "select p.*, coalesce(a.facts, 0) + coalesce(b.facts, 0) from pair p"
            f" left join ent a on a.id = later left join ent b on b.id = earlier {which}"
        )
        return list(map(CandidatePair._make, self.connection.execute(sql, (value,))))

    def _pair_up(self) -> None:
        while self.connection.execute("select 1 from ent where paired = 0").fetchone():
            if not self._on_disk:
                self._pair_some()
                continue
            try:
                with Held(self._file + ".lock"):  # between two turns, whoever writes may go on
                    self._open_to_write()
                    self._pair_some()
            except (OSError, sqlite3.OperationalError):  # nothing can be written: in memory then
                self._use(self._empty(), on_disk=False)
                self._fill(self.connection, self._all(self._git(), self.tree), self.tree, self.head)

    def _pair_some(self) -> None:
        with transaction(self.connection):
            Pairing(self.connection, self.rules).run(_AT_ONCE)

    # --- what it holds ---

    def _create(self, con: sqlite3.Connection) -> None:
        con.executescript(_TABLES + TABLES)
        row = (VERSION, self.place.prefix, self.rules.printed())
        con.execute("insert into meta values (?, ?, ?, '', '')", row)

    def _usable(self, con: sqlite3.Connection) -> bool:
        try:
            row = con.execute("select version, prefix, rules from meta").fetchone()
        except sqlite3.Error:
            return False
        return bool(row == (VERSION, self.place.prefix, self.rules.printed()))

    def _apply(self, con: sqlite3.Connection, changes: Iterable[Change], *, empty: bool) -> None:
        wanted = (change for change in changes if change.path.startswith("entities/"))
        _Loader(con, self.rules).apply(wanted, empty=empty)

    def _all(self, git: Git, tree: str) -> Iterable[Change]:
        entries = git.entries(tree)
        return git.changes(e for e in entries if e.path.startswith("entities/"))

    def _changed(self, git: Git, old: str, tree: str) -> Iterable[Change]:
        entries = git.changed(old, tree)
        return git.changes(e for e in entries if e.path.startswith("entities/"))

    def _in_folder(self) -> Iterable[Change]:
        return folder_changes(self.place.folder) if self.place.folder else ()


class _Loader:
    """Brings changed entities into the tables, inside a transaction of the caller's."""

    def __init__(self, con: sqlite3.Connection, rules: Rules) -> None:
        self._con, self._rules = con, rules
        self._names = Names(con, rules.scorer_of)

    def apply(self, changes: Iterable[Change], *, empty: bool) -> None:
        """Apply changes; what is resolved as before costs nothing."""
        for change in changes:
            old = None if empty else self._at(change.path)
            known, facts = read(change, self._rules.identifying)
            if known and old == known:
                self._con.execute("update ent set facts = ? where id = ?", (facts, known.id))
                continue
            if old:
                self._remove(old)
            if known:
                self._put(known, change.path, facts)

    def _at(self, path: str) -> Known | None:
        sql = "select id, printed from ent where path = ?"
        row = self._con.execute(sql, (path,)).fetchone()
        return Known.parse(*row) if row else None

    def _put(self, known: Known, path: str, facts: int) -> None:
        ex = self._con.execute
        there = ex("select printed from ent where id = ?", (known.id,)).fetchone()
        if there:  # at another path, that it moves away from
            self._remove(Known.parse(known.id, there[0]))
        row = (known.id, path, known.born, facts, known.printed())
        ex("insert into ent values (?, ?, ?, ?, ?, 0)", row)
        for name in known.names:
            ex("insert or ignore into called values (?, ?)", (fold(name), known.id))
        for mark in known.marks:
            ex("insert or ignore into marked values (?, ?)", (mark, known.id))
        self._names.add(known.id, known.type, known.names, known.born)

    def _remove(self, known: Known) -> None:
        ex = self._con.execute
        self._names.remove(known.id)
        for name in known.names:
            ex("delete from called where folded = ? and id = ?", (fold(name), known.id))
        for mark in known.marks:
            ex("delete from marked where mark = ? and id = ?", (mark, known.id))
        ex("delete from ent where id = ?", (known.id,))
        orphans = "select later from pair where earlier = ?"
        ex(f"update ent set paired = 0 where id in ({orphans})", (known.id,))
        ex("delete from pair where later = ?1 or earlier = ?1", (known.id,))


def read(change: Change, identifying: frozenset[str]) -> tuple[Known | None, int]:
    """Return what a file says of its entity as far as names go, and its number of facts."""
    if change.data is None:
        return None, 0
    try:
        entity, _ = parse.entity(change.data)
    except parse.UnreadableError:
        return None, 0
    also = [fact.v for fact in entity.facts if fact.k == "also-known-as"]
    marks = {mark_of(entity.type, fact.k, fact.v) for fact in entity.facts if fact.k in identifying}
    names = tuple(dict.fromkeys((entity.name, *sorted(also))))
    born = f"{parse.run_key(entity.first)} {entity.id}"
    return Known(entity.id, entity.type, names, tuple(sorted(marks)), born), len(entity.facts)
