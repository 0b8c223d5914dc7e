"""What the resolver makes of two names, and why: for people who ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kg.resolve.bands import Band, Cutoffs
from kg.resolve.decision import differing_words
from kg.resolve.forms import Form
from kg.resolve.scorers import scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two names of a type, their readings that are most alike, the score and its band.

    `reasons` say what the score comes from, `vetoes` what speaks against a match all the same;
    `would` is what the resolver does: the band, or review where there is a veto.
    """

    names: tuple[str, str]
    type: str
    tokens: tuple[tuple[str, ...], tuple[str, ...]]
    score: Fraction
    cutoffs: Cutoffs
    reasons: tuple[str, ...]
    vetoes: tuple[str, ...] = ()
    ids: tuple[str, str] = ("", "")
    stands: dict[str, Any] = field(default_factory=dict)

    @property
    def band(self) -> Band:
        """The band of the score alone."""
        return self.cutoffs.band(self.score)

    @property
    def would(self) -> Band:
        """What the resolver does."""
        return "review" if self.vetoes and self.band == "match" else self.band

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it; scores are exact fractions as text."""
        upper = self.cutoffs.upper
        sides = [
            {"name": name, "tokens": list(tokens), **({"id": id_} if id_ else {})}
            for name, tokens, id_ in zip(self.names, self.tokens, self.ids, strict=True)
        ]
        return {
            "a": sides[0], "b": sides[1], "type": self.type, "scorer": self.cutoffs.scorer,
            "score": str(self.score), "upper": str(upper) if upper is not None else None,
            "lower": str(self.cutoffs.lower), "bound": self.cutoffs.bound, "band": self.band,
            "would": self.would, "reasons": list(self.reasons), "vetoes": list(self.vetoes),
            **({"stands": self.stands} if self.stands else {}),
        }  # fmt: skip


def compare(
    one: Sequence[str], other: Sequence[str], type_name: str, cutoffs: Cutoffs
) -> Comparison:
    """Return the comparison of two things by whichever of their names are most alike."""
    scoring = scorer(cutoffs.scorer)
    read, pairs = scoring.read, ((a, b) for a in one for b in other)
    score, a, b, x, y = max(
        (scoring.compare(x, y, type_name), a, b, x, y)
        for a, b in pairs
        for x in read(a, type_name)
        for y in read(b, type_name)
    )
    return Comparison(
        names=(a, b),
        type=type_name,
        tokens=(tuple(sorted(x.tokens)), tuple(sorted(y.tokens))),
        score=score,
        cutoffs=cutoffs,
        reasons=tuple(_reasons(x, y, score, cutoffs)),
        vetoes=tuple(differing_words(a, b, type_name)),
    )


def _reasons(one: Form, other: Form, score: Fraction, cutoffs: Cutoffs) -> list[str]:
    common, every = one.tokens & other.tokens, one.tokens | other.tokens
    said = f"{len(common)} of {len(every)} words in common"
    found = [f"{said}: {' '.join(sorted(common))}" if common else said]
    if not one.tokens or not other.tokens:
        found = ["a name without a word of its own is never matched"]
    elif one.tokens != other.tokens and one.squash and one.squash == other.squash:
        found.append("equal but for what separates the words")
    elif score > Fraction(len(common), len(every)):
        found.append("one way of writing the other")
    only = [sorted(a.hard - b.hard) for a, b in ((one, other), (other, one))]
    if any(only):
        found.append(
            "numbers or letters differ: " + " / ".join(" ".join(o) or "none" for o in only)
        )
    if cutoffs.upper is None:
        found.append(cutoffs.because or "automatic matching is off")
    return found
