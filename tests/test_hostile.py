"""Hostile input: each gives one line that ends in what to do, exit 2 or 3, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Kg
from stores import acme, git, in_tree, observed, store

from kg.errors import KgError
from kg.graph import Graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in memory/ with the design's example in it."""
    made = store(tmp_path / "memory")
    made.remember([acme()])
    return made


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """Return the commands."""
    return Kg(capsys)


def _refused(kg: Kg, graph: Graph, *args: str) -> str:
    """Run a command that must be refused; return the one line it says."""
    before = git(Path(graph.place.folder), "rev-parse", "HEAD")
    ran = kg(*args)
    assert ran.code in (2, 3), ran
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.isprintable() or ran.err.rstrip("\n").isprintable()
    assert git(Path(graph.place.folder), "rev-parse", "HEAD") == before
    assert git(Path(graph.place.folder), "status", "--porcelain") == ""
    assert not graph.outbox.names()
    return ran.err


def _said(tmp_path: Path, value: Any) -> str:  # noqa: ANN401
    path = tmp_path / "said.json"
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


NOT_OBSERVATIONS: dict[str, Any] = {
    "not json": b"payments-api is owned by Acme",
    "half json": b'{"text": "x"',
    "a list of numbers": [1, 2],
    "a string": "text",
    "null": None,
    "empty": b"",
    "not utf-8": b'{"text": "\xff\xfe"}',
    "deep nesting": b"[" * 200_000 + b"]" * 200_000,
    "deep in a member": b'{"text":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a broken line": b'{"text": "a"}\n{"text": \n',
    "nul": {"text": "one\0two"},
    "lone surrogate": b'{"text": "half \\ud800 a character"}',
    "lone surrogate in a name": {"text": "x", "entities": [{"type": "Object", "name": "\ud800"}]},
    "50 MB": b'{"text": "' + b"x" * 50_000_000 + b'"}',
    "control character in a name": {
        "text": "x",
        "entities": [{"type": "Object", "name": "a\x1b[31m"}],
    },
    "unknown member": {"text": "x", "fact": []},
    "text of a wrong type": {"text": 5},
    "facts of a wrong type": {"text": "x", "facts": "many"},
    "a fact that is a string": {"text": "x", "facts": ["owner"]},
    "run of a wrong form": {"text": "x", "run": "2026-11-30"},
    "agent with a path": {"text": "x", "agent": "../../etc"},
    "agent of a wrong type": {"text": "x", "agent": ["a"]},
    "at of a wrong form": {"text": "x", "at": "yesterday"},
    "at of a wrong type": {"text": "x", "at": 5},
    "a message without content": {"messages": [{"role": "user"}]},
    "messages of a wrong type": {"messages": "hello"},
    "an entity without a name": {"text": "x", "entities": [{"type": "Object"}]},
    "unknown type": {"text": "x", "entities": [{"type": "Idea", "name": "x"}]},
    "an id with a path": {"text": "x", "entities": [{"id": "object/../../etc/passwd"}]},
    "an absolute id": {"text": "x", "entities": [{"id": "/etc/passwd"}]},
    "an id with --": {"text": "x", "entities": [{"id": "object/a--b"}]},
    "a device's id": {"text": "x", "entities": [{"id": "object/con"}]},
    "an id in upper case": {"text": "x", "entities": [{"id": "object/Payments-API"}]},
    "two entities of one ref": {
        "text": "x",
        "entities": [{"ref": "a", "type": "Object", "name": n} for n in ("x", "y")],
    },
}


@pytest.mark.parametrize("name", NOT_OBSERVATIONS)
def test_what_is_no_observation_is_refused(name: str, kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """Anything but an observation is refused in one line, and nothing is written."""
    _refused(kg, graph, "remember", _said(tmp_path, NOT_OBSERVATIONS[name]))


_FACT = {"entity": "payments-api", "k": "status", "v": "fine"}
WRONG_FACTS: dict[str, dict[str, Any]] = {
    "no source": {},
    "an empty quote": {"quote": "  "},
    "a quote that is not there": {"quote": "words nobody said"},
    "a quote inside a word": {"quote": "tatus is fin"},
    "two sources": {"quote": "status", "lines": 1},
    "a line past the end": {"lines": 9},
    "line zero": {"lines": 0},
    "lines reversed": {"lines": [2, 1]},
    "src out of the store": {"src": "raw/../../etc/passwd#L1"},
    "an absolute src": {"src": "/etc/passwd#L1"},
    "src without a line": {"src": "raw/x.txt"},
    "src to a file that is not there": {"src": "raw/r1-x.00000000.txt#L1"},
    "a quote in a file out of the store": {"quote": "root", "in": "raw/../../etc/passwd"},
    "an unknown key": {"lines": 1, "k": "onwer"},
    "a key that is no word": {"lines": 1, "k": "a b"},
    "an unknown entity": {"lines": 1, "entity": "object/nothing"},
    "a ref that is not there": {"lines": 1, "entity": "nobody"},
    "a decimal": {"lines": 1, "v": 1.5},
    "a huge integer": {"lines": 1, "v": 2**60},
    "a list": {"lines": 1, "v": [1]},
    "null": {"lines": 1, "v": None},
    "an empty value": {"lines": 1, "v": ""},
    "a value with a control character": {"lines": 1, "v": "a\x07b"},
    "text where an entity is due": {"lines": 1, "k": "owner", "v": "Acme"},
    "the wrong type of entity": {"lines": 1, "k": "owner", "v": "object/payments-api"},
    "a wrong date": {"lines": 1, "k": "deadline", "v": "soon"},
    "text for a number": {"lines": 1, "k": "port", "v": "http"},
    "text for a boolean": {"lines": 1, "k": "deprecated", "v": "yes"},
    "an unknown kind": {"lines": 1, "kind": "rumour"},
    "an unknown basis": {"lines": 1, "basis": "guessed"},
    "importance 11": {"lines": 1, "importance": 11},
    "until before since": {"lines": 1, "since": "2026-02-01", "until": "2026-01-01"},
}


@pytest.mark.parametrize("name", WRONG_FACTS)
def test_a_wrong_fact_is_refused(name: str, kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """A fact that breaks a rule is refused in one line, and nothing of its text is kept."""
    said = {
        "text": "the status is fine\n",
        "entities": [{"ref": "payments-api", "type": "Object", "name": "payments-api"}],
        "facts": [{**_FACT, **WRONG_FACTS[name]}],
    }
    _refused(kg, graph, "remember", _said(tmp_path, said))


WRONG_EDGES: dict[str, dict[str, Any]] = {
    "to nothing": {"object": "org/nobody"},
    "to itself": {"object": "object/payments-api"},
    "an unknown predicate": {"predicate": "ownedby"},
    "out of its domain": {"subject": "org/acme-corp", "object": "object/payments-api"},
    "out of its range": {"object": "object/other"},
    "a judgement": {"predicate": "same-as", "object": "object/other"},
    "no source": {"lines": None},
}


@pytest.mark.parametrize("name", WRONG_EDGES)
def test_a_wrong_edge_is_refused(name: str, kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """An edge that breaks a rule is refused in one line."""
    graph.remember([observed("other", ("other", "note", "other"))])
    edge = {
        "subject": "object/payments-api", "predicate": "owned-by", "object": "org/acme-corp",
        "lines": 1, **WRONG_EDGES[name],
    }  # fmt: skip
    said = {"text": "x", "edges": [{n: v for n, v in edge.items() if v is not None}]}
    _refused(kg, graph, "remember", _said(tmp_path, said))


COMMANDS: dict[str, tuple[str, ...]] = {
    "an unknown command": ("rember",),
    "an unknown option": ("ls", "--al"),
    "no such id": ("show", "object/nothing"),
    "no id at all": ("show", "../../etc/passwd"),
    "no such type": ("ls", "idea"),
    "no such key": ("why", "object/payments-api", "onwer"),
    "no such revision": ("show", "object/payments-api", "--at", "no-such"),
    "a revision that is an option": ("show", "object/payments-api", "--at", "--all"),
    "no such file": ("remember", "no-such-file.json"),
    "a folder": ("remember", "."),
    "no such store": ("-C", "/no/such/folder", "ls"),
    "no store there": ("-C", "/", "ls"),
    "a fact without a source": ("add", "fact", "object/payments-api", "status", "fine"),
    "two sources": ("add", "fact", "object/x", "status", "x", "--because", "x", "--src", "y"),
    "an entity that is there": ("add", "entity", "Object", "Payments-API"),
    "retracting nothing": ("retract", "object/payments-api", "status", "--because", "x"),
    "retracting an edge to nobody": ("retract", "object/x", "owned-by", "--because", "x"),
    "a sixth type without its collisions": (
        "ontology", "add-type", "Idea", "--prefix", "idea", "--definition", "x",
        "--confused-with", "Object", "--because", "x"),
    "a type that is there": (
        "ontology", "add-type", "Object", "--prefix", "thing", "--definition", "x",
        "--confused-with", "Event", "--confused-with", "Person", "--because", "x"),
    "a key that is there": ("ontology", "add-key", "owner", "--definition", "x"),
    "a key of no type": ("ontology", "add-key", "sla", "--definition", "x", "--domain", "Idea"),
    "a store that is there": ("init",),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_command_is_refused(name: str, kg: Kg, graph: Graph) -> None:
    """A command that cannot be done says so in one line, and nothing is written."""
    _refused(kg, graph, *COMMANDS[name])


def test_an_unknown_variable_stops_a_write(
    kg: Kg, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt KG_* variable is refused by writes, whose author may mean another store."""
    monkeypatch.setenv("KG_STROE", "/elsewhere")
    Path("note.txt").write_text("a note", encoding="utf-8")
    assert "KG_STROE" in _refused(kg, graph, "capture", "note.txt")
    assert kg("ls").code == 0


@pytest.mark.parametrize("twin", ["PAYMENTS-API", "Payments-Api", "payments-api\u200a"])
def test_twins_by_case_and_space_are_one(twin: str, graph: Graph) -> None:
    """Names that differ in case or white space are one thing."""
    answer = graph.remember([observed("x", (twin, "note", "x"))])
    assert [m.id for m in answer.recorded[0].mentions] == ["object/payments-api"]


def test_twins_by_unicode_form_are_one(graph: Graph) -> None:
    """Names that differ in Unicode form are one thing, kept in NFC."""
    first = graph.remember([observed("x", ("Caf\u00e9", "note", "x"))])
    second = graph.remember([observed("y", ("Cafe\u0301", "note", "y"))])
    ids = {a.recorded[0].mentions[0].id for a in (first, second)}
    assert ids == {"object/cafe"}
    assert graph.entity("object/cafe").name == "Caf\u00e9"


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    """A folder of the store that is a link to elsewhere is refused, and elsewhere stays empty."""
    graph = in_tree(tmp_path / "code")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "code/memory/entities").symlink_to(elsewhere)
    with pytest.raises(KgError, match="symbolic link"):
        graph.remember([acme()])
    assert list(elsewhere.iterdir()) == []
