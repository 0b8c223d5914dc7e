"""Types, keys and predicates: what may be said of what, and how a store extends it."""

from __future__ import annotations

from typing import Any

import pytest
from checks import one_line_error
from hypothesis import given
from hypothesis import strategies as st
from strategies import TYPES, any_text, facts, garbage, ids, names, values

from kg.errors import KgError, OntologyError
from kg.model import JUDGING, Fact, Value
from kg.ontology import Term, extend, shipped

SRC: dict[str, Any] = {"src": "raw/r1-a.txt#L1", "seen_run": "r1"}


def test_the_shipped_types_are_the_five() -> None:
    """POLE+O: five types, each with a definition, found by name and prefix in any case."""
    types = shipped().types
    assert {t.prefix: t.name for t in types.values()} == TYPES
    for kind in types.values():
        assert shipped().type(kind.name.upper()) == shipped().type(kind.prefix) == kind
        assert kind.definition


def test_the_shipped_terms_are_sound() -> None:
    """Each key and predicate is defined, and a key's edge is a predicate that takes the same."""
    ontology = shipped()
    for key in ontology.keys.values():
        assert key.definition
        if key.edge:
            twin = ontology.predicate(key.edge)
            assert (set(twin.range), set(twin.domain)) == (set(key.range), set(key.domain))
    assert all(p in ontology.predicates for p in JUDGING)


@given(st.sampled_from(sorted(shipped().keys)), st.sampled_from(sorted(shipped().predicates)))
def test_terms_survive_store_json(key: str, predicate: str) -> None:
    """A definition taken out of the ontology and declared in a store is the same definition."""
    terms = {
        "keys": {key: shipped().key(key).to_json()},
        "predicates": {predicate: shipped().predicate(predicate).to_json()},
    }
    assert extend(shipped(), terms) == shipped()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("onwer", "owner"),
        ("oncall", "on-call"),
        ("licence", "license"),
        ("descripton", "description"),
    ],
)
def test_a_misspelt_key_names_the_nearest(wrong: str, right: str) -> None:
    """An unknown key is refused with what was meant, and how to declare one."""
    with pytest.raises(OntologyError, match=right) as refused:
        shipped().key(wrong)
    assert "add-key" in str(refused.value)


@pytest.mark.parametrize(
    ("id_", "k", "v"),
    [
        ("object/x", "owner", "org/acme"), ("object/x", "owner", "person/ada"),
        ("object/x", "port", 80), ("object/x", "deprecated", False), ("event/x", "date",
        "2026-11-30"),
        ("person/x", "status", "away"), ("org/x", "also-known-as", "X"), ("object/x", "status",
        True),
        ("object/x", "on-call", "org/acme"),
    ],
)  # fmt: skip
def test_facts_within_domain_and_range_are_taken(id_: str, k: str, v: Value) -> None:
    """Ids where entities are due, numbers, truth values and dates where those are."""
    assert shipped().check_fact(id_, k, v).name == k


@pytest.mark.parametrize(
    ("id_", "k", "v"),
    [
        ("object/x", "owner", "Acme"), ("object/x", "owner", "object/y"), ("object/x", "owner",
        True),
        ("person/x", "owner", "org/acme"), ("object/x", "port", "80"), ("object/x", "port", True),
        ("object/x", "deprecated", "yes"), ("object/x", "deprecated", 1), ("object/x", "email",
        "a@b"),
        ("event/x", "date", "soon"), ("event/x", "date", 20261130), ("thing/x", "note", "x"),
    ],
)  # fmt: skip
def test_facts_outside_are_refused(id_: str, k: str, v: Value) -> None:
    """Text for an entity, another type, a number in quotes: refused in one line."""
    with pytest.raises(KgError) as refused:
        shipped().check_fact(id_, k, v)
    one_line_error(refused.value)


@pytest.mark.parametrize(
    ("subject", "predicate", "object_"),
    [
        ("person/x", "owned-by", "org/y"), ("object/x", "owned-by", "object/y"),
        ("object/x", "member-of", "org/y"), ("object/x", "ownd-by", "org/y"),
    ],
)  # fmt: skip
def test_edges_outside_are_refused(subject: str, predicate: str, object_: str) -> None:
    """An edge from or to another type, or of an unknown predicate, is refused in one line."""
    with pytest.raises(OntologyError) as refused:
        shipped().check_edge(subject, predicate, object_)
    one_line_error(refused.value)


def fact(v: Value, k: str = "status", **more: Any) -> Fact:  # noqa: ANN401
    """Return a fact of one source."""
    return Fact(k=k, v=v, **SRC, **more)


def test_two_values_at_one_time_are_contested() -> None:
    """Only keys of cardinality one, only at a common time, only with different values."""
    contested = shipped().contested
    assert contested([fact("up"), fact("down")]) == ("status",)
    assert contested([fact("up", until="2026-01-01"), fact("down", since="2026-01-01")]) == ()
    assert contested([fact("up", until="2026-01-02"), fact("down", since="2026-01-01")]) == (
        "status",
    )
    assert contested([fact("a", "note"), fact("b", "note")]) == ()
    assert contested([fact("up"), fact("UP", since="2026-01-01")]) == ()
    assert contested([]) == ()


@given(st.lists(facts, max_size=5), st.randoms(use_true_random=False))
def test_contested_does_not_depend_on_order(found: list[Fact], chance: Any) -> None:  # noqa: ANN401
    """The same facts are contested, however they are listed; unknown keys never are."""
    known = [fact(f.v, since=f.since, until=f.until) for f in found] + found
    shuffled = chance.sample(known, len(known))
    assert shipped().contested(known) == shipped().contested(shuffled)
    assert set(shipped().contested(known)) <= {*shipped().keys}


SIXTH = {"definition": "a rule", "confused_with": ["Object", "Event"], "because": "it is neither"}


def test_a_sixth_type_names_its_collision() -> None:
    """It extends only on a collision it can name; keys of the store may then use it."""
    more = {
        "types": {"Rule": SIXTH},
        "keys": {"scope": {"definition": "where", "domain": ["Rule"], "range": "text"}},
    }
    ontology = extend(shipped(), more)
    assert ontology.type_of("rule/x").name == "Rule"
    assert ontology.check_fact("rule/x", "scope", "all").cardinality == "one"
    assert ontology.check_fact("rule/x", "note", "text").name == "note"


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("Rule", {**SIXTH, "confused_with": ["Object"]}), ("Rule", {**SIXTH, "because": " "}),
        ("Rule", {**SIXTH, "confused_with": ["Object", "Object"]}),
        ("Rule", {**SIXTH, "confused_with": ["Object", "Thing"]}),
        ("Rule", {**SIXTH, "confused_with": ["Object", "Event", "Person"]}),
        ("Object", SIXTH), ("Rule", {**SIXTH, "prefix": "org"}), ("Rule", {**SIXTH,
        "prefix": "R1"}),
        ("rule", SIXTH), ("Ru le", SIXTH), ("Rulé", SIXTH),
    ],
)  # fmt: skip
def test_a_type_that_names_no_collision_is_refused(name: str, members: dict[str, Any]) -> None:
    """Because it feels tidier is no reason: two existing types and a because, or nothing."""
    with pytest.raises(OntologyError) as refused:
        extend(shipped(), {"types": {name: members}})
    one_line_error(refused.value)


@given(
    st.sampled_from(["keys", "predicates"]),
    any_text,
    st.dictionaries(st.sampled_from([*Term.__dataclass_fields__]), any_text | st.lists(any_text)),
)
def test_any_declaration_is_taken_or_refused(group: str, name: str, members: Any) -> None:  # noqa: ANN401
    """Garbage in a declaration raises an error of one line, never another exception."""
    try:
        made = extend(shipped(), {group: {name: members}})
    except KgError as error:
        one_line_error(error)
    else:
        assert (made.keys if group == "keys" else made.predicates)[name].definition


@given(any_text | names | ids, any_text, values | garbage.filter(lambda v: isinstance(v, str)))
def test_any_fact_is_taken_or_refused(id_: str, k: str, v: Value) -> None:
    """Whatever is asked of the ontology, the answer is a key or an error of one line."""
    for ask in (
        lambda: shipped().check_fact(id_, k, v),
        lambda: shipped().check_fact(id_, "owner", v),
        lambda: shipped().type(id_),
        lambda: shipped().predicate(k),
    ):
        try:
            ask()
        except KgError as error:
            one_line_error(error)
