"""The queue as a conversation in the terminal: one question, one key, one commit."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from kg.cli.keys import Keys
from kg.cli.output import head, say, talk
from kg.errors import KgError
from kg.review.verdicts import Verdict
from kg.text import one_line

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.review import Question
    from kg.review.sides import Side, Sides

_KEYS = "s same  d different  u unsure  n next  r reason  m more  z undo  q quit"
_VERDICTS = {"s": "same", "d": "different", "u": "unsure"}
_FACTS = 6  # of a side, before m


class Sitting:
    """One sitting at the queue."""

    def __init__(self, graph: Graph, questions: list[Question], person: str) -> None:
        self._graph, self._person = graph, person
        self._run = graph.run_now()
        self._skipped = _Skipped(graph.place.state)
        self._questions = self._skipped.last(questions)
        self._done: list[tuple[int, str]] = []  # place in the queue, and the verdict before
        self._reason = ""
        self._keys = Keys()

    def run(self) -> None:
        """Ask until the queue is empty or the person stops."""
        at = 0
        with self._keys:
            while at < len(self._questions):
                following = self._ask(at)
                if following is None:
                    break
                at = following
        left = len(self._questions) - at
        say(f"{len(self._done)} judged, {left} left: kg review goes on" if left else
            f"{len(self._done)} judged, nothing more waits for a judgement")  # fmt: skip

    def _ask(self, at: int) -> int | None:
        """Put one question; return the place of the next, None to stop."""
        from kg.review.sides import sides

        question = self._questions[at]
        linker = self._graph.linker(self._graph.draft(self._graph.at()))
        try:
            both = sides(self._graph, linker, question)
        except KgError as error:
            talk(str(error))
            return at + 1
        if both.settled:
            return at + 1
        self._show(both, at, _FACTS)
        while True:
            key = self._keys.next()
            if key == "m":
                self._show(both, at, 10**6)
            elif key == "r":
                self._reason = self._keys.line("because")
                say(_KEYS)
            elif key == "n":
                self._skipped.add(question)
                return at + 1
            elif key == "q":
                return None
            elif key == "z":
                return self._undo(at)
            elif key in _VERDICTS:
                return at + 1 if self._judge(question, _VERDICTS[key], at) else at
            else:
                say(_KEYS)

    def _judge(self, question: Question, verdict: str, at: int) -> bool:
        because = self._reason or f"{self._person} judged in review: {verdict}"
        before = [v for by, v, _ in question.lines if by == f"person:{self._person}"]
        try:
            self._commit(question, verdict, because)
        except KgError as error:
            talk(str(error))
            return False
        self._done.append((at, before[0] if before else "withdrawn"))
        self._reason = ""
        return True

    def _commit(self, question: Question, verdict: str, because: str) -> None:
        said = Verdict(question.one, question.other, verdict, because)
        for one in said.commit(self._graph, self._person, run=self._run):
            more = f", one thing under {one.canonical}" if one.canonical else ""
            say(f"-> {verdict}{more}{', disputed' if one.disputed else ''}")

    def _undo(self, at: int) -> int:
        """Take back the last decision, and ask again."""
        if not self._done:
            say("nothing to undo")
            return at
        place, before = self._done.pop()
        self._commit(self._questions[place], before, f"{self._person} took back a judgement")
        return place

    def _show(self, both: Sides, at: int, facts: int) -> None:
        question, compared = both.question, both.comparison
        say("")
        head(f"{at + 1} of {len(self._questions)}  {question.kind}: {question.why}")
        for side in (both.one, both.other):
            for line in _side(side, facts):
                _say(line)
        said = f"{compared.score} by {compared.cutoffs.scorer}, {compared.band}"
        for line in (f"score: {said}", *compared.reasons):
            _say(f"  {line}")
        for veto in compared.vetoes:
            _say(f"  against: {veto}")
        if both.shared:
            _say(f"  both next to: {', '.join(both.shared)}")
        if both.near:
            _say(f"  also near: {', '.join(both.near)}")
        for by, verdict, run in question.lines:
            say(f"  {by} said {verdict} in {run}")
        say(_KEYS)


def _side(side: Side, most: int) -> Iterator[str]:
    also = f"  also {', '.join(side.names[1:])}" if side.names[1:] else ""
    yield f"{side.id}  ({side.type})  {side.names[0]}{also}"
    said = [f"  {k} = {v}  [{src}]" for k, v, src in side.facts if k != "also-known-as"]
    said += [f"  {text}  [{src}]" for text, src in side.edges]
    yield from said[:most]
    if len(said) > most:
        yield f"  {len(said) - most} more: m"


def _say(text: str) -> None:
    """Print a line, folded at the terminal's width."""
    width = max(40, shutil.get_terminal_size((80, 24)).columns)
    for line in textwrap.wrap(one_line(text), width - 1, subsequent_indent="      ") or [""]:
        say(line)


class _Skipped:
    """The pairs that were put off, on this machine: they come last next time."""

    def __init__(self, state: str) -> None:
        self._file = os.path.join(state, "skipped") if state else ""
        self._pairs: set[str] = set()
        with suppress(OSError), open(self._file, encoding="utf-8") as file:
            self._pairs = {line.rstrip("\n") for line in file}

    def last(self, questions: list[Question]) -> list[Question]:
        """Return the questions with those put off at the end."""
        return sorted(questions, key=lambda q: f"{q.one} {q.other}" in self._pairs)

    def add(self, question: Question) -> None:
        """Put a pair off."""
        with suppress(OSError), open(self._file, "a", encoding="utf-8") as file:
            file.write(f"{question.one} {question.other}\n")
