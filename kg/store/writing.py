"""The order of a write.

    own lock -> finish an interrupted write -> git's index.lock -> read HEAD -> plan ->
    objects, new index beside the old -> journal -> ref (compare and swap) -> index ->
    working files -> release git's lock -> close the journal

Tried with kill -9 between any two steps and at any moment, and with a person committing all
the while (GIT.md, 3; `tests/test_crash.py`, `tests/test_racing.py`). git's lock is held while
files are replaced, as git itself does at a checkout. Objects are as durable as git's own
(`core.fsync` leaves loose objects unsynced by default): a kill loses nothing, a power cut may
cost the last write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import NamedTuple

from kg.errors import DirtyError, StoreError
from kg.store import journal
from kg.store.healing import finish
from kg.store.journal import Change, Journal
from kg.store.locks import own_lock, release_index_lock, take_index_lock
from kg.store.refusals import disk_errors
from kg.store.repository import Moved, Repository
from kg.store.snapshot import Snapshot
from kg.store.staging import IndexFile
from kg.store.upkeep import maintain
from kg.store.worktree import Worktree

WAIT = 30.0  # seconds for kg's own lock; a queue of writers moves some 30 commits a second
GIT_WAIT = 10.0  # seconds for git's index.lock; git's own commands hold it for a fraction of one


class Planned(NamedTuple):
    """One commit to make: what changes (None removes), what it says, who said so and when."""

    changes: Mapping[str, bytes | None]
    message: str
    author: tuple[str, str, int]


class Written(NamedTuple):
    """What a write did: a commit for each plan that changes something, and HEAD around it."""

    planned: tuple[Planned, ...]
    commits: tuple[str, ...]
    before: Snapshot
    after: Snapshot


Plan = Callable[[Snapshot], Sequence[Planned]]
Step = Callable[[str], None]


def write(
    repository: Repository,
    plan: Plan,
    *,
    edited: Mapping[str, str] = MappingProxyType({}),
    done: Callable[[Written], None] = lambda _written: None,
    step: Step = lambda _name: None,
    wait: float = GIT_WAIT,
) -> Written:
    """Commit what `plan` makes of HEAD: all or nothing, or an error and nothing written.

    `plan` may be called again if HEAD moves; `done` runs under the lock, after the commit.
    `edited` are {path: blob id} of a person's edits that this write takes over.
    `step` is called with the name of each step reached (to crash there, in a test).

    Raises:
        PassingError: busy, a hand edit in the way, a merge in progress: worth trying again.
        UnsupportedError: this repository or folder cannot be written by kg.
    """
    with disk_errors(repository.place), own_lock(repository.place.state, time.monotonic() + WAIT):
        repository.check_writable()
        finish(repository, time.monotonic() + wait)
        repository.check_state()
        step("own-lock")
        try:
            with _index_lock(repository, step, time.monotonic() + wait) as nonce:
                writing = _Writing(repository, edited, step, nonce, time.monotonic() + wait)
                written = writing.commit(plan)
                if written.commits:
                    writing.check_out(written)
                    done(written)
                    step("done")
                    writing.let_go()
        except BaseException:
            # Ctrl-C, or a disk that is full: what a kill would have left is cleared away now
            with suppress(StoreError, OSError):
                finish(repository, time.monotonic(), died=False)
            raise
        step("unlocked")
        if not written.commits:
            journal.drop(repository.place.state)
        elif not writing.lagging:
            journal.complete(repository.place.state)
        maintain(repository)
        return written


class _Writing:
    """One write, under both locks."""

    def __init__(
        self,
        repository: Repository,
        edited: Mapping[str, str],
        step: Step,
        nonce: str,
        deadline: float,
    ) -> None:
        self._repository, self._edited, self._step = repository, edited, step
        self._nonce, self._deadline = nonce, deadline
        self._index = None if repository.place.bare else IndexFile(repository)
        self._changes: list[Change] = []
        self.lagging = False

    def commit(self, plan: Plan) -> Written:
        """Plan on HEAD and move it, as often as others move it meanwhile."""
        self._mend()
        while True:
            before = self._repository.head()
            everything = tuple(plan(before))
            planned = [p for p in everything if p.changes]
            if not planned:
                return Written(everything, (), before, before)
            self._changes = self._changed(before, planned)
            self._check_clean()
            commits = self._objects(before, planned)
            self._step("objects")
            self._stage()
            self._step("staged")
            ref, state = self._repository.ref_of_head(), self._repository.place.state
            changes = tuple(self._changes)
            stamp = self._index.stamp if self._index is not None else ()
            prefix = self._repository.place.prefix
            record = Journal(prefix, self._nonce, ref, commits[-1], changes, stamp)
            record.save(state, sync=not self._bare)
            self._step("journal")
            try:
                self._repository.move(ref, before.commit, commits[-1], "kg", self._deadline)
            except Moved:  # a push or fetch into this repository; those take no index.lock
                self._index = None if self._bare else IndexFile(self._repository)
                continue
            self._step("ref")
            if self._index is not None:
                self._index.publish()
            self._step("index")
            after = self._repository.at(commits[-1])
            return Written(everything, tuple(commits), before, after)

    def check_out(self, written: Written) -> None:
        """Replace the working files.

        One that a person has edited just now stays; it shows as a draft on top of the commit.
        Where the disk says no, the commit stands: the next command goes on from the journal.
        """
        if self._bare:
            return
        last = {path: data for p in written.planned for path, data in p.changes.items()}
        files, sparse = Worktree(self._repository), self._repository.sparse
        try:
            for number, change in enumerate(self._changes):
                data = last[change.path]
                if not files.put(change.path, change.file, data) and sparse:
                    files.put(change.path, "", data)
                if number == 0:
                    self._step("first-file")
        except (OSError, StoreError):
            self.lagging = True
        self._step("files")

    def let_go(self) -> None:
        """Wait until git's lock can be released."""
        if self._index is not None:
            self._index.outlast_readers()

    @property
    def _bare(self) -> bool:
        return self._repository.place.bare

    def _mend(self) -> None:
        """Put right what another git did to the index after our last write."""
        written = journal.last(self._repository.place.state)
        if self._index is None or written is None:
            return
        theirs = self._repository.beside(written.prefix)
        index = self._index if theirs is self._repository else IndexFile(theirs)
        if index.mend(written, theirs.head()) or index is not self._index:
            self._index = IndexFile(self._repository)

    def _changed(self, before: Snapshot, planned: Sequence[Planned]) -> list[Change]:
        ids = self._repository.blob_id
        last = {path: data for p in planned for path, data in p.changes.items()}
        changes = []
        for path, data in last.items():
            old, new = before.id_of(path), "" if data is None else ids(data)
            changes.append(Change(path, old, new, self._edited.get(path, old)))
        return changes

    def _check_clean(self) -> None:
        """Refuse where a person has edited or staged one of the paths."""
        if self._index is None:
            return
        files, sparse = Worktree(self._repository), self._repository.sparse
        staged = self._index.ids(c.path for c in self._changes)
        edited = []
        for change in self._changes:
            now = files.id_of(change.path)
            left_out = sparse and now == "" and change.old
            ours = (change.old, change.new, change.file)
            if (now not in ours and not left_out) or staged[change.path] not in ours:
                edited.append(change.path)
        if edited:
            shown, more = ", ".join(edited[:3]), len(edited) - 3
            raise DirtyError(
                f"a person has edited {shown}{f' and {more} more' if more > 0 else ''}: commit it "
                "with kg commit, or take it back with git restore",
                tuple(edited),
            )

    def _objects(self, before: Snapshot, planned: Sequence[Planned]) -> list[str]:
        commits, parent = [], before.commit
        for one in planned:
            parent = self._repository.commit_objects(parent, one.changes, one.message, one.author)
            commits.append(parent)
        return commits

    def _stage(self) -> None:
        if self._index is not None:
            self._index.stage({c.path: c.new for c in self._changes})


@contextmanager
def _index_lock(repository: Repository, step: Step, deadline: float) -> Iterator[str]:
    """Hold git's lock; an error leaves it to `finish`, which knows whether HEAD has moved."""
    place = repository.place
    if place.bare:
        yield ""
        return
    lock = f"{place.gitdir}/index.lock"
    nonce = take_index_lock(lock, f"{place.state}/token", deadline)
    step("index-lock")
    yield nonce
    release_index_lock(lock, nonce)
