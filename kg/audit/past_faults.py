"""Whether history keeps the rules: its trailers, its texts, its sources, its signatures."""

from __future__ import annotations

from collections.abc import Iterator

from kg.audit.fsck import Finding
from kg.audit.lineage import Commit, Moved, lineage
from kg.audit.rules import sources_of, value_of
from kg.errors import FormatError, KgError, StoreError
from kg.format import RAW
from kg.graph import Graph
from kg.model import check_agent, parse_source, run_order
from kg.store.signing import GOOD, signatures

OURS = "@kg.invalid"  # the address of every author that kg writes


def past_faults(graph: Graph) -> Iterator[Finding]:
    """Yield what was ever wrong: oldest first."""
    history = list(reversed(lineage(graph.place, graph.at().commit)))
    for commit in history:
        yield from _trailers(commit)
        for moved in commit.moved:
            yield from _text(commit, moved)
            yield from _sources(graph, commit, moved)
    if graph.repository.signs:
        yield from _signatures(graph, history)


def _trailers(commit: Commit) -> Iterator[Finding]:
    """Check what a commit says of itself; one by a person with plain git says nothing."""
    if not commit.trailer("Op"):
        if commit.moved and commit.run:
            yield _fault(commit, "has a run and no operation in its trailers")
        return
    try:
        run_order(commit.run)
        check_agent(commit.trailer("Agent"))
    except KgError as error:
        yield _fault(commit, f"has trailers that break the grammar: {str(error).split(':')[0]}")
    for target in commit.reverts:
        if len(target) not in (40, 64) or target.strip("0123456789abcdef"):
            yield _fault(commit, f"reverts {target!a}, which is no commit")


def _text(commit: Commit, moved: Moved) -> Iterator[Finding]:
    changed = moved.new and any(old and old != moved.new for old in moved.olds)
    if moved.path.startswith(f"{RAW}/") and changed:
        yield _fault(commit, f"changed {moved.path}, which never changes")


def _sources(graph: Graph, commit: Commit, moved: Moved) -> Iterator[Finding]:
    """Check that what a commit added points to lines that were there."""
    new = _sources_in(graph, moved.path, moved.new)
    for old in moved.olds:
        new -= _sources_in(graph, moved.path, old)
    if not new:
        return
    then = graph.at(commit.id)
    for src in sorted(new):
        source = parse_source(src)
        data = then.read(source.path)
        lines = 0 if data is None else data.count(b"\n") + (not data.endswith(b"\n"))
        if source.last > lines:
            yield _fault(commit, f"made {moved.path} point to {src}, which was not there")


def _sources_in(graph: Graph, path: str, blob: str) -> set[str]:
    try:
        value = value_of(path, graph.repository.blob(blob)) if blob else None
    except (FormatError, StoreError):
        return set()  # a version that nobody can read: git fsck names a damaged one
    return set(sources_of(value)) if value is not None else set()


def _signatures(graph: Graph, history: list[Commit]) -> Iterator[Finding]:
    said = signatures(graph.place, graph.at().commit)
    for commit in history:
        state = said.get(commit.id, "N")
        if state == "N":
            yield _note(commit, "is not signed, though the repository signs")
        elif state not in GOOD:
            what = "has a bad signature" if state in "BR" else "has a signature nobody can check"
            yield _fault(commit, what) if state in "BR" else _note(commit, what)


def _fault(commit: Commit, problem: str) -> Finding:
    return _finding("fault", commit, problem)


def _note(commit: Commit, problem: str) -> Finding:
    return _finding("note", commit, problem)


def _finding(level: str, commit: Commit, problem: str) -> Finding:
    where, remedy = f"commit {commit.id[:12]}", f"git show {commit.id[:12]}, kg revert it if wrong"
    return Finding(level=level, path=where, problem=problem, remedy=remedy)
