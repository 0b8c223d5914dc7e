"""Where a store is found, and that HEAD is read as git reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stores import git, in_tree, observed, store

from kg import place as places
from kg.errors import NotARepositoryError
from kg.graph import Graph


def found(start: Path, **environ: str) -> str:
    """Return the folder of the store that a command started there would use."""
    place = places.find(None, environ, str(start))
    return place.folder or place.gitdir


def test_the_nearest_store_upward(tmp_path: Path) -> None:
    """A store is found from itself, from beside it, from below, and from far below."""
    in_tree(tmp_path / "code")
    memory = str(tmp_path / "code/memory")
    deep = tmp_path / "code/src/deep"
    deep.mkdir(parents=True)
    for start in (tmp_path / "code", deep, tmp_path / "code/memory", Path(memory, "entities")):
        start.mkdir(exist_ok=True)
        assert found(start) == memory
    store(deep / "memory")
    assert found(deep) == str(deep / "memory")


def test_named_stores_come_first(tmp_path: Path) -> None:
    """-C stands before KG_STORE, which stands before the nearest; a wrong name is no store."""
    for name in ("a", "b", "memory"):
        store(tmp_path / name)
    assert found(tmp_path) == str(tmp_path / "memory")
    assert found(tmp_path, KG_STORE="a") == str(tmp_path / "a")
    named = places.find("b", {"KG_STORE": "a"}, str(tmp_path))
    assert (named.folder, named.why) == (str(tmp_path / "b"), "-C b")
    with pytest.raises(NotARepositoryError, match=r"KG_STORE names .*: correct it"):
        found(tmp_path, KG_STORE="nowhere")
    with pytest.raises(NotARepositoryError, match="not a folder"):
        places.find("nowhere", {}, str(tmp_path))


def test_no_store(tmp_path: Path) -> None:
    """Where there is none the message says how to make one; others' store.json is none."""
    (tmp_path / "store.json").write_text('{"version": 3}', encoding="utf-8")
    with pytest.raises(NotARepositoryError, match="kg init"):
        found(tmp_path)


def test_a_hand_written_store(tmp_path: Path) -> None:
    """A folder with entities/ and no store.json is one, read-only; above the start it is none."""
    (tmp_path / "memory/entities/object").mkdir(parents=True)
    place = places.find(None, {}, str(tmp_path))
    assert place.seed
    assert place.folder == str(tmp_path / "memory")


def test_linked_worktrees_share_the_main_ones_store(tmp_path: Path) -> None:
    """A linked worktree without a store of its own uses the main worktree's, and writes there."""
    top, linked = tmp_path / "code", tmp_path / "linked"
    git(tmp_path, "init", "-q", "code")
    git(top, "commit", "-q", "--allow-empty", "-m", "code")
    store(top / "memory")  # a repository of its own, which git ignores here
    git(top, "worktree", "add", "-q", str(linked))
    (linked / "src").mkdir()
    assert found(linked / "src") == str(top / "memory")
    assert places.find(None, {}, str(linked)).why == "the main worktree's"


def test_an_in_tree_store_is_each_branchs_own(tmp_path: Path) -> None:
    """A linked worktree that has the store in its tree writes to its own branch."""
    top, linked = tmp_path / "code", tmp_path / "linked"
    in_tree(top)
    git(top, "worktree", "add", "-q", "-b", "side", str(linked))
    assert found(linked) == str(linked / "memory")
    graph = Graph(places.find(None, {}, str(linked)))
    graph.remember([observed("note x\n", ("svc", "note", "x"))])
    assert "svc.json" in git(linked, "ls-tree", "-r", "--name-only", "side")
    assert "svc.json" not in git(linked, "ls-tree", "-r", "--name-only", "main")
    assert git(top, "status", "--porcelain") + git(linked, "status", "--porcelain") == ""
    assert graph.place.commondir == str(top / ".git")


def test_a_bare_store(tmp_path: Path) -> None:
    """A bare repository is a store by its path alone, with no folder and no prefix."""
    store(tmp_path / "memory.git", "bare")
    place = places.find(str(tmp_path / "memory.git"), {}, str(tmp_path))
    assert place.bare
    assert (place.gitdir, place.prefix) == (str(tmp_path / "memory.git"), "")


@pytest.mark.parametrize("layout", ["own", "in-tree"])
def test_the_git_folder_of_a_working_tree_is_no_bare_store(layout: str, tmp_path: Path) -> None:
    """From inside .git, as in a hook, the working tree's store is used: index and files follow."""
    top = tmp_path / "code"
    graph = in_tree(top) if layout == "in-tree" else store(top)
    place = places.find(None, {}, str(top / ".git"))
    assert place.folder == graph.place.folder
    Graph(place).remember([observed("note x\n", ("svc", "note", "x"))])
    assert git(top, "status", "--porcelain") == ""


def _packed(top: Path) -> Path:
    git(top, "pack-refs", "--all")
    return top


def _stale_packed(top: Path) -> Path:
    git(top, "pack-refs", "--all")
    git(top, "commit", "-q", "--allow-empty", "-m", "newer")
    return top


def _detached(top: Path) -> Path:
    git(top, "checkout", "-q", "--detach")
    return top


def _slashes(top: Path) -> Path:
    git(top, "checkout", "-q", "-b", "a/b/c")
    return top


def _linked(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "-b", "side", "../linked")
    git(top.parent / "linked", "commit", "-q", "--allow-empty", "-m", "side")
    return top.parent / "linked"


def _separate(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--separate-git-dir=apart.git", "code", "apart")
    return top.parent / "apart"


def _submodule(top: Path) -> Path:
    git(top.parent, "init", "-q", "outer")
    args = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top), "inner")
    git(top.parent / "outer", *args)
    return top.parent / "outer/inner"


def _symref(top: Path) -> Path:
    git(top, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(top, "symbolic-ref", "HEAD", "refs/heads/alias")
    return top


def _bisecting(top: Path) -> Path:
    git(top, "bisect", "start")
    git(top, "bisect", "bad")
    return top


@pytest.mark.parametrize(
    "made",
    [
        lambda top: top, _packed, _stale_packed, _detached, _slashes, _linked, _separate,
        _submodule, _symref, _bisecting,
    ],
)  # fmt: skip
def test_head_is_what_git_says(made: Callable[[Path], Path], tmp_path: Path) -> None:
    """HEAD read from the files is what `git rev-parse HEAD` says."""
    in_tree(tmp_path / "code")
    top = made(tmp_path / "code")
    _, gitdir = places.repository_around(str(top))
    assert places.head(gitdir) == git(top, "rev-parse", "HEAD").strip()


def test_an_unborn_head(tmp_path: Path) -> None:
    """Before the first commit HEAD is "", which is not the same as unknown."""
    git(tmp_path, "init", "-q")
    assert places.head(str(tmp_path / ".git")) == ""


def test_a_head_that_files_cannot_tell(tmp_path: Path) -> None:
    """Where the refs are kept in another way, git itself has to be asked: None."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/.invalid\n", encoding="ascii")
    (tmp_path / ".git/reftable").mkdir()
    assert places.head(str(tmp_path / ".git")) is None
