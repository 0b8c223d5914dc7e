"""The index of raw/: every line that some run saw, and every text as a whole.

A file of its own beside the recall index, made when somebody first asks for texts, because
what was seen is far more than what is known, and most questions need nothing of it.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from kg.recall import schema
from kg.recall.dates import day_of, marks, spoken
from kg.recall.derived import Derived
from kg.recall.engine import index_file
from kg.recall.parse import clean, raw_name
from kg.recall.source import Git, folder_changes
from kg.recall.stem import stem
from kg.recall.words import named, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kg.place import Place
    from kg.recall.source import Change

VERSION = 2  # of these tables and of what goes into them
MOST = 32 << 20  # bytes of a text that are read; raw/ takes 20 MB (kg.graph.rawtext)

# `line.n` counts on within a file, without gaps: the lines beside one have the next numbers.
# The columns of `lines`: what was said, by whom, and the words of the days it was said on or
# speaks of. Both full texts hold stems and are contentless: the words are in `line`.
TABLES = """
create table meta (version int, prefix text, tree text, head text);
create table file (n integer primary key, path text unique, run text, agent text, at text,
                   topic text, talk int);
create table line (n integer primary key, file int, no int, at text, text text);
create index line_file on line (file, n);
create index file_at on file (at);
create table fault (path text, problem text);
create virtual table lines using fts5 (said, who, days, content='', tokenize="unicode61
    remove_diacritics 0 categories 'L* M* N* Co' tokenchars '_'");
create virtual table files using fts5 (said, who, days, content='', tokenize="unicode61
    remove_diacritics 0 categories 'L* M* N* Co' tokenchars '_'");
""".replace('"unicode61\n    ', '"unicode61 ')
_HEADER = re.compile(r"# conversation(?: (\d{4}-\d\d-\d\d\S*))?(?: (.*))?")
_TURN = re.compile(r"(?:\[(\d{4}-\d\d-\d\d[^\]\s]*)\] )?([^:\s][^:]{0,63}): (.*)", re.DOTALL)


class Line(NamedTuple):
    """One line: its number, when it was said ("" for when its text was), by whom, and what."""

    no: int
    at: str
    who: str
    said: str
    text: str


class Text(NamedTuple):
    """One file of raw/; `talk` where it is a conversation."""

    run: str
    agent: str
    at: str
    topic: str
    talk: bool
    lines: list[Line]


class RawIndex(Derived):
    """What raw/ says at one commit, as `Derived` has it; without FTS5 there is none."""

    optional = True

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return an empty one for a store."""
        file = index_file(place)
        folder, _, name = file.rpartition("/")
        below = f"{place.prefix}/raw" if place.prefix else "raw"
        return cls(place, f"{folder}/raw{name.removeprefix('recall')}" if file else "", below)

    def _create(self, con: sqlite3.Connection) -> None:
        con.executescript(TABLES)
        con.execute("insert into meta values (?, ?, '', '')", (VERSION, self.place.prefix))

    def _usable(self, con: sqlite3.Connection) -> bool:
        try:
            row = con.execute("select version, prefix from meta").fetchone()
        except sqlite3.Error:
            return False
        return bool(row == (VERSION, self.place.prefix) and schema.has_words(con))

    def _apply(self, con: sqlite3.Connection, changes: Iterable[Change], *, empty: bool) -> None:
        for change in changes:
            if not empty:
                _remove(con, change.path)
            if change.problem:
                con.execute("insert into fault values (?, ?)", (change.path, change.problem))
            elif change.data is not None:
                _put(con, change.path, read(change.path, change.data))

    def _all(self, git: Git, tree: str) -> Iterable[Change]:
        return git.changes(git.entries(tree, "raw/"), texts=True)

    def _changed(self, git: Git, old: str, tree: str) -> Iterable[Change]:
        return git.changes(git.changed(old, tree, "raw/"), texts=True)

    def _in_folder(self) -> Iterable[Change]:
        folder = self.place.folder
        changes = folder_changes(folder, texts=MOST) if folder else ()
        return (change for change in changes if change.path.startswith("raw/"))

    def _git(self) -> Git:
        return Git(self.place.gitdir, MOST)


def read(path: str, data: bytes) -> Text:
    """Return what a file of raw/ says, whatever its bytes."""
    last, agent = raw_name(path)
    run = last[21:]
    at = _time_of(run)
    rows = data.decode("utf-8", "replace").split("\n")
    header = _HEADER.fullmatch(rows[0])
    topic = ""
    if header:
        at, topic = header[1] or at, clean(header[2] or "")
    talk = header is not None
    numbered = enumerate(rows[1:] if talk else rows, start=2 if talk else 1)
    lines = [_line(no, clean(row), talk=talk) for no, row in numbered if row.strip()]
    return Text(run, agent, at, topic, talk, lines)


def _line(no: int, row: str, *, talk: bool) -> Line:
    turn = _TURN.fullmatch(row) if talk else None
    if turn is None:
        return Line(no, "", "", row, row)
    return Line(no, turn[1] or "", turn[2], turn[3], row)


def _time_of(run: str) -> str:
    """Return when a run was, as a time of RFC 3339, "" where it does not say."""
    try:
        second = int(run[1:].partition(".")[0])
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _put(con: sqlite3.Connection, path: str, text: Text) -> None:
    row = (path, text.run, text.agent, text.at, text.topic, text.talk)
    file = con.execute("insert into file values (null, ?, ?, ?, ?, ?, ?)", row).lastrowid or 0
    first = con.execute("select coalesce(max(n), 0) + 1 from line").fetchone()[0]
    rows = [
        (n, file, line.no, line.at, line.text) for n, line in enumerate(text.lines, start=first)
    ]
    con.executemany("insert into line values (?, ?, ?, ?, ?)", rows)
    _index(con, file, first, text, gone=False)


def _remove(con: sqlite3.Connection, path: str) -> None:
    """Take a file out again; contentless full text wants to be told the words once more."""
    con.execute("delete from fault where path = ?", (path,))
    sql = "select n, run, agent, at, topic, talk from file where path = ?"
    row = con.execute(sql, (path,)).fetchone()
    if row is None:
        return
    file, run, agent, at, topic, talk = row
    sql = "select n, no, text from line where file = ? order by n"
    kept = con.execute(sql, (file,)).fetchall()
    lines = [_line(no, text, talk=bool(talk)) for _, no, text in kept]
    first = kept[0][0] if kept else 0
    _index(con, file, first, Text(run, agent, at, topic, bool(talk), lines), gone=True)
    con.execute("delete from line where file = ?", (file,))
    con.execute("delete from file where n = ?", (file,))


def _index(con: sqlite3.Connection, file: int, first: int, text: Text, *, gone: bool) -> None:
    """Put the words of a text into full text, or with `gone` take them out."""
    command, value = ("{0}, ", "'delete', ") if gone else ("", "")
    sql = f"insert into {{0}} ({command}rowid, said, who, days) values ({value}?, ?, ?, ?)"
    columns: list[list[str]] = [[" ".join(terms(text.topic))], [], []]
    for n, words in enumerate(_words(text), start=first):
        con.execute(sql.format("lines"), (n, *words))
        for column, said in zip(columns, words, strict=True):
            column.append(said)
    con.execute(sql.format("files"), (file, *(" ".join(column) for column in columns)))


def _words(text: Text) -> Iterator[tuple[str, str, str]]:
    """Yield for each line the words of what was said, by whom, and of its days."""
    for line in text.lines:
        day = day_of(line.at or text.at)
        days = marks(day) if day else []
        days += [word for word in spoken(line.said, day) if word not in days]
        yield " ".join(terms(line.said)), " ".join(named(line.who)), " ".join(map(stem, days))
