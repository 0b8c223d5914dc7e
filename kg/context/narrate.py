"""The context view as prose, from templates: for a model that reads sentences better than rows.

At most half of the facts are told: first who is who, then what there is, last what matters
most. Values stand as they are, so numbers, dates and addresses are never reworded. Prose is
made anew each time and kept nowhere.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from kg.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kg.context.view import Line

IDENTITY = ("description", "summary", "kind", "role", "also-known-as", "entity-type")
MATTERS = 8  # importance from which a fact stands at the close


def narrate(lines: Iterable[Line]) -> str:
    """Return prose of at most half of the facts, and how many it leaves out."""
    lines = list(lines)
    told = _told(sorted(lines, key=lambda line: (-line.importance, line.born, line.name)))
    most = max((line.importance for line in told if line.k not in IDENTITY), default=0)
    parts: list[list[Line]] = [[], [], []]  # who is who, what there is, what matters most
    for line in told:
        matters = line.importance >= min(MATTERS, most)
        parts[0 if line.k in IDENTITY else 2 if matters else 1].append(line)
    out = len(lines) - len(told)
    last = f"{out} of {len(lines)} facts are left out: kg context shows each, with its source."
    return "\n\n".join([*(p for part in parts for p in _paragraphs(part)), last]) + "\n"


def _told(lines: list[Line]) -> list[Line]:
    """Return half of the facts, which come by importance, with someone's identity among them."""
    told, rest = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    if len(told) > 1 and all(line.k not in IDENTITY for line in told):
        told[-1:] = [line for line in rest if line.k in IDENTITY][:1] or told[-1:]
    return told


def _paragraphs(lines: list[Line]) -> Iterator[str]:
    """Yield a paragraph for each entity."""
    by_id = sorted(lines, key=lambda line: (line.id, line.born))
    for id_, group in groupby(by_id, key=lambda line: line.id):
        yield " ".join(one_line(_sentence(id_, line)) for line in group)


def _sentence(id_: str, line: Line) -> str:
    """Return one fact as a sentence that ends in a full stop of its own."""
    if line.k.startswith("-> "):
        return f"{id_} {_verb(line.k.removeprefix('-> '))} {line.v} ."
    if line.k in ("description", "summary"):
        return f"{id_}: {line.v} ."
    return f"The {line.k.replace('-', ' ')} of {id_} is {line.v} ."


def _verb(predicate: str) -> str:
    """Return a predicate as words: owned-by as "is owned by"."""
    words = predicate.replace("-", " ")
    return f"is {words}" if predicate.endswith(("-by", "-of", "-in", "-at")) else words
