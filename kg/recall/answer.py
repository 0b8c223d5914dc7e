"""What a program in Python gets for a question."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg.recall import document, hot, options
from kg.recall.match import find
from kg.recall.only import Only

if TYPE_CHECKING:
    from kg.recall.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known: as `text` for a reader, as `entities` for a program, best first.

    `more` entities matched and are not shown (at least so many where `more_is_least`);
    `dormant_left_out` matched by words only and were not seen for some runs; `warnings` say
    what of the store could not be read.
    """

    query: str
    head: str
    text: str
    entities: list[dict[str, Any]] = field(default_factory=list)
    more: int = 0
    more_is_least: bool = False
    dormant_left_out: int = 0
    warnings: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.entities)


def ask(index: Index, query: str, *, limit: int = options.LIMIT, archived: bool = False) -> Answer:
    """Return what the index, as it is, knows about `query`."""
    try:
        return _ask(index, query, limit, archived)
    except sqlite3.DatabaseError:  # damage shows itself only where it is read
        index.rebuild()
        return _ask(index, query, limit, archived)


def _ask(index: Index, query: str, limit: int, archived: bool) -> Answer:
    con = index.connection
    con.execute("begin")
    try:
        found = find(con, query, limit, Only(archived=archived))
        return Answer(
            query=query,
            head=index.head,
            text=hot.render(con, found),
            entities=[document.entity(con, row) for row in found.rows],
            more=found.more,
            more_is_least=found.least,
            dormant_left_out=found.dormant,
            warnings=[*index.notes, *hot.warnings(con)],
        )
    finally:
        con.execute("rollback")
