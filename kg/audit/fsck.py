"""Whether a store keeps its own rules: each finding with where, what, and the remedy.

Faults are what kg would never have written; notes are what a person may want to know
(contested keys, drafts, kept writes). Reads HEAD, never the working files, so it can run
beside writers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kg import secrets
from kg.audit.drafts import drafts
from kg.audit.rules import Valued, broken, ids_of, sources_of
from kg.errors import KgError, StoreError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
    Settings,
    dump_edge,
    dump_entity,
    dump_trace,
    edge_path,
    entity_path,
    parse_edge,
    parse_entity,
    parse_settings,
    parse_trace,
)
from kg.format.order import PATH as ORDER
from kg.format.order import dump_order, parse_order
from kg.format.resolver import LABELS, dump_resolver, parse_resolver
from kg.format.resolver import PATH as RESOLVER
from kg.format.settings import PATH as SETTINGS
from kg.format.settings import VERSION
from kg.graph import Graph
from kg.model import Edge, Entity, Trace, parse_raw_name, parse_source
from kg.resolve.labels import read_labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found: a `fault` or a `note`, where, what, and what to do about it.

    `mends` says that kg fsck --fix does it: form and place alone are wrong.
    """

    level: str
    path: str
    problem: str
    remedy: str
    mends: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


def fsck(graph: Graph) -> list[Finding]:
    """Return everything that is wrong with the store at HEAD, and what a person should know."""
    checker = _Checker(graph)
    return [*checker.faults(), *_notes(graph, checker)]


class _Checker:
    """One pass over the files of a snapshot, then one over what they point to."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._snapshot = graph, graph.at()
        self.settings = Settings()
        self.entities: dict[str, tuple[str, Entity]] = {}
        self.edges: dict[tuple[str, str, str], tuple[str, Edge]] = {}
        self._traces: list[tuple[str, Trace]] = []
        self._raw_lines: dict[str, int] = {}

    def faults(self) -> Iterator[Finding]:
        yield from self._check_settings()
        yield from self._check_page(ORDER, lambda data: dump_order(parse_order(data)))
        yield from self._check_page(RESOLVER, _canonical_resolver)
        for path, kind in self._snapshot.odd():
            yield _fault(path, f"is a {kind}, which kg does not follow", "replace it by a file")
        for path, id_ in self._snapshot.files():
            try:
                data = self._snapshot.blob(id_)
            except StoreError:
                remedy = "fetch it from a clone: git fetch, git fsck"
                yield _fault(path, f"its object {id_[:12]} is missing or corrupt", remedy)
                continue
            yield from self._check_file(path, data)
        found: list[tuple[str, Valued]] = [*self.entities.values(), *self.edges.values()]
        for path, value in [*found, *self._traces]:
            yield from self._check_rules(path, value)
        yield from self._check_index()

    def _check_settings(self) -> Iterator[Finding]:
        data = self._snapshot.read(SETTINGS)
        if data is None:
            yield _fault(SETTINGS, "is missing", "run kg init in the folder")
            return
        try:
            self.settings = parse_settings(data)
        except KgError as error:
            yield _fault(SETTINGS, _said(error, SETTINGS), "mend the file and run kg commit")

    def _check_page(self, path: str, canonical: Callable[[bytes], bytes]) -> Iterator[Finding]:
        data = self._snapshot.read(path)
        try:
            if data is not None and canonical(data) != data:
                yield _form(path, "is not in canonical form", f"run kg commit {path}")
        except KgError as error:
            yield _fault(path, _said(error, path), "mend the file and run kg commit")

    def _check_file(self, path: str, data: bytes) -> Iterator[Finding]:
        folder = path.partition("/")[0]
        if folder == RAW:
            yield from self._check_raw(path, data)
        elif folder in (ENTITIES, EDGES, TRIED, LABELS):
            try:
                if folder == LABELS:
                    _ = list(read_labels(data, path))
                else:
                    yield from self._check_value(path, folder, data)
            except KgError as error:
                yield _fault(path, _said(error, path), "mend the file and run kg commit")
        for found in secrets.scan(data.decode("utf-8", "replace"))[:3]:
            yield _fault(
                path,
                f"line {found.line} looks like a secret ({found.kind})",
                "revoke it, then kg purge --secret, since history holds it",
            )

    def _check_raw(self, path: str, data: bytes) -> Iterator[Finding]:
        self._raw_lines[path] = data.count(b"\n") + (not data.endswith(b"\n"))
        name = parse_raw_name(path)
        if name is None:
            yield _note(path, "has a name that says neither run nor agent", "kept as it is")
        elif name.digits and not hashlib.sha256(data).hexdigest().startswith(name.digits):
            yield _fault(
                path, "holds other bytes than its name says", f"find when: git log -- {path}"
            )

    def _check_value(self, path: str, folder: str, data: bytes) -> Iterator[Finding]:
        if folder == ENTITIES:
            entity = parse_entity(data, path)
            yield from self._placed(path, entity_path(entity.id, self.settings.fan_out))
            yield from self._twin(path, self.entities.get(entity.id), entity.id)
            self.entities[entity.id] = (path, entity)
            contested = self.settings.ontology.contested(entity.facts)
            right = dump_entity(replace(entity, contested=contested))
        elif folder == EDGES:
            edge = parse_edge(data, path)
            yield from self._placed(path, edge_path(*edge.key, self.settings.fan_out))
            yield from self._twin(path, self.edges.get(edge.key), " ".join(edge.key))
            self.edges[edge.key] = (path, edge)
            right = dump_edge(edge)
        else:
            trace = parse_trace(data, path)
            self._traces.append((path, trace))
            right = dump_trace(trace)
        if data != right:
            yield _form(
                path,
                "is not in canonical form, or its aliases or contested keys are wrong",
                f"kg commit {path}",
            )

    def _placed(self, path: str, wanted: str) -> Iterator[Finding]:
        if path != wanted:
            yield _form(
                path,
                f"its id belongs to {wanted}",
                "git mv it there, kg commit",
            )

    def _twin(self, path: str, other: tuple[str, Any] | None, what: str) -> Iterator[Finding]:
        if other is not None:
            yield _fault(
                path, f"{what} is in {other[0]} as well", "merge the two by hand, kg commit"
            )

    def _check_rules(self, path: str, value: Valued) -> Iterator[Finding]:
        for problem, remedy in broken(value, self.settings.ontology):
            yield _fault(path, problem, remedy)
        yield from self._check_sources(path, sources_of(value))
        yield from self._check_ids(path, ids_of(value, self.settings.ontology))

    def _check_sources(self, path: str, sources: list[str]) -> Iterator[Finding]:
        for src in sources:
            source = parse_source(src)
            lines = self._raw_lines.get(source.path, 0)
            if source.last > lines:
                state = f"has {lines} lines" if lines else "is not there"
                yield _fault(path, f"{src}: the file {state}", f"git log --all -- {source.path}")

    def _check_ids(self, path: str, ids: list[str]) -> Iterator[Finding]:
        for id_ in ids:
            if id_ not in self.entities:
                yield _fault(
                    path, f"points to {id_}, which is not there", "add it, or retract this"
                )

    def _check_index(self) -> Iterator[Finding]:
        """Compare the recall index, which is derived, with what HEAD says."""
        index = self._graph.index()
        lost = [id_ for id_ in self.entities if index.path_of(id_) is None]
        stale = index.tree != self._snapshot.tree and bool(self._snapshot.tree and index.tree)
        if (lost or stale) and self._graph.at().commit == self._snapshot.commit:
            what = f"misses {lost[0]}" if lost else "is of another tree"
            yield _form(".git/kg/recall.db", f"the index {what}", "delete it: it is built anew")


def _notes(graph: Graph, checker: _Checker) -> Iterator[Finding]:
    if checker.settings.version > VERSION:
        yield _note(
            SETTINGS, f"is of format {checker.settings.version}", "upgrade kg to write here"
        )
    for path, entity in checker.entities.values():
        for key in entity.contested:
            yield _note(path, f"{key} is contested", f"kg why {entity.id} {key}")
    for drafted in drafts(graph):
        yield _note(drafted.path, f"{drafted.state} by hand", "kg commit, or git restore")
    waiting = graph.outbox.names()
    if waiting:
        yield _note(graph.outbox.folder, f"{len(waiting)} writes are waiting", "kg status")
    for path, because in graph.outbox.refused():
        yield _note(path, f"could not be written: {because}", "correct it and kg remember it")


def _canonical_resolver(data: bytes) -> bytes:
    cutoffs = parse_resolver(data)
    return dump_resolver(cutoffs) if cutoffs else data  # of a newer format nothing is known


def _fault(path: str, problem: str, remedy: str) -> Finding:
    return Finding(level="fault", path=path, problem=problem, remedy=remedy)


def _form(path: str, problem: str, remedy: str) -> Finding:
    return Finding(level="fault", path=path, problem=problem, remedy=remedy, mends=True)


def _note(path: str, problem: str, remedy: str) -> Finding:
    return Finding(level="note", path=path, problem=problem, remedy=remedy)


def _said(error: KgError, path: str) -> str:
    return str(error).removeprefix(path).lstrip(": ")
