"""Which traces of tried/ tell of an error: candidates from the index, then likeness.

A candidate shares clues with the message, the rare ones first (`_vote`); only candidates are
compared (`kg.recall.alike`), because comparing costs a thousand times as much as counting.
Without FTS5 the words are counted by reading all traces, with the same result.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.recall.alike import Message, alike, rarity
from kg.recall.clues import key, lines
from kg.recall.forms import well
from kg.recall.only import KIN
from kg.recall.show import ITEM, MEMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

MEMBERS = ("tried", "outcome", "because", "run", "agent", "src", "error")  # of `parse.Trace`
OUTCOMES = ("failed", "worked", "inconclusive")
# What a likeness to each part of a trace is worth, in the order of the index: the message
# itself, then what somebody wrote about it.
PARTS = (("error", 1.0), ("tried", 0.9), ("because", 0.85), ("prose", 0.85))
# Below, two errors are different ones. Between the likeness of the same error and that of its
# nearest neighbours, on the first part of the errors of scripts/bench/tried.py.
LEAST = 0.5
CAP = 5000  # traces; a clue that more of them have by itself tells nothing apart
_COMPARED = 100
_ASKED = 2000  # clues of one message that are looked up


class Match:
    """A trace that tells of the error; `part` is what of it is most like the message."""

    __slots__ = ("about", "last", "members", "part", "path", "similarity")

    def __init__(self, row: tuple[str, str, str], part: str, similarity: float) -> None:
        self.path, self.last, fields = row
        self.members = dict(zip(MEMBERS, fields.split(MEMBER), strict=True))
        self.about: list[str] = []
        self.part, self.similarity = part, similarity


def find(con: Connection, text: str, *, about: str = "", outcome: str = "") -> list[Match]:
    """Return the traces that tell of the error in `text`, any text whatever, most similar first.

    Of those that are alike to two decimals, the one of the latest run comes first. `about`
    and `outcome` leave only the traces about that entity, with that outcome.
    """
    known = _Known(con)
    message = Message(lines(text), known.rare)
    found = []
    for n in _candidates(con, _vote(message, known), _allowed(con, about, outcome)):
        match = _compared(con, n, message, known)
        if match.similarity >= LEAST and outcome in ("", match.members["outcome"]):
            ids = con.execute("select id from about where trace = ? order by id", (n,))
            match.about = [row[0] for row in ids]
            found.append(match)
    found.sort(key=lambda match: match.path)
    found.sort(key=lambda match: (round(match.similarity, 2), match.last), reverse=True)
    return found


def shown(found: list[Match], limit: int) -> list[Match]:
    """Return the first `limit`, the last of them for the best cure where none would be among them.

    A cure is a trace that worked: what the reader of a failure wants to see beside it.
    """
    first, rest = found[:limit], found[limit:]
    cures = [match for match in rest if match.members["outcome"] == "worked"]
    if limit > 1 and cures and all(match.members["outcome"] != "worked" for match in first):
        return [*first[:-1], cures[0]]
    return first


def is_known(con: Connection, id_: str) -> bool:
    """Whether an entity or a trace has that id."""
    sql = "select 1 from ent where id = ?1 union all select 1 from about where id = ?1"
    return bool(con.execute(sql, (well(id_),)).fetchone())


class _Known:
    """How many traces have a clue, and which."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._often: dict[str, int] = {}
        self._all: dict[str, list[int]] | None = None
        self.size = con.execute("select count(*) from trace").fetchone()[0]
        if not con.execute("select words from meta").fetchone()[0]:
            self._all = _read(con)

    def rare(self, name: str) -> float:
        """Return the rarity of a clue."""
        if name not in self._often:
            self._often[name] = self._count(name)
        return rarity(self._often[name], self.size)

    def having(self, name: str) -> list[int]:
        """Return the numbers of the traces that have the clue, none where more than `CAP` do."""
        if self.common(name):
            return []
        if self._all is not None:
            return self._all.get(name, [])
        sql = "select rowid from clue where clue match ?"
        return [row[0] for row in self._con.execute(sql, (f'"{name}"',))]

    def common(self, name: str) -> bool:
        """Whether more than `CAP` traces have the clue."""
        self.rare(name)
        return self._often[name] > CAP

    def latest(self, names: list[str]) -> list[int]:
        """Return the latest traces that have all of the clues."""
        if self._all is not None:
            every = set.intersection(*(set(self._all[name]) for name in names))
            sql = "select n from trace order by last desc, path"
            return [row[0] for row in self._con.execute(sql) if row[0] in every][:_COMPARED]
        sql = (
            "select t.n from clue cross join trace t on t.n = clue.rowid where clue match ?"
            " order by t.last desc, t.path limit ?"
        )
        phrase = " ".join(f'"{name}"' for name in names)
        return [row[0] for row in self._con.execute(sql, (phrase, _COMPARED))]

    def _count(self, name: str) -> int:
        if self._all is not None:
            return min(len(self._all.get(name, ())), CAP + 1)
        sql = "select count(*) from (select 1 from clue where clue match ? limit ?)"
        return int(self._con.execute(sql, (f'"{name}"', CAP + 1)).fetchone()[0])


def _read(con: Connection) -> dict[str, list[int]]:
    """Return what full text would know: for each clue the numbers of its traces."""
    found: dict[str, list[int]] = {}
    for n, masked in con.execute("select n, masked from trace order by n"):
        for name in {key(clue) for clue in masked.replace(ITEM, " ").split()}:
            found.setdefault(name, []).append(n)
    return found


def _vote(message: Message, known: _Known) -> dict[int, float]:
    """Return for each trace the weight of the clues that it shares with the message.

    What very many have counts only where all of a line's is there, and for the latest.
    """
    votes: dict[int, float] = {}
    for name, own in _asked(message).items():
        for n in known.having(name):
            votes[n] = votes.get(n, 0.0) + own
    for at in message.focus():
        line = message.lines[at]
        common = [name for name in line if known.common(name)]
        told = sum([line[name] for name in common]) * message.kinds[at]
        for n in known.latest(common) if common else ():
            votes[n] = votes.get(n, 0.0) + told
    return votes


def _asked(message: Message) -> dict[str, float]:
    """Return the clues to look up, with weights: first those of the lines that speak for all."""
    order = message.focus() + list(range(len(message.lines)))[::-1]
    found: dict[str, float] = {}
    for at in dict.fromkeys(order):
        for name, own in message.lines[at].items():
            found[name] = max(own * message.kinds[at], found.get(name, 0.0))
        if len(found) >= _ASKED:
            break
    return found


def _candidates(con: Connection, votes: dict[int, float], allowed: set[int] | None) -> list[int]:
    """Return the traces worth comparing: the most voted for, of equals the latest."""
    if allowed is not None and len(allowed) <= _COMPARED:
        return sorted(allowed)
    if allowed is not None:
        votes = {n: vote for n, vote in votes.items() if n in allowed}
    ranked = sorted(votes, key=lambda n: -votes[n])
    if len(ranked) <= _COMPARED:
        return ranked
    edge = votes[ranked[_COMPARED - 1]]
    tied = [n for n in ranked if votes[n] >= edge]
    latest = "select n from trace order by last desc, path"
    place = {row[0]: at for at, row in enumerate(con.execute(latest))}
    return sorted(tied, key=lambda n: (-votes[n], place[n]))[:_COMPARED]


def _allowed(con: Connection, about: str, outcome: str) -> set[int] | None:
    """Return the traces that the filters leave, a few more for the outcome; None for all."""
    found = None
    if about:
        sql = f"select trace from about where id in ({KIN.format('?1')})"
        found = {row[0] for row in con.execute(sql, (about,))}
    if outcome:
        sql = "select n from trace where instr(fields, ?)"
        rows = {row[0] for row in con.execute(sql, (f"{MEMBER}{outcome}{MEMBER}",))}
        found = rows if found is None else found & rows
    return found


def _compared(con: Connection, n: int, message: Message, known: _Known) -> Match:
    sql = "select path, last, fields, masked from trace where n = ?"
    *row, masked = con.execute(sql, (n,)).fetchone()
    best, name = 0.0, ""
    for (part, worth), text in zip(PARTS, masked.split(ITEM), strict=True):
        if text and worth > best:
            said = [line.split(" ") for line in text.split("\n")]
            likeness = worth * alike(message, Message(said, known.rare))
            best, name = max((best, name), (likeness, part))
    return Match((row[0], row[1], row[2]), name, best)
