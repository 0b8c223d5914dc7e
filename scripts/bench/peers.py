#!/usr/bin/env python3
"""peers --data DIR --with DIR: kg beside two other memories, on the same names and questions.

foldcrumbs (PyPI) and @modelcontextprotocol/server-memory (npm) are installed into the folder
that --with names, unless it has them. All are told the same of the names of names.py, the
others by files of their own form, as their own writing is quadratic. Then all are asked the same.
Warm is one query to a process that runs: kg's index in this process, the others over MCP. Cold
is a process for one query: kg's script, foldcrumbs' command line, the server started and asked;
each once before it is timed, and kg from a copy with compiled modules, as the others have them.
foldcrumbs is not told the edges, as the name of a neighbour in a text counts there as much as its
own. Names are taken that it would not write over one another.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[0] = CHECKOUT

from kg.recall.answer import ask  # noqa: E402 - the line above is what makes it importable
from kg.text import fold  # noqa: E402
from scripts.bench.mcp_client import McpClient  # noqa: E402
from scripts.bench.measure import (  # noqa: E402
    Ranks,
    milliseconds,
    new_store,
    print_json,
    print_table,
    scrubbed,
    timed,
)
from scripts.bench.named import (  # noqa: E402
    FORMS,
    Asked,
    Named,
    observations,
    queries,
    read_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDCRUMBS, SERVER = "foldcrumbs==0.13.2", "@modelcontextprotocol/server-memory@2026.8.31"
SHOWN = 10
SLUG = 50  # characters of a name that are in the name of foldcrumbs' file
SEED = """
import json, sys
from foldcrumbs import store
from foldcrumbs.schema import MemoryRecord
for line in sys.stdin:
    store.write_memory(MemoryRecord(**json.loads(line)))
store.rebuild_index()
"""


class Known(NamedTuple):
    """What is told of one name: sentences, and edges as (predicate, name)."""

    type: str
    name: str
    said: list[str]
    edges: list[tuple[str, str]]


class Peer(NamedTuple):
    """A memory to ask: both return names, best first."""

    warm: Callable[[str], list[str]]
    cold: Callable[[str], object]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="the folder of names.tsv.gz")
    parser.add_argument("--with", dest="peers", help="a folder to install the others in")
    parser.add_argument("--size", type=int, default=1000, help="entities of each store")
    parser.add_argument("--asked", type=int, default=50, help="names asked for, of each form")
    parser.add_argument("--cold", type=int, default=5, help="cold queries of each form")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.peers:
        _install(options.peers)
    scrubbed()
    names = _apart(os.path.join(options.data, "names.tsv.gz"), options.size, options.seed)
    asked = queries(names, options.asked, options.seed)
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as folder:
        rows = _rows("kg", _kg(os.path.join(folder, "kg"), names, options.seed), asked, options)
        if options.peers:
            known = _known(names, options.seed)
            with _foldcrumbs(options.peers, folder, known) as peer:
                rows |= _rows("foldcrumbs", peer, asked, options)
            with _server(options.peers, folder, known) as peer:
                rows |= _rows("server-memory", peer, asked, options)
    if options.json:
        print_json("kg.bench.peers/v1", {"size": len(names), "rows": rows})
        return
    print_table(f"{len(names):,} entities", rows)


def _install(folder: str) -> None:
    """Install the other memories into a folder, each by its own package manager."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "bin", "foldcrumbs-mcp")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", FOLDCRUMBS], check=True)
    if not os.path.exists(os.path.join(folder, "node_modules", ".bin", "mcp-server-memory")):
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder]
        subprocess.run([*npm, SERVER], check=True)


def _apart(path: str, size: int, seed: int) -> list[Named]:
    """Return names that differ in what foldcrumbs names a file after, and in their folded form."""
    found: dict[str, Named] = {}
    for one in read_names(path, 2 * size, seed):
        slug = re.sub(r"[^a-z0-9]+", "_", one.name.lower()).strip("_")[:SLUG] or fold(one.name)
        found.setdefault(slug, one)
    return list(found.values())[:size]


def _known(names: list[Named], seed: int) -> list[Known]:
    """Return what the observations say of each name, as sentences."""
    known: list[Known] = []
    for observation in observations(names, seed):
        called = {one["ref"]: one for one in observation["entities"]}
        told = {ref: Known(one["type"], one["name"], [], []) for ref, one in called.items()}
        for fact in observation["facts"]:
            told[fact["entity"]].said.append(f"{fact['k']}: {fact['v']}")
        for edge in observation["edges"]:
            other = called[edge["object"]]["name"]
            told[edge["subject"]].edges.append((edge["predicate"], other))
        known += told.values()
    return known


def _rows(
    name: str, peer: Peer, asked: list[Asked], options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Return a row for each form of query."""
    peer.warm(asked[0].query)
    peer.cold(asked[0].query)
    rows = {}
    for form in FORMS:
        of_form = [one for one in asked if one.form == form]
        ranks, times = Ranks.none(), []
        for one in of_form:
            seconds, answered = timed(partial(peer.warm, one.query))
            ranks.add([fold(found) for found in answered], [fold(one.name)])
            times.append(seconds)
        cold = [timed(partial(peer.cold, one.query))[0] for one in of_form[: options.cold]]
        if of_form:
            rows[f"{name}: {form}"] = {
                "n": len(of_form),
                "rank 1": ranks.any_at(1),
                "top 5": ranks.any_at(5),
                **{f"warm {column}": value for column, value in milliseconds(times).items()},
                "cold ms": round(statistics.median(cold) * 1e3, 1) if cold else "",
            }
    return rows


def _kg(folder: str, names: list[Named], seed: int) -> Peer:
    graph = new_store(folder)
    graph.remember(observations(names, seed))
    index = graph.index()

    def warm(query: str) -> list[str]:
        return [one["name"] for one in ask(index, query, limit=SHOWN).entities]

    copy = f"{folder}-code"
    for name in ("kg", "scripts"):
        shutil.copytree(os.path.join(CHECKOUT, name), os.path.join(copy, name))
    script = os.path.join(copy, "scripts", "recall.py")
    command = [sys.executable, "-S", script, "-C", folder, "--"]
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return Peer(warm, lambda query: _run([*command, query], environ))


@contextmanager
def _foldcrumbs(peers: str, folder: str, known: list[Known]) -> Iterator[Peer]:
    programs = os.path.join(peers, "bin")
    environ = {
        **os.environ,
        "FOLDCRUMBS_DIR": os.path.join(folder, "foldcrumbs"),
        "FOLDCRUMBS_STATE_DIR": os.path.join(folder, "state"),
    }
    records = [{"title": one.name, "content": "\n".join((one.name, *one.said))} for one in known]
    subprocess.run(
        [os.path.join(programs, "python"), "-c", SEED], env=environ, check=True, text=True,
        input="".join(json.dumps(record) + "\n" for record in records),
    )  # fmt: skip
    title = re.compile(r"^\S+\.md  \[\w+\]  (.+?)  \(", re.MULTILINE)
    with McpClient([os.path.join(programs, "foldcrumbs-mcp")], environ) as client:

        def warm(query: str) -> list[str]:
            answer = client.call("recall", query=query, limit=SHOWN, mode="index")
            return title.findall(answer)

        command = [os.path.join(programs, "foldcrumbs"), "recall", "--index", "--"]
        yield Peer(warm, lambda query: _run([*command, query], environ))


@contextmanager
def _server(peers: str, folder: str, known: list[Known]) -> Iterator[Peer]:
    file = os.path.join(folder, "memory.jsonl")
    with open(file, "w", encoding="utf-8") as out:
        for one in known:
            entity = {"name": one.name, "entityType": one.type, "observations": one.said}
            out.write(json.dumps({"type": "entity", **entity}) + "\n")
            for predicate, other in one.edges:
                edge = {"from": one.name, "to": other, "relationType": predicate}
                out.write(json.dumps({"type": "relation", **edge}) + "\n")
    environ = {**os.environ, "MEMORY_FILE_PATH": file}
    command = [os.path.join(peers, "node_modules", ".bin", "mcp-server-memory")]

    def asked(client: McpClient, query: str) -> list[str]:
        found = json.loads(client.call("search_nodes", query=query))
        return [entity["name"] for entity in found["entities"]]

    def cold(query: str) -> None:
        with McpClient(command, environ) as fresh:
            asked(fresh, query)

    with McpClient(command, environ) as client:
        yield Peer(partial(asked, client), cold)


def _run(command: list[str], environ: dict[str, str]) -> None:
    subprocess.run(command, env=environ, check=False, capture_output=True)


if __name__ == "__main__":
    main()
