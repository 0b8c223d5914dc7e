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


class Text:
    """A text that quotes are looked up in."""

    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n")
        self._joined = ""
        self._starts: list[int] = []

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
        first = None
        for start in self._places(wanted):
            lines = self._lines_at(start, start + len(wanted))
            if lines[0] == lines[1] and _plain(self.lines[lines[0] - 1]) == wanted:
                return lines
            first = first or lines
        return first

    def holds(self, first: int, last: int, words: str) -> bool:
        """Whether `words` stand in these lines, whatever their case, at word boundaries."""
        shown = fold(" ".join(self.lines[first - 1 : last]))
        return next(_occurrences(shown, fold(words)), None) is not None

    def _places(self, wanted: str) -> Iterator[int]:
        return _occurrences(self._joined, wanted)

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

    def _lines_at(self, start: int, end: int) -> tuple[int, int]:
        # blank lines share their start with the next line; the last of equals is the one with text
        return bisect_right(self._starts, start), bisect_right(self._starts, end - 1)


def _plain(text: str) -> str:
    return " ".join(normalize("NFKC", text).split())


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not (_joins(text[at - 1 : at], wanted[0]) or _joins(wanted[-1], text[end : end + 1])):
            yield at
        at = text.find(wanted, at + 1)


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters are inside one word."""
    return (
        left.isalnum() and right.isalnum() and not (_UNSPACED.match(left) or _UNSPACED.match(right))
    )
