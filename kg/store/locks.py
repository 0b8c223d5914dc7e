"""Who may write: kg's own lock, and git's index.lock held from before HEAD is read.

Without the second, a person's plain `git commit` at the same moment builds its tree from the
old index on top of our new HEAD and silently reverts what we wrote: 29 and 32 of 200 facts in
two trials (GIT.md, 3).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from kg.errors import BusyError

_FIRST, _LAST = 0.0005, 0.02  # seconds between two looks: short, because git status is short


@contextmanager
def own_lock(state: str, deadline: float) -> Iterator[None]:
    """Hold the lock that all writers of kg share; BusyError at the deadline."""
    os.makedirs(state, exist_ok=True)
    lock = FileLock(f"{state}/lock")
    try:
        lock.acquire(timeout=max(0.0, deadline - time.monotonic()), poll_interval=0.005)
    except Timeout:
        raise BusyError(
            f"another kg has been writing here all this time ({state}/lock): try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


def take_index_lock(index_lock: str, token: str, nonce: str, deadline: float) -> None:
    """Take git's lock on the index, marked with `nonce`; wait for whoever holds it.

    Raises:
        BusyError: it is still held at the deadline; the message says how to tell a lock that a
            killed git left behind, and what to do.
    """
    with open(token, "w", encoding="ascii") as file:
        file.write(nonce)
    pause = _FIRST
    while not _link(token, index_lock, nonce):
        if time.monotonic() > deadline:
            raise BusyError(
                f"{index_lock} is held by another git: if no git is running, a killed one "
                "left it behind: remove that file"
            )
        time.sleep(pause)
        pause = min(_LAST, pause * 1.5)


def release_index_lock(index_lock: str, nonce: str) -> bool:
    """Remove the lock if it is the one marked with `nonce`; return whether it was."""
    try:
        with open(index_lock, "rb") as file:
            ours = file.read(len(nonce) + 1) == nonce.encode()
    except OSError:
        return False
    if ours:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(index_lock)
    return ours


def _link(token: str, index_lock: str, nonce: str) -> bool:
    """Create the lock with its content at once: `link` is atomic where O_EXCL plus write is not."""
    try:
        os.link(token, index_lock)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError):
        return _create(index_lock, nonce)
    return True


def _create(index_lock: str, nonce: str) -> bool:
    # a file system without hard links: a kill between these two lines leaves an empty lock,
    # which is then named to the person like any other stale one
    try:
        lock = os.open(index_lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(lock, "w", encoding="ascii") as file:
        file.write(nonce)
    return True
