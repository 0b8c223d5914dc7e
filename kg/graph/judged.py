"""What people have judged in a store, as labelled pairs of names."""

from __future__ import annotations

from collections import defaultdict

from kg.clusters import DIFFERENT, PERSON, SAME, Line, Pair, pair_of, standing
from kg.format import EDGES, parse_edge
from kg.format.paths import key_of_edge_path
from kg.graph.graph import Graph
from kg.model import JUDGING
from kg.resolve import labels


def labels_from_judgements(graph: Graph) -> list[labels.Pair]:
    """Return the pairs of entities that a person's standing word says are same or different.

    By their names, of entities of one type; the resolver's own lines say nothing here.
    """
    found = []
    for (one, other), lines in sorted(_judged(graph).items()):
        stands = standing(line for line in lines if line[0].startswith(PERSON))
        if stands.verdict in (SAME, DIFFERENT):
            a, b = graph.entity(one), graph.entity(other)
            if a.type == b.type:
                same = stands.verdict == SAME
                found.append(labels.pair_of(a.type, a.name, b.name, same, "judgements"))
    return found


def _judged(graph: Graph) -> dict[Pair, list[Line]]:
    """Return the judgements on each pair, of whichever of its two files."""
    snapshot = graph.at()
    found: dict[Pair, list[Line]] = defaultdict(list)
    for path, blob in snapshot.files(EDGES):
        key = key_of_edge_path(path)
        if key is not None and key[1] in JUDGING:
            edge = parse_edge(snapshot.blob(blob), path)
            lines = ((j.by, j.verdict, j.run) for j in edge.judgements)
            found[pair_of(edge.subject, edge.object)] += lines
    return found
