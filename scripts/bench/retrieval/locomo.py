"""LoCoMo: long conversations, and questions whose answers are turns of them.

Maharana et al. 2024 (arXiv 2402.17753). One store a conversation; each session is captured as
one raw file, as an agent would, so a turn is a line. A picture is its caption, in brackets.
Each question is one `kg recall --raw`, of lines and of whole files.
"""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scripts.bench.measure import Ranks, new_store
from scripts.bench.retrieval.bm25 import Bm25
from scripts.bench.retrieval.recalled import read_rows, recall, sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = dict[str, Any]
LIMIT = "10"


class Level(NamedTuple):
    """What is asked for: the lines or the files; `gold` names the ids that answer a question."""

    name: str
    flags: tuple[str, ...]

    def gold(self, query: Row) -> list[str]:
        """Return the ids that answer the question."""
        if self.name == "turn":
            return list(query["gold"])
        return [_session_id(query["group"], session) for session in query["gold_sessions"]]


LEVELS = (Level("turn", ()), Level("session", ("--group", "file")))


def measure(data: str, folder: str, *, baseline: bool) -> tuple[dict[str, Row], list[str]]:
    """Return a row for each level, system and category, and a line for each question missed.

    `data` has docs.jsonl and queries.jsonl; stores are made in `folder`. Questions without any
    gold turn are not asked. With `baseline` only BM25 is measured.
    """
    docs = read_rows(data, "docs.jsonl")
    queries = [query for query in read_rows(data, "queries.jsonl") if query["gold"]]
    ranks: dict[tuple[str, str, str], Ranks] = {}
    misses: list[str] = []
    for group, turns in _grouped(docs, "group").items():
        asked = [query for query in queries if query["group"] == group]
        found = _bm25(turns, asked)
        if not baseline:
            found |= _kg(os.path.join(folder, group), turns, asked)
        for (level, system), answers in found.items():
            for query, answered in zip(asked, answers, strict=True):
                gold = level.gold(query)
                for part in ("all", query["category"]):
                    ranks.setdefault((level.name, system, part), Ranks.none()).add(answered, gold)
                if system == "kg" and set(gold).isdisjoint(answered[:5]):
                    misses.append("\t".join((level.name, query["id"], query["query"], *gold)))
    order = sorted(ranks, key=lambda key: (key[0] != "turn", key[2] != "all", key[2], key[1]))
    return {" ".join(key): ranks[key].row() for key in order}, misses


def said(turn: Row) -> str:
    """Return the words of a turn, with what its picture shows."""
    text = " ".join(turn["text"].split())
    return f"{text} [{turn['caption']}]" if turn["caption"] else text


def _kg(folder: str, turns: list[Row], asked: list[Row]) -> dict[tuple[Level, str], Any]:
    ids = _capture(folder, turns)
    questions = [query["query"] for query in asked]
    return {
        (level, "kg"): [
            [ids.get(src, src) for src in found]  # what is no turn keeps its rank
            for found in sources(recall(folder, questions, "--raw", "--limit", LIMIT, *level.flags))
        ]
        for level in LEVELS
    }


def _capture(folder: str, turns: list[Row]) -> Mapping[str, str]:
    """Write the sessions into a new store; return what each src of it, or file, is the id of."""
    sessions = _grouped(turns, "session")
    with closing(new_store(folder)) as graph:
        recorded = graph.remember(map(_observation, sessions.values())).recorded
    ids = {}
    for one, (session, said_then) in zip(recorded, sessions.items(), strict=True):
        ids[one.raw] = _session_id(said_then[0]["group"], session)
        for line, turn in enumerate(said_then, 2):  # line 1 is the heading
            ids[f"{one.raw}#L{line}"] = turn["id"]
    return ids


def _observation(turns: list[Row]) -> Row:
    at = datetime.strptime(f"{turns[0]['time']} +0000", "%I:%M %p on %d %B, %Y %z")
    speakers = dict.fromkeys(turn["speaker"] for turn in turns)
    return {
        "topic": " and ".join(speakers),
        "at": at.isoformat(),
        "agent": "bench",
        "messages": [{"role": turn["speaker"], "content": said(turn)} for turn in turns],
    }


def _bm25(turns: list[Row], asked: list[Row]) -> dict[tuple[Level, str], Any]:
    lines = {turn["id"]: f"{turn['speaker']}: {said(turn)}" for turn in turns}
    files = {
        _session_id(said_then[0]["group"], session): "\n".join(lines[t["id"]] for t in said_then)
        for session, said_then in _grouped(turns, "session").items()
    }
    return {
        (level, "BM25"): [search.search(query["query"], int(LIMIT)) for query in asked]
        for level, search in zip(LEVELS, (Bm25(lines), Bm25(files)), strict=True)
    }


def _grouped(rows: Sequence[Row], member: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[member], []).append(row)
    return found


def _session_id(group: str, session: object) -> str:
    return f"{group}/D{session}"
