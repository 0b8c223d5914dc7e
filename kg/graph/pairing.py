"""Which pairs of entities a person may have to judge, and by what they came to be candidates."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from kg.ontology import Ontology
from kg.recall.schema import ITEM, MEMBER
from kg.resolve.bands import Cutoffs, in_force
from kg.resolve.blocking import LAST, Names
from kg.resolve.scorers import Scorer, scorer
from kg.text import fold

# What ranks a pair whose words do not: an identifying fact in common says nearly all, one name
# under two types is as often two things, and one slip of the pen mostly is one.
_WEIGHTS = {"marked": 0.9, "types": 0.5, "misspelt": 0.7}
_SHARING = (
    "select t.id from {table} t join ent e on e.id = t.id where t.{column} = ? and e.born < ?"
    " order by e.born limit ?"
)
NEAREST = 3  # pairs that one entity brings, of each kind; who judges them needs no more at once


class Rules(NamedTuple):
    """What the content depends on beside the tree: cutoffs by type, and the identifying keys."""

    cutoffs: Mapping[str, Cutoffs]
    identifying: frozenset[str]

    @classmethod
    def of_store(cls, cutoffs: Mapping[str, Cutoffs], ontology: Ontology) -> Rules:
        """Return the rules that cutoffs and an ontology make."""
        keys = (key.name for key in ontology.keys.values() if key.identifying)
        return cls(cutoffs, frozenset(keys))

    def of(self, type_name: str) -> Cutoffs:
        """Return the cutoffs in force for a type."""
        return in_force(self.cutoffs, type_name)

    def gap(self, type_name: str, score: Fraction) -> float:
        """Return how far a score is from the nearer cutoff."""
        cutoffs = self.of(type_name)
        return float(min(abs(score - c) for c in (cutoffs.lower, cutoffs.upper) if c is not None))

    def scorer_of(self, type_name: str) -> Scorer:
        """Return the scorer in force for a type."""
        return scorer(self.of(type_name).scorer)

    def printed(self) -> str:
        """Return a text that is the same for rules that make the same content."""
        said = [f"{t} {c.scorer} {c.lower} {c.upper}" for t, c in sorted(self.cutoffs.items())]
        return "; ".join([*said, *sorted(self.identifying)])


class CandidatePair(NamedTuple):
    """Two entities that may be one: why (`kind`, `detail`), their score, and what it weighs.

    `kind` is alike, marked (an identifying fact in common), misspelt or types. `weight` is the
    share of their words' weight (inverse document frequency) that both have: what ranks.
    """

    later: str
    earlier: str
    kind: str
    detail: str
    score: str  # a fraction
    weight: float
    gap: float  # between the score and the nearer cutoff
    facts: int = 0  # of both


class Known(NamedTuple):
    """What of an entity the resolver goes by."""

    id: str
    type: str
    names: tuple[str, ...]
    marks: tuple[str, ...]
    born: str

    def printed(self) -> str:
        """Return it as one text."""
        parts = (self.type, self.born, MEMBER.join(self.names), MEMBER.join(self.marks))
        return ITEM.join(parts)

    @classmethod
    def parse(cls, id_: str, printed: str) -> Known:
        """Return what was printed."""
        type_name, born, names, marks = printed.split(ITEM)
        split = tuple(marks.split(MEMBER)) if marks else ()
        return cls(id_, type_name, tuple(names.split(MEMBER)), split, born)


def mark_of(type_name: str, key: str, value: str) -> str:
    """Return what entities with one identifying fact have in common."""
    return f"{type_name}\t{key}\t{fold(value)}"


class Pairing:
    """Finds the candidate pairs of the entities that have none yet."""

    def __init__(self, con: sqlite3.Connection, rules: Rules) -> None:
        """Work in a transaction of the caller's."""
        self._con, self._rules = con, rules
        self._names = Names(con, rules.scorer_of)

    def run(self, most: int) -> None:
        """Pair at most so many of those that have no pairs yet, the first born first.

        What came later than a new one, and is like it, is paired anew.
        """
        sql = "select id, printed from ent where not paired order by born limit ?"
        new = [Known.parse(*row) for row in self._ask(sql, (most,)).fetchall()]
        last = self._ask("select max(born) from ent where paired").fetchone()[0] or ""
        for known in new:
            for id_ in self._like(known) if known.born < last else ():
                later = "update ent set paired = 0 where id = ? and born > ? and id <> ?"
                self._ask(later, (id_, known.born, known.id))
        for known in new:
            self._pair(known)
            self._ask("update ent set paired = 1 where id = ?", (known.id,))

    def _ask(self, sql: str, values: Iterable[object] = ()) -> sqlite3.Cursor:
        return self._con.execute(sql, tuple(values))

    def _like(self, known: Known) -> set[str]:
        """Return the entities that one has anything in common with."""
        return {pair.earlier for pair in self._pairs(known, LAST, 0)}

    def _pair(self, known: Known) -> None:
        self._ask("delete from pair where later = ?", (known.id,))
        best: dict[str, CandidatePair] = {}
        for pair in self._pairs(known, known.born, NEAREST):
            best.setdefault(pair.earlier, pair)
        for pair in best.values():
            self._ask(
                "insert into pair values (?, ?, ?, ?, ?, ?, ?)",
                pair[:7],
            )

    def _pairs(self, known: Known, before: str, most: int) -> Iterator[CandidatePair]:
        """Yield the pairs of an entity with those born before, the strongest kind first."""
        found = (self._marked, self._alike, self._of_other_types, self._misspelt)
        for pairs in found:
            yield from (pair for pair in pairs(known, before, most) if pair.earlier != known.id)

    def _marked(self, known: Known, before: str, most: int) -> Iterator[CandidatePair]:
        for mark in known.marks:
            _, key, value = mark.split("\t", 2)
            sql = _SHARING.format(table="marked", column="mark")
            for (id_,) in self._ask(sql, (mark, before, most or -1)).fetchall():
                yield self._made(known, id_, "marked", f"{key} {value}")

    def _alike(self, known: Known, before: str, most: int) -> Iterator[CandidatePair]:
        lower = self._rules.of(known.type).lower
        for name in known.names:
            for alike in self._names.alike(known.type, name, lower, most, before):
                yield self._named(known, alike.ent, "alike", (name, alike.name))

    def _of_other_types(self, known: Known, before: str, most: int) -> Iterator[CandidatePair]:
        for name in known.names:
            sql = _SHARING.format(table="called", column="folded")
            for (id_,) in self._ask(sql, (fold(name), before, most or -1)).fetchall():
                if id_.partition("/")[0] != known.id.partition("/")[0]:
                    yield self._made(known, id_, "types", name)

    def _misspelt(self, known: Known, before: str, most: int) -> Iterator[CandidatePair]:
        for name in known.names:
            found = self._names.misspelt(known.type, name, before)
            for id_, other in found[: most or None]:
                yield self._named(known, id_, "misspelt", (name, other))

    def _made(self, known: Known, other: str, kind: str, detail: str) -> CandidatePair:
        """Return a pair that is one for another reason than its names."""
        row = self._ask("select printed from ent where id = ?", (other,)).fetchone()
        names = ((a, b) for a in known.names for b in Known.parse(other, row[0]).names)
        score = max(self._score(known.type, pair) for pair in names)
        gap = self._rules.gap(known.type, score)
        return CandidatePair(known.id, other, kind, detail, str(score), _WEIGHTS[kind], gap)

    def _named(self, known: Known, other: str, kind: str, names: tuple[str, str]) -> CandidatePair:
        """Return a pair of two names that are alike."""
        weight = _WEIGHTS.get(kind) or self._weight(known.type, *names)
        score = self._score(known.type, names)
        gap = self._rules.gap(known.type, score)
        return CandidatePair(known.id, other, kind, " / ".join(names), str(score), weight, gap)

    def _score(self, type_name: str, names: tuple[str, str]) -> Fraction:
        return self._rules.scorer_of(type_name).score(*names, type_name)

    def _weight(self, type_name: str, one: str, other: str) -> float:
        """Return the greatest share of the words' weight that two names have in common."""
        read = self._rules.scorer_of(type_name).read
        shares = [0.0]
        for a in read(one, type_name):
            for b in read(other, type_name):
                if a.squash and a.squash == b.squash:
                    return 1.0
                weights = self._names.weights(type_name, a.tokens | b.tokens)
                every = sum(weights.values())
                if every:
                    shares.append(sum(weights[t] for t in a.tokens & b.tokens) / every)
        return max(shares)
