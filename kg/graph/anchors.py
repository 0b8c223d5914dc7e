"""From a quote to the lines it stands on: what keeps invention out of the store.

White space and Unicode form may differ between a quote and the text, words may not. Lines are
counted by line feed alone, as `sed -n 4p` counts them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from unicodedata import normalize

from kg.text import fold

# Scripts written without spaces between words: Thai to Khmer, Hangul's Jamo aside, and from the
# CJK radicals to the compatibility ideographs (Unicode 15, Blocks.txt). There a quote may begin
# or end anywhere.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003134f]")  # fmt: skip  # noqa: E501

_WORD = re.compile(rf"(?:(?!{_UNSPACED.pattern})[^\W_])+")  # what `_joins` holds together


class Text:
    """A text that quotes are looked up in."""

    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n")
        self._joined = ""
        self._starts: list[int] = []
        self._whole: dict[str, int] = {}  # a line -> the first with these words
        self._words: dict[str, list[int]] = {}  # a word -> where it stands

    def line_count(self) -> int:
        """Return the number of lines."""
        return len(self.lines)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return (first, last) line of a quote, from 1; None where it is not in the text.

        Where it fits several places it takes a whole line, else the first at word boundaries.
        """
        wanted = _plain(quote)
        if not wanted:
            return None
        self._prepare()
        if wanted in self._whole:
            line = self._whole[wanted]
            return line, line
        start = next(self._places(wanted), None)
        return None if start is None else self._lines_at(start, start + len(wanted))

    def holds(self, first: int, last: int, words: str) -> bool:
        """Whether `words` stand in these lines, whatever their case, at word boundaries."""
        shown = fold(" ".join(self.lines[first - 1 : last]))
        return next(_occurrences(shown, fold(words)), None) is not None

    def _places(self, wanted: str) -> Iterator[int]:
        """Yield where the words stand, in order: by their rarest, as there may be many quotes."""
        words = [(self._words.get(found[0], []), found.start()) for found in _WORD.finditer(wanted)]
        if not words:
            yield from _occurrences(self._joined, wanted)
            return
        places, offset = min(words, key=lambda word: len(word[0]))
        for place in places:
            start = place - offset
            here = start >= 0 and self._joined.startswith(wanted, start)
            if here and _stands_alone(self._joined, start, wanted):
                yield start

    def _prepare(self) -> None:
        if self._starts:
            return
        parts, at = [], 0
        for line in self.lines:
            self._starts.append(at)
            plain = _plain(line)
            parts.append(plain)
            at += len(plain) + (1 if plain else 0)
        self._joined = " ".join(part for part in parts if part)
        for number, part in enumerate(parts, 1):
            self._whole.setdefault(part, number)
        for found in _WORD.finditer(self._joined):
            self._words.setdefault(found[0], []).append(found.start())

    def _lines_at(self, start: int, end: int) -> tuple[int, int]:
        # blank lines share their start with the next line; the last of equals is the one with text
        return bisect_right(self._starts, start), bisect_right(self._starts, end - 1)


def _plain(text: str) -> str:
    return " ".join(normalize("NFKC", text).split())


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        if _stands_alone(text, at, wanted):
            yield at
        at = text.find(wanted, at + 1)


def _stands_alone(text: str, at: int, wanted: str) -> bool:
    end = at + len(wanted)
    return not (_joins(text[at - 1 : at], wanted[0]) or _joins(wanted[-1], text[end : end + 1]))


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters are inside one word."""
    return (
        left.isalnum() and right.isalnum() and not (_UNSPACED.match(left) or _UNSPACED.match(right))
    )
