"""PrecisionMemBench: what a question must bring back, and what it must not.

A belief is an entity: its name, aliases, content (a fact of its kind) and scopes (tags).
Superseded content holds until it was replaced; that of a resolved question is retracted; pinned
is importance 9. Each user has a store of their own. A case is a recall for each of its scopes.
Pinned facts and open questions that come back count neither for nor against precision, as the
set has them delivered apart from the answer.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from scripts.bench.measure import new_store, percent
from scripts.bench.retrieval.bm25 import Bm25
from scripts.bench.retrieval.recalled import read_rows, recall_each

Row = dict[str, Any]
LIMIT = 10
USER = "test-user"
KEYS = {"preference": "preference", "decision": "decision", "entity": "description"}
OVER = ("superseded",)


class Score(NamedTuple):
    """How one case went: ids that came back, of those that must or may, and what must not."""

    must: list[bool]
    should: list[bool]
    right: list[bool]
    wrong: int

    @property
    def precise(self) -> float:
        """The share of what counts that is right; 1 of nothing."""
        return sum(self.right) / len(self.right) if self.right else 1.0


def measure(data: str, folder: str, *, baseline: bool) -> tuple[dict[str, Row], list[str]]:
    """Return a row for each system and category, and a line for each case kg has not right."""
    beliefs, cases = (read_rows(data, name) for name in ("beliefs.jsonl", "cases.jsonl"))
    stores = {} if baseline else _stores(folder, beliefs)
    scores: dict[tuple[str, str], list[Score]] = {}
    misses = []
    for case in cases:
        found = {"BM25": _bm25(beliefs, case)}
        if not baseline:
            found["kg"] = _kg(stores, beliefs, case)
        for system, answered in found.items():
            score = _score(case, answered, beliefs)
            for part in ("all", case["category"]):
                scores.setdefault((part, system), []).append(score)
            if system == "kg" and (score.wrong or not all((*score.should, *score.right))):
                misses.append("\t".join((case["caseId"], case["query"], *answered)))
    order = sorted(scores, key=lambda key: (key[0] != "all", key))
    return {f"{system} {part}": _row(scores[part, system]) for part, system in order}, misses


def _row(scores: list[Score]) -> Row:
    return {
        "n": len(scores),
        "must %": percent([hit for score in scores for hit in score.must]),
        "should %": percent([hit for score in scores for hit in score.should]),
        "precise %": percent([score.precise for score in scores]),
        "exact %": percent([all((*score.should, *score.right)) for score in scores]),
        "must not": sum(score.wrong for score in scores),
    }


def _score(case: Row, answered: list[str], beliefs: list[Row]) -> Score:
    parts = case["expect"].values()
    must = set(chain.from_iterable(part.get("mustInclude", ()) for part in parts))
    wrong = set(chain.from_iterable(part.get("mustExclude", ()) for part in parts)) - must
    wrong |= {one["_id"] for one in beliefs if _over(one) or one["user_id"] != _user(case)}
    should = set(case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude", ()))
    apart = {one["_id"] for one in beliefs if one["pinned"] or one["type"] == "open_question"}
    return Score(
        must=[id_ in answered for id_ in sorted(must)],
        should=[id_ in answered for id_ in sorted(should)],
        right=[id_ in should for id_ in answered if id_ in should or id_ not in apart],
        wrong=len(wrong & set(answered)),
    )


def _over(belief: Row) -> bool:
    return belief["epistemic_status"] in OVER or bool(belief["resolved_at"])


def _user(case: Row) -> str:
    return str(case.get("userId", USER))


def _stores(folder: str, beliefs: list[Row]) -> dict[str, str]:
    """Make a store for each user and return the folders."""
    stores = {}
    for user in dict.fromkeys(belief["user_id"] for belief in beliefs):
        stores[user] = os.path.join(folder, user)
        with closing(new_store(stores[user])) as graph:
            graph.remember([_observation([one for one in beliefs if one["user_id"] == user])])
    return stores


def _kg(stores: dict[str, str], beliefs: list[Row], case: Row) -> list[str]:
    """Return the beliefs found, by turns of the scopes; a user that told nothing has no store."""
    if _user(case) not in stores:
        return []
    ids = {one["canonical_name"]: one["_id"] for one in beliefs}
    found = [
        [ids[entity["name"]] for entity in next(answers)]
        for scope in case["scope"]
        for answers in [recall_each(stores[_user(case)], [case["query"]], "--tag", scope)]
    ]
    return _limited(found, case)


def _bm25(beliefs: list[Row], case: Row) -> list[str]:
    found = []
    for scope in case["scope"]:
        fit = [one for one in beliefs if scope in one["scope"] and one["user_id"] == _user(case)]
        texts = {
            one["_id"]: " ".join(
                (one["canonical_name"].replace("_", " "), *one["aliases"], one["content"])
            )
            for one in fit
        }
        found.append(Bm25(texts).search(case["query"], LIMIT))
    return _limited(found, case)


def _limited(found: list[list[str]], case: Row) -> list[str]:
    """Return the answers of all scopes as one list, no longer than the case wants it."""
    turns = chain.from_iterable(zip_longest(*found))
    limit = case.get("budget", {}).get("maxBeliefs", LIMIT)
    return list(dict.fromkeys(id_ for id_ in turns if id_))[:limit]


def _observation(beliefs: list[Row]) -> Row:
    lines, facts, edges, retract, entities = [], [], [], [], []
    for line, one in enumerate(beliefs, 1):
        lines.append(f"{one['canonical_name']} ({', '.join(one['aliases'])}): {one['content']}")
        ref, anchor = one["_id"], {"lines": line}
        names = [{"name": alias, **anchor} for alias in one["aliases"]]
        entities.append(
            {"ref": ref, "type": "Object", "name": one["canonical_name"], "aliases": names}
        )
        facts += [{"entity": ref, "k": "tag", "v": scope, **anchor} for scope in one["scope"]]
        facts.append({"entity": ref, **_content(one), **_options(one), **anchor})
        if one["resolved_at"]:
            retract.append({"entity": ref, **_content(one), **anchor})
        if one["superseded_by"]:
            edge = {"subject": one["superseded_by"], "predicate": "supersedes", "object": ref}
            edges.append({**edge, **anchor})
        edges += [
            {"subject": ref, "predicate": "affects", "object": other, **anchor}
            for other in one.get("participants", ())
        ]
    return {
        "agent": "bench", "text": "\n".join(lines), "entities": entities, "facts": facts,
        "edges": edges, "retract": retract,
    }  # fmt: skip


def _content(belief: Row) -> Row:
    return {"k": KEYS.get(belief["type"], "note"), "v": belief["content"]}


def _options(belief: Row) -> Row:
    until = {"until": belief["updated_at"]} if belief["epistemic_status"] in OVER else {}
    return {**until, "importance": 9} if belief["pinned"] else until
