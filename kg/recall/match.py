"""Which entities a query means: by id or name, else by words.

On the hot path: imports the forms. What is called so is found here; `kg.recall.rank` knows
what words are worth. The rest of recall sees `Found` only.
"""

from __future__ import annotations

from kg.recall.forms import bare, folded, squash
from kg.recall.only import DORMANT, Only, Wholes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from sqlite3 import Connection

    from kg.recall.only import Row
    from kg.recall.rank import Parts

    Key = tuple[int, str, int, str, str]  # number, id, dormant, folded name, bare name

NAMED = 300  # of what is called so in part: nobody reads on, and each costs 10 microseconds
_LOOSE = 3  # the rank of a part from within a word
_LEAST = 3  # letters of a part that trigrams and beginnings are looked for with
# Each of these walks from what matches to the entities, and stops as soon as it has enough.
_KEYS = f"select e.n, e.id, {DORMANT}, k.folded, coalesce(k.bare, '') from"
_TO_ENT = "cross join ent e on e.n = k.ent left join roles r on r.n = e.roles where"
_SCAN = f"{_KEYS} key k {_TO_ENT} instr(k.bare, ?) and {{only}} limit {NAMED}"
_SAME = f"{_KEYS} key k {_TO_ENT} k.squash = ? and {{only}} limit {NAMED}"
_BEGUN = f"{_KEYS} key k {_TO_ENT} k.squash between ? and ? and {{only}} limit {NAMED}"
_GRAMS = (
    f"{_KEYS} grams cross join key k on k.n = grams.rowid {_TO_ENT}"
    f" grams match ? and instr(k.bare, ?) and {{only}} limit {NAMED}"
)


class Found:
    """What a query means: `rows` to show, best first, and how many more there are.

    `least` says that `more` is a lower bound. `dormant` entities matched by words only and
    were left out. `parts` are what the scores of ranked rows are made of, by number.
    """

    __slots__ = ("dormant", "least", "more", "parts", "rows")

    def __init__(
        self,
        rows: Sequence[Row],
        limit: int,
        *,
        dormant: int = 0,
        least: bool = False,
        parts: Mapping[int, Parts] | None = None,
    ) -> None:
        self.rows = rows[:limit]
        self.more = max(0, len(rows) - limit)
        self.least = least
        self.dormant = dormant
        self.parts = parts or {}

    def of(self, places: Sequence[int]) -> Found:
        """Return the same with only the rows at these places."""
        rows = [self.rows[at] for at in places]
        found = Found(rows, len(rows), dormant=self.dormant, least=self.least, parts=self.parts)
        found.more = self.more + len(self.rows) - len(rows)
        return found


def find(
    con: Connection, query: str, limit: int, only: Only | None = None, *, hops: int = 1
) -> Found:
    """Return what `query`, any text whatever, means in the index behind `con`."""
    only = only or Only()
    if not bare(query):
        return Found((), limit)
    wholes = Wholes(con)
    called, least, sure = _by_name(con, query, only)
    named = wholes.rows(called)
    if sure:
        return Found(named, limit, least=least)
    from kg.recall.rank import ranked  # most queries are names, and do without

    words = ranked(con, query, limit, only, hops=hops, wholes=wholes)
    known = {row[0] for row in words.rows}
    rows = [*words.rows, *(row for row in named if row[0] not in known)]
    return Found(rows, limit, dormant=words.dormant, least=words.least or least, parts=words.parts)


def _by_name(con: Connection, query: str, only: Only) -> tuple[list[Row], bool, bool]:
    """Return what is called so, exactly or in part, best first.

    And whether there may be more, and whether it is surely what was meant: the name of one,
    or a part of one that begins where a word does.
    """
    whole, part, tight = folded(query), bare(query), squash(query)
    rows = _keys(con, _SAME, only, tight)
    one = [(row[0], row[1], bool(row[2])) for row in rows if folded(row[1]) == whole]
    if one:
        return one, False, True  # an id names one thing, so there is nothing more to look for
    within = _within(con, part, tight, only)
    best: dict[int, tuple[tuple[int, int, int, str], Row]] = {}
    for rank, (n, id_, dormant, *_) in zip(
        _ranks(whole, part, rows, within), rows + within, strict=True
    ):
        if n not in best or rank < best[n][0]:
            best[n] = (rank, (n, id_, bool(dormant)))
    found = sorted(best.values())
    sure = bool(found) and found[0][0][0] < _LOOSE
    rows_ = [row for rank, row in found if not sure or rank[0] < _LOOSE]
    return rows_, NAMED in (len(rows), len(within)), sure


def _ranks(
    whole: str, part: str, same: Iterable[Key], within: Iterable[Key]
) -> Iterable[tuple[int, int, int, str]]:
    for _, id_, _, name, _ in same:
        yield (0 if name in (whole, part) else 1), 0, 0, id_
    for _, id_, _, name, plain in within:
        at = plain.find(part)
        loose = at > 0 and plain[at - 1].isalnum() and part[0].isalnum()
        yield (0 if name in (whole, part) else _LOOSE if loose else 2), at, len(plain), id_


def _within(con: Connection, part: str, tight: str, only: Only) -> list[Key]:
    """Return the names that contain `part`, or begin like it once squashed."""
    if len(part) < _LEAST:
        return _keys(con, _SCAN, only, part)
    try:
        found = _keys(con, _GRAMS, only, _ends(part), part)
    except Exception as error:  # _sqlite3's own class would be one more import
        if "no such" not in str(error):
            raise
        found = _keys(con, _SCAN, only, part)
    if not found and len(tight) >= _LEAST:
        return _keys(con, _BEGUN, only, tight, tight + "\U0010ffff")
    return found


def _keys(con: Connection, sql: str, only: Only, *values: str) -> list[Key]:
    return con.execute(sql.replace("{only}", only.sql), (*values, *only.values)).fetchall()


def _ends(part: str) -> str:
    """Return the trigrams to look for: few, as each costs, and a look at the names decides.

    Of an id they are taken after the type's prefix, which is in most ids and tells little.
    """
    rare = part[part.rfind("/") + 1 :]
    rare = rare if len(rare) >= _LEAST else part
    some = [rare] if len(rare) <= 12 else [rare[:6], rare[-6:]]
    return " ".join('"' + text.replace('"', '""') + '"' for text in some)
