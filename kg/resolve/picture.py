"""What was measured of a type as lines of plain text, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from kg.resolve.evidence import Tally
from kg.resolve.measure import ZERO_ERRORS, Measurement, Scored, Step, tally

BINS = 20  # of the picture, and rows of the table that are not cutoffs
_BAR = 26  # columns
HEAD = ("", "cut", "score", "same", "different", "precision", "rate at most", "same below")


def table(one: Measurement) -> list[tuple[str, ...]]:
    """Return rows: the lowest cut of each twentieth, and the cutoffs, which are marked.

    `rate at most` is the 95% bound of the false-merge rate at that cut on all labels.
    """
    return [HEAD, *(_row(step, one) for step in _shown(one.steps, one))]


def bars(one: Measurement) -> list[str]:
    """Return how the scores of same and different pairs are spread, with both cutoffs."""
    counts = spread(one.scored)
    most = [max([1, *(pair[side] for pair in counts)]) for side in (0, 1)]
    lines = [f"{'score':>5}  {'same pairs':<{_BAR + 7}}different pairs"]
    for at in range(BINS, -1, -1):
        cells = (_cell(counts[at][side], most[side]) for side in (0, 1))
        lines.append(f"{at / BINS:5.2f}  {'  '.join(cells)}".rstrip())
        lines += [f"{f'- {what} ':-<70}" for what in _cutoffs_in(one, at)]
    return lines


def spread(scored: Sequence[Scored]) -> list[tuple[int, int]]:
    """Return, for each twentieth from 0 to 1, how many same and different pairs score in it."""
    found = [[0, 0] for _ in range(BINS + 1)]
    for each in scored:
        found[bin_of(each.score)][0 if each.pair.same else 1] += 1
    return [(same, different) for same, different in found]


def bin_of(score: Fraction) -> int:
    """Return the twentieth that a score lies in; 1 has one of its own."""
    return int(score * BINS)


def sentences(one: Measurement) -> Iterator[str]:
    """Yield what the cutoffs are and what they rest on, in words."""
    yield _upper_said(one)
    yield from _matched(one)
    split, share = one.evidence.split, percent(one.evidence.split.share)
    over = f"; no cut keeps {percent(one.evidence.policy.max_split)}" if one.split_over else ""
    yield (
        f"lower {one.cutoffs.lower}: below it are {split.lost} of {split.of} same pairs that share "
        f"a token ({share}){over}; {split.unseen} more share none, which no score sees"
    )
    yield (
        f"review: {one.evidence.review} of {one.evidence.pairs} labelled pairs "
        f"({percent(one.evidence.review_share)})"
    )


def rule_counts(one: Measurement, upper: Fraction, lower: Fraction) -> dict[str, int]:
    """Return what a fixed pair of cutoffs does to the labelled pairs."""
    at, kept = tally(one.scored, upper), tally(one.scored, lower)
    more = {"review": kept.matches - at.matches, "split": at.same - kept.true}
    return at._asdict() | more


def rule_said(one: Measurement, upper: Fraction, lower: Fraction) -> str:
    """Return the same in words."""
    found = rule_counts(one, upper, lower)
    return (
        f"the rule {float(upper):g}/{float(lower):g}: {found['true']} of {found['same']} same and "
        f"{found['false']} of {found['different']} different pairs match, {found['review']} go to "
        f"review, {found['split']} same pairs are split"
    )


def percent(share: Fraction | float | None) -> str:
    """Return a share in percent, "-" for none."""
    return "-" if share is None else f"{float(share) * 100:.2f}".rstrip("0").rstrip(".") + "%"


def at_most(bound: float) -> str:
    """Return a bound in percent, rounded up so that it stays one."""
    return percent(ceil(round(bound * 10**4, 6)) / 10**4)


def _upper_said(one: Measurement) -> str:
    if one.cutoffs.upper is None:
        return f"upper off: {one.cutoffs.because}"
    accepted = ", accepted with --accept-bound" if one.evidence.policy.accept_bound else ""
    return f"upper {one.cutoffs.upper}{accepted}"


def _matched(one: Measurement) -> Iterator[str]:
    if one.upper is None:
        return
    at, policy = one.whole, one.evidence.policy
    yield (
        f"at {one.upper}: {at.true} of {at.same} same pairs match ({percent(at.captured)}), "
        f"{at.false} of {at.different} different; precision {percent(at.precision)}"
    )
    if policy.name == ZERO_ERRORS:
        yield f"bound: at most {at_most(at.bound)} of different pairs (95%), on all labels"
    else:
        chosen, other = one.evidence.chosen, one.evidence.bounded
        yield (
            f"bound: at most {at_most(float(one.cutoffs.bound))} of different pairs (95%), from "
            f"{other.false} of {other.different} in one half; chosen on the other "
            f"({chosen.false} of {chosen.different})"
        )


def _shown(steps: Sequence[Step], one: Measurement) -> Iterator[Step]:
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        last = following is None or bin_of(following.at) != bin_of(step.at)
        if last or step.at in (one.upper, one.cutoffs.lower):
            yield step


def _row(step: Step, one: Measurement) -> tuple[str, ...]:
    at: Tally = step.whole
    mark = {one.cutoffs.lower: "lower"} | ({one.upper: "upper"} if one.upper is not None else {})
    return (
        mark.get(step.at, ""), str(step.at), f"{float(step.at):.2f}", str(at.true), str(at.false),
        percent(at.precision), at_most(at.bound), str(at.same - at.true),
    )  # fmt: skip


def _cell(count: int, most: int) -> str:
    bar = "#" * max(int(count > 0), round(_BAR * count / most))
    return f"{count:6} {bar:<{_BAR}}"


def _cutoffs_in(one: Measurement, at: int) -> Iterator[str]:
    if one.upper is not None and bin_of(one.upper) == at:
        yield f"upper {one.upper}" + (" (not in force)" if one.cutoffs.upper is None else "")
    if bin_of(one.cutoffs.lower) == at:
        yield f"lower {one.cutoffs.lower}"
