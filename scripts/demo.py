"""The main job on real input, step by step: this repository's own history and README.

Two runs report what they saw, a third one asks, an engineer follows a fact to its sentence and
commit, a bad run is found out and taken back. The store is made in a temporary folder, with a
HOME of its own; nothing else is touched. Every line shown is a command you can type.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
KG = Path(sys.executable).parent / "kg"
WHAT = "Memory for coding agents that is nothing but files in git."


def main() -> None:
    """Run the demo; stop at the first step that does not do what it says."""
    work = Path(tempfile.mkdtemp(prefix="kg-demo-"))
    try:
        Demo(work).run()
    finally:
        shutil.rmtree(work)


class Demo:
    """The steps, in a folder of their own."""

    def __init__(self, work: Path) -> None:
        self._work = work
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("GIT_", "KG_"))}
        self._env = {**kept, "HOME": str(work), "PATH": f"{KG.parent}:{kept.get('PATH', '')}"}
        (work / ".gitconfig").write_text(
            "[user]\n\tname = Demo Person\n\temail = demo@kg.invalid\n[core]\n\tpager = cat\n",
            encoding="utf-8",
        )

    def run(self) -> None:
        """Go through the main job."""
        self._step("A memory is a folder of plain files in a git repository of its own.")
        self._show("kg init")
        self._step("A run reads this repository's commit log and reports what it saw, with quotes.")
        self._remember("history.json", history())
        self._step("Another run reads the README. What it says becomes facts, each with its line.")
        self._remember("readme.json", readme())
        self._step("An agent asks before it works. No model, no network, milliseconds.")
        self._show("kg recall what does kg depend on")
        self._step("An engineer asks why: the sentence some run saw, the run, the commit.")
        self._show("kg why object/kg license")
        self._step("The same by plain tools: the src is a file and a line number.")
        found = json.loads(self._run("kg why object/kg license --json"))
        path, _, line = found["kg.why/v1"][0]["src"].partition("#L")
        self._show(f"sed -n {line}p memory/{path}")
        self._step("A bad run asserts something else. Nothing is overwritten: both stay, flagged.")
        self._remember("bad.json", bad_run())
        self._show("kg recall kg --limit 1")
        self._step("What did that run do? Each write is a commit, so git takes it back.")
        self._show("kg log -n 1")
        self._show("git -C memory revert --no-edit HEAD")
        self._show("kg why object/kg license")
        self._step("The store keeps its own rules, and git finds it sound.")
        self._show("kg fsck")
        self._show("git -C memory fsck --strict")
        self._show("kg status")

    def _step(self, text: str) -> None:
        print(f"\n--- {text}")

    def _remember(self, name: str, observation: dict[str, Any]) -> None:
        (self._work / name).write_text(json.dumps(observation), encoding="utf-8")
        self._show(f"kg remember {name}", most=12)

    def _show(self, command: str, most: int = 40) -> None:
        print(f"$ {command}")
        lines = self._run(command).splitlines()
        for line in lines[:most]:
            print(f"  {line}")
        if len(lines) > most:
            print(f"  ... {len(lines) - most} more lines")

    def _run(self, command: str) -> str:
        done = subprocess.run(
            shlex.split(command),
            cwd=self._work,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{command} failed with {done.returncode}:\n{done.stdout}")
        return done.stdout


def history() -> dict[str, Any]:
    """Return what a run sees in the commit log: an Event for each commit, with date and author."""
    git = ["git", "-C", str(HERE), "log", "-n", "12", "--format=%h %cs %an: %s"]
    log = subprocess.run(git, capture_output=True, text=True, check=False).stdout
    if not log:  # an unpacked archive has no history; its changelog is real text as well
        log = (HERE / "CHANGELOG.md").read_text(encoding="utf-8")
    entities: dict[str, dict[str, Any]] = {}
    facts, edges = [], []
    for number, line in enumerate(log.splitlines(), 1):
        head, _, subject = line.partition(": ")
        commit, _, rest = head.partition(" ")
        date, _, author = rest.partition(" ")
        if not (subject and author and len(date) == 10):
            continue
        entities[commit] = {"ref": commit, "type": "Event", "name": f"commit {commit}"}
        entities[author] = {"ref": author, "type": "Person", "name": author}
        said = {"entity": commit, "lines": number}
        facts += [{**said, "k": "date", "v": date}, {**said, "k": "summary", "v": subject}]
        edges.append(
            {"subject": commit, "predicate": "authored-by", "object": author, "lines": number}
        )
    return {
        "run": "r1796000000", "agent": "historian", "text": log,
        "entities": list(entities.values()), "facts": facts, "edges": edges,
    }  # fmt: skip


def readme() -> dict[str, Any]:
    """Return what a run sees in the README and pyproject.toml."""
    project = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    text = (HERE / "README.md").read_text(encoding="utf-8") + project
    packages = ("pygit2", "jsonschema", "filelock", "click", "rich")
    things = [{"ref": "kg", "type": "Object", "name": "kg"}]
    things += [{"ref": p, "type": "Object", "name": p} for p in packages]
    return {
        "run": "r1796000100", "agent": "reader", "text": text, "entities": things,
        "facts": [
            {"entity": "kg", "k": "license", "v": "Apache-2.0", "quote": 'license = "Apache-2.0"'},
            {"entity": "kg", "k": "description", "v": WHAT, "quote": WHAT},
            {"entity": "kg", "k": "language", "v": "Python", "quote": 'requires-python = ">=3.11"'},
        ],
        "edges": [
            {"subject": "kg", "predicate": "depends-on", "object": package,
             "quote": _dependency(project, package)}
            for package in packages
        ],
    }  # fmt: skip


def bad_run() -> dict[str, Any]:
    """Return what a run says that read some other project's page."""
    return {
        "run": "r1796000200", "agent": "guesser", "text": "kg is under the MIT license.\n",
        "entities": [{"ref": "kg", "type": "Object", "name": "kg"}],
        "facts": [{"entity": "kg", "k": "license", "v": "MIT", "quote": "under the MIT license"}],
    }  # fmt: skip


def _dependency(project: str, package: str) -> str:
    return next(
        line.strip() for line in project.splitlines() if line.strip().startswith(f'"{package}')
    )


if __name__ == "__main__":
    main()
