"""What stands of judgements, and which entities are one thing: the rules alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg.clusters import (
    CONFLICT,
    DIFFERENT,
    SAME,
    UNSURE,
    Cluster,
    Line,
    Pair,
    Standing,
    canonical,
    clusters,
    components,
    pair_of,
    standing,
)

RUNS = ("r1", "r2", "r3.a", "r3.b")
lines = st.tuples(
    st.sampled_from(("resolver", "person:ada", "person:bo", "agent:scoper")),
    st.sampled_from((SAME, DIFFERENT, UNSURE, "odd")),
    st.sampled_from(RUNS),
)
pairs = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=2, unique=True).map(
    lambda ids: pair_of(*ids)
)
judgements = st.lists(st.tuples(pairs, lines), max_size=25)


def derived(said: list[tuple[Pair, Line]]) -> list[Cluster]:
    """Return the clusters that lines on pairs make."""
    by_pair: dict[Pair, list[Line]] = {}
    for pair, line in said:
        by_pair.setdefault(pair, []).append(line)
    return clusters({pair: standing(found) for pair, found in by_pair.items()})


def links(*said: tuple[str, str, str]) -> dict[Pair, Standing]:
    """Return standings from (two ids run together, verdict, by)."""
    return {(ids[0], ids[1]): Standing(verdict, (by,)) for ids, verdict, by in said}


class TestStanding:
    """What stands of all lines on one pair."""

    @given(st.lists(lines), st.randoms())
    def test_order_does_not_matter(self, said: list[Line], rng: object) -> None:
        """Neither the order of lines nor saying one twice changes what stands."""
        mixed = [*said, *said[:2]]
        rng.shuffle(mixed)  # type: ignore[attr-defined]
        assert standing(mixed) == standing(said)

    def test_a_person_outweighs_the_resolver(self) -> None:
        """Whatever a person says stands, also before what the resolver says later."""
        for verdict in (SAME, DIFFERENT, UNSURE):
            said = [("person:ada", verdict, "r1"), ("resolver", SAME, "r2")]
            assert standing(said) == Standing(verdict, ("person:ada",))

    def test_the_latest_word_counts(self) -> None:
        """Who changes their mind is taken at the later word; in one run at the more careful."""
        assert standing([("person:ada", SAME, "r1"), ("person:ada", DIFFERENT, "r2")])[0] == (
            DIFFERENT
        )
        assert standing([("person:ada", SAME, "r10"), ("person:ada", DIFFERENT, "r9")])[0] == SAME
        assert standing([("resolver", SAME, "r1"), ("resolver", UNSURE, "r1")])[0] == UNSURE

    def test_two_minds(self) -> None:
        """People who judge a pair differently are both named, and it is not linked."""
        found = standing([("person:bo", DIFFERENT, "r2"), ("person:ada", SAME, "r1")])
        assert found == Standing(CONFLICT, ("person:ada", "person:bo"))
        assert found.separates

    def test_who_does_not_know_does_not_outvote(self) -> None:
        """One person's doubt leaves another's word as it is."""
        said = [("person:ada", SAME, "r1"), ("person:bo", UNSURE, "r2")]
        assert standing(said) == Standing(SAME, ("person:ada",))

    def test_agents_only_suggest(self) -> None:
        """An agent's line says nothing by itself."""
        assert standing([("agent:scoper", SAME, "r1")]) == Standing("", ())


class TestClusters:
    """What follows for all."""

    @given(judgements, st.randoms())
    def test_order_does_not_matter(self, said: list[tuple[Pair, Line]], rng: object) -> None:
        """The same judgements in any order make the same clusters."""
        mixed = list(said)
        rng.shuffle(mixed)  # type: ignore[attr-defined]
        assert derived(mixed) == derived(said)

    @given(judgements)
    def test_no_cluster_holds_what_a_person_separates(self, said: list[tuple[Pair, Line]]) -> None:
        """But where people themselves connect the two, and then it says so; none is in two."""
        standings: dict[Pair, list[Line]] = {}
        for pair, line in said:
            standings.setdefault(pair, []).append(line)
        found = derived(said)
        apart = [pair for pair, found_ in standings.items() if standing(found_).separates]
        for cluster in found:
            held = any(set(pair) <= set(cluster.members) for pair in apart)
            assert held == cluster.disputed
        every = [id_ for cluster in found for id_ in cluster.members]
        assert len(every) == len(set(every))

    def test_a_separated_component_loses_the_resolver_links(self) -> None:
        """A person who tells two members apart undoes what the resolver linked, not more."""
        said = links(
            ("ab", SAME, "resolver"), ("bc", SAME, "person:ada"), ("ac", DIFFERENT, "person:bo"),
            ("xy", SAME, "resolver"),
        )  # fmt: skip
        assert clusters(said) == [
            Cluster(("b", "c"), disputed=False),
            Cluster(("x", "y"), disputed=False),
        ]

    def test_people_against_people(self) -> None:
        """What people connect and separate at once is in dispute, as a whole."""
        said = links(
            ("ab", SAME, "person:ada"), ("bc", SAME, "person:ada"), ("ac", DIFFERENT, "person:bo"),
        )  # fmt: skip
        assert clusters(said) == [Cluster(("a", "b", "c"), disputed=True)]

    def test_components(self) -> None:
        """Ids that links connect, by whatever way round, are together."""
        assert components([("c", "b"), ("a", "b"), ("x", "y")]) == [("a", "b", "c"), ("x", "y")]

    def test_the_canonical_was_first(self) -> None:
        """The least first run, by number, then the least id."""
        assert canonical({"b": "r9", "a": "r10", "c": "r9"}) == "b"
