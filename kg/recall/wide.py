"""Answers from texts, from texts and knowledge in one list, and to many queries at once.

What one query gets is the same whether it is asked alone or among many.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from kg import place as places
from kg.errors import NotFoundError, StoreError
from kg.recall import asking, rawrank, schema
from kg.recall.document import NAME, document, dumped, within
from kg.recall.index import Index
from kg.recall.match import Found
from kg.recall.only import KIN
from kg.recall.parse import claims_of, facts_of
from kg.recall.rawindex import RawIndex
from kg.recall.show import block, markdown
from kg.recall.tokens import tokens
from kg.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.place import Place
    from kg.recall.derived import Derived
    from kg.recall.only import Row
    from kg.recall.options import Options
    from kg.recall.rawrank import Hit, Hits

SHOWN = 2000  # characters of a line; the rest is counted
# Reciprocal rank fusion's constant, from Cormack, Clarke and Buettcher (SIGIR 2009): the scores
# of entities and of lines have no common measure, their ranks do.
_FUSED = 60
_NONE = rawrank.Hits([], 0)
T = TypeVar("T")


class Both(NamedTuple):
    """What one query found: entities, lines, and the order of both in one list."""

    found: Found
    hits: Hits
    order: list[tuple[str, int]]

    @property
    def unranked(self) -> int:
        """How many were found of either kind and had no room in the order of both."""
        return len(self.found.rows) + len(self.hits.hits) - len(self.order)


def answer(place: Place, options: Options) -> int:
    """Answer on stdout and stderr; return the exit code."""
    with Wide(place, options) as wide:
        if options.queries:
            return _many(wide, options)
        text, found, talk = wide.told(options.query, partial(_single, wide))
        for line in talk:
            asking.say(line)
        asking.write(text)
    return asking.FOUND if found else asking.NOTHING


def _single(wide: Wide, both: Both) -> tuple[str, bool, list[str]]:
    """Return an answer as the options want it, whether there is one, and what to tell besides."""
    options, talk = wide.options, wide.warnings()
    if not both.order:
        what = "seen" if options.raw else "known or seen"
        talk.append(f'nothing {what} about "{options.query[:200]}"')
    as_json = options.format == "json"
    text = dumped(wide.document(options.query, both)) + "\n" if as_json else wide.text(both)
    return text, bool(both.order), talk


class Wide:
    """The indexes that the options ask for, opened when they are needed. Use it in a `with`."""

    def __init__(self, place: Place, options: Options) -> None:
        self.place, self.options = place, options
        self._stack = ExitStack()
        self._index: Index | None = None
        self._texts: RawIndex | None = None
        self._among: set[str] | None = None

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close what was opened."""
        self._stack.close()

    @property
    def index(self) -> Index:
        """What is known."""
        if self._index is None:
            self._index = self._stack.enter_context(Index.fresh(self.place))
        return self._index

    @property
    def texts(self) -> RawIndex:
        """What was seen.

        Raises:
            StoreError: this Python's SQLite cannot search texts.
        """
        if self._texts is None:
            if not _searchable():
                raise StoreError(
                    "this Python's SQLite has no FTS5: use git grep, or another Python"
                )
            self._texts = self._stack.enter_context(RawIndex.fresh(self.place))
        return self._texts

    def told(self, query: str, tell: Callable[[Both], T]) -> T:
        """Return what `tell` makes of what a query finds, both read from one commit's snapshot.

        A damaged index is made anew, once.

        Raises:
            UsageError: --about names no entity.
        """
        self._follow()
        try:
            return self._told(query, tell)
        except (sqlite3.DatabaseError, TypeError):  # damage shows itself only where it is read
            for index in self._opened():
                index.rebuild()
            return self._told(query, tell)

    def _told(self, query: str, tell: Callable[[Both], T]) -> T:
        with ExitStack() as stack:
            for index in self._needed():
                index.connection.execute("begin")
                stack.callback(_ended, index.connection)
            return tell(self._ask(query))

    def _needed(self) -> list[Derived]:
        """Return the indexes that the options ask for, opened."""
        options = self.options
        needed: list[Derived] = []
        if options.about or not options.raw:
            needed.append(self.index)
        if options.raw or options.with_raw:
            needed.append(self.texts)
        return needed

    def _opened(self) -> list[Derived]:
        return [index for index in (self._index, self._texts) if index is not None]

    def _follow(self) -> None:
        """Bring what is open already to what HEAD says now, for a program that asks on and on."""
        head = places.head(self.place.gitdir) if self.place.gitdir else ""
        for index in self._opened():
            if head and index.head and index.head != head:
                index.refresh()
                self._among = None

    def _ask(self, query: str) -> Both:
        options = self.options
        options.query = query
        found, hits = Found((), options.limit), _NONE
        if not options.raw:
            found = asking.ask(self.index.connection, options)
        if options.raw or options.with_raw:
            hits = rawrank.find(
                self.texts.connection, query, options.limit,
                group=bool(options.group), among=self._paths(),
            )  # fmt: skip
        return Both(found, hits, _fused(len(found.rows), len(hits.hits))[: options.limit])

    def warnings(self) -> list[str]:
        """Return what of the store could not be read."""
        said = [*self._index.notes, *asking.warnings(self._index.connection)] if self._index else []
        if self._texts:
            said += self._texts.notes
            sql = "select path, problem from fault order by path limit 5"
            rows = self._texts.connection.execute(sql).fetchall()
            said += [f"{path} {problem}: skipped, see kg fsck" for path, problem in rows]
        return list(dict.fromkeys(said))

    def document(self, query: str, both: Both, **more: object) -> dict[str, Any]:
        """Return an answer as values that JSON has."""
        options, index = self.options, self._index
        entities, hits = _kept(both)
        if options.raw or index is None:
            members: dict[str, Any] = {
                "query": query,
                "store": self.place.folder or self.place.gitdir,
                "head": self.texts.head,
                "entities": [],
                "over_budget": 0,
                "more": 0,
                "more_is_least": False,
                "dormant_left_out": 0,
                "warnings": self.warnings(),
            }
        else:
            found = both.found.of(entities)
            members = document(
                index.connection, self.place, options,
                head=index.head, found=found, warnings=self.warnings(),
            )[NAME]  # fmt: skip
        if options.raw or options.with_raw:
            members["hits"] = within(options.budget, (_hit(hit, options) for hit in hits))
            members["over_budget"] += len(hits) - len(members["hits"])
            members["more"] += both.hits.more + len(both.hits.hits) - len(hits)
            members["more_is_least"] |= bool(both.hits.more)
        if options.with_raw:
            rows = both.found.rows
            members["results"] = [
                {"kind": kind, "id": rows[at][1]} if kind == "entity"
                else {"kind": kind, "src": _src(both.hits.hits[at])}
                for kind, at in both.order
            ]  # fmt: skip
        return {NAME: {**more, **members}}

    def text(self, both: Both) -> str:
        """Return an answer as text: whole entities and hits while the budget lasts."""
        blocks: list[str] = []
        left = self.options.budget
        for kind, at in both.order:
            if kind == "entity":
                text = self._entity(both.found, both.found.rows[at])
            else:
                text = _block(both.hits.hits[at], self.options)
            left -= tokens(text)
            if blocks and self.options.budget and left < 0:
                break
            blocks.append(text)
        cut = len(both.order) - len(blocks)
        last = f"{cut} over the budget: use --budget N, or 0 for all\n" if cut else ""
        more = both.found.more + both.hits.more + both.unranked
        last += f"{more}+ more: narrow the query or use --limit N\n" if more else ""
        return "\n".join([*blocks, last] if last else blocks)

    def _entity(self, found: Found, row: Row) -> str:
        return block(self.index.connection, row, found.parts.get(row[0]), self.options)

    def _paths(self) -> set[str] | None:
        """Return the texts that say something of the entity --about names, None without it.

        Raises:
            NotFoundError: there is no such entity.
        """
        id_ = self.options.about
        if id_ and self._among is None:
            ask = self.index.connection.execute
            kin = KIN.format("?1")
            sql = f"select facts from page join ent using (n) where id in ({kin})"
            facts = ask(sql, (id_,)).fetchall()
            if not facts:
                raise NotFoundError(f"--about: there is no entity {id_}: see kg ls")
            sql = f"select claims from edge where s in ({kin}) or o in ({kin})"
            edges = ask(sql, (id_,)).fetchall()
            srcs = [fact.claim.src for row in facts for fact in facts_of(row[0])]
            srcs += [claim.src for row in edges for claim in claims_of(row[0])]
            self._among = {src.partition("#")[0] for src in srcs}
        return self._among


def _many(wide: Wide, options: Options) -> int:
    """Answer a file of queries, one JSON line each, as they come."""
    try:
        source = open(0 if options.queries == "-" else options.queries, "rb", closefd=True)  # noqa: SIM115
    except OSError as error:
        asking.say(
            f"{options.queries} cannot be read: {error.strerror}: give a file, or - for stdin"
        )
        return asking.USAGE
    with source:
        for row in source:
            asking.write(dumped(_one(wide, row)) + "\n")
            sys.stdout.flush()
    for line in wide.warnings():
        asking.say(line)
    return asking.FOUND


def _one(wide: Wide, row: bytes) -> dict[str, Any]:
    """Return the answer to one line of a file of queries."""
    text = row.decode("utf-8", "replace").rstrip("\r\n")
    said: dict[str, Any] = {}
    try:
        query = text
        if text.lstrip().startswith("{"):
            value = json.loads(text)
            said = {"id": value["id"]} if "id" in value else {}
            query = value["query"] if isinstance(value.get("query"), str) else ""
            if not query:
                raise ValueError("has no query: write a text, or an object with a query")
    except (ValueError, RecursionError) as error:
        return {NAME: {**said, "query": text, "error": str(error), "entities": [], "hits": []}}
    found = wide.told(query, lambda both: wide.document(query, both, **said))
    found[NAME].setdefault("hits", [])
    return found


def _ended(con: sqlite3.Connection) -> None:
    """Let go of a snapshot, also of a connection that was closed meanwhile."""
    with suppress(sqlite3.Error):
        con.execute("rollback")


def _searchable() -> bool:
    con = sqlite3.connect(":memory:")
    try:
        return schema.has_words(con)
    finally:
        con.close()


def _fused(entities: int, hits: int) -> list[tuple[str, int]]:
    """Return the order of two ranked lists in one, by reciprocal rank."""
    ranks = [("entity", at) for at in range(entities)] + [("raw", at) for at in range(hits)]
    return sorted(ranks, key=lambda rank: (-1 / (_FUSED + rank[1]), rank[0]))


def _kept(both: Both) -> tuple[list[int], list[Hit]]:
    """Return the entities (their places) and hits that are in the order of both."""
    entities = [at for kind, at in both.order if kind == "entity"]
    return entities, [both.hits.hits[at] for kind, at in both.order if kind == "raw"]


def _src(hit: Hit) -> str:
    return f"{hit.path}#L{hit.no}" if hit.no else hit.path


def _hit(hit: Hit, options: Options) -> dict[str, Any]:
    """Return a hit as values that JSON has."""
    known = {"run": hit.run, "agent": hit.agent, "at": hit.at}
    return {
        "src": _src(hit),
        "text": _cut(hit.text),
        "score": round(hit.score, 4),
        **{name: value for name, value in known.items() if value},
        **({"parts": {n: round(v, 4) for n, v in hit.parts.items()}} if options.explain else {}),
    }


def _block(hit: Hit, options: Options) -> str:
    """Return a hit as text: where it stands, and the line as data."""
    known = ", ".join(part for part in (f"{hit.score:.2f}", hit.at, hit.agent) if part)
    head = f"{_src(hit)}  ({known})"
    lines = [f"  {one_line(_cut(hit.text))}"]
    if options.explain:
        parts = " + ".join(f"{name} {value:.2f}" for name, value in hit.parts.items())
        lines.insert(0, f"  score: {hit.score:.2f} = {parts}")
    if options.format == "md":
        return markdown(head, lines)
    return "".join(f"{line}\n" for line in (one_line(head), *lines))


def _cut(text: str) -> str:
    more = len(text) - SHOWN
    return f"{text[:SHOWN]} ... ({more} more characters)" if more > 0 else text
