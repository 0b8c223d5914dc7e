"""Telling that a query meant an entity, and what comes of it: a count, or a `term` fact.

The rules are `kg.graph.meant`, the counts `kg.graph.tally`. A confirmed word is written like any
observation, with the queries that speak for it as its text. Its count is taken out before, so
that of several processes one writes it, and nothing of it is left to learn from once the term
is retracted or its commit reverted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kg import secrets
from kg.errors import KgError, SecretError
from kg.graph.graph import Graph
from kg.graph.meant import (
    FEW,
    Count,
    Occurrence,
    State,
    asking,
    counted,
    occurrence,
    state,
    unfit,
)
from kg.graph.recorded import Answer
from kg.graph.tally import Counts, Tally
from kg.model import Entity, Fact, check_agent, run_order, value_text
from kg.recall.standing import standing, terms_of, words_of_query


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a word amounts to now, told `count` times; `because` says why, where that helps."""

    word: str
    state: State
    count: int = 0
    because: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {"word": self.word, "state": self.state}
        more = {"count": self.count, "because": self.because}
        return found | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of telling; `note` says why nothing could be counted, "" where it was."""

    id: str
    query: str
    words: tuple[Heard, ...] = ()
    answer: Answer = field(default_factory=Answer)
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        words = [heard.to_json() for heard in self.words]
        found: dict[str, Any] = {"id": self.id, "query": self.query, "words": words}
        found["commits"] = list(self.answer.commits)
        if self.answer.queued:
            found["queued"] = {"because": self.answer.queued, "as": self.answer.kept_as}
        return found | ({"note": self.note} if self.note else {})


def tell(graph: Graph, query: str, id_: str, *, run: str = "", agent: str = "") -> Told:
    """Count that `query` meant the entity `id_`, and write the words which that confirms.

    `run` "" is the agent's day, `agent` "" the git identity.

    Raises:
        NotFoundError: there is no such entity; names the nearest.
        RefusedError: the query holds a secret, or a rule of writing is broken.
        StoreError: a word was confirmed, and git or the disk says no for good; it stays counted.
    """
    graph.check_adopted()
    _check(query)
    agent, now = check_agent(agent or graph.agent_here()), int(time.time())
    if run:
        run_order(run)
    entity, words = graph.entity(id_), words_of_query(query)
    left_out = _left_out(graph, entity, words)
    fit = [word for word in words if word not in left_out]
    one = occurrence(run or _day(now), agent, query, words)
    try:
        with Tally(graph.place).changing(now) as counts:
            for word in left_out:
                counts.pop((id_, word), None)
            heard = left_out | _counted(counts, entity, fit, one, now)
            taken = [counts.pop((id_, w)) for w in fit if heard[w].state == "confirmed"]
    except OSError as error:
        return Told(id=id_, query=query, note=_note(error))
    answer = _write(graph, entity, taken, run, agent) if taken else Answer()
    return Told(id=id_, query=query, words=tuple(heard[word] for word in words), answer=answer)


def forget(graph: Graph, query: str, id_: str) -> Told:
    """Forget what was counted of the query's words for an entity, which may be gone by now.

    What is a `term` already stays one: that is taken back with a retraction.
    """
    words, found = words_of_query(query), []
    try:
        with Tally(graph.place).changing(int(time.time())) as counts:
            for word in words:
                count = counts.pop((id_, word), None)
                found.append(_forgotten(word, count))
    except OSError as error:
        return Told(id=id_, query=query, note=_note(error))
    return Told(id=id_, query=query, words=tuple(found))


def waiting(graph: Graph) -> list[tuple[str, Heard]]:
    """Return (entity, word) of all that is counted and no term yet, by entity and word."""
    counts, con = Tally(graph.place).read(int(time.time())), graph.index().connection
    return [
        (id_, _heard(counts, counts[id_, word], len(terms_of(con, id_))))
        for id_, word in sorted(counts)
    ]


def _check(query: str) -> None:
    """Refuse a query that holds a secret: it may be committed one day."""
    found = secrets.scan(query)
    if found:
        raise SecretError(
            f"the query looks like it holds a secret ({found[0].kind}): leave that out",
            tuple((one.line, one.kind) for one in found),
        )


def _left_out(graph: Graph, entity: Entity, words: Sequence[str]) -> dict[str, Heard]:
    """Return the words that are not counted, with the reason."""
    asked, con = asking(graph.ontology), graph.index().connection
    gone = [r.what for r in entity.retracted if isinstance(r.what, Fact)]
    retracted = {word for term in _terms(gone) for word in words_of_query(term)}
    found = {w: unfit(w, standing(con, entity.id, w), retracted, asked) for w in words}
    found = {word: why for word, why in found.items() if why}
    if len(words) - len(found) > FEW:
        found = {word: found.get(word, "is one of too many new words") for word in words}
    return {w: Heard(word=w, state="left out", because=why) for w, why in found.items()}


def _counted(
    counts: Counts, entity: Entity, words: Sequence[str], one: Occurrence, now: int
) -> dict[str, Heard]:
    """Count one occurrence of each word."""
    terms, found = len(_terms(entity.facts)), {}
    for word in words:
        key = (entity.id, word)
        counts[key] = counted(counts.get(key), entity.id, word, one, now)
        found[word] = _heard(counts, counts[key], terms)
        terms += found[word].state == "confirmed"
    return found


def _heard(counts: Counts, count: Count, terms: int) -> Heard:
    elsewhere = sorted(id_ for id_, word in counts if word == count.word and id_ != count.id)
    because = f"told for {elsewhere[0]} too" if elsewhere else ""
    found = state(count, elsewhere, terms)
    return Heard(word=count.word, state=found, count=len(count.told), because=because)


def _write(graph: Graph, entity: Entity, taken: list[Count], run: str, agent: str) -> Answer:
    """Write the confirmed words; their counts come back where that fails."""
    said = [_observation(entity, count) for count in taken]
    try:
        return graph.remember(said, op="meant", run=run, agent=agent)
    except KgError:
        with suppress(OSError), Tally(graph.place).changing(int(time.time())) as counts:
            counts |= {(count.id, count.word): count for count in taken}
        raise


def _observation(entity: Entity, count: Count) -> dict[str, Any]:
    """Return the observation that a word means an entity, with the queries that say so."""
    because = f'so the word "{count.word}" should bring it up'
    asked = [f"{one.run} {one.agent}: {one.query}" for one in count.told]
    text = [f"Told of queries that they meant {entity.name} ({entity.id}):", *asked, because]
    term = {"entity": entity.id, "k": "term", "v": count.word, "quote": because}
    return {"text": "\n".join(text), "facts": [{**term, "basis": "observed", "importance": 1}]}


def _forgotten(word: str, count: Count | None) -> Heard:
    if count is None:
        return Heard(word=word, state="left out", because="was not counted for it")
    return Heard(word=word, state="forgotten", count=len(count.told))


def _terms(facts: Iterable[Fact]) -> list[str]:
    return [value_text(fact.v) for fact in facts if fact.k == "term"]


def _day(now: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _note(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"nothing was counted: {where}{error.strerror or error}: make it writable"
