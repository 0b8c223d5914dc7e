"""What a purge does to each file of history: pure, from path and bytes to path and bytes.

A purged line of raw/ becomes `[purged]`, so that the numbers of the other lines stand; a purged
word becomes `purged`, which fits wherever the word stood, in an id as well. A file of raw/ is named
by its bytes, so it gets a new name, and whatever points to it follows. A fact that repeats its
purged line is taken out, unless another line says the same: then that is its source. A trace
that rests on one is taken out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kg.errors import FormatError, KgError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
    dump_edge,
    dump_entity,
    edge_path,
    entity_path,
    parse_edge,
    parse_entity,
    parse_trace,
)
from kg.model import Claim, Edge, Entity, Fact, parse_raw_name, parse_source, value_text
from kg.sightings import add_fact, see_edge
from kg.text import fold

_TRAILER = re.compile(rb"[A-Za-z][A-Za-z-]*: ")
_WORDS = re.compile(r"\w+")
LINE, WORD = b"[purged]", "purged"
C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class Scrub:
    """What is to go: lines of texts {path: their numbers}, and a pattern ("" for none).

    `lines` has for each path the text of its purged lines; `moved` the new names of texts.
    `words` are what commit messages repeat of it.
    """

    lines: Mapping[str, Mapping[int, str]]
    pattern: str = ""
    moved: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def text(self, path: str, data: bytes) -> bytes:
        """Return what a file of raw/ holds after the purge."""
        gone = self.lines.get(path, {})
        rows = data.split(b"\n")
        data = b"\n".join(LINE if n in gone else row for n, row in enumerate(rows, 1))
        return self.replaced(data)

    def move(self, path: str, data: bytes) -> None:
        """Note under which name a text goes on, if its bytes change."""
        new, name = self.text(path, data), parse_raw_name(path)
        if new == data or name is None or not name.digits:
            return
        digits = hashlib.sha256(new).hexdigest()[: len(name.digits)]
        folder, file = path.rpartition("/")[0], path.rpartition("/")[2]
        folder = f"{RAW}/{digits[:2]}" if folder != RAW else folder
        self.moved[path] = f"{folder}/{file.replace(name.digits, digits)}"

    def file(self, path: str, data: bytes) -> tuple[str, bytes]:
        """Return path and bytes of any file of the store after the purge; path "" if it goes."""
        folder = path.partition("/")[0]
        if folder != RAW and not self._touches(path, data):
            return path, data
        if folder == RAW:
            return self.moved.get(path, self._path(path)), self.text(path, data)
        if folder in (ENTITIES, EDGES) and path.endswith(".json"):
            return self._value(path, folder, data)
        if folder == TRIED and self._tried(path, data):
            return "", b""
        return self._path(path), self._moved_in(self.replaced(data))

    def _touches(self, path: str, data: bytes) -> bool:
        """Whether anything in a file may be meant; a JSON escape may hide a word."""
        names = (*self.lines, *self.moved)
        if any(name.encode() in data for name in names):
            return True
        found = self.pattern and re.search(self.pattern.encode(), data + path.encode())
        return bool(found or (self.pattern and b"\\" in data))

    def _tried(self, path: str, data: bytes) -> bool:
        """Whether a trace rests on a purged line: who knows what of it it repeats."""
        try:
            return self.cites(parse_trace(data, path).src)
        except FormatError:
            return False

    def replaced(self, data: bytes) -> bytes:
        """Return bytes without what the pattern finds."""
        return re.sub(self.pattern.encode(), WORD.encode(), data) if self.pattern else data

    def message(self, data: bytes) -> bytes:
        """Return a commit's message after the purge.

        Trailers are changed by the pattern alone: they name runs and agents, not what was said.
        """
        said, gap, trailers = data.rpartition(b"\n\n")
        if not all(_TRAILER.match(line) for line in trailers.splitlines()):
            said, gap, trailers = data, b"", b""
        for word in sorted(self.words, key=len, reverse=True):
            said = _uncut(_whole_words(word).sub(LINE, said), word.encode())
        return self._moved_in(self.replaced(said + gap + trailers))

    # entities and edges

    def _value(self, path: str, folder: str, data: bytes) -> tuple[str, bytes]:
        raw = self._walked(json.loads(data)) if self.pattern else None
        whole = data if raw is None else _once(raw)
        try:
            if folder == ENTITIES:
                return self._entity(path, whole)
            edge = self.edge(parse_edge(whole, path))
        except KgError:
            # not of our form: whatever it is, it no longer holds the words
            return self._path(path), self._moved_in(self.replaced(data))
        flat = edge_path(*edge.key, ())
        return _placed(path, flat, self._path(path)), self._moved_in(dump_edge(edge))

    def _entity(self, path: str, data: bytes) -> tuple[str, bytes]:
        entity = self.entity(parse_entity(data, path))
        moved = parse_entity(self._moved_in(dump_entity(entity)), path)
        flat = entity_path(entity.id, ())
        return _placed(path, flat, self._path(path)), dump_entity(moved)

    def entity(self, entity: Entity) -> Entity:
        """Return an entity without what repeats a purged line."""
        retracted = tuple(
            r
            for r in entity.retracted
            if not (isinstance(r.what, Fact) and self.repeats(r.what.src, value_text(r.what.v)))
        )
        made = replace(entity, retracted=retracted)
        for fact in entity.facts:
            again = [s for s in entity.seen_again if s.identity == fact.identity]
            others = [s for s in again if not self.cites(s.src)]
            hit = self.cites(fact.src)
            if not hit and len(others) == len(again):
                continue
            if hit and not others and not self.repeats(fact.src, value_text(fact.v)):
                continue  # it says what the line does not: a person is told, and it is retracted
            made = _without(made, fact)
            for told in [fact] if not hit else []:
                made, _ = add_fact(made, told, "kg")
            for seen in others:
                told = replace(fact, src=seen.src, seen_run=seen.run)
                made, _ = add_fact(made, told, seen.by)
        return replace(
            made, first_run=entity.first_run, last_seen_run=entity.last_seen_run,
            archived=entity.archived,
        )  # fmt: skip

    def edge(self, edge: Edge) -> Edge:
        """Return an edge that rests on other lines, where there are others."""
        made = edge
        for claim in edge.claims:
            others = [
                s for s in edge.seen_again if s.since == claim.since and not self.cites(s.src)
            ]
            if not self.cites(claim.src) or not others:
                continue
            rest = replace(
                made,
                claims=tuple(c for c in made.claims if c is not claim) or (claim,),
                seen_again=tuple(s for s in made.seen_again if s.since != claim.since),
            )
            again: Edge | None = rest if claim not in rest.claims else None
            for seen in others:
                told = replace(claim, src=seen.src, seen_run=seen.run)
                again, _ = see_edge(again, edge.key, told, seen.by)
            made = again or made
        return made

    def cites(self, src: str) -> bool:
        """Whether a source takes in a purged line."""
        source = parse_source(src)
        return any(source.first <= n <= source.last for n in self.lines.get(source.path, {}))

    def repeats(self, src: str, value: str) -> bool:
        """Whether a purged line of a source has the value, or any longer word of it."""
        source = parse_source(src)
        held = self.lines.get(source.path, {})
        rows = [row for n, row in held.items() if source.first <= n <= source.last]
        words = {word for word in _WORDS.findall(fold(value)) if len(word) > 3}
        return any(
            fold(value) in fold(row) or words.intersection(_WORDS.findall(fold(row)))
            for row in rows
        )

    def _walked(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return re.sub(self.pattern, WORD, value)
        if isinstance(value, list):
            return [self._walked(one) for one in value]
        if isinstance(value, dict):
            return {name: self._walked(one) for name, one in value.items()}
        return value

    def _moved_in(self, data: bytes) -> bytes:
        for old, new in self.moved.items():
            data = data.replace(old.encode(), new.encode())
        return data

    def _path(self, path: str) -> str:
        return re.sub(self.pattern, WORD, path) if self.pattern else path


def _whole_words(word: str) -> re.Pattern[bytes]:
    """Return what finds a text where it does not stand within a longer word."""
    return re.compile(rb"(?<![0-9A-Za-z])" + re.escape(word.encode()) + rb"(?![0-9A-Za-z])")


def _uncut(message: bytes, word: bytes) -> bytes:
    """Return a message whose first line was cut within a word without that part of the word."""
    first, feed, rest = message.partition(b"\n")
    held = first.removesuffix(b"...")
    if held == first:
        return message
    for size in range(len(word) - 1, 3, -1):
        if held.endswith(word[:size]):
            return held[: -size or None] + LINE + b"..." + feed + rest
    return message


def _without(entity: Entity, fact: Fact) -> Entity:
    return replace(
        entity,
        facts=tuple(f for f in entity.facts if f.identity != fact.identity),
        seen_again=tuple(s for s in entity.seen_again if s.identity != fact.identity),
    )


def _once(raw: Any) -> bytes:  # noqa: ANN401
    """Return an entity's JSON in which statements that became the same stand once."""
    if isinstance(raw, dict):
        for name, key in (("facts", _said), ("claims", lambda line: line.get("since"))):
            if isinstance(raw.get(name), list):
                kept = {key(line): line for line in reversed(raw[name])}
                raw[name] = list(reversed(kept.values()))
        if isinstance(raw.get("aliases"), list):
            raw["aliases"] = sorted(set(raw["aliases"]))
    return json.dumps(raw).encode()


def _said(line: Mapping[str, Any]) -> tuple[Any, ...]:
    v = line.get("v", "")
    return line.get("k"), fold(value_text(v)), line.get("since")


def _placed(path: str, flat: str, plain: str) -> str:
    """Return where the file goes: a flat one by its id, one that is fanned out where it was."""
    return flat if path.count("/") == flat.count("/") else plain


def values_of(scrub: Scrub, files: Iterable[tuple[str, bytes]]) -> set[str]:
    """Return the values that facts repeat of purged lines, in any version of an entity."""
    found: set[str] = set()
    for path, data in files:
        try:
            entity = parse_entity(data, path)
        except FormatError:
            continue
        facts = [*entity.facts, *(r.what for r in entity.retracted if isinstance(r.what, Fact))]
        said = ((value_text(f.v), f.src) for f in facts)
        found |= {v for v, src in said if scrub.cites(src) and scrub.repeats(src, v)}
    return found
