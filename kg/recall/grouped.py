"""Which entities of the index are one thing: the tables `cluster` and `dispute`, kept up to date.

What judgements mean is known to `kg.clusters`; here is only which of them have to be read again
after a change: those that hang together with what changed, and no others.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kg.clusters import CONFLICT, SAME, Pair, Standing, canonical, clusters, pair_of, standing
from kg.recall.parse import judgements_of, run_key
from kg.recall.schema import MEMBER
from kg.recall.show import JUDGING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from kg.clusters import Cluster, Line

    Row = tuple[str, str, int, str]  # of `cluster`
    Dispute = tuple[str, str, str, str, str]  # of `dispute`

# Hand-written files hold what is no run: a judgement without one came before all others, and
# what was first seen in none was first seen after all others.
_BEFORE, _AFTER = "r0", "r999999999999"
_JUDGED = f"select s, o, judgements from edge where {{}} = ? and p in {JUDGING}"
_FIRST = "select p.first from ent e join page p using (n) where e.id = ?"


def judged(con: sqlite3.Connection) -> set[str]:
    """Return every id that somebody has judged."""
    rows = con.execute(f"select s, o from edge where p in {JUDGING}")
    return {id_ for ends in rows for id_ in ends}


def members(con: sqlite3.Connection, id_: str) -> list[str]:
    """Return all that an entity answers for: itself, then what it is the canonical of."""
    sql = "select id from cluster where canonical = ?1 and id <> ?1 order by id"
    return [id_, *(row[0] for row in con.execute(sql, (id_,)))]


def canonicals(con: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Return the canonicals of those ids that are in a cluster."""
    if con.execute("select 1 from cluster limit 1").fetchone() is None:
        return set()
    sql = "select canonical from cluster where id = ?"
    return {row[0] for id_ in ids for row in con.execute(sql, (id_,))}


def regroup(con: sqlite3.Connection, changed: Iterable[str]) -> set[str]:
    """Cluster anew what is connected with the ids by judgements, whatever these say.

    Return the ids that are in another cluster than before, with the canonicals of both.
    """
    reached, said = _reached(con, changed)
    before: set[Row] = set()
    for id_ in reached:
        before.update(con.execute("select * from cluster where id = ?", (id_,)))
    if not said and not before:
        return set()
    first = _first_runs(con, reached)
    standings = {
        pair: standing(lines)
        for pair, lines in said.items()
        if pair[0] in first and pair[1] in first
    }
    found = clusters(standings)
    after = set(_rows(found, standings, first))
    gone = [(row[0],) for row in before - after]
    con.executemany("delete from cluster where id = ?", gone)
    con.executemany("insert into cluster values (?, ?, ?, ?)", sorted(after - before))
    con.executemany("delete from dispute where id = ?", [(id_,) for id_ in reached])
    con.executemany(
        "insert into dispute values (?, ?, ?, ?, ?)", sorted(_disputes(found, standings))
    )
    return {id_ for row in before ^ after for id_ in row[:2]}


def _reached(
    con: sqlite3.Connection, ids: Iterable[str]
) -> tuple[set[str], dict[Pair, list[Line]]]:
    """Return what judgements connect the ids with, and their lines by pair."""
    reached, todo = set(ids), list(ids)
    said: dict[Pair, list[Line]] = defaultdict(list)
    while todo:
        id_ = todo.pop()
        for way in "so":
            for one, other, column in con.execute(_JUDGED.format(way), (id_,)):
                if way == "s" and one != other:  # each file once, by the id it begins with
                    said[pair_of(one, other)] += _readable(judgements_of(column))
                new = {one, other} - reached
                reached |= new
                todo += new
    return reached, said


def _readable(lines: Iterable[Line]) -> Iterable[Line]:
    return ((by, verdict, run if run_key(run) else _BEFORE) for by, verdict, run in lines)


def _first_runs(con: sqlite3.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the first run of each id that has a file."""
    found = {}
    for id_ in ids:
        runs = [row[0] if run_key(row[0]) else _AFTER for row in con.execute(_FIRST, (id_,))]
        if runs:
            found[id_] = min(runs, key=run_key)
    return found


def _rows(
    found: Iterable[Cluster], standings: Mapping[Pair, Standing], first: Mapping[str, str]
) -> Iterable[Row]:
    """Yield the rows of clusters: of one in dispute each member stands for itself."""
    links: dict[str, set[str]] = defaultdict(set)
    for pair, said in standings.items():
        for id_ in pair if said.verdict == SAME else ():
            links[id_].update(said.by)
    for cluster in found:
        if cluster.disputed:
            yield from ((id_, id_, 1, "") for id_ in cluster.members)
            continue
        head = canonical({id_: first[id_] for id_ in cluster.members})
        for id_ in cluster.members:
            straight = standings.get(pair_of(id_, head))
            by = straight.by if straight and straight.verdict == SAME else sorted(links[id_])
            yield id_, head, 0, "" if id_ == head else MEMBER.join(by)


def _disputes(found: Iterable[Cluster], standings: Mapping[Pair, Standing]) -> Iterable[Dispute]:
    """Yield what is to be told of whom: of who is in no such pair but linked to one, the first."""
    inside: dict[tuple[str, ...], list[Pair]] = {c.members: [] for c in found if c.disputed}
    group_of = {id_: members for members in inside for id_ in members}
    for pair in sorted(pair for pair, said in standings.items() if said.separates):
        group = group_of.get(pair[0])
        if group and group is group_of.get(pair[1]):
            inside[group].append(pair)
        elif standings[pair].verdict == CONFLICT:
            yield from ((id_, *_told(pair, standings)) for id_ in pair)
    for members_, pairs in inside.items():
        yield from ((id_, *_told(pair, standings)) for pair in pairs for id_ in pair)
        torn = {id_ for pair in pairs for id_ in pair}
        yield from ((id_, *_told(pairs[0], standings)) for id_ in members_ if id_ not in torn)


def _told(pair: Pair, standings: Mapping[Pair, Standing]) -> tuple[str, str, str, str]:
    return (*pair, standings[pair].verdict, MEMBER.join(standings[pair].by))
