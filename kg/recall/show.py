"""An entity of the index as text: the form of the seed article, one block each.

On the hot path: imports `kg.text` alone. Whatever is shown was written by someone else, so
every line goes through `one_line`.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

MEMBER, ITEM = "\x1f", "\x1e"  # between the members of an item, and between items, of a column

# So many relations each way, and traces, of one entity are shown as text; a thing that
# everything depends on would fill the reader's context with what it did not ask for.
MOST = 40
# The predicates that hold judgements, which are no relations: `kg.model.JUDGING`, as SQL.
JUDGING = "('same-as', 'different-from')"
_PAGE = (
    "select e.id, p.type, p.name, p.facts, p.contested, p.seen, e.archived"
    " from page p join ent e on e.n = p.n where p.n = ?"
)
_EDGES = {
    way: (
        (
            f"select p, {other}, claims from edge where {own} = ? and p not in {JUDGING}"
            f" order by p, {other}, path limit {MOST}"
        ),
        f"select count(*) from edge where {own} = ? and p not in {JUDGING}",
    )
    for way, own, other in (("->", "s", "o"), ("<-", "o", "s"))
}
_TRIED = (
    "select t.path, t.fields from about a join trace t on t.n = a.trace where a.id = ?"
    f" order by t.last desc, t.path limit {MOST}"
)
_JUDGED = (
    "select judged, verdict, o, by from edge where s = ?1 and p in " + JUDGING + " union all "
    "select judged, verdict, s, by from edge where o = ?1 and p in " + JUDGING + " order by 1"
)


def block(con: Connection, n: int, *, dormant: bool) -> str:
    """Return all that is known of one entity, a line feed after each line."""
    return "".join([one_line(line) + "\n" for line in _lines(con, n, dormant)])


def same_as(con: Connection, id_: str) -> list[tuple[str, str]]:
    """Return (id, who says so) of each entity that the latest judgement calls the same."""
    latest = {}
    for _, verdict, other, by in con.execute(_JUDGED, (id_,)):
        if verdict:
            latest[other] = (verdict, by)
    return [(other, by) for other, (verdict, by) in sorted(latest.items()) if verdict == "same"]


def _lines(con: Connection, n: int, dormant: bool) -> Iterator[str]:
    id_, type_, name, facts, contested, seen, archived = con.execute(_PAGE, (n,)).fetchone()
    named = "" if name == id_.split("/")[-1] else f"  {name}"
    yield f"{id_}  ({type_}){named}"
    for fact in facts.split(ITEM) if facts else ():
        k, v, _, *claim = fact.split(MEMBER)
        yield f"  {k} = {v}{_marks(claim)}"
        yield f"      src: {claim[0] or 'missing'}"
    yield from _edges(con, id_, "->")
    yield from _edges(con, id_, "<-")
    for other, by in same_as(con, id_):
        yield f"  same as: {other} ({by})"
    if contested:
        yield "  contested: " + ", ".join(map(_counted, contested.split(ITEM)))
    yield from _tried(con, id_)
    if archived:
        yield "  archived"
    if dormant:
        yield f"  dormant: last seen {seen}"


def _edges(con: Connection, id_: str, way: str) -> Iterator[str]:
    wanted, count = _EDGES[way]
    rows = con.execute(wanted, (id_,)).fetchall()
    for predicate, other, claims in rows:
        for item in claims.split(ITEM) if claims else ():
            claim = item.split(MEMBER)
            ends = f"{predicate} -> {other}" if way == "->" else f"<- {predicate} {other}"
            yield f"  {ends}{_marks(claim)}"
            yield f"      src: {claim[0] or 'missing'}"
    if len(rows) == MOST:
        more = con.execute(count, (id_,)).fetchone()[0] - MOST
        if more:
            yield f"  {way} {more} more: kg recall --json {id_}"


def _tried(con: Connection, id_: str) -> Iterator[str]:
    for path, fields in reversed(con.execute(_TRIED, (id_,)).fetchall()):
        tried, outcome, because, *_ = fields.split(MEMBER)
        yield f"  tried: {tried} -> {outcome}" + (f": {because}" if because else "")
        yield f"      {path}"


def _marks(claim: list[str]) -> str:
    _, _, _, basis, _, since, until, _ = claim
    return (
        (f" ({basis})" if basis not in ("", "stated") else "")
        + (f" (since {since})" if since else "")
        + (f" (until {until})" if until else "")
    )


def _counted(contested: str) -> str:
    name, *values = contested.split(MEMBER)
    return f"{name} ({len(values)} values)"
