"""The store at one commit: an immutable view of a tree, so nothing in it can go stale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Node(NamedTuple):
    """One entry of a folder: `kind` is `blob`, `tree`, `link` or `commit`."""

    name: str
    id: str
    kind: str


class Objects(Protocol):
    """What a snapshot asks of the repository."""

    def entry(self, tree: str, path: str) -> Node | None:
        """Return the entry at a path below a tree, None where there is none."""

    def entries(self, tree: str) -> list[Node]:
        """Return the entries directly in a tree."""

    def blob(self, id_: str) -> bytes:
        """Return a blob's bytes."""

    def count(self, tree: str) -> int:
        """Return how many entries a tree has."""


class Snapshot:
    """What the store held at `commit` ("" before the first); `tree` is the store's own tree.

    Paths are relative to the store. Symbolic links are not followed and read as absent.
    """

    __slots__ = ("_ids", "_objects", "commit", "tree")

    def __init__(self, objects: Objects, commit: str, tree: str) -> None:
        self._objects, self.commit, self.tree = objects, commit, tree
        self._ids: dict[str, str] = {}  # a write asks for each path several times

    def id_of(self, path: str) -> str:
        """Return the blob id of a file, "" where there is none."""
        if path not in self._ids:
            found = self._objects.entry(self.tree, path) if self.tree else None
            self._ids[path] = found.id if found is not None and found.kind == "blob" else ""
        return self._ids[path]

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, None where there is none."""
        id_ = self.id_of(path)
        return self._objects.blob(id_) if id_ else None

    def count(self, folder: str) -> int:
        """Return how many entries `folder` has, without listing them."""
        found = self._objects.entry(self.tree, folder) if self.tree else None
        return self._objects.count(found.id) if found and found.kind == "tree" else 0

    def files(self, folder: str = "") -> Iterator[tuple[str, str]]:
        """Yield (path, blob id) of every file below `folder`."""
        for node in self._nodes(folder):
            path = f"{folder}/{node.name}" if folder else node.name
            if node.kind == "tree":
                yield from self.files(path)
            elif node.kind == "blob":
                yield path, node.id

    def odd(self, folder: str = "") -> Iterator[tuple[str, str]]:
        """Yield (path, kind) of everything below `folder` that is neither file nor folder."""
        for node in self._nodes(folder):
            path = f"{folder}/{node.name}" if folder else node.name
            if node.kind == "tree":
                yield from self.odd(path)
            elif node.kind != "blob":
                yield path, "symbolic link" if node.kind == "link" else "submodule"

    def blob(self, id_: str) -> bytes:
        """Return the bytes of a blob by its id."""
        return self._objects.blob(id_)

    def _nodes(self, folder: str) -> list[Node]:
        if not self.tree:
            return []
        if not folder:
            return self._objects.entries(self.tree)
        found = self._objects.entry(self.tree, folder)
        return self._objects.entries(found.id) if found and found.kind == "tree" else []
