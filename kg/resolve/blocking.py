"""Which names can reach a cutoff at all: an inverted index, exact for the scorers.

Two names of a token-set Jaccard above 0 share a token, so the readings that share one are the
candidates; whatever else a scorer counts (squash, handles, ecosystems) it says in `Form.keys`.
Of n tokens, the n - ceil(cut * n) + 1 rarest suffice to find all that reach a cutoff (prefix
filter; Chaudhuri, Ganti and Kaushik, ICDE 2006), and a size outside [cut * n, n / cut] cannot
reach it. Misspelt names share no token; of two that are one edit apart, one half is intact (but
for two letters swapped across the middle).

The tables lie in whatever SQLite connection is given: a file's, or one in memory.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kg.resolve.forms import Form, numbers
from kg.resolve.scorers import share

if TYPE_CHECKING:
    import sqlite3

    from kg.resolve.scorers import Scorer

# `word` is "<type>\t<token>", so that names of different types never meet.
TABLES = """
create table reading (n integer primary key, ent text, type text, name text, born text);
create index reading_ent on reading (ent);
create index reading_born on reading (born);
create table token (word text, n int, size int, hard int, hards int, primary key (word, n))
    without rowid;
create table key (word text, n int, primary key (word, n)) without rowid;
create table half (word text, n int, primary key (word, n)) without rowid;
"""
LAST = "\uffff"  # after whatever is born
AT_ONCE = 64  # candidates compared before asking whether more are wanted
MISSPELT_FROM = 6  # letters; of shorter names, every other is one edit away
_SOME = 200  # names with one intact half are compared; those with more are no misspelling of it


Candidate = tuple[int, Fraction]  # number of a reading, the greatest score it may have
# What shares one of the rare tokens, with the common ones it shares besides. Where each side has a
# number that the other lacks, only a key can help.
_COMMON = "(select count(*) from token c where c.word in ({common}) and c.n = t.n)"
_SHARING = (
    "select n, count(*) + {besides} as both, size from token t where word in ({rare})"
    " and size between ? and ? group by n having both * ? >= ? * (? + size - both)"
    " and (sum(hard) = ? or sum(hard) = hards) order by both * 1.0 / (? + size - both) desc, n"
)
_OFTEN = "select count(*) from (select 1 from token where word = ? limit 5000)"


class Alike(NamedTuple):
    """An entity with the one of its names that is most like the name asked for."""

    ent: str
    name: str
    score: Fraction


class Names:
    """The names of entities, found again by what is alike."""

    def __init__(self, con: sqlite3.Connection, scorer_of: Callable[[str], Scorer]) -> None:
        """Use the tables in `con`; `scorer_of` gives the scorer of a type."""
        self._con, self._scorer_of = con, scorer_of

    def add(self, ent: str, type_name: str, names: Iterable[str], born: str = "") -> None:
        """Add an entity's names; `born` says when it came to be, in a form that sorts."""
        for name in names:
            for form in self._scorer_of(type_name).read(name, type_name):
                sql = "insert into reading values (null, ?, ?, ?, ?)"
                n = self._con.execute(sql, (ent, type_name, name, born)).lastrowid or 0
                self._put(n, type_name, form)

    def remove(self, ent: str) -> None:
        """Remove an entity's names."""
        sql = "select n, type, name from reading where ent = ?"
        for n, type_name, name in self._con.execute(sql, (ent,)).fetchall():
            for form in self._scorer_of(type_name).read(name, type_name):
                for table, words in _words(type_name, form).items():
                    rows = [(word, n) for word in words]
                    self._con.executemany(f"delete from {table} where word = ? and n = ?", rows)
        self._con.execute("delete from reading where ent = ?", (ent,))

    def alike(
        self, type_name: str, name: str, cut: Fraction, most: int = 0, before: str = LAST
    ) -> list[Alike]:
        """Return the entities of a type with a name that scores `cut` (above 0) or more.

        Best first, each once, all of them or the `most` best, those born before `before` alone.
        No pair is missed, whatever the names.
        """
        scorer = self._scorer_of(type_name)
        best: dict[str, Alike] = {}
        for form in scorer.read(name, type_name):
            for chunk in _batched(self._candidates(type_name, form, cut)):
                if most and _settled(best, most, chunk[0]):
                    break
                for ent, other in self._named(chunk, before):
                    score = scorer.score(name, other, type_name)
                    if score >= cut and (ent not in best or score > best[ent].score):
                        best[ent] = Alike(ent, other, score)
        ordered = sorted(best.values(), key=lambda one: (-one.score, one.ent))
        return ordered[:most] if most else ordered

    def misspelt(self, type_name: str, name: str, before: str = LAST) -> list[tuple[str, str]]:
        """Return (entity, name) of what is one or two slips of the pen away, and no number."""
        found: dict[str, str] = {}
        for form in self._scorer_of(type_name).read(name, type_name):
            words = [f"{type_name}\t{half}" for half in _halves_near(form.squash)]
            for word in words:
                sql = f"select n, 1 from half where word = ? limit {_SOME + 1}"
                rows = self._con.execute(sql, (word,)).fetchall()
                if len(rows) > _SOME:
                    continue
                for ent, other in self._named(rows, before):
                    if self._slip(form, other, type_name):
                        found.setdefault(ent, other)
        return sorted(found.items())

    def weights(self, type_name: str, tokens: Iterable[str]) -> dict[str, float]:
        """Return for each token its inverse document frequency among the names of a type."""
        # the last number, as SQLite would count the rows one by one
        every = (self._con.execute("select max(n) from reading").fetchone()[0] or 0) + 1
        sql = "select count(*) from token where word = ?"
        often = {t: self._con.execute(sql, (f"{type_name}\t{t}",)).fetchone()[0] for t in tokens}
        return {token: math.log(every / (1 + count)) + 1 for token, count in often.items()}

    def _put(self, n: int, type_name: str, form: Form) -> None:
        words = _words(type_name, form)
        size, hards = len(form.tokens), len(form.hard)
        rows = [
            (f"{type_name}\t{token}", n, size, token in form.hard, hards) for token in form.tokens
        ]
        self._con.executemany("insert or ignore into token values (?, ?, ?, ?, ?)", rows)
        for table in ("key", "half"):
            pairs = [(word, n) for word in words[table]]
            self._con.executemany(f"insert or ignore into {table} values (?, ?)", pairs)

    def _candidates(self, type_name: str, form: Form, cut: Fraction) -> Iterator[Candidate]:
        """Yield what may reach the cutoff, with the greatest score it may have, best first."""
        keys = [f"{type_name}\t{key}" for key in form.keys]
        sql = f"select distinct n from key where word in ({_marks(keys)})"
        for (n,) in self._con.execute(sql, keys).fetchall():
            yield n, Fraction(1)
        rare, common = self._split(type_name, form, cut)
        size, hard = len(form.tokens), len(form.hard)
        least, most = math.ceil(cut * size), math.floor(size / cut)
        besides = _COMMON.format(common=_marks(common)) if common else "0"
        sql = _SHARING.format(besides=besides, rare=_marks(rare))
        values = (*common, *rare, least, most, cut.denominator, cut.numerator, size, hard, size)
        for n, both, other in self._con.execute(sql, values):
            yield n, share(both, size + other - both)

    def _split(self, type_name: str, form: Form, cut: Fraction) -> tuple[list[str], list[str]]:
        """Return the words that suffice to find what reaches the cutoff, and the rest.

        Those of tokens that must not differ are never among the rest.
        """
        soft = [f"{type_name}\t{token}" for token in form.tokens - form.hard]
        hard = [f"{type_name}\t{token}" for token in form.hard]
        size = len(form.tokens)
        spare = min(len(soft), math.ceil(cut * size) - 1)
        if spare <= 0:
            return soft + hard, []
        often = {word: self._con.execute(_OFTEN, (word,)).fetchone()[0] for word in soft}
        ordered = sorted(soft, key=lambda word: (often[word], word))
        return ordered[: len(soft) - spare] + hard, ordered[len(soft) - spare :]

    def _named(self, candidates: Iterable[Candidate], before: str) -> list[tuple[str, str]]:
        wanted = [n for n, _ in candidates]
        sql = f"select ent, name from reading where n in ({_marks(wanted)}) and born < ?"
        return self._con.execute(sql, (*wanted, before)).fetchall()

    def _slip(self, form: Form, other: str, type_name: str) -> bool:
        from rapidfuzz.distance import OSA

        for read in self._scorer_of(type_name).read(other, type_name):
            alike = read.hard == form.hard and numbers(read.squash) == numbers(form.squash)
            if alike and read.squash != form.squash:
                least = 1 if len(form.squash) < 2 * MISSPELT_FROM else 2
                if OSA.distance(form.squash, read.squash, score_cutoff=least) <= least:
                    return True
        return False


def _words(type_name: str, form: Form) -> dict[str, list[str]]:
    """Return what a reading is found by, for each table."""
    found = {"token": form.tokens, "key": form.keys, "half": _halves(form.squash)}
    return {table: [f"{type_name}\t{word}" for word in words] for table, words in found.items()}


def _halves(squash: str) -> list[str]:
    """Return the two halves of a squashed name, marked by side and by the whole's length."""
    size = len(squash)
    if size < MISSPELT_FROM:
        return []
    middle = size // 2
    return [f"<{size}:{squash[:middle]}", f">{size}:{squash[middle:]}"]


def _halves_near(squash: str) -> list[str]:
    """Return the halves of names up to one letter shorter or longer that this one may share."""
    found = []
    for size in (len(squash) - 1, len(squash), len(squash) + 1):
        if size >= MISSPELT_FROM:
            middle = size // 2
            found.append(f"<{size}:{squash[:middle]}")
            found.append(f">{size}:{squash[len(squash) - (size - middle) :]}")
    return found


def _batched(candidates: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    while batch := list(islice(candidates, AT_ONCE)):
        yield batch


def _settled(best: Mapping[str, Alike], most: int, following: Candidate) -> bool:
    """Whether so many are found that nothing which follows is better."""
    if len(best) < most:
        return False
    scores = sorted((one.score for one in best.values()), reverse=True)
    return scores[most - 1] >= following[1]


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
