"""What is counted of labelled pairs, and what the counts bound.

Rates of rare errors are bounded, not estimated: none seen in four pairs says next to nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, floor, lgamma, log, log1p, log10
from typing import NamedTuple

LEVEL = 0.05  # a bound holds with 95%, one-sided
DIGITS = 4  # of a bound that is kept; rounded up, so that it stays one
_STEPS = 1000  # of the continued fraction: some sqrt(max(a, b)) are needed
_CLOSE = 1e-14
_TINY = 1e-300
_HALVINGS = 60  # of [0, 1]: more than a float has digits


class Policy(NamedTuple):
    """What an upper cutoff has to keep (`measured`), or how it is found without (`zero-errors`).

    Shares of: labelled different pairs that are merged, at most; matches that are right, at
    least; true pairs sharing a token that the lower cutoff loses, at most. `accept_bound` lets
    pairs match by themselves at a cut of `zero-errors`, whatever its bound is.
    """

    name: str = "measured"
    max_false_merge: Fraction = Fraction(1, 200)
    min_precision: Fraction = Fraction(99, 100)
    max_split: Fraction = Fraction(1, 20)
    accept_bound: bool = False


class Tally(NamedTuple):
    """Labelled pairs of a set, and how many of them are at or above a cut: `true` and `false`."""

    same: int = 0
    different: int = 0
    true: int = 0
    false: int = 0

    @property
    def matches(self) -> int:
        """How many pairs match."""
        return self.true + self.false

    @property
    def precision(self) -> Fraction | None:
        """The share of the matches that is right; None where nothing matches."""
        return Fraction(self.true, self.matches) if self.matches else None

    @property
    def captured(self) -> Fraction | None:
        """The share of the same pairs that match; None where there are none."""
        return Fraction(self.true, self.same) if self.same else None

    @property
    def bound(self) -> float:
        """The 95% upper bound of the share of different pairs that match."""
        return upper_bound(self.false, self.different)

    def keeps(self, policy: Policy) -> bool:
        """Whether the false merges are few enough for the policy, and that is known."""
        return self.precise(policy) and self.bound <= policy.max_false_merge

    def precise(self, policy: Policy) -> bool:
        """Whether as many of the matches are right as the policy asks for."""
        return self.precision is not None and self.precision >= policy.min_precision

    def since(self, stricter: Tally) -> Tally:
        """Return the matches that a stricter cut does not have."""
        return self._replace(true=self.true - stricter.true, false=self.false - stricter.false)


class Split(NamedTuple):
    """Of `of` true pairs that share a token `lost` are below a cut; `unseen` ones share none."""

    lost: int
    of: int
    unseen: int

    @property
    def share(self) -> Fraction:
        """The share that is lost, 0 of none."""
        return Fraction(self.lost, self.of) if self.of else Fraction(0)


class Evidence(NamedTuple):
    """What cutoffs were measured on: the half they were chosen on and the one that bounds them.

    `review` counts the labelled pairs between the cutoffs, of all. `proposed` is an upper
    cutoff that was found and is not in force.
    """

    policy: Policy
    chosen: Tally
    bounded: Tally
    split: Split
    review: int
    proposed: Fraction | None = None

    @property
    def pairs(self) -> int:
        """How many labelled pairs there are, each counted once."""
        halves = (self.chosen,) if self.whole else (self.chosen, self.bounded)
        return sum(half.same + half.different for half in halves)

    @property
    def whole(self) -> bool:
        """Whether both tallies are of all labels: `zero-errors` has no halves."""
        return self.policy.name == "zero-errors"

    @property
    def review_share(self) -> Fraction:
        """The share of the labelled pairs that goes to review."""
        return Fraction(self.review, self.pairs) if self.pairs else Fraction(0)


def upper_bound(errors: int, trials: int, level: float = LEVEL) -> float:
    """Return the one-sided upper bound of a rate of which `errors` in `trials` were seen.

    The greatest p at which seeing no more than that has probability `level` (Clopper and
    Pearson, Biometrika 26, 1934); 1 where nothing was tried or everything went wrong.
    """
    if errors >= trials:
        return 1.0
    low, high = errors / trials, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if at_most(errors, trials, middle) > level:
            low = middle
        else:
            high = middle
    return high


def at_most(errors: int, trials: int, rate: float) -> float:
    """Return the probability of at most `errors` (fewer than `trials`) in `trials` at a rate.

    The binomial sum as the regularised incomplete beta function I_(1-p)(n-k, k+1) (Abramowitz
    and Stegun 26.5.24).
    """
    return _beta(trials - errors, errors + 1, 1.0 - rate)


def rounded_up(bound: float) -> str:
    """Return a bound in decimals of two significant digits, at least `DIGITS`, never below it."""
    digits = max(DIGITS, 1 - _magnitude(bound)) if bound > 0 else DIGITS
    scaled = ceil(round(bound * 10**digits, 6))
    return f"{min(1.0, scaled / 10**digits):.{digits}f}".rstrip("0").rstrip(".")


def trials_needed(rate: Fraction) -> int:
    """Return how many trials without an error bound its rate at `rate`: (1 - rate)^n <= 0.05."""
    return ceil(log(LEVEL) / log1p(-float(rate))) if 0 < rate < 1 else 1


def _magnitude(value: float) -> int:
    return floor(log10(value))


def _beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    By its continued fraction (DLMF 8.17.22), which converges fast below the mean; above it by
    the symmetry I_x(a, b) = 1 - I_(1-x)(b, a).
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the value of the continued fraction, by Lentz's method (modified, Thompson 1986)."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
