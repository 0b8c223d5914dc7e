"""Which words a query is made of, and where in a store a word stands already.

For whoever learns from what a query meant. What stands where is asked of the index itself, so
that "it is there already" means what it means to a search, word forms included.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kg.recall.only import KIN
from kg.recall.parse import facts_of
from kg.recall.query import TEXT, Term, holding
from kg.recall.words import STOP, asked, said

if TYPE_CHECKING:
    import sqlite3

LOOKED_AT = 11  # entities that hold a word; it is common long before they are all counted


class Standing(NamedTuple):
    """Where a word stands: `here`, in the entity itself or what is one with it, and in others.

    `named` is another entity that has it in id, name or alias, `term_of` one that it is a
    `term` of, "" where there is none; `others` how many hold it at all (at most `LOOKED_AT`),
    of all the `entities`.
    """

    here: bool = False
    named: str = ""
    term_of: str = ""
    others: int = 0
    entities: int = 0


def words_of_query(query: str) -> list[str]:
    """Return the words of a query as recall takes them, without stop words, none twice."""
    found: dict[str, None] = {}
    for phrase in said(query):
        first, *pairs = phrase.rstrip("*").split()
        found[first + "".join(pair[1:] for pair in pairs)] = None
    return [word for word in found if word not in STOP]


def standing(con: sqlite3.Connection, id_: str, word: str) -> Standing:
    """Return where `word`, one of `words_of_query`, stands, as seen from the entity `id_`."""
    kin = [row[0] for row in con.execute(KIN.format("?1"), (id_,))]
    others = _holders(con, word, "not in", kin)
    named = _holders(con, word, "not in", kin, names=True)
    return Standing(
        here=bool(_holders(con, word, "in", kin)),
        named=named[0][1] if named else "",
        term_of=next((other for n, other in others if _is_term(con, n, word)), ""),
        others=len(others),
        entities=con.execute("select count(*) from ent").fetchone()[0],
    )


def terms_of(con: sqlite3.Connection, id_: str) -> list[str]:
    """Return the `term` facts of an entity, [] where there is no such entity."""
    return _terms(con, "select facts from page join ent using (n) where id = ?", id_)


def _holders(
    con: sqlite3.Connection, word: str, which: str, ids: list[str], *, names: bool = False
) -> list[tuple[int, str]]:
    """Return (number, id) of a few entities that hold the word, at all or in their names.

    `which` is "in" for those of `ids`, "not in" for others.
    """
    terms = [Term({text: 1.0}) for text in asked(word)]
    if con.execute("select words from meta").fetchone()[0]:
        table, hit = "words t cross join ent e on e.n = t.rowid", "words match ?"
        phrase = " AND ".join([term.match for term in terms])
        values = [f"{{names}} : ({phrase})" if names else phrase]
    else:
        conditions, found = zip(*map(holding, terms), strict=True)
        table, hit = "doc d join ent e using (n)", " and ".join(conditions)
        hit = hit.replace(TEXT, "(' ' || d.names || ' ')") if names else hit
        values = [value for some in found for value in some]
    places = ", ".join("?" * len(ids))
    sql = f"select e.n, e.id from {table} where {hit} and e.id {which} ({places}) limit ?"
    return con.execute(sql, (*values, *ids, LOOKED_AT)).fetchall()


def _is_term(con: sqlite3.Connection, n: int, word: str) -> bool:
    sql = "select facts from page where n = ?"
    return any(word in words_of_query(term) for term in _terms(con, sql, n))


def _terms(con: sqlite3.Connection, sql: str, key: int | str) -> list[str]:
    rows = con.execute(sql, (key,)).fetchall()
    return [fact.v for row in rows for fact in facts_of(row[0]) if fact.k == "term"]
