"""Who brought each fact, when, and in which commit: exact across layouts, merges and clusters.

A statement is one line of its file, so it came with the newest commit that has the line and whose
parents all have not; a revert that brought it back is named only if no other has it. `git blame`
looks for lines too, but guesses which of them moved; sets of lines need no guess (GIT.md, 5). Where
a version is not in canonical form, values are compared instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kg.audit.lineage import Commit, Moved, Once, layouts, lineage
from kg.errors import FormatError, NotFoundError
from kg.format import (
    EDGES,
    edge_path,
    entity_path,
    key_of_edge_path,
    parse_edge,
    parse_entity,
)
from kg.format.canonical import line_of
from kg.graph import Graph
from kg.model import (
    Claim,
    Edge,
    EdgeClaim,
    Entity,
    Fact,
    Retraction,
    Sighting,
    Value,
    value_text,
)
from kg.place import Place
from kg.recall.source import Git
from kg.sightings import latest

Traced = Claim | Retraction  # a fact, a claim of an edge, or a retraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Where one statement comes from; `commit` is None where history does not say.

    `confirmed` is its latest sighting by another; `retraction` and `gone` are there for what is
    held no more, and for the commit that took it back.
    """

    id: str
    k: str
    v: Value
    edge: bool
    claim: Claim
    commit: Commit | None
    confirmed: Sighting | None = None
    retraction: Retraction | None = None
    gone: Commit | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {
            "id": self.id, "k": self.k, "v": self.v, "src": self.claim.src,
            "run": self.claim.seen_run, "commit": _commit_json(self.commit),
        }  # fmt: skip
        if self.confirmed is not None:
            seen = self.confirmed
            found["confirmed"] = {"by": seen.by, "run": seen.run, "src": seen.src}
        if self.retraction is not None:
            found["retracted"] = {
                "run": self.retraction.retracted_run, "because": self.retraction.because,
                "commit": _commit_json(self.gone),
            }  # fmt: skip
        return found


def blame(graph: Graph, id_: str, key: str = "", *, gone: bool = False) -> list[Blame]:
    """Return where the facts and edges of an entity, or those of one key, come from.

    Of a cluster those of all its members; `gone` adds what was retracted.

    Raises:
        NotFoundError: no such entity, or nothing under that key.
    """
    draft = graph.draft(graph.at())
    asked = draft.existing(id_, graph.near)
    kin = (draft.entity(other) for other in graph.index().kin_of(id_) if other != id_)
    found: list[Blame] = []
    for entity in (asked, *(one for one in kin if one is not None)):
        edges = [edge for edge in draft.edges_of(entity.id) if edge.claims]
        found += _of(entity, edges, key, gone=gone)
    if not found:
        under = f" under {key!a}" if key else ""
        raise NotFoundError(f"{id_} has nothing{under}: see kg show {id_}, or --all")
    return _with_commits(graph, found)


def origins(graph: Graph, wanted: Mapping[str, Sequence[Traced]]) -> dict[tuple[str, str], Commit]:
    """Return {(flat path, line): the commit that brought it} of statements in files at HEAD."""
    pending = {path: {line_of(v): v for v in values} for path, values in wanted.items()}
    head = graph.at().commit
    paths = [layout for path in _once(graph.place, head, pending) for layout in layouts(path)]
    steps = [
        _Step(commit, path, moved)
        for commit in lineage(graph.place, head, paths)
        for path, moved in commit.files().items()
        if path in pending
    ]
    found: dict[tuple[str, str], Commit] = {}
    brought_back: dict[tuple[str, str], Commit] = {}  # by a revert, so others said it before
    for step, new, olds in _versions(graph.place, steps):
        open_ = pending[step.path]
        for line in _added(step.path, new, olds, open_):
            if step.commit.reverts:
                brought_back.setdefault((step.path, line), step.commit)
            else:
                found[step.path, line] = step.commit
                del open_[line]
        if not any(pending.values()):
            break
    return {**brought_back, **found}


class _Step(NamedTuple):
    """What one commit did to one file (a flat path)."""

    commit: Commit
    path: str
    moved: Moved


def _versions(place: Place, steps: Sequence[_Step]) -> Iterator[tuple[_Step, bytes, list[bytes]]]:
    """Yield each step with its version of the file and those of its parents; b"" for absent.

    One git process reads them all, in order; what the step before on the same file had is kept.
    """
    last: dict[str, set[str]] = {}
    order: list[str] = []
    for step in steps:
        ids = dict.fromkeys(blob for blob in (step.moved.new, *step.moved.olds) if blob)
        order += [blob for blob in ids if blob not in last.get(step.path, ())]
        last[step.path] = set(ids)
    blobs = Git(place.gitdir).blobs(order)
    kept: dict[str, dict[str, bytes]] = {}
    for step in steps:
        before = kept.get(step.path, {})
        here = {"": b""}
        for blob in (step.moved.new, *step.moved.olds):
            if blob not in here:  # one that is damaged or lost says nothing
                here[blob] = before[blob] if blob in before else next(blobs)[0] or b""
        kept[step.path] = here
        now = {id_: _today(data, step.commit.ids) for id_, data in here.items()}
        yield step, now[step.moved.new], [now[old] for old in step.moved.olds]


def _today(data: bytes, ids: Mapping[str, str]) -> bytes:
    """Return a version with the ids that things have now."""
    for old, new in ids.items():
        data = data.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    return data


def _once(place: Place, head: str, paths: Iterable[str]) -> list[str]:
    """Return the flat paths, and those that the same files had before a retype."""
    found, once = [], Once(place, head)
    for path in paths:
        found.append(path)
        key = key_of_edge_path(path)
        ends = [key[0], key[2]] if key else [path.partition("/")[2].removesuffix(".json")]
        names = [once.called(end) for end in ends]
        if key:
            found += [edge_path(one, key[1], two, ()) for one in names[0] for two in names[1]]
        else:
            found += [entity_path(id_, ()) for id_ in names[0]]
    return list(dict.fromkeys(found))


def _added(path: str, new: bytes, olds: Sequence[bytes], open_: Mapping[str, Traced]) -> list[str]:
    """Return which of the open statements a version has and none of its parents' versions."""
    texts = (raw.strip(b" ,").decode("utf-8", "replace") for raw in _fresh(new, olds[0]))
    lines = [text for text in dict.fromkeys(texts) if text in open_]
    return [line for line in lines if not any(_says(path, old, open_[line]) for old in olds)]


def _fresh(new: bytes, old: bytes) -> Iterator[bytes]:
    """Yield the lines that only the new version has, and perhaps a few that both have.

    Versions differ by a few lines of many, so what is alike is skipped as a whole; at a difference
    the lesser line is taken for the one that the other has not, since lists are sorted.
    """
    at = was = 0
    while at < len(new):
        same = _alike(new, at, old, was)
        back = same and at + same - (new.rfind(b"\n", at, at + same) + 1 or at)
        at, was = at + same - back, was + same - back
        ours, theirs = _line_at(new, at), _line_at(old, was)
        if theirs and (ours.strip(b" ,\n") == theirs.strip(b" ,\n")):
            at, was = at + len(ours), was + len(theirs)
        elif theirs and (theirs < ours or not ours):
            was += len(theirs)
        else:
            yield ours.rstrip(b"\n")
            at += len(ours)


def _line_at(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at)
    return data[at : end + 1 if end >= 0 else len(data)]


def _alike(one: bytes, at: int, other: bytes, was: int) -> int:
    """Return how many bytes two texts have in common from these places on."""
    least, most = 0, min(len(one) - at, len(other) - was)
    while least < most:
        middle = (least + most + 1) // 2
        if one[at + least : at + middle] == other[was + least : was + middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _says(path: str, data: bytes, value: Traced) -> bool:
    """Whether a version says it in another form than the canonical one."""
    src = value.because if isinstance(value, Retraction) else value.src
    if src.encode() not in data:  # mostly so, and a parse less
        return False
    try:
        if path.startswith(f"{EDGES}/"):
            return value in parse_edge(data, path).claims
        entity = parse_entity(data, path)
    except FormatError:
        return False
    return value in entity.facts or value in entity.retracted


def _of(entity: Entity, edges: Sequence[Edge], key: str, *, gone: bool) -> list[Blame]:
    found = [
        Blame(
            id=entity.id, k=fact.k, v=fact.v, edge=False, claim=fact, commit=None,
            confirmed=latest(s for s in entity.seen_again if s.identity == fact.identity),
        )
        for fact in entity.facts
    ]  # fmt: skip
    found += [
        Blame(
            id=entity.id, k=edge.predicate, v=edge.object, edge=True, claim=claim, commit=None,
            confirmed=latest(s for s in edge.seen_again if s.since == claim.since),
        )
        for edge in edges
        for claim in edge.claims
    ]  # fmt: skip
    found += [_retracted(entity, r) for r in entity.retracted if gone]
    return [one for one in found if key in ("", one.k)]


def _retracted(entity: Entity, gone: Retraction) -> Blame:
    what = gone.what
    k, v = (what.k, what.v) if isinstance(what, Fact) else (what.predicate, what.object)
    edge = isinstance(what, EdgeClaim)
    return Blame(id=entity.id, k=k, v=v, edge=edge, claim=what, commit=None, retraction=gone)


def _with_commits(graph: Graph, found: Sequence[Blame]) -> list[Blame]:
    wanted: dict[str, list[Traced]] = defaultdict(list)
    for one in found:
        wanted[_path(one)].append(_line(one.claim))
        if one.retraction is not None:
            wanted[entity_path(one.id, ())].append(one.retraction)
    known = origins(graph, wanted)
    return [
        replace(
            one,
            commit=known.get((_path(one), line_of(_line(one.claim)))),
            gone=_gone(one, known),
        )
        for one in found
    ]


def _gone(one: Blame, known: Mapping[tuple[str, str], Commit]) -> Commit | None:
    if one.retraction is None:
        return None
    return known.get((entity_path(one.id, ()), line_of(one.retraction)))


def _path(one: Blame) -> str:
    """Return the flat path of the file that held the statement."""
    if one.edge:
        return edge_path(one.id, one.k, value_text(one.v), ())
    return entity_path(one.id, ())


def _line(claim: Claim) -> Claim:
    """Return a claim as its own file has it: a retracted edge's line says more."""
    if not isinstance(claim, EdgeClaim):
        return claim
    return Claim(**{name: getattr(claim, name) for name in Claim.__dataclass_fields__})


def _commit_json(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    members = {"id": commit.id, "at": commit.at, "run": commit.run, "agent": commit.agent}
    return {**members, "subject": commit.subject}
