"""Which entities a query means: by id or name, else by words.

On the hot path, so it imports nothing but `kg.text` (and `unicodedata` for text that is not
ASCII). A ranker that knows more replaces `_by_words`; the rest of recall sees `Found` only.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.text import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection

    Row = tuple[int, str, bool]  # number in the index, id, dormant

# So many candidates are ranked: bm25 over the 26,000 that hold a common word costs 40 ms,
# over a thousand 2 ms (GIT.md, 8).
CAP = 1000
NAMED = 300  # of what is called so in part: nobody reads on, and each costs 10 microseconds
MAX_WORDS = 32
# Function words of English questions; every other word of a question must earn its place.
STOP = frozenset(
    """
    a about an and are as at be been by can could did do does for from had has have how i if
    in is it its me my of on or our should that the their there these they this to us was we
    were what when where which who whom whose why will with would you your
    """.split()  # noqa: SIM905 - two lines a reader takes in, not sixty
)
# id and name before what is said of it; as in every field-weighted BM25, the values are a guess
# until the retrieval benchmark sets them.
_RANK = "bm25(words, 8.0, 2.0, 1.0, 1.0)"
_DORMANT = "e.last <> '' and e.last < coalesce(r.floor, '')"
# Each of these walks from what matches to the entities, and stops as soon as it has enough.
_TO_ENT = "left join roles r on r.n = e.roles where e.archived <= ?"
_KEYS = f"select e.n, e.id, {_DORMANT}, k.folded, k.bare from"
_EXACT = f"{_KEYS} key k cross join ent e on e.n = k.ent {_TO_ENT} and k.folded = ? limit ?"
_SCAN = f"{_KEYS} key k cross join ent e on e.n = k.ent {_TO_ENT} and instr(k.bare, ?) limit ?"
_GRAMS = (
    f"{_KEYS} grams cross join key k on k.n = grams.rowid cross join ent e on e.n = k.ent"
    f" {_TO_ENT} and instr(k.bare, ?) and grams match ? limit ?"
)
_WORDS = (
    f"select e.n, e.id, {_DORMANT}, {_RANK} from words cross join ent e on e.n = words.rowid"
    f" {_TO_ENT} and words match ?"
)
_COUNT = "select count(*) from (select 1 from words where words match ? limit ?)"


class Found:
    """What a query means: `rows` to show, best first, and how many more there are.

    `least` says that `more` is a lower bound. `dormant` entities matched by words only and
    were left out.
    """

    __slots__ = ("dormant", "least", "more", "rows")

    def __init__(self, rows: Sequence[Row], limit: int, dormant: int, *, capped: bool) -> None:
        self.rows = rows[:limit]
        self.more = max(0, len(rows) - limit)
        self.least = capped
        self.dormant = dormant


def find(con: Connection, query: str, limit: int, *, archived: bool = False) -> Found:
    """Return what `query`, any text whatever, means in the index behind `con`."""
    if not bare(query):
        return Found((), limit, 0, capped=False)
    named, capped = _by_name(con, query, archived)
    if named:
        return Found(named, limit, 0, capped=capped)
    rows, capped = _by_words(con, query_words(query), limit, archived)
    awake = [row for row in rows if not row[2]]
    return Found(awake, limit, len(rows) - len(awake), capped=capped)


def folded(text: str) -> str:
    """Return the form in which names are the same (kg.text.fold), fit for SQLite."""
    return fold(text.replace("\0", " ")) if text.isascii() else fold(_well(text))


def bare(text: str) -> str:
    """Return the folded form without accents, in which names are looked for."""
    text = folded(text)
    if text.isascii():
        return text
    from unicodedata import normalize

    apart = normalize("NFD", text)
    # the accents of Latin, Greek and Cyrillic; in other scripts marks are letters
    return normalize("NFC", "".join(c for c in apart if not "\u0300" <= c <= "\u036f"))


def words_of(text: str) -> str:
    """Return `text` as full text takes it: bare, in pairs of letters where no spaces part words."""
    text = bare(text)
    if text.isascii():
        return text
    return " ".join(" ".join(_pairs(run)) if dense else run for dense, run in _runs(text))


def query_words(query: str) -> list[str]:
    """Return the words of a query as full-text phrases, at most `MAX_WORDS`, none twice."""
    text = bare(query)
    found: dict[str, None] = {}
    for word in _spaced(text).split():
        for dense, run in _runs(word):
            if dense:
                found[f'"{run}" *' if len(run) == 1 else f'"{" ".join(_pairs(run)[:-1])}"'] = None
            else:
                found[f'"{run}"'] = None
        if len(found) >= MAX_WORDS:
            break
    words = list(found)[:MAX_WORDS]
    return [w for w in words if w[1:-1] not in STOP] or words


def _by_name(con: Connection, query: str, archived: bool) -> tuple[list[Row], bool]:
    """Return what is called so, exactly or in part, and whether there may be more."""
    whole, part = folded(query), bare(query)
    rows = con.execute(_EXACT, (archived, whole, NAMED)).fetchall()
    one = [(row[0], row[1], bool(row[2])) for row in rows if folded(row[1]) == whole]
    if one:
        return one, False  # an id names one thing, so there is nothing more to look for
    within = _within(con, part, archived)
    best: dict[int, tuple[tuple[int, int, int, str], Row]] = {}
    for n, id_, dormant, name, plain in rows + within:
        same = name in (whole, part)
        rank = (0, 0, 0, id_) if same else (1, plain.find(part), len(plain), id_)
        if n not in best or rank < best[n][0]:
            best[n] = (rank, (n, id_, bool(dormant)))
    return [row for _, row in sorted(best.values())], NAMED in (len(rows), len(within))


def _within(con: Connection, part: str, archived: bool) -> list[tuple[int, str, int, str, str]]:
    """Return the names that contain `part`: by trigrams, or by looking at each."""
    if len(part) >= 3:
        try:
            return con.execute(_GRAMS, (archived, part, _ends(part), NAMED)).fetchall()
        except Exception as error:  # _sqlite3's own class would be one more import
            if "no such" not in str(error):
                raise
    return con.execute(_SCAN, (archived, part, NAMED)).fetchall()


def _ends(part: str) -> str:
    """Return the trigrams to look for: few, as each costs, and a look at the names decides.

    Of an id they are taken after the type's prefix, which is in most ids and tells little.
    """
    rare = part[part.rfind("/") + 1 :]
    rare = rare if len(rare) >= 3 else part
    some = [rare] if len(rare) <= 12 else [rare[:6], rare[-6:]]
    return " ".join('"' + text.replace('"', '""') + '"' for text in some)


def _by_words(
    con: Connection, words: list[str], limit: int, archived: bool
) -> tuple[list[Row], bool]:
    """Return what all the words are said of, or else what its rarer words are."""
    if not words:
        return [], False
    try:
        return _ranked(con, " ".join(words), limit, archived) or _any(con, words, limit, archived)
    except Exception as error:  # as above
        if "no such" not in str(error):
            raise
    return _plain(con, words, archived)


def _ranked(
    con: Connection, expression: str, limit: int, archived: bool
) -> tuple[list[Row], bool] | None:
    """Return the best of what matches and whether there may be more; None if nothing does."""
    rows = con.execute(f"{_WORDS} limit ?", (archived, expression, CAP)).fetchall()
    if not rows:
        return None
    capped = len(rows) == CAP
    if capped:  # these are the first thousand, not the best: add those it is a name of
        named = f"{{names}} : ({expression})"
        rows += con.execute(f"{_WORDS} limit ?", (archived, named, CAP // 2)).fetchall()
    if capped and sum(not row[2] for row in rows) < limit:  # nearly all asleep: look on
        awake = f"{_WORDS} and not ({_DORMANT}) limit ?"
        rows += con.execute(awake, (archived, expression, CAP)).fetchall()
    best = {row[0]: row for row in sorted(rows, key=lambda row: -row[3])}
    ranked = sorted(best.values(), key=lambda row: (row[3], row[1]))
    return [(n, id_, bool(dormant)) for n, id_, dormant, _ in ranked], capped


def _any(con: Connection, words: list[str], limit: int, archived: bool) -> tuple[list[Row], bool]:
    """Rank by any word, but not by one so common that its first thousand hits mean nothing.

    Where all are that common, by as many of the rarer ones as go together.
    """
    often = {w: con.execute(_COUNT, (w, CAP * 5)).fetchone()[0] for w in words}
    known = sorted((w for w in words if often[w]), key=lambda w: often[w])
    rare = [w for w in known if often[w] <= CAP]
    if rare and len(words) > 1:
        return _ranked(con, " OR ".join(rare), limit, archived) or ([], False)
    for some in range(min(len(known), len(words) - 1), 0, -1):
        found = _ranked(con, " ".join(known[:some]), limit, archived)
        if found:
            return found
    return [], False


def _plain(con: Connection, words: list[str], archived: bool) -> tuple[list[Row], bool]:
    """Do without full text: look through everything, words as parts of words."""
    looks = [word.strip('"* ') for word in words]
    looks = [p[:-1] if len(p) > 3 and p.endswith("s") and p.isascii() else p for p in looks]
    text = "(d.names || ' ' || d.facts || ' ' || d.edges || ' ' || d.tried)"
    hits = " + ".join([f"(instr({text}, ?) > 0)"] * len(looks))
    select = (
        f"select e.n, e.id, {_DORMANT}, d.hits from (select n, {hits} as hits from doc d) d"
        f" join ent e on e.n = d.n {_TO_ENT} and d.hits > 0 order by d.hits desc, e.id limit ?"
    )
    rows = con.execute(select, (*looks, archived, CAP)).fetchall()
    enough = len(looks) if rows and rows[0][3] == len(looks) else 1
    found = [(n, id_, bool(dormant)) for n, id_, dormant, hits in rows if hits >= enough]
    return found, len(rows) == CAP


def _well(text: str) -> str:
    """Return the text with what UTF-8 or SQL cannot carry replaced."""
    return (
        text.encode("utf-8", "surrogateescape" if _escaped(text) else "replace")
        .decode("utf-8", "replace")
        .replace("\0", " ")
    )


def _escaped(text: str) -> bool:
    return all(not "\ud800" <= c <= "\udfff" or "\udc80" <= c <= "\udcff" for c in text)


def _spaced(text: str) -> str:
    """Return the text with everything that is no part of a word turned into spaces."""
    if text.isascii():
        return "".join(c if c.isalnum() else " " for c in text)
    from unicodedata import category

    return "".join(c if c.isalnum() or category(c)[0] == "M" else " " for c in text)


def _runs(text: str) -> Iterator[tuple[bool, str]]:
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


def _pairs(run: str) -> list[str]:
    """Return overlapping pairs, and the last letter alone, so that it begins something too."""
    return [run[at : at + 2] for at in range(len(run))]
