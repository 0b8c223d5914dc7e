"""The store as a graph: the one gateway through which anything is written."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from kg import place as places
from kg import secrets
from kg.errors import (
    DirtyError,
    FormatVersionError,
    KgError,
    PassingError,
    RefusedError,
    StateError,
    StoreError,
    UnsupportedError,
)
from kg.format import Settings, parse_settings
from kg.format.settings import PATH as SETTINGS
from kg.format.settings import check_version
from kg.graph.blocks import Blocks
from kg.graph.draft import Draft
from kg.graph.linking import Linker
from kg.graph.message import Trailer, commit_message
from kg.graph.observation import parse_observation
from kg.graph.pairing import Rules
from kg.graph.record import Recording
from kg.graph.recorded import Answer, Recorded
from kg.graph.said import Observation
from kg.graph.screening import Redacted, screened
from kg.graph.transaction import Transaction
from kg.model import Entity
from kg.ontology import Ontology
from kg.place import Place
from kg.recall.index import Index
from kg.recall.past import Past
from kg.resolve import slug_of
from kg.store import Outbox, Planned, Repository, Snapshot, Written, write
from kg.store.healing import heal
from kg.store.writing import GIT_WAIT, Step

Author = tuple[str, str, int]


class Graph:
    """One store, open. Reading is at HEAD; every write is a commit, all or nothing."""

    def __init__(
        self, where: str | os.PathLike[str] | Place, *, committer: tuple[str, str] | None = None
    ) -> None:
        """Open the store in a folder or bare repository (`kg init` makes one).

        `committer` (name, e-mail) stands in for the git identity.

        Raises:
            NotARepositoryError: there is no store, or it is in no git repository.
        """
        if not isinstance(where, Place):
            where = places.find(os.path.abspath(os.fspath(where)), {}, "")
        self.place = place = where
        self.repository = Repository(place, committer)
        self.outbox = Outbox(place)
        self.step: Step = lambda _name: None  # tests crash here
        self.wait = GIT_WAIT
        self.not_now = ""  # why nothing can be written at the moment, as the caller knows it
        self.delivered: list[Answer] = []  # what the outbox kept and this process has written
        self._index: Index | None = None
        self._blocks: Blocks | None = None
        if not place.seed:
            heal(self.repository)

    def close(self) -> None:
        """Let go of the index, and of the names."""
        if self._index is not None:
            self._index.close()
            self._index = None
        self._let_go_of_blocks()

    def _let_go_of_blocks(self) -> None:
        if self._blocks is not None:
            self._blocks.close()
            self._blocks = None

    # reading

    def at(self, revision: str = "") -> Snapshot:
        """Return the store's files at a revision, HEAD if none is given."""
        return self.repository.at(revision) if revision else self.repository.head()

    def entity(self, id_: str, revision: str = "") -> Entity:
        """Return an entity.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        return self.draft(self.at(revision)).existing(id_, self.near)

    def settings(self) -> Settings:
        """Return what store.json says at HEAD."""
        data = self.at().read(SETTINGS)
        return parse_settings(data) if data is not None else Settings()

    @property
    def ontology(self) -> Ontology:
        """The types, keys and predicates in force at HEAD."""
        return self.settings().ontology

    def index(self) -> Index:
        """Return the recall index, at HEAD."""
        if self._index is None:
            self._index = Index.fresh(self.place)
        else:
            self._index.refresh()
        return self._index

    def near(self, text: str) -> list[str]:
        """Return ids that someone who wrote `text` may have meant."""
        return self.index().ids_like(text)

    def draft(self, snapshot: Snapshot) -> Draft:
        """Return a draft on a snapshot of HEAD; names and edges come from the index."""
        index = self.index()
        return Draft(snapshot, index.ids_named, index.edge_keys, index.path_of)

    def then(self, moment: str) -> tuple[Draft, Past]:
        """Return the store at a moment of the past, to be read, and the index of what it said.

        Raises:
            NotFoundError: there is no such moment.
        """
        past = Past(self.place, moment)
        snapshot = self.repository.at(past.commit)
        return Draft(snapshot, past.ids_named, past.edge_keys, past.path_of), past

    def blocks(self, draft: Draft | None = None) -> Blocks:
        """Return the names at HEAD, to be found by what is alike; by the rules of a draft."""
        draft = draft or self.draft(self.at())
        rules = Rules.of_store(draft.cutoffs, draft.ontology)
        if self._blocks is None or self._blocks.rules != rules:
            self._let_go_of_blocks()
            self._blocks = Blocks(self.place, rules)
        self._blocks.refresh()
        return self._blocks

    def linker(self, draft: Draft) -> Linker:
        """Return what decides mentions on a draft of HEAD."""
        return Linker(draft, self.blocks(draft))

    # writing

    def remember(
        self,
        observations: Iterable[Mapping[str, Any]],
        *,
        op: str = "remember",
        redact: bool = False,
        run: str = "",
        agent: str = "",
        subject: str = "",
        person: str = "",
        keep: bool = True,
    ) -> Answer:
        """Commit observations: all of them or none, one commit for each run and agent.

        `run` and `agent` stand in where an observation names none; else now, and the git
        identity. `subject` is the commit's first line, else it is said in words of facts.
        `person` is who judges, where it is a person; an agent's judgement is a suggestion. What
        is already there changes nothing and commits nothing. A write refused for a reason that
        passes is kept in the outbox and `queued` in the answer, unless not `keep`.

        Raises:
            RefusedError: a rule is broken (a quote not in its text, a secret, an unknown
                key ...): nothing was written.
            StoreError: git or the disk says no, for good.
        """
        run, agent = run or self.run_now(), agent or self.agent_here()
        told = [self._fixed(raw, run, agent) for raw in observations]
        told, redacted = screened(told, redact=redact)
        secrets.check(subject, "the subject")
        said = [parse_observation(raw, run=run, agent=agent, at=0) for raw in told]
        try:
            self.deliver()
            return self._record(said, op, redacted, subject, person)
        except PassingError as error:
            if not keep:
                raise
            kept = {"op": op, "observations": told, "person": person}
            name = self.outbox.keep(json.dumps(kept).encode())
            return Answer(queued=str(error), kept_as=name)

    def transaction(self, subject: str = "", *, run: str = "", agent: str = "") -> Transaction:
        """Return a transaction: what is said in its `with` block becomes one commit, or nothing."""
        return Transaction(self, subject, run or self.run_now(), agent or self.agent_here())

    def deliver(self) -> list[Answer]:
        """Write what the outbox kept; what can never be written is set aside, not lost.

        Raises:
            StoreError: the reason has not passed yet, or there is another. (A hand edit stays
                in the way of what touches that path, and of nothing else.)
        """
        answers, waiting = [], False
        for name in self.outbox.names():
            data = self.outbox.read(name)
            if data is None:
                continue
            try:
                kept = json.loads(data)
                said = [parse_observation(o, run="", agent="", at=0) for o in kept["observations"]]
                answers.append(self._record(said, kept["op"], person=kept.get("person", "")))
            except DirtyError:
                waiting = True  # in the way of this one, and of what rests on it
            except (StoreError, FormatVersionError):
                raise  # not this one's fault
            except (KgError, ValueError, KeyError) as error:
                if not waiting:
                    self.outbox.set_aside(name, str(error))
            else:
                self.outbox.drop(name)
        self.delivered += answers
        return answers

    def change(
        self,
        edit: Callable[[Draft], str | tuple[str, Sequence[Trailer]]],
        *,
        op: str,
        run: str = "",
        agent: str = "",
        edited: Mapping[str, str] | None = None,
        founding: bool = False,
    ) -> str:
        """Commit what `edit` does to a draft and return the commit, "" where nothing changed.

        `edit` returns the commit's subject, or that and more trailers. `edited` are {path: blob
        id} of working files that a person has edited and that this write takes over; `founding`
        makes the store. For what no text says: settings, adoption, hand edits, reverts.
        """
        run, agent = run or self.run_now(), agent or self.agent_here()
        author = _author(agent, int(time.time()))

        def plan(snapshot: Snapshot) -> Sequence[Planned]:
            draft = self.draft(snapshot) if founding else self._draft_to_write(snapshot)
            said = edit(draft)
            subject, more = (said, ()) if isinstance(said, str) else said
            message = commit_message(subject, run=run, agent=agent, op=op, more=more)
            return [Planned(draft.take(), message, author)]

        commits = self._write(plan, edited or {}).commits
        if not founding:
            with suppress(StoreError, FormatVersionError):  # what still waits goes on waiting
                self.deliver()
        return commits[-1] if commits else ""

    def check_adopted(self) -> None:
        """Refuse a hand-written store, which is only read.

        Raises:
            UnsupportedError: it is one; says how to adopt it.
        """
        if self.place.seed:
            raise UnsupportedError(
                f"{self.place.folder} has no store.json, a hand-written store is only read: "
                f"adopt it with kg init {self.place.folder}"
            )

    def run_now(self) -> str:
        """Return the run that begins now."""
        return f"r{int(time.time())}"

    def agent_here(self) -> str:
        """Return the agent that the git identity stands for."""
        return slug_of(self.repository.identity()[0])[0][:63]

    def _fixed(self, raw: Mapping[str, Any], run: str, agent: str) -> dict[str, Any]:
        """Return the observation with run, agent and time filled in, so that it can be kept."""
        if not isinstance(raw, Mapping):
            raise RefusedError("an observation is a JSON object: see kg remember --help")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {"run": run, "agent": agent, "at": now, **raw}

    def _record(
        self,
        said: Sequence[Observation],
        op: str,
        redacted: Sequence[Redacted] = (),
        subject: str = "",
        person: str = "",
    ) -> Answer:
        recorded: list[list[Recorded]] = []

        def plan(snapshot: Snapshot) -> Sequence[Planned]:
            draft = self._draft_to_write(snapshot)
            linker = self.linker(draft)
            recorded.clear()
            planned = []
            for (run, agent), group in groupby(said, lambda o: (o.run, o.agent)):
                members = list(group)
                near = self._near_while_writing
                done = [Recording(linker, o, near, person).run() for o in members]
                recorded.append(done)
                session = members[0].session
                message = commit_message(
                    subject, run=run, agent=agent, op=op, recorded=done, session=session
                )
                planned.append(Planned(draft.take(), message, _author(agent, members[0].at)))
            return planned

        written = self._write(plan, {})
        commits = iter(written.commits)
        for group, planned in zip(recorded, written.planned, strict=True):
            commit = next(commits) if planned.changes else ""
            for one in group:
                one.commit = commit
        flat = [one for group in recorded for one in group]
        for one, hits in zip(flat, redacted, strict=False):
            one.redacted = hits
        return Answer(recorded=tuple(flat), commits=written.commits)

    def _write(
        self, plan: Callable[[Snapshot], Sequence[Planned]], edited: Mapping[str, str]
    ) -> Written:
        self.check_adopted()
        if self.not_now:
            raise StateError(self.not_now)

        def sound(snapshot: Snapshot) -> Sequence[Planned]:
            try:
                return plan(snapshot)
            except sqlite3.DatabaseError:  # an index is damaged: it is made anew, and asked again
                self.index().rebuild()
                return plan(snapshot)

        return write(
            self.repository, sound, edited=edited, done=self._follow, step=self.step, wait=self.wait
        )

    def _draft_to_write(self, snapshot: Snapshot) -> Draft:
        draft = self.draft(snapshot)
        if snapshot.read(SETTINGS) is None:
            raise UnsupportedError(
                f"HEAD of {self.place.gitdir} has no store.json: commit it, or run kg init"
            )
        check_version(draft.settings)
        return draft

    def _near_while_writing(self, text: str) -> list[str]:
        return self._index.ids_like(text) if self._index is not None else []

    def _follow(self, written: Written) -> None:
        """Tell the index what was just committed, so that the next reader finds it up to date."""
        if not written.commits:
            return
        changes = {
            path: data
            for one in written.planned
            for path, data in one.changes.items()
            if "/" in path or path == SETTINGS
        }
        before, after = written.before, written.after
        for derived in (self._index, self._blocks):
            if derived is not None:
                derived.advance(before.tree, after.tree, after.commit, changes)


def _author(agent: str, at: int) -> Author:
    return agent, f"{agent}@kg.invalid", at
