"""The documents tell the truth: README's commands run, the format's examples hold."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from stores import store

from kg.cli.app import commands
from kg.format import (
    dump_edge,
    dump_entity,
    dump_settings,
    dump_trace,
    parse_edge,
    parse_entity,
    parse_settings,
    parse_trace,
)
from kg.format.order import dump_order, parse_order
from kg.format.resolver import dump_resolver, parse_resolver
from kg.format.schema import problems
from kg.graph.init import ATTRIBUTES, format_page

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "kg/FORMAT.md").read_text(encoding="utf-8")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _fits(expected: list[str], got: list[str]) -> bool:
    """Whether output fits what a document shows: `...` stands for any text, alone for any lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(_fits(expected[1:], got[n:]) for n in range(len(got) + 1))
    pattern = re.escape(expected[0]).replace(r"\.\.\.", ".*")
    return bool(got) and re.fullmatch(pattern, got[0]) is not None and _fits(expected[1:], got[1:])


def _sessions() -> list[tuple[str, list[str]]]:
    """Return README's (command, lines it shows) in order."""
    found: list[tuple[str, list[str]]] = []
    for block in _blocks(README, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_block_of_the_readme_runs(tmp_path: Path) -> None:
    """The README's session, typed in an empty folder, prints what the README shows."""
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    for command, shown in _sessions():
        if command.startswith("cat ") and not (tmp_path / command[4:]).exists():
            (tmp_path / command[4:]).write_text("\n".join(shown) + "\n", encoding="utf-8")
        done = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert _fits(shown, done.stdout.splitlines()), f"{command} printed:\n{done.stdout}"


def test_the_python_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python block does what it says."""
    store(tmp_path / "memory")
    for block in _blocks(README, "python"):
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - it is the text under test
    assert capsys.readouterr().out == "payments-api is written in Rust.\n"


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_has_a_line_in_the_readme(name: str) -> None:
    """A command that is not in the README's table is not finished."""
    assert f"| `kg {name}` |" in README


def test_every_command_of_the_readme_exists() -> None:
    """The README names no command that is not there."""
    assert set(re.findall(r"^\| `kg ([a-z-]+)` \|", README, re.MULTILINE)) == set(commands())


def test_the_makefile_has_what_the_readme_promises() -> None:
    """`make demo` and `make test` exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_the_demo_runs(tmp_path: Path) -> None:
    """The demo goes through all its steps on this repository's real text."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/demo.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "contradicts: Apache-2.0" in done.stdout
    assert "0 faults" in done.stdout


def test_the_formats_examples_are_canonical_and_valid() -> None:
    """Each JSON example of FORMAT.md satisfies its schema and is canonical to the byte."""
    seen = set()
    for block in _blocks(FORMAT, "json"):
        value, data = json.loads(block), block.encode()
        if "id" in value:
            name, right = "entity", dump_entity(parse_entity(data, "example"))
        elif "subject" in value:
            name, right = "edge", dump_edge(parse_edge(data, "example"))
        elif "order" in value:
            name, right = "context", dump_order(parse_order(data))
        elif "types" in value:
            name, right = "resolver", dump_resolver(parse_resolver(data))
        else:
            name, right = "store", dump_settings(parse_settings(data))
        assert problems(name, value) == []
        assert right == data
        seen.add(name)
    assert seen == {"entity", "edge", "store", "context", "resolver"}


def test_the_formats_trace_is_canonical() -> None:
    """The example of a trace in FORMAT.md is what kg writes."""
    (block,) = [b for b in _blocks(FORMAT, "") if b.startswith("---\n")]
    data = block.encode()
    assert dump_trace(parse_trace(data, "example")) == data


def test_every_store_carries_the_format(tmp_path: Path) -> None:
    """A new store's README.md is the format, and this project's own store carries it too."""
    store(tmp_path / "memory")
    assert (tmp_path / "memory/README.md").read_bytes() == format_page()
    assert (tmp_path / "memory/.gitattributes").read_bytes() == ATTRIBUTES
    assert (ROOT / "memory/README.md").read_bytes() == format_page()


def test_nothing_names_this_machine() -> None:
    """No file of the tree holds a path of a developer's machine."""
    done = subprocess.run(
        ["git", "grep", "-nIE", "/(w[o]rk|f[a]rm|h[o]me/[a-z]+)/[a-z.]", "--", "."],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 1)  # 1 is git grep's "nothing"
