"""What takes back, validates or puts away what was said before: retractions and the like.

Part of recording an observation (`kg.graph.record`), on the same draft.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kg.clusters import PERSON
from kg.errors import NotFoundError, RefusedError
from kg.graph.draft import Draft
from kg.graph.recorded import Recorded, Stated
from kg.graph.said import Observation, SaidArchive, SaidConfirmation, SaidRetraction
from kg.graph.sources import Sources
from kg.model import Claim, Edge, Entity, Fact, Sighting, Source, Value, run_order, value_text
from kg.sightings import add_fact, retract_edge, retract_fact, see_edge
from kg.text import fold


class Amending:
    """What one observation changes about what is there already."""

    def __init__(
        self, draft: Draft, said: Observation, sources: Sources, ids: Mapping[str, str],
        id_of: Callable[[str], str], *, recorded: Recorded,
    ) -> None:  # fmt: skip
        """Work on a draft; `ids` has the refs of the observation, `id_of` takes ids as well."""
        self._draft, self._said, self._sources = draft, said, sources
        self._ids, self._id, self._recorded = ids, id_of, recorded

    # taking back

    def retract(self, said: SaidRetraction) -> None:
        """Take a fact or an edge back; what a later run has said is left."""
        because = self._sources.of(said.anchor, "retraction")
        id_ = self._id(said.entity)
        if said.predicate:
            self._retract_edge(id_, said, because)
            return
        for fact in self._retracted_facts(id_, said):
            again = [s for s in self._entity(id_).seen_again if s.identity == fact.identity]
            if self._outranked([fact], again):
                self._gone(id_, said.k, fact.v, because, "seen since")
                continue
            self._draft.put(retract_fact(self._entity(id_), fact, str(because), self._said.run))
            self._gone(id_, said.k, fact.v, because)

    def _retracted_facts(self, id_: str, said: SaidRetraction) -> list[Fact]:
        facts = [f for f in self._entity(id_).facts if f.k == said.k]
        if said.v is not None:
            v = self._ids.get(said.v, said.v) if isinstance(said.v, str) else said.v
            facts = [f for f in facts if fold(value_text(f.v)) == fold(value_text(v))]
        elif len({fold(value_text(f.v)) for f in facts}) > 1:
            values = ", ".join(ascii(value_text(f.v)) for f in facts)
            raise RefusedError(f"{id_} has several values of {said.k}: name one of {values}")
        if not facts:
            known = ", ".join(sorted({f.k for f in self._entity(id_).facts})) or "none"
            value = f" = {value_text(said.v)}" if said.v is not None else ""
            wanted = ascii(said.k + value)[1:-1]
            self._nothing_to_retract(f"{id_} has no fact {wanted}: its keys are {known}")
        return facts

    def _retract_edge(self, id_: str, said: SaidRetraction, because: Source) -> None:
        object_ = self._id(said.object)
        key = (id_, said.predicate, object_)
        edge = self._draft.edge(key)
        if edge is None:
            self._nothing_to_retract(f"there is no edge {' '.join(key)}: see kg show {id_}")
        elif self._outranked(edge.claims, edge.seen_again):
            self._gone(id_, said.predicate, object_, because, "seen since")
        else:
            self._draft.put(retract_edge(self._entity(id_), edge, str(because), self._said.run))
            self._draft.remove_edge(key)
            self._gone(id_, said.predicate, object_, because)

    def _nothing_to_retract(self, problem: str) -> None:
        """Refuse, unless this is an observation that was recorded before."""
        if not self._sources.known:
            raise NotFoundError(problem)

    def _outranked(self, claims: Iterable[Claim], again: Iterable[Sighting]) -> bool:
        """Whether a later run than this one has said it: then it is told late, and too late."""
        runs = [run_order(c.seen_run) for c in claims] + [run_order(s.run) for s in again]
        past = [run for run in runs if run[0] <= time.time()]  # a clock that is ahead counts not
        return max(past, default=(0, "")) > run_order(self._said.run)

    def _gone(
        self, id_: str, k: str, v: Value, because: Source, outcome: str = "retracted"
    ) -> None:
        self._recorded.retracted.append(Stated(id=id_, k=k, v=v, src=str(because), outcome=outcome))

    # validating, putting away

    def confirm(self, said: SaidConfirmation, person: str) -> None:
        """Note that a person has checked what is held, all of an entity where no key is named.

        Raises:
            RefusedError: it is no person who says so.
            NotFoundError: there is nothing of that kind.
        """
        if not person:
            raise RefusedError(
                "only a person confirms: an agent reports what it saw, with kg remember"
            )
        source, id_ = self._sources.of(said.anchor, "confirmation"), self._id(said.entity)
        facts = [f for f in self._entity(id_).facts if said.takes(f.k, value_text(f.v))]
        edges = [e for e in self._draft.edges_of(id_) if e.claims]
        edges = [e for e in edges if said.takes(e.predicate, e.object)]
        if said.k and not (facts or edges):
            raise NotFoundError(f"{id_} holds nothing such under {said.k}: see kg show {id_}")
        for fact in facts:
            self._confirm_fact(id_, fact, source, person)
        for edge in edges:
            self._confirm_edge(edge, source, person)
        self._draft.put(self._entity(id_).seen(self._said.run))

    def archive(self, said: SaidArchive) -> None:
        """Put an entity away, or back."""
        source, id_ = self._sources.of(said.anchor, "archive"), self._id(said.entity)
        entity = self._entity(id_)
        done = "archived" if said.archived else "restored"
        outcome = "known" if entity.archived == said.archived else done
        self._draft.put(replace(entity, archived=said.archived).seen(self._said.run))
        self._recorded.amended.append(Stated(id=id_, k="", v="", src=str(source), outcome=outcome))

    def _confirm_fact(self, id_: str, fact: Fact, source: Source, person: str) -> None:
        told = replace(fact, src=str(source), seen_run=self._said.run)
        entity, outcome = add_fact(self._entity(id_), told, f"{PERSON}{person}")
        self._draft.put(entity)
        self._confirmed(id_, fact.k, fact.v, source, outcome)

    def _confirm_edge(self, edge: Edge, source: Source, person: str) -> None:
        for claim in edge.claims:
            told = replace(claim, src=str(source), seen_run=self._said.run)
            edge, outcome = see_edge(edge, edge.key, told, f"{PERSON}{person}")
            self._confirmed(edge.subject, edge.predicate, edge.object, source, outcome)
        self._draft.put_edge(edge)

    def _confirmed(self, id_: str, k: str, v: Value, source: Source, outcome: str) -> None:
        said = "known" if outcome == "known" else "confirmed"
        self._recorded.amended.append(Stated(id=id_, k=k, v=v, src=str(source), outcome=said))

    def _entity(self, id_: str) -> Entity:
        return self._draft.existing(id_, lambda _id: [])
