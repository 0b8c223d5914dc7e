"""History told again without some of its commits: what the store would hold had they not been.

Only the entities, edges and files that one asks for are followed. Commits that revert by facts
are not told again: what they took back is left out instead. What a commit did to a file is
carried onto what the telling has so far (`kg.audit.carrying`), so nothing can conflict.

Where telling all that counts gives something else than the store holds (a merge that a person
made, a history cut short), it is still right to do to the store what leaving out changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kg.audit.carrying import carry_edge, carry_entity, common, common_edge, retracted_edges
from kg.audit.lineage import Commit, Moved
from kg.audit.renaming import renamed, renamed_edge
from kg.errors import FormatError
from kg.format import EDGES, ENTITIES, TRIED, parse_edge, parse_entity, parse_trace
from kg.format.canonical import Known
from kg.format.paths import key_of_edge_path
from kg.model import Edge, EdgeClaim, Entity, Retraction, Trace

Key = tuple[str, str, str]
Blob = Callable[[str], bytes]  # a blob's id -> its bytes


@dataclass(slots=True)
class Told:
    """What a telling of history has come to: entities, edges, and the blobs of other files."""

    entities: dict[str, Entity] = field(default_factory=dict)
    edges: dict[Key, Edge] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


class History:
    """The commits of a store, and what each did to the files in question."""

    def __init__(self, commits: Sequence[Commit], blob: Blob) -> None:
        self._commits, self._blob = commits, blob  # newest first
        self._by_commit = {c.id: c.files() for c in commits}
        self._known: Known = {}  # versions of one file have most lines in common
        self._last: dict[str, tuple[str, Entity | Edge]] = {}  # by path: a version comes twice
        self.blobs: dict[str, str] = {}  # the last content that each other file had
        self.first: dict[str, Entity] = {}  # each entity that was told of, as it was first met

    def paths(self, commits: Collection[str]) -> set[str]:
        """Return the flat paths that these commits changed."""
        return {path for id_ in commits for path in self._by_commit.get(id_, ())}

    def edges_at(self, ids: Collection[str]) -> set[str]:
        """Return the flat paths of all edges that ever had one of these at an end."""
        paths = {path for changed in self._by_commit.values() for path in changed}
        keys = {path: key_of_edge_path(path) for path in paths}
        return {path for path, key in keys.items() if key and (key[0] in ids or key[2] in ids)}

    def traces(self, told: Told) -> list[Trace]:
        """Return the traces of a telling that can be read."""
        blobs = (blob for path, blob in told.files.items() if path.startswith(f"{TRIED}/"))
        found = []
        for blob in blobs:
            with suppress(FormatError):
                found.append(parse_trace(self._blob(blob), TRIED))
        return found

    def tell(self, paths: Collection[str], *without: Collection[str]) -> list[Told]:
        """Return what these files (flat paths) come to, once for each set of commits left out."""
        tellings = [Told() for _ in without]
        for commit in reversed(self._commits):
            if commit.reverts:
                continue
            changed = self._by_commit[commit.id]
            here = [changed[path] for path in changed if path in paths]
            counted = [t for t, out in zip(tellings, without, strict=True) if commit.id not in out]
            for versions in sorted(here, key=lambda v: v.path.startswith(EDGES)):
                self._carry(counted, versions, commit)
        return tellings

    def _carry(self, tellings: Iterable[Told], versions: Moved, commit: Commit) -> None:
        path = versions.path
        if path.startswith(f"{ENTITIES}/"):
            self._carry_entity(tellings, versions, commit)
        elif path.startswith(f"{EDGES}/"):
            self._carry_edge(tellings, versions, commit)
        else:
            self.blobs[path] = versions.new or self.blobs.get(path, "")
            for told in tellings:
                if versions.new:
                    told.files[path] = versions.new
                else:
                    told.files.pop(path, None)

    def _carry_entity(self, tellings: Iterable[Told], versions: Moved, commit: Commit) -> None:
        olds = [self._entity(versions.path, blob, commit) for blob in versions.olds]
        new = self._entity(versions.path, versions.new, commit)
        old = olds[0] if len(olds) == 1 else common(olds, new)
        about = new or old
        if about is None:
            return
        first = self.first.setdefault(about.id, about)
        run = commit.run or about.last_seen_run
        for told in tellings:
            onto = told.entities.get(about.id)
            made = carry_entity(old, new, onto, run=run, agent=commit.agent, name=first.name)
            _put(told, about.id, made, retracted_edges(old, new))

    def _carry_edge(self, tellings: Iterable[Told], versions: Moved, commit: Commit) -> None:
        olds = [self._edge(versions.path, blob, commit) for blob in versions.olds]
        new = self._edge(versions.path, versions.new, commit)
        old = olds[0] if len(olds) == 1 else common_edge(olds, new)
        about = new or old
        if about is None:
            return
        for told in tellings:
            made = carry_edge(old, new, told.edges.get(about.key), agent=commit.agent)
            if made is not None:
                told.edges[about.key] = made
            else:
                told.edges.pop(about.key, None)

    def _entity(self, path: str, blob: str, commit: Commit) -> Entity | None:
        found = self._parsed(path, blob, self._parse)
        return renamed(found, commit.ids) if isinstance(found, Entity) else None

    def _edge(self, path: str, blob: str, commit: Commit) -> Edge | None:
        found = self._parsed(path, blob, parse_edge)
        return renamed_edge(found, commit.ids) if isinstance(found, Edge) else None

    def _parse(self, data: bytes, path: str) -> Entity:
        return parse_entity(data, path, self._known)

    def _parsed(
        self, path: str, blob: str, parse: Callable[[bytes, str], Entity | Edge]
    ) -> Entity | Edge | None:
        """Return a version's value; None for none, and for one that nobody could read."""
        if not blob:
            return None
        known, value = self._last.get(path, ("", None))
        if known == blob:
            return value
        try:
            value = parse(self._blob(blob), path)
        except FormatError:
            return None
        self._last[path] = blob, value
        return value


def _put(told: Told, id_: str, made: Entity | None, gone: Iterable[Retraction]) -> None:
    if made is None:
        told.entities.pop(id_, None)
    else:
        told.entities[id_] = _with_edges_retracted(made, gone, told)


def _with_edges_retracted(entity: Entity, said: Iterable[Retraction], told: Told) -> Entity:
    """Return the entity with those edges on record as retracted that the telling has."""
    for gone in said:
        what = gone.what
        if not isinstance(what, EdgeClaim):
            continue
        edge = told.edges.get((entity.id, what.predicate, what.object))
        claims = [c for c in edge.claims if c.since == what.since] if edge else []
        for claim in claims:
            line = replace(gone, what=replace(what, src=claim.src, seen_run=claim.seen_run))
            if line not in entity.retracted:
                entity = replace(entity, retracted=(*entity.retracted, line))
    return entity
