"""The context view: a line a fact, in the order in which the facts came to be.

A prompt's cache holds as long as its beginning stays the same, so a new fact is a new line at
the end and nothing stands at the head that changes: the view before is the beginning of the
view after, byte for byte, until a fact is taken back, is over or told to end, changes its
importance, or its entity is archived or dormant (then its own line is gone or other), or until
the budget makes the view forget. A confirmation, also one told late or spelled otherwise, a
rename and a contradiction change no line: value, source and date are those of a fact's birth.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kg.context.births import Birth, births, fact_key
from kg.errors import RefusedError
from kg.format.order import DIGITS, Order, dump_order, parse_order
from kg.format.order import PATH as ORDER
from kg.recall import derive
from kg.recall.only import DORMANT
from kg.recall.parse import Fact, claims_of, facts_of, run_key
from kg.recall.tokens import tokens
from kg.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kg.graph import Graph
    from kg.graph.draft import Draft

BUDGET = 100_000  # tokens
SHARE = 0.15  # of a model's window, which leaves the rest for the work
KEPT = 9  # the importance that is never forgotten
_FACTS = (
    f"select e.id, p.facts, p.seen, {DORMANT} from ent e join page p on p.n = e.n"
    " left join roles r on r.n = e.roles where not e.archived order by e.id"
)
_EDGES = (
    "select s, p, o, claims from edge where p not in ('same-as', 'different-from') order by path"
)


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
    lines = _ordered(known(graph), _order(graph))
    kept = _within(lines, budget)
    return View(lines=kept, budget=budget, forgotten=len(lines) - len(kept))


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
    index = graph.index()
    con = index.connection
    born = births(graph.place, index.head)
    rules = derive.rules(con.execute("select additions from meta").fetchone()[0])
    last: dict[str, tuple[str, bool]] = {}  # of each entity its last run, whether it is dormant
    said: list[Fact] = []
    ids: list[str] = []
    for id_, facts, seen, dormant in con.execute(_FACTS):
        last[id_] = seen, bool(dormant)
        said += (found := facts_of(facts))
        ids += [id_] * len(found)
    for subject, predicate, other, claims in con.execute(_EDGES):
        found = tuple(Fact(f"-> {predicate}", other, "", claim) for claim in claims_of(claims))
        said += found if subject in last else ()
        ids += [subject] * len(found) if subject in last else []
    lines = []
    for id_, fact in zip(ids, said, strict=True):
        seen, asleep = last[id_]
        weight = derive.weight(fact, rules)
        if not derive.over(fact, seen) and (not asleep or weight >= KEPT):
            lines.append(_line(born, id_, fact, weight))
    return lines


def capacity(lines: Iterable[Line], budget: int) -> int:
    """Return how many facts like these fit into so many tokens."""
    sizes = [_size(line) for line in lines]
    usual = sum(sizes) / len(sizes) if sizes else 32
    return int(budget // usual)


def _line(born: dict[str, Birth], id_: str, fact: Fact, importance: int) -> Line:
    k, claim = fact.k, fact.claim
    key = fact_key(id_, k, fact.v, claim.since)
    birth = born.get(key) or Birth(1 << 60, fact.v, claim.src, claim.seen_run)
    v, src, run = birth.v, birth.src, birth.run
    what = f"{id_} {k.removeprefix('-> ')} -> {v}" if k.startswith("-> ") else f"{id_} {k} = {v}"
    since = f" (since {claim.since})" if claim.since else ""
    until = f" (until {claim.until})" if claim.until else ""
    text = one_line(f"{importance} {_day(run)} {what}{since}{until} [{src}]")
    name = sha256(f"{key}\x1f{src}".encode()).hexdigest()[:DIGITS]
    return Line((birth.n, run_key(run)), importance, bool(claim.again), id_, k, v, name, text)


def _order(graph: Graph) -> tuple[str, ...]:
    data = graph.at().read(ORDER)
    return parse_order(data).names if data is not None else ()


def _ordered(lines: list[Line], order: tuple[str, ...]) -> list[Line]:
    """Return the lines as they were consolidated, then the others as they came to be."""
    place = {name: at for at, name in enumerate(order)}
    last = len(order)
    return sorted(lines, key=lambda line: (place.get(line.name, last), line.born, line.name))


def _within(lines: list[Line], budget: int) -> tuple[Line, ...]:
    sizes = {id(line): _size(line) for line in lines}
    left = budget - sum(sizes[id(line)] for line in lines if line.importance >= KEPT)
    if budget and left < 0:
        raise RefusedError(
            f"the facts of importance {KEPT} alone take {budget - left} tokens, over the budget of"
            f" {budget}: raise --budget, or lower the importance of some"
        )
    kept: list[Line] = []
    for line in sorted(
        lines, key=lambda line: (line.importance, line.again, line.born), reverse=True
    ):
        if line.importance < KEPT and budget:
            if sizes[id(line)] > left:
                break  # what matters less has no room before what matters more
            left -= sizes[id(line)]
        kept.append(line)
    spare = min(_spare(len(lines) - len(kept), len(lines)), len(kept))
    while spare and kept[-1].importance < KEPT:
        kept.pop()
        spare -= 1
    wanted = set(map(id, kept))
    return tuple(line for line in lines if id(line) in wanted)


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
