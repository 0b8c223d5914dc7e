"""What `recall` answers: its text, its JSON, its exit codes, and what it means by a query."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall_store import CHECKOUT, RAW, RUN, Store, edge_path, fact, payments

from kg import place
from kg.recall import recall, schema
from kg.recall.index import Index

GOLDEN = Path(__file__).parent / "golden"

HOT = "asking edits engine forms hot match only options query rank show stem tokens used words"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the example store, committed."""
    made = Store(tmp_path)
    payments(made)
    made.commit()
    return made


def ids(text: str) -> list[str]:
    """Return the ids of the blocks of a text answer."""
    return [line.split("  ")[0] for line in text.splitlines() if line[:1].strip() and "  (" in line]


def entities(store: Store, *words: str) -> list[dict[str, Any]]:
    """Return the entities of a JSON answer."""
    found: list[dict[str, Any]] = json.loads(store.recall("--json", *words).out)["kg.recall/v1"][
        "entities"
    ]
    return found


class TestText:
    """The form of the seed article, which scripts and eyes depend on."""

    def test_golden(self, store: Store) -> None:
        """An answer has, to the byte, the form of the seed article, with what it lacked added."""
        store.entity(
            "object/ledger",
            fact("status", "frozen", since="2025-01-01", until="2026-01-01"),
            fact("status", "live", 2, since="2025-06-01", basis="inferred"),
            fact("also-known-as", "Main Ledger"),
            fact("port", 8080),
            fact("deprecated", v=False),
            name="The Ledger",
        )
        store.entity("object/main-ledger", fact("status", "stable", 3), fact("tier", "silver", 3))
        store.judge("object/ledger", "object/main-ledger", ("person:ada", "same", RUN))
        for at in range(5):
            store.put(f"raw/r{1785343268 + at}-scoper.{at:08x}.txt", f"{at}\n")
        store.commit()
        answers = [store.recall(q).out for q in ("payments-api", "acme", "ledger")]
        assert "=====\n".join(answers) == (GOLDEN / "recall.txt").read_text(encoding="utf-8")

    def test_seed_form(self, tmp_path: Path) -> None:
        """A hand-written store without store.json answers as the article's own script does."""
        store = Store(tmp_path, git=False, seed=True)
        store.put(
            "entities/object/payments-api.json",
            '{ "id": "object/payments-api", "type": "Object", "name": "payments-api",\n'
            '  "facts": [ { "k": "owner", "v": "org/acme-corp",\n'
            '    "src": "raw/r1785343267-scoper.txt#L4", "seen_run": "r1785343267" } ] }\n',
        )
        found = store.recall("Payments")
        assert found.out == (
            "object/payments-api  (Object)\n"
            "  owner = org/acme-corp\n"
            "      src: raw/r1785343267-scoper.txt#L4\n"
        )
        assert (found.code, found.err) == (0, "")

    def test_blank_line_between(self, store: Store) -> None:
        """Blocks are parted by one empty line, and the answer ends without one."""
        blocks = store.recall("o").out.split("\n\n")
        assert len(blocks) == 3
        assert not blocks[-1].endswith("\n\n")

    def test_more(self, store: Store) -> None:
        """What is cut off is counted in the last line."""
        for at in range(12):
            store.entity(f"object/svc-{at:02d}")
        store.commit()
        assert (
            store.recall("svc").out.splitlines()[-1] == "2 more: narrow the query or use --limit N"
        )
        assert len(ids(store.recall("--limit", "3", "svc").out)) == 3
        assert "more" not in store.recall("--limit=12", "svc").out

    def test_hub(self, tmp_path: Path) -> None:
        """A thing that much points at shows some of it and counts the rest; JSON has it all."""
        store = Store(tmp_path)
        store.entity("object/hub")
        for at in range(100):
            store.edge(f"object/user-{at:03d}", "depends-on", "object/hub")
        store.commit()
        lines = store.recall("object/hub").out.splitlines()
        assert sum("<- depends-on" in line for line in lines) == 20
        assert lines[-1] == "  <- 80 more: kg recall --json object/hub"
        assert len(entities(store, "object/hub")[0]["edges"]) == 100

    def test_retracted(self, store: Store) -> None:
        """A fact or edge that is no longer held never appears."""
        store.entity(
            "object/old",
            fact("status", "live"),
            retracted=[{"k": "owner", "v": "org/zzz", "src": f"{RAW}#L1", "because": f"{RAW}#L2"}],
        )
        store.commit()
        assert "zzz" not in store.recall("object/old").out
        assert store.recall("zzz").code == 1


class TestContested:
    """Contradictions say so in the answer itself."""

    def line(self, store: Store, query: str) -> str:
        """Return the `contested:` line of the answer, stripped."""
        store.commit()
        found = [line for line in store.recall(query).out.splitlines() if "contested:" in line]
        return found[0].strip() if found else ""

    def test_file_says_so(self, store: Store) -> None:
        """What the file calls contested is shown with the number of its values."""
        store.entity("object/x", fact("mood", "a"), fact("mood", "b"), contested=["mood"])
        assert self.line(store, "object/x") == "contested: mood (2 values)"

    def test_two_owners(self, store: Store) -> None:
        """Two live edges of a predicate that takes one contradict each other."""
        store.entity("object/x")
        store.edge("object/x", "owned-by", "org/a")
        store.edge("object/x", "owned-by", "org/b")
        assert self.line(store, "object/x") == "contested: owned-by (2 values)"

    def test_times_apart(self, store: Store) -> None:
        """One that ended where the other began does not."""
        store.entity("object/x")
        store.edge("object/x", "owned-by", "org/a", until="2026-01-01")
        store.edge("object/x", "owned-by", "org/b", since="2026-01-01")
        assert self.line(store, "object/x") == ""

    def test_key_against_edge(self, store: Store) -> None:
        """A key that says the same as an edge contradicts an edge that says otherwise."""
        store.entity("object/x", fact("owner", "org/a"))
        store.edge("object/x", "owned-by", "org/b")
        assert self.line(store, "object/x") == "contested: owner (2 values)"
        store.edge("object/x", "owned-by", "org/a")
        (store.folder / edge_path("object/x", "owned-by", "org/b")).unlink()
        assert self.line(store, "object/x") == ""

    def test_many(self, store: Store) -> None:
        """A key or predicate that takes many values is not contested by having two."""
        store.entity("object/x", fact("maintainer", "person/a"), fact("port", 1), fact("port", 2))
        store.edge("object/x", "maintained-by", "person/b")
        assert self.line(store, "object/x") == ""

    def test_stores_own_word(self, store: Store) -> None:
        """A predicate that the store itself declared counts, from the commit that declares it."""
        store.entity("object/x")
        store.edge("object/x", "runs-on", "object/a")
        store.edge("object/x", "runs-on", "object/b")
        assert self.line(store, "object/x") == ""
        word = {"definition": "where it runs", "cardinality": "one"}
        store.settings(ontology={"types": {}, "keys": {}, "predicates": {"runs-on": word}})
        assert self.line(store, "object/x") == "contested: runs-on (2 values)"


class TestSameAs:
    """Who says that two are one."""

    @pytest.mark.parametrize(
        ("judgements", "line"),
        [
            ([("person:ada", "same", RUN)], "  same as: object/b (person:ada)"),
            ([("resolver", "same", RUN)], "  same as: object/b (resolver)"),
            ([("agent:scoper", "same", RUN)], ""),
            ([("person:ada", "same", RUN), ("person:ada", "different", "r1785343268")], ""),
            ([("person:ada", "different", RUN), ("person:bob", "same", "r1785343268")],
             "  disputed: person:ada and person:bob judge object/b differently: see kg review"),
            ([("person:ada", "unsure", RUN), ("resolver", "same", "r1785343268")], ""),
            ([("resolver", "same", RUN), ("person:bob", "different", RUN)], ""),
        ],
    )  # fmt: skip
    def test_latest_that_links(
        self, store: Store, judgements: list[tuple[str, str, str]], line: str
    ) -> None:
        """A person's word goes before the resolver's, two minds are told of, no agent's counts."""
        store.entity("object/a")
        store.entity("object/b")
        store.judge("object/a", "object/b", *judgements)
        store.commit()
        out = store.recall("object/a").out
        found = [text for text in out.splitlines() if "same as" in text or "disputed" in text]
        assert found == ([line] if line else [])
        assert "same-as" not in store.recall("object/a").out


class TestDormant:
    """What no run has seen for long is left out of word hits, and marked where it is named."""

    def old(self, store: Store, agents: list[str]) -> None:
        """Write an entity seen once by scoper, and later runs of `agents`."""
        store.entity("object/forgotten", fact("note", "made of xylophones"))
        for at, agent in enumerate(agents):
            store.put(f"raw/r{1785343300 + at}-{agent}.{at:08x}.txt", "later\n")
        store.commit()

    def test_left_out_and_counted(self, store: Store) -> None:
        """A word hit that five runs of its role missed is counted, not shown."""
        self.old(store, ["scoper"] * 5)
        found = store.recall("xylophones")
        assert found.out == "1 dormant entity left out: ask by name\n"
        assert found.code == 1

    def test_named_is_shown(self, store: Store) -> None:
        """Asked by name it is shown, with when it was last seen."""
        self.old(store, ["scoper"] * 5)
        assert store.recall("forgotten").out.splitlines()[-1] == f"  dormant: last seen {RUN}"
        assert entities(store, "forgotten")[0]["dormant"] is True

    @pytest.mark.parametrize("agents", [["scoper"] * 4, ["searcher"] * 9])
    def test_not_missed_enough(self, store: Store, agents: list[str]) -> None:
        """Four runs are too few, and those of a role that never saw it do not count."""
        self.old(store, agents)
        assert ids(store.recall("xylophones").out) == ["object/forgotten"]

    def test_policy(self, store: Store) -> None:
        """store.json sets the number of runs and whether any role's count; at once, both ways."""
        self.old(store, ["searcher"] * 2)
        assert store.recall("xylophones").code == 0
        store.settings(policies={"dormant": {"runs": 2, "by": "any"}})
        store.commit()
        assert store.recall("xylophones").code == 1
        store.settings()
        store.commit()
        assert store.recall("xylophones").code == 0

    def test_a_thousand_asleep(self, store: Store) -> None:
        """However many dormant ones a common word is said of, one that is awake is found."""
        for at in range(1100):
            store.entity(f"object/a{at:04d}", fact("note", "made of xylophones"))
        late = "raw/r1785343309-scoper.00000009.txt"
        store.entity("object/zz", fact("note", "made of xylophones", raw=late))
        self.old(store, ["scoper"] * 10)
        assert ids(store.recall("xylophones").out) == ["object/zz"]

    def test_same_pair_counts_once(self, store: Store) -> None:
        """Several texts of one run and agent are one sighting missed."""
        store.entity("object/forgotten", fact("note", "made of xylophones"))
        for at in range(9):
            store.put(f"raw/r1785343300-scoper.{at:08x}.txt", "later\n")
        store.commit()
        assert store.recall("xylophones").code == 0


class TestMeaning:
    """What a query means."""

    @pytest.mark.parametrize(
        ("query", "first"),
        [
            ("object/payments-api", "object/payments-api"),
            ("PAYMENTS-API", "object/payments-api"),
            ("payments", "object/payments-api"),
            ("ments-a", "object/payments-api"),
            ("acme corp", "org/acme-corp"),
            ("  Acme \t Corp ", "org/acme-corp"),
            ("who owns the payments service?", "object/payments-api"),
            ("platform team", "object/payments-api"),
            ("on-call", "object/payments-api"),
            ("database connections", "object/payments-api"),
            ("stable checkouts", "object/checkout"),
            ("depending checkouts", "object/checkout"),
            ("pa", "object/payments-api"),
        ],
    )
    def test_finds(self, store: Store, query: str, first: str) -> None:
        """Ids, names and parts of them come first, then words in any of their forms."""
        assert ids(store.recall(query).out)[0] == first

    def test_exact_comes_first(self, store: Store) -> None:
        """What is called exactly so stands before what only contains it."""
        for name in ("api", "api-gateway", "an-api"):
            store.entity(f"object/{name}")
        store.commit()
        found = ids(store.recall("api").out)
        assert found[0] == "object/api"
        assert set(found) == {
            "object/api",
            "object/api-gateway",
            "object/an-api",
            "object/payments-api",
        }

    @pytest.mark.parametrize(
        "query",
        [
            "Café Zürich",
            "cafe zurich",
            "CAFE\u0301 ZU\u0308RICH",
            "\uff23\uff21\uff26\uff25 zürich",
        ],
    )
    def test_accents_and_forms(self, store: Store, query: str) -> None:
        """Accents, case and Unicode forms do not matter, in names or in facts."""
        store.entity("location/cafe", name="Cafe\u0301 Zürich")
        store.entity("object/other", fact("note", "meets at the Café Zürich weekly"))
        store.commit()
        assert ids(store.recall(query).out) == ["location/cafe"]
        assert "object/other" in ids(store.recall(query + " weekly").out)

    @pytest.mark.parametrize("query", ["数据", "数据库", "据库连", "连接", "库"])
    def test_without_spaces(self, store: Store, query: str) -> None:
        """Any part of a text in a script without spaces is found, in names and in facts."""
        store.entity("object/db", name="主数据库连接")
        store.commit()
        assert ids(store.recall(query).out) == ["object/db"]
        store.entity("object/db", fact("note", "这是主数据库连接池"))
        store.commit()
        assert ids(store.recall(query).out) == ["object/db"]

    def test_archived(self, store: Store) -> None:
        """An archived entity answers only when it is asked for."""
        store.entity("object/gone", fact("note", "xylophones"), archived=True)
        store.commit()
        for query in ("gone", "xylophones"):
            assert store.recall(query).code == 1
            assert "  archived" in store.recall("--archived", query).out.splitlines()

    def test_rarer_words_decide(self, store: Store) -> None:
        """A question finds what its rare words mean, however common the others are."""
        for at in range(1500):
            store.entity(f"object/a{at:04d}", fact("note", "a common sentence"))
        store.entity("object/zz", fact("note", "xylophones"))
        store.commit()
        found = ids(store.recall("which common sentence has xylophones in it").out)
        assert found[0] == "object/zz"

    @pytest.mark.parametrize(
        "query",
        ['"', "'", "*", "a*", "NOT", "a AND", "(", "NEAR(a b)", "{names} : x", "^x", "-x", "a:b",
         "\0",
         "a\0b", "🙂", chr(0xD800), chr(0xDCFF), "%", "_", "\\", ";drop table ent", "x" * 100_000,
         "word " * 20_000, "\u202e", "-", "?", "數", "९", "क्षि"],
    )  # fmt: skip
    def test_any_text_is_a_query(self, store: Store, query: str) -> None:
        """No text is a syntax error, in either form of search."""
        assert store.recall("--", query).code in (0, 1)

    @given(st.text(max_size=40))
    def test_any_text_at_all(self, query: str) -> None:
        """No text at all is; and what a fact says is found by saying it."""
        with Index.__new__(Index) as index:
            _fill(index, query)
            from kg.recall.forms import bare
            from kg.recall.match import find
            from kg.recall.words import STOP, asked

            found = find(index.connection, query, 10)
            if STOP.issuperset(asked(query)) is False and bare(query).isascii():
                assert [row[1] for row in found.rows] == ["object/x"]


def _fill(index: Index, note: str) -> None:
    from kg.recall import schema
    from kg.recall.load import Loader
    from kg.recall.source import Change

    index.connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(index.connection, "")
    members = {"id": "object/x", "type": "Object", "name": "x", "facts": [{"k": "note", "v": note}]}
    data = json.dumps(members).encode()
    Loader(index.connection).apply([Change("entities/object/x.json", "", data)], empty=True)


class TestWithoutFullText:
    """Where SQLite lacks FTS5, recall is slower and finds the same things."""

    @pytest.mark.parametrize(
        ("query", "first"),
        [
            ("payments", "object/payments-api"),
            ("who owns the payments service?", "object/payments-api"),
            ("platform team", "object/payments-api"),
            ("数据库", "object/db"),
        ],
    )
    def test_plain(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, first: str
    ) -> None:
        """The index is built and asked without full text."""
        monkeypatch.setattr(schema, "has_words", lambda _con: False)
        monkeypatch.setattr(schema, "has_grams", lambda _con: False)
        store = Store(tmp_path)
        payments(store)
        store.entity("object/db", fact("note", "这是主数据库连接池"))
        store.commit()
        assert ids(store.recall(query).out)[0] == first
        with Index.fresh(_place(store)) as index:
            tables = index.connection.execute("select sql from sqlite_master").fetchall()
            assert not any("fts5" in str(row[0]) for row in tables)
            assert index.ids_like("payment-api") == ["object/payments-api"]
        assert store.recall(query).out == store.recall(query).out


def _place(store: Store) -> place.Place:
    return place.find(str(store.folder), {}, "/")


class TestCommandLine:
    """Options, exit codes, and where things are printed."""

    def test_nothing(self, store: Store) -> None:
        """Nothing known is said on stderr and is exit code 1."""
        assert store.recall("xylophone") == ("", 'nothing known about "xylophone"\n', 1)
        assert store.recall("") == ("", 'nothing known about ""\n', 1)

    def test_words_are_joined(self, store: Store) -> None:
        """Several words are one query."""
        assert store.recall("acme", "corp").out == store.recall("acme corp").out

    @pytest.mark.parametrize(
        "words", [(), ("--nope", "x"), ("-x",), ("--limit",), ("--limit", "0", "x"), ("-C",),
                  ("--limit", "³", "x"), ("--limit=-1", "x")],
    )  # fmt: skip
    def test_usage(self, store: Store, words: tuple[str, ...]) -> None:
        """A wrong command line is exit code 2, one line on stderr, nothing on stdout."""
        found = store.recall(*words)
        assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)

    def test_help(self, store: Store) -> None:
        """Help goes to stdout and is no failure."""
        found = store.recall("--help")
        assert found.code == 0
        assert "usage: kg recall" in found.out

    def test_no_store(self, store: Store, tmp_path: Path) -> None:
        """No store is exit code 3 and a line that says what to do."""
        found = store.recall("x", at=tmp_path / "home")
        assert (found.code, found.out) == (3, "")
        assert "kg init" in found.err
        assert found.err.count("\n") == 1

    def test_double_dash(self, store: Store) -> None:
        """After -- everything is the query."""
        store.entity("object/x", name="--json")
        store.commit()
        assert ids(store.recall("--", "--json").out) == ["object/x"]

    @pytest.mark.parametrize("script", [True, False])
    def test_same_program(self, store: Store, tmp_path: Path, script: bool) -> None:
        """scripts/recall.py and `kg recall` are one program, with -C on either side."""
        want = store.recall("payments-api")
        where = ("-C", str(store.folder))
        verb = () if script else ("recall",)
        for words in ((*where, *verb, "payments-api"), (*verb, *where, "payments-api")):
            assert store.spawn(*words, at=tmp_path, script=script) == want
        assert store.spawn(*verb, "xyz", script=script).code == 1
        assert (
            store.spawn(
                *verb, "payments-api", script=script, at=tmp_path, environ={"KG_STORE": where[1]}
            )
            == want
        )

    def test_hot_path_imports(self, store: Store) -> None:
        """Answering from a fresh index imports nothing that costs milliseconds."""
        store.recall("payments-api")
        code = (
            "import os, sys; before = set(sys.modules)\n"
            f"sys.path.insert(0, {str(CHECKOUT)!r})\n"
            "from kg.recall import hot\n"
            "assert hot.main(sys.argv[1:], {}, '/') == 0\n"
            "sys.stdout.flush(); print(*set(sys.modules) - before, file=sys.stderr)"
        )
        words = ("-C", str(store.folder), "who", "owns", "payments?")
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, *words], capture_output=True, text=True, check=True
        )
        loaded = set(done.stderr.split())
        by_sqlite = subprocess.run(
            [sys.executable, "-S", "-c", "import os, sys, _sqlite3; print(*sys.modules)"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        mine = loaded - set(by_sqlite.stdout.split())
        assert not loaded & {"functools", "collections", "json", "re", "subprocess", "typing"}
        others = {name for name in mine if not name.startswith("kg")}
        assert others <= {"__future__", "_sha1", "math"}
        assert {name for name in mine if name.startswith("kg")} <= {
            "kg", "kg.errors", "kg.place", "kg.text", "kg.recall",
            *(f"kg.recall.{name}" for name in HOT.split()),
        }  # fmt: skip

    def test_closed_stdout(self, store: Store) -> None:
        """A reader that leaves early gets no traceback."""
        script = str(CHECKOUT / "scripts/recall.py")
        command = f"'{sys.executable}' -S '{script}' -C '{store.folder}' o | true"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert done.stderr == ""

    def test_full_disk(self, store: Store) -> None:
        """An answer that cannot be written is a failure, in one line."""
        script = str(CHECKOUT / "scripts/recall.py")
        command = f"'{sys.executable}' -S '{script}' -C '{store.folder}' o > /dev/full"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1)

    def test_narrow_encoding(self, store: Store) -> None:
        """A terminal that cannot show a letter gets its escape, not a traceback."""
        store.entity("object/x", fact("note", "größe 数"))
        store.commit()
        found = store.spawn("object/x", environ={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        assert "gr\\xf6\\xdfe \\u6570" in found.out


class TestJson:
    """--json: one object for programs."""

    def test_whole(self, store: Store) -> None:
        """It has all that the text has, with every member of a fact, claim and trace."""
        store.entity("object/x", fact("limit", 5, importance=8, kind="learning", basis="observed"))
        head = store.commit()
        whole = json.loads(store.recall("--json", "payments-api").out)["kg.recall/v1"]
        assert {k: v for k, v in whole.items() if k != "entities"} == {
            "query": "payments-api", "store": str(store.folder), "head": head, "more": 0,
            "over_budget": 0, "more_is_least": False, "dormant_left_out": 0, "warnings": [],
        }  # fmt: skip
        entity = whole["entities"][0]
        assert entity["facts"] == [
            {"k": "on-call", "v": "platform-team", "src": f"{RAW}#L1", "seen_run": RUN},
            {"k": "owner", "v": "org/acme-corp", "src": f"{RAW}#L4", "seen_run": RUN},
        ]
        assert entity["edges"] == [
            {"direction": "out", "predicate": "owned-by", "id": "org/acme-corp", "src": f"{RAW}#L1",
             "seen_run": RUN},
            {"direction": "in", "predicate": "depends-on", "id": "object/checkout",
             "src": f"{RAW}#L2", "seen_run": RUN},
        ]  # fmt: skip
        assert entity["tried"][0]["because"] == "the database caps connections at 100"
        assert entities(store, "object/x")[0]["facts"][0] == {
            "k": "limit", "v": 5, "src": f"{RAW}#L1", "seen_run": RUN, "kind": "learning",
            "basis": "observed", "importance": 8,
        }  # fmt: skip

    def test_nothing(self, store: Store) -> None:
        """Nothing known is still one object, and exit code 1."""
        found = store.recall("--json", "xylophone")
        assert json.loads(found.out)["kg.recall/v1"]["entities"] == []
        assert found.code == 1

    def test_python(self, store: Store) -> None:
        """The same answer is there for programs in Python, and importing it is free."""
        answer = recall(store.folder, "payments-api")
        assert answer
        assert answer.text == store.recall("payments-api").out
        assert answer.entities == entities(store, "payments-api")
        assert not recall(str(store.folder), "xylophone", limit=3)
