"""Which entities are one thing: what stands of the judgements on pairs, and what follows.

Pure, and independent of the order in which judgements came: clones that hold the same lines
derive the same clusters. Nothing here is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kg.model import run_order

Pair = tuple[str, str]  # two ids, the lesser first
Line = tuple[str, str, str]  # by, verdict, run
SAME, DIFFERENT, UNSURE, CONFLICT = "same", "different", "unsure", "conflict"
RESOLVER, PERSON = "resolver", "person:"
_CAUTION = (SAME, UNSURE, DIFFERENT)  # of two verdicts of one run, the more careful stands


class Standing(NamedTuple):
    """What stands of a pair's judgements, and who says so (sorted).

    `same` links and `different` separates; `conflict` is two people of different minds and
    separates too; `unsure` is a person who looked and does not know, which undoes a link by
    the resolver; "" says nothing.
    """

    verdict: str
    by: tuple[str, ...]

    @property
    def separates(self) -> bool:
        """Whether a person says that the two are not one."""
        return self.verdict in (DIFFERENT, CONFLICT)


class Cluster(NamedTuple):
    """Members (sorted) that are one thing; where `disputed` they are answered each for itself."""

    members: tuple[str, ...]
    disputed: bool


def pair_of(one: str, other: str) -> Pair:
    """Return the two ids as judgements have them, the lesser first."""
    return (one, other) if one < other else (other, one)


def standing(lines: Iterable[Line]) -> Standing:
    """Return what stands of all lines on a pair, of whichever of its two files.

    Each person's latest word counts, and outweighs the resolver's; agents only suggest.
    """
    latest: dict[str, tuple[tuple[int, str], int, str]] = {}
    for by, verdict, run in lines:
        if (by == RESOLVER or by.startswith(PERSON)) and verdict in _CAUTION:
            said = (run_order(run), _CAUTION.index(verdict), verdict)
            latest[by] = max(said, latest.get(by, said))
    people = {by: said[2] for by, said in latest.items() if by != RESOLVER}
    sure = {by: verdict for by, verdict in people.items() if verdict != UNSURE}
    if len(set(sure.values())) > 1:
        return Standing(CONFLICT, tuple(sorted(sure)))
    if people:
        counted = sure or people
        return Standing(next(iter(counted.values())), tuple(sorted(counted)))
    if latest:
        return Standing(latest[RESOLVER][2], (RESOLVER,))
    return Standing("", ())


def clusters(standings: Mapping[Pair, Standing]) -> list[Cluster]:
    """Return the clusters of two or more that the standing judgements make, sorted.

    A component in which a person tells two members apart loses its links by the resolver;
    what is still connected after that, and still holds such a pair, is disputed.
    """
    links = [pair for pair, said in standings.items() if said.verdict == SAME]
    apart = [pair for pair, said in standings.items() if said.separates]
    whole = components(links)
    torn = _holding(whole, apart)
    inside = {id_ for members in torn for id_ in members}
    rest = components(p for p in links if p[0] in inside and standings[p].by != (RESOLVER,))
    still = _holding(rest, apart)
    found = [Cluster(members, disputed=False) for members in whole if members not in torn]
    return sorted(found + [Cluster(members, disputed=members in still) for members in rest])


def components(links: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Return the connected components of two or more ids, each sorted."""
    parent: dict[str, str] = {}

    def root(id_: str) -> str:
        parent.setdefault(id_, id_)
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for one, other in links:
        parent[root(one)] = root(other)
    groups: dict[str, list[str]] = defaultdict(list)
    for id_ in parent:
        groups[root(id_)].append(id_)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def canonical(first_runs: Mapping[str, str]) -> str:
    """Return the member that a cluster goes by: the least first run, then the least id."""
    return min(first_runs, key=lambda id_: (run_order(first_runs[id_]), id_))


def _holding(groups: Iterable[tuple[str, ...]], apart: Iterable[Pair]) -> set[tuple[str, ...]]:
    """Return the groups that hold both of a pair."""
    group_of = {id_: group for group in groups for id_ in group}
    pairs = ((group_of.get(one, ()), group_of.get(other, ())) for one, other in apart)
    return {group for group, same in pairs if group and group is same}
