"""The commits of a store, newest first, merges included, and which of them count.

A revert by facts is a commit with `Reverts:` trailers, one for each commit that it takes back.
A commit counts unless a revert that itself counts names it; so reverting a revert needs no
rule of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex

from kg.format import EDGES, ENTITIES, edge_path, entity_path, fanned, key_of_edge_path
from kg.gitprogram import git
from kg.model import JUDGING, is_id
from kg.place import Place

REVERTS = "Reverts"
RETYPED = "Retyped"  # its value: the old id, a space, the new id
_NONE = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One path that a commit changed: its blob in each parent and in itself, "" for absent.

    A merge has only those paths that differ from all of its parents.
    """

    path: str
    olds: tuple[str, ...]
    new: str

    @property
    def old(self) -> str:
        """The blob in the first parent."""
        return self.olds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the store: author's name and time, message, and what it changed."""

    id: str
    parents: tuple[str, ...]
    author: str
    at: int
    message: str
    moved: tuple[Moved, ...]
    ids: Mapping[str, str] = field(default_factory=dict)  # what ids of then are now

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

    def files(self) -> dict[str, Moved]:
        """Return what it changed by flat path: the two halves of a move are one file."""
        groups: dict[str, list[Moved]] = {}
        for moved in self.moved:
            groups.setdefault(self._now(flat(moved.path)), []).append(moved)
        return {path: _joined(path, halves) for path, halves in groups.items()}

    def _now(self, path: str) -> str:
        """Return the flat path that a file of then has now."""
        if not self.ids:
            return path
        key = key_of_edge_path(path)
        if key is not None:
            one, predicate, other = (
                self.ids.get(key[0], key[0]),
                key[1],
                self.ids.get(key[2], key[2]),
            )
            ends = sorted((one, other)) if predicate in JUDGING else (one, other)
            return edge_path(ends[0], predicate, ends[1], ())
        id_ = path.removeprefix(f"{ENTITIES}/").removesuffix(".json")
        return entity_path(self.ids[id_], ()) if id_ in self.ids else path

    @property
    def retyped(self) -> tuple[str, str] | None:
        """The old and the new id that it gave a thing, None where it gave none."""
        old, space, new = self.trailer(RETYPED).partition(" ")
        return (old, new) if space and is_id(old) and is_id(new) else None

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


def flat(path: str) -> str:
    """Return where a file lies in a flat layout: the fan-out moves files, and changes nothing."""
    parts = path.split("/")
    fanned_out = parts[0] in (ENTITIES, EDGES) and len(parts) == 4
    return "/".join([*parts[:2], parts[3]]) if fanned_out else path


def layouts(path: str) -> list[str]:
    """Return where the file of a flat path may lie: there, and fanned out."""
    parts = path.split("/")
    folders = parts[0] in (ENTITIES, EDGES) and len(parts) == 3
    return [path, fanned("/".join(parts[:2]), parts[2])] if folders else [path]


def lineage(place: Place, head: str, paths: Sequence[str] = (), *, limit: int = 0) -> list[Commit]:
    """Return the commits up to `head` that changed the store or these paths of it.

    Children come before parents, `limit` of them if it is given, those of all branches.
    """
    if not head:
        return []
    prefix = f"{place.prefix}/" if place.prefix else ""
    wanted = [prefix + path for path in paths] or ([place.prefix] if prefix else [])
    mark = token_hex(16)  # no message can hold what is drawn after it was written
    args = ["log", "-z", "-c", "--raw", "--no-renames", "--no-abbrev", "--full-history",
            f"-n{limit}" if limit else "--topo-order",
            f"--format={mark}%H%x00%P%x00%an%x00%at%x00%B%x00", head, "--"]  # fmt: skip
    data = git(place.gitdir, [*args, *wanted]).decode("utf-8", "replace")
    found = [_commit(block, prefix) for block in data.split(mark)[1:]]
    return _with_ids(_over_layouts(place, prefix, found))


class Once:
    """The ids that things had before they were retyped, as the history up to a commit says."""

    def __init__(self, place: Place, head: str) -> None:
        """Read all such commits at once."""
        said = git(place.gitdir, ("log", f"--format=%(trailers:key={RETYPED},valueonly)",
                                  f"--grep=^{RETYPED}: ", head, "--"))  # fmt: skip
        lines = (line.partition(" ") for line in said.decode("utf-8", "replace").split("\n"))
        self._pairs = [(old, new) for old, _, new in lines if is_id(old) and is_id(new)]

    def called(self, id_: str) -> list[str]:
        """Return what a thing is called, and was called before, the last first."""
        found = [id_]
        for old, new in self._pairs:
            if new == found[-1]:
                found.append(old)
        return found


def _with_ids(commits: list[Commit]) -> list[Commit]:
    """Return the commits, those before a retype with what its ids have become."""
    ids: dict[str, str] = {}
    found = []
    for commit in commits:
        if commit.retyped is not None:
            old, new = commit.retyped
            ids = {**ids, old: ids.get(new, new)}
        found.append(replace(commit, ids=ids) if ids else commit)
    return found


def taken_back(commits: Sequence[Commit], more: Collection[str] = ()) -> set[str]:
    """Return which of all commits, newest first, do not count if one more takes back `more`."""
    gone = set(more)
    for commit in commits:
        if commit.id not in gone:
            gone.update(commit.reverts)
    return gone


def _joined(path: str, halves: Sequence[Moved]) -> Moved:
    olds = zip(*(moved.olds for moved in halves), strict=True)
    new = next((moved.new for moved in halves if moved.new), "")
    return Moved(path=path, olds=tuple(next(filter(None, each), "") for each in olds), new=new)


def _commit(block: str, prefix: str) -> Commit:
    id_, parents, author, at, message, *rest = block.split("\0")
    return Commit(
        id=id_, parents=tuple(parents.split()), author=author, at=int(at), message=message,
        moved=tuple(_moved(rest, prefix)),
    )  # fmt: skip


def _over_layouts(place: Place, prefix: str, commits: list[Commit]) -> list[Commit]:
    """Return the commits, in each merge what a parent has of a file in the other layout."""
    asked = {
        (c.id, m.path, n): f"{c.parents[n]}:{prefix}{_elsewhere(m.path)}"
        for c in commits
        if len(c.parents) > 1
        for m in c.moved
        for n, old in enumerate(m.olds)
        if not old and _elsewhere(m.path)
    }
    if not asked:
        return commits
    args = ("cat-file", "--batch-check=%(objectname)")
    said = git(place.gitdir, args, data="\n".join(asked.values()).encode()).decode().split("\n")
    blobs = dict(zip(asked, (s if len(s) in (40, 64) else "" for s in said), strict=False))
    return [
        replace(commit, moved=tuple(_filled(commit, moved, blobs) for moved in commit.moved))
        for commit in commits
    ]


def _filled(commit: Commit, moved: Moved, blobs: Mapping[tuple[str, str, int], str]) -> Moved:
    olds = (old or blobs.get((commit.id, moved.path, n), "") for n, old in enumerate(moved.olds))
    return replace(moved, olds=tuple(olds))


def _elsewhere(path: str) -> str:
    """Return where a file lies in the other layout, "" where there is none."""
    return next((p for p in layouts(flat(path)) if p != path), "")


def _moved(fields: Iterable[str], prefix: str) -> Iterable[Moved]:
    """Yield what git's raw format says: `:` once for each parent, modes, blobs, a status, a path.

    Source: git-diff(1), "Raw output format" and "diff format for merges".
    """
    meta = ""
    for word in (part.lstrip("\n") for part in fields):
        if meta and word.startswith(prefix):
            parents = len(meta) - len(meta.lstrip(":"))
            blobs = ["" if b == _NONE else b for b in meta.split(" ")[parents + 1 : -1]]
            yield Moved(path=word.removeprefix(prefix), olds=tuple(blobs[:-1]), new=blobs[-1])
            meta = ""
        else:
            meta = word if word.startswith(":") else ""
