"""Stores written by a machine that errs, or by someone who means harm."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from recall_store import RAW, Store, edge_path, fact, payments

# What a terminal acts upon; a line feed ends our own lines.
OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
NASTY = "a\x1b[2Jb\x07\x00\x1e\x1f\x9b31m\u202e\u2028\ufeff\ud800\r\ne\tf"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the example store, not yet committed."""
    made = Store(tmp_path)
    payments(made)
    return made


def test_no_control_character_reaches_the_terminal(store: Store) -> None:
    """Whatever names, values, sources, traces, queries and paths hold, it is shown, not obeyed."""
    everywhere = dict.fromkeys(("src", "seen_run", "since", "until", "basis", "kind"), NASTY)
    members = {
        "id": f"object/x{NASTY}", "type": NASTY, "name": NASTY, "aliases": [NASTY],
        "facts": [{"k": NASTY, "v": NASTY, **everywhere}], "contested": [NASTY],
        "first_run": NASTY, "last_seen_run": NASTY,
    }  # fmt: skip
    store.put("entities/object/x.json", json.dumps(members))
    edge = {
        "subject": f"object/x{NASTY}",
        "predicate": NASTY,
        "object": NASTY,
        "claims": [everywhere],
    }
    store.put(edge_path("object/x", "uses", "object/y"), json.dumps(edge))
    front = "".join(f"{k}: {json.dumps(NASTY)}\n" for k in ("about", "tried", "outcome", "because"))
    about = f"about: [{json.dumps(members['id'])}]\n"
    store.put("tried/x.md", f"---\n{front}{about}---\n")
    store.put("entities/object/bad\x1b[2J.json", "{")
    store.commit()
    for words in (("object/x",), ("--json", "object/x"), ("--", NASTY), ("--json", "--", NASTY)):
        found = store.recall(*words)
        assert not OBEYED.search(found.out)
        assert not OBEYED.search(found.err)
    assert "a\\x1b[2Jb" in store.recall("object/x").out
    assert json.loads(store.recall("--json", "object/x").out)["kg.recall/v1"]["entities"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"id": "object/b', b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b'{"id": 5}',
     b"<<<<<<< ours\n{}\n", b"[" * 100_000, b'{"id": "object/b", "facts": [' + b"1" * 5000 + b"]}",
     b'{"id": "object/b", "name": "' + b"x" * (5 << 20) + b'"}'],
)  # fmt: skip
def test_one_bad_file(store: Store, data: bytes) -> None:
    """One file that is no entity is named on stderr, now and by later readers; the rest answers."""
    store.commit()
    want = store.recall("payments-api")
    store.put("entities/object/b.json", data)
    store.commit()
    for _ in range(2):
        found = store.recall("payments-api")
        assert (found.out, found.code) == (want.out, 0)
        assert found.err.startswith("entities/object/b.json ")
        assert found.err.count("\n") == 1
    warned = json.loads(store.recall("--json", "payments-api").out)["kg.recall/v1"]["warnings"]
    assert [w + "\n" for w in warned] == [found.err]
    (store.folder / "entities/object/b.json").unlink()
    store.commit()
    assert store.recall("payments-api") == want


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({"facts": {"k": "v"}}, False),
        ({"facts": [fact("status", "live"), "text", None, [], {"k": "x"}, {"v": "y"}]}, True),
        (
            {"facts": [fact("status", "live"), fact("a", 1.5), fact("b", None), fact("c", [1])]},
            True,
        ),
        ({"facts": [fact("status", "live")], "aliases": "x"}, True),
        ({"facts": [fact("status", "live")], "seen_again": 5}, True),
        ({"facts": [fact("status", "live")], "contested": {"a": 1}}, True),
    ],
)
def test_wrong_types_inside(store: Store, members: dict[str, object], kept: bool) -> None:
    """Of an entity with wrong members the right ones are answered, and the file is named."""
    store.put("entities/object/b.json", json.dumps({"id": "object/b", **members}))
    store.commit()
    found = store.recall("object/b")
    assert ("  status = live" in found.out) is kept
    assert "object/b  (Object)" in found.out
    assert "entities/object/b.json /" in found.err


def test_harmless_oddities(store: Store) -> None:
    """Members missing where they may be guessed, and unknown ones, are no fault."""
    store.put("entities/object/b.json", '{"id": "object/b", "future": {"x": [1]}, "facts": []}')
    store.put("notes.md", "not ours")
    store.put("entities/README", "nor this")
    store.put("labels/a.jsonl", "{")
    store.commit()
    assert store.recall("object/b") == ("object/b  (Object)\n", "", 0)


def test_fact_without_source(store: Store) -> None:
    """A fact whose source is missing says so rather than look like the others."""
    store.put("entities/object/b.json", '{"id": "object/b", "facts": [{"k": "a", "v": "b"}]}')
    store.commit()
    assert store.recall("object/b").out == "object/b  (Object)\n  a = b\n      src: missing\n"


@pytest.mark.parametrize("git", [True, False])
def test_symbolic_links(tmp_path: Path, git: bool) -> None:
    """Links are not followed, in the tree or in the folder, to files or to folders."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "s.json").write_text('{"id": "object/secret", "facts": []}', encoding="utf-8")
    store = Store(tmp_path, git=git)
    payments(store)
    (store.folder / "entities/object/link.json").symlink_to(secret / "s.json")
    (store.folder / "entities/linked").symlink_to(secret)
    if git:
        store.commit()
    found = store.recall("payments-api")
    assert "entities/object/link.json is no regular file, so not followed" in found.err
    assert store.recall("secret").code == 1


def test_newer_format(store: Store) -> None:
    """A store of a newer format is read as far as possible, and it says so."""
    store.settings(kg_format=7, future={"a": 1})
    store.commit()
    found = store.recall("payments-api")
    assert found.code == 0
    assert "store.json says format 7" in found.err


@pytest.mark.parametrize(
    "policies",
    [5, [], {"dormant": 5}, {"dormant": {"runs": "x", "by": []}}, {"dormant": {"runs": -1}},
     {"dormant": {"runs": 1e9}}],
)  # fmt: skip
@pytest.mark.parametrize(
    "ontology", [5, {"keys": 5}, {"keys": {"a": 5}}, {"predicates": {"p": {"edge": {}}}}]
)
def test_odd_settings(store: Store, policies: object, ontology: object) -> None:
    """Settings that make no sense are passed over."""
    store.settings(policies=policies, ontology=ontology)
    store.commit()
    assert store.recall("payments-api").code == 0


def test_two_files_of_one_id(store: Store) -> None:
    """Both files that claim an id are shown, and each can go without the other."""
    store.entity("object/x", fact("status", "one"))
    store.entity("object/x", fact("status", "two"), path="entities/object/3f/x.json")
    store.commit()
    assert store.recall("object/x").out.count("object/x  (Object)") == 2
    (store.folder / "entities/object/x.json").unlink()
    store.commit()
    assert store.recall("object/x").out.count("object/x  (Object)") == 1


def test_fan_out(store: Store) -> None:
    """Readers go by the ids inside files, wherever these lie."""
    for name in ("entities/object/payments-api.json",
                 "edges/object/checkout--depends-on--object--payments-api.json", RAW):  # fmt: skip
        folder, _, file = name.rpartition("/")
        store.commit()
        want = store.recall("payments-api")
        (store.folder / folder / "3f").mkdir(exist_ok=True)
        (store.folder / name).rename(store.folder / folder / "3f" / file)
        store.commit()
        assert store.recall("payments-api") == want


def test_paths_that_are_no_text(store: Store) -> None:
    """A file name that is not UTF-8 is shown with escapes."""
    with open(bytes(store.folder) + b"/entities/object/\xff.json", "wb") as file:
        file.write(b"{")
    store.commit()
    found = store.recall("payments-api")
    assert found.code == 0
    assert "entities/object/\\xff.json" in found.err


def test_many_faults(store: Store) -> None:
    """A store full of faults names some and counts the rest."""
    for at in range(30):
        store.put(f"entities/object/b{at:02d}.json", "{")
    store.commit()
    lines = store.recall("payments-api").err.splitlines()
    assert len(lines) == 6
    assert lines[-1] == "25 more faults: see kg fsck"


def test_odd_places(tmp_path: Path) -> None:
    """The store's path may hold whatever a path may hold."""
    store = Store(tmp_path, inside="a b?c#d%20'é/{x}:y")
    payments(store)
    store.commit()
    assert store.recall("payments-api").err == ""
    assert store.recall("payments-api").code == 0
    assert len(list(store.state.glob("recall-*.db"))) == 1


def test_runs_that_are_none(store: Store) -> None:
    """Run ids of no known form never make anything dormant or fail."""
    store.entity("object/x", {**fact("note", "xylophones"), "seen_run": "yesterday"},
                 first_run="yesterday", last_seen_run="")  # fmt: skip
    for at in range(9):
        store.put(f"raw/r{1785343300 + at}-scoper.{at:08x}.txt", "later\n")
    store.put("raw/notes.txt", "x\n")
    store.put("raw/r99999999999999999999-scoper.txt", "x\n")
    store.commit()
    assert store.recall("xylophones").code == 0
    assert "dormant" not in store.recall("xylophones").out
