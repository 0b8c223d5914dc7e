"""What is told late, twice or in another order changes nothing it should not change."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from checks import check_store
from stores import git, in_tree, observed, store

from kg.errors import MissingSourceError, RefusedError, SecretError, StoreError
from kg.graph import Graph

API = "object/api"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a new store."""
    return store(tmp_path / "memory")


def _fact(run: str, v: str = "fine") -> dict[str, Any]:
    return observed(f"status {v} in {run}", ("api", "status", v), run=run)


def _retraction(run: str) -> dict[str, Any]:
    said = {"entity": API, "k": "status", "lines": 1}
    return {"run": run, "agent": "scoper", "text": f"gone in {run}", "retract": [said]}


def test_an_old_retraction_takes_back_no_later_fact(graph: Graph) -> None:
    """A retraction that is told again, or late, does not undo what a later run has seen."""
    graph.remember([_fact("r1000")])
    graph.remember([_retraction("r2000")])
    graph.remember([_fact("r3000")])
    told = graph.remember([_retraction("r2000")])
    assert told.commits == ()
    assert [r.outcome for r in told.recorded[0].retracted] == ["seen since"]
    assert [f.seen_run for f in graph.entity(API).facts] == ["r3000"]


def test_a_retraction_of_nothing_is_refused(graph: Graph) -> None:
    """Taking back what is not there says so, unless the same was told before."""
    graph.remember([_fact("r1000")])
    graph.remember([_retraction("r2000")])
    assert graph.remember([_retraction("r2000")]).commits == ()
    with pytest.raises(LookupError, match="has no fact status"):
        graph.remember([_retraction("r2500")])


def test_an_old_rename_undoes_no_later_one(graph: Graph) -> None:
    """A rename that is told again leaves the later name and adds no alias."""
    graph.remember([_fact("r1000")])
    for run, name in (("r4000", "B"), ("r5000", "C"), ("r4000", "B")):
        said = {"entity": API, "name": name, "lines": 1}
        graph.remember([{"run": run, "agent": "x", "text": f"now {name}", "rename": [said]}])
    entity = graph.entity(API)
    assert (entity.name, set(entity.aliases)) == ("C", {"B", "api"})


def test_a_trace_is_the_same_whatever_its_order(graph: Graph) -> None:
    """Two reports of one trace that name its things in another order are one file."""
    graph.remember([observed("x", ("a", "note", "x"), ("b", "note", "x"))])
    for run, about in (("r1", ["object/a", "object/b"]), ("r2", ["object/b", "object/a"])):
        tried = {"about": about, "tried": "t", "outcome": "failed", "because": "b", "lines": 1}
        graph.remember([{"run": run, "agent": "x", "text": f"t {run}", "tried": [tried]}])
    assert len(list(graph.at().files("tried"))) == 1


def test_a_thing_without_a_source_is_refused(graph: Graph) -> None:
    """An entity that nothing speaks of is not made."""
    with pytest.raises(MissingSourceError, match="nothing says where"):
        graph.remember([{"entities": [{"type": "Object", "name": "sourceless"}]}])


def test_a_wrong_quote_is_told_of_its_fact(graph: Graph) -> None:
    """The message names the fact whose quote is wrong, not the thing it is said of."""
    said = observed("text", ("new", "note", "x"))
    said["facts"][0] = {"entity": "new", "k": "note", "v": "x", "quote": "nowhere"}
    with pytest.raises(MissingSourceError, match="the fact note"):
        graph.remember([said])


TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def test_a_secret_in_a_quote_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    """Also where the write would have waited in the outbox, which is on disk."""
    graph = store(tmp_path / "memory")
    folder = Path(graph.place.folder)
    graph.remember([_fact("r1")])
    git(folder, "checkout", "-qb", "other")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    git(folder, "checkout", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "y")
    git(folder, "merge", "--no-commit", "--no-ff", "other", check=False)
    said = observed("some text", ("api", "note", "x"))
    said["facts"][0] = {"entity": "api", "k": "note", "v": "x", "quote": TOKEN}
    with pytest.raises(SecretError):
        graph.remember([said])
    assert not any(TOKEN.encode() in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_redaction_keeps_quotes_on_their_lines(graph: Graph) -> None:
    """A quote of a line that is redacted still anchors there, and is not shown."""
    secret = "hunter2" + "Xy9!kLm"
    said = observed(f"first\npassword = '{secret}'\nlast", ("api", "note", "has a password"))
    said["facts"][0] = {"entity": "api", "k": "note", "v": "has a password", "quote": secret}
    told = graph.remember([said], redact=True)
    assert told.recorded[0].facts[0].src.endswith("#L2")
    assert told.recorded[0].redacted
    assert secret not in git(Path(graph.place.folder), "log", "-p")


def test_a_secret_in_a_message_is_told_when_redacted(graph: Graph) -> None:
    """Redaction of a conversation reports the line of the text it becomes."""
    told = graph.remember(
        [{"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": TOKEN}]}],
        redact=True,
    )
    assert [where for where, _ in told.recorded[0].redacted] == ["line 3"]


def test_the_outbox_is_delivered_by_any_write(graph: Graph) -> None:
    """Committing the hand edit that stood in the way makes the write that waited."""
    from kg.audit.drafts import commit

    graph.remember([_fact("r1")])
    path = Path(graph.place.folder, "entities/object/api.json")
    path.write_text(path.read_text(encoding="utf-8").replace("fine", "good"), encoding="utf-8")
    assert graph.remember([observed("n", ("api", "note", "n"), run="r9")]).queued
    commit(graph)
    assert len(graph.delivered) == 1
    assert {f.k for f in graph.entity(API).facts} == {"status", "note"}
    check_store(graph.place.top)


def test_a_captured_text_is_found_when_raw_is_full(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction's lines name the file that is written, also when raw/ is folded."""
    monkeypatch.setattr("kg.graph.draft.FAN_OUT_AT", 1)
    graph.remember([_fact("r1")])
    with graph.transaction("x", run="r2", agent="py") as tx:
        raw = tx.capture("zeta is written in Rust\n")
        zeta = tx.resolve("Object", "zeta")
        tx.fact(zeta.id, "language", "Rust", src=raw.line(1))
    assert len(tx.answer.commits) == 1
    assert raw.path.count("/") == 2


def test_a_seventh_type_may_collide_with_the_sixth(graph: Graph) -> None:
    """Types of a store are held to the collision rule against each other too."""
    from kg.ontology import extend, shipped

    def one(prefix: str, *others: str) -> dict[str, Any]:
        return {"prefix": prefix, "definition": "d", "confused_with": others, "because": "b"}

    sixth, seventh = one("idea", "Object", "Event"), one("aspect", "Idea", "Object")
    made = extend(shipped(), {"types": {"Aspect": seventh, "Idea": sixth}})
    assert {"Aspect", "Idea"} <= set(made.types)
    with pytest.raises(RefusedError, match="taken"):
        extend(shipped(), {"types": {"A": sixth, "B": sixth}})
    del graph


def test_a_keys_edge_must_be_a_predicate() -> None:
    """An ontology whose key says the same as an unknown edge is refused."""
    from kg.ontology import extend, shipped

    with pytest.raises(RefusedError, match="no predicate"):
        extend(shipped(), {"keys": {"boss": {"definition": "d", "edge": "nope"}}})


def test_what_waits_is_not_judged_before_its_turn(tmp_path: Path) -> None:
    """A kept write that rests on another that still waits goes on waiting too."""
    graph = store(tmp_path / "memory")
    graph.remember([_fact("r1")])
    path = Path(graph.place.folder, "entities/object/api.json")
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("fine", "good"), encoding="utf-8")
    first = observed("new and api", ("api", "note", "x"), ("new", "note", "x"), run="r2")
    assert graph.remember([first]).queued
    second = {"entity": "object/new", "k": "status", "v": "y", "lines": 1}
    kept = {"run": "r3", "agent": "x", "at": "2026-01-01", "text": "y", "facts": [second]}
    graph.outbox.keep(json.dumps({"op": "add", "observations": [kept]}).encode())
    graph.remember([observed("z", ("z", "note", "z"), run="r4")])
    assert (len(graph.outbox.names()), graph.outbox.refused()) == (2, [])
    path.write_text(before, encoding="utf-8")
    graph.remember([observed("z", ("z", "note", "again"), run="r5")])
    assert (graph.outbox.names(), graph.outbox.refused()) == ([], [])
    assert {f.k for f in graph.entity("object/new").facts} == {"note", "status"}


def test_new_words_of_the_same_run_speak_again(graph: Graph) -> None:
    """A run may take a thing back and, with other words, say it after all; a replay may not."""
    told = {"run": "r5", "agent": "a"}
    first = {**_fact("r5", "beta"), **told}
    graph.remember([first])
    graph.remember([{**_retraction("r5"), **told}])
    graph.remember([first])
    assert graph.entity(API).facts == ()
    fact = {"entity": API, "k": "status", "v": "beta", "lines": 1}
    graph.remember([{**told, "text": "beta after all, I checked", "facts": [fact]}])
    assert [f.v for f in graph.entity(API).facts] == ["beta"]


def test_a_clock_that_is_ahead_outranks_nobody(graph: Graph) -> None:
    """A fact of a run in the future can be retracted, and its replay does not revive it."""
    ahead = _fact("r199999999999")
    graph.remember([ahead])
    graph.remember([_retraction(f"r{int(time.time())}")])
    graph.remember([ahead])
    assert graph.entity(API).facts == ()


def test_a_misplaced_file_is_found_by_its_id(graph: Graph) -> None:
    """An entity in another's place is the same entity; the next write puts it where it belongs."""
    graph.remember([_fact("r1")])
    folder = Path(graph.place.folder)
    git(folder, "mv", "entities/object/api.json", "entities/object/other.json")
    git(folder, "commit", "-qm", "move")
    graph.remember([observed("n", ("api", "note", "n"), run="r2")])
    assert [p.name for p in folder.glob("entities/object/*")] == ["api.json"]
    assert {f.k for f in graph.entity(API).facts} == {"status", "note"}
    check_store(graph.place.top)


def test_a_lost_object_is_named_and_the_rest_answers(graph: Graph) -> None:
    """One object that is gone from git is one finding of fsck, with its path."""
    from kg.audit.fsck import fsck

    graph.remember([observed("x", ("a", "note", "x"), ("b", "note", "x"))])
    lost = graph.at().id_of("entities/object/a.json")
    Path(graph.place.gitdir, "objects", lost[:2], lost[2:]).unlink()
    found = [f for f in fsck(Graph(graph.place)) if f.level == "fault"]
    assert any(f.path == "entities/object/a.json" and "missing" in f.problem for f in found)


def test_a_damaged_settings_file_hides_no_store(graph: Graph) -> None:
    """With store.json broken by hand the store is still found, and HEAD's is in force."""
    graph.remember([_fact("r1")])
    Path(graph.place.folder, "store.json").write_text("nope", encoding="utf-8")
    again = Graph(graph.place.folder)
    assert again.entity(API).facts
    assert again.place.seed is False


def test_a_write_inside_a_git_hook_waits(tmp_path: Path) -> None:
    """The commit whose hook calls kg goes through, and the write is made afterwards."""
    graph = in_tree(tmp_path / "code")
    top = tmp_path / "code"
    hook = top / ".git/hooks/pre-commit"
    said = json.dumps({"text": "seen in a hook"})
    hook.write_text(f"#!/bin/sh\necho '{said}' | {sys.executable} -m kg remember -\nexit 0\n")
    hook.chmod(0o755)
    (top / "code.py").write_text("changed\n", encoding="utf-8")
    git(top, "add", "code.py")
    git(top, "commit", "-qm", "with a hook")
    assert len(graph.outbox.names()) == 1
    hook.unlink()
    graph.deliver()
    assert not graph.outbox.names()
    assert git(top, "status", "--porcelain") == ""


def test_a_broken_index_is_one_line(graph: Graph) -> None:
    """libgit2's own errors do not come through."""
    graph.remember([_fact("r1")])
    Path(graph.place.gitdir, "index").write_bytes(b"DIRCxx")
    with pytest.raises(StoreError):
        graph.remember([_fact("r2")])
