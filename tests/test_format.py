"""Values and canonical bytes: one value, one byte string, and nothing else is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from checks import one_line_error
from hypothesis import given
from hypothesis import strategies as st
from strategies import edges, entities, garbage, ids, mutated, slugs, traces, words

from kg.errors import FormatError, FormatVersionError, KgError
from kg.format import (
    Settings,
    dump_edge,
    dump_entity,
    dump_settings,
    dump_trace,
    edge_path,
    entity_path,
    fanned,
    key_of_edge_path,
    parse_edge,
    parse_entity,
    parse_settings,
    parse_trace,
    trace_path,
)
from kg.format.canonical import load
from kg.format.schema import NAMES, problems, schema, validator
from kg.format.settings import check_version
from kg.model import Edge, Entity, Trace

ENTITY: dict[str, Any] = {
    "id": "object/x", "type": "Object", "name": "x", "aliases": [], "facts": [], "seen_again": [],
    "retracted": [], "contested": [], "first_run": "r1", "last_seen_run": "r2",
}  # fmt: skip
FACT: dict[str, Any] = {"k": "note", "v": "a", "src": "raw/r1-a.txt#L1", "seen_run": "r1"}


@given(entities)
def test_an_entity_survives_its_bytes(entity: Entity) -> None:
    """Reading what was written gives the value back, and writing that the same bytes."""
    data = dump_entity(entity)
    assert parse_entity(data, "x") == entity
    assert dump_entity(parse_entity(data, "x")) == data


@given(edges)
def test_an_edge_survives_its_bytes(edge: Edge) -> None:
    """Reading what was written gives the value back, and writing that the same bytes."""
    data = dump_edge(edge)
    assert parse_edge(data, "x") == edge
    assert dump_edge(parse_edge(data, "x")) == data


@given(traces)
def test_a_trace_survives_its_bytes(trace: Trace) -> None:
    """Front matter and prose come back as they were, whatever characters they hold."""
    data = dump_trace(trace)
    assert parse_trace(data, "x") == trace
    assert dump_trace(parse_trace(data, "x")) == data


@given(entities, st.randoms(use_true_random=False))
def test_layout_and_order_in_a_file_say_nothing(entity: Entity, chance: Any) -> None:  # noqa: ANN401
    """However a person has laid out and ordered a file, its canonical bytes are the same."""
    raw = json.loads(dump_entity(entity))
    for value in raw.values():
        if isinstance(value, list):
            chance.shuffle(value)
    shuffled = dict(chance.sample(sorted(raw.items(), key=str), len(raw)))
    by_hand = json.dumps(shuffled, indent=chance.choice([None, 1, 8])).encode()
    assert dump_entity(parse_entity(by_hand, "x")) == dump_entity(entity)


@given(entities)
def test_one_fact_stands_on_one_line(entity: Entity) -> None:
    """`grep` shows a fact with its source: each line of a list is one whole member."""
    rows = dump_entity(entity).decode().split("\n")
    for fact in entity.facts:
        assert sum(json.dumps(fact.src) in row and '{"k": ' in row for row in rows) >= 1
    for row in rows:
        if row.startswith("    {"):
            json.loads(row.rstrip(","))
    assert all(ord(c) not in {0x2028, 0x2029, 0xFEFF, 0x202E} for row in rows for c in row)


@given(st.one_of(mutated("entity"), st.dictionaries(st.sampled_from([*ENTITY]), garbage)))
def test_constructor_and_schema_agree_on_entities(raw: dict[str, Any]) -> None:
    """What the published schema accepts is what kg reads, but for rules between members."""
    _agree(raw, "entity", parse_entity)


@given(st.one_of(mutated("edge"), st.dictionaries(st.sampled_from(["subject", "claims"]), garbage)))
def test_constructor_and_schema_agree_on_edges(raw: dict[str, Any]) -> None:
    """What the published schema accepts is what kg reads, but for rules between members."""
    _agree(raw, "edge", parse_edge)


# What JSON Schema has no word for: an order or a likeness between two members.
BETWEEN = (
    "comes before",
    "is not after",
    "stands there twice",
    "two things",
    "lesser id",
    "two members",
)


def _agree(raw: dict[str, Any], name: str, parse: Callable[[bytes, str], object]) -> None:
    data = json.dumps(raw).encode()
    found = problems(name, raw)
    refusal = ""
    try:
        parse(data, "x")
    except FormatError as error:
        one_line_error(error)
        refusal = str(error)
    between = any(words in refusal for words in BETWEEN)
    assert bool(refusal) == (bool(found) or between), f"{raw}: {refusal or found}"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever a file holds, reading it raises nothing but a FormatError of one line."""
    for parse in (parse_entity, parse_edge, parse_trace):
        try:
            parse(data, "x")
        except FormatError as error:
            one_line_error(error)
    try:
        parse_settings(data)
    except FormatError as error:
        one_line_error(error)


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": "object/x", "id": "object/y"}',
        b'{"n": 1e999}',
        b'{"n": 1.5}',
        b'{"n": NaN}',
        b'{"n": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"name": "\\ud800"}',
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"[]",
        b"null",
        b"",
    ],
)
def test_hostile_json_is_refused_in_one_line(data: bytes) -> None:
    """Twin members, decimals, huge numbers, deep nesting, half characters: one line each."""
    for parse in (parse_entity, parse_edge):
        with pytest.raises(FormatError) as refused:
            parse(data, "entities/object/x.json")
        one_line_error(refused.value)
        assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "members",
    [
        {"id": "object/../x"}, {"id": "object/con"}, {"id": "object/nul.txt"}, {"id": "Object/x"},
        {"id": "object/" + "x" * 81}, {"id": None}, {"name": "a\nb"}, {"name": "\ud800"},
        {"name": "a\x00b"}, {"name": " "}, {"name": "n" * 501}, {"archived": False},
        {"facts": None}, {"facts": [None]}, {"facts": {}}, {"more": 1}, {"first_run": "r3"},
        {"facts": [FACT, FACT]}, {"facts": [FACT, {**FACT, "v": "A"}]},
        {"aliases": None},
        {"aliases": [1]},
        {"aliases": ["a\x00b"]},
        {"contested": ["Not A Key"]},
        {"facts": [{**FACT, "v": None}]}, {"facts": [{**FACT, "v": 2**53}]},
        {"facts": [{**FACT, "importance": True}]}, {"facts": [{**FACT, "importance": 10}]},
        {"facts": [{**FACT, "src": "raw/../x.txt#L1"}]}, {"facts": [{**FACT, "src": "x.txt#L1"}]},
        {"facts": [{**FACT, "src": "raw/x.txt#L0"}]}, {"facts": [{**FACT, "since": "2026-02-30"}]},
        {"facts": [{**FACT, "since": "2026-01-02", "until": "2026-01-02"}]},
        {"facts": [{**FACT, "kind": "rumour"}]}, {"facts": [{**FACT, "basis": None}]},
        {"facts": [{**FACT, "v": "e\u0301"}, {**FACT, "v": "\u00e9"}]},
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_with_its_place(members: dict[str, Any]) -> None:
    """Path escapes, device names, controls, nulls, twins in any Unicode form: one line each."""
    with pytest.raises(FormatError) as refused:
        parse_entity(json.dumps(ENTITY | members).encode(), "entities/object/x.json")
    one_line_error(refused.value)
    assert "entities/object/x.json" in str(refused.value)


@given(ids, st.booleans())
def test_entity_paths_hold_the_id(id_: str, deep: bool) -> None:
    """A path follows from the id and the fan-out, and moving into the fan-out gives the same."""
    prefix, slug = id_.split("/")
    folder = f"entities/{prefix}"
    path = entity_path(id_, {folder} if deep else ())
    assert path.startswith(f"{folder}/")
    assert path.endswith(f"/{slug}.json")
    assert path.count("/") == 2 + deep
    assert not deep or path == fanned(folder, f"{slug}.json")


@given(ids, words, ids, st.booleans())
def test_edge_paths_say_the_edge(subject: str, predicate: str, object_: str, deep: bool) -> None:
    """The path of an edge can be read back, in either layout."""
    folder = f"edges/{subject.split('/', maxsplit=1)[0]}"
    path = edge_path(subject, predicate, object_, {folder} if deep else ())
    if not deep:
        assert key_of_edge_path(path) == (subject, predicate, object_)
    assert not deep or path == fanned(folder, path.rpartition("/")[2])


@given(traces, slugs)
def test_a_traces_path_tells_what_was_tried(trace: Trace, slug: str) -> None:
    """Who tries the same with the same result arrives at the same file, whatever the run."""
    again = Trace(
        about=trace.about, tried=f" {trace.tried.upper()} ", outcome=trace.outcome,
        because=trace.because, run="r7", agent="other", src="raw/r7-other.txt#L1",
    )  # fmt: skip
    if trace.tried.upper().casefold() == trace.tried.casefold():
        assert trace_path(trace, slug) == trace_path(again, slug)


@given(
    st.dictionaries(words, st.fixed_dictionaries({"definition": st.just("a thing")}), max_size=3),
    st.lists(st.sampled_from(["entities/object", "edges/org"]), unique=True),
    st.dictionaries(st.sampled_from(["later", "more"]), st.integers() | st.just("x"), max_size=2),
)
def test_settings_survive_their_bytes(keys: Any, fan_out: Any, more: Any) -> None:  # noqa: ANN401
    """store.json comes back as it was, with the members that this version does not know."""
    additions = {"types": {}, "keys": keys, "predicates": {}}
    settings = Settings(additions=additions, fan_out=tuple(sorted(fan_out)), more=more)
    data = dump_settings(settings)
    assert parse_settings(data) == settings
    assert dump_settings(parse_settings(data)) == data


def test_a_newer_format_is_told_from_a_broken_one() -> None:
    """A newer kg's store is read and never written; one that breaks the format names the place."""
    for newer in (b'{"kg_format": 2, "unheard": {"of": 1}}', b'{"kg_format": 9, "policies": []}'):
        with pytest.raises(FormatVersionError, match="upgrade"):
            check_version(parse_settings(newer))
    check_version(Settings())
    for bad in (b'{"kg_format": true}', b'{"kg_format": "1"}', b"{}", b'{"kg_format": 0}'):
        with pytest.raises(FormatError) as refused:
            parse_settings(bad)
        one_line_error(refused.value)


@given(st.dictionaries(st.sampled_from(["kg_format", "ontology", "policies", "fan_out"]), garbage))
def test_any_settings_are_read_or_refused(raw: dict[str, Any]) -> None:
    """Garbage in store.json raises a KgError of one line, never another exception."""
    try:
        parse_settings(json.dumps({"kg_format": 1, **raw}).encode())
    except KgError as error:
        one_line_error(error)


@given(st.dictionaries(st.sampled_from(["about", "tried", "outcome", "because", "run"]), garbage))
def test_any_front_matter_is_read_or_refused(raw: dict[str, Any]) -> None:
    """Garbage in a trace's front matter raises a FormatError of one line."""
    front = "".join(f"{name}: {json.dumps(value)}\n" for name, value in raw.items())
    for text in (f"---\n{front}---\n", f"---\n{front}", front):
        try:
            parse_trace(text.encode(), "tried/x.md")
        except FormatError as error:
            one_line_error(error)


def test_the_schemas_are_schemas() -> None:
    """The published contracts are themselves valid JSON Schema, each with a title."""
    for name in NAMES:
        made = validator(name)
        made.check_schema(made.schema)
        assert schema(name)["title"]


def test_a_decimal_is_refused_where_none_is_welcome() -> None:
    """Readers that use doubles would lose digits: a canonical file has no decimals."""
    with pytest.raises(FormatError, match="decimal"):
        load(b'{"v": 0.1}', "x")
    assert load(b'{"v": 0.1}', "x", decimal=str) == {"v": "0.1"}
