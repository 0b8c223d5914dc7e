"""What the words of a query are worth in texts: lines and whole texts, best first.

A line counts by its own words (BM25) and how many of the query's it has, by those of the lines
around it, since the answer to a question often stands beside the line that repeats its words,
and by how much its whole text is about them. A text counts as a whole and by its best line. The
weights were found on the six conversations of LoCoMo that are given for it, and are the same for
every set (scripts/bench/ablation.py shows what each is worth). Words that stand side by side or
near each other were tried too: worth less than 0.6 points, so left out.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import re
from math import log
from typing import TYPE_CHECKING, NamedTuple

from kg.recall.dates import day_of, spoken
from kg.recall.stem import stem
from kg.recall.words import MAX_QUERY, STOP, asked, words

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

CANDIDATES = 3000  # lines, and texts, that BM25 hands on
# A word in as many lines brings in none where the query has rarer ones: BM25 looks at each line
# that has it. Of those that rarer words bring in, the ones that have it too still come first.
OFTEN = 10_000


class Weights(NamedTuple):
    """What each ingredient is worth; 0 leaves it out."""

    who: float = 1.0  # the speaker's name, against words that were said
    days: float = 0.5  # the words of a line's days
    after: float = 0.4  # of a line's score goes to the next one,
    before: float = 0.2  # to the one before,
    later: float = 0.2  # to the next but one,
    earlier: float = 0.1  # and to the last but one
    whole: float = 1.0  # of a text's score goes to each of its lines
    best: float = 0.5  # of its best line's score goes to a text
    cover: float = 0.5  # of a line's own score once more if it has all words of the query
    phrase: float = 1.0  # for a phrase in quotes, of the best line's score


WEIGHTS = Weights()
_QUOTED = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d')


class Matched(NamedTuple):
    """What has words of a query, by number: its BM25, and how many of the words it has."""

    score: dict[int, float]
    words: dict[int, int]


class Hit(NamedTuple):
    """One line, or with `no` = 0 a text by its best line; `parts` are of its score."""

    path: str
    no: int
    text: str
    score: float
    run: str
    agent: str
    at: str
    parts: dict[str, float]


class Hits(NamedTuple):
    """The best lines or texts; `more` matched, at least so many."""

    hits: list[Hit]
    more: int


def find(
    con: sqlite3.Connection,
    query: str,
    limit: int,
    *,
    group: bool = False,
    among: Iterable[str] | None = None,
    weights: Weights = WEIGHTS,
) -> Hits:
    """Return the lines that `query` is about, or with `group` the texts, best first.

    `among` are the paths to look in, None for all.
    """
    expressions = _expressions(con, query)
    files, lines = (_matches(con, table, expressions, weights) for table in ("files", "lines"))
    quoted = _quoted(con, query)
    lines.score.update({n: s for n, s in quoted.items() if n not in lines.score})
    scored = _Lines(con, lines, files.score, weights, len(expressions))
    scored.prefer(quoted)
    if among is not None:
        scored.keep(_numbers(con, among))
    return scored.texts(limit) if group else scored.lines(limit)


def _expressions(con: sqlite3.Connection, query: str) -> list[str]:
    """Return the words of a query, and of the days it speaks of, as expressions of full text."""
    newest = con.execute("select max(at) from file").fetchone()[0] or ""
    days = [stem(word) for word in spoken(query[:MAX_QUERY], day_of(newest))]
    found = list(dict.fromkeys([*asked(query), *days]))
    return [f'"{word[:-1]}" *' if word[-1] == "*" else f'"{word}"' for word in found]


def _matches(
    con: sqlite3.Connection, table: str, expressions: Iterable[str], weights: Weights
) -> Matched:
    """Return what has any of the words by number, with its BM25: more is better here.

    SQLite's own gives no worth at all to a word that half of the rows have (its inverse document
    frequency is Robertson's, cut off at zero), which of a few long texts is most words. So each
    word is asked for alone, and its part weighed anew by ln(1 + (N - n + 0.5) / (n + 0.5)).
    """
    size = con.execute(f"select count(*) from {table}_docsize").fetchone()[0]
    rank = f"bm25({table}, 1.0, {weights.who}, {weights.days})"
    sql = f"select rowid, -{rank} from {table} where {table} match ? limit {OFTEN}"
    found = Matched({}, {})
    common, rare = [], []
    for expression in expressions:
        rows = con.execute(sql, (expression,)).fetchall()
        if len(rows) == OFTEN:
            common.append(expression)
        else:
            rare.append(expression)
            _add(found, rows, size)
    if found.score:
        for expression in common:
            _also(con, table, expression, rare, found)
    elif common:
        _add(found, _together(con, sql, common), size)
    best = sorted(found.score, key=lambda n: (-found.score[n], n))[:CANDIDATES]
    return Matched({n: found.score[n] for n in best}, found.words)


def _also(
    con: sqlite3.Connection, table: str, common: str, rare: Iterable[str], found: Matched
) -> None:
    """Add the worth of a common word to what the rare ones found and that has it too.

    As if said once in a line of usual length, where BM25 is the inverse document frequency.
    """
    size = con.execute(f"select count(*) from {table}_docsize").fetchone()[0]
    sql = f"select count(*) from {table} where {table} match ?"
    often = con.execute(sql, (common,)).fetchone()[0]
    worth = log(1 + (size - often + 0.5) / (often + 0.5))
    either = f"{common} AND ({' OR '.join(rare)})"
    for (n,) in con.execute(f"select rowid from {table} where {table} match ?", (either,)):
        found.score[n] += worth
        found.words[n] += 1


def _together(con: sqlite3.Connection, sql: str, common: list[str]) -> list[tuple[int, float]]:
    """Return what has all of the common words, or else as many of the first as go together."""
    some = len(common)
    while some > 1:
        rows = con.execute(sql, (" AND ".join(common[:some]),)).fetchall()
        if rows:
            return rows
        some //= 2  # each try looks through long lists, so there are at most five
    return con.execute(sql, (common[0],)).fetchall()


def _quoted(con: sqlite3.Connection, query: str) -> dict[int, float]:
    """Return the lines with a phrase that the query has in quotes, with its BM25."""
    found: dict[int, float] = {}
    sql = f"select rowid, -bm25(lines) from lines where lines match ? limit {CANDIDATES}"
    for said in _QUOTED.findall(query[:MAX_QUERY]):
        phrase = [stem(word) for word in words(said[0] or said[1]) if word not in STOP]
        if len(phrase) > 1 and len(phrase[-1]) == 1 and not phrase[-1].isascii():
            phrase.pop()  # half of a pair, which in a text may be the beginning of another
        if phrase:
            found.update(con.execute(sql, (f'said : "{" ".join(phrase)}"',)))
    return found


def _add(found: Matched, rows: list[tuple[int, float]], size: int) -> None:
    odds = (size - len(rows) + 0.5) / (len(rows) + 0.5)
    theirs = max(log(odds), 1e-6)  # as SQLite's fts5_aux.c has it
    ours = log(1 + odds)
    for n, score in rows:
        found.score[n] = found.score.get(n, 0.0) + score * ours / theirs
        found.words[n] = found.words.get(n, 0) + 1


def _numbers(con: sqlite3.Connection, paths: Iterable[str]) -> set[int]:
    sql = "select n from file where path = ?"
    return {row[0] for path in paths for row in con.execute(sql, (path,))}


class _Lines:
    """Scores of lines and of the texts they stand in."""

    def __init__(
        self,
        con: sqlite3.Connection,
        lines: Matched,
        files: dict[int, float],
        weights: Weights,
        asked: int,
    ) -> None:
        self.con, self.weights, self.files = con, weights, files
        self.own, self.words, self.asked = lines.score, lines.words, asked
        self.file = self._files(self.own)
        self.lent = self._lent()
        self.quoted: dict[int, float] = {}
        self.scores = {n: self._score(n) for n in self.lent}

    def prefer(self, quoted: Iterable[int]) -> None:
        """Put lines with what the query has in quotes before others."""
        best = max(self.scores.values(), default=0.0)
        for n in quoted:
            self.quoted[n] = self.weights.phrase * best
            self.scores[n] += self.quoted[n]

    def keep(self, files: set[int]) -> None:
        """Leave out every line of other texts."""
        self.scores = {n: s for n, s in self.scores.items() if self.file[n] in files}
        self.files = {n: s for n, s in self.files.items() if n in files}

    def lines(self, limit: int) -> Hits:
        """Return the best lines."""
        best = sorted(self.scores, key=lambda n: (-self.scores[n], self.file[n], n))
        hits = [self._hit(n) for n in best[:limit]]
        return Hits(hits, max(0, len(best) - limit))

    def texts(self, limit: int) -> Hits:
        """Return the best texts, each with its best line."""
        top: dict[int, int] = {}
        for n in sorted(self.scores, key=lambda n: (-self.scores[n], n)):
            top.setdefault(self.file[n], n)
        scores = dict(self.files)
        alone: dict[int, float] = {}
        for n in self.scores:  # by its own words: what stands around it counts in the whole
            file = self.file[n]
            alone[file] = max(alone.get(file, 0.0), self.own.get(n, 0.0) + self.quoted.get(n, 0.0))
        for file, score in alone.items():
            scores[file] = scores.get(file, 0.0) + self.weights.best * score
        best = sorted(scores, key=lambda file: (-scores[file], self._path(file)))
        hits = [self._text(file, top.get(file), scores[file]) for file in best[:limit]]
        return Hits(hits, max(0, len(best) - limit))

    def _files(self, numbers: Iterable[int]) -> dict[int, int]:
        sql = "select file from line where n = ?"
        ask = self.con.execute
        return {n: row[0] for n in numbers if (row := ask(sql, (n,)).fetchone())}

    def _lent(self) -> dict[int, float]:
        """Return what each line has of its own and from those around it in the same text."""
        w = self.weights
        lends = ((1, w.after), (-1, w.before), (2, w.later), (-2, w.earlier))
        around = {n + away for n in self.own for away, _ in lends} - self.own.keys()
        self.file.update(self._files(around))
        found = dict(self.own)
        for n, score in self.own.items():
            for away, worth in lends:
                if worth and self.file.get(n + away) == self.file[n]:
                    found[n + away] = found.get(n + away, 0.0) + worth * score
        return found

    def _cover(self, n: int) -> float:
        share = self.words.get(n, 0) / self.asked if self.asked else 0.0
        return self.weights.cover * self.own.get(n, 0.0) * share * share

    def _whole(self, n: int) -> float:
        return self.weights.whole * self.files.get(self.file[n], 0.0)

    def _score(self, n: int) -> float:
        return self.lent[n] + self._cover(n) + self._whole(n)

    def _hit(self, n: int) -> Hit:
        no, at, text, path, run, agent, of_file = self.con.execute(_LINE, (n,)).fetchone()
        own = self.own.get(n, 0.0)
        parts = {
            "own": own,
            "around": self.lent[n] - own,
            "cover": self._cover(n),
            "text": self._whole(n),
            "quoted": self.quoted.get(n, 0.0),
        }
        return Hit(path, no, text, self.scores[n], run, agent, at or of_file, parts)

    def _text(self, file: int, line: int | None, score: float) -> Hit:
        path, run, agent, at = self.con.execute(_FILE, (file,)).fetchone()
        if line is None:  # it was found as a whole: show how it begins
            line = self.con.execute(_FIRST, (file,)).fetchone()[0]
        text = self.con.execute(_LINE, (line,)).fetchone()[2] if line else ""
        own = self.files.get(file, 0.0)
        parts = {"whole": own, "line": score - own}
        return Hit(path, 0, text, score, run, agent, at, parts)

    def _path(self, file: int) -> str:
        return str(self.con.execute(_FILE, (file,)).fetchone()[0])


_LINE = (
    "select l.no, l.at, l.text, f.path, f.run, f.agent, f.at from line l"
    " join file f on f.n = l.file where l.n = ?"
)
_FILE = "select path, run, agent, at from file where n = ?"
_FIRST = "select min(n) from line where file = ?"
