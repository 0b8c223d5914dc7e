"""How far a statement can be trusted: computed when it is read, never stored.

The weight of its basis, lifted by a person who checked it, times a factor while something
contradicts it, times an age decay for what is a matter of taste or of the moment. The constants
are choices, not measurements (DESIGN.md, 3); a store's policy `confidence` overrides them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kg.clusters import PERSON
from kg.model import Claim, Sighting, run_order

WEIGHTS = {"stated": 1.0, "observed": 0.85, "imported": 0.8, "inferred": 0.7}
VALIDATED = 0.95  # at least, once a person has checked it
CONTRADICTED = 0.3  # times, while another value holds at the same time
HALF_LIFE = 90  # days, of what fades: after so many it counts for half
FADES = ("preference", "observation")
_DAY = 86_400


class Confidence(NamedTuple):
    """A value from 0 to 1, and what it is made of; `age` is in days since it was last seen."""

    value: float
    weight: float
    validated: bool
    contradicted: bool
    age: float
    decay: float

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        rounded = {n: round(v, 3) for n, v in self._asdict().items() if isinstance(v, float)}
        return {**self._asdict(), **rounded}


def confidence(
    claim: Claim, again: Iterable[Sighting], kind: str, *, contradicted: bool, now: float,
    policy: Mapping[str, Any],
) -> Confidence:  # fmt: skip
    """Return how far a claim can be trusted at `now` (seconds).

    `again` are its sightings, `kind` what it is or its key implies; `policy` may have `weights`
    by basis, `validated`, `contradicted` and `half_life` (days).
    """
    seen = list(again)
    validated = any(s.by.startswith(PERSON) for s in seen)
    given = policy.get("weights")
    weight = _number(given if isinstance(given, Mapping) else {}, claim.basis, WEIGHTS[claim.basis])
    if validated:
        weight = max(weight, _number(policy, "validated", VALIDATED))
    last = max(run_order(run)[0] for run in (claim.seen_run, *(s.run for s in seen)))
    age = max(0.0, now - last) / _DAY
    half = _number(policy, "half_life", HALF_LIFE) or HALF_LIFE
    decay = 0.5 ** (age / half) if kind in FADES else 1.0
    factor = _number(policy, "contradicted", CONTRADICTED) if contradicted else 1.0
    value = min(1.0, max(0.0, weight * factor * decay))
    return Confidence(value, weight, validated, contradicted, age, decay)


def _number(table: Mapping[str, Any], name: str, default: float) -> float:
    found = table.get(name, default)
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if number and found >= 0 else default
