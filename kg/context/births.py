"""In which order the facts of a store came to be: its history, read once and kept.

The files say by which run a fact was first seen, but not what came first within a run, and a
run that tells late would put its facts in between. So the order is that of the commits along
first parents (what a merge brings is born with the merge), and within one by the fact itself: a
function of HEAD alone, however a clone came there. A fact that was taken back and told again is
born anew; one that moves to another file is not. What was read is kept beside the index, keyed by
the commit, so that the next question reads only what came since.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Self

from kg.gitprogram import git
from kg.recall import parse
from kg.recall.engine import index_file
from kg.recall.lock import Held
from kg.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kg.place import Place

VERSION = 3
_AT_ONCE = 4000  # files whose bytes are in memory
_TABLES = """
create table if not exists meta (version int, prefix text, head text);
create table if not exists born (fact integer primary key, n int, v text, src text, run text);
"""


_Held = dict[int, tuple[str, str, str, str]]  # key, value, source and run of facts, by `number`


class Birth(NamedTuple):
    """When a fact came to be, in order, and the value, source and run that it had then."""

    n: int
    v: str
    src: str
    run: str


class _Step(NamedTuple):
    """One file that a commit changed: the ids of what it was and is, "" for nothing."""

    old: str
    new: str


class Births:
    """When each fact of a store came to be. Close it, or use it in a `with` statement."""

    def __init__(self, con: sqlite3.Connection) -> None:
        """Read the order, by `number`, from a connection that is closed with this."""
        self._con = con
        self.order: dict[int, int] = dict(con.execute("select fact, n from born"))

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Let go of the file."""
        self._con.close()

    def of(self, key: str) -> Birth | None:
        """Return the birth of a fact, None of one that history does not have."""
        sql = "select n, v, src, run from born where fact = ?"
        row = self._con.execute(sql, (number(key),)).fetchone()
        return Birth(*row) if row else None


def fact_key(id_: str, k: str, v: str, since: str) -> str:
    """Return what tells a fact from others; of an edge `k` is "-> " and the predicate."""
    return "\x1f".join((id_, k, fold(v), since))


def number(key: str) -> int:
    """Return a key as 64 bits of a hash: hundreds of thousands of them are in memory."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True)


def births(place: Place, head: str) -> Births:
    """Return when each fact of a store came to be; nothing outside git.

    Raises:
        StoreError: the history cannot be read.
    """
    if not place.state or place.seed or not head:
        return Births(_in_memory())
    file = index_file(place)
    folder, _, name = file.rpartition("/")
    path = f"{folder}/born{name.removeprefix('recall')}"
    try:
        os.makedirs(folder, exist_ok=True)
        with Held(path + ".lock"):
            return _brought_up(_opened(path, place), place, head)
    except (OSError, sqlite3.Error):  # nothing can be written, or it is no database any more
        with suppress(OSError):
            os.unlink(path)
        return _brought_up(_in_memory(), place, head)


def _in_memory() -> sqlite3.Connection:
    con = sqlite3.connect(":memory:", isolation_level=None)
    con.executescript(_TABLES)
    return con


def _opened(path: str, place: Place) -> sqlite3.Connection:
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(_TABLES)
    row = con.execute("select version, prefix from meta").fetchone()
    if row and row != (VERSION, place.prefix):
        con.executescript("drop table meta; drop table born;" + _TABLES)
    return con


def _brought_up(con: sqlite3.Connection, place: Place, head: str) -> Births:
    try:
        return _read_up(con, place, head)
    except BaseException:
        con.close()
        raise


def _read_up(con: sqlite3.Connection, place: Place, head: str) -> Births:
    row = con.execute("select head from meta").fetchone()
    known = row[0] if row else ""
    if known != head:
        con.execute("begin immediate")
        if known and not _follows(place, known, head):
            con.execute("delete from born")
            known = ""
        _read(con, place, f"{known}..{head}" if known else head)
        con.execute("delete from meta")
        con.execute("insert into meta values (?, ?, ?)", (VERSION, place.prefix, head))
        con.execute("commit")
    return Births(con)


def _follows(place: Place, old: str, new: str) -> bool:
    """Whether the first parents of `new` lead to `old`: then what came since is all there is."""
    chain = git(place.gitdir, ("rev-list", "--first-parent", new)).split(b"\n")
    return old.encode() in chain


def _read(con: sqlite3.Connection, place: Place, commits: str) -> None:
    """Note what each commit brought and took away."""
    noted = _Noted(con)
    some: list[_Step | None] = []  # None where a commit begins
    for step in _log(place, commits):
        some.append(step)
        if len(some) >= _AT_ONCE:
            noted.add(place, some)
            some = []
    noted.add(place, [*some, None])


class _Noted:
    """The births of the commits read so far, and what the present one has brought up to now."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._at: int = con.execute("select coalesce(max(n), 0) from born").fetchone()[0]
        self._new: _Held = {}
        self._gone: set[int] = set()

    def add(self, place: Place, steps: list[_Step | None]) -> None:
        """Go some steps on."""
        oids = dict.fromkeys(oid for step in steps if step for oid in step if oid)
        held = dict(zip(oids, _facts(place, list(oids)), strict=True))
        held[""] = {}
        for step in steps:
            if step is None:
                self._end()
                continue
            before, after = held[step.old], held[step.new]
            self._gone |= before.keys() - after.keys()
            self._new.update({fact: after[fact] for fact in after.keys() - before.keys()})

    def _end(self) -> None:
        """Write what a commit comes to; what it only moved to another file is not touched."""
        moved = self._gone & self._new.keys()
        gone = [(fact,) for fact in self._gone - moved]
        self._con.executemany("delete from born where fact = ?", gone)
        new = sorted((self._new[fact], fact) for fact in self._new.keys() - moved)
        rows = [(fact, at, *said[1:]) for at, (said, fact) in enumerate(new, start=self._at + 1)]
        self._con.executemany("insert or replace into born values (?, ?, ?, ?, ?)", rows)
        self._at += len(rows)
        self._new, self._gone = {}, set()


def _log(place: Place, commits: str) -> Iterator[_Step | None]:
    """Yield None for each commit, and the files that it changed against its first parent."""
    below = f"{place.prefix}/" if place.prefix else ""
    out = git(
        place.gitdir,
        (
            "log", "--first-parent", "-m", "--reverse", "--raw", "--no-abbrev", "--no-renames",
            "-z", "--format=%x01", commits, "--", f"{below}entities", f"{below}edges",
        ),
    )  # fmt: skip
    for token in out.split(b"\0"):
        part = token.strip(b"\n")
        if part.startswith(b"\x01"):
            yield None
            part = part[1:].strip(b"\n")
        if part.startswith(b":"):
            _, _, old, new, _ = part.decode().split(" ")
            yield _Step(old.strip("0") and old, new.strip("0") and new)


def _facts(place: Place, oids: list[str]) -> Iterator[_Held]:
    """Yield of each file its facts as they are born; nothing of what cannot be read."""
    data = "".join(f"{oid}\n" for oid in oids).encode()
    out = git(place.gitdir, ("cat-file", "--batch"), data=data) if oids else b""
    at = 0
    for _ in oids:
        end = out.index(b"\n", at)
        header = out[at:end].split()
        size = int(header[2]) if len(header) == 3 else -1
        yield _held(out[end + 1 : end + 1 + size]) if size >= 0 else {}
        at = end + 2 + size


def _held(data: bytes) -> _Held:
    """Return the facts of an entity, or the claims of an edge."""
    kinds = [_of_entity, _of_edge]
    if b'"subject"' in data[:40]:  # where an edge has it: most often one parser is enough
        kinds.reverse()
    for kind in kinds:
        with suppress(parse.UnreadableError):
            return kind(data)
    return {}


def _of_edge(data: bytes) -> _Held:
    edge, _ = parse.edge(data)
    key = f"-> {edge.predicate}"
    return _sourced((edge.subject, key, edge.object, claim) for claim in edge.claims)


def _of_entity(data: bytes) -> _Held:
    entity, _ = parse.entity(data)
    return _sourced((entity.id, fact.k, fact.v, fact.claim) for fact in entity.facts)


def _sourced(facts: Iterable[tuple[str, str, str, parse.Claim]]) -> _Held:
    keyed = ((fact_key(i, k, v, c.since), v, c.src, c.seen_run) for i, k, v, c in facts)
    return {number(row[0]): row for row in keyed}
