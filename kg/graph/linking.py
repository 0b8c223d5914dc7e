"""Deciding a mention on a draft: which things it may be, by name, and what speaks for each.

What an observation says earlier counts for what it says later, so a batch is resolved against
itself too: the names that are new in the draft stand beside those of the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from fractions import Fraction

from kg.clusters import SAME, Cluster, Pair, Standing, canonical, clusters
from kg.graph.blocks import Blocks
from kg.graph.draft import Draft
from kg.graph.pairing import Rules, mark_of
from kg.model import Entity, Fact, value_text
from kg.ontology import Type
from kg.resolve import Decision, Rival, Spoken, band, decide
from kg.resolve.blocking import TABLES, Alike, Names
from kg.resolve.decision import identifying_facts

MOST = 8  # entities that a mention is compared with in full


class Linker:
    """Decides mentions on one draft."""

    def __init__(self, draft: Draft, blocks: Blocks) -> None:
        """Look in `blocks`, the names of the snapshot that `draft` stands on."""
        self.draft, self._blocks = draft, blocks
        con = sqlite3.connect(":memory:", isolation_level=None)
        con.executescript(TABLES)
        self._new = Names(con, self.rules.scorer_of)
        self._over: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}  # names, marks
        self._marked_here: dict[str, set[str]] = {}

    @property
    def rules(self) -> Rules:
        """The cutoffs and identifying keys that are decided by."""
        return self._blocks.rules

    def decide(self, kind: Type, name: str, told: Sequence[Fact]) -> Decision:
        """Return what a mention is; `told` is what the observation says of it."""
        draft = self.draft
        exact = self._each_once(draft.named(kind.prefix, name))
        if exact:
            policy = draft.settings.exact(kind.name)
            identifying = identifying_facts(told, draft.ontology)
            return decide(name, exact, identifying, policy, draft.ontology)
        spoken = Spoken(name, kind.name, told)
        return band(spoken, self.rivals(spoken), self.rules.of(kind.name), draft.ontology)

    def rivals(self, spoken: Spoken) -> list[Rival]:
        """Return the things that a mention may be, the most alike first."""
        lower = self.rules.of(spoken.type).lower
        found: dict[str, Rival] = {}
        for alike in self._alike(spoken.type, spoken.name, lower):
            self._add(found, self.rival(alike.ent, alike.name, alike.score))
        for id_ in self._marked(spoken):
            entity = self.draft.entity(id_)
            if entity is not None and not any(id_ in _ids(r) for r in found.values()):
                scorer = self.rules.scorer_of(spoken.type)
                score = scorer.score(spoken.name, entity.name, spoken.type)
                self._add(found, self.rival(id_, entity.name, score))
        return sorted(found.values(), key=lambda r: (-r.score, r.id))

    def cluster(self, id_: str) -> tuple[Cluster, dict[Pair, Standing]]:
        """Return what an entity is one with, and what stands of every pair it came from."""
        standings: dict[Pair, Standing] = {}
        seen, todo = {id_}, [id_]
        while todo:
            for pair, said in self.draft.standings(todo.pop()).items():
                standings[pair] = said
                if said.verdict == SAME:
                    todo += [end for end in pair if end not in seen]
                    seen.update(pair)
        alone = Cluster((id_,), disputed=False)
        found = next((c for c in clusters(standings) if id_ in c.members), alone)
        return found, standings

    def rival(self, id_: str, name: str, score: Fraction) -> Rival:
        """Return an entity with all that it is one with, as something a mention may be."""
        found, standings = self.cluster(id_)
        members = (id_,) if found.disputed else found.members
        apart = {
            end
            for pair, said in standings.items()
            if said.separates and not set(pair).isdisjoint(members)
            for end in pair
        }
        entities = tuple(e for e in map(self.draft.entity, members) if e is not None)
        return Rival(
            id_, name, score, entities, frozenset(apart.difference(members)), found.disputed
        )

    def _each_once(self, entities: list[Entity]) -> list[Entity]:
        """Return of entities that are one thing the one that came first."""
        if len(entities) < 2:
            return entities
        kept: dict[tuple[str, ...], list[Entity]] = {}
        for entity in entities:
            found, _ = self.cluster(entity.id)
            key = (entity.id,) if found.disputed else found.members
            kept.setdefault(key, []).append(entity)
        return [_first(group) for group in kept.values()]

    @staticmethod
    def _add(found: dict[str, Rival], rival: Rival) -> None:
        """Keep of what is one thing the member that is most alike."""
        if not any(rival.id in _ids(other) for other in found.values()):
            found[rival.id] = rival

    def _alike(self, type_name: str, name: str, cut: Fraction) -> list[Alike]:
        self._catch_up()
        known = self._blocks.alike(type_name, name, cut, MOST)
        if any(one.ent in self._over for one in known):  # renamed here: their places are free
            known = self._blocks.alike(type_name, name, cut)
        found = [one for one in known if one.ent not in self._over]
        found += self._new.alike(type_name, name, cut, MOST)
        return sorted(found, key=lambda one: (-one.score, one.ent))[:MOST]

    def _marked(self, spoken: Spoken) -> Iterator[str]:
        self._catch_up()
        for fact in spoken.facts:
            if fact.k in self.rules.identifying:
                mark = mark_of(spoken.type, fact.k, value_text(fact.v))
                yield from (i for i in self._blocks.marked(mark) if i not in self._over)
                yield from sorted(self._marked_here.get(mark, ()))

    def _catch_up(self) -> None:
        """Take over what the draft has put since the last look."""
        while self.draft.put_since:
            id_, _ = self.draft.put_since.popitem()
            entity = self.draft.entity(id_)
            names = (entity.name, *entity.aliases) if entity else ()
            marks = frozenset(self._marks_of(entity)) if entity else frozenset()
            if self._over.get(id_) == (names, marks):
                continue
            self._new.remove(id_)
            for mark in self._over.get(id_, ((), frozenset()))[1]:
                self._marked_here[mark].discard(id_)
            for mark in marks:
                self._marked_here.setdefault(mark, set()).add(id_)
            self._over[id_] = (names, marks)
            if entity:
                self._new.add(id_, entity.type, names)

    def _marks_of(self, entity: Entity) -> Iterator[str]:
        for fact in entity.facts:
            if fact.k in self.rules.identifying:
                yield mark_of(entity.type, fact.k, value_text(fact.v))


def _ids(rival: Rival) -> set[str]:
    return {member.id for member in rival.members}


def _first(entities: list[Entity]) -> Entity:
    first = canonical({entity.id: entity.first_run for entity in entities})
    return next(entity for entity in entities if entity.id == first)
