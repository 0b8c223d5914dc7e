"""The verbs by which people keep what is held true, as they are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store
from commands import Kg
from stores import observed, store

from kg.cli.app import Session
from kg.confidence import confidence
from kg.errors import RefusedError
from kg.graph import Graph
from kg.model import Fact

if TYPE_CHECKING:
    from pathlib import Path

API = "object/api"


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kg:
    """Return the commands, typed by a person."""
    monkeypatch.setattr(Session, "person", lambda _self: "ada")
    return Kg(capsys)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in which two runs contradict each other."""
    made = store(tmp_path / "memory")
    made.remember(
        [observed("api is up\n", ("api", "status", "up"), run="r1785343267", agent="one")]
    )
    made.remember([observed("api is down\n", ("api", "status", "down"), run="r1785429667",
                            agent="two")])  # fmt: skip
    return made


def statuses(graph: Graph) -> dict[str, tuple[str | None, str | None]]:
    """Return {status: (since, until)} of the api."""
    facts = graph.entity(API).facts
    return {str(f.v): (f.since, f.until) for f in facts if f.k == "status"}


def test_a_person_confirms_and_an_agent_may_not(kg: Kg, graph: Graph) -> None:
    """A confirmation is a sighting by a person with its own source; an agent's is refused."""
    assert "confirmed: object/api status = up" in kg.ok(
        "confirm", API, "status", "up", "--because", "I looked"
    )
    (seen,) = graph.entity(API).seen_again
    assert (seen.by, seen.v) == ("person:ada", "up")
    assert graph.at().read(seen.src.partition("#")[0]) == b"I looked\n"
    with pytest.raises(RefusedError, match="only a person"):
        graph.remember([{"text": "x\n", "confirm": [{"entity": API, "lines": 1}]}])
    assert kg("confirm", API, "port", "--because", "x").code == 3
    check_store(graph.place.folder)


def test_a_confirmation_wakes_what_was_dormant(kg: Kg, graph: Graph) -> None:
    """What five runs of the same agents missed is stale until a person confirms it."""
    for n in range(5):
        graph.remember([{"run": f"r{1785516067 + n}", "agent": a, "text": f"{n} {a}\n"}
                        for a in ("one", "two")])  # fmt: skip
    assert "dormant: object/api" in kg.ok("stale")
    kg.ok("confirm", API, "--because", "still there")
    assert "dormant" not in kg.ok("stale")


def test_conflicts_are_listed_with_both_sources(kg: Kg, graph: Graph) -> None:
    """Each value of a contested key with run, source and confirmation."""
    (found,) = kg("conflicts", "--json").json("conflicts")
    assert (found["id"], found["k"]) == (API, "status")
    assert {side["v"] for side in found["sides"]} == {"up", "down"}
    assert all(side["src"].startswith("raw/") for side in found["sides"])
    assert "status = up" in kg.ok("conflicts", API)
    assert kg("conflicts", "object/nothing").code == 3
    assert graph.entity(API).contested == ("status",)


def test_settling_keeps_sets_or_splits(kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """One value is kept, another takes the place of both, or each has its time."""
    kg.ok("settle", API, "status", "--keep", "down", "--because", "asked")
    assert list(statuses(graph)) == ["down"]
    assert kg("settle", API, "status", "--keep", "down", "--because", "x").code == 3
    kg.ok("restore", API, "status", "up", "--because", "no, up")
    kg.ok("settle", API, "status", "--split-in-time", "2026-10-01", "--because", "it went down",
          "--first", "up")  # fmt: skip
    assert statuses(graph) == {"up": (None, "2026-10-01"), "down": ("2026-10-01", None)}
    assert graph.entity(API).contested == ()
    kg.ok("add", "fact", API, "status", "odd", "--because", "odd", "--since", "2026-10-02")
    kg.ok("settle", API, "status", "--set", "fine", "--because", "fine")
    assert "fine" in statuses(graph)
    assert graph.entity(API).contested == ()
    assert kg("settle", API, "status", "--because", "x").code == 2
    assert kg("conflicts", "--json").json("conflicts") == []
    check_store(str(tmp_path / "memory"))


def test_a_contradiction_between_edge_and_key_is_settled(kg: Kg, graph: Graph) -> None:
    """Two owners contradict, of whichever form; one is kept and the other is on record."""
    for name in ("Acme", "Globex"):
        graph.remember([{
            "text": f"api is owned by {name}\n", "run": "r1785343267", "agent": "one",
            "entities": [{"ref": "o", "type": "Organization", "name": name}],
            "edges": [{"subject": API, "predicate": "owned-by", "object": "o", "lines": 1}],
        }])  # fmt: skip
    found = [c for c in kg("conflicts", "--json").json("conflicts") if c["k"] == "owned-by"]
    assert {s["v"] for s in found[0]["sides"]} == {"org/acme", "org/globex"}
    kg.ok("settle", API, "owned-by", "--keep", "org/globex", "--because", "the register says so")
    owners = [e.object for e in graph.draft(graph.at()).edges_of(API)]
    assert owners == ["org/globex"]


def test_a_value_is_superseded(kg: Kg, graph: Graph) -> None:
    """The old value is retracted with the reason, or held until a date; no contradiction arises."""
    kg.ok("settle", API, "status", "--keep", "down", "--because", "asked")
    out = kg.ok("supersede", API, "status", "up", "--because", "it is back")
    assert "contradicts" not in out
    assert list(statuses(graph)) == ["up"]
    kg.ok("supersede", API, "status", "retired", "--since", "2026-11-01", "--because", "retired")
    assert statuses(graph) == {"up": (None, "2026-11-01"), "retired": ("2026-11-01", None)}
    assert kg("supersede", API, "port", "80", "--because", "x").code == 3


def test_an_entity_is_archived_and_restored(kg: Kg, graph: Graph) -> None:
    """Put away it is left out of recall; the reason is in raw/, and it comes back."""
    assert "archived: object/api" in kg.ok("archive", API, "--because", "switched off")
    assert graph.entity(API).archived
    assert "restored: object/api" in kg.ok("restore", API, "--because", "on again")
    assert not graph.entity(API).archived
    assert kg("restore", API, "status", "purple", "--because", "x").code == 3


def test_what_was_retracted_is_not_believed_again_unseen(kg: Kg, graph: Graph) -> None:
    """The same line told again is answered as still retracted, with the source of the reason."""
    kg.ok("retract", API, "status", "up", "--because", "it was a test")
    src = graph.entity(API).retracted[0].what.src
    said: dict[str, Any] = {"run": "r1785343267", "agent": "three", "text": "again\n"}
    said["facts"] = [{"entity": API, "k": "status", "v": "up", "src": src}]
    (stated,) = graph.remember([said]).recorded[0].facts
    assert stated.outcome == "retracted"
    assert stated.because == graph.entity(API).retracted[0].because
    assert "up" not in statuses(graph)


@pytest.mark.usefixtures("graph")
def test_stale_names_what_is_over_and_paths_that_are_gone(kg: Kg, tmp_path: Path) -> None:
    """A fact past its until, and a path that the work tree has not; none that leads out of it."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "here.py").touch()
    kg.ok("add", "fact", API, "status", "beta", "--until", "2020-01-01", "--because", "beta")
    for path in ("here.py", "gone.py", "../../etc/nothing"):
        kg.ok("add", "fact", API, "path", path, "--because", path)
    out = kg.ok("stale", "--worktree", str(code))
    assert "over: object/api status = beta" in out
    assert "gone: object/api path = gone.py" in out
    assert "here.py" not in out
    assert "nothing" not in out
    assert kg("stale", "--worktree", "nowhere").code == 3
    assert {one["why"] for one in kg("stale", "--json").json("stale")} == {"over"}


@pytest.mark.usefixtures("graph")
def test_confidence_is_computed_when_it_is_asked_for(kg: Kg) -> None:
    """A contradiction lowers it, a person lifts it, settling restores it; the parts are shown."""

    def values() -> dict[str, float]:
        found = kg("why", API, "status", "--json").json("why")
        return {one["v"]: one["confidence"]["value"] for one in found if "confidence" in one}

    assert values() == {"up": 0.3, "down": 0.3}
    assert "confidence 0.30: stated, contradicted" in kg.ok("why", API, "status")
    kg.ok("settle", API, "status", "--keep", "up", "--because", "asked")
    assert values() == {"up": 1.0}
    kg.ok("add", "fact", API, "note", "fast", "--because", "it answers at once")
    assert "confidence 0.70: inferred" in kg.ok("why", API, "note")
    kg.ok("confirm", API, "note", "--because", "measured")
    assert "confidence 0.95: checked by a person" in kg.ok("why", API, "note")


def test_what_is_a_matter_of_taste_fades() -> None:
    """After its half-life a preference counts for half, a decision as before; policies override."""
    claim = Fact(k="note", v="tabs", src="raw/x.txt#L1", seen_run="r0")
    later, policy = 90 * 86_400.0, {"half_life": 45, "weights": {"stated": 0.8, "observed": "x"}}
    for kind, half, quarter in (("preference", 0.5, 0.2), ("decision", 1.0, 0.8)):
        plain = confidence(claim, (), kind, contradicted=False, now=later, policy={})
        given = confidence(claim, (), kind, contradicted=False, now=later, policy=policy)
        assert (round(plain.value, 3), round(given.value, 3)) == (half, quarter)
