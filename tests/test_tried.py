"""kg tried: the traces of an error, whatever of its message differs from one time to the next."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from commands import Kg
from hypothesis import example, given
from hypothesis import strategies as st
from recall_store import CHECKOUT, RAW, RUN, Result, Store, payments

from kg import place
from kg.recall import alike, clues, schema, traces, tried
from kg.recall.index import Index
from kg.recall.parse import Trace

POOL = 'psycopg2.OperationalError: connection to "10.0.0.7", port 5432 failed: too many clients'
DISK = "OSError: [Errno 28] No space left on device: '/tmp/tmpab12cd/part-0001.bin'"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def trace(name: str, *about: str, prose: str = "", **said: str) -> tuple[str, str]:
    """Return (path, text) of a trace; what is not said is made up."""
    members = {
        "about": list(about or ("object/payments-api",)), "tried": f"trying {name}",
        "outcome": "failed", "because": f"reason of {name}", "run": RUN, "agent": "scoper",
        "src": f"{RAW}#L2", **said,
    }  # fmt: skip
    front = "".join(f"{k}: {json.dumps(v)}\n" for k, v in members.items())
    return f"tried/{name}.md", f"---\n{front}---\n{prose}"


def put(store: Store, *made: tuple[str, str]) -> None:
    """Write traces and commit them."""
    for path, text in made:
        store.put(path, text)
    store.commit()


def ask(store: Store, *words: str, stdin: bytes = b"") -> Result:
    """Run `kg tried` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = tried.main(words, {}, str(store.folder), lambda most: stdin[:most])
    return Result(out.getvalue(), err.getvalue(), code)


def found(store: Store, *words: str, stdin: bytes = b"") -> list[dict[str, Any]]:
    """Return the traces that `kg tried --json` answers."""
    answer: list[dict[str, Any]] = json.loads(ask(store, "--json", *words, stdin=stdin).out)[
        "kg.tried/v1"
    ]["traces"]
    return answer


def names(store: Store, *words: str, stdin: bytes = b"") -> list[str]:
    """Return the names of the traces that `kg tried` answers, in order."""
    return [Path(one["path"]).stem for one in found(store, *words, stdin=stdin)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the example store with a few traces."""
    made = Store(tmp_path)
    payments(made)
    put(
        made,
        trace("pool", error=POOL),
        trace("disk", "object/checkout", error=DISK),
        trace("npm", tried="npm install --legacy-peer-deps", because="react 17 is pinned"),
        trace("limit", error="HTTP 429 Too Many Requests from https://api.example.com/v1/a"),
        trace("log", prose="It ended in\n\nE0382: borrow of moved value: `buffer`\n"),
    )
    return made


class TestClues:
    """What of a message is kept."""

    @pytest.mark.parametrize(
        ("text", "kept"),
        [
            ("KeyError: 'user_id'", "KeyError 'user_id"),
            ('  File "/opt/x/shop/cart.py", line 12, in total', "@ File 'cart.py line total"),
            ("OSError: [Errno 28] on /tmp/tmpab12/x", "OSError Errno #28"),
            ("HTTP/1.1 429 Too Many Requests", "#429 Many Requests"),
            ("took 429 seconds at line 429, port 503", "took seconds line port"),
            ("status=503 code: 0013", "#503 status code #13"),
            ("main.rs:12:8 error[E0382] TS2322 ORA-00942", "main.rs error E0382 TS2322 ORA-00942"),
            ("pod api-7d4b9c-xk2lp 0x7ffe3 deadbeef12", "pod api"),
            ("6f9619ff-8b86-d011-b42d-00cf4fc964ff timeout", "timeout"),
            ("2026-01-01T10:00:00.123Z [worker-3] WARN", "worker WARN"),
            ("\x1b[1;31mfatal:\x1b[0m gone", "fatal gone"),
            (r"C:\Users\b\net.cpp(12): error C2065", "net.cpp error C2065"),
            ("numpy==1.26.4 react@18 v2.0.1", "numpy react"),
            ("512MiB 30s 12:30:01 10.0.0.1:5432 [12345]", ""),
            ("an and/or linux/amd64", "linux amd"),
        ],
    )
    def test_kept(self, text: str, kept: str) -> None:
        """What identifies an error is kept, what differs each time is not."""
        assert clues.masked(text) == kept

    @given(st.text() | st.text("ab0 '\"./\\:-_#@\x1b[1m\n", max_size=200))
    @example("ꭰꮿ ß ﬁ ÅÅ")
    def test_any_text(self, text: str) -> None:
        """Masked text is made of clues alone, finds itself in an index, and masks to no error."""
        for line in clues.lines(text):
            assert all(clue and not set(clue) & set(' \n"\x00\x1e\x1f') for clue in line)
            assert all(clues.key(clues.key(clue)) == clues.key(clue) for clue in line)
            assert all(clues.weight(clue) > 0 for clue in line)

    @given(st.lists(st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.]{0,12}", fullmatch=True), max_size=8),
           st.integers(0), st.uuids(), st.integers(0, 2**64))  # fmt: skip
    def test_numbers_do_not_matter(self, words: list[str], n: int, uuid: object, at: int) -> None:
        """Whatever the words, a number, a UUID and an address among them change nothing."""
        plain = clues.masked(" ".join(["see", *words, "so"]))
        assert clues.masked(" ".join(["see", *words, f"{uuid} 0x{at:016x} ({n}ms)", "so"])) == plain

    def test_long_text(self) -> None:
        """Of a long log the errors and the end are kept."""
        text = "error: first\n" + "all is well with x\n" * 3 + "".join(
            f"all is well with {chr(97 + n // 26)}{chr(97 + n % 26)}a\n" for n in range(300)
        )  # fmt: skip
        kept = clues.lines(text * 200 + "Killed\n")
        assert len(kept) == clues.SPEAKING + 1
        assert (kept[0], kept[-1]) == (["error", "first"], ["Killed"])


class TestAlike:
    """How alike two messages are."""

    @given(st.text("abcde XY._'\n", max_size=60), st.text("abcde XY._'\n", max_size=60))
    def test_bounds(self, one: str, other: str) -> None:
        """A likeness is between 0 and 1, the same both ways, and 1 with itself."""
        left, right = (alike.Message(clues.lines(text), lambda _: 1.0) for text in (one, other))
        likeness = alike.alike(left, right)
        assert 0 <= likeness <= 1
        assert likeness == pytest.approx(alike.alike(right, left))
        assert alike.alike(left, left) == (1.0 if left.clues else 0.0)

    @given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
    def test_rarity(self, size: int, one: int, other: int) -> None:
        """Rarer is more, between 0 and 1."""
        less, more = sorted((min(one, size), min(other, size)))
        assert 0 < alike.rarity(more, size) <= alike.rarity(less, size) <= 1


class TestFound:
    """Which traces are found."""

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            (POOL.replace("10.0.0.7", "192.168.1.250").replace("5432", "6000"), "pool"),
            (DISK.replace("tmpab12cd/part-0001", "tmpzz99/part-7777"), "disk"),
            ("npm install --legacy-peer-deps", "npm"),
            ("curl: server answered 429 Too Many Requests (https://api.example.com/v9)", "limit"),
            ("error[E0382]: borrow of moved value: `other`", "log"),
        ],
    )
    def test_first(self, store: Store, query: str, name: str) -> None:
        """The trace of the error is found by message, command line, or prose."""
        assert names(store, "--", query)[:1] == [name]

    @pytest.mark.parametrize(
        "query",
        ["ModuleNotFoundError: No module named 'yaml'", "exit status 1", "12 34 0x55", "!!!",
         "OSError: [Errno 13] Permission denied", "HTTP 500 Internal Server Error", "failed"],
    )  # fmt: skip
    def test_nothing(self, store: Store, query: str) -> None:
        """Another error is answered with nothing, exit 1, and what to do, in one line."""
        answer = ask(store, query)
        assert (answer.out, answer.code) == ("", 1)
        assert answer.err.count("\n") == 1
        assert "kg add tried" in answer.err
        assert ask(store, "--json", query).code == 1
        assert found(store, query) == []

    def test_log_on_stdin(self, store: Store) -> None:
        """An error is found in a log of hundreds of kB, in UTF-8, broken UTF-8 or UTF-16."""
        noise = "".join(f"2026-01-01 INFO handled item {n} of stage x{n}\n" for n in range(9000))
        log = f"{noise}Traceback (most recent call last):\n{DISK}\nmake: *** [all] Error 1\n"
        for data in (log.encode(), b"\xff\xc3" + log.encode(), log.encode("utf-16")):
            assert names(store, "-", stdin=data) == ["disk"]

    def test_contradicting(self, store: Store) -> None:
        """Of traces of the very same error the latest comes first: the cure, where it is later."""
        put(store, trace("old", error=DISK, run="r1", outcome="failed"),
            trace("new", error=DISK, run="r1999999999", outcome="worked"))  # fmt: skip
        assert names(store, DISK) == ["new", "disk", "old"]
        assert names(store, DISK, "--limit", "1") == ["new"]

    def test_cure_is_shown_beside(self, store: Store) -> None:
        """What worked is among the answers, also where the failures alone would fill them."""
        put(store, trace("cure", error=DISK, run="r1", outcome="worked"),
            *(trace(f"f{n}", error=DISK, run=f"r{n + 5}") for n in range(9)))  # fmt: skip
        assert names(store, DISK, "--limit", "3")[-1] == "cure"
        assert ask(store, DISK, "--limit", "3").out.endswith("\n8 more: use --limit N\n")
        assert len(names(store, DISK, "--limit", "99")) == 11

    def test_filters(self, store: Store) -> None:
        """--about and --outcome leave what is about that entity and ended so, exactly."""
        put(store, trace("odd", "object/checkout", error=DISK, because="worked"),
            trace("ok", error=DISK, outcome="worked"))  # fmt: skip
        assert set(names(store, DISK)) == {"disk", "odd", "ok"}
        assert set(names(store, DISK, "--about", "object/checkout")) == {"disk", "odd"}
        assert names(store, DISK, "--outcome=worked") == ["ok"]
        nothing = ask(store, DISK, "--about=object/checkout", "--outcome", "worked")
        assert (nothing.code, "leave out --about" in nothing.err) == (1, True)

    @pytest.mark.parametrize("id_", ["object/none", "payments-api", "object/\udcff", "x\x1b[2J"])
    def test_about_nothing(self, store: Store, id_: str) -> None:
        """An id that nothing has is a mistake in the command line, as with recall."""
        answer = ask(store, DISK, f"--about={id_}")
        assert (answer.out, answer.code, answer.err.count("\n")) == ("", 2, 1)
        assert not CONTROL.search(answer.err)

    def test_same_without_full_text(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """An SQLite without FTS5 gives the same answers, slower."""
        put(store, *(trace(f"n{n}", error=f"Error{n % 7}x: {DISK}") for n in range(40)))
        queries = [POOL, DISK, "npm install --legacy-peer-deps", "borrow of moved value", "x"]
        with Index.fresh(place.find(str(store.folder), {}, "/")) as index:
            want = [[vars_of(m) for m in traces.find(index.connection, q)] for q in queries]
        monkeypatch.setattr(schema, "has_words", lambda _con: False)
        with Index.rebuilt(place.find(str(store.folder), {}, "/")) as index:
            assert not index.connection.execute("select words from meta").fetchone()[0]
            got = [[vars_of(m) for m in traces.find(index.connection, q)] for q in queries]
        assert got == want
        assert want[1]

    def test_many_of_the_same(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where every trace has every word of the error, the latest are compared and found."""
        monkeypatch.setattr(traces, "CAP", 20)
        put(store, *(trace(f"t{n:03}", error=DISK, run=f"r{n}") for n in range(120)))
        assert names(store, DISK, "--limit", "3") == ["disk", "t119", "t118"]
        monkeypatch.setattr(schema, "has_words", lambda _con: False)
        assert names(store, DISK, "--limit", "3") == ["disk", "t119", "t118"]

    def test_forgotten(self, store: Store) -> None:
        """A trace that is gone or changed is found no more, a new one at once."""
        (store.folder / "tried/disk.md").unlink()
        put(store, trace("pool", error="another thing altogether"), trace("late", error=POOL))
        assert ask(store, DISK).code == 1
        assert names(store, POOL) == ["late"]


def vars_of(match: traces.Match) -> dict[str, object]:
    """Return the members of a match."""
    return {name: getattr(match, name) for name in match.__slots__}


class TestAnswer:
    """What is printed."""

    def test_text(self, store: Store) -> None:
        """As text: likeness, what was tried, how it ended and why; then where that is from."""
        assert ask(store, POOL).out == (
            "1.00  trying pool -> failed: reason of pool\n"
            f"      error: {POOL}\n"
            "      about: object/payments-api\n"
            f"      run: {RUN}, agent scoper\n"
            "      tried/pool.md\n"
            f"      src: {RAW}#L2\n"
        )

    def test_json(self, store: Store) -> None:
        """As JSON: the same, under a versioned key, on one line."""
        text = ask(store, "--format", "json", POOL).out
        assert text.count("\n") == 1
        (one,) = json.loads(text)["kg.tried/v1"]["traces"]
        assert one == {
            "path": "tried/pool.md", "similarity": 1.0, "matched": "error",
            "about": ["object/payments-api"], "tried": "trying pool", "outcome": "failed",
            "because": "reason of pool", "run": RUN, "agent": "scoper", "src": f"{RAW}#L2",
            "error": POOL,
        }  # fmt: skip

    @pytest.mark.parametrize(
        "words",
        [(), ("--limit", "0", "x"), ("--limit", "x", "x"), ("--limit",), ("--outcome", "bad", "x"),
         ("--format", "md", "x"), ("--nope", "x"), ("-x",), ("--about",)],
    )  # fmt: skip
    def test_usage(self, store: Store, words: tuple[str, ...]) -> None:
        """A wrong command line is told in one line, exit 2."""
        answer = ask(store, *words)
        assert (answer.out, answer.code, answer.err.count("\n")) == ("", 2, 1)

    def test_failing(self, tmp_path: Path) -> None:
        """Where there is no store it says so, exit 3; --help needs none."""
        bare = Store(tmp_path, git=False, seed=True)
        answer = ask(bare, "x")
        assert (answer.code, answer.err.count("\n")) == (3, 1)
        assert ask(bare, "--help") == (tried.HELP, "", 0)

    def test_damaged_index(self, store: Store) -> None:
        """A damaged index is made anew rather than believed."""
        want = ask(store, POOL)
        data = bytearray(store.index.read_bytes())
        for at in range(8192, len(data), 4096):
            data[at : at + 1000] = b"\xff" * 1000
        store.index.write_bytes(data)
        assert ask(store, POOL) == want

    def test_members_are_the_traces(self) -> None:
        """What the command knows of a trace's members is what the index keeps, in order."""
        assert Trace._fields[1:] == traces.MEMBERS
        assert f"{traces.LEAST:.2f}" in tried.HELP

    def test_through_the_program(self, store: Store) -> None:
        """`kg tried` reads standard input, -C on either side of it; click stays away."""
        ask(store, "so that the index is there")
        code = (
            "import sys; from kg import entry; import os; end = os._exit\n"
            "os._exit = lambda code: (print('click' in sys.modules, 're' in sys.modules), "
            "sys.stdout.flush(), end(code))\nentry.main()"
        )
        for words in (("-C", str(store.folder), "tried", "-"), ("tried", f"-C{store.folder}", "-")):
            done = subprocess.run(
                [sys.executable, "-S", "-c", code, *words], input=DISK.encode(), cwd=CHECKOUT,
                capture_output=True, check=False,
            )  # fmt: skip
            assert done.stdout.decode().startswith("1.00  trying disk -> failed")
            assert done.stdout.endswith(b"False False\n"), done.stderr
            assert done.returncode == 0

    def test_help_is_listed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The command line lists the command and has an example in its help."""
        kg = Kg(capsys)
        assert "  tried " in kg.ok("--help")
        assert "kg tried -" in kg.ok("tried", "--help")

    def test_as_a_command_among_others(
        self, store: Store, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Called through the command group it answers the same."""
        kg, where = Kg(capsys), ("-C", str(store.folder), "tried")
        assert (
            kg(*where, "--limit", "1", "--json", DISK).out
            == ask(store, "--limit", "1", "--json", DISK).out
        )
        assert kg(*where, "--outcome", "worked", DISK).code == 1
        assert (kg(*where).code, kg(*where, "--limit", "x", DISK).code) == (2, 2)


class TestHostile:
    """Input and stores that mean harm."""

    @given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
    @example(b"")
    @example(b"\x00" * 1000)
    @example(b"\xff\xfe\x00")
    @example(b'" OR masked:* NEAR(a b) AND NOT ^x {"}')
    @example(b"-" * 10_000 + b"'" * 10_000)
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes on stdin are answered or not, without an error, on clean lines."""
        answer = ask(_shared(), "-", stdin=data)
        assert answer.code in (0, 1)
        assert not CONTROL.search(answer.out + answer.err)
        assert answer.err.count("\n") <= 1

    @given(st.lists(st.text(max_size=30), max_size=4))
    def test_any_arguments(self, words: list[str]) -> None:
        """Any arguments are an answer, nothing, or one line about usage."""
        answer = ask(_shared(), "--json", "--", *words)
        assert answer.code in (0, 1) or (answer.code == 2 and not words)
        assert not CONTROL.search(answer.out + answer.err)

    @pytest.mark.parametrize(
        "piece",
        [b"x", b"error ", b"a/", b"'", b'"a" ', b"a.", b"\x1b[", b"a-1", b"\xc3\xa9", b"\n",
         b"0", b"Error: disk %d\n", b"fatal: \xe6\x95\xb0 lost\n"],
    )  # fmt: skip
    def test_ten_megabytes(self, piece: bytes) -> None:
        """10 MB of anything are read in part, and answered."""
        assert ask(_shared(), "-", stdin=piece * (10_000_000 // len(piece))).code in (0, 1)

    def test_hostile_trace(self, store: Store) -> None:
        """What a trace holds is shown, not obeyed; one that is no trace is named and skipped."""
        nasty = "a\x1b[2Jb\x07\u202e\ud800\x1e\x1f"
        bad = trace("bad", error=f"{DISK} {nasty}", tried=nasty, because=nasty, agent=nasty)
        odd = ("tried/odd.md", "---\nerror: 5\n---\n")
        put(store, bad, odd, ("tried/none.md", "no front matter"))
        answer = ask(store, DISK)
        assert "a\\x1b[2Jb" in answer.out
        assert not CONTROL.search(answer.out + answer.err)
        assert "tried/none.md" in answer.err
        assert "bad" in names(store, DISK)


_STORES: list[Store] = []


def _shared() -> Store:
    """Return a store that all examples of a property ask."""
    if not _STORES:
        import tempfile

        made = Store(Path(tempfile.mkdtemp(prefix="kg-tried-")))
        put(made, trace("disk", error=DISK), trace("pool", error=POOL))
        _STORES.append(made)
    return _STORES[0]
