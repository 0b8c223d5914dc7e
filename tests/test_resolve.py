"""From a mention to an entity: slugs for any name, and nothing merged on a guess."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import any_text, names

from kg.model import DEVICES, MAX_SLUG, Entity, Fact, is_id
from kg.ontology import shipped
from kg.resolve import Created, Matched, Pending, decide, slug_of, suffixed
from kg.resolve.decision import identifying_facts
from kg.text import fold

SRC = "raw/r1-a.txt#L1"


@given(any_text | names)
@example("con.x")
@example("a" * 200)
@example("x" * 79 + "..y")
@example("com1." + "y" * 90)
def test_a_slug_is_valid_or_marked_not_whole(name: str) -> None:
    """For any text at all: whole slugs are ids as they are, others once suffixed."""
    slug, whole = slug_of(name)
    assert slug
    assert not whole or is_id(f"object/{slug}")
    assert is_id(f"object/{suffixed(slug, 'Object', name, SRC)}")
    assert len(suffixed(slug, "Object", name, SRC)) <= MAX_SLUG


@given(names)
def test_a_slug_does_not_depend_on_the_unicode_form(name: str) -> None:
    """NFC and NFD twins get one id on every machine, suffixed or not."""
    other = normalize("NFD", name)
    assert slug_of(name) == slug_of(other)
    assert suffixed("x", "Object", name, SRC) == suffixed("x", "Object", other, SRC)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Acme Corp", "acme-corp"), ("payments-api", "payments-api"), ("Größe", "grosse"),
        ("src/app.py", "src-app.py"), ("a -- b", "a-b"), ("snake_case", "snake_case"),
        ("v1.2.3", "v1.2.3"), ("..hidden..", "hidden"), ("Ａcme", "acme"), ("A&B", "a-b"),
        ("北京", "beijing"), ("İstanbul", "istanbul"),
    ],
)  # fmt: skip
def test_slugs_read_like_the_names(name: str, slug: str) -> None:
    """Transliterated, lower case, anything else one hyphen."""
    assert slug_of(name) == (slug, True)


@pytest.mark.parametrize("name", ["", "!!!", "\ud800", "con", "NUL", "aux.txt", "LPT1", "x" * 81])
def test_names_that_make_no_slug_are_marked(name: str) -> None:
    """Empty, reserved and long ones need six digits of their own to be told apart."""
    assert not slug_of(name)[1]


def test_devices_are_reserved_whatever_their_extension() -> None:
    """No slug, suffixed or not, is the name of a device on Windows."""
    for device in DEVICES:
        for name in (device, f"{device}.txt", f"{device}.a.b"):
            made = suffixed(slug_of(name)[0], "Object", name, SRC)
            assert made.split(".")[0] not in DEVICES


@given(names, st.sampled_from(["Object", "Person"]), st.sampled_from([SRC, "raw/r2-a.txt#L1"]))
def test_two_things_of_one_slug_get_two_ids(name: str, type_: str, src: str) -> None:
    """Type, name and first source make the digits; the same three give the same."""
    made = suffixed("x", type_, name, src)
    assert made == suffixed("x", type_, name, src)
    assert made != suffixed("x", type_, name + "!", src)
    assert made != suffixed("x", type_ + "s", name, src)


def thing(id_: str, name: str, *facts: tuple[str, str]) -> Entity:
    """Return an entity with these facts."""
    made = tuple(Fact(k=k, v=v, src=SRC, seen_run="r1") for k, v in facts)
    return Entity(id=id_, type="Person", name=name, facts=made, first_run="r1", last_seen_run="r1")


ADA = thing("person/ada", "Ada", ("email", "Ada@x.example"))
OTHER = thing("person/ada-2", "Ada", ("email", "ada@y.example"), ("also-known-as", "Lady L"))
BARE = thing("person/ada-3", "Ada")
MINE = {"email": frozenset({"ada@x.example"})}


@pytest.mark.parametrize(
    ("candidates", "told", "policy", "decision"),
    [
        ([], {}, "link", Created()),
        ([ADA], {}, "link", Matched("person/ada", "name")),
        ([ADA], {}, "check", Matched("person/ada", "name")),
        ([ADA], {}, "review", Pending(("person/ada",), "")),
        ([ADA], MINE, "review", Matched("person/ada", "name")),
        ([OTHER], MINE, "check", Pending(("person/ada-2",), "")),
        ([ADA, OTHER], MINE, "check", Matched("person/ada", "name")),
        ([ADA, OTHER], {}, "check", Pending(("person/ada", "person/ada-2"), "")),
        ([ADA, OTHER], {}, "link", Pending(("person/ada", "person/ada-2"), "")),
        ([OTHER, BARE], MINE, "check", Matched("person/ada-3", "name")),
        ([BARE], MINE, "check", Matched("person/ada-3", "name")),
    ],
)
def test_an_exact_name_is_worth_what_the_policy_says(
    candidates: list[Entity], told: dict[str, frozenset[str]], policy: str, decision: object
) -> None:
    """Link, link unless identifying facts conflict, or review; several are never guessed at."""
    made = decide("ADA", candidates, told, policy, shipped())
    if isinstance(made, Pending):
        assert isinstance(decision, Pending)
        assert made.candidates == decision.candidates
        assert made.because
    else:
        assert made == decision


@given(st.permutations([ADA, OTHER, BARE]), st.sampled_from(["link", "check", "review"]))
def test_a_decision_does_not_depend_on_the_order_of_candidates(
    candidates: list[Entity], policy: str
) -> None:
    """Candidates are a set: listing them differently decides nothing differently."""
    for told in ({}, MINE):
        made = decide("Ada", candidates, told, policy, shipped())
        assert made == decide(
            "Ada", sorted(candidates, key=lambda e: e.id), told, policy, shipped()
        )


def test_a_match_says_whether_it_was_the_name() -> None:
    """By name or by another name: the answer tells which."""
    assert decide("lady l", [OTHER], {}, "link", shipped()) == Matched("person/ada-2", "alias")


def test_identifying_facts_are_folded_and_the_others_left_out() -> None:
    """E-mail addresses that differ in case are one; a role identifies nobody."""
    person = thing("person/x", "X", ("email", "A@B"), ("email", "c@d"), ("role", "boss"))
    assert identifying_facts(person.facts, shipped()) == {"email": {fold("a@b"), "c@d"}}
