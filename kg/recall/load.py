"""Bringing changed files into the index, so that the result depends on the tree alone.

However the index came to a tree, in one go or by a thousand steps, it then answers the same:
what is derived from several files is derived anew for each entity that any of them names.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kg.recall import clues, derive, parse
from kg.recall.counts import Counts
from kg.recall.forms import bare, folded, squash
from kg.recall.schema import ITEM, MEMBER
from kg.recall.synonyms import groups
from kg.recall.words import named, terms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kg.recall.source import Change

# Of what points at an entity, so many are words of the entity itself: each edge is a word of
# its own subject, and a thing that everything depends on must not cost more with each.
INWARD = 64
# The keys that hold no statement but words to be found by.
BRINGING = ("term", "tag")
DOC = "names, terms, facts, edges, tried, past"

_terms = lru_cache(maxsize=20_000)(terms)  # keys, statuses and ids repeat themselves


class Loader:
    """Applies changes to one index inside a transaction of the caller's."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        row = con.execute("select words, grams, additions, dormant from meta").fetchone()
        self._words, self._grams = bool(row[0]), bool(row[1])
        self._additions, self._dormant = row[2], row[3]
        self._rules = derive.rules(self._additions)
        self._touched: set[str] = set()
        self._put_ids: set[str] = set()  # derived with all the rest already in place
        self._roles: dict[str, int] = {a: n for n, a in con.execute("select n, agents from roles")}
        self._reckon = False
        self._counts = Counts(con)

    def apply(self, changes: Iterable[Change], *, empty: bool = False) -> None:
        """Apply changes, which come in the order of `source.order`; `empty` for a new index."""
        if empty:
            self._put_synonyms("null")
            self._counts.one_by_one = not self._words
        for change in changes:
            if not empty:
                self._remove(change.path)
            if change.path == "store.json" and change.data is None:
                self._settings(1, "{}", "null", "null")
            if change.problem:
                self._fault(change.path, change.problem)
            elif change.data is not None:
                self._put(change.path, change.oid, change.data)
            if change.path.startswith("entities/") and (change.problem or change.data is not None):
                self._count(change.path, 1)
        for id_ in sorted(self._touched - self._put_ids) if not empty else ():
            self._settle(id_)
        self._counts.write()
        if self._reckon:
            floors = derive.floors(self._con, json.loads(self._dormant))
            pairs = [(floor, n) for n, floor in floors.items()]
            self._con.executemany("update roles set floor = ? where n = ?", pairs)

    def _put(self, path: str, oid: str, data: bytes) -> None:
        put = {
            "entities": self._put_entity,
            "edges": self._put_edge,
            "tried": self._put_trace,
            "raw": self._put_raw,
            "store.json": self._put_settings,
        }
        try:
            problems = put[path.partition("/")[0]](path, oid, data)
        except parse.UnreadableError as error:
            problems = [str(error)]
        for problem in problems:
            self._fault(path, problem)

    def _remove(self, path: str) -> None:
        gone = self._con.execute("delete from fault where path = ?", (path,)).rowcount
        kind = path.partition("/")[0]
        if kind == "entities":
            if self._remove_entity(path) or gone:
                self._count(path, -1)
        elif kind == "edges":
            self._remove_edge(path)
        elif kind == "tried":
            self._remove_trace(path)
        elif kind == "raw":
            gone = self._con.execute("delete from raw where path = ?", (path,)).rowcount
            self._reckon = self._reckon or bool(gone)

    def _insert(self, table: str, row: tuple[object, ...]) -> int:
        """Insert a row and return its number."""
        places = "".join([", ?"] * len(row))
        return self._con.execute(f"insert into {table} values (null{places})", row).lastrowid or 0

    def _fault(self, path: str, problem: str) -> None:
        self._con.execute("insert into fault values (?, ?)", (path, problem))

    # --- entities ---

    def _put_entity(self, path: str, oid: str, data: bytes) -> list[str]:
        ex = self._con.execute
        entity, problems = parse.entity(data)
        id_, facts = entity.id, entity.facts
        contested, roles, links, *away = self._derived(id_, facts, entity.said, entity.agents)
        row = (
            path, oid, entity.type, entity.name, MEMBER.join(entity.aliases),
            parse.joined(map(parse.flat, facts)), entity.first, entity.seen, contested,
            MEMBER.join(entity.said), MEMBER.join(sorted(entity.agents)), entity.sightings,
        )  # fmt: skip
        n = self._insert("page", row)
        last, strength = parse.run_key(entity.seen), entity.sightings + links
        ent = (
            n,
            id_,
            entity.archived,
            last,
            roles,
            strength,
            derive.importance(facts, self._rules),
        )
        ex("insert into ent values (?, ?, ?, ?, ?, ?, ?)", ent)
        self._put_keys(n, entity)
        self._put_marks(n, facts)
        names, *own, past = _said(entity)
        doc = (n, names, *own, *away, past)
        ex("insert into doc values (?, ?, ?, ?, ?, ?, ?)", doc)
        self._index(doc)
        twins = ex("select 1 from ent where id = ? and n <> ?", (id_, n)).fetchone()
        (self._touched if twins else self._put_ids).add(id_)
        return problems

    def _put_keys(self, n: int, entity: parse.Entity) -> None:
        whole = bare(entity.id)
        slug = entity.id.split("/")[-1]
        keys = [("id", entity.id), ("slug", slug), ("name", entity.name)]
        keys += [("alias", alias) for alias in entity.aliases]
        if slug == entity.name:
            del keys[1]
        for at, (kind, text) in enumerate(keys):
            plain = bare(text)
            # what the id holds anyway need not be looked for twice
            column = None if at and plain in whole else plain
            number = self._insert("key", (n, kind, folded(text), squash(text), column))
            if self._grams and column is not None:
                self._con.execute("insert into grams (rowid, bare) values (?, ?)", (number, column))
        self._counts.names(_names(entity.id, entity.name, entity.aliases), 1)

    def _put_marks(self, n: int, facts: Iterable[parse.Fact]) -> None:
        marks = {("tag", folded(f.v), n) for f in facts if f.k == "tag"}
        marks |= {("kind", derive.kind(f, self._rules), n) for f in facts}
        self._con.executemany("insert or ignore into mark values (?, ?, ?)", marks)

    def _remove_entity(self, path: str) -> bool:
        row = self._con.execute(
            "select e.n, e.id, p.name, p.aliases from page p join ent e on e.n = p.n"
            " where p.path = ?", (path,)
        ).fetchone()  # fmt: skip
        if row is None:
            return False
        n, id_, name, aliases = row
        self._touched.add(id_)
        self._unindex(n)
        self._counts.names(_names(id_, name, _split(aliases)), -1)
        if self._grams:
            self._con.execute(
                "insert into grams (grams, rowid, bare) select 'delete', n, bare from key "
                "where ent = ? and bare is not null", (n,),
            )  # fmt: skip
        tables = {"key": "ent", "mark": "ent", "ent": "n", "page": "n", "doc": "n"}
        for table, column in tables.items():
            self._con.execute(f"delete from {table} where {column} = ?", (n,))
        return True

    def _settle(self, id_: str) -> None:
        """Derive anew what several files say of an entity."""
        ex = self._con.execute
        sql = (
            "select n, facts, said, p.agents, sightings from ent join page p using (n) where id = ?"
        )
        for n, facts, said, agents, sightings in ex(sql, (id_,)).fetchall():
            contested, roles, links, *texts = self._derived(
                id_, held := parse.facts_of(facts), _split(said), frozenset(_split(agents))
            )
            ex("update page set contested = ? where n = ?", (contested, n))
            row = (roles, sightings + links, derive.importance(held, self._rules), n)
            ex("update ent set roles = ?, strength = ?, importance = ? where n = ?", row)
            ex("delete from mark where ent = ?", (n,))
            self._put_marks(n, held)
            self._unindex(n)
            ex("update doc set edges = ?, tried = ? where n = ?", (*texts, n))
            self._index(ex("select * from doc where n = ?", (n,)).fetchone())

    def _derived(
        self,
        id_: str,
        facts: tuple[parse.Fact, ...],
        said: tuple[str, ...],
        agents: frozenset[str],
    ) -> tuple[str, int, int, str, str]:
        """Return what other files have a say in: contested, roles, links, edges and tried."""
        ex = self._con.execute
        outward = "select p, o, claims from edge where s = ? order by p, o, path"
        away = ex(outward, (id_,)).fetchall()
        inward = ex(
            "select p, s, claims from edge where o = ? order by p, s, path limit ?", (id_, INWARD)
        ).fetchall()
        claimed = [(p, other, parse.claims_of(claims)) for p, other, claims in away + inward]
        seen = agents.union(parse.agents_of([c.src for _, _, claims in claimed for c in claims]))
        found = derive.contested(facts, claimed[: len(away)], said, self._rules)
        linked = [(p, other) for p, other, claims in claimed if claims]
        relations = [w for p, o in linked for w in (*_terms(p), *_terms(o.partition("/")[2]))]
        tried = ex(
            "select t.words from about join trace t on t.n = trace where id = ? order by path",
            (id_,),
        ).fetchall()
        return (
            derive.contested_column(found),
            self._role_set(seen),
            len(linked),
            " ".join(relations),
            " ".join([row[0] for row in tried]),
        )

    def _index(self, doc: tuple[object, ...]) -> None:
        self._counts.document(doc, 1)
        if self._words:  # by values: selecting them into full text takes four times as long
            sql = f"insert into words (rowid, {DOC}) values (?, ?, ?, ?, ?, ?, ?)"
            self._con.execute(sql, doc)

    def _unindex(self, n: int) -> None:
        doc = self._con.execute("select * from doc where n = ?", (n,)).fetchone()
        self._counts.document(doc, -1)
        if self._words:
            self._con.execute(
                f"insert into words (words, rowid, {DOC}) select 'delete', n, {DOC} from doc"
                " where n = ?", (n,),
            )  # fmt: skip

    def _role_set(self, agents: frozenset[str]) -> int:
        key = MEMBER.join(sorted(agents))
        if key not in self._roles:
            self._roles[key] = self._insert("roles", (key, ""))
            self._reckon = True
        return self._roles[key]

    def _count(self, path: str, by: int) -> None:
        self._con.execute(
            "insert into folder values (?, ?) on conflict (path) do update set files = files + ?",
            (path.rpartition("/")[0], by, by),
        )

    # --- edges, traces, raw/ and store.json ---

    def _put_edge(self, path: str, _oid: str, data: bytes) -> list[str]:
        edge, problems = parse.edge(data)
        self._insert("edge", (path, *edge[:3], parse.joined(edge.claims), *edge[4:]))
        self._touched.update((edge.subject, edge.object))
        return problems

    def _put_trace(self, path: str, _oid: str, data: bytes) -> list[str]:
        trace, problems = parse.trace(data)
        text = " ".join(terms(f"{trace.tried} {trace.outcome} {trace.because} {trace.error}"))
        said = (trace.error, trace.tried, trace.because, parse.prose(data))  # traces.PARTS
        masked = ITEM.join(map(clues.masked, said))
        row = (path, parse.run_key(trace.run), MEMBER.join(trace[1:]), text, masked)
        n = self._insert("trace", row)
        if self._words:
            self._con.execute("insert into clue (rowid, masked) values (?, ?)", (n, masked))
        pairs = [(id_, n) for id_ in trace.about]
        self._con.executemany("insert or ignore into about values (?, ?)", pairs)
        self._touched.update(trace.about)
        return problems

    def _remove_edge(self, path: str) -> None:
        for ends in self._con.execute("select s, o from edge where path = ?", (path,)).fetchall():
            self._touched.update(ends)
            self._con.execute("delete from edge where path = ?", (path,))

    def _remove_trace(self, path: str) -> None:
        ex = self._con.execute
        for row in ex("select n from trace where path = ?", (path,)).fetchall():
            self._touched.update(r[0] for r in ex("select id from about where trace = ?", row))
            ex("delete from about where trace = ?", row)
            if self._words:
                ex("insert into clue (clue, rowid, masked) "
                   "select 'delete', n, masked from trace where n = ?", row)  # fmt: skip
            ex("delete from trace where n = ?", row)

    def _put_raw(self, path: str, _oid: str, _data: bytes) -> list[str]:
        last, agent = parse.raw_name(path)
        if last:
            self._con.execute("insert or replace into raw values (?, ?, ?)", (path, last, agent))
            self._reckon = True
        return []

    def _put_settings(self, _path: str, _oid: str, data: bytes) -> list[str]:
        try:
            raw = parse.store_json(data)
        except parse.UnreadableError:
            self._settings(1, "{}", "null", "null")
            raise
        version, policies = raw.get("kg_format"), raw.get("policies")
        additions: Any = raw.get("ontology")
        dormant = policies.get("dormant") if isinstance(policies, dict) else None
        known = version if isinstance(version, int) and not isinstance(version, bool) else None
        said = (json.dumps(part) for part in (additions or {}, dormant, raw.get("synonyms")))
        self._settings(known or 0, *said)
        return ["has no kg_format"] if known is None else []

    def _settings(self, version: int, additions: str, dormant: str, synonyms: str) -> None:
        self._con.execute(
            "update meta set format = ?, additions = ?, dormant = ?, synonyms = ?",
            (min(version, 2**53), additions, dormant, synonyms),
        )
        self._put_synonyms(synonyms)
        self._reckon = self._reckon or dormant != self._dormant
        if additions != self._additions:
            self._rules = derive.rules(additions)
            self._touched.update(row[0] for row in self._con.execute("select id from ent"))
        self._additions, self._dormant = additions, dormant

    def _put_synonyms(self, column: str) -> None:
        """Note for each word of the table, as a search has it, what means the same."""
        self._con.execute("delete from synonym")
        for group in groups(column):
            forms = [" ".join(terms(text)) for text in group]
            pairs = [(a, b) for a in forms for b in forms if a and b and a != b]
            self._con.executemany("insert or ignore into synonym values (?, ?)", pairs)


def _split(column: str) -> tuple[str, ...]:
    return tuple(column.split(MEMBER)) if column else ()


def _said(entity: parse.Entity) -> tuple[str, str, str, str]:
    """Return the words of names, of terms and tags, of other facts, and of those that are over."""
    names = _names(entity.id, entity.name, entity.aliases)
    told: list[str] = []
    facts: list[str] = []
    past: list[str] = []
    for fact in entity.facts:
        if fact.claim.until and derive.over(fact, entity.seen):
            past += _terms(fact.v)
        elif fact.k in BRINGING:
            told += _terms(fact.v)
        elif fact.k != "also-known-as":
            facts += _terms(fact.k) + _terms(fact.v)
    found = ([word for name in names for word in named(name)], told, facts, past)
    return tuple(map(" ".join, found))  # type: ignore[return-value]


def _names(id_: str, name: str, aliases: Iterable[str]) -> list[str]:
    """Return what something is called, each once however its parts are joined."""
    slug = id_.rpartition("/")[2]
    if slug == name and not aliases:
        return [slug]
    found = {squash(text): text for text in reversed((slug, name, *aliases))}
    return list(reversed(found.values()))
