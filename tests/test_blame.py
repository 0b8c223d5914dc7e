"""Who brought each fact, and what was known when: exact over merges, layouts and reverts."""

from __future__ import annotations

import io
import json
import random
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from commands import Kg
from recall_store import Result
from stores import acme, git, observed, store

from kg.audit.blame import blame
from kg.audit.revert import commits_named, commits_of, revert
from kg.errors import NotFoundError
from kg.format import parse_edge, parse_entity
from kg.graph import Graph
from kg.graph import draft as drafts
from kg.recall import hot
from kg.recall.moment import commit_at
from kg.recall.past import Past

if TYPE_CHECKING:
    from pathlib import Path

    from kg.model import Claim

KEYS = [("status", "up"), ("status", "down"), ("note", "tea"), ("port", 80), ("tag", "x")]


def recall(top: Path, *words: str) -> Result:
    """Run recall in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = hot.main(words, {}, str(top))
    return Result(out.getvalue(), err.getvalue(), code)


def version(top: Path, commit: str, name: str) -> bytes:
    """Return a file of the store at a commit by its name, wherever it lies; b"" for none."""
    listed = git(top, "ls-tree", "-r", "--name-only", commit).split("\n")
    path = next((p for p in listed if p.endswith(f"/{name}")), "")
    return git(top, "show", f"{commit}:{path}").encode() if path else b""


def holds(data: bytes, claim: Claim) -> bool:
    """Whether a version of an entity or edge has the very statement."""
    if not data:
        return False
    if b'"subject"' in data:
        return claim in parse_edge(data, "edges/x.json").claims
    return claim in parse_entity(data, "entities/x.json").facts


def slowly(top: Path, name: str, claim: Claim) -> str:
    """Return the commit that brought a statement, by looking at every commit and its parents."""
    back = ""
    for line in git(top, "rev-list", "--topo-order", "--parents", "HEAD").split("\n")[:-1]:
        commit, *parents = line.split(" ")
        if not holds(version(top, commit, name), claim):
            continue
        if not any(holds(version(top, p, name), claim) for p in parents):
            if "Reverts: " not in git(top, "log", "-1", "--format=%B", commit):
                return commit
            back = back or commit
    return back


def compare(graph: Graph, top: Path) -> int:
    """Assert that blame equals the slow way for every entity; return how many statements."""
    count = 0
    for path, blob in graph.at().files("entities"):
        entity = parse_entity(graph.at().blob(blob), path)
        try:
            found = blame(graph, entity.id)
        except NotFoundError:
            continue
        for one in found:
            slug = one.id.partition("/")[2]
            name = f"{slug}--{one.k}--{str(one.v).replace('/', '--')}" if one.edge else slug
            assert one.commit is not None, one
            assert one.commit.id == slowly(top, f"{name}.json", one.claim), one
            count += 1
    return count


@pytest.mark.parametrize("seed", range(2))
def test_blame_equals_a_replay_of_every_commit(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over branches that merge, a reshard, retractions and reverts each fact has its commit."""
    monkeypatch.setattr(drafts, "FAN_OUT_AT", 5)
    rng, top = random.Random(seed), tmp_path / "memory"
    graph = store(top)

    def work(run: int, names: list[str]) -> None:
        k, v = rng.choice(KEYS)
        name, other = rng.sample(names, 2)
        said = observed(f"{run} {name} {k} {v}\n", (name, k, v), run=f"r{run}", agent="one")
        if rng.random() < 0.3:
            said["edges"] = [
                {"subject": name, "predicate": "depends-on", "object": "on", "lines": 1}
            ]
            said["entities"].append({"ref": "on", "type": "Object", "name": other})
        if run % 7 == 0:
            gone = {"entity": f"object/{name}", "k": k, "v": v, "lines": 1}
            said = {"run": f"r{run}", "agent": "one", "text": f"{run}\n", "retract": [gone]}
        try:
            graph.remember([said])
        except NotFoundError:
            return

    names = ["alpha", "bravo", "charlie"]
    for run in range(1, 12):
        work(run, names)
    git(top, "branch", "side")
    for run in range(12, 18):
        work(run, names)
    git(top, "switch", "-q", "side")
    for run in range(18, 24):
        work(run, ["xray", "yankee", "zulu"])
    git(top, "switch", "-q", "main")
    git(top, "merge", "-q", "-m", "merge", "side")
    done = revert(graph, commits_of(run="r3"))
    for run in range(24, 30):
        work(run, [*names, "xray", "delta", "echo"])
    if done.commit:
        revert(graph, commits_named([done.commit]))
    assert compare(graph, top) > 5


def test_git_blame_on_the_source_line_is_right(tmp_path: Path) -> None:
    """Plain git blame of a fact's line names the commit that kg blame names.

    Where the line was never the last of its list, which has no comma.
    """
    graph, top = store(tmp_path / "memory"), tmp_path / "memory"
    graph.remember([observed("z\n", ("api", "tag", "zzz"), run="r0", agent="one")])
    for n in range(1, 8):
        k, v = ("port", n) if n % 2 else ("tag", f"t{n}")
        graph.remember([observed(f"{n}\n", ("api", k, v), run=f"r{n}", agent="one")])
    told = git(top, "blame", "-l", "-s", "entities/object/api.json").split("\n")
    for one in blame(graph, "object/api"):
        (line,) = [row for row in told if f'"src": "{one.claim.src}"' in row]
        assert one.commit is not None
        assert one.commit.id.startswith(line.split(" ")[0].lstrip("^"))


def test_what_was_taken_back_is_told_with_both_commits(tmp_path: Path) -> None:
    """A retracted statement has the commit that brought it and the one that took it back."""
    graph = store(tmp_path / "memory")
    first = graph.remember([acme()]).commits[0]
    graph.remember([observed("again\n", ("payments-api", "on-call", "platform-team"),
                             run="r1785429667", agent="two")])  # fmt: skip
    (fact,) = blame(graph, "object/payments-api", "on-call")
    assert fact.confirmed is not None
    assert (fact.commit and fact.commit.id, fact.confirmed.by) == (first, "two")
    gone = [
        {"entity": "object/payments-api", "k": "on-call", "lines": 1},
        {"entity": "object/payments-api", "predicate": "owned-by", "object": "org/acme-corp",
         "lines": 1},
    ]  # fmt: skip
    last = graph.remember([{"run": "r1785516067", "agent": "two", "text": "no\n", "retract": gone}])
    with pytest.raises(NotFoundError):
        blame(graph, "object/payments-api")
    for one in blame(graph, "object/payments-api", gone=True):
        assert (one.commit and one.commit.id, one.gone and one.gone.id) == (first, last.commits[0])


def test_the_past_is_answered_by_commit_date_and_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """recall, show and ls --at say what was known then; the present index is left as it is."""
    kg, graph, top = Kg(capsys), store(tmp_path / "memory"), tmp_path / "memory"
    graph.remember([observed("up\n", ("api", "status", "up"), run="r5", agent="one")])
    graph.remember([observed("down\n", ("web", "status", "down"), run="r6", agent="one")])
    graph.remember([{"run": "r7", "agent": "one", "text": "no\n", "retract": [
        {"entity": "object/api", "k": "status", "lines": 1}]}])  # fmt: skip
    assert "status = up" in recall(top, "api", "--at", "r5").out
    assert recall(top, "web", "--at", "r5").code == 1
    assert "status = up" not in recall(top, "api").out
    assert "object/api" in json.dumps(json.loads(recall(top, "api", "--at=r5", "--json").out))
    assert "status = up" in kg.ok("show", "object/api", "--at", "HEAD~1")
    assert "object/web" not in kg.ok("ls", "--at", "r5")
    made = int(git(top, "log", "-1", "--format=%ct"))
    today = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d")
    assert kg("show", "object/api", "--at", "2001-01-01").code == 3
    assert commit_at(graph.place, "r7") == graph.at().commit
    assert "object/web" in kg.ok("ls", "--at", today)
    assert "kg runs" in recall(top, "api", "--at", "r55").err
    assert recall(top, "api", "--at=--upload-pack=x").code == 3
    for run in ("r6", "r5", "r7", "r5"):
        with Past(graph.place, run) as past:
            assert past.commit == commit_at(graph.place, run)


def test_the_log_is_narrowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By run, agent, operation, key, source and time, in words and in JSON."""
    kg, graph = Kg(capsys), store(tmp_path / "memory")
    raw = graph.remember([observed("up\n", ("api", "status", "up"), run="r5", agent="one")])
    graph.remember([observed("80\n", ("api", "port", 80), run="r6", agent="two")])

    def runs(*args: str) -> list[str]:
        return [entry["run"] for entry in kg("log", "--json", *args).json("log")]

    assert runs("--run", "r5") == ["r5"]
    assert runs("--agent", "two") == ["r6"]
    assert runs("--key", "port") == ["r6"]
    assert runs("--source", raw.recorded[0].raw) == ["r5"]
    assert runs("--op", "retract") == []
    assert runs("--since", "2001-01-01", "--op", "remember", "-n", "1") == ["r6"]
    assert runs("--until", "2001-01-01") == []
    assert "port = 80" in kg.ok("log", "--key", "port")


def test_what_is_one_thing_is_blamed_as_one(tmp_path: Path) -> None:
    """Facts of all that were judged one are told, each under the id it is filed under."""
    graph = store(tmp_path / "memory")
    for n, name in enumerate(("api", "the api")):
        graph.remember([observed(f"{name}\n", (name, "port", n), run=f"r{n + 1}", agent="one")])
    same = {"one": "object/api", "other": "object/the-api", "verdict": "same", "lines": 1}
    graph.remember([{"run": "r3", "agent": "one", "text": "same\n", "judge": [same]}], person="ada")
    told = {
        (one.id, one.v): one.commit and one.commit.run for one in blame(graph, "object/the-api")
    }
    assert told == {("object/the-api", 1): "r2", ("object/api", 0): "r1"}
