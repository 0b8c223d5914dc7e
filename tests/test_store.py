"""What a write does to a repository, what it leaves alone, and where it refuses.

C git is the oracle throughout: what it says of the repository afterwards is what counts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stores import RUN, git, in_tree, observed, store

from kg.errors import BusyError, DirtyError, StateError, StoreError, UnsupportedError
from kg.graph import Graph
from kg.graph.init import init
from kg.store import staging

PATH = "memory/entities/object/svc.json"


def note(value: str) -> dict[str, object]:
    """Return an observation of one fact about one thing."""
    return observed(f"note {value}\n", ("svc", "note", value))


def values(graph: Graph) -> set[str]:
    """Return the facts about that thing, in HEAD."""
    return {str(f.v) for f in graph.entity("object/svc").facts}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in the tree of a code repository, with one fact."""
    made = in_tree(tmp_path / "code")
    made.remember([note("one")])
    return made


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return the code repository."""
    return tmp_path / "code"


# what a write does


def test_a_write_is_a_commit_that_git_tools_read(graph: Graph, top: Path) -> None:
    """Author is the agent, committer the person; trailers are such to git; all is in order."""
    shown = git(top, "log", "-1", "--format=%an <%ae>%n%cn <%ce>").splitlines()
    assert shown == ["scoper <scoper@kg.invalid>", "Test Person <person@example.invalid>"]
    message = git(top, "log", "-1", "--format=%B")
    trailers = git(top, "interpret-trailers", "--parse", input=message).splitlines()
    assert {f"Run: {RUN}", "Agent: scoper", "Op: remember"} <= set(trailers)
    assert git(top, "status", "--porcelain") == ""
    git(top, "fsck", "--strict")
    assert set(git(top, "show", "--name-only", "--format=").split()) == {
        PATH, *(f"memory/{p}" for p, _ in graph.at().files("raw"))
    }  # fmt: skip


def test_what_is_there_already_commits_nothing(graph: Graph) -> None:
    """Saying the same again moves neither HEAD nor the index."""
    index = Path(graph.place.gitdir, "index")
    head, written = graph.at().commit, (index.stat().st_ino, index.stat().st_mtime_ns)
    assert graph.remember([note("one")]).commits == ()
    assert graph.at().commit == head
    assert (index.stat().st_ino, index.stat().st_mtime_ns) == written


def test_line_endings_are_left_alone(tmp_path: Path) -> None:
    """With core.autocrlf, files keep LF and git sees no change."""
    graph, top = in_tree(tmp_path / "code"), tmp_path / "code"
    git(top, "config", "core.autocrlf", "true")
    graph.remember([note("one")])
    assert b"\r" not in (top / PATH).read_bytes()
    assert git(top, "status", "--porcelain") == ""
    git(top, "rm", "-rq", "--cached", "memory")
    git(top, "reset", "-q", "--hard")
    assert b"\r" not in (top / PATH).read_bytes()


@pytest.mark.parametrize("files", [0, staging.MANY_ENTRIES + 5000])
def test_the_index_is_right_at_any_size(tmp_path: Path, files: int) -> None:
    """Below and above the number of entries where git itself is asked, git sees no change."""
    top = tmp_path / "code"
    top.mkdir()
    git(top, "init", "-q")
    blob = git(top, "hash-object", "-w", "--stdin", input="x\n").strip()
    lines = "".join(f"100644 {blob}\tsrc/{n % 100}/{n}.txt\n" for n in range(files))
    git(top, "update-index", "--index-info", input=lines)
    git(top, "checkout-index", "-qa")
    graph = in_tree(top)
    (top / "new.py").write_text("1\n", encoding="utf-8")
    git(top, "add", "new.py")
    for value in ("one", "two"):
        assert not graph.remember([note(value)]).queued
        assert git(top, "status", "--porcelain") == "A  new.py\n"
    (top / PATH).write_text("mine\n", encoding="utf-8")
    assert graph.remember([note("three")]).queued
    git(top, "add", PATH)
    git(top, "restore", "--worktree", "--source=HEAD", PATH)
    assert graph.remember([note("four")]).queued  # a staged edit is one as well
    many = [observed(f"note x{n}\n", (f"thing{n}", "note", "x")) for n in range(60)]
    git(top, "restore", "--staged", PATH)
    assert not graph.remember(many).queued
    assert values(graph) == {"one", "two", "three", "four"}
    assert git(top, "status", "--porcelain") == "A  new.py\n"


# what it leaves alone


def test_a_persons_work_elsewhere_stays(graph: Graph, top: Path) -> None:
    """Staged, unstaged, intended, conflicted and flagged entries stay byte for byte."""
    for name in ("staged", "edited", "assumed", "run.sh", "fight"):
        (top / name).write_text("1\n", encoding="utf-8")
    git(top, "add", ".")
    git(top, "commit", "-qm", "more")
    (top / "fight").write_text("stashed\n", encoding="utf-8")
    git(top, "stash", "-q")
    (top / "fight").write_text("committed\n", encoding="utf-8")
    git(top, "commit", "-qam", "fight")
    git(top, "stash", "pop", "-q", check=False)
    (top / "staged").write_text("2\n", encoding="utf-8")
    git(top, "add", "staged")
    for name, text in (("staged", "3\n"), ("edited", "2\n"), ("intended", "1\n")):
        (top / name).write_text(text, encoding="utf-8")
    git(top, "add", "-N", "intended")
    git(top, "update-index", "--chmod=+x", "run.sh")
    git(top, "update-index", "--assume-unchanged", "assumed")
    (top / "assumed").write_text("2\n", encoding="utf-8")
    shown = (("status", "--porcelain=v2"), ("ls-files", "-s"), ("ls-files", "-v"), ("diff",))
    before = [_elsewhere(git(top, *args)) for args in shown]
    assert not graph.remember([note("two")]).queued
    assert [_elsewhere(git(top, *args)) for args in shown] == before
    assert values(graph) == {"one", "two"}


def _elsewhere(text: str) -> list[str]:
    return [line for line in text.splitlines() if "memory/" not in line]


def test_an_edit_right_after_git_add_stays_visible(graph: Graph, top: Path) -> None:
    """A file that was edited in the second in which it was added is still modified to git.

    git trusts a file's time and size where they are older than the index, so that a younger
    index must not make it trust a younger file.
    """
    for number in range(10):
        code = top / "code.py"
        code.write_text(f"{2 * number:03}\n", encoding="utf-8")
        git(top, "add", "code.py")
        code.write_text(f"{2 * number + 1:03}\n", encoding="utf-8")
        stamp = (top / ".git/index").stat().st_mtime_ns
        os.utime(code, ns=(stamp, stamp))
        git(top, "update-index", "--refresh", check=False)
        graph.remember([note(f"n{number}")])
        assert git(top, "status", "--porcelain") == "MM code.py\n"


def test_symbolic_links_are_never_written_through(graph: Graph, top: Path, tmp_path: Path) -> None:
    """Neither a folder nor a file of the store that a person made a link leads a write astray."""
    outside = tmp_path / "outside"
    (top / "memory/entities").rename(outside)
    (top / "memory/entities").symlink_to(outside)
    before = _tree(outside)
    with pytest.raises(UnsupportedError, match="symbolic link"):
        graph.remember([note("two")])
    assert _tree(outside) == before
    assert values(graph) == {"one"}
    (top / "memory/entities").unlink()
    outside.rename(top / "memory/entities")
    (top / PATH).rename(outside)
    (top / PATH).symlink_to(outside)
    with pytest.raises(UnsupportedError, match="symbolic link"):
        graph.remember([note("two")])


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# what passes: kept, and written by the next command


def conflict(top: Path) -> None:
    """Make a branch that conflicts with HEAD in code.py."""
    git(top, "branch", "other")
    for branch, text in (("main", "1\n"), ("other", "2\n")):
        git(top, "checkout", "-q", branch)
        (top / "code.py").write_text(text, encoding="utf-8")
        git(top, "commit", "-qam", branch)
    git(top, "checkout", "-q", "main")


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (("merge", "other"), ("merge", "--abort")),
        (("rebase", "other"), ("rebase", "--abort")),
        (("cherry-pick", "other"), ("cherry-pick", "--abort")),
        (("bisect", "start"), ("bisect", "reset")),
        (("checkout", "-q", "--detach"), ("checkout", "-q", "main")),
    ],
    ids=lambda args: args[0],
)
def test_a_state_that_passes(
    graph: Graph, top: Path, begin: tuple[str, ...], end: tuple[str, ...]
) -> None:
    """While something is under way, nothing is written; the next command afterwards delivers."""
    conflict(top)
    git(top, *begin, check=False)
    before = git(top, "status", "--porcelain=v2"), git(top, "rev-parse", "HEAD")
    with pytest.raises(StateError, match=r"in progress|detached"):
        graph.remember([note("two")], keep=False)
    assert graph.remember([note("two")]).queued
    assert (git(top, "status", "--porcelain=v2"), git(top, "rev-parse", "HEAD")) == before
    git(top, *end)
    graph.remember([note("three")])
    assert values(graph) == {"one", "two", "three"}
    assert graph.outbox.names() == []


def test_a_repository_of_its_own_may_be_detached(tmp_path: Path) -> None:
    """Where the repository is the store's own, a detached HEAD is no reason to refuse."""
    graph = store(tmp_path / "memory")
    graph.remember([note("one")])
    git(tmp_path / "memory", "checkout", "-q", "--detach")
    assert not graph.remember([note("two")]).queued
    assert git(tmp_path / "memory", "status", "--porcelain") == ""


def _edit(path: Path) -> None:
    path.write_text("mine\n", encoding="utf-8")


def _stage_edit(path: Path) -> None:
    text = path.read_bytes()
    _edit(path)
    git(path.parent, "add", path.name)
    path.write_bytes(text)


@pytest.mark.parametrize(
    ("do", "undo"),
    [
        (_edit, ("checkout", "HEAD", "--", ".")),
        (_stage_edit, ("reset", "-q", "--hard")),
        (Path.unlink, ("checkout", "HEAD", "--", ".")),
    ],
    ids=["edited", "staged", "deleted"],
)
def test_a_hand_edit_in_the_way(
    graph: Graph, top: Path, do: Callable[[Path], None], undo: tuple[str, ...]
) -> None:
    """A path that a person has edited is not written over; other paths are."""
    do(top / PATH)
    before = git(top, "status", "--porcelain=v2")
    with pytest.raises(DirtyError, match=r"svc\.json: commit it with kg commit") as caught:
        graph.remember([note("two")], keep=False)
    assert caught.value.paths == ("entities/object/svc.json",)
    assert graph.remember([note("two")]).queued
    assert git(top, "status", "--porcelain=v2") == before
    assert not graph.remember([observed("note x\n", ("else", "note", "x"))]).queued
    git(top, *undo)
    graph.remember([note("three")])
    assert values(graph) == {"one", "two", "three"}
    assert git(top, "status", "--porcelain") == ""


def test_a_new_file_in_the_way(graph: Graph, top: Path) -> None:
    """An untracked file, or a folder, where a new one is to be is a person's."""
    told = observed("note x\n", ("new", "note", "x"))
    path = top / "memory/entities/object/new.json"
    _edit(path)
    assert graph.remember([told]).queued
    assert path.read_text(encoding="utf-8") == "mine\n"
    path.unlink()
    path.mkdir()
    assert graph.remember([told]).queued
    path.rmdir()
    assert len(graph.deliver()) == 2
    assert git(top, "status", "--porcelain") == ""


def test_a_conflict_in_the_way(graph: Graph, top: Path) -> None:
    """A path that is in conflict, as after a stash pop, is not written over."""
    (top / PATH).write_bytes((top / PATH).read_bytes().replace(b"one", b"1st"))
    git(top, "stash", "-q")
    graph.remember([note("two")])
    graph.remember([observed("note one\n", ("svc", "note", "one"), run="r1785343268")])
    git(top, "stash", "pop", "-q", check=False)
    before = git(top, "ls-files", "-s")
    if "\t" + PATH in before and " 2\t" in before:
        (top / PATH).write_bytes(graph.at().read("entities/object/svc.json") or b"")
        assert graph.remember([note("three")]).queued
        assert git(top, "ls-files", "-s") == before


def test_a_stale_lock_is_named(graph: Graph) -> None:
    """A lock that a killed git left is waited for, then named with what to do; nothing is lost."""
    lock = Path(graph.place.gitdir, "index.lock")
    lock.touch()
    graph.wait = 0.05
    with pytest.raises(BusyError, match=r"index\.lock is held .* remove that file"):
        graph.remember([note("two")], keep=False)
    assert "index.lock" in graph.remember([note("two")]).queued
    lock.unlink()
    ref = Path(graph.place.gitdir, "refs/heads/main.lock")
    ref.touch()
    assert "main.lock is held" in graph.remember([note("three")]).queued
    assert ref.exists()
    ref.unlink()
    graph.remember([note("four")])
    assert values(graph) == {"one", "two", "three", "four"}
    assert git(Path(graph.place.top), "status", "--porcelain") == ""


def test_a_kept_write_outlives_other_trouble(graph: Graph, top: Path) -> None:
    """What stands in the way of all writes is no reason to give up a kept one."""
    git(top, "checkout", "-q", "--detach")
    assert graph.remember([note("two")]).queued
    git(top, "checkout", "-q", "main")
    (top / ".gitattributes").write_text("* filter=lfs\n", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="filter"):
        graph.deliver()
    (top / ".gitattributes").unlink()
    assert len(graph.deliver()) == 1
    assert values(graph) == {"one", "two"}
    assert graph.outbox.refused() == []


# what is refused for good


def test_object_and_ref_formats_that_libgit2_lacks(tmp_path: Path) -> None:
    """A sha256 repository and a reftable are refused by name, with what to do instead."""
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    with pytest.raises(UnsupportedError, match=r"sha256.*repository of its own"):
        init(str(tmp_path / "new/memory"), layout="in-tree")
    git(tmp_path, "init", "-q", "ref")
    git(tmp_path / "ref", "config", "core.repositoryFormatVersion", "1")
    git(tmp_path / "ref", "config", "extensions.refStorage", "reftable", check=False)
    with pytest.raises(UnsupportedError, match=r"reftable.*repository of its own"):
        init(str(tmp_path / "ref/memory"), layout="in-tree")


@pytest.mark.parametrize("files", [0, staging.MANY_ENTRIES])
def test_indexes_that_libgit2_cannot_read(graph: Graph, top: Path, files: int) -> None:
    """A split or sparse index is refused with how to undo it; afterwards the write works."""
    blob = git(top, "hash-object", "code.py").strip()
    lines = "".join(f"100644 {blob}\tsrc/{n}.txt\n" for n in range(files))
    git(top, "update-index", "--index-info", input=lines)
    git(top, "commit", "-qm", "many", check=False)
    git(top, "update-index", "--split-index")
    with pytest.raises(UnsupportedError, match="--no-split-index"):
        graph.remember([note("two")])
    git(top, "update-index", "--no-split-index")
    git(top, "sparse-checkout", "set", "--cone", "--sparse-index", "memory")
    with pytest.raises(UnsupportedError, match="--no-sparse-index"):
        graph.remember([note("two")])
    git(top, "sparse-checkout", "reapply", "--no-sparse-index")
    assert not graph.remember([note("two")]).queued
    assert values(graph) == {"one", "two"}


def test_a_sparse_checkout_without_the_store(graph: Graph, top: Path) -> None:
    """A working tree that leaves the store out is written to all the same."""
    git(top, "status")
    git(top, "sparse-checkout", "set", "--no-cone", "/code.py")
    assert not (top / PATH).exists()
    again = Graph(graph.place)
    assert not again.remember([note("two")]).queued
    assert values(again) == {"one", "two"}
    assert git(top, "status", "--porcelain") == ""


def test_a_filter_on_the_store(graph: Graph, top: Path) -> None:
    """Where git would run a filter on the store's files, kg, which runs none, refuses."""
    (top / ".gitattributes").write_text("* filter=lfs\n", encoding="utf-8")
    with pytest.raises(UnsupportedError, match=r"filter.*-filter"):
        graph.remember([note("two")])


def test_a_repository_of_somebody_elses(graph: Graph, top: Path, tmp_path: Path) -> None:
    """A folder of another user is refused as git refuses it, with git's own remedy."""
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    git(top, "config", "--global", "--unset-all", "safe.directory")
    try:
        for path in (top, top / ".git"):
            os.chown(path, 12345, 12345)
        with pytest.raises(UnsupportedError, match=r"git config --global --add safe\.directory"):
            Graph(graph.place)
    finally:
        git(tmp_path, "config", "--global", "safe.directory", "*")
    Graph(graph.place)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a small disk on a folder."""
    folder.mkdir(exist_ok=True)
    args = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if subprocess.run(args, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_read_only_folder(tmp_path: Path) -> None:
    """A store on a read-only disk is read, and a write says that it is read-only."""
    with mounted(tmp_path / "disk", "size=8m"):
        graph = store(tmp_path / "disk/memory")
        graph.remember([note("one")])
        graph.close()
        remount = ["mount", "-o", "remount,ro", str(tmp_path / "disk")]
        subprocess.run(remount, check=True)
        again = Graph(tmp_path / "disk/memory")
        assert values(again) == {"one"}
        with pytest.raises(UnsupportedError, match="read-only"):
            again.remember([note("two")])
        again.close()


@pytest.mark.parametrize("layout", ["own", "bare"])
def test_a_full_disk(tmp_path: Path, layout: str) -> None:
    """At whatever point the disk fills up, nothing acknowledged is lost, and the store is whole."""
    with mounted(tmp_path / "disk", "size=4m"):
        graph, where = store(tmp_path / "disk/memory", layout), tmp_path / "disk/memory"
        graph.remember([note("one")])
        acknowledged, refused, ballast = {"one"}, set[str](), tmp_path / "disk/ballast"
        for free in range(0, 120, 8):  # kB left on the disk
            _fill(ballast, free)
            try:
                answer = graph.remember([note(f"n{free}")])
            except StoreError as error:
                refused.add(str(error))
            else:
                acknowledged |= set() if answer.queued else {f"n{free}"}
            ballast.unlink()
            assert acknowledged <= values(Graph(where))
            git(where, "fsck", "--strict", "--no-dangling")
        assert refused
        assert all("full" in message for message in refused)
        graph = Graph(where)
        assert not graph.remember([note("last")]).queued
        assert acknowledged < values(graph)
        assert layout == "bare" or git(where, "status", "--porcelain") == ""
        graph.close()


def _fill(ballast: Path, free_kb: int) -> None:
    found = os.statvfs(ballast.parent)
    with ballast.open("wb") as file:
        file.write(b"x" * max(0, found.f_bavail * found.f_bsize - free_kb * 1024))


# kinds of repositories


def test_a_partial_clone_is_only_read(graph: Graph, top: Path, tmp_path: Path) -> None:
    """A partial clone is read where its objects are there, and writes are refused."""
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{top}", "partial")
    partial = Graph(tmp_path / "partial/memory")
    assert values(partial) == values(graph)
    with pytest.raises(UnsupportedError, match="partial clone"):
        partial.remember([note("two")])


def _shallow(top: Path, tmp: Path) -> Path:
    git(tmp, "clone", "-q", "--depth=1", f"file://{top}", "shallow")
    return tmp / "shallow"


def _alternates(top: Path, tmp: Path) -> Path:
    git(tmp, "clone", "-q", "--shared", str(top), "shared")
    return tmp / "shared"


def _packed(top: Path, _tmp: Path) -> Path:
    git(top, "gc", "-q")
    git(top, "pack-refs", "--all")
    git(top, "commit-graph", "write", "--reachable", "--changed-paths")
    git(top, "multi-pack-index", "write")
    return top


def _submodule(top: Path, tmp: Path) -> Path:
    git(tmp, "init", "-q", "outer")
    args = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top), "inner")
    git(tmp / "outer", *args)
    return tmp / "outer/inner"


def _linked(top: Path, tmp: Path) -> Path:
    git(top, "worktree", "add", "-q", "-b", "side", str(tmp / "linked"))
    return tmp / "linked"


def _separate(top: Path, tmp: Path) -> Path:
    git(tmp, "clone", "-q", f"--separate-git-dir={tmp}/elsewhere", str(top), "apart")
    return tmp / "apart"


def _version_4(top: Path, _tmp: Path) -> Path:
    git(top, "update-index", "--index-version", "4")
    return top


def _untracked_cache(top: Path, _tmp: Path) -> Path:
    git(top, "update-index", "--untracked-cache")
    git(top, "status")
    return top


@pytest.mark.parametrize(
    "made",
    [
        _shallow, _alternates, _packed, _submodule, _linked, _separate, _version_4,
        _untracked_cache,
    ],
)  # fmt: skip
def test_kinds_of_repositories(
    graph: Graph, top: Path, tmp_path: Path, made: Callable[[Path, Path], Path]
) -> None:
    """Git's many ways to keep a repository are all the same to a store."""
    where = made(top, tmp_path)
    there = Graph(where / "memory")
    (where / "new.txt").write_text("1\n", encoding="utf-8")
    git(where, "add", "new.txt")
    assert not there.remember([note("two")]).queued
    assert values(there) == {"one", "two"}
    assert git(where, "status", "--porcelain") == "A  new.txt\n"
    git(where, "fsck", "--strict", "--no-dangling")
    main = git(top, "show", f"HEAD:{PATH}")
    assert ('"two"' in main) == (where == top)  # elsewhere, on a branch or clone of its own
    assert values(Graph(graph.place)) == ({"one", "two"} if where == top else {"one"})
