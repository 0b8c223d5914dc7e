"""Saying several things in Python and committing them as one.

A transaction only collects; the write happens at the end of the `with` block, under the
locks, on whatever HEAD is then. So an exception leaves nothing behind, and user code never
holds a lock.
"""

from __future__ import annotations

import hashlib
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kg.errors import KgError
from kg.format import raw_path
from kg.graph.observation import parse_observation
from kg.graph.rawtext import check_raw
from kg.graph.record import Recording
from kg.graph.recorded import Answer
from kg.model import RawName, Source, Value
from kg.resolve import Decision

if TYPE_CHECKING:
    from kg.graph.graph import Graph


class Captured:
    """A text on its way into raw/."""

    def __init__(self, path: str, lines: int) -> None:
        self.path, self._lines = path, lines

    def line(self, first: int, last: int = 0) -> str:
        """Return the src of a line, or of lines `first` to `last`."""
        return str(Source(self.path, first, last or first))


class Resolved:
    """What a mention was taken for; decided again, on newer facts, when it is committed."""

    def __init__(self, ref: str, id_: str, decision: Decision) -> None:
        self.ref, self.id, self.decision = ref, id_, decision


class Transaction:
    """What is said within its `with` block becomes one commit, or nothing.

    Ids are as they stand now; `answer` says what became of everything once it is committed.
    """

    def __init__(self, graph: Graph, subject: str, run: str, agent: str) -> None:
        self._graph, self._run, self._agent = graph, run, agent
        self._subject = subject
        self._texts: list[dict[str, Any]] = []
        self._said: dict[str, list[dict[str, Any]]] = {}
        self._refs: dict[str, str] = {}
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
        name = RawName(self._run, self._agent, hashlib.sha256(data).hexdigest()[:8])
        return Captured(raw_path(name, folded=False), data.count(b"\n"))

    def resolve(self, type_: str, name: str) -> Resolved:
        """Mention a thing by type and name; it is looked up, or created."""
        ref = f"{type_}\n{name}"
        if ref not in self._refs:
            self._add("entities", {"ref": ref, "type": type_, "name": name})
        found = self._trial(ref)
        self._refs[ref] = found.id
        return found

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
        return next((ref for ref, known in self._refs.items() if known == id_), id_)

    def _observations(self) -> list[dict[str, Any]]:
        return [*self._texts, *([dict(self._said)] if self._said else [])]

    def _trial(self, ref: str) -> Resolved:
        """Record what has been said so far on a draft that is thrown away."""
        graph = self._graph
        draft = graph.draft(graph.at())
        for raw in (*self._texts, {"entities": self._said["entities"]}):
            said = parse_observation(raw, run=self._run, agent=self._agent, at=0)
            recorded = Recording(draft, said, graph.near).run()
        for mention in recorded.mentions:
            if mention.ref == ref:
                return Resolved(ref, mention.id, mention.decision)
        raise KgError(f"{ref!a} was not resolved: report this")
