#!/usr/bin/env python3
"""blame.py [--facts N] [--commits N]: who brought each fact, beside `git blame` of the same file.

One entity of N facts in a history of N commits, each of which replaces one fact; made with git
fast-import, packed, with a commit-graph of changed paths as kg keeps it. Whole processes, by
turns, and whether every answer is the commit that the history was made with.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.model import Fact

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

ID = "object/big"
FILE = f"entities/{ID}.json"


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as scratch:
        os.environ["HOME"] = scratch
        top = Path(scratch, "memory")
        expected = history(top, options.facts, options.commits)
        told = json.loads(kg(top))["kg.blame/v1"]
        found = {one["v"]: one["commit"]["subject"] for one in told}
        wrong = sum(found.get(value) != subject for value, subject in expected.items())
        print(f"{len(found)} facts, {options.commits} commits: {wrong} wrong")
        mine, theirs = [], []
        for _ in range(options.rounds):
            mine.append(timed(lambda: kg(top)))
            theirs.append(timed(lambda: git(top, "blame", "--porcelain", "--", FILE)))
        one, other = statistics.median(mine), statistics.median(theirs)
        print(f"kg blame {one:.2f} s, git blame {other:.2f} s: {one / other:.2f} x")


def history(top: Path, facts: int, commits: int) -> dict[str, str]:
    """Make the store; return {value: subject of the commit that brought it}."""
    from kg.format import dump_entity
    from kg.graph.init import init
    from kg.model import Entity, Fact

    init(str(top), committer=("bench", "bench@kg.invalid"))
    head = git(top, "rev-parse", "HEAD").decode().strip()
    ref = git(top, "symbolic-ref", "HEAD").decode().strip()
    rng = random.Random(1)
    held: dict[str, Fact] = {}
    said: dict[str, str] = {}
    stream = bytearray()
    pipe = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=top, stdin=subprocess.PIPE)
    if pipe.stdin is None:
        raise SystemExit("no pipe to git")
    for n in range(commits):
        run, value = f"r{n + 1}", f"value {n}"
        src = f"raw/r{n + 1}-bench.00000000.txt#L1"
        if len(held) >= facts:
            gone = rng.choice(list(held))
            del held[gone], said[gone]
        held[value] = Fact(k="note", v=value, src=src, seen_run=run)
        said[value] = f"big: note = {value}"
        entity = Entity(
            id=ID, type="Object", name="big", facts=tuple(held.values()), first_run="r1",
            last_seen_run=run,
        )  # fmt: skip
        data = dump_entity(entity)
        message = f"{said[value]}\n\nRun: {run}\nAgent: bench\nOp: remember\n".encode()
        stream += b"commit %s\ncommitter bench <bench@kg.invalid> %d +0000\ndata %d\n%s\n" % (
            ref.encode(), 1_700_000_000 + n, len(message), message,
        )  # fmt: skip
        if n == 0:
            stream += b"from %s\n" % head.encode()
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (FILE.encode(), len(data), data)
        pipe.stdin.write(stream)
        stream.clear()
    pipe.stdin.close()
    if pipe.wait():
        raise SystemExit("git fast-import failed")
    git(top, "reset", "-q", "--hard")
    git(top, "gc", "--quiet")
    git(top, "commit-graph", "write", "--reachable", "--changed-paths")
    return said


def git(top: Path, *args: str) -> bytes:
    """Return what git prints."""
    return subprocess.run(["git", *args], cwd=top, check=True, capture_output=True).stdout


def kg(top: Path) -> bytes:
    """Return what `kg blame` prints."""
    command = [sys.executable, "-m", "kg", "-C", str(top), "blame", ID, "--json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, check=True, capture_output=True, env=environ).stdout


def timed(run: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
