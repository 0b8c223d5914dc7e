"""A secret that slipped in is gone from every object, and the rest of the store is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from checks import check_store
from commands import Kg
from stores import git, in_tree, observed, store

from kg import secrets
from kg.audit.blame import blame
from kg.audit.fsck import fsck
from kg.audit.past_faults import past_faults
from kg.audit.purge import lines_named, purge, words_matching
from kg.audit.revert import commits_named, revert
from kg.errors import KgError, NotFoundError, RefusedError
from kg.graph import Graph

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "swordfish-9981-xyzzy"  # noqa: S105


def objects(folder: Path) -> str:
    """Return every object of a repository as text."""
    return git(folder, "cat-file", "--batch-all-objects", "--batch", errors="replace")


def leaked(folder: Path, layout: str = "own", subject: str = f"Deploy with {SECRET}") -> Graph:
    """Return a store in which a secret stands in texts, a fact, a trace, a subject, a name."""
    graph = store(folder, layout)
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    text = f"# deploy\nthe password is {SECRET}\napi runs on port 80\n"
    said: dict[str, Any] = {
        "run": "r2", "agent": "two", "text": text,
        "entities": [{"ref": "api", "type": "Object", "name": "api"},
                     {"ref": "db", "type": "Object", "name": "db"}],
        "facts": [
            {"entity": "api", "k": "note", "v": f"password {SECRET}", "lines": 2},
            {"entity": "api", "k": "port", "v": 80, "lines": 3},
            {"entity": "api", "k": "status", "v": "up", "lines": 2},
            {"entity": "db", "k": "tag", "v": "guarded", "lines": 2},
        ],
        "edges": [{"subject": "api", "predicate": "depends-on", "object": "db", "lines": 2}],
        "tried": [{"about": ["api"], "tried": f"logging in with {SECRET}", "outcome": "failed",
                   "because": "no", "lines": 2}],
    }  # fmt: skip
    graph.remember([said], subject=subject)
    graph.remember([observed("api has tag x\n", ("api", "tag", "x"), run="r3", agent="one")])
    return graph


@pytest.fixture(autouse=True)
def _no_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the secret slip through, as one that no scanner knows would."""
    monkeypatch.setattr(secrets, "scan", lambda _text: [])


@pytest.mark.parametrize("layout", ["own", "bare"])
def test_a_secret_is_gone_from_every_object(tmp_path: Path, layout: str) -> None:
    """By its pattern: texts, facts, traces, names of files, messages; blame and fsck still work."""
    top = tmp_path / "memory"
    graph = leaked(top, layout)
    before = git(top, "rev-list", "--count", "HEAD")
    assert SECRET in objects(top)
    done = purge(graph, words_matching("swordfish-[0-9]+-xyzzy"))
    assert SECRET not in objects(top)
    assert SECRET not in git(top, "log", "--all", "--format=%B", "--name-only")
    state = graph.place.state
    grepped = git(top, "grep", "--no-index", "-l", SECRET, state, check=False)
    assert grepped == ""
    after = Graph(graph.place)
    assert git(top, "rev-list", "--count", "HEAD") == before
    assert [f for f in fsck(after) if f.level == "fault"] == []
    if layout == "own":
        check_store(str(top))
    (note,) = blame(after, "object/api", "note")
    assert note.v == "password purged"
    assert note.commit is not None
    assert note.commit.run == "r2"
    after.remember([observed("more\n", ("api", "tag", "y"), run="r4", agent="one")])
    again = tmp_path / "again"
    git(tmp_path, "clone", "-q", done.backup, str(again))
    assert SECRET in objects(again)


def test_a_line_goes_with_the_facts_that_repeat_it(tmp_path: Path) -> None:
    """One fact repeats it and goes, one moves to its other source, what says more is retracted.

    The other lines keep their numbers.
    """
    top = tmp_path / "memory"
    graph = leaked(top, subject="")
    raw = next(f.src for f in graph.entity("object/api").facts if f.k == "note").partition("#")[0]
    other = next(f.src for f in graph.entity("object/api").facts if f.k == "status")
    dry = purge(graph, lines_named(graph, f"{raw}#L2"), dry=True)
    assert dry.texts == (raw,)
    assert SECRET in objects(top)
    done = purge(graph, lines_named(graph, f"{raw}#L2"), backup=str(tmp_path / "b.bundle"))
    assert SECRET not in objects(top)
    after = Graph(graph.place)
    api, db = after.entity("object/api"), after.entity("object/db")
    assert {f.k: f.src for f in api.facts if f.k in ("note", "status")} == {"status": other}
    (port,) = [f for f in api.facts if f.k == "port"]
    data = after.at().read(port.src.partition("#")[0])
    assert data == b"# deploy\n[purged]\napi runs on port 80\n"
    assert db.facts == ()
    assert [r.what.k for r in db.retracted if hasattr(r.what, "k")] == ["tag"]
    assert after.draft(after.at()).edges_of("object/api") == []
    assert set(done.retracted) == {"object/db tag guarded", "object/api depends-on object/db"}
    assert [f for f in fsck(after) if f.level == "fault"] == []
    check_store(str(top))


def test_code_beside_the_store_keeps_its_bytes(tmp_path: Path) -> None:
    """With --shared-history the code's files are as they were, in commits with new ids."""
    top = tmp_path / "top"
    graph = in_tree(top)
    said = observed(f"the key is {SECRET}\n", ("api", "note", SECRET), run="r1", agent="one")
    graph.remember([said])
    (top / "code.py").write_text("print('more')\n", encoding="utf-8")
    git(top, "commit", "-qam", "more code")
    purge(graph, words_matching(SECRET), shared=True, backup=str(tmp_path / "b.bundle"))
    assert SECRET not in objects(top)
    assert git(top, "log", "--format=%s", "--", "code.py") == "more code\ncode\n"
    assert (top / "code.py").read_text(encoding="utf-8") == "print('more')\n"
    check_store(str(top), "memory")


def test_a_common_word_shreds_no_message(tmp_path: Path) -> None:
    """A purged line of one letter, or a value that is an agent's name, leaves trailers alone."""
    graph, top = store(tmp_path / "memory"), tmp_path / "memory"
    said = observed("a\nscoper\n", run="r1", agent="scoper")
    said["entities"] = [{"ref": "api", "type": "Object", "name": "api"}]
    said["facts"] = [{"entity": "api", "k": "note", "v": "scoper", "lines": 2}]
    raw = graph.remember([said], subject="a scoper reads data").recorded[0].raw
    purge(graph, lines_named(graph, f"{raw}#L1-L2"))
    message = git(top, "log", "--format=%B", "-1", "HEAD", "--", "raw")
    assert message.startswith("[purged] [purged] reads data\n")
    assert "Agent: scoper" in message
    assert list(past_faults(Graph(graph.place))) == []
    scrub = lines_named(Graph(graph.place), f"{raw_of(top)}#L1")
    scrub.words.append("word")
    assert scrub.message(b"a word\n") == b"a [purged]\n"
    assert scrub.message(b"a word\n\nmore of word\n") == b"a [purged]\n\nmore of [purged]\n"
    assert scrub.message(b"word\n\nAgent: word\n") == b"[purged]\n\nAgent: word\n"


def raw_of(top: Path) -> str:
    """Return the one text of a store."""
    (path,) = git(top, "ls-files", "raw").split()
    return path


def test_a_revert_still_names_what_it_took_back(tmp_path: Path) -> None:
    """The trailers of reverts follow the new ids, so a revert can itself be reverted."""
    top = tmp_path / "memory"
    graph = leaked(top)
    done = revert(graph, commits_named(["HEAD"]))
    assert done.commit
    purge(graph, words_matching(SECRET))
    after = Graph(graph.place)
    assert [f.v for f in after.entity("object/api").facts if f.k == "tag"] == []
    revert(after, commits_named(["HEAD"]))
    assert [f.v for f in after.entity("object/api").facts if f.k == "tag"] == ["x"]


def test_what_cannot_be_purged_is_refused_with_nothing_lost(tmp_path: Path) -> None:
    """Code beside it, edits, a stash, a shallow clone, no match: one line each, no backup left."""
    top = tmp_path / "memory"
    graph = leaked(top)
    head, words = git(top, "rev-parse", "HEAD"), words_matching(SECRET)
    with pytest.raises(NotFoundError):
        purge(graph, words_matching("nobody-ever-said-this"))
    with pytest.raises(NotFoundError):
        lines_named(graph, "raw/r9-none.00000000.txt#L1")
    for pattern in ("", "a*", "(", "."):
        with pytest.raises(RefusedError):
            words_matching(pattern)
    (top / "entities/object/api.json").write_text("{}", encoding="utf-8")
    with pytest.raises(KgError, match="restore"):
        purge(graph, words)
    git(top, "stash", "-q")
    with pytest.raises(RefusedError, match="stash"):
        purge(graph, words)
    git(top, "stash", "drop", "-q")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "shallow")
    with pytest.raises(RefusedError, match="unshallow"):
        purge(Graph(tmp_path / "shallow"), words)
    with pytest.raises(RefusedError, match="shared-history"):
        purge(in_tree(tmp_path / "top"), words)
    assert git(top, "rev-parse", "HEAD") == head
    assert not list(tmp_path.glob("*.bundle"))


def test_the_command_shows_first_and_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing changes without --yes; what is to do afterwards is said."""
    kg, top = Kg(capsys), tmp_path / "memory"
    leaked(top)
    ran = kg("purge", "--secret", SECRET)
    assert (ran.code, "--yes" in ran.err) == (3, True)
    assert "would change: raw/" in kg.ok("purge", "--secret", SECRET, "--dry-run")
    ran = kg("purge", "--secret", SECRET, "--yes")
    assert (ran.code, "clone anew" in ran.err) == (0, True)
    assert SECRET not in objects(top)
    assert kg("purge").code == 2
