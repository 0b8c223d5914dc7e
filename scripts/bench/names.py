#!/usr/bin/env python3
"""names --data DIR: how well recall finds an entity by what people write of its name.

Writes a store of N real names (DIR/names.tsv.gz) with facts of one small vocabulary and edges
between them, then asks for a sample in four forms: the bare name, a question that holds it, the
name with one letter wrong, and a part that only this name has. Right is any entity whose name
folds to the same. Bars: rank 1 in at least 99, 97, 90 and 90%.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from kg.recall.answer import ask  # noqa: E402 - the line above is what makes it importable
from kg.text import fold  # noqa: E402
from scripts.bench.measure import (  # noqa: E402
    Ranks,
    milliseconds,
    new_store,
    print_json,
    print_table,
    scrubbed,
    timed,
)
from scripts.bench.named import FORMS, Asked, observations, queries, read_names  # noqa: E402

if TYPE_CHECKING:
    from kg.recall.index import Index

BARS = dict(zip(FORMS, (99, 97, 90, 90), strict=True))
SHOWN = 10  # answers asked for


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="the folder of names.tsv.gz")
    parser.add_argument("--size", type=int, default=10_000, help="entities of the store")
    parser.add_argument("--asked", type=int, default=500, help="names asked for, of each form")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--store", help="a folder to make the store in and keep it")
    parser.add_argument("--misses", help="a file to write to what was not found first")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scrubbed()
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as folder:
        names = read_names(os.path.join(options.data, "names.tsv.gz"), options.size, options.seed)
        with closing(new_store(options.store or os.path.join(folder, "store"))) as graph:
            written, _ = timed(lambda: graph.remember(observations(names, options.seed)))
            index = graph.index()
            told = queries(names, options.asked, options.seed)
            rows, misses = measure(index, told)
    if options.misses:
        with open(options.misses, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in misses)
    if options.json:
        print_json("kg.bench.names/v1", {"size": len(names), "forms": rows})
        return
    print(f"{len(names):,} entities, written in {written:.1f} s")
    print_table("rank 1 and top 5, %", rows)


def measure(index: Index, told: list[Asked]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return a row for each form, and a line for each query whose answer is not first."""
    ranks = {form: Ranks.none() for form in FORMS}
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    misses = []
    for asked in told:
        ask(index, asked.query, limit=SHOWN)  # reads the pages in, so that the next one is warm
        seconds, answer = timed(partial(ask, index, asked.query, limit=SHOWN))
        answered = [fold(one["name"]) for one in answer.entities]
        wanted = fold(asked.name)
        times[asked.form].append(seconds)
        ranks[asked.form].add(answered, [wanted])
        if answered[:1] != [wanted]:
            at = answered.index(wanted) + 1 if wanted in answered else 0
            first = answered[0] if answered else ""
            misses.append("\t".join((asked.form, asked.query, asked.name, str(at), first)))
    rows = {
        form: {
            "n": len(times[form]),
            "rank 1": ranks[form].any_at(1),
            "bar": BARS[form],
            "top 5": ranks[form].any_at(5),
            **milliseconds(times[form]),
        }
        for form in FORMS
        if times[form]
    }
    return rows, misses


if __name__ == "__main__":
    main()
