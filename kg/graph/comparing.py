"""What the resolver would do with two stored entities, or with bare names in this store."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kg.clusters import CONFLICT, SAME, pair_of
from kg.errors import RefusedError
from kg.graph.linking import Linker
from kg.model import Entity, is_id
from kg.resolve.bands import Cutoffs, unmeasured
from kg.resolve.comparison import Comparison, compare
from kg.resolve.decision import conflicts


class Asked(NamedTuple):
    """What a comparison is about: two ids or names, and where said a type and a scorer."""

    one: str
    other: str
    type: str = ""
    scorer: str = ""


def cutoffs_for(asked: str, cutoffs: Cutoffs) -> Cutoffs:
    """Return the cutoffs to compare by: those in force hold for no other scorer."""
    if not asked or asked == cutoffs.scorer:
        return cutoffs
    none = unmeasured(f"the cutoffs in force are of {cutoffs.scorer}, which are no other's")
    return replace(none, scorer=asked)


def compare_in(linker: Linker, asked: Asked) -> Comparison:
    """Return what the resolver makes of two ids or names in a store.

    Raises:
        RefusedError: the two are one id.
    """
    sides = [_entity(linker, text) for text in (asked.one, asked.other)]
    if asked.one == asked.other and sides[0]:
        raise RefusedError(f"{asked.one} is itself: name two entities")
    type_name = asked.type or next((e.type for e in sides if e), "Object")
    cutoffs = cutoffs_for(asked.scorer, linker.rules.of(type_name))
    names = [
        (e.name, *e.aliases) if e else (text,)
        for e, text in zip(sides, (asked.one, asked.other), strict=True)
    ]
    one, other = sides
    ids = (one.id if one else "", other.id if other else "")
    found = replace(compare(names[0], names[1], type_name, cutoffs), ids=ids)
    return _with_facts(linker, found, one, other) if one and other else found


def _with_facts(linker: Linker, found: Comparison, one: Entity, other: Entity) -> Comparison:
    a, b = (linker.rival(e.id, e.name, found.score) for e in (one, other))
    told = [fact for member in a.members for fact in member.facts]
    against = [*found.vetoes, *conflicts(told, b.members, linker.draft.ontology)]
    if one.type != other.type:
        against.append(f"one is a {one.type}, the other a {other.type}")
    against += [f"what {r.id} is one with is disputed" for r in (a, b) if r.disputed]
    if a.apart.intersection(m.id for m in b.members):
        against.append("a person told apart what is in the two")
    standing = linker.draft.standings(one.id).get(pair_of(one.id, other.id))
    stands = {"verdict": standing.verdict, "by": list(standing.by)} if standing else {}
    linked = any(m.id == other.id for m in a.members)
    reasons = list(found.reasons)
    if linked:
        reasons.append("they are one now")
    elif standing and standing.verdict == CONFLICT:
        reasons.append(f"{' and '.join(standing.by)} judge them differently")
    elif standing and standing.verdict not in ("", SAME):
        reasons.append(f"judged {standing.verdict} by {', '.join(standing.by)}")
    return replace(found, vetoes=tuple(against), reasons=tuple(reasons), stands=stands)


def _entity(linker: Linker, text: str) -> Entity | None:
    """Return the entity that a text is the id of, None where it is a name."""
    prefixes = {kind.prefix for kind in linker.draft.ontology.types.values()}
    if not is_id(text) or text.partition("/")[0] not in prefixes:
        return None
    return linker.draft.existing(text, lambda _: [])
