"""Real stores in real repositories for the recall tests, and recall as a command line sees it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from kg.recall import hot

CHECKOUT = Path(__file__).resolve().parent.parent
RAW = "raw/r1785343267-scoper.f1fca0d4.txt"
RUN = "r1785343267"
SETTINGS = {
    "kg_format": 1,
    "ontology": {"types": {}, "keys": {}, "predicates": {}},
    "policies": {},
    "fan_out": [],
}


class Result(NamedTuple):
    """What a command line printed, and how it ended."""

    out: str
    err: str
    code: int


def fact(k: str, v: object, line: int = 1, *, raw: str = RAW, **more: object) -> dict[str, object]:
    """Return a fact with its source."""
    run = raw.removeprefix("raw/").split("-", maxsplit=1)[0]
    return {"k": k, "v": v, "src": f"{raw}#L{line}", "seen_run": run, **more}


def git_environ(home: Path) -> dict[str, str]:
    """Return an environment in which git sees neither the user's settings nor GIT_*."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return {**kept, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class Store:
    """A store in a folder; `top` is its repository, the folder itself unless said otherwise."""

    def __init__(
        self,
        tmp: Path,
        inside: str = "",
        *,
        seed: bool = False,
        git: bool = True,
        sha: str = "sha1",
    ) -> None:
        """Make an empty store, in git unless told otherwise."""
        self.tmp, self.top = tmp, tmp / "repo"
        self.folder = self.top / inside
        self.home = tmp / "home"
        self.home.mkdir(exist_ok=True)
        self.folder.mkdir(parents=True)
        if git:
            self.git("init", "-q", "-b", "main", f"--object-format={sha}", ".")
        if not seed:
            self.settings()

    @property
    def state(self) -> Path:
        """Where the index lies."""
        return self.top / ".git" / "kg"

    @property
    def index(self) -> Path:
        """The index file."""
        return self.state / "recall.db"

    def git(self, *args: str, cwd: Path | None = None, data: bytes | None = None) -> str:
        """Run git in the repository."""
        who = ["-c", "user.name=t", "-c", "user.email=t@kg.invalid", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *who, *args],
            cwd=cwd or self.top,
            env=git_environ(self.home),
            input=data,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def settings(self, **more: object) -> None:
        """Write store.json."""
        self.put("store.json", json.dumps({**SETTINGS, **more}, indent=2) + "\n")

    def put(self, path: str, text: str | bytes) -> None:
        """Write a file of the store."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def entity(self, id_: str, *facts: dict[str, object], path: str = "", **more: object) -> None:
        """Write an entity's file."""
        prefix, slug = id_.split("/")
        types = {"org": "Organization"}
        runs = sorted(str(f["seen_run"]) for f in facts if "seen_run" in f) or [RUN]
        members = {
            "id": id_,
            "type": types.get(prefix, prefix.capitalize()),
            "name": slug,
            "aliases": [f["v"] for f in facts if f.get("k") == "also-known-as"],
            "facts": list(facts),
            "seen_again": [],
            "retracted": [],
            "contested": [],
            "first_run": runs[0],
            "last_seen_run": runs[-1],
            **more,
        }
        self.put(path or f"entities/{id_}.json", dumped(members))

    def edge(self, subject: str, predicate: str, other: str, line: int = 1, **more: object) -> None:
        """Write an edge's file, with one claim."""
        claim = {"src": f"{RAW}#L{line}", "seen_run": RUN, **more}
        self.put(
            edge_path(subject, predicate, other),
            dumped({"subject": subject, "predicate": predicate, "object": other,
                    "claims": [claim], "seen_again": []}),
        )  # fmt: skip

    def judge(
        self, subject: str, other: str, *judgements: tuple[str, str, str], how: str = "same-as"
    ) -> None:
        """Write a file of judgements from (by, verdict, run)."""
        lines = [{"by": b, "verdict": v, "run": r, "src": f"{RAW}#L1"} for b, v, r in judgements]
        self.put(
            edge_path(subject, how, other),
            dumped({"subject": subject, "predicate": how, "object": other,
                    "judgements": lines}),
        )  # fmt: skip

    def trace(self, name: str, *about: str, tried: str, because: str, run: str = RUN) -> None:
        """Write a reasoning trace."""
        members = {"about": list(about), "tried": tried, "outcome": "failed", "because": because,
                   "run": run, "agent": "scoper", "src": f"{RAW}#L2"}  # fmt: skip
        front = "".join(f"{k}: {json.dumps(v)}\n" for k, v in members.items())
        self.put(f"tried/{name}.md", f"---\n{front}---\n")

    def commit(self) -> str:
        """Commit everything; return the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def recall(self, *words: str, at: Path | None = None, **environ: str) -> Result:
        """Run recall in this process."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = hot.main(words, environ, str(at or self.folder))
        return Result(out.getvalue(), err.getvalue(), code)

    def spawn(
        self,
        *words: str,
        at: Path | None = None,
        script: bool = True,
        environ: dict[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Result:
        """Run recall in a process of its own, without site-packages."""
        how = [str(CHECKOUT / "scripts/recall.py")] if script else ["-m", "kg"]
        done = subprocess.run(
            [sys.executable, "-S", *how, *words],
            cwd=at or self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(CHECKOUT),
                 **(environ or {})},
            input=stdin,
            capture_output=True,
            check=False,
        )  # fmt: skip
        return Result(done.stdout.decode(), done.stderr.decode(), done.returncode)


def edge_path(subject: str, predicate: str, other: str) -> str:
    """Return the path of an edge in flat layout."""
    return f"edges/{subject}--{predicate}--{other.replace('/', '--')}.json"


def dumped(members: dict[str, Any]) -> str:
    """Return canonical bytes, near enough: one element of a list a line."""
    lines = []
    for name, value in members.items():
        if isinstance(value, list) and value:
            items = sorted(json.dumps(item, ensure_ascii=False) for item in value)
            lines.append(f'  "{name}": [\n' + ",\n".join(f"    {i}" for i in items) + "\n  ]")
        else:
            lines.append(f'  "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def payments(store: Store) -> None:
    """Write the seed article's example, with all that recall shows."""
    store.entity(
        "object/payments-api",
        fact("on-call", "platform-team"),
        fact("owner", "org/acme-corp", 4),
        last_seen_run=RUN,
    )
    store.entity("org/acme-corp", name="Acme Corp")
    store.entity("object/checkout", fact("status", "stable", 3))
    store.edge("object/payments-api", "owned-by", "org/acme-corp")
    store.edge("object/checkout", "depends-on", "object/payments-api", 2)
    store.trace(
        "payments-api-raising-the-pool-1a2b3c",
        "object/payments-api",
        tried="raising the pool size to 200",
        because="the database caps connections at 100",
    )
    store.put(RAW, "payments-api is owned by Acme Corp and on-call is platform-team.\n" * 4)
