"""Labelled pairs of names: read from JSON Lines or CSV, counted once, and cut into two halves.

Nothing here depends on the order of lines or files: a pair's half is its own hash.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar
from unicodedata import normalize

from kg.errors import RefusedError

T = TypeVar("T")

_SAYS = {
    "1": True, "true": True, "same": True, "0": False, "false": False, "different": False,
}  # fmt: skip
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_HELP = "see kg measure --help"
MAX_NAME = 1000  # characters: more is a text, and one of them would stop everything


class Pair(NamedTuple):
    """Two names of a type, the lesser first, and whether they are called by the same thing."""

    type: str
    a: str
    b: str
    same: bool
    source: str = ""

    @property
    def names(self) -> tuple[str, str, str]:
        """What is labelled: the type and the two names."""
        return self.type, self.a, self.b

    @property
    def half(self) -> int:
        """Return 0 or 1: the half of the labels that the pair belongs to, by its hash alone."""
        return hashlib.sha256(_line(self.names).encode()).digest()[0] & 1


@dataclass(frozen=True, slots=True)
class Labels:
    """Pairs, sorted, each once; those labelled both ways are left out, and counted."""

    pairs: tuple[Pair, ...]
    twice: int = 0
    both_ways: tuple[tuple[str, str, str], ...] = ()

    @property
    def id(self) -> str:
        """The id of the set: 12 hex digits of the sha256 of its pairs with their labels."""
        told = "\n".join(_line((*pair.names, int(pair.same))) for pair in self.pairs)
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    @property
    def types(self) -> dict[str, list[Pair]]:
        """The pairs of each type, types sorted."""
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.type, []).append(pair)
        return found


def pair_of(type_name: str, one: str, other: str, same: bool, source: str = "") -> Pair:
    """Return the pair of two names, in whichever order they come."""
    a, b = sorted((normalize("NFC", one), normalize("NFC", other)))
    return Pair(type_name, a, b, same, source)


def labels_of(pairs: Iterable[Pair]) -> Labels:
    """Return the set that pairs make, whatever their order.

    What is labelled both ways says nothing: it is left out, and named in `both_ways`.
    """
    found: dict[tuple[str, str, str], Pair] = {}
    odd: set[tuple[str, str, str]] = set()
    count = 0
    for pair in pairs:
        count += 1
        first = found.setdefault(pair.names, pair)
        if first.same != pair.same:
            odd.add(pair.names)
        found[pair.names] = min(first, pair)
    kept = tuple(sorted(pair for names, pair in found.items() if names not in odd))
    return Labels(kept, count - len(found), tuple(sorted(odd)))


def read_labels(data: bytes, where: str, type_name: str = "") -> Iterator[Pair]:
    """Yield the pairs of a file: JSON Lines, or CSV with a header that names a, b and label.

    `type_name` is the type of those that name none.

    Raises:
        RefusedError: a line is no labelled pair; names the file and the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RefusedError(f"{where} line {line} is not UTF-8: convert it (iconv)") from None
    rows = _json_lines if text.lstrip()[:1] in ("{", "[", "") else _csv_rows
    for number, row in rows(text, where):
        yield _at(where, number, partial(_pair, row, type_name))


def write_labels(pairs: Iterable[Pair]) -> bytes:
    """Return pairs as JSON Lines, sorted, the same bytes for the same pairs."""
    lines = (
        {"a": p.a, "b": p.b, "label": int(p.same), "type": p.type}
        | ({"source": p.source} if p.source else {})
        for p in sorted(pairs)
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _line(members: tuple[Any, ...]) -> str:
    return json.dumps(members, ensure_ascii=True, separators=(",", ":"))


def _at(where: str, number: int, make: Callable[[], T]) -> T:
    try:
        return make()
    except RefusedError as error:
        raise RefusedError(f"{where} line {number}: {error}") from None


def _json_lines(text: str, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, _at(where, number, partial(_object, line))


def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise RefusedError(f"is not JSON: {_HELP}") from None
    if not isinstance(value, dict):
        raise RefusedError(f"is not a JSON object: {_HELP}")
    return value


def _csv_rows(text: str, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in ("a", "b", "label") if name not in (reader.fieldnames or ())]
        if missing:
            raise RefusedError(f"{where} line 1: the header names no {missing[0]}: {_HELP}")
        for row in reader:
            yield reader.line_num, {n: v for n, v in row.items() if n is not None and v is not None}
    except csv.Error as error:
        raise RefusedError(
            f"{where} line {reader.line_num} is not CSV ({error}): {_HELP}"
        ) from None


def _pair(row: Mapping[str, Any], type_name: str) -> Pair:
    one, other = (_name(row, member) for member in ("a", "b"))
    type_ = row.get("type") or type_name
    if not type_:
        raise RefusedError("has no type: give one there, or for all with --type")
    if not isinstance(type_, str) or not _TYPE.fullmatch(type_):
        raise RefusedError(f"{str(type_)[:40]!a} is no type: write one as kg ontology does")
    source = row.get("source", "")
    return pair_of(type_, one, other, _label(row), source if isinstance(source, str) else "")


def _name(row: Mapping[str, Any], member: str) -> str:
    name = row.get(member)
    if not isinstance(name, str) or not name.strip():
        raise RefusedError(f"{member} is missing or no name: {_HELP}")
    if len(name) > MAX_NAME or any("\ud800" <= c <= "\udfff" for c in name):
        raise RefusedError(f"{member} is longer than {MAX_NAME} characters or no text: correct it")
    return name


def _label(row: Mapping[str, Any]) -> bool:
    said = str(row.get("label", "")).strip().lower()
    if said not in _SAYS:
        raise RefusedError("label is not 1, 0, same, different, true or false: correct it")
    return _SAYS[said]
