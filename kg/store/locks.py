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
_STALE = 1.0  # seconds after which an empty lock on a ref is nobody's
_MARK = "kg "  # how an index.lock of ours begins; git's own are empty or begin with DIRC


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


def take_index_lock(index_lock: str, token: str, deadline: float) -> str:
    """Take git's lock on the index and return the nonce it is marked with; wait for its holder.

    Raises:
        BusyError: it is still held at the deadline; the message says how to tell a lock that a
            killed git left behind, and what to do.
    """
    nonce = _MARK + os.urandom(8).hex()
    with open(token, "w", encoding="ascii") as file:
        file.write(nonce)
    pause = _FIRST
    try:
        while not _link(token, index_lock, nonce):
            if time.monotonic() > deadline:
                raise BusyError(held(index_lock))
            time.sleep(pause)
            pause = min(_LAST, pause * 1.5)
    finally:
        os.unlink(token)
    return nonce


def held(lock: str) -> str:
    """Return the message about a lock of git's that stays held."""
    return (
        f"{lock} is held by another git: if no git is running, a killed one left it behind: "
        "remove that file"
    )


def our_index_lock(index_lock: str) -> str:
    """Return the nonce of an index.lock that a writer of kg made, "" where there is none.

    To who holds the own lock, it is that of a dead one.
    """
    try:
        with open(index_lock, encoding="ascii", errors="replace") as file:
            nonce = file.read(64)
    except OSError:
        return ""
    return nonce if nonce.startswith(_MARK) else ""


def release_index_lock(index_lock: str, nonce: str) -> None:
    """Remove the lock if it is still the one marked with `nonce`."""
    if our_index_lock(index_lock) == nonce:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(index_lock)


def release_ref_lock(ref_lock: str, commit: str) -> None:
    """Remove the lock on a ref that a dead writer of kg left: it holds the commit, or nothing.

    libgit2 fills it at the last moment. An empty one may be another git's, which fills it at
    once: so it is looked at twice.
    """
    before = _seen(ref_lock)
    if before is None:
        return
    if not before[0]:
        time.sleep(min(_STALE, max(0.0, before[2] + _STALE - time.time())))
    if before[0] in ("", commit) and _seen(ref_lock) == before:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(ref_lock)


def _seen(path: str) -> tuple[str, int, float] | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            stat = os.fstat(file.fileno())
            return file.read(100).strip(), stat.st_ino, stat.st_mtime
    except OSError:
        return None


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
