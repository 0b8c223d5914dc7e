"""The algebra of sightings: any order, any repetition, one result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kg.format import dump_edge, dump_entity
from kg.model import Claim, Edge, Entity, Fact, Sighting, run_order
from kg.sightings import (
    edge_still_retracted,
    retract_edge,
    retract_fact,
    see_edge,
    see_fact,
)

KEY = ("object/x", "uses", "object/y")
Seen = tuple[str, str, int, str, str | None, str | None]  # run, agent, digits, v, since, until
seen: st.SearchStrategy[Seen] = st.tuples(
    st.sampled_from(["r1", "r2", "r2.a", "r3"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 1),
    st.sampled_from(["On", "on", "ON ", "off"]),
    st.sampled_from([None, "2026-01-01"]),
    st.sampled_from([None, "2026-03-01", "2026-02-01"]),
)
several = st.lists(seen, min_size=1, max_size=7)


def fact(one: Seen) -> tuple[Fact, str]:
    """Return a sighting as a fact, and by whom."""
    run, agent, digits, v, since, until = one
    src = f"raw/{run}-{agent}.{digits:08x}.txt#L1"
    return Fact(k="note", v=v, src=src, seen_run=run, since=since, until=until), agent


def entity() -> Entity:
    """Return an entity of which nothing is said yet."""
    return Entity(id="object/x", type="Object", name="x", first_run="r1", last_seen_run="r1")


def recorded(found: list[Seen]) -> Entity:
    """Return the entity after these sightings, one by one."""
    made = entity()
    for one in found:
        made, _ = see_fact(made, *fact(one))
    return made


def related(found: list[Seen]) -> Edge:
    """Return the edge after these sightings, one by one."""
    made: Edge | None = None
    for one in found:
        said, by = fact(one)
        names = ("src", "seen_run", "since", "until")
        claim = Claim(**{name: getattr(said, name) for name in names})
        made, _ = see_edge(made, KEY, claim, by)
    assert made is not None
    return made


@given(several, st.randoms(use_true_random=False))
def test_the_order_of_recording_never_changes_the_bytes(found: list[Seen], chance: Any) -> None:  # noqa: ANN401
    """Commutative and associative: whoever records first, the files come out the same."""
    shuffled = chance.sample(found, len(found))
    assert dump_entity(recorded(found)) == dump_entity(recorded(shuffled))
    assert dump_edge(related(found)) == dump_edge(related(shuffled))


@given(several)
def test_recording_again_changes_nothing(found: list[Seen]) -> None:
    """Idempotent: what was recorded is known, all of it, in any number of repetitions."""
    assert dump_entity(recorded(found + found)) == dump_entity(recorded(found))
    assert dump_edge(related(found + found)) == dump_edge(related(found))
    made = recorded(found)
    for one in found:
        again, outcome = see_fact(made, *fact(one))
        assert outcome == "known"
        assert again == made


@given(several)
def test_the_first_sighting_is_the_facts_own_line(found: list[Seen]) -> None:
    """The line of the least run stands with its spelling; each agent has at most one other."""
    made = recorded(found)
    for live in made.facts:
        ours = [f for f, _ in map(fact, found) if f.identity == live.identity]
        first = min(f.order for f in ours)
        assert (live.src, live.v) in {(f.src, f.v) for f in ours if f.order == first}
        ends = [f.until for f in ours if f.until]
        assert live.until == (min(ends) if ends else None)
    told = [(s.identity, s.by) for s in made.seen_again]
    assert len(set(told)) == len(told)
    assert all(s.v == f.v for s in made.seen_again for f in made.facts if s.identity == f.identity)


@given(several)
def test_no_agent_is_forgotten(found: list[Seen]) -> None:
    """Of each agent the latest run of a fact is kept, on its line or else as a sighting."""
    made = recorded(found)
    for live in made.facts:
        saw = [(f.seen_run, f.src, by) for f, by in map(fact, found) if f.identity == live.identity]
        latest = {}
        for agent in {by for _, _, by in saw}:
            run = max((r for r, _, by in saw if by == agent), key=run_order)
            if run != live.seen_run or f"-{agent}." not in live.src:
                latest[agent] = run, min(src for r, src, by in saw if (r, by) == (run, agent))
        kept = [s for s in made.seen_again if s.identity == live.identity]
        assert {s.by: (s.run, s.src) for s in kept} == latest
    assert made.last_seen_run == max((run for run, *_ in found), key=run_order)


def test_outcomes_say_what_a_sighting_was() -> None:
    """New, seen again by a later run or another agent, known by the same run."""
    one, made = ("r1", "a", 0, "on", None, None), entity()
    made, outcome = see_fact(made, *fact(one))
    assert outcome == "new"
    assert see_fact(made, *fact(one))[1] == "known"
    assert see_fact(made, *fact(("r1", "a", 1, "on", None, None)))[1] == "known"
    assert see_fact(made, *fact(("r2", "a", 0, "on", None, None)))[1] == "seen again"
    assert see_fact(made, *fact(("r1", "b", 0, "on", None, None)))[1] == "seen again"
    assert see_fact(made, *fact(("r1", "a", 0, "on", "2026-01-01", None)))[1] == "new"


def test_an_earlier_run_takes_the_line_and_the_former_one_becomes_a_sighting() -> None:
    """A run recorded late but made early is the origin; what stood there is not lost."""
    made = recorded([("r3", "b", 0, "On", None, None), ("r1", "a", 0, "on", None, None)])
    assert [(f.v, f.seen_run) for f in made.facts] == [("on", "r1")]
    assert [(s.by, s.run, s.v) for s in made.seen_again] == [("b", "r3", "on")]
    assert (made.first_run, made.last_seen_run) == ("r1", "r3")


def test_a_retracted_fact_stays_so_until_a_later_run_says_it_again() -> None:
    """An earlier run or the same line does not revive it; new text does, and the record stays."""
    made = recorded([("r1", "a", 0, "on", None, None)])
    gone = retract_fact(made, made.facts[0], "raw/r2-a.txt#L1", "r2")
    assert not gone.facts
    assert not gone.seen_again
    assert see_fact(gone, *fact(("r1", "b", 0, "ON ", None, None))) == (gone, "retracted")
    told, by = fact(("r1", "a", 0, "on", None, None))
    assert see_fact(gone, replace(told, seen_run="r9"), by) == (gone, "retracted")
    assert see_fact(gone, *fact(("r2", "b", 0, "ON ", None, None)))[1] == "new"
    back, outcome = see_fact(gone, *fact(("r3", "b", 0, "on", None, None)))
    assert outcome == "new"
    assert back.facts[0].seen_run == "r3"
    assert back.retracted == gone.retracted
    assert retract_fact(gone, made.facts[0], "raw/r2-a.txt#L1", "r2") == gone


def test_a_retracted_edge_is_on_record_with_its_subject() -> None:
    """All claims of the edge are kept as retracted; only a later run may state it again."""
    edge = related([("r1", "a", 0, "x", None, None), ("r1", "a", 0, "x", "2026-01-01", None)])
    subject = retract_edge(entity(), edge, "raw/r2-a.txt#L1", "r2")
    assert len(subject.retracted) == 2
    assert edge_still_retracted(subject, KEY, edge.claims[0])
    again = replace(edge.claims[0], seen_run="r3", src="raw/r3-a.txt#L1")
    assert not edge_still_retracted(subject, KEY, again)
    assert not edge_still_retracted(subject, ("object/x", "uses", "object/z"), edge.claims[0])


def test_a_persons_word_stands_beside_her_run() -> None:
    """Who validates is told from the agent that ran for her, even in one run."""
    made, said = entity(), fact(("r1", "ada", 0, "on", None, None))[0]
    made, _ = see_fact(made, said, "ada")
    made, outcome = see_fact(made, said, "person:ada")
    assert outcome == "seen again"
    assert made.seen_again == (Sighting(by="person:ada", run="r1", src=said.src, k="note", v="on"),)
