"""What contradicts itself, and what may be stale: the store's open questions about itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kg.audit.resting import holding
from kg.audit.rules import value_of
from kg.errors import FormatError
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import Claim, Edge, Entity, Fact, Sighting, Value, moment, value_text
from kg.recall.only import DORMANT
from kg.recall.schema import ITEM, MEMBER
from kg.recall.show import contested_in
from kg.sightings import latest
from kg.text import fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the values that contradict each other, with who confirmed it last."""

    id: str
    k: str
    v: Value
    edge: bool
    claim: Claim
    confirmed: Sighting | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {
            "id": self.id, "k": self.k, "v": self.v, "edge": self.edge, "src": self.claim.src,
            "run": self.claim.seen_run,
        }  # fmt: skip
        times = {"since": self.claim.since, "until": self.claim.until}
        found |= {name: time for name, time in times.items() if time}
        if self.confirmed is not None:
            seen = self.confirmed
            found["confirmed"] = {"by": seen.by, "run": seen.run, "src": seen.src}
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A key of an entity (a cluster by its canonical) of which two values hold at one time."""

    id: str
    k: str
    sides: tuple[Side, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {"id": self.id, "k": self.k, "sides": [side.to_json() for side in self.sides]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Something that may hold no more: `why` is dormant, over, or gone (from the work tree)."""

    why: str
    id: str
    k: str = ""
    v: Value = ""
    detail: str = ""
    src: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        members = {n: getattr(self, n) for n in self.__dataclass_fields__}
        return {name: value for name, value in members.items() if value != ""}


def conflicts(graph: Graph, id_: str = "") -> list[Conflict]:
    """Return the contradictions of the store, or of one entity and its cluster.

    Between facts, edges, and keys that say the same as an edge, also of ids that are one thing.

    Raises:
        NotFoundError: there is no such entity.
    """
    draft, index = graph.draft(graph.at()), graph.index()
    wanted = ""
    if id_:
        draft.existing(id_, graph.near)
        wanted = next(iter(index.kin_of(id_)), id_)
    rows = index.connection.execute(
        "select e.id, p.contested from page p join ent e on e.n = p.n"
        " where p.contested != '' and ? in ('', e.id) order by e.id",
        (wanted,),
    ).fetchall()
    found = []
    for of, column in rows:
        for item in filter(None, contested_in(index.connection, column).split(ITEM)):
            key, *values = item.split(MEMBER)
            folded = {fold(value) for value in values}
            kin = index.kin_of(of) or [of]
            sides = tuple(s for s in _sides(draft, kin, key) if fold(value_text(s.v)) in folded)
            found.append(Conflict(id=of, k=key, sides=sides))
    return found


def stale(graph: Graph, now: str, worktree: str = "") -> Iterator[Stale]:
    """Yield what may hold no more: dormant entities, facts that are over, paths that are gone.

    `now` is a time as FORMAT.md writes it; `worktree` a folder of code, "" to look at no paths.
    """
    joins = "page p on p.n = e.n left join roles r on r.n = e.roles"
    asleep = f"select e.id, p.seen from ent e join {joins} where e.archived = 0 and {DORMANT}"  # noqa: S608 - constants
    rows = graph.index().connection.execute(f"{asleep} order by e.id")
    for id_, seen in rows:
        yield Stale(why="dormant", id=id_, detail=f"last seen in {seen}")
    snapshot = graph.at()
    for path in sorted(holding(graph.place, snapshot.commit, ('"until": "', '"k": "path"'))):
        try:
            value = value_of(path, snapshot.read(path) or b"")
        except FormatError:
            continue  # fsck names it
        if isinstance(value, Entity) and not value.archived:
            yield from _over(value.id, [(f.k, f.v, f) for f in value.facts], now)
            yield from _gone(value, worktree) if worktree else ()
        elif isinstance(value, Edge):
            said = [(value.predicate, value.object, claim) for claim in value.claims]
            yield from _over(value.subject, said, now)


def _sides(draft: Draft, kin: list[str], key: str) -> Iterator[Side]:
    """Yield the statements of a cluster under a key, or under an edge that says the same."""
    ontology = draft.ontology
    said_by = {name for name, term in ontology.keys.items() if key in (name, term.edge)}
    edges = {key} | {ontology.keys[key].edge} if key in ontology.keys else {key}
    for id_ in kin:
        entity = draft.entity(id_)
        if entity is not None:
            yield from (_fact_side(entity, fact) for fact in entity.facts if fact.k in said_by)
        for edge in draft.edges_of(id_):
            for claim in edge.claims if edge.predicate in edges else ():
                yield _edge_side(edge, claim)


def _fact_side(entity: Entity, fact: Fact) -> Side:
    again = [s for s in entity.seen_again if s.identity == fact.identity]
    return Side(
        id=entity.id, k=fact.k, v=fact.v, edge=False, claim=fact, confirmed=latest(again)
    )  # fmt: skip


def _edge_side(edge: Edge, claim: Claim) -> Side:
    again = [s for s in edge.seen_again if s.since == claim.since]
    return Side(
        id=edge.subject, k=edge.predicate, v=edge.object, edge=True, claim=claim,
        confirmed=latest(again),
    )  # fmt: skip


def _over(id_: str, said: Iterable[tuple[str, Value, Claim]], now: str) -> Iterator[Stale]:
    for k, v, claim in said:
        if claim.until and moment(claim.until) <= moment(now):
            detail = f"held until {claim.until}"
            yield Stale(why="over", id=id_, k=k, v=v, detail=detail, src=claim.src)


def _gone(entity: Entity, worktree: str) -> Iterator[Stale]:
    """Yield the paths of a thing that the work tree has not; never one that leads out of it."""
    for fact in entity.facts:
        path = value_text(fact.v)
        inside = not os.path.isabs(path) and ".." not in path.split("/")
        if fact.k == "path" and inside and not os.path.lexists(os.path.join(worktree, path)):
            yield Stale(
                why="gone", id=entity.id, k="path", v=path, detail=f"{worktree} has no {path}",
                src=fact.src,
            )  # fmt: skip
