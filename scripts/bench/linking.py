#!/usr/bin/env python3
"""linking.py FOLDER [--mentions N] [--names N]: real names streamed through the resolver.

FOLDER holds `er/*.jsonl` (labelled pairs; `ca` and `cb` say which thing each name is of) and
`names.tsv.gz` (type and name). First N mentions, each a name of a known thing, namesakes
included, go into an empty store: false merges, splits, what waits for a person, and the time; a
sample of the automatic links is then undone by one `git revert` each. Then names: how long one
lookup takes among N, all pairs above the lower cutoff (checked against brute force on a sample),
the build of a store's name index, one mention in a large store, and a list of the queue.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kg.graph import Graph
    from kg.resolve.blocking import Names

T = TypeVar("T")
Mention = tuple[str, str, str]  # type, name, which thing
RUN = 1_700_000_000
AT_ONCE = 50  # mentions of one observation
SETS = ("person_mailmap", "org_tickers", "sw_debian_pypi", "repo_debian", "loc_cities")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mentions", type=int, default=20_000)
    parser.add_argument("--names", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as scratch:
        _set_home(scratch)
        stream(Path(scratch, "stream"), mentions(options.folder, options.mentions))
        everything = names(options.folder / "names.tsv.gz", options.names)
        lookups(everything)
        large(Path(scratch, "large"), everything)
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


def mentions(folder: Path, most: int) -> list[Mention]:
    """Return names with the thing each is of: of labelled pairs, both sides, in random order."""
    found: set[Mention] = set()
    for name in SETS:
        with open(folder / "er" / f"{name}.jsonl", encoding="utf-8") as file:
            for line in file:
                pair = json.loads(line)
                for side in "ab":
                    thing = f"{name}:{pair[f'c{side}']}"
                    if pair[side].isprintable() and pair[side].strip():
                        found.add((pair["type"], pair[side], thing))
    ordered = sorted(found)
    random.Random(4).shuffle(ordered)
    return ordered[:most]


def names(file: Path, most: int) -> list[tuple[str, str]]:
    """Return a sample of (type, name)."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in lines]
    plain = [(kind, name) for kind, name in rows if name.isprintable() and name.strip()]
    return random.Random(4).sample(plain, min(most, len(plain)))


def stream(folder: Path, said: list[Mention]) -> None:
    """Put mentions into an empty store, batch by batch, and say what became of them."""
    from kg.graph import Graph
    from kg.graph.init import init
    from kg.resolve import Matched

    graph = Graph(init(str(folder)).place)
    things: dict[str, set[str]] = defaultdict(set)  # an id, and the things it stands for
    ids: dict[str, set[str]] = defaultdict(set)
    decisions: Counter[str] = Counter()
    wrong: list[str] = []
    links: list[tuple[str, str, str]] = []
    began = time.perf_counter()
    for number, batch in enumerate(_batches(said, AT_ONCE)):
        recorded = graph.remember([_observation(number, batch)]).recorded[0]
        for mention, (_, name, thing) in zip(recorded.mentions, batch, strict=True):
            decision = mention.decision
            how = (
                f"matched by {decision.by}"
                if isinstance(decision, Matched)
                else type(decision).__name__
            )
            decisions[how] += 1
            other = decision.id if isinstance(decision, Matched) else ""
            if other and thing not in things[other]:
                wrong.append(f"{how}: {name} as {other}")
            if how == "matched by score":
                links.append((mention.id, other, recorded.commit))
            things[mention.id].add(thing)
            ids[thing].add(mention.id)
    seconds = time.perf_counter() - began
    _told(graph, said, decisions, wrong, seconds)
    by_score = [one for one in wrong if one.startswith("matched by score")]
    split = _split(graph, ids)
    many = sum(len(found) > 1 for found in ids.values())
    print(f"  false merges by score: {len(by_score)} of {decisions['matched by score']} links; "
          f"by an exact name that two things have: {len(wrong) - len(by_score)}")  # fmt: skip
    print(f"  things with several ids that are not one cluster: {split} of {len(ids)} "
          f"({many} have several ids)")  # fmt: skip
    undone(folder, random.Random(4).sample(links, min(10, len(links))))
    graph.close()


def _observation(number: int, batch: Iterable[Mention]) -> dict[str, object]:
    rows = list(batch)
    text = "\n".join(name.replace("\n", " ") for _, name, _ in rows) + "\n"
    entities = [{"ref": f"m{n}", "type": t, "name": name} for n, (t, name, _) in enumerate(rows)]
    return {"run": f"r{RUN + number}", "agent": "bencher", "text": text, "entities": entities}


def _told(
    graph: Graph, said: list[Mention], decisions: Counter[str], wrong: list[str], seconds: float
) -> None:
    queue = len(graph.blocks().pairs(10**9))
    print(f"{len(said)} mentions of {len({thing for _, _, thing in said})} things, "
          f"{1000 * seconds / len(said):.2f} ms each")  # fmt: skip
    for how, count in decisions.most_common():
        print(f"  {how:<18} {count:>6}  {100 * count / len(said):.1f}%")
    print(f"  candidate pairs for people: {queue}")
    for one in wrong[:10]:
        print(f"    {one}")


def _split(graph: Graph, ids: dict[str, set[str]]) -> int:
    """Return how many things have ids that are not one cluster."""
    rows = graph.index().connection.execute("select id, canonical from cluster")
    canonical = dict(rows.fetchall())
    return sum(len({canonical.get(id_, id_) for id_ in found}) > 1 for found in ids.values())


def undone(folder: Path, links: list[tuple[str, str, str]]) -> None:
    """Check that one revert takes a link back: what the commit linked is linked no more."""
    exact = 0
    for one, other, commit in links:
        edge = "--same-as--".join(sorted((one.split("/")[1], other.split("/")[1])))
        _git(folder, "worktree", "add", "-q", "--detach", "../undo", commit)
        _git(folder.parent / "undo", "revert", "--no-edit", commit)
        same = _git(folder.parent / "undo", "diff", "--stat", f"{commit}^", "HEAD") == ""
        exact += same and edge not in _git(folder.parent / "undo", "ls-files")
        _git(folder, "worktree", "remove", "--force", "../undo")
    print(f"  links undone exactly by one revert: {exact} of {len(links)}")


def lookups(everything: list[tuple[str, str]]) -> None:
    """Time one lookup among many names, and all pairs; check both against brute force."""
    from kg.format.resolver import shipped
    from kg.resolve.bands import in_force
    from kg.resolve.blocking import TABLES, Names
    from kg.resolve.scorers import scorer

    cutoffs = {name: in_force(shipped(), name) for name, _ in everything}
    con = sqlite3.connect(":memory:", isolation_level=None)
    con.executescript(TABLES)
    con.execute("begin")
    index = Names(con, lambda name: scorer(cutoffs[name].scorer))
    began = time.perf_counter()
    for n, (type_name, name) in enumerate(everything):
        index.add(f"e{n}", type_name, [name], f"{n:07}")
    print(f"{len(everything)} names indexed in {time.perf_counter() - began:.1f} s")
    probes = random.Random(5).sample(everything, min(2000, len(everything)))
    times = []
    for type_name, name in probes:
        began = time.perf_counter()
        index.alike(type_name, name, cutoffs[type_name].lower, 8)
        times.append(1000 * (time.perf_counter() - began))
    late = sorted(times)[-len(times) // 100]
    print(f"  one lookup: mean {statistics.mean(times):.2f} ms, median "
          f"{statistics.median(times):.2f}, 99% {late:.1f}")  # fmt: skip
    for which in ("upper", "lower"):
        began, pairs = time.perf_counter(), 0
        for n, (type_name, name) in enumerate(everything):
            cut = getattr(cutoffs[type_name], which) or cutoffs[type_name].lower
            pairs += len(index.alike(type_name, name, cut, before=f"{n:07}"))
        print(f"  all {pairs} pairs at or above the {which} cutoff: "
              f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    _check(index, everything, {name: cut.lower for name, cut in cutoffs.items()})


def _check(index: Names, everything: list[tuple[str, str]], lowers: dict[str, Fraction]) -> None:
    """Compare the index with brute force: a few names with all others of their type."""
    from kg.resolve.scorers import SCORERS

    scoring = SCORERS["token-set-jaccard/2"]
    missed = compared = 0
    for type_name, name in random.Random(6).sample(everything, 5):
        lower = lowers[type_name]
        others = [(f"e{n}", other) for n, (t, other) in enumerate(everything) if t == type_name]
        wanted = {e for e, other in others if scoring.score(name, other, type_name) >= lower}
        found = {one.ent for one in index.alike(type_name, name, lower)}
        missed += len(wanted ^ found)
        compared += len(others)
    print(f"  against brute force on {compared} pairs: {missed} differ")


def large(folder: Path, everything: list[tuple[str, str]]) -> None:
    """Time one mention, and the queue, in a store of many entities."""
    from kg.graph import Graph
    from kg.graph.init import init
    from kg.review import queue

    graph = Graph(init(str(folder), layout="bare").place)
    distinct = list(dict.fromkeys((t, name.strip()) for t, name in everything if name.strip()))
    began = time.perf_counter()
    for number, batch in enumerate(_batches(distinct, 5000)):
        rows = [(type_name, name, "") for type_name, name in batch]
        graph.remember([_observation(number, rows)])
    print(f"a store of {len(distinct)} mentions: {time.perf_counter() - began:.0f} s")
    draft = graph.draft(graph.at())
    linker = graph.linker(draft)
    times = []
    for type_name, name in random.Random(7).sample(distinct, 500):
        kind = draft.ontology.type(type_name)
        began = time.perf_counter()
        linker.decide(kind, f"{name} x", [])
        times.append(1000 * (time.perf_counter() - began))
    print(f"  one mention decided: mean {statistics.mean(times):.2f} ms, median "
          f"{statistics.median(times):.2f}")  # fmt: skip
    began = time.perf_counter()
    blocks = graph.blocks()
    found = len(blocks.pairs(10**9))
    print(f"  all candidate pairs found: {found} in {time.perf_counter() - began:.0f} s")
    began = time.perf_counter()
    waiting = queue(graph).questions
    print(f"  the queue of {len(waiting)} listed in {time.perf_counter() - began:.2f} s")
    graph.close()


def _batches(rows: Sequence[T], size: int) -> Iterator[list[T]]:
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


def _set_home(scratch: str) -> None:
    home = Path(scratch, "home")
    home.mkdir()
    os.environ |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{name}_NAME": "bench", f"GIT_{name}_EMAIL": "bench@example.invalid"}


def _git(where: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=where, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
