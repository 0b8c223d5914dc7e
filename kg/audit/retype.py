"""Giving a thing another type, and so another id: every reference follows, in one commit.

Ids never change otherwise. The commit says `Retyped: OLD NEW`, by which blame, log and revert read
what was before; the old id stays as a word that recall finds the thing by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kg import secrets
from kg.audit.lineage import RETYPED
from kg.audit.renaming import renamed, renamed_edge, renamed_trace
from kg.audit.resting import holding
from kg.audit.rules import value_of
from kg.errors import AlreadyExistsError, FormatError, KgError, RefusedError
from kg.format import TRIED, dump_trace, trace_path
from kg.graph import Graph
from kg.graph.draft import Draft
from kg.graph.rawtext import check_raw
from kg.model import Entity, Fact, Trace
from kg.sightings import add_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Retyped:
    """What became of a thing: its old and new id, and how many references followed."""

    old: str
    new: str
    references: int
    commit: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


def retype(
    graph: Graph, id_: str, type_: str, because: str, *, run: str = "", agent: str = ""
) -> Retyped:
    """Give an entity another type; its facts, edges and all that names it follow.

    Raises:
        RefusedError: a fact or edge may not be said of that type; all of them are named.
        AlreadyExistsError: the new id is taken.
        NotFoundError: there is no such entity or type.
    """
    secrets.check(because, "the reason")
    run, agent = run or graph.run_now(), agent or graph.agent_here()
    told = Retyped(old=id_, new="", references=0)

    def edit(draft: Draft) -> tuple[str, list[tuple[str, str]]]:
        nonlocal told
        told = _Retyping(graph, draft, id_, type_).put(because, run, agent)
        return f"Retype {told.old} as {told.new}: {because}", [(RETYPED, f"{told.old} {told.new}")]

    commit = graph.change(edit, op="retype", run=run, agent=agent)
    return replace(told, commit=commit)


class _Retyping:
    """One thing getting another type, on a draft."""

    def __init__(self, graph: Graph, draft: Draft, id_: str, type_: str) -> None:
        self._graph, self._draft = graph, draft
        kind = draft.ontology.type(type_)
        self._entity = draft.existing(id_, graph.near)
        self._new = f"{kind.prefix}/{id_.partition('/')[2]}"
        if self._new == id_:
            raise RefusedError(f"{id_} is {kind.name} already: name another type")
        if draft.entity(self._new) is not None:
            raise AlreadyExistsError(
                f"{self._new} is there already: kg judge {id_} {self._new} says whether it is one"
            )
        self._ids: Mapping[str, str] = {id_: self._new}
        self._type = kind.name
        self._references = 0

    def put(self, because: str, run: str, agent: str) -> Retyped:
        old, draft = self._entity.id, self._draft
        self._check()
        raw, _ = draft.add_raw(run, agent, check_raw(because).encode())
        made = replace(renamed(self._entity, self._ids), type=self._type)
        word = Fact(k="term", v=old, src=f"{raw}#L1", seen_run=run, basis="inferred")
        made, _ = add_fact(made, word, agent)
        draft.put(made.seen(run))
        draft.remove(old)
        for key in self._graph.index().edge_keys(old):
            edge = draft.edge(key)
            if edge is not None:
                draft.remove_edge(key)
                draft.put_edge(renamed_edge(edge, self._ids))
                self._references += 1
        for path in holding(self._graph.place, draft.head.commit, [f'"{old}"']):
            self._follow(path)
        return Retyped(old=old, new=self._new, references=self._references)

    def _check(self) -> None:
        """Refuse a type of which something that is held may not be said."""
        ontology, old, new = self._draft.ontology, self._entity.id, self._new
        problems = [
            problem
            for fact in self._entity.facts
            if (problem := _problem(lambda f=fact: ontology.check_fact(new, f.k, f.v)))
        ]
        for key in self._graph.index().edge_keys(old):
            ends = (self._ids.get(key[0], key[0]), key[1], self._ids.get(key[2], key[2]))
            problem = _problem(lambda e=ends: ontology.check_edge(*e))
            problems += [problem] if problem else []
        if problems:
            more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
            raise RefusedError(f"{'; '.join(problems[:3])}{more}: retract these first")

    def _follow(self, path: str) -> None:
        """Rewrite what another file says of the old id."""
        data = self._draft.head.read(path)
        try:
            value = value_of(path, data) if data is not None else None
        except FormatError:
            return  # fsck names it
        if isinstance(value, Entity) and value.id != self._entity.id:
            self._draft.put(renamed(value, self._ids))
            self._references += 1
        elif isinstance(value, Trace) and self._entity.id in value.about:
            made = renamed_trace(value, self._ids)
            slug = path.removeprefix(f"{TRIED}/").removesuffix(".md").rpartition("-")[0]
            self._draft.put_file(path, None)
            self._draft.put_file(trace_path(made, slug), dump_trace(made))
            self._references += 1


def _problem(check: Any) -> str:  # noqa: ANN401
    try:
        check()
    except KgError as error:
        return str(error).partition(":")[0]
    return ""
