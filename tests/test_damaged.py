"""A store that is damaged, locked, cut short or out of room: it says so, and the rest answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checks import check_store
from commands import Kg
from stores import git, observed, store
from test_blame import recall

from kg.audit.fsck import fsck
from kg.errors import KgError, StoreError
from kg.graph import Graph

API = "entities/object/api.json"


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """Return the commands."""
    return Kg(capsys)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store of two things."""
    made = store(tmp_path / "memory")
    made.remember([observed("api is up\n", ("api", "status", "up"), run="r1", agent="one")])
    made.remember([observed("web is up\n", ("web", "status", "up"), run="r2", agent="one")])
    return made


def said(kg: Kg, *args: str) -> str:
    """Return the one line with which a command refuses."""
    ran = kg(*args)
    assert ran.code == 3, ran
    assert ran.err.count("\n") == 1, ran.err
    return ran.err


def write(graph: Graph, n: int = 1) -> bool:
    """Write something; return whether it was acknowledged as committed."""
    done = graph.remember([observed(f"{n}\n", ("web", "port", n), run=f"r{n + 2}", agent="one")])
    return bool(done.commits)


@pytest.mark.parametrize("size", [0, 5, 20])
def test_a_truncated_object_is_named_and_the_rest_answers(
    tmp_path: Path, kg: Kg, graph: Graph, size: int
) -> None:
    """Nothing hangs: one entity is refused with the way out, all else is read and written."""
    top = tmp_path / "memory"
    name = git(top, "rev-parse", f"HEAD:{API}").strip()
    path = top / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    whole = path.read_bytes()
    os.truncate(path, size)
    for index in (top / ".git/kg").glob("recall.db*"):
        index.unlink()
    assert "status = up" in recall(top, "web").out
    assert "see kg fsck" in recall(top, "api").err
    for args in (("show", "object/api"), ("why", "object/api"), ("blame", "object/api")):
        assert "damaged" in said(kg, *args)
    assert "object/web" in kg.ok("log")
    assert kg("fsck").code == 1
    assert kg("fsck", "--history").code == 1
    assert write(Graph(graph.place))
    path.write_bytes(whole)  # fetched from a clone
    assert "status = up" in kg.ok("show", "object/api")
    assert "recall.db" in kg("fsck", "--fix").err
    assert "status = up" in recall(top, "api").out
    check_store(str(top))


def test_a_zeroed_pack_index_is_no_missing_commit(tmp_path: Path, kg: Kg, graph: Graph) -> None:
    """The message names what makes the index anew, and that brings everything back."""
    top = tmp_path / "memory"
    git(top, "gc", "-q")
    (index,) = (top / ".git/objects/pack").glob("*.idx")
    index.chmod(0o644)
    index.write_bytes(bytes(index.stat().st_size))
    for args in (("show", "object/api"), ("status",), ("fsck",), ("log",)):
        assert "git index-pack" in said(kg, *args)
    assert recall(top, "api").code == 0
    with pytest.raises(StoreError):
        write(Graph(graph.place))
    index.unlink()
    git(top, "index-pack", str(index.with_suffix(".pack")))
    check_store(str(top))
    assert write(Graph(graph.place))


def test_a_removed_index_is_made_anew(tmp_path: Path, kg: Kg, graph: Graph) -> None:
    """No draft is seen where nobody edited anything; the next write makes the index again."""
    top = tmp_path / "memory"
    (top / ".git/index").unlink()
    assert "draft" not in kg.ok("status")
    (top / API).write_text("{}", encoding="utf-8")
    assert f"draft  {API} edited" in " ".join(kg.ok("status").split("\n")).replace("   ", "  ")
    git(top, "cat-file", "blob", f"HEAD:{API}")
    (top / API).write_text(git(top, "show", f"HEAD:{API}"), encoding="utf-8")
    assert write(graph)
    check_store(str(top))


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_that_was_left_behind_is_named(
    tmp_path: Path, kg: Kg, graph: Graph, lock: str
) -> None:
    """The write is kept, the file to remove is named, and once it is gone the write is made."""
    graph.wait = 0.1
    path = tmp_path / "memory/.git" / lock
    path.touch()
    old = time.time() - 0.5
    os.utime(path, (old, old))
    done = graph.remember([observed("x\n", ("web", "port", 1), run="r3", agent="one")])
    assert lock in done.queued
    assert recall(tmp_path / "memory", "web").code == 0
    path.unlink()
    kg.ok("capture", "memory/README.md")
    assert "port = 1" in kg.ok("show", "object/web")


def test_broken_json_hides_only_itself(tmp_path: Path, kg: Kg, graph: Graph) -> None:
    """Committed by hand with plain git: one file is named, the others are read and written."""
    top = tmp_path / "memory"
    (top / API).write_text('{"id": "object/api",', encoding="utf-8")
    git(top, "commit", "-qam", "by hand")
    assert "status = up" in recall(top, "web").out
    assert API in said(kg, "show", "object/api")
    assert "object/web" in kg.ok("ls")
    assert write(Graph(graph.place))
    assert API in kg("fsck").out
    git(top, "checkout", "-q", "HEAD~2", "--", API)
    git(top, "commit", "-qam", "mended")
    check_store(str(top))


def test_a_half_written_file_is_a_draft_and_never_read(
    tmp_path: Path, kg: Kg, graph: Graph
) -> None:
    """What an editor left half done is named; HEAD is what is answered and written upon."""
    top = tmp_path / "memory"
    data = (top / API).read_bytes()
    (top / API).write_bytes(data[:40])
    assert "status = up" in kg.ok("show", "object/api")
    assert API in kg.ok("status")
    assert write(graph)
    assert (top / API).read_bytes() == data[:40]
    assert API in said(kg, "commit")


def test_a_clock_that_was_set_back_loses_nothing(tmp_path: Path, graph: Graph) -> None:
    """Runs from the past are written, and history is in the order of its commits."""
    late = observed("later\n", ("api", "note", "later"), run="r9999999999", agent="one")
    graph.remember([{**late, "at": "2098-01-01T00:00:00Z"}])
    back = observed("back\n", ("api", "note", "back"), run="r5", agent="one")
    graph.remember([{**back, "at": "1999-01-01T00:00:00Z"}])
    notes = [f.v for f in graph.entity("object/api").facts if f.k == "note"]
    assert sorted(map(str, notes)) == ["back", "later"]
    assert [f for f in fsck(graph) if f.level == "fault"] == []
    check_store(str(tmp_path / "memory"))


def test_a_shallow_clone_says_what_it_knows(tmp_path: Path, kg: Kg) -> None:
    """Facts, sources, new writes are there; an old fact's commit is the oldest that is known."""
    graph = store(tmp_path / "memory")
    for n in range(4):
        graph.remember([observed(f"{n}\n", ("api", "port", n), run=f"r{n + 1}", agent="one")])
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/memory", "shallow")
    where = str(tmp_path / "shallow")
    assert "port = 0" in kg.ok("-C", where, "show", "object/api")
    assert "port = 0" in kg.ok("-C", where, "blame", "object/api")
    assert kg("-C", where, "fsck", "--history").code == 0
    assert write(Graph(where), 7)
    assert kg("-C", where, "undo").code == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Yield a disk of one megabyte, where this machine lets us make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_no_acknowledged_write(small: Path) -> None:
    """Whatever step the disk gets full at, what was acknowledged stands; room heals the rest."""
    graph = store(small / "memory")
    assert write(graph)
    acknowledged, refused = [1], list[str]()
    filler = small / "filler"
    for n in range(2, 14):  # each time a little less room is left
        room = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
        with filler.open("ab") as file:
            file.write(bytes(max(0, room - (14 - n) * 6_000)))
        try:
            if write(Graph(graph.place), n):
                acknowledged.append(n)
        except KgError as error:
            refused.append(str(error))
    assert refused
    assert [one for one in refused if "full" not in one] == []
    filler.unlink()
    healed = Graph(graph.place)
    write(healed, 99)
    ports = {f.v for f in healed.entity("object/web").facts if f.k == "port"}
    assert set(acknowledged) <= ports
    check_store(str(small / "memory"))
