"""The tables of the recall index, and what this Python's SQLite can do.

The index is derived: whoever finds it wanting deletes it. Lists inside a column are joined
by U+001F (members) and U+001E (items), which no text of a store may hold, so that the hot
path takes them apart without a parser.
"""

from __future__ import annotations

import sqlite3

from kg.recall.engine import VERSION
from kg.recall.show import ITEM, MEMBER

__all__ = ["ITEM", "MEMBER", "create", "has_grams", "has_words", "usable"]

# ent is narrow on purpose: ranking joins a thousand of its rows (GIT.md, 8). `last` is the
# sortable form of the run, "" where unknown; a role set's `floor` is the latest run that an
# entity may have been missed since before it counts as dormant. `strength` counts what keeps
# an entity fresh: sightings and edges. `doc` holds the words it is ranked by, `past` those of
# facts whose time is over; `vocab` the words of names, also backwards, for words mistyped;
# `spread` how many entities have a word (full text would have to count them);
# `mark` what entities are filtered by; `used` how often one was an answer on this machine.
# `cluster` has each member of every cluster of two or more, with its canonical and `by` whom it
# is linked; disputed ones are each their own. The rows of the canonical in `doc`, `mark` and
# `ent` (but for `last` and `roles`) and its `contested` are those of the whole cluster.
# `dispute` has for an id the pairs that people tell apart though they are linked, or judge
# differently.
TABLES = """
create table meta (schema int, prefix text, tree text, head text, format int, words int,
                   grams int, ontology text, additions text, dormant text, synonyms text);
create table ent (n integer primary key, id text, archived int, last text, roles int,
                  strength int, importance int);
create index ent_id on ent (id);
create table page (n integer primary key, path text, oid text, type text, name text,
                   aliases text, facts text, first text, seen text, contested text,
                   said text, agents text, sightings int, archived int);
create unique index page_path on page (path);
create table key (n integer primary key, ent int, kind text, folded text, squash text, bare text);
create index key_squash on key (squash);
create index key_ent on key (ent);
create table edge (n integer primary key, path text, s text, p text, o text, claims text,
                   judgements text);
create unique index edge_path on edge (path);
create index edge_s on edge (s, p, o);
create index edge_o on edge (o, p, s);
create table cluster (id text primary key, canonical text, disputed int, by text) without rowid;
create index cluster_canonical on cluster (canonical, id);
create table dispute (id text, one text, other text, verdict text, by text,
                      primary key (id, one, other)) without rowid;
create table trace (n integer primary key, path text, last text, fields text, words text,
                    masked text);
create unique index trace_path on trace (path);
create table about (id text, trace int, primary key (id, trace)) without rowid;
create index about_trace on about (trace);
create table raw (path text primary key, last text, agent text) without rowid;
create index raw_agent on raw (agent, last);
create index raw_last on raw (last, agent);
create table roles (n integer primary key, agents text unique, floor text);
create table folder (path text primary key, files int) without rowid;
create table fault (path text, problem text);
create index fault_path on fault (path);
create table doc (n integer primary key, names text, terms text, facts text, edges text,
                  tried text, past text);
create table mark (kind text, value text, ent int, primary key (kind, value, ent)) without rowid;
create index mark_ent on mark (ent);
create table vocab (word text primary key, back text, uses int) without rowid;
create index vocab_back on vocab (back);
create table synonym (word text, other text, primary key (word, other)) without rowid;
create table spread (word text primary key, docs int) without rowid;
create table used (id text primary key, times int) without rowid;
"""
# The words are stems already (kg.recall.words); "_" stands in versions only.
WORDS = """
create virtual table words using fts5 (names, terms, facts, edges, tried, past, content='doc',
    content_rowid='n',
    tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co' tokenchars '_'");
create virtual table clue using fts5 (masked, content='trace', content_rowid='n', detail=none,
    columnsize=0, tokenize="ascii tokenchars '_.#-'");
"""
GRAMS = """
create view plain as select n, bare from key where bare is not null;
create virtual table grams using fts5 (bare, content='plain', content_rowid='n',
    tokenize='trigram');
"""


def create(con: sqlite3.Connection, prefix: str) -> None:
    """Create the tables of an empty index, with full text where SQLite has it."""
    words, grams = has_words(con), has_grams(con)
    con.executescript(TABLES + (WORDS if words else "") + (GRAMS if grams else ""))
    con.execute(
        "insert into meta values (?, ?, '', '', 1, ?, ?, '', '{}', 'null', 'null')",
        (VERSION, prefix, int(words), int(grams)),
    )


def usable(con: sqlite3.Connection, prefix: str) -> bool:
    """Whether the file is an index of this version that this Python can read and write."""
    try:
        row = con.execute("select schema, prefix, words, grams from meta").fetchone()
    except sqlite3.Error:
        return False
    return bool(row == (VERSION, prefix, int(has_words(con)), int(has_grams(con))))


def has_words(con: sqlite3.Connection) -> bool:
    """Whether SQLite was built with FTS5 (some Python builds of 2025 were not)."""
    return _makes(con, "fts5 (x)")


def has_grams(con: sqlite3.Connection) -> bool:
    """Whether it has the trigram tokenizer (SQLite 3.34)."""
    return _makes(con, "fts5 (x, tokenize='trigram')")


def _makes(con: sqlite3.Connection, table: str) -> bool:
    try:
        con.execute(f"create virtual table temp.probe using {table}")
        con.execute("drop table temp.probe")
    except sqlite3.OperationalError:
        return False
    return True
