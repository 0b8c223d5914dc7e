"""What fsck finds in history, what it mends, and signatures: with real git and real keys."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from checks import check_store
from commands import Kg
from stores import acme, git, observed, store

from kg.audit.mend import mend
from kg.audit.past_faults import past_faults
from kg.audit.revert import commits_of, revert
from kg.errors import StoreError
from kg.graph import Graph

if TYPE_CHECKING:
    from pathlib import Path

API = "entities/object/payments-api.json"


def problems(graph: Graph) -> list[str]:
    """Return what is wrong with a store's history."""
    return [finding.problem for finding in past_faults(graph)]


def by_hand(top: Path, message: str = "by hand") -> None:
    """Commit the work tree with plain git, as nobody should."""
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", message)


def test_a_history_by_kg_is_clean(tmp_path: Path) -> None:
    """Writes, retractions and reverts leave nothing to find, nor does a merge."""
    graph = store(tmp_path / "memory")
    graph.remember([acme()])
    git(tmp_path / "memory", "branch", "side")
    graph.remember([observed("x\n", ("web", "status", "up"), run="r1785429667", agent="two")])
    git(tmp_path / "memory", "switch", "-q", "side")
    graph.remember([observed("y\n", ("db", "status", "up"), run="r1785429668", agent="two")])
    git(tmp_path / "memory", "switch", "-q", "main")
    git(tmp_path / "memory", "merge", "-q", "-m", "merge", "side")
    revert(graph, commits_of(agent="two"))
    assert problems(graph) == []


def test_what_was_ever_wrong_is_found(tmp_path: Path) -> None:
    """A text that changed, a source that pointed nowhere, trailers that break the grammar."""
    graph, top = store(tmp_path / "memory"), tmp_path / "memory"
    raw = graph.remember([acme()]).recorded[0].raw
    text = (top / raw).read_text(encoding="utf-8")
    (top / raw).write_text(text + "more\n", encoding="utf-8")
    by_hand(top)
    (top / raw).write_text(text, encoding="utf-8")
    data = (top / API).read_text(encoding="utf-8")
    (top / API).write_text(re.sub("#L[0-9]+", "#L44", data), encoding="utf-8")
    by_hand(top, "bad\n\nRun: run1\nAgent: x\nOp: remember\n")
    (top / API).write_text(data, encoding="utf-8")
    by_hand(top)
    found = problems(graph)
    assert sum("never changes" in one for one in found) == 2
    assert sum("#L44, which was not there" in one for one in found) == 1
    assert sum("break the grammar" in one for one in found) == 1


def test_form_and_place_are_mended_and_the_rest_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One commit brings files into form and to their places; broken JSON is left and named."""
    kg, graph, top = Kg(capsys), store(tmp_path / "memory"), tmp_path / "memory"
    graph.remember([acme()])
    data = (top / API).read_text(encoding="utf-8")
    (top / API).unlink()
    (top / "entities/object/elsewhere.json").write_text(
        data.replace('"contested": []', '"contested": ["on-call"]').replace("\n  ", "\n    "),
        encoding="utf-8",
    )
    (top / "entities/org/acme-corp.json").write_text("{", encoding="utf-8")
    by_hand(top)
    ran = kg("fsck", "--fix")
    assert (ran.code, "mended: entities/object/elsewhere.json" in ran.err) == (1, True)
    assert "entities/org/acme-corp.json" in ran.out
    assert (top / API).read_text(encoding="utf-8") == data
    assert not (top / "entities/object/elsewhere.json").exists()
    git(top, "checkout", "-q", "HEAD~2", "--", "entities/org/acme-corp.json")
    by_hand(top)
    assert kg("fsck", "--history").code == 0
    assert mend(Graph(graph.place)).commit == ""
    check_store(str(top))


@pytest.mark.parametrize("kind", ["ssh", "openpgp"])
def test_commits_are_signed_as_git_is_configured(tmp_path: Path, kind: str) -> None:
    """With commit.gpgsign every write is signed, and fsck --history checks it."""
    top = tmp_path / "memory"
    graph = store(top)
    key = ssh_key(tmp_path, top) if kind == "ssh" else gpg_key(tmp_path)
    git(top, "config", "gpg.format", kind)
    git(top, "config", "user.signingkey", key)
    git(top, "config", "commit.gpgsign", "true")
    graph = Graph(graph.place)
    commit = graph.remember([acme()]).commits[0]
    assert git(top, "log", "-1", "--format=%G?", commit).strip() in ("G", "U")
    assert git(top, "log", "-1", "--format=%an %ae", commit).strip() == "scoper scoper@kg.invalid"
    assert problems(graph) == ["is not signed, though the repository signs"]  # the first commit
    check_store(str(top))
    git(top, "config", "user.signingkey", str(tmp_path / "no-such-key"))
    head = graph.at().commit
    with pytest.raises(StoreError, match="could not sign"):
        Graph(graph.place).remember([observed("x\n", ("web", "status", "up"))])
    assert Graph(graph.place).at().commit == head


def ssh_key(folder: Path, top: Path) -> str:
    """Return a new key that the repository trusts."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True
    )
    public = (folder / "key.pub").read_text(encoding="utf-8")
    (folder / "allowed").write_text(f"* {public}", encoding="utf-8")
    git(top, "config", "gpg.ssh.allowedSignersFile", str(folder / "allowed"))
    return str(folder / "key")


def gpg_key(folder: Path) -> str:
    """Return a new key in the keyring of this test's own HOME."""
    os.makedirs(f"{os.environ['HOME']}/.gnupg", mode=0o700, exist_ok=True)
    made = subprocess.run(
        ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", f"kg {folder.name}",
         "ed25519", "sign", "never"],
        check=False, capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("gpg makes no key here")
    return f"kg {folder.name}"
