"""Finishing a write that was interrupted, or clearing it away; a person's edits are kept.

Whoever holds kg's own lock knows that a journal, or an index.lock of kg's, is that of a dead
writer.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from kg.errors import BusyError, StoreError
from kg.store import journal
from kg.store.locks import our_index_lock, own_lock, release_index_lock, take_index_lock
from kg.store.staging import IndexFile
from kg.store.worktree import Worktree

if TYPE_CHECKING:
    from kg.store.journal import Journal
    from kg.store.repository import Repository


def heal(repository: Repository) -> bool:
    """Finish or clear away what a dead writer left; return whether there was something.

    For whoever opens a store: waits for nobody, and what cannot be mended now (a disk that is
    full, a folder that is read-only) keeps nobody from reading: the next write says so.
    """
    if not _interrupted(repository):
        return False
    try:
        with own_lock(repository.place.state, time.monotonic()):
            return finish(repository, time.monotonic())
    except (BusyError, StoreError, OSError):
        return False


def finish(repository: Repository, deadline: float, *, died: bool = True) -> bool:
    """Do so, for the holder of the own lock, who may wait until `deadline` for git's.

    Not `died`: the writer is the caller, of whose locks libgit2 has taken care.
    """
    if not _interrupted(repository):
        return False
    place = repository.place
    found, lock = journal.load(place.state), f"{place.gitdir}/index.lock"
    ours = "" if place.bare else our_index_lock(lock)
    moved = found is not None and repository.contains(found.new)
    if found is not None and moved and ours == found.nonce:
        with contextlib.suppress(FileNotFoundError):  # where the kill came after this very step
            os.replace(f"{place.state}/index.new", f"{place.gitdir}/index")
    if not moved and found is not None and died:
        repository.unlock_ref(found.ref, found.new)  # before git may come and meet it
    if ours:
        release_index_lock(lock, ours)
    if found is None or not moved:
        journal.drop(place.state)
        return True
    if not place.bare:
        theirs = repository.beside(found.prefix)
        if ours != found.nonce:  # somebody has removed our lock, as its message tells them to
            _restage(theirs, found, deadline)
        _check_out(theirs, found)
    journal.complete(place.state)
    return True


def _interrupted(repository: Repository) -> bool:
    place = repository.place
    return os.path.exists(f"{place.state}/journal") or bool(
        not place.bare and our_index_lock(f"{place.gitdir}/index.lock")
    )


def _check_out(repository: Repository, found: Journal) -> None:
    head, files = repository.head(), Worktree(repository)
    for change in found.changes:
        files.clean(change.path)
        now = head.id_of(change.path)
        if files.id_of(change.path) != now:
            files.put(change.path, change.file, head.blob(now) if now else None)


def _restage(repository: Repository, found: Journal, deadline: float) -> None:
    """Mend an index that still holds what the write replaced; a person's own staging stays."""
    place, head = repository.place, repository.head()
    lock = f"{place.gitdir}/index.lock"
    nonce = take_index_lock(lock, f"{place.state}/token", deadline)
    try:
        index = IndexFile(repository)
        staged = index.ids(c.path for c in found.changes)
        behind = {
            c.path: head.id_of(c.path)
            for c in found.changes
            if staged[c.path] == c.old != head.id_of(c.path)
        }
        if behind:
            index.stage(behind)
            index.publish()
    finally:
        release_index_lock(lock, nonce)
