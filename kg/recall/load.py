"""Bringing changed files into the index, so that the result depends on the tree alone.

However the index came to a tree, in one go or by a thousand steps, it then answers the same:
what is derived from several files is derived anew for each entity that any of them names.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kg.recall import clues, derive, grouped, parse
from kg.recall.counts import Counts
from kg.recall.forms import bare, folded, squash
from kg.recall.gathered import gathered, held, names, split
from kg.recall.schema import ITEM, MEMBER
from kg.recall.synonyms import groups
from kg.recall.words import terms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kg.recall.source import Change

DOC = "names, terms, facts, edges, tried, past"


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
        for id_ in sorted(self._unsettled(empty=empty)):
            self._settle(id_)
        self._counts.write()
        if self._reckon:
            floors = derive.floors(self._con, json.loads(self._dormant))
            pairs = [(floor, n) for n, floor in floors.items()]
            self._con.executemany("update roles set floor = ? where n = ?", pairs)

    def _unsettled(self, *, empty: bool) -> set[str]:
        """Bring the clusters up to date; return of whom other files say something new."""
        if empty:
            return grouped.regroup(self._con, grouped.judged(self._con))
        changed = self._touched | self._put_ids
        moved = grouped.regroup(self._con, changed)
        heads = grouped.canonicals(self._con, changed)
        return (self._touched - self._put_ids) | moved | heads

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
        entity, problems = parse.entity(data)
        found = gathered(self._con, [entity], self._rules)
        row = (
            path, oid, entity.type, entity.name, MEMBER.join(entity.aliases),
            parse.joined(map(parse.flat, entity.facts)), entity.first, entity.seen,
            found.contested, MEMBER.join(entity.said), MEMBER.join(sorted(entity.agents)),
            entity.sightings, entity.archived,
        )  # fmt: skip
        n = self._insert("page", row)
        roles = self._role_set(found.agents)
        last = parse.run_key(entity.seen)
        ent = (n, entity.id, found.archived, last, roles, found.strength, found.importance)
        self._con.execute("insert into ent values (?, ?, ?, ?, ?, ?, ?)", ent)
        self._put_keys(n, entity)
        self._put_marks(n, entity.facts)
        self._put_doc((n, *found.doc))
        twins = "select 1 from ent where id = ? and n <> ?"
        alone = self._con.execute(twins, (entity.id, n)).fetchone() is None
        (self._put_ids if alone else self._touched).add(entity.id)
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
        self._counts.names(names(entity.id, entity.name, entity.aliases), 1)

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
        self._counts.names(names(id_, name, split(aliases)), -1)
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
        """Derive anew what several files say of an entity, or of a cluster by its canonical."""
        ex = self._con.execute
        _, *others = grouped.members(self._con, id_)
        rest = [entity for other in others for _, entity in held(self._con, other)]
        for n, entity in held(self._con, id_):
            found = gathered(self._con, [entity, *rest], self._rules)
            ex("update page set contested = ? where n = ?", (found.contested, n))
            roles = self._role_set(found.agents)
            row = (found.archived, roles, found.strength, found.importance, n)
            sql = "update ent set archived = ?, roles = ?, strength = ?, importance = ? where n = ?"
            ex(sql, row)
            ex("delete from mark where ent = ?", (n,))
            self._put_marks(n, [fact for one in (entity, *rest) for fact in one.facts])
            self._unindex(n)
            ex("delete from doc where n = ?", (n,))
            self._put_doc((n, *found.doc))

    def _put_doc(self, doc: tuple[object, ...]) -> None:
        self._con.execute("insert into doc values (?, ?, ?, ?, ?, ?, ?)", doc)
        self._index(doc)

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
        said = parse.joined(edge.claims), parse.joined(edge.judgements)
        self._insert("edge", (path, *edge[:3], *said))
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
