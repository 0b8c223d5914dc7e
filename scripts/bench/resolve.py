#!/usr/bin/env python3
"""resolve LABELS [--write]: the shipped cutoffs from a folder of labelled pairs, and their worth.

LABELS holds JSON Lines of labelled pairs, a set a file. Prints, per type, both scorers cut by
the same policy; each set by itself at the cutoffs; what a fixed rule would do; and how cutoffs
do on pairs that they were not chosen on: each set left out once, and random halves. `--write`
writes kg/resolver.json (numbers only).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from kg.format.resolver import dump_resolver  # noqa: E402 - importable by the line above
from kg.resolve.evidence import Policy, Tally, rounded_up  # noqa: E402
from kg.resolve.labels import Labels, labels_of, read_labels  # noqa: E402
from kg.resolve.measure import Measurement, Scored, measured, score_all, tally  # noqa: E402
from kg.resolve.scorers import SCORERS, Scorer  # noqa: E402
from scripts.bench.measure import print_json  # noqa: E402

SHIPPED = Path(sys.path[0], "kg", "resolver.json")
SCORER = "token-set-jaccard/2"  # of the shipped cutoffs
FIXED = (Fraction(95, 100), Fraction(85, 100))  # the rule that circulates
Row = dict[str, Any]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", help="a folder of *.jsonl")
    parser.add_argument("--splits", type=int, default=20, help="random halves to try")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="write kg/resolver.json")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    labels = read_folder(Path(options.labels))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    found = {name: measured_all(labels, one, today) for name, one in SCORERS.items()}
    ours = found[SCORER]
    tables = {
        "types": [row for name in SCORERS for row in map(type_row, found[name])],
        "sets": [row for one in ours for row in set_rows(one)],
        "fixed": [fixed_row(one) for one in ours],
        "left_out": [row for one in ours for row in left_out(one, SCORERS[SCORER])],
        "splits": [split_row(one, options.splits, options.seed) for one in ours],
    }
    if options.json:
        print_json(
            "kg.bench.resolve/v1", {"labels": labels.id, "pairs": len(labels.pairs), **tables}
        )
    else:
        print(f"label set {labels.id}, {len(labels.pairs)} pairs")
        for title, rows in tables.items():
            print(f"\n{title}\n")
            show(rows)
    if options.write:
        SHIPPED.write_bytes(dump_resolver({one.type: one.cutoffs for one in ours}))


def read_folder(folder: Path) -> Labels:
    """Return all labelled pairs of a folder; a set without names of sets gets its file's."""
    return labels_of(
        pair if pair.source else pair._replace(source=file.stem)
        for file in sorted(folder.glob("*.jsonl"))
        for pair in read_labels(file.read_bytes(), file.name)
    )


def measured_all(labels: Labels, scorer: Scorer, today: str) -> list[Measurement]:
    """Return what is measured of each type by the shipped policy."""
    return [
        measured(type_, score_all(pairs, scorer), scorer, Policy(), labels=labels.id, today=today)
        for type_, pairs in labels.types.items()
    ]


def type_row(one: Measurement) -> Row:
    """Return a type's line of the table of README."""
    split = one.evidence.split
    return {
        "type": one.type, "scorer": one.cutoffs.scorer, "upper": str(one.cutoffs.upper or "off"),
        "lower": str(one.cutoffs.lower), **counts(one.whole),
        "bound": one.cutoffs.bound, "split": f"{split.lost}/{split.of}", "unseen": split.unseen,
        "review": percent(one.evidence.review_share),
    }  # fmt: skip


def set_rows(one: Measurement) -> list[Row]:
    """Return a line for each set of the type, at the cutoffs of the type."""
    return [
        {"type": one.type, "set": name, **counts(tally(scored, one.cutoffs.upper))}
        for name, scored in sets_of(one).items()
    ]


def fixed_row(one: Measurement) -> Row:
    """Return what the fixed rule does: matches, review, and true pairs filed as two things."""
    upper, lower = FIXED
    at = tally(one.scored, upper)
    kept = tally(one.scored, lower)
    return {
        "type": one.type, **counts(at), "review": kept.matches - at.matches,
        "true pairs split": at.same - kept.true, "same": at.same,
    }  # fmt: skip


def left_out(one: Measurement, scorer: Scorer) -> list[Row]:
    """Return, for each set, the cut chosen without it, and what that does to it."""
    rows = []
    for name, scored in sets_of(one).items():
        rest = tuple(s for s in one.scored if s.pair.source != name)
        if rest:
            chosen = measured(one.type, rest, scorer, Policy()).cutoffs
            rows.append(
                {"type": one.type, "left out": name, "upper": str(chosen.upper or "off"),
                 **counts(tally(scored, chosen.upper)), "bound": chosen.bound}
            )  # fmt: skip
    return rows


def split_row(one: Measurement, splits: int, seed: int) -> Row:
    """Return how often a cut chosen on a random half keeps its word on the other half."""
    rng, scorer = random.Random(seed), SCORERS[one.cutoffs.scorer]
    uppers: list[str] = []
    over = imprecise = 0
    for _ in range(splits):
        mine, other = halves(one.scored, rng)
        chosen = measured(one.type, mine, scorer, Policy()).cutoffs
        uppers.append(str(chosen.upper or "off"))
        seen = tally(other, chosen.upper)
        over += bool(chosen.bound) and seen.false > float(chosen.bound) * seen.different
        imprecise += seen.precision is not None and not seen.precise(Policy())
    return {
        "type": one.type, "splits": splits, "above the bound": over, "precision below": imprecise,
        "uppers": " ".join(f"{u}x{uppers.count(u)}" for u in sorted(set(uppers))),
    }  # fmt: skip


def halves(
    scored: Sequence[Scored], rng: random.Random
) -> tuple[tuple[Scored, ...], tuple[Scored, ...]]:
    """Return two random halves of scored pairs."""
    sides = [rng.random() < 0.5 for _ in scored]
    mine = tuple(s for s, side in zip(scored, sides, strict=True) if side)
    return mine, tuple(s for s, side in zip(scored, sides, strict=True) if not side)


def sets_of(one: Measurement) -> Mapping[str, list[Scored]]:
    """Return the scored pairs of each set."""
    found: dict[str, list[Scored]] = {}
    for scored in one.scored:
        found.setdefault(scored.pair.source, []).append(scored)
    return found


def counts(at: Tally) -> Row:
    """Return the columns that all tables have."""
    return {
        "captured": percent(at.captured), "true": at.true, "false": at.false,
        "different": at.different, "precision": percent(at.precision),
        "rate at most": rounded_up(at.bound),
    }  # fmt: skip


def percent(share: Fraction | None) -> str:
    """Return a share in percent, "" for none."""
    return "" if share is None else f"{float(share * 100):.1f}%"


def show(rows: Sequence[Row]) -> None:
    """Print rows as a table of Markdown."""
    for row in rows[:1]:
        print(f"| {' | '.join(row)} |")
        print("|---" * len(row) + "|")
    for row in rows:
        print(f"| {' | '.join(map(str, row.values()))} |")


if __name__ == "__main__":
    main()
