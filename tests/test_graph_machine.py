"""Random operations against a dictionary: what the store says is what was told, at each step."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store, one_line_error, sources
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from stores import git, store

from kg.errors import KgError, RefusedError
from kg.format import dump_edge, dump_entity, dump_trace, parse_edge, parse_entity, parse_trace
from kg.graph import Graph, draft
from kg.model import run_order, value_text
from kg.text import fold

if TYPE_CHECKING:
    from kg.graph.recorded import Recorded

NAMES = ["alpha", "Beta Thing", "con", "名前", "beta-thing"]
ORGS = ["Acme", "Acme Corp"]
NEW_NAMES = ["One", "Two", "alpha"]
objects = st.sampled_from(NAMES)
orgs = st.sampled_from(ORGS)
runs = st.sampled_from(["r1", "r2", "r2.b", "r3", "r9"])
agents = st.sampled_from(["a", "b"])
literals = st.sampled_from([("status", "up"), ("status", "Down"), ("status", "UP"), ("note", "x y"), ("port", 80)])  # fmt: skip  # noqa: E501
Key = tuple[str, str, str]  # id, key or predicate, folded value
PHASES = (Phase.explicit, Phase.generate)  # shrinking real repositories takes minutes


def say(text: str, run: str, agent: str, name: str, org: str = "", **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an observation that mentions an object, and an organization if one is named."""
    entities = [{"ref": "it", "type": "Object", "name": name}]
    if org:
        entities.append({"ref": "org", "type": "Organization", "name": org})
    return {"run": run, "agent": agent, "text": f"{text}\n", "entities": entities, **parts}


class Remembering(RuleBasedStateMachine):
    """A store, and beside it a dictionary of what it should say."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="kg-machine-")
        self.graph = store(Path(self.folder, "memory"))
        self.ids: dict[str, str] = {}  # name -> id, once it was mentioned
        self.named: dict[str, str] = {}  # id -> its present name
        self.live: dict[Key, str] = {}  # latest run that said it
        self.told: set[tuple[str, str]] = set()  # renames, by run and name
        self.gone: dict[Key, str] = {}  # latest run that retracted it
        self.commits = 1

    # what is told

    @rule(name=objects, said=literals, run=runs, agent=agents, more=st.sampled_from(["", " again"]))
    def fact(self, name: str, said: tuple[str, Any], run: str, agent: str, more: str) -> None:
        """State a fact about an object."""
        k, v = said
        raw = say(f"{name}: {k} {v}{more}", run, agent, name,
                  facts=[{"entity": "it", "k": k, "v": v, "lines": 1}])  # fmt: skip
        self._expect(self._one(raw, name), k, value_text(v), run)

    @rule(name=objects, org=orgs, run=runs, agent=agents, edge=st.booleans())
    def owned(self, name: str, org: str, run: str, agent: str, edge: bool) -> None:
        """State an owner, as a fact or as the edge that says the same."""
        parts: dict[str, Any] = {"facts": [{"entity": "it", "k": "owner", "v": "org", "lines": 1}]}
        if edge:
            ends = {"subject": "it", "predicate": "owned-by", "object": "org"}
            parts = {"edges": [{**ends, "lines": 1}]}
        found = self._one(
            say(f"{name} is owned by {org}", run, agent, name, org, **parts), name, org
        )
        self._expect(found, "owned-by" if edge else "owner", self.ids[fold(org)], run)

    @precondition(lambda self: self._said())
    @rule(data=st.data(), run=runs, agent=agents)
    def retract(self, data: st.DataObject, run: str, agent: str) -> None:
        """Take back something that is held."""
        key = data.draw(st.sampled_from(self._said()))
        id_, k, v = key
        what = {"k": k, "v": self._value(key)}
        if k == "owned-by":
            what = {"predicate": k, "object": v}
        raw = {"run": run, "agent": agent, "text": f"no longer {k} {v}\n",
               "retract": [{"entity": id_, "lines": 1, **what}]}  # fmt: skip
        answer = self._remember([raw])
        late = run_order(run) < run_order(self.live[key])
        assert [s.outcome for s in answer[0].retracted] == ["seen since" if late else "retracted"]
        if late:
            return
        del self.live[key]
        self.gone[key] = max(self.gone.get(key, "r0"), run, key=run_order)

    @precondition(lambda self: self.named)
    @rule(data=st.data(), new=st.sampled_from(NEW_NAMES), run=runs)
    def rename(self, data: st.DataObject, new: str, run: str) -> None:
        """Give an object another name, unless another one has it."""
        id_ = data.draw(st.sampled_from(sorted(self.named)))
        raw = {"run": run, "agent": "a", "text": f"now {new}\n",
               "rename": [{"entity": id_, "name": new, "quote": new}]}  # fmt: skip
        if self.ids.get(fold(new), id_) != id_:
            self._refused(raw)
            return
        again = (run, new) in self.told and (id_, "also-known-as", fold(new)) in self.live
        self._remember([raw])
        self.told.add((run, new))
        if again:
            return
        self.ids[fold(new)] = id_
        if self.named[id_] != new:
            self._seen((id_, "also-known-as", fold(self.named[id_])), run)
        self.named[id_] = new

    @rule(name=objects, outcome=st.sampled_from(["failed", "worked"]), run=runs)
    def tried(self, name: str, outcome: str, run: str) -> None:
        """Record a trace."""
        trace = {"about": ["it"], "tried": "x", "outcome": outcome, "because": "y", "lines": 1}
        assert self._one(say(f"tried {name}", run, "a", name, tried=[trace]), name).tried

    @rule(name=objects, both=st.lists(runs, min_size=2, max_size=4), agent=agents)
    def batch(self, name: str, both: list[str], agent: str) -> None:
        """Say one thing in several observations at once."""
        facts = [{"entity": "it", "k": "tag", "v": "t", "lines": 1}]
        raws = [say(f"{name} has tag t, {at}", run, agent, name, facts=facts) for at, run in enumerate(both)]  # fmt: skip  # noqa: E501
        found = self._remember(raws)
        self._meet(found[0], name)
        key = (self.ids[fold(name)], "tag", "t")
        for run in both:
            if not self._still_gone(key, run):
                self._seen(key, run)

    @rule(
        bad=st.sampled_from([{"k": "unheard-of"}, {"lines": 9}, {"v": 0.5}, {"entity": "nobody"}])
    )
    def nonsense(self, bad: dict[str, Any]) -> None:
        """Say something that must be refused, after something sound in the same batch."""
        fact = {"entity": "it", "k": "note", "v": "sound", "lines": 1}
        sound = say("sound", "r1", "a", "alpha", facts=[fact])
        self._refused(sound, say("bad", "r1", "a", "alpha", facts=[{**fact, **bad}]))

    @rule()
    def reopen(self) -> None:
        """Go on in another process, as far as the store can tell."""
        self.graph.close()
        self.graph = Graph(self.graph.place)

    # what must hold

    @invariant()
    def says_what_was_told(self) -> None:
        """Facts and edges are those of the dictionary, and contested follows from them."""
        found: set[Key] = set()
        for path, blob in self.graph.at().files("entities"):
            entity = parse_entity(self.graph.at().blob(blob), path)
            found |= {(entity.id, f.k, fold(value_text(f.v))) for f in entity.facts}
            statuses = [f for f in entity.facts if f.k == "status"]
            assert ("status" in entity.contested) == (len(statuses) > 1)
            assert self.named.get(entity.id, entity.name) == entity.name
        for path, blob in self.graph.at().files("edges"):
            edge = parse_edge(self.graph.at().blob(blob), path)
            if edge.predicate == "same-as":  # the resolver's links say nothing of facts
                continue
            found.add((edge.subject, edge.predicate, edge.object))
        assert found == set(self.live)

    @invariant()
    def head_is_the_folder_and_sound(self) -> None:
        """Each file of HEAD is the working file, canonical, with sources that are there."""
        snapshot, folder = self.graph.at(), Path(self.graph.place.folder)
        files = {path: snapshot.blob(blob) for path, blob in snapshot.files()}
        there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        assert {p for p in there if not p.startswith(".git/")} == {*files}
        for path, data in files.items():
            assert (folder / path).read_bytes() == data
            if path.startswith(("entities/", "edges/", "tried/")):
                assert _again(path, data) == data
                for raw, first, last in sources(data.decode()):
                    assert 1 <= first <= last <= files[raw].count(b"\n")

    def teardown(self) -> None:
        """Let git and fsck look at what came of it."""
        try:
            check_store(self.graph.place.top)
            count = git(Path(self.graph.place.top), "rev-list", "--count", "HEAD")
            assert int(count) == self.commits
        finally:
            self.graph.close()
            shutil.rmtree(self.folder)

    # helpers

    def _one(self, raw: dict[str, Any], *names: str) -> Recorded:
        found = self._remember([raw])[0]
        self._meet(found, *names)
        return found

    def _meet(self, found: Recorded, *names: str) -> None:
        """A name leads to one id, for ever."""
        for name, mention in zip(names, found.mentions, strict=True):
            assert self.ids.setdefault(fold(name), mention.id) == mention.id
            if mention.id.startswith("object/"):
                self.named.setdefault(mention.id, name)

    def _remember(self, raws: list[dict[str, Any]]) -> tuple[Recorded, ...]:
        answer = self.graph.remember(raws)
        self.commits += len(answer.commits)
        again = self.graph.remember(raws)
        assert again.commits == (), git(Path(self.graph.place.top), "show", "--format=%s", "HEAD")
        return answer.recorded

    def _refused(self, *raws: dict[str, Any]) -> None:
        before = self.graph.at().commit
        with pytest.raises(KgError) as refused:
            self.graph.remember(raws)
        assert isinstance(refused.value, RefusedError | LookupError)
        one_line_error(refused.value)
        assert self.graph.at().commit == before

    def _expect(self, found: Recorded, k: str, v: str, run: str) -> None:
        """Compare an outcome with the dictionary, then tell the dictionary."""
        stated = (*found.facts, *found.edges)[0]
        key = (stated.id, k, fold(v))
        if self._still_gone(key, run):
            assert stated.outcome == "retracted"
            return
        assert (stated.outcome == "new") == (key not in self.live)
        if stated.outcome == "new":
            alike = {"owner", "owned-by"} if k in ("owner", "owned-by") else {k} & {"status"}
            against = {w for i, other, w in self.live if i == stated.id and other in alike} - {
                key[2]
            }
            assert {fold(w) for w, _ in stated.against} == against
        self._seen(key, run)

    def _seen(self, key: Key, run: str) -> None:
        self.live[key] = max(self.live.get(key, "r0"), run, key=run_order)

    def _said(self) -> list[Key]:
        """What is held, but for the other names, by which things are found."""
        return sorted(key for key in self.live if key[1] != "also-known-as")

    def _still_gone(self, key: Key, run: str) -> bool:
        """Whether what was retracted stays so when this run says it."""
        gone = self.gone.get(key)
        return gone is not None and key not in self.live and run_order(run) <= run_order(gone)

    def _value(self, key: Key) -> Any:  # noqa: ANN401
        facts = self.graph.entity(key[0]).facts
        return next((f.v for f in facts if (f.k, fold(value_text(f.v))) == key[1:]), key[2])


def _again(path: str, data: bytes) -> bytes:
    if path.startswith("entities/"):
        return dump_entity(parse_entity(data, path))
    if path.startswith("edges/"):
        return dump_edge(parse_edge(data, path))
    return dump_trace(parse_trace(data, path))


def test_any_sequence_of_operations_keeps_the_store_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """HEAD = working files = what was told; sources resolve; bytes canonical; git content."""
    monkeypatch.setattr(draft, "FAN_OUT_AT", 3)  # so that moving files is among the operations
    run_state_machine_as_test(
        Remembering, settings=settings(max_examples=12, stateful_step_count=15, phases=PHASES)
    )
