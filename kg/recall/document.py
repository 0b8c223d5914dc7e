"""An answer as one JSON object, `{"kg.recall/v1": ...}`: for programs, so nothing is cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kg.recall.parse import Claim, Trace, claims_of, facts_of
from kg.recall.show import ITEM, MEMBER, same_as
from kg.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    from kg.place import Place
    from kg.recall.match import Found, Row

NAME = "kg.recall/v1"
_PAGE = (
    "select p.type, p.name, p.aliases, p.facts, p.contested, p.first, p.seen, e.archived"
    " from page p join ent e on e.n = p.n where p.n = ?"
)
_EDGES = (
    ("out", "select p, o, claims from edge where s = ? order by p, o, path"),
    ("in", "select p, s, claims from edge where o = ? order by p, s, path"),
)
_TRIED = (
    "select t.n, t.path, t.fields from about a join trace t on t.n = a.trace where a.id = ?"
    " order by t.last, t.path"
)


def document(
    con: Connection,
    place: Place,
    *,
    query: str,
    head: str,
    found: Found,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the answer as values that JSON has."""
    return {
        NAME: {
            "query": query,
            "store": place.folder or place.gitdir,
            "head": head,
            "entities": [entity(con, row) for row in found.rows],
            "more": found.more,
            "more_is_least": found.least,
            "dormant_left_out": found.dormant,
            "warnings": list(warnings),
        }
    }


def entity(con: Connection, row: Row) -> dict[str, Any]:
    """Return all that is known of one entity."""
    n, id_, dormant = row
    type_, name, aliases, facts, contested, first, seen, archived = con.execute(
        _PAGE, (n,)
    ).fetchone()
    return {
        "id": id_,
        "type": type_,
        "name": name,
        "aliases": aliases.split(MEMBER) if aliases else [],
        "facts": [
            {"k": f.k, "v": _typed(f.v, f.tag), **_members(f.claim)} for f in facts_of(facts)
        ],
        "edges": list(_edges(con, id_)),
        "same_as": [{"id": other, "by": by} for other, by in same_as(con, id_)],
        "contested": list(_contested(contested)),
        "tried": list(_tried(con, id_)),
        "first_run": first,
        "last_seen_run": seen,
        "dormant": dormant,
        "archived": bool(archived),
    }


def dumped(value: object) -> str:
    """Return JSON on one line with nothing in it that a terminal or line splitter obeys."""
    return json_text(json.dumps(value, ensure_ascii=False))


def _edges(con: Connection, id_: str) -> Iterator[dict[str, Any]]:
    for direction, sql in _EDGES:
        for predicate, other, claims in con.execute(sql, (id_,)):
            for claim in claims_of(claims):
                ends = {"direction": direction, "predicate": predicate, "id": other}
                yield {**ends, **_members(claim)}


def _contested(column: str) -> Iterator[dict[str, Any]]:
    for item in column.split(ITEM) if column else ():
        name, *values = item.split(MEMBER)
        yield {"k": name, "values": values}


def _tried(con: Connection, id_: str) -> Iterator[dict[str, Any]]:
    for n, path, fields in con.execute(_TRIED, (id_,)).fetchall():
        ids = [r[0] for r in con.execute("select id from about where trace = ? order by id", (n,))]
        said = zip(Trace._fields[1:], fields.split(MEMBER), strict=True)
        yield {"path": path, "about": ids, **{k: v for k, v in said if v}}


def _members(claim: Claim) -> dict[str, Any]:
    """Return src and seen_run, and of the rest what is there, as it stands in the file."""
    said: dict[str, Any] = {name: v for name, v in claim._asdict().items() if v}
    if claim.importance.isdigit():
        said["importance"] = int(claim.importance)
    return {"src": claim.src, "seen_run": claim.seen_run, **said}


def _typed(text: str, tag: str) -> str | int | bool:
    if tag == "b":
        return text == "true"
    return int(text) if tag == "i" else text
