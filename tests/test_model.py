"""The values: what exists is valid, and what is not is refused in one line."""

from __future__ import annotations

from typing import Any
from unicodedata import is_normalized, normalize

import pytest
from checks import one_line_error
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    any_text,
    claims,
    entities,
    facts,
    garbage,
    ids,
    names,
    raw_paths,
    runs,
    srcs,
    texts,
    values,
)

from kg.errors import KgError, MissingSourceError, RefusedError
from kg.model import (
    Claim,
    Edge,
    Entity,
    Fact,
    Judgement,
    Sighting,
    Trace,
    check_name,
    check_text,
    check_time,
    check_value,
    is_id,
    parse_raw_name,
    parse_source,
    run_order,
    split_id,
    value_text,
)

SRC = "raw/r1-a.txt#L1"


@given(srcs)
def test_a_source_survives_its_text(src: str) -> None:
    """A source is read and written the same."""
    assert str(parse_source(src)) == src
    assert parse_source(src).first <= parse_source(src).last


@pytest.mark.parametrize(
    "src",
    [
        "", "raw/", "raw/x.txt", "raw/x.txt#L0", "raw/x.txt#L01", "raw/x.txt#L2-L1", "raw/x#L1-L1",
        "raw/../secret#L1", "raw//x#L1", "/raw/x#L1", "x/raw/y#L1", "raw/x y#L1", "raw/x#L1\n",
        "raw/x#l1", "raw/x#L1-3", "raw/\ud800#L1", "raw/é.txt#L1", "raw/x#L" + "9" * 5000,
        "raw/x#L１",
    ],
)  # fmt: skip
def test_what_names_no_line_of_raw_is_no_source(src: str) -> None:
    """Escapes out of raw/, odd digits, empty ranges: each is refused in one line."""
    with pytest.raises(MissingSourceError) as refused:
        parse_source(src)
    one_line_error(refused.value)


@given(raw_paths)
def test_a_raw_name_says_run_and_agent(path: str) -> None:
    """Run, agent and digits stand in the name, flat or one folder down."""
    name = parse_raw_name(path)
    assert name is not None
    assert path == f"raw/{name.run}-{name.agent}.{name.digits}.txt"
    assert parse_raw_name(path.replace("raw/", "raw/0f/")) == name
    run_order(name.run)
    Sighting(by=name.agent, run=name.run, src=f"{path}#L1")


def test_an_agent_too_long_to_be_one_is_not_read_from_a_name() -> None:
    """What a name of raw/ gives as agent can stand as one in a sighting."""
    assert parse_raw_name(f"raw/r1-{'a' * 70}.txt") is None


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "/", "object/", "/x", "object/x/y", "object/X", "object/-x", "object/x-",
        "object/x--y",
        "object/..", "object/.x", "object/x..y", "object/con", "object/com0", "object/aux.json",
        "object/é", "object/x\n", "object/x ", "../x", "object/" + "x" * 81, "obj3ct/x",
        "object\\x",
    ],
)  # fmt: skip
def test_what_could_be_no_file_name_is_no_id(text: str) -> None:
    """Escapes, device names, case and long slugs are no ids on any machine."""
    assert not is_id(text)
    with pytest.raises(RefusedError) as refused:
        split_id(text)
    one_line_error(refused.value)


@given(ids)
def test_an_id_has_two_parts(id_: str) -> None:
    """Type prefix and slug make up the id."""
    assert "/".join(split_id(id_)) == id_


@given(st.lists(runs, unique=True))
def test_runs_have_one_order(found: list[str]) -> None:
    """Runs are ordered by their number, then their id: a total order."""
    ordered = sorted(found, key=run_order)
    numbers = [int(run[1:].partition(".")[0]) for run in ordered]
    assert numbers == sorted(numbers)
    assert len({run_order(run) for run in found}) == len(found)


@pytest.mark.parametrize(
    "run",
    ["", "r", "1", "r1.", "r1.A", "r1-a", "r" + "1" * 13, "r１", "r1\n"],
)
def test_what_is_no_run_is_refused(run: str) -> None:
    """Runs are told from agents and file names by their form."""
    with pytest.raises(RefusedError) as refused:
        run_order(run)
    one_line_error(refused.value)


@given(st.one_of(garbage, any_text, texts))
def test_checks_refuse_in_one_line_or_return_sound_text(thing: Any) -> None:  # noqa: ANN401
    """Any object at all is either sound text in NFC or a refusal of one printable line."""
    for check in (check_name, check_text, check_time):
        try:
            text = check(thing, "it")
        except RefusedError as error:
            one_line_error(error)
        else:
            assert is_normalized("NFC", text)
            assert text.encode()
            assert "\0" not in text


@given(st.one_of(garbage, st.floats(), values))
def test_a_value_is_text_a_boolean_or_a_small_integer(thing: Any) -> None:  # noqa: ANN401
    """Decimals, nulls, lists and integers that doubles cannot hold are refused."""
    try:
        v = check_value(thing)
    except RefusedError as error:
        one_line_error(error)
    else:
        assert type(v) in (str, bool, int)
        assert isinstance(v, str) or abs(int(v)) < 2**53
        assert value_text(v)


@given(names)
def test_names_in_any_unicode_form_are_one(name: str) -> None:
    """NFD and NFC twins come out as the same name and the same fact."""
    assert check_name(normalize("NFD", name)) == check_name(name)
    one = Fact(k="note", v=normalize("NFD", name), src=SRC, seen_run="r1")
    assert one == Fact(k="note", v=name, src=SRC, seen_run="r1")


def test_true_is_not_one_in_importance_but_is_the_text_true_in_identity() -> None:
    """A boolean is no number where one is due; printed alike, values are one fact."""
    with pytest.raises(RefusedError):
        Claim(src=SRC, seen_run="r1", importance=True)
    yes = Fact(k="deprecated", v=True, src=SRC, seen_run="r1")
    assert yes.identity == Fact(k="deprecated", v="TRUE", src=SRC, seen_run="r2").identity


@given(claims, claims)
def test_overlap_is_symmetric(one: Claim, other: Claim) -> None:
    """Whether two claims hold at a common time does not depend on who is asked."""
    assert one.overlaps(other) == other.overlaps(one)
    assert one.overlaps(one)


@pytest.mark.parametrize(
    ("one", "other", "at_once"),
    [
        (("2026-01-01", "2026-02-01"), ("2026-02-01", None), False),
        (("2026-01-01", "2026-02-02"), ("2026-02-01", None), True),
        ((None, "2026-02-01T09:00:00Z"), ("2026-02-01", None), True),
        (("2026-02-01T00:00:00Z", None), (None, "2026-02-01"), False),
        (("2026-02-01", None), (None, "2026-02-01T00:00:00Z"), False),
    ],
)
def test_until_is_exclusive_and_a_date_begins_at_midnight(
    one: tuple[str | None, str | None], other: tuple[str | None, str | None], at_once: bool
) -> None:
    """Where one value ends and the next begins they do not contradict, whatever the precision."""
    a, b = (Claim(src=SRC, seen_run="r1", since=s, until=u) for s, u in (one, other))
    assert a.overlaps(b) is at_once


def test_a_span_of_time_must_not_be_empty() -> None:
    """A claim that ends when it begins is a mistake, written as date or as time."""
    for since, until in (
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02", "2026-01-01"),
        ("2026-01-02", "2026-01-02T00:00:00Z"),
        ("2026-01-02T00:00:00Z", "2026-01-02"),
    ):
        with pytest.raises(RefusedError, match="not after"):
            Claim(src=SRC, seen_run="r1", since=since, until=until)


@given(entities, runs)
def test_seen_widens_the_span_and_no_more(entity: Entity, run: str) -> None:
    """Any run is inside the span afterwards, and nothing else of the entity changes."""
    seen = entity.seen(run)
    assert run_order(seen.first_run) <= run_order(run) <= run_order(seen.last_seen_run)
    assert seen.seen(run) is seen
    assert (seen.facts, seen.id) == (entity.facts, entity.id)


@given(facts)
def test_twin_facts_are_refused(fact: Fact) -> None:
    """One entity holds a statement once, however its value is spelt."""
    with pytest.raises(RefusedError):
        Entity(
            id="object/x", type="Object", name="x", facts=(fact, fact), first_run="r1",
            last_seen_run="r1",
        )  # fmt: skip


@pytest.mark.parametrize(
    "members",
    [
        {"subject": "object/x", "object": "object/x", "claims": (Claim(src=SRC, seen_run="r1"),)},
        {"claims": ()},
        {"predicate": "same-as", "claims": (Claim(src=SRC, seen_run="r1"),)},
        {"judgements": (Judgement(by="resolver", verdict="same", run="r1", src=SRC),)},
        {"predicate": "same-as", "subject": "object/z", "claims": (),
         "judgements": (Judgement(by="resolver", verdict="same", run="r1", src=SRC),)},
    ],
)  # fmt: skip
def test_edges_hold_what_their_predicate_holds(members: dict[str, Any]) -> None:
    """Judgements for same-as and different-from, lesser id first; claims for all others."""
    sound: dict[str, Any] = {
        "subject": "object/x", "predicate": "uses", "object": "object/y",
        "claims": (Claim(src=SRC, seen_run="r1"),),
    }  # fmt: skip
    Edge(**sound)
    with pytest.raises(RefusedError) as refused:
        Edge(**{**sound, **members})
    one_line_error(refused.value)


@given(st.dictionaries(st.sampled_from(["by", "verdict", "run", "src", "score"]), any_text))
def test_judgements_and_traces_take_no_garbage(raw: dict[str, Any]) -> None:
    """Odd strings in a judgement or trace are refused in one line."""
    judged = {"by": "person:ada", "verdict": "same", "run": "r1", "src": SRC}
    tried: dict[str, Any] = {
        "about": (), "tried": "x", "outcome": "failed", "because": "y", "agent": "a", "run": "r1",
        "src": SRC, "error": raw.get("by"),
    }  # fmt: skip
    for make in (
        lambda: Judgement(**{**judged, **raw}),
        lambda: Trace(**tried),
    ):
        try:
            make()
        except KgError as error:
            one_line_error(error)
