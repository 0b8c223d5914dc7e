"""The context view: an old view is the beginning of the new one, and nothing important is lost."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from commands import Kg
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import acme, git, observed, store

from kg import place
from kg.context import consolidate, listing, narrate, view
from kg.context.view import known
from kg.errors import RefusedError
from kg.graph import Graph
from kg.recall.tokens import tokens

NAMES = ("alpha", "Beta Thing", "\u540d\u524d", "gamma_2")
KEYS = ("note", "status", "decision", "description")
VALUES = (
    "port 8080",
    "since 2026-01-05",
    "see https://kg.invalid/x?y=1",
    "a\nb \u2028 c",
    "up",
    "5",
)
FACTS = st.tuples(st.sampled_from(NAMES), st.sampled_from(KEYS), st.sampled_from(VALUES))
RUNS = st.integers(1_785_343_300, 1_785_343_303)


def told(facts: list[tuple[str, str, str]], run: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an observation of these facts."""
    text = "".join(f"{name}: {v}\n" for name, _, v in facts)
    made = observed(text, *dict.fromkeys(facts), run=f"r{run}")
    for fact in made["facts"]:
        fact.update(more)
    return made


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in memory/ with the design's example in it."""
    made = store(tmp_path / "memory")
    made.remember([acme()])
    return made


def text(graph: Graph, budget: int = 0) -> str:
    """Return the view without a budget."""
    return view(graph, budget=budget).text


def test_a_line_is_a_fact(graph: Graph) -> None:
    """Importance, date, fact and source stand on one line; an edge is a fact."""
    lines = text(graph).splitlines()
    assert any(
        re.fullmatch(
            r"7 2026-07-29 object/payments-api on-call = platform-team \[raw/\S+#L1\]", line
        )
        for line in lines
    )
    assert any("object/payments-api owned-by -> org/acme-corp [raw/" in line for line in lines)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.lists(FACTS, min_size=1, max_size=4), RUNS), min_size=2, max_size=4))
def test_the_old_view_begins_the_new(steps: list[tuple[list[Any], int]]) -> None:
    """Whatever is told, by a later run or an earlier one, the bytes before it stay as they are."""
    with tempfile.TemporaryDirectory() as folder:
        graph = store(Path(folder, "memory"))
        before = ""
        for facts, run in steps:
            graph.remember([told(facts, run)])
            after = text(graph)
            assert after.startswith(before)
            before = after
        graph.close()


@settings(max_examples=12)
@given(st.lists(st.tuples(st.lists(FACTS, min_size=1, max_size=4), RUNS), min_size=2, max_size=4))
def test_in_the_index_only_what_comes_is_new(steps: list[tuple[list[Any], int]]) -> None:
    """Lines that were there stay in order; confirming and re-scoring move none.

    The runs come one after the other, as they do unless one tells late what it saw first.
    """
    with tempfile.TemporaryDirectory() as folder:
        graph = store(Path(folder, "memory"))
        before: list[str] = []
        for facts, run in sorted(steps, key=lambda step: step[1]):
            graph.remember([told(facts, run)])
            after = [id_ for id_, _, _ in listing(graph)]
            assert [id_ for id_ in after if id_ in before] == before
            graph.remember([told(facts, run, importance=8)])
            assert [id_ for id_, _, _ in listing(graph)] == after
            before = after
        graph.close()


def test_two_clones_make_the_same_bytes(graph: Graph, tmp_path: Path) -> None:
    """A clone that has nothing but the commits answers with the same bytes, in every form."""
    for run in range(4):
        graph.remember(
            [told([("alpha", "note", f"n{run}"), ("beta", "status", "up")], 1_785_343_400)]
        )
    git(tmp_path, "clone", "-q", str(tmp_path / "memory"), "other")
    other = Graph(place.find(str(tmp_path / "other"), {}, "/"))
    assert text(other) == text(graph)
    assert list(listing(other)) == list(listing(graph))
    assert narrate(known(other)) == narrate(known(graph))


def test_a_clone_that_followed_a_merge_makes_the_same_bytes(graph: Graph, tmp_path: Path) -> None:
    """Whoever came to a commit by whatever way, step by step or at once, prints the same."""
    home, side = tmp_path / "memory", tmp_path / "side"
    git(tmp_path, "clone", "-q", str(home), "side")
    theirs = Graph(place.find(str(side), {}, "/"))
    for run, name in enumerate(("beta", "alpha")):
        graph.remember([told([(f"{name}-here", "note", "v")], 1_785_343_300 + run)])
        theirs.remember([told([(f"{name}-there", "note", "v")], 1_785_343_310 + run)])
        assert text(graph) != text(theirs)
    git(home, "pull", "-q", "--no-rebase", "--no-edit", str(side), "HEAD")
    git(side, "pull", "-q", "--ff-only", str(home), "HEAD")
    git(tmp_path, "clone", "-q", str(home), "fresh")
    views = set()
    for at in (home, side, tmp_path / "fresh"):
        one = Graph(place.find(str(at), {}, "/"))
        views.add(text(one))
        one.close()
    theirs.close()
    assert len(views) == 1


def test_a_late_word_does_not_change_an_old_line(graph: Graph) -> None:
    """An earlier run that tells late, and spells it otherwise, moves and rewrites nothing."""
    graph.remember([told([("beta", "status", "Up"), ("zeta", "note", "z")], 1_785_343_400)])
    before = text(graph)
    graph.remember([told([("beta", "status", "up")], 1_785_343_300)])
    assert text(graph) == before


def test_the_order_keeps_no_word_of_what_is_taken_back(graph: Graph) -> None:
    """context.json names facts by hashes; told again, a fact is a new one at the end."""
    graph.remember([told([("beta", "note", "hush"), ("zeta", "note", "z")], 1_785_343_400)])
    consolidate(graph)
    assert "hush" not in Path(graph.place.folder, "context.json").read_text()
    gone = {"text": "no\n", "retract": [{"entity": "object/beta", "k": "note", "quote": "no"}]}
    graph.remember([gone], run="r1785343400", agent="scoper")
    graph.remember([told([("beta", "note", "hush"), ("eta", "note", "e")], 1_785_343_400)])
    assert any("hush" in line for line in text(graph).splitlines()[-2:])


def test_what_a_dormant_thing_has_of_nine_stays(graph: Graph) -> None:
    """What is never forgotten is not forgotten because nobody saw the thing lately."""
    graph.remember([told([("old", "note", "vital")], 1_785_343_400, importance=9)])
    graph.remember([told([("old", "status", "up")], 1_785_343_400)])
    for run in range(7):
        graph.remember([told([(f"e{run}", "note", "v")], 1_785_343_500 + run)])
    assert "object/old note = vital" in text(graph)
    assert "object/old status" not in text(graph)


def test_an_edge_matters_as_its_predicate_says(graph: Graph) -> None:
    """The ontology gives owned-by 7."""
    assert "7 2026-07-29 object/payments-api owned-by -> org/acme-corp" in text(graph)


def test_prose_opens_with_who_and_closes_with_what_matters(graph: Graph) -> None:
    """Among decisions alone there is still somebody's description first, and the top one last."""
    facts = [("beta", "description", "the second letter")]
    facts += [("beta", "decision", f"d{n}") for n in range(5)]
    graph.remember([told(facts, 1_785_343_400)])
    paragraphs = narrate(known(graph)).split("\n\n")
    assert paragraphs[0] == "object/beta: the second letter ."
    assert "decision" in paragraphs[-2]


def test_taken_back_and_told_again_is_new(graph: Graph) -> None:
    """A retracted fact has no line; told again it is a line at the end."""
    graph.remember([told([("alpha", "note", "one"), ("beta", "note", "two")], 1_785_343_400)])
    gone = {"text": "no\n", "retract": [{"entity": "object/alpha", "k": "note", "quote": "no"}]}
    graph.remember([gone], run="r1785343500", agent="x")
    assert "object/alpha note" not in text(graph)
    graph.remember([told([("alpha", "note", "one")], 1_785_343_600)])
    assert "object/alpha note = one" in text(graph).splitlines()[-1]


class TestBudget:
    """What has no room is forgotten by importance."""

    def test_the_least_important_go_first(self, graph: Graph) -> None:
        """However old, what matters stays; nothing is over the budget."""
        graph.remember([told([("old", "note", "vital")], 1_785_343_400, importance=8)])
        for at in range(20):
            graph.remember([told([(f"t{at}", "note", "trivia")], 1_785_343_400, importance=2)])
        found = view(graph, budget=200)
        assert tokens(found.text) <= 200
        assert found.forgotten == len(view(graph, budget=0).lines) - len(found.lines)
        assert "vital" in found.text

    @settings(max_examples=25)
    @given(st.lists(st.integers(1, 8), min_size=1, max_size=12), st.integers(30, 600))
    def test_no_budget_is_exceeded(self, weights: list[int], budget: int) -> None:
        """Of all that is kept nothing matters less than anything that is forgotten."""
        with tempfile.TemporaryDirectory() as folder:
            graph = store(Path(folder, "memory"))
            for at, weight in enumerate(weights):
                one = told([(f"e{at}", "note", f"v{at}")], 1_785_343_400, importance=weight)
                graph.remember([one])
            found, whole = view(graph, budget=budget), view(graph, budget=0)
            out = set(whole.lines) - set(found.lines)
            assert tokens(found.text) <= budget
            assert not out or not found.lines or (
                min(line.importance for line in found.lines) >= max(o.importance for o in out)
            )  # fmt: skip
            graph.close()

    def test_nines_are_never_forgotten(
        self, graph: Graph, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where they alone exceed the budget it is said, exit 3, and nothing is printed."""
        for at in range(5):
            graph.remember([told([(f"e{at}", "note", "vital")], 1_785_343_400, importance=9)])
        assert view(graph, budget=300).text.count("vital") == 5
        with pytest.raises(RefusedError, match="importance 9"):
            view(graph, budget=40)
        done = Kg(capsys)("-C", str(graph.place.folder), "context", "--budget", "40")
        assert (done.code, done.out) == (3, "")

    def test_not_every_new_fact_changes_the_head(self, graph: Graph) -> None:
        """Over the budget it is forgotten by the handful, so that a prompt's cache holds."""
        for at in range(64):
            graph.remember([told([(f"e{at:02d}", "note", "v")], 1_785_343_400)])
        heads = []
        for at in range(24):
            graph.remember([told([(f"f{at:02d}", "note", "v")], 1_785_343_400)])
            heads.append(view(graph, budget=1200).text.splitlines()[0])
        assert len(set(heads)) <= 24 // 3

    def test_window(self, graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
        """A window of a model gives a share of it and says how many facts it holds."""
        done = Kg(capsys)("-C", str(graph.place.folder), "context", "--window", "200000")
        assert "30000 for this view" in done.err
        both = ("context", "--window", "200000", "--budget", "5")
        assert Kg(capsys)("-C", str(graph.place.folder), *both).code == 2
        assert re.search(r"about \d+ facts", done.err)


class TestConsolidate:
    """Important at both edges, trivia in the middle, when asked."""

    def test_edges_and_middle(self, graph: Graph) -> None:
        """The same lines in another order, recorded in one commit; again it is that already."""
        for at, weight in enumerate((3, 9, 1, 8, 2, 7)):
            graph.remember([told([(f"e{at}", "note", "v")], 1_785_343_400, importance=weight)])
        before = text(graph)
        assert consolidate(graph)
        after = text(graph)
        assert sorted(after.splitlines()) == sorted(before.splitlines())
        weights = [int(line[0]) for line in after.splitlines()]
        top = weights.index(min(weights))
        assert weights[:top] == sorted(weights[:top], reverse=True)
        assert weights[top:] == sorted(weights[top:])
        assert consolidate(graph) == ""
        graph.remember([told([("later", "note", "v")], 1_785_343_500, importance=9)])
        assert text(graph).startswith(after)

    def test_the_order_is_checked(self, graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
        """Fsck knows context.json; an edit by hand is a draft that kg commit takes if valid."""
        consolidate(graph)
        kg, file = Kg(capsys), Path(graph.place.folder, "context.json")
        at = ("-C", str(graph.place.folder))
        assert kg(*at, "fsck").code == 0
        file.write_text('{"order": ["0123456789ab"], "kg_context": 1}')
        assert "context.json" in kg(*at, "status").out
        assert kg(*at, "commit").code == 0
        assert (
            file.read_text() == '{\n  "kg_context": 1,\n  "order": [\n    "0123456789ab"\n  ]\n}\n'
        )
        file.write_text('{"order": 3}')
        assert kg(*at, "commit").code == 3


@settings(max_examples=30)
@given(st.lists(FACTS, min_size=1, max_size=8, unique=True))
def test_prose_keeps_what_it_tells(facts: list[tuple[str, str, str]]) -> None:
    """At most half is told, every number, date and address as it stands, and the rest counted."""
    with tempfile.TemporaryDirectory() as folder:
        graph = store(Path(folder, "memory"))
        graph.remember([told(facts, 1_785_343_400)])
        lines = known(graph)
        prose = narrate(lines)
        last = prose.strip().rsplit("\n", maxsplit=1)[-1]
        out = int(last.split()[0])
        assert 2 * (len(lines) - out) <= len(lines)
        for value in re.findall(r"https://\S+|\d{4}-\d{2}-\d{2}|\b8080\b", prose):
            assert any(value in v for _, _, v in facts)
        assert "\u2028" not in prose
        graph.close()


def test_every_form_has_json(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    """The view and the index are one JSON object each."""
    kg, at = Kg(capsys), ("-C", str(graph.place.folder), "context", "--json")
    shown = kg(*at).json("context")
    assert [line["line"] for line in shown["lines"]] == text(graph).splitlines()
    listed = kg(*at, "--index").json("context")["index"]
    assert {row["id"] for row in listed} == {"object/payments-api", "org/acme-corp"}


def test_what_was_kept_of_the_history_does_not_matter(graph: Graph) -> None:
    """Damaged or gone, it is read anew and gives the same."""
    before = text(graph)
    kept = Path(graph.place.state, "born.db")
    kept.write_bytes(b"no database" * 999)
    assert text(graph) == before
    kept.unlink(missing_ok=True)
    assert text(graph) == before


def test_a_file_that_moves_is_no_birth(graph: Graph) -> None:
    """Fan-out puts a file elsewhere; its facts stay where they were in the view."""
    graph.remember([told([("zeta", "note", "last")], 1_785_343_300)])
    before = text(graph)
    folder = Path(graph.place.folder)
    (folder / "entities/object/3f").mkdir()
    file = "entities/object/payments-api.json"
    git(folder, "mv", file, "entities/object/3f/payments-api.json")
    git(folder, "commit", "-q", "-m", "move")
    moved = Graph(place.find(str(folder), {}, "/"))
    assert text(moved) == before
    moved.close()


def test_an_edge_holds_until_its_time_is_over(graph: Graph) -> None:
    """A relation that ends some day is shown until then."""
    graph.remember([
        {"run": "r1785343300", "agent": "a", "text": "it runs on the old rack\n",
         "edges": [{"subject": "object/payments-api", "predicate": "maintained-by",
                    "object": "org/acme-corp", "until": "2099-01-01", "lines": [1, 1]}]},
    ])  # fmt: skip
    assert "maintained-by -> org/acme-corp (until 2099-01-01)" in text(graph)
