"""History in words of facts: what each commit added, saw again, retracted, captured.

Sets of facts are compared, not lines: that is exact in any layout, follows a file that the
fan-out moved, and is faster than line blame (GIT.md, 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kg.audit.lineage import Commit, Moved, Once, flat, layouts, lineage
from kg.errors import FormatError, NotFoundError, StoreError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
    entity_path,
    parse_edge,
    parse_entity,
    parse_trace,
)
from kg.graph import Graph
from kg.model import Edge, Entity, Fact, Value
from kg.store import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing a commit did; `k` and `v` are empty where it is about more than one fact.

    `what` is new, seen again, retracted, removed, met, renamed, tried, captured, changed,
    unreadable, or judged with the verdict.
    """

    what: str
    id: str
    k: str = ""
    v: Value = ""
    src: str = ""
    edge: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        members = {"what": self.what, "id": self.id, "k": self.k, "v": self.v, "src": self.src}
        return {name: value for name, value in members.items() if value != ""}


def commits(graph: Graph, paths: Sequence[str] = (), limit: int = 0) -> list[Commit]:
    """Return the commits that changed the store, or these paths of it, newest first."""
    return lineage(graph.place, graph.at().commit, paths, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Only:
    """Which part of history is asked for; what is empty asks for nothing.

    `source` is a file of raw/, `since` and `until` (exclusive) are seconds.
    """

    id: str = ""
    key: str = ""
    source: str = ""
    run: str = ""
    agent: str = ""
    op: str = ""
    since: int = 0
    until: int = 0

    def takes(self, commit: Commit) -> bool:
        """Whether a commit may be one of those."""
        named = {"run": commit.run, "agent": commit.agent, "op": commit.trailer("Op")}
        in_time = commit.at >= self.since and (not self.until or commit.at < self.until)
        return in_time and all(getattr(self, n) in ("", value) for n, value in named.items())

    def hits(self, event: Event) -> bool:
        """Whether something a commit did is meant."""
        rests = event.id == self.source or event.src.startswith(f"{self.source}#")
        return self.key in ("", event.k) and (not self.source or rests)

    @property
    def narrow(self) -> bool:
        """Whether what a commit did decides."""
        return bool(self.key or self.source)

    def all_of_them(self) -> bool:
        """Whether every commit of the entity, or of the store, is meant."""
        return self == Only(id=self.id)


def told(graph: Graph, only: Only, limit: int = 0) -> Iterator[tuple[Commit, list[Event]]]:
    """Yield the commits that are asked for with what they did, newest first.

    No more than `limit` are read where that is known to be enough.
    """
    paths: list[str] = []
    if only.id:
        called = Once(graph.place, graph.at().commit).called(only.id)
        paths = [path for id_ in called for path in layouts(entity_path(id_, ()))]
        paths += [path for *_, path in graph.index().edges_of(only.id)]
    for commit in commits(graph, paths, limit if only.all_of_them() else 0):
        if only.takes(commit):
            done = [event for event in events(graph, commit) if only.hits(event)]
            if done or not only.narrow:
                yield commit, done


def events(graph: Graph, commit: Commit) -> list[Event]:
    """Return what a commit did, facts first."""
    found = _told(graph, commit.files().values())
    if commit.trailer("Op") != "revert":
        return found
    return [replace(e, what="removed") if e.edge and e.what == "retracted" else e for e in found]


def between(graph: Graph, before: Snapshot, after: Snapshot) -> list[Event]:
    """Return what differs between two states of the store, in words of facts."""
    old, new = ({flat(path): id_ for path, id_ in at.files()} for at in (before, after))
    moved = (
        Moved(path=path, olds=(old.get(path, ""),), new=new.get(path, ""))
        for path in sorted({*old, *new})
    )
    return _told(graph, moved)


def _told(graph: Graph, moved: Iterable[Moved]) -> list[Event]:
    found = [event for one in moved if one.old != one.new for event in _events(graph, one)]
    order = {"captured": 2, "changed": 1, "met": -1}
    return sorted(found, key=lambda e: order.get(e.what, 0))


def _events(graph: Graph, change: Moved) -> list[Event]:
    kind = change.path.partition("/")[0]
    try:
        old = graph.repository.blob(change.old) if change.old else None
        new = graph.repository.blob(change.new) if change.new else None
        if kind == ENTITIES:
            return entity_events(
                parse_entity(old, change.path) if old is not None else None,
                parse_entity(new, change.path) if new is not None else None,
            )
        if kind == EDGES:
            return edge_events(
                parse_edge(old, change.path) if old is not None else None,
                parse_edge(new, change.path) if new is not None else None,
            )
        if kind == TRIED and new is not None:
            trace = parse_trace(new, change.path)
            return [
                Event(what="tried", id=change.path, k=trace.tried, v=trace.outcome, src=trace.src)
            ]
    except (FormatError, NotFoundError, StoreError):
        return [Event(what="unreadable", id=change.path)]
    return [Event(what="captured" if kind == RAW and change.new else "changed", id=change.path)]


def entity_events(old: Entity | None, new: Entity | None) -> list[Event]:
    """Return what a change did to an entity."""
    if new is None:
        return [Event(what="removed", id=old.id)] if old is not None else []
    found = [Event(what="met", id=new.id, v=new.name)] if old is None else []
    if old is not None and old.name != new.name:
        found.append(Event(what="renamed", id=new.id, k="name", v=new.name))
    before = {f.identity: f for f in old.facts} if old else {}
    after = {f.identity for f in new.facts}
    gone = {r.what.identity: r for r in new.retracted}
    found += [_said("new", new.id, f) for f in new.facts if f.identity not in before]
    for identity, fact in before.items():
        if identity not in after:
            src = gone[identity].because if identity in gone else fact.src
            what = "retracted" if identity in gone else "removed"
            found.append(Event(what=what, id=new.id, k=fact.k, v=fact.v, src=src))
    seen = set(old.seen_again) if old else set()
    found += [
        Event(what="seen again", id=new.id, k=s.k, v=s.v, src=s.src)
        for s in new.seen_again
        if s not in seen and s.identity in before
    ]
    return found


def _said(what: str, id_: str, fact: Fact) -> Event:
    return Event(what=what, id=id_, k=fact.k, v=fact.v, src=fact.src)


def edge_events(old: Edge | None, new: Edge | None) -> list[Event]:
    """Return what a change did to an edge."""
    if new is None:
        return [_on("retracted", old, old.claims[0].src if old.claims else "")] if old else []
    before = {c.since for c in old.claims} if old else set()
    found = [_on("new", new, c.src) for c in new.claims if c.since not in before]
    known = set(old.seen_again) if old else set()
    found += [_on("seen again", new, s.src) for s in new.seen_again if s not in known]
    judged = set(old.judgements) if old else set()
    found += [_on(f"judged {j.verdict}", new, j.src) for j in new.judgements if j not in judged]
    return found


def _on(what: str, edge: Edge, src: str) -> Event:
    return Event(what=what, id=edge.subject, k=edge.predicate, v=edge.object, src=src, edge=True)
