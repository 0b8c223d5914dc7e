"""Making a hand-written store canonical: everything it says, and nothing it does not say.

- **Ids** win over file names; a missing id comes from type or folder and file name.
  `organization/x` and `organisation/x` are `org/x`, in values too. Two files of one id are one
  entity, if they agree on its name.
- **Keys and predicates** that the ontology does not know are added to store.json (cardinality
  many); one whose values are all ids takes entities. Where a fact or edge is outside the domain
  or range of a known one, store.json widens that by the type in question; where a number, truth
  value or date was due and something else stands there, the key takes text from now on. Text
  where an entity is due is the entity of that name or slug, which is made if there is none, of
  the first type in the range. An id where text is due stays text.
- **Entities** that are only referred to are made; the name is the words of the source line that
  give the slug ("Acme Corp"), else the slug.
- **Sources** that name no line are replaced by one in the old file's own text, which then is a
  new file of raw/ (headed by its old path), with basis `imported`. An edge without a source takes
  the raw line that holds both names, with basis `inferred`; so has a fact whose line does not
  hold its value. The old text is also kept where a file says more than the format has room for.
- **Traces**: what stands in front matter, else what the words say (`kg.graph.handwritten`).

What cannot be read, or has no such type, refuses the adoption. So does a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kg import secrets
from kg.errors import FormatError, OntologyError, RefusedError, SecretError
from kg.format import EDGES, ENTITIES, RAW, TRIED, Settings, dump_trace, trace_path
from kg.graph import handwritten as hand
from kg.graph.draft import Draft, Key
from kg.graph.outgrown import Outgrown, Sources
from kg.model import (
    JUDGING,
    OUTCOMES,
    Claim,
    Edge,
    Entity,
    Fact,
    Judgement,
    Trace,
    check_agent,
    is_id,
    parse_raw_name,
    parse_source,
    run_order,
    value_text,
)
from kg.resolve import slug_of, suffixed
from kg.sightings import see_edge, see_fact
from kg.store import Snapshot
from kg.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.graph.graph import Graph

T = TypeVar("T")


def adopt(graph: Graph, draft: Draft, paths: list[str], run: str = "") -> list[str]:
    """Put what the hand-written files say into the draft; return the paths taken over.

    `paths` are all files in the folder; those that are no part of a store are left alone.

    Raises:
        RefusedError: files cannot be read; the message names each.
        SecretError: files hold a secret; the message names each, and never the text.
    """
    ours = {path: _working(graph, path) for path in paths if _is_ours(path)}
    _no_secrets({path: data for path, data in ours.items() if draft.file(path) != data})
    fresh = Draft(Snapshot(graph.repository, "", ""), lambda *_: [], lambda _: [])
    _Adoption(fresh, ours, run or graph.run_now(), graph.agent_here()).run()
    made = fresh.take()
    del made["store.json"]
    draft.put_settings(replace(fresh.settings, synonyms=draft.settings.synonyms))
    for path, data in made.items():
        draft.put_file(path, data)
    gone = set() if graph.repository.sparse else {p for p, _ in graph.at().files() if _is_ours(p)}
    for path in sorted((gone | ours.keys()) - made.keys()):
        draft.remove_file(path)
    return sorted(ours)


class _Adoption:
    """One hand-written store on its way into `fresh`, an empty draft."""

    def __init__(self, fresh: Draft, files: Mapping[str, bytes], run: str, agent: str) -> None:
        self._fresh, self._files, self._run, self._agent = fresh, files, run, agent
        self._ontology = Outgrown()
        self._sources = Sources(fresh, files, run, agent)
        self._entities: dict[str, Entity] = {}
        self._edges: dict[Key, Edge] = {}
        self._named: dict[str, list[str]] = {}  # slug or folded name -> ids
        self._problems: list[str] = []

    def run(self) -> None:
        """Fill the draft; raises RefusedError where files cannot be read."""
        things = self._each(ENTITIES, ".json", hand.thing)
        links = self._each(EDGES, ".json", hand.link)
        tales = self._each(TRIED, ".md", hand.tale)
        placed = [(thing, id_) for thing in things if (id_ := self._place(thing))]
        self._ontology.learn((said.k, said.v) for thing in things for said in thing.facts)
        if not self._problems:
            for thing, id_ in placed:
                self._put_thing(thing, id_)
            for link in links:
                self._put_link(link)
            for tale in tales:
                self._put_tale(tale)
        if self._problems:
            raise RefusedError(
                f"nothing was adopted, correct these files first: {'; '.join(self._problems)}"
            )
        self._fresh.put_settings(Settings(additions=self._ontology.additions))
        for entity in self._entities.values():
            self._fresh.put(entity)
        for edge in self._edges.values():
            self._fresh.put_edge(edge)

    def _each(self, folder: str, end: str, read: Callable[[str, bytes], T]) -> list[T]:
        found = []
        for path, data in self._files.items():
            if path.startswith(f"{folder}/") and path.endswith(end):
                try:
                    found.append(read(path, data))
                except FormatError as error:
                    self._problems.append(str(error))
        return found

    # entities

    def _place(self, thing: hand.Thing) -> str:
        """Give a file's entity its id, and a shell that the facts are put into."""
        try:
            id_ = self._ontology.id_of(thing.id, thing.type)
        except OntologyError as error:
            self._problems.append(f"{thing.path}: {error}")
            return ""
        name = thing.name or hand.one_line(thing.id.partition("/")[2]) or id_.partition("/")[2]
        known = self._entities.get(id_)
        if known is not None and fold(known.name) != fold(name):
            both = f"{known.name!a} and {name!a}"
            self._problems.append(f"{thing.path}: {both} have one id, {id_}: give one another")
        said = (s.run or hand.run_of_raw(s.src) for s in thing.facts)
        runs = sorted(filter(None, (*thing.runs, *said)), key=run_order) or [self._run]
        entity = known or self._make(id_, name, runs[0])
        self._entities[id_] = entity.seen(runs[0]).seen(runs[-1])
        return id_

    def _make(self, id_: str, name: str, run: str) -> Entity:
        type_name = self._ontology.now.type_of(id_).name
        made = Entity(id=id_, type=type_name, name=name, first_run=run, last_seen_run=run)
        self._entities[id_] = made
        for known in {id_.partition("/")[2], fold(name)}:
            self._named.setdefault(known, []).append(id_)
        return made

    def _put_thing(self, thing: hand.Thing, id_: str) -> None:
        lossy = thing.lossy or thing.type not in ("", self._entities[id_].type)
        for said in thing.facts:
            lossy = not self._put_fact(thing, id_, said) or lossy
        whole, entity = thing.whole, self._entities[id_]
        if whole is not None:
            live, resolves = {f.identity for f in entity.facts}, self._sources.resolve
            again = [s for s in whole.seen_again if s.identity in live and resolves(s.src)]
            gone = [r for r in whole.retracted if resolves(r.what.src) and resolves(r.because)]
            lossy = lossy or len(again) + len(gone) < len(whole.seen_again) + len(whole.retracted)
            entity = replace(
                entity,
                seen_again=tuple({*entity.seen_again, *again}),
                retracted=tuple({*entity.retracted, *gone}),
                archived=whole.archived,
            )
            self._entities[id_] = entity
        if lossy:
            self._sources.kept(thing.path, thing.text)

    def _put_fact(self, thing: hand.Thing, id_: str, said: hand.Said) -> bool:
        """Put one fact; return whether everything it says found its place."""
        k, v = self._ontology.key(said.k, said.v)
        src = self._sources.resolve(said.src)
        basis = "" if src else "imported"
        src = src or self._sources.kept(thing.path, thing.text, said.k, said.v)
        run = said.run or hand.run_of_raw(src) or self._run
        term = self._ontology.said_of("keys", k, id_)
        words = [value_text(v)]
        if self._ontology.now.takes_entity(term):
            v = self._reference(str(v), term.range, src, run)
            self._ontology.takes("keys", k, v)
            words = [v, *self._names(v)]
        else:
            v = self._ontology.literal(k, v)
        if not basis and not self._sources.holds(src, words):
            basis = "inferred"
        fact, kept = _with_options(
            lambda **o: Fact(k=k, v=v, src=src, seen_run=run, **o), said, basis
        )
        by = self._agent_of(src)
        self._entities[id_], _ = see_fact(self._entities[id_], fact, by)
        if k == "also-known-as":
            self._named.setdefault(fold(value_text(v)), []).append(id_)
        return kept

    def _names(self, id_: str) -> list[str]:
        entity = self._entities[id_]
        return [entity.name, *entity.aliases, id_.partition("/")[2].replace("-", " ")]

    def _agent_of(self, src: str) -> str:
        name = parse_raw_name(parse_source(src).path)
        return name.agent if name else self._agent

    def _reference(
        self, text: str, types: Sequence[str], src: str, run: str, *, loose: bool = False
    ) -> str:
        """Return the id that an id, slug or name refers to; its entity is made if there is none.

        `loose` takes what has that name whatever its type, rather than make another.
        """
        id_ = self._ontology.id_like(text)
        if not id_:
            slug, whole = slug_of(text.rpartition("/")[2] if is_id(text) else text)
            named = {*self._named.get(slug, ()), *self._named.get(fold(text), ())}
            of: dict[str, str] = {i: self._entities[i].type for i in sorted(named)}
            fits = [i for wanted in types for i in of if of[i] == wanted]
            fits = fits or (list(of) if loose or not types else [])
            if fits:
                return fits[0]
            kind = self._ontology.now.type(types[0] if types else "Object")
            id_ = f"{kind.prefix}/{slug if whole else suffixed(slug, kind.name, text, src)}"
        if id_ not in self._entities:
            slug = id_.partition("/")[2]
            told = text if text not in (id_, slug) and not is_id(text) else ""
            self._make(id_, hand.one_line(told or self._sources.words(src, slug) or slug), run)
        return id_

    # edges

    def _put_link(self, link: hand.Link) -> None:
        predicate = self._ontology.predicate(link.predicate)
        if not predicate:
            self._problems.append(f"{link.path}: {link.predicate!a} is no predicate: reword it")
            return
        term = self._ontology.now.predicate(predicate)
        for said in link.claims:
            src, basis = self._sources.resolve(said.src), ""
            if not src:
                src = self._sources.line_with(self._spoken(link.subject), self._spoken(link.object))
                basis = "inferred" if src else "imported"
            src = src or self._sources.kept(link.path, link.text)
            run = said.run or hand.run_of_raw(src) or self._run
            ends = (
                self._reference(link.subject, term.domain, src, run, loose=True),
                self._reference(link.object, term.range, src, run, loose=True),
            )
            if ends[0] == ends[1]:
                self._problems.append(f"{link.path}: relates {ends[0]} to itself: name two things")
                return
            if predicate in JUDGING:
                self._judge(link, predicate, sorted(ends), run, src)
            else:
                self._claim(link, (ends[0], predicate, ends[1]), said, (src, basis, run))
        if link.lossy:
            self._sources.kept(link.path, link.text)

    def _claim(
        self, link: hand.Link, key: Key, said: hand.Said, stands: tuple[str, str, str]
    ) -> None:
        src, basis, run = stands
        self._ontology.said_of("predicates", key[1], key[0])
        self._ontology.takes("predicates", key[1], key[2])
        if not basis and not self._sources.holds(src, self._names(key[2])):
            basis = "inferred"
        claim, kept = _with_options(lambda **o: Claim(src=src, seen_run=run, **o), said, basis)
        edge, _ = see_edge(self._edges.get(key), key, claim, self._agent_of(src))
        if link.whole is not None:
            starts = {c.since for c in edge.claims}
            again = [
                s
                for s in link.whole.seen_again
                if s.since in starts and self._sources.resolve(s.src)
            ]
            edge = replace(edge, seen_again=tuple({*edge.seen_again, *again}))
        self._edges[key] = edge
        for id_ in (key[0], key[2]):
            self._entities[id_] = self._entities[id_].seen(run)
        if not kept:
            self._sources.kept(link.path, link.text)

    def _judge(self, link: hand.Link, predicate: str, ends: list[str], run: str, src: str) -> None:
        """Keep the judgements of a file as kg writes it; any other is an agent's suggestion."""
        judged = link.whole.judgements if link.whole is not None else ()
        if not judged or not all(self._sources.resolve(j.src) for j in judged):
            verdict = "same" if predicate == "same-as" else "different"
            judged = (Judgement(by=f"agent:{self._agent}", verdict=verdict, run=run, src=src),)
        key = (ends[0], predicate, ends[1])
        known = self._edges[key].judgements if key in self._edges else ()
        self._edges[key] = Edge(
            subject=key[0], predicate=predicate, object=key[2], judgements=(*known, *judged)
        )

    def _spoken(self, end: str) -> list[str]:
        """Return the names under which a text may speak of an end."""
        slug = end.rpartition("/")[2]
        ids = self._named.get(slug_of(slug)[0], ())
        return [end, slug, slug.replace("-", " "), *(n for id_ in ids for n in self._names(id_))]

    # traces

    def _put_tale(self, tale: hand.Tale) -> None:
        told = tale.members
        if not tale.text.strip():
            return
        src = self._sources.resolve(str(told.get("src", ""))) or self._sources.text_with(tale.text)
        src = src or self._sources.kept(tale.path, tale.text, "", str(told["because"])[:40])
        run = hand.run_of(told.get("run", "")) or hand.run_of_raw(src) or self._run
        stem = tale.path.rpartition("/")[2].removesuffix(".md")
        about = told.get("about") or self._about(stem)
        given = about if isinstance(about, list) else [about]
        outcome = told.get("outcome")
        trace = Trace(
            about=tuple(self._reference(str(a), (), src, run) for a in given),
            tried=hand.member(told["tried"]),
            outcome=str(outcome) if outcome in OUTCOMES else "inconclusive",
            because=hand.member(told["because"]),
            run=run,
            agent=_agent(told.get("agent")) or self._agent_of(src),
            src=src,
            error=hand.member(told["error"]) if told.get("error") else None,
            prose=str(told["prose"]) if str(told["prose"]).strip() else "",
        )
        path = trace_path(trace, stem[:-7])
        if path != tale.path:
            path = trace_path(trace, slug_of(stem)[0])
        self._fresh.put_file(path, dump_trace(trace))

    def _about(self, stem: str) -> list[str]:
        """Return the ids whose slug is the longest beginning of a file's name."""
        words = re.split(r"(?<=[-._])", slug_of(stem)[0])
        for count in range(len(words), 0, -1):
            slug = "".join(words[:count]).strip("-._")
            ids = [id_ for id_ in self._named.get(slug, ()) if id_.endswith(f"/{slug}")]
            if ids:
                return ids
        return []


def _is_ours(path: str) -> bool:
    folder, slash, name = path.partition("/")
    ends = {ENTITIES: ".json", EDGES: ".json", RAW: "", TRIED: ".md"}
    return bool(slash) and folder in ends and name.endswith(ends[folder])


def _working(graph: Graph, path: str) -> bytes:
    with open(f"{graph.place.folder}/{path}", "rb") as file:
        return file.read()


def _no_secrets(files: Mapping[str, bytes]) -> None:
    found = {
        path: hits
        for path, data in files.items()
        if (hits := secrets.scan(data.decode("utf-8", "replace")))
    }
    if found:
        shown = "; ".join(f"{p} line {hits[0].line} ({hits[0].kind})" for p, hits in found.items())
        raise SecretError(
            f"nothing was adopted, these look like secrets, remove them first: {shown}",
            tuple((hit.line, hit.kind) for hits in found.values() for hit in hits),
        )


def _with_options(make: Callable[..., T], said: hand.Said, basis: str) -> tuple[T, bool]:
    """Return a claim with the options as said, and whether they could be kept as said."""
    given = dict(said.options)
    if basis and given.get("basis", "stated") == "stated":
        given["basis"] = basis
    try:
        return make(**given), True
    except (RefusedError, TypeError):
        return make(**({"basis": basis} if basis else {})), False


def _agent(name: object) -> str:
    try:
        return check_agent(str(name)) if name else ""
    except RefusedError:
        return ""
