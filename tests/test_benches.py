"""The benches run: on made-up data of a few lines, whose results mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent / "scripts" / "bench"


def ran(script: str, *args: str) -> Any:  # noqa: ANN401
    """Return what a bench prints with --json, under its key."""
    done = subprocess.run(
        [sys.executable, str(BENCH / script), *args, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (value,) = json.loads(done.stdout).values()
    return value


def test_names_are_asked_for_in_four_forms(tmp_path: Path) -> None:
    """Each form of query is measured on a small store, and what is not found first is listed."""
    import gzip

    words = ("amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar")
    rows = [("Object", f"{a}-{b}") for a in words for b in words if a != b]
    rows += [("Organization", f"{a.title()} Works") for a in words]
    with gzip.open(tmp_path / "names.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{type_}\t{name}\n" for type_, name in rows)
    misses = tmp_path / "misses"
    found = ran(
        "names.py", "--data", str(tmp_path), "--size", "30", "--asked", "8", "--misses", str(misses)
    )
    assert set(found["forms"]) >= {"bare name", "question", "one typo"}
    assert found["forms"]["bare name"]["n"] == 8
    assert misses.exists()


def test_errors_are_told_apart() -> None:
    """Of errors on which nothing was set 95 in 100 find their own trace, and new ones nothing."""
    rates = ran("tried.py", "--part", "fresh", "--filler", "200")["fresh"]
    wanted = [f"rank 1: {what}" for what in ("bare", "one line", "in a log", "a command line")]
    wanted += [name for name in rates if name.startswith("nothing: ")]
    assert len(wanted) == 16
    assert {name: rates[name] for name in wanted if rates[name] < 95} == {}


def rows_of(path: Path, *rows: dict[str, Any]) -> None:
    """Write rows as lines of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def talk(folder: Path) -> None:
    """Write a conversation of two sessions, as LoCoMo has them."""
    said = [(1, "I adopted a grey parrot."), (1, "Lovely!"), (2, "The lighthouse was shut.")]
    rows_of(
        folder / "docs.jsonl",
        *(
            {"id": f"c/D{session}:{at}", "group": "c", "session": session, "speaker": "Ann",
             "time": f"1:5{session} pm on {session} May, 2023", "text": text, "caption": None}
            for at, (session, text) in enumerate(said)
        ),
    )  # fmt: skip
    gold = {"group": "c", "category": "temporal", "gold": ["c/D2:2"], "gold_sessions": [2]}
    rows_of(folder / "queries.jsonl", {"id": "c/q0", "query": "Was the lighthouse open?", **gold})


def test_conversations_are_searched_by_turn_and_by_session(tmp_path: Path) -> None:
    """BM25 answers each question at both levels, and a row stands for each category."""
    talk(tmp_path / "locomo")
    found = ran("retrieval", "locomo", "--data", str(tmp_path), "--baseline")["locomo"]
    assert found["turn BM25 all"] == found["turn BM25 temporal"]
    assert found["turn BM25 all"]["any@1"] == found["session BM25 all"]["any@1"] == 100


def test_kg_is_asked_the_same_questions(tmp_path: Path) -> None:
    """The hits of `recall --raw --queries` are read back as turns and sessions."""
    talk(tmp_path / "locomo")
    found = ran("retrieval", "locomo", "--data", str(tmp_path))["locomo"]
    assert found["turn kg all"]["any@1"] == found["session kg all"]["any@1"] == 100


def test_a_warm_process_is_timed() -> None:
    """Each sort of query has its percentiles, and the index its costs."""
    found = ran("warm_recall.py", "100", "--queries", "5")["100"]
    assert all(row["p50 ms"] <= row["p99 ms"] for row in found["queries"].values())
    assert found["index"]["peak MB"] > 0


def test_beliefs_and_turns_become_memories(tmp_path: Path) -> None:
    """What is superseded, updated or to be forgotten is measured apart from what must be found."""
    belief = {
        "user_id": "test-user", "type": "preference", "aliases": ["tabs"], "scope": ["s"],
        "epistemic_status": "active", "pinned": False, "resolved_at": None, "superseded_by": None,
        "updated_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    over = {"epistemic_status": "superseded", "superseded_by": "b1"}
    rows_of(
        tmp_path / "precisionmembench" / "beliefs.jsonl",
        {**belief, "_id": "b1", "canonical_name": "indent", "content": "Prefers tabs."},
        {**belief, "_id": "b2", "canonical_name": "indent_old", "content": "Spaces.", **over},
    )
    wanted = {"relevantBeliefs": {"shouldOnlyInclude": ["b1"]}}
    case = {"caseId": "c", "category": "x", "scope": ["s"], "query": "tabs?", "expect": wanted}
    rows_of(tmp_path / "precisionmembench" / "cases.jsonl", case)
    turns = (
        ("s1:t1", "Remember that lucky colour for the Delta project is teal."),
        ("s1:t3", "Remember that build host for the Delta project is copper."),
        ("s2:t2", "Update this: build host for the Delta project is now zinc."),
    )
    turn = {"group": "g", "session": "g:s", "time": "2026-01-01T00:00:00Z", "speaker": "user"}
    rows_of(
        tmp_path / "automemorybench" / "docs.jsonl",
        *({**turn, "id": f"g:{id_}", "text": text} for id_, text in turns),
    )
    asked = {"id": "q", "group": "g", "category": "x", "query": "build host for the Delta project"}
    gold = {"gold": ["g:s2:t2"], "forbidden": ["m_e_old_v1"]}
    rows_of(tmp_path / "automemorybench" / "queries.jsonl", {**asked, **gold})
    found = ran("retrieval", "precisionmembench", "automemorybench", "--data", str(tmp_path))
    assert found["precisionmembench"]["kg all"]["should %"] == 100
    assert found["automemorybench"]["kg all"]["any@1"] == 100
    assert found["automemorybench"]["kg all"]["forbidden"] == 0
    assert found["automemorybench"]["kg all"]["of"] == 1
    assert found["automemorybench"]["BM25 all"]["forbidden"] == 1


def test_kg_is_timed_as_its_peers_are(tmp_path: Path) -> None:
    """Without others to compare with, kg alone is asked, warm and cold."""
    import gzip

    with gzip.open(tmp_path / "names.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"Object\t{a}-{b}\n" for a in ("amber", "basalt") for b in ("east", "west"))
    found = ran(
        "peers.py", "--data", str(tmp_path), "--size", "4", "--asked", "2", "--cold", "1"
    )["rows"]  # fmt: skip
    assert found["kg: bare name"]["rank 1"] == 100


def test_cutoffs_are_measured_from_a_folder(tmp_path: Path) -> None:
    """Both scorers by type, sets alone and left out, and random halves; nothing is written."""
    shipped = BENCH.parent.parent / "kg" / "resolver.json"
    before = shipped.read_bytes()
    for name, first in (("ours", 0), ("theirs", 700)):
        rows = [
            {"a": f"Ann Q{n}x", "b": f"ann q{n}x" if n % 2 else f"Ann Z{n}y",
             "label": n % 2, "type": "Person"}
            for n in range(first, first + 700)
        ]  # fmt: skip
        rows_of(tmp_path / f"{name}.jsonl", *rows)
    found = ran("resolve.py", str(tmp_path), "--splits", "2")
    assert [row["scorer"] for row in found["types"]] == [
        "token-set-jaccard/1", "token-set-jaccard/2",
    ]  # fmt: skip
    assert {row["set"] for row in found["sets"]} == {"ours", "theirs"}
    assert [row["splits"] for row in found["splits"]] == [2]
    assert found["fixed"][0]["true pairs split"] == 0
    assert shipped.read_bytes() == before
