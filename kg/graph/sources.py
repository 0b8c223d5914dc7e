"""From an anchor to the lines it stands for, and whether they say what is said.

Every pointer that enters the store goes through here, so none points to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from kg.errors import MissingSourceError
from kg.graph.anchors import Text
from kg.graph.draft import Draft
from kg.graph.said import Anchor, Observation
from kg.model import Source, parse_source


class Sources:
    """The lines that one observation may cite: its own text, kept at `raw`, and all of raw/.

    `known` says that the text was in the store before, from the same run and agent.
    """

    def __init__(self, draft: Draft, said: Observation) -> None:
        self._draft, self._given = draft, bool(said.text)
        self._text = Text(said.text)
        self.raw, self.known = "", False
        if said.text:
            self.raw, self.known = draft.add_raw(said.run, said.agent, said.text.encode())

    def of(self, anchor: Anchor, what: str) -> Source:
        """Return the lines an anchor stands for; `what` names what is anchored.

        Raises:
            MissingSourceError: the quote is not in the text, or the lines are not there.
        """
        if anchor.src:
            return self._committed(parse_source(anchor.src), what)
        if anchor.within:
            return self._quoted_in(anchor, what)
        if not self._given:
            raise MissingSourceError(
                f"the {what} quotes a text that was not given: add text, or src"
            )
        lines = anchor.lines or self._text.find(anchor.quote)
        if lines is None:
            raise MissingSourceError(
                f"the {what}: its quote {_cut(anchor.quote)} is not in the text: quote its words"
            )
        if lines[1] > self._text.line_count():
            raise MissingSourceError(
                f"the {what}: line {lines[1]} is past the text's {self._text.line_count()} lines: "
                "name one that is there"
            )
        return Source(self.raw, *lines)

    def naming(self, name: str) -> Source:
        """Return the first line of the text that holds `name`, or its first line."""
        found = self._text.find(name)
        return Source(self.raw, *(found or (1, 1)))

    def hold(self, source: Source, anchor: Anchor, words: Iterable[str]) -> bool:
        """Whether any of `words` stands in the source lines: else the value is inferred."""
        here = not (anchor.src or anchor.within)
        text = self._text if here else self._raw_text(source.path)
        return text is not None and any(text.holds(source.first, source.last, w) for w in words)

    def _committed(self, source: Source, what: str) -> Source:
        count = self._draft.line_count(source)
        if source.last > count:
            state = f"has {count} lines" if count else "is not in the store"
            raise MissingSourceError(f"the {what}: {source}: the file {state}: name a line that is")
        return source

    def _quoted_in(self, anchor: Anchor, what: str) -> Source:
        text = self._raw_text(anchor.within)
        found = text.find(anchor.quote) if text else None
        if found is None:
            problem = "holds no such words" if text else "is not in the store"
            raise MissingSourceError(
                f"the {what}: {anchor.within!a} {problem}: {_cut(anchor.quote)}: quote its words"
            )
        return Source(anchor.within, *found)

    def _raw_text(self, path: str) -> Text | None:
        inside = path.startswith("raw/") and ".." not in path.split("/")
        data = self._draft.file(path) if inside else None
        return None if data is None else Text(data.decode("utf-8", "replace"))


def _cut(quote: str) -> str:
    shown = ascii(quote)
    return shown if len(shown) <= 60 else shown[:57] + "...'"
