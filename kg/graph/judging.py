"""Putting a judgement on a draft: one line for each judge of a pair, the latest word alone.

History has the earlier words. Of two clones that both heard a judge, the line of the later run
stands (`kg.clusters`).
"""

from __future__ import annotations

from kg.clusters import Pair, canonical, pair_of, standing
from kg.errors import RefusedError
from kg.graph.linking import Linker
from kg.graph.recorded import Judged
from kg.graph.said import WITHDRAWN
from kg.model import JUDGING, Edge, Judgement, run_order

# Who only looks at the names of files must not take a doubt for a link.
_FILE = {"same": "same-as", "different": "different-from", "unsure": "different-from"}


def judge(linker: Linker, one: str, other: str, verdict: str, said: Judgement) -> Judged:
    """Put what `said` says of two ids in place of the same judge's earlier word.

    `verdict` is that of `said`, or withdrawn, which only takes the earlier word away.

    Raises:
        RefusedError: the two are one id, or there is nothing to withdraw.
    """
    if one == other:
        raise RefusedError(f"{one} is itself: name two entities")
    pair = pair_of(one, other)
    edges = {p: linker.draft.edge((pair[0], p, pair[1])) for p in JUDGING}
    before = [j for e in edges.values() if e for j in e.judgements if j.by == said.by]
    if any(run_order(j.run) > run_order(said.run) for j in before):
        return _told(linker, pair, verdict, said.by, "told late")
    if verdict == WITHDRAWN and not before:
        raise RefusedError(
            f"{said.by} has judged nothing of {pair[0]} and {pair[1]}: see kg review"
        )
    if verdict != WITHDRAWN and [(j.verdict, j.src) for j in before] == [(verdict, said.src)]:
        return _told(linker, pair, verdict, said.by, "known")
    for predicate, edge in edges.items():
        kept = tuple(j for j in (edge.judgements if edge else ()) if j.by != said.by)
        lines = kept + ((said,) if _FILE.get(verdict) == predicate else ())
        if lines:
            made = Edge(subject=pair[0], predicate=predicate, object=pair[1], judgements=lines)
            linker.draft.put_edge(made)
        elif edge:
            linker.draft.remove_edge(edge.key)
    suggested = "suggested" if said.by.startswith("agent:") else "judged"
    return _told(linker, pair, verdict, said.by, WITHDRAWN if verdict == WITHDRAWN else suggested)


def _told(linker: Linker, pair: Pair, verdict: str, by: str, outcome: str) -> Judged:
    """Return what stands now of a pair and of what its two are one with."""
    cluster, standings = linker.cluster(pair[0])
    one = set(pair) <= set(cluster.members)
    members = (linker.draft.entity(id_) for id_ in cluster.members)
    first_runs = {entity.id: entity.first_run for entity in members if entity}
    return Judged(
        one=pair[0], other=pair[1], verdict=verdict, by=by, outcome=outcome,
        standing=standings.get(pair, standing(())),
        canonical=canonical(first_runs) if one and not cluster.disputed else "",
        disputed=cluster.disputed,
    )  # fmt: skip
