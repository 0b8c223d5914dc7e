#!/usr/bin/env python3
"""warm_recall [SIZE...]: what recall costs a process that has the index open, and keeping it.

Makes stores of the sizes given (100000) with make_store.py unless --stores names a folder that
has them (s100000 for 100,000 entities), which is copied first. An answer is found and rendered
as text; each query is asked once before it is timed. Bars: p50 under 1 ms and p99 under 10 ms;
an index one commit behind is brought up to date in 20 ms, and a new one made in 60 s.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from kg import place as places  # noqa: E402 - the line above is what makes it importable
from kg.recall.asking import ask  # noqa: E402
from kg.recall.index import Index  # noqa: E402
from kg.recall.options import LIMIT, Options  # noqa: E402
from kg.recall.show import Page  # noqa: E402
from scripts.bench.make_store import AREAS, PARTS, make  # noqa: E402
from scripts.bench.measure import (  # noqa: E402
    milliseconds,
    print_json,
    print_table,
    scrubbed,
    timed,
)

FIRST = 1_790_000_000  # when the first of the commits was made that the index is behind
COMMITS = 9
MEGABYTE = 1024  # of what getrusage counts in
COMMIT = (
    "commit refs/heads/main\ncommitter b <b@kg.invalid> {at} +0000\ndata 1\nx\n"
    "from refs/heads/main^0\nM 100644 inline entities/event/late-{at}.json\n"
    "data {n}\n{text}\ndone\n"
)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[100_000])
    parser.add_argument("--stores", help="a folder that has the stores")
    parser.add_argument("--queries", type=int, default=300, help="different ones of each sort")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", help=argparse.SUPPRESS)  # a store: this process builds it only
    options = parser.parse_args()
    scrubbed()
    if options.build:
        _build(options.build)
        return
    tables = {}
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as folder:
        for size in options.sizes:
            tables[str(size)] = _measured(_store(options.stores, folder, size), options.queries)
    if options.json:
        print_json("kg.bench.warm_recall/v1", tables)
        return
    for name, table in tables.items():
        print_table(f"{int(name):,} entities", table["queries"])
        print_table("", {"keeping the index": table["index"]})


def sample(slugs: list[str], n: int) -> dict[str, list[str]]:
    """Return n queries of each sort."""
    rng = random.Random(n)
    a, b, c = (rng.choices(AREAS, k=n) for _ in range(3))
    parts = rng.choices(PARTS, k=n)
    both = list(zip(a, b, parts, strict=True))
    return {
        "a rare name": [rng.choice(slugs) for _ in range(n)],
        "a question about a name": [f"who owns the {rng.choice(slugs)} service?" for _ in a],
        "a question": [f"who owns the {one} {other} {part}?" for one, other, part in both],
        "a common word": [rng.choice((*AREAS, *PARTS, "production", "replica")) for _ in a],
        "three common words": [" ".join(words) for words in zip(a, b, c, strict=True)],
    }


def _store(stores: str | None, folder: str, size: int) -> str:
    """Return a store of our own, without an index."""
    path = os.path.join(folder, f"s{size}")
    if stores:
        shutil.copytree(os.path.join(stores, f"s{size}"), path)
    else:
        make(path, size, bare=True)
    shutil.rmtree(os.path.join(path, "kg"), ignore_errors=True)
    return path


def _measured(store: str, n: int) -> dict[str, dict[str, Any]]:
    command = [sys.executable, os.path.realpath(__file__), "--build", store]
    built = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, own, git = map(float, built.stdout.split())
    place = places.find(os.path.abspath(store), {}, "")
    with Index.fresh(place) as index:
        rows = {name: _times(index, queries) for name, queries in _sample(store, n).items()}
        behind = [_behind(index, store, FIRST + at) for at in range(COMMITS)]
    size = sum(entry.stat().st_size for entry in os.scandir(os.path.join(store, "kg")))
    keeping = {
        "build s": round(seconds, 1),
        "peak MB": round(own),
        "git's MB": round(git),
        "size MB": round(size / 1e6),
        "behind ms": round(statistics.median(behind) * 1e3, 1),
        "worst ms": round(max(behind) * 1e3, 1),
    }
    return {"queries": rows, "index": keeping}


def _sample(store: str, n: int) -> dict[str, list[str]]:
    listing = subprocess.run(
        ["git", "-C", store, "ls-tree", "-r", "--name-only", "HEAD", "entities/object/"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return sample([os.path.basename(path).removesuffix(".json") for path in listing], n)


def _times(index: Index, queries: list[str]) -> dict[str, float]:
    for query in queries:
        _answer(index, query)
    return milliseconds([timed(partial(_answer, index, query))[0] for query in queries])


def _answer(index: Index, query: str) -> str:
    con = index.connection
    con.execute("begin")
    try:
        options = Options.of(query, limit=LIMIT)
        return Page(con, ask(con, options), options).text
    finally:
        con.execute("rollback")


def _behind(index: Index, store: str, at: int) -> float:
    """Commit an entity and return the seconds that the index takes to know it."""
    text = f'{{"id": "event/late-{at}", "type": "Event", "name": "late-{at}", "facts": []}}'
    subprocess.run(
        ["git", "-C", store, "fast-import", "--quiet", "--done"],
        input=COMMIT.format(at=at, n=len(text), text=text).encode(), check=True,
    )  # fmt: skip
    seconds, _ = timed(index.refresh)
    if index.path_of(f"event/late-{at}") is None:
        sys.exit("the index does not know what was committed")
    return seconds


def _build(store: str) -> None:
    """Build the index and print the seconds, and the megabytes of this process and of git."""
    place = places.find(os.path.abspath(store), {}, "")
    seconds, index = timed(partial(Index.fresh, place))
    index.close()
    own, git = (
        resource.getrusage(who).ru_maxrss / MEGABYTE
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(seconds, own, git)


if __name__ == "__main__":
    main()
