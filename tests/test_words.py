"""The words of a text: the same however a thing is spelled, and any text has some form."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.recall import stem as stems
from kg.recall.forms import bare, folded, squash
from kg.recall.stem import stem
from kg.recall.words import MAX_TERMS, STOP, asked, named, said, terms, words

ROOT = Path(__file__).resolve().parent.parent


def _english() -> list[str]:
    """Return the words that this repository's own texts are written in."""
    files = [*ROOT.glob("*.md"), *(ROOT / "kg").rglob("*.py"), *(ROOT / "kg").rglob("*.md")]
    text = " ".join(path.read_text(encoding="utf-8").lower() for path in files)
    return sorted(set(re.findall("[a-z]{5,30}", text)))


def test_stems_are_porters() -> None:
    """Each English word, irregular forms apart, has the stem that SQLite's porter gives it."""
    regular = [word for word in _english() if word not in stems._PLAIN]
    con = sqlite3.connect(":memory:")
    con.execute("create virtual table t using fts5 (x, tokenize='porter ascii')")
    con.execute("create virtual table v using fts5vocab (t, 'instance')")
    con.executemany("insert into t (rowid, x) values (?, ?)", enumerate(regular))
    theirs = {regular[doc]: term for term, doc in con.execute("select term, doc from v")}
    con.close()
    assert len(regular) > 2000
    assert {word: stem(word) for word in regular} == theirs


@pytest.mark.parametrize(
    ("forms", "same"),
    [("went goes going", "go"), ("children", "child"), ("ran running runs", "run"),
     ("bought buying", "buy"), ("wrote written", "write")],
)  # fmt: skip
def test_irregular_forms_meet(forms: str, same: str) -> None:
    """The past of a verb, and a plural, has the stem of its plain form."""
    assert {stem(form) for form in forms.split()} == {stem(same)}


@pytest.mark.parametrize(
    "text", ["payments-api", "payments_api", "payments.api", "Payments API", "payments/api"]
)
def test_joints_do_not_matter(text: str) -> None:
    """However the parts of an identifier are joined, they are its words, and its squash is one."""
    assert words(text) == ["payments", "api"]
    assert squash(text) == "paymentsapi"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("paymentsApi", "payments api paymentsapi"),
        ("HTTPServer", "http server httpserver"),
        ("GitHub", "git hub github"),
        ("getUserById2", "get user by id2 getuserbyid2"),
        ("README", "readme"),
        ("Caroline's", "caroline"),
        ("don\u2019t", "dont"),
        ("M\u00fcller \u0130stanbul \uff23\uff21\uff26\uff25", "muller istanbul cafe"),
        ("\u65e5\u672c\u96fb\u6c17", "\u65e5\u672c \u672c\u96fb \u96fb\u6c17 \u6c17"),
        ("\u041c\u043e\u0441\u043a\u0432\u0430", "\u043c\u043e\u0441\u043a\u0432\u0430"),
    ],
)
def test_words(text: str, found: str) -> None:
    """Humps are parts and a whole, accents and width go, dense scripts come in pairs."""
    assert words(text) == found.split()


def test_versions_are_one_word_too() -> None:
    """A version is found by itself and by its beginnings, and is not its numbers."""
    assert {"3_11", "3_11_4"} <= set(terms("python v3.11.4"))
    assert asked("3.11") == ["3_11"]
    assert asked("kg.store") == ["kg", "store"]


def test_stop_words_are_left_out_unless_alone() -> None:
    """A question is its other words; of nothing but stop words all are kept. Names keep theirs."""
    assert asked("who owns the payments-api") == ["own", "payment", "api"]
    assert asked("who is it") == ["who", "is", "it"]
    assert terms("the who") == []
    assert named("The Who") == ["the", "who"]


@given(st.text(max_size=60))
def test_any_text_has_words(text: str) -> None:
    """Any text folds, squashes and splits; none of its words holds a space or is empty."""
    assert folded(folded(text)) == folded(text)
    assert bare(text) == bare(bare(text))
    assert squash(text) or not bare(text)
    for word in (*words(text), *terms(text), *named(text)):
        assert word
        assert " " not in word
    assert len(asked(text)) <= MAX_TERMS
    assert all(term.strip("* ") for term in asked(text))


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_what_is_asked_is_indexed(text: str) -> None:
    """The words of a query are words of the same text, so that saying a thing finds it."""
    indexed = set(terms(text)) | set(named(text))
    assert set(asked(text)) <= indexed or len(said(text)) > MAX_TERMS
    assert not STOP & set(terms(text)) or any(stem(w) in STOP for w in words(text))
