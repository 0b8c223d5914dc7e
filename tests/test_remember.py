"""Graph.remember: what an observation becomes, and that it is all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store, head, one_line_error, remembered
from stores import LATER, LATEST, RUN, acme, git, in_tree, observed, store

from kg.errors import (
    KgError,
    NotFoundError,
    OntologyError,
    RefusedError,
)

if TYPE_CHECKING:
    from kg.graph import Graph

API = "object/payments-api"


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> Graph:
    return store(tmp_path / "memory")


def said(text: str, run: str = RUN, agent: str = "scoper", **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an observation about payments-api and Acme Corp."""
    entities = [
        {"ref": "api", "type": "Object", "name": "payments-api"},
        {"ref": "acme", "type": "Organization", "name": "Acme Corp"},
        {"ref": "beta", "type": "Organization", "name": "Beta Ltd"},
    ]
    used = {str(v) for part in parts.values() for m in part for v in m.values()}
    kept = [e for e in entities if e["ref"] in used]
    return {"run": run, "agent": agent, "text": text, "entities": kept, **parts}


def test_the_designs_example(graph: Graph) -> None:
    """Entities are created, fact, edge and trace are new, in one commit by the agent."""
    found = remembered(graph, acme())
    assert [(m.id, type(m.decision).__name__) for m in found.mentions] == [
        (API, "Created"), ("org/acme-corp", "Created"),
    ]  # fmt: skip
    assert [s.outcome for s in (*found.facts, *found.edges)] == ["new", "new"]
    assert found.tried[0][1] == "new"
    assert graph.entity(API).facts[0].src == f"{found.raw}#L1"
    log = git(Path(graph.place.top), "log", "-1", "--format=%an %ae%n%(trailers:only,unfold)")
    assert log.split("\n")[:4] == [
        "scoper scoper@kg.invalid", f"Run: {RUN}", "Agent: scoper", "Op: remember",
    ]  # fmt: skip


def test_the_same_again_commits_nothing(graph: Graph) -> None:
    """An observation that is in HEAD counts as written: nothing changes, however much is there."""
    remembered(graph, acme())
    for k in ("tag", "status", "version"):
        remembered(graph, observed(f"payments-api {k}\n", ("payments-api", k, "x"), run=LATER))
    before = head(graph)
    found = remembered(graph, acme())
    assert head(graph) == before
    assert found.commit == ""
    assert [s.outcome for s in (*found.facts, *found.edges)] == ["known", "known"]
    assert found.tried[0][1] == "known"


def test_a_later_run_sees_it_again(graph: Graph) -> None:
    """The fact's line stays; the later sighting stands beside it, and the span widens."""
    remembered(graph, acme())
    before = graph.entity(API).facts
    found = remembered(graph, acme(run=LATER, agent="searcher"))
    assert [s.outcome for s in (*found.facts, *found.edges)] == ["seen again", "seen again"]
    now = graph.entity(API)
    assert now.facts == before
    assert [(s.by, s.run) for s in now.seen_again] == [("searcher", LATER)]
    assert (now.first_run, now.last_seen_run) == (RUN, LATER)


OWNER = {"entity": "api", "k": "owner", "v": "acme", "quote": "owned by Acme Corp"}
OWNED = {"subject": "api", "predicate": "owned-by", "object": "beta", "quote": "owned by Beta Ltd"}


@pytest.mark.parametrize("edge_first", [True, False])
def test_a_key_and_the_edge_that_says_the_same_contradict(graph: Graph, edge_first: bool) -> None:
    """`owner` and `owned-by` are one statement: other values contradict, whichever came first."""
    key = said("owned by Acme Corp\n", facts=[OWNER])
    edge = said("owned by Beta Ltd\n", run=LATER, edges=[OWNED])
    first, second = (edge, key) if edge_first else (key, edge)
    assert not remembered(graph, first).contradictions
    against = remembered(graph, second).contradictions
    assert [v for s in against for v, _ in s.against] == ["org/beta-ltd" if edge_first else "org/acme-corp"]  # fmt: skip  # noqa: E501
    name = "owner" if edge_first else "owned-by"
    assert f"Contradiction: {API} {name}" in git(Path(graph.place.top), "log", "-1")


def test_a_key_and_its_edge_that_agree_do_not_contradict(graph: Graph) -> None:
    """The same owner said as fact and as edge is no contradiction."""
    remembered(graph, said("owned by Acme Corp\n", facts=[OWNER]))
    edge = {**OWNED, "object": "acme", "quote": "owned by Acme Corp"}
    assert not remembered(
        graph, said("owned by Acme Corp\n", run=LATER, edges=[edge])
    ).contradictions


def test_contradicting_values_are_both_kept_and_flagged(graph: Graph) -> None:
    """Nothing is overwritten: both values stand, the key is contested, the commit says so."""
    remembered(graph, observed("x is up\n", ("x", "status", "up")))
    found = remembered(graph, observed("x is down\n", ("x", "status", "down"), run=LATER))
    assert [s.against[0][0] for s in found.contradictions] == ["up"]
    x = graph.entity("object/x")
    assert {f.v for f in x.facts} == {"up", "down"}
    assert x.contested == ("status",)


def test_values_of_different_times_do_not_contradict(graph: Graph) -> None:
    """A value that ended before the next begins is history, not a contradiction."""
    fact = {"entity": "x", "k": "status", "v": "up", "until": "2026-02-01", "lines": 1}
    entity = {"ref": "x", "type": "Object", "name": "x"}
    remembered(
        graph,
        {"run": RUN, "agent": "a", "text": "x was up\n", "entities": [entity], "facts": [fact]},
    )
    down = {"entity": "x", "k": "status", "v": "down", "since": "2026-02-01", "lines": 1}
    later = {
        "run": LATER,
        "agent": "a",
        "text": "x is down\n",
        "entities": [entity],
        "facts": [down],
    }
    assert not remembered(graph, later).contradictions
    assert graph.entity("object/x").contested == ()


def test_a_batch_is_one_commit_a_run_and_one_ref_update(graph: Graph) -> None:
    """Consecutive observations of a run and agent share a commit; HEAD moves once for all."""
    top = Path(graph.place.top)
    before = len(git(top, "reflog").splitlines())
    batch = [
        observed("a is 1\n", ("a", "note", "1")),
        observed("b is 2\n", ("b", "note", "2")),
        observed("a is 3\n", ("a", "note", "3"), run=LATER),
        observed("a is 4\n", ("a", "note", "4"), run=LATER, agent="other"),
    ]
    answer = graph.remember(batch)
    check_store(graph.place.top)
    assert len(answer.commits) == 3
    assert [r.commit for r in answer.recorded] == [answer.commits[i] for i in (0, 0, 1, 2)]
    assert git(top, "log", "-3", "--format=%an", "--reverse").split() == [
        "scoper",
        "scoper",
        "other",
    ]
    assert len(git(top, "reflog").splitlines()) == before + 1


def test_a_batch_is_all_or_nothing(graph: Graph) -> None:
    """One bad observation among good ones: nothing is written, no file, no commit."""
    before = head(graph)
    bad = observed("b is 2\n", ("b", "unheard-of", "2"))
    with pytest.raises(OntologyError):
        graph.remember([observed("a is 1\n", ("a", "note", "1")), bad])
    assert head(graph) == before
    assert not Path(graph.place.folder, "entities").exists()
    check_store(graph.place.top)


def test_order_of_recording_gives_the_same_files(tmp_path: Path) -> None:
    """The same observations of several runs, one by one in any order: the same facts, bytewise."""
    told = [
        acme(),
        acme(run=LATER, agent="searcher"),
        said("owned by Beta Ltd\n", run=LATEST, agent="other", edges=[OWNED]),
        observed(
            "on-call is PLATFORM-team\n", ("payments-api", "on-call", "PLATFORM-team"), run="r5"
        ),
    ]
    found = []
    for number, order in enumerate(([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])):
        graph = store(tmp_path / str(number))
        for at in order:
            remembered(graph, told[at])
        folder = Path(graph.place.folder)
        files = [*folder.glob("entities/*/*.json"), *folder.glob("edges/*/*.json")]
        found.append({str(p.relative_to(folder)): p.read_bytes() for p in files})
    assert found[0] == found[1] == found[2]
    assert '"v": "PLATFORM-team", "src"' in found[0]["entities/object/payments-api.json"].decode()


def test_retracting_and_saying_again(graph: Graph) -> None:
    """A retraction keeps the line and the reason; only a later run brings the fact back."""
    up = observed("x is up\n", ("x", "status", "up"))
    remembered(graph, up)
    gone = {"entity": "object/x", "k": "status", "quote": "no longer"}
    retraction = {"run": LATER, "agent": "a", "text": "no longer\n", "retract": [gone]}
    found = remembered(graph, retraction)
    assert [(s.k, s.v) for s in found.retracted] == [("status", "up")]
    x = graph.entity("object/x")
    assert not x.facts
    assert x.retracted[0].because == f"{found.raw}#L1"
    assert remembered(graph, retraction).commit == ""
    assert remembered(graph, up).facts[0].outcome == "retracted"
    again = observed("x is up\n", ("x", "status", "up"), run=LATEST)
    assert remembered(graph, again).facts[0].outcome == "new"
    assert graph.entity("object/x").retracted == x.retracted


def test_retracting_an_edge_removes_its_file(graph: Graph) -> None:
    """The line stands in the subject's `retracted`; the edge's file is gone; once is enough."""
    remembered(graph, acme())
    gone = {"entity": API, "predicate": "owned-by", "object": "org/acme-corp", "quote": "sold"}
    raw = {"run": LATER, "agent": "a", "text": "sold\n", "retract": [gone]}
    remembered(graph, raw)
    assert not Path(graph.place.folder, "edges").exists()
    assert graph.entity(API).retracted
    assert remembered(graph, raw).commit == ""
    assert remembered(graph, acme()).edges[0].outcome == "retracted"


def test_what_is_not_there_cannot_be_retracted(graph: Graph) -> None:
    """An unknown fact, edge or entity is named; several values ask which one is meant."""
    remembered(graph, observed("x a b\n", ("x", "tag", "a"), ("x", "tag", "b")))
    for gone in (
        {"entity": "object/x", "k": "status"}, {"entity": "object/x", "k": "tag"},
        {"entity": "object/x", "k": "tag", "v": "c"}, {"entity": "object/y", "k": "tag"},
        {"entity": "object/x", "predicate": "uses", "object": "object/x"},
    ):  # fmt: skip
        with pytest.raises(KgError) as refused:
            graph.remember([{"text": "no\n", "retract": [{**gone, "quote": "no"}]}])
        assert isinstance(refused.value, NotFoundError | RefusedError)
        one_line_error(refused.value)


def test_a_rename_keeps_the_id_and_the_old_name(graph: Graph) -> None:
    """The id never changes; the former name still finds the thing."""
    remembered(graph, observed("x is up\n", ("Old Name", "status", "up")))
    raw = {"run": LATER, "agent": "a", "text": "Old Name is now New Name\n",
           "rename": [{"entity": "object/old-name", "name": "New Name",
           "quote": "New Name"}]}  # fmt: skip
    remembered(graph, raw)
    entity = graph.entity("object/old-name")
    assert (entity.name, entity.aliases) == ("New Name", ("Old Name",))
    assert remembered(graph, raw).commit == ""
    found = remembered(
        graph, observed("old name is up\n", ("OLD  NAME", "status", "up"), run=LATEST)
    )
    assert found.mentions[0].id == "object/old-name"


def test_a_rename_onto_another_thing_is_refused(graph: Graph) -> None:
    """Two things of one name would be a merge by the back door."""
    remembered(graph, observed("a and b\n", ("a", "note", "x"), ("b", "note", "y")))
    with pytest.raises(RefusedError):
        graph.remember(
            [{"text": "B\n", "rename": [{"entity": "object/a", "name": "B", "quote": "B"}]}]
        )


def test_namesakes_of_different_types_are_two(graph: Graph) -> None:
    """Names are looked up within their type; ids of all types live side by side."""
    entities = [
        {"ref": t, "type": t, "name": "Acme"} for t in ("Object", "Organization", "Location")
    ]
    found = remembered(graph, {"run": RUN, "agent": "a", "text": "Acme\n", "entities": entities})
    assert [m.id for m in found.mentions] == ["object/acme", "org/acme", "location/acme"]


def test_names_that_make_one_slug_get_ids_of_their_own(graph: Graph) -> None:
    """Two names, one slug: two entities, and each is found again by its own name."""
    for name in ("A B", "A-B", "!!!", "???", "con", "名" * 60):
        first = remembered(graph, observed(f"{name}\n", (name, "note", name)))
        again = remembered(graph, observed(f"{name}\n", (name, "note", name), run=LATER))
        assert first.mentions[0].id == again.mentions[0].id
    assert len(list(Path(graph.place.folder, "entities/object").iterdir())) == 6


def test_a_shared_repository_is_touched_below_the_store_only(tmp_path: Path) -> None:
    """In a code repository, what a person staged and edited stays as it was."""
    graph = in_tree(tmp_path / "code")
    (tmp_path / "code/code.py").write_text("print('mine')\n")
    (tmp_path / "code/new.py").write_text("x\n")
    git(tmp_path / "code", "add", "new.py")
    graph.remember([acme()])
    assert git(tmp_path / "code", "status", "--porcelain") == " M code.py\nA  new.py\n"
    assert "new.py" not in git(tmp_path / "code", "show", "--stat", "HEAD")
