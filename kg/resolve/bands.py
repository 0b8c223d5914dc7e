"""The three bands: what a score means, once cutoffs have been measured for its scorer and type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from kg.errors import RefusedError
from kg.resolve.evidence import Evidence
from kg.resolve.scorers import SCORERS

Band = Literal["match", "review", "non-match"]
DEFAULT = "token-set-jaccard/2"  # what names are compared with where nothing is measured
# Where nothing was measured nothing matches by itself, and what shares a third is looked at.
UNMEASURED = Fraction(1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """The two cutoffs of one type, for one scorer and version, with what they were measured on.

    `upper` is None where automatic matching is off; `because` then says why. `labels` is the id
    of the label set, `measured` the day, `evidence` what was counted. `bound` is the 95% upper
    bound of the false-merge rate at `upper`, as a decimal, "" where there is none. `lower_labels`
    is the id of the judgements that have moved `lower` since.
    """

    scorer: str
    upper: Fraction | None
    lower: Fraction
    bound: str = ""
    because: str = ""
    labels: str = ""
    measured: str = ""
    evidence: Evidence | None = None
    lower_labels: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.lower <= 1:
            raise RefusedError(f"lower is {self.lower}: a cutoff lies above 0, up to 1")
        if self.upper is not None and not self.lower <= self.upper <= 1:
            raise RefusedError(f"upper is {self.upper}, lower {self.lower}: upper is the greater")
        known = SCORERS.get(self.scorer)
        if known and self.upper is not None and self.upper <= known.ceiling:
            raise RefusedError(
                f"upper is {self.upper}: {self.scorer} gives up to {known.ceiling} "
                "to names whose numbers differ, which are never a match"
            )

    @property
    def known(self) -> bool:
        """Whether this kg has the scorer that they were measured for."""
        return self.scorer in SCORERS

    def band(self, score: Fraction) -> Band:
        """Return what a score of this scorer means."""
        if self.upper is not None and score >= self.upper:
            return "match"
        return "review" if score >= self.lower else "non-match"


def unmeasured(because: str) -> Cutoffs:
    """Return the cutoffs of a type for which there are none: nothing matches by itself."""
    return Cutoffs(scorer=DEFAULT, upper=None, lower=UNMEASURED, because=because)


def in_force(measured: Mapping[str, Cutoffs], type_name: str) -> Cutoffs:
    """Return the cutoffs to decide by for a type; those of a scorer this kg has not are refused."""
    found = measured.get(type_name)
    if found is None:
        return unmeasured(f"no cutoffs are measured for {type_name}: see kg measure --help")
    if not found.known:
        return unmeasured(
            f"the cutoffs of {type_name} are those of {found.scorer}, which this kg has not: "
            "measure again"
        )
    return found
