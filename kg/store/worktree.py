"""The files of the store in a working tree: compared by blob id, replaced atomically.

A person may be editing them at any moment, so every replacement looks first, and nothing is
written through a symbolic link, which could lead out of the store.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kg.errors import UnsupportedError

if TYPE_CHECKING:
    from kg.store.repository import Repository

_TEMPORARY = ".kg-tmp"  # always the same, so that whoever heals knows it


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
        full = self._within(path)
        if data is None:
            return self.id_of(path) == old and self._remove(full)
        if self.id_of(path) != old:
            return False
        os.makedirs(os.path.dirname(full), exist_ok=True)
        temporary = full + _TEMPORARY  # beside the target: a rename stays in one file system
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            return self._rename(temporary, full, path, old)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)

    def clean(self, path: str) -> None:
        """Remove what a killed `put` of this file left beside it."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self._within(path) + _TEMPORARY)

    def _rename(self, temporary: str, full: str, path: str, old: str) -> bool:
        if not old:
            try:
                os.link(temporary, full)  # unlike a rename, never over a file that came meanwhile
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                pass
            else:
                return True
        if self.id_of(path) != old:
            return False
        os.replace(temporary, full)
        return True

    def _remove(self, full: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(full)
        folder = os.path.dirname(full)
        with contextlib.suppress(OSError):  # not empty, or gone already
            while folder != self._folder:
                os.rmdir(folder)
                folder = os.path.dirname(folder)
        return True

    def _within(self, path: str) -> str:
        at = self._folder
        for part in path.split("/"):
            at = f"{at}/{part}"
            if os.path.islink(at):
                raise UnsupportedError(
                    f"{at} is a symbolic link, and kg writes through none: "
                    "replace it by what it names"
                )
        return at
