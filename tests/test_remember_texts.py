"""Graph.remember: where texts go, what quotes find, and what never gets in."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from checks import check_store, head, one_line_error, remembered
from stores import LATER, RUN, git, observed, store

from kg.errors import (
    MissingSourceError,
    SecretError,
)
from kg.format import parse_edge
from kg.graph import Graph
from kg.graph import draft as draft_module

API = "object/payments-api"


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> Graph:
    return store(tmp_path / "memory")


def test_raw_holds_exactly_the_text(graph: Graph) -> None:
    """The bytes given, named by their hash; a line feed is added only where it is missing."""
    for text in ("a\r\nb\n", "no line feed", "\ttabs\x0c\n"):
        found = remembered(graph, {"run": RUN, "agent": "a", "text": text})
        data = Path(graph.place.folder, found.raw).read_bytes()
        assert data == (text if text.endswith("\n") else text + "\n").encode()
        assert hashlib.sha256(data).hexdigest()[:8] in found.raw


@pytest.mark.parametrize(
    ("text", "quote", "line"),
    [
        ("x is\n   up   now\n", "is up now", "L1-L2"),
        ("cafe\u0301 is up\n", "café is up", "L1"),
        ("is up at night\nx\nis up\n", "is up", "L3"),
        ("not is upper\nx is up, y is up\n", "is up", "L2"),
        ("支付服务由平台团队负责。\n", "平台团队", "L1"),
        ("\n\nx is up\n", "up", "L3"),
    ],
)
def test_quotes_find_their_line(graph: Graph, text: str, quote: str, line: str) -> None:
    """White space and Unicode form may differ; a whole line is preferred to a part of one."""
    raw = observed(text, ("x", "note", "v"))
    raw["facts"] = [{"entity": "x", "k": "note", "v": "up", "quote": quote}]
    assert remembered(graph, raw).facts[0].src.endswith(f"#{line}")


@pytest.mark.parametrize("quote", ["x is own", "wned", "X IS OWNED", "x was owned", "x owned"])
def test_invented_quotes_are_refused(graph: Graph, quote: str) -> None:
    """Other words, parts of words: not in the text, so nothing is written."""
    raw = observed("x is owned\n", ("x", "note", "v"))
    raw["facts"] = [{"entity": "x", "k": "note", "v": "up", "quote": quote}]
    with pytest.raises(MissingSourceError) as refused:
        graph.remember([raw])
    one_line_error(refused.value)


@pytest.mark.parametrize(
    "anchor",
    [
        {"lines": 2}, {"lines": [1, 2]}, {"src": "raw/r1-a.txt#L1"}, {"quote": "x",
        "in": "raw/none.txt"},
        {"quote": "x", "in": "raw/../store.json"},
    ],
)  # fmt: skip
def test_lines_that_are_not_there_are_refused(graph: Graph, anchor: dict[str, Any]) -> None:
    """A line past the end, a file that is not in the store, a path out of raw/: refused."""
    raw = observed("x is up\n", ("x", "note", "v"))
    raw["facts"] = [{"entity": "x", "k": "note", "v": "up", **anchor}]
    with pytest.raises(MissingSourceError) as refused:
        graph.remember([raw])
    one_line_error(refused.value)


def test_a_committed_line_can_be_cited(graph: Graph) -> None:
    """A later fact may name a line of raw/, or quote words of a file there, without a text."""
    raw = remembered(graph, {"run": RUN, "agent": "a", "text": "first\nx is up\n"}).raw
    entity = {"ref": "x", "type": "Object", "name": "x"}
    for at, anchor in enumerate(({"src": f"{raw}#L2"}, {"quote": "x is up", "in": raw})):
        fact = {"entity": "x", "k": "note", "v": "up" + "!" * at, **anchor}
        found = remembered(
            graph, {"run": LATER, "agent": "b", "entities": [entity], "facts": [fact]}
        )
        assert found.facts[0].src == f"{raw}#L2"


def test_a_value_that_is_not_in_its_line_is_inferred(graph: Graph) -> None:
    """What the source does not say in words is marked, in the file and in the answer."""
    found = remembered(
        graph, observed("it answers quickly\n", ("x", "note", "fast"), ("x", "tag", "QUICKLY"))
    )
    assert [s.inferred for s in found.facts] == [True, False]
    assert {f.v: f.basis for f in graph.entity("object/x").facts} == {"fast": "inferred", "QUICKLY": "stated"}  # fmt: skip  # noqa: E501


def test_folders_fan_out_when_they_grow(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit that crosses the limit moves all files of the type; facts stay findable."""
    monkeypatch.setattr(draft_module, "FAN_OUT_AT", 5)
    for number in range(12):
        remembered(graph, observed(f"t{number} is up\n", (f"t{number}", "status", "up")))
    folder = Path(graph.place.folder)
    assert graph.settings().fan_out == ("entities/object",)
    assert not list(folder.glob("entities/object/*.json"))
    assert len(list(folder.glob("entities/object/??/*.json"))) == 12
    found = remembered(graph, observed("t3 is down\n", ("t3", "status", "down"), run=LATER))
    assert found.mentions[0].id == "object/t3"
    assert found.contradictions
    assert len(list(folder.glob("raw/*.txt"))) == 5
    assert len(list(folder.glob("raw/??/*.txt"))) == 8


def test_a_batch_may_cross_the_limit(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that outgrows the limit within one batch is spread by the commit that does."""
    monkeypatch.setattr(draft_module, "FAN_OUT_AT", 5)
    batch = [
        observed(f"t{n} is up\n", (f"t{n}", "status", "up"), run=f"r{n // 3}") for n in range(9)
    ]
    graph.remember(batch)
    check_store(graph.place.top)
    assert len(list(Path(graph.place.folder).glob("entities/object/??/*.json"))) == 9
    for commit in git(Path(graph.place.top), "rev-list", "HEAD").split():
        names = git(Path(graph.place.top), "ls-tree", "-r", "--name-only", commit).split()
        assert len({n.rpartition("/")[2] for n in names if n.startswith("entities/")}) == len(
            [n for n in names if n.startswith("entities/")]
        )


def test_edges_fan_out_with_their_subjects(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges move too, and are found, seen again and retracted where they lie now."""
    monkeypatch.setattr(draft_module, "FAN_OUT_AT", 3)
    names = [{"ref": f"t{n}", "type": "Object", "name": f"t{n}"} for n in range(5)]
    edges = [
        {"subject": "t0", "predicate": "uses", "object": f"t{n}", "lines": 1} for n in range(1, 5)
    ]
    raw = {"run": RUN, "agent": "a", "text": "uses\n", "entities": names, "edges": edges}
    remembered(graph, raw)
    paths = list(Path(graph.place.folder).glob("edges/object/??/*.json"))
    assert len(paths) == 4
    found = remembered(graph, {**raw, "run": LATER})
    assert {s.outcome for s in found.edges} == {"seen again"}
    assert all(parse_edge(p.read_bytes(), "x").seen_again for p in paths)


def test_a_conversation_is_remembered_turn_by_turn(graph: Graph) -> None:
    """Messages become one line a turn, which quotes point at."""
    raw = {
        "run": RUN, "agent": "a", "topic": "kickoff", "at": "2026-07-08T09:00:00Z",
        "messages": [
            {"role": "user", "content": "I'm Alice,\nCTO at Acme", "at": "2026-07-08T09:00:00Z"},
            {"role": "assistant", "content": "Great"},
        ],
        "entities": [{"ref": "alice", "type": "Person", "name": "Alice"}],
        "facts": [{"entity": "alice", "k": "role", "v": "CTO", "quote": "Alice, CTO at Acme"}],
    }  # fmt: skip
    found = remembered(graph, raw)
    assert found.facts[0].src == f"{found.raw}#L2"
    lines = Path(graph.place.folder, found.raw).read_text().split("\n")
    assert lines[1] == "[2026-07-08T09:00:00Z] user: I'm Alice, CTO at Acme"
    when = git(Path(graph.place.top), "log", "-1", "--format=%at").strip()
    assert when == "1783501200"


def test_a_secret_refuses_the_write_and_is_never_told(graph: Graph) -> None:
    """A credential anywhere in a batch: nothing is written, nothing kept, place and kind named."""
    before, secret = head(graph), "xK9#mQ2$vL5nR8wZ"
    text = f"fine\npassword = '{secret}'\n"
    with pytest.raises(SecretError, match="line 2") as refused:
        graph.remember([observed("x is up\n", ("x", "note", "up")), {"text": text}])
    assert secret not in str(refused.value)
    assert head(graph) == before
    assert not graph.outbox.names()
    answer = graph.remember([{"text": text}], redact=True)
    stored = Path(graph.place.folder, answer.recorded[0].raw).read_text()
    assert secret not in stored
    assert stored.count("\n") == 2
    assert answer.recorded[0].redacted[0][0] == "line 2"
