"""From an observation to changed values: what is new, seen again, or contradicts.

Pure on a draft: run again on a newer snapshot it gives what is right there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from kg.clusters import PERSON, RESOLVER, SAME, UNSURE, pair_of
from kg.errors import MissingSourceError, NotFoundError, RefusedError
from kg.format import dump_trace, trace_path
from kg.graph.amend import Amending
from kg.graph.judging import judge
from kg.graph.linking import Linker
from kg.graph.recorded import Mentioned, Recorded, Stated
from kg.graph.said import (
    WITHDRAWN,
    Anchor,
    Mention,
    Observation,
    Options,
    SaidEdge,
    SaidFact,
    SaidJudgement,
    SaidName,
    SaidTrace,
)
from kg.graph.sources import Sources
from kg.model import (
    JUDGING,
    Claim,
    Edge,
    Entity,
    Fact,
    Judgement,
    Trace,
    Value,
    check_value,
    is_id,
    run_order,
    value_text,
)
from kg.ontology import Term, Type
from kg.resolve import Decision, Matched, Pending, slug_of, suffixed
from kg.sightings import (
    Outcome,
    edge_still_retracted,
    see_edge,
    see_fact,
)
from kg.text import fold

Near = Callable[[str], list[str]]  # what someone wrote -> ids they may have meant


class Recording:
    """One observation being recorded on a draft."""

    def __init__(self, linker: Linker, said: Observation, near: Near, person: str = "") -> None:
        self._linker, self._said, self._near = linker, said, near
        self._person = person  # who judges, where it is no agent
        self._draft = draft = linker.draft
        self._ids: dict[str, str] = {}
        self._told: dict[str, list[SaidFact]] = {}
        for fact in said.facts:
            self._told.setdefault(fact.entity, []).append(fact)
        self._sources = Sources(draft, said)
        self.recorded = Recorded(run=said.run, agent=said.agent, raw=self._sources.raw)

    def run(self) -> Recorded:
        """Record everything the observation says, in the order that later parts need."""
        for mention in self._said.entities:
            self._mention(mention)
        for fact in self._said.facts:
            self._fact(fact)
        for edge in self._said.edges:
            self._edge(edge)
        for trace in self._said.tried:
            self._trace(trace)
        amending = Amending(
            self._draft, self._said, self._sources, self._ids, self._id, recorded=self.recorded
        )
        for gone in self._said.retract:
            amending.retract(gone)
        for seen in self._said.confirm:
            amending.confirm(seen, self._person)
        for filed in self._said.archive:
            amending.archive(filed)
        for name in self._said.rename:
            self._rename(name)
        for judged in self._said.judge:
            self._judge(judged)
        return self.recorded

    # mentions

    def _mention(self, mention: Mention) -> None:
        if mention.id:
            id_ = self._entity(mention.id).id
            decision: Decision = Matched(id_, "id")
        else:
            id_, decision = self._resolve(mention)
        self._ids[mention.ref] = id_
        self._draft.put(self._entity(id_).seen(self._said.run))
        self.recorded.mentions.append(Mentioned(ref=mention.ref, id=id_, decision=decision))
        for alias, anchor in mention.aliases:
            self._fact(SaidFact(entity=mention.ref, k="also-known-as", v=alias, anchor=anchor))

    def _resolve(self, mention: Mention) -> tuple[str, Decision]:
        kind = self._draft.ontology.type(mention.type)
        decision = self._linker.decide(kind, mention.name, self._facts_of(mention))
        if isinstance(decision, Matched) and decision.by != "score":
            return decision.id, decision
        id_ = self._new_id(kind, mention, decision)
        if self._draft.entity(id_) is None:
            run = self._said.run
            self._draft.put(
                Entity(id=id_, type=kind.name, name=mention.name, first_run=run, last_seen_run=run)
            )
        if isinstance(decision, Matched):
            self._link(id_, decision, self._first_source(mention))
        return id_, decision

    def _link(self, id_: str, decision: Matched, src: str) -> None:
        """Put the resolver's judgement that a new entity is one with another."""
        evidence = decision.evidence
        if evidence is None or evidence.cutoffs.upper is None:
            raise AssertionError("a match by score has its evidence")
        cutoffs = evidence.cutoffs
        judged = Judgement(
            by=RESOLVER, verdict=SAME, run=self._said.run, src=src, score=str(evidence.score),
            upper=str(cutoffs.upper), lower=str(cutoffs.lower), scorer=cutoffs.scorer,
        )  # fmt: skip
        one, other = pair_of(id_, decision.id)
        edge = Edge(subject=one, predicate="same-as", object=other, judgements=(judged,))
        self._draft.put_edge(edge)

    def _new_id(self, kind: Type, mention: Mention, decision: Decision) -> str:
        if not (self._said.text or self._anchors(mention)):
            raise MissingSourceError(
                f"nothing says where {mention.name!a} comes from: add text, or a fact with its src"
            )
        slug, whole = slug_of(mention.name)
        taken = whole and self._draft.entity(f"{kind.prefix}/{slug}") is not None
        namesake = isinstance(decision, Pending) and decision.namesake
        if not whole or taken or namesake:
            slug = suffixed(slug, kind.name, mention.name, self._first_source(mention))
        return f"{kind.prefix}/{slug}"

    def _facts_of(self, mention: Mention) -> list[Fact]:
        """Return what the observation says about a mention, as far as it can be compared."""
        keys = self._draft.ontology.keys
        return [
            Fact(
                k=said.k, v=said.v, src="raw/x.txt#L1", seen_run=self._said.run,
                since=said.options.since, until=said.options.until,
            )
            for said in self._told.get(mention.ref, ())
            if said.k in keys and not self._draft.ontology.takes_entity(keys[said.k])
        ]  # fmt: skip

    def _first_source(self, mention: Mention) -> str:
        """Return where the mention is first spoken of: what tells namesakes apart."""
        sources = [self._sources.of(a, mention.name) for a in self._anchors(mention)]
        return str(min(sources, default=self._sources.naming(mention.name)))

    def _anchors(self, mention: Mention) -> list[Anchor]:
        ref, said = mention.ref, self._said
        found: list[Anchor] = [anchor for _, anchor in mention.aliases]
        found += [f.anchor for f in said.facts if ref in (f.entity, f.v)]
        found += [e.anchor for e in said.edges if ref in (e.subject, e.object)]
        return found + [t.anchor for t in said.tried if ref in t.about]

    def _id(self, ref: str) -> str:
        """Return the id that a ref of this observation or an id stands for."""
        if ref in self._ids:
            return self._ids[ref]
        if is_id(ref):
            return self._entity(ref).id
        refs = ", ".join(sorted(self._ids)) or "none"
        raise NotFoundError(
            f"{ref!a} is neither a ref of this observation ({refs}) nor an id: "
            "add it to entities, or give an id such as object/payments-api"
        )

    def _entity(self, id_: str) -> Entity:
        return self._draft.existing(id_, self._near)

    # facts and edges

    def _fact(self, said: SaidFact) -> None:
        ontology = self._draft.ontology
        key, id_, v = ontology.key(said.k), self._id(said.entity), said.v
        words: Iterable[str] = (value_text(v),)
        if ontology.takes_entity(key) and isinstance(v, str) and (v in self._ids or is_id(v)):
            v = self._id(v)
            words = self._names(v)
        elif not ontology.takes_entity(key) and isinstance(v, str) and key.range == ("date",):
            v = check_value(v)
        ontology.check_fact(id_, said.k, v)
        source = self._sources.of(said.anchor, f"fact {said.k}")
        inferred = not self._sources.hold(source, said.anchor, words)
        claim = self._options(said.options, key, inferred)
        fact = Fact(k=said.k, v=v, src=str(source), seen_run=self._said.run, **claim)
        seen, outcome = see_fact(self._entity(id_), fact, self._said.agent)
        against = self._against(id_, key, fact, v) if outcome == "new" else ()
        self._draft.put(seen)
        self.recorded.facts.append(
            Stated(id=id_, k=said.k, v=v, src=str(source), outcome=outcome,
                   inferred=claim["basis"] == "inferred", against=against,
                   because=self._why_gone(id_, fact.identity) if outcome == "retracted" else "")
        )  # fmt: skip

    def _edge(self, said: SaidEdge) -> None:
        term = self._draft.ontology.predicate(said.predicate)
        if said.predicate in JUDGING:
            raise RefusedError(
                f"{said.predicate} is a judgement, which no run reports: leave it out"
            )
        subject, object_ = self._id(said.subject), self._id(said.object)
        self._draft.ontology.check_edge(subject, said.predicate, object_)
        source = self._sources.of(said.anchor, f"edge {said.predicate}")
        inferred = not self._sources.hold(source, said.anchor, self._names(object_))
        members = self._options(said.options, term, inferred)
        claim = Claim(src=str(source), seen_run=self._said.run, **members)
        key = (subject, said.predicate, object_)
        if edge_still_retracted(self._entity(subject), key, claim):
            outcome: Outcome = "retracted"
            against: tuple[tuple[str, str], ...] = ()
        else:
            edge, outcome = see_edge(self._draft.edge(key), key, claim, self._said.agent)
            against = self._against(subject, term, claim, object_) if outcome == "new" else ()
            self._draft.put_edge(edge)
            for id_ in (subject, object_):
                self._draft.put(self._entity(id_).seen(self._said.run))
        self.recorded.edges.append(
            Stated(id=subject, k=said.predicate, v=object_, src=str(source), outcome=outcome,
                   inferred=members["basis"] == "inferred", against=against,
                   because=self._why_gone(subject, (said.predicate, object_, claim.since or ""))
                   if outcome == "retracted" else "")
        )  # fmt: skip

    def _why_gone(self, id_: str, identity: tuple[str, str, str]) -> str:
        """Return the source of the reason for which a statement was last retracted."""
        gone = [r for r in self._entity(id_).retracted if r.what.identity == identity]
        return max(gone, key=lambda r: run_order(r.retracted_run)).because

    def _against(self, id_: str, term: Term, claim: Claim, v: Value) -> tuple[tuple[str, str], ...]:
        """Return what a new claim contradicts: other values at the same time where one may hold.

        A key that says the same as an edge counts as that edge, and the reverse.
        """
        keys = self._draft.ontology.keys
        predicate = term.edge or (term.name if term.name in self._draft.ontology.predicates else "")
        single = predicate and self._draft.ontology.predicates[predicate].cardinality == "one"
        same_key = {term.name} if term.cardinality == "one" else set()
        if single:
            same_key |= {name for name, key in keys.items() if key.edge == predicate}
        found: list[tuple[Value, Claim]] = [
            (f.v, f) for f in self._entity(id_).facts if f.k in same_key
        ]
        if single:
            edges = self._draft.edges_of(id_)
            found += [(e.object, c) for e in edges if e.predicate == predicate for c in e.claims]
        mine = fold(value_text(v))
        return tuple(
            (value_text(other), c.src)
            for other, c in found
            if fold(value_text(other)) != mine and c.overlaps(claim)
        )

    def _options(self, given: Options, term: Term, inferred: bool) -> dict[str, Any]:
        """Return a claim's optional members, without those that the key implies anyway."""
        return {
            "kind": None if given.kind == term.kind else given.kind,
            "basis": "inferred" if inferred else given.basis or "stated",
            "importance": None if given.importance == term.importance else given.importance,
            "since": given.since,
            "until": given.until,
        }

    # traces, names, judgements

    def _trace(self, said: SaidTrace) -> None:
        about = tuple(self._id(ref) for ref in said.about)
        made = Trace(
            about=about,
            tried=said.tried,
            outcome=said.outcome,
            because=said.because,
            run=self._said.run,
            agent=self._said.agent,
            src=str(self._sources.of(said.anchor, "trace")),
            error=said.error,
            prose=said.prose,
        )
        subject = made.about[0].partition("/")[2] + " " if about else ""
        slug = slug_of(f"{subject}{' '.join(made.tried.split()[:5])}")[0][:60].strip("-._")
        path = trace_path(made, slug)
        known = self._draft.file(path) is not None
        if not known:
            self._draft.put_file(path, dump_trace(made))
        for id_ in about:
            self._draft.put(self._entity(id_).seen(self._said.run))
        self.recorded.tried.append((path, "known" if known else "new"))

    def _rename(self, said: SaidName) -> None:
        """Give a thing a new name; the old one stays as another name, with the same source."""
        id_ = self._id(said.entity)
        old = self._entity(id_)
        if old.name == said.name or (self._sources.known and said.name in old.aliases):
            return  # so it is called, or was until a later rename
        source = self._sources.of(said.anchor, "name")
        clash = [e.id for e in self._draft.named(id_.partition("/")[0], said.name) if e.id != id_]
        if clash:
            raise RefusedError(f"{clash[0]} is called {said.name!a} already: judge the two first")
        self._draft.put(replace(old, name=said.name).seen(self._said.run))
        anchor = Anchor(src=str(source))
        self._fact(SaidFact(entity=id_, k="also-known-as", v=old.name, anchor=anchor))
        self.recorded.renamed.append(
            Stated(id=id_, k="name", v=said.name, src=str(source), outcome="new")
        )

    def _judge(self, said: SaidJudgement) -> None:
        """Record a person's judgement, or an agent's suggestion of one."""
        source = self._sources.of(said.anchor, "judgement")
        by = f"{PERSON}{self._person}" if self._person else f"agent:{self._said.agent}"
        verdict = UNSURE if said.verdict == WITHDRAWN else said.verdict
        line = Judgement(by=by, verdict=verdict, run=self._said.run, src=str(source))
        ends = self._id(said.one), self._id(said.other)
        self.recorded.judged.append(judge(self._linker, *ends, said.verdict, line))

    def _names(self, id_: str) -> list[str]:
        entity = self._entity(id_)
        return [entity.name, *entity.aliases, id_]
