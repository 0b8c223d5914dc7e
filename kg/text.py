"""When two texts count as the same, and what of a text may reach a terminal.

On the hot path of recall: imports nothing beyond `unicodedata`, and that only for
text that is not ASCII.
"""

from __future__ import annotations

# The line and paragraph separators, the bidirectional controls (CVE-2021-42574), and the BOM:
# what FORMAT.md says is escaped in canonical bytes, so nothing is added here.
MISREAD = (*range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
# What a terminal or a line splitter acts upon: those, C0 and C1 controls, DEL, the marks of
# direction, the invisible characters that hide in names (not the joiners, which scripts and
# emoji need), and halves of characters. Tab and line feed are the caller's business.
OBEYED = frozenset(
    {
        *MISREAD,
        *range(0x20),
        *range(0x7F, 0xA0),
        0x061C,
        0x200B,
        0x200E,
        0x200F,
        *range(0x2060, 0x2070),
        *range(0xD800, 0xE000),
    }
)
_SHOWN = {c: f"\\x{c:02x}" if c < 0x100 else f"\\u{c:04x}" for c in OBEYED}
_SHOWN[0x0A] = " "
_SHOWN[0x09] = " "
_SHOWN[0x0D] = " "


def fold(text: str) -> str:
    """Return the form under which two names or values are the same.

    NFKC, case folded, white space folded to single spaces, nothing more: no stemming, no
    transliteration. Idempotent.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    from unicodedata import normalize

    # Folding case can leave NFKC (and the reverse), so the pair runs until it rests;
    # Unicode's own identifier folding (UAX 31, toNFKC_Casefold) does the same in two steps.
    while True:
        folded = normalize("NFKC", normalize("NFKC", text).casefold())
        if folded == text:
            return " ".join(text.split())
        text = folded


def one_line(text: str) -> str:
    """Return `text` on one line, with nothing in it that a terminal would obey.

    Line breaks and tabs become spaces; every other control, bidirectional or zero-width
    character is shown as its escape, so that it is seen rather than obeyed.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_SHOWN)


def json_text(text: str) -> str:
    """Return JSON that says the same, with nothing in it that a terminal would obey.

    C0 is left alone: JSON escapes it by itself, and its own line feeds stand between values.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return text.translate({c: f"\\u{c:04x}" for c in OBEYED if c >= 0x20})
