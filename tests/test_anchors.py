"""From a quote to its lines: white space and Unicode form may differ, words may not."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_text, names

from kg.graph.anchors import Text

TEXT = Text(
    "payments-api is owned by Acme Corp and on-call\n"
    "is platform-team.\n"
    "\n"
    "Acme Corp\n"
    "The café’s ﬁle is naïve.\n"
    "支付服务由平台团队负责。\n"
    "bsd-socket runs on 8080\n"
)


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        ("payments-api is owned by", (1, 1)),
        ("on-call is platform-team", (1, 2)),
        ("on-call\n  is\tplatform-team.", (1, 2)),
        ("  owned   by ", (1, 1)),
        ("Acme Corp", (4, 4)),
        ("platform-team. Acme Corp", (2, 4)),
        ("cafe\u0301’s file", (5, 5)),
        ("平台团队", (6, 6)),
        ("负责。", (6, 6)),
        ("8080", (7, 7)),
        ("socket", (7, 7)),
    ],
)
def test_a_quote_finds_its_lines(quote: str, lines: tuple[int, int]) -> None:
    """Across line ends and blank lines, in any Unicode form; a whole line before a part of one."""
    assert TEXT.find(quote) == lines


@pytest.mark.parametrize(
    "quote",
    ["", "  ", "owned by ACME", "wned by", "owned b", "latform-tea", "owned Corp", "acme corp",
    "80",
     "平台队", "na", "naïv", "\x00", "\ud800"],
)  # fmt: skip
def test_other_words_are_refused(quote: str) -> None:
    """Invented words, other case, a beginning or end inside a word: not in the text."""
    assert TEXT.find(quote) is None


@given(st.lists(names, min_size=1, max_size=5), st.data())
def test_every_run_of_words_is_found(lines: list[str], data: st.DataObject) -> None:
    """Whole words of a text, however spaced and composed, are found where they stand."""
    words = [(word, at) for at, line in enumerate(lines, 1) for word in line.split()]
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start, len(words) - 1))
    quote = "  ".join(normalize("NFD", word) for word, _ in words[start : end + 1])
    found = Text("\n".join(lines)).find(quote)
    assert found is not None
    first, last = found
    assert 1 <= first <= last <= len(lines)
    held = normalize("NFKC", " ".join(" ".join(lines[first - 1 : last]).split()))
    assert normalize("NFKC", " ".join(quote.split())).replace(" ", "") in held.replace(" ", "")


@given(any_text, any_text)
def test_any_quote_of_any_text_is_answered(text: str, quote: str) -> None:
    """No text and no quote makes looking raise; what is found lies inside the text."""
    made = Text(text)
    found = made.find(quote)
    if found is not None:
        assert 1 <= found[0] <= found[1] <= made.line_count()
        assert made.holds(*found, quote) or not quote.strip()


def test_lines_are_counted_by_line_feed_alone() -> None:
    """Form feeds, carriage returns and Unicode's separators end no line, as for sed."""
    made = Text("a\x0cb\rc\u2028d\u0085e\nsecond\n")
    assert made.line_count() == 2
    assert made.find("second") == (2, 2)
    assert made.find("d") == (1, 1)
    assert Text("").line_count() == 1


def test_words_stand_in_lines_whatever_their_case() -> None:
    """A value counts as stated where its words stand; part of a word does not count."""
    assert TEXT.holds(1, 1, "acme CORP")
    assert TEXT.holds(1, 2, "on-call is")
    assert not TEXT.holds(2, 2, "Acme")
    assert not TEXT.holds(1, 1, "cme")
    assert not TEXT.holds(1, 1, "")
