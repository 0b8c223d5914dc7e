"""Stores for tests: made through the public API, in real repositories, in temporary folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from kg.graph import Graph
from kg.graph.init import init

RUN, LATER, LATEST = "r1785343267", "r1785429667", "r1785516067"


def store(folder: Path, layout: str = "own") -> Graph:
    """Return a new store in `folder`."""
    return Graph(init(str(folder), layout=layout).place)


def in_tree(top: Path) -> Graph:
    """Return a store in `memory/` of a new code repository with one commit of its own."""
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q")
    (top / "code.py").write_text("print('hello')\n", encoding="utf-8")
    git(top, "add", ".")
    git(top, "commit", "-qm", "code")
    return store(top / "memory", "in-tree")


def git(where: Path, *args: str, check: bool = True, **more: Any) -> str:  # noqa: ANN401
    """Run C git, the oracle, in a folder; return what it prints."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", *args], cwd=where, env=env, capture_output=True, text=True, check=False, **more
    )
    assert not check or done.returncode == 0, f"git {args}: {done.stderr}"
    return str(done.stdout)


def observed(
    text: str,
    *facts: tuple[str, str, Any],
    run: str = RUN,
    agent: str = "scoper",
    **more: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Return an observation: facts are (name of an Object, key, value), each on all of the text."""
    names = list(dict.fromkeys(name for name, _, _ in facts))
    count = text.rstrip("\n").count("\n") + 1
    return {
        "run": run,
        "agent": agent,
        "text": text,
        "entities": [{"ref": n, "type": "Object", "name": n} for n in names],
        "facts": [{"entity": n, "k": k, "v": v, "lines": [1, count]} for n, k, v in facts],
        **more,
    }


def acme(run: str = RUN, agent: str = "scoper") -> dict[str, Any]:
    """Return the observation of the design's example: a fact, an edge and a trace."""
    return {
        "run": run,
        "agent": agent,
        "text": "payments-api is owned by Acme Corp and on-call is platform-team.\n"
        "We tried raising the pool size to 200: the database caps connections at 100.\n",
        "entities": [
            {"ref": "api", "type": "Object", "name": "payments-api"},
            {"ref": "acme", "type": "Organization", "name": "Acme Corp"},
        ],
        "facts": [
            {
                "entity": "api",
                "k": "on-call",
                "v": "platform-team",
                "quote": "on-call is platform-team",
            }
        ],
        "edges": [
            {
                "subject": "api",
                "predicate": "owned-by",
                "object": "acme",
                "quote": "owned by Acme Corp",
            }
        ],
        "tried": [
            {
                "about": ["api"],
                "tried": "raising the pool size to 200",
                "outcome": "failed",
                "because": "the database caps connections at 100",
                "quote": "raising the pool size to 200",
            }
        ],
    }
