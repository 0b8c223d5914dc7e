"""A backup is the whole store, and a store again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from checks import check_store
from commands import Kg
from stores import acme, git, in_tree, store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kg(capsys: pytest.CaptureFixture[str]) -> Kg:
    """Return the commands."""
    return Kg(capsys)


@pytest.mark.parametrize("layout", ["own", "bare", "in-tree"])
def test_a_backup_is_restored_with_all_of_its_history(tmp_path: Path, kg: Kg, layout: str) -> None:
    """Of every layout: the same commits, the same answers, nothing at fault."""
    graph = in_tree(tmp_path / "top") if layout == "in-tree" else store(tmp_path / "memory", layout)
    graph.remember([acme()])
    where = graph.place.folder or graph.place.gitdir
    kg.ok("-C", where, "backup", "b.bundle")
    bare = ("--bare",) if layout == "bare" else ()
    out = kg.ok("restore-backup", "b.bundle", "again", *bare)
    assert "0 faults" in out
    again = tmp_path / "again"
    assert git(again, "rev-parse", "HEAD").strip() == graph.at().commit
    assert "platform-team" in kg.ok("-C", str(again), "show", "object/payments-api")
    if layout != "bare":
        check_store(str(again), "memory" if layout == "in-tree" else "")


def test_nothing_is_overwritten_or_left_half_done(tmp_path: Path, kg: Kg) -> None:
    """An existing file or folder is refused, and so is a bundle that is cut short."""
    graph = store(tmp_path / "memory")
    graph.remember([acme()])
    kg.ok("backup", "b.bundle")
    assert kg("backup", "b.bundle").code == 3
    assert kg("backup", "no/such/b.bundle").code == 3
    assert kg("restore-backup", "b.bundle", "memory").code == 3
    data = (tmp_path / "b.bundle").read_bytes()
    (tmp_path / "cut.bundle").write_bytes(data[: len(data) // 2])
    ran = kg("restore-backup", "cut.bundle", "again")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert not (tmp_path / "again").exists()
    assert kg("restore-backup", "none.bundle", "again").code == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.bundle", "cut.bundle", "memory"]
