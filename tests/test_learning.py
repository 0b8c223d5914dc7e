"""Telling what a query meant: counted here, confirmed by others, a term in the store."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Kg
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import acme, git, observed, store

from kg.audit.why import why
from kg.errors import NotFoundError, RefusedError, SecretError, UnsupportedError
from kg.graph import Graph
from kg.graph.learning import Told, forget, tell, waiting
from kg.graph.meant import FEW, LASTS, MOST
from kg.graph.tally import Tally
from kg.recall import recall, schema, standing

API = "object/payments-api"
QUERIES = ("who runs the kaas", "kaas owner", "kaas host")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a store in memory/ with the design's example in it."""
    made = store(tmp_path / "memory")
    made.remember([acme()])
    return made


def _states(told: Told) -> dict[str, str]:
    return {heard.word: heard.state for heard in told.words}


def _pending(graph: Graph, word: str = "kaas", id_: str = API, run: str = "r1785343300") -> None:
    for more in ("alpha", "beta", "gamma"):
        told = tell(graph, f"{word} {more}", id_, run=run, agent="scoper")
    assert _states(told)[word] == "pending"


def _terms(graph: Graph, id_: str = API) -> list[object]:
    return [f.v for f in graph.entity(id_).facts if f.k == "term"]


def test_a_word_is_learnt_from_end_to_end(
    graph: Graph, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three queries make it pending, another run confirms it; then it is found, with its why."""
    kg = Kg(capsys)
    monkeypatch.setenv("KG_AGENT", "scoper")
    monkeypatch.setenv("KG_RUN", "r1785343300")
    before = graph.at().commit
    out = [kg.ok("recall", *query.split(), "--meant", API) for query in QUERIES]
    assert [next(line for line in text.splitlines() if "kaas" in line) for text in out] == [
        "counted: kaas (1 of 3)",
        "counted: kaas (2 of 3)",
        "pending: kaas (3 times, until another run or agent tells it)",
    ]
    assert graph.at().commit == before
    assert not recall(graph.place, "kaas")
    monkeypatch.setenv("KG_RUN", "r1785343400")
    told = kg("recall", "the", "kaas", "--meant", API, "--json").json("meant")
    assert told["words"] == [{"word": "kaas", "state": "confirmed", "count": 4}]
    assert told["commits"] == [graph.at().commit]
    assert [e["id"] for e in recall(graph.place, "kaas").entities] == [API]
    (evidence,) = why(graph, API, "term")
    assert (evidence.agent, evidence.claim.basis, evidence.claim.importance) == (
        "scoper", "observed", 1,
    )  # fmt: skip
    raw = graph.at().read(evidence.claim.src.partition("#")[0]) or b""
    assert raw.decode().splitlines()[1:] == [
        *(f"r1785343300 scoper: {query}" for query in QUERIES),
        "r1785343400 scoper: the kaas",
        'so the word "kaas" should bring it up',
    ]
    assert kg("fsck").code == 0


def test_an_agent_that_loops_confirms_nothing(graph: Graph) -> None:
    """A hundred tellings of one run, in any words, leave the word pending and the store alone."""
    before = graph.at().commit
    for turn in range(100):
        told = tell(graph, f"kaas {'abcdefghij'[turn % 10]}x", API, run="r1785343300", agent="x")
    assert _states(told)["kaas"] == "pending"
    assert graph.at().commit == before


def test_who_names_no_run_is_one_run_that_day(graph: Graph) -> None:
    """Without KG_RUN each command would be a run of its own; the agent's day stands for it."""
    for query in (*QUERIES, "kaas again", "what kaas means"):
        told = tell(graph, query, API, agent="scoper")
    assert _states(told)["kaas"] == "pending"
    assert _states(tell(graph, "kaas", API, agent="other"))["kaas"] == "confirmed"


def test_a_retracted_term_is_not_learnt_again(graph: Graph) -> None:
    """What a person took back stays back, whatever is told, until somebody adds it by hand."""
    _pending(graph)
    tell(graph, "kaas", API, run="r1785343400", agent="other")
    assert _terms(graph) == ["kaas"]
    graph.remember([{"text": "kaas is another thing", "retract": [
        {"entity": API, "k": "term", "v": "kaas", "quote": "kaas"}]}], run="r1785343500",
    )  # fmt: skip
    for run in ("r1785343600", "r1785343700", "r1785343800", "r1785343900", "r1785344000"):
        told = tell(graph, f"kaas {run}x", API, run=run, agent="scoper")
        assert "retracted" in told.words[0].because
    assert _terms(graph) == []


def test_a_reverted_commit_leaves_nothing_to_learn_from(graph: Graph, tmp_path: Path) -> None:
    """After git revert the counting begins at one: the old counts went with the commit."""
    _pending(graph)
    tell(graph, "kaas", API, run="r1785343400", agent="other")
    git(tmp_path / "memory", "revert", "--no-edit", "HEAD")
    assert _terms(graph) == []
    (heard,) = tell(graph, "kaas", API, run="r1785343500", agent="third").words
    assert (heard.state, heard.count) == ("counted", 1)


def test_old_counts_of_another_clone_do_not_undo_a_retraction(graph: Graph) -> None:
    """A word that is pending here and was meanwhile learnt and taken back elsewhere stays back."""
    _pending(graph)
    fact = {"text": "kaas\n", "facts": [{"entity": API, "k": "term", "v": "KaaS", "quote": "kaas"}]}
    gone = {"text": "no\n", "retract": [{"entity": API, "k": "term", "quote": "no"}]}
    graph.remember([fact], run="r1785343400", agent="clone")
    graph.remember([gone], run="r1785343500", agent="clone")
    told = tell(graph, "kaas", API, run="r1785343600", agent="other")
    assert _states(told) == {"kaas": "left out"}
    assert _terms(graph) == []


def test_the_resolver_never_sees_a_term(graph: Graph) -> None:
    """A thing called as a term of another says is a new thing, by exact lookup and in a write."""
    _pending(graph)
    tell(graph, "kaas", API, run="r1785343400", agent="other")
    assert graph.index().ids_named("object", "kaas") == []
    assert graph.draft(graph.at()).named("object", "kaas") == []
    assert graph.entity(API).aliases == ()
    answer = graph.remember([observed("kaas is up\n", ("kaas", "status", "up"))])
    assert answer.recorded[0].mentions[0].to_json()["decision"] == "created"
    assert recall(graph.place, "kaas").entities[0]["id"] == "object/kaas"


def test_what_belongs_to_others_is_left_out(graph: Graph) -> None:
    """Words of other names, terms of others, common words and the ontology's are not counted."""
    graph.remember([
        observed("billing ledger\n", *[(f"ledger-{n}", "note", "billing") for n in range(3)]),
        observed("x\n", ("invoices", "term", "faktura")),
    ])  # fmt: skip
    told = tell(graph, "who owns ledger billing faktura kaas payments", API)
    assert _states(told) == {
        "owns": "left out", "ledger": "left out", "billing": "left out", "faktura": "left out",
        "kaas": "counted", "payments": "left out",
    }  # fmt: skip
    because = {heard.word: heard.because for heard in told.words}
    assert "name of object/ledger-0" in because["ledger"]
    assert "common" in because["billing"]
    assert "term of object/invoices" in because["faktura"]


def test_a_word_told_for_two_is_ambiguous(graph: Graph) -> None:
    """It is not confirmed for either until the other's count is forgotten or has lapsed."""
    graph.remember([observed("invoices\n", ("invoices", "note", "n"))])
    _pending(graph)
    assert _states(tell(graph, "kaas", "object/invoices", agent="x")) == {"kaas": "ambiguous"}
    told = tell(graph, "kaas", API, run="r1785343400", agent="other")
    assert (told.words[0].state, told.words[0].because) == (
        "ambiguous", "told for object/invoices too",
    )  # fmt: skip
    assert _states(forget(graph, "kaas", "object/invoices")) == {"kaas": "forgotten"}
    assert _states(tell(graph, "the kaas", API, run="r1785343401", agent="x")) == {
        "kaas": "confirmed"
    }


def test_an_entity_has_so_many_terms_and_no_more(graph: Graph) -> None:
    """At the bound a confirmed word waits, and status says that the entity is full."""
    text = "words of it\n"
    facts = [{"entity": API, "k": "term", "v": f"word{n}", "quote": "words"} for n in range(MOST)]
    graph.remember([{"text": text, "facts": facts}])
    _pending(graph)
    assert _states(tell(graph, "kaas", API, run="r1785343400", agent="x")) == {"kaas": "full"}
    assert ("object/payments-api", "kaas", "full") in [
        (id_, heard.word, heard.state) for id_, heard in waiting(graph)
    ]
    assert "kaas" not in _terms(graph)


def test_a_pasted_text_is_no_query(graph: Graph) -> None:
    """Of a query with many new words, an error message for instance, nothing is counted."""
    text = " ".join(f"strange{c}" for c in "abcdefghijkl"[: FEW + 1])
    assert set(_states(tell(graph, text, API)).values()) == {"left out"}
    assert waiting(graph) == []


def test_a_query_with_a_secret_is_refused(graph: Graph) -> None:
    """It might be committed one day, so it is not even counted; the message never repeats it."""
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    with pytest.raises(SecretError) as refused:
        tell(graph, f"kaas {secret}", API)
    assert secret not in str(refused.value)
    assert waiting(graph) == []


def test_what_cannot_be_told(graph: Graph, tmp_path: Path) -> None:
    """An unknown id, a bad run or agent and a hand-written store are refused before counting."""
    with pytest.raises(NotFoundError, match="did you mean"):
        tell(graph, "kaas", "object/payment-api")
    for run, agent in (("yesterday", "x"), ("r1", "Not An Agent")):
        with pytest.raises(RefusedError):
            tell(graph, "kaas", API, run=run, agent=agent)
    assert waiting(graph) == []
    (tmp_path / "hand/entities/object").mkdir(parents=True)
    (tmp_path / "hand/entities/object/x.json").write_text('{"id": "object/x"}', encoding="utf-8")
    git(tmp_path / "hand", "init", "-q")
    with pytest.raises(UnsupportedError, match="kg init"):
        tell(Graph(tmp_path / "hand"), "kaas", "object/x")


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"\xff\x00garbage\n{}\n[]\n", b'{"id": 5, "word": 5, "last": "x", "told": [[]]}\n',
        b'{"id": "object/x", "word": "w", "last": 1e400, "told": [["a", "b", "c", 5]]}\n',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_file_loses_counts_and_nothing_else(graph: Graph, damage: bytes) -> None:
    """Lines that make no sense are passed over; the next telling counts from what is left."""
    _pending(graph)
    file = Path(Tally(graph.place).file)
    good = [line for line in file.read_bytes().splitlines(keepends=True) if b'"kaas"' in line]
    file.write_bytes(damage + b"\n" + good[0])
    assert [heard.state for _, heard in waiting(graph)] == ["pending"]
    file.write_bytes(damage)
    (heard,) = tell(graph, "kaas", API, run="r1785343400", agent="x").words
    assert (heard.state, heard.count) == ("counted", 1)
    file.unlink()
    assert waiting(graph) == []


def test_counts_lapse(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty days after its last occurrence a word is gone, and its line goes with the next."""
    _pending(graph)
    later = time.time() + LASTS
    monkeypatch.setattr(time, "time", lambda: later)
    assert waiting(graph) == []
    tell(graph, "billing", API)
    assert [heard.word for _, heard in waiting(graph)] == ["billing"]
    assert Path(Tally(graph.place).file).read_text("utf-8").count("\n") == 1


def test_where_counts_cannot_be_kept_it_says_so(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the file cannot be written a note of one line says so, and exit 3; recall goes on."""
    Path(Tally(graph.place).file + ".lock").mkdir()
    ran = Kg(capsys)("recall", "kaas", "--meant", API)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("kg: nothing was counted: ")
    assert ran.err.count("\n") == 1
    assert "note" in Kg(capsys)("recall", "kaas", "--meant", API, "--json").json("meant")
    assert recall(graph.place, "payments")


def test_a_write_that_cannot_be_made_now_is_queued(
    graph: Graph, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """While a merge is under way the term is kept in the outbox, and written when it is over."""
    _pending(graph)
    busy = tmp_path / "memory/.git/MERGE_HEAD"
    busy.write_text(graph.at().commit + "\n", encoding="utf-8")
    ran = Kg(capsys)("recall", "kaas", "--meant", API)
    assert (ran.code, "confirmed: kaas" in ran.out, "queued" in ran.err) == (3, True, True)
    busy.unlink()
    graph.deliver()
    assert _terms(graph) == ["kaas"]


def test_a_write_that_fails_leaves_the_word_counted(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where git or the disk says no for good nothing is lost: the next telling confirms it."""
    _pending(graph)
    with monkeypatch.context() as patched:
        patched.setattr(graph, "check_adopted", _Fails(2))
        with pytest.raises(UnsupportedError):
            tell(graph, "kaas", API, run="r1785343400", agent="other")
    assert [h.state for _, h in waiting(graph) if h.word == "kaas"] == ["confirmed"]
    assert _states(tell(graph, "kaas", API, run="r1785343500", agent="x"))["kaas"] == "confirmed"
    assert _terms(graph) == ["kaas"]


class _Fails:
    """Passes so many times less one, then refuses."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self) -> None:
        self._left -= 1
        if not self._left:
            raise UnsupportedError("the disk says no: make room")


def test_processes_at_once_lose_no_count(graph: Graph, tmp_path: Path) -> None:
    """Of twelve that tell at the same moment each one's word is counted; there is one term."""
    _pending(graph)
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        pool.map(_tell, [(str(tmp_path / "memory"), n) for n in range(12)])
    assert _terms(graph) == ["kaas"]
    told = {heard.word for _, heard in waiting(graph)}
    assert {f"word{c}" for c in "abcdefghijkl"} <= told


def _tell(job: tuple[str, int]) -> None:
    folder, n = job
    tell(Graph(folder), f"kaas word{'abcdefghijkl'[n]}", API, run=f"r{n + 9}", agent="x")


def test_a_count_goes_when_a_guard_comes(graph: Graph) -> None:
    """A word that was counted and has meanwhile become another's name is counted no longer."""
    _pending(graph)
    graph.remember([observed("kaas\n", ("kaas", "note", "a thing of its own"))])
    told = tell(graph, "kaas", API, run="r1785343400", agent="other")
    assert "name of object/kaas" in told.words[0].because
    assert "kaas" not in {heard.word for _, heard in waiting(graph)}


def test_status_lists_and_forget_drops(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    """A person sees what is counted, and can drop it, also for an entity that is gone."""
    kg = Kg(capsys)
    _pending(graph)
    assert "meant  kaas (3 times, until another run or agent tells it): " + API in kg.ok("status")
    assert {"id": API, "word": "kaas", "state": "pending", "count": 3} in (
        kg("status", "--json").json("status")["meant"]
    )
    assert "forgotten: kaas (3 times)" in kg.ok("recall", "kaas", "--meant", API, "--forget")
    assert "was not counted" in kg.ok("recall", "kaas", "--meant", API, "--forget")
    assert "kaas" not in kg.ok("status")
    assert _states(tell(graph, "kaas", API, run="r1", agent="x")) == {"kaas": "counted"}
    assert kg.ok("recall", "alpha", "--meant", "object/gone", "--forget") == (
        "left out: alpha was not counted for it\n"
    )
    nothing = kg("recall", "what", "is", "--meant", API)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "kg: no word of it can be learnt\n")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("recall", "kaas", "--meant", API), 0),
        (("recall", f"--meant={API}", "kaas", "-C", "memory"), 0),
        (("-Cmemory", "recall", "--meant", API, "--", "kaas", "-h"), 0),
        (("recall", "--", "kaas", "--meant", "zzz"), 1),
        (("recall", "--meant", API), 2),
        (("recall", "kaas", "--meant"), 2),
        (("recall", "kaas", "--meant", API, "--limit", "3"), 2),
        (("recall", "--meant", API, "--help"), 0),
    ],
)
def test_only_meant_leaves_the_hot_path(graph: Graph, argv: tuple[str, ...], code: int) -> None:
    """`--meant` before `--` goes to the command that writes; after it, it is text to look for."""
    done = subprocess.run(
        [sys.executable, "-m", "kg", *argv], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    if code == 0 and "--help" not in argv:
        assert done.stdout.startswith("counted: kaas (1 of 3)\n")
        assert [heard.word for _, heard in waiting(graph)] == ["kaas"]
    else:
        assert waiting(graph) == []


def test_the_script_says_that_kg_does_it(graph: Graph) -> None:
    """scripts/recall.py only reads; it refuses --meant, and its help says where that is."""
    run = [sys.executable, "-S", str(ROOT / "scripts/recall.py")]
    done = subprocess.run(
        [*run, "kaas", "--meant", API], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "no option --meant" in done.stderr) == (2, True)
    done = subprocess.run([*run, "--help"], capture_output=True, text=True, check=True)
    assert "kg recall --meant ID --help" in done.stdout
    assert waiting(graph) == []


@settings(max_examples=40)
@given(st.text(max_size=60) | st.text("日本ไทย한ǅ'\"*(){}:^-+ \x00\ud800", max_size=20))
def test_any_query_can_be_told(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    """Whatever the characters, telling counts words or leaves them out, and never breaks."""
    graph = _shared(tmp_path_factory)
    try:
        told = tell(graph, query, API, agent="x")
    except SecretError:
        return
    json.dumps(told.to_json())
    assert {heard.state for heard in told.words} <= {"counted", "left out", "pending"}
    forget(graph, query, API)


_MADE: list[Graph] = []


def _shared(factory: pytest.TempPathFactory) -> Graph:
    if not _MADE:
        _MADE.append(store(factory.mktemp("shared") / "memory"))
        _MADE[0].remember([acme()])
    return _MADE[0]


def test_words_without_spaces_are_learnt(graph: Graph) -> None:
    """A word of a script that writes no spaces is counted, confirmed and found as a whole."""
    for run in ("r1785343301", "r1785343302", "r1785343303", "r1785343304"):
        told = tell(graph, "決済基盤", API, run=run, agent="scoper")
    assert _states(told) == {"決済基盤": "confirmed"}
    assert [e["id"] for e in recall(graph.place, "決済基盤").entities] == [API]
    assert _states(tell(graph, "決済", API)) == {"決済": "left out"}


def test_without_full_text_the_guards_hold(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite has no FTS5 the same is asked of the words as they stand."""
    graph.close()
    Path(graph.place.state, "recall.db").unlink()
    monkeypatch.setattr(schema, "has_words", lambda _con: False)
    con = graph.index().connection
    assert standing.standing(con, API, "payments").here
    assert standing.standing(con, API, "acme").named == "org/acme-corp"
    assert standing.standing(con, API, "kaas") == standing.Standing(entities=2)
    assert standing.standing(con, "org/acme-corp", "caps").others == 1
    assert standing.standing(con, "org/acme-corp", "platform").others == 1


def _services(count: int) -> list[str]:
    topics = ("billing", "search", "media", "login", "export")
    return [f"{topics[n % 5]}-{'abcdefghijklmnopqrst'[n % 20]}q{n}" for n in range(count)]


def test_bare_names_stay_first_however_much_is_told(tmp_path: Path) -> None:
    """PEERS.md 4.4: boilerplate everywhere, every question told for its target, by two runs.

    The original learnt from that until a bare name came first in 6% of cases. Here each bare name
    comes first before and after, and no word of the questions has become a term of anything.
    """
    graph, names = store(tmp_path / "memory"), _services(200)
    graph.remember([
        observed(f"{name}: the service of the platform team, see the handbook\n",
                 (name, "note", "the service of the platform team, see the handbook"))
        for name in names
    ])  # fmt: skip

    def first() -> list[str]:
        return [recall(graph.place, name, limit=1).entities[0]["name"] for name in names]

    assert first() == names
    forms = (
        "who owns the {} service {}", "which crew owns the {} service {} quickly",
        "crew that owns {} {}", "who of the crew owns {} {} quickly",
    )  # fmt: skip
    targets = names[::4]
    for run, agent in (("r1785343301", "scoper"), ("r1785343302", "searcher")):
        for name in targets:
            for form in forms:
                query = form.format(name.partition("-")[0], name)
                tell(graph, query, f"object/{name}", run=run, agent=agent)
    assert first() == names
    assert sorted({v for name in targets for v in _terms(graph, f"object/{name}")}, key=str) == []
    # these two are in no entity and told for all; any other word is left out
    assert {(heard.word, heard.state) for _, heard in waiting(graph)} == {
        ("crew", "ambiguous"), ("quickly", "ambiguous"),
    }  # fmt: skip
    _learn_for_one(graph, names, first)


def _learn_for_one(graph: Graph, names: list[str], first: Callable[[], list[str]]) -> None:
    """A real synonym, told for one of them, is learnt beside all this and harms no name."""
    _pending(graph, "invoicing", f"object/{names[0]}")
    tell(graph, "invoicing", f"object/{names[0]}", run="r1785343400", agent="other")
    assert first() == names
    assert recall(graph.place, "invoicing").entities[0]["name"] == names[0]
