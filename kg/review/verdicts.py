"""A decision of the queue on its way into the store: checked, then one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kg.errors import RefusedError, StateError
from kg.graph import Graph
from kg.graph.rawtext import whole
from kg.graph.recorded import Judged
from kg.graph.said import WITHDRAWN
from kg.model import VERDICTS

CHOICES = (*VERDICTS, WITHDRAWN)


class Verdict(NamedTuple):
    """What somebody says of two ids, and why."""

    one: str
    other: str
    verdict: str
    because: str

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Return the verdict that a JSON object says.

        Raises:
            RefusedError: a member is missing, is no text, or is one too many.
        """
        for name in cls._fields:
            if not isinstance(raw.get(name), str) or not raw[name].strip():
                raise RefusedError(f"a judgement needs the text {name!r}: see kg review --help")
        if raw["verdict"] not in CHOICES:
            raise RefusedError(f"{raw['verdict']!a} is no verdict: use one of {', '.join(CHOICES)}")
        if set(raw) - set(cls._fields):
            raise RefusedError("a judgement has one, other, verdict, because: remove the rest")
        return cls(*(raw[name] for name in cls._fields))

    def check(self, graph: Graph) -> None:
        """Refuse a verdict on what is not there.

        Raises:
            NotFoundError: one of the two is no entity; names the nearest.
        """
        for id_ in (self.one, self.other):
            graph.entity(id_)

    def commit(self, graph: Graph, person: str, *, run: str = "", agent: str = "") -> list[Judged]:
        """Commit it, as a person's or as an agent's suggestion, and return what became of it.

        Raises:
            StateError: it is kept for later, as any write that cannot be made now.
        """
        said = {"one": self.one, "other": self.other, "verdict": self.verdict}
        judge = [{**said, "lines": whole(self.because)}]
        observation = {"text": self.because, "judge": judge}
        found = graph.remember([observation], op="review", run=run, agent=agent, person=person)
        if found.queued:
            raise StateError(f"queued, not written yet: {found.queued}")
        return [one for recorded in found.recorded for one in recorded.judged]
