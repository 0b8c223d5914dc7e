"""What all files together say of an entity, or of a cluster by its canonical.

The canonical's words, marks and contradictions are those of all members, so that a question
finds a cluster whose members share its words; the others keep their own beside them.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kg.recall import derive, parse
from kg.recall.forms import squash
from kg.recall.schema import MEMBER
from kg.recall.words import named, terms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    Link = tuple[str, str, tuple[parse.Claim, ...]]  # predicate, the other end, claims

# Of what points at an entity, so many are words of the entity itself: each edge is a word of
# its own subject, and a thing that everything depends on must not cost more with each.
INWARD = 64
# The keys that hold no statement but words to be found by.
BRINGING = ("term", "tag")
_HELD = (
    "select n, type, name, aliases, facts, said, p.agents, first, seen, p.archived, sightings"
    " from ent e join page p using (n) where e.id = ? order by path"
)
_AWAY = "select p, o, claims from edge where s = ? order by p, o, path"
_TO = f"select p, s, claims from edge where o = ? order by p, s, path limit {INWARD}"
_TRIED = "select distinct path, words from about join trace t on t.n = trace where id in ({})"

_terms = lru_cache(maxsize=20_000)(terms)  # keys, statuses and ids repeat themselves


class Gathered(NamedTuple):
    """What follows: the contradictions, and the columns of `ent` and `doc` that tell it.

    `agents` are the roles that saw the entity itself, whatever the others of its cluster.
    """

    contested: str
    archived: bool
    agents: frozenset[str]
    strength: int
    importance: int
    doc: tuple[str, ...]


def held(con: sqlite3.Connection, id_: str) -> list[tuple[int, parse.Entity]]:
    """Return what the files say that have this id, with their numbers in the index."""
    found = []
    for n, type_, name, aliases, facts, said, agents, *rest in con.execute(_HELD, (id_,)):
        told = parse.facts_of(facts), split(said), frozenset(split(agents))
        found.append((n, parse.Entity(id_, type_, name, split(aliases), *told, *rest)))
    return found


def gathered(
    con: sqlite3.Connection, whole: Sequence[parse.Entity], ruled: derive.Rules
) -> Gathered:
    """Return what follows for the first from its file, those it answers for, and all others.

    The relations of a cluster among its own members are none.
    """
    own, ids = whole[0], list(dict.fromkeys(entity.id for entity in whole))
    facts = [fact for entity in whole for fact in entity.facts]
    edges = {id_: _edges(con, id_, ids) for id_ in ids}
    away = [link for out, _ in edges.values() for link in out]
    linked = [link for ways in edges.values() for way in ways for link in way if link[2]]
    srcs = [claim.src for way in edges[own.id] for *_, claims in way for claim in claims]
    said = {key for entity in whole for key in entity.said}
    relations = [w for p, o, _ in linked for w in (*_terms(p), *_terms(o.partition("/")[2]))]
    columns = zip(*map(_said, whole), strict=True)
    called, told, texts, past = (" ".join(filter(None, column)) for column in columns)
    return Gathered(
        contested=derive.contested_column(derive.contested(facts, away, said, ruled)),
        archived=all(entity.archived for entity in whole),
        agents=own.agents.union(parse.agents_of(srcs)),
        strength=sum(entity.sightings for entity in whole) + len(linked),
        importance=derive.importance(facts, ruled),
        doc=(called, told, texts, " ".join(relations), _tried(con, ids), past),
    )


def names(id_: str, name: str, aliases: Iterable[str]) -> list[str]:
    """Return what something is called, each once however its parts are joined."""
    slug = id_.rpartition("/")[2]
    if slug == name and not aliases:
        return [slug]
    found = {squash(text): text for text in reversed((slug, name, *aliases))}
    return list(reversed(found.values()))


def split(column: str) -> tuple[str, ...]:
    """Return the members of a column of the index."""
    return tuple(column.split(MEMBER)) if column else ()


def _edges(con: sqlite3.Connection, id_: str, ids: Sequence[str]) -> tuple[list[Link], list[Link]]:
    """Return the edges that lead away from an entity, and a few of those to it."""
    away, to = (
        [
            (predicate, other, parse.claims_of(claims))
            for predicate, other, claims in con.execute(sql, (id_,))
            if other == id_ or other not in ids
        ]
        for sql in (_AWAY, _TO)
    )
    return away, to


def _tried(con: sqlite3.Connection, ids: Sequence[str]) -> str:
    """Return the words of what was tried on any of the entities."""
    places = ", ".join("?" * len(ids))
    rows = con.execute(f"{_TRIED.format(places)} order by path", ids)
    return " ".join([row[1] for row in rows])


def _said(entity: parse.Entity) -> tuple[str, str, str, str]:
    """Return the words of names, of terms and tags, of other facts, and of those that are over."""
    called = names(entity.id, entity.name, entity.aliases)
    told: list[str] = []
    facts: list[str] = []
    past: list[str] = []
    for fact in entity.facts:
        if fact.claim.until and derive.over(fact, entity.seen):
            past += _terms(fact.v)
        elif fact.k in BRINGING:
            told += _terms(fact.v)
        elif fact.k != "also-known-as":
            facts += _terms(fact.k) + _terms(fact.v)
    found = ([word for name in called for word in named(name)], told, facts, past)
    return tuple(map(" ".join, found))  # type: ignore[return-value]
