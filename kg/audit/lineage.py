"""The commits of a store, oldest first, merges included, and which of them count.

A revert by facts is a commit with `Reverts:` trailers, one for each commit that it takes back.
A commit counts unless a revert that itself counts names it; so reverting a revert needs no
rule of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from secrets import token_hex

from kg.gitprogram import git
from kg.place import Place

REVERTS = "Reverts"
_NONE = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One path that a commit changed: its blob in each parent and in itself, "" for absent.

    A merge has only those paths that differ from all of its parents.
    """

    path: str
    olds: tuple[str, ...]
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the store: author's name and time, message, and what it changed."""

    id: str
    author: str
    at: int
    message: str
    moved: tuple[Moved, ...]

    @property
    def subject(self) -> str:
        """The message's first line."""
        return self.message.partition("\n")[0]

    def trailers(self, name: str) -> list[str]:
        """Return the values of a trailer, in order."""
        lines = self.message.rstrip("\n").rpartition("\n\n")[2].split("\n")
        return [line[len(name) + 2 :] for line in lines if line.startswith(f"{name}: ")]

    def trailer(self, name: str) -> str:
        """Return a trailer's value, "" where there is none."""
        return next(iter(self.trailers(name)[-1:]), "")

    @property
    def run(self) -> str:
        """The run that made it, "" where it does not say."""
        return self.trailer("Run")

    @property
    def agent(self) -> str:
        """The agent that made it, else its author."""
        return self.trailer("Agent") or self.author

    @property
    def reverts(self) -> list[str]:
        """The commits that it takes back."""
        return self.trailers(REVERTS)


def lineage(place: Place, head: str) -> list[Commit]:
    """Return the commits up to `head` that changed the store, parents before children."""
    if not head:
        return []
    mark = token_hex(16)  # no message can hold what is drawn after it was written
    args = ["log", "-z", "--topo-order", "--reverse", "-c", "--raw", "--no-renames", "--no-abbrev",
            f"--format={mark}%H%x00%an%x00%at%x00%B%x00", head, "--"]  # fmt: skip
    wanted = [place.prefix] if place.prefix else []
    data = git(place.gitdir, [*args, *wanted]).decode("utf-8", "surrogateescape")
    prefix = f"{place.prefix}/" if place.prefix else ""
    return [_commit(block, prefix) for block in data.split(mark)[1:]]


def taken_back(commits: Sequence[Commit], more: Collection[str] = ()) -> set[str]:
    """Return the commits that do not count, where one more revert takes back `more`."""
    gone = set(more)
    for commit in reversed(commits):
        if commit.id not in gone:
            gone.update(commit.reverts)
    return gone


def _commit(block: str, prefix: str) -> Commit:
    id_, author, at, message, *rest = block.split("\0")
    return Commit(
        id=id_, author=author, at=int(at), message=message, moved=tuple(_moved(rest, prefix))
    )


def _moved(fields: Iterable[str], prefix: str) -> Iterable[Moved]:
    """Yield what git's raw format says: `:` once for each parent, modes, blobs, a status, a path.

    Source: git-diff(1), "Raw output format" and "diff format for merges".
    """
    meta = ""
    for field in (part.lstrip("\n") for part in fields):
        if meta and field.startswith(prefix):
            parents = len(meta) - len(meta.lstrip(":"))
            blobs = ["" if b == _NONE else b for b in meta.split(" ")[parents + 1 : -1]]
            yield Moved(path=field.removeprefix(prefix), olds=tuple(blobs[:-1]), new=blobs[-1])
            meta = ""
        else:
            meta = field if field.startswith(":") else ""
