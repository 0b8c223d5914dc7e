"""What each run of an agent did to the store, and what of it still stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kg.audit.history import Event, commits, events
from kg.audit.lineage import Commit, taken_back
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import value_text
from kg.text import fold

_Statement = tuple[str, str, str, bool]  # id, key or predicate, value, whether it is an edge


@dataclass(slots=True, kw_only=True)
class RunTold:
    """One run of one agent: its commits from `first` to `last` (seconds), and what they did.

    Of the `added` statements `stands` still hold; `reverted` counts its commits that are taken
    back, `took_back` those of others that it took back.
    """

    run: str
    agent: str
    first: int = 0
    last: int = 0
    commits: int = 0
    reverted: int = 0
    added: int = 0
    confirmed: int = 0
    contradicted: int = 0
    retracted: int = 0
    tried: int = 0
    took_back: int = 0
    stands: int = 0
    said: set[_Statement] = field(default_factory=set, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "said"}


def runs(graph: Graph) -> list[RunTold]:
    """Return the runs that wrote the store as HEAD has it, the one that wrote last first."""
    history = commits(graph)
    gone = taken_back(history)
    found: dict[tuple[str, str], RunTold] = {}
    for commit in history:
        run, agent = commit.run, commit.agent
        if run and commit.moved:
            told = found.setdefault((run, agent), RunTold(run=run, agent=agent, last=commit.at))
            told.reverted += commit.id in gone
            _count(told, commit, events(graph, commit))
    draft = graph.draft(graph.at())
    for told in found.values():
        told.added = len(told.said)
        told.stands = sum(_holds(draft, *statement) for statement in told.said)
    return list(found.values())


def _count(told: RunTold, commit: Commit, done: list[Event]) -> None:
    told.first, told.commits = commit.at, told.commits + 1
    told.contradicted += len(commit.trailers("Contradiction"))
    told.took_back += len(commit.reverts)
    if commit.reverts:
        return  # what it brought back, others said
    for event in done:
        if event.what == "new":
            told.said.add((event.id, event.k, fold(value_text(event.v)), event.edge))
        told.confirmed += event.what == "seen again"
        told.retracted += event.what == "retracted"
        told.tried += event.what == "tried"


def _holds(draft: Draft, id_: str, k: str, v: str, edge: bool) -> bool:
    if edge:
        return draft.edge((id_, k, v)) is not None
    entity = draft.entity(id_)
    return entity is not None and any(f.k == k and fold(value_text(f.v)) == v for f in entity.facts)
