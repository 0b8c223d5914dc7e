"""An entity of the index as text: the form of the seed article, one block each.

On the hot path: imports `kg.text` and the estimate of tokens. Whatever is shown was written
by someone else, so every line goes through `one_line`.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.recall.tokens import tokens
from kg.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from kg.recall.match import Found, Row
    from kg.recall.options import Options
    from kg.recall.rank import Parts

MEMBER, ITEM = "\x1f", "\x1e"  # between the members of an item, and between items, of a column

# So many relations each way, and traces, of one entity are shown as text; a thing that
# everything depends on would fill the reader's context with what it did not ask for.
MOST = 20
# The predicates that hold judgements, which are no relations: `kg.model.JUDGING`, as SQL.
JUDGING = "('same-as', 'different-from')"
_PAGE = (
    "select p.type, p.name, p.facts, p.contested, p.seen, e.archived"
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
OLD = 1000  # runs; older than that is old enough
_SINCE = (
    "select count(*) from (select distinct last, agent from raw where last > ?"
    f" and last > '' limit {OLD})"
)
_JUDGED = (
    "select judged, verdict, o, by from edge where s = ?1 and p in " + JUDGING + " union all "
    "select judged, verdict, s, by from edge where o = ?1 and p in " + JUDGING + " order by 1"
)


class Page:
    """An answer as text, within its budget: `shown` of the rows, and `text`, "" for none."""

    __slots__ = ("shown", "text")

    def __init__(self, con: Connection, found: Found, options: Options) -> None:
        """Write whole entities while the budget lasts, the first of them in any case."""
        blocks: list[str] = []
        left = options.budget
        for row in found.rows:
            text = block(con, row, found.parts.get(row[0]), options)
            left -= tokens(text)
            if blocks and options.budget and left < 0:
                break
            blocks.append(text)
        self.shown = len(blocks)
        last = "".join([f"{line}\n" for line in _left_out(found, self.shown)])
        self.text = "\n".join([*blocks, last] if last else blocks)


def block(con: Connection, row: Row, parts: Parts | None, options: Options) -> str:
    """Return all that is known of one entity, a line feed after each line."""
    head, *rest = [one_line(line) for line in _lines(con, row, options.age)]
    why = _explained(parts) if options.explain else []
    if options.format == "md":
        return markdown(head, [*why, *rest])
    return "".join([line + "\n" for line in (head, *why, *rest)])


def same_as(con: Connection, id_: str) -> list[tuple[str, str]]:
    """Return (id, who says so) of each entity that the latest judgement calls the same."""
    latest = {}
    for _, verdict, other, by in con.execute(_JUDGED, (id_,)):
        if verdict:
            latest[other] = (verdict, by)
    return [(other, by) for other, (verdict, by) in sorted(latest.items()) if verdict == "same"]


def runs_since(con: Connection, run: str) -> int:
    """Return how many runs (each with one agent) came after one, 1000 for as many or more."""
    return int(con.execute(_SINCE, (order(run),)).fetchone()[0])


def order(run: str) -> str:
    """Return a run in the form that sorts, as the index has it."""
    number = run[1:].partition(".")[0]
    return f"{number:0>20} {run}" if number.isdecimal() else ""


def newest_first(facts: list[list[str]], contested: str) -> list[list[str]]:
    """Return facts (k, v, tag, claim) with the values of each contested key newest first."""
    disputed = {item.split(MEMBER)[0] for item in contested.split(ITEM)} if contested else ()
    if not disputed:
        return facts
    late = sorted(facts, key=lambda fact: max(order(fact[4]), order(fact[10])), reverse=True)
    queue = {k: [fact for fact in late if fact[0] == k] for k in disputed}
    return [queue[fact[0]].pop(0) if fact[0] in queue else fact for fact in facts]


def _left_out(found: Found, shown: int) -> Iterator[str]:
    least = "+" if found.least else ""
    cut = len(found.rows) - shown
    if cut:
        yield f"{cut} over the budget: use --budget N, or 0 for all"
    if found.more or found.least:
        yield f"{found.more}{least} more: narrow the query or use --limit N"
    if found.dormant:
        entities = "entity" if found.dormant == 1 else "entities"
        yield f"{found.dormant}{least} dormant {entities} left out: ask by name"


def markdown(head: str, lines: list[str]) -> str:
    """Return a heading and the lines in a fence that nothing in them can close."""
    id_, _, rest = head.partition("  ")
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    plain = "".join([f"\\{c}" if c in "\\`*_[]<>#|&" else c for c in rest])
    return "\n".join((f"### `{id_}` {plain}", "", fence, *lines, fence, ""))


def _explained(parts: Parts | None) -> list[str]:
    if parts is None:
        return ["  score: called so"]
    words = " ".join([f"{form}={worth:.2f}" for form, worth in parts.each()])
    score = (
        f"  score: {parts.total:.2f} = ((words {parts.words:.2f} + near {parts.near:.2f})"
        f" x all {parts.all:.2f} + name {parts.name:.2f}) x fresh {parts.fresh:.2f}"
        f" + hop {parts.hop:.2f}"
    )
    return [score, f"  words: {words}"]


def _lines(con: Connection, row: Row, age: bool) -> Iterator[str]:
    n, id_, dormant = row
    type_, name, facts, contested, seen, archived = con.execute(_PAGE, (n,)).fetchone()
    named = "" if name == id_.split("/")[-1] else f"  {name}"
    yield f"{id_}  ({type_}){named}"
    told = [fact.split(MEMBER) for fact in facts.split(ITEM)] if facts else []
    for k, v, _, *claim in newest_first(told, contested):
        yield f"  {k} = {v}{_marks(claim)}"
        yield f"      src: {claim[0] or 'missing'}{_aged(con, claim) if age else ''}"
    yield from _edges(con, id_, "->", age)
    yield from _edges(con, id_, "<-", age)
    for other, by in same_as(con, id_):
        yield f"  same as: {other} ({by})"
    if contested:
        yield "  contested: " + ", ".join(map(_counted, contested.split(ITEM)))
    yield from _tried(con, id_)
    if archived:
        yield "  archived"
    if dormant:
        yield f"  dormant: last seen {seen}"


def _edges(con: Connection, id_: str, way: str, age: bool) -> Iterator[str]:
    wanted, count = _EDGES[way]
    rows = con.execute(wanted, (id_,)).fetchall()
    for predicate, other, claims in rows:
        for item in claims.split(ITEM) if claims else ():
            claim = item.split(MEMBER)
            ends = f"{predicate} -> {other}" if way == "->" else f"<- {predicate} {other}"
            yield f"  {ends}{_marks(claim)}"
            yield f"      src: {claim[0] or 'missing'}{_aged(con, claim) if age else ''}"
    if len(rows) == MOST:
        more = con.execute(count, (id_,)).fetchone()[0] - MOST
        if more:
            yield f"  {way} {more} more: kg recall --json {id_}"


def _tried(con: Connection, id_: str) -> Iterator[str]:
    for path, fields in reversed(con.execute(_TRIED, (id_,)).fetchall()):
        tried, outcome, because, *_ = fields.split(MEMBER)
        yield f"  tried: {tried} -> {outcome}" + (f": {because}" if because else "")
        yield f"      {path}"


def _aged(con: Connection, claim: list[str]) -> str:
    """Return how long ago a fact was last seen, in runs and in days."""
    from time import time

    run = max(claim[1], claim[7], key=order)
    if not order(run):
        return ""
    runs = runs_since(con, run)
    days = max(0, int(time()) - int(order(run)[:20])) // 86400
    since = f"{runs}{'+' if runs == OLD else ''}"
    return f"  (seen {run}: {since} runs, {days} days ago)"


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
