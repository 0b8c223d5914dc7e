"""compare, judge, unmerge and review: as tools and people use them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import Kg
from stores import LATER, LATEST, git, store

from kg.cli.app import AGENTS
from kg.review import queue
from kg.review.queue import sample

if TYPE_CHECKING:
    from kg.graph import Graph

NAMES = ["Globex Trading", "Globex Shipping", "Hooli Search", "Hooli Maps", "Initech"]
GLOBEX = ("org/globex-trading", "org/globex-shipping")
HOOLI = ("org/hooli-search", "org/hooli-maps")


@pytest.fixture(name="kg")
def _kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    return Kg(capsys)


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> Graph:
    """Return the store of the current folder, with two pairs for the queue."""
    graph = store(tmp_path / "memory")
    for n, name in enumerate(NAMES):
        facts = [
            {"entity": "it", "k": "note", "v": f"fact {i} of {name}", "lines": 1}
            for i in range(4 if name.startswith("Globex") else 1)
        ]
        entities = [{"ref": "it", "type": "Organization", "name": name}]
        text = f"{name}: " + "; ".join(str(fact["v"]) for fact in facts) + "\n"
        raw = {"run": f"r{1785343267 + n}", "agent": "scoper", "text": text}
        graph.remember([{**raw, "entities": entities, "facts": facts}])
    return graph


def judge(graph: Graph, pair: tuple[str, str], verdict: str, run: str, person: str = "ada") -> None:
    """Record a judgement, of an agent where there is no person."""
    said = {"one": pair[0], "other": pair[1], "verdict": verdict, "lines": 1}
    text = f"{person} {verdict} {pair} {run}\n"
    raw = {"run": run, "agent": "scoper", "text": text, "judge": [said]}
    graph.remember([raw], person=person)


def kinds(graph: Graph) -> list[tuple[str, str, str]]:
    """Return (kind, one, other) of the queue, in order."""
    return [(q.kind, q.one, q.other) for q in queue(graph).questions]


# compare


def test_compare_explains_two_names_without_a_store(kg: Kg) -> None:
    """Tokens, score, cutoffs and band, by the shipped cutoffs; the seed's scorer on request."""
    out = kg.ok("compare", "Acme Corp", "Acme Logistics Ltd", "--type", "Organization")
    assert "score:   1/2 (0.50) by token-set-jaccard/2" in out
    assert "band:    review" in out
    assert "against a match: the legal forms differ: corp, ltd" in out
    both = ("compare", "Acme Corp", "Acme Corporation", "--type", "Organization", "--json")
    found = kg(*both, "--scorer", "token-set-jaccard/1").json("compare")
    assert (found["score"], found["band"], found["upper"]) == ("1/2", "review", None)
    assert "no other's" in " ".join(found["reasons"])
    assert kg(*both).json("compare")["would"] == "match"


def test_compare_reads_pairs_and_answers_one_line_each(kg: Kg, tmp_path: Path) -> None:
    """JSON Lines in, one versioned object a line out, in order, with the bound."""
    pairs = [
        {"a": "payments-api", "b": "payments_api", "type": "Object"},
        {"a": "api-1", "b": "api-2", "type": "Object"},
        {"a": "", "b": "x", "type": "Person"},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    lines = kg.ok("compare", "--pairs", str(file), "--json").splitlines()
    found = [json.loads(line)["kg.compare/v1"] for line in lines]
    assert [one["would"] for one in found] == ["match", "non-match", "non-match"]
    assert all(0 < float(one["bound"]) < 0.005 for one in found)


@pytest.mark.parametrize(
    "args",
    [
        ("compare",), ("compare", "a"), ("compare", "a", "b", "--pairs", "x"),
        ("compare", "a", "b", "--scorer", "best/1"), ("compare", "a", "b", "--type", "Thing"),
        ("compare", "org/nobody", "org/initech"), ("judge", "org/initech", "org/initech", "same",
        "--because", "x"), ("judge", "org/initech", "org/nobody", "same", "--because", "x"),
        ("unmerge", "org/initech", "--because", "x"), ("review", "--apply", "missing.jsonl"),
        ("judge", "org/initech", "org/hooli-maps", "withdrawn", "--because", "never judged"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("graph")
def test_bad_asking_is_one_line_and_changes_nothing(kg: Kg, args: tuple[str, ...]) -> None:
    """Exit 2 or 3, one line that ends in what to do, and no commit."""
    before = git(Path("memory"), "rev-parse", "HEAD")
    ran = kg(*args)
    assert ran.code in (2, 3)
    assert ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    assert git(Path("memory"), "rev-parse", "HEAD") == before


def test_compare_says_what_the_resolver_would_do_with_two_entities(graph: Graph, kg: Kg) -> None:
    """By all their names and facts, and what people have judged."""
    judge(graph, GLOBEX, "different", LATER)
    out = kg.ok("compare", *GLOBEX)
    assert "org/globex-trading  (Globex Trading)" in out
    assert "judged different by person:ada" in out
    assert "against a match: a person told apart" in out


# judge and unmerge


@pytest.mark.usefixtures("graph")
def test_without_a_terminal_a_judgement_is_a_suggestion(kg: Kg) -> None:
    """Whoever has no terminal may be an agent: the pair stays two, and the queue shows it."""
    said = kg("judge", *GLOBEX, "same", "--because", "one letterhead", "--json").json("judge")
    (judged,) = said["results"][0]["judged"]
    assert judged["outcome"] == "suggested"
    assert judged["stands"]["verdict"] == ""
    shown = kg("review", "--json").json("review")
    assert shown["questions"][0]["kind"] == "suggested"
    assert shown["questions"][0]["judgements"][0]["verdict"] == "same"
    assert "same as" not in kg.ok("show", GLOBEX[0])


def test_merge_and_unmerge(graph: Graph, kg: Kg) -> None:
    """Recall answers for the cluster while it is one, and for each as filed after."""
    judge(graph, GLOBEX, "same", LATER)
    both = kg.ok("show", GLOBEX[1])
    assert "goes by org/globex-trading" in both
    judge(graph, GLOBEX, "different", LATEST)
    apart = kg.ok("show", GLOBEX[1])
    assert "goes by" not in apart
    assert "fact 0 of Globex Trading" not in apart


# the queue


def test_the_queue_is_ordered_by_what_is_at_stake(graph: Graph) -> None:
    """Conflicts of people first, then suggestions, then the pairs on which most facts hang."""
    assert kinds(graph) == [("alike", *GLOBEX), ("alike", *HOOLI)]
    judge(graph, HOOLI, "same", LATER, person="")
    assert kinds(graph) == [("suggested", "org/hooli-maps", "org/hooli-search"), ("alike", *GLOBEX)]
    judge(graph, ("org/initech", GLOBEX[0]), "same", LATER, "ada")
    judge(graph, ("org/initech", GLOBEX[0]), "different", LATER, "bo")
    assert [kind for kind, _, _ in kinds(graph)] == ["conflict", "suggested", "alike"]


def test_what_is_judged_leaves_the_queue(graph: Graph) -> None:
    """Same, different and unsure alike; the last can be asked for."""
    judge(graph, GLOBEX, "different", LATER)
    judge(graph, HOOLI, "unsure", LATER)
    assert kinds(graph) == []
    assert queue(graph).unsure == 1
    assert [q.one for q in queue(graph, unsure=True).questions] == [HOOLI[0]]


def test_the_json_of_a_question_has_both_sides(graph: Graph, kg: Kg) -> None:
    """Facts with sources, what both are next to, contradictions, and other near names."""
    edge = {"predicate": "uses", "object": "obj", "lines": 1}
    raw = {
        "run": LATER, "agent": "scoper", "text": "Both use the ledger.\n",
        "entities": [{"ref": "obj", "type": "Object", "name": "ledger"}],
        "edges": [{"subject": id_, **edge} for id_ in GLOBEX],
        "facts": [
            {"entity": id_, "k": "status", "v": v, "lines": 1}
            for id_, v in zip(GLOBEX, ("live", "dead"), strict=True)
        ],
    }  # fmt: skip
    graph.remember([raw])
    found = kg("review", "--json", "--limit", "1").json("review")
    assert found["waiting"] == 2
    (question,) = found["questions"]
    assert question["shared"] == ["object/ledger"]
    assert "status differs" in question["compare"]["vetoes"]
    assert {side["id"] for side in question["sides"]} == set(GLOBEX)
    assert all(fact["src"].startswith("raw/") for s in question["sides"] for fact in s["facts"])


def test_judging_by_a_file(graph: Graph, kg: Kg, tmp_path: Path) -> None:
    """Each line is a commit of its own; one bad line and none is."""
    head = git(tmp_path / "memory", "rev-list", "--count", "HEAD").strip()
    rows = [
        {"one": GLOBEX[0], "other": GLOBEX[1], "verdict": "same", "because": "one register"},
        {"one": HOOLI[0], "other": HOOLI[1], "verdict": "different", "because": "two products"},
    ]
    file = tmp_path / "judged.jsonl"
    bad = [*rows, {**rows[0], "verdict": "maybe"}]
    file.write_text("\n".join(map(json.dumps, bad)), encoding="utf-8")
    assert kg("review", "--apply", str(file)).code == 3
    assert git(tmp_path / "memory", "rev-list", "--count", "HEAD").strip() == head
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert kg.ok("review", "--apply", str(file)).count("suggested: ") == 2
    assert int(git(tmp_path / "memory", "rev-list", "--count", "HEAD")) == int(head) + 2
    assert [kind for kind, _, _ in kinds(graph)] == ["suggested", "suggested"]


def test_a_sample_of_automatic_links_is_put_before_a_person(graph: Graph) -> None:
    """Links that the resolver made and nobody judged, and each only until it is judged."""
    entities = [{"type": "Organization", "name": name} for name in ("Umbrella Inc", "umbrella")]
    raw = {"run": LATER, "agent": "scoper", "text": "umbrella\n", "entities": entities}
    graph.remember([raw])
    (question,) = sample(graph, 5)
    assert (question.kind, {question.one, question.other}) == (
        "audit", {"org/umbrella-inc", "org/umbrella"},
    )  # fmt: skip
    judge(graph, (question.one, question.other), "same", LATEST)
    assert sample(graph, 5) == []


# at a terminal


class Terminal:
    """`kg review` at a terminal of 80 columns."""

    def __init__(self, folder: Path, *args: str, **environment: str) -> None:
        command = [sys.executable, "-m", "kg", *args]
        env = {k: v for k, v in os.environ.items() if k not in AGENTS} | environment
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, command, {**env, "COLUMNS": "80"})  # noqa: S606

    def shown(self, until: str) -> str:
        """Return what is printed up to a text."""
        seen = ""
        while until not in seen:
            ready, _, _ = select.select([self._end], [], [], 30)
            assert ready, f"waited for {until!r}, saw {seen!r}"
            try:
                data = os.read(self._end, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data.decode()
        assert until in seen, seen
        return seen

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._end, keys.encode())

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        _, status = os.waitpid(self._pid, 0)
        os.close(self._end)
        return os.waitstatus_to_exitcode(status)


def judgements(folder: Path) -> list[dict[str, Any]]:
    """Return all judgement lines of a store."""
    files = [*(folder / "edges").rglob("*--same-as--*"), *(folder / "edges").rglob("*different-*")]
    return [line for file in files for line in json.loads(file.read_bytes())["judgements"]]


@pytest.mark.usefixtures("graph")
def test_one_key_a_decision_each_of_them_a_commit(tmp_path: Path) -> None:
    """Same, a skip that comes last next time, an undo, and the queue goes on where it stopped."""
    folder = tmp_path / "memory"
    count = int(git(folder, "rev-list", "--count", "HEAD"))
    terminal = Terminal(folder, "review")
    first = terminal.shown("q quit")
    assert "1 of 2" in first
    assert "fact 0 of Globex Trading" in first
    assert max(len(line) for line in first.splitlines()) <= 80
    terminal.press("n")
    assert "Hooli" in terminal.shown("q quit")
    terminal.press("d")
    terminal.shown("1 judged")
    assert terminal.ended() == 0
    assert [(j["by"], j["verdict"]) for j in judgements(folder)] == [
        ("person:test-person", "different")
    ]
    assert int(git(folder, "rev-list", "--count", "HEAD")) == count + 1
    again = Terminal(folder, "review")
    assert "Globex" in again.shown("q quit")
    again.press("r")
    again.shown("because")
    again.press("one register\n")
    again.shown("q quit")
    again.press("s")
    again.shown("1 judged")
    assert again.ended() == 0
    assert {j["verdict"] for j in judgements(folder)} == {"same", "different"}
    said = next(j for j in judgements(folder) if j["verdict"] == "same")
    raw = (folder / said["src"].partition("#")[0]).read_text(encoding="utf-8")
    assert raw == "one register\n"


@pytest.mark.usefixtures("graph")
def test_undo_takes_the_last_decision_back(tmp_path: Path) -> None:
    """The line is gone again, by a commit, and the same question is asked."""
    folder = tmp_path / "memory"
    terminal = Terminal(folder, "review")
    terminal.shown("q quit")
    terminal.press("s")
    terminal.shown("2 of 2")
    terminal.shown("q quit")
    terminal.press("z")
    assert "Globex" in terminal.shown("q quit")
    terminal.press("q")
    terminal.shown("left: kg review goes on")
    assert terminal.ended() == 0
    assert judgements(folder) == []


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("variable", AGENTS)
def test_an_agent_at_a_terminal_only_suggests(tmp_path: Path, variable: str) -> None:
    """Whatever agent's variable is set: what it judges links nothing."""
    folder = tmp_path / "memory"
    args = ("judge", *GLOBEX, "same", "--because", "one letterhead")
    terminal = Terminal(folder, *args, **{variable: "some-agent"})
    terminal.shown("a suggestion")
    assert terminal.ended() == 0
    assert [j["by"].partition(":")[0] for j in judgements(folder)] == ["agent"]


@pytest.mark.usefixtures("graph")
def test_a_person_at_a_terminal_judges(tmp_path: Path) -> None:
    """With a terminal and no agent's variable the judgement links."""
    folder = tmp_path / "memory"
    terminal = Terminal(folder, "judge", *GLOBEX, "same", "--because", "one letterhead")
    terminal.shown("one thing now, under org/globex-trading")
    assert terminal.ended() == 0


@pytest.mark.usefixtures("graph")
def test_review_without_a_terminal_lists(tmp_path: Path) -> None:
    """In a pipe nobody is asked anything."""
    done = subprocess.run(
        [sys.executable, "-m", "kg", "review"], cwd=tmp_path / "memory", text=True, check=True,
        capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["alike", "alike"]
