"""The order of a write, and finishing one that was interrupted.

    own lock -> finish an interrupted write -> git's index.lock -> read HEAD -> plan ->
    objects, new index beside the old -> journal -> ref (compare and swap) -> index ->
    working files -> drop the journal

Tried with kill -9 between any two steps and with a person committing all the while
(GIT.md, 3; `tests/test_crash.py`, `tests/test_racing.py`). Objects are as durable as git's own
(`core.fsync` leaves loose objects unsynced by default): a kill loses nothing, a power cut may
cost the last write.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from kg.errors import BusyError, DirtyError, StoreError, UnsupportedError
from kg.gitprogram import git
from kg.store import journal
from kg.store.journal import Change, Journal
from kg.store.locks import own_lock, release_index_lock, take_index_lock
from kg.store.repository import Moved, Repository
from kg.store.snapshot import Snapshot
from kg.store.worktree import Worktree

WAIT = 30.0  # seconds for kg's own lock; a queue of writers moves some 30 commits a second
GIT_WAIT = 10.0  # seconds for git's index.lock; git's own commands hold it for a fraction of one
MANY_ENTRIES = 20_000  # above, `git update-index` beats the library (GIT.md, 2)
MANY_LOOSE = 27  # files in one of 256 object folders, where `git gc --auto` would act as well


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
    state = repository.place.state
    with _disk_errors(repository), own_lock(state, time.monotonic() + WAIT):
        heal(repository, holding_lock=True)
        repository.check_writable()
        repository.check_state()
        step("own-lock")
        written, contents = _commit(repository, plan, edited, step, time.monotonic() + wait)
        if contents is not None:
            _checkout(repository, contents, step)
        done(written)
        step("done")
        journal.drop(state)
        _maintain(repository)
        return written


def heal(repository: Repository, *, holding_lock: bool = False) -> bool:
    """Finish or clear away an interrupted write; return whether there was one.

    A person's edits are kept. Without the lock it waits for none: a journal under a held lock
    belongs to a write that is alive.
    """
    state = repository.place.state
    if not os.path.exists(f"{state}/journal"):
        return False
    if not holding_lock:
        try:
            with own_lock(state, time.monotonic()):
                return heal(repository, holding_lock=True)
        except BusyError:
            return False
    found = journal.load(state)
    if found is not None:
        _finish(repository, found)
    journal.drop(state)
    return True


def _commit(
    repository: Repository, plan: Plan, edited: Mapping[str, str], step: Step, deadline: float
) -> tuple[Written, Mapping[str, tuple[Change, bytes | None]] | None]:
    """Plan and commit with git's index.lock held; return the changes left for the files."""
    with _index_lock(repository, step, deadline) as nonce:
        while True:
            before = repository.head()
            everything = tuple(plan(before))
            planned = [p for p in everything if p.changes]
            if not planned:
                return Written(everything, (), before, before), None
            changes = _changes(repository, before, planned, edited)
            _check_clean(repository, changes)
            commits = _objects(repository, before, planned)
            step("objects")
            _stage(repository, changes)
            step("staged")
            final = {c.path: (c, _last(planned, c.path)) for c in changes}
            Journal(nonce, commits[-1], tuple(changes)).save(repository.place.state)
            step("journal")
            try:
                repository.move_head(before.commit, commits[-1], "kg", deadline)
            except Moved:  # a push or fetch into this repository; those take no index.lock
                continue
            step("ref")
            _publish_index(repository)
            step("index")
            return Written(everything, tuple(commits), before, repository.head()), final


@contextmanager
def _index_lock(repository: Repository, step: Step, deadline: float) -> Iterator[str]:
    place, nonce = repository.place, f"kg {secrets.token_hex(8)}"
    Journal(nonce).save(place.state)
    step("intent")
    lock = f"{place.gitdir}/index.lock"
    if place.bare:
        yield nonce
        return
    try:
        take_index_lock(lock, f"{place.state}/token", nonce, deadline)
    except BaseException:
        journal.drop(place.state)
        raise
    step("index-lock")
    try:
        yield nonce
    except BaseException:
        release_index_lock(lock, nonce)
        journal.drop(place.state)
        raise
    release_index_lock(lock, nonce)
    step("unlocked")


def _changes(
    repository: Repository,
    before: Snapshot,
    planned: Sequence[Planned],
    edited: Mapping[str, str],
) -> list[Change]:
    last = {path: data for p in planned for path, data in p.changes.items()}
    return [
        Change(
            path,
            before.id_of(path),
            "" if data is None else repository.blob_id(data),
            edited.get(path, before.id_of(path)),
        )
        for path, data in last.items()
    ]


def _last(planned: Sequence[Planned], path: str) -> bytes | None:
    return next(p.changes[path] for p in reversed(planned) if path in p.changes)


def _check_clean(repository: Repository, changes: Sequence[Change]) -> None:
    """Refuse where a person has edited or staged one of the paths."""
    if repository.place.bare:
        return
    files, sparse = Worktree(repository), repository.sparse
    staged = _staged(repository, [c.path for c in changes])
    edited = []
    for change in changes:
        now = files.id_of(change.path)
        left_out = sparse and now == "" and change.old
        ours = (change.old, change.new, change.file)
        if (now not in ours and not left_out) or staged[change.path] not in ours:
            edited.append(change.path)
    if edited:
        shown = ", ".join(edited[:3]) + (f" and {len(edited) - 3} more" if len(edited) > 3 else "")
        raise DirtyError(
            f"a person has edited {shown}: commit it with kg commit, or take it back with "
            "git restore",
            tuple(edited),
        )


def _staged(repository: Repository, paths: list[str]) -> dict[str, str]:
    index = f"{repository.place.gitdir}/index"
    if not os.path.exists(index):
        return dict.fromkeys(paths, "")
    if _entries(index) <= MANY_ENTRIES:
        return repository.index_ids(index, paths)
    place, found = repository.place, dict.fromkeys(paths, "")
    prefix = f"{place.prefix}/" if place.prefix else ""
    specs = "".join(f"{prefix}{path}\0" for path in paths).encode()
    args = ("--literal-pathspecs", "ls-files", "-s", "-z", "--", *specs.decode().split("\0")[:-1])
    if len(specs) > 100_000:  # longer than an argument list may be
        args = ("ls-files", "-s", "-z", "--", prefix or ".")
    for line in git(place.gitdir, args, top=place.top).decode().split("\0")[:-1]:
        meta, path = line.split("\t", 1)
        if path.removeprefix(prefix) in found:
            found[path.removeprefix(prefix)] = meta.split(" ")[1]
    return found


def _objects(
    repository: Repository, before: Snapshot, planned: Sequence[Planned]
) -> list[str]:
    commits, parent = [], before.commit
    for one in planned:
        parent = repository.commit_objects(parent, one.changes, one.message, one.author)
        commits.append(parent)
    return commits


def _stage(repository: Repository, changes: Sequence[Change]) -> None:
    """Write the new index beside the old one: only the touched paths differ."""
    place = repository.place
    if place.bare:
        return
    index, new = f"{place.gitdir}/index", f"{place.state}/index.new"
    ids = {c.path: c.new for c in changes}
    if os.path.exists(index):
        shutil.copyfile(index, new)
        shutil.copymode(index, new)
    elif os.path.exists(new):
        os.unlink(new)
    if os.path.exists(new) and _entries(new) > MANY_ENTRIES:
        prefix = f"{place.prefix}/" if place.prefix else ""
        lines = [
            f"{'100644' if id_ else '0'} {id_ or '0' * 40}\t{prefix}{path}\0"
            for path, id_ in ids.items()
        ]
        args = ("update-index", "-z", "--index-info")
        git(place.gitdir, args, top=place.top, data="".join(lines).encode(), index=new)
    else:
        repository.edit_index(new, ids)


def _publish_index(repository: Repository) -> None:
    place = repository.place
    if not place.bare:
        os.replace(f"{place.state}/index.new", f"{place.gitdir}/index")


def _checkout(
    repository: Repository,
    contents: Mapping[str, tuple[Change, bytes | None]],
    step: Step,
) -> None:
    if repository.place.bare:
        return
    files = Worktree(repository)
    for number, (change, data) in enumerate(contents.values()):
        # a file that a person edited just now stays; it shows as a draft on top of the commit
        if not files.put(change.path, change.file, data) and repository.sparse:
            files.put(change.path, "", data)
        if number == 0:
            step("first-file")
    step("files")


def _finish(repository: Repository, found: Journal) -> None:
    place = repository.place
    moved = bool(found.new) and repository.contains(found.new)
    lock, new = f"{place.gitdir}/index.lock", f"{place.state}/index.new"
    if place.bare:
        return
    held = _holds(lock, found.nonce)
    if held and moved and os.path.exists(new):
        os.replace(new, f"{place.gitdir}/index")
    release_index_lock(lock, found.nonce)
    if not moved:
        return
    if not held:
        _restage(repository, found)
    head, files = repository.head(), Worktree(repository)
    for change in found.changes:
        now = head.id_of(change.path)
        data = head.read(change.path) if now else None
        if files.id_of(change.path) != now:
            files.put(change.path, change.file, data)


def _restage(repository: Repository, found: Journal) -> None:
    """Mend an index that still holds what the interrupted write replaced.

    It does where somebody removed our lock by hand; a person's own staging stays.
    """
    head = repository.head()
    staged = _staged(repository, [c.path for c in found.changes])
    behind = [
        Change(c.path, c.old, head.id_of(c.path), c.file)
        for c in found.changes
        if staged[c.path] == c.old != head.id_of(c.path)
    ]
    if not behind:
        return
    place = repository.place
    lock, deadline = f"{place.gitdir}/index.lock", time.monotonic() + GIT_WAIT
    take_index_lock(lock, f"{place.state}/token", found.nonce, deadline)
    try:
        _stage(repository, behind)
        _publish_index(repository)
    finally:
        release_index_lock(lock, found.nonce)


def _holds(lock: str, nonce: str) -> bool:
    try:
        with open(lock, "rb") as file:
            return file.read(len(nonce) + 1) == nonce.encode()
    except OSError:
        return False


def _entries(index: str) -> int:
    """Return the number of entries in an index file: the third word of its header."""
    with open(index, "rb") as file:
        header = file.read(12)
    return int(struct.unpack(">4sII", header)[2]) if len(header) == 12 else 0


def _maintain(repository: Repository) -> None:
    """Pack loose objects and refresh the commit-graph, now and then, under our own lock.

    Never `prune=now`, which corrupts beside a writer (GIT.md, 3). libgit2 never does this by
    itself, and the person's next git command would have to.
    """
    place = repository.place
    try:
        if len(os.listdir(f"{place.commondir}/objects/17")) <= MANY_LOOSE:
            return
        git(place.commondir, ("maintenance", "run", "--quiet", "--task=loose-objects"))
        git(place.commondir, ("commit-graph", "write", "--reachable", "--changed-paths"))
    except (OSError, StoreError):
        return  # tidying never fails a write


@contextmanager
def _disk_errors(repository: Repository) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = repository.place.folder or repository.place.gitdir
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise UnsupportedError(
                f"{error.filename or where} is read-only: make it writable to write"
            ) from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"the disk of {where} is full: make room and write again") from None
        raise StoreError(f"{where}: {error.strerror or error}: see git status") from None
