"""Taking writes back by facts: what is left is what history comes to without them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store
from commands import Kg
from stores import git, in_tree, observed, store

from kg.audit.lineage import lineage
from kg.audit.revert import commits_named, commits_of, last_write, revert
from kg.audit.runs import runs
from kg.errors import NotFoundError, RefusedError
from kg.format import dump_entity
from kg.model import value_text
from kg.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kg.graph import Graph

NAMES = ["alpha", "bravo", "charlie", "delta"]
FACTS = [("status", "up"), ("status", "down"), ("note", "likes tea"), ("port", 80), ("tag", "x")]


def told(run: str, agent: str, text: str, **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an observation of one run."""
    return {"run": run, "agent": agent, "text": f"{text}\n", **parts}


def operation(
    rng: random.Random, run: str, agent: str, n: int, names: Sequence[str] = NAMES
) -> dict[str, Any]:
    """Return a random observation that names its things by type and name."""
    one, other = rng.sample(names, 2)
    k, v = rng.choice(FACTS)
    entities = [{"ref": "it", "type": "Object", "name": one}]
    both = [*entities, {"ref": "on", "type": "Object", "name": other}]
    edge = {"subject": "it", "predicate": "depends-on", "object": "on", "lines": 1}
    parts: dict[str, dict[str, Any]] = {
        "fact": {"entities": entities, "facts": [{"entity": "it", "k": k, "v": v, "lines": 1}]},
        "edge": {"entities": both, "edges": [edge]},
        "retract": {
            "retract": [{"entity": f"object/{one}", "k": k, "v": v, "lines": 1}],
        },
        "unedge": {
            "retract": [{"entity": f"object/{one}", "predicate": "depends-on",
                         "object": f"object/{other}", "lines": 1}],
        },
        "tried": {"entities": entities, "tried": [
            {"about": ["it"], "tried": f"thing {n}", "outcome": "failed", "because": "no",
             "lines": 1}]},
        "judge": {"judge": [{"one": f"object/{one}", "other": f"object/{other}",
                             "verdict": rng.choice(["same", "different", "unsure"]), "lines": 1}]},
    }  # fmt: skip
    kinds = ["fact"] * 6 + ["edge"] * 3 + ["retract"] * 2 + ["unedge", "tried", "judge"]
    return told(run, agent, f"{one} {other} {k} {v} ({n})", **parts[rng.choice(kinds)])


def play(graph: Graph, said: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Remember all that can be; return the statements of which something left no trace.

    A retraction of what was not there and a judgement on it are refused, and what comes after
    its retraction or a later word is not kept: no history can tell that they were said.
    """
    lost: set[tuple[str, ...]] = set()
    for one in said:
        try:
            done = graph.remember([one], person="ada").recorded[0]
        except (NotFoundError, RefusedError):
            for gone in one.get("retract", ()):
                value = fold(value_text(gone.get("v", gone.get("object"))))
                lost.add((gone["entity"], gone.get("k", gone.get("predicate")), value))
            lost |= {tuple(sorted((j["one"], j["other"]))) for j in one.get("judge", ())}
            continue
        lost |= {(j.one, j.other) for j in done.judged if j.outcome == "told late"}
        kept = [s for s in (*done.facts, *done.edges) if s.outcome == "retracted"]
        kept += [s for s in done.retracted if s.outcome == "seen since"]
        lost |= {(s.id, s.k, fold(value_text(s.v))) for s in kept}
    return lost


def statements(graph: Graph) -> set[tuple[str, ...]]:
    """Return what a store says: facts, edges, judgements, traces, and what is retracted."""
    found: set[tuple[str, ...]] = set()
    draft = graph.draft(graph.at())
    for path, blob in graph.at().files():
        folder = path.partition("/")[0]
        if folder == "tried":
            found.add(("tried", path))
        elif folder == "entities":
            entity = draft.entity(path.removeprefix("entities/").removesuffix(".json"))
            assert entity is not None, path
            found |= {(entity.id, *f.identity[:2]) for f in entity.facts}
            found |= {("retracted", entity.id, *r.what.identity[:2]) for r in entity.retracted}
        elif folder == "edges":
            del blob
            subject, predicate, object_ = edge_key(path)
            edge = draft.edge((subject, predicate, object_))
            assert edge is not None, path
            found |= {(subject, predicate, object_) for _ in edge.claims}
            found |= {(subject, object_, j.by, j.verdict) for j in edge.judgements}
    return found


def edge_key(path: str) -> tuple[str, str, str]:
    """Return the key that an edge's flat path stands for."""
    _, kind, name = path.removesuffix(".json").split("/")
    subject, predicate, other, slug = name.split("--")
    return f"{kind}/{subject}", predicate, f"{other}/{slug}"


def without(said: set[tuple[str, ...]], lost: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the statements but for those of which something left no trace."""
    return {s for s in said if not {s, s[1:], s[:2]} & lost}


@pytest.mark.parametrize("in_order", [True, False])
def test_reverting_runs_equals_a_history_without_them(tmp_path: Path, in_order: bool) -> None:
    """What runs said is gone, what they took away is back: the facts are as if they had not been.

    Also where runs overlap in time.
    """
    rng = random.Random(f"runs {in_order}")
    runs = [(f"r{n}", f"agent-{n % 3 if in_order else n}") for n in range(1, 9)]
    order = [rng.choice(runs) for _ in range(200)]
    if in_order:
        order.sort(key=lambda one: int(one[0][1:]))
    said = [operation(rng, run, agent, n) for n, (run, agent) in enumerate(order)]
    graph = store(tmp_path / "all")
    lost = play(graph, said)
    gone = set(rng.sample([run for run, _ in runs], 3))
    for run in sorted(gone):
        revert(graph, commits_of(run=run))
    check_store(graph.place.folder)
    other = store(tmp_path / "without")
    lost |= play(other, [one for one in said if one["run"] not in gone])
    assert without(statements(graph), lost) == without(statements(other), lost)


def test_runs_are_taken_back_over_merges(tmp_path: Path) -> None:
    """What two clones said of different things and git merged is told as one history."""
    rng, top = random.Random("merges"), tmp_path / "all"
    graph, said, lost = store(top), list[dict[str, Any]](), set[tuple[str, ...]]()
    away = ["xray", "yankee", "zulu"]

    def work(count: int, names: list[str]) -> None:
        nonlocal lost
        for _ in range(count):
            n = len(said)
            said.append(operation(rng, f"r{n // 6 + 1}", f"agent-{n % 3}", n, names))
            lost |= play(graph, said[-1:])

    work(30, NAMES)
    for _ in range(2):
        git(top, "branch", "-f", "side")
        work(20, NAMES)
        git(top, "switch", "-q", "side")
        work(20, away)
        git(top, "switch", "-q", "main")
        git(top, "merge", "-q", "--no-ff", "-m", "merge", "side")
    work(10, [*NAMES, *away])
    gone = {f"r{n}" for n in rng.sample(range(1, len(said) // 6 + 1), 7)}
    for run in sorted(gone):
        revert(graph, commits_of(run=run))
    check_store(str(top))
    other = store(tmp_path / "without")
    lost |= play(other, [one for one in said if one["run"] not in gone])
    assert without(statements(graph), lost) == without(statements(other), lost)


@pytest.mark.parametrize("seed", range(2))
def test_taking_back_the_taking_back_brings_every_line_back(tmp_path: Path, seed: int) -> None:
    """A revert is one commit; reverting it gives the very files that were there."""
    rng = random.Random(f"again {seed}")
    graph = store(tmp_path / "memory")
    order = [(f"r{n // 5 + 1}", f"agent-{n % 3}") for n in range(50)]
    play(graph, [operation(rng, run, agent, n) for n, (run, agent) in enumerate(order)])
    before = dict(graph.at().files())
    done = [revert(graph, commits_of(run=f"r{n}")) for n in rng.sample(range(1, 11), 4)]
    for one in reversed([d for d in done if d.commit]):
        revert(graph, commits_named([one.commit]))
    assert dict(graph.at().files()) == before
    check_store(graph.place.folder)


@pytest.mark.parametrize("seed", range(2))
def test_every_commit_in_turn_can_be_taken_back(tmp_path: Path, seed: int) -> None:
    """Reverting each commit, in any order, never conflicts; all of them leave an empty store."""
    rng = random.Random(f"each {seed}")
    graph = store(tmp_path / "memory")
    empty = dict(graph.at().files())
    order = [(f"r{rng.randrange(1, 6)}", f"agent-{n % 3}") for n in range(40)]
    play(graph, [operation(rng, run, agent, n) for n, (run, agent) in enumerate(order)])
    commits = [c.id for c in lineage(graph.place, graph.at().commit) if c.trailer("Op") != "init"]
    rng.shuffle(commits)
    for commit in commits:
        revert(graph, commits_named([commit]))
    assert dict(graph.at().files()) == empty


def facts(graph: Graph, id_: str) -> dict[str, str]:
    """Return {key: src} of an entity's facts."""
    entity = graph.draft(graph.at()).entity(id_)
    return {f.k: f.src for f in entity.facts} if entity else {}


def test_what_others_saw_too_stays_with_their_line(tmp_path: Path) -> None:
    """A fact that a later run confirmed outlives the run that first said it, and it is said so."""
    graph = store(tmp_path / "memory")
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    later = observed("again: up\n", ("api", "status", "up"), run="r2", agent="two")
    raw = graph.remember([later]).recorded[0].raw
    found = revert(graph, commits_of(run="r1"))
    assert facts(graph, "object/api") == {"status": f"{raw}#L1"}
    assert [(e.id, e.k, e.src) for e in found.stays] == [("object/api", "status", f"{raw}#L1")]
    entity = graph.entity("object/api")
    assert (entity.first_run, entity.seen_again) == ("r2", ())
    check_store(graph.place.folder)


def test_an_entity_that_something_left_speaks_of_stays_bare(tmp_path: Path) -> None:
    """What a later run's edge goes to stays, without what was taken back, and leaves with it."""
    graph = store(tmp_path / "memory")
    for run in ("r1", "r9"):
        graph.remember([observed(f"{run} db\n", ("db", "note", "big"), run=run, agent="one")])
    edge = {"subject": "api", "predicate": "depends-on", "object": "object/db", "lines": 1}
    said = observed("api depends on db\n", ("api", "status", "up"), run="r5", agent="two")
    graph.remember([{**said, "edges": [edge]}])
    found = revert(graph, commits_of(agent="one"))
    assert found.bare == (("object/db", "object/api depends-on object/db"),)
    assert facts(graph, "object/db") == {}
    assert graph.entity("object/db").name == "db"
    check_store(graph.place.folder)
    revert(graph, commits_of(run="r5"))
    assert not list(graph.at().files("entities"))


def test_a_text_stays_while_a_line_of_it_is_a_source(tmp_path: Path) -> None:
    """A later run's fact may rest on a text of the run that is taken back: the text stays."""
    graph = store(tmp_path / "memory")
    raw = (
        graph.remember([{"text": "the port is 80\n", "run": "r1", "agent": "one"}]).recorded[0].raw
    )
    said = observed("later\n", run="r2", agent="two")
    said["entities"] = [{"ref": "api", "type": "Object", "name": "api"}]
    said["facts"] = [{"entity": "api", "k": "port", "v": 80, "src": f"{raw}#L1"}]
    graph.remember([said])
    assert revert(graph, commits_of(run="r1")).events == ()
    assert graph.at().read(raw)
    revert(graph, commits_of(run="r2"))
    assert graph.at().read(raw), "the commit that brought it still counts: nothing was taken back"
    revert(graph, commits_of(run="r1"))
    assert graph.at().read(raw) is None


def test_a_run_is_taken_back_over_a_merge_of_two_clones(tmp_path: Path) -> None:
    """What both sides of a merge did is told once; the side that is reverted is gone alone."""
    graph = store(tmp_path / "memory")
    top = tmp_path / "memory"
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    git(top, "branch", "other")
    graph.remember([observed("db is big\n", ("db", "note", "big"), run="r2", agent="two")])
    git(top, "switch", "-q", "other")
    graph.remember([observed("web is red\n", ("web", "note", "red"), run="r3", agent="three")])
    git(top, "switch", "-q", "main")
    git(top, "merge", "-q", "-m", "merge", "other")
    graph.remember([observed("web is red\n", ("web", "tag", "late"), run="r4", agent="four")])
    revert(graph, commits_of(run="r3"))
    assert set(facts(graph, "object/web")) == {"tag"}
    assert set(facts(graph, "object/db")) == {"note"}
    assert set(facts(graph, "object/api")) == {"status"}
    check_store(str(top))


def test_what_a_person_merged_by_hand_keeps_its_text(tmp_path: Path) -> None:
    """A merge that brought a fact no branch has: the text it rests on outlives the run it is of."""
    graph, top = store(tmp_path / "memory"), tmp_path / "memory"
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    raw = graph.remember([observed("tag x\n", ("api", "tag", "x"), run="r2", agent="two")])
    git(top, "branch", "side", "HEAD~1")
    git(top, "switch", "-q", "side")
    graph.remember([observed("api is red\n", ("api", "note", "red"), run="r3", agent="three")])
    git(top, "switch", "-q", "main")
    git(top, "merge", "-q", "--no-commit", "side", check=False)
    path = top / "entities/object/api.json"
    entity = graph.entity("object/api")
    fact = replace(entity.facts[0], k="note", v="by hand", src=f"{raw.recorded[0].raw}#L1")
    path.write_bytes(dump_entity(replace(entity, facts=(*entity.facts, fact))))
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "merge by hand")
    revert(graph, commits_of(run="r2"))
    assert facts(graph, "object/api")["note"] == f"{raw.recorded[0].raw}#L1"
    assert "tag" not in facts(graph, "object/api")
    check_store(str(top))


def test_undo_takes_back_one_write_after_the_other(tmp_path: Path) -> None:
    """Undo, and again undo: the last write that stands each time, until nothing is left."""
    graph = store(tmp_path / "memory")
    empty = dict(graph.at().files())
    for n in (1, 2):
        graph.remember([observed(f"{n}\n", ("api", "port", n), run=f"r{n}", agent="one")])
    assert "port = 2" in revert(graph, last_write()).commits[0].subject
    assert "port = 1" in revert(graph, last_write()).commits[0].subject
    assert dict(graph.at().files()) == empty
    with pytest.raises(NotFoundError, match="nothing left"):
        revert(graph, last_write())


def test_a_dry_run_changes_nothing_and_says_all(tmp_path: Path) -> None:
    """What a dry run says is what the revert then does."""
    graph = store(tmp_path / "memory")
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    head = graph.at().commit
    dry = revert(graph, commits_of(run="r1"), dry=True)
    assert graph.at().commit == head
    assert [(e.what, e.id, e.k) for e in dry.events][:1] == [("removed", "object/api", "")]
    assert revert(graph, commits_of(run="r1")).events == dry.events


@pytest.mark.parametrize("layout", ["in-tree", "bare"])
def test_a_revert_touches_the_store_alone(tmp_path: Path, layout: str) -> None:
    """In a repository of code its files are left alone; a bare store is reverted as well."""
    graph = in_tree(tmp_path / "top") if layout == "in-tree" else store(tmp_path / "m.git", "bare")
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    revert(graph, commits_of(run="r1"))
    assert not list(graph.at().files("entities"))
    if layout == "in-tree":
        assert (tmp_path / "top" / "code.py").exists()
        check_store(str(tmp_path / "top"), "memory")


def test_what_cannot_be_taken_back_is_refused(tmp_path: Path) -> None:
    """The founding commit, a run that never was, a commit of another history."""
    graph = store(tmp_path / "memory")
    with pytest.raises(RefusedError, match="made the store"):
        revert(graph, commits_named(["HEAD"]))
    with pytest.raises(NotFoundError, match="kg runs"):
        revert(graph, commits_of(run="r9"))
    with pytest.raises(NotFoundError):
        revert(graph, commits_named(["nowhere"]))


def test_runs_say_what_they_did_and_what_of_it_stands(tmp_path: Path) -> None:
    """Each run is listed with what it added, confirmed, contradicted and took back."""
    graph = store(tmp_path / "memory")
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    graph.remember([observed("api up, 80\n", ("api", "status", "up"), ("api", "port", 80),
                             run="r2", agent="two")])  # fmt: skip
    graph.remember([observed("down\n", ("api", "status", "down"), run="r3", agent="two")])
    revert(graph, commits_of(run="r1"), run="r9", agent="ada")
    told = {one.run: one for one in runs(graph)}
    assert (told["r1"].added, told["r1"].stands, told["r1"].reverted) == (1, 1, 1)
    assert (told["r2"].added, told["r2"].confirmed, told["r2"].stands) == (1, 1, 1)
    assert told["r3"].contradicted == 1
    assert (told["r9"].agent, told["r9"].commits, told["r9"].added) == ("ada", 1, 0)


def test_the_commands_say_it_in_words_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """runs, diff, revert --dry-run, revert and undo, as a person and as a program use them."""
    kg, graph = Kg(capsys), store(tmp_path / "memory")
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    assert "1 new" in kg.ok("runs")
    assert kg("runs", "--json").json("runs")[0]["stands"] == 1
    assert "new: object/api status = up" in kg.ok("diff", "HEAD~1..")
    assert kg("diff", "HEAD~1..HEAD", "--json").json("diff")[0]["what"] == "met"
    dry = kg.ok("revert", "--run", "r1", "--dry-run")
    assert "would take back" in dry
    assert "removed: object/api" in dry
    done = kg("revert", "--run", "r1", "--because", "a wrong branch", "--json").json("revert")
    assert done["reverted"]
    message = git(tmp_path / "memory", "log", "-1", "--format=%B")
    assert "a wrong branch" in message
    assert f"Reverts: {done['reverted'][0]}" in message
    assert "restored: object/api status = up" in kg.ok("revert", done["commit"])
    assert "taken back" in kg.ok("undo")
    assert "(reverted)" in kg.ok("runs")
    assert kg("revert").code == 2
    assert "kg runs" in kg("revert", "--run", "r77").err
    assert kg("diff", "nowhere..HEAD").code == 3
