"""From two tellings of history to what changes in the store: only what leaving out changes.

`before` is what history comes to as it counts now, `after` without what is taken back. A
statement that is the same in both stays in the store as it is, whatever that is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kg.model import Claim, Edge, Entity, Fact, Judgement, Sighting

T = TypeVar("T", bound=Hashable)
S = TypeVar("S")
C = TypeVar("C", bound=Claim)
_Said = tuple[C, frozenset[Sighting]]  # a line, and who saw it again


def turned(before: Entity | None, after: Entity | None, held: Entity | None) -> Entity | None:
    """Return what the store holds of an entity after the change."""
    if _same(before, after):
        return held
    facts = _merged(_facts(before), _facts(after), _facts(held))
    retracted = _set_merged(
        before.retracted if before else (), after.retracted if after else (),
        held.retracted if held else (),
    )  # fmt: skip
    shell = after or (held if facts else None)
    if shell is None:
        return None
    made = replace(
        shell,
        facts=tuple(fact for fact, _ in facts.values()),
        seen_again=tuple(s for _, seen in facts.values() for s in seen),
        retracted=tuple(retracted),
    )
    if before is not None and after is not None and held is not None:
        for member in ("name", "archived", "first_run", "last_seen_run"):
            if getattr(before, member) == getattr(after, member):
                made = replace(made, **{member: getattr(held, member)})
    for fact in made.facts:
        made = made.seen(fact.seen_run)
    return made


def turned_edge(before: Edge | None, after: Edge | None, held: Edge | None) -> Edge | None:
    """Return what the store holds of an edge after the change."""
    if _same_edge(before, after):
        return held
    claims = _merged(_claims(before), _claims(after), _claims(held))
    judgements = _set_merged(
        before.judgements if before else (), after.judgements if after else (),
        held.judgements if held else (),
    )  # fmt: skip
    shell = after or held
    if shell is None or not (claims or judgements):
        return None
    return replace(
        shell,
        claims=tuple(claim for claim, _ in claims.values()),
        seen_again=tuple(s for _, seen in claims.values() for s in seen),
        judgements=tuple(_one_a_judge(judgements)),
    )


def _same(one: Entity | None, other: Entity | None) -> bool:
    if one is None or other is None:
        return one is other
    alike = all(
        getattr(one, m) == getattr(other, m)
        for m in ("name", "archived", "first_run", "last_seen_run")
    )
    retracted = set(one.retracted) == set(other.retracted)
    return alike and retracted and _facts(one) == _facts(other)


def _same_edge(one: Edge | None, other: Edge | None) -> bool:
    if one is None or other is None:
        return one is other
    judged = set(one.judgements) == set(other.judgements)
    return judged and _claims(one) == _claims(other)


def _facts(entity: Entity | None) -> dict[object, _Said[Fact]]:
    if entity is None:
        return {}
    again: dict[object, list[Sighting]] = {}
    for sighting in entity.seen_again:
        again.setdefault(sighting.identity, []).append(sighting)
    return {f.identity: (f, frozenset(again.get(f.identity, ()))) for f in entity.facts}


def _claims(edge: Edge | None) -> dict[object, _Said[Claim]]:
    if edge is None:
        return {}
    return {
        c.since: (c, frozenset(s for s in edge.seen_again if s.since == c.since))
        for c in edge.claims
    }


def _merged(
    before: Mapping[object, S], after: Mapping[object, S], held: Mapping[object, S]
) -> dict[object, S]:
    """Return what is held, but for what differs between before and after: that as it is after."""
    made = dict(held)
    for identity in {**before, **after}:
        if before.get(identity) == after.get(identity):
            continue
        if identity in after:
            made[identity] = after[identity]
        else:
            made.pop(identity, None)
    return made


def _set_merged(before: Iterable[T], after: Iterable[T], held: Sequence[T]) -> list[T]:
    old, new = set(before), set(after)
    gone = old - new
    kept = [one for one in held if one not in gone]
    return kept + [one for one in after if one not in old and one not in kept]


def _one_a_judge(judgements: Iterable[Judgement]) -> Iterable[Judgement]:
    """Return the lines, the latter one of two by one judge: what comes back is put last."""
    return {j.by: j for j in judgements}.values()
