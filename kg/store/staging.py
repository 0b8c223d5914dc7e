"""The git index of a working tree: read once, a new one written beside it, put in its place.

Only the touched paths differ in the new one. Its holder has git's index.lock.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kg.errors import UnsupportedError
from kg.gitprogram import git
from kg.store.committers import outlast
from kg.store.refusals import UNFOLD
from kg.store.repository import CONFLICT, LoadedIndex, Repository
from kg.store.worktree import Worktree

if TYPE_CHECKING:
    from kg.store.journal import Journal
    from kg.store.snapshot import Snapshot

MANY_ENTRIES = 20_000  # above, `git update-index` beats the library (GIT.md, 2)
MANY_PATHS = 50  # git compares each entry with each of them
_LEAST, _PER_ENTRY = 0.003, 0.2e-6  # seconds, see `outlast_readers`


class IndexFile:
    """The index as it is now. `nonce` is the mark of the index.lock that the caller holds."""

    def __init__(self, repository: Repository) -> None:
        """Copy it aside.

        Raises:
            UnsupportedError: a split or sparse index.
        """
        self._repository, place = repository, repository.place
        self._old, self._new = f"{place.gitdir}/index", f"{place.state}/index.new"
        for leftover in (self._new, self._new + ".lock"):
            if os.path.exists(leftover):
                os.unlink(leftover)
        self._published, self._entries = 0.0, self._count()
        self._data: bytes | None = None
        large = self._entries > MANY_ENTRIES
        self._loaded: LoadedIndex | None = None if large else repository.new_index(self._new)
        if os.path.exists(self._old):
            # with its time: whatever is as young as its index, git reads again in full, and a
            # younger index would make it trust a file that was edited right after `git add`
            shutil.copyfile(self._old, self._new)
            shutil.copystat(self._old, self._new)
        elif repository.head().commit:  # somebody removed it: made anew, as git reset would
            git(place.gitdir, ("read-tree", "HEAD"), index=self._new)
        if self._loaded is None:
            self._check_large()
        else:
            self._loaded.read()

    def ids(self, paths: Iterable[str]) -> dict[str, str]:
        """Return {path: staged blob id, "" or CONFLICT}."""
        if self._loaded is not None:
            return {path: self._loaded.id_of(path) for path in paths}
        wanted = list(paths)
        found = self._ids_by_looking(wanted) if len(wanted) <= MANY_PATHS else None
        return self._ids_by_git(wanted) if found is None else found

    def stage(self, ids: Mapping[str, str]) -> None:
        """Set these paths in the new index ("" removes); all others stay as they are."""
        if self._loaded is not None:
            stat = os.stat(self._old) if os.path.exists(self._old) else None
            self._loaded.write(ids)
            if stat is not None:  # unlike git, libgit2 does not mark what is too young to trust
                os.utime(self._new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            return
        lines = [
            f"{'100644' if id_ else '0'} {id_ or '0' * 40}\t{self._prefix}{path}\0"
            for path, id_ in ids.items()
        ]
        self._git("update-index", "-z", "--index-info", data="".join(lines).encode())

    @property
    def stamp(self) -> tuple[int, ...]:
        """What tells the new index file from any other, here or in the old one's place."""
        return _stamp(self._new)

    def publish(self) -> None:
        """Put the new index in the place of the old one."""
        os.replace(self._new, self._old)
        self._published = time.monotonic()

    def mend(self, written: Journal, head: Snapshot) -> bool:
        """Stage again what another git took back; return whether it had.

        A `git commit` that `outlast_readers` did not see. Told from a person's doing by the
        file, which is still as written. An index that is still our own needs no look.
        """
        if written.stamp and written.stamp == _stamp(self._old):
            return False
        staged, files = self.ids(c.path for c in written.changes), Worktree(self._repository)
        behind = {
            c.path: c.new
            for c in written.changes
            if staged[c.path] == c.old != c.new == head.id_of(c.path) == files.id_of(c.path)
        }
        if behind:
            self.stage(behind)
            self.publish()
        return bool(behind)

    def outlast_readers(self) -> None:
        """Wait, the lock still held, until a git that read the old index has met the lock.

        Where its process cannot be seen: for as long as reading the index takes git.
        """
        since = time.monotonic() - self._published
        wait = _LEAST + _PER_ENTRY * self._entries
        outlast(self._repository.place.top, wait - since)

    @property
    def _prefix(self) -> str:
        prefix = self._repository.place.prefix
        return f"{prefix}/" if prefix else ""

    def _count(self) -> int:
        """Return the number of entries: the third word of the header."""
        try:
            with open(self._old, "rb") as file:
                header = file.read(12)
        except FileNotFoundError:
            return 0
        return int(struct.unpack(">4sII", header)[2]) if len(header) == 12 else 0

    def _check_large(self) -> None:
        """Refuse what `load_index` refuses, for which libgit2 would have to read it."""
        gitdir = self._repository.place.gitdir
        parts = any(name.startswith("sharedindex.") for name in os.listdir(gitdir))
        split = parts and self._git("rev-parse", "--shared-index-path").strip()
        if split or self._repository.sparse_index:
            kind = "split" if split else "sparse"
            raise UnsupportedError(f"the index in {gitdir} is {kind}: {UNFOLD}")

    def _ids_by_looking(self, paths: list[str]) -> dict[str, str] | None:
        """Look for the entries in the file, which takes a tenth of what git takes to start.

        gitformat-index(5): a blob id, two bytes of flags (of which 12 bits are the length of
        the path), the path, a NUL. None where the file is not so simple.
        """
        if self._data is None:
            with open(self._new, "rb") as file:
                self._data = file.read()
        if self._data[4:8] != b"\0\0\0\2":  # version 3 has longer flags, 4 has shorter paths
            return None
        return {path: _look_for((self._prefix + path).encode(), self._data) for path in paths}

    def _ids_by_git(self, paths: list[str]) -> dict[str, str]:
        found = dict.fromkeys(paths, "")
        specs = [self._prefix + path for path in paths]
        if len(specs) > MANY_PATHS:
            specs = [self._prefix.rstrip("/") or "."]
        said = self._git("ls-files", "-s", "-z", "--", *specs)
        for line in said.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            meta, _, full = line.partition("\t")
            path = full.removeprefix(self._prefix)
            if path in found:
                _, id_, stage = meta.split(" ")
                found[path] = id_ if stage == "0" else CONFLICT
        return found

    def _git(self, *args: str, data: bytes = b"") -> bytes:
        place = self._repository.place
        return git(place.gitdir, args, top=place.top, data=data, index=self._new)


def _stamp(path: str) -> tuple[int, ...]:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _look_for(name: bytes, data: bytes) -> str:
    last = name[name.rfind(b"/") + 1 :] + b"\0"  # what few have in common is found fastest
    end = data.find(last)
    while end >= 0:
        at = end + len(last) - 1 - len(name)
        length = (data[at - 2] & 0x0F, data[at - 1])  # else it is the end of a longer path
        if data[at : at + len(name)] == name and length == divmod(len(name), 256):
            return CONFLICT if data[at - 2] & 0x30 else data[at - 22 : at - 2].hex()
        end = data.find(last, end + 1)
    return ""
