"""The one write contract: what is taken, and that all else is refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from checks import one_line_error
from hypothesis import given
from hypothesis import strategies as st
from stores import acme
from strategies import any_text, garbage, names, texts, times

from kg.errors import KgError, MissingSourceError, RefusedError
from kg.format.schema import problems
from kg.graph.observation import parse_observation
from kg.graph.rawtext import check_raw, render_conversation, when
from kg.graph.said import Observation

PARTS = ("entities", "facts", "edges", "tried", "retract", "rename")


def parse(raw: Any) -> Observation:  # noqa: ANN401
    """Return the observation, with run and agent filled in."""
    return parse_observation(raw, run="r1", agent="a", at=0)


def test_the_designs_example_is_an_observation() -> None:
    """The published example parses, and the published schema agrees."""
    said = parse(acme())
    assert (said.run, said.agent) == ("r1785343267", "scoper")
    assert [m.ref for m in said.entities] == ["api", "acme"]
    assert problems("observation", acme()) == []


def test_text_alone_is_enough() -> None:
    """Only text is required; run and agent are filled in, a final line feed is added."""
    said = parse({"text": "a line"})
    assert (said.run, said.agent, said.text) == ("r1", "a", "a line\n")
    assert parse({"text": "a line\n"}) == said
    assert parse({}).text == ""


def edited(*path: str | int, to: Any = None, drop: bool = False) -> dict[str, Any]:  # noqa: ANN401
    """Return the example with one member changed or dropped."""
    raw = json.loads(json.dumps(acme()))
    at: Any = raw
    for step in path[:-1]:
        at = at[step]
    if drop:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return raw  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "raw",
    [
        edited("facts", 0, "quote", drop=True), edited("facts", 0, "quote", to=""),
        edited("facts", 0, "quote", to=" "), edited("facts", 0, "quote", to=None),
        edited("facts", 0, "lines", to=[1, 1]), edited("edges", 0, "quote", drop=True),
        edited("facts", 0, "quote", to=["on-call"]),
    ],
)  # fmt: skip
def test_nothing_is_said_without_a_source(raw: dict[str, Any]) -> None:
    """No quote, an empty one, or two kinds of source at once: refused."""
    with pytest.raises(RefusedError) as refused:
        parse(raw)
    one_line_error(refused.value)


@pytest.mark.parametrize(
    "raw",
    [
        edited("more", to=1), edited("run", to="x"), edited("run", to=None), edited("agent",
        to="A B"),
        edited("at", to="yesterday"), edited("at", to=5), edited("text", to=None), edited("text",
        to=[]),
        edited("text", to="a\0b"), edited("text", to="\ud800"), edited("entities", to={}),
        edited("entities", 0, to="x"), edited("entities", 0, "name", drop=True),
        edited("entities", 1, "ref", to="api"), edited("entities", 0, "ref", to=5),
        edited("entities", 0, "id", to="../x"), edited("entities", 0, "aliases", to=["x"]),
        edited("entities", 0, "aliases", to=[{"name": "x"}]), edited("entities", 0, "type", to=1),
        edited("facts", 0, "v", to=1.5), edited("facts", 0, "v", to=None),
        edited("facts", 0, "v", to=2**60), edited("facts", 0, "v", to=["x"]),
        edited("facts", 0, "k", to=""), edited("facts", 0, "importance", to=99),
        edited("facts", 0, "importance", to="high"), edited("facts", 0, "kind", to="rumour"),
        edited("facts", 0, "since", to="soon"), edited("facts", 0, "since", to=2026),
        edited("facts", 0, "quotes", to="x"), edited("facts", 0, "in", to="x.txt"),
        edited("facts", 0, "in", to=5), edited("edges", 0, "object", drop=True),
        edited("tried", 0, "outcome", to="maybe"), edited("tried", 0, "because", to=""),
        edited("tried", 0, "about", to=[1]), edited("tried", 0, "prose", to=5),
        edited("retract", to=[{"entity": "api", "quote": "x"}]),
        edited("retract", to=[{"entity": "api", "k": "a", "predicate": "b", "quote": "x"}]),
        edited("rename", to=[{"entity": "api", "quote": "x"}]), edited("messages", to=[]),
        edited("messages", to=[{"role": "user", "content": "x"}]), edited("session", to="a\nb"),
    ],
)  # fmt: skip
def test_what_breaks_the_contract_is_refused(raw: dict[str, Any]) -> None:
    """Unknown members, wrong types, nulls, decimals, half characters: refused in one line."""
    with pytest.raises(RefusedError) as refused:
        parse(raw)
    one_line_error(refused.value)


@pytest.mark.parametrize(
    "lines", [0, -1, True, [2, 1], [1], [1, 2, 3], ["1", "2"], "1", None, [True, 2]]
)
def test_lines_are_counted_from_one(lines: Any) -> None:  # noqa: ANN401
    """A line number or two of them in order, nothing else."""
    raw = edited("facts", 0, "quote", drop=True)
    raw["facts"][0]["lines"] = lines
    with pytest.raises(RefusedError) as refused:
        parse(raw)
    one_line_error(refused.value)


@given(st.sampled_from(PARTS), st.lists(st.dictionaries(any_text, garbage, max_size=3), max_size=2))
def test_any_part_is_taken_or_refused(part: str, members: list[dict[str, Any]]) -> None:
    """Garbage of any shape in a part raises an error of one line, never another exception."""
    try:
        parse({"text": "x\n", part: members})
    except KgError as error:
        one_line_error(error)


@given(st.data())
def test_a_mutated_example_is_taken_or_refused(data: st.DataObject) -> None:
    """The example with any member replaced by anything: parsed, or refused in one line."""
    raw = json.loads(json.dumps(acme()))
    part = data.draw(st.sampled_from([*raw]))
    at = raw[part][0] if isinstance(raw[part], list) and data.draw(st.booleans()) else raw
    name = data.draw(st.sampled_from([*at, "lines", "src", "in", "since", "kind", "importance"]))
    at[name] = data.draw(garbage)
    try:
        parse(raw)
    except KgError as error:
        one_line_error(error)
    else:
        assert problems("observation", raw) == [], raw


@given(garbage)
def test_what_is_no_object_is_refused(raw: Any) -> None:  # noqa: ANN401
    """A list, a number, null: an observation is a JSON object."""
    try:
        parse(raw)
    except KgError as error:
        one_line_error(error)


@given(
    names,
    st.lists(
        st.fixed_dictionaries({"role": names, "content": texts}, optional={"at": times}), min_size=1
    ),
)
def test_a_conversation_is_one_line_a_turn(topic: str, messages: list[dict[str, str]]) -> None:
    """A header, then each turn on a line of its own with time and speaker, whatever it holds."""
    text = render_conversation(topic, "2026-07-08T09:00:00Z", list(messages))
    lines = text.split("\n")
    assert lines[0] == f"# conversation 2026-07-08T09:00:00Z {' '.join(topic.split())}"
    assert len(lines) == len(messages) + 2
    for line, turn in zip(lines[1:], messages, strict=False):
        assert line.endswith(
            f"{' '.join(turn['role'].split())}: {' '.join(turn['content'].split())}"
        )
        assert not turn.get("at") or line.startswith(f"[{turn['at']}] ")


def test_a_conversation_stands_instead_of_text() -> None:
    """Messages become the text that quotes are looked up in; both at once are refused."""
    turns = [{"role": "user", "content": "I'm Alice,\nCTO", "at": "2026-07-08T11:00:00+02:00"}]
    said = parse({"topic": "call", "at": "2026-07-08T09:00:00Z", "messages": turns})
    assert said.text == (
        "# conversation 2026-07-08T09:00:00Z call\n[2026-07-08T09:00:00Z] user: I'm Alice, CTO\n"
    )
    with pytest.raises(RefusedError):
        parse({"text": "x\n", "messages": turns})


@pytest.mark.parametrize(
    ("given_", "written"),
    [
        ("2026-11-30", "2026-11-30"), ("2026-11-30T09:00:00Z", "2026-11-30T09:00:00Z"),
        ("2026-11-30T10:00:00+01:00", "2026-11-30T09:00:00Z"), ("2026-11-30 09:00",
        "2026-11-30T09:00:00Z"),
        ("2026-11-30T09:00:00.5Z", "2026-11-30T09:00:00Z"),
    ],
)  # fmt: skip
def test_times_are_written_in_utc(given_: str, written: str) -> None:
    """Offsets are resolved, fractions dropped; a date stays a date."""
    assert when(given_) == written


@given(
    st.one_of(any_text, st.sampled_from(["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"]))
)
def test_any_time_is_written_or_refused(text: str) -> None:
    """Whatever stands where a time is due, the answer is a time or one line."""
    try:
        assert when(when(text)) == when(text)
    except RefusedError as error:
        one_line_error(error)


def test_raw_text_must_be_text() -> None:
    """Binary and half characters are refused by line; an empty text stays empty."""
    for bad in ("ok\nx\0y", "ok\nx\ud800y"):
        with pytest.raises(RefusedError, match="line 2"):
            check_raw(bad)
    assert check_raw("") == ""
    with pytest.raises(RefusedError, match="split"):
        check_raw("x" * (20 * 1024 * 1024 + 1))


def test_a_source_has_the_form_of_one() -> None:
    """A src is a line of raw/; escapes out of it are refused at the door."""
    raw = edited("facts", 0, "quote", drop=True)
    raw["facts"][0]["src"] = "raw/../store.json#L1"
    with pytest.raises(MissingSourceError):
        parse(raw)
