"""Which pairs wait for a person, and in what order: derived, so nothing of it can be lost.

First what people have said against each other, then what agents suggest, then candidate pairs
by value: how much hangs on them (facts, recalls), how much of their words' weight they share,
and how close the score is to a cutoff.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from kg.clusters import (
    CONFLICT,
    RESOLVER,
    SAME,
    UNSURE,
    Line,
    Pair,
    Standing,
    pair_of,
    standing,
)
from kg.graph import Graph
from kg.graph.pairing import CandidatePair
from kg.recall.parse import judgements_of, run_key
from kg.recall.used import counts

MOST = 20_000  # candidate pairs that are looked at, those that weigh most
_NOTHING = standing(())
_JUDGED = "select s, o, judgements from edge where p in ('same-as', 'different-from')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A pair to judge: `one` came first. `kind` and `why` say how it came here.

    conflict and disputed are between people; suggested by an agent; alike, marked (an identifying
    fact in common), types (one name, two types) and misspelt are candidate pairs; audit is a link
    that the resolver made. `value` orders questions of one rank.
    """

    one: str
    other: str
    kind: str
    why: str
    value: float = 0.0
    score: str = ""
    lines: tuple[Line, ...] = ()

    @property
    def rank(self) -> int:
        """What is asked first: the less, the sooner."""
        return _RANKS.get(self.kind, len(_RANKS))

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        said = [{"by": by, "verdict": verdict, "run": run} for by, verdict, run in self.lines]
        score = {"score": self.score} if self.score else {}
        shown = {"one": self.one, "other": self.other, "kind": self.kind, "why": self.why}
        return {**shown, **score, "value": round(self.value, 3), "judgements": said}


_RANKS = {"conflict": 0, "disputed": 1, "suggested": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The questions, first to last; `unsure` more were looked at by a person who did not know."""

    questions: tuple[Question, ...]
    unsure: int


class _Judged:
    """What has been judged: the lines and the standing of each pair, and the clusters."""

    def __init__(self, graph: Graph) -> None:
        con = graph.index().connection
        self.lines: dict[Pair, list[Line]] = defaultdict(list)
        for s, o, column in con.execute(_JUDGED):
            readable = [line for line in judgements_of(column) if run_key(line[2])]
            self.lines[pair_of(s, o)] += readable
        self.standings = {pair: standing(lines) for pair, lines in self.lines.items()}
        rows = con.execute("select id, canonical, disputed from cluster").fetchall()
        self.canonical = {id_: canonical for id_, canonical, _ in rows}
        self.disputed = {id_ for id_, _, disputed in rows if disputed}
        self._con = con

    def of(self, pair: Pair) -> Standing:
        return self.standings.get(pair, _NOTHING)

    def known(self, pair: Pair) -> bool:
        """Whether both are there: a judgement outlives what it is on."""
        sql = "select 1 from ent where id = ?"
        return all(self._con.execute(sql, (id_,)).fetchone() for id_ in pair)

    def one_thing(self, pair: Pair) -> bool:
        """Whether the two are in one cluster that nobody disputes."""
        one = self.canonical.get(pair[0])
        return one is not None and one == self.canonical.get(pair[1])


def queue(graph: Graph, *, unsure: bool = False) -> Queue:
    """Return what waits for a person's judgement; with `unsure` also what one did not know."""
    judged = _Judged(graph)
    found = {(q.one, q.other): q for q in _between_people(judged)}
    for question in _suggested(judged):
        found.setdefault((question.one, question.other), question)
    blocks = graph.blocks()
    doubted = 0
    open_pairs = []
    for pair in blocks.pairs(MOST):
        key = pair_of(pair.later, pair.earlier)
        verdict = judged.of(key).verdict
        doubted += verdict == UNSURE
        if not judged.one_thing(key) and (not verdict or (verdict == UNSURE and unsure)):
            open_pairs.append(pair)
    recalls = counts(graph.place.state) if graph.place.state else {}
    for pair in open_pairs:
        key = pair_of(pair.later, pair.earlier)
        if key not in found:
            hanging = pair.facts + recalls.get(key[0], 0) + recalls.get(key[1], 0)
            found[key] = _question(pair, hanging, judged.lines.get(key, ()))
    ordered = sorted(found.values(), key=lambda q: (q.rank, -q.value, q.one, q.other))
    return Queue(questions=tuple(ordered), unsure=doubted)


def sample(graph: Graph, most: int) -> list[Question]:
    """Return links that the resolver made and nobody has judged, chosen evenly by hash.

    What a person finds among them is an estimate of the false-merge rate that is free of the
    queue's choice (its pairs are all from the middle band).
    """
    judged = _Judged(graph)
    links = [p for p, said in judged.standings.items() if said == Standing(SAME, (RESOLVER,))]
    chosen = sorted(links, key=lambda pair: sha256("\n".join(pair).encode()).digest())[:most]
    return [
        Question(one=a, other=b, kind="audit", why="linked by the resolver",
                 lines=tuple(judged.lines[a, b]))
        for a, b in chosen
    ]  # fmt: skip


def _between_people(judged: _Judged) -> Iterable[Question]:
    for pair, said in sorted(judged.standings.items()):
        if not judged.known(pair):
            continue
        lines = tuple(judged.lines[pair])
        if said.verdict == CONFLICT:
            why = f"{' and '.join(said.by)} judge them differently"
            yield Question(one=pair[0], other=pair[1], kind="conflict", why=why, lines=lines)
        elif said.separates and judged.disputed.issuperset(pair):
            why = "told apart, but linked by way of others"
            yield Question(one=pair[0], other=pair[1], kind="disputed", why=why, lines=lines)


def _suggested(judged: _Judged) -> Iterable[Question]:
    for pair, lines in sorted(judged.lines.items()):
        agents = [line for line in lines if line[0].startswith("agent:")]
        if agents and not judged.of(pair).verdict and judged.known(pair):
            why = ", ".join(f"{by} says {verdict}" for by, verdict, _ in sorted(agents))
            value = float(len(agents))
            yield Question(
                one=pair[0], other=pair[1], kind="suggested", why=why, value=value,
                lines=tuple(lines),
            )  # fmt: skip


def _question(pair: CandidatePair, hanging: int, lines: Iterable[Line]) -> Question:
    value = (1 + math.log2(1 + hanging)) * pair.weight * (1 - pair.gap)
    return Question(
        one=pair.earlier, other=pair.later, kind=pair.kind, why=pair.detail, value=value,
        score=pair.score, lines=tuple(lines),
    )  # fmt: skip
