"""How alike two names are: named and versioned pure functions, exact to the fraction.

Cutoffs are measured for one scorer and version and hold for no other. So a scorer never
changes: a better one gets the next version, and both stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from kg.errors import RefusedError
from kg.resolve.forms import (
    Form,
    bare_words,
    ecosystem,
    forms,
    numbers,
    same_order_needed,
)

ZERO, ONE = Fraction(0), Fraction(1)
SQUASHED = Fraction(19, 20)  # equal but for what separates the words
WRITTEN = Fraction(9, 10)  # a person's handle, a middle initial, another word for the ecosystem
REORDERED = Fraction(17, 20)  # the same words in another order: gnuplot_py is not PyGnuplot
BARRED = Fraction(1, 2)  # numbers differ: however alike, never a match by the text


class Scorer(NamedTuple):
    """A scorer: its name with its version, how it reads a name, and how it compares two readings.

    `ceiling` is the greatest score that must never be a match: an upper cutoff lies above it.
    `rules` are the scores of names that a rule holds for equal; all others are shares of words.
    """

    name: str
    read: Callable[[str, str], tuple[Form, ...]]  # name, type -> readings
    compare: Callable[[Form, Form, str], Fraction]
    ceiling: Fraction = ZERO
    rules: frozenset[Fraction] = frozenset({ONE})

    def score(self, one: str, other: str, type_name: str) -> Fraction:
        """Return how alike two names of a type are, from 0 to 1: that of their best readings."""
        first, second = self.read(one, type_name), self.read(other, type_name)
        if len(first) == 1 == len(second):  # as nearly always
            return self.compare(first[0], second[0], type_name)
        return max(self.compare(a, b, type_name) for a in first for b in second)


def scorer(name: str) -> Scorer:
    """Return the scorer of that name.

    Raises:
        RefusedError: there is none; names those that are.
    """
    if name not in SCORERS:
        raise RefusedError(f"there is no scorer {name!a}: use one of {', '.join(SCORERS)}")
    return SCORERS[name]


# token-set-jaccard/1: six lines of shell in the seed article, exact to its bytes: `tr` lowers
# the letters A to Z alone and makes a space of every byte that is no letter or digit of ASCII.

_SEED_WORD = re.compile(r"[a-z0-9]+")
_SEED_DROPS = frozenset({"inc", "llc", "ltd", "the", "co", "corp"})
_LOWER = str.maketrans({chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)})


def _read_1(name: str, _type: str) -> tuple[Form, ...]:
    words = tuple(_SEED_WORD.findall(name.translate(_LOWER)))
    tokens = frozenset(words) - _SEED_DROPS
    return (Form(words, tokens, "", frozenset(), frozenset()),)


def _compare_1(one: Form, other: Form, _type: str) -> Fraction:
    return jaccard(one.tokens, other.tokens)


def jaccard(one: frozenset[str], other: frozenset[str]) -> Fraction:
    """Return the share of common members in all of two sets; 0 for two empty ones."""
    both = len(one & other)
    return share(both, len(one) + len(other) - both) if both else ZERO


@lru_cache(maxsize=10_000)
def share(some: int, every: int) -> Fraction:
    """Return a fraction, each of the few there are only once."""
    return Fraction(some, every)


# token-set-jaccard/2


def _compare_2(one: Form, other: Form, type_name: str) -> Fraction:
    if not one.tokens or not other.tokens:
        return ZERO
    squashed = _squashed(one, other)
    if one.hard - other.hard and other.hard - one.hard:
        return squashed  # api-1 and api-2: different numbers name different things
    person = type_name == "Person"
    written_twice = one.tokens == other.tokens and one.twice != other.twice
    if one.han != other.han or written_twice or (one.hard != other.hard and not person):
        return max(squashed, min(BARRED, jaccard(one.tokens, other.tokens)))
    if person:
        return _compare_people(one, other)
    if one.tokens == other.tokens:
        moved = one.squash != other.squash and type_name in ("Object", "Location")
        return REORDERED if moved else ONE
    published = type_name == "Object" and _published_alike(one, other)
    return max(squashed, WRITTEN if published else ZERO, jaccard(one.tokens, other.tokens))


def _squashed(one: Form, other: Form) -> Fraction:
    """Return what it is worth that only the separators differ, and no number by it."""
    if one.squash != other.squash or one.han != other.han or one.letters != other.letters:
        return ZERO
    return SQUASHED if numbers(" ".join(one.words)) == numbers(" ".join(other.words)) else ZERO


def _compare_people(one: Form, other: Form) -> Fraction:
    if one.squash == other.squash:
        return ONE if one.words == other.words else SQUASHED
    reordered = same_order_needed(one.words) or same_order_needed(other.words)
    if one.hard != other.hard or (reordered and one.tokens == other.tokens):
        return min(BARRED, jaccard(one.tokens, other.tokens))
    if one.tokens == other.tokens:
        return ONE
    if _handle(one, other) or _handle(other, one) or _middle(one, other) or _middle(other, one):
        return WRITTEN
    return jaccard(one.tokens, other.tokens)


def _handle(one: Form, other: Form) -> bool:
    """Whether the first is a single word that is a handle of the second."""
    return len(one.words) == 1 and one.squash in other.keys


def _middle(one: Form, other: Form) -> bool:
    """Whether the second is the first with initials between the first and the last name."""
    names, more = one.words, other.words
    if len(names) < 2 or (names[0], names[-1]) != (more[0], more[-1]):
        return False
    return len(more) > len(names) and tuple(w for w in more if len(w) > 1) == names


def _published_alike(one: Form, other: Form) -> bool:
    """Whether two names of one ecosystem are equal but for how it is named (python3, py)."""
    spoken = ecosystem(one.words)
    bare = bare_words(one.words)
    same = bool(spoken) and spoken == ecosystem(other.words)
    return same and bool(bare) and bare == bare_words(other.words)


_RULES = frozenset({ONE, SQUASHED, WRITTEN, REORDERED})

SCORERS = {
    made.name: made
    for made in (
        Scorer("token-set-jaccard/1", _read_1, _compare_1),
        Scorer("token-set-jaccard/2", forms, _compare_2, BARRED, _RULES),
    )
}
