"""Forgetting: what is held of a thing leaves the store, in one commit that can be reverted.

Unlike a retraction it leaves nothing on record at HEAD. History still holds it: `kg purge` is for
what must not be there either. A text of raw/ goes when nothing left rests on a line of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kg.audit.lineage import flat
from kg.audit.resting import holding
from kg.audit.rules import Valued, ids_of, sources_of, value_of
from kg.errors import FormatError, NotFoundError
from kg.format import EDGES, ENTITIES, RAW, TRIED, dump_trace, edge_path, entity_path, trace_path
from kg.format.order import PATH as ORDER
from kg.format.resolver import LABELS
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import Edge, EdgeClaim, Entity, Fact, Retraction, Trace, parse_source, value_text
from kg.text import fold

EVERYTHING = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be forgotten: entities, or of one the facts and edges under a key."""

    ids: tuple[str, ...]
    key: str = ""
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What leaves the store, in words, and the texts of raw/ that go with it."""

    words: tuple[str, ...]
    texts: tuple[str, ...]
    commit: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {"commit": self.commit, "forgotten": list(self.words), "texts": list(self.texts)}


def forget(
    graph: Graph, wanted: Wanted, *, run: str = "", agent: str = "", dry: bool = False
) -> Forgotten:
    """Forget entities with their edges, or some of their facts; commit it unless `dry`.

    Raises:
        NotFoundError: there is nothing of that kind.
    """
    told = Forgotten((), ())

    def edit(draft: Draft) -> str:
        nonlocal told
        work = _Forgetting(graph, draft)
        told = work.of(wanted)
        what = wanted.ids[0] + (f" {wanted.key}" if wanted.key else "")
        more = f" and {len(wanted.ids) - 1} more" if len(wanted.ids) > 1 else ""
        return f"Forget {what}{more}"

    if dry:
        edit(graph.draft(graph.at()))
        return told
    commit = graph.change(edit, op="forget", run=run, agent=agent)
    return replace(told, commit=commit)


def forget_everything(
    graph: Graph, *, run: str = "", agent: str = "", dry: bool = False
) -> Forgotten:
    """Forget all that was ever said: the settings and the cutoffs stay."""
    told = Forgotten((), ())

    def edit(draft: Draft) -> str:
        nonlocal told
        counts: dict[str, int] = {}
        for path, _ in list(draft.head.files()):
            folder = path.partition("/")[0]
            if folder in (ENTITIES, EDGES, RAW, TRIED, LABELS) or path == ORDER:
                draft.put_file(path, None)
                counts[folder] = counts.get(folder, 0) + 1
        told = Forgotten(tuple(f"{folder}: {n} files" for folder, n in counts.items()), ())
        return "Forget everything"

    if dry:
        edit(graph.draft(graph.at()))
        return told
    commit = graph.change(edit, op="forget", run=run, agent=agent)
    return replace(told, commit=commit)


class _Forgetting:
    """What is to go, worked out on a draft."""

    def __init__(self, graph: Graph, draft: Draft) -> None:
        self._graph, self._draft = graph, draft
        self._words: list[str] = []
        self._gone: list[Valued] = []  # what went, whose texts may go as well
        self._left: list[Trace] = []  # what speaks of others too
        self._changed: set[str] = set()  # flat paths

    def of(self, wanted: Wanted) -> Forgotten:
        if wanted.key:
            self._statements(wanted.ids[0], wanted.key, wanted.value)
        else:
            self._entities(set(wanted.ids))
        texts = tuple(sorted(self._texts()))
        for path in texts:
            self._draft.put_file(path, None)
        return Forgotten(tuple(self._words), texts)

    def _entities(self, ids: set[str]) -> None:
        index = self._graph.index()
        for id_ in sorted(ids):
            entity = self._draft.existing(id_, self._graph.near)
            self._take(entity, f"{id_}: {len(entity.facts)} facts")
            self._draft.remove(id_)
            for key in index.edge_keys(id_):
                edge = self._draft.edge(key)
                if edge is not None:
                    self._take(edge, " ".join(key))
                    self._draft.remove_edge(key)
        for path in holding(self._graph.place, self._draft.head.commit, [f'"{i}"' for i in ids]):
            value = self._value(path)
            if isinstance(value, Entity) and value.id not in ids:
                self._leave(value, ids)
            elif isinstance(value, Trace):
                self._trace(path, value, ids)

    def _leave(self, entity: Entity, ids: set[str]) -> None:
        """Take out of another entity what it says of those that go."""
        facts = [f for f in entity.facts if ids.intersection(self._ids_in(entity, f))]
        lines = {r for r in entity.retracted if _of(r) in ids}
        for fact in facts:
            self._words.append(f"{entity.id} {fact.k} = {value_text(fact.v)}")
        kept = _without(entity, facts, lines)
        if kept != entity:
            self._gone.append(entity)
            self._changed.add(entity_path(entity.id, ()))
            self._draft.put(kept)

    def _trace(self, path: str, trace: Trace, ids: set[str]) -> None:
        left = tuple(id_ for id_ in trace.about if id_ not in ids)
        if left == trace.about:
            return
        self._take(trace, f"{path}: {trace.tried}" if not left else "")
        self._changed.add(path)
        self._draft.put_file(path, None)
        if left:
            kept = replace(trace, about=left)
            self._left.append(kept)
            slug = path.removeprefix(f"{TRIED}/").removesuffix(".md").rpartition("-")[0]
            self._draft.put_file(trace_path(kept, slug), dump_trace(kept))

    def _statements(self, id_: str, key: str, value: str | None) -> None:
        entity = self._draft.existing(id_, self._graph.near)
        facts = [f for f in entity.facts if f.k == key and _is(f.v, value)]
        edges = [
            e for e in self._draft.edges_of(id_) if e.predicate == key and _is(e.object, value)
        ]
        lines = {r for r in entity.retracted if _key(r) == key and _is(_value(r), value)}
        if not (facts or edges or lines):
            raise NotFoundError(f"{id_} holds nothing such under {key!a}: see kg show {id_}")
        self._words += [f"{id_} {f.k} = {value_text(f.v)}" for f in facts]
        self._words += [f"{id_} {key} = {_value(r)} (retracted)" for r in lines]
        self._gone.append(entity)
        self._changed.add(entity_path(id_, ()))
        self._draft.put(_without(entity, facts, lines))
        for edge in edges:
            self._take(edge, " ".join(edge.key))
            self._draft.remove_edge(edge.key)

    def _take(self, value: Valued, words: str) -> None:
        self._gone.append(value)
        if isinstance(value, Entity):
            self._changed.add(entity_path(value.id, ()))
        elif isinstance(value, Edge):
            self._changed.add(edge_path(*value.key, ()))
        if words:
            self._words.append(words)

    def _texts(self) -> Iterator[str]:
        """Yield the texts that what went rested on, and nothing else does."""
        paths = {parse_source(src).path for value in self._gone for src in sources_of(value)}
        left = {parse_source(src).path for value in self._kept() for src in sources_of(value)}
        commit = self._draft.head.commit
        for path in holding(self._graph.place, commit, [f"{path}#L" for path in paths - left]):
            value = None if flat(path) in self._changed else self._value(path)
            if value is not None:
                left |= {parse_source(src).path for src in sources_of(value)}
        yield from paths - left

    def _kept(self) -> Iterator[Valued]:
        """Yield what is left of the entities and traces that were changed."""
        yield from self._left
        for value in self._gone:
            entity = self._draft.entity(value.id) if isinstance(value, Entity) else None
            if entity is not None:
                yield entity

    def _ids_in(self, entity: Entity, fact: Fact) -> list[str]:
        return ids_of(replace(entity, facts=(fact,), seen_again=()), self._draft.ontology)

    def _value(self, path: str) -> Valued | None:
        data = self._draft.head.read(path)
        try:
            return value_of(path, data) if data is not None else None
        except FormatError:
            return None  # fsck names it


def _without(entity: Entity, facts: Iterable[Fact], lines: set[Retraction]) -> Entity:
    gone = {fact.identity for fact in facts}
    return replace(
        entity,
        facts=tuple(f for f in entity.facts if f.identity not in gone),
        seen_again=tuple(s for s in entity.seen_again if s.identity not in gone),
        retracted=tuple(r for r in entity.retracted if r not in lines),
    )


def _of(gone: Retraction) -> str:
    """Return the entity that a retracted edge went to, "" for a fact."""
    return gone.what.object if isinstance(gone.what, EdgeClaim) else ""


def _key(gone: Retraction) -> str:
    return gone.what.predicate if isinstance(gone.what, EdgeClaim) else gone.what.k


def _value(gone: Retraction) -> str:
    return gone.what.object if isinstance(gone.what, EdgeClaim) else value_text(gone.what.v)


def _is(held: Any, value: str | None) -> bool:  # noqa: ANN401
    return value is None or fold(value_text(held)) == fold(value)
