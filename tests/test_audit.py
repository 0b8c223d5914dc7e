"""Hand edits, fsck's remedies, and history: what an engineer relies on when something is wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Kg
from stores import acme, git, observed, store

from kg.audit.drafts import commit, drafts
from kg.audit.fsck import fsck
from kg.audit.history import commits, events
from kg.errors import KgError
from kg.graph import Graph

API, ACME = "object/payments-api", "org/acme-corp"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in memory/ with the design's example and a fact that holds an id."""
    made = store(tmp_path / "memory")
    made.remember([acme()])
    owner = {"entity": API, "k": "owner", "v": ACME, "lines": 1}
    made.remember(
        [{"run": "r1785343300", "agent": "x", "text": "owner: Acme Corp", "facts": [owner]}]
    )
    return made


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """Return the commands."""
    return Kg(capsys)


def _folder(graph: Graph) -> Path:
    return Path(graph.place.folder)


def _edit(graph: Graph, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    file = _folder(graph) / path
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")


API_FILE = "entities/object/payments-api.json"
BAD_EDITS: dict[str, Callable[[Graph], object]] = {
    "an entity that is pointed to is gone": lambda g: (
        _folder(g) / "entities/org/acme-corp.json"
    ).unlink(),
    "a sighting from nowhere": lambda g: _edit(
        g,
        API_FILE,
        lambda v: v["seen_again"].append(
            {**v["facts"][0], "by": "x", "run": "r1785343400", "src": "raw/r1-x.00000000.txt#L1"}
        ),
    ),
    "a wrong type": lambda g: _edit(g, API_FILE, lambda v: v.update(type="Event")),
    "an unknown key": lambda g: _edit(g, API_FILE, lambda v: v["facts"][0].update(k="onwer")),
    "a newer format": lambda g: _edit(g, "store.json", lambda v: v.update(kg_format=2)),
    "another fan-out": lambda g: _edit(
        g, "store.json", lambda v: v.update(fan_out=["entities/object"])
    ),
    "a key whose edge is unknown": lambda g: _edit(
        g,
        "store.json",
        lambda v: v["ontology"]["keys"].update({"boss": {"definition": "d", "edge": "nope"}}),
    ),
    "another raw text": lambda g: next(_folder(g).glob("raw/*")).write_text("other\n"),
    "a file in another's place": lambda g: (_folder(g) / API_FILE).rename(
        _folder(g) / "entities/object/other.json"
    ),
}


@pytest.mark.parametrize("name", BAD_EDITS)
def test_what_fsck_would_call_a_fault_is_not_committed(name: str, graph: Graph) -> None:
    """An edit that breaks a rule is refused whole, and stays where it is."""
    BAD_EDITS[name](graph)
    before, status = graph.at().commit, git(_folder(graph), "status", "--porcelain")
    with pytest.raises(KgError):
        commit(graph)
    assert graph.at().commit == before
    assert git(_folder(graph), "status", "--porcelain") == status


def test_an_entity_can_be_removed_with_what_points_to_it(graph: Graph) -> None:
    """Removing a thing by hand is accepted once nothing points to it any more."""
    (_folder(graph) / "entities/org/acme-corp.json").unlink()
    next(_folder(graph).glob("edges/*/*.json")).unlink()
    _edit(graph, API_FILE, lambda v: v["facts"].pop(1))
    commit(graph)
    assert [f for f in fsck(graph) if f.level == "fault"] == []


def test_an_entity_added_by_hand_is_one_file(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it takes its folder over the limit of files."""
    monkeypatch.setattr("kg.graph.draft.FAN_OUT_AT", 1)
    _edit(graph, API_FILE, lambda v: v.update(id="object/web", name="web", facts=[], seen_again=[]))
    (_folder(graph) / API_FILE).rename(_folder(graph) / "entities/object/web.json")
    git(_folder(graph), "checkout", "-q", "--", API_FILE)
    commit(graph)
    assert [f for f in fsck(graph) if f.level == "fault"] == []
    assert len([p for p, _ in graph.at().files("entities/object") if "web" in p]) == 1


def test_only_what_kg_reads_is_a_draft(graph: Graph) -> None:
    """Notes beside the store are nobody's draft."""
    (_folder(graph) / "notes.txt").write_text("mine", encoding="utf-8")
    assert drafts(graph) == []


def _break(graph: Graph, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Commit a fault with plain git, as another program would."""
    _edit(graph, path, change)
    git(_folder(graph), "commit", "-qam", "break")


FAULTS: dict[str, Callable[[Graph], None]] = {
    "not canonical": lambda g: _break(g, API_FILE, lambda _v: None),
    "a wrong contested flag": lambda g: _break(
        g, API_FILE, lambda v: v.update(contested=["owner"])
    ),
    "an unknown key": lambda g: _swap(g, '"k": "on-call"', '"k": "onwer"'),
}


def _swap(graph: Graph, old: str, new: str) -> None:
    file = _folder(graph) / API_FILE
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    git(_folder(graph), "commit", "-qam", "break")


@pytest.mark.parametrize("name", FAULTS)
def test_the_remedies_of_fsck_work(name: str, graph: Graph, kg: Kg) -> None:
    """Following what fsck says to a fault leaves a store without faults."""
    FAULTS[name](graph)
    found = [f for f in kg("fsck", "--json").json("fsck")["findings"] if f["level"] == "fault"]
    assert found
    for finding in found:
        remedy = finding["remedy"].replace("WHY", "'it is wrong'")
        assert remedy.startswith("kg "), remedy
        kg.ok(*shlex.split(remedy)[1:])
    assert kg("fsck").code == 0


def test_a_moved_entity_is_told_and_a_reshard_is_not(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log tells a new thing of an old name, and keeps quiet about files that only moved."""
    monkeypatch.setattr("kg.graph.draft.FAN_OUT_AT", 1)
    graph.remember([observed("web is up", ("web", "status", "up"), run="r1785343500")])
    told = events(graph, commits(graph)[0])
    assert {e.id for e in told if e.what in ("met", "new")} == {"object/web"}
    assert not [e for e in told if e.what == "removed"]
    (fact,) = [f for f in graph.entity(API).facts if f.k == "on-call"]
    from kg.audit.why import why

    (evidence,) = why(graph, API, "on-call")
    assert evidence.commit is not None
    assert evidence.commit.trailer("Run") == fact.seen_run


def test_any_message_can_be_read(graph: Graph, kg: Kg) -> None:
    """A person's commit message of any bytes does not stop the log."""
    _edit(graph, API_FILE, lambda v: v["facts"][0].update(v="other"))
    git(_folder(graph), "commit", "-qam", "odd \x01 message \x1b[31m\n\n:100644 x\n")
    out = kg.ok("log")
    assert "\x01" not in out
    assert "\x1b" not in out
    kg.ok("why", API)


def test_a_name_that_is_key_and_predicate_can_be_retracted(graph: Graph, kg: Kg) -> None:
    """Of a fact and an edge of one name each can be taken back."""
    kg.ok("ontology", "add-key", "owned-by", "--definition", "who owns it, in words")
    kg.ok("add", "fact", API, "owned-by", "somebody", "--because", "somebody owns it")
    kg.ok("retract", API, "owned-by", "somebody", "--because", "no")
    kg.ok("retract", API, "owned-by", ACME, "--because", "sold")
    assert kg("retract", API, "owned-by", ACME, "--because", "sold again").code == 3
    assert not list(_folder(graph).glob("edges/*/*.json"))


@pytest.mark.parametrize("value", ["--5", "9" * 5000, "-", "1.5", "１"])
def test_a_number_that_is_none_is_refused(value: str, graph: Graph, kg: Kg) -> None:
    """A value that is no number where one is due is one line, not a traceback."""
    ran = kg("add", "fact", "--because", "x", "--", API, "port", value)
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    del graph
