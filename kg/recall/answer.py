"""What a program in Python gets for a question."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg.recall import asking, document
from kg.recall.options import Options
from kg.recall.show import Page

if TYPE_CHECKING:
    from kg.recall.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known: as `text` for a reader, as `entities` for a program, best first.

    `ids` are those of the entities in either.

    `more` entities matched and are not shown (at least so many where `more_is_least`);
    `dormant_left_out` matched by words only and were not seen for some runs; `warnings` say
    what of the store could not be read.
    """

    query: str
    head: str
    text: str
    entities: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    more: int = 0
    more_is_least: bool = False
    dormant_left_out: int = 0
    warnings: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.ids)


def ask(index: Index, query: str, **said: object) -> Answer:
    """Return what the index, as it is, knows about `query`.

    What else is said names options of the command line (limit, archived, type, tag, kind, about,
    hops, age, explain, budget, format). With a format, "text" or "json", the answer has that
    form only, which takes half the time.

    Raises:
        UsageError: an option has a wrong value.
    """
    options = Options.of(query, **said)
    forms = {str(said["format"])} if "format" in said else {"text", "json"}
    try:
        return _ask(index, options, forms)
    except sqlite3.DatabaseError:  # damage shows itself only where it is read
        index.rebuild()
        return _ask(index, options, forms)


def _ask(index: Index, options: Options, forms: set[str]) -> Answer:
    con = index.connection
    con.execute("begin")
    try:
        found = asking.ask(con, options)
        rows = found.rows if "json" in forms else ()
        entities = (document.entity(con, row, found, options) for row in rows)
        return Answer(
            query=options.query,
            head=index.head,
            text=Page(con, found, options).text if forms != {"json"} else "",
            entities=document.within(options.budget, entities),
            ids=[row[1] for row in found.rows],
            more=found.more,
            more_is_least=found.least,
            dormant_left_out=found.dormant,
            warnings=[*index.notes, *asking.warnings(con)],
        )
    finally:
        con.execute("rollback")
