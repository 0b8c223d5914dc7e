"""The command line: verbs, JSON contracts, exit codes, finding the store, hand edits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import Kg
from stores import acme, git, in_tree, observed, store

from kg.cli.app import cli, commands
from kg.graph import Graph

API = "object/payments-api"


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """Return the commands."""
    return Kg(capsys)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in memory/ with the design's example in it."""
    made = store(tmp_path / "memory")
    made.remember([acme()])
    return made


def test_the_main_job_from_end_to_end(kg: Kg, tmp_path: Path) -> None:
    """init, remember, show, why and log tell one story, with the commit that brought it."""
    kg.ok("init")
    (tmp_path / "o.json").write_text(json.dumps(acme()), encoding="utf-8")
    told = kg("remember", "o.json", "--json").json("remember")
    assert [f["outcome"] for f in told["results"][0]["facts"]] == ["new"]
    (evidence,) = kg("why", API, "on-call", "--json").json("why")
    assert [x["text"] for x in evidence["lines"] if x["cited"]] == [
        "payments-api is owned by Acme Corp and on-call is platform-team."
    ]
    assert [evidence["commit"]["id"]] == told["commits"]
    assert kg("show", API, "--json").json("show")["facts"][0]["src"] == evidence["src"]
    entry = kg("log", API, "--json").json("log")[0]
    assert (entry["commit"], entry["agent"], entry["run"]) == (
        told["commits"][0],
        "scoper",
        "r1785343267",
    )
    assert {"what": "new", "id": API, "k": "on-call", "v": "platform-team"}.items() <= next(
        e for e in entry["events"] if e.get("k") == "on-call"
    ).items()


def test_the_same_twice_is_nothing_new(kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """Remembering the same observation again commits nothing and says so."""
    (tmp_path / "o.json").write_text(json.dumps(acme()), encoding="utf-8")
    before = graph.at().commit
    assert "nothing new" in kg.ok("remember", "o.json")
    assert graph.at().commit == before


def test_json_lines_are_one_write(kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """Observations of several runs in one file become one commit a run."""
    rows = [observed(f"note {n}", ("x", "note", f"note {n}"), run=f"r{n + 1}") for n in range(3)]
    (tmp_path / "o.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told = kg("remember", "o.jsonl", "--json").json("remember")
    assert len(told["commits"]) == 3
    assert kg("log", "-n", "3", "--json").json("log")[0]["commit"] == told["commits"][-1]
    del graph


def test_a_contradiction_keeps_both_and_says_so(kg: Kg, graph: Graph) -> None:
    """A second value of a key that takes one keeps both, flags the entity, adds the trailer."""
    ran = kg("add", "fact", API, "on-call", "sre", "--because", "on-call is sre", "--json")
    (fact,) = ran.json("add")["results"][0]["facts"]
    assert fact["contradicts"][0]["v"] == "platform-team"
    assert graph.entity(API).contested == ("on-call",)
    message = git(Path(graph.place.folder), "log", "-1", "--format=%B")
    assert f"Contradiction: {API} on-call" in message
    assert any(f["level"] == "note" for f in kg("fsck", "--json").json("fsck")["findings"])


def test_each_verb_writes_one_traced_commit(kg: Kg, graph: Graph) -> None:
    """The small verbs for people each make one commit by their author, with its operation."""
    for op, args in {
        "capture": ("capture", __file__),
        "add": ("add", "entity", "Person", "Ada", "--because", "Ada is the reviewer"),
        "alias": ("alias", "add", "org/acme-corp", "Acme Corporation"),
        "rename": ("rename", API, "Payments API"),
        "retract": ("retract", API, "owned-by", "org/acme-corp", "--because", "it was sold"),
        "ontology": ("ontology", "add-key", "sla", "--definition", "the availability promised"),
    }.items():
        kg.ok(*args)
        shown = git(
            Path(graph.place.folder), "log", "-1", "--format=%an %(trailers:key=Op,valueonly)"
        )
        assert shown.split() == ["test-person", op]
    assert kg("fsck").code == 0
    assert graph.entity(API).aliases == ("payments-api",)
    assert graph.entity("org/acme-corp").aliases == ("Acme Corporation",)


def test_an_edge_that_is_retracted_stays_on_record(kg: Kg, graph: Graph) -> None:
    """Retracting an edge removes its file and keeps the line with the reason."""
    kg.ok("retract", API, "owned-by", "org/acme-corp", "--because", "it was sold in March")
    assert not list(Path(graph.place.folder).glob("edges/*/*.json"))
    (evidence,) = kg("why", API, "owned-by", "--json").json("why")
    assert evidence["lines"][-1]["text"] == "it was sold in March"
    assert evidence["retracted"]["because"].startswith("raw/")


def test_show_at_a_revision(kg: Kg, graph: Graph) -> None:
    """An entity can be shown as it was, edges too."""
    kg.ok("retract", API, "owned-by", "org/acme-corp", "--because", "sold")
    assert "\n  owned-by -> org/acme-corp" not in kg.ok("show", API)
    assert "\n  owned-by -> org/acme-corp" in kg.ok("show", API, "--at", "HEAD~1")
    del graph


def test_a_secret_is_refused_or_redacted(kg: Kg, graph: Graph, tmp_path: Path) -> None:
    """A secret stops the write, named by line and kind; --redact replaces it, line count kept."""
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    (tmp_path / "t.txt").write_text(f"first\nexport TOKEN={token}\nlast\n", encoding="utf-8")
    ran = kg("capture", "t.txt")
    assert ran.code == 3
    assert "line 2" in ran.err
    assert token not in ran.err
    path = kg("capture", "t.txt", "--redact", "--json").json("capture")["results"][0]["raw"]
    kept = (graph.at().read(path) or b"").decode()
    assert token not in kept
    assert kept.split("\n")[0::2] == ["first", "last"]
    assert token not in git(Path(graph.place.folder), "log", "-p", "--all")


def test_a_secret_in_a_name_or_value_is_refused(kg: Kg, graph: Graph) -> None:
    """Facts, names, traces and subjects are scanned like the text."""
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    assert kg("add", "entity", "Object", token).code == 3
    assert kg("add", "fact", API, "note", token, "--because", "x").code == 3
    assert kg("add", "tried", token, "--because", "x").code == 3
    assert kg("rename", API, token).code == 3
    del graph


def test_the_store_is_found_as_documented(
    kg: Kg, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-C, then KG_STORE, then the nearest above; status says which and why."""
    folder = Path(graph.place.folder)
    (folder.parent / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(folder.parent / "deep/er")
    assert kg("status", "--json").json("status")["store"] == str(folder)
    other = store(folder.parent / "other")
    monkeypatch.setenv("KG_STORE", "../../other")
    assert kg("status", "--json").json("status")["store"] == other.place.folder
    found = kg("-C", str(folder), "status", "--json").json("status")
    assert (found["store"], found["why"]) == (str(folder), f"-C {folder}")


def test_hand_edits_are_drafts_until_committed(kg: Kg, graph: Graph) -> None:
    """An edit by hand is named by status and fsck, and committed in canonical form."""
    path = Path(graph.place.folder, "entities/object/payments-api.json")
    value = json.loads(path.read_text(encoding="utf-8"))
    value["facts"][0]["v"] = "the platform team"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert kg("status", "--json").json("status")["drafts"] == [
        {"path": "entities/object/payments-api.json", "state": "edited"}
    ]
    assert graph.entity(API).facts[0].v == "platform-team"
    kg.ok("commit", "-m", "Correct the team")
    assert graph.entity(API).facts[0].v == "the platform team"
    assert git(Path(graph.place.folder), "status", "--porcelain") == ""
    assert kg("fsck").code == 0


def test_a_bad_hand_edit_is_refused_and_kept(kg: Kg, graph: Graph) -> None:
    """A hand edit that breaks a rule is not committed, and stays where it is."""
    path = Path(graph.place.folder, "entities/object/payments-api.json")
    text = path.read_text(encoding="utf-8").replace("#L1", "#L99")
    path.write_text(text, encoding="utf-8")
    ran = kg("commit")
    assert ran.code == 3
    assert "#L99" in ran.err
    assert path.read_text(encoding="utf-8") == text


def test_a_write_over_a_hand_edit_is_queued(kg: Kg, graph: Graph) -> None:
    """A write to a file that a person is editing waits in the outbox, and is made afterwards."""
    path = Path(graph.place.folder, "entities/object/payments-api.json")
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("platform-team", "my team"), encoding="utf-8")
    ran = kg("add", "fact", API, "note", "new", "--because", "a new note")
    assert ran.code == 3
    assert "queued" in ran.err
    assert kg("status", "--json").json("status")["outbox"]["waiting"] == 1
    path.write_text(before, encoding="utf-8")
    kg.ok("capture", __file__)
    assert not graph.outbox.names()
    assert [f.v for f in graph.entity(API).facts if f.k == "note"] == ["new"]


def test_a_store_of_a_newer_format_is_read_and_never_written(kg: Kg, graph: Graph) -> None:
    """A greater kg_format stops every write and no reading."""
    folder = Path(graph.place.folder)
    text = (folder / "store.json").read_text(encoding="utf-8")
    (folder / "store.json").write_text(
        text.replace('"kg_format": 1', '"kg_format": 2'), encoding="utf-8"
    )
    git(folder, "commit", "-qam", "upgrade")
    assert kg("capture", __file__).code == 3
    for args in (("show", API), ("why", API), ("ls",), ("log",), ("status",)):
        ran = kg(*args)
        assert ran.code == 0, ran.err
    assert git(folder, "status", "--porcelain") == ""


def test_an_in_tree_store_touches_its_folder_only(
    kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a code repository, memory commits hold nothing but memory/."""
    graph = in_tree(tmp_path / "code")
    monkeypatch.chdir(tmp_path / "code")
    Path("code.py").write_text("staged\n", encoding="utf-8")
    git(Path(), "add", "code.py")
    graph.remember([acme()])
    kg.ok("add", "tried", "x", "--because", "y")
    paths = git(Path(), "log", "--format=", "--name-only", "HEAD~2..").split()
    assert all(path.startswith("memory/") for path in paths)
    assert git(Path(), "status", "--porcelain") == "M  code.py\n"


@pytest.mark.parametrize("layout", ["own", "bare"])
def test_every_layout_answers(layout: str, kg: Kg, tmp_path: Path) -> None:
    """A store of its own and a bare one take the same commands."""
    store(tmp_path / "s", layout).remember([acme()])
    for args in (("show", API), ("why", API), ("ls",), ("log",), ("status",), ("fsck",)):
        ran = kg("-C", str(tmp_path / "s"), *args)
        assert ran.code == 0, ran.err


def test_nothing_a_terminal_obeys_is_printed(kg: Kg, graph: Graph) -> None:
    """Control characters in a store that was tampered with are shown, not sent."""
    folder = Path(graph.place.folder)
    path = next(folder.glob("raw/*.txt"))
    path.write_bytes(b"\x1b]0;owned\x07\x9b31m payments\xe2\x80\xae\n" * 3)
    git(folder, "commit", "-qam", "tamper")
    for args in (("why", API), ("fsck",), ("log",), ("why", API, "--json")):
        ran = kg(*args)
        assert not any(c in ran.out + ran.err for c in "\x1b\x07\x9b\u202e")


def test_a_damaged_file_does_not_hide_the_rest(kg: Kg, graph: Graph) -> None:
    """Broken JSON in HEAD is named by fsck with its remedy; everything else still answers."""
    folder = Path(graph.place.folder)
    (folder / "entities/org/acme-corp.json").write_text('{"id": ', encoding="utf-8")
    git(folder, "commit", "-qam", "break")
    assert API in kg.ok("ls")
    ran = kg("fsck", "--json")
    assert ran.code == 1
    assert any("acme-corp.json" in f["path"] for f in ran.json("fsck")["findings"])


def _names(group: click.Group) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, *below) for below in _names(command))


assert commands()  # which registers them


@pytest.mark.parametrize("name", sorted(_names(cli)), ids=" ".join)
def test_every_command_has_help_with_an_example(name: tuple[str, ...], kg: Kg) -> None:
    """Help of each command and subcommand says what it does, and has a line with it to type."""
    usage, _, rest = kg.ok(*name, "--help").partition("\n\n")
    assert usage.startswith("Usage: kg ")
    assert rest.strip()[0].isupper(), rest
    assert re.search(rf"^ *kg {' '.join(name)}( |$)", rest, re.MULTILINE), rest
    own = {("recall",), ("completion",), ("add",), ("alias",)}  # theirs, or none
    assert "--json" in rest or name in own


def test_ids_complete_in_the_shell(graph: Graph) -> None:
    """The shell is offered the ids that begin with what was typed."""
    env = {
        **os.environ,
        "_KG_COMPLETE": "bash_complete",
        "COMP_WORDS": "kg show object/p",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-m", "kg"], env=env, capture_output=True, text=True, check=False
    )
    assert API in done.stdout
    del graph


def test_a_closed_pipe_is_no_error(graph: Graph) -> None:
    """`kg log | head -1` ends quietly."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m kg ontology | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "Types\n"
    assert "Traceback" not in done.stderr
    del graph
