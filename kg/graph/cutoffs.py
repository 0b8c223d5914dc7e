"""The cutoffs and the labels of a store: what it goes by, and writing what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kg import secrets
from kg.errors import RefusedError
from kg.format.resolver import LABELS, PATH, check_version, cutoffs_of, dump_resolver
from kg.graph.draft import Draft
from kg.graph.graph import Graph
from kg.resolve.bands import Cutoffs
from kg.resolve.labels import Pair, read_labels, write_labels

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def in_store(graph: Graph) -> Mapping[str, Cutoffs]:
    """Return the cutoffs that a store goes by at HEAD.

    Raises:
        FormatError: resolver.json breaks the format.
    """
    return cutoffs_of(graph.at().read(PATH))


def stored_labels(graph: Graph) -> list[Pair]:
    """Return the labelled pairs that a store keeps in labels/."""
    snapshot = graph.at()
    return [
        pair
        for path, blob in snapshot.files(LABELS)
        if path.endswith(".jsonl")
        for pair in read_labels(snapshot.blob(blob), path)
    ]


def keep(
    graph: Graph,
    cutoffs: Mapping[str, Cutoffs],
    *,
    name: str = "",
    pairs: Sequence[Pair] = (),
    run: str = "",
    agent: str = "",
) -> str:
    """Commit cutoffs of some types beside those of the others; return the commit, "" if none.

    `name` keeps the labelled pairs as labels/NAME.jsonl in the same commit.

    Raises:
        RefusedError: the name is no file's, or the pairs hold a secret.
        FormatVersionError: a newer kg wrote resolver.json.
    """
    if name and not _NAME.fullmatch(name):
        raise RefusedError(f"{name!a} names no file of labels/: use a-z, 0-9 and - . _")
    data = write_labels(pairs)
    if name:
        secrets.check(data.decode(), f"{LABELS}/{name}.jsonl")

    def edit(draft: Draft) -> str:
        before = draft.file(PATH)
        if before is not None:
            check_version(before)
        draft.put_file(PATH, dump_resolver(_undated(cutoffs_of(before), cutoffs)))
        if name:
            draft.put_file(f"{LABELS}/{name}.jsonl", data)
        return f"Measure the cutoffs of {', '.join(sorted(cutoffs))}"

    return graph.change(edit, op="measure", run=run, agent=agent)


def _undated(before: Mapping[str, Cutoffs], found: Mapping[str, Cutoffs]) -> dict[str, Cutoffs]:
    """Return all cutoffs; what was measured again to the same keeps its day, and is no change."""
    merged = dict(before)
    for type_name, cutoffs in found.items():
        there = before.get(type_name)
        same = there is not None and replace(there, measured=cutoffs.measured) == cutoffs
        merged[type_name] = there if there is not None and same else cutoffs
    return merged
