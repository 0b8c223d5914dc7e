"""Which days a text speaks of, counted from the day on which it was said."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.recall.dates import MONTHS, day_of, marks, month_marks, spoken

SAID = date(2023, 5, 8)  # a Monday


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 7 May, 2023", date(2023, 5, 7)),
        ("since 2023-05-07", date(2023, 5, 7)),
        ("May 7th, 2023 was it", date(2023, 5, 7)),
        ("the 7th of May", date(2023, 5, 7)),
        ("it was yesterday", date(2023, 5, 7)),
        ("10 days ago", date(2023, 4, 28)),
        ("two weeks ago", date(2023, 4, 24)),
        ("last Friday", date(2023, 5, 5)),
        ("last Monday", date(2023, 5, 1)),
        ("next Friday", date(2023, 5, 12)),
        ("30 December", date(2022, 12, 30)),
        ("the day before yesterday", date(2023, 5, 6)),
    ],
)
def test_days(text: str, day: date) -> None:
    """Written and relative days give the day, its month and its year."""
    assert spoken(text, SAID) == marks(day)


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("last month", date(2023, 4, 1)), ("last March", date(2023, 3, 1)),
        ("last May", date(2022, 5, 1)), ("next January", date(2024, 1, 1)),
        ("three months ago", date(2023, 2, 1)),
    ],
)  # fmt: skip
def test_months(text: str, month: date) -> None:
    """What names no day gives the month and the year."""
    assert spoken(text, SAID) == month_marks(month)


@pytest.mark.parametrize("text", ["last year", "a year ago", "twelve weeks, one year ago"])
def test_years(text: str) -> None:
    """What names a year gives the year, and no month of it."""
    assert spoken(text, SAID) == ["2022"]


@pytest.mark.parametrize(
    "text", ["may be", "this may be", "31 February 2023", "2023-13-45", "9999 days ago", ""]
)
def test_no_days(text: str) -> None:
    """What is no date is none."""
    assert spoken(text, SAID) == []


def test_without_a_day_only_whole_dates_are_read() -> None:
    """Nothing is guessed where it is not known when the text was said."""
    assert spoken("yesterday, 7 May, or 2023-05-07", None) == marks(date(2023, 5, 7))


@given(st.text(max_size=80), st.dates())
def test_any_text(text: str, said: date) -> None:
    """Any text said on any day gives words and no error."""
    assert all(word in MONTHS or word.replace("_", "").isdigit() for word in spoken(text, said))


@given(st.dates(), st.dates())
def test_written_dates_are_read(day: date, said: date) -> None:
    """A day written in full is found whenever it was said."""
    for text in (day.isoformat(), f"{day.day} {MONTHS[day.month - 1]} {day.year:04d}"):
        assert spoken(f"seen {text} by all", said) == marks(day)


def test_day_of() -> None:
    """A time begins with its day; anything else has none."""
    assert day_of("2023-05-08T13:56:00Z") == SAID
    assert day_of("") is None
    assert day_of("yesterday") is None
