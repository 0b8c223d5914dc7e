"""What the words of a text are, for a search: the same on the side of the store and the query.

An identifier counts as its parts, whatever joins them: payments-api, payments_api,
payments.api and paymentsApi are two words (the last also one). A version is one word besides
(3.11 is not "3 and 11"), and its beginnings are. Case, accents and forms of Unicode do not
count, English words are stems, and scripts without spaces (kana, ideographs, Hangul, Thai and
its neighbours) are pairs of letters.

On the hot path: imports the forms and the stems (and `unicodedata` for text beyond ASCII).
"""

from __future__ import annotations

from kg.recall.forms import SPACES, spaced, unaccented, well
from kg.recall.stem import stem
from kg.text import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TERMS = 128  # of one query; each costs a lookup
MAX_QUERY = 4000  # characters of a query that are read
# Function words of English. A question is mostly made of them, and they tell nothing apart.
STOP = frozenset(
    """
    a about also am an and are as at be been being by can could did do does doing done for from
    had has have having he her hers him his how i if in into is it its just me my no nor not of on
    or our ours s she should so such t than that the their theirs them then there these they this
    those to too us very was we were what when where which who whom whose why will with would yes
    you your yours
    """.split()  # noqa: SIM905 - lines a reader takes in, not a hundred
)
_DOTTED = {c: " " for c in SPACES if chr(c) != "."}


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded, stop words and all; no stems."""
    return [word for run in _runs(_readable(text)) for word in run]


def terms(text: str) -> list[str]:
    """Return what a text is indexed under: stems and pairs in order, without stop words."""
    if text.isascii() and text.islower() and "'" not in text:  # most texts, and three times as fast
        found = text.translate(SPACES).split()
    else:
        found = words(text)
    return [stem(word) for word in found if word not in STOP] + versions(text)


def named(text: str) -> list[str]:
    """Return the terms of a name, in which also a stop word is a word."""
    return [stem(word) for word in words(text)] + versions(text)


def asked(query: str) -> list[str]:
    """Return the terms of a query, none twice, at most `MAX_TERMS`.

    A run of letters without spaces between words is one term: its pairs joined by spaces, or
    one letter with "*" for what begins with it.
    Where a query is made of stop words they are its terms.
    """
    return list(dict.fromkeys(map(stem, said(query))))[:MAX_TERMS]


def said(query: str) -> list[str]:
    """Return the words behind the terms of a query (`asked`), in order, no stems."""
    query = query[:MAX_QUERY]
    runs = list(_runs(_readable(query)))
    whole = versions(query, whole=True)
    parts = {v + part for version in whole for part in version.split("_") for v in ("", "v")}
    found = [word for run in runs for word in _joined(run) if word not in parts] + whole
    return [word for word in found if word not in STOP] or found


def versions(text: str, *, whole: bool = False) -> list[str]:
    """Return what reads as a version, as words with "_": 3.11.4 as 3_11 and 3_11_4.

    With `whole`, only the longest of each.
    """
    if "." not in text:
        return []
    found = []
    for piece in (text if text.isascii() else _readable(text)).translate(_DOTTED).split():
        parts = piece.strip(".").lower().split(".")
        first = parts[0].removeprefix("v")
        if len(parts) > 1 and first.isdigit() and all(part.isalnum() for part in parts):
            parts[0] = first
            least = len(parts) if whole else 2
            found += ["_".join(parts[:n]) for n in range(least, len(parts) + 1)]
    return found


def _readable(text: str) -> str:
    """Return the text with its case, but composed, unaccented and without apostrophes."""
    if not text.isascii():
        from unicodedata import normalize

        text = unaccented(normalize("NFKC", well(text))).replace("\u2019", "'")
    return f"{text} ".replace("'s ", " ").replace("'", "") if "'" in text else text


def _runs(text: str) -> Iterator[list[str]]:
    """Yield the words of each run of letters and digits: one, or the parts of an identifier."""
    ascii_only = text.isascii()
    for run in (text.translate(SPACES) if ascii_only else spaced(text)).split():
        if run.islower() or run.isdigit():
            yield [run] if ascii_only else list(_scripts(run))
        elif ascii_only:
            yield _humps(run)
        else:
            yield [word for part in _humps(run) for word in _scripts(part)]


def _humps(run: str) -> list[str]:
    """Return the parts of camelCase and HTTPServer, folded, and then the whole.

    The whole because GitHub and PostgreSQL are written github and postgresql, too.
    """
    if run.isupper() or run[1:].islower():
        return [fold(run)]
    parts, start = [], 0
    for at in range(1, len(run)):
        before, here, after = run[at - 1], run[at], run[at + 1 : at + 2]
        if here.isupper() and (before.islower() or (after.islower() and before.isupper())):
            parts.append(run[start:at])
            start = at
    return [fold(part) for part in [*parts, run[start:], *([run] if parts else [])]]


def _scripts(run: str) -> Iterator[str]:
    """Yield a run as it is, or in overlapping pairs where its script has no spaces.

    The last letter stands alone too, so that it begins something.
    """
    for dense, part in _kinds(fold(run)):
        if dense:
            yield from (part[at : at + 2] for at in range(len(part)))
        else:
            yield part


def _joined(run: list[str]) -> list[str]:
    """Return the words of a run as terms: the pairs of a dense script as one phrase."""
    if not any(_dense(word[0]) for word in run):
        return run
    found: list[list[str]] = []
    for before, word in zip(["", *run], run, strict=False):
        if _dense(word[0]) and before[1:] == word[0]:
            found[-1].append(word)
        else:
            found.append([word])
    return [" ".join(part[:-1]) or _begun(part[0]) for part in found]


def _begun(word: str) -> str:
    """Return a letter alone as what begins with it: it is half of a pair."""
    return word + "*" if _dense(word) else word


def _kinds(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (whether its script writes words without spaces, run of one kind)."""
    start, kind = 0, False
    for at, char in enumerate(text):
        dense = _dense(char)
        if dense != kind:
            if at > start:
                yield kind, text[start:at]
            start, kind = at, dense
    if start < len(text):
        yield kind, text[start:]


def _dense(char: str) -> bool:
    # Thai to Tibetan, Burmese, Khmer; kana, ideographs, Hangul; the supplementary ideographs
    return char >= "\u0e00" and (
        char < "\u1100"
        or "\u1780" <= char < "\u1800"
        or ("\u3040" <= char < "\ud7b0" and char.isalnum())
        or "\uf900" <= char < "\ufb00"
        or char >= "\U00020000"
    )
