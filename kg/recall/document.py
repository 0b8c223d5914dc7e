"""An answer as one JSON object, `{"kg.recall/v1": ...}`: for programs, cut only if asked."""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from kg.recall.parse import Claim, Trace, claims_of
from kg.recall.show import (
    ITEM,
    MEMBER,
    Kin,
    contested_in,
    leading,
    newest_first,
    order,
    runs_since,
)
from kg.recall.tokens import tokens
from kg.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from kg.place import Place
    from kg.recall.match import Found
    from kg.recall.only import Row
    from kg.recall.options import Options
    from kg.recall.rank import Parts

NAME = "kg.recall/v1"
_PAGE = (
    "select p.type, p.name, p.aliases, p.facts, p.contested, p.first, p.seen, e.archived"
    " from page p join ent e on e.n = p.n where p.n = ?"
)
_TRIED = (
    "select distinct t.n, t.path, t.fields, t.last from about a join trace t on t.n = a.trace"
    " where a.id in ({}) order by t.last, t.path"
)


def document(
    con: Connection,
    place: Place,
    options: Options,
    *,
    head: str,
    found: Found,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the answer as values that JSON has: whole entities while the budget lasts."""
    entities = within(options.budget, (entity(con, row, found, options) for row in found.rows))
    return {
        NAME: {
            "query": options.query,
            "store": place.folder or place.gitdir,
            "head": head,
            "entities": entities,
            "over_budget": len(found.rows) - len(entities),
            "more": found.more,
            "more_is_least": found.least,
            "dormant_left_out": found.dormant,
            "warnings": list(warnings),
        }
    }


def within(budget: int, values: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first values that a budget of tokens (0 for any) has room for, at least one."""
    kept: list[dict[str, Any]] = []
    for value in values:
        budget_left = budget - sum(tokens(dumped(v)) for v in kept) if budget else 0
        if budget and kept and tokens(dumped(value)) > budget_left:
            break
        kept.append(value)
    return kept


def entity(con: Connection, row: Row, found: Found, options: Options) -> dict[str, Any]:
    """Return all that is known of one entity, or of a cluster by its canonical."""
    n, id_, dormant = row
    type_, name, aliases, facts, contested, first, seen, archived = con.execute(
        _PAGE, (n,)
    ).fetchone()
    contested = contested_in(con, contested)
    kin = Kin(con, row)
    called = aliases.split(MEMBER) if aliases else []
    parts = found.parts.get(n)
    return {
        "id": id_,
        "type": type_,
        "name": name,
        "aliases": list(dict.fromkeys([*called, *(a for one in kin.files for a in one.aliases)])),
        "facts": [
            {"k": k, "v": _typed(v, tag), **_members(con, Claim(*claim), options), **_of(id_, of)}
            for of, (k, v, tag, *claim) in newest_first(kin.facts(facts), contested)
        ],
        "edges": list(_edges(con, kin.ids, options)),
        "same_as": [{"id": one.id, "name": one.name, "by": one.by} for one in kin.linked],
        "disputed": [
            {"ids": pair, "verdict": verdict, "by": by} for _, pair, verdict, by in kin.disputes
        ],
        "contested": list(_contested(contested)),
        "tried": list(_tried(con, kin.ids)),
        "first_run": first,
        "last_seen_run": kin.seen(seen),
        "dormant": dormant,
        "archived": bool(archived),
        **({"score": _score(parts)} if options.explain else {}),
    }


def _of(id_: str, member: str) -> dict[str, str]:
    """Return where something is filed, if that is another member of the cluster."""
    return {} if member == id_ else {"filed_under": member}


def _score(parts: Parts | None) -> dict[str, Any]:
    """Return what a score is made of; what is called so needs none."""
    if parts is None:
        return {"called_so": True}
    names = ("total", "words", "near", "all", "name", "fresh", "hop")
    each = {form: round(worth, 4) for form, worth in parts.each()}
    return {**{name: round(getattr(parts, name), 4) for name in names}, "each": each}


def dumped(value: object) -> str:
    """Return JSON on one line with nothing in it that a terminal or line splitter obeys."""
    return json_text(json.dumps(value, ensure_ascii=False))


def _edges(con: Connection, ids: Sequence[str], options: Options) -> Iterator[dict[str, Any]]:
    for way, direction, own in (("->", "out", "s"), ("<-", "in", "o")):
        where, values, end = leading(way, ids)
        sql = f"select {own}, p, {end}, claims from edge where {where} order by p, {end}, path"
        told = set()
        for of, predicate, other, claims in con.execute(sql, values):
            for claim in claims_of(claims):
                if len(ids) == 1 or (predicate, other, claim.since) not in told:
                    told.add((predicate, other, claim.since))
                    ends = {"direction": direction, "predicate": predicate, "id": other}
                    yield {**ends, **_members(con, claim, options), **_of(ids[0], of)}


def _contested(column: str) -> Iterator[dict[str, Any]]:
    for item in column.split(ITEM) if column else ():
        name, *values = item.split(MEMBER)
        yield {"k": name, "values": values}


def _tried(con: Connection, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    sql = _TRIED.format(", ".join("?" * len(ids)))
    for n, path, fields, _ in con.execute(sql, ids).fetchall():
        about = [
            r[0] for r in con.execute("select id from about where trace = ? order by id", (n,))
        ]
        said = zip(Trace._fields[1:], fields.split(MEMBER), strict=True)
        of = next(id_ for id_ in ids if id_ in about)
        yield {"path": path, "about": about, **{k: v for k, v in said if v}, **_of(ids[0], of)}


def _members(con: Connection, claim: Claim, options: Options) -> dict[str, Any]:
    """Return src and seen_run, and of the rest what is there, as it stands in the file."""
    said: dict[str, Any] = {name: v for name, v in claim._asdict().items() if v}
    if claim.importance.isdigit():
        said["importance"] = int(claim.importance)
    age = _age(con, max(claim.seen_run, claim.again, key=order)) if options.age else {}
    return {"src": claim.src, "seen_run": claim.seen_run, **said, **age}


def _age(con: Connection, run: str) -> dict[str, Any]:
    """Return how long ago a run was; "runs" counts to 1000."""
    if not order(run):
        return {}
    days = max(0, int(time.time()) - int(order(run)[:20])) // 86400
    return {"age": {"runs": runs_since(con, run), "days": days}}


def _typed(text: str, tag: str) -> str | int | bool:
    if tag == "b":
        return text == "true"
    return int(text) if tag == "i" else text
