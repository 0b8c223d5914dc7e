"""From a fact to the sentence some run saw, and to the commit that brought it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from kg.audit.blame import Traced, origins
from kg.audit.conflicts import conflicts
from kg.audit.lineage import Commit
from kg.confidence import Confidence, confidence
from kg.errors import NotFoundError, StoreError
from kg.format import edge_path, entity_path
from kg.format.canonical import line_of
from kg.graph import Graph
from kg.model import (
    Claim,
    Edge,
    Entity,
    Fact,
    Retraction,
    Sighting,
    parse_raw_name,
    parse_source,
    value_text,
)
from kg.text import fold

CONTEXT = 1  # lines shown before and after the source line


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of raw/ by its number; `cited` where the source names it, else context."""

    number: int
    text: str
    cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What stands behind one fact or edge; `asked` is the member of its cluster one asked for."""

    id: str
    k: str
    v: str
    edge: bool
    claim: Claim
    agent: str
    lines: tuple[Line, ...]
    commit: Commit | None
    asked: str = ""
    again: tuple[Sighting, ...] = ()
    retraction: Retraction | None = None
    trust: Confidence | None = None

    @property
    def filed_under(self) -> str:
        """Where it is filed, "" if that is the entity one asked for."""
        return self.id if self.asked and self.id != self.asked else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {
            "id": self.id, "k": self.k, "v": self.v, "src": self.claim.src,
            "seen_run": self.claim.seen_run, "basis": self.claim.basis, "agent": self.agent,
            "lines": [{"n": x.number, "text": x.text, "cited": x.cited} for x in self.lines],
            "seen_again": [{"by": s.by, "run": s.run, "src": s.src} for s in self.again],
        }  # fmt: skip
        if self.filed_under:
            found["filed_under"] = self.filed_under
        if self.commit is not None:
            found["commit"] = {
                "id": self.commit.id, "at": self.commit.at, "subject": self.commit.subject,
            }  # fmt: skip
        if self.trust is not None:
            found["confidence"] = self.trust.to_json()
        if self.retraction is not None:
            found["retracted"] = {
                "because": self.retraction.because,
                "run": self.retraction.retracted_run,
            }
        return found


def why(graph: Graph, id_: str, key: str = "") -> list[Evidence]:
    """Return the evidence for an entity's facts and edges, or for those of one key or predicate.

    Of a cluster for those of all its members, first of the one that was asked for. Retracted ones
    are included where a key is named.

    Raises:
        NotFoundError: no such entity, or nothing under that key; names the nearest.
    """
    draft = graph.draft(graph.at())
    asked = draft.existing(id_, graph.near)
    kin = (draft.entity(other) for other in graph.index().kin_of(id_) if other != id_)
    whole = [asked, *(entity for entity in kin if entity is not None)]
    edges = {e.id: [edge for edge in draft.edges_of(e.id) if edge.claims] for e in whole}
    found = [one for entity in whole for one in _of(graph, entity, edges[entity.id], key)]
    found = _with_commits(graph, _with_trust(graph, found, id_))
    if key and not found:
        known = {f.k for entity in whole for f in entity.facts}
        known |= {e.predicate for some in edges.values() for e in some}
        raise NotFoundError(_nothing(id_, key, known))
    return [replace(one, asked=id_) for one in found]


def _of(graph: Graph, entity: Entity, edges: list[Edge], key: str) -> list[Evidence]:
    """Return the evidence for what is filed under one entity."""
    facts = [f for f in entity.facts if key in ("", f.k)]
    found = [_fact(graph, entity, f) for f in facts]
    found += [
        _edge(graph, e, claim) for e in edges if key in ("", e.predicate) for claim in e.claims
    ]
    gone = entity.retracted if key else ()
    return found + [_retracted(graph, entity.id, r) for r in gone if _key_of(r) == key]


def source_lines(graph: Graph, src: str, context: int = CONTEXT) -> tuple[Line, ...]:
    """Return the lines a src names, with lines of context; empty where the file is missing."""
    source = parse_source(src)
    data = graph.at().read(source.path)
    if data is None:
        return ()
    rows = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    first, last = max(1, source.first - context), min(len(rows), source.last + context)
    return tuple(
        Line(number=n, text=rows[n - 1], cited=source.first <= n <= source.last)
        for n in range(first, last + 1)
    )


def _fact(graph: Graph, entity: Entity, fact: Fact) -> Evidence:
    return Evidence(
        id=entity.id,
        k=fact.k,
        v=value_text(fact.v),
        edge=False,
        claim=fact,
        agent=_agent(fact.src),
        lines=source_lines(graph, fact.src),
        commit=None,
        again=tuple(s for s in entity.seen_again if s.identity == fact.identity),
    )


def _edge(graph: Graph, edge: Edge, claim: Claim) -> Evidence:
    return Evidence(
        id=edge.subject,
        k=edge.predicate,
        v=edge.object,
        edge=True,
        claim=claim,
        agent=_agent(claim.src),
        lines=source_lines(graph, claim.src),
        commit=None,
        again=tuple(s for s in edge.seen_again if s.since == claim.since),
    )


def _retracted(graph: Graph, id_: str, gone: Retraction) -> Evidence:
    what = gone.what
    v = value_text(getattr(what, "v", "")) or getattr(what, "object", "")
    return Evidence(
        id=id_,
        k=_key_of(gone),
        v=v,
        edge=hasattr(what, "object"),
        claim=what,
        agent=_agent(what.src),
        lines=(*source_lines(graph, what.src), *source_lines(graph, gone.because, 0)),
        commit=None,
        retraction=gone,
    )


def _key_of(gone: Retraction) -> str:
    return str(getattr(gone.what, "k", "") or getattr(gone.what, "predicate", ""))


def _agent(src: str) -> str:
    name = parse_raw_name(parse_source(src).path)
    return name.agent if name else ""


def _with_trust(graph: Graph, found: list[Evidence], id_: str) -> list[Evidence]:
    """Add how far each can be trusted now."""
    settings, now = graph.settings(), time.time()
    ontology, policy = settings.ontology, settings.policies.get("confidence", {})
    sides = {
        (side.id, side.k, fold(value_text(side.v)))
        for conflict in conflicts(graph, id_)
        for side in conflict.sides
    }
    rated = []
    for one in found:
        term = ontology.keys.get(one.k) or ontology.predicates.get(one.k)
        kind = one.claim.kind or (term.kind if term else None) or "fact"
        if one.retraction is None:
            contradicted = (one.id, one.k, fold(one.v)) in sides
            trust = confidence(
                one.claim, one.again, kind, contradicted=contradicted, now=now, policy=policy
            )
            rated.append(replace(one, trust=trust))
        else:
            rated.append(one)
    return rated


def _with_commits(graph: Graph, found: list[Evidence]) -> list[Evidence]:
    """Add the commits; where git cannot say, the sentence is still the answer."""
    wanted: dict[str, list[Traced]] = {}
    for one in found:
        if one.retraction is None:
            wanted.setdefault(_path(one), []).append(one.claim)
    try:
        known = origins(graph, wanted)
    except StoreError:
        return found
    return [replace(one, commit=known.get((_path(one), line_of(one.claim)))) for one in found]


def _path(one: Evidence) -> str:
    return edge_path(one.id, one.k, one.v, ()) if one.edge else entity_path(one.id, ())


def _nothing(id_: str, key: str, known: set[str]) -> str:
    near = get_close_matches(key, known, n=2, cutoff=0.4)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"it has {', '.join(sorted(known)) or 'none'}"
    )
    return f"{id_} has nothing under {key!a}: {hint}"
