"""The files of the store in a working tree: compared by blob id, replaced atomically.

A person may be editing them at any moment, so every replacement looks first, and nothing is
written through a symbolic link, which could lead out of the store.
"""

from __future__ import annotations

import contextlib
import os

from kg.errors import UnsupportedError
from kg.store.repository import Repository


class Worktree:
    """The working files of one store, by paths relative to it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = repository.place.folder

    def id_of(self, path: str) -> str:
        """Return the blob id of what the file holds now, "" where there is none."""
        full = self._within(path)
        try:
            with open(full, "rb") as file:
                return self._repository.blob_id(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except IsADirectoryError:
            return "a folder"

    def put(self, path: str, old: str, data: bytes | None) -> bool:
        """Replace a file whose blob id is still `old` by `data` (None removes it).

        Returns False, and leaves the file alone, where a person got there first.
        """
        if self.id_of(path) != old:
            return False
        full = self._within(path)
        if data is None:
            self._remove(full)
            return True
        os.makedirs(os.path.dirname(full), exist_ok=True)
        # beside the target, so that the rename stays within one file system
        temporary = f"{full}.{os.getpid()}.kg-tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, full)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return True

    def _remove(self, full: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(full)
        folder = os.path.dirname(full)
        while folder != self._folder:
            try:
                os.rmdir(folder)
            except OSError:  # not empty, or gone already
                return
            folder = os.path.dirname(folder)

    def _within(self, path: str) -> str:
        at = self._folder
        for part in path.split("/"):
            at = f"{at}/{part}"
            if os.path.islink(at):
                raise UnsupportedError(
                    f"{at} is a symbolic link, and kg writes through none: replace it by what it names"
                )
        return at
