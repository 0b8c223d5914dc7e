"""What a write was about to do, so that the next command can finish it or clear it away.

Without it, "a person restored the previous version" and "kg was killed while replacing files"
look the same (GIT.md, 3). That of the last complete write is kept, because another git may
still put back the index that it had read before (see `IndexFile.mend`).

All stores of a repository share its lock, its index and so the journal, which names its store:
whoever comes next finishes it, also from the store next door.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import Any, NamedTuple


class Change(NamedTuple):
    """One path: its blob ids in HEAD before and after, and in the working file; "" for absent."""

    path: str
    old: str
    new: str
    file: str


@dataclass(frozen=True, slots=True)
class Journal:
    """A write in progress: `ref` moves to `new`; `nonce` marks our index.lock.

    `prefix` is the store's, whose paths `changes` are.
    `stamp` (inode, size, time) tells the index file that this write publishes from any other.
    """

    prefix: str
    nonce: str
    ref: str
    new: str
    changes: tuple[Change, ...]
    stamp: tuple[int, ...] = ()

    def save(self, state: str, *, sync: bool) -> None:
        """Put it on disk; a torn one is none, and the ref moves only when it is whole."""
        members = {
            "prefix": self.prefix,
            "nonce": self.nonce,
            "ref": self.ref,
            "new": self.new,
            "changes": self.changes,
            "stamp": self.stamp,
        }
        with open(f"{state}/journal", "w", encoding="utf-8") as file:
            file.write(json.dumps(members))
            if sync:
                file.flush()
                os.fsync(file.fileno())


def load(state: str, name: str = "journal") -> Journal | None:
    """Return the journal of an interrupted write, None where there is none or a torn one."""
    try:
        with open(f"{state}/{name}", encoding="utf-8") as file:
            raw: dict[str, Any] = json.load(file)
        changes = tuple(Change(*change) for change in raw["changes"])
        names = (raw["prefix"], raw["nonce"], raw["ref"], raw["new"])
        return Journal(*names, changes, tuple(raw["stamp"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def last(state: str) -> Journal | None:
    """Return the journal of the last complete write."""
    return load(state, "last")


def complete(state: str) -> None:
    """Everything of the write is in place."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{state}/last")  # for ext4, a rename over a file is a reason to flush
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{state}/journal", f"{state}/last")
    drop(state)


def drop(state: str) -> None:
    """Forget a write that never happened, and what it left on its way."""
    # index.new.lock is libgit2's and git's own, left where they were killed while writing
    for name in ("journal", "token", "index.new", "index.new.lock"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{state}/{name}")
