"""When a word that queries used becomes a `term` of what they meant: the rules, and no file.

Somebody tells that a query meant an entity. Then, for each word of the query:

- **Left out** is a word that a search finds the entity by already; that is in the id, a name or
  an alias of another entity, or a `term` of one; that is common (more than `common` other
  entities hold it); that belongs to the ontology or to the way questions are put ("owns",
  "find"); a number, a letter, or a word of over `LONGEST` characters; and one that was retracted
  from the entity as a term: that was a decision, which no count overrules. A query with more
  than `FEW` words that are left is a text that was pasted: nothing of it is counted.
- **Counted** is an occurrence: one query, whatever the order of its words, in one run of one
  agent. The same again in the same run counts once, so nobody gets anywhere by repeating it.
  Who names no run is in one with all that the same agent tells on that day (UTC).
- **Pending** is a word with `ENOUGH` occurrences.
- **Confirmed** it is by one more from another run or another agent than any of those that made it
  pending: who guessed cannot be who agrees. Then it is a `term` of the entity.
- **Ambiguous** is a word that is told for another entity as well: it is not confirmed while so.
- **Full** is an entity with `MOST` terms: it gets no more until one is retracted.
- **Dropped** is a word whose last occurrence, any whatever, is `LASTS` seconds ago.

`ENOUGH` and `LASTS` are those of the fail-improve loop that this takes after; it learnt from every
query by itself, without the other rules, and after one pass over its own questions a bare name
came first in 6% of cases instead of 100% (PEERS.md, 4.4).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from kg.ontology import Ontology
from kg.recall.standing import Standing
from kg.text import one_line

ENOUGH = 3  # occurrences
LASTS = 30 * 24 * 3600  # seconds
MOST = 16  # terms of one entity
FEW = 8  # new words of one query
LONGEST = 40  # characters of a word
KEPT = 12  # occurrences of a word: the first that make it pending, and some that may confirm it
QUERY = 200  # characters of a query that are kept
# How questions are put, beyond recall's stop words.
ASKING = frozenset(
    """
    again ago also any anybody anyone anything ask break breaks broke broken bug bugs called day
    days down error errors explain fail fails fast find get give go happen happened happens help
    issue issues just know knows last like list look may mean means might month months most much
    must named need needs new no not now old one only please problem problems question ran run
    running runs say says search see show slow some somebody someone something status stuff tell
    than them then thing things think today tomorrow up use used uses using very want way week
    weeks work worked working works wrong year years yes yesterday
    """.split()  # noqa: SIM905 - lines that a reader takes in, not a hundred
)
_ENDINGS = ("ers", "er", "ing", "ed", "es", "s", "d")  # crude, and for the ontology's words only

State = Literal["counted", "pending", "confirmed", "ambiguous", "full", "left out", "forgotten"]


class Occurrence(NamedTuple):
    """One query in one run of one agent: as it was asked, and by its words, sorted."""

    run: str
    agent: str
    query: str
    words: str


class Count(NamedTuple):
    """What was told of one word for one entity, in order; `last` in Unix seconds."""

    id: str
    word: str
    last: int
    told: tuple[Occurrence, ...]

    def lapsed(self, now: int) -> bool:
        """Whether it has been dropped."""
        return now - self.last >= LASTS


def occurrence(run: str, agent: str, query: str, words: Collection[str]) -> Occurrence:
    """Return the occurrence that one telling is."""
    return Occurrence(run, agent, one_line(query)[:QUERY], " ".join(sorted(words)))


def counted(before: Count | None, id_: str, word: str, one: Occurrence, now: int) -> Count:
    """Return the count with one more occurrence of a word."""
    told = before.told if before is not None and not before.lapsed(now) else ()
    last = max(now, before.last) if before is not None and told else now
    if not any(_key(one) == _key(other) for other in told) and _tells(told, one):
        told = (*told, one)
    return Count(id_, word, last, told)


def state(count: Count, elsewhere: Collection[str], terms: int) -> State:
    """Return what a count amounts to, if it has not lapsed.

    `elsewhere` are the other entities the word was told for, `terms` how many the entity has.
    """
    if elsewhere:
        return "ambiguous"
    if len(count.told) < ENOUGH:
        return "counted"
    if not _independent(count.told):
        return "pending"
    return "confirmed" if terms < MOST else "full"


def unfit(word: str, found: Standing, retracted: Collection[str], asked: Collection[str]) -> str:
    """Return why a word is not counted, "" where it is.

    `retracted` are the entity's former terms, `asked` the words of `asking`.
    """
    term = f"is a term of {found.term_of}: if it is none, kg retract {found.term_of} term {word}"
    reasons = (
        (found.here, "is found there already"),
        (len(word) < 2 or len(word) > LONGEST or word.isdecimal(), "is a number, or no word"),
        (word in asked or base(word) in asked, "asks for something, and names nothing"),
        (found.named, f"is in a name of {found.named}"),
        (found.term_of, term),
        (found.others > common(found.entities), f"is common: {found.others} others hold it"),
        (word in retracted, "was retracted: kg add fact ID term WORD, if it is one after all"),
    )
    return next((why for holds, why in reasons if holds), "")


def common(entities: int) -> int:
    """Return how many others may hold a word: one in twenty, at least 1 and at most 10."""
    return max(1, min(10, entities // 20))


def asking(ontology: Ontology) -> frozenset[str]:
    """Return the words that ask: those of types, keys and predicates, and of questions."""
    names = [*ontology.keys, *ontology.predicates, *(t.prefix for t in ontology.types.values())]
    parts = [part for name in (*names, *ontology.types) for part in name.casefold().split("-")]
    return ASKING | {*parts, *map(base, parts)}


def base(word: str) -> str:
    """Return a word without an English ending, so that owns and owned are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word.removesuffix(ending)
    return word


def _key(one: Occurrence) -> tuple[str, str, str]:
    return one.run, one.agent, one.words


def _makers(told: Sequence[Occurrence]) -> set[tuple[str, str]]:
    return {(one.run, one.agent) for one in told[:ENOUGH]}


def _independent(told: Sequence[Occurrence]) -> bool:
    return any((one.run, one.agent) not in _makers(told) for one in told[ENOUGH:])


def _tells(told: Sequence[Occurrence], one: Occurrence) -> bool:
    """Whether an occurrence can still change anything."""
    new = len(told) < ENOUGH or (one.run, one.agent) not in _makers(told)
    return new and len(told) < KEPT
