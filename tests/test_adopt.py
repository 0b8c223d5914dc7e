"""A hand-written store, as the seed article has it, becomes canonical without losing anything."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checks import check_store
from stores import RUN, git, observed, store

from kg.errors import AlreadyExistsError, RefusedError, SecretError, UnsupportedError
from kg.format import parse_entity, parse_settings, parse_trace
from kg.graph import Graph
from kg.graph.init import Made, init

RECALL = Path(__file__).parent.parent / "scripts" / "recall.py"
SENTENCE = "payments-api is owned by Acme Corp and on-call is platform-team."
ARTICLE = {
    "entities/object/payments-api.json": """{ "id": "object/payments-api",
  "type": "Object",
  "name": "payments-api",
  "facts": [
    { "k": "owner", "v": "org/acme-corp",
      "src": "raw/r1785343267-scoper.txt#L4", "seen_run": "r1785343267" }
  ] }
""",
    "edges/payments-api--owned-by--acme-corp.json": '{"src": "raw/r1785343267-scoper.txt#L4"}\n',
    "raw/r1785343267-scoper.txt": f"# scoper\n\nread the services\n{SENTENCE}\n",
    "tried/payments-api-perf.md": "# Raising the pool size to 200\n\n"
    "It failed because the database caps connections at 100. Ask for a replica instead.\n",
}


def written(folder: Path, files: dict[str, Any]) -> Path:
    """Write files by hand; what is no text is written as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return folder


def adopted(folder: Path, files: dict[str, Any]) -> tuple[Graph, Made]:
    """Write files by hand, adopt them, and check what came of it."""
    made = init(str(written(folder, files)))
    check_store(made.place.top, made.place.prefix)
    return Graph(made.place), made


def recall(folder: Path, *query: str) -> str:
    """Return what scripts/recall.py prints, in a process of its own."""
    args = [sys.executable, "-S", str(RECALL), "-C", str(folder), *query]
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout


def facts_of(graph: Graph, id_: str) -> list[tuple[str, Any, str]]:
    """Return (key, value, basis) of an entity's facts."""
    return sorted((f.k, f.v, f.basis) for f in graph.entity(id_).facts)


def test_the_articles_store_is_answered_without_git(tmp_path: Path) -> None:
    """A hand-written folder that is in no repository answers as it stands, and stays untouched."""
    folder = written(tmp_path / "memory", ARTICLE)
    answer = recall(folder, "payments-api")
    assert "owner = org/acme-corp" in answer
    assert "raw/r1785343267-scoper.txt#L4" in answer
    assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == {*ARTICLE}


def test_the_articles_store_becomes_canonical_in_one_commit(tmp_path: Path) -> None:
    """Types, names, runs and paths are filled in from what the files say, in a single commit."""
    graph, made = adopted(tmp_path / "memory", ARTICLE)
    assert set(made.adopted) == {*ARTICLE}
    assert git(tmp_path / "memory", "rev-list", "--count", "HEAD") == "1\n"
    api = graph.entity("object/payments-api")
    assert (api.first_run, api.last_seen_run) == (RUN, RUN)
    assert facts_of(graph, api.id) == [("owner", "org/acme-corp", "stated")]
    assert graph.entity("org/acme-corp").name == "Acme Corp"
    names = git(tmp_path / "memory", "ls-files").split()
    assert "edges/object/payments-api--owned-by--org--acme-corp.json" in names
    assert "raw/r1785343267-scoper.txt" in names
    assert not (tmp_path / "memory/edges/payments-api--owned-by--acme-corp.json").exists()


def test_a_trace_of_plain_words_says_what_failed_and_why(tmp_path: Path) -> None:
    """From prose come heading, outcome and reason, and the prose itself is kept whole."""
    adopted(tmp_path / "memory", ARTICLE)
    path = next((tmp_path / "memory/tried").iterdir())
    trace = parse_trace(path.read_bytes(), "x")
    assert trace.about == ("object/payments-api",)
    assert (trace.tried, trace.outcome) == ("Raising the pool size to 200", "failed")
    assert trace.because == "the database caps connections at 100"
    assert trace.prose == ARTICLE["tried/payments-api-perf.md"].strip("\n")
    line = (tmp_path / "memory" / trace.src.partition("#")[0]).read_text().split("\n")
    assert trace.because in line[int(trace.src.partition("#L")[2]) - 1]


def test_recall_and_writes_go_on_after_adoption(tmp_path: Path) -> None:
    """An adopted store answers with fact, edge and trace, and takes further facts."""
    graph, _ = adopted(tmp_path / "memory", ARTICLE)
    answer = recall(tmp_path / "memory", "payments-api")
    for part in ("owner = org/acme-corp", "owned-by -> org/acme-corp", "tried: Raising the pool"):
        assert part in answer
    done = graph.remember(
        [observed("payments-api runs on 3.12\n", ("payments-api", "version", "3.12"))]
    )
    assert done.recorded[0].mentions[0].id == "object/payments-api"
    check_store(str(tmp_path / "memory"))


def test_a_second_init_is_refused(tmp_path: Path) -> None:
    """A store is made once: running init again says so and changes nothing."""
    adopted(tmp_path / "memory", ARTICLE)
    head = git(tmp_path / "memory", "rev-parse", "HEAD")
    with pytest.raises(AlreadyExistsError):
        init(str(tmp_path / "memory"))
    assert git(tmp_path / "memory", "rev-parse", "HEAD") == head


def test_a_tracked_store_stays_in_its_repository(tmp_path: Path) -> None:
    """A hand-written store that a code repository tracks is adopted there, in one commit of it."""
    git(tmp_path, "init", "-q")
    written(tmp_path, {"code.py": "print()\n"})
    written(tmp_path / "memory", ARTICLE)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "by hand")
    (tmp_path / "memory/raw/r1785343267-scoper.txt").write_text(f"\n\n\n{SENTENCE}\nmore\n")
    made = init(str(tmp_path / "memory"))
    assert (made.place.top, made.place.prefix) == (str(tmp_path), "memory")
    check_store(str(tmp_path), "memory")
    assert git(tmp_path, "status", "--porcelain") == ""
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "2\n"
    assert "owned-by -> org/acme-corp" in recall(tmp_path / "memory", "payments-api")


def test_an_untracked_store_gets_a_repository_of_its_own(tmp_path: Path) -> None:
    """In a code repository that does not track it, the store is kept out of that one's history."""
    git(tmp_path, "init", "-q")
    written(tmp_path, {"code.py": "print()\n"})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "code")
    _, made = adopted(tmp_path / "memory", ARTICLE)
    assert made.place.top == str(tmp_path / "memory")
    assert made.excluded
    assert git(tmp_path, "status", "--porcelain") == ""
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "1\n"


def test_nothing_is_written_before_adoption(tmp_path: Path) -> None:
    """A hand-written store is read only until init adopts it; the refusal says how."""
    git(tmp_path, "init", "-q")
    folder = written(tmp_path / "memory", ARTICLE)
    with pytest.raises(UnsupportedError, match="kg init"):
        Graph(str(folder)).remember([observed("x is 1\n", ("x", "note", "1"))])


def test_every_unreadable_file_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    """One line names each file that cannot be read; the folder stays as it was."""
    bad = {
        "entities/object/a.json": "{ not json",
        "entities/object/b.json": '{"id": "object/b", "id": "object/c"}',
        "entities/service/c.json": {"id": "service/c", "facts": []},
        "edges/lonely.json": {},
    }
    folder = written(tmp_path / "memory", ARTICLE | bad)
    with pytest.raises(RefusedError) as refused:
        init(str(folder))
    assert all(name in str(refused.value) for name in bad)
    assert "\n" not in str(refused.value)
    assert not (folder / "store.json").exists()
    assert (folder / "edges/payments-api--owned-by--acme-corp.json").exists()
    for name in bad:
        (folder / name).unlink()
    assert init(str(folder)).commit


def test_secrets_refuse_the_adoption(tmp_path: Path) -> None:
    """What a machine wrote into raw/ is scanned before it is committed for good."""
    line = "password = 'xK9#mQ2$vL5nR8wZ'\n"
    with pytest.raises(SecretError, match=r"raw/r1-a\.txt line 1") as refused:
        adopted(tmp_path / "memory", ARTICLE | {"raw/r1-a.txt": line})
    assert "xK9" not in str(refused.value)


def test_facts_outside_the_ontology_are_kept_and_widen_it(tmp_path: Path) -> None:
    """Unknown keys, other types and other ranges are declared in store.json; values stay."""
    src = {"src": "raw/r1785343267-scoper.txt#L4", "seen_run": RUN}
    facts = [
        {"k": "Blast_Radius", "v": "large", **src},
        {"k": "runs-with", "v": "object/redis", **src},
        {"k": "on-call", "v": "org/platform-team", **src},
        {"k": "port", "v": "8080", **src},
        {"k": "deadline", "v": "soon", **src},
        {"k": "owner", "v": "object/robot", **src},
        {"k": "load", "v": 0.75, **src},
    ]
    ada = {"id": "person/ada", "facts": [{"k": "language", "v": ["Python", "C"], **src}]}
    files = {
        "entities/object/payments-api.json": {"id": "object/payments-api", "facts": facts},
        "entities/person/ada.json": ada,
    }
    graph, _ = adopted(tmp_path / "memory", ARTICLE | files)
    assert {(k, v) for k, v, _ in facts_of(graph, "object/payments-api")} == {
        ("blast-radius", "large"), ("runs-with", "object/redis"), ("on-call", "org/platform-team"),
        ("port", 8080), ("deadline", "soon"), ("owner", "object/robot"), ("load", "0.75"),
    }  # fmt: skip
    assert {v for _, v, _ in facts_of(graph, "person/ada")} == {"Python", "C"}
    added = parse_settings((tmp_path / "memory/store.json").read_bytes()).additions["keys"]
    assert added["blast-radius"]["cardinality"] == "many"
    assert added["runs-with"]["range"] == ["Object"]
    assert "Object" in added["owner"]["range"]
    assert "Person" in added["language"]["domain"]
    assert added["deadline"].get("range") is None
    assert "port" not in added
    assert graph.entity("object/redis").type == "Object"


def test_a_name_where_an_entity_is_due_is_that_entity(tmp_path: Path) -> None:
    """Text under a key that takes entities finds the one of that name, or makes it."""
    src = {"src": "raw/r1785343267-scoper.txt#L4"}
    facts = [{"k": "owner", "v": "acme corp", **src}, {"k": "maintainer", "v": "Ada Löwe", **src}]
    files = {
        "entities/object/payments-api.json": {"id": "object/payments-api", "facts": facts},
        "entities/org/acme-corp.json": {"id": "organisation/acme-corp", "name": "Acme Corp"},
    }
    graph, _ = adopted(tmp_path / "memory", ARTICLE | files)
    assert facts_of(graph, "object/payments-api") == [
        ("maintainer", "person/ada-lowe", "inferred"),
        ("owner", "org/acme-corp", "stated"),
    ]
    assert graph.entity("person/ada-lowe").name == "Ada Löwe"


def test_sources_that_name_no_line_become_lines_of_the_old_file(tmp_path: Path) -> None:
    """A fact without a usable source cites the old file's own text, which raw/ then holds."""
    api = {
        "id": "organization/x",
        "aliases": ["The X"],
        "facts": [{"k": "note", "v": "kept", "src": "raw/gone.txt#L1", "seen_run": "r5"}],
        "homepage": "https://x.example",
    }
    graph, _ = adopted(tmp_path / "memory", {"entities/org/x.json": api})
    x = graph.entity("org/x")
    assert facts_of(graph, "org/x") == [
        ("also-known-as", "The X", "imported"),
        ("homepage", "https://x.example", "imported"),
        ("note", "kept", "imported"),
    ]
    assert x.aliases == ("The X",)
    assert x.first_run == "r5"
    for fact in x.facts:
        path, _, line = fact.src.partition("#L")
        assert str(fact.v) in (tmp_path / "memory" / path).read_text().split("\n")[int(line) - 1]


@pytest.mark.parametrize(
    ("edge", "basis"),
    [
        ({"src": "raw/r1785343267-scoper.txt#L4"}, None),
        ({"from": "payments-api", "to": "Acme Corp", "type": "owned_by"}, "inferred"),
        (
            {"subject": "object/payments-api", "predicate": "owned-by", "object": "org/acme-corp"},
            "inferred",
        ),
        ({}, "inferred"),
    ],
)
def test_flat_edges_of_any_shape_find_their_ends(
    tmp_path: Path, edge: dict[str, str], basis: str | None
) -> None:
    """Ends come from members or from the file's name, the source from the line with both names."""
    adopted(tmp_path / "memory", ARTICLE | {"edges/payments-api--owned-by--acme-corp.json": edge})
    path = tmp_path / "memory/edges/object/payments-api--owned-by--org--acme-corp.json"
    claim = json.loads(path.read_bytes())["claims"][0]
    assert claim["src"] == "raw/r1785343267-scoper.txt#L4"
    assert claim.get("basis") == basis


def test_ids_come_from_the_file_its_folder_or_its_type(tmp_path: Path) -> None:
    """A stated id wins; else folder and file name; a type where that is none; never a bad slug."""
    src = {"src": "raw/r1785343267-scoper.txt#L4"}
    files = {
        "entities/object/other.json": {"id": "object/Pay API", "facts": []},
        "entities/org/team.json": {"name": "The Team", "facts": []},
        "entities/services/redis.json": {"type": "object", "facts": []},
        "entities/object/con.json": {"facts": [{"k": "uses", "v": "services/redis", **src}]},
    }
    graph, _ = adopted(tmp_path / "memory", ARTICLE | files)
    at = graph.at()
    made = [parse_entity(at.blob(blob), path) for path, blob in at.files("entities")]
    found = {entity.name: entity.id for entity in made}
    assert found["Pay API"] == "object/pay-api"
    assert found["The Team"] == "org/team"
    assert found["redis"] == "object/redis"
    assert found["con"].startswith("object/con-")


def test_an_edge_that_no_line_speaks_of_cites_itself(tmp_path: Path) -> None:
    """Where no text holds both names, the old edge file is the source, and the ends are made."""
    graph, _ = adopted(tmp_path / "memory", ARTICLE | {"edges/a--works-on--payments-api.json": {}})
    path = tmp_path / "memory/edges/object/a--works-on--object--payments-api.json"
    claim = json.loads(path.read_bytes())["claims"][0]
    assert claim["basis"] == "imported"
    assert (
        "a--works-on--payments-api.json"
        in (tmp_path / "memory" / claim["src"].partition("#")[0]).read_text()
    )
    assert "works-on" in graph.ontology.predicates


def test_what_is_not_a_store_is_left_alone(tmp_path: Path) -> None:
    """Scripts and notes stay as they are and untracked; a README of theirs gets another name."""
    others = {"recall.sh": "#!/bin/sh\n", "notes/x.txt": "x\n", "README.md": "mine\n"}
    folder = tmp_path / "memory"
    adopted(folder, ARTICLE | others)
    assert git(folder, "status", "--porcelain") == "?? notes/\n?? recall.sh\n"
    assert (folder / "README.old.md").read_text() == "mine\n"
    assert (folder / "recall.sh").exists()


def test_a_store_that_lost_its_store_json_keeps_everything(tmp_path: Path) -> None:
    """Files as kg writes them keep their sightings, retractions and paths byte for byte."""
    graph = store(tmp_path / "memory")
    first, again = "x is 3.12\n", "yes, x is 3.12\n"
    graph.remember([observed(first, ("x", "version", "3.12"), ("x", "note", "3.12"))])
    graph.remember([observed(again, ("x", "version", "3.12"), run="r1785343999", agent="other")])
    gone = {"entity": "object/x", "k": "note", "quote": "not"}
    graph.remember([{"run": "r1785344000", "agent": "a", "text": "not\n", "retract": [gone]}])
    before = {p: p.read_bytes() for p in (tmp_path / "memory").rglob("*/*/*.json")}
    shutil.rmtree(tmp_path / "memory/.git")
    (tmp_path / "memory/store.json").unlink()
    adopted(tmp_path / "memory", {})
    kept = {p: p.read_bytes() for p in before if ".git" not in p.parts}
    assert kept == {p: b for p, b in before.items() if ".git" not in p.parts}
    entity = parse_entity(before[tmp_path / "memory/entities/object/x.json"], "x")
    assert entity.seen_again
    assert entity.retracted


def test_init_overwrites_no_file_of_somebody_elses(tmp_path: Path) -> None:
    """A folder that is no store but holds a README.md is refused, before anything is made."""
    written(tmp_path / "project", {"README.md": "ours\n"})
    with pytest.raises(AlreadyExistsError, match="memory"):
        init(str(tmp_path / "project"))
    assert [p.name for p in (tmp_path / "project").iterdir()] == ["README.md"]


RECALL_SH = r"""
Q=$(printf '%s' "$1" | tr 'A-Z' 'a-z')
for file in memory/entities/*/*.json; do
  names=$(jq -r '[.name, (.aliases[]?)] | join("\t")' "$file" | tr 'A-Z' 'a-z')
  case "$names" in *"$Q"*) ;; *) continue ;; esac
  jq -r '.id, .type, (.facts[] | "\(.k) = \(.v)", .src)' "$file"
done
"""


@pytest.mark.skipif(not shutil.which("jq"), reason="the article's script needs jq")
def test_the_articles_script_reads_a_store_of_ours(tmp_path: Path) -> None:
    """Files are the truth: a loop with jq over entities/ answers by name and alias."""
    graph = store(tmp_path / "memory")
    said = observed("payments-api, or PayAPI, is v2\n", ("payments-api", "version", "v2"))
    said["entities"][0]["aliases"] = [{"name": "PayAPI", "quote": "PayAPI"}]
    graph.remember([said])
    for query in ("payments", "PAYAPI"):
        out = subprocess.run(
            ["bash", "-c", RECALL_SH, "recall.sh", query],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout.split("\n")  # fmt: skip
        assert out[:2] == ["object/payments-api", "Object"]
        assert "version = v2" in out
        assert graph.entity("object/payments-api").facts[0].src in out
