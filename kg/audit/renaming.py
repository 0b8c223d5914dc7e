"""A value with other ids in it: what retyping changes, and how history before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kg.model import JUDGING, Edge, EdgeClaim, Entity, Fact, Retraction, Trace, Value


def renamed(entity: Entity, ids: Mapping[str, str]) -> Entity:
    """Return an entity with the ids in it replaced: its own, and those that its facts name."""
    if not ids:
        return entity
    return replace(
        entity,
        id=ids.get(entity.id, entity.id),
        facts=tuple(replace(f, v=_value(f.v, ids)) for f in entity.facts),
        seen_again=tuple(replace(s, v=_value(s.v, ids)) for s in entity.seen_again),
        retracted=tuple(_retraction(r, ids) for r in entity.retracted),
    )


def renamed_edge(edge: Edge, ids: Mapping[str, str]) -> Edge:
    """Return an edge between the ids that its ends have now."""
    ends = (ids.get(edge.subject, edge.subject), ids.get(edge.object, edge.object))
    one, other = sorted(ends) if edge.predicate in JUDGING else ends
    return replace(edge, subject=one, object=other)


def renamed_trace(trace: Trace, ids: Mapping[str, str]) -> Trace:
    """Return a trace about the ids that things have now."""
    return replace(trace, about=tuple(ids.get(id_, id_) for id_ in trace.about))


def _retraction(gone: Retraction, ids: Mapping[str, str]) -> Retraction:
    what = gone.what
    if isinstance(what, Fact):
        return replace(gone, what=replace(what, v=_value(what.v, ids)))
    if isinstance(what, EdgeClaim):
        return replace(gone, what=replace(what, object=ids.get(what.object, what.object)))
    return gone


def _value(v: Value, ids: Mapping[str, str]) -> Value:
    return ids.get(v, v) if isinstance(v, str) else v
