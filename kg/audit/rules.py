"""What a value must keep beyond itself: its keys are known, and it points to what is there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kg.errors import KgError
from kg.format import EDGES, ENTITIES, TRIED, parse_edge, parse_entity, parse_trace
from kg.model import Edge, Entity, Trace
from kg.ontology import Ontology

Valued = Entity | Edge | Trace


def value_of(path: str, data: bytes) -> Valued | None:
    """Return what a file says of the graph; None for one that holds no value of it.

    Raises:
        FormatError: it breaks the format.
    """
    folder = path.partition("/")[0]
    if folder == ENTITIES:
        return parse_entity(data, path)
    if folder == EDGES:
        return parse_edge(data, path)
    return parse_trace(data, path) if folder == TRIED else None


def sources_of(value: Valued) -> list[str]:
    """Return every line of raw/ that a value rests on, each once."""
    if isinstance(value, Entity):
        found = [f.src for f in value.facts] + [s.src for s in value.seen_again]
        found += [src for r in value.retracted for src in (r.what.src, r.because)]
    elif isinstance(value, Edge):
        found = [c.src for c in value.claims] + [s.src for s in value.seen_again]
        found += [j.src for j in value.judgements]
    else:
        found = [value.src]
    return list(dict.fromkeys(found))


def ids_of(value: Valued, ontology: Ontology) -> list[str]:
    """Return every entity that a value points to."""
    if isinstance(value, Edge):
        return [value.subject, value.object]
    if isinstance(value, Trace):
        return list(value.about)
    keys = ontology.keys
    return [str(f.v) for f in value.facts if f.k in keys and ontology.takes_entity(keys[f.k])]


def broken(value: Valued, ontology: Ontology) -> list[tuple[str, str]]:
    """Return what a value breaks of the ontology: (problem, how to mend it)."""
    found = []
    if isinstance(value, Edge):
        remedy = f"kg retract {value.subject} {value.predicate} {value.object} --because WHY"
        found += _tried(partial(ontology.check_edge, *value.key), remedy)
    if isinstance(value, Entity):
        for fact in value.facts:
            remedy = f"kg retract {value.id} {fact.k} --because WHY"
            found += _tried(partial(ontology.check_fact, value.id, fact.k, fact.v), remedy)
        found += _tried(partial(ontology.type_of, value.id), "declare it: kg ontology add-type")
        if not found and ontology.type_of(value.id).name != value.type:
            found.append((f"its type {value.type!a} is not that of its id", "correct it by hand"))
    return found


def _tried(check: Callable[[], object], remedy: str) -> list[tuple[str, str]]:
    try:
        check()
    except KgError as error:
        return [(str(error), remedy)]
    return []
