"""What the benches share: new stores, ranks and percentiles, and how a table is printed."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import statistics
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.graph import Graph
from kg.graph.init import init

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

COMMITTER = ("bench", "bench@kg.invalid")


class Ranks(NamedTuple):
    """At what ranks (from 1) the gold answers of some questions stood, and how many there are."""

    found: list[list[int]]
    gold: list[int]

    @classmethod
    def none(cls) -> Ranks:
        """Return ranks of no question yet."""
        return cls([], [])

    def add(self, answered: Sequence[str], gold: Iterable[str]) -> None:
        """Add a question: what was answered, best first, and what should have been."""
        wanted = set(gold)
        self.found.append([rank for rank, one in enumerate(answered, 1) if one in wanted])
        self.gold.append(len(wanted))

    def any_at(self, n: int) -> float:
        """Return the share of questions, in percent, with a gold answer among the first n."""
        return percent([bool(ranks) and ranks[0] <= n for ranks in self.found])

    def all_at(self, n: int) -> float:
        """Return the share of questions, in percent, with all gold answers among the first n."""
        both = zip(self.found, self.gold, strict=True)
        return percent([sum(rank <= n for rank in ranks) == gold for ranks, gold in both])

    def share_at(self, n: int) -> float:
        """Return what share of its gold answers a question has among the first n, in percent."""
        both = zip(self.found, self.gold, strict=True)
        return percent([sum(rank <= n for rank in ranks) / max(1, gold) for ranks, gold in both])

    @property
    def mrr(self) -> float:
        """The mean of 1 / rank of the first gold answer, in percent."""
        return percent([1 / ranks[0] if ranks else 0 for ranks in self.found])

    def row(self) -> dict[str, float]:
        """Return what a table shows of it."""
        return {
            "n": len(self.found),
            "any@1": self.any_at(1),
            "any@5": self.any_at(5),
            "any@10": self.any_at(10),
            "all@5": self.all_at(5),
            "MRR": self.mrr,
        }


def percent(found: Sequence[float]) -> float:
    """Return the mean in percent, to one decimal; 0 of nothing."""
    return round(100 * sum(found) / len(found), 1) if found else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50 and p99 of times, in milliseconds."""
    return {
        "p50 ms": round(statistics.median(seconds) * 1e3, 2),
        "p99 ms": round(percentile(seconds, 0.99) * 1e3, 2),
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that `work` took, and what it returned."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def scrubbed() -> None:
    """Leave nothing of the user's git or kg settings in the environment."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "KG_", "XDG_"))]:
        del os.environ[name]
    home = os.environ["HOME"] = tempfile.mkdtemp(prefix="kg-bench-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"


def new_store(folder: str) -> Graph:
    """Return a new store in `folder`."""
    return Graph(init(folder, committer=COMMITTER).place, committer=COMMITTER)


def print_table(title: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print rows of one shape under their columns."""
    wide = max(24, *map(len, rows)) if rows else 24
    columns = list(next(iter(rows.values()), {}))
    print(f"\n{title:<{wide}}" + "".join(f"{name:>12}" for name in columns))
    for name, row in rows.items():
        print(f"{name:<{wide}}" + "".join(f"{_cell(row.get(c, '')):>12}" for c in columns))


def print_json(key: str, value: object) -> None:
    """Print one object with one versioned key."""
    print(json.dumps({key: value}, ensure_ascii=False))


def _cell(value: object) -> str:
    return f"{value:.2f}".removesuffix("0") if isinstance(value, float) else str(value)
