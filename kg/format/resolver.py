"""resolver.json: the measured cutoffs of each type, with what they were measured on."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from kg.errors import FormatError, FormatVersionError, RefusedError
from kg.format.canonical import encode, load
from kg.format.schema import problems
from kg.resolve.bands import Cutoffs
from kg.resolve.evidence import Evidence, Policy, Split, Tally

PATH = "resolver.json"
VERSION = 1
LABELS = "labels"  # the folder of labelled pairs
_SHARES = ("max_false_merge", "min_precision", "max_split")


def parse_resolver(data: bytes, *, path: str = PATH) -> Mapping[str, Cutoffs]:
    """Return the cutoffs of each type; none of a newer format, so that a person decides.

    Raises:
        FormatError: it breaks the format.
    """
    raw = load(data, path)
    if is_newer(raw):
        return {}
    found = problems("resolver", raw)
    if found:
        raise FormatError(path, found[0].problem, found[0].pointer)
    return {name: _cutoffs(path, name, members) for name, members in raw["types"].items()}


def cutoffs_of(data: bytes | None) -> Mapping[str, Cutoffs]:
    """Return what a store goes by: its file's cutoffs, the shipped ones where it has no file.

    Raises:
        FormatError: the file breaks the format.
    """
    return shipped() if data is None else parse_resolver(data)


def check_version(data: bytes) -> None:
    """Refuse to write over a file of a newer format.

    Raises:
        FormatVersionError: a newer kg wrote it.
    """
    raw = load(data, PATH)
    if is_newer(raw):
        raise FormatVersionError(
            PATH,
            f"written in format {raw['kg_resolver']}, this kg writes {VERSION}: "
            "upgrade kg to measure here",
        )


@cache
def shipped() -> Mapping[str, Cutoffs]:
    """Return the cutoffs that `kg init` writes, and that hold where a store has no file."""
    return parse_resolver(shipped_bytes(), path="the shipped resolver.json")


def shipped_bytes() -> bytes:
    """Return the shipped file, as scripts/bench/resolve.py makes it."""
    return files("kg").joinpath(PATH).read_bytes()


def dump_resolver(cutoffs: Mapping[str, Cutoffs]) -> bytes:
    """Return resolver.json's bytes: a block a type, sorted, a member on a line."""
    blocks = [f"    {encode(name)}: {_block(cutoffs[name])}" for name in sorted(cutoffs)]
    body = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "kg_resolver": {VERSION},\n  "types": {body}\n}}\n'.encode()


def is_newer(raw: Mapping[str, Any]) -> bool:
    """Whether a newer kg wrote it."""
    version = raw.get("kg_resolver")
    return isinstance(version, int) and not isinstance(version, bool) and version > VERSION


def to_json(cutoffs: Cutoffs) -> dict[str, Any]:
    """Return the members of a type's block: fractions and decimals are strings."""
    shown: dict[str, Any] = {
        "scorer": cutoffs.scorer,
        "upper": "off" if cutoffs.upper is None else str(cutoffs.upper),
        "lower": str(cutoffs.lower),
        "because": cutoffs.because,
        "bound": cutoffs.bound,
        "labels": cutoffs.labels,
        "measured": cutoffs.measured,
        "lower_labels": cutoffs.lower_labels,
    }
    if cutoffs.evidence is not None:
        shown |= _evidence(cutoffs.evidence)
    return {name: value for name, value in shown.items() if value != ""}


def _evidence(found: Evidence) -> dict[str, Any]:
    shares = {name: decimal(getattr(found.policy, name)) for name in _SHARES}
    accepts = {"accept_bound": True} if found.policy.accept_bound else {}
    return {
        "proposed": "" if found.proposed is None else str(found.proposed),
        "policy": {"name": found.policy.name, **shares, **accepts},
        "chosen": found.chosen._asdict(),
        "bounded": found.bounded._asdict(),
        "precision": _precision(found.bounded),
        "split": found.split._asdict(),
        "review": {"pairs": found.review, "of": found.pairs},
    }


def decimal(share: Fraction) -> str:
    """Return a share as a decimal of at most six digits, exactly where that is possible."""
    return f"{float(share):.6f}".rstrip("0").rstrip(".") or "0"


def _precision(tally: Tally) -> str:
    return "" if tally.precision is None else decimal(tally.precision)


def _block(cutoffs: Cutoffs) -> str:
    rows = [f"      {encode(name)}: {encode(value)}" for name, value in to_json(cutoffs).items()]
    return "{\n" + ",\n".join(rows) + "\n    }"


def _cutoffs(path: str, name: str, raw: Mapping[str, Any]) -> Cutoffs:
    try:
        return Cutoffs(
            scorer=raw["scorer"],
            upper=None if raw["upper"] == "off" else Fraction(raw["upper"]),
            lower=Fraction(raw["lower"]),
            because=raw.get("because", ""),
            bound=raw.get("bound", ""),
            labels=raw.get("labels", ""),
            measured=raw.get("measured", ""),
            lower_labels=raw.get("lower_labels", ""),
            evidence=_parse_evidence(raw) if "policy" in raw else None,
        )
    except (RefusedError, ZeroDivisionError) as error:
        raise FormatError(path, str(error), f"/types/{name}") from None


def _parse_evidence(raw: Mapping[str, Any]) -> Evidence:
    policy = raw["policy"]
    return Evidence(
        policy=Policy(
            policy["name"],
            accept_bound=policy.get("accept_bound", False),
            **{name: Fraction(policy[name]) for name in _SHARES},
        ),
        chosen=Tally(**raw["chosen"]),
        bounded=Tally(**raw["bounded"]),
        split=Split(**raw["split"]),
        review=raw["review"]["pairs"],
        proposed=Fraction(raw["proposed"]) if "proposed" in raw else None,
    )
