"""History in words of facts: what each commit added, saw again, retracted, captured.

Sets of facts are compared, not lines: that is exact in any layout, follows a file that the
fan-out moved, and is faster than line blame (GIT.md, 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

from kg.errors import FormatError, NotFoundError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
    edge_path,
    entity_path,
    fanned,
    parse_edge,
    parse_entity,
    parse_trace,
)
from kg.gitprogram import git
from kg.graph import Graph
from kg.model import Claim, Edge, Entity, Fact, Value
from kg.store import Snapshot

_NONE = "0" * 40


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One path that a commit changed, with its blob ids; "" for absent."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One commit of the store: its trailers, and what it changed."""

    commit: str
    author: str
    at: int
    message: str
    changes: tuple[Change, ...]

    @property
    def subject(self) -> str:
        """The message's first line."""
        return self.message.partition("\n")[0]

    def trailer(self, name: str) -> str:
        """Return a trailer's value, "" where there is none."""
        lines = self.message.rstrip("\n").split("\n")
        found = [line.partition(": ")[2] for line in lines if line.startswith(f"{name}: ")]
        return found[-1] if found else ""


def entries(graph: Graph, paths: Sequence[str] = (), limit: int = 0) -> Iterator[Entry]:
    """Yield the commits that changed the store, or these paths of it, newest first."""
    if not graph.at().commit:
        return
    place = graph.place
    prefix = f"{place.prefix}/" if place.prefix else ""
    wanted = [prefix + path for path in paths] or ([place.prefix] if prefix else [])
    mark = token_hex(16)  # no message can hold what is drawn after it was written
    args = ["log", "-z", "--raw", "--no-renames", "--no-abbrev"]
    args += [f"--format={mark}%H%x00%an%x00%at%x00%B%x00", *([f"-n{limit}"] if limit else [])]
    data = git(place.gitdir, [*args, "HEAD", "--", *wanted]).decode("utf-8", "replace")
    for block in data.split(mark)[1:]:
        yield _entry(block, prefix)


def events(graph: Graph, entry: Entry) -> list[Event]:
    """Return what a commit did, facts first."""
    found = _told(graph, entry.changes)
    if entry.trailer("Op") != "revert":
        return found
    return [replace(e, what="removed") if e.edge and e.what == "retracted" else e for e in found]


def _told(graph: Graph, changes: Sequence[Change]) -> list[Event]:
    found: list[Event] = []
    gone = {c.path: c.old for c in changes if not c.new}
    come = {c.path for c in changes if c.new and not c.old}
    for change in changes:
        flat, deep = _flat(change.path), _deep(change.path)
        if not change.new and deep in come:
            continue  # the fan-out moved it: told with its new path
        old = change.old or (gone.get(flat, "") if flat != change.path else "")
        found += _events(graph, Change(path=change.path, old=old, new=change.new))
    order = {"captured": 2, "changed": 1, "met": -1}
    return sorted(found, key=lambda e: order.get(e.what, 0))


def between(graph: Graph, before: Snapshot, after: Snapshot) -> list[Event]:
    """Return what differs between two states of the store, in words of facts."""
    old, new = dict(before.files()), dict(after.files())
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    changes = tuple(
        Change(path=path, old=old.get(path, ""), new=new.get(path, "")) for path in sorted(paths)
    )
    return _told(graph, changes)


def origin(graph: Graph, history: Sequence[Entry], fact: Fact) -> Entry | None:
    """Return the commit that brought a fact's own line; `history` is its entity's."""
    return _brought(graph, history, lambda data, path: fact in parse_entity(data, path).facts)


def edge_origin(graph: Graph, edge: Edge, claim: Claim) -> Entry | None:
    """Return the commit that brought an edge's claim."""
    plain = edge_path(*edge.key, ())
    history = list(entries(graph, [plain, _deep(plain)]))
    return _brought(graph, history, lambda data, path: claim in parse_edge(data, path).claims)


def entity_paths(id_: str) -> list[str]:
    """Return the paths an entity's file may have had: flat, and fanned out."""
    plain = entity_path(id_, ())
    return [plain, _deep(plain)]


def _deep(path: str) -> str:
    """Return the fanned-out path of a file that lies flat; another path as it is."""
    parts = path.split("/")
    return fanned("/".join(parts[:2]), parts[2]) if len(parts) == 3 else path


def _flat(path: str) -> str:
    """Return the flat path of a file that lies fanned out; another path as it is."""
    parts = path.split("/")
    return "/".join([*parts[:2], parts[3]]) if len(parts) == 4 else path


def _brought(
    graph: Graph, history: Sequence[Entry], holds: Callable[[bytes, str], bool]
) -> Entry | None:
    """Return the oldest of the latest unbroken row of commits after which the files hold it."""
    found = None
    for entry in history:
        news = [c for c in entry.changes if c.new]
        if not entry.changes:
            continue  # a merge, whose changes are told on its branches
        if not any(_holds(graph, c, holds) for c in news):
            break
        found = entry
    return found


def _holds(graph: Graph, change: Change, holds: Callable[[bytes, str], bool]) -> bool:
    try:
        return bool(holds(graph.repository.blob(change.new), change.path))
    except FormatError:
        return False


def _entry(block: str, prefix: str) -> Entry:
    commit, author, at, message, *rest = block.split("\x00")
    changes, meta = [], ""
    for field in (part.lstrip("\n") for part in rest):
        if field.startswith(":"):
            meta = field
        elif meta and field.startswith(prefix):
            _, _, old, new, _ = meta.split(" ")
            changes.append(
                Change(
                    path=field.removeprefix(prefix),
                    old="" if old == _NONE else old,
                    new="" if new == _NONE else new,
                )
            )
            meta = ""
    return Entry(commit=commit, author=author, at=int(at), message=message, changes=tuple(changes))


def _events(graph: Graph, change: Change) -> list[Event]:
    kind = change.path.partition("/")[0]
    old = graph.repository.blob(change.old) if change.old else None
    new = graph.repository.blob(change.new) if change.new else None
    try:
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
    except (FormatError, NotFoundError):
        return [Event(what="unreadable", id=change.path)]
    return [
        Event(what="captured" if kind == RAW and new is not None else "changed", id=change.path)
    ]


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
