"""Forgetting: nothing at HEAD speaks of it any more, and a revert brings every byte back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from checks import check_store
from commands import Kg
from stores import git, observed, store

from kg.audit.forget import Wanted, forget, forget_everything
from kg.audit.revert import commits_named, revert
from kg.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from kg.graph import Graph


def filled(folder: Path) -> Graph:
    """Return a store in which an api depends on a db that others speak of as well."""
    graph = store(folder)
    said = observed("db is big\napi depends on db\n", ("db", "note", "big"), run="r1", agent="one")
    said["entities"].append({"ref": "api", "type": "Object", "name": "api"})
    said["edges"] = [{"subject": "api", "predicate": "depends-on", "object": "db", "lines": 2}]
    said["tried"] = [
        {"about": about, "tried": f"tuning {n}", "outcome": "failed", "because": "no", "lines": 1}
        for n, about in enumerate((["db"], ["db", "api"]))
    ]
    graph.remember([said])
    graph.remember([observed("api is up\n", ("api", "status", "up"), run="r2", agent="two")])
    return graph


def mentions(folder: Path, word: str) -> list[str]:
    """Return the files at HEAD, but for texts, that hold a word."""
    found = git(folder, "grep", "-l", word, "HEAD", "--", "entities", "edges", "tried", check=False)
    return found.split()


def test_an_entity_is_forgotten_and_comes_back(tmp_path: Path) -> None:
    """Its file, edges and traces go, and texts that nothing else rests on; a revert undoes it."""
    graph, top = filled(tmp_path / "memory"), tmp_path / "memory"
    before = dict(graph.at().files())
    dry = forget(graph, Wanted(ids=("object/db",)), dry=True)
    assert dict(graph.at().files()) == before
    done = forget(graph, Wanted(ids=("object/db",)))
    assert done.words == dry.words
    assert mentions(top, "object/db") == []
    assert mentions(top, "object/api") != []
    check_store(str(top))
    revert(graph, commits_named([done.commit]))
    assert dict(graph.at().files()) == before
    check_store(str(top))


def test_a_text_goes_with_the_last_that_rests_on_it(tmp_path: Path) -> None:
    """A fact is forgotten with its text; a text that an edge still cites stays."""
    graph = filled(tmp_path / "memory")
    status = graph.entity("object/api").facts[0].src.partition("#")[0]
    done = forget(graph, Wanted(ids=("object/api",), key="status"))
    assert done.texts == (status,)
    assert graph.at().read(status) is None
    assert forget(graph, Wanted(ids=("object/db",), key="note")).texts == ()
    with pytest.raises(NotFoundError):
        forget(graph, Wanted(ids=("object/api",), key="port"))
    check_store(str(tmp_path / "memory"))


def test_everything_is_forgotten_but_the_settings(tmp_path: Path) -> None:
    """The store is as it was made, and writes go on."""
    empty = dict(store(tmp_path / "empty").at().files())
    graph = filled(tmp_path / "memory")
    done = forget_everything(graph)
    assert set(dict(graph.at().files())) == set(empty)
    graph.remember([observed("new\n", ("api", "status", "new"), run="r9", agent="one")])
    revert(graph, commits_named([done.commit]))
    assert graph.entity("object/db").facts[0].v == "big"
    check_store(str(tmp_path / "memory"))


def test_the_command_shows_first_and_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --yes and without a terminal nothing is forgotten; a query names entities."""
    kg, graph = Kg(capsys), filled(tmp_path / "memory")
    ran = kg("forget", "object/db")
    assert (ran.code, "--yes" in ran.err) == (3, True)
    assert "forget: object/db" in ran.out
    assert "would forget: object/db" in kg.ok("forget", "db", "--dry-run")
    assert kg("forget", "*").code == 3
    assert graph.entity("object/db").name == "db"
    assert kg("forget", "db", "--yes", "--json").json("forget")["commit"]
    assert kg("forget", "object/db", "--yes").code == 3
    kg.ok("forget", "*", "--yes")
    assert kg.ok("ls") == ""
