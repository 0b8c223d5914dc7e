"""Writes that were refused for a reason that passes, kept until a later command can make them.

One file each in `.git/kg/outbox/`, named so that they sort in the order they came. What is in
one is the caller's business; it must hold no secret.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from kg.store.refusals import disk_errors

if TYPE_CHECKING:
    from kg.place import Place


class Outbox:
    """The kept writes of one store."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.folder = f"{place.state}/outbox" + (f"+{place.name}" if place.name else "")

    def keep(self, data: bytes) -> str:
        """Put one away, synced; return its name.

        Raises:
            StoreError: the disk says no; it is not kept.
        """
        name = f"{time.time_ns():020d}-{os.urandom(4).hex()}.json"
        with disk_errors(self._place):
            os.makedirs(self.folder, exist_ok=True)
            with open(f"{self.folder}/.{name}", "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(f"{self.folder}/.{name}", f"{self.folder}/{name}")
        return name

    def names(self) -> list[str]:
        """Return the names of the kept writes, oldest first."""
        try:
            return sorted(n for n in os.listdir(self.folder) if n[0] != "." and n.endswith(".json"))
        except OSError:
            return []

    def set_aside(self, name: str, because: str) -> None:
        """Take one that can never be written out of the queue; a person decides about it."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{self.folder}/{name}", f"{self.folder}/{name}.refused")
            with open(f"{self.folder}/{name}.because", "w", encoding="utf-8") as file:
                file.write(because + "\n")

    def refused(self) -> list[tuple[str, str]]:
        """Return (path, reason) of those set aside."""
        try:
            names = sorted(n for n in os.listdir(self.folder) if n.endswith(".refused"))
        except OSError:
            return []
        return [(f"{self.folder}/{n}", self._because(n.removesuffix(".refused"))) for n in names]

    def _because(self, name: str) -> str:
        data = self.read(name + ".because")
        return data.decode("utf-8", "replace").strip() if data else "unknown"

    def read(self, name: str) -> bytes | None:
        """Return a kept write, None where another process has taken it meanwhile."""
        try:
            with open(f"{self.folder}/{name}", "rb") as file:
                return file.read()
        except OSError:
            return None

    def drop(self, name: str) -> None:
        """Forget one: it has been written, or can never be."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.folder}/{name}")
