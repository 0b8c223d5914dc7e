"""Which entity a mention is filed under: a value, and the rules that give it.

An id, or the exact name of one thing, decides at once. Else the bands do: a match gets an
entity of its own and a link that can be taken back, and whatever speaks against it makes it a
question for a person. Nothing that is not an exact name is ever filed under another's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from kg.model import Entity, Fact, value_text
from kg.ontology import Ontology
from kg.resolve.bands import Cutoffs
from kg.resolve.forms import ecosystem, forms, legal_forms
from kg.text import fold

# Keys that tell things apart where their values have nothing in common, beside the identifying.
TELLING = frozenset({"path", "version", "ecosystem"})


class Evidence(NamedTuple):
    """What a decision by the bands rests on: the nearest entity, and what was held against it."""

    nearest: str
    name: str
    score: Fraction
    cutoffs: Cutoffs


class Matched(NamedTuple):
    """The mention is this entity: by `id`, by its exact `name`, by an exact `alias`, or `score`.

    By score it has an entity of its own, which is linked to this one.
    """

    id: str
    by: str
    evidence: Evidence | None = None


class Pending(NamedTuple):
    """The mention may be one of the candidates; it gets an entity of its own meanwhile."""

    candidates: tuple[str, ...]
    because: str
    evidence: Evidence | None = None

    @property
    def namesake(self) -> bool:
        """Whether the candidates are called exactly so, which makes an id of its own need more."""
        return self.evidence is None


class Created(NamedTuple):
    """The mention is a new entity: nothing has its name, or reaches the lower of the cutoffs."""

    cutoffs: Cutoffs | None = None


Decision = Matched | Pending | Created
Identifying = Mapping[str, frozenset[str]]  # identifying key -> folded values


class Spoken(NamedTuple):
    """What is decided on: a name, its type, and what the observation says of it."""

    name: str
    type: str
    facts: Sequence[Fact]


class Rival(NamedTuple):
    """A thing the mention may be: its member with the most alike name, and all its members.

    `apart` are ids that a person told apart from some member; `disputed` where people judged its
    members to be one and not to be one.
    """

    id: str
    name: str
    score: Fraction
    members: tuple[Entity, ...]
    apart: frozenset[str] = frozenset()
    disputed: bool = False


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


def band(spoken: Spoken, rivals: Sequence[Rival], cutoffs: Cutoffs, ontology: Ontology) -> Decision:
    """Return what a mention is whose exact name nothing has, by its score against `rivals`.

    `rivals` are things, the most alike first. A match that anything speaks against is for a
    person, and so is whatever shares an identifying fact: no label set measures what that alone
    is worth (one mailbox serves many), so it raises a question and never a link.
    """
    if not rivals:
        return Created(cutoffs)
    top = rivals[0]
    evidence = Evidence(top.id, top.name, top.score, cutoffs)
    found = cutoffs.band(top.score)
    if found == "match":
        against = vetoes(spoken, rivals, ontology)
        if not against:
            return Matched(top.id, "score", evidence)
        return Pending(_likely(rivals, cutoffs), "; ".join(against), evidence)
    shared = [r for r in rivals if _shares(spoken.facts, r, ontology)]
    if shared:
        ids = tuple(r.id for r in shared)
        return Pending(ids, "an identifying fact is the same, the name is not", evidence)
    if found == "review":
        because = cutoffs.because or "the score is between the cutoffs"
        return Pending(_likely(rivals, cutoffs), because, evidence)
    return Created(cutoffs)


def vetoes(spoken: Spoken, rivals: Sequence[Rival], ontology: Ontology) -> list[str]:
    """Return what speaks against matching a mention with the first of `rivals`."""
    top, *others = rivals
    found = conflicts(spoken.facts, top.members, ontology)
    found += differing_words(spoken.name, top.name, spoken.type)
    if top.disputed:
        found.append(f"what {top.id} is one with is disputed")
    for other in others:
        if other.score == top.score:
            found.append(f"{other.id} is as much alike")
        elif top.apart.intersection(m.id for m in other.members):
            found.append(f"{other.id}, also alike, was told apart from {top.id}")
    return found


def differing_words(one: str, other: str, type_name: str) -> list[str]:
    """Return in what the words of two names differ that a score may not see."""
    words = [forms(name, type_name)[0].words for name in (one, other)]
    said = {
        "Organization": ("legal forms", legal_forms),
        "Object": ("ecosystems", ecosystem),
    }.get(type_name)
    if said is None:
        return []
    a, b = map(said[1], words)
    if not a or not b or a & b:
        return []
    return [f"the {said[0]} differ: {' '.join(sorted(a))}, {' '.join(sorted(b))}"]


def conflicts(told: Sequence[Fact], members: Sequence[Entity], ontology: Ontology) -> list[str]:
    """Return what facts say against two sides being one: each contradiction, each other identity.

    Keys of one value at a time contradict; identifying ones, and paths and versions, tell apart
    where no value is common.
    """
    known = [fact for member in members for fact in member.facts]
    found = []
    for key in sorted({fact.k for fact in told} & {fact.k for fact in known}):
        ours = [fact for fact in told if fact.k == key]
        theirs = [fact for fact in known if fact.k == key]
        values = [{fold(value_text(fact.v)) for fact in facts} for facts in (ours, theirs)]
        if not values[0].isdisjoint(values[1]):
            continue
        term = ontology.keys.get(key)
        single = term is not None and term.cardinality == "one"
        telling = key in TELLING or (term is not None and term.identifying)
        if telling or (single and any(a.overlaps(b) for a in ours for b in theirs)):
            found.append(f"{key} differs")
    return found


def identifying_facts(facts: Sequence[Fact], ontology: Ontology) -> Identifying:
    """Return the identifying keys among `facts` with their values, folded."""
    found: dict[str, frozenset[str]] = {}
    for fact in facts:
        key = ontology.keys.get(fact.k)
        if key is not None and key.identifying:
            found[fact.k] = found.get(fact.k, frozenset()) | {fold(value_text(fact.v))}
    return found


def _likely(rivals: Sequence[Rival], cutoffs: Cutoffs) -> tuple[str, ...]:
    return tuple(r.id for r in rivals if r.score >= cutoffs.lower)


def _shares(told: Sequence[Fact], rival: Rival, ontology: Ontology) -> bool:
    ours = identifying_facts(told, ontology)
    return any(_agree(member, ours, ontology) for member in rival.members)


def _agree(entity: Entity, identifying: Identifying, ontology: Ontology) -> bool | None:
    """Whether the identifying facts agree; None where the two have no such key in common."""
    own = identifying_facts(entity.facts, ontology)
    common = own.keys() & identifying.keys()
    if not common:
        return None
    return any(own[k] & identifying[k] for k in common)
