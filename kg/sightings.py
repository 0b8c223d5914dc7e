"""How sightings of one statement combine: the algebra behind writing, and behind merging.

Of all sightings of a statement a file keeps the first (its own line, which then stays
untouched, so that blame finds its origin) and, for each agent, the one of the last run (there
the least src, as for the first: else what the first line covers would count later). Both are
extrema of a total order, so what a store holds does not depend on the order in which the runs
that saw it were recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from kg.model import (
    Claim,
    Edge,
    EdgeClaim,
    Entity,
    Fact,
    Retraction,
    Sighting,
    parse_raw_name,
    parse_source,
    run_order,
)

Outcome = Literal["new", "seen again", "known", "retracted"]
C = TypeVar("C", bound=Claim)


def see_fact(entity: Entity, fact: Fact, by: str) -> tuple[Entity, Outcome]:
    """Return the entity with one more sighting of a fact, and what that sighting was.

    A fact that was retracted stays retracted (`"retracted"`) unless the sighting is of a
    later run than the retraction: then it is live again, and the retraction stays on record.
    """
    if _still_retracted(entity, fact):
        return entity, "retracted"
    return add_fact(entity, fact, by)


def add_fact(entity: Entity, fact: Fact, by: str) -> tuple[Entity, Outcome]:
    """Return the entity with one more sighting of a fact, whatever was retracted before."""
    old = entity.fact(fact.identity)
    ours = [s for s in entity.seen_again if s.identity == fact.identity]
    others = [s for s in entity.seen_again if s.identity != fact.identity]
    sighting = Sighting(
        by=by, run=fact.seen_run, src=fact.src, k=fact.k, v=fact.v, since=fact.since
    )
    origin, again = _absorb(old, ours, fact, sighting)
    again = [replace(s, v=origin.v) for s in again]  # the spelling of the first stands
    outcome = _outcome(old, origin, ours, again)
    if outcome != "known":  # the same value then, whatever its order
        facts = (*(f for f in entity.facts if f is not old), origin)
        entity = replace(entity, facts=facts, seen_again=(*others, *again))
    return entity.seen(fact.seen_run), outcome


def see_edge(
    edge: Edge | None, key: tuple[str, str, str], claim: Claim, by: str
) -> tuple[Edge, Outcome]:
    """Return the edge `key` with one more sighting of a claim, and what that sighting was."""
    if edge is None:
        subject, predicate, object_ = key
        return Edge(subject=subject, predicate=predicate, object=object_, claims=(claim,)), "new"
    old = next((c for c in edge.claims if c.since == claim.since), None)
    ours = [s for s in edge.seen_again if s.since == claim.since]
    others = [s for s in edge.seen_again if s.since != claim.since]
    sighting = Sighting(by=by, run=claim.seen_run, src=claim.src, since=claim.since)
    origin, again = _absorb(old, ours, claim, sighting)
    outcome = _outcome(old, origin, ours, again)
    if outcome != "known":
        claims = (*(c for c in edge.claims if c is not old), origin)
        edge = replace(edge, claims=claims, seen_again=(*others, *again))
    return edge, outcome


def latest(seen: Iterable[Sighting]) -> Sighting | None:
    """Return the sighting of the last run, None where there is none."""
    return max(seen, key=lambda s: run_order(s.run), default=None)


def retract_fact(entity: Entity, fact: Fact, because: str, run: str) -> Entity:
    """Return the entity with the fact moved to `retracted`, its sightings dropped."""
    return replace(
        entity,
        facts=tuple(f for f in entity.facts if f.identity != fact.identity),
        seen_again=tuple(s for s in entity.seen_again if s.identity != fact.identity),
        retracted=_with(
            entity.retracted, Retraction(what=fact, because=because, retracted_run=run)
        ),
    ).seen(run)


def retract_edge(subject: Entity, edge: Edge, because: str, run: str) -> Entity:
    """Return the subject's entity with the edge's claims on record as retracted."""
    retracted = subject.retracted
    for claim in edge.claims:
        line = EdgeClaim(predicate=edge.predicate, object=edge.object, **_members(claim))
        retracted = _with(retracted, Retraction(what=line, because=because, retracted_run=run))
    return replace(subject, retracted=retracted).seen(run)


def edge_still_retracted(subject: Entity, key: tuple[str, str, str], claim: Claim) -> bool:
    """Whether the claim is on record as retracted, and no later run says it again."""
    return _still_retracted(subject, EdgeClaim(predicate=key[1], object=key[2], **_members(claim)))


def _absorb(
    old: C | None, again: list[Sighting], new: C, sighting: Sighting
) -> tuple[C, list[Sighting]]:
    if old is None:
        return new, again
    checked = sighting.by.startswith("person:")  # who checks a statement is not where it began
    origin, later = (
        (old, sighting)
        if checked or _rank(old) <= _rank(new)
        else (new, _as_sighting(old, sighting))
    )
    ends = [c.until for c in (old, new) if c.until is not None]
    if ends and origin.until != min(ends):
        origin = replace(origin, until=min(ends))  # an end once known is not unlearnt
    latest = {s.by: s for s in again}
    if not _covered(later, origin):
        known = latest.get(later.by)
        latest[later.by] = _later(known, later) if known else later
    return origin, [s for s in latest.values() if not _covered(s, origin)]


def _rank(claim: Claim) -> tuple[object, str]:
    # one line told twice in different words: any order will do that all clones share
    return claim.order, repr(replace(claim, until=None))


def _as_sighting(origin: Claim, like: Sighting) -> Sighting:
    name = parse_raw_name(parse_source(origin.src).path)
    by = name.agent if name else like.by
    return replace(like, by=by, run=origin.seen_run, src=origin.src)


def _later(one: Sighting, other: Sighting) -> Sighting:
    if one.run == other.run:
        return min(one, other, key=lambda s: s.src)
    return max(one, other, key=lambda s: run_order(s.run))


def _covered(sighting: Sighting, origin: Claim) -> bool:
    """Whether the fact's own line already says so: same run, and the same agent."""
    if sighting.run != origin.seen_run:
        return False
    name = parse_raw_name(parse_source(origin.src).path)
    return sighting.src == origin.src if name is None else sighting.by == name.agent


def _outcome(old: C | None, origin: C, before: list[Sighting], after: list[Sighting]) -> Outcome:
    if old is None:
        return "new"
    same = old == origin and sorted(before, key=repr) == sorted(after, key=repr)
    return "known" if same else "seen again"


def _still_retracted(entity: Entity, what: Fact | EdgeClaim) -> bool:
    """Whether nothing new speaks for it: no later run, nor another text of the same run."""
    gone = [
        r
        for r in entity.retracted
        if type(r.what) is type(what) and r.what.identity == what.identity
    ]
    if any(r.what.src == what.src for r in gone):
        return True  # the very line, told again, whatever run it claims
    latest = max(gone, key=lambda r: run_order(r.retracted_run), default=None)
    if latest is None or run_order(what.seen_run) > run_order(latest.retracted_run):
        return False
    texts = {parse_source(r.what.src).path for r in gone}
    same_run = what.seen_run == latest.retracted_run
    return not (same_run and parse_source(what.src).path not in texts)


def _with(retracted: tuple[Retraction, ...], more: Retraction) -> tuple[Retraction, ...]:
    return retracted if more in retracted else (*retracted, more)


def _members(claim: Claim) -> dict[str, Any]:
    return {name: getattr(claim, name) for name in Claim.__dataclass_fields__}
