"""An entity of the index as text, or a cluster by its canonical, in the form of the seed article.

On the hot path: imports `kg.text` and the estimate of tokens. Whatever is shown was written
by someone else, so every line goes through `one_line`.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.recall.tokens import tokens
from kg.text import fold, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    from kg.recall.match import Found
    from kg.recall.only import Row
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
_JUDGED = (
    "select 1 from cluster where id = ?1 union all select 1 from dispute where id = ?1 limit 1"
)
# All other files of what a cluster has in it, by its canonical; none where that is no canonical.
_OTHERS = (
    "select c.id, p.name, c.by, p.aliases, p.facts, p.seen from cluster c join ent e on e.id = c.id"
    " join page p on p.n = e.n where c.canonical = ? and e.n <> ? order by c.id, p.path"
)
_DISPUTES = (
    "select id, one, other, verdict, by from dispute where id = ?1"
    " or id in (select id from cluster where canonical = ?1) order by id <> ?1, id, one, other"
)
_WAYS = {"->": ("s", "o"), "<-": ("o", "s")}
_TRIED = (
    "select distinct t.path, t.fields, t.last from about a join trace t on t.n = a.trace"
    " where a.id in ({}) order by t.last desc, t.path" + f" limit {MOST}"
)
_CANONICAL = "select canonical from cluster where id = ?"
OLD = 1000  # runs; older than that is old enough
_SINCE = (
    "select count(*) from (select distinct last, agent from raw where last > ?"
    f" and last > '' limit {OLD})"
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


class Other:
    """A file of another member of a cluster: `by` whom the member is linked, and what it says."""

    __slots__ = ("aliases", "by", "facts", "id", "name", "seen")

    def __init__(self, row: Sequence[str]) -> None:
        self.id, self.name, by, aliases, facts, self.seen = row
        self.by = by.split(MEMBER) if by else []
        self.aliases = aliases.split(MEMBER) if aliases else []
        self.facts = facts_of(facts)


class Kin:
    """What the answer to a row is made of: of a cluster all members, else the entity alone.

    `ids` are theirs, `files` all but the row's own, `linked` the other members, each once.
    `disputes` are (of which member, the pair, verdict, who says so) of what people do not agree
    on: "conflict" where they judge a pair differently, "different" where it is linked all the
    same.
    """

    __slots__ = ("disputes", "files", "ids", "linked")

    def __init__(self, con: Connection, row: Row) -> None:
        n, id_, _ = row
        judged = con.execute(_JUDGED, (id_,)).fetchone()
        self.files = [Other(found) for found in con.execute(_OTHERS, (id_, n))] if judged else []
        once = {one.id: one for one in reversed(self.files) if one.id != id_}
        self.linked = list(once.values())[::-1]
        self.ids = [id_, *[one.id for one in self.linked]]
        self.disputes = [
            (of, [one, other], verdict, by.split(MEMBER))
            for of, one, other, verdict, by in (con.execute(_DISPUTES, (id_,)) if judged else ())
        ]

    def facts(self, own: str) -> list[tuple[str, list[str]]]:
        """Return (member, fact) by key, what several members tell once; `own` are the row's."""
        told = [(self.ids[0], fact) for fact in facts_of(own)]
        if not self.files:
            return told
        found: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
        for member, fact in told + [(one.id, fact) for one in self.files for fact in one.facts]:
            found.setdefault((fact[0], fold(fact[1]), fact[8]), (member, fact))
        return sorted(found.values(), key=lambda one: one[1][0])

    def seen(self, own: str) -> str:
        """Return the run that saw any of them last; `own` is the row's."""
        return max([own, *[one.seen for one in self.files]], key=order)


def facts_of(column: str) -> list[list[str]]:
    """Return the facts of a column, each as (k, v, tag, claim)."""
    return [fact.split(MEMBER) for fact in column.split(ITEM)] if column else []


def leading(way: str, ids: Sequence[str]) -> tuple[str, list[str], str]:
    """Return what the edges "->" or "<-" of a cluster fulfil, its values, and the other end.

    Between two of its members there is none.
    """
    own, other = _WAYS[way]
    places = ", ".join("?" * len(ids))
    if len(ids) == 1:
        return f"{own} = ?", list(ids), other
    return f"{own} in ({places}) and {other} not in ({places})", [*ids, *ids], other


def runs_since(con: Connection, run: str) -> int:
    """Return how many runs (each with one agent) came after one, 1000 for as many or more."""
    return int(con.execute(_SINCE, (order(run),)).fetchone()[0])


def order(run: str) -> str:
    """Return a run in the form that sorts, as the index has it."""
    number = run[1:].partition(".")[0]
    return f"{number:0>20} {run}" if number.isdecimal() else ""


def contested_in(con: Connection, column: str) -> str:
    """Return the contradictions of a page, but for those between ids that are one thing."""
    found = []
    for item in column.split(ITEM) if column else ():
        things = {_thing(con, value) for value in item.split(MEMBER)[1:]}
        if len(things) > 1:
            found.append(item)
    return ITEM.join(found)


def _thing(con: Connection, value: str) -> str:
    """Return what an id goes by, and any other value as it is."""
    row = con.execute(_CANONICAL, (value,)).fetchone() if "/" in value else None
    return row[0] if row else value


def newest_first(told: list[tuple[str, list[str]]], contested: str) -> list[tuple[str, list[str]]]:
    """Return (member, fact) with the values of each contested key newest first."""
    disputed = {item.split(MEMBER)[0] for item in contested.split(ITEM)} if contested else ()
    if not disputed:
        return told
    late = sorted(told, key=lambda one: max(order(one[1][4]), order(one[1][10])), reverse=True)
    queue = {k: [one for one in late if one[1][0] == k] for k in disputed}
    return [queue[one[1][0]].pop(0) if one[1][0] in queue else one for one in told]


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
    contested = contested_in(con, contested)
    named = "" if name == id_.split("/")[-1] else f"  {name}"
    yield f"{id_}  ({type_}){named}"
    kin = Kin(con, row)
    for _, (k, v, _, *claim) in newest_first(kin.facts(facts), contested):
        yield f"  {k} = {v}{_marks(claim)}"
        yield f"      src: {claim[0] or 'missing'}{_aged(con, claim) if age else ''}"
    yield from _edges(con, kin.ids, "->", age)
    yield from _edges(con, kin.ids, "<-", age)
    yield from _linked(id_, kin)
    if contested:
        yield "  contested: " + ", ".join(map(_counted, contested.split(ITEM)))
    yield from _tried(con, kin.ids)
    if archived:
        yield "  archived"
    if dormant:
        yield f"  dormant: last seen {kin.seen(seen)}"


def _linked(id_: str, kin: Kin) -> Iterator[str]:
    for one in kin.linked:
        named = "" if one.name == one.id.split("/")[-1] else f"  {one.name}"
        yield f"  same as: {one.id}{named} ({', '.join(one.by)})"
    for of, pair, verdict, by in kin.disputes:
        yield f"  disputed: {_disputed(id_, of, pair, verdict, by)}: see kg review"


def _disputed(id_: str, of: str, pair: list[str], verdict: str, by: list[str]) -> str:
    who, rest = " and ".join(by), [other for other in pair if other != of]
    if verdict == "conflict":
        return f"{who} judge {' and '.join(rest if of == id_ else pair)} differently"
    told = ", and different" if len(rest) == 1 else ", which are different"
    return f"judged the same as {' and '.join(rest)}{told} ({who})"


def _edges(con: Connection, ids: list[str], way: str, age: bool) -> Iterator[str]:
    where, values, end = leading(way, ids)
    where += f" and p not in {JUDGING}"
    sql = f"select p, {end}, claims from edge where {where} order by p, {end}, path limit {MOST}"
    rows = con.execute(sql, values).fetchall()
    told = set()
    for predicate, other, claims in rows:
        for item in claims.split(ITEM) if claims else ():
            claim = item.split(MEMBER)
            if len(ids) > 1 and (predicate, other, claim[5]) in told:
                continue
            told.add((predicate, other, claim[5]))
            ends = f"{predicate} -> {other}" if way == "->" else f"<- {predicate} {other}"
            yield f"  {ends}{_marks(claim)}"
            yield f"      src: {claim[0] or 'missing'}{_aged(con, claim) if age else ''}"
    if len(rows) == MOST:
        count = f"select count(*) from edge where {where}"
        more = con.execute(count, values).fetchone()[0] - MOST
        if more:
            yield f"  {way} {more} more: kg recall --json {ids[0]}"


def _tried(con: Connection, ids: list[str]) -> Iterator[str]:
    sql = _TRIED.format(", ".join("?" * len(ids)))
    for path, fields, _ in reversed(con.execute(sql, ids).fetchall()):
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
