"""The index: always what HEAD says, however it came there, whoever else is at it."""

from __future__ import annotations

import ast
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recall_store import CHECKOUT, RAW, RUN, Store, dumped, fact, git_environ, payments

from kg import place
from kg.recall.index import Index
from kg.recall.lock import Held


def here(store: Store) -> place.Place:
    """Return the store's place."""
    return place.find(str(store.folder), {}, "/")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the example store, committed."""
    made = Store(tmp_path)
    payments(made)
    made.commit()
    return made


def content(index: Index) -> dict[str, list[Any]]:
    """Return all that an index answers from, without the numbers of its rows."""
    con = index.connection
    has_words = con.execute("select words from meta").fetchone()[0]
    if has_words:
        con.execute("insert into words (words, rank) values ('integrity-check', 1)")
        con.execute("insert into clue (clue, rank) values ('integrity-check', 1)")
        con.execute("insert into grams (grams, rank) values ('integrity-check', 1)")
    wanted = {
        "entities": "select p.path, p.oid, type, name, aliases, p.facts, first, seen, contested,"
        " said, p.agents, id, e.archived, last, r.agents, r.floor, strength, importance,"
        " p.archived, names, terms, d.facts, edges, tried, past"
        " from page p join ent e using (n) join doc d using (n) join roles r on r.n = e.roles",
        "keys": "select path, kind, folded, squash, bare from key k join page p on p.n = k.ent",
        "edges": "select path, s, p, o, claims, judgements from edge",
        "clusters": "select * from cluster",
        "disputes": "select * from dispute",
        "traces": "select path, last, fields, words, masked, id from trace t"
        " join about a on a.trace = t.n",
        "raw": "select * from raw",
        "marks": "select path, kind, value from mark m join page p on p.n = m.ent",
        "vocab": "select word, back, uses from vocab",
        "spread": "select word, docs from spread",
        "folders": "select * from folder where files <> 0",
        "faults": "select * from fault",
        "meta": "select schema, tree, format, additions, dormant, synonyms from meta",
    }
    return {name: sorted(con.execute(sql).fetchall(), key=repr) for name, sql in wanted.items()}


def anew(store: Store) -> dict[str, list[Any]]:
    """Return the content of an index built in one go."""
    with Index.of(here(store)) as index:
        index._file = str(store.tmp / "anew" / "recall.db")
        shutil.rmtree(store.tmp / "anew", ignore_errors=True)
        index.refresh()
        return content(index)


def edit(store: Store, rng: random.Random) -> None:
    """Make one random change to the store's folder."""
    name, other = (f"object/e{rng.randint(0, 5)}" for _ in "ab")
    value = rng.choice(("alpha", "beta", "org/x", "org/y"))
    many = rng.choice(("one", "many"))
    raw = f"raw/r{rng.randint(1, 9)}-{rng.choice('ab')}.{rng.randint(0, 9):08x}.txt"
    store.put(raw, "x\n")
    changes: list[Callable[[], object]] = [
        lambda: store.entity(name, fact("owner", value, raw=raw), fact("note", value, raw=raw)),
        lambda: store.entity(name, fact("also-known-as", f"N {value}", raw=raw), name=value),
        lambda: store.entity(name, path=f"entities/object/ff/{name[7:]}.json"),
        lambda: store.put(f"entities/{name}.json", rng.choice(("{", "[]", "{}", "\xff"))),
        lambda: store.edge(name, "owned-by", f"org/{rng.choice('xy')}"),
        lambda: store.edge(name, rng.choice(("uses", "owned-by")), other),
        lambda: store.judge(min(name, other), max(name, other) + "z", ("person:p", "same", "r1")),
        lambda: store.trace(f"t{rng.randint(0, 3)}", name, tried=value, because="b", run="r3"),
        lambda: store.put(
            f"tried/t{rng.randint(0, 3)}.md",
            f'---\ntried: "{value}"\nerror: "{many}Error: {name}"\n---\nIt said {value} {many}.\n',
        ),
        lambda: store.settings(policies={"dormant": {"runs": rng.randint(1, 3), "by": "any"}}),
        lambda: store.settings(ontology={"keys": {"note": {"cardinality": many}}}),
        lambda: store.put("store.json", '{ broken "kg_format"'),
        lambda: _remove_one(store, rng),
        lambda: _remove_one(store, rng),
    ]  # fmt: skip
    for change in rng.sample(changes, 3):
        change()


def _remove_one(store: Store, rng: random.Random) -> None:
    files = sorted(f for part in ("entities", "edges", "tried", "raw")
                   for f in (store.folder / part).rglob("*") if f.is_file())  # fmt: skip
    if files:
        rng.choice(files).unlink()


class TestFresh:
    """The index follows HEAD."""

    @pytest.mark.parametrize("seed", range(4))
    def test_steps_equal_one_go(self, tmp_path: Path, seed: int) -> None:
        """An index brought along commit by commit is the one built from the last commit."""
        store, rng = Store(tmp_path), random.Random(seed)
        for _ in range(12):
            edit(store, rng)
            store.commit()
            with Index.fresh(here(store)) as index:
                assert index._on_disk
                assert content(index) == anew(store)

    @pytest.mark.parametrize("seed", range(4))
    def test_advance_equals_refresh(self, tmp_path: Path, seed: int) -> None:
        """A writer that pushes its own changes leaves what a reader would have made of them."""
        store, rng = Store(tmp_path), random.Random(seed)
        edit(store, rng)
        store.commit()
        with Index.fresh(here(store)) as index:
            for _ in range(10):
                edit(store, rng)
                head = store.commit()
                tree = store.git("rev-parse", "HEAD^{tree}")
                index.advance(index.tree, tree, head, _changes(store))
                assert (index.tree, index.head) == (tree, head)
                assert content(index) == anew(store)

    def test_advance_from_elsewhere(self, store: Store) -> None:
        """Changes to another tree than the index is at leave it as it is."""
        with Index.fresh(here(store)) as index:
            before = content(index)
            index.advance("0" * 40, "1" * 40, "2" * 40, {"entities/object/x.json": None})
            assert content(index) == before
            assert index.tree == store.git("rev-parse", "HEAD^{tree}")

    def test_advance_while_busy(self, store: Store) -> None:
        """A writer does not wait for who holds the index; the next reader catches up."""
        with Index.fresh(here(store)) as index:
            store.entity("object/new")
            head = store.commit()
            with Held(f"{store.index}.lock", 0):
                index.advance(
                    index.tree, store.git("rev-parse", "HEAD^{tree}"), head, _changes(store)
                )
            index.refresh()
            assert index.path_of("object/new") == "entities/object/new.json"

    def test_old_tree_gone(self, store: Store) -> None:
        """History that was rewritten and pruned away means a rebuild, not a failure."""
        with Index.fresh(here(store)):
            pass
        store.entity("object/new")
        store.git("add", "-A")
        store.git("commit", "-q", "--amend", "-m", "again")
        store.git("reflog", "expire", "--expire=now", "--all")
        store.git("gc", "-q", "--prune=now")
        assert store.recall("object/new").code == 0

    def test_branch_switch(self, store: Store) -> None:
        """Going to another branch and back answers what each says."""
        store.git("checkout", "-q", "-b", "side")
        store.entity("object/side")
        store.commit()
        assert store.recall("object/side").code == 0
        store.git("checkout", "-q", "main")
        assert "object/side" not in store.recall("side").out
        store.git("checkout", "-q", "side")
        assert store.recall("object/side").code == 0

    def test_half_written_files(self, store: Store) -> None:
        """Working files are never read: the answer is what HEAD says."""
        before = store.recall("payments-api").out
        store.put("entities/object/payments-api.json", "{ half")
        assert store.recall("payments-api").out == before

    def test_warm_refresh(self, store: Store) -> None:
        """An index kept open follows HEAD without being made again."""
        with Index.fresh(here(store)) as index:
            index.refresh()
            store.entity("object/new")
            store.commit()
            index.refresh()
            assert index.path_of("object/new") == "entities/object/new.json"

    def test_shared_repository(self, tmp_path: Path) -> None:
        """Commits elsewhere in the repository change no content, only the commit that is noted."""
        store = Store(tmp_path, inside="memory")
        payments(store)
        store.commit()
        first = store.recall("payments-api")
        before = _rows(store, "select tree, head from meta")
        (store.top / "code.py").write_text("x = 1\n", encoding="utf-8")
        head = store.commit()
        assert store.recall("payments-api", at=store.top) == first
        assert _rows(store, "select tree, head from meta") == [(before[0][0], head)]
        with Index.fresh(here(store)) as index:
            assert index.head == head

    def test_prefixes_apart(self, tmp_path: Path) -> None:
        """Stores in other folders of a repository have an index each."""
        store = Store(tmp_path, inside="docs/kg")
        store.entity("object/a")
        store.commit()
        assert store.recall("object/a").code == 0
        assert (store.state / "recall-docs+kg.db").exists()


class TestAsk:
    """What other layers ask of the index."""

    def test_ids_named(self, store: Store) -> None:
        """Names and aliases of a type, equal under fold, accents and all."""
        store.entity("org/zoe", fact("also-known-as", "Zoë  GmbH"))
        store.entity("person/zoe", name="Zoë GmbH")
        store.commit()
        with Index.fresh(here(store)) as index:
            assert index.ids_named("org", "zoë gmbh") == ["org/zoe"]
            assert index.ids_named("person", "zoë gmbh") == ["person/zoe"]
            assert index.ids_named("org", "zoe gmbh") == []
            assert index.ids_named("org", "acme corp") == ["org/acme-corp"]
            assert index.ids_named("org", "acme-corp") == []

    def test_ids_like(self, store: Store) -> None:
        """A misspelt id or name leads to the one that was meant."""
        with Index.fresh(here(store)) as index:
            assert index.ids_like("object/paymets-api")[0] == "object/payments-api"
            assert index.ids_like("acme corporation") == ["org/acme-corp"]
            assert index.ids_like("") == index.ids_like('"') == index.ids_like("qqqqq") == []

    def test_edges_and_paths(self, store: Store) -> None:
        """Edges of either direction, and where things lie."""
        with Index.fresh(here(store)) as index:
            assert [edge[:3] for edge in index.edges_of("object/payments-api")] == [
                ("object/checkout", "depends-on", "object/payments-api"),
                ("object/payments-api", "owned-by", "org/acme-corp"),
            ]
            assert index.edges_of("org/acme-corp")[0][3] == (
                "edges/object/payments-api--owned-by--org--acme-corp.json"
            )
            assert index.path_of("org/acme-corp") == "entities/org/acme-corp.json"
            assert index.path_of("org/nobody") is None


class TestRepositories:
    """Every kind of repository git knows."""

    def test_detached_and_packed(self, store: Store) -> None:
        """A detached HEAD, and refs in packed-refs."""
        store.git("pack-refs", "--all")
        assert store.recall("payments-api").code == 0
        store.git("checkout", "-q", "--detach")
        assert store.recall("payments-api").code == 0

    def test_unborn(self, tmp_path: Path) -> None:
        """Before the first commit the files in the folder answer, and no index is made."""
        store = Store(tmp_path)
        payments(store)
        assert store.recall("payments-api").code == 0
        assert not store.index.exists()

    def test_not_in_head(self, tmp_path: Path) -> None:
        """So they do where HEAD's tree has no such folder."""
        store = Store(tmp_path, inside="memory")
        (store.top / "code.py").write_text("x\n", encoding="utf-8")
        store.git("add", "code.py")
        store.git("commit", "-q", "-m", "code")
        payments(store)
        assert store.recall("payments-api").code == 0

    def test_outside_git(self, tmp_path: Path) -> None:
        """And outside git."""
        store = Store(tmp_path, git=False)
        payments(store)
        assert store.recall("payments-api").code == 0
        with Index.fresh(here(store)) as index:
            assert (index.tree, index.head) == ("", "")

    def test_linked_worktree(self, store: Store, tmp_path: Path) -> None:
        """Each linked worktree answers what its own HEAD says."""
        store.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
        assert store.recall("payments-api", at=tmp_path / "side").code == 0
        store.entity("object/new")
        store.commit()
        assert store.recall("object/new").code == 0
        assert "object/new" not in store.recall("new", at=tmp_path / "side").out

    def test_bare(self, store: Store, tmp_path: Path) -> None:
        """A bare repository answers, and one without commits knows nothing."""
        store.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
        found = store.recall("-C", str(tmp_path / "bare.git"), "payments-api")
        assert found == store.recall("payments-api")
        store.git("init", "-q", "--bare", str(tmp_path / "empty.git"))
        assert store.recall("-C", str(tmp_path / "empty.git"), "payments-api").code == 1

    def test_sha256(self, tmp_path: Path) -> None:
        """A repository of sha256 ids is read like any other."""
        store = Store(tmp_path, sha="sha256")
        payments(store)
        store.commit()
        assert store.recall("payments-api").err == ""
        store.entity("object/new")
        store.commit()
        assert store.recall("object/new")[1:] == ("", 0)
        with Index.fresh(here(store)) as index:
            assert len(index.tree) == 64

    def test_partial_clone(self, store: Store, tmp_path: Path) -> None:
        """What a partial clone lacks is named, and nothing is fetched."""
        store.git("config", "uploadpack.allowFilter", "true")
        clone = tmp_path / "partial"
        store.git("clone", "-q", "--bare", "--filter=blob:none", f"file://{store.top}", str(clone))
        found = store.recall("-C", str(clone), "payments-api")
        assert found.code == 1
        assert "is missing or corrupt in git" in found.err

    def test_replaced_object(self, store: Store) -> None:
        """Replace refs do not change what the store says."""
        blob = store.git("rev-parse", "HEAD:entities/object/payments-api.json")
        other = store.git("hash-object", "-w", "--stdin", data=b"{}")
        store.git("replace", blob, other)
        assert "on-call = platform-team" in store.recall("payments-api").out

    def test_hostile_environment(self, store: Store, tmp_path: Path) -> None:
        """GIT_* variables and the user's configuration lead nowhere else and run nothing."""
        (tmp_path / "hook").mkdir()
        trap = tmp_path / "trap"
        config = f"[core]\n\tfsmonitor = touch {trap}\n\tpager = touch {trap}\n"
        (store.home / ".gitconfig").write_text(config, encoding="utf-8")
        with (store.top / ".git/config").open("a", encoding="utf-8") as file:
            file.write(config)
        bad = {"GIT_DIR": "/nowhere", "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_TRACE": str(trap),
               "GIT_NAMESPACE": "x", "GIT_INDEX_FILE": "/nowhere"}  # fmt: skip
        assert store.spawn("payments-api", environ=bad).code == 0
        assert not trap.exists()

    def test_without_git_program(self, store: Store, tmp_path: Path) -> None:
        """Without git a fresh index still answers; else the folder does, and it says so."""
        (tmp_path / "empty").mkdir()
        path = {"PATH": str(tmp_path / "empty")}
        found = store.spawn("payments-api", environ=path)
        assert found.code == 0
        assert "cannot start git" in found.err
        assert store.recall("payments-api").code == 0
        assert store.spawn("payments-api", environ=path).err == ""

    def test_corrupt_object(self, store: Store) -> None:
        """One object that git cannot read is named, and all else is known."""
        blob = store.git("rev-parse", "HEAD:entities/object/checkout.json")
        file = store.top / ".git/objects" / blob[:2] / blob[2:]
        file.chmod(0o644)
        file.write_bytes(b"garbage")
        found = store.recall("payments-api")
        assert found.code == 0
        assert "entities/object/checkout.json is missing or corrupt in git" in found.err


class TestFile:
    """The index file may be missing, damaged, old, read-only, or made by eight at once."""

    @pytest.mark.parametrize(
        "damage",
        ["missing", "empty", "garbage", "truncated", "header", "middle", "version", "other tables",
         "stale log"],
    )  # fmt: skip
    def test_damaged(self, store: Store, damage: str) -> None:
        """Whatever is wrong with it, the answer is right and the next one finds it sound."""
        want = store.recall("payments-api")
        _damage(store.index, damage)
        assert store.recall("payments-api") == want
        assert store.recall("payments-api") == want
        assert _rows(store, "pragma quick_check") == [("ok",)]
        assert _rows(store, "select count(*) from ent") == [(3,)]

    def test_damaged_while_kept_open(self, store: Store) -> None:
        """A program that keeps the index open survives damage to it too."""
        from kg.recall.answer import ask

        with Index.fresh(here(store)) as index:
            want = ask(index, "payments-api")
            _damage(store.index, "middle")
            assert ask(index, "payments-api").text == want.text

    def test_deleted_at_any_time(self, store: Store) -> None:
        """Deleting it, or its folder, is harmless, also under a program that has it open."""
        with Index.fresh(here(store)) as index:
            shutil.rmtree(store.state)
            store.entity("object/new")
            store.commit()
            index.refresh()
            assert index.path_of("object/new") is not None
        assert store.recall("object/new").code == 0

    def test_eight_at_once(self, store: Store) -> None:
        """Eight readers that all find no index agree, and leave one sound file."""
        for at in range(300):
            store.entity(f"object/bulk-{at}", fact("note", f"number {at}"))
        store.commit()
        script = str(CHECKOUT / "scripts/recall.py")
        for damage in ("missing", "garbage"):
            shutil.rmtree(store.state, ignore_errors=True)
            if damage == "garbage":
                store.state.mkdir()
                store.index.write_bytes(b"garbage" * 1000)
            readers = [
                subprocess.Popen(
                    [sys.executable, "-S", script, "-C", str(store.folder), "bulk-299"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=git_environ(store.home),
                )
                for _ in range(8)
            ]  # fmt: skip
            answers = {(*reader.communicate(), reader.returncode) for reader in readers}
            assert len(answers) == 1
            assert answers.pop()[1:] == (b"", 0)
            assert _rows(store, "pragma integrity_check") == [("ok",)]

    def test_readers_beside_a_writer(self, store: Store) -> None:
        """Readers beside a writer always see one commit: what belongs together changes together."""
        from kg.recall.answer import ask

        store.entity("object/a", fact("note", "v0"))
        store.entity("object/b", fact("note", "v0"))
        store.commit()
        with Index.fresh(here(store)) as writer, Index.fresh(here(store)) as reader:
            for at in range(1, 20):
                store.entity("object/a", fact("note", f"v{at}"))
                store.entity("object/b", fact("note", f"v{at}"))
                head = store.commit()
                tree = store.git("rev-parse", "HEAD^{tree}")
                writer.advance(writer.tree, tree, head, _changes(store))
                if at % 3:
                    reader.refresh()
                notes = {
                    e["facts"][0]["v"]
                    for e in ask(reader, "note v").entities
                    if e["facts"][0]["k"] == "note"
                }
                assert len(notes) <= 1

    @pytest.mark.skipif(os.getuid() != 0, reason="needs root to become someone else")
    @pytest.mark.parametrize("state", ["none", "fresh", "stale"])
    def test_read_only(self, store: Store, state: str) -> None:
        """Where nothing may be written recall answers all the same, and leaves no trace."""
        if state != "none":
            store.recall("payments-api")
        if state == "stale":
            store.entity("object/new")
            store.commit()
        _readable_by_all(store.tmp)
        before = sorted(str(f) for f in store.top.rglob("*"))
        query = "object/new" if state == "stale" else "payments-api"
        assert _as_nobody(lambda: store.recall(query)[1:]) == ("", 0)
        assert sorted(str(f) for f in store.top.rglob("*")) == before

    def test_state_cannot_be_made(self, store: Store) -> None:
        """A file where the folder should be is no failure either."""
        store.state.write_bytes(b"")
        assert store.recall("payments-api")[1:] == ("", 0)
        with Index.fresh(here(store)) as index:
            assert index.tree == store.git("rev-parse", "HEAD^{tree}")

    def test_nothing_else_is_written(self, store: Store) -> None:
        """Recall writes the index, its lock and what was asked for; nothing else anywhere."""
        before = _stats(store.top)
        store.recall("payments-api")
        with Index.fresh(here(store)):
            pass
        after = {k: v for k, v in _stats(store.top).items() if not k.startswith(".git/kg")}
        assert after == before
        assert {f.name for f in store.state.iterdir()} <= {
            "recall.db", "recall.db-wal", "recall.db-shm", "recall.db.lock", "recalled",
        }  # fmt: skip


class TestHandEdits:
    """What a person changed and did not commit is pointed out, and not answered."""

    def test_changed(self, store: Store) -> None:
        """An entity that is printed and whose file differs from HEAD is named."""
        store.entity("object/payments-api", fact("on-call", "nobody"))
        found = store.recall("payments-api")
        assert found.err == "uncommitted hand edit: entities/object/payments-api.json (kg commit)\n"
        assert "nobody" not in found.out
        assert store.recall("acme").err == ""

    def test_new_and_gone(self, store: Store) -> None:
        """So are files that HEAD does not know or no longer finds, whatever was asked."""
        store.entity("object/new")
        assert "entities/object/new.json" in store.recall("acme").err
        store.commit()
        (store.folder / "entities/org/acme-corp.json").unlink()
        assert "entities/org/acme-corp.json" in store.recall("nothing-here").err

    def test_many(self, store: Store) -> None:
        """Of many the first are named and the rest counted."""
        for at in range(9):
            store.entity(f"object/new-{at}")
        lines = store.recall("acme").err.splitlines()
        assert lines[-1] == "4 more uncommitted hand edits (kg commit)"
        assert len(lines) == 6

    def test_malformed_file_is_no_edit(self, store: Store) -> None:
        """A file in HEAD that cannot be read is a fault, not a hand edit."""
        store.put("entities/object/bad.json", "{")
        store.commit()
        assert "hand edit" not in store.recall("acme").err


def _changes(store: Store) -> dict[str, bytes | None]:
    """Return what the last commit changed, as a writer knows it."""
    names = store.git(
        "diff-tree", "-r", "--no-commit-id", "--name-only", "--no-renames", "HEAD"
    ).split("\n")
    found: dict[str, bytes | None] = {}
    for name in filter(None, names):
        file = store.top / name
        found[name] = file.read_bytes() if file.exists() else None
    return found


def _rows(store: Store, sql: str) -> list[Any]:
    con = sqlite3.connect(store.index)
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def _damage(file: Path, how: str) -> None:
    size = file.stat().st_size
    if how == "missing":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "garbage":
        file.write_bytes(random.Random(0).randbytes(size))
    elif how == "truncated":
        os.truncate(file, size // 2)
    elif how == "header":
        _overwrite(file, 0, b"\0" * 100)
    elif how == "middle":
        _overwrite(file, 4096 * 2, b"\xff" * (size - 4096 * 2))
    elif how == "version":
        _execute(file, "update meta set schema = 999")
    elif how == "other tables":
        file.unlink()
        _execute(file, "create table t (x)")
    elif how == "stale log":
        Path(f"{file}-wal").write_bytes(b"garbage" * 999)
        file.unlink()


def _overwrite(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(data)


def _execute(file: Path, sql: str) -> None:
    con = sqlite3.connect(file)
    con.execute(sql)
    con.commit()
    con.close()


def _as_nobody(ask: Callable[[], object]) -> object:
    """Return what `ask` returns in a child of this process that may write nothing."""
    import _sha1  # type: ignore[import-not-found]  # noqa: F401 - nobody may not read the interpreter's own folder
    import unicodedata  # noqa: F401

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(writer, repr(ask()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read().decode()
    os.waitpid(child, 0)
    return ast.literal_eval(answer)


def _readable_by_all(top: Path) -> None:
    for folder in (*reversed(top.parents), top):
        if os.stat(folder).st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    for file in top.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)


def _stats(top: Path) -> dict[str, tuple[int, int]]:
    return {
        str(file.relative_to(top)): (file.stat().st_size, file.stat().st_mtime_ns)
        for file in top.rglob("*")
        if file.is_file()
    }


__all__ = ["RAW", "RUN", "dumped"]
