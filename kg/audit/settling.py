"""How a contradiction is settled: as observations, so that it is written like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kg.audit.conflicts import Side
from kg.errors import NotFoundError, RefusedError
from kg.graph.rawtext import whole
from kg.model import Value, run_order, value_text
from kg.text import fold

Said = list[dict[str, Any]]


def keep(sides: Sequence[Side], value: str, because: str) -> Said:
    """Return the observation that retracts all but one value.

    Raises:
        NotFoundError: none of them is that.
    """
    _one(sides, value)
    gone = [_named(side, because) for side in sides if not _is(side, value)]
    return [{"text": because, "retract": gone}]


def set_to(sides: Sequence[Side], id_: str, key: str, value: Value, because: str) -> Said:
    """Return the observations that retract all values, and say another."""
    gone = [_named(side, because) for side in sides if not _is(side, value_text(value))]
    edge = next((side for side in sides if side.k == key and side.edge), None)
    lines = whole(because)
    new: dict[str, Any]
    if edge is None:
        new = {"facts": [{"entity": id_, "k": key, "v": value, "lines": lines}]}
    else:
        new = {"edges": [{"subject": id_, "predicate": key, "object": value, "lines": lines}]}
    return [{"text": because, "retract": gone}, {"text": because, **new}]


def split(sides: Sequence[Side], date: str, first: str | None, because: str) -> Said:
    """Return the observations by which one of two values held until a date, the other since.

    Raises:
        RefusedError: there are more than two; or one begins or ends at another time already.
    """
    if len({fold(value_text(side.v)) for side in sides}) != 2 or len(sides) != 2:
        raise RefusedError("more than two statements contradict: use --keep or --set")
    if any(side.claim.since or side.claim.until for side in sides):
        raise RefusedError("one of them has a time of its own: use --keep or --set")
    old = _one(sides, first) if first is not None else _older(sides)
    new = next(side for side in sides if side is not old)
    # an undated claim is another statement than one with a beginning, so it is taken back
    return [
        {"text": because, "retract": [_named(new, because)]},
        {
            "text": because,
            **_again((old, {"until": date}), (new, {"since": date}), because=because),
        },
    ]


def _again(*dated: tuple[Side, dict[str, str]], because: str) -> dict[str, Any]:
    """Return the parts of an observation that say these again, with times."""
    facts = [_fact(side, because) | times for side, times in dated if not side.edge]
    edges = [_edge(side, because) | times for side, times in dated if side.edge]
    return {name: part for name, part in (("facts", facts), ("edges", edges)) if part}


def _fact(side: Side, because: str) -> dict[str, Any]:
    return {"entity": side.id, "k": side.k, "v": side.v, "lines": whole(because)}


def _edge(side: Side, because: str) -> dict[str, Any]:
    ends = {"subject": side.id, "predicate": side.k, "object": side.v}
    return {**ends, "lines": whole(because)}


def _named(side: Side, because: str) -> dict[str, Any]:
    """Return the retraction of one side."""
    if side.edge:
        said = {"entity": side.id, "predicate": side.k, "object": side.v}
        return {**said, "lines": whole(because)}
    since = {"since": side.claim.since} if side.claim.since else {}
    return {**_fact(side, because), **since}


def _one(sides: Iterable[Side], value: str) -> Side:
    found = next((side for side in sides if _is(side, value)), None)
    if found is None:
        values = ", ".join(ascii(value_text(side.v)) for side in sides)
        raise NotFoundError(f"none of the values is {value!a}: name one of {values}")
    return found


def _is(side: Side, value: str) -> bool:
    return fold(value_text(side.v)) == fold(value)


def _older(sides: Iterable[Side]) -> Side:
    return min(sides, key=lambda side: (run_order(side.claim.seen_run), side.claim.src))
