"""A thing that was taken for another kind gets another id, and all that names it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from checks import check_store
from commands import Kg
from stores import observed, store
from test_blame import recall

from kg.audit.blame import blame
from kg.audit.fsck import fsck
from kg.audit.past_faults import past_faults
from kg.audit.retype import retype
from kg.audit.revert import commits_named, commits_of, last_write, revert
from kg.errors import AlreadyExistsError, RefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from kg.graph import Graph


def berlin(folder: Path) -> Graph:
    """Return a store that took a city for an object, and speaks of it in many places."""
    graph = store(folder)
    said = observed("berlin is big\n", ("berlin", "note", "big"), run="r1", agent="one")
    said["entities"].append({"ref": "acme", "type": "Organization", "name": "Acme"})
    said["edges"] = [{"subject": "acme", "predicate": "related-to", "object": "berlin", "lines": 1}]
    said["tried"] = [{"about": ["berlin"], "tried": "moving it", "outcome": "failed",
                      "because": "too big", "lines": 1}]  # fmt: skip
    graph.remember([said])
    cold = observed("berlin is cold\n", ("berlin", "note", "cold"), run="r2", agent="two")
    graph.remember([cold, observed("bonn\n", ("bonn", "note", "small"), run="r2", agent="two")])
    graph.remember(
        [{"run": "r3", "agent": "one", "text": "no\n", "judge": [
            {"one": "object/berlin", "other": "object/bonn", "verdict": "different", "lines": 1}]}],
        person="ada",
    )  # fmt: skip
    return graph


def test_references_follow_and_history_is_read_under_the_new_id(tmp_path: Path) -> None:
    """Facts, edges, judgements and traces follow; blame names who said it, not who retyped."""
    top = tmp_path / "memory"
    graph = berlin(top)
    first = {one.v: one.commit and one.commit.id for one in blame(graph, "object/berlin")}
    done = retype(graph, "object/berlin", "Location", "it is the city", run="r4", agent="ada")
    assert (done.new, done.references) == ("location/berlin", 3)
    assert not [path for path, _ in graph.at().files() if "object--berlin" in path]
    after = {one.v: one.commit and one.commit.id for one in blame(graph, "location/berlin")}
    assert {v: after[v] for v in first} == first
    (edge,) = blame(graph, "org/acme")
    assert edge.commit is not None
    assert edge.commit.run == "r1"
    assert "location/berlin" in recall(top, "object/berlin").out
    assert [f for f in fsck(graph) if f.level == "fault"] == []
    assert list(past_faults(graph)) == []
    check_store(str(top))


def test_a_run_from_before_is_taken_back_under_the_new_id(tmp_path: Path) -> None:
    """What a run said of the thing goes, whatever it is called since; and it comes back."""
    graph = berlin(tmp_path / "memory")
    retype(graph, "object/berlin", "Location", "it is the city", run="r4", agent="ada")
    before = dict(graph.at().files())
    done = revert(graph, commits_of(run="r2"))
    assert [f.v for f in graph.entity("location/berlin").facts if f.k == "note"] == ["big"]
    check_store(str(tmp_path / "memory"))
    revert(graph, commits_named([done.commit]))
    assert dict(graph.at().files()) == before
    revert(graph, commits_of(run="r1"))
    notes = [f.v for f in graph.entity("location/berlin").facts if f.k == "note"]
    assert notes == ["cold"]
    assert graph.draft(graph.at()).edges_of("org/acme") == []


def test_what_may_not_be_said_of_the_type_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fact that the ontology keeps for other types is named; nothing has changed."""
    kg, graph = Kg(capsys), berlin(tmp_path / "memory")
    kg.ok("ontology", "add-key", "sla", "--definition", "what is promised", "--domain", "Object")
    kg.ok("add", "fact", "object/berlin", "sla", "99", "--because", "sla 99")
    with pytest.raises(RefusedError, match="sla"):
        retype(graph, "object/berlin", "Location", "city")
    kg.ok("retract", "object/berlin", "sla", "--because", "no")
    graph.remember([{"text": "x\n", "entities": [{"type": "Location", "name": "Bonn"}]}])
    with pytest.raises(AlreadyExistsError):
        retype(graph, "object/bonn", "Location", "city")
    with pytest.raises(RefusedError, match="already"):
        retype(graph, "object/berlin", "Object", "city")
    assert "location/berlin" in kg.ok("retype", "object/berlin", "Location", "--because", "a city")
    with pytest.raises(RefusedError, match="kg retype"):
        revert(graph, commits_named(["HEAD"]))
    assert revert(graph, last_write()).commits[0].trailer("Op") != "retype"
