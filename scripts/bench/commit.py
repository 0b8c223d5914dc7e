#!/usr/bin/env python3
"""commit.py [--quick]: what it costs to commit one fact, beside `git add` and `git commit`.

Each round does one of each, one after the other, on stores of the same size, so that a noisy
machine is as noisy to all. Then a large bare store, and 100,000 facts in one commit.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
RUN = 1_790_000_000  # after all the runs of the stores that make_store makes

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small stores, few rounds")
    parser.add_argument("--bulk", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bulk:
        bulk(options.bulk, 10_000 if options.quick else 100_000)
        return
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as scratch:
        _set_home(scratch)
        print(f"{'one fact committed, medians in ms':<40}{'kg warm':>9}{'kg cold':>9}", end="")
        print(f"{'git':>9}{'warm/git':>10}{'cold/git':>10}")
        for size in (100,) if options.quick else (1_000, 10_000):
            beside_git(Path(scratch, f"n{size}"), size, 5 if options.quick else 15)
        bare(Path(scratch, "bare"), 1_000 if options.quick else 100_000)
        command = [sys.executable, __file__, "--bulk", f"{scratch}/bulk"]
        subprocess.run([*command, *(["--quick"] if options.quick else [])], check=True)


def beside_git(folder: Path, size: int, rounds: int) -> None:
    """Compare on a store with a working tree; git commits the same kind of change by hand."""
    from kg.graph import Graph

    _make(folder / "kg", size)
    _make(folder / "git", size)
    graph = Graph(folder / "kg")
    edited = next((folder / "git/entities/object").rglob("*.json"))
    work: dict[str, Callable[[int], None]] = {
        "warm": lambda number: _remember(graph, number),
        "cold": lambda number: _cold(folder / "kg", number + 5_000),
        "git": lambda number: _by_git(folder / "git", edited, number),
    }
    times = _interleaved(work, rounds)
    graph.close()
    warm, cold, git = times["warm"], times["cold"], times["git"]
    print(f"{f'{size:,} entities, working tree':<40}{warm:>9.1f}{cold:>9.1f}{git:>9.1f}", end="")
    print(f"{warm / git:>10.2f}{cold / git:>10.2f}")


def bare(folder: Path, size: int) -> None:
    """Measure a bare store, which has no index and no working tree."""
    from kg.graph import Graph

    _make(folder, size, bare=True)
    graph = Graph(folder)
    times = _interleaved({"warm": lambda number: _remember(graph, number)}, 40)
    print(f"{f'{size:,} entities, bare':<40}{times['warm']:>9.1f}")
    graph.close()


def bulk(folder: str, facts: int) -> None:
    """Commit many facts of one run at once, in a process of its own for its peak memory."""
    from kg.graph import Graph
    from kg.graph.init import init

    graph = Graph(init(folder).place)
    told = [_observed([(n // 20, n) for n in range(at, at + 20)]) for at in range(0, facts, 20)]
    began = time.perf_counter()
    answer = graph.remember(told)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    graph.close()
    commits = len(answer.commits)
    print(f"{facts:,} facts in {commits} commit: {took:.1f} s, peak memory {peak:.0f} MB")


def _interleaved(work: dict[str, Callable[[int], None]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):  # the first one warms up, and does not count
        for name, do in work.items():
            began = time.perf_counter()
            do(number)
            times[name].append(1000 * (time.perf_counter() - began))
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def _remember(graph: Any, number: int) -> None:  # noqa: ANN401 - kg is imported where used
    answer = graph.remember([_observed([(number % 20, number)])])
    if not answer.commits:
        sys.exit(f"nothing was committed: {answer}")


def _cold(folder: Path, number: int) -> None:
    import json

    command = [sys.executable, "-m", "kg", "-C", str(folder), "remember", "-"]
    data = json.dumps(_observed([(number % 20, number)])).encode()
    subprocess.run(command, input=data, check=True, capture_output=True, cwd=ROOT)


def _by_git(folder: Path, edited: Path, number: int) -> None:
    edited.write_text(f"{edited.read_text(encoding='utf-8')} ", encoding="utf-8")
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "add", str(edited)], check=True)
    subprocess.run([*git, "commit", "-qm", f"fact {number}"], check=True)


def _observed(facts: list[tuple[int, int]]) -> dict[str, Any]:
    lines = [f"measured thing {thing}, note {number}" for thing, number in facts]
    names = [f"measured-{thing}" for thing, _ in facts]
    return {
        "run": f"r{RUN}",
        "agent": "bench",
        "text": "\n".join(lines) + "\n",
        "entities": [{"ref": n, "type": "Object", "name": n} for n in dict.fromkeys(names)],
        "facts": [
            {"entity": name, "k": "note", "v": f"note {number}", "lines": [line, line]}
            for line, (name, (_, number)) in enumerate(zip(names, facts, strict=True), 1)
        ],
    }


def _make(folder: Path, size: int, *, bare: bool = False) -> None:
    command = [sys.executable, str(ROOT / "scripts/bench/make_store.py"), str(folder), str(size)]
    subprocess.run([*command, *(["--bare"] if bare else [])], check=True)


def _set_home(folder: str) -> None:
    """Be nobody's git: an identity of its own, and no gc of git's in between."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "KG_", "XDG_"))]:
        del os.environ[name]
    os.environ["HOME"] = folder
    Path(folder, ".gitconfig").write_text(
        "[user]\n\tname = Bench\n\temail = bench@kg.invalid\n[gc]\n\tauto = 0\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
