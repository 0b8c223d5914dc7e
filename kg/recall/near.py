"""Which ids are nearly what someone wrote: for "did you mean", never for an answer."""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.recall.forms import bare, squash
from kg.recall.rank import CAP

if TYPE_CHECKING:
    import sqlite3

_SHOWN = 5
_RAREST = 6  # of a text's trigrams; the rare ones tell names apart
_LOOKED_AT = 300  # names, at 20 microseconds each
_LEAST = 0.3  # of trigrams shared (Dice); below, a suggestion puzzles more than it helps


def ids_like(con: sqlite3.Connection, text: str) -> list[str]:
    """Return at most five ids whose id or a name of which is near `text`, nearest first."""
    plain = bare(text)[:200]
    wanted = _grams(plain)
    scored: dict[str, float] = {}
    for id_, name in _candidates(con, plain, wanted):
        found = max(_dice(wanted, _grams(name)), _dice(wanted, _grams(name.split("/")[-1])))
        scored[id_] = max(found, scored.get(id_, 0.0))
    near = [id_ for id_, score in scored.items() if score >= _LEAST]
    return sorted(near, key=lambda id_: (-scored[id_], id_))[:_SHOWN]


def _candidates(con: sqlite3.Connection, plain: str, wanted: set[str]) -> list[tuple[str, str]]:
    by_ent = "join ent e on e.n = k.ent where"
    if not con.execute("select grams from meta").fetchone()[0]:
        begins = f"select e.id, k.folded from key k {by_ent} k.squash between ? and ? limit ?"
        start = squash(plain)[:2]
        return con.execute(begins, (start, start + "\uffff", CAP)).fetchall()
    count = "select count(*) from (select 1 from grams where grams match ? limit ?)"
    phrases = sorted('"' + g.replace('"', '""') + '"' for g in wanted)
    often = {p: con.execute(count, (p, CAP)).fetchone()[0] for p in phrases}
    rare = sorted((p for p in phrases if often[p]), key=lambda p: (often[p], p))[:_RAREST]
    near = (
        "select e.id, k.bare from (select rowid as g from grams where grams match ? limit ?) f"
        f" join key k on k.n = f.g {by_ent} k.bare is not null"
    )
    found: list[tuple[str, str]] = []
    for phrase in rare:
        found += con.execute(near, (phrase, _LOOKED_AT - len(found))).fetchall()
    return found


def _grams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _dice(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
