"""What a person has edited by hand: named, and committed once it is valid."""

from __future__ import annotations

from typing import NamedTuple

from kg import secrets
from kg.errors import FormatError, RefusedError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
    dump_edge,
    dump_entity,
    dump_settings,
    dump_trace,
    edge_path,
    entity_path,
    parse_edge,
    parse_entity,
    parse_settings,
    parse_trace,
)
from kg.format.settings import PATH as SETTINGS
from kg.gitprogram import git
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import parse_source
from kg.store.worktree import Worktree


class Drafted(NamedTuple):
    """A file of the store that differs from HEAD; `state` is edited, added or removed."""

    path: str
    state: str


def drafts(graph: Graph) -> list[Drafted]:
    """Return the files of the store that differ from HEAD, in the working tree or the index.

    Takes no lock of git's.
    """
    place = graph.place
    if place.bare or not place.gitdir:
        return []
    args = ("status", "--porcelain=v1", "-z", "--no-renames",
            "--untracked-files=all", "--", place.prefix or ".")  # fmt: skip
    prefix = f"{place.prefix}/" if place.prefix else ""
    found = []
    for line in git(place.gitdir, args, top=place.top).decode("utf-8", "replace").split("\0")[:-1]:
        flags, path = line[:2], line[3:].removeprefix(prefix)
        if not path.endswith(".kg-tmp"):
            state = (
                "removed" if "D" in flags else "added" if flags in ("??", "A ", "AM") else "edited"
            )
            found.append(Drafted(path, state))
    return found


def commit(graph: Graph, message: str = "") -> tuple[str, list[Drafted]]:
    """Commit what a person has edited by hand, in canonical form; return (commit, files).

    Raises:
        RefusedError: an edit is not valid: a raw/ file changed, a source that names no line, an
            edge to nothing, a secret. Nothing was written.
        FormatError: a file breaks the format.
    """
    found = [d for d in drafts(graph) if _ours(d.path)]
    files = Worktree(graph.repository)
    edited = {d.path: files.id_of(d.path) for d in found}

    def edit(draft: Draft) -> str:
        for drafted in found:
            _take(graph, draft, drafted)
        for drafted in found:
            _check_references(graph, draft, drafted)
        return message or f"Edit {', '.join(d.path for d in found[:2])} by hand"

    return (graph.change(edit, op="edit", edited=edited) if found else ""), found


def _ours(path: str) -> bool:
    return path == SETTINGS or path.partition("/")[0] in (ENTITIES, EDGES, RAW, TRIED)


def _take(graph: Graph, draft: Draft, drafted: Drafted) -> None:
    """Put one edited file into the draft, canonical."""
    path, folder = drafted.path, drafted.path.partition("/")[0]
    if folder == RAW and drafted.state != "added":
        raise RefusedError(f"{path}: a file of raw/ never changes: git restore it")
    if drafted.state == "removed":
        draft.put_file(path, None)
        return
    data = _bytes(graph, path)
    secrets.check(data.decode("utf-8", "replace"), path)
    if folder == RAW:
        raise RefusedError(
            f"{path}: raw/ is filled by kg capture {path}, which names it by its content"
        )
    draft.put_file(path, _canonical(draft, path, data))


def _canonical(draft: Draft, path: str, data: bytes) -> bytes:
    folder = path.partition("/")[0]
    if folder == ENTITIES:
        entity = parse_entity(data, path)
        _same_path(path, entity_path(entity.id, draft.settings.fan_out))
        for fact in entity.facts:
            draft.ontology.check_fact(entity.id, fact.k, fact.v)
        draft.put(entity)
        known = draft.entity(entity.id)
        return dump_entity(known or entity)
    if folder == EDGES:
        edge = parse_edge(data, path)
        _same_path(path, edge_path(*edge.key, draft.settings.fan_out))
        draft.ontology.check_edge(*edge.key)
        return dump_edge(edge)
    if folder == TRIED:
        return dump_trace(parse_trace(data, path))
    return dump_settings(parse_settings(data))


def _check_references(graph: Graph, draft: Draft, drafted: Drafted) -> None:
    """Refuse an edit that leaves a pointer to nothing."""
    if drafted.state == "removed":
        _check_removed(graph, draft, drafted.path)
        return
    data = draft.file(drafted.path) or b""
    folder = drafted.path.partition("/")[0]
    sources: list[str] = []
    ids: list[str] = []
    if folder == ENTITIES:
        entity = parse_entity(data, drafted.path)
        sources = [f.src for f in entity.facts] + [r.because for r in entity.retracted]
        keys = draft.ontology.keys
        ids = [str(f.v) for f in entity.facts if draft.ontology.takes_entity(keys[f.k])]
    elif folder == EDGES:
        edge = parse_edge(data, drafted.path)
        sources = [c.src for c in edge.claims] + [j.src for j in edge.judgements]
        ids = [edge.subject, edge.object]
    elif folder == TRIED:
        trace = parse_trace(data, drafted.path)
        sources, ids = [trace.src], list(trace.about)
    for src in sources:
        if parse_source(src).last > draft.line_count(parse_source(src)):
            raise RefusedError(f"{drafted.path}: {src} names no line: name one that is there")
    for id_ in ids:
        if draft.entity(id_) is None:
            raise RefusedError(f"{drafted.path}: there is no {id_}: add it first")


def _check_removed(graph: Graph, draft: Draft, path: str) -> None:
    if path.partition("/")[0] != ENTITIES:
        return
    before = graph.at().read(path)
    id_ = parse_entity(before, path).id if before is not None else ""
    for subject, predicate, object_, edge in graph.index().edges_of(id_) if id_ else ():
        if draft.file(edge) is not None:
            raise RefusedError(
                f"{path}: {subject} {predicate} {object_} would point to nothing: "
                f"remove {edge} as well, or kg retract"
            )


def _bytes(graph: Graph, path: str) -> bytes:
    with open(f"{graph.place.folder}/{path}", "rb") as file:
        return file.read()


def _same_path(path: str, wanted: str) -> None:
    if path != wanted:
        raise FormatError(path, f"its id belongs to {wanted}: move it there")
