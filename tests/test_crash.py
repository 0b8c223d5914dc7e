"""What holds after kill -9 at any step of a write, and at any moment.

Each crash is a real one: a forked process that kills itself, or is killed.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from stores import git, in_tree, observed, store

from kg.errors import DirtyError
from kg.graph import Graph

OLD, NEW = (
    observed("note old\n", ("svc", "note", "old")),
    observed("note new\nstatus stable\n", ("svc", "note", "new"), ("other", "status", "stable")),
)
FILE = "entities/object/svc.json"
LAYOUTS = {
    "own": lambda tmp: store(tmp / "memory"),
    "in-tree": lambda tmp: in_tree(tmp / "code"),
    "bare": lambda tmp: store(tmp / "memory.git", "bare"),
}


def make(layout: str, folder: Path) -> Graph:
    """Return a store with one fact in it."""
    graph = LAYOUTS[layout](folder)
    graph.remember([OLD])
    return graph


def opened(graph: Graph) -> Graph:
    """Open the same store anew, as the next command does."""
    return Graph(graph.place.folder or graph.place.gitdir)


def killed(graph: Graph, at: str) -> None:
    """Let a process of its own write and kill itself at a step."""
    pid = os.fork()
    if pid == 0:
        graph.step = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == at else None
        graph.remember([NEW])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def steps(layout: str, folder: Path) -> list[str]:
    """Return the steps of a write, by making one."""
    seen: list[str] = []
    graph = make(layout, folder)
    graph.step = seen.append
    graph.remember([NEW])
    assert seen
    return seen


def status(graph: Graph) -> str:
    """Return what git status says, "" for a bare repository."""
    return "" if graph.place.bare else git(Path(graph.place.top), "status", "--porcelain")


def left(graph: Graph) -> list[Path]:
    """Return locks of git's and temporary files that should not be there any more."""
    common = Path(graph.place.commondir)
    found = [p for p in common.rglob("*.lock") if p.relative_to(common).parts[0] != "kg"]
    journal = [path] if (path := common / "kg/journal").exists() else []
    files = Path(graph.place.folder).rglob("*.kg-tmp") if graph.place.folder else ()
    return [*found, *journal, *files]


def check_whole(graph: Graph, step: str, names: list[str]) -> None:
    """Check that the interrupted write is there as a whole, or not at all."""
    git(Path(graph.place.gitdir), "fsck", "--strict", "--no-dangling")
    facts = {str(f.v) for f in graph.entity("object/svc").facts}
    there = graph.at().read("entities/object/other.json") is not None
    assert there == ("new" in facts)
    assert there == (names.index(step) >= names.index("ref")), step
    assert left(graph) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_at_each_step(layout: str, tmp_path: Path) -> None:
    """The next command finds the write whole or absent, a clean status, and can write."""
    names = steps(layout, tmp_path / "steps")
    for step in names:
        graph = make(layout, tmp_path / step)
        killed(graph, step)
        graph = opened(graph)
        check_whole(graph, step, names)
        assert status(graph) == "", step
        assert not graph.remember([NEW, observed("note more\n", ("svc", "note", "more"))]).queued
        assert {f.v for f in graph.entity("object/svc").facts} == {"old", "new", "more"}
        assert status(graph) == "", step


def test_killed_beside_another_store(tmp_path: Path) -> None:
    """What a writer of one store leaves behind, a writer of another in the repository mends."""
    names = steps("in-tree", tmp_path / "steps")
    for step in names:
        graph = make("in-tree", tmp_path / step)
        other = store(Path(graph.place.top, "other/mem2"), "in-tree")
        other.remember([OLD])
        killed(graph, step)
        other = opened(other)
        assert status(other) == "", step
        assert not other.remember([NEW]).queued
        assert status(other) == "", step
        check_whole(opened(graph), step, names)
        assert status(graph) == "", step


def test_a_lagging_index_beside_another_store(tmp_path: Path) -> None:
    """An index put back by a git that had read it before is mended by the other store's write."""
    graph = make("in-tree", tmp_path)
    other = store(Path(graph.place.top, "other/mem2"), "in-tree")
    index = Path(graph.place.gitdir, "index")
    before = index.read_bytes()
    graph.remember([NEW])
    index.write_bytes(before)
    assert status(graph) != ""
    other.remember([OLD])
    assert status(graph) == ""


@pytest.mark.parametrize("layout", ["own", "in-tree"])
def test_killed_beside_a_hand_edit(layout: str, tmp_path: Path) -> None:
    """A person's edit of another file, made before, outlives a kill at each step."""
    names = steps(layout, tmp_path / "steps")
    for step in names:
        graph = make(layout, tmp_path / step)
        readme = Path(graph.place.folder, "README.md")
        readme.write_text("mine\n", encoding="utf-8")
        killed(graph, step)
        graph = opened(graph)
        check_whole(graph, step, names)
        assert readme.read_text(encoding="utf-8") == "mine\n", step
        assert status(graph).split() == ["M", graph.repository.in_tree("README.md")], step


@pytest.mark.parametrize("edit", ["edited", "deleted"])
@pytest.mark.parametrize("layout", ["own", "in-tree"])
def test_a_hand_edit_after_the_kill(layout: str, edit: str, tmp_path: Path) -> None:
    """What a person does to a file of the write, after the kill, stays as a draft of theirs."""
    names = steps(layout, tmp_path / "steps")
    for step in names:
        graph = make(layout, tmp_path / step)
        killed(graph, step)
        path = Path(graph.place.folder, FILE)
        if edit == "edited":
            path.write_text("mine\n", encoding="utf-8")
        else:
            path.unlink()
        graph = opened(graph)
        check_whole(graph, step, names)
        assert path.exists() == (edit == "edited"), step
        assert not path.exists() or path.read_text(encoding="utf-8") == "mine\n", step
        assert status(graph)[1] in "MD", step
        assert len(status(graph).splitlines()) == 1, step
        with pytest.raises(DirtyError):
            graph.remember([observed("note more\n", ("svc", "note", "more"))], keep=False)


def test_a_new_file_of_a_persons_in_the_way_after_the_kill(tmp_path: Path) -> None:
    """A file that a person puts where the interrupted write has one to put is theirs."""
    for step in ("ref", "index"):
        graph = make("own", tmp_path / step)
        killed(graph, step)
        path = Path(graph.place.folder, "entities/object/other.json")
        path.write_text("mine\n", encoding="utf-8")
        graph = opened(graph)
        assert path.read_text(encoding="utf-8") == "mine\n"
        assert status(graph).split() == ["M", "entities/object/other.json"]


@pytest.mark.parametrize("step", ["index-lock", "staged", "journal", "ref", "index", "files"])
def test_a_person_removes_the_lock_by_hand(step: str, tmp_path: Path) -> None:
    """As git's own message tells them to: the store is mended all the same."""
    graph = make("in-tree", tmp_path)
    killed(graph, step)
    Path(graph.place.gitdir, "index.lock").unlink()
    git(tmp_path / "code", "add", ".")  # of what is there, so far, and no more
    (tmp_path / "code/code.py").write_text("2\n", encoding="utf-8")
    git(tmp_path / "code", "add", "code.py")
    graph = opened(graph)
    assert status(graph) == "M  code.py\n"
    assert left(graph) == []


def test_opening_waits_for_nobody(tmp_path: Path) -> None:
    """Where git's lock is held by another, an interrupted write is mended by a later command."""
    graph = make("in-tree", tmp_path)
    killed(graph, "ref")
    lock = Path(graph.place.gitdir, "index.lock")
    lock.unlink()
    lock.touch()
    graph = opened(graph)
    assert graph.entity("object/other").name == "other"
    assert lock.read_bytes() == b""
    lock.unlink()
    assert status(opened(graph)) == ""


def test_a_live_writer_is_not_healed(tmp_path: Path) -> None:
    """Opening a store in the middle of another's write touches nothing of it."""
    graph = make("own", tmp_path)
    seen: list[set[str]] = []

    def look(name: str) -> None:
        if name in ("journal", "ref", "index"):
            seen.append({str(f.v) for f in opened(graph).entity("object/svc").facts})
            assert Path(graph.place.state, "journal").exists()

    graph.step = look
    graph.remember([NEW])
    assert seen == [{"old"}, {"old", "new"}, {"old", "new"}]
    assert status(graph) == ""


def test_ctrl_c_is_no_kill(tmp_path: Path) -> None:
    """An exception at any step, such as Ctrl-C's, leaves nothing for the next command to mend."""
    names = steps("in-tree", tmp_path / "steps")
    for step in names:
        graph = make("in-tree", tmp_path / step)

        def interrupt(name: str, at: str = step) -> None:
            if name == at:
                raise KeyboardInterrupt

        graph.step = interrupt
        with pytest.raises(KeyboardInterrupt):
            graph.remember([NEW])
        graph.step = lambda _name: None
        if step != "unlocked":
            assert left(graph) == [], step
        assert status(graph) == "", step
        check_whole(opened(graph), step, names)


def test_locks_that_a_killed_libgit2_leaves(tmp_path: Path) -> None:
    """A kill inside libgit2 leaves locks of its own: on the ref, and on the index being made."""
    for content in ("", "commit"):
        graph = make("own", tmp_path / f"x{content}")
        killed(graph, "journal")
        journal = Path(graph.place.state, "journal").read_text(encoding="utf-8")
        commit = journal.split('"new": "')[1][:40]
        lock = Path(graph.place.gitdir, "refs/heads/main.lock")
        lock.write_text(f"{commit}\n" if content else "", encoding="ascii")
        Path(graph.place.state, "index.new.lock").touch()
        graph = opened(graph)
        assert left(graph) == []
        assert not graph.remember([NEW]).queued
    graph = make("own", tmp_path / "theirs")
    killed(graph, "journal")
    lock = Path(graph.place.gitdir, "refs/heads/main.lock")
    lock.write_text("0" * 40, encoding="ascii")
    assert left(opened(graph)) == [lock]  # another git's: not ours to remove


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "kills", [20, pytest.param(200, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_killed_at_any_moment(layout: str, kills: int, tmp_path: Path) -> None:
    """After each kill, all that was acknowledged is there, and the store mends itself."""
    graph = make(layout, tmp_path)
    rng, acknowledged = random.Random(kills), set[str]()
    for kill in range(kills):
        acknowledged |= _writes_until_killed(graph, kill, rng)
        graph = opened(graph)
        assert left(graph) == []
        assert status(graph) == ""
        if kill % 10 == 9 or kill == kills - 1:
            found = {value for n in range(3) for value in _values(graph, f"object/it{n}")}
            assert acknowledged <= found
    git(Path(graph.place.gitdir), "fsck", "--strict", "--no-dangling")
    assert acknowledged


def _writes_until_killed(graph: Graph, kill: int, rng: random.Random) -> set[str]:
    """Fork a process that writes fact after fact, kill it, and return what it acknowledged.

    The kill comes some moment after an acknowledgement, so that there is one on any machine.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            mine = opened(graph)
            for number in range(10_000):
                value = f"{kill}-{number}"
                mine.remember([observed(f"note {value}\n", (f"it{number % 3}", "note", value))])
                os.write(writing, f"{value}\n".encode())
        finally:
            os._exit(1)  # this process must not go on with the tests
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        first = [file.readline() for _ in range(rng.randint(1, 3))]
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert all(first), "the writer failed"
        return set(b"".join([*first, file.read()]).decode().split())


def _values(graph: Graph, id_: str) -> set[str]:
    there = graph.at().read(f"entities/{id_}.json") is not None
    return {str(f.v) for f in graph.entity(id_).facts} if there else set()
