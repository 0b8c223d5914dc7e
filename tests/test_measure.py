"""Cutoffs: bounded exactly, chosen on one half, held by the other, and off rather than guessed."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from html.parser import HTMLParser
from math import comb
from pathlib import Path

import pytest
from checks import one_line_error
from commands import Kg
from hypothesis import given
from hypothesis import strategies as st
from stores import git, store

from kg.audit.fsck import fsck
from kg.errors import FormatError, FormatVersionError, RefusedError
from kg.format.resolver import (
    check_version,
    cutoffs_of,
    decimal,
    dump_resolver,
    parse_resolver,
    shipped,
    shipped_bytes,
)
from kg.graph import Graph
from kg.graph.cutoffs import in_store, stored_labels
from kg.graph.draft import Draft
from kg.graph.judged import labels_from_judgements
from kg.model import Edge, Entity, Judgement
from kg.recall.index import Index
from kg.resolve.bands import Cutoffs, in_force
from kg.resolve.evidence import (
    Evidence,
    Policy,
    Split,
    Tally,
    at_most,
    rounded_up,
    trials_needed,
    upper_bound,
)
from kg.resolve.labels import Pair, labels_of, pair_of, read_labels, write_labels
from kg.resolve.measure import Measurement, Scored, lowered, measure, measured, sweep, tally
from kg.resolve.report import page
from kg.resolve.scorers import SCORERS

SEED, OURS = SCORERS["token-set-jaccard/1"], SCORERS["token-set-jaccard/2"]
ZERO = Policy("zero-errors")
EIGHT = [
    ("Acme Corp", "Acme Corporation", 1), ("Acme Corp", "Acme Logistics Ltd", 0),
    ("Initech Inc", "The Initech Corp", 1), ("Hooli Search Engine Labs", "Hooli Search Labs", 1),
    ("Globex Overseas Shipping", "Globex Shipping", 1), ("Umbrella Health", "Umbrella Security", 0),
    ("Wayne Foods", "Stark Foods", 0), ("Vandelay Imports", "Kramerica Exports", 0),
]  # fmt: skip


def pairs(rows: Sequence[tuple[str, str, int]], type_: str = "Organization") -> list[Pair]:
    """Return labelled pairs."""
    return [pair_of(type_, a, b, bool(label)) for a, b, label in rows]


def lines(found: Sequence[Pair], folder: Path, name: str = "labels.jsonl") -> str:
    """Return a file that holds the pairs."""
    file = folder / name
    file.write_bytes(write_labels(found))
    return str(file)


def scored(counts: dict[str, tuple[int, int]], *, seen: bool = True) -> tuple[Scored, ...]:
    """Return scored pairs: {score: (same, different)}, halves as their hashes have them."""
    number = itertools.count()
    return tuple(
        Scored(pair_of("Person", f"a{n}", f"b{n}", same), Fraction(score), seen)
        for score, both in counts.items()
        for same, count in ((True, both[0]), (False, both[1]))
        for n in itertools.islice(number, count)
    )


def many(same: int, different: int) -> list[Pair]:
    """Return pairs of people that score 1, and pairs that share one word of two."""
    return [
        *(pair_of("Person", f"Ann Q{n}x", f"ann q{n}x", same=True) for n in range(same)),
        *(pair_of("Person", f"Ann Q{n}x", f"Ann Z{n}y", same=False) for n in range(different)),
    ]


class TestBounds:
    """The 95% upper bound of a rate, written by us."""

    @pytest.mark.parametrize(
        ("errors", "trials", "bound"),
        [(0, 4, 0.5271), (0, 59, 0.04951), (0, 598, 0.004997), (1, 10, 0.3942), (10, 100, 0.16372)],
    )
    def test_known_values(self, errors: int, trials: int, bound: float) -> None:
        """As the tables have them; with no error it is 1 - 0.05^(1/n)."""
        assert upper_bound(errors, trials) == pytest.approx(bound, rel=2e-4)
        if not errors:
            assert upper_bound(0, trials) == pytest.approx(1 - 0.05 ** (1 / trials), rel=1e-9)

    @given(st.integers(1, 40), st.data())
    def test_the_tail_is_the_binomial_sum(self, trials: int, data: st.DataObject) -> None:
        """Exactly summed in fractions, for every count and rate."""
        errors = data.draw(st.integers(0, trials - 1))
        rate = Fraction(data.draw(st.integers(1, 99)), 100)
        terms = (comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(errors + 1))
        assert at_most(errors, trials, float(rate)) == pytest.approx(
            float(sum(terms)), rel=1e-9, abs=1e-12
        )

    @given(st.integers(0, 50), st.integers(1, 100_000))
    def test_a_bound_is_above_what_was_seen(self, errors: int, trials: int) -> None:
        """And above that for one error fewer, below that for fewer trials; 1 where all fail."""
        bound = upper_bound(errors, trials)
        assert min(1.0, errors / trials) <= bound <= 1
        assert bound <= upper_bound(errors + 1, trials)
        assert bound >= upper_bound(errors, trials + 1)
        assert float(rounded_up(bound)) >= bound - 1e-9

    def test_how_many_are_needed(self) -> None:
        """598 without an error bound a rate at 0.5%, 597 do not."""
        needed = trials_needed(Fraction(1, 200))
        assert needed == 598
        assert upper_bound(0, needed) <= 0.005 < upper_bound(0, needed - 1)


class TestLabels:
    """What is read, and that order and files do not matter."""

    @given(st.permutations(pairs(EIGHT)), st.booleans())
    def test_order_changes_nothing(self, shuffled: list[Pair], turned: bool) -> None:
        """Neither of lines nor of the two names: the same id, halves and pairs."""
        wanted = labels_of(pairs(EIGHT))
        rows = [pair_of(p.type, p.b, p.a, p.same) if turned else p for p in shuffled]
        assert labels_of(rows) == wanted
        assert labels_of(rows).id == wanted.id
        assert re.fullmatch("[0-9a-f]{12}", wanted.id)

    def test_twice_is_once_and_both_ways_is_neither(self) -> None:
        """A pair counts once; one that is labelled both ways says nothing, and is named."""
        found = labels_of(
            [*pairs(EIGHT), *pairs(EIGHT[:2]), *pairs([("Wayne Foods", "Stark Foods", 1)])]
        )
        assert (len(found.pairs), found.twice) == (7, 3)
        assert found.both_ways == (("Organization", "Stark Foods", "Wayne Foods"),)

    def test_a_label_changes_the_id(self) -> None:
        """The set is its pairs and their labels."""
        other = [("Wayne Foods", "Stark Foods", 1) if r[0] == "Wayne Foods" else r for r in EIGHT]
        assert labels_of(pairs(other)).id != labels_of(pairs(EIGHT)).id

    def test_json_lines_and_csv_say_the_same(self) -> None:
        """In words or numbers, with a type of their own or one for all."""
        rows = b'{"a": "X", "b": "Y", "label": "same"}\n\n{"b": "W", "a": "Z", "label": false}\n'
        table = b'\xef\xbb\xbfa,b,label,type\r\nX,Y,1,\r\n"Z",W,different,Person\r\n'
        found = list(read_labels(rows, "x", "Person"))
        assert found == list(read_labels(table, "x", "Person"))
        assert found == [Pair("Person", "X", "Y", True), Pair("Person", "W", "Z", False)]

    @given(st.lists(st.builds(pair_of, st.just("Person"), st.text(
        st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip), st.just("b"),
        st.booleans())))  # fmt: skip
    def test_labels_survive_their_bytes(self, rows: list[Pair]) -> None:
        """Reading what was written gives the pairs back."""
        assert list(read_labels(write_labels(rows), "x")) == sorted(rows)

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b'{"a": "X", "b": "Y", "label": 1}', "f line 1: has no type"),
            (b'\n{"a": "X", "label": 1}', "f line 2: b is missing"),
            (b'{"a": "X", "b": " ", "label": 1}', "line 1: b is missing"),
            (b'{"a": "X", "b": "Y", "label": 2, "type": "T"}', "line 1: label is not"),
            (b'{"a": "X", "b": "Y", "type": "T"}', "line 1: label is not"),
            (b'{"a": 1, "b": "Y", "label": 1}', "line 1: a is missing or no name"),
            (b'{"a": "\\ud800", "b": "Y", "label": 1}', "line 1: a is longer"),
            (b'{"a": "X", "b": "Y", "label": 1, "type": "\x1b[2J"}', "line 1: is not JSON"),
            (b'{"a": "X", "b": "Y", "label": 1, "type": "a b"}', "line 1: 'a b' is no type"),
            (b"{}\n[1]", "line 1: a is missing"),
            (b"[1]", "line 1: is not a JSON object"),
            (b"{", "line 1: is not JSON"),
            (b"[" * 100_000, "line 1: is not JSON"),
            (b"a,label\nX,1\n", "line 1: the header names no b"),
            (b"a,b,type,label\nX,Y,T\n", "line 2: label is not"),
            (b'a,b,label,type\nX,Y,1,T\n"X,Y,1,T', "line 2 is not CSV"),
            (b"a,b,label\nX,Y,1\n\xff", "line 3 is not UTF-8"),
        ],
    )
    def test_a_bad_line_is_named(self, data: bytes, problem: str) -> None:
        """On one line, with the file, the number and what to do."""
        with pytest.raises(RefusedError) as caught:
            list(read_labels(data, "f"))
        assert problem in str(caught.value)
        one_line_error(caught.value)


class TestUpper:
    """The upper cutoff."""

    def test_it_is_the_lowest_cut_that_keeps_the_policy(self) -> None:
        """A cut that adds false merges beyond the policy is not taken."""
        one = measured("Person", scored({
            "1": (400, 0), "9/10": (300, 1), "3/5": (50, 40), "0": (900, 3000),
        }), OURS, Policy())  # fmt: skip
        assert one.cutoffs.upper == Fraction(9, 10)
        assert one.evidence.bounded.false + one.evidence.chosen.false == 1
        assert float(one.cutoffs.bound) >= upper_bound(
            one.evidence.bounded.false, one.evidence.bounded.different
        )

    def test_sure_pairs_do_not_pay_for_guesses(self) -> None:
        """Pooled, 3/5 is precise enough; what it adds is a coin's toss."""
        counts = {"1": (3000, 0), "3/5": (10, 10), "0": (900, 8000)}
        pooled = tally(scored(counts), Fraction(3, 5))
        assert pooled.keeps(Policy())
        assert measured("Person", scored(counts), OURS, Policy()).cutoffs.upper == 1

    def test_a_few_pairs_show_nothing_unless_a_rule_brings_them(self) -> None:
        """Ten clean pairs are believed at 19/20, which is a rule's score, and not at 6/7."""
        for cut, upper in (("19/20", Fraction(19, 20)), ("6/7", Fraction(1))):
            one = measured(
                "Person", scored({"1": (300, 0), cut: (10, 0), "0": (0, 3000)}), OURS, Policy()
            )
            assert one.cutoffs.upper == upper

    @pytest.mark.parametrize("half", [0, 1])
    def test_both_halves_have_to_keep_it(self, half: int) -> None:
        """False merges of one half alone turn a cut off, whichever half it is."""
        clean = scored({"1": (300, 0), "0": (0, 3000)})
        number = itertools.count()
        wrong = (pair_of("Person", f"c{n}", f"d{n}", same=False) for n in number)
        bad = itertools.islice((p for p in wrong if p.half == half), 3)
        one = measured(
            "Person", (*clean, *(Scored(p, Fraction(1), seen=True) for p in bad)), OURS, Policy()
        )
        assert one.cutoffs.upper is None
        assert "on both halves: at 1, 3 of" in one.cutoffs.because

    def test_too_few_labels_are_said_and_match_nothing(self) -> None:
        """With how many different pairs more it takes; with so many it does bound."""
        (few,) = measure(labels_of(many(50, 400)), OURS, Policy(), "2026-12-01")
        assert few.cutoffs.upper is None
        assert few.cutoffs.bound == ""
        assert f"about {few.needed} more different pairs are needed" in few.cutoffs.because
        (enough,) = measure(labels_of(many(50, 400 + few.needed + 100)), OURS, Policy(), "")
        assert enough.cutoffs.upper == 1

    def test_it_lies_above_what_must_not_match(self) -> None:
        """However clean the labels, names whose numbers differ never match."""
        counts = {"1/2": (5000, 0), "0": (0, 5000)}
        assert measured("Person", scored(counts), OURS, Policy()).cutoffs.upper is None
        assert measured("Person", scored(counts), SEED, Policy()).cutoffs.upper == Fraction(1, 2)

    @given(
        st.dictionaries(
            st.fractions(0, 1, max_denominator=20).map(str),
            st.tuples(st.integers(0, 300), st.integers(0, 300)),
            max_size=8,
        ),
        st.sampled_from([Policy(), ZERO, ZERO._replace(accept_bound=True)]),
    )
    def test_whatever_the_labels_the_cutoffs_keep_their_word(
        self, counts: dict[str, tuple[int, int]], policy: Policy
    ) -> None:
        """An upper cutoff keeps the policy on both halves, else it is off with a reason."""
        one = measured("Person", scored(counts), OURS, policy)
        cutoffs = one.cutoffs
        assert 0 < cutoffs.lower <= (cutoffs.upper or 1)
        if cutoffs.upper is None:
            assert cutoffs.because
        elif policy.name == "measured":
            assert one.evidence.chosen.keeps(policy)
            assert one.evidence.bounded.keeps(policy)
            assert one.whole.true == one.evidence.chosen.true + one.evidence.bounded.true
        else:
            assert not one.whole.false
        assert parse_resolver(dump_resolver({"Person": cutoffs})) == {"Person": cutoffs}

    def test_the_sweep_counts_what_a_look_counts(self) -> None:
        """At each cut the same as looking at every pair."""
        found = scored({"1": (3, 1), "1/2": (2, 2), "0": (1, 4)})
        for step in sweep(found):
            assert step.whole == tally(found, step.at)


class TestLower:
    """The lower cutoff."""

    def test_it_loses_no_more_than_is_allowed(self) -> None:
        """Of the true pairs that share a token; those that share none are counted beside."""
        seen = scored({"1": (90, 0), "1/2": (6, 0), "1/3": (4, 0)})
        unseen = scored({"0": (500, 0)}, seen=False)
        one = measured("Person", (*seen, *unseen), OURS, Policy())
        assert one.cutoffs.lower == Fraction(1, 2)
        assert one.evidence.split == Split(lost=4, of=100, unseen=500)
        assert not one.split_over

    def test_where_no_cut_loses_so_few_it_says_so(self) -> None:
        """Pairs that share a token and score 0 are lost at any cut; the least one is taken."""
        one = measured("Person", scored({"1": (10, 0), "1/4": (5, 0), "0": (9, 0)}), OURS, Policy())
        assert one.cutoffs.lower == Fraction(1, 4)
        assert one.evidence.split == Split(lost=9, of=24, unseen=0)
        assert one.split_over

    def test_review_is_what_lies_between(self) -> None:
        """Of all labelled pairs, those at or above the lower and below the upper cutoff."""
        one = measured(
            "Person", scored({"1": (300, 0), "1/2": (30, 20), "0": (0, 1500)}), OURS, Policy()
        )
        assert (one.cutoffs.upper, one.cutoffs.lower) == (Fraction(1), Fraction(1, 2))
        assert (one.evidence.review, one.evidence.pairs) == (50, 1850)

    def test_judgements_move_the_lower_cutoff_alone(self) -> None:
        """Once there are enough of them; fewer leave it where it is."""
        now = in_force(shipped(), "Person")
        few = lowered(many(10, 3), now, Policy())
        assert (few.at, few.needed) == (now.lower, 49)
        enough = lowered(many(59, 3), now, Policy())
        assert (enough.at, enough.needed) == (now.upper, 0)


class TestZeroErrors:
    """The article's two cuts."""

    @pytest.fixture
    def one(self) -> Measurement:
        """The eight pairs of README, measured."""
        (found,) = measure(labels_of(pairs(EIGHT)), SEED, ZERO, "2026-12-01")
        return found

    def test_both_rows_at_one_half_go_to_review(self, one: Measurement) -> None:
        """No single cut gets both right; with two cuts a person sees both."""
        assert (one.upper, one.cutoffs.lower) == (Fraction(2, 3), Fraction(1, 2))
        rows = [s for s in one.scored if s.pair.a == "Acme Corp"]
        assert [s.score for s in rows] == [Fraction(1, 2)] * 2
        assert {s.pair.same for s in rows} == {True, False}
        assert [one.cutoffs.band(s.score) for s in rows] == ["review", "review"]

    def test_the_circulating_rule_splits_true_pairs(self, one: Measurement) -> None:
        """At 0.85 and below a pair is two things: three of the four true pairs."""
        below = [s for s in one.scored if s.pair.same and s.score < Fraction(85, 100)]
        assert len(below) == 3

    def test_none_of_four_bounds_nothing(self, one: Measurement) -> None:
        """The bound is printed, 0.53, and the cut is not in force."""
        assert one.cutoffs.upper is None
        assert one.cutoffs.bound == "0.5272"
        assert "bound the rate at 0.53 only" in one.cutoffs.because

    def test_a_bound_can_be_accepted(self) -> None:
        """Which is recorded, and the cut in force."""
        (one,) = measure(labels_of(pairs(EIGHT)), SEED, ZERO._replace(accept_bound=True), "")
        assert one.cutoffs.upper == Fraction(2, 3)
        assert '"accept_bound": true' in dump_resolver({"Organization": one.cutoffs}).decode()


counts = st.integers(0, 10**6)
tallies = st.builds(Tally, counts, counts, counts, counts)
shares = st.integers(0, 10**6).map(lambda n: Fraction(n, 10**6))
cuts = st.fractions(Fraction(51, 100), 1, max_denominator=400)
evidences = st.builds(
    Evidence,
    policy=st.builds(
        Policy, st.sampled_from(["measured", "zero-errors"]), shares, shares, shares, st.booleans()
    ),
    chosen=tallies, bounded=tallies, split=st.builds(Split, counts, counts, counts),
    review=counts, proposed=st.none() | cuts,
)  # fmt: skip
all_cutoffs = st.builds(
    Cutoffs,
    scorer=st.sampled_from([*SCORERS, "token-set-jaccard/3"]),
    upper=st.none() | cuts,
    lower=st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=400),
    bound=st.sampled_from(["", "0.0012", "1", "0"]),
    because=st.sampled_from(["", "too few labels: more are needed", "ä"]),
    labels=st.sampled_from(["", "0123456789ab"]),
    measured=st.sampled_from(["", "2026-12-01"]),
    evidence=st.none() | evidences,
    lower_labels=st.sampled_from(["", "ba9876543210"]),
)


class TestFile:
    """resolver.json."""

    @given(st.dictionaries(st.sampled_from(["Person", "Object", "Concept"]), all_cutoffs))
    def test_cutoffs_survive_their_bytes(self, found: dict[str, Cutoffs]) -> None:
        """Reading what was written gives the cutoffs back, and writing that the same bytes."""
        data = dump_resolver(found)
        assert parse_resolver(data) == found
        assert dump_resolver(parse_resolver(data)) == data

    def test_the_shipped_file_is_canonical_and_holds_its_word(self) -> None:
        """Its bounds follow from its counts, and each upper cutoff keeps the policy."""
        assert dump_resolver(shipped()) == shipped_bytes()
        assert set(shipped()) == {"Person", "Object", "Location", "Organization"}
        for cutoffs in shipped().values():
            found = cutoffs.evidence
            assert found is not None
            assert found.chosen.keeps(found.policy)
            assert found.bounded.keeps(found.policy)
            assert cutoffs.bound == rounded_up(found.bounded.bound)

    @pytest.mark.parametrize(
        "edit",
        [
            {"upper": "0.9"}, {"upper": "1/2"}, {"upper": "2"}, {"lower": "0"}, {"lower": "1"},
            {"upper": None}, {"scorer": "x"}, {"scorer": 3}, {"bound": 0}, {"bound": "2"},
            {"labels": "zz"}, {"extra": 1}, {"policy": {"name": "measured"}}, {"chosen": {}},
            {"because": "a\nb"}, {"lower": "1/0"}, {"split": {"lost": -1, "of": 1, "unseen": 0}},
        ],
    )  # fmt: skip
    def test_what_breaks_the_format_is_named(self, edit: dict[str, object]) -> None:
        """On one line, with the place."""
        raw = json.loads(shipped_bytes())
        raw["types"]["Person"].update(edit)
        with pytest.raises(FormatError) as caught:
            parse_resolver(json.dumps(raw).encode())
        one_line_error(caught.value)
        assert "/types/Person" in str(caught.value)

    def test_a_newer_file_matches_nothing_and_is_not_overwritten(self) -> None:
        """What it says is not known, so a person decides."""
        data = b'{"kg_resolver": 2, "types": []}'
        assert parse_resolver(data) == {}
        assert in_force(parse_resolver(data), "Person").upper is None
        with pytest.raises(FormatVersionError):
            check_version(data)

    def test_cutoffs_of_another_version_are_refused(self) -> None:
        """A scorer that this kg has not sends everything to review."""
        raw = json.loads(shipped_bytes())
        raw["types"]["Person"]["scorer"] = "token-set-jaccard/9"
        found = in_force(cutoffs_of(json.dumps(raw).encode()), "Person")
        assert found.band(Fraction(1)) == "review"
        assert "measure again" in found.because

    @given(shares)
    def test_shares_are_exact(self, share: Fraction) -> None:
        """What a policy says comes back as it was said."""
        assert Fraction(decimal(share)) == share


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A store."""
    return store(tmp_path / "memory")


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """The commands, run in the current folder, below which the store is."""
    return Kg(capsys)


class TestStore:
    """Cutoffs in a store."""

    def test_a_new_store_has_the_shipped_numbers(self, graph: Graph) -> None:
        """As a file; and goes by the same where the file is gone."""
        assert graph.at().read("resolver.json") == shipped_bytes()
        assert fsck(graph) == []
        put(graph, "resolver.json", None)
        assert in_store(graph) == shipped()
        assert fsck(graph) == []

    def test_measuring_is_one_commit(self, graph: Graph, kg: Kg, tmp_path: Path) -> None:
        """Of the types measured; the others keep theirs; again it changes nothing."""
        file = lines(many(60, 1500), tmp_path)
        before = graph.at().commit
        said = kg("measure", file, "--keep", "people", "--json").json("measure")
        assert said["commit"] == graph.at().commit
        assert git(tmp_path / "memory", "rev-list", "--count", f"{before}..HEAD").strip() == "1"
        assert "Op: measure" in git(tmp_path / "memory", "log", "-1", "--format=%B")
        found = in_store(graph)
        assert found["Object"] == shipped()["Object"]
        assert (found["Person"].upper, found["Person"].labels) == (Fraction(1), said["labels"])
        assert len(stored_labels(graph)) == 1560
        assert [f for f in fsck(graph) if f.level == "fault"] == []
        again = kg("measure", "--keep", "people")
        assert again.code == 0
        assert "says so already" in again.out
        assert graph.at().commit == said["commit"]

    def test_a_dry_run_writes_nothing(self, graph: Graph, kg: Kg, tmp_path: Path) -> None:
        """It prints, and says that nothing was written."""
        before = graph.at().commit
        ran = kg("measure", lines(pairs(EIGHT), tmp_path), "--dry-run")
        assert (ran.code, graph.at().commit) == (0, before)
        assert "nothing is written: --dry-run" in ran.err

    def test_recall_does_not_notice(self, graph: Graph, kg: Kg, tmp_path: Path) -> None:
        """A commit of cutoffs and labels is no change to the index, and no fault of its."""
        graph.remember([{"text": "Ada is here.\n", "run": "r1", "agent": "a",
                         "entities": [{"ref": "a", "type": "Person", "name": "Ada"}]}])  # fmt: skip
        graph.index()
        assert kg("measure", lines(pairs(EIGHT), tmp_path), "--keep", "eight").code == 0
        index = Index.fresh(graph.place)
        assert index.tree == graph.at().tree
        assert index.ids_named("person", "ada") == ["person/ada"]
        assert [f for f in fsck(graph) if f.level == "fault"] == []

    def test_hand_edits_are_checked(self, graph: Graph, kg: Kg) -> None:
        """A changed resolver.json is a draft; kg commit takes it if it is valid, canonical."""
        file = Path(graph.place.folder, "resolver.json")
        raw = json.loads(file.read_text())
        raw["types"]["Person"]["upper"] = "off"
        file.write_text(json.dumps(raw))
        assert "resolver.json" in kg("status").out
        assert kg("commit").code == 0
        assert file.read_bytes() == dump_resolver(in_store(graph))
        assert in_store(graph)["Person"].upper is None
        file.write_text('{"kg_resolver": 1, "types": {"Person": {}}}')
        assert kg("commit").code == 3

    def test_fsck_names_a_bad_file(self, graph: Graph) -> None:
        """A broken resolver.json or set of labels is a fault with its path."""
        for path in ("resolver.json", "labels/x.jsonl"):
            put(graph, path, b'{"a": 1}\n')
            assert path in [f.path for f in fsck(graph) if f.level == "fault"]

    def test_judgements_of_people_are_labels(self, graph: Graph, kg: Kg) -> None:
        """What a person's standing word says, of either file; suggestions are not counted."""
        judged(graph, "ada", "ada-l", ("person:me", "same", "r5"), ("agent:x", "different", "r9"))
        judged(graph, "bob", "bob-2", ("person:me", "same", "r5"), ("person:me", "different", "r6"))
        judged(graph, "cy", "cy-2", ("agent:x", "same", "r5"), ("resolver", "same", "r5"))
        judged(graph, "di", "di-2", ("person:me", "unsure", "r5"))
        assert [(p.a, p.b, p.same) for p in labels_from_judgements(graph)] == [
            ("ada", "ada-l", True), ("bob", "bob-2", False),
        ]  # fmt: skip
        said = kg("measure", "--from-judgements", "--json").json("measure")
        assert said["judged"][0]["needed"] == 58
        before = graph.at().commit
        assert "stays" in kg("measure", "--from-judgements", "--write").out
        assert graph.at().commit == before

    def test_enough_judgements_move_the_lower_cutoff(self, graph: Graph, kg: Kg) -> None:
        """Only when told to write, and the upper one stays."""
        for n in range(59):
            judged(graph, f"ann q{n}x", f"ann q{n}x too", ("person:me", "same", "r5"))
        before = in_store(graph)["Person"]
        assert "lower 1/3 -> 2/3" in kg.ok("measure", "--from-judgements")
        assert in_store(graph)["Person"] == before
        kg.ok("measure", "--from-judgements", "--write")
        after = in_store(graph)["Person"]
        assert (after.lower, after.upper) == (Fraction(2, 3), before.upper)
        assert re.fullmatch("[0-9a-f]{12}", after.lower_labels)


def put(graph: Graph, path: str, data: bytes | None) -> None:
    """Commit a file as it is, or its removal."""

    def edit(draft: Draft) -> str:
        draft.put_file(path, data)
        return f"Put {path}"

    graph.change(edit, op="edit")


def judged(graph: Graph, one: str, other: str, *said: tuple[str, str, str]) -> None:
    """Put two people and what was said of them."""
    src = "raw/r5-me.00000000.txt#L1"

    def edit(draft: Draft) -> str:
        ids = sorted(f"person/{name.replace(' ', '-')}" for name in (one, other))
        for id_, name in zip(ids, sorted((one, other)), strict=True):
            draft.put(Entity(id=id_, type="Person", name=name, first_run="r5", last_seen_run="r5"))
        draft.put_edge(Edge(
            subject=ids[0], predicate="same-as", object=ids[1],
            judgements=tuple(Judgement(by=by, verdict=v, run=run, src=src) for by, v, run in said),
        ))  # fmt: skip
        return "Judge"

    graph.change(edit, op="judge")


class TestCommand:
    """The command line."""

    def test_outside_a_store_it_prints(self, kg: Kg, tmp_path: Path) -> None:
        """And says that nothing was written; --keep needs a store."""
        file = lines(pairs(EIGHT), tmp_path)
        ran = kg("measure", file)
        assert ran.code == 0
        assert "there is no store to write to" in ran.err
        assert kg("measure", file, "--keep", "x").code == 3
        assert kg("measure").code == 3

    def test_types_are_the_stores(self, graph: Graph, kg: Kg, tmp_path: Path) -> None:
        """By name or prefix in any case; one that is none is refused, and nothing written."""
        file = lines(pairs(EIGHT, "org"), tmp_path)
        assert kg("measure", file, "--json").json("measure")["types"][0]["type"] == "Organization"
        before = graph.at().commit
        assert kg("measure", lines(pairs(EIGHT, "Persn"), tmp_path)).code == 3
        assert graph.at().commit == before

    def test_a_hand_written_store_is_not_written(self, kg: Kg, tmp_path: Path) -> None:
        """Measuring works there, and says that nothing was written."""
        Path("entities/person").mkdir(parents=True)
        Path("entities/person/ada.json").write_text('{"id": "person/ada"}')
        ran = kg("measure", lines(pairs(EIGHT), tmp_path), "--json", "--rule", "0.95/0.85")
        assert ran.code == 0
        assert ran.json("measure")["types"][0]["rule"]["split"] == 2
        assert not Path("resolver.json").exists()

    def test_it_is_for_eighty_columns(self, kg: Kg, tmp_path: Path) -> None:
        """Tables, bars and sentences fit, and both cutoffs are marked."""
        at = ("--policy", "zero-errors", "--scorer", "token-set-jaccard/1", "--rule", "0.95/0.85")
        out = kg.ok("measure", lines(pairs(EIGHT), tmp_path), *at)
        assert max(map(len, out.splitlines())) <= 80
        assert re.search(r"^upper +2/3 ", out, re.MULTILINE)
        assert re.search(r"^lower +1/2 ", out, re.MULTILINE)
        assert "- upper 2/3 (not in force) ---" in out
        assert "3 same pairs are split" in " ".join(out.split())

    @pytest.mark.parametrize(
        "args",
        [
            ("--accept-bound",), ("--write",), ("--max-split", "2"), ("--max-split", "x"),
            ("--min-precision", "0.1234567"), ("--rule", "0.85/0.95"), ("--rule", "1"),
            ("--policy", "none"),
        ],
    )  # fmt: skip
    def test_usage(self, kg: Kg, tmp_path: Path, args: tuple[str, ...]) -> None:
        """What makes no sense is refused before anything is read."""
        ran = kg("measure", lines(pairs(EIGHT), tmp_path), *args)
        assert ran.code == 2
        assert ran.err.count("\n") == 1

    def test_the_page_needs_nothing_else(self, kg: Kg, tmp_path: Path) -> None:
        """One file: no script, no address, text escaped, drawings and tables closed."""
        evil = [*EIGHT, ("<script>alert(1)</script>", "\u202e& co", 1)]
        kg.ok("measure", lines(pairs(evil), tmp_path), "--report", str(tmp_path / "r.html"))
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert "<script" not in text
        assert "\u202e" not in text
        assert not re.search(r"(src|href)=|url\(|@import|https?:", text)
        closed = Closed()
        closed.feed(text)
        assert closed.open == []
        assert {"svg", "table", "caption"} <= closed.seen

    def test_the_page_shows_the_pairs_nearest_to_a_cutoff(self) -> None:
        """Both rows at one half stand there, with what becomes of the labelled pairs."""
        found = measure(labels_of(pairs(EIGHT)), SEED, ZERO, "2026-12-01")
        text = page("0123456789ab", found)
        assert "Nearest to upper 2/3" in text
        assert "Nearest to lower 1/2" in text
        assert "Acme Logistics Ltd" in text
        assert "What becomes of the labelled pairs" in text
        assert text == page("0123456789ab", found)


class Closed(HTMLParser):
    """Whether every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Note an element."""
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Note an element that closes itself."""
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        assert self.open.pop() == tag
