"""Mending what can be mended without a person: form and place, never what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg.audit.drafts import canonical_page
from kg.audit.fsck import Finding, fsck
from kg.audit.rules import value_of
from kg.errors import KgError
from kg.format import dump_trace, edge_path, entity_path
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.model import Edge, Entity, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What `fsck --fix` did: one commit ("" for none), the findings it mended, and those left."""

    commit: str
    mended: tuple[Finding, ...]
    left: tuple[Finding, ...]


def mend(graph: Graph, *, run: str = "", agent: str = "") -> Mended:
    """Bring files into canonical form and to their places, in one commit; build indexes anew."""
    found = fsck(graph)
    open_ = [one for one in found if one.mends and not one.path.startswith(".git/")]
    if any(one.mends and one.path.startswith(".git/") for one in found):
        graph.index().rebuild()

    def edit(draft: Draft) -> str:
        for one in open_:
            _mend(draft, one.path)
        return f"Mend the form of {len(open_)} file{'' if len(open_) == 1 else 's'}"

    commit = graph.change(edit, op="fsck", run=run, agent=agent) if open_ else ""
    after = fsck(graph)
    left = tuple(one for one in after if one.level == "fault")
    mended = tuple(one for one in found if one.mends and one not in after)
    return Mended(commit=commit, mended=mended, left=left)


def in_words(one: Mended) -> Sequence[str]:
    """Return what was mended, a line each."""
    return [f"mended: {finding.path}: {finding.problem}" for finding in one.mended]


def _mend(draft: Draft, path: str) -> None:
    data = draft.head.read(path)
    if data is None:
        return
    try:
        value = value_of(path, data)
        if value is None:
            draft.put_file(path, canonical_page(path, data))
            return
    except KgError:
        return  # fsck says so, and a person mends it
    if isinstance(value, Trace):
        draft.put_file(path, dump_trace(value))
        return
    item, wanted = _place(draft, value)
    if path != wanted:
        if draft.head.read(wanted) is not None:
            return  # two files of one thing: which is right, a person says
        draft.remove_file(path)
    if isinstance(value, Entity):
        draft.put(value)
    else:
        draft.put_edge(value)
    draft.rewrite(item)


def _place(draft: Draft, value: Entity | Edge) -> tuple[str | tuple[str, str, str], str]:
    """Return what a value is known by, and where its file belongs."""
    fan_out = draft.settings.fan_out
    if isinstance(value, Entity):
        return value.id, entity_path(value.id, fan_out)
    return value.key, edge_path(*value.key, fan_out)
