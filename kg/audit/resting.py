"""What must stay when commits are taken back, because something that is left rests on it.

The rule: an entity that an edge, a fact or a trace still speaks of stays, bare: its id, type and
first name. A judgement is no reason to stay; on an entity that goes, it goes as well. A text of
raw/ stays while a line of it is a source. The rule is a function of what history comes to, so
taking the taking back back gives what was there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kg.audit.lineage import flat
from kg.audit.replay import History, Told
from kg.audit.rules import Valued, ids_of, sources_of, value_of
from kg.errors import FormatError
from kg.format import EDGES, ENTITIES, TRIED
from kg.gitprogram import git
from kg.graph.draft import Draft
from kg.model import JUDGING, Claim, Edge, Entity, parse_source, run_order
from kg.place import Place


class Resting:
    """Ids and texts that one telling has and another has not, and who speaks of them."""

    def __init__(
        self, draft: Draft, history: History, ids: Collection[str], texts: Collection[str]
    ) -> None:
        self._draft, self._history, self._ids, self._texts = draft, history, ids, texts
        self._outside: dict[str, str] = {}

    def look_outside(self, place: Place, told: Collection[str]) -> None:
        """Find who speaks of them in the files at HEAD whose history is not told."""
        words = [f'"{id_}"' for id_ in self._ids] + [f"{path}#L" for path in self._texts]
        for path in holding(place, self._draft.head.commit, words):
            data = self._draft.head.read(path)
            value = _value(path, data) if data is not None and flat(path) not in told else None
            for name in self._spoken_of(value):
                self._outside.setdefault(name, path)

    def settle(self, told: Told) -> dict[str, str]:
        """Keep in a telling what something rests on; return {entity kept bare: who speaks of it}.

        Judgements on entities that are gone are taken out.
        """
        named = self._named(told)
        bare = {id_: named[id_] for id_ in sorted(self._ids)
                if id_ not in told.entities and id_ in named}  # fmt: skip
        for id_ in bare:
            told.entities[id_] = self._bare(told, id_)
        gone = {id_ for id_ in self._ids if id_ not in told.entities}
        for key in [k for k in told.edges if k[1] in JUDGING and gone.intersection((k[0], k[2]))]:
            del told.edges[key]
        named = self._named(told)
        for path in self._texts:
            if path not in told.files and path in named:
                told.files[path] = self._history.blobs[path]
        return bare

    def _named(self, told: Told) -> dict[str, str]:
        """Return who speaks of each id and text in a telling, or outside of it."""
        found = dict(self._outside)
        for path, value in _values(told, self._history):
            for name in self._spoken_of(value):
                found.setdefault(name, path)
        return found

    def _spoken_of(self, value: Valued | None) -> Iterator[str]:
        if value is None:
            return
        if not (isinstance(value, Edge) and value.judgements):
            yield from self._ids_in(value)
        for src in sources_of(value):
            path = parse_source(src).path
            if path in self._texts:
                yield path

    def _ids_in(self, value: Valued) -> Iterator[str]:
        yield from (id_ for id_ in ids_of(value, self._draft.ontology) if id_ in self._ids)

    def _bare(self, told: Told, id_: str) -> Entity:
        first = self._history.first[id_]
        claims: list[Claim] = [c for key, e in told.edges.items() if id_ in key for c in e.claims]
        runs = sorted((c.seen_run for c in claims), key=run_order) or [first.first_run]
        return Entity(
            id=id_, type=first.type, name=first.name, first_run=runs[0], last_seen_run=runs[-1]
        )


def _values(told: Told, history: History) -> Iterator[tuple[str, Valued]]:
    yield from told.entities.items()
    for key, edge in told.edges.items():
        yield " ".join(key), edge
    for trace in history.traces(told):
        yield f"what was tried in {trace.run}: {trace.tried}", trace


def _value(path: str, data: bytes) -> Valued | None:
    """Return what a file says, None also where it cannot be read: fsck names it."""
    try:
        return value_of(path, data)
    except FormatError:
        return None


def holding(place: Place, commit: str, words: Collection[str]) -> list[str]:
    """Return the files with facts at a commit that hold any of the words."""
    if not words:
        return []
    prefix = f"{place.prefix}/" if place.prefix else ""
    folders = [prefix + folder for folder in (ENTITIES, EDGES, TRIED)]
    args = ["grep", "-l", "-z", "-F", "--full-name", "-f", "-", commit, "--", *folders]
    said = git(place.gitdir, args, data="\n".join(words).encode(), codes=(0, 1))
    names = said.decode("utf-8", "replace").split("\0")[:-1]
    return [name.partition(":")[2].removeprefix(prefix) for name in names]
