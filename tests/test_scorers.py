"""Scorers: exact, symmetric, and never sure of what only a number or a character tells apart."""

from __future__ import annotations

import random
from fractions import Fraction
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import any_text, names

from kg.errors import RefusedError
from kg.format.resolver import shipped
from kg.ontology import shipped as ontology
from kg.resolve.scorers import SCORERS, scorer

SEED, OURS = SCORERS["token-set-jaccard/1"], SCORERS["token-set-jaccard/2"]
TYPES = sorted(ontology().types)
type_names = st.sampled_from(TYPES)
alphabet = st.sampled_from(
    ["Acme", "acme", "corp", "1", "2", "v2", "iv", "北京", "ü", "-", " ", "++"]
)
built = st.lists(alphabet, max_size=6).map(" ".join)


@given(any_text | names | built, any_text | names | built, type_names)
@example("İ", "i̇", "Person")
@example("#++", "C#", "Object")
def test_a_score_is_a_share_and_has_no_direction(one: str, other: str, type_: str) -> None:
    """For any text at all, of any type: exact, from 0 to 1, the same both ways."""
    for each in SCORERS.values():
        score = each.score(one, other, type_)
        assert isinstance(score, Fraction)
        assert 0 <= score <= 1
        assert score == each.score(other, one, type_)


@given(names, type_names)
def test_a_name_is_itself(name: str, type_: str) -> None:
    """A name with anything in it to compare scores 1 with itself, in either Unicode form."""
    twin = normalize("NFD", name)
    assert OURS.score(name, name, type_) in (0, 1)
    assert OURS.score(name, twin, type_) == OURS.score(name, name, type_)


def test_the_articles_two_rows_cannot_be_told_apart() -> None:
    """Both pairs score exactly one half under the seed's scorer, whatever the type."""
    for type_ in TYPES:
        assert SEED.score("Acme Corp", "Acme Corporation", type_) == Fraction(1, 2)
        assert SEED.score("Acme Corp", "Acme Logistics Ltd", type_) == Fraction(1, 2)


def test_the_legal_words_tell_them_apart() -> None:
    """Ours knows that Corp is Corporation, and what is left of the other is half."""
    assert OURS.score("Acme Corp", "Acme Corporation", "Organization") == 1
    assert OURS.score("Acme Corp", "Acme Logistics Ltd", "Organization") == Fraction(1, 2)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("boto", "boto3"), ("Fund IX", "Fund VIII"), ("v1", "v2"), ("lib v1", "lib v2"),
        ("ASR1603", "ASR1605"), ("cranel", "cranelr"), ("Merged PR #260", "Merged PR #480"),
        ("payments-api", "payments-api-v2"), ("api-1", "api-2"), ("api-1:8080", "api-2:8081"),
        ("lib-1.0", "lib-10"), ("Windows 10", "Windows 11"), ("C", "C++"), ("C#", "C++"),
        ("日本電気", "東京電力"), ("李明", "黎明"), ("北京", "背景"), ("Baden-Baden", "Baden"),
        ("", ""), ("!!!", "!!!"), ("", "x"), ("The Co", "The Inc"),
    ],
)  # fmt: skip
def test_what_is_never_a_match(one: str, other: str, type_: str) -> None:
    """Not at any upper cutoff that is allowed: it has to lie above the scorer's ceiling."""
    assert OURS.score(one, other, type_) <= OURS.ceiling


@pytest.mark.parametrize(
    ("one", "other", "type_", "score"),
    [
        ("Müller GmbH", "Muller GmbH", "Organization", "1"),
        ("Müller GmbH", "Mueller GmbH", "Organization", "1"),
        ("日本電気", "日本電気", "Organization", "1"),
        ("HunterDouglas", "Hunter Douglas", "Organization", "19/20"),
        ("L.L.C. Foods", "LLC Foods", "Organization", "1"),
        ("alexchen", "Alex Chen", "Person", "19/20"),
        ("jlherren", "Jan Luca Herren", "Person", "9/10"),
        ("Kim J. Smith", "Kim Smith", "Person", "9/10"),
        ("python3-foo-bar", "py_foo_bar", "Object", "9/10"),
        ("payments api", "paymentsApi", "Object", "1"),
        ("fzf/fzf", "fzf", "Location", "17/20"),
        ("The Co", "The Co", "Organization", "1"),
        ("The Co", "Co", "Organization", "1/2"),
    ],
)
def test_what_the_rules_are_worth(one: str, other: str, type_: str, score: str) -> None:
    """Transliteration, separators, handles, initials, ecosystems; mere wording compares as words.

    A name of nothing but legal words keeps them: it must be called something.
    """
    assert OURS.score(one, other, type_) == Fraction(score)


def test_two_readings_of_an_umlaut_are_both_right() -> None:
    """Müller is Muller and Mueller, and Mueller is not Muller."""
    assert OURS.score("Mueller GmbH", "Muller GmbH", "Organization") < 1


def test_no_shipped_cutoff_lets_the_ceiling_match() -> None:
    """What numbers tell apart is never matched by the numbers that kg ships."""
    for cutoffs in shipped().values():
        assert cutoffs.upper is None or cutoffs.upper > scorer(cutoffs.scorer).ceiling


def test_a_score_does_not_depend_on_what_was_scored_before() -> None:
    """Pure: in any order, with a cold or a warm cache, the same."""
    pairs = [("Jan Herren", "jherren"), ("api-1", "api-2"), ("A B", "B A"), ("Ä", "A")]
    first = {pair: OURS.score(*pair, "Person") for pair in pairs}
    random.Random(3).shuffle(pairs)
    OURS.read.cache_clear()  # type: ignore[attr-defined]
    assert {pair: OURS.score(*pair, "Person") for pair in pairs} == first


def test_an_unknown_scorer_names_the_known() -> None:
    """The error ends in what to do."""
    with pytest.raises(RefusedError, match="token-set-jaccard/1, token-set-jaccard/2"):
        scorer("jaro")
