"""The rules by which a word becomes a term: counts in, a decision out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg.graph.meant import (
    ENOUGH,
    KEPT,
    LASTS,
    LONGEST,
    MOST,
    Count,
    Occurrence,
    asking,
    base,
    common,
    counted,
    occurrence,
    state,
    unfit,
)
from kg.ontology import shipped
from kg.recall.standing import Standing

DAY = 24 * 3600
TELLINGS = st.lists(
    st.tuples(
        st.integers(0, 12 * DAY),  # since the one before
        st.sampled_from(["r1", "r2", "r3"]),
        st.sampled_from(["a", "b"]),
        st.sets(st.sampled_from(["kaas", "x", "y", "z"]), min_size=1),
    ),
    max_size=30,
)
NOWHERE = Standing(entities=1000)


def _told(tellings: list[tuple[int, str, str, set[str]]]) -> tuple[Count | None, int]:
    """Return what a row of tellings comes to, and when the last of them was."""
    count, now = None, 0
    for since, run, agent, words in tellings:
        now += since
        count = counted(count, "object/x", "kaas", occurrence(run, agent, "q", words), now)
    return count, now


@given(TELLINGS)
def test_a_bounded_count_decides_as_the_whole_history_would(
    tellings: list[tuple[int, str, str, set[str]]],
) -> None:
    """Confirmed is: three distinct occurrences, and later another run or agent; no gap of 30 days.

    The rule is said again here on the list of all tellings, of which the count keeps a few.
    """
    history: list[tuple[str, str, str]] = []
    for since, run, agent, words in tellings:
        if since >= LASTS:
            history.clear()
        one = (run, agent, " ".join(sorted(words)))
        if one not in history:
            history.append(one)
    makers = {one[:2] for one in history[:ENOUGH]}
    agreed = any(one[:2] not in makers for one in history[ENOUGH:])
    wanted = "counted" if len(history) < ENOUGH else "confirmed" if agreed else "pending"
    count, now = _told(tellings)
    assert count is None or (state(count, (), 0), count.last) == (wanted, now)
    assert count is None or len(count.told) <= KEPT


@given(TELLINGS)
def test_nobody_confirms_their_own_guess(
    tellings: list[tuple[int, str, str, set[str]]],
) -> None:
    """Whatever one run of one agent tells, as often as it likes, is never confirmed."""
    alone = [(since, "r1", "a", words) for since, _, _, words in tellings]
    count, _ = _told(alone)
    assert count is None or state(count, (), 0) in ("counted", "pending")


@given(TELLINGS, st.integers(0, 5))
def test_repeating_changes_nothing(tellings: list[tuple[int, str, str, set[str]]], at: int) -> None:
    """The same query in the same run counts once, however its words are ordered."""
    count, now = _told(tellings)
    if count is not None:
        one = count.told[at % len(count.told)]
        again = counted(count, count.id, count.word, one._replace(query="in other words"), now)
        assert again == count


def test_thirty_days_after_its_last_occurrence_a_count_is_gone() -> None:
    """A second before, it goes on; then it begins at one; a clock set back drops nothing."""
    count, now = _told([(0, "r1", "a", {"kaas"}), (DAY, "r2", "a", {"kaas"})])
    assert count is not None
    one = Occurrence("r3", "a", "q", "kaas")
    assert len(counted(count, count.id, count.word, one, now + LASTS - 1).told) == 3
    assert counted(count, count.id, count.word, one, now + LASTS).told == (one,)
    assert not count.lapsed(now + LASTS - 1)
    assert count.lapsed(now + LASTS)
    assert counted(count, count.id, count.word, one, 0).last == now


@given(TELLINGS)
def test_an_ambiguous_word_and_a_full_entity_get_nothing(
    tellings: list[tuple[int, str, str, set[str]]],
) -> None:
    """Told for another entity as well, or where there are enough terms, no word is confirmed."""
    count, _ = _told(tellings)
    if count is not None:
        assert state(count, ("object/y",), 0) == "ambiguous"
        assert state(count, (), MOST) in ("counted", "pending", "full")


def test_what_is_never_counted() -> None:
    """Each guard, by itself, keeps a word out, and says why."""
    asked = asking(shipped())
    for found, why in (
        (Standing(here=True), "found there already"),
        (Standing(named="object/y"), "in a name of object/y"),
        (Standing(term_of="object/y"), "kg retract object/y term kaas"),
        (Standing(others=11, entities=100_000), "common"),
        (Standing(others=2, entities=10), "common"),
    ):
        assert why in unfit("kaas", found, (), asked)
    assert "retracted" in unfit("kaas", NOWHERE, ("kaas",), asked)
    for word in ("2", "x", "k" * (LONGEST + 1)):
        assert "no word" in unfit(word, NOWHERE, (), asked)
    for word in ("owns", "owner", "owned", "depends", "called", "find", "object", "uses", "down"):
        assert "asks" in unfit(word, NOWHERE, (), asked)
    assert unfit("kaas", Standing(others=10, entities=100_000), (), asked) == ""


@given(st.integers(0, 10**6))
def test_common_is_a_small_share(entities: int) -> None:
    """Common begins at one in twenty, never at none and never beyond ten."""
    assert 1 <= common(entities) <= 10
    assert entities < 200 or common(entities) == 10


def test_forms_of_a_word_have_one_base() -> None:
    """The crude base of a word is enough to know a predicate in a question."""
    assert {base(w) for w in ("own", "owns", "owned", "owner", "owners", "owning")} == {"own"}
    assert {base(w) for w in ("use", "uses", "used")} == {"use"}
    assert base("is") == "is"


def test_a_long_query_is_kept_in_part() -> None:
    """Of a query a few words are kept, on one line, with nothing a terminal obeys."""
    one = occurrence("r1", "a", "kaas\x1b[31m\n" + "x" * 1000, ["kaas"])
    assert (one.query[:16], len(one.query)) == ("kaas\\x1b[31m xxx", 200)
