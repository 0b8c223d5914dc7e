"""What taking commits back does to a store: which values change, and what must stay for others.

History is told twice, as it counts now and without what is taken back (`kg.audit.replay`); what
differs is done to the store (`kg.audit.turning`), with the rule of `kg.audit.resting` for what
others rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from kg.audit.history import Event, edge_events, entity_events
from kg.audit.lineage import Commit, lineage, taken_back
from kg.audit.replay import History, Told
from kg.audit.resting import Resting
from kg.audit.rules import Valued, ids_of, sources_of
from kg.audit.turning import turned, turned_edge
from kg.format import EDGES, ENTITIES, RAW, TRIED, entity_path
from kg.format.paths import key_of_edge_path
from kg.graph import Graph
from kg.graph.draft import Draft, Key
from kg.model import Edge, Entity, parse_source

GRAPH = (ENTITIES, EDGES, RAW, TRIED)
Held = Entity | Edge | bytes | None
T = TypeVar("T")
_WORDS = {"new": "restored", "met": "restored", "retracted": "removed"}  # nobody says it anew


class Undoing:
    """What becomes of a store at one head when some commits are taken back."""

    def __init__(
        self, graph: Graph, draft: Draft, choose: Callable[[Graph, Sequence[Commit]], list[Commit]]
    ) -> None:
        """Find what changes; `choose` picks the commits from the history up to the draft's head."""
        self.head = draft.head.commit
        self._graph, self._draft = graph, draft
        history = lineage(graph.place, self.head)
        gone = taken_back(history)
        self.commits = [c for c in choose(graph, history) if c.id not in gone]
        out = taken_back(history, {c.id for c in self.commits})
        self._history = History(history, graph.repository.blob)
        turns = {c.id for c in history if (c.id in gone) != (c.id in out) and not c.reverts}
        paths = self._history.paths(turns)
        self.left = sorted(p for p in paths if p.partition("/")[0] not in GRAPH)
        self._before, self._after = self._tell(paths.difference(self.left), gone, out)
        self.changes = self._changes()

    def put(self, draft: Draft) -> None:
        """Put what changes on a draft of the same head."""
        for item, (_, made) in self.changes.items():
            if isinstance(made, Entity):
                draft.put(made)
            elif isinstance(made, Edge):
                draft.put_edge(made)
            elif isinstance(made, bytes):
                draft.put_file(str(item), made)
            elif isinstance(item, tuple):
                draft.remove_edge(item)
            elif item.partition("/")[0] in (RAW, TRIED):
                draft.put_file(item, None)
            else:
                draft.remove(item)

    def events(self) -> Iterator[Event]:
        """Yield what changes, in words of facts."""
        for item, (old, made) in self.changes.items():
            if isinstance(old, Edge) or isinstance(made, Edge):
                told = edge_events(_if(old, Edge), _if(made, Edge))
            elif isinstance(old, Entity) or isinstance(made, Entity):
                told = entity_events(_if(old, Entity), _if(made, Entity))
            else:
                told = [Event(what="removed" if made is None else "new", id=str(item))]
            for event in told:
                yield replace(event, what=_WORDS.get(event.what, event.what))

    def stays(self) -> Iterator[Event]:
        """Yield what others saw too, with the line that is its origin now."""
        for id_, after in self._after.entities.items():
            before = self._before.entities.get(id_)
            for fact in after.facts:
                old = before.fact(fact.identity) if before else None
                if old is not None and old.src != fact.src:
                    yield Event(what="stays", id=id_, k=fact.k, v=fact.v, src=fact.src)
        for key, edge in self._after.edges.items():
            was = self._before.edges.get(key)
            srcs = {c.since: c.src for c in was.claims} if was else {}
            for claim in edge.claims:
                if srcs.get(claim.since, claim.src) != claim.src:
                    id_, k, v = key
                    yield Event(what="stays", id=id_, k=k, v=v, src=claim.src, edge=True)

    def _tell(self, paths: set[str], gone: set[str], out: set[str]) -> tuple[Told, Told]:
        paths = paths | {entity_path(end, ()) for end in _ends(paths)}
        before, after = self._history.tell(paths, gone, out)
        more = {entity_path(id_, ()) for id_ in self._spoken(before) ^ self._spoken(after)} - paths
        ids = {_id(path) for path in paths | more if path.startswith(f"{ENTITIES}/")}
        unsteady = {i for i in ids if i not in before.entities or i not in after.entities}
        if unsteady:  # what hangs on them is told as well
            paths |= more | self._history.edges_at(unsteady)
            before, after = self._history.tell(paths, gone, out)
        texts = {p for p in paths if p.startswith(f"{RAW}/")}
        texts = {p for p in texts if p not in before.files or p not in after.files}
        rest = Resting(self._draft, self._history, unsteady, texts)
        rest.look_outside(self._graph.place, paths)
        rest.settle(before)
        self.bare = rest.settle(after)
        return before, after

    def _spoken(self, told: Told) -> set[str]:
        """Return the entities that facts and traces of a telling name."""
        values: list[Valued] = [*told.entities.values(), *self._history.traces(told)]
        return {id_ for value in values for id_ in ids_of(value, self._draft.ontology)}

    def _changes(self) -> dict[str | Key, tuple[Held, Held]]:
        """Return {id, edge's key or path: (as it is, as it will be)} of what changes."""
        before, after, draft = self._before, self._after, self._draft
        found: dict[str | Key, tuple[Held, Held]] = {}
        for id_ in sorted({*before.entities, *after.entities}):
            held = draft.entity(id_)
            made = turned(before.entities.get(id_), after.entities.get(id_), held)
            if made is not None:  # it may have been of another type then
                made = replace(made, type=draft.ontology.type_of(id_).name)
            found[id_] = held, made
        for key in sorted({*before.edges, *after.edges}):
            edge = draft.edge(key)
            found[key] = edge, turned_edge(before.edges.get(key), after.edges.get(key), edge)
        cited = {path for _, made in found.values() for path in _texts_of(made)}
        for path in sorted({*before.files, *after.files}):
            blob = after.files.get(path)
            # what the store holds beyond its history (a merge by hand) may rest on a text, too
            if before.files.get(path) != blob and (blob or path not in cited):
                data = self._graph.repository.blob(blob) if blob else None
                found[path] = draft.file(path), data
        return {item: (old, made) for item, (old, made) in found.items() if old != made}


def _ends(paths: set[str]) -> set[str]:
    """Return the ends of the edges among these paths."""
    keys = [key for path in paths if (key := key_of_edge_path(path))]
    return {end for subject, _, object_ in keys for end in (subject, object_)}


def _texts_of(value: Held) -> set[str]:
    """Return the texts that a value rests on."""
    srcs = sources_of(value) if isinstance(value, Entity | Edge) else []
    return {parse_source(src).path for src in srcs}


def _id(path: str) -> str:
    """Return the id that a flat path of entities/ stands for."""
    return path.removeprefix(f"{ENTITIES}/").removesuffix(".json")


def _if(value: object, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) else None
