"""What the words of a query are worth: which entities they are said of, best first.

SQLite's BM25 chooses the candidates; each is then scored here, field by field, with what BM25
knows nothing of: a name that stands whole in the question, words that stand together, all of
them rather than some, a neighbour that completes the answer, importance and freshness. What
each part adds is measured (scripts/bench/retrieval, scripts/bench/names.py); none of the
numbers below was chosen by looking at a single question.

On the hot path: imports the words and nothing else.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.recall.only import DORMANT, KIN
from kg.recall.query import Query, holding, sought
from kg.recall.stem import stem
from kg.recall.words import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any

    from kg.recall.only import Only, Row, Wholes
    from kg.recall.query import Term


# BM25 counts all that hold a word: 26,000 cost it 40 ms, a thousand 2 ms (GIT.md, 8). So words
# that more entities hold than this, together, are left to the scoring here, which takes some
# 20 microseconds for each of so many.
RARE = 300
CAP = 1000
SCORED = 24
MANY = 200  # of what holds common words is looked at,
FEW = 12  # of those that are awake scored
# grepmem's weights are 3 for what triggers an entry, 2 for tags, 1 to 1.5 for text (PEERS.md,
# 1.1); what is said of a neighbour, or was tried, says less about the thing itself.
WEIGHTS = (3.0, 3.0, 1.0, 0.5, 0.5)  # names, terms, facts, edges, tried
K1 = 1.2  # how soon the same word once more adds nothing (Robertson and Walker, 1994)
B = 0.4  # how much a long entity is discounted; they are long because much is known
USUAL = 400  # characters of an entity's words, where the discount is none
NAME = 2.0  # for a name that stands whole in the query, per inverse document frequency
NEAR = 0.3  # for two words that stand together in both, of the rarer one's
ALL = 0.5  # of a score depends on how much of the query is matched
HOP = 0.3  # of a neighbour's score goes to what completes its answer
HOPPED = 2  # of the best lend to their neighbours
MISSING = 0.2  # of the query's worth must be missing from an answer before neighbours count
FRESH = 0.1  # of a score depends on when it was last seen
HALF = 90 * 86400  # seconds in which that is halved for what nobody confirmed
WEIGHTY = 0.02  # for each step of importance above or below 5
CUT = 0.2  # of the best score is the least that is shown

_RANK = "bm25(words, {}, 0.0)".format(", ".join(map(str, WEIGHTS)))
_FROM = "words cross join ent e on e.n = words.rowid left join roles r on r.n = e.roles"
_BEST = f"select e.n, {_RANK}, {DORMANT} from {_FROM} where words match ? and {{only}} limit ?"
_SOME = (
    _BEST.replace(_RANK, "0.0")
    .replace("from words", "from (select rowid from words where words match ? limit ?) as words")
    .replace("where words match ? and", "where")
)
_PLAIN = (
    f"select e.n, 0.0, {DORMANT} from doc d join ent e on e.n = d.n"
    " left join roles r on r.n = e.roles where {hits} and {only} limit ?"
)
_DOCS = (
    f"select e.n, e.id, {DORMANT}, e.last, e.strength + coalesce(u.times, 0), e.importance,"
    " ' ' || d.names || ' ', ' ' || d.terms || ' ', ' ' || d.facts || ' ',"
    " ' ' || d.edges || ' ', ' ' || d.tried || ' ', ' ' || d.past || ' ' from ent e"
    " join doc d on d.n = e.n left join roles r on r.n = e.roles"
    " left join used u on u.id = e.id where e.n in ({some}) and {only}"
)
_CALLED = (
    "select k.ent, k.folded from key k join ent e on e.n = k.ent"
    " where k.squash in ({some}) and k.kind <> 'id' and {only} limit 100"
)
_NEXT = (
    f"select e.n from edge d join ent e on e.id = d.o where d.s in ({KIN.format('?1')})"
    " and d.p not in ('same-as', 'different-from') union all"
    f" select e.n from edge d join ent e on e.id = d.s where d.o in ({KIN.format('?1')})"
    " and d.p not in ('same-as', 'different-from') limit 24"
)


class Parts:
    """What the score of one entity is made of."""

    __slots__ = (
        "all", "dormant", "fresh", "hop", "id", "matched", "name", "near", "past", "terms", "words",
    )  # fmt: skip

    def __init__(self, id_: str, dormant: bool, terms: Sequence[Term]) -> None:
        self.id, self.dormant, self.terms = id_, dormant, terms
        self.words = self.name = self.near = self.hop = 0.0
        self.all = self.fresh = 1.0
        self.past = False  # whether only what is over was matched
        self.matched: list[float] = []  # for each term its part of `words`

    def each(self) -> list[tuple[str, float]]:
        """Return what each word of the query that was matched is worth here."""
        pairs = zip(self.terms, self.matched, strict=True)
        return [("/".join(term.forms), worth) for term, worth in pairs if worth]

    @property
    def total(self) -> float:
        """The score that is ranked by."""
        return ((self.words + self.near) * self.all + self.name) * self.fresh + self.hop


class Ranked:
    """The rows that words mean, best first; `dormant` more were left out."""

    __slots__ = ("dormant", "least", "parts", "rows")

    def __init__(
        self, rows: Sequence[Row], parts: dict[int, Parts], *, dormant: int, least: bool
    ) -> None:
        self.rows, self.parts, self.dormant, self.least = rows, parts, dormant, least


class _Scorer:
    """Scores entities for one query, each once."""

    def __init__(self, query: Query, only: Only, wholes: Wholes) -> None:
        self.query, self.only, self.wholes = query, only, wholes
        self.parts: dict[int, Parts] = {}
        self.called = self._called()
        newest = query.con.execute("select max(last) from raw").fetchone()[0]
        self.now = _seconds(newest)

    def score(self, numbers: Iterable[int]) -> None:
        """Score the entities with these numbers that are wanted and not scored yet."""
        new = [n for n in dict.fromkeys(numbers) if n not in self.parts]
        if not new:
            return
        sql = _DOCS.format(some=", ".join("?" * len(new)), only=self.only.sql)
        for row in self.query.con.execute(sql, (*new, *self.only.values)):
            self.parts[row[0]] = self._parts(row)

    def hop(self, worth: float) -> None:
        """Let the best lend of their score to neighbours that complete what they match."""
        best = sorted(self.parts.items(), key=lambda item: -item[1].total)[:HOPPED]
        whole = sum(term.idf for term in self.query.terms) or 1.0
        for n, parent in best:
            pairs = zip(self.query.terms, parent.matched, strict=True)
            if sum(term.idf for term, own in pairs if not own) < MISSING * whole:
                continue
            rows = self.query.con.execute(_NEXT, (parent.id,))
            near = [m for m in self.wholes.numbers(row[0] for row in rows) if m != n]
            self.score(near)
            for other in near:
                part = self.parts.get(other)
                if part:
                    more = self._more(part, parent)
                    part.hop = max(part.hop, worth * parent.total * more / whole)

    def _more(self, part: Parts, parent: Parts) -> float:
        """Return the worth of the terms that an entity matches and its neighbour does not."""
        pairs = zip(self.query.terms, part.matched, parent.matched, strict=True)
        return sum(term.idf for term, own, there in pairs if own and not there)

    def _called(self) -> dict[int, float]:
        """Return the entities a name of which stands in the query, and what it is worth there."""
        grams = sorted(self.query.grams())
        sql = _CALLED.format(some=", ".join("?" * len(grams)), only=self.only.sql)
        found: dict[int, float] = {}
        rows = self.query.con.execute(sql, (*grams, *self.only.values)).fetchall()
        heads = self.wholes.heads([n for n, _ in rows])
        for member, name in rows:
            n = heads[member][0] if member in heads else member
            worth = self.query.idf([stem(word) for word in words(name)])
            found[n] = max(worth, found.get(n, 0.0))
        return found

    def _parts(self, row: Sequence[Any]) -> Parts:
        n, id_, dormant, last, strength, importance, *fields, past = row
        part = Parts(id_, bool(dormant), self.query.terms)
        norm = 1 - B + B * sum(map(len, fields)) / USUAL
        terms = self.query.terms
        part.matched = [_worth(t.forms, fields, norm) * t.idf for t in terms]
        part.words = sum(part.matched)
        if not part.words:  # what is over counts only where nothing else does
            part.matched = [_worth(t.forms, (past,), norm) * t.idf for t in terms]
            part.words = sum(part.matched)
            part.past = part.words > 0
        whole = sum(t.idf for t in terms) or 1.0
        part.all = (
            1
            - ALL
            + ALL * sum(t.idf for t, m in zip(terms, part.matched, strict=True) if m) / whole
        )
        part.near = NEAR * sum(self._together(fields, part.matched))
        part.name = NAME * self.called.get(n, 0.0)
        part.fresh = self._fresh(last, strength) * (1 + WEIGHTY * (importance - 5))
        return part

    def _together(self, fields: Sequence[str], matched: Sequence[float]) -> Iterable[float]:
        """Yield the worth of each two words of the query that stand together in a field."""
        terms = self.query.terms
        for at in range(1, len(terms)):
            if matched[at] and matched[at - 1]:
                one, other = terms[at - 1], terms[at]
                both = [f" {a} {b} " for a in one.forms for b in other.forms]
                if any(pair in field for field in fields for pair in both):
                    yield min(one.idf, other.idf)

    def _fresh(self, last: str, strength: int) -> float:
        """Return what is left of a score by the time since an entity was last seen.

        Halved every 90 days, and the later the more often it was confirmed, linked and asked
        for, down to 1 - `FRESH`.
        """
        age = max(0, self.now - _seconds(last))
        half = HALF * (1 + strength.bit_length())
        return float(1 - FRESH + FRESH * 0.5 ** (age / half))


def ranked(
    con: Connection, text: str, limit: int, only: Only, *, hops: int, wholes: Wholes
) -> Ranked:
    """Return what the words of `text` are said of, where `only` allows it."""
    query = Query(con, text)
    scorer = _Scorer(query, only, wholes)
    found, sleeping = _candidates(query, only)
    awake, asleep = wholes.numbers(found), set(wholes.numbers(sleeping))
    most = min(CAP, max(SCORED, 2 * limit))
    scorer.score([*scorer.called, *awake[:most]])
    for step in range(hops):
        scorer.hop(HOP ** (step + 1))
    least = len(awake) > most or len(awake) + len(asleep) >= MANY
    return _ordered(scorer, asleep.difference(scorer.called), least=least)


def _ordered(scorer: _Scorer, asleep: set[int], *, least: bool) -> Ranked:
    """Return what is worth showing: what holds before what is over, then by score."""
    parts = {n: part for n, part in scorer.parts.items() if part.words or part.name}
    ordered = sorted(parts.items(), key=lambda item: (item[1].past, -item[1].total, item[1].id))
    best = ordered[0][1].total if ordered else 0.0
    shown = [(n, part) for n, part in ordered if part.total >= CUT * best]
    asleep = asleep.union(n for n, part in shown if part.dormant and n not in scorer.called)
    rows = [(n, part.id, part.dormant) for n, part in shown if n not in asleep]
    return Ranked(rows, parts, dormant=len(asleep), least=least)


def _candidates(query: Query, only: Only) -> tuple[list[int], set[int]]:
    """Return the numbers of what is worth scoring, best first, and of what is dormant.

    That is what the rarer words are said of, the best of them by BM25, and what has the common
    ones besides. Where all words are common it is some of what has them together, first what
    is called so: BM25 would have to count each of a hundred thousand.
    """
    known = sorted((t for t in query.terms if t.often), key=lambda t: t.often)
    rare: list[Term] = []
    for term in known:
        if sum(t.often for t in rare) + term.often <= RARE:
            rare.append(term)
    common = known[len(rare) :]
    found: dict[int, tuple[bool, float]] = {}
    if rare:
        either = f"({_all(rare, ' OR ')})"
        found.update(_match(query, either, rare, only, ranked=True))
        if common and len(found) > SCORED:
            every = f"{either} AND {_all(common)}"
            found.update(_match(query, every, known, only))
    for some in range(len(common) if not found else 0, 0, -1):
        every = _all(common[:some])
        found.update(_match(query, f"{{names}} : ({every})", common[:some], only))
        if sum(not row[0] for row in found.values()) < FEW:
            found.update(_match(query, every, common[:some], only))
        if found:
            break
    awake = [n for n, row in found.items() if not row[0]]
    asleep = {n for n, row in found.items() if row[0]}
    return sorted(awake, key=lambda n: (found[n][1], n)), asleep


def _match(
    query: Query, expression: str, terms: Sequence[Term], only: Only, *, ranked: bool = False
) -> dict[int, tuple[bool, float]]:
    """Return by number (dormant, score, the less the better) of what an expression matches.

    Of what is not ranked, a few; should all of them sleep, a few that do not.
    """
    ask = query.con.execute
    if not query.full:
        hits, words = zip(*map(holding, terms), strict=True)
        sql = _PLAIN.format(hits=f"({(' or ' if ranked else ' and ').join(hits)})", only=only.sql)
        values = [word for some in words for word in some]
        rows = ask(sql, (*values, *only.values, RARE)).fetchall()
    elif ranked:
        rows = ask(_BEST.replace("{only}", only.sql), (expression, *only.values, CAP)).fetchall()
    else:
        sql = _SOME.replace("{only}", only.sql)
        rows = ask(sql, (expression, MANY, *only.values, MANY)).fetchall()
        awake = [row for row in rows if not row[2]][:FEW]
        if (rows and not awake) or (len(rows) == 0 and only.values):
            sql = _SOME.replace("{only}", f"{only.sql} and not ({DORMANT})")
            awake = ask(sql, (expression, -1, *only.values, FEW)).fetchall()
        rows = awake + [row for row in rows if row[2]]
    return {n: (bool(dormant), score) for n, score, dormant in rows}


def _all(terms: Sequence[Term], how: str = " AND ") -> str:
    return how.join([term.match for term in terms])


def _worth(forms: Mapping[str, float], fields: Sequence[str], norm: float) -> float:
    """Return how much a term is said in the fields, from 0 to K1 + 1 (BM25F)."""
    often = 0.0
    for form, worth in forms.items():
        word = sought(form)
        for field, weight in zip(fields, WEIGHTS, strict=False):
            if word in field:
                often += worth * weight * field.count(word)
    return often * (K1 + 1) / (often + K1 * norm) if often else 0.0


def _seconds(run: str | None) -> int:
    """Return the second of a run in its sortable form, 0 where there is none."""
    return int(run[:20]) if run else 0
