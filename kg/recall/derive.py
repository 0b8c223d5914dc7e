"""What follows from several files together: contradictions, and who is missed by whom.

The ontology is the shipped one plus whatever of store.json's additions makes sense; a reader
does not refuse a store for an odd definition.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.errors import RefusedError
from kg.model import moment, run_order
from kg.recall.schema import ITEM, MEMBER
from kg.text import fold

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kg.recall.parse import Claim, Fact

_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "ontology.json")
_WEIGHTS = frozenset("123456789")
_FOREVER = "\uffff"  # after every time, as text


class Rules(NamedTuple):
    """Which keys and predicates take one value at a time, and what a key implies."""

    keys: frozenset[str]
    predicates: frozenset[str]
    edge_of: Mapping[str, str]
    kind_of: Mapping[str, str]
    importance_of: Mapping[str, int]


class _Held(NamedTuple):
    """One value that something holds for a time."""

    key: str
    value: str
    since: str
    until: str


@lru_cache(maxsize=8)
def rules(store_says: str) -> Rules:
    """Return the rules of the shipped ontology with a store's additions, which are JSON."""
    additions = json.loads(store_says)
    with open(_SHIPPED, "rb") as file:
        shipped = json.load(file)
    keys, predicates = (
        {**shipped[group], **_table(_table(additions).get(group))}
        for group in ("keys", "predicates")
    )
    edge_of = {k: str(v) for k, v in _implied(keys, "edge")}
    kind_of = {k: str(v) for k, v in _implied(keys, "kind")}
    said = [(k, v) for k, v in _implied(keys, "importance")]
    said += [(f"-> {p}", v) for p, v in _implied(predicates, "importance")]
    importance_of = {k: min(9, max(1, v)) for k, v in said if isinstance(v, int)}
    return Rules(_single(keys), _single(predicates), edge_of, kind_of, importance_of)


def kind(fact: Fact, ruled: Rules) -> str:
    """Return what kind of statement a fact is, by itself or by its key."""
    return fact.claim.kind or ruled.kind_of.get(fact.k, "fact")


def importance(facts: Iterable[Fact], ruled: Rules) -> int:
    """Return the greatest importance of the facts, 5 where none says more."""
    return max([weight(fact, ruled) for fact in facts], default=5)


def weight(fact: Fact, ruled: Rules) -> int:
    """Return a fact's importance, 1 to 9: its own, or its key's ("-> PREDICATE" of an edge)."""
    said = fact.claim.importance
    return int(said) if said in _WEIGHTS else ruled.importance_of.get(fact.k, 5)


def over(fact: Fact, seen: str) -> bool:
    """Whether a fact's time was over when its entity was last seen (`seen` is a run)."""
    if not fact.claim.until:
        return False
    try:
        second = run_order(seen)[0]
        last = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (RefusedError, ValueError, OverflowError, OSError):
        return True
    return moment(fact.claim.until) <= last


def contested(
    facts: Iterable[Fact],
    edges: Iterable[tuple[str, str, Sequence[Claim]]],
    said: Iterable[str],
    ruled: Rules,
) -> list[tuple[str, list[str]]]:
    """Return (key or predicate, values) of what contradicts itself, sorted.

    `edges` are (predicate, object, claims) that lead away from the entity, `said` the keys
    its own file calls contested. A key that says the same as an edge stands with it.
    """
    groups: dict[str, list[_Held]] = defaultdict(list)
    said = set(said)
    for fact in facts:
        predicate = ruled.edge_of.get(fact.k, "")
        if predicate in ruled.predicates:
            groups[f"edge {predicate}"].append(_held(fact.k, fact.v, fact.claim))
        elif fact.k in ruled.keys or fact.k in said:
            groups[fact.k].append(_held(fact.k, fact.v, fact.claim))
    for predicate, object_, claims in edges:
        if predicate in ruled.predicates:
            groups[f"edge {predicate}"] += [_held("", object_, claim) for claim in claims]
    found = (_judge(name.removeprefix("edge "), held, said) for name, held in groups.items())
    return sorted(pair for pair in found if pair[1])


def contested_column(found: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return contradictions as one column of the index."""
    return ITEM.join(MEMBER.join((name, *values)) for name, values in found)


def floors(con: sqlite3.Connection, policy: object) -> dict[int, str]:
    """Return for each role set the run that an entity must have been seen in to be awake.

    An entity is dormant once `runs` (run, agent) pairs of raw/ are later than its last:
    that is, once its last is before the pair that comes `runs`-th from the end.
    """
    wanted = _table(policy)
    runs = wanted.get("runs")
    runs = runs if isinstance(runs, int) and not isinstance(runs, bool) and runs > 0 else 5
    latest = "select distinct last, agent from raw order by last desc limit ?"
    everyone = [row[0] for row in con.execute(latest, (runs,))]
    by_agent: dict[str, list[str]] = {}
    found = {}
    for n, agents in con.execute("select n, agents from roles"):
        ends = everyone
        if wanted.get("by") != "any":
            names = agents.split(MEMBER) if agents else []
            ends = [end for name in names for end in _ends(con, by_agent, name, runs)]
        found[n] = sorted(ends)[-runs] if len(ends) >= runs else ""
    return found


def _ends(con: sqlite3.Connection, known: dict[str, list[str]], agent: str, runs: int) -> list[str]:
    if agent not in known:
        latest = "select distinct last from raw where agent = ? order by last desc limit ?"
        known[agent] = [row[0] for row in con.execute(latest, (agent, runs))]
    return known[agent]


def _judge(name: str, held: list[_Held], said: set[str]) -> tuple[str, list[str]]:
    """Return the name to show and the values that stand against one another."""
    keys = sorted({h.key for h in held if h.key})
    shown: dict[str, str] = {}
    for one in held:
        if said.intersection(keys) or any(_against(one, other) for other in held):
            shown.setdefault(fold(one.value), one.value)
    return keys[0] if keys else name, sorted(shown.values())


def _against(one: _Held, other: _Held) -> bool:
    return (
        fold(one.value) != fold(other.value)
        and one.since < (other.until or _FOREVER)
        and other.since < (one.until or _FOREVER)
    )


def _held(key: str, value: str, claim: Claim) -> _Held:
    return _Held(key, value, moment(claim.since), moment(claim.until))


def _implied(keys: Mapping[str, Any], member: str) -> Iterator[tuple[str, Any]]:
    return ((k, found) for k, table in keys.items() if (found := _table(table).get(member)))


def _single(terms: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(n for n, t in terms.items() if _table(t).get("cardinality", "one") == "one")


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
