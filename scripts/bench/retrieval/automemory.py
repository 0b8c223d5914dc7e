"""AutoMemoryBench: what must come back, and what is stale, deleted or restricted and must not.

One store a case, filled by `turns`. A question is one recall; its answer is the facts of the
entities found, in order. A gold turn is found with the fact that it told or confirmed.
gold@10 is the mean share of its gold turns that a question has among the first ten, in percent;
`forbidden` counts answers that hold what must not come back, `of` those that could have: kg is
not told what is secret or of another workspace, so that it does not return is no merit of recall.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from scripts.bench.measure import Ranks, new_store
from scripts.bench.retrieval.bm25 import Bm25
from scripts.bench.retrieval.recalled import read_rows, recall_each
from scripts.bench.retrieval.turns import told

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]
LIMIT = 10
# Which turn of a case each sort of forbidden memory is: docs.jsonl does not say, the cases are
# of one mould. For scoring only.
FORBIDDEN = {
    "old": "s1:t3", "old_reinforce": "s1:t4", "near_miss_update": "s2:t3",
    "deleted_intro": "s2:t4", "delete": "s2:t5", "sensitive": "s3:t2",
    "near_miss_tool": "s3:t5", "near_miss_feedback": "s4:t5",
}  # fmt: skip


def measure(data: str, folder: str, *, baseline: bool) -> tuple[dict[str, Row], list[str]]:
    """Return a row for each system and category, and a line for each wrong answer of kg.

    A line holds the question, the gold that is missing, and after a bar what must not be there.
    """
    docs, queries = (read_rows(data, name) for name in ("docs.jsonl", "queries.jsonl"))
    ranks: dict[tuple[str, str], Ranks] = {}
    leaks: dict[tuple[str, str], int] = {}
    could: dict[tuple[str, str], int] = {}
    misses = []
    for group in dict.fromkeys(doc["group"] for doc in docs):
        turns = [doc for doc in docs if doc["group"] == group]
        asked = [query for query in queries if query["group"] == group]
        found = {"BM25": _bm25(turns, asked)}
        if not baseline:
            found["kg"] = _kg(os.path.join(folder, group), turns, asked)
        for system, answers in found.items():
            for query, (answered, gold, forbidden) in zip(asked, answers, strict=True):
                leaked = sorted(set(forbidden) & set(answered))
                for key in ((system, "all"), (system, query["category"])):
                    leaks[key] = leaks.get(key, 0) + len(leaked)
                    could[key] = could.get(key, 0) + len(set(forbidden))
                    ranks.setdefault(key, Ranks.none())
                    if gold:
                        ranks[key].add(answered, gold)
                if system == "kg" and (leaked or not set(gold) <= set(answered)):
                    missing = sorted(set(gold) - set(answered))
                    misses.append("\t".join((query["id"], query["query"], *missing, "|", *leaked)))
    order = sorted(ranks, key=lambda key: (key[1] != "all", key[1], key[0]))
    return {
        " ".join(key): {
            **ranks[key].row(), "gold@10": ranks[key].share_at(10),
            "forbidden": leaks[key], "of": could[key],
        }
        for key in order
    }, misses  # fmt: skip


def _kg(folder: str, turns: list[Row], asked: list[Row]) -> Iterator[tuple[list[str], ...]]:
    observations, facts = told(turns)
    keys = {id_: " = ".join(fact) for id_, fact in facts.items()}
    with closing(new_store(folder)) as graph:
        graph.remember(observations)
    questions = [query["query"] for query in asked]
    for query, entities in zip(asked, recall_each(folder, questions), strict=True):
        answered = [
            " = ".join((entity["name"], str(fact["k"]), str(fact["v"])))
            for entity in entities
            for fact in entity["facts"]
        ]
        gold = [keys.get(id_, id_) for id_ in query["gold"]]
        yield answered, gold, [keys[id_] for id_ in _forbidden(query) if id_ in keys]


def _bm25(turns: list[Row], asked: list[Row]) -> Iterator[tuple[list[str], ...]]:
    search = Bm25({turn["id"]: turn["text"] for turn in turns})
    for query in asked:
        yield search.search(query["query"], LIMIT), query["gold"], _forbidden(query)


def _forbidden(query: Row) -> list[str]:
    """Return the turns that must not come back: m_e_old_v914 is the turn `old` of the case."""
    sorts = [id_.removeprefix("m_e_").rpartition("_")[0] for id_ in query["forbidden"]]
    return [f"{query['group']}:{FORBIDDEN[sort]}" for sort in sorts]
