"""Changes on top of a snapshot, as values; bytes only when they are taken out to be committed.

Reading sees what has been put. Where files go (fan-out, raw/ folders) is decided here, at the
moment of taking, so that the layout follows the store's size.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kg.clusters import Line, Pair, Standing, standing
from kg.errors import FormatError, NotFoundError, RefusedError
from kg.format import (
    EDGES,
    ENTITIES,
    FAN_OUT_AT,
    RAW,
    Settings,
    dump_edge,
    dump_entity,
    dump_settings,
    edge_path,
    entity_path,
    fanned,
    parse_edge,
    parse_entity,
    parse_settings,
    raw_path,
)
from kg.format.resolver import PATH as RESOLVER
from kg.format.resolver import cutoffs_of
from kg.format.settings import PATH as SETTINGS
from kg.model import JUDGING, Edge, Entity, RawName, Source, split_id
from kg.resolve.bands import Cutoffs
from kg.store import Snapshot
from kg.text import fold

Key = tuple[str, str, str]
Named = Callable[[str, str], list[str]]  # (id prefix, folded name) -> ids, in the snapshot
Edges = Callable[[str], list[Key]]  # id -> keys of its edges, in the snapshot


class Draft:
    """The store as it would be after the changes made so far."""

    def __init__(
        self,
        snapshot: Snapshot,
        named: Named,
        edges_of: Edges,
        path_of: Callable[[str], str | None] = lambda _id: None,
    ) -> None:
        self._snapshot, self._named, self._edges_of = snapshot, named, edges_of
        self._path_of = path_of
        self._strays: dict[str, str] = {}  # entities in another's place, by the id inside
        data = snapshot.read(SETTINGS)
        self.settings = parse_settings(data) if data is not None else Settings()
        self.ontology = self.settings.ontology
        self._read_fan_out = frozenset(self.settings.fan_out)
        self._cutoffs: Mapping[str, Cutoffs] | None = None
        self._entities: dict[str, Entity | None] = {}
        self._edges: dict[Key, Edge | None] = {}
        self._files: dict[str, bytes | None] = {}
        self._names: dict[tuple[str, str], set[str]] = {}
        self._edges_put: dict[str, set[Key]] = {}
        self._judged_put: dict[str, set[Key]] = {}  # by either end
        self.put_since: dict[str, None] = {}  # entities put; who follows them takes them out
        self._dirty: dict[str | Key, None] = {}  # a dict keeps the order in which they came
        self._dirty_files: set[str] = set()
        self._placed: dict[str | Key, str] = {}  # what earlier takings have put where
        self._raw_count = -1

    # reading

    @property
    def head(self) -> Snapshot:
        """The snapshot that the changes are on top of."""
        return self._snapshot

    @property
    def cutoffs(self) -> Mapping[str, Cutoffs]:
        """The measured cutoffs; none where resolver.json is broken, so that people decide."""
        if self._cutoffs is None:
            try:
                self._cutoffs = cutoffs_of(self._snapshot.read(RESOLVER))
            except FormatError:  # which fsck names; a write must not be lost for it
                self._cutoffs = {}
        return self._cutoffs

    def entity(self, id_: str) -> Entity | None:
        """Return the entity of that id, None where there is none."""
        if id_ not in self._entities:
            path = entity_path(id_, self._read_fan_out)
            data = self._snapshot.read(path)
            found = parse_entity(data, path) if data is not None else None
            self._entities[id_] = found if found and found.id == id_ else self._stray(id_)
        return self._entities[id_]

    def _stray(self, id_: str) -> Entity | None:
        """Return an entity whose file lies elsewhere: readers go by the ids inside files."""
        path = self._path_of(id_)
        data = self._snapshot.read(path) if path else None
        if path is None or data is None:
            return None
        self._strays[id_] = path
        return parse_entity(data, path)

    def existing(self, id_: str, near: Callable[[str], list[str]]) -> Entity:
        """Return the entity of that id.

        Raises:
            NotFoundError: there is none; names the nearest ones.
        """
        found = self.entity(id_)
        if found is None:
            raise NotFoundError(no_such(id_, near(id_)))
        return found

    def edge(self, key: Key) -> Edge | None:
        """Return the edge of that key, None where there is none."""
        if key not in self._edges:
            path = edge_path(*key, self._read_fan_out)
            data = self._snapshot.read(path)
            self._edges[key] = parse_edge(data, path) if data is not None else None
        return self._edges[key]

    def named(self, prefix: str, name: str) -> list[Entity]:
        """Return the entities of that type whose name or other name is exactly this, folded."""
        folded = fold(name)
        ids = {*self._named(prefix, folded), *self._names.get((prefix, folded), ())}
        found = (self.entity(id_) for id_ in sorted(ids))
        return [e for e in found if e is not None and folded in _names(e)]

    def edges_of(self, id_: str) -> list[Edge]:
        """Return the edges of which the entity is the subject."""
        keys = {*(k for k in self._edges_of(id_) if k[0] == id_), *self._edges_put.get(id_, ())}
        return [e for e in (self.edge(key) for key in sorted(keys)) if e is not None]

    def standings(self, id_: str) -> dict[Pair, Standing]:
        """Return what stands of the judgements on each pair that an entity is in."""
        keys = {k for k in self._edges_of(id_) if k[1] in JUDGING}
        keys |= self._judged_put.get(id_, set())
        lines: dict[Pair, list[Line]] = {}
        for key in keys:
            edge = self.edge(key)
            if edge is not None and self.entity(edge.subject) and self.entity(edge.object):
                said = [(j.by, j.verdict, j.run) for j in edge.judgements]
                lines.setdefault((edge.subject, edge.object), []).extend(said)
        return {pair: standing(said) for pair, said in lines.items()}

    def file(self, path: str) -> bytes | None:
        """Return the bytes of any other file, None where there is none."""
        if path in self._files:
            return self._files[path]
        return self._snapshot.read(path)

    def line_count(self, source: Source) -> int:
        """Return how many lines a raw file has; 0 where there is none."""
        data = self.file(source.path)
        return 0 if data is None else data.count(b"\n") + (not data.endswith(b"\n"))

    # changing

    def remove(self, id_: str) -> None:
        """Remove an entity's file."""
        self._entities[id_] = None
        self._dirty[id_] = None
        self.put_since[id_] = None

    def put(self, entity: Entity) -> None:
        """Put an entity; one that is as it was costs nothing."""
        if entity == self.entity(entity.id):
            return
        self._entities[entity.id] = entity
        for name in _names(entity):
            self._names.setdefault((split_id(entity.id)[0], name), set()).add(entity.id)
        self._dirty[entity.id] = None
        self.put_since[entity.id] = None

    def rewrite(self, item: str | Key) -> None:
        """Write an entity or edge even if its value is as it was, where its bytes are not."""
        if self._snapshot.read(self._path(item, self._read_fan_out)) != self._bytes(item):
            self._dirty[item] = None

    def put_edge(self, edge: Edge) -> None:
        """Put an edge."""
        if edge == self.edge(edge.key):
            return
        self._edges[edge.key] = edge
        self._edges_put.setdefault(edge.subject, set()).add(edge.key)
        for end in (edge.subject, edge.object) if edge.judgements else ():
            self._judged_put.setdefault(end, set()).add(edge.key)
        self._dirty[edge.key] = None

    def remove_edge(self, key: Key) -> None:
        """Remove an edge's file."""
        self._edges[key] = None
        self._dirty[key] = None

    def put_file(self, path: str, data: bytes | None) -> None:
        """Put any other file (None removes it)."""
        if self.file(path) != data:
            self._files[path] = data
            self._dirty_files.add(path)

    def remove_file(self, path: str) -> None:
        """Remove a file, also one that is in the folder alone and not in the snapshot."""
        self._files[path] = None
        self._dirty_files.add(path)

    def put_settings(self, settings: Settings) -> None:
        """Put new settings, in force at once."""
        self.settings, self.ontology = settings, settings.ontology
        self.put_file(SETTINGS, dump_settings(settings))

    def add_raw(self, run: str, agent: str, data: bytes) -> tuple[str, bool]:
        """Put a text of raw/; return its path, and whether it was there already.

        The same bytes of the same run and agent are one file.
        """
        digest = hashlib.sha256(data).hexdigest()
        for length in (8, 16, 64):
            name = RawName(run, agent, digest[:length])
            paths = [raw_path(name, folded) for folded in (False, True)]
            there = {path: found for path in paths if (found := self.file(path)) is not None}
            if data in there.values():
                return next(path for path, found in there.items() if found == data), True
            if not there:
                path = paths[self._count_raw() >= FAN_OUT_AT]
                self._raw_count += 1
                self.put_file(path, data)
                return path, False
        raise RefusedError("two texts of one sha256: this cannot happen, report it")

    def _count_raw(self) -> int:
        if self._raw_count < 0:
            self._raw_count = self._snapshot.count(RAW)
        return self._raw_count

    # taking out

    def take(self) -> dict[str, bytes | None]:
        """Return {path: bytes or None} of all that changed since the last taking."""
        changes = self._fan_out()
        for item in self._dirty:
            path = self._path(item, self.settings.fan_out)
            if isinstance(item, str) and item in self._strays:
                changes[self._strays.pop(item)] = None
            changes[path] = self._bytes(item)
            self._placed[item] = path
        changes |= {path: self._files[path] for path in sorted(self._dirty_files)}
        self._dirty.clear()
        self._dirty_files.clear()
        return changes

    def _path(self, item: str | Key, fan_out: Collection[str]) -> str:
        return entity_path(item, fan_out) if isinstance(item, str) else edge_path(*item, fan_out)

    def _bytes(self, item: str | Key) -> bytes | None:
        if isinstance(item, str):
            entity = self._entities[item]
            if entity is None:
                return None
            return dump_entity(replace(entity, contested=self.ontology.contested(entity.facts)))
        edge = self._edges[item]
        return dump_edge(edge) if edge is not None else None

    def _fan_out(self) -> dict[str, bytes | None]:
        """Spread the folders that have grown too large; return the moves of their old files."""
        crowded = [
            folder
            for folder, more in self._growth().items()
            if folder not in self.settings.fan_out
            and self._snapshot.count(folder) + more > FAN_OUT_AT
        ]
        if not crowded:
            return {}
        fan_out = tuple(sorted({*self.settings.fan_out, *crowded}))
        self.put_settings(replace(self.settings, fan_out=fan_out))
        moves: dict[str, bytes | None] = {}
        for folder in crowded:
            for path, id_ in self._snapshot.files(folder):
                moves[path] = None
                moves[fanned(folder, path.rpartition("/")[2])] = self._snapshot.blob(id_)
        for item, path in self._placed.items():
            if _folder(item) in crowded:
                moves[path] = None
                self._dirty[item] = None
        return moves

    def _growth(self) -> Counter[str]:
        """Return how many files each folder gains over the snapshot."""
        return Counter(
            _folder(item)
            for item in {**self._placed, **self._dirty}
            if not self._snapshot.id_of(self._path(item, self._read_fan_out))
        )


def _folder(item: str | Key) -> str:
    if isinstance(item, str):
        return f"{ENTITIES}/{split_id(item)[0]}"
    return f"{EDGES}/{split_id(item[0])[0]}"


def no_such(id_: str, near: list[str]) -> str:
    """Return the message for an id that names nothing, with the nearest ones."""
    hint = f": did you mean {' or '.join(near[:3])}?" if near else ": see kg ls"
    return f"there is no {id_}{hint}"


def _names(entity: Entity) -> set[str]:
    return {fold(name) for name in (entity.name, *entity.aliases)}
