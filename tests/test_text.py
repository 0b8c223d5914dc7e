"""When two texts are the same, and what of a text may reach a terminal."""

from __future__ import annotations

from unicodedata import category, normalize

import pytest
from hypothesis import example, given
from strategies import any_text, names

from kg.text import fold, one_line


@given(any_text)
@example("\u0345\u0301")
@example("\u1e9e\u0149")
@example("\ufdfa")
def test_fold_is_idempotent(text: str) -> None:
    """Folding what is folded changes nothing, for any string, half characters included."""
    assert fold(fold(text)) == fold(text)


@given(names)
def test_fold_sees_through_unicode_forms_case_and_space(name: str) -> None:
    """NFC, NFD and NFKC, added white space and the case pairs of ASCII are one name."""
    assert fold(normalize("NFD", name)) == fold(name)
    assert fold(normalize("NFKC", name)) == fold(name)
    assert fold(f"  {name}\t\n") == fold(name)
    assert fold(name.casefold()) == fold(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Straße", "STRASSE"), ("ﬁle", "FILE"), ("Ａcme", "acme"), ("a\u00a0b", "A  B"), ("İ", "i̇")],
)
def test_fold_joins_what_people_take_for_one(one: str, other: str) -> None:
    """Sharp s, ligatures, full width and no-break spaces do not make another name."""
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Acme", "Acme Corp"), ("resume", "résumé"), ("a-b", "a b"), ("x1", "xl"), ("ABC", "АВС")],
)
def test_fold_joins_nothing_more(one: str, other: str) -> None:
    """No stemming, no transliteration, no dropped punctuation: those would be guesses."""
    assert fold(one) != fold(other)


@given(any_text)
def test_one_line_is_one_line_without_controls(text: str) -> None:
    """No line break, control or bidirectional character comes through, and words stay words."""
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert not any(category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not {"\u202e", "\u2066", "\u200b", "\ufeff"} & set(shown)
    assert one_line(shown) == shown


def test_one_line_shows_what_it_hides() -> None:
    """Escapes are seen rather than obeyed; joiners, which scripts and emoji need, stay."""
    assert one_line("a\x1b[31m\u202eb\n\tc") == "a\\x1b[31m\\u202eb  c"
    assert one_line("👩\u200d💻 क्\u200dष") == "👩\u200d💻 क्\u200dष"
