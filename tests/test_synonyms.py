"""The store's synonym table: written by init, editable, checked, and read leniently."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from commands import Kg
from hypothesis import given
from hypothesis import strategies as st
from recall_store import Store
from recall_store import payments as example
from stores import git, store
from strategies import garbage

from kg.audit.fsck import fsck
from kg.errors import FormatError
from kg.format import Settings, dump_settings, parse_settings
from kg.format.settings import shipped_synonyms
from kg.place import find
from kg.recall.index import Index
from kg.recall.synonyms import groups

WORDS = st.text("abkøß8-", min_size=1, max_size=6)
GROUPS = st.lists(st.lists(WORDS, min_size=2, max_size=4, unique=True), max_size=4)


def _column(made: Store) -> str:
    with Index.fresh(find(str(made.folder), {}, "/")) as index:
        return str(index.connection.execute("select synonyms from meta").fetchone()[0])


def test_init_writes_the_shipped_table(tmp_path: Path) -> None:
    """A new store has the table in its store.json, a group a line, and nothing else holds."""
    graph = store(tmp_path / "memory")
    assert graph.settings().synonyms == shipped_synonyms()
    data = (tmp_path / "memory/store.json").read_bytes()
    assert b'\n    ["k8s", "kubernetes"],\n' in data
    assert dump_settings(parse_settings(data)) == data
    assert graph.index().connection.execute("select synonyms from meta").fetchone()[0] == (
        json.dumps([list(group) for group in shipped_synonyms()])
    )


def test_adoption_writes_the_table_too(tmp_path: Path) -> None:
    """A hand-written store that is adopted gets the table that a new one has."""
    entity = {"id": "object/x", "type": "Object", "name": "x", "facts": []}
    (tmp_path / "m/entities/object").mkdir(parents=True)
    (tmp_path / "m/entities/object/x.json").write_text(json.dumps(entity), encoding="utf-8")
    assert store(tmp_path / "m").settings().synonyms == shipped_synonyms()


def test_the_shipped_table_is_one_for_writers_and_readers() -> None:
    """What holds where store.json has no table is what init writes; both are canonical."""
    assert groups("null") == shipped_synonyms()
    members = json.loads(files("kg").joinpath("synonyms.json").read_text("utf-8"))
    assert tuple(map(tuple, members)) == shipped_synonyms()


def test_a_store_without_the_member_stays_as_it_is() -> None:
    """An older store.json is valid and does not gain the member by being written again."""
    data = b'{"kg_format": 1}'
    assert parse_settings(data).synonyms is None
    assert b"synonyms" not in dump_settings(parse_settings(data))
    assert parse_settings(b'{"kg_format": 1, "synonyms": []}').synonyms == ()


@given(GROUPS)
def test_a_table_survives_its_bytes(table: Any) -> None:  # noqa: ANN401
    """The order in which groups and words are given makes no difference to the bytes."""
    settings = parse_settings(json.dumps({"kg_format": 1, "synonyms": table}).encode())
    data = dump_settings(settings)
    turned = [list(reversed(group)) for group in reversed(table)]
    assert parse_settings(data) == settings
    assert dump_settings(Settings(synonyms=tuple(map(tuple, turned)))) == data


@pytest.mark.parametrize(
    "table",
    [{}, None, [["one"]], [["a", "a"]], [["a", "two words"]], [["a", 5]], ["ab"], [["a", "x" * 41]],
     [["a", ""]], [["a", "b\x00"]]],
)  # fmt: skip
def test_a_table_that_breaks_the_format_is_named(table: object) -> None:
    """A group of one word, a phrase, a number or a long word is refused, with its place."""
    with pytest.raises(FormatError, match="/synonyms"):
        parse_settings(json.dumps({"kg_format": 1, "synonyms": table}).encode())


def test_the_table_is_edited_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table edited in store.json is committed in canonical form; a broken one is refused."""
    graph, kg = store(tmp_path / "memory"), Kg(capsys)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "memory/store.json"
    file.write_text('{"kg_format": 1, "synonyms": [["b", "a"]]}', encoding="utf-8")
    kg.ok("commit")
    assert b'  "synonyms": [\n    ["a", "b"]\n  ],\n' in file.read_bytes()
    file.write_text('{"kg_format": 1, "synonyms": [["a"]]}', encoding="utf-8")
    assert kg("commit").code == 3
    git(tmp_path / "memory", "commit", "-qam", "by hand")
    (fault,) = [f for f in fsck(graph) if f.level == "fault"]
    assert (fault.path, "/synonyms" in fault.problem) == ("store.json", True)


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ([], ()),
        ([["K8s", "Kubernetes"]], (("k8s", "kubernetes"),)),
        ([["a", 5, None, "b", ["c"]], "ab", {}, ["alone"], ["a", " A "]], (("a", "b"),)),
        ({"a": "b"}, ()),
        (5, ()),
    ],
)
def test_the_index_keeps_the_table(tmp_path: Path, said: object, want: object) -> None:
    """The index holds what store.json says at HEAD; a reader passes over what makes no sense."""
    made = Store(tmp_path)
    example(made)
    made.commit()
    assert groups(_column(made)) == shipped_synonyms()
    made.settings(synonyms=said)
    made.commit()
    assert groups(_column(made)) == want
    assert made.recall("payments-api").code == 0
    made.settings()
    made.commit()
    assert groups(_column(made)) == shipped_synonyms()


@given(st.text() | garbage.map(json.dumps))
def test_no_column_breaks_the_reader(column: str) -> None:
    """Whatever stands in the column, the groups are of two words or more, folded, or none."""
    for group in groups(column):
        assert len(group) == len(set(group)) > 1
