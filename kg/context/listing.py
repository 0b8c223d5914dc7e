"""The index of the context view: one line an entity, for whoever then asks by id.

Grouped by type and ordered by first run, then id, so that what is said of an entity later moves
no other line, and every clone of a store lists the same bytes.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.recall.only import DORMANT
from kg.recall.parse import facts_of, run_key
from kg.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.graph import Graph

_ROWS = (
    "select e.id, p.facts, p.first, p.path from ent e join page p on p.n = e.n"
    f" left join roles r on r.n = e.roles where not e.archived and not ({DORMANT})"
    " and not exists (select 1 from cluster c where c.id = e.id and c.canonical <> e.id)"
)
_SHOWN = 120  # characters of a description
_KEYS = ("description", "summary", "kind", "role")  # what describes a thing, best first


def listing(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """Yield (id, description, file) of every entity that is neither archived nor dormant.

    Of a cluster that is the canonical.
    """
    rows = graph.index().connection.execute(_ROWS).fetchall()
    for id_, facts, _, path in sorted(rows, key=lambda row: (_place(row[0], row[2]), row[3])):
        yield id_, _description(facts), path


def _place(id_: str, first: str) -> tuple[str, str, str]:
    return id_.partition("/")[0], run_key(first), id_


def _description(facts: str) -> str:
    """Return the fact that describes an entity, the first seen where several do, cut to fit."""
    found = [
        (_KEYS.index(fact.k), run_key(fact.claim.seen_run), fact.v)
        for fact in facts_of(facts)
        if fact.k in _KEYS
    ]
    text = one_line(min(found)[2]) if found else ""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
