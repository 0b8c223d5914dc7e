"""resolver.json (being written elsewhere; this stands in until it is merged)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from kg.resolve.bands import DEFAULT, Cutoffs

PATH = "resolver.json"


def parse_resolver(data: bytes) -> Mapping[str, Cutoffs]:
    """Return the cutoffs."""
    return shipped()


def shipped() -> Mapping[str, Cutoffs]:
    """Return the shipped cutoffs."""
    said = {
        "Person": ("9/10", "1/3"),
        "Object": ("9/10", "2/7"),
        "Organization": ("19/20", "1/6"),
        "Location": ("17/20", "1/4"),
    }
    return {
        t: Cutoffs(scorer=DEFAULT, upper=Fraction(u), lower=Fraction(l))
        for t, (u, l) in said.items()
    }
