"""What no answer may carry to a terminal: one set of characters for every way an answer goes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kg.cli import output
from kg.format.canonical import encode
from kg.recall.document import dumped
from kg.text import OBEYED, one_line

if TYPE_CHECKING:
    import pytest

# FORMAT.md, "Canonical bytes": U+2028 to U+202E, U+2066 to U+2069 and U+FEFF.
DOCUMENTED = {*range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
ALL = "".join(map(chr, range(0x110000)))


def escaped(printed: str) -> set[int]:
    """Return the characters from DEL on that do not stand for themselves in JSON."""
    return {ord(c) for c in set(ALL[0x7F:]) - set(printed)}


def test_json_escapes_the_same_for_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--json of recall and of all others hides just what a terminal obeys, and reads the same."""
    output.answer("x", [ALL])
    others, recalls = capsys.readouterr().out, dumped([ALL])
    assert escaped(others) == escaped(recalls) == {c for c in OBEYED if c >= 0x7F}
    assert {0x200E, 0x200F, 0x061C, 0x200B} <= escaped(others)
    whole = ALL.translate(dict.fromkeys(range(0xD800, 0xE000)))
    assert json.loads(dumped([whole])) == [whole]


def test_canonical_bytes_escape_what_the_format_says() -> None:
    """Bytes in the store are a contract: the set is FORMAT.md's, whatever terminals learn."""
    assert escaped(encode(ALL)) == DOCUMENTED
    assert DOCUMENTED <= OBEYED


def test_a_line_hides_the_same() -> None:
    """No character that JSON escapes comes through in a line of text."""
    assert not {chr(c) for c in OBEYED} & set(one_line(ALL)) - {" "}
