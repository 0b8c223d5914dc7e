"""Which types, keys and predicates there are, and what each may be said of.

The shipped ontology is data (`kg/ontology.json`); a store extends it in store.json. Unknown
words are refused with the nearest known ones named, because a misspelt key is a fact that
nobody finds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any

from kg.errors import OntologyError
from kg.model import Fact, Value, check_time, check_word, is_id, split_id
from kg.text import fold

LITERALS = ("text", "integer", "boolean", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """One of the POLE+O types, or a sixth that names the two it would be confused with."""

    name: str
    prefix: str
    definition: str
    confused_with: tuple[str, ...] = ()
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A key or predicate: what it means, of which types it is said, what it takes.

    `range` holds type names, or one of `LITERALS` for a key. An empty domain or range is
    every type. `edge` names the predicate that says the same as a key.
    """

    name: str
    definition: str
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    cardinality: str = "one"
    edge: str = ""
    identifying: bool = False
    kind: str = "fact"
    importance: int = 5

    def to_json(self) -> dict[str, Any]:
        """Return the members that differ from their defaults, as store.json holds them."""
        found: dict[str, Any] = {"definition": self.definition}
        for name in ("domain", "range"):
            if getattr(self, name):
                found[name] = list(getattr(self, name))
        found["cardinality"] = self.cardinality
        for name, default in (
            ("edge", ""),
            ("identifying", False),
            ("kind", "fact"),
            ("importance", 5),
        ):
            if getattr(self, name) != default:
                found[name] = getattr(self, name)
        return found


@dataclass(frozen=True, slots=True)
class Ontology:
    """The types, keys and predicates in force in one store."""

    types: Mapping[str, Type]
    keys: Mapping[str, Term]
    predicates: Mapping[str, Term]
    _prefixes: dict[str, Type] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._prefixes.update({t.prefix: t for t in self.types.values()})

    def type(self, name: str) -> Type:
        """Return the type of that name or id prefix, in any case.

        Raises:
            OntologyError: there is none; the message names those there are.
        """
        wanted = fold(name)
        for kind in self.types.values():
            if wanted in (kind.name.lower(), kind.prefix):
                return kind
        raise OntologyError(
            f"{name!a} is not a type: use one of {', '.join(self.types)}, "
            "or declare one with: kg ontology add-type"
        )

    def type_of(self, id_: str) -> Type:
        """Return the type an id belongs to."""
        prefix = split_id(id_)[0]
        if prefix not in self._prefixes:
            raise OntologyError(
                f"{id_} begins with no known type: use one of {', '.join(self._prefixes)}"
            )
        return self._prefixes[prefix]

    def key(self, name: str) -> Term:
        """Return the key of that name; OntologyError names the nearest known ones."""
        return self._known(self.keys, name, "key")

    def predicate(self, name: str) -> Term:
        """Return the predicate of that name; OntologyError names the nearest known ones."""
        return self._known(self.predicates, name, "predicate")

    def takes_entity(self, key: Term) -> bool:
        """Whether the key's values are entity ids."""
        return bool(key.range) and key.range[0] not in LITERALS

    def check_fact(self, entity_id: str, k: str, v: Value) -> Term:
        """Return the key after checking that the fact is within its domain and range."""
        key = self.key(k)
        self._check_domain(key, entity_id)
        if self.takes_entity(key):
            self._check_range(key, str(v) if is_id(v) else "", v)
        elif key.range == ("integer",) and (isinstance(v, bool) or not isinstance(v, int)):
            raise OntologyError(f"{k} takes an integer, not {v!a}: write it without quotes")
        elif key.range == ("boolean",) and not isinstance(v, bool):
            raise OntologyError(f"{k} takes true or false, not {v!a}: write it without quotes")
        elif key.range == ("date",):
            check_time(v, k)
        return key

    def check_edge(self, subject: str, predicate: str, object_: str) -> Term:
        """Return the predicate after checking that the edge is within its domain and range."""
        term = self.predicate(predicate)
        self._check_domain(term, subject)
        self._check_range(term, object_, object_)
        return term

    def contested(self, facts: Iterable[Fact]) -> tuple[str, ...]:
        """Return the keys of cardinality `one` with two values whose times overlap, sorted."""
        by_key: dict[str, list[Fact]] = {}
        for fact in facts:
            term = self.keys.get(fact.k)
            if term is not None and term.cardinality == "one":
                by_key.setdefault(fact.k, []).append(fact)
        return tuple(sorted(k for k, group in by_key.items() if _clash(group)))

    def _known(self, terms: Mapping[str, Term], name: str, what: str) -> Term:
        if name in terms:
            return terms[name]
        near = get_close_matches(name, terms, n=3, cutoff=0.5) or nearest_by_meaning(name, terms)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise OntologyError(
            f"{name!a} is not a known {what}: {hint}"
            f"See kg ontology, or declare it with: kg ontology add-{what}"
        )

    def _check_domain(self, term: Term, id_: str) -> None:
        kind = self.type_of(id_)
        if term.domain and kind.name not in term.domain:
            raise OntologyError(
                f"{term.name} is not said of {kind.name} ({id_}): it is said of {_or(term.domain)}"
            )

    def _check_range(self, term: Term, id_: str, shown: Value) -> None:
        if not id_:
            raise OntologyError(
                f"{term.name} takes an entity ({_or(term.range)}), not the text {shown!a}: "
                "give an id or the ref of one"
            )
        kind = self.type_of(id_)
        if term.range and kind.name not in term.range:
            raise OntologyError(
                f"{term.name} does not take {kind.name} ({id_}): it takes {_or(term.range)}"
            )


def _clash(facts: list[Fact]) -> bool:
    """Whether any two of the facts, of one key, have different values at a common time."""
    return any(a.identity[1] != b.identity[1] and a.overlaps(b) for a, b in combinations(facts, 2))


def nearest_by_meaning(name: str, terms: Mapping[str, Term]) -> list[str]:
    """Return up to three terms whose definition holds a word of `name`."""
    words = {w for w in name.split("-") if len(w) > 3}
    return [t.name for t in terms.values() if words & set(t.definition.split())][:3]


@cache
def shipped() -> Ontology:
    """Return the ontology for work on code that every store starts with."""
    return extend(
        Ontology({}, {}, {}), json.loads(files("kg").joinpath("ontology.json").read_text("utf-8"))
    )


def extend(base: Ontology, more: Mapping[str, Any]) -> Ontology:
    """Return `base` with the types, keys and predicates of a store.json's `ontology`.

    Raises:
        OntologyError: a definition breaks a rule, or a type names no collision.
    """
    types = {**base.types, **{n: _type(n, m) for n, m in more.get("types", {}).items()}}
    known = Ontology(types, {}, {})
    if base.types:
        for name in more.get("types", {}):
            others = {n: t for n, t in types.items() if n != name}
            check_new_type(types[name], Ontology({**base.types, **others}, {}, {}))
    keys = {n: _term(n, m, known, "key") for n, m in more.get("keys", {}).items()}
    predicates = {n: _term(n, m, known, "predicate") for n, m in more.get("predicates", {}).items()}
    made = Ontology(types, {**base.keys, **keys}, {**base.predicates, **predicates})
    for key in made.keys.values():
        if key.edge and key.edge not in made.predicates:
            raise OntologyError(f"{key.name}: its edge {key.edge!a} is no predicate: declare it")
    return made


def _type(name: str, members: Mapping[str, Any]) -> Type:
    return Type(
        name=name,
        prefix=members.get("prefix", name.lower()),
        definition=members.get("definition", ""),
        confused_with=tuple(members.get("confused_with", ())),
        because=members.get("because", ""),
    )


def check_new_type(made: Type, base: Ontology) -> None:
    """Hold a sixth type to the collision rule: it extends only on a collision it can name.

    Raises:
        OntologyError: it does not name two existing types and why neither fits.
    """
    if not (made.name.isascii() and made.name.isalnum() and made.name[:1].isupper()):
        raise OntologyError(f"{made.name!a} is no type name: one capitalised word")
    if not (made.prefix.isascii() and made.prefix.isalpha() and made.prefix.islower()):
        raise OntologyError(f"{made.prefix!a} is no id prefix: lower-case letters only")
    if any(made.name == t.name or made.prefix == t.prefix for t in base.types.values()):
        raise OntologyError(
            f"the type {made.name} or prefix {made.prefix} is taken: choose another"
        )
    known = [name for name in made.confused_with if name in base.types]
    if len(set(known)) != 2 or len(made.confused_with) != 2 or not made.because.strip():
        raise OntologyError(
            f"the type {made.name} must name the two types it would be confused with and why "
            "neither fits: --confused-with A --confused-with B --because WHY"
        )


def _term(name: str, members: Mapping[str, Any], known: Ontology, what: str) -> Term:
    check_word(name, what)
    domain, range_ = _names(members, "domain"), _names(members, "range")
    for kind in (*domain, *range_):
        if kind not in known.types and not (
            what == "key" and range_ == (kind,) and kind in LITERALS
        ):
            raise OntologyError(f"{name}: {kind!a} is no type: use one of {', '.join(known.types)}")
    definition = members.get("definition")
    if not isinstance(definition, str) or not definition.strip():
        raise OntologyError(f"{name} has no definition: say in a sentence what it means")
    cardinality = members.get("cardinality", "one")
    if cardinality not in ("one", "many"):
        raise OntologyError(f"{name}: cardinality is {cardinality!a}: use one or many")
    return Term(
        name=name,
        definition=definition,
        domain=domain,
        range=() if range_ == ("text",) else range_,
        cardinality=cardinality,
        edge=members.get("edge", ""),
        identifying=members.get("identifying", False),
        kind=members.get("kind", "fact"),
        importance=members.get("importance", 5),
    )


def _names(members: Mapping[str, Any], what: str) -> tuple[str, ...]:
    value = members.get(what, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(names) if names else "any type"
