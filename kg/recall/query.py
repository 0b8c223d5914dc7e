"""What the words of a query are in this index: how rare, what else stands for them.

A word that no entity has may be mistyped: words of names one slip away stand in for it. A
store's synonyms stand beside a word, for less.

On the hot path: imports the words and nothing else.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from math import log

from kg.recall.stem import stem
from kg.recall.words import MAX_QUERY, STOP, asked, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Connection

SYNONYM = 0.8  # what another word for it is worth
MISTYPED = 0.7  # what a word is worth that is one slip away
FIELDS = ("names", "terms", "facts", "edges", "tried")
NEAR = 4  # letters of the shortest word that may be mistyped
_LOOKED_AT = 2000  # words that begin or end like a mistyped one
MOST = 24  # words that are ranked by
_CORRECTED = 8  # words of a query that are taken for mistyped
_SAID = 64  # words of a query that may be part of a name
_SHOWN = 8  # of them, that are one slip away
GRAM = 10  # words of the longest name that is looked for in a question

TEXT = "(' ' || " + " || ' ' || ".join(f"d.{f}" for f in FIELDS) + " || ' ')"
_SYNONYMS = "select other from synonym where word = ?"
_SPREAD = "select docs from spread where word = ?"
_BEGINNING = "select coalesce(sum(docs), 0) from spread where word between ? and ?"
_BEGUN = (
    "select word from vocab where word between ?1 and ?1 || '\U0010ffff'"
    f" and length(word) between ?2 and ?3 limit {_LOOKED_AT}"
)
_ENDED = _BEGUN.replace("where word", "where back")


class Term:
    """One word of a query. `forms` are the words it is looked for as, and their worth."""

    __slots__ = ("forms", "idf", "often")

    def __init__(self, forms: Mapping[str, float]) -> None:
        self.forms, self.often, self.idf = forms, 0, 0.0

    @property
    def match(self) -> str:
        """The term as an expression of full text."""
        forms = [f'"{form}"'.replace('*"', '" *') for form in self.forms]
        return "(" + " OR ".join(forms) + ")"


class Query:
    """A query as this index understands it: `terms`, and where it was mistyped `slips`."""

    def __init__(self, con: Connection, text: str) -> None:
        row = con.execute("select m.words, (select max(n) from ent) from meta m").fetchone()
        self.con, self.full, self.size = con, bool(row[0]), row[1] or 0
        self.said = words(text[:MAX_QUERY])[:_SAID]
        self.slips: dict[str, list[str]] = {}
        self.terms = [Term({t: 1.0, **self._synonyms(t)}) for t in asked(text)]
        for term in self.terms:
            self._count(term)
        for term in [term for term in self.terms if not term.often][:_CORRECTED]:
            self._correct(term)
        self._keep_telling()

    def _keep_telling(self) -> None:
        """Of a long text keep the rarest words that anything has; they tell what it is about."""
        if len(self.terms) > MOST:
            known = sorted((t for t in self.terms if t.often), key=lambda t: t.often)[:MOST]
            self.terms = [term for term in self.terms if term in known]

    def idf(self, stems: Sequence[str]) -> float:
        """Return what the terms among these stems are worth together."""
        known = set(stems)
        return sum(t.idf for t in self.terms if not known.isdisjoint(t.forms))

    def grams(self) -> set[str]:
        """Return what may be a name in the query: its words run together, up to `GRAM` of them.

        A mistyped word also as the words it may be. Stop words alone are no name.
        """
        found = set()
        for said in self._readings():
            for at in range(len(said)):
                for end in range(at + 1, min(at + GRAM, len(said)) + 1):
                    if any(word not in STOP for word in said[at:end]):
                        found.add("".join(said[at:end]))
        return found

    def _readings(self) -> Iterator[list[str]]:
        yield self.said
        for word, others in self.slips.items():
            for other in others:
                yield [other if one == word else one for one in self.said]

    def _synonyms(self, word: str) -> dict[str, float]:
        """Return what the store says means the same."""
        return {row[0]: SYNONYM for row in self.con.execute(_SYNONYMS, (word,))}

    def _count(self, term: Term) -> None:
        """Note how many entities have the term, and its worth as BM25 has it."""
        often = min(self.size, sum(map(self._spread, term.forms)))
        term.often, term.idf = often, log(1 + (self.size - often + 0.5) / (often + 0.5))

    def _spread(self, form: str) -> int:
        """Return how many entities have a word; of a phrase, its rarest one."""
        ask = self.con.execute
        if form[-1] == "*":
            return int(ask(_BEGINNING, (form[:-1], form[:-1] + "\U0010ffff")).fetchone()[0])
        rows = [ask(_SPREAD, (word,)).fetchone() for word in form.split()]
        return min((row[0] if row else 0) for row in rows)

    def _correct(self, term: Term) -> None:
        """Let the words of names that are one slip away stand for a term nobody has."""
        for word in self.said:
            if len(word) >= NEAR and stem(word) in term.forms and word not in self.slips:
                self.slips[word] = near = self._near(word)
                term.forms = {**term.forms, **{stem(other): MISTYPED for other in near}}
        if len(term.forms) > 1:
            self._count(term)

    def _near(self, word: str) -> list[str]:
        """Return words of names that are one slip from `word`.

        A slip leaves the first or the last half alone, less a letter: so few are compared.
        """
        half, long = max(2, (len(word) - 1) // 2), len(word)
        ask = self.con.execute
        rows = ask(_BEGUN, (word[:half], long - 1, long + 1)).fetchall()
        rows += ask(_ENDED, (word[::-1][:half], long - 1, long + 1)).fetchall()
        return sorted({row[0] for row in rows if one_slip(word, row[0])})[:_SHOWN]


def holding(term: Term) -> tuple[str, list[str]]:
    """Return the condition that a document holds a term, for SQLite without full text."""
    return (
        "(" + " or ".join([f"instr({TEXT}, ?)"] * len(term.forms)) + ")",
        [sought(form) for form in term.forms],
    )


def sought(form: str) -> str:
    """Return what to look for in words joined by spaces, with a space at either end."""
    return f" {form[:-1]}" if form[-1] == "*" else f" {form} "


def one_slip(one: str, other: str) -> bool:
    """Whether a letter is missing, too many, wrong, or has changed places with the next."""
    if len(one) > len(other):
        one, other = other, one
    at = 0
    while at < len(one) and one[at] == other[at]:
        at += 1
    if len(one) < len(other):
        return len(other) == len(one) + 1 and one[at:] == other[at + 1 :]
    return one[at + 1 :] == other[at + 1 :] or (
        one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    )
