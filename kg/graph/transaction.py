"""Saying several things in Python and committing them as one.

A transaction only collects; the write happens at the end of the `with` block, under the
locks, on whatever HEAD is then. So an exception leaves nothing behind, and user code never
holds a lock.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kg.graph.linking import Linker
from kg.graph.observation import parse_observation
from kg.graph.rawtext import check_raw
from kg.graph.record import Recording
from kg.graph.recorded import Answer
from kg.model import Source, Value
from kg.resolve import Decision

if TYPE_CHECKING:
    from kg.graph.graph import Graph


class Captured:
    """A text on its way into raw/."""

    def __init__(self, path: str) -> None:
        self.path = path

    def line(self, first: int, last: int = 0) -> str:
        """Return the src of a line, or of lines `first` to `last`."""
        return str(Source(self.path, first, last or first))


class Resolved:
    """What a mention was taken for; decided again, on newer facts, when it is committed."""

    def __init__(self, id_: str, decision: Decision) -> None:
        self.id, self.decision = id_, decision


class Transaction:
    """What is said within its `with` block becomes one commit, or nothing.

    Ids are as they stand now; `answer` says what became of everything once it is committed.
    """

    def __init__(self, graph: Graph, subject: str, run: str, agent: str) -> None:
        self._graph, self._run, self._agent = graph, run, agent
        self._subject = subject
        self._texts: list[dict[str, Any]] = []
        self._said: dict[str, list[dict[str, Any]]] = {}
        self._refs: dict[str, Resolved] = {}
        self._trial: Linker | None = None
        self.answer = Answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and (self._texts or self._said):
            self.answer = self._graph.remember(
                self._observations(),
                run=self._run,
                agent=self._agent,
                subject=self._subject,
                keep=False,
            )

    def capture(self, text: str) -> Captured:
        """Put a text into raw/, so that its lines can be sources."""
        data = check_raw(text).encode()
        self._texts.append({"text": text})
        return Captured(self._linker().draft.add_raw(self._run, self._agent, data)[0])

    def resolve(self, type_: str, name: str) -> Resolved:
        """Mention a thing by type and name; it is looked up, or created."""
        ref = f"{type_}\n{name}"
        if ref not in self._refs:
            mention = {"ref": ref, "type": type_, "name": name}
            self._refs[ref] = self._try(mention)
            self._add("entities", mention)
        return self._refs[ref]

    def _try(self, mention: dict[str, Any]) -> Resolved:
        text = self._texts[-1]["text"] if self._texts else mention["name"]
        raw = {"text": text, "entities": [mention]}
        said = parse_observation(raw, run=self._run, agent=self._agent, at=0)
        (found,) = Recording(self._linker(), said, self._graph.near).run().mentions
        return Resolved(found.id, found.decision)

    def fact(self, entity: str, k: str, v: Value, *, src: str, **options: Any) -> None:  # noqa: ANN401
        """State a fact, with the line it stands on."""
        self._add("facts", {"entity": self._ref(entity), "k": k, "v": v, "src": src, **options})

    def edge(self, subject: str, predicate: str, object_: str, *, src: str, **options: Any) -> None:  # noqa: ANN401
        """State an edge, with the line it stands on."""
        ends = {"subject": self._ref(subject), "object": self._ref(object_)}
        self._add("edges", {**ends, "predicate": predicate, "src": src, **options})

    def tried(self, about: list[str], what: str, outcome: str, because: str, *, src: str) -> None:
        """Record what was tried and how it ended."""
        refs = [self._ref(id_) for id_ in about]
        self._add(
            "tried",
            {"about": refs, "tried": what, "outcome": outcome, "because": because, "src": src},
        )

    def retract(self, entity: str, k: str, v: Value | None = None, *, src: str) -> None:
        """State that a fact is no longer held, with the line that says why."""
        value = {} if v is None else {"v": v}
        self._add("retract", {"entity": self._ref(entity), "k": k, "src": src, **value})

    def _add(self, part: str, member: dict[str, Any]) -> None:
        self._said.setdefault(part, []).append(member)

    def _ref(self, id_: str) -> str:
        """Return the ref of a thing mentioned here: its id may change until it is written."""
        return next((ref for ref, known in self._refs.items() if known.id == id_), id_)

    def _observations(self) -> list[dict[str, Any]]:
        return [*self._texts, *([dict(self._said)] if self._said else [])]

    def _linker(self) -> Linker:
        """Return the draft on which what is said is tried out; it is thrown away."""
        if self._trial is None:
            self._trial = self._graph.linker(self._graph.draft(self._graph.at()))
        return self._trial
