"""What a write was about to do, so that the next command can finish it or clear it away.

Without it, "a person restored the previous version" and "kg was killed while replacing files"
look the same (GIT.md, 3).
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """One path: its blob ids in HEAD before and after, and in the working file; "" for absent."""

    path: str
    old: str
    new: str
    file: str


@dataclass(frozen=True, slots=True)
class Journal:
    """A write in progress. `new` is "" until the commits exist; `nonce` marks our index.lock."""

    nonce: str
    new: str = ""
    changes: tuple[Change, ...] = ()

    def save(self, state: str) -> None:
        """Put it on disk, synced, replacing the one before."""
        path = f"{state}/journal"
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)


def load(state: str) -> Journal | None:
    """Return the journal of an interrupted write, None where there is none or a torn one."""
    try:
        with open(f"{state}/journal", encoding="utf-8") as file:
            raw: dict[str, Any] = json.load(file)
        changes = tuple(Change(**change) for change in raw["changes"])
        return Journal(raw["nonce"], raw["new"], changes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def drop(state: str) -> None:
    """The write is complete, or never happened: forget it."""
    for name in ("journal", "journal.new", "token", "index.new"):
        with contextlib.suppress(OSError):
            os.unlink(f"{state}/{name}")
