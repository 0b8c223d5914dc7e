"""What each ingredient of the ranking of texts is worth, on LoCoMo's turns and sessions.

    python scripts/bench/ablation.py [../shared/data/retrieval/locomo] [--around] [--json]

Each conversation is a store of its own, a session a raw file, a question one search, as in
scripts/bench/retrieval; there the command line is asked, here the same ranking with one weight
taken out, with --around also halved and doubled. `better` and `worse` count the conversations in
which turn any@5 moved: a weight that one conversation alone likes is not a gain. The last lines
choose the best row anew for each conversation by the other ones only (leave one out), which is
what to expect of the unseen.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.graph.rawtext import render_conversation
from kg.place import Place
from kg.recall.rawindex import RawIndex
from kg.recall.rawrank import WEIGHTS, Weights, find

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

DATA = "../shared/data/retrieval/locomo"
PLAIN = Weights(*[0.0] * len(Weights._fields))._replace(who=1.0)
WITHOUT = {
    "all": WEIGHTS,
    **{f"without {name}": WEIGHTS._replace(**{name: 0.0}) for name in Weights._fields},
    "without neighbours": WEIGHTS._replace(after=0.0, before=0.0, later=0.0, earlier=0.0),
    "the words of a line alone": PLAIN,
}
CHANGED = {
    f"{name} x {by}": WEIGHTS._replace(**{name: getattr(WEIGHTS, name) * by})
    for name in Weights._fields
    for by in (0.5, 2.0)
}


class Talk(NamedTuple):
    """A conversation's index, its questions, and what each source of it is the id of."""

    con: sqlite3.Connection
    asked: list[dict[str, Any]]
    ids: Mapping[str, str]


class Scores(NamedTuple):
    """Hits in percent, by conversation: turns and sessions among the first 1 and 5."""

    turn1: list[float]
    turn5: list[float]
    session1: list[float]
    session5: list[float]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", default=DATA)
    parser.add_argument("--around", action="store_true", help="weights halved and doubled too")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    wanted = {**WITHOUT, **(CHANGED if options.around else {})}
    table: dict[str, dict[str, str]] = {}
    rows: dict[str, Scores] = {}
    with tempfile.TemporaryDirectory() as folder:
        talks = _talks(options.data, folder)
        sizes = [len(talk.asked) for talk in talks]
        for name, weights in wanted.items():
            rows[name] = _scores(talks, weights)
            table[name] = _row(rows[name], rows["all"], sizes)
            _told(name, table, printed=not options.json)
    for measure in ("turn5", "session5"):
        name = f"chosen by the others' {measure}"
        table[name] = _left_out(rows, measure, sizes)
        _told(name, table, printed=not options.json)
    if options.json:
        print(json.dumps({"kg.bench.ablation/v1": table}))


def _told(name: str, table: dict[str, dict[str, str]], *, printed: bool) -> None:
    """Print a row as soon as it is measured, each takes ten seconds."""
    columns = list(table["all"])
    if printed and len(table) == 1:
        print(f"{'':32}" + "".join(f"{c:>10}" for c in columns))
    if printed:
        print(f"{name:32}" + "".join(f"{table[name].get(c, ''):>10}" for c in columns), flush=True)


def _talks(data: str, folder: str) -> list[Talk]:
    turns, asked = (_grouped(os.path.join(data, f"{n}.jsonl")) for n in ("docs", "queries"))
    return [
        _talk(os.path.join(folder, group), said, [q for q in asked[group] if q["gold"]])
        for group, said in turns.items()
    ]


def _talk(folder: str, turns: list[dict[str, Any]], asked: list[dict[str, Any]]) -> Talk:
    os.makedirs(f"{folder}/raw")
    sessions: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for turn in turns:
        sessions[turn["session"]].append(turn)
    ids = {}
    for session, said in sessions.items():
        path = f"raw/r{1000 + session}-bench.{session:08x}.txt"
        ids[path] = f"{session}"
        ids.update({f"{path}#L{no}": turn["id"] for no, turn in enumerate(said, 2)})
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(_rendered(said))
    return Talk(RawIndex.fresh(Place(folder, "", "", "", seed=True)).connection, asked, ids)


def _rendered(said: list[dict[str, Any]]) -> str:
    at = datetime.strptime(f"{said[0]['time']} +0000", "%I:%M %p on %d %B, %Y %z")
    topic = " and ".join(dict.fromkeys(turn["speaker"] for turn in said))
    return render_conversation(
        topic,
        at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        [
            {
                "role": t["speaker"],
                "content": t["text"] + (f" [{t['caption']}]" if t["caption"] else ""),
            }
            for t in said
        ],
    )


def _scores(talks: list[Talk], weights: Weights) -> Scores:
    return Scores(*zip(*[_of_talk(talk, weights) for talk in talks], strict=True))  # type: ignore[arg-type]


def _of_talk(talk: Talk, weights: Weights) -> tuple[float, ...]:
    found = [0] * 4
    for query in talk.asked:
        for at, (group, gold) in enumerate(
            ((False, set(query["gold"])), (True, set(map(str, query["gold_sessions"]))))
        ):
            hits = find(talk.con, query["query"], 5, group=group, weights=weights).hits
            ranked = [talk.ids[f"{h.path}#L{h.no}" if h.no else h.path] for h in hits]
            found[2 * at] += not gold.isdisjoint(ranked[:1])
            found[2 * at + 1] += not gold.isdisjoint(ranked)
    return tuple(100 * n / len(talk.asked) for n in found)


def _row(scores: Scores, base: Scores, sizes: list[int]) -> dict[str, str]:
    moves = [new - old for new, old in zip(scores.turn5, base.turn5, strict=True)]
    return {
        **{name: _mean(values, sizes) for name, values in scores._asdict().items()},
        "better": str(sum(move > 0 for move in moves)),
        "worse": str(sum(move < 0 for move in moves)),
    }


def _left_out(rows: dict[str, Scores], measure: str, sizes: list[int]) -> dict[str, str]:
    chosen = []
    for out in range(len(sizes)):
        weight = [size * (at != out) for at, size in enumerate(sizes)]
        best = max(rows, key=lambda name: _sum(getattr(rows[name], measure), weight))
        chosen.append(getattr(rows[best], measure)[out])
    return {measure: _mean(chosen, sizes)}


def _sum(values: list[float], weights: list[int]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True))


def _mean(values: list[float], sizes: list[int]) -> str:
    return f"{_sum(values, sizes) / sum(sizes):.1f}"


def _grouped(path: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            found[row["group"]].append(row)
    return found


if __name__ == "__main__":
    main()
