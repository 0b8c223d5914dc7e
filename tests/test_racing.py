"""What holds while others write: other kgs, a person at git, a program that polls git status."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from stores import git, in_tree, observed, store
from workers import SHARED, end, start

from kg.graph import Graph
from kg.store.committers import outlast


def notes(graph: Graph) -> set[str]:
    """Return the value of every note in HEAD."""
    found = set()
    for number in range(SHARED):
        found |= {str(f.v) for f in graph.entity(f"object/svc{number}").facts}
    return found


def locks(graph: Graph) -> list[Path]:
    """Return the locks of git's that are held; kg's own folder is its own business."""
    common = Path(graph.place.commondir)
    return [p for p in common.rglob("*.lock") if p.relative_to(common).parts[0] != "kg"]


def check_sound(graph: Graph) -> None:
    """Check what must hold of a repository after any amount of writing."""
    top = Path(graph.place.top)
    git(top, "fsck", "--strict", "--no-dangling")
    assert git(top, "status", "--porcelain") == ""
    assert locks(graph) == []
    assert graph.outbox.names() == []


def race(folder: Path, top: Path | None, writers: int, count: int, pause: float = 0.0) -> list[str]:
    """Let writers write, and a person commit if there is a `top`; return what was acknowledged."""
    someone = start("person", top) if top else None
    started = [start("write", folder, f"w{n}", count, pause) for n in range(writers)]
    said = [line for process in started for line in end(process)]
    if someone is not None:
        end(someone)
    assert all(line.startswith("ok ") for line in said)
    return [line.removeprefix("ok ") for line in said]


SIZES = [
    pytest.param(6, 20, id="6x20"),
    pytest.param(12, 100, id="12x100", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("writers", "count"), SIZES)
def test_racing_writers_lose_nothing(tmp_path: Path, writers: int, count: int) -> None:
    """What racing writers were told is written is in HEAD, and the repository is sound."""
    graph = store(tmp_path / "memory")
    acknowledged = race(tmp_path / "memory", None, writers, count)
    assert len(acknowledged) == writers * count
    assert notes(graph) == set(acknowledged)
    check_sound(graph)


@pytest.mark.parametrize(("writers", "count"), SIZES)
def test_racing_writers_and_a_committing_person(tmp_path: Path, writers: int, count: int) -> None:
    """The same while a person commits other files of the same repository, again and again."""
    graph = in_tree(tmp_path / "code")
    acknowledged = race(tmp_path / "code/memory", tmp_path / "code", writers, count)
    assert notes(graph) == set(acknowledged)
    assert (
        git(tmp_path / "code", "log", "--format=%h", "--grep=^by a person$", "--", "memory") == ""
    )
    assert git(tmp_path / "code", "log", "--format=%h", "--grep=^by a person$") != ""
    check_sound(graph)


@pytest.mark.parametrize(
    ("files", "count"), [(0, 50), (3000, 30), pytest.param(3000, 200, marks=pytest.mark.slow)]
)
def test_no_commit_of_a_persons_reverts_a_fact(tmp_path: Path, files: int, count: int) -> None:
    """A person who tries `git commit` again until it works never takes a fact back with it.

    git reads the index before it locks it: with many files, long before.
    """
    top = tmp_path / "code"
    for number in range(files):
        path = top / f"src/{number % 50}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n", encoding="utf-8")
    graph = in_tree(top)
    acknowledged = race(top / "memory", top, 1, count, 0.01)
    assert notes(graph) == set(acknowledged)
    assert git(top, "log", "--format=%h", "--grep=^by a person$", "--", "memory") == ""
    check_sound(graph)


def test_polling_git_status_is_no_hindrance(tmp_path: Path) -> None:
    """Programs that ask git for the status all the time make no write fail, nor writes them."""
    graph = in_tree(tmp_path / "code")
    polling = [start("poll", tmp_path / "code") for _ in range(2)]
    acknowledged = race(tmp_path / "code/memory", None, 1, 40)
    for process in polling:
        end(process)
    assert len(acknowledged) == 40
    check_sound(graph)


def test_reading_takes_no_lock_of_gits(tmp_path: Path) -> None:
    """Reading works while another git holds every lock, and leaves git's files untouched."""
    graph = in_tree(tmp_path / "code")
    graph.remember([observed("note hello\n", ("svc0", "note", "hello"))])
    gitdir = Path(graph.place.gitdir)
    for lock in ("index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"):
        (gitdir / lock).touch()
    before = (gitdir / "index").stat()
    fresh = Graph(tmp_path / "code/memory")
    assert [f.v for f in fresh.entity("object/svc0").facts] == ["hello"]
    assert fresh.index().ids_named("object", "svc0") == ["object/svc0"]
    assert (gitdir / "index").stat() == before


def test_a_push_into_the_store_is_no_hindrance(tmp_path: Path) -> None:
    """A write on which HEAD moves is planned anew on the new HEAD: both are kept."""
    graph = store(tmp_path / "memory.git", "bare")
    graph.remember([observed("note one\n", ("svc0", "note", "one"))])
    git(tmp_path, "clone", "-q", "memory.git", "clone")
    git(tmp_path / "clone", "commit", "-q", "--allow-empty", "-m", "pushed meanwhile")
    pushed: list[str] = []

    def push(step: str) -> None:
        if step == "journal" and not pushed:
            pushed.append(git(tmp_path / "clone", "push", "-q"))

    graph.step = push
    graph.remember([observed("note two\n", ("svc0", "note", "two"))])
    assert {f.v for f in graph.entity("object/svc0").facts} == {"one", "two"}
    assert "pushed meanwhile" in git(tmp_path / "memory.git", "log", "--format=%s")
    assert not (tmp_path / "memory.git/kg/journal").exists()


def test_head_moved_without_the_index(tmp_path: Path) -> None:
    """A fetch that moves HEAD takes no index.lock: the write comes after it, the index is right."""
    graph = store(tmp_path / "memory")
    top, moved = tmp_path / "memory", list[str]()

    def move(step: str) -> None:
        if step == "journal" and not moved:
            tree = git(top, "rev-parse", "HEAD^{tree}").strip()
            commit = git(top, "commit-tree", tree, "-p", "HEAD", "-m", "meanwhile").strip()
            moved.append(git(top, "update-ref", "HEAD", commit))

    graph.step = move
    graph.remember([observed("note one\n", ("svc0", "note", "one"))])
    assert git(top, "log", "--format=%s").splitlines()[1] == "meanwhile"
    check_sound(graph)


def test_another_git_that_puts_an_old_index_back(tmp_path: Path) -> None:
    """Should a git have put back the index from before a write, the next write mends it."""
    graph = in_tree(tmp_path / "code")
    index = Path(graph.place.gitdir, "index")
    before = index.read_bytes()
    graph.remember([observed("note one\n", ("svc0", "note", "one"))])
    index.write_bytes(before)
    assert git(tmp_path / "code", "diff", "--cached", "--name-only") != ""
    graph.remember([observed("note two\n", ("svc0", "note", "two"))])
    assert {f.v for f in graph.entity("object/svc0").facts} == {"one", "two"}
    check_sound(graph)


def test_what_a_person_takes_back_is_not_mended(tmp_path: Path) -> None:
    """A fact that a person took back in file and index stays taken back: the next write waits."""
    graph = in_tree(tmp_path / "code")
    graph.remember([observed("note one\n", ("svc0", "note", "one"))])
    graph.remember([observed("note two\n", ("svc0", "note", "two"))])
    path = "memory/entities/object/svc0.json"
    git(tmp_path / "code", "restore", "--source=HEAD~", "--staged", "--worktree", path)
    staged = git(tmp_path / "code", "diff", "--cached")
    assert graph.remember([observed("note three\n", ("svc0", "note", "three"))]).queued
    assert git(tmp_path / "code", "diff", "--cached") == staged


def test_waiting_for_commits_ends(tmp_path: Path) -> None:
    """A git that is stuck, or whose hook we are, is waited for no longer than it may matter."""
    top = tmp_path / "code"
    in_tree(top)
    hook = top / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch .git/in-hook\nsleep 600\n", encoding="utf-8")
    hook.chmod(0o755)
    (top / "code.py").write_text("1\n", encoding="utf-8")
    slow = subprocess.Popen(["git", "commit", "-qam", "slow"], cwd=top, start_new_session=True)
    try:
        while not (top / ".git/in-hook").exists():
            time.sleep(0.01)
        outlast(str(top), 0.0)
    finally:
        os.killpg(slow.pid, signal.SIGKILL)
        slow.wait()
