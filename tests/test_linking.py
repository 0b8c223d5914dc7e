"""Deciding on real stores: what each mention becomes, what is written, and how it is undone."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store, remembered
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import LATER, LATEST, RUN, git, store

from kg.clusters import clusters
from kg.resolve import Created, Matched, Pending

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.graph.recorded import Mentioned

BATCH: list[tuple[str, str]] = [
    ("Organization", "Acme Logistics Ltd"), ("Organization", "Acme Corp"),
    ("Organization", "Acme Corporation"), ("Object", "payments-api"),
]  # fmt: skip


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> Graph:
    return store(tmp_path / "memory")


def meets(
    *things: tuple[str, str], run: str = RUN, facts: dict[str, Any] | None = None, text: str = ""
) -> dict[str, Any]:
    """Return an observation that mentions things; `facts` are those of each of them."""
    text = text or f"Seen in {run}: {', '.join(name for _, name in things)}.\n"
    entities = [{"ref": f"m{n}", "type": t, "name": name} for n, (t, name) in enumerate(things)]
    said = [
        {"entity": f"m{n}", "k": k, "v": v, "lines": 1}
        for n in range(len(things))
        for k, v in (facts or {}).items()
    ]
    return {"run": run, "agent": "scoper", "text": text, "entities": entities, "facts": said}


def mention(graph: Graph, type_name: str, name: str, run: str = RUN, **facts: Any) -> Mentioned:  # noqa: ANN401
    """Record one mention with its facts and return what it was taken for."""
    (found,) = remembered(graph, meets((type_name, name), run=run, facts=facts)).mentions
    return found


def verdict(graph: Graph, *said_of: str, person: str = "ada") -> None:
    """Record a person's judgement (one, other, verdict, run), or with no person an agent's."""
    one, other, said, run = said_of
    judge = [{"one": one, "other": other, "verdict": said, "lines": 1}]
    text = f"{person} says {said} of {one} and {other} in {run}\n"
    raw = {"run": run, "agent": "scoper", "text": text, "judge": judge}
    assert not graph.remember([raw], person=person).queued


def the_clusters(graph: Graph) -> list[tuple[tuple[str, ...], bool]]:
    """Return the clusters as a reader derives them from all files."""
    draft = graph.draft(graph.at())
    rows = graph.index().connection.execute("select id from ent").fetchall()
    standings = {p: s for (id_,) in rows for p, s in draft.standings(id_).items()}
    return [(c.members, c.disputed) for c in clusters(standings)]


def entity_files(graph: Graph) -> dict[str, bytes]:
    """Return the bytes of every entity's file."""
    snapshot = graph.at()
    return {path: snapshot.blob(blob) for path, blob in snapshot.files("entities")}


# what the bands make of a mention


def test_a_match_gets_an_entity_of_its_own_and_a_link(graph: Graph) -> None:
    """Nothing is filed under another's id by a score: the link is an edge that says why."""
    mention(graph, "Organization", "Acme Corporation")
    found = mention(graph, "Organization", "Acme Corp", LATER)
    assert found.id == "org/acme-corp"
    assert isinstance(found.decision, Matched)
    assert (found.decision.by, found.decision.id) == ("score", "org/acme-corporation")
    edge = graph.draft(graph.at()).edge(("org/acme-corp", "same-as", "org/acme-corporation"))
    assert edge is not None
    (judged,) = edge.judgements
    assert (judged.by, judged.verdict, judged.score) == ("resolver", "same", "1")
    assert judged.upper
    assert judged.lower
    assert judged.scorer == "token-set-jaccard/2"
    assert the_clusters(graph) == [(("org/acme-corp", "org/acme-corporation"), False)]
    check_store(graph.place.folder)


def test_the_answer_and_the_commit_say_what_a_decision_rests_on(graph: Graph) -> None:
    """Score, scorer, cutoffs and the nearest name are in the answer and in the trailer."""
    mention(graph, "Organization", "Acme Corporation")
    shown = mention(graph, "Organization", "Acme Logistics", LATER).to_json()
    assert shown["decision"] == "pending"
    assert shown["candidates"] == ["org/acme-corporation"]
    assert (shown["score"], shown["scorer"]) == ("1/2", "token-set-jaccard/2")
    assert shown["because"] == "the score is between the cutoffs"
    message = git(Path(graph.place.top), "log", "-1", "--format=%B")
    assert "Decision: org/acme-logistics pending 1/2 like org/acme-corporation" in message


def test_what_shares_no_word_is_created(graph: Graph) -> None:
    """A mention that shares no token with anything is a new entity, never a question."""
    mention(graph, "Organization", "Globex")
    assert isinstance(mention(graph, "Organization", "Initech", LATER).decision, Created)
    assert graph.blocks().pairs(10) == []


def test_one_commit_reverted_by_git_takes_a_link_back(graph: Graph) -> None:
    """`git revert` of the commit that linked gives the bytes before it, whatever was linked."""
    mention(graph, "Organization", "Acme Corporation")
    top = Path(graph.place.top)
    before = git(top, "rev-parse", "HEAD^{tree}")
    mention(graph, "Organization", "Acme Corp", LATER)
    assert the_clusters(graph)
    git(top, "revert", "--no-edit", "HEAD")
    assert git(top, "rev-parse", "HEAD^{tree}") == before
    assert the_clusters(graph) == []


@pytest.mark.parametrize("batch", list(itertools.permutations(BATCH))[:12])
def test_a_batch_is_resolved_against_itself(
    graph: Graph, batch: tuple[tuple[str, str], ...]
) -> None:
    """Twins in one observation are linked as they would be in two, in any order."""
    remembered(graph, meets(*batch))
    assert the_clusters(graph) == [(("org/acme-corp", "org/acme-corporation"), False)]
    check_store(graph.place.folder)


# what speaks against a match


@pytest.mark.parametrize(
    ("type_name", "first", "then", "ours", "theirs", "because"),
    [
        ("Person", "Jo Doe", "JoDoe", {"email": "a@x.org"}, {"email": "b@x.org"}, "email differs"),
        ("Object", "pay-api", "pay_api", {"path": "svc/a"}, {"path": "svc/b"}, "path differs"),
        ("Object", "pay-api", "pay_api", {"version": "1.0"}, {"version": "2.0"}, "version differs"),
        ("Object", "pay-api", "pay_api", {"status": "live"}, {"status": "dead"}, "status differs"),
        ("Object", "pay-api", "pay_api", {"url": "https://a.io"}, {"url": "https://b.io"}, "url"),
        ("Organization", "Acme Inc", "Acme Ltd", {}, {}, "the legal forms differ: ltd, inc"),
    ],
)  # fmt: skip
def test_conflicting_facts_make_a_match_a_question(  # noqa: PLR0917
    graph: Graph, type_name: str, first: str, then: str, ours: dict[str, str],
    theirs: dict[str, str], because: str,
) -> None:  # fmt: skip
    """However alike the names: identifying facts, contradictions and legal forms outweigh them."""
    mention(graph, type_name, first, **ours)
    agreed = mention(graph, type_name, then, LATER, **theirs)
    assert isinstance(agreed.decision, Pending)
    assert because in agreed.decision.because
    assert the_clusters(graph) == []


def test_the_same_facts_do_not_prevent_a_match(graph: Graph) -> None:
    """The vetoes above are no accident: with one value on both sides the names link."""
    mention(graph, "Object", "pay-api", path="svc/a", version="1.0", status="live")
    found = mention(graph, "Object", "pay_api", LATER, path="svc/a", version="1.0", status="live")
    assert isinstance(found.decision, Matched)


def test_a_tie_at_the_top_is_for_a_person(graph: Graph) -> None:
    """A handle that fits two people links to neither."""
    mention(graph, "Person", "Wolfgang Ulmer")
    mention(graph, "Person", "Werner Ulmer")
    found = mention(graph, "Person", "wulmer", LATER).decision
    assert isinstance(found, Pending)
    assert found.candidates == ("person/werner-ulmer", "person/wolfgang-ulmer")
    assert "as much alike" in found.because


def test_two_of_one_cluster_are_no_tie(graph: Graph) -> None:
    """What is one thing already counts once."""
    mention(graph, "Organization", "Acme Corporation")
    mention(graph, "Organization", "Acme Corp", LATER)
    found = mention(graph, "Organization", "the acme corp", LATEST).decision
    assert isinstance(found, Matched)


def test_what_people_told_apart_is_not_linked_by_way_of_a_third(graph: Graph) -> None:
    """A mention that is like two things which a person told apart is a question."""
    mention(graph, "Person", "Jean Luc Herren")
    mention(graph, "Person", "J. L. Herren")
    verdict(graph, "person/jean-luc-herren", "person/j-l-herren", "different", LATER)
    mention(graph, "Person", "Jean L. Herren", LATER)
    found = mention(graph, "Person", "jeanherren", LATEST).decision
    assert not isinstance(found, Matched)


def test_a_shared_identifying_fact_raises_a_question_and_no_link(graph: Graph) -> None:
    """One mailbox serves many, so it is worth a look and never a merge."""
    mention(graph, "Person", "Ada Example", email="ada@example.org")
    found = mention(graph, "Person", "The Countess", LATER, email="ADA@example.org").decision
    assert isinstance(found, Pending)
    assert found.candidates == ("person/ada-example",)
    assert "identifying" in found.because
    kinds = [(pair.kind, pair.detail) for pair in graph.blocks().pairs(10)]
    assert kinds == [("marked", "email ada@example.org")]


def test_a_name_of_several_links_nothing(graph: Graph) -> None:
    """An alias that two entities have gives both as candidates; the mention is filed apart."""
    remembered(graph, meets(("Organization", "Globex"), ("Organization", "Initech")))
    for id_ in ("org/globex", "org/initech"):
        text = f"{id_} is called GI\n"
        fact = {"entity": id_, "k": "also-known-as", "v": "GI", "lines": 1}
        remembered(graph, {"run": LATER, "agent": "scoper", "text": text, "facts": [fact]})
    found = mention(graph, "Organization", "GI", LATEST)
    assert isinstance(found.decision, Pending)
    assert found.decision.candidates == ("org/globex", "org/initech")
    assert found.id not in found.decision.candidates
    assert the_clusters(graph) == []


def test_one_name_under_two_types_is_shown(graph: Graph) -> None:
    """Acme the company and Acme the service stay two, and a person is asked."""
    mention(graph, "Organization", "Zebra")
    assert isinstance(mention(graph, "Object", "zebra", LATER).decision, Created)
    assert [(p.kind, p.earlier, p.later) for p in graph.blocks().pairs(10)] == [
        ("types", "org/zebra", "object/zebra")
    ]


@pytest.mark.parametrize(
    ("type_name", "one", "other"),
    [
        ("Object", "ASR1603", "ASR1605"), ("Object", "cranel", "cranelr"),
        ("Event", "Merged PR #260", "Merged PR #480"),
        ("Object", "payments-api", "payments-api-v2"),
        ("Object", "api-1", "api-2"), ("Object", "jest-native", "react-native"),
        ("Object", "boto", "boto3"), ("Organization", "Fund IX", "Fund VIII"),
        ("Object", "lib v1", "lib v2"), ("Organization", "日本電気", "日本電産"),
        ("Person", "Ahmad bin Hasan", "Hasan bin Ahmad"), ("Object", "PyGnuplot", "gnuplot_py"),
        ("Organization", "The Co", "Inc."), ("Object", "???", "!!!"),
        ("Person", "CEO", "CTO"),
    ],
)  # fmt: skip
def test_what_others_merged_by_mistake_is_never_linked(
    graph: Graph, type_name: str, one: str, other: str
) -> None:
    """The false merges that users of other memories reported (PEERS.md, C)."""
    mention(graph, type_name, one)
    found = mention(graph, type_name, other, LATER)
    assert not isinstance(found.decision, Matched)
    assert the_clusters(graph) == []


@pytest.mark.parametrize(
    ("type_name", "one", "other"),
    [
        ("Organization", "Müller GmbH", "Muller GmbH"),
        ("Organization", "Müller GmbH", "Mueller GmbH"),
        ("Object", "payments-api", "payments_api"), ("Object", "PaymentsApi", "payments-api"),
        ("Person", "Jean-Luc Herren", "jlherren"), ("Person", "Brian E Granger", "Brian Granger"),
        ("Organization", "Acme Corp", "Acme Corporation"), ("Object", "python3-foo", "python-foo"),
    ],
)  # fmt: skip
def test_what_is_written_otherwise_is_linked(
    graph: Graph, type_name: str, one: str, other: str
) -> None:
    """Spellings that measurement shows to be safe link by themselves."""
    mention(graph, type_name, one)
    assert isinstance(mention(graph, type_name, other, LATER).decision, Matched)


def test_a_name_in_another_script_matches_itself(graph: Graph) -> None:
    """CJK names are exact names as any, and alike when transliterated alike."""
    mention(graph, "Organization", "日本電気")
    found = mention(graph, "Organization", "日本電気", LATER).decision
    assert isinstance(found, Matched)
    assert found.by == "name"


# cutoffs


@pytest.mark.parametrize("change", ["upper off", "another scorer", "no such type", "broken"])
def test_without_cutoffs_of_this_scorer_nothing_matches(graph: Graph, change: str) -> None:
    """Cutoffs that are off, of a scorer this kg has not, or missing send all to a person."""
    path = Path(graph.place.folder) / "resolver.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    own = said["types"]["Organization"]
    if change == "upper off":
        own["upper"] = "off"
    elif change == "another scorer":
        own["scorer"] = "token-set-jaccard/99"
    else:
        del said["types"]["Organization"]
    path.write_text("{" if change == "broken" else json.dumps(said), encoding="utf-8")
    git(Path(graph.place.top), "add", "resolver.json")
    git(Path(graph.place.top), "commit", "-qm", "cutoffs")
    told = [
        meets(("Organization", name), run=run)
        for name, run in (("Acme Corporation", RUN), ("Acme Corp", LATER))
    ]
    found = graph.remember(told).recorded[1].mentions[0].decision
    assert isinstance(found, Pending)
    assert the_clusters(graph) == []


# judgements


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::3])
def test_the_order_of_arrival_does_not_change_clusters(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """The same mentions and judgements in any order derive the same clusters."""
    graph = store(tmp_path / "memory")
    names = ["Globex", "Initech", "Hooli", "Umbrella"]
    remembered(graph, meets(*(("Organization", name) for name in names)))
    ids = [f"org/{name.lower()}" for name in names]
    said = [
        (ids[0], ids[1], "same", LATER, "ada"), (ids[1], ids[2], "same", LATEST, "bo"),
        (ids[0], ids[2], "different", LATER, "bo"), (ids[2], ids[3], "same", LATEST, "ada"),
    ]  # fmt: skip
    for at in order:
        *judged, person = said[at]
        verdict(graph, *judged, person=person)
    assert the_clusters(graph) == [(tuple(sorted(ids)), True)]


@settings(max_examples=8)
@given(st.lists(st.sampled_from(["same", "different"]), min_size=1, max_size=4))
def test_merge_unmerge_merge_ends_as_the_first_merge(
    tmp_path_factory: pytest.TempPathFactory, between: list[str]
) -> None:
    """Whatever was judged between: entity files, facts and clusters are as after the first."""
    graph = store(tmp_path_factory.mktemp("m") / "memory")
    mention(graph, "Organization", "Globex", note="makes things")
    mention(graph, "Organization", "Hooli", LATER, note="sells things")
    verdict(graph, "org/globex", "org/hooli", "same", LATER)
    files, found = entity_files(graph), the_clusters(graph)
    assert found == [(("org/globex", "org/hooli"), False)]
    for n, said in enumerate(between):
        verdict(graph, "org/globex", "org/hooli", said, f"r{1785516068 + n}")
        assert entity_files(graph) == files
        assert bool(the_clusters(graph)) == (said == "same")
    verdict(graph, "org/globex", "org/hooli", "same", "r1785517000")
    assert (entity_files(graph), the_clusters(graph)) == (files, found)


def test_later_facts_stay_where_they_were_filed(graph: Graph) -> None:
    """A fact told of a member while merged is that member's after the merge is taken back."""
    mention(graph, "Organization", "Globex")
    mention(graph, "Organization", "Hooli")
    verdict(graph, "org/globex", "org/hooli", "same", LATER)
    mention(graph, "Organization", "Hooli", LATEST, note="told while merged")
    verdict(graph, "org/globex", "org/hooli", "different", LATEST)
    assert [f.v for f in graph.entity("org/hooli").facts] == ["told while merged"]
    assert graph.entity("org/globex").facts == ()


def test_two_people_of_different_minds_are_both_heard(graph: Graph) -> None:
    """Neither is the last to win: the pair is a conflict and stays apart."""
    mention(graph, "Organization", "Globex")
    mention(graph, "Organization", "Hooli")
    verdict(graph, "org/globex", "org/hooli", "same", LATER, person="ada")
    verdict(graph, "org/globex", "org/hooli", "different", LATEST, person="bo")
    (standing,) = graph.draft(graph.at()).standings("org/globex").values()
    assert (standing.verdict, standing.by) == ("conflict", ("person:ada", "person:bo"))
    assert the_clusters(graph) == []
    verdict(graph, "org/globex", "org/hooli", "withdrawn", "r1785516090", person="bo")
    assert the_clusters(graph) == [(("org/globex", "org/hooli"), False)]


def test_an_agents_judgement_links_nothing(graph: Graph) -> None:
    """It is kept, with its reason, as a suggestion; also one that claims to be a person."""
    mention(graph, "Organization", "Globex")
    mention(graph, "Organization", "Hooli")
    verdict(graph, "org/globex", "org/hooli", "same", LATER, person="")
    draft = graph.draft(graph.at())
    edge = draft.edge(("org/globex", "same-as", "org/hooli"))
    assert edge is not None
    assert [j.by for j in edge.judgements] == ["agent:scoper"]
    assert the_clusters(graph) == []


def test_a_persons_word_is_kept_in_the_outbox_as_a_persons(graph: Graph) -> None:
    """A judgement that cannot be written now is delivered later under the same name."""
    mention(graph, "Organization", "Globex")
    mention(graph, "Organization", "Hooli")
    judge = [{"one": "org/globex", "other": "org/hooli", "verdict": "same", "lines": 1}]
    raw = {"run": LATER, "agent": "scoper", "text": "one letterhead\n", "judge": judge}
    graph.not_now = "a rebase is under way"
    assert graph.remember([raw], person="ada").queued
    graph.not_now = ""
    graph.deliver()
    (standing,) = graph.draft(graph.at()).standings("org/globex").values()
    assert (standing.verdict, standing.by) == ("same", ("person:ada",))


# the pairs


def test_pairs_are_a_function_of_the_tree(tmp_path: Path) -> None:
    """However the store came there, and whoever built the index, the pairs are the same."""
    graph = store(tmp_path / "memory")
    names = [
        "payments api", "payments worker", "payments", "ledger api", "ledgr api", "worker",
        "payments-apis", "PaymentsApi", "api 1", "api 2", "zebra",
    ]  # fmt: skip
    for n, name in enumerate(names):
        mention(graph, "Object", name, f"r{1785343267 + (n * 7) % 11}")
        graph.blocks().pairs(100)  # found step by step
    mention(graph, "Organization", "Zebra", LATER)
    text = "payments is also known as ledger\n"
    fact = {"entity": "object/payments", "k": "also-known-as", "v": "ledger", "lines": 1}
    remembered(graph, {"run": LATER, "agent": "scoper", "text": text, "facts": [fact]})
    stepwise = graph.blocks().pairs(1000)
    blocks = graph.blocks()
    blocks.rebuild()
    whole = blocks.pairs(1000)
    # weights follow the words' frequencies, which went on changing
    assert {p[:5] for p in stepwise} == {p[:5] for p in whole}
    assert len(whole) > len(names)


# the file of names


@pytest.mark.parametrize("damage", ["garbage", "a page", "gone", "another version"])
def test_a_damaged_file_of_names_is_made_anew(graph: Graph, damage: str) -> None:
    """Neither a write nor the queue fails for it, and both say what they would have said."""
    for n, name in enumerate(["Globex Trading", "Globex Shipping", "Acme Corporation"]):
        mention(graph, "Organization", name, f"r{1785343267 + n}")
    wanted = graph.blocks().pairs(10)
    graph.close()
    path = Path(graph.place.state) / "resolve.db"
    data = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"x" * 5000)
    elif damage == "a page":
        path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    elif damage == "gone":
        path.unlink()
    else:
        with sqlite3.connect(path) as con:
            con.execute("update meta set version = 99")
        con.close()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert isinstance(mention(graph, "Organization", "Acme Corp", LATER).decision, Matched)
    graph.close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 60_000)
    assert {p[:3] for p in graph.blocks().pairs(10)} >= {p[:3] for p in wanted}


def test_where_nothing_can_be_written_the_queue_is_in_memory(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only repository still has its queue."""
    mention(graph, "Organization", "Globex Trading")
    mention(graph, "Organization", "Globex Shipping", LATER)
    blocks = graph.blocks()

    def refused() -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(blocks, "_open_to_write", refused)
    assert [p.kind for p in blocks.pairs(10)] == ["alike"]
