"""Both sides of a question: what is known of each, what they share, and what else is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kg.graph import Graph
from kg.graph.comparing import Asked, compare_in
from kg.graph.linking import Linker
from kg.model import Entity, value_text
from kg.resolve.comparison import Comparison
from kg.review.queue import Question

_NEAR = 5  # other candidate pairs that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One entity: its names, its facts as (key, value, src), and its edges as (text, src)."""

    id: str
    type: str
    names: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    edges: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {
            "id": self.id, "type": self.type, "names": list(self.names),
            "facts": [{"k": k, "v": v, "src": src} for k, v, src in self.facts],
            "edges": [{"edge": text, "src": src} for text, src in self.edges],
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A question with all that bears on it; `shared` are neighbours of both, `near` other pairs."""

    question: Question
    one: Side
    other: Side
    comparison: Comparison
    shared: tuple[str, ...]
    near: tuple[str, ...]
    settled: bool  # by what was judged meanwhile: a candidate pair that is one thing now

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {
            **self.question.to_json(), "sides": [self.one.to_json(), self.other.to_json()],
            "compare": self.comparison.to_json(), "shared": list(self.shared),
            "near": list(self.near),
        }  # fmt: skip


def sides(graph: Graph, linker: Linker, question: Question) -> Sides:
    """Return both sides of a question.

    Raises:
        NotFoundError: one of the two is there no more.
    """
    ids = (question.one, question.other)
    one, other = (linker.draft.existing(id_, graph.near) for id_ in ids)
    neighbours = [_neighbours(graph, id_) for id_ in ids]
    pairs = [pair for id_ in ids for pair in graph.blocks(linker.draft).pairs_of(id_)]
    cluster, _ = linker.cluster(one.id)
    linked = other.id in cluster.members and not cluster.disputed
    near = {id_ for pair in pairs for id_ in (pair.later, pair.earlier)}.difference(ids)
    return Sides(
        question=question,
        one=_side(linker, one),
        other=_side(linker, other),
        comparison=compare_in(linker, Asked(*ids)),
        shared=tuple(sorted(neighbours[0] & neighbours[1])),
        near=tuple(sorted(near)[:_NEAR]),
        settled=linked and question.kind in ("suggested", "alike", "marked", "types", "misspelt"),
    )


def _side(linker: Linker, entity: Entity) -> Side:
    facts = tuple((f.k, value_text(f.v), f.src) for f in entity.facts)
    edges = [e for e in linker.draft.edges_of(entity.id) if e.claims]
    said = tuple((f"{e.predicate} -> {e.object}", e.claims[0].src) for e in edges)
    names = (entity.name, *entity.aliases)
    return Side(id=entity.id, type=entity.type, names=names, facts=facts, edges=said)


def _neighbours(graph: Graph, id_: str) -> set[str]:
    edges = graph.index().edges_of(id_)
    return {end for s, _, o, _ in edges for end in (s, o)} - {id_}
