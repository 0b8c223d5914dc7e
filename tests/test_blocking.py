"""Blocking: no pair that reaches a cutoff is missed, whatever the names, and typos are found."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import names as any_name

from kg.resolve.blocking import TABLES, Alike, Names
from kg.resolve.scorers import SCORERS, Scorer

# Few words, so that names collide in every way that the scorers know.
_WORDS = [
    "acme", "Acme", "corp", "Corporation", "Ltd", "the", "python3", "py", "python", "api",
    "v1", "v2", "IX", "VIII", "9", "müller", "Mueller", "Muller", "Jean", "Luc", "jlmuller",
    "A", "B.", "&", "-", "_", "AcmeApi", "日本", "(old)", "bin", "pyapi", "1.2", "12",
]  # fmt: skip
_NAMES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from([" ", "-", "", "."]).map(lambda joint: joint.join(words))
)
TYPES = ["Person", "Organization", "Object", "Location", "Event"]


def names_in_memory(scorer: Scorer) -> Names:
    """Return an empty index of names."""
    con = sqlite3.connect(":memory:", isolation_level=None)
    con.executescript(TABLES)
    return Names(con, lambda _type: scorer)


def by_brute_force(
    scorer: Scorer, type_name: str, names: dict[str, list[str]], asked: str, cut: Fraction
) -> list[tuple[str, Fraction]]:
    """Return what compares every name with every other."""
    best = {
        ent: max(scorer.score(asked, name, type_name) for name in own) for ent, own in names.items()
    }
    found = [(ent, score) for ent, score in best.items() if score >= cut]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS.keys())
@given(
    st.sampled_from(TYPES),
    st.lists(st.lists(_NAMES | any_name, min_size=1, max_size=2), min_size=1, max_size=12),
    _NAMES,
    st.fractions(min_value=Fraction(1, 20), max_value=1, max_denominator=20),
)
def test_nothing_that_reaches_the_cutoff_is_missed(
    scorer: Scorer, type_name: str, groups: list[list[str]], asked: str, cut: Fraction
) -> None:
    """The index gives exactly the pairs that comparing all with all gives, best first."""
    names = {f"e{n:02}": group for n, group in enumerate(groups)}
    index = names_in_memory(scorer)
    for ent, own in names.items():
        index.add(ent, type_name, own)
        index.add(f"other-{ent}", "Event" if type_name != "Event" else "Person", own)
    found = [(one.ent, one.score) for one in index.alike(type_name, asked, cut)]
    assert found == by_brute_force(scorer, type_name, names, asked, cut)
    best = index.alike(type_name, asked, cut, 3)
    assert [one.score for one in best] == [score for _, score in found[:3]]


@given(st.lists(st.lists(_NAMES, min_size=1, max_size=3), min_size=2, max_size=8), st.data())
def test_what_was_removed_leaves_no_trace(groups: list[list[str]], data: st.DataObject) -> None:
    """Adding and removing in any order ends in the tables that adding the rest makes."""
    scorer = SCORERS["token-set-jaccard/2"]
    index, fresh = names_in_memory(scorer), names_in_memory(scorer)
    gone = data.draw(st.sets(st.sampled_from(range(len(groups)))))
    for n, own in enumerate(groups):
        index.add(f"e{n}", "Object", own)
    for n in sorted(gone):
        index.remove(f"e{n}")
    for n, own in enumerate(groups):
        if n not in gone:
            fresh.add(f"e{n}", "Object", own)
    for own in groups:
        asked = [i.alike("Object", own[0], Fraction(1, 10)) for i in (index, fresh)]
        assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("kubernetes", "kubernets"), ("postgresql", "postgersql"), ("openshift", "openshfit"),
        ("prometheus", "prometeus"), ("terraform", "terrafrom"), ("elasticsearch", "elasticsaerch"),
    ],
)  # fmt: skip
def test_a_slip_of_the_pen_is_found(name: str, other: str) -> None:
    """One letter more, less, other or swapped is found, though no word is shared."""
    index = names_in_memory(SCORERS["token-set-jaccard/2"])
    index.add("e1", "Object", [other, "quite another"])
    index.add("e2", "Object", ["unrelated-thing"])
    assert index.misspelt("Object", name) == [("e1", other)]
    assert index.alike("Object", name, Fraction(1, 10)) == []


@pytest.mark.parametrize(
    ("name", "other"), [("host-17", "host-18"), ("python2", "python3"), ("abc", "abd")]
)
def test_numbers_and_short_names_are_no_slips(name: str, other: str) -> None:
    """Another number is another thing, and short names are all one letter apart."""
    index = names_in_memory(SCORERS["token-set-jaccard/2"])
    index.add("e1", "Object", [other])
    assert index.misspelt("Object", name) == []


def test_only_what_came_before_is_asked_for() -> None:
    """A name can be compared with those born before it alone."""
    index = names_in_memory(SCORERS["token-set-jaccard/2"])
    for born, ent in enumerate(("a", "b", "c")):
        index.add(ent, "Object", [f"payments {ent}x"], str(born))
    found = index.alike("Object", "payments", Fraction(1, 3), before="2")
    assert found == [
        Alike("a", "payments ax", Fraction(1, 2)), Alike("b", "payments bx", Fraction(1, 2)),
    ]  # fmt: skip
