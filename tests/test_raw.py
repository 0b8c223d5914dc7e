"""Searching what runs saw: lines and whole texts, alone or with what is known."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recall_store import CHECKOUT, Store, fact, git_environ, payments

from kg import place
from kg.recall import rawrank
from kg.recall.rawindex import RawIndex, read

TALK = (
    "# conversation 2023-05-08T13:56:00Z planning\n"
    "Ann: Good morning, how are you?\n"
    "Bob: I went to a support group yesterday.\n"
    "Ann: What did they talk about?\n"
    "Bob: Mostly adoption papers.\n"
)
LATER = (
    "# conversation 2023-07-01T10:00:00Z\nAnn: the group met again\n[2023-07-02] Bob: I painted\n"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with two conversations and a log."""
    made = Store(tmp_path)
    payments(made)
    made.put("raw/r1683554160-scribe.00000001.txt", TALK)
    made.put("raw/r1688205600-scribe.00000002.txt", LATER)
    made.put("raw/r1785343300-tester.00000003.txt", "\n\nERROR: deadlock at pool.py:88\nretrying\n")
    made.commit()
    return made


def ask(store: Store, *words: str) -> dict[str, Any]:
    """Return the JSON answer."""
    found: dict[str, Any] = json.loads(store.recall("--json", *words).out)["kg.recall/v1"]
    return found


def srcs(store: Store, *words: str) -> list[str]:
    """Return the sources of the hits."""
    return [hit["src"] for hit in ask(store, "--raw", *words)["hits"]]


class TestLines:
    """--raw answers with lines."""

    def test_a_line_is_found_by_its_words(self, store: Store) -> None:
        """The hit names file and line, has the line as text, and when and by whom it was seen."""
        hit = ask(store, "--raw", "deadlock pool.py")["hits"][0]
        assert hit["src"] == "raw/r1785343300-tester.00000003.txt#L3"
        assert hit["text"] == "ERROR: deadlock at pool.py:88"
        assert (hit["run"], hit["agent"]) == ("r1785343300", "tester")
        assert hit["score"] > 0

    def test_other_forms_of_the_words(self, store: Store) -> None:
        """A question finds the past of its verb."""
        assert srcs(store, "who goes to a support group")[0].endswith("00000001.txt#L3")

    def test_a_line_lends_to_the_next(self, store: Store) -> None:
        """The answer beside the line that repeats the question's words is a hit, too."""
        assert "raw/r1683554160-scribe.00000001.txt#L5" in srcs(store, "what did they talk about")

    def test_days(self, store: Store) -> None:
        """A day in the question finds what was said on it, or speaks of it as yesterday."""
        assert srcs(store, "what happened on 7 May 2023")[0].endswith("00000001.txt#L3")
        assert srcs(store, "who painted on 2 July 2023")[0].endswith("00000002.txt#L3")

    def test_a_header_is_no_hit(self, store: Store) -> None:
        """The first line of a conversation and empty lines are not lines that someone said."""
        assert all(
            not src.endswith("00000001.txt#L1") for src in srcs(store, "planning conversation")
        )

    def test_quotes_are_honoured(self, store: Store) -> None:
        """A line with the quoted phrase comes before lines with its words."""
        store.put("raw/r1785343301-tester.00000004.txt", "pool pool deadlock nothing pool\n")
        store.commit()
        assert srcs(store, '"deadlock at pool"')[0].endswith("00000003.txt#L3")

    def test_quotes_find_what_words_would_not(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A phrase of common words is found all the same, also where no spaces part words."""
        store.put("raw/r1785343301-tester.00000004.txt", "pool at noon\n" * 30 + "noon at pool\n")
        store.put("raw/r1785343301-tester.00000005.txt", "昨日は日本電気株式会社へ\n")
        store.commit()
        monkeypatch.setattr(rawrank, "CANDIDATES", 10)
        assert srcs(store, '"noon at pool"')[0].endswith("00000004.txt#L31")
        assert srcs(store, '"日本電気"')[0].endswith("00000005.txt#L1")

    def test_common_words_together(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of words too common to rank by, the lines that have all of them are found."""
        monkeypatch.setattr(rawrank, "OFTEN", 5)
        lines = ["error\n"] * 20 + ["timeout\n"] * 20 + ["error timeout\n"]
        store.put("raw/r1785343301-tester.00000004.txt", "".join(lines))
        store.commit()
        assert srcs(store, "error timeout")[0].endswith("00000004.txt#L41")
        assert srcs(store, "error")

    def test_a_common_word_beside_a_rare_one(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the lines with a rare word, the one that has the common word too comes first."""
        monkeypatch.setattr(rawrank, "OFTEN", 5)
        rows = [f"timeout {n}" if n % 10 == 0 else f"steady {n}" for n in range(40)]
        rows[5] = rows[15] = rows[25] = rows[35] = "error"
        rows += ["error"] * 8
        rows[30] = "timeout error"
        store.put("raw/r1785343301-tester.00000004.txt", "\n".join(rows) + "\n")
        store.commit()
        assert srcs(store, "error timeout")[0].endswith("00000004.txt#L31")

    def test_more_of_the_words(self, store: Store) -> None:
        """A line with every word of the query comes before one that repeats its rarest."""
        lines = "gremlin gremlin gremlin\n" + "nothing to see\n" * 5 + "the gremlin ate a cable\n"
        store.put("raw/r1785343301-tester.00000004.txt", lines)
        store.commit()
        assert srcs(store, "which gremlin ate the cable")[0].endswith("00000004.txt#L7")

    def test_nothing(self, store: Store) -> None:
        """Nothing seen is exit 1, hits are an empty list."""
        done = store.recall("--raw", "--json", "zzzz")
        assert done.code == 1
        assert json.loads(done.out)["kg.recall/v1"]["hits"] == []

    def test_text_and_markdown(self, store: Store) -> None:
        """A hit is its source and the line as data; Markdown fences it."""
        text = store.recall("--raw", "deadlock").out
        assert text.startswith("raw/r1785343300-tester.00000003.txt#L3  (")
        assert "\n  ERROR: deadlock at pool.py:88\n" in text
        assert "```\n  ERROR: deadlock" in store.recall("--raw", "--format", "md", "deadlock").out

    def test_controls_do_not_reach_the_terminal(self, store: Store) -> None:
        """What a text holds is shown, not obeyed, and a long line is cut and says so."""
        long = "\x1b[31m red " + "x" * 5000 + "\n"
        store.put("raw/r1785343302-tester.00000005.txt", long)
        store.commit()
        out = store.recall("--raw", "--budget", "0", "red").out
        assert "\x1b" not in out
        assert "more characters)" in out
        assert "red" in out

    def test_limit_and_budget(self, store: Store) -> None:
        """Both leave whole hits out and say how many."""
        store.put("raw/r1785343303-tester.00000006.txt", "gremlin here\n" * 30)
        store.commit()
        assert len(srcs(store, "--limit", "3", "gremlin")) == 3
        few = ask(store, "--raw", "--budget", "60", "--limit", "30", "gremlin")
        assert 0 < len(few["hits"]) < 30
        assert few["over_budget"] == 30 - len(few["hits"])
        assert "over the budget" in store.recall("--raw", "--budget", "60", "gremlin").out

    def test_about(self, store: Store) -> None:
        """--about looks in the texts that say something of the entity, and knows what is none."""
        mine = "raw/r1785343267-scoper.f1fca0d4.txt"
        store.put(mine, "payments-api is owned\n")
        store.put("raw/r1785343304-tester.00000007.txt", "payments-api again\n")
        store.commit()
        assert len(srcs(store, "payments-api")) == 2
        assert srcs(store, "--about", "object/payments-api", "payments-api") == [f"{mine}#L1"]
        done = store.recall("--raw", "--about", "object/nothing", "x")
        assert done.code == 3
        assert "object/nothing" in done.err

    def test_explain(self, store: Store) -> None:
        """The parts of a score are told and add up to it."""
        hit = ask(store, "--raw", "--explain", "support group")["hits"][0]
        assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=0.01)


class TestTexts:
    """--group file answers with whole texts, --with-raw with both kinds."""

    def test_group(self, store: Store) -> None:
        """A text is named by its file and shown by its best line."""
        hit = ask(store, "--raw", "--group", "file", "support group adoption")["hits"][0]
        assert hit["src"] == "raw/r1683554160-scribe.00000001.txt"
        assert "#" not in hit["src"]
        assert hit["text"]

    def test_group_needs_raw(self, store: Store) -> None:
        """It is about texts, so alone it is a usage error."""
        assert store.recall("--group", "file", "x").code == 2

    def test_both_in_one_list(self, store: Store) -> None:
        """--with-raw ranks entities and lines together and labels each."""
        store.put("raw/r1785343305-tester.00000008.txt", "payments-api is slow today\n")
        store.commit()
        both = ask(store, "--with-raw", "payments-api")
        kinds = [result["kind"] for result in both["results"]]
        assert set(kinds) == {"entity", "raw"}
        assert both["entities"][0]["id"] == "object/payments-api"
        assert any(hit["src"].endswith("00000008.txt#L1") for hit in both["hits"])
        text = store.recall("--with-raw", "payments-api").out
        assert "object/payments-api  (Object)" in text
        assert "00000008.txt#L1" in text

    def test_what_has_no_room_is_counted(self, store: Store) -> None:
        """What the one list has no room for counts as more, whichever kind it is."""
        for at in range(3):
            store.entity(f"object/gremlin-{at}")
        store.put("raw/r1785343305-tester.00000008.txt", "gremlin\n" * 4)
        store.commit()
        both = ask(store, "--with-raw", "--limit", "4", "gremlin")
        assert len(both["results"]) == 4
        assert len(both["entities"]) + len(both["hits"]) == 4
        assert both["more"] == 3


class TestMany:
    """--queries answers many, each as if alone."""

    def test_the_same_as_alone(self, store: Store) -> None:
        """One line each, in order, also for misses, with the id that was given."""
        file = store.tmp / "queries"
        asked = ["support group", "zzzz", "deadlock"]
        lines = [asked[0], json.dumps({"id": 7, "query": asked[1]}), asked[2]]
        file.write_text("\n".join(lines) + "\n")
        done = store.recall("--raw", "--queries", str(file))
        answers = [json.loads(line)["kg.recall/v1"] for line in done.out.splitlines()]
        assert done.code == 0
        assert [a["query"] for a in answers] == asked
        assert answers[1]["id"] == 7
        for query, answer in zip(asked, answers, strict=True):
            alone = ask(store, "--raw", query)
            assert answer["hits"] == alone["hits"]

    def test_entities_too(self, store: Store) -> None:
        """Without --raw the answers are what is known, and hits is there and empty."""
        file = store.tmp / "queries"
        file.write_text("payments-api\n")
        answer = json.loads(store.recall("--queries", str(file)).out)["kg.recall/v1"]
        assert answer["entities"] == ask(store, "payments-api")["entities"]
        assert answer["hits"] == []

    def test_a_program_that_asks_on_and_on(self, store: Store) -> None:
        """Each answer comes before the next query, and says what HEAD says by then."""
        command = [sys.executable, "-m", "kg", "recall", "--with-raw", "--queries", "-"]
        with subprocess.Popen(
            command, cwd=store.folder, env={**git_environ(store.home), "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as child:  # fmt: skip
            assert child.stdin and child.stdout  # noqa: PT018 - for the type checker
            found = []
            for _ in range(2):
                child.stdin.write("gremlin\n")
                child.stdin.flush()
                found.append(json.loads(child.stdout.readline())["kg.recall/v1"])
                store.put("raw/r1785343306-tester.00000009.txt", "a gremlin\n")
                store.entity("object/gremlin")
                head = store.commit()
            child.stdin.close()
            assert child.wait() == 0
        assert [len(a["hits"]) for a in found] == [0, 1]
        assert [len(a["entities"]) for a in found] == [0, 1]
        assert found[1]["head"] != head, "the second commit was before the second query"
        assert found[0]["head"] != found[1]["head"]

    def test_a_bad_line_does_not_end_it(self, store: Store) -> None:
        """It gets an answer that says what is wrong; the others go on."""
        file = store.tmp / "queries"
        file.write_bytes(b'{"x": 1}\n{"query": 3}\n{\n\xff\xfe\ndeadlock\n')
        done = store.recall("--raw", "--queries", str(file))
        answers = [json.loads(line)["kg.recall/v1"] for line in done.out.splitlines()]
        assert ["error" in a for a in answers] == [True, True, True, False, False]
        assert answers[-1]["hits"]

    def test_no_file(self, store: Store) -> None:
        """A file that is not there is a usage error that names it."""
        done = store.recall("--queries", "/nowhere/at/all")
        assert done.code == 2
        assert "/nowhere/at/all" in done.err


class TestIndex:
    """The index of texts is always what HEAD says."""

    def content(self, index: RawIndex) -> list[Any]:
        """Return what it answers from, with the full text checked."""
        con = index.connection
        found = []
        for query in ("group", "deadlock", "gremlin", "ann", "may"):
            hits = rawrank.find(con, query, 50)
            found.append([(h.path, h.no, round(h.score, 6)) for h in hits.hits])
        files = con.execute("select path, run, agent, at, topic, talk from file order by path")
        return [*found, files.fetchall(), con.execute("select count(*) from line").fetchone()]

    def test_steps_come_to_the_same_as_one_go(self, store: Store) -> None:
        """However it came to a tree, it answers the same."""
        rng = random.Random(3)
        here = place.find(str(store.folder), {}, "/")
        for step in range(6):
            with RawIndex.fresh(here):
                pass
            name = f"raw/r17853434{step:02d}-tester.0000001{step}.txt"
            store.put(name, rng.choice([TALK, LATER, "gremlin\nin the pool\n"]) + f"{step}\n")
            if step % 2:
                gone = rng.choice(sorted((store.folder / "raw").iterdir()))
                gone.unlink()
            store.commit()
        with RawIndex.fresh(here) as index:
            kept = self.content(index)
        with RawIndex.rebuilt(here) as index:
            assert [sorted(part, key=repr) for part in self.content(index)[:5]] == [
                sorted(part, key=repr) for part in kept[:5]
            ]
            assert self.content(index)[5:] == kept[5:]

    def test_plain_recall_does_not_make_it(self, store: Store) -> None:
        """It is made when texts are asked for, and not before."""
        store.recall("payments")
        assert not (store.state / "raw.db").exists()
        store.recall("--raw", "payments")
        assert (store.state / "raw.db").exists()

    def test_damage(self, store: Store) -> None:
        """A file that is no index any more is made anew."""
        store.recall("--raw", "group")
        for name in ("raw.db", "raw.db-wal"):
            (store.state / name).write_bytes(b"not SQLite" * 1000)
        assert srcs(store, "support group")

    def test_damage_inside(self, store: Store) -> None:
        """Damage that shows itself only where it is read is mended, alone and among many."""
        for at in range(40):
            store.put(f"raw/r1785343{at:03d}-tester.{at:08x}.txt", "gremlin in the pool\n" * 40)
        store.commit()
        want = srcs(store, "gremlin")
        many = store.tmp / "queries"
        many.write_text("gremlin\n")
        for words in (("--json", "gremlin"), ("--queries", str(many))):
            file = store.state / "raw.db"
            data = file.read_bytes()
            file.write_bytes(data[:8192] + b"garbage!" * ((len(data) - 8192) // 8))
            done = store.recall("--raw", *words)
            assert done.err == ""
            hits = json.loads(done.out)["kg.recall/v1"]["hits"]
            assert [hit["src"] for hit in hits] == want

    def test_lost_texts(self, store: Store, tmp_path: Path) -> None:
        """A text that is corrupt, or that a partial clone lacks, is named; the others answer."""
        blob = store.git("rev-parse", "HEAD:raw/r1688205600-scribe.00000002.txt")
        store.git("config", "uploadpack.allowFilter", "true")
        clone = str(tmp_path / "partial")
        store.git("clone", "-q", "--bare", "--filter=blob:none", f"file://{store.top}", clone)
        done = store.recall("-C", clone, "--raw", "deadlock")
        assert done.code == 1
        assert "00000003.txt is missing or corrupt in git: skipped" in done.err
        file = store.top / ".git/objects" / blob[:2] / blob[2:]
        file.chmod(0o644)
        file.write_bytes(b"garbage")
        done = store.recall("--raw", "deadlock")
        assert done.code == 0
        assert "00000002.txt is missing or corrupt in git: skipped" in done.err

    def test_links_are_not_followed(self, store: Store) -> None:
        """A symbolic link in raw/ is named and not read."""
        (store.folder / "raw/link").symlink_to(store.folder / "store.json")
        store.commit()
        done = store.recall("--raw", "kg_format")
        assert done.code == 1
        assert "raw/link is no regular file, so not followed" in done.err

    def test_nowhere_to_write(self, store: Store) -> None:
        """Where no index file can be made it answers from memory, and leaves nothing behind."""
        want = srcs(store, "support group")
        shutil.rmtree(store.state)
        store.state.write_bytes(b"")
        assert srcs(store, "support group") == want
        assert store.state.is_file()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
    def test_read_only(self, store: Store) -> None:
        """Where nothing can be written it answers from memory."""
        shutil.rmtree(store.state)
        (store.top / ".git").chmod(0o500)
        assert srcs(store, "support group")

    def test_no_raw_at_all(self, tmp_path: Path) -> None:
        """A store without texts has nothing to find."""
        made = Store(tmp_path)
        made.entity("object/x", fact("note", "x"))
        made.commit()
        assert made.recall("--raw", "x").code == 1

    def test_without_git(self, tmp_path: Path) -> None:
        """A folder that is in no repository is searched as it is."""
        made = Store(tmp_path, git=False)
        made.put("raw/r1785343300-tester.00000003.txt", "deadlock\n")
        assert srcs(made, "deadlock") == ["raw/r1785343300-tester.00000003.txt#L1"]

    def test_a_large_text_without_git(self, tmp_path: Path) -> None:
        """A text may be larger than other files of a store; what is too large is named."""
        made = Store(tmp_path, git=False)
        made.put("raw/r1785343300-tester.00000003.txt", f"{'x' * (5 << 20)}\ndeadlock\n")
        made.put("raw/r1785343300-tester.00000004.txt", b"\n" * (33 << 20))
        done = made.recall("--raw", "deadlock")
        assert done.out.startswith("raw/r1785343300-tester.00000003.txt#L2  (")
        assert done.err.startswith("raw/r1785343300-tester.00000004.txt is larger than 32 MB")

    @given(st.binary(max_size=300))
    def test_any_bytes_are_a_text(self, data: bytes) -> None:
        """Whatever a file holds, its lines are those that LF parts, numbered from 1."""
        text = read("raw/r1-x.00000000.txt", data)
        count = data.count(b"\n") + 1
        assert all(1 <= line.no <= count for line in text.lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(query=st.one_of(
    st.text(max_size=60),
    st.text(alphabet='"()*:^-+{}[]~ANDORNOTEAR \n\0', max_size=40),
    st.integers(1, 25_000).map(lambda n: "word " * n),
))  # fmt: skip
def test_any_text_is_a_query(store: Store, query: str) -> None:
    """No text is an error, in texts, in what is known, or in both."""
    with RawIndex.fresh(place.find(str(store.folder), {}, "/")) as index:
        assert len(rawrank.find(index.connection, query, 5).hits) <= 5


def test_queries_from_standard_input(store: Store) -> None:
    """`-` reads the queries from where a pipe leads."""
    done = store.spawn("--raw", "--queries", "-", stdin=b"deadlock\n")
    assert json.loads(done.out)["kg.recall/v1"]["hits"]
