"""Entities that were judged the same are answered as one, each fact with where it was filed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, ClassVar

import pytest
from commands import Kg
from recall_store import RAW, RUN, Store, edge_path, fact
from test_recall_index import anew, content, here

from kg.context.view import known
from kg.graph import Graph
from kg.recall.index import Index

EARLIER, LATER = "r1785343200", "r1785429667"
ADA, BO = "person:ada", "person:bo"
CORP, CORPORATION = "org/acme-corp", "org/acme-corporation"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with one company under two ids, which the resolver has linked."""
    made = Store(tmp_path)
    made.entity(CORPORATION, fact("status", "listed", 2), fact("tier", "gold", 3),
                name="Acme Corporation")  # fmt: skip
    made.entity(CORP, fact("status", "private"), fact("note", "makes anvils"), name="Acme Corp",
                first_run=EARLIER)  # fmt: skip
    made.entity("object/ledger", fact("note", "keeps zebras"))
    made.entity("org/globex", fact("note", "a rival"))
    made.judge(CORP, CORPORATION, ("resolver", "same", RUN))
    made.put(RAW, "acme corp makes anvils\n" * 4)
    made.commit()
    return made


def entities(store: Store, *words: str) -> list[dict[str, Any]]:
    """Return what recall answers in JSON."""
    answer = json.loads(store.recall("--json", *words).out)["kg.recall/v1"]
    found: list[dict[str, Any]] = answer["entities"]
    return found


def heads(store: Store, *words: str) -> list[str]:
    """Return the ids of the blocks that recall answers with."""
    blocks = store.recall(*words).out.split("\n\n")
    return [block.split("  ")[0] for block in blocks if "(" in block.split("\n")[0]]


class TestAnswer:
    """A cluster is one answer, under its canonical."""

    def test_two_ids_of_one_thing_are_no_contradiction(self, store: Store) -> None:
        """Who is owned by both members of a cluster is owned by one, until they are told apart."""
        store.edge("object/ledger", "owned-by", CORP)
        store.edge("object/ledger", "owned-by", CORPORATION)
        store.commit()
        assert "contested" not in store.recall("object/ledger").out
        assert entities(store, "object/ledger")[0]["contested"] == []
        store.judge(CORP, CORPORATION, (ADA, "different", LATER), how="different-from")
        store.commit()
        assert "contested: owned-by (2 values)" in store.recall("object/ledger").out

    def test_text(self, store: Store) -> None:
        """Its facts are those of all members, each with its source, and who linked them."""
        store.edge(CORPORATION, "supplies", "object/ledger")
        store.edge(CORP, "part-of", CORPORATION)
        store.commit()
        assert store.recall(CORPORATION).out.replace(RAW, "RAW") == (
            "org/acme-corp  (Organization)  Acme Corp\n"
            "  note = makes anvils\n"
            "      src: RAW#L1\n"
            "  status = private\n"
            "      src: RAW#L1\n"
            "  status = listed\n"
            "      src: RAW#L2\n"
            "  tier = gold\n"
            "      src: RAW#L3\n"
            "  supplies -> object/ledger\n"
            "      src: RAW#L1\n"
            "  same as: org/acme-corporation  Acme Corporation (resolver)\n"
            "  contested: status (2 values)\n"
        )

    @pytest.mark.parametrize(
        "query",
        [CORP, CORPORATION, "Acme Corporation", "acme", "anvils", "gold tier", "acme-corpor"],
    )
    def test_any_member_finds_it(self, store: Store, query: str) -> None:
        """An id, a name, part of one or words of any member give the cluster, once."""
        assert heads(store, query) == [CORP]
        assert heads(store, "--format", "text", "--limit", "1", query) == [CORP]
        assert "more" not in store.recall("--limit", "1", query).out

    def test_words_over_two_members(self, store: Store) -> None:
        """A question whose words are spread over members finds the cluster before others."""
        store.entity("org/anvil-shop", fact("note", "sells anvils"))
        store.commit()
        assert heads(store, "who is listed and makes anvils?")[0] == CORP
        assert heads(store, "gold anvils")[0] == CORP

    def test_json(self, store: Store) -> None:
        """A program gets where each fact, edge and trace is filed, and who is one with it."""
        store.edge("object/ledger", "owned-by", CORPORATION)
        store.trace("t", CORPORATION, tried="a merger", because="no anvils")
        store.commit()
        (found,) = entities(store, CORPORATION)
        assert found["id"] == CORP
        assert found["same_as"] == [
            {"id": CORPORATION, "name": "Acme Corporation", "by": ["resolver"]}
        ]
        assert found["disputed"] == []
        filed = {(f["k"], f["v"]): f.get("filed_under") for f in found["facts"]}
        assert filed == {
            ("note", "makes anvils"): None, ("status", "private"): None,
            ("status", "listed"): CORPORATION, ("tier", "gold"): CORPORATION,
        }  # fmt: skip
        assert [(e["id"], e["filed_under"]) for e in found["edges"]] == [
            ("object/ledger", CORPORATION)
        ]
        assert [t["filed_under"] for t in found["tried"]] == [CORPORATION]
        assert found["contested"] == [{"k": "status", "values": ["listed", "private"]}]
        assert (found["first_run"], found["last_seen_run"]) == (EARLIER, RUN)

    def test_the_same_fact_twice(self, store: Store) -> None:
        """What two members tell is said once, as the canonical has it."""
        store.entity(CORPORATION, fact("note", "Makes  ANVILS", 4))
        store.edge(CORP, "supplies", "object/ledger")
        store.edge(CORPORATION, "supplies", "object/ledger", 2)
        store.commit()
        out = store.recall(CORP).out
        assert out.lower().count("anvils") == 1
        assert out.count("supplies -> object/ledger") == 1
        (found,) = entities(store, CORP)
        assert len(found["edges"]) == 1

    def test_a_member_linked_through_another(self, store: Store) -> None:
        """It is told by whom it is linked to any of them."""
        store.entity("org/acme-inc")
        store.judge(CORPORATION, "org/acme-inc", (ADA, "same", RUN))
        store.commit()
        lines = [line for line in store.recall("acme-inc").out.splitlines() if "same as" in line]
        assert lines == [
            "  same as: org/acme-corporation  Acme Corporation (resolver)",
            f"  same as: org/acme-inc ({ADA})",
        ]

    def test_filters(self, store: Store) -> None:
        """What is asked of the kind, tag or type of entities is asked of the cluster."""
        store.entity(CORPORATION, fact("tag", "vip"), fact("note", "x", kind="decision"),
                     name="Acme Corporation")  # fmt: skip
        store.entity("object/acme-thing", fact("note", "the acme of things"))
        store.judge("object/acme-thing", CORP, (ADA, "same", RUN))
        store.commit()
        for said in (
            ["--tag", "vip"],
            ["--kind", "decision"],
            ["--type", "org"],
            ["--type", "Object"],
        ):
            assert heads(store, *said, "anvils") == [CORP], said
        assert heads(store, "--type", "person", "anvils") == []

    def test_about(self, store: Store) -> None:
        """The neighbours of a member are those of its cluster, and found as clusters."""
        store.edge(CORPORATION, "supplies", "object/ledger")
        store.commit()
        assert heads(store, "--about", CORP, "zebras") == ["object/ledger"]
        assert heads(store, "--about", "object/ledger", "anvils") == [CORP]
        assert heads(store, "--about", CORPORATION, "rival") == []

    def test_hops(self, store: Store) -> None:
        """A neighbour of a member completes what the canonical answers."""
        store.edge(CORPORATION, "supplies", "object/ledger")
        store.commit()
        assert heads(store, "anvils zebras") == heads(store, "zebras anvils")
        assert set(heads(store, "anvils zebras")) == {CORP, "object/ledger"}

    def test_hand_edits_of_a_member(self, store: Store) -> None:
        """An edit nobody committed is told whichever member's file it is in."""
        store.entity(CORPORATION, fact("status", "edited"))
        assert f"entities/{CORPORATION}.json" in store.recall(CORP).err

    def test_md_budget_age(self, store: Store) -> None:
        """Other forms of the answer are of the cluster, too."""
        assert store.recall("--format", "md", CORPORATION).out.startswith("### `org/acme-corp`")
        assert store.recall("--age", CORPORATION).out.count("(seen ") == 4
        assert heads(store, "--budget", "1", "acme") == [CORP]
        assert heads(store, "--explain", "gold anvils") == [CORP]

    def test_without_full_text(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """An index without full text answers the same."""
        monkeypatch.setattr("kg.recall.schema.has_words", lambda _con: False)
        store.index.unlink(missing_ok=True)
        assert heads(store, "gold anvils") == [CORP]

    def test_taking_it_back(self, store: Store) -> None:
        """When the judgement is gone each answers for itself, exactly as before."""
        (store.folder / edge_path(CORP, "same-as", CORPORATION)).unlink()
        store.commit()
        assert heads(store, "anvils") == [CORP]
        assert heads(store, "gold") == [CORPORATION]
        assert store.recall("gold anvils").out.count("tier = gold") == 1
        assert "contested" not in store.recall(CORP).out
        assert "listed" not in store.recall(CORP).out


class TestDormant:
    """A cluster sleeps only where all of it does."""

    def age(self, store: Store) -> None:
        """Let five runs miss what was seen so far."""
        for at in range(5):
            store.put(f"raw/r{1785343268 + at}-scoper.{at:08x}.txt", f"{at}\n")

    def test_all_asleep(self, store: Store) -> None:
        """It is left out of word hits, counted once, and marked where it is named."""
        self.age(store)
        store.commit()
        assert heads(store, "anvils listed") == []
        assert "1 dormant entity left out" in store.recall("anvils listed").out
        assert f"dormant: last seen {RUN}" in store.recall(CORPORATION).out

    @pytest.mark.parametrize("awake", [CORP, CORPORATION])
    def test_one_awake(self, store: Store, awake: str) -> None:
        """One member that was seen lately keeps the cluster awake."""
        raw = "raw/r1785343290-scoper.aaaaaaaa.txt"
        store.put(raw, "x\n")
        store.entity(awake, fact("note", "zinc", raw=raw), name="Acme Now", first_run=EARLIER)
        self.age(store)
        store.commit()
        assert heads(store, "zinc") == heads(store, "acme now") == [CORP]
        assert "dormant" not in store.recall("zinc").out

    def test_archived(self, store: Store) -> None:
        """The same holds for archiving."""
        store.entity(CORP, fact("note", "makes anvils"), name="Acme Corp", archived=True)
        store.commit()
        assert heads(store, "anvils") == heads(store, CORPORATION) == heads(store, CORP) == [CORP]
        store.entity(CORPORATION, fact("tier", "gold"), archived=True)
        store.commit()
        assert heads(store, "anvils") == heads(store, CORPORATION) == []
        assert heads(store, "--archived", CORPORATION) == [CORP]


class TestDisputed:
    """Where people do not agree nothing is merged, and the answer says so."""

    def test_linked_and_different(self, store: Store) -> None:
        """Each member of a cluster in dispute stands for itself and tells why."""
        store.judge(CORP, CORPORATION, (ADA, "same", RUN))
        store.judge(CORPORATION, "org/globex", (ADA, "same", RUN))
        store.judge(CORP, "org/globex", (BO, "different", RUN), how="different-from")
        store.commit()
        said = "  disputed: judged the same as "
        ends = f"different ({BO}): see kg review\n"
        for id_, line in (
            (CORP, f"{said}org/globex, and {ends}"),
            ("org/globex", f"{said}{CORP}, and {ends}"),
            (CORPORATION, f"{said}{CORP} and org/globex, which are {ends}"),
        ):
            assert heads(store, id_) == [id_]
            assert line in store.recall(id_).out
            assert "same as:" not in store.recall(id_).out
        (found,) = entities(store, CORPORATION)
        assert found["disputed"] == [
            {"ids": [CORP, "org/globex"], "verdict": "different", "by": [BO]}
        ]

    def test_two_minds(self, store: Store) -> None:
        """A pair that two people judge differently is told of on both; later words don't win."""
        store.judge(CORP, CORPORATION, (ADA, "same", RUN), (BO, "different", LATER))
        store.commit()
        line = f"  disputed: {ADA} and {BO} judge {{}} differently: see kg review\n"
        assert line.format(CORPORATION) in store.recall(CORP).out
        assert line.format(CORP) in store.recall(CORPORATION).out

    def test_two_minds_about_a_member(self, store: Store) -> None:
        """Of a member that is not the canonical both are named."""
        store.judge(CORPORATION, "org/globex", (ADA, "same", RUN), (BO, "different", LATER))
        store.commit()
        line = f"{ADA} and {BO} judge {CORPORATION} and org/globex differently"
        assert line in store.recall(CORP).out

    def test_a_person_separates(self, store: Store) -> None:
        """The resolver's link is gone, and nothing is in dispute."""
        store.judge(CORP, CORPORATION, (ADA, "different", RUN), how="different-from")
        store.commit()
        assert heads(store, CORPORATION) == [CORPORATION]
        assert "disputed" not in store.recall("acme").out


class TestOdd:
    """Files by hand hold anything."""

    same: ClassVar = {"by": ADA, "verdict": "same", "run": RUN}

    def test_an_id_without_a_file(self, store: Store) -> None:
        """It links nothing, not even two others that both are the same as it."""
        store.judge(CORP, "org/ghost", (ADA, "same", RUN))
        store.judge("org/ghost", "org/globex", (ADA, "same", RUN))
        store.commit()
        assert heads(store, "globex") == ["org/globex"]
        assert "ghost" not in store.recall(CORP).out

    def test_garbage(self, store: Store) -> None:
        """What is no judgement counts for nothing, odd runs come first, and nothing fails."""
        path = edge_path(CORP, "same-as", "org/globex")
        lines: list[Any] = [7, None, "x", {}, {"by": 3, "verdict": [], "run": {}},
                            {"by": ADA, "verdict": "\u001esame\u001f", "run": "never"}]  # fmt: skip
        members = {"subject": CORP, "predicate": "same-as", "object": "org/globex"}
        store.put(path, json.dumps({**members, "judgements": lines}))
        store.put(edge_path("org/x", "same-as", "org/x"),
                  json.dumps({"subject": CORP, "predicate": "same-as", "object": CORP,
                              "judgements": [self.same]}))  # fmt: skip
        store.put(edge_path("org/a", "same-as", "org/b"),
                  json.dumps({"subject": "org/globex", "predicate": "same-as", "object": CORP,
                              "judgements": "no list"}))  # fmt: skip
        store.commit()
        assert heads(store, CORP) == [CORP]
        assert heads(store, "globex") == ["org/globex"]
        odd = {"by": BO, "verdict": "same", "run": "last week"}
        store.put(path, json.dumps({**members, "judgements": [odd]}))
        store.entity("org/globex", first_run="yesterday")
        store.commit()
        assert heads(store, "globex") == [CORP]

    def test_from_the_greater_id(self, store: Store) -> None:
        """A file the wrong way round is about the same pair."""
        store.judge(CORPORATION, CORP, (ADA, "different", LATER), how="different-from")
        store.commit()
        assert heads(store, CORPORATION) == [CORPORATION]

    def test_two_files_of_one_id(self, store: Store) -> None:
        """The canonical's two files are one answer as well."""
        store.entity(CORP, fact("note", "twin"), path="entities/org/ff/acme-corp.json")
        store.entity(CORPORATION, path="entities/org/ff/acme-corporation.json")
        store.commit()
        assert heads(store, "acme") == [CORP]
        out = store.recall("acme").out
        assert "note = twin" in out
        assert "anvils" in out
        assert out.count("same as:") == 1


IDS = [f"object/e{at}" for at in range(7)]


def edit(store: Store, rng: random.Random) -> None:
    """Change judgements, or an entity, at random."""
    one, other = sorted(rng.sample(IDS, 2))
    how = rng.choice(("same-as", "same-as", "different-from"))
    path = store.folder / edge_path(one, how, other)
    entity = store.folder / f"entities/{one}.json"
    verdicts = ("unsure", *({"same-as": "same", "different-from": "different"}[how],) * 2)
    lines = [(rng.choice((ADA, BO, "resolver", "agent:x")), rng.choice(verdicts),
              rng.choice(("r1", "r2", "odd"))) for _ in range(rng.randint(1, 2))]  # fmt: skip
    raw = f"raw/r{rng.randint(1, 9)}-{rng.choice('ab')}.{rng.randint(0, 9):08x}.txt"
    store.put(raw, "x\n")
    said = (
        fact("status", rng.choice(("on", "off")), raw=raw),
        fact("tag", rng.choice("xy"), raw=raw),
    )
    rng.choice((
        lambda: store.judge(one, other, *lines, how=how),
        lambda: store.judge(one, other, *lines, how=how),
        lambda: path.unlink(missing_ok=True),
        lambda: store.put(edge_path(one, how, other), rng.choice(("{", "[]", "\xff"))),
        lambda: store.entity(one, *said, archived=rng.random() < 0.3),
        lambda: store.entity(one, *said, path=f"entities/object/ff/{one[7:]}.json"),
        lambda: entity.unlink(missing_ok=True),
        lambda: store.edge(one, "owned-by", other),
        lambda: store.trace(f"t{rng.randint(0, 2)}", one, tried="zeal", because="b", run="r3"),
    ))()  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_steps_equal_one_go(tmp_path: Path, seed: int) -> None:
    """However judgements and entities came and went, the index is the one built at once."""
    store, rng = Store(tmp_path), random.Random(seed)
    for id_ in IDS:
        store.entity(id_, fact("note", f"word{id_[7:]}"))
    for _ in range(15):
        for _ in range(rng.randint(1, 3)):
            edit(store, rng)
        store.commit()
        with Index.fresh(here(store)) as index:
            assert content(index) == anew(store)


def test_kin(store: Store) -> None:
    """The index tells of any member all of its cluster, the canonical first."""
    with Index.fresh(here(store)) as index:
        assert index.kin_of(CORPORATION) == index.kin_of(CORP) == [CORP, CORPORATION]
        assert index.kin_of("object/ledger") == index.kin_of("org/ghost") == []


class TestOthers:
    """What else answers for the cluster."""

    @pytest.fixture
    def kg(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> Kg:
        """Return the commands in the store's folder."""
        monkeypatch.chdir(store.folder)
        return Kg(capsys)

    def test_show(self, kg: Kg) -> None:
        """`kg show` of any member has the facts of the others under the ids they stand under."""
        out = kg.ok("show", CORPORATION)
        assert out.startswith(f"{CORPORATION}  (Organization)  Acme Corporation\n")
        assert f"  one of 2 that are the same thing, which goes by {CORP}\n" in out
        assert f"filed under {CORP}  (Organization)  Acme Corp\n  note = makes anvils\n" in out
        found = kg("show", CORP, "--json").json("show")
        assert found["cluster"] == {"canonical": CORP, "members": [CORP, CORPORATION]}
        assert [other["id"] for other in found["others"]] == [CORPORATION]
        assert "cluster" not in kg("show", "org/globex", "--json").json("show")
        assert "one of 2" in kg.ok("show", CORP, "--at", "HEAD")

    def test_why(self, kg: Kg) -> None:
        """`kg why` looks at all members, and says where each fact is filed."""
        out = kg.ok("why", CORP, "tier")
        assert f"{CORPORATION} tier = gold" in out
        assert f"  filed under {CORPORATION}, which is the same thing as {CORP}\n" in out
        found = kg("why", CORPORATION, "status", "--json").json("why")
        assert [(one["id"], one.get("filed_under")) for one in found] == [
            (CORPORATION, None), (CORP, CORP),
        ]  # fmt: skip
        ran = kg("why", CORP, "tie")
        assert (ran.code, "did you mean tier" in ran.err) == (3, True)

    def test_tried(self, store: Store, kg: Kg) -> None:
        """`kg tried --about` a member has what was tried on any."""
        store.trace("t", CORPORATION, tried="melting zinc anvils", because="too hot")
        store.commit()
        assert "melting" in kg.ok("tried", "melting zinc anvils", "--about", CORP)

    def test_raw_about(self, store: Store) -> None:
        """`kg recall --raw --about` a member has the texts behind any."""
        other = "raw/r1785343999-scoper.bbbbbbbb.txt"
        store.put(other, "anvils by the dozen\n")
        store.entity("org/acme-inc", fact("note", "x", raw=other))
        store.judge(CORP, "org/acme-inc", (ADA, "same", RUN))
        store.commit()
        assert other in store.recall("--raw", "--about", CORP, "dozen").out

    def test_context(self, store: Store) -> None:
        """`kg context` has a cluster once, under its canonical, and what two tell once."""
        store.entity(CORPORATION, fact("note", "Makes Anvils"), fact("tier", "gold", 3),
                     )  # fmt: skip
        store.edge(CORP, "part-of", CORPORATION)
        store.commit()
        lines = {(line.id, line.k, line.v.lower()) for line in known(Graph(str(store.folder)))}
        assert lines == {
            (CORP, "note", "makes anvils"), (CORP, "status", "private"), (CORP, "tier", "gold"),
            ("object/ledger", "note", "keeps zebras"), ("org/globex", "note", "a rival"),
        }  # fmt: skip
