"""Which days a text speaks of: dates as they are written, and words like "last March".

A day is counted from the one on which the text was said (a turn's own time, the conversation's,
or the run's); a question's from the newest text there is, since "now" would make the answer
change by itself. English, as the words of the search are. Pure: no clock, no locale.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: n
    for n, word in enumerate(
        ("a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
} | {"an": 1, "one": 1, "couple of": 2, "few": 3}
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_COUNT = r"\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True))
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?")
_AGO = re.compile(rf"\b(?:a )?({_COUNT}) (day|week|month|year)s? (ago|before|earlier)\b")
_NEAR = re.compile(
    r"\b(last|next|this|past|previous|coming)"
    rf" (week|weekend|month|year|{'|'.join(_DAYS)}|{_MONTH})\b"
)
_PLAIN = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "this morning": 0, "tomorrow": 1,
}  # fmt: skip
_UNITS = ("day", "month", "year")  # in the order of `marks`
_PLAIN_WORDS = re.compile(rf"\b({'|'.join(_PLAIN)})\b")


def day_of(text: str) -> date | None:
    """Return the day that an RFC 3339 time or a date begins with, None where it does not."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def marks(day: date) -> list[str]:
    """Return the words of a day: itself, its month and its year."""
    return [f"{day.year:04d}_{day.month:02d}_{day.day:02d}", *month_marks(day)]


def month_marks(day: date) -> list[str]:
    """Return the words of a day's month and year, as a text writes them."""
    return [MONTHS[day.month - 1], f"{day.year:04d}"]


def spoken(text: str, said: date | None) -> list[str]:
    """Return the words (`marks`) of the days and months that a text speaks of, none twice.

    `said` is the day from which "yesterday" and a date without its year are counted; without
    it only whole dates are read.
    """
    text = text.lower()
    found: list[str] = []
    for day in _written(text, said):
        found += marks(day)
    if said:
        for day, unit in _relative(text, said):
            found += marks(day)[_UNITS.index(unit) :]
    return list(dict.fromkeys(found))


def _written(text: str, said: date | None) -> Iterator[date]:
    """Yield the days that are written as such; one without a year is the nearest to `said`."""
    for year, month, day in _ISO.findall(text):
        yield from _valid(int(year), int(month), int(day))
    pairs = [(m, d, y) for d, m, y in _DAY_MONTH.findall(text)] + _MONTH_DAY.findall(text)
    for name, day, year in pairs:
        month = _month(name)
        if year:
            yield from _valid(int(year), month, int(day))
        elif said:
            years = [day_ for y in (-1, 0, 1) for day_ in _valid(said.year + y, month, int(day))]
            yield from sorted(years, key=lambda day_: abs(day_ - said))[:1]


def _relative(text: str, said: date) -> Iterator[tuple[date, str]]:
    """Yield (day, whether it, its month or its year is meant)."""
    for words in _PLAIN_WORDS.findall(text):
        yield from _moved(said, days=_PLAIN[words])
    for count, unit, _ in _AGO.findall(text):
        many = int(count) if count.isdigit() else _NUMBERS[count]
        if unit in ("day", "week"):
            yield from _moved(said, days=-many * (7 if unit == "week" else 1))
        else:
            yield from _by_months(said, -many, unit)
    for which, unit in _NEAR.findall(text):
        back = which in ("last", "past", "previous")
        step = -1 if back else 1 if which in ("next", "coming") else 0
        yield from _near(said, unit, step)


def _near(said: date, unit: str, step: int) -> Iterator[tuple[date, str]]:
    if unit in _DAYS:
        away = (_DAYS.index(unit) - said.weekday()) % 7
        yield from _moved(said, days=away - 7 if step < 0 else away or 7 * step)
    elif unit in ("week", "weekend"):
        yield from ((day, "month") for day, _ in _moved(said, days=7 * step))
    elif unit in ("month", "year"):
        yield from _by_months(said, step, unit)
    elif step or unit != "may":  # "this may" is no month as a rule
        away = (_month(unit) - said.month) % 12
        yield from _by_months(said, away - 12 if step < 0 else away, "month")


def _moved(said: date, *, days: int) -> Iterator[tuple[date, str]]:
    try:
        yield said + timedelta(days=days), "day"
    except OverflowError:
        return


def _by_months(said: date, many: int, unit: str) -> Iterator[tuple[date, str]]:
    months = many * (12 if unit == "year" else 1)
    year, month = divmod(said.year * 12 + said.month - 1 + months, 12)
    yield from ((day, unit) for day in _valid(year, month + 1, 1))


def _month(name: str) -> int:
    return next(n for n, month in enumerate(MONTHS, start=1) if month.startswith(name[:3]))


def _valid(year: int, month: int, day: int) -> list[date]:
    try:
        return [date(year, month, day)]
    except ValueError:
        return []
