"""In which forms names are the same, and what of a text SQLite can hold.

On the hot path: imports `kg.text` (and `unicodedata` for text beyond ASCII).
"""

from __future__ import annotations

from kg.text import fold

SPACES = {c: " " for c in range(128) if not chr(c).isalnum()}


def folded(text: str) -> str:
    """Return the form in which names are the same (kg.text.fold), fit for SQLite."""
    return fold(text.replace("\0", " ")) if text.isascii() else fold(well(text))


def bare(text: str) -> str:
    """Return the folded form without accents, in which names are looked for."""
    text = folded(text)
    return text if text.isascii() else " ".join(unaccented(text).split())


def squash(text: str) -> str:
    """Return the letters and digits of the bare form: the same for however parts are joined.

    Of a text without any, the folded form.
    """
    text = bare(text)
    if text.isascii():
        return text.translate(SPACES).replace(" ", "") or text
    return spaced(text).replace(" ", "") or text


def unaccented(text: str) -> str:
    """Return a composed text without accents."""
    from unicodedata import normalize

    apart = normalize("NFD", text)
    # the accents of Latin, Greek and Cyrillic; in other scripts marks are letters
    return normalize("NFC", "".join(c for c in apart if not "\u0300" <= c <= "\u036f"))


def spaced(text: str) -> str:
    """Return the text with everything that is no part of a word turned into spaces."""
    from unicodedata import category

    return "".join(c if c.isalnum() or category(c)[0] == "M" else " " for c in text)


def well(text: str) -> str:
    """Return the text with what UTF-8 or SQL cannot carry replaced."""
    return (
        text.encode("utf-8", "surrogateescape" if _escaped(text) else "replace")
        .decode("utf-8", "replace")
        .replace("\0", " ")
    )


def _escaped(text: str) -> bool:
    return all(not "\ud800" <= c <= "\udfff" or "\udc80" <= c <= "\udcff" for c in text)
