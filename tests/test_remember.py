"""Graph.remember: what an observation becomes, and that it is all or nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from checks import check_store, one_line_error
from stores import LATER, LATEST, RUN, acme, git, in_tree, observed, store

import kg.graph.draft
from kg.errors import (
    KgError,
    MissingSourceError,
    NotFoundError,
    OntologyError,
    RefusedError,
    SecretError,
)
from kg.format import parse_edge
from kg.graph import Graph
from kg.graph.recorded import Recorded

API = "object/payments-api"


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> Graph:
    return store(tmp_path / "memory")


def one(graph: Graph, raw: dict[str, Any]) -> Recorded:
    """Remember one observation, check the store, and return what became of it."""
    answer = graph.remember([raw])
    check_store(graph.place.top, graph.place.prefix)
    assert len(answer.recorded) == 1
    return answer.recorded[0]


def head(graph: Graph) -> str:
    """Return HEAD's commit."""
    return git(Path(graph.place.top), "rev-parse", "HEAD").strip()


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
    found = one(graph, acme())
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
    """An observation that is in HEAD counts as written: nothing changes."""
    one(graph, acme())
    before = head(graph)
    found = one(graph, acme())
    assert head(graph) == before
    assert found.commit == ""
    assert [s.outcome for s in (*found.facts, *found.edges)] == ["known", "known"]
    assert found.tried[0][1] == "known"


def test_a_later_run_sees_it_again(graph: Graph) -> None:
    """The fact's line stays; the later sighting stands beside it, and the span widens."""
    one(graph, acme())
    before = graph.entity(API).facts
    found = one(graph, acme(run=LATER, agent="searcher"))
    assert [s.outcome for s in (*found.facts, *found.edges)] == ["seen again", "seen again"]
    now = graph.entity(API)
    assert now.facts == before
    assert [(s.by, s.run) for s in now.seen_again] == [("searcher", LATER)]
    assert (now.first_run, now.last_seen_run) == (RUN, LATER)


def test_raw_holds_exactly_the_text(graph: Graph) -> None:
    """The bytes given, named by their hash; a line feed is added only where it is missing."""
    for text in ("a\r\nb\n", "no line feed", "\ttabs\x0c\n"):
        found = one(graph, {"run": RUN, "agent": "a", "text": text})
        data = Path(graph.place.folder, found.raw).read_bytes()
        assert data == (text if text.endswith("\n") else text + "\n").encode()
        assert hashlib.sha256(data).hexdigest()[:8] in found.raw


OWNER = {"entity": "api", "k": "owner", "v": "acme", "quote": "owned by Acme Corp"}
OWNED = {"subject": "api", "predicate": "owned-by", "object": "beta", "quote": "owned by Beta Ltd"}


@pytest.mark.parametrize("edge_first", [True, False])
def test_a_key_and_the_edge_that_says_the_same_contradict(graph: Graph, edge_first: bool) -> None:
    """`owner` and `owned-by` are one statement: other values contradict, whichever came first."""
    key = said("owned by Acme Corp\n", facts=[OWNER])
    edge = said("owned by Beta Ltd\n", run=LATER, edges=[OWNED])
    first, second = (edge, key) if edge_first else (key, edge)
    assert not one(graph, first).contradictions
    against = one(graph, second).contradictions
    assert [v for s in against for v, _ in s.against] == ["org/beta-ltd" if edge_first else "org/acme-corp"]  # fmt: skip  # noqa: E501
    name = "owner" if edge_first else "owned-by"
    assert f"Contradiction: {API} {name}" in git(Path(graph.place.top), "log", "-1")


def test_a_key_and_its_edge_that_agree_do_not_contradict(graph: Graph) -> None:
    """The same owner said as fact and as edge is no contradiction."""
    one(graph, said("owned by Acme Corp\n", facts=[OWNER]))
    edge = {**OWNED, "object": "acme", "quote": "owned by Acme Corp"}
    assert not one(graph, said("owned by Acme Corp\n", run=LATER, edges=[edge])).contradictions


def test_contradicting_values_are_both_kept_and_flagged(graph: Graph) -> None:
    """Nothing is overwritten: both values stand, the key is contested, the commit says so."""
    one(graph, observed("x is up\n", ("x", "status", "up")))
    found = one(graph, observed("x is down\n", ("x", "status", "down"), run=LATER))
    assert [s.against[0][0] for s in found.contradictions] == ["up"]
    x = graph.entity("object/x")
    assert {f.v for f in x.facts} == {"up", "down"}
    assert x.contested == ("status",)


def test_values_of_different_times_do_not_contradict(graph: Graph) -> None:
    """A value that ended before the next begins is history, not a contradiction."""
    fact = {"entity": "x", "k": "status", "v": "up", "until": "2026-02-01", "lines": 1}
    entity = {"ref": "x", "type": "Object", "name": "x"}
    one(graph, {"run": RUN, "agent": "a", "text": "x was up\n", "entities": [entity], "facts": [fact]})
    down = {"entity": "x", "k": "status", "v": "down", "since": "2026-02-01", "lines": 1}
    later = {"run": LATER, "agent": "a", "text": "x is down\n", "entities": [entity], "facts": [down]}
    assert not one(graph, later).contradictions
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
    assert git(top, "log", "-3", "--format=%an", "--reverse").split() == ["scoper", "scoper", "other"]
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
        observed("on-call is PLATFORM-team\n", ("payments-api", "on-call", "PLATFORM-team"), run="r5"),
    ]
    found = []
    for number, order in enumerate(([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])):
        graph = store(tmp_path / str(number))
        for at in order:
            one(graph, told[at])
        folder = Path(graph.place.folder)
        files = [*folder.glob("entities/*/*.json"), *folder.glob("edges/*/*.json")]
        found.append({str(p.relative_to(folder)): p.read_bytes() for p in files})
    assert found[0] == found[1] == found[2]
    assert '"v": "PLATFORM-team", "src"' in found[0]["entities/object/payments-api.json"].decode()


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
    assert one(graph, raw).facts[0].src.endswith(f"#{line}")


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
        {"lines": 2}, {"lines": [1, 2]}, {"src": "raw/r1-a.txt#L1"}, {"quote": "x", "in": "raw/none.txt"},
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
    raw = one(graph, {"run": RUN, "agent": "a", "text": "first\nx is up\n"}).raw
    entity = {"ref": "x", "type": "Object", "name": "x"}
    for at, anchor in enumerate(({"src": f"{raw}#L2"}, {"quote": "x is up", "in": raw})):
        fact = {"entity": "x", "k": "note", "v": "up" + "!" * at, **anchor}
        found = one(graph, {"run": LATER, "agent": "b", "entities": [entity], "facts": [fact]})
        assert found.facts[0].src == f"{raw}#L2"


def test_a_value_that_is_not_in_its_line_is_inferred(graph: Graph) -> None:
    """What the source does not say in words is marked, in the file and in the answer."""
    found = one(graph, observed("it answers quickly\n", ("x", "note", "fast"), ("x", "tag", "QUICKLY")))
    assert [s.inferred for s in found.facts] == [True, False]
    assert {f.v: f.basis for f in graph.entity("object/x").facts} == {"fast": "inferred", "QUICKLY": "stated"}  # fmt: skip  # noqa: E501


def test_retracting_and_saying_again(graph: Graph) -> None:
    """A retraction keeps the line and the reason; only a later run brings the fact back."""
    up = observed("x is up\n", ("x", "status", "up"))
    one(graph, up)
    gone = {"entity": "object/x", "k": "status", "quote": "no longer"}
    retraction = {"run": LATER, "agent": "a", "text": "no longer\n", "retract": [gone]}
    found = one(graph, retraction)
    assert [(s.k, s.v) for s in found.retracted] == [("status", "up")]
    x = graph.entity("object/x")
    assert not x.facts
    assert x.retracted[0].because == f"{found.raw}#L1"
    assert one(graph, retraction).commit == ""
    assert one(graph, up).facts[0].outcome == "retracted"
    again = observed("x is up\n", ("x", "status", "up"), run=LATEST)
    assert one(graph, again).facts[0].outcome == "new"
    assert graph.entity("object/x").retracted == x.retracted


def test_retracting_an_edge_removes_its_file(graph: Graph) -> None:
    """The line stands in the subject's `retracted`; the edge's file is gone; once is enough."""
    one(graph, acme())
    gone = {"entity": API, "predicate": "owned-by", "object": "org/acme-corp", "quote": "sold"}
    raw = {"run": LATER, "agent": "a", "text": "sold\n", "retract": [gone]}
    one(graph, raw)
    assert not Path(graph.place.folder, "edges").exists()
    assert graph.entity(API).retracted
    assert one(graph, raw).commit == ""
    assert one(graph, acme()).edges[0].outcome == "retracted"


def test_what_is_not_there_cannot_be_retracted(graph: Graph) -> None:
    """An unknown fact, edge or entity is named; several values ask which one is meant."""
    one(graph, observed("x a b\n", ("x", "tag", "a"), ("x", "tag", "b")))
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
    one(graph, observed("x is up\n", ("Old Name", "status", "up")))
    raw = {"run": LATER, "agent": "a", "text": "Old Name is now New Name\n",
           "rename": [{"entity": "object/old-name", "name": "New Name", "quote": "New Name"}]}  # fmt: skip
    one(graph, raw)
    entity = graph.entity("object/old-name")
    assert (entity.name, entity.aliases) == ("New Name", ("Old Name",))
    assert one(graph, raw).commit == ""
    found = one(graph, observed("old name is up\n", ("OLD  NAME", "status", "up"), run=LATEST))
    assert found.mentions[0].id == "object/old-name"


def test_a_rename_onto_another_thing_is_refused(graph: Graph) -> None:
    """Two things of one name would be a merge by the back door."""
    one(graph, observed("a and b\n", ("a", "note", "x"), ("b", "note", "y")))
    with pytest.raises(RefusedError):
        graph.remember([{"text": "B\n", "rename": [{"entity": "object/a", "name": "B", "quote": "B"}]}])


def test_namesakes_of_different_types_are_two(graph: Graph) -> None:
    """Names are looked up within their type; ids of all types live side by side."""
    entities = [{"ref": t, "type": t, "name": "Acme"} for t in ("Object", "Organization", "Location")]
    found = one(graph, {"run": RUN, "agent": "a", "text": "Acme\n", "entities": entities})
    assert [m.id for m in found.mentions] == ["object/acme", "org/acme", "location/acme"]


def test_names_that_make_one_slug_get_ids_of_their_own(graph: Graph) -> None:
    """Two names, one slug: two entities, and each is found again by its own name."""
    for name in ("A B", "A-B", "!!!", "???", "con", "名" * 60):
        first = one(graph, observed(f"{name}\n", (name, "note", name)))
        again = one(graph, observed(f"{name}\n", (name, "note", name), run=LATER))
        assert first.mentions[0].id == again.mentions[0].id
    assert len(list(Path(graph.place.folder, "entities/object").iterdir())) == 6


def test_folders_fan_out_when_they_grow(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit that crosses the limit moves all files of the type; facts stay findable."""
    monkeypatch.setattr(kg.graph.draft, "FAN_OUT_AT", 5)
    for number in range(12):
        one(graph, observed(f"t{number} is up\n", (f"t{number}", "status", "up")))
    folder = Path(graph.place.folder)
    assert graph.settings().fan_out == ("entities/object",)
    assert not list(folder.glob("entities/object/*.json"))
    assert len(list(folder.glob("entities/object/??/*.json"))) == 12
    found = one(graph, observed("t3 is down\n", ("t3", "status", "down"), run=LATER))
    assert found.mentions[0].id == "object/t3"
    assert found.contradictions
    assert len(list(folder.glob("raw/*.txt"))) == 5
    assert len(list(folder.glob("raw/??/*.txt"))) == 8


def test_a_batch_may_cross_the_limit(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that outgrows the limit within one batch is spread by the commit that does."""
    monkeypatch.setattr(kg.graph.draft, "FAN_OUT_AT", 5)
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
    monkeypatch.setattr(kg.graph.draft, "FAN_OUT_AT", 3)
    names = [{"ref": f"t{n}", "type": "Object", "name": f"t{n}"} for n in range(5)]
    edges = [{"subject": "t0", "predicate": "uses", "object": f"t{n}", "lines": 1} for n in range(1, 5)]
    raw = {"run": RUN, "agent": "a", "text": "uses\n", "entities": names, "edges": edges}
    one(graph, raw)
    paths = list(Path(graph.place.folder).glob("edges/object/??/*.json"))
    assert len(paths) == 4
    found = one(graph, {**raw, "run": LATER})
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
    found = one(graph, raw)
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
    assert answer.recorded[0].redacted[0][0] == 2


def test_a_shared_repository_is_touched_below_the_store_only(tmp_path: Path) -> None:
    """In a code repository, what a person staged and edited stays as it was."""
    graph = in_tree(tmp_path / "code")
    (tmp_path / "code/code.py").write_text("print('mine')\n")
    (tmp_path / "code/new.py").write_text("x\n")
    git(tmp_path / "code", "add", "new.py")
    graph.remember([acme()])
    assert git(tmp_path / "code", "status", "--porcelain") == " M code.py\nA  new.py\n"
    assert "new.py" not in git(tmp_path / "code", "show", "--stat", "HEAD")
