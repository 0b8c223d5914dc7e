"""How good a scorer is on labelled pairs of one type, and which cutoffs follow from a policy.

The upper cutoff is chosen on one half of the labels and must hold on the other; what is printed
as its bound is the other half's. Nothing is assumed of scores but that more is more alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from kg.resolve.bands import UNMEASURED, Cutoffs
from kg.resolve.evidence import Evidence, Policy, Split, Tally, rounded_up, trials_needed
from kg.resolve.labels import Labels, Pair
from kg.resolve.scorers import SCORERS, Scorer

ZERO_ERRORS = "zero-errors"


class Scored(NamedTuple):
    """A labelled pair with its score; `seen` where its names share a token."""

    pair: Pair
    score: Fraction
    seen: bool


class Step(NamedTuple):
    """A cut, and what is at or above it: in the half to choose on, the other, and in both."""

    at: Fraction
    chosen: Tally
    bounded: Tally
    whole: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured of one type: the cutoffs, what they rest on, and every possible cut.

    `steps` go from the strictest cut down. `needed` is how many more different pairs it takes
    to bound anything within the policy. `split_over` says that no cut keeps `max_split`.
    """

    type: str
    cutoffs: Cutoffs
    evidence: Evidence
    steps: tuple[Step, ...]
    scored: tuple[Scored, ...]
    needed: int = 0
    split_over: bool = False

    @property
    def upper(self) -> Fraction | None:
        """The upper cutoff, in force or only proposed."""
        return self.cutoffs.upper if self.cutoffs.upper is not None else self.evidence.proposed

    @property
    def whole(self) -> Tally:
        """What matches of all labels at the upper cutoff, in force or proposed."""
        return tally(self.scored, self.upper)


class Upper(NamedTuple):
    """An upper cutoff, None where it is off, with why, and with both halves at that cut."""

    at: Fraction | None
    because: str
    chosen: Tally
    bounded: Tally
    proposed: Fraction | None = None
    needed: int = 0


def measure(labels: Labels, scorer: Scorer, policy: Policy, today: str) -> list[Measurement]:
    """Return what is measured of each type in a label set; `today` is written beside it."""
    return [
        measured(type_name, score_all(pairs, scorer), scorer, policy, labels=labels.id, today=today)
        for type_name, pairs in labels.types.items()
    ]


def score_all(pairs: Iterable[Pair], scorer: Scorer) -> tuple[Scored, ...]:
    """Return each pair with its score and whether its names share a token."""
    found = []
    for pair in pairs:
        one, other = (scorer.read(name, pair.type) for name in (pair.a, pair.b))
        seen = any(x.tokens & y.tokens for x in one for y in other)
        found.append(Scored(pair, scorer.score(pair.a, pair.b, pair.type), seen))
    return tuple(found)


def measured(
    type_name: str, scored: tuple[Scored, ...], scorer: Scorer, policy: Policy, *,
    labels: str = "", today: str = "",
) -> Measurement:  # fmt: skip
    """Return the cutoffs that a policy gives for scored pairs of one type."""
    steps = tuple(sweep(scored))
    allowed = [step for step in steps if step.at > scorer.ceiling]
    if policy.name == ZERO_ERRORS:
        upper = zero_errors(allowed, scored, policy)
    else:
        upper = choose_upper(allowed, scored, policy, scorer.rules)
    found = upper.at if upper.at is not None else upper.proposed
    lower, split, over = choose_lower(scored, policy, found)
    between = sum(s.score >= lower and (upper.at is None or s.score < upper.at) for s in scored)
    evidence = Evidence(
        policy=policy, chosen=upper.chosen, bounded=upper.bounded, split=split,
        review=between, proposed=upper.proposed,
    )  # fmt: skip
    cutoffs = Cutoffs(
        scorer=scorer.name, upper=upper.at, lower=lower, because=upper.because, labels=labels,
        bound=rounded_up(upper.bounded.bound) if found is not None else "",
        measured=today, evidence=evidence,
    )  # fmt: skip
    return Measurement(
        type=type_name, cutoffs=cutoffs, evidence=evidence, steps=steps, scored=scored,
        needed=upper.needed, split_over=over,
    )  # fmt: skip


# the upper cutoff


def sweep(scored: Iterable[Scored]) -> Iterator[Step]:
    """Yield every score as a cut, from the strictest down, with what is at or above it."""
    pairs = sorted(scored, key=lambda s: s.score, reverse=True)
    halves = list(_halves(pairs))
    for score, group in groupby(pairs, key=lambda s: s.score):
        for one in group:
            at = halves[one.pair.half]
            more = {"true": at.true + 1} if one.pair.same else {"false": at.false + 1}
            halves[one.pair.half] = at._replace(**more)
        yield Step(score, halves[0], halves[1], _both(*halves))


def choose_upper(
    steps: Sequence[Step], scored: Sequence[Scored], policy: Policy, rules: Collection[Fraction]
) -> Upper:
    """Return the lowest cut that keeps the policy on one half of the labels and on the other.

    `rules` are the scorer's.
    """
    kept = [step for step in eligible(steps, policy, rules) if step.bounded.keeps(policy)]
    if kept:
        return Upper(kept[-1].at, "", kept[-1].chosen, kept[-1].bounded)
    halves = _halves(scored)
    short = trials_needed(policy.max_false_merge) - min(half.different for half in halves)
    if short > 0:
        because = (
            f"too few labels: about {2 * short} more different pairs are needed to bound false "
            f"merges at {_percent(policy.max_false_merge)}"
        )
        return Upper(None, because, halves[0], halves[1], needed=2 * short)
    return Upper(None, _no_cut(steps, policy), *_strictest(steps, halves))


def eligible(steps: Sequence[Step], policy: Policy, rules: Collection[Fraction]) -> Iterator[Step]:
    """Yield the cuts that keep the policy on the half to choose on, each adding what is sure.

    Stricter than a rate over all matches: what a lower cut adds must itself be as precise as
    the policy says, so that sure pairs do not pay for guesses. It is looked at on all labels,
    as a half has few; and fewer pairs than one error in which would be allowed show nothing,
    unless it is a rule of the scorer that brings them, without an error.
    """
    last = Tally()
    for step in steps:
        added = step.whole.since(last)
        shown = _telling(added, policy) or (step.at in rules and not added.false)
        if shown and added.precise(policy) and step.chosen.keeps(policy):
            last = step.whole
            yield step


def _telling(added: Tally, policy: Policy) -> bool:
    """Whether the pairs are so many that one error in them would be within the policy."""
    return added.matches * (1 - policy.min_precision) >= 1


def zero_errors(steps: Sequence[Step], scored: Sequence[Scored], policy: Policy) -> Upper:
    """Return the lowest cut with no false merge on all labels, off unless its bound is accepted."""
    clean = [step for step in steps if not step.whole.false and step.whole.true]
    if not clean:
        whole = _count(scored)
        return Upper(None, "no cut is without a false merge on these labels", whole, whole)
    at, whole = clean[-1].at, clean[-1].whole
    if policy.accept_bound:
        return Upper(at, "", whole, whole)
    because = (
        f"0 false merges of {whole.different} different pairs bound the rate at "
        f"{whole.bound:.2g} only: {at} is not matched at without --accept-bound"
    )
    return Upper(None, because, whole, whole, proposed=at)


def _no_cut(steps: Sequence[Step], policy: Policy) -> str:
    if not steps:
        return "no pair scores high enough to be matched by its names"
    worse = max(steps[0].chosen, steps[0].bounded, key=lambda half: (half.false, -half.true))
    return (
        f"no cut keeps false merges within {_percent(policy.max_false_merge)} and precision at "
        f"{_percent(policy.min_precision)} on both halves: at {steps[0].at}, {worse.false} of "
        f"{worse.matches} matches of one are wrong"
    )


def _strictest(steps: Sequence[Step], halves: tuple[Tally, Tally]) -> tuple[Tally, Tally]:
    return (steps[0].chosen, steps[0].bounded) if steps else halves


# the lower cutoff


def choose_lower(
    scored: Sequence[Scored], policy: Policy, upper: Fraction | None
) -> tuple[Fraction, Split, bool]:
    """Return the greatest cut that loses few enough true pairs, what it loses, and if too many.

    Of the true pairs that share a token; the others are counted beside: no score sees them.
    Where even the least score above 0 loses more than `max_split`, that is the cut.
    """
    true = [s for s in scored if s.pair.same]
    scores = sorted(s.score for s in true if s.seen)
    lost = 0 if policy.name == ZERO_ERRORS else int(policy.max_split * len(scores))
    lower = next((score for score in scores[lost:] if score > 0), None)
    if lower is None:
        lower = UNMEASURED
    lower = min(lower, upper) if upper is not None else lower
    split = Split(bisect_left(scores, lower), len(scores), len(true) - len(scores))
    return lower, split, split.lost > lost


class Lowered(NamedTuple):
    """A lower cutoff by what people judged, what that loses, and how many pairs it lacks."""

    at: Fraction
    split: Split
    needed: int


def lowered(pairs: Iterable[Pair], cutoffs: Cutoffs, policy: Policy) -> Lowered:
    """Return the lower cutoff that judged pairs of a type give beside an upper one that stays.

    Judgements come from between the cutoffs, so they say nothing of `upper`. Fewer true pairs
    than bound `max_split` with none lost leave `lower` as it is.
    """
    scored = score_all(pairs, SCORERS[cutoffs.scorer])
    lower, split, _ = choose_lower(scored, policy, cutoffs.upper)
    needed = max(0, trials_needed(policy.max_split) - split.of)
    return Lowered(cutoffs.lower if needed else lower, split, needed)


def tally(scored: Iterable[Scored], cut: Fraction | None) -> Tally:
    """Return what is at or above a cut; nothing where there is none."""
    pairs = list(scored)
    above = [s.pair.same for s in pairs if cut is not None and s.score >= cut]
    return _count(pairs)._replace(true=sum(above), false=len(above) - sum(above))


def _halves(scored: Sequence[Scored]) -> tuple[Tally, Tally]:
    return (
        _count(s for s in scored if s.pair.half == 0),
        _count(s for s in scored if s.pair.half == 1),
    )


def _count(scored: Iterable[Scored]) -> Tally:
    labels = [s.pair.same for s in scored]
    return Tally(sum(labels), len(labels) - sum(labels))


def _both(one: Tally, other: Tally) -> Tally:
    return Tally(*(a + b for a, b in zip(one, other, strict=True)))


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.3g}%"
