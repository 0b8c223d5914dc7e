"""Doing to one value what a change did to another: how history is told again without a part of it.

A change is two versions of a file, before and after. Carried onto a third version it says the
same again: what it added is seen, what it retracted is retracted, and what is not there is not
taken away. Pure; no file, no git. The rules of combining are those of `kg.sightings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from kg.model import (
    Claim,
    Edge,
    EdgeClaim,
    Entity,
    Fact,
    Judgement,
    Retraction,
    Sighting,
    parse_raw_name,
    parse_source,
)
from kg.sightings import add_fact, retract_fact, see_edge

T = TypeVar("T")
C = TypeVar("C", bound=Claim)
_OPTIONS = ("v", "kind", "basis", "importance", "until")


def carry_entity(
    old: Entity | None, new: Entity | None, onto: Entity | None, *, run: str, agent: str, name: str
) -> Entity | None:
    """Return `onto` after the change from `old` to `new`.

    Where `onto` is None and the change says something of the thing, it is met: by `name`, which
    is what it was first called. `run` and `agent` are the commit's, for what names no own.
    """
    if new is None:
        return None
    if onto is None:
        if old is not None and not _speaks(old, new):
            return None
        onto = _met(old, new, run, name)
    elif old is None or new.last_seen_run != old.last_seen_run:
        onto = onto.seen(new.last_seen_run)
    if old is None or new.first_run != old.first_run:
        onto = onto.seen(new.first_run)
    if old is not None and new.name != old.name:
        onto = replace(onto, name=new.name)
    if new.archived != (old is not None and old.archived):
        onto = replace(onto, archived=new.archived)
    return _seen(old, new, _gone(old, new, onto), agent)


def carry_edge(old: Edge | None, new: Edge | None, onto: Edge | None, *, agent: str) -> Edge | None:
    """Return `onto` after the change from `old` to `new`."""
    if new is None:
        return None
    if new.judgements or (old is not None and old.judgements):
        return _judged(old, new, onto)
    before = {c.since: c for c in old.claims} if old else {}
    after = {c.since: c for c in new.claims}
    for since, claim in after.items():
        known = before.get(since)
        if known is None or (claim.src, claim.seen_run) != (known.src, known.seen_run):
            onto, _ = see_edge(onto, new.key, claim, _by(claim, agent))
        elif claim != known and onto is not None:
            onto = replace(onto, claims=_edited(onto.claims, claim))
    for sighting in _more(old.seen_again if old else (), new.seen_again):
        origin = after.get(sighting.since)
        if origin is not None and not _was(before.get(sighting.since), sighting):
            told = replace(origin, src=sighting.src, seen_run=sighting.run)
            onto, _ = see_edge(onto, new.key, told, sighting.by)
    gone = set(before) - set(after)
    if onto is None or not gone:
        return onto
    claims = tuple(c for c in onto.claims if c.since not in gone)
    again = tuple(s for s in onto.seen_again if s.since not in gone)
    return replace(onto, claims=claims, seen_again=again) if claims else None


def common(parents: Sequence[Entity | None], new: Entity | None) -> Entity | None:
    """Return what a merge's version is to be compared with: what it took from any parent.

    So that a merge itself did only what differs from all of them.
    """
    there = [p for p in parents if p is not None]
    if new is None:
        return there[0] if len(there) == len(parents) else None
    if not there:
        return None
    first = there[0]
    return replace(
        first,
        name=new.name if any(p.name == new.name for p in there) else first.name,
        archived=new.archived if any(p.archived == new.archived for p in there) else first.archived,
        first_run=_of_any(new.first_run, [p.first_run for p in there]),
        last_seen_run=_of_any(new.last_seen_run, [p.last_seen_run for p in there]),
        facts=_facts_taken(there, len(parents), new),
        seen_again=_taken([p.seen_again for p in there], len(parents), new.seen_again),
        retracted=_taken([p.retracted for p in there], len(parents), new.retracted),
    )


def common_edge(parents: Sequence[Edge | None], new: Edge | None) -> Edge | None:
    """Return what a merge's version of an edge is to be compared with, as `common` does."""
    there = [p for p in parents if p is not None]
    if new is None:
        return there[0] if len(there) == len(parents) else None
    if not there:
        return None
    taken = _taken([p.claims for p in there], len(parents), new.claims)
    claims = tuple({claim.since: claim for claim in reversed(taken)}.values())
    judgements = _taken([p.judgements for p in there], len(parents), new.judgements)
    if not (claims or judgements):
        return None
    again = _taken([p.seen_again for p in there], len(parents), new.seen_again)
    return replace(there[0], claims=claims, seen_again=again, judgements=judgements)


def without(entity: Entity, gone: Iterable[Retraction]) -> Entity:
    """Return the entity without these retractions on record."""
    dropped = set(gone)
    if not dropped.intersection(entity.retracted):
        return entity
    return replace(entity, retracted=tuple(r for r in entity.retracted if r not in dropped))


def retracted_edges(old: Entity | None, new: Entity | None) -> list[Retraction]:
    """Return the retractions of edges that a change put on record."""
    added = _more(old.retracted if old else (), new.retracted if new else ())
    return [r for r in added if isinstance(r.what, EdgeClaim)]


def _speaks(old: Entity, new: Entity) -> bool:
    """Whether a change says something of a thing, rather than only taking away from it."""
    spans = (old.first_run, old.last_seen_run) != (new.first_run, new.last_seen_run)
    added = any(new_fact not in old.facts for new_fact in new.facts)
    return spans or added or bool(_more(old.seen_again, new.seen_again))


def _met(old: Entity | None, new: Entity, run: str, name: str) -> Entity:
    if old is None:
        return Entity(
            id=new.id, type=new.type, name=new.name, first_run=new.first_run,
            last_seen_run=new.last_seen_run,
        )  # fmt: skip
    widened = new.last_seen_run if new.last_seen_run != old.last_seen_run else run
    return Entity(id=new.id, type=new.type, name=name, first_run=widened, last_seen_run=widened)


def _gone(old: Entity | None, new: Entity, onto: Entity) -> Entity:
    """Return `onto` without what the change took away, and with what it put on record."""
    before = {f.identity for f in old.facts} if old else set()
    after = {f.identity for f in new.facts}
    known = old.retracted if old else ()
    for said in _more(known, new.retracted):
        if isinstance(said.what, EdgeClaim):
            continue  # it goes with its edge: see `retracted_edges`
        fact = onto.fact(said.what.identity)
        if said.what.identity not in before:
            onto = replace(onto, retracted=(*onto.retracted, said))
        elif fact is not None:
            onto = retract_fact(onto, fact, said.because, said.retracted_run)
        before.discard(said.what.identity)
    back = {(r.what.identity, r.because) for r in _more(new.retracted, known)}
    onto = without(onto, [r for r in onto.retracted if (r.what.identity, r.because) in back])
    dropped = before - after
    unseen = _unseen(old, new) if old else set()
    return replace(
        onto,
        facts=tuple(f for f in onto.facts if f.identity not in dropped),
        seen_again=tuple(
            s for s in onto.seen_again if s.identity not in dropped and s not in unseen
        ),
    )


def _unseen(old: Entity, new: Entity) -> set[Sighting]:
    """Return the sightings that were taken away, and not outdone by a later one."""
    held = {(s.identity, s.by) for s in new.seen_again}
    facts = {f.identity: f for f in new.facts}
    return {
        s
        for s in _more(new.seen_again, old.seen_again)
        if (s.identity, s.by) not in held
        and s.identity in facts
        and facts[s.identity] in old.facts  # else its place was taken by an earlier line
    }


def _seen(old: Entity | None, new: Entity, onto: Entity, agent: str) -> Entity:
    """Return `onto` with the facts and sightings that the change added."""
    retold = {r.what.identity for r in _more(old.retracted if old else (), new.retracted)}
    before = {f.identity: f for f in old.facts if f.identity not in retold} if old else {}
    after = {f.identity: f for f in new.facts}
    for identity, fact in after.items():
        known = before.get(identity)
        if known is fact:
            continue  # read from the same line: nearly all are
        if known is None or (fact.src, fact.seen_run) != (known.src, known.seen_run):
            onto, _ = add_fact(onto, fact, _by(fact, agent))
        elif fact != known:
            onto = replace(onto, facts=_edited(onto.facts, fact))
    for sighting in _more(old.seen_again if old else (), new.seen_again):
        origin = after.get(sighting.identity)
        if origin is not None and not _was(before.get(sighting.identity), sighting):
            told = replace(origin, src=sighting.src, seen_run=sighting.run)
            onto, _ = add_fact(onto, told, sighting.by)
    return onto


def _judged(old: Edge | None, new: Edge, onto: Edge | None) -> Edge | None:
    before = old.judgements if old else ()
    lines: dict[str, Judgement] = {j.by: j for j in onto.judgements} if onto else {}
    for gone in _more(new.judgements, before):
        lines.pop(gone.by, None)
    for said in _more(before, new.judgements):
        lines[said.by] = said
    return replace(new, judgements=tuple(lines.values())) if lines else None


def _edited(claims: tuple[C, ...], like: C) -> tuple[C, ...]:
    """Return the claims, the one of the same identity with the other's options."""
    options = {n: getattr(like, n) for n in _OPTIONS if hasattr(like, n)}
    return tuple(replace(c, **options) if _about(c) == _about(like) else c for c in claims)


def _about(claim: Claim) -> object:
    return claim.identity if isinstance(claim, Fact) else claim.since


def _by(claim: Claim, agent: str) -> str:
    """Return who saw a line: the agent of its text, else that of the commit."""
    name = parse_raw_name(parse_source(claim.src).path)
    return name.agent if name else agent


def _was(claim: Claim | None, sighting: Sighting) -> bool:
    """Whether the sighting is only the earlier origin, outdone by an older line."""
    return claim is not None and (claim.src, claim.seen_run) == (sighting.src, sighting.run)


def _more(old: Iterable[T], new: Iterable[T]) -> list[T]:
    """Return what `new` has and `old` has not."""
    known = set(old)
    return [one for one in new if one not in known]


def _taken(parents: Sequence[Sequence[T]], count: int, new: Sequence[T]) -> tuple[T, ...]:
    """Return what of `new` any parent has, and what all parents have and `new` has not."""
    of_any = {one for lines in parents for one in lines}
    of_all = set(parents[0]).intersection(*map(set, parents)) if len(parents) == count else set()
    return (*(one for one in new if one in of_any), *(of_all.difference(new)))


def _facts_taken(there: Sequence[Entity], count: int, new: Entity) -> tuple[Fact, ...]:
    """Return the facts as `_taken`; one that a merge wrote anew stands as the first parent has."""
    taken = {f.identity: f for f in _taken([p.facts for p in there], count, new.facts)}
    for parent in there:
        for fact in parent.facts:
            if new.fact(fact.identity) is not None:
                taken.setdefault(fact.identity, fact)
    return tuple(taken.values())


def _of_any(value: str, parents: Sequence[str]) -> str:
    return value if value in parents else parents[0]
