"""Random values: names from all of Unicode, facts, entities, edges, observations, garbage."""

from __future__ import annotations

import string
from typing import Any, Literal
from unicodedata import normalize

from hypothesis import strategies as st

from kg.format import dump_edge, dump_entity
from kg.format.canonical import load
from kg.model import (
    BASES,
    JUDGING,
    KINDS,
    OUTCOMES,
    VERDICTS,
    Claim,
    Edge,
    EdgeClaim,
    Entity,
    Fact,
    Judgement,
    Retraction,
    Sighting,
    Trace,
    Value,
    run_order,
)

Strategy = st.SearchStrategy

_NOT_TEXT: list[Literal["Cs", "Cc"]] = ["Cs", "Cc"]
lower = string.ascii_lowercase + string.digits
any_text: Strategy[str] = st.text(max_size=40)  # lone surrogates and controls included
sound_text = st.text(st.characters(exclude_categories=_NOT_TEXT), min_size=1, max_size=40)
names = sound_text.map(lambda t: normalize("NFC", t)).filter(str.strip)
texts = st.text(
    st.characters(exclude_categories=_NOT_TEXT, include_characters="\n\t"), min_size=1, max_size=60
).filter(str.strip)
slugs = st.from_regex(r"[a-z0-9]{1,6}(?:[-._][a-z0-9]{1,4}){0,2}", fullmatch=True).map(
    lambda s: f"k{s}"  # no device has such a name
)
prefixes = st.sampled_from(["person", "object", "location", "event", "org"])
ids = st.builds(lambda p, s: f"{p}/{s}", prefixes, slugs)
words = st.from_regex(r"[a-z][a-z0-9]{0,5}(?:-[a-z0-9]{1,4}){0,2}", fullmatch=True)
runs = st.builds(
    lambda n, tail: f"r{n}{tail}", st.integers(0, 10**12 - 1), st.sampled_from(["", ".a1", ".b"])
)
agents = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True)
raw_paths = st.builds(
    lambda r, a, n: f"raw/{r}-{a}.{n:08x}.txt", runs, agents, st.integers(0, 2**32 - 1)
)
anchors = st.one_of(
    st.integers(1, 99).map(lambda n: f"#L{n}"),
    st.integers(1, 99).map(lambda n: f"#L{n}-L{n + 3}"),
)
srcs = st.builds(lambda path, lines: path + lines, raw_paths, anchors)
times = st.one_of(
    st.dates().map(lambda d: d.isoformat()),
    st.dates().map(lambda d: f"{d.isoformat()}T09:00:00Z"),
)
values: Strategy[Value] = st.one_of(texts, st.booleans(), st.integers(1 - 2**53, 2**53 - 1))
bys = st.builds(lambda p, a: p + a, st.sampled_from(["", "person:"]), agents)


def _ordered(members: dict[str, Any]) -> bool:
    return not (members.get("since") and members.get("until")) or (
        members["since"] < members["until"]
    )


claim_members: Strategy[dict[str, Any]] = st.fixed_dictionaries(
    {"src": srcs, "seen_run": runs},
    optional={
        "kind": st.sampled_from(KINDS),
        "basis": st.sampled_from(BASES),
        "importance": st.integers(1, 9),
        "since": times,
        "until": times,
    },
).filter(_ordered)
claims = claim_members.map(lambda m: Claim(**m))
facts = st.builds(lambda m, k, v: Fact(k=k, v=v, **m), claim_members, words, values)
edge_claims = st.builds(
    lambda m, p, o: EdgeClaim(predicate=p, object=o, **m), claim_members, words, ids
)
sightings = st.builds(
    lambda f, by, run, src: Sighting(by=by, run=run, src=src, k=f.k, v=f.v, since=f.since),
    facts, bys, runs, srcs,
)  # fmt: skip
retractions = st.builds(
    lambda what, because, run: Retraction(what=what, because=because, retracted_run=run),
    st.one_of(facts, edge_claims), srcs, runs,
)  # fmt: skip
judgements = st.builds(
    Judgement,
    by=st.one_of(
        st.just("resolver"), agents.map("person:{}".format), agents.map("agent:{}".format)
    ),
    verdict=st.sampled_from(VERDICTS),
    run=runs,
    src=srcs,
    score=st.none() | st.sampled_from(["0", "1", "2/3"]),
    scorer=st.none() | st.just("token-set-jaccard/1"),
)


def _entity(id_: str, name: str, span: list[str], said: tuple[Any, ...]) -> Entity:
    first, last = sorted(span, key=run_order)
    live, again, gone, archived = said
    return Entity(
        id=id_, type=TYPES[id_.partition("/")[0]], name=name, facts=live, seen_again=again,
        retracted=gone, contested=(), first_run=first, last_seen_run=last, archived=archived,
    )  # fmt: skip


TYPES = {
    "person": "Person", "object": "Object", "location": "Location",
    "event": "Event", "org": "Organization",
}  # fmt: skip


def _many(items: Strategy[Any], **more: Any) -> Strategy[tuple[Any, ...]]:  # noqa: ANN401
    # in a file the order says nothing: reading gives one order, so values have it too
    return st.lists(items, max_size=4, **more).map(
        lambda found: tuple(sorted(set(found), key=repr))
    )


entities = st.builds(
    _entity,
    ids,
    names,
    st.lists(runs, min_size=2, max_size=2),
    st.tuples(
        _many(facts, unique_by=lambda f: f.identity),
        _many(sightings),
        _many(retractions),
        st.booleans(),
    ),
)


def _edge(ends: list[str], predicate: str, said: tuple[Any, ...]) -> Edge:
    live, again, judged = said
    if predicate in JUDGING:
        ends, live, again = sorted(ends), (), ()
    else:
        judged = ()
    return Edge(
        subject=ends[0], predicate=predicate, object=ends[1], claims=live, seen_again=again,
        judgements=judged,
    )  # fmt: skip


edges = st.builds(
    _edge,
    st.lists(ids, min_size=2, max_size=2, unique=True),
    st.one_of(words, st.sampled_from(JUDGING)),
    st.tuples(
        st.lists(claims, min_size=1, max_size=3, unique_by=lambda c: c.since or "").map(
            lambda found: tuple(sorted(found, key=repr))
        ),
        _many(st.builds(lambda by, run, src: Sighting(by=by, run=run, src=src), bys, runs, srcs)),
        st.lists(judgements, min_size=1, max_size=3, unique=True).map(
            lambda found: tuple(sorted(found, key=repr))
        ),
    ),
)
traces = st.builds(
    Trace,
    about=st.lists(ids, max_size=2).map(tuple),
    tried=texts,
    outcome=st.sampled_from(OUTCOMES),
    because=texts,
    run=runs,
    agent=agents,
    src=srcs,
    error=st.none() | texts,
    prose=st.just("") | texts,
)

# What a file may hold instead of what it should.
garbage: Strategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.integers(-(2**60), 2**60), any_text,
        st.sampled_from(["r1", "object/x", "raw/r1-a.txt#L1", "2026-11-30", "", "fact", "same"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Return an entity's or edge's JSON with up to three members changed, added or removed."""
    made = dump_entity(draw(entities)) if kind == "entity" else dump_edge(draw(edges))
    raw = load(made, "x")
    for _ in range(draw(st.integers(0, 3))):
        inner = [m for v in raw.values() if isinstance(v, list) for m in v if isinstance(m, dict)]
        at = draw(st.sampled_from([raw, *inner]))
        name = draw(st.sampled_from([*at, "x", "k", "v", "since", "importance", "archived", "by"]))
        if draw(st.booleans()):
            at.pop(name, None)
        else:
            at[name] = draw(garbage)
    return raw
