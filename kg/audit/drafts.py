"""What a person has edited by hand: named, and committed once it is valid."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kg import secrets
from kg.audit.rules import Valued, broken, ids_of, sources_of, value_of
from kg.errors import FormatError, RefusedError
from kg.format import (
    EDGES,
    ENTITIES,
    RAW,
    TRIED,
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
from kg.format.resolver import check_version as check_resolver
from kg.format.settings import PATH as SETTINGS
from kg.format.settings import check_version
from kg.gitprogram import git
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import parse_source
from kg.resolve.labels import read_labels, write_labels
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
    index = _index(graph)
    said = git(place.gitdir, args, top=place.top, index=index).decode("utf-8", "replace")
    for line in said.split("\0")[:-1]:
        flags, path = line[:2], line[3:].removeprefix(prefix)
        if _ours(path) and not path.endswith(".kg-tmp"):
            state = (
                "removed" if "D" in flags else "added" if flags in ("??", "A ", "AM") else "edited"
            )
            found.append(Drafted(path, state))
    return found


def _index(graph: Graph) -> str:
    """Return "" for git's own index; where that was removed, one as git reset would make it."""
    place = graph.place
    if os.path.exists(f"{place.gitdir}/index") or not graph.at().commit:
        return ""
    made = f"{place.state}/index.look"
    git(place.gitdir, ("read-tree", "HEAD"), index=made)
    git(place.gitdir, ("update-index", "-q", "--refresh"), top=place.top, index=made, codes=(0, 1))
    return made


def commit(graph: Graph, message: str = "", paths: Sequence[str] = ()) -> tuple[str, list[Drafted]]:
    """Commit what a person has edited by hand, in canonical form; return (commit, files).

    `paths` name files to put into canonical form though nobody has edited them.

    Raises:
        RefusedError: an edit is not valid: a raw/ file changed, a source that names no line, an
            edge to nothing, a secret. Nothing was written.
        FormatError: a file breaks the format.
    """
    found = drafts(graph)
    known = {d.path for d in found}
    found += [Drafted(path, "rewritten") for path in paths if path not in known and _ours(path)]
    files = Worktree(graph.repository)
    edited = {d.path: files.id_of(d.path) for d in found}

    def edit(draft: Draft) -> str:
        taken = [_take(graph, draft, drafted) for drafted in found]
        for drafted, value in zip(found, taken, strict=True):
            if value is not None:
                _check(draft, drafted.path, value)
        _check_gone(graph, draft, found)
        return message or f"Edit {', '.join(d.path for d in found[:2])} by hand"

    return (graph.change(edit, op="edit", edited=edited) if found else ""), found


def _ours(path: str) -> bool:
    folders = (ENTITIES, EDGES, RAW, TRIED, LABELS)
    return path in (SETTINGS, ORDER, RESOLVER) or path.partition("/")[0] in folders


def _take(graph: Graph, draft: Draft, drafted: Drafted) -> Valued | None:
    """Put one edited file into the draft, canonical; return the value it holds."""
    path, folder = drafted.path, drafted.path.partition("/")[0]
    if folder == RAW and drafted.state != "added":
        raise RefusedError(f"{path}: a file of raw/ never changes: git restore it")
    if folder == RAW:
        raise RefusedError(
            f"{path}: raw/ is filled by kg capture {path}, which names it by its content"
        )
    if drafted.state == "removed":
        _remove(graph, draft, path)
        return None
    data = _bytes(graph, path)
    secrets.check(data.decode("utf-8", "replace"), path)
    return _put(draft, path, data)


def _put(draft: Draft, path: str, data: bytes) -> Valued | None:
    folder = path.partition("/")[0]
    if folder == ENTITIES:
        entity = parse_entity(data, path)
        _same_path(path, entity_path(entity.id, draft.settings.fan_out))
        draft.put(entity)
        draft.rewrite(entity.id)
        return entity
    if folder == EDGES:
        edge = parse_edge(data, path)
        _same_path(path, edge_path(*edge.key, draft.settings.fan_out))
        draft.put_edge(edge)
        draft.rewrite(edge.key)
        return edge
    if folder == TRIED:
        trace = parse_trace(data, path)
        draft.put_file(path, dump_trace(trace))
        return trace
    if path in (ORDER, RESOLVER) or folder == LABELS:
        draft.put_file(path, canonical_page(path, data))
        return None
    settings = parse_settings(data)
    check_version(settings)
    if settings.fan_out != draft.settings.fan_out:
        raise RefusedError(f"{path}: fan_out says where files lie, kg keeps it: put it back")
    draft.put_settings(settings)
    return None


def _remove(graph: Graph, draft: Draft, path: str) -> None:
    before, folder = graph.at().read(path), path.partition("/")[0]
    if folder == ENTITIES and before is not None:
        draft.remove(parse_entity(before, path).id)
    elif folder == EDGES and before is not None:
        draft.remove_edge(parse_edge(before, path).key)
    else:
        draft.put_file(path, None)


def _check(draft: Draft, path: str, value: Valued) -> None:
    """Refuse an edit that breaks the ontology or points to nothing."""
    for problem, _ in broken(value, draft.ontology):
        raise RefusedError(f"{path}: {problem}")
    for src in sources_of(value):
        if parse_source(src).last > draft.line_count(parse_source(src)):
            raise RefusedError(f"{path}: {src} names no line: name one that is there")
    for id_ in ids_of(value, draft.ontology):
        if draft.entity(id_) is None:
            raise RefusedError(f"{path}: there is no {id_}: add it first")


def _check_gone(graph: Graph, draft: Draft, found: Sequence[Drafted]) -> None:
    """Refuse to remove an entity that something still points to: looks through all files."""
    gone = {id_ for id_ in _removed_ids(graph, found) if draft.entity(id_) is None}
    if not gone:
        return
    snapshot, edited = graph.at(), {d.path for d in found}
    for path, blob in snapshot.files():
        data = snapshot.blob(blob)
        if path in edited or not any(id_.encode() in data for id_ in gone):
            continue
        value = value_of(path, data)
        for id_ in gone.intersection(ids_of(value, draft.ontology) if value else ()):
            raise RefusedError(f"{path} points to {id_}, which you removed: mend it as well")


def _removed_ids(graph: Graph, found: Sequence[Drafted]) -> Iterator[str]:
    for drafted in found:
        before = graph.at().read(drafted.path)
        if drafted.state == "removed" and before and drafted.path.startswith(ENTITIES):
            yield parse_entity(before, drafted.path).id


def canonical_page(path: str, data: bytes) -> bytes:
    """Return the canonical bytes of a file that holds no value of the graph."""
    if path == ORDER:
        return dump_order(parse_order(data))
    if path == RESOLVER:
        check_resolver(data)
        return dump_resolver(parse_resolver(data))
    return write_labels(read_labels(data, path))


def _bytes(graph: Graph, path: str) -> bytes:
    with open(f"{graph.place.folder}/{path}", "rb") as file:
        return file.read()


def _same_path(path: str, wanted: str) -> None:
    if path != wanted:
        raise FormatError(path, f"its id belongs to {wanted}: move it there")
