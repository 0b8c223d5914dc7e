"""Taking commits back by sets of facts: one commit, no conflict, and itself to be taken back.

What others saw too stays, with their line as its origin; `kg.audit.resting` has the rule for
what later writes rest on. Settings, cutoffs, labels and the order of the context view are no
facts, and are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kg import secrets
from kg.audit.history import Event
from kg.audit.lineage import REVERTS, Commit, taken_back
from kg.audit.undoing import Undoing
from kg.errors import NotFoundError, RefusedError
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import run_order

Choose = Callable[[Graph, Sequence[Commit]], list[Commit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverted:
    """What a revert did, or would do.

    `commits` are taken back, newest last; `events` is what changes in words of facts; `stays`
    what others saw too; `bare` (id, who refers to it) entities kept for others; `left` files that
    hold no facts and stay as they are. `commit` is "" where nothing was written.
    """

    commits: tuple[Commit, ...]
    events: tuple[Event, ...]
    stays: tuple[Event, ...]
    bare: tuple[tuple[str, str], ...]
    left: tuple[str, ...]
    commit: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {
            "commit": self.commit,
            "reverted": [c.id for c in self.commits],
            "changes": [e.to_json() for e in self.events],
            "stays": [e.to_json() for e in self.stays],
            "bare": [{"id": id_, "because": by} for id_, by in self.bare],
            "left": list(self.left),
        }


def revert(
    graph: Graph, choose: Choose, *, because: str = "", run: str = "", agent: str = "",
    dry: bool = False,
) -> Reverted:  # fmt: skip
    """Take back the commits that `choose` picks of the store's history; commit it unless `dry`.

    Raises:
        NotFoundError: `choose` finds nothing.
        RefusedError: what it picks cannot be taken back.
    """
    secrets.check(because, "the reason")
    plan = Undoing(graph, graph.draft(graph.at()), choose)
    if dry or not plan.changes:
        return _told(plan)

    def edit(draft: Draft) -> tuple[str, list[tuple[str, str]]]:
        nonlocal plan
        if draft.head.commit != plan.head:  # somebody wrote meanwhile: planned again
            plan = Undoing(graph, draft, choose)
        plan.put(draft)
        return _subject(plan.commits, because), [(REVERTS, c.id) for c in plan.commits]

    commit = graph.change(edit, op="revert", run=run, agent=agent)
    return replace(_told(plan), commit=commit)


def _told(plan: Undoing) -> Reverted:
    return Reverted(
        commits=tuple(plan.commits), events=tuple(plan.events()), stays=tuple(plan.stays()),
        bare=tuple(plan.bare.items()), left=tuple(plan.left),
    )  # fmt: skip


def commits_named(names: Sequence[str]) -> Choose:
    """Return what picks commits by what git calls them."""

    def choose(graph: Graph, history: Sequence[Commit]) -> list[Commit]:
        by_id = {c.id: c for c in history}
        found = []
        for name in names:
            commit = by_id.get(graph.at(name).commit)
            if commit is None:
                raise NotFoundError(f"{name!a} is no commit of this store's HEAD: see kg log")
            if commit.trailer("Op") == "init":
                raise RefusedError(f"{name!a} made the store: to be rid of it, remove the folder")
            if commit.retyped is not None:
                raise RefusedError(
                    f"{name!a} gave a thing a new id: kg retype gives it the old one"
                )
            found.append(commit)
        return found

    return choose


def commits_of(*, run: str = "", agent: str = "", since: int = 0) -> Choose:
    """Return what picks the commits of a run, of an agent, and since a time (seconds).

    Raises (when it picks):
        NotFoundError: no commit is such.
    """
    if run:
        run_order(run)

    def choose(_graph: Graph, history: Sequence[Commit]) -> list[Commit]:
        found = [
            c
            for c in history
            if c.trailer("Op") != "init"
            and c.retyped is None
            and run in ("", c.run)
            and agent in ("", c.agent)
            and c.at >= since
        ]
        if not found:
            raise NotFoundError(f"no commit is of {run or agent or 'that time'}: see kg runs")
        return found

    return choose


def last_write(*, run: str = "") -> Choose:
    """Return what picks kg's last commit (of a run) that still counts and reverts nothing."""

    def choose(_graph: Graph, history: Sequence[Commit]) -> list[Commit]:
        gone = taken_back(history)
        for commit in history:
            stands = commit.id not in gone and not (commit.reverts or commit.retyped)
            if stands and commit.trailer("Op") not in ("", "init") and run in ("", commit.run):
                return [commit]
        raise NotFoundError("there is nothing left to take back: see kg log")

    return choose


def _subject(commits: Sequence[Commit], because: str) -> str:
    runs = list(dict.fromkeys(c.run for c in commits if c.run))
    what = f'"{commits[0].subject}"' if len(commits) == 1 else f"{len(commits)} commits"
    whose = f" of run {runs[0]}" if len(runs) == 1 and len(commits) > 1 else ""
    return f"Revert {what}{whose}" + (f": {because}" if because else "")
