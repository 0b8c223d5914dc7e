"""The context view: a line a fact, in the order in which the facts came to be.

A prompt's cache holds as long as its beginning stays the same, so a new fact is a new line at
the end and nothing stands at the head that changes: the view before is the beginning of the
view after, byte for byte, until a fact is taken back, is over or told to end, changes its
importance, or its entity is archived, dormant or judged the same as another (then its own line
is gone or other), or until the budget makes the view forget. A confirmation, also one told late
or spelled otherwise, a rename and a contradiction change no line: value, source and date are
those of a fact's birth. What is one thing is shown under one id, its canonical's.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from kg.context.births import Birth, births, fact_key, number
from kg.errors import RefusedError
from kg.format.order import DIGITS, Order, dump_order, parse_order
from kg.format.order import PATH as ORDER
from kg.recall import derive
from kg.recall.only import DORMANT
from kg.recall.parse import Fact, claims_of, facts_of, run_key
from kg.recall.tokens import tokens
from kg.text import fold, one_line

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from kg.context.births import Births
    from kg.graph import Graph
    from kg.graph.draft import Draft

BUDGET = 100_000  # tokens
SHARE = 0.15  # of a model's window, which leaves the rest for the work
KEPT = 9  # the importance that is never forgotten
LEAST = 12  # tokens of the shortest line there can be
_UNBORN = 1 << 60  # after every birth
_FACTS = (
    f"select e.id, coalesce(c.canonical, e.id), p.facts, p.seen, {DORMANT} from ent e"
    " join page p on p.n = e.n left join roles r on r.n = e.roles"
    " left join cluster c on c.id = e.id where case when c.id is null then not e.archived else"
    " exists (select 1 from ent x where x.id = c.canonical and not x.archived) end order by e.id"
)
_EDGES = (
    "select s, p, o, claims from edge where p not in ('same-as', 'different-from') order by path"
)


class _Said(NamedTuple):
    """One fact before it is a line: `n` is its place among all births, `key` that of its birth.

    `id` is the canonical where it is filed under another member of a cluster.
    """

    weight: int
    n: int
    key: str
    id: str
    fact: Fact


class _Seen(NamedTuple):
    """Under which id an entity is shown, its last run, and whether it is dormant."""

    canonical: str
    run: str
    dormant: bool


class Line(NamedTuple):
    """One fact, an edge's with `k` = "-> PREDICATE"; `name` is what context.json knows it by."""

    born: tuple[int, str]
    importance: int
    again: bool
    id: str
    k: str
    v: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is in view, in order; `forgotten` more facts had no room in `budget` tokens."""

    lines: tuple[Line, ...]
    budget: int
    forgotten: int = 0

    @property
    def text(self) -> str:
        """The view, a line feed after each line."""
        return "".join(f"{line.text}\n" for line in self.lines)

    @property
    def tokens(self) -> int:
        """About how many tokens it takes."""
        return sum(_size(line) for line in self.lines)


def view(graph: Graph, *, budget: int = BUDGET) -> View:
    """Return what of a store fits into so many tokens (0 for all).

    Forgotten is by importance, the least first; among equals what nobody confirmed, then what
    is oldest. It is forgotten by the sixteenth, so that not every new fact changes the head.

    Raises:
        RefusedError: the facts of importance 9 alone take more.
    """
    lines, count = _known(graph, budget // LEAST + 1 if budget else 0)
    kept = _within(lines, budget, count)
    return View(lines=_ordered(kept, _order(graph)), budget=budget, forgotten=count - len(kept))


def consolidate(graph: Graph) -> str:
    """Put what is important at both edges of the view, trivia in its middle.

    A model reads the middle of a long prompt least (Liu et al., "Lost in the Middle", 2023).
    The order is committed in context.json, and facts told later follow it. Return the commit,
    "" where that is the order already.
    """
    lines = sorted(known(graph), key=lambda line: (-line.importance, line.born, line.name))
    names = [line.name for line in lines[::2]] + [line.name for line in reversed(lines[1::2])]
    if not names and graph.at().read(ORDER) is None:
        return ""
    data = dump_order(Order(tuple(dict.fromkeys(names))))

    def edit(draft: Draft) -> str:
        draft.put_file(ORDER, data)
        return f"Consolidate the context view: {len(names)} facts"

    return graph.change(edit, op="context")


def known(graph: Graph) -> list[Line]:
    """Return every live fact and edge of entities that are neither archived nor dormant.

    Of dormant ones those of importance 9, which are never forgotten.
    """
    return _known(graph, 0)[0]


def _known(graph: Graph, most: int) -> tuple[list[Line], int]:
    """Return what is known, or the `most` that are worth most, and how much it is in all."""
    index = graph.index()
    with births(graph.place, index.head) as born:
        count = 0

        def counted() -> Iterator[_Said]:
            nonlocal count
            for said in _said(index.connection, born):
                count += 1
                yield said

        kept = nlargest(most, counted(), key=_worth) if most else list(counted())
        return [_line(born, said) for said in kept], count


def _said(con: sqlite3.Connection, born: Births) -> Iterator[_Said]:
    """Yield what is known, one after the other: a large store holds more than memory should.

    What several members of a cluster tell is yielded once, as the first of them told it.
    """
    clustered = {row[0] for row in con.execute("select id from cluster")}
    shared: dict[tuple[str, str, str, str], _Said] = {}
    for said in _each(con, born):
        if said.id not in clustered:
            yield said
            continue
        same = said.id, said.fact.k, fold(said.fact.v), said.fact.claim.since
        shared[same] = min(said, shared.get(same, said), key=lambda one: (one.n, one.key))
    yield from shared.values()


def _each(con: sqlite3.Connection, born: Births) -> Iterator[_Said]:
    rules = derive.rules(con.execute("select additions from meta").fetchone()[0])
    last: dict[str, _Seen] = {}
    for id_, canonical, facts, seen, dormant in con.execute(_FACTS):
        last[id_] = _Seen(canonical, seen, bool(dormant))
        yield from _live(born, rules, id_, facts_of(facts), last[id_])
    for subject, predicate, other, claims in con.execute(_EDGES):
        one, two = last.get(subject), last.get(other)
        if one and not (two and two.canonical == one.canonical and subject != other):
            edges = [Fact(f"-> {predicate}", other, "", claim) for claim in claims_of(claims)]
            yield from _live(born, rules, subject, edges, one)


def _live(
    born: Births, rules: derive.Rules, id_: str, facts: Iterable[Fact], seen: _Seen
) -> Iterator[_Said]:
    """Yield of the facts of one entity those that hold."""
    for fact in facts:
        weight = derive.weight(fact, rules)
        if not derive.over(fact, seen.run) and (not seen.dormant or weight >= KEPT):
            key = fact_key(id_, fact.k, fact.v, fact.claim.since)
            yield _Said(weight, born.order.get(number(key), _UNBORN), key, seen.canonical, fact)


def capacity(lines: Iterable[Line], budget: int) -> int:
    """Return how many facts like these fit into so many tokens."""
    sizes = [_size(line) for line in lines]
    usual = sum(sizes) / len(sizes) if sizes else 32
    return int(budget // usual)


def _worth(said: _Said) -> tuple[int, bool, int, str]:
    return said.weight, bool(said.fact.claim.again), said.n, said.key


def _line(born: Births, said: _Said) -> Line:
    k, claim, id_ = said.fact.k, said.fact.claim, said.id
    birth = born.of(said.key) or Birth(_UNBORN, said.fact.v, claim.src, claim.seen_run)
    v, src, run = birth.v, birth.src, birth.run
    what = f"{id_} {k.removeprefix('-> ')} -> {v}" if k.startswith("-> ") else f"{id_} {k} = {v}"
    since = f" (since {claim.since})" if claim.since else ""
    until = f" (until {claim.until})" if claim.until else ""
    text = one_line(f"{said.weight} {_day(run)} {what}{since}{until} [{src}]")
    name = sha256(f"{said.key}\x1f{src}".encode()).hexdigest()[:DIGITS]
    born_at = (birth.n, run_key(run))
    return Line(born_at, said.weight, bool(claim.again), id_, k, v, name, text)


def _order(graph: Graph) -> tuple[str, ...]:
    data = graph.at().read(ORDER)
    return parse_order(data).names if data is not None else ()


def _ordered(lines: list[Line], order: tuple[str, ...]) -> tuple[Line, ...]:
    """Return the lines as they were consolidated, then the others as they came to be."""
    place = {name: at for at, name in enumerate(order)}
    last = len(order)
    return tuple(sorted(lines, key=lambda line: (place.get(line.name, last), line.born, line.name)))


def _within(lines: list[Line], budget: int, count: int) -> list[Line]:
    """Return the lines that a budget has room for, of `count` that there are in all."""
    if not budget:
        return lines
    left = budget - sum(_size(line) for line in lines if line.importance >= KEPT)
    if left < 0:
        raise RefusedError(
            f"the facts of importance {KEPT} alone take {budget - left} tokens, over the budget of"
            f" {budget}: raise --budget, or lower the importance of some"
        )
    kept: list[Line] = []
    for line in sorted(
        lines, key=lambda line: (line.importance, line.again, line.born), reverse=True
    ):
        if line.importance < KEPT:
            if _size(line) > left:
                break  # what matters less has no room before what matters more
            left -= _size(line)
        kept.append(line)
    spare = _spare(count - len(kept), count)
    while spare and kept and kept[-1].importance < KEPT:
        kept.pop()
        spare -= 1
    return kept


def _spare(forgotten: int, of: int) -> int:
    """Return how many more to forget, for a multiple of about a sixteenth of all; 0 of none."""
    step = 1 << max(0, of.bit_length() - 5)
    return -forgotten % step


def _size(line: Line) -> int:
    return tokens(f"{line.text}\n")


def _day(run: str) -> str:
    """Return the date of a run, question marks where it has none."""
    try:
        return datetime.fromtimestamp(int(run_key(run)[:20]), UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "????-??-??"
