"""Which entity a mention is filed under: a value, and the rule that gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kg.model import Entity, Fact, value_text
from kg.ontology import Ontology
from kg.text import fold


class Matched(NamedTuple):
    """The mention is this entity: by `id`, by its exact `name`, or by an exact `alias`."""

    id: str
    by: str


class Pending(NamedTuple):
    """The mention may be one of the candidates; it gets an entity of its own meanwhile."""

    candidates: tuple[str, ...]
    because: str


class Created(NamedTuple):
    """Nothing of that type and name is known: the mention is a new entity."""


Decision = Matched | Pending | Created
Identifying = Mapping[str, frozenset[str]]  # identifying key -> folded values


def decide(
    name: str,
    candidates: Sequence[Entity],
    identifying: Identifying,
    policy: str,
    ontology: Ontology,
) -> Decision:
    """Return what a mention of `name` is, among the entities of that exact name or alias.

    The policy for the type says what an exact name is worth: `link`; `check`, which links
    unless identifying facts (e-mail, URL, serial) conflict, for types whose names are shared;
    or `review`. Identifying facts that agree settle it under any policy. Where no single
    candidate is left, a person decides.
    """
    if not candidates:
        return Created()
    called = [c for c in candidates if fold(c.name) == fold(name)]
    if len(called) == 1:
        candidates = called  # its very name, where for others it is one more
    agreements = {c.id: _agree(c, identifying, ontology) for c in candidates}
    possible = [c for c in candidates if agreements[c.id]] or [
        c for c in candidates if policy == "link" or agreements[c.id] is None
    ]
    ids = tuple(sorted(c.id for c in (possible or candidates)))
    if not possible:
        return Pending(ids, "same name, but identifying facts differ")
    if len(possible) > 1:
        return Pending(ids, "the name fits several")
    if policy == "review" and not agreements[possible[0].id]:
        return Pending(ids, "exact names of this type go to review in this store")
    return Matched(possible[0].id, "name" if fold(possible[0].name) == fold(name) else "alias")


def identifying_facts(facts: Sequence[Fact], ontology: Ontology) -> Identifying:
    """Return the identifying keys among `facts` with their values, folded."""
    found: dict[str, frozenset[str]] = {}
    for fact in facts:
        key = ontology.keys.get(fact.k)
        if key is not None and key.identifying:
            found[fact.k] = found.get(fact.k, frozenset()) | {fold(value_text(fact.v))}
    return found


def _agree(entity: Entity, identifying: Identifying, ontology: Ontology) -> bool | None:
    """Whether the identifying facts agree; None where the two have no such key in common."""
    own = identifying_facts(entity.facts, ontology)
    common = own.keys() & identifying.keys()
    if not common:
        return None
    return any(own[k] & identifying[k] for k in common)
