#!/usr/bin/env python3
"""cold_recall [SIZE...]: what one `recall` costs a whole process, beside a bare interpreter.

Makes stores of the sizes given (100, 10000, 100000) with make_store.py unless --stores names
a folder that has them, then runs every query and `python3 -c pass` by turns, so that whatever
else the machine does befalls all alike, and prints medians and ratios of medians. Bars
(DESIGN.md, 10): a rare name at most 1.5 times the bare start, a common word or a question at
most 3 times, each at most 1.5 times its own time at the smallest size.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = [sys.executable]
QUERIES = {
    "one name in part": ("{slug}", 1.5),
    "an id": ("{id}", 1.5),
    "no hit": ("xylophone-of-glass", 1.5),
    "a common word": ("production", 3.0),
    "a common part of names": ("service", 3.0),
    "a question": ("who owns the payments ledger service?", 3.0),
    "three common words": ("reads replica retries", 3.0),
}


class Store(NamedTuple):
    """A store to ask."""

    size: int
    folder: str
    id: str


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[100, 10_000, 100_000])
    parser.add_argument("--stores", help="a folder to make the stores in, or that has them")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--site", action="store_true", help="without -S, as a script starts")
    options = parser.parse_args()
    where = options.stores or tempfile.mkdtemp(prefix="kg-bench-")
    with tempfile.TemporaryDirectory() as copy:
        recall = _installed(copy)
        _python(copy)
        stores = [_store(where, size, recall) for size in sorted(options.sizes)]
        flags = [] if options.site else ["-S"]
        _print(_measure(stores, [*flags, recall], options.rounds), stores, flags)
        _print_bytecode(stores[-1], [*flags, recall], options.rounds)


def _python(copy: str) -> None:
    """Measure with an interpreter whose site-packages are empty, as others' add start-up code."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{copy}/venv"], check=True)
    PYTHON[0] = f"{copy}/venv/bin/python"


def _installed(copy: str) -> str:
    """Return the script of a copy of the code beside which compiled modules may be kept."""
    for name in ("kg", "scripts"):
        shutil.copytree(os.path.join(CHECKOUT, name), os.path.join(copy, name))
    return os.path.join(copy, "scripts", "recall.py")


def _store(where: str, size: int, recall: str) -> Store:
    folder = os.path.join(where, f"s{size}")
    if not os.path.isdir(folder):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_store.py")
        subprocess.run([sys.executable, script, folder, str(size), "--bare"], check=True)
    kg = os.path.join(folder, "kg") if os.path.exists(f"{folder}/HEAD") else f"{folder}/.git/kg"
    if os.path.exists(kg):
        for name in os.listdir(kg):
            os.unlink(os.path.join(kg, name))
    began = time.perf_counter()
    _run([recall, "-C", folder, "no-such-thing"])
    built = time.perf_counter() - began
    index = sum(os.path.getsize(os.path.join(kg, name)) for name in os.listdir(kg))
    print(f"{size:>7} entities: index built in {built:.1f} s, {index / 1e6:.0f} MB", flush=True)
    _refresh(folder, size, recall)
    listing = subprocess.run(
        ["git", "-C", folder, "ls-tree", "-r", "--name-only", "HEAD", "entities/object/"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    name = os.path.basename(listing[len(listing) // 2]).removesuffix(".json")
    return Store(size, folder, f"object/{name}")


def _refresh(folder: str, size: int, recall: str) -> None:
    """Print what a reader pays that is one commit of one entity behind."""
    gitdir = folder if os.path.exists(f"{folder}/HEAD") else f"{folder}/.git"
    stream = (
        "commit refs/heads/main\ncommitter b <b@kg.invalid> {at} +0000\ndata 1\nx\n"
        "from refs/heads/main^0\nM 100644 inline entities/event/late-{at}.json\n"
        "data {n}\n{text}\ndone\n"
    )
    costs = []
    for at in range(1_790_000_000, 1_790_000_005):
        text = f'{{"id": "event/late-{at}", "type": "Event", "name": "late-{at}", "facts": []}}'
        subprocess.run(
            ["git", f"--git-dir={gitdir}", "fast-import", "--quiet", "--done"],
            input=stream.format(at=at, n=len(text), text=text).encode(), check=True,
        )  # fmt: skip
        began = time.perf_counter()
        _run(["-S", recall, "-C", folder, f"event/late-{at}"])
        costs.append(time.perf_counter() - began)
    cost = statistics.median(costs) * 1e3
    print(f"{size:>7} entities: one commit behind, whole process {cost:.0f} ms", flush=True)


def _measure(stores: list[Store], recall: list[str], rounds: int) -> dict[tuple[str, int], float]:
    commands = {("bare", 0): ["-c", "pass"], ("bare -S", 0): ["-S", "-c", "pass"]}
    for store in stores:
        for name, (query, _) in QUERIES.items():
            words = query.format(id=store.id, slug=store.id.split("/")[1]).split(" ")
            commands[name, store.size] = [*recall, "-C", store.folder, *words]
    return _medians(commands, rounds)


def _medians(
    commands: dict[tuple[str, int], list[str]], rounds: int, **environ: str
) -> dict[tuple[str, int], float]:
    times: dict[tuple[str, int], list[float]] = {key: [] for key in commands}
    for _ in range(rounds + 1):
        for key, command in commands.items():
            began = time.perf_counter()
            _run(command, **environ)
            times[key].append(time.perf_counter() - began)
    return {key: statistics.median(found[1:]) * 1e3 for key, found in times.items()}


def _print(medians: dict[tuple[str, int], float], stores: list[Store], flags: list[str]) -> None:
    bare = medians["bare", 0]
    print(f"\npython3 -c pass {bare:.1f} ms; with -S {medians['bare -S', 0]:.1f} ms")
    print(f"python3 {' '.join(flags)} scripts/recall.py, ms (times the bare start), medians\n")
    sizes = [store.size for store in stores]
    print(f"{'':<24}" + "".join(f"{size:>18,}" for size in sizes) + "      bar   largest/smallest")
    for name, (_, bar) in QUERIES.items():
        row = [medians[name, size] for size in sizes]
        cells = "".join(f"{ms:>10.1f} ({ms / bare:.2f}x)" for ms in row)
        print(f"{name:<24}{cells}{bar:>8.1f}x{row[-1] / row[0]:>12.2f}x")


def _print_bytecode(store: Store, recall: list[str], rounds: int) -> None:
    """Print what it costs where compiled modules cannot be kept."""
    words = {("id", 0): [*recall, "-C", store.folder, store.id], ("bare", 0): ["-c", "pass"]}
    for folder, _, names in os.walk(os.path.dirname(os.path.dirname(recall[-1]))):
        for name in names:
            if name.endswith(".pyc"):
                os.unlink(os.path.join(folder, name))
    found = _medians(words, rounds, PYTHONDONTWRITEBYTECODE="1")
    times = found["id", 0] / found["bare", 0]
    print(f"\nan id at {store.size:,} without .pyc files: {found['id', 0]:.1f} ms ({times:.2f}x)")


def _run(arguments: list[str], **environ: str) -> None:
    subprocess.run(
        [*PYTHON, *arguments], env={"PATH": os.environ["PATH"], **environ}, check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    main()
