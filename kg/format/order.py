"""context.json: the order of the context view, once someone consolidated it."""

from __future__ import annotations

from typing import NamedTuple

from kg.errors import FormatError
from kg.format.canonical import encode, load
from kg.format.schema import problems

PATH = "context.json"
VERSION = 1
DIGITS = 12  # so a value that is taken back, or purged, does not live on here


class Order(NamedTuple):
    """The names of facts in order, each `DIGITS` hex digits of a hash (FORMAT.md)."""

    names: tuple[str, ...]


def parse_order(data: bytes) -> Order:
    """Return the order that a file holds.

    Raises:
        FormatError: it breaks the format.
    """
    raw = load(data, PATH)
    found = problems("context", raw)
    if found:
        raise FormatError(PATH, found[0].problem, found[0].pointer)
    return Order(tuple(raw["order"]))


def dump_order(order: Order) -> bytes:
    """Return context.json's bytes: one fact a line."""
    rows = ",\n".join(f"    {encode(name)}" for name in order.names)
    block = f"[\n{rows}\n  ]" if rows else "[]"
    return f'{{\n  "kg_context": {VERSION},\n  "order": {block}\n}}\n'.encode()
