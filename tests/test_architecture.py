"""The house rules that a machine can hold: layers, single importers, sizes, docstrings."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg import model
from kg.format import settings
from kg.recall import asking, show

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "kg").rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("test_*.py"))

LAYERS = {
    "confidence": 1,
    "errors": 0,
    "text": 0,
    "place": 0,
    "gitprogram": 0,
    "model": 1,
    "sightings": 1,
    "clusters": 1,
    "ontology": 1,
    "resolve": 2,
    "format": 3,
    "store": 3,
    "secrets": 3,
    "recall": 4,
    "graph": 5,
    "audit": 6,
    "context": 6,
    "review": 6,
    "cli": 7,
    "entry": 8,
    "__main__": 9,
    "__init__": 9,  # exports lazily, for type checkers
}
APART = [("format", "store"), ("store", "format"), ("secrets", "store"), ("store", "secrets")]
ALONE = {
    "pygit2": {"kg/store/repository.py"},
    "jsonschema": {"kg/format/schema.py"},
    "redact_secret": {"kg/secrets.py"},
    "anyascii": {"kg/resolve/names.py"},
    "rapidfuzz": {"kg/resolve/blocking.py"},
    "filelock": {"kg/store/locks.py"},
    "git_filter_repo": {"kg/audit/rewriting.py"},
    "subprocess": {
        "kg/gitprogram.py",
        "kg/recall/source.py",
        "kg/audit/rewriting.py",
        "kg/store/signing.py",
    },
}
LONG = {
    "kg/model.py": "all values of the format, each a few lines, read as one page",
    "kg/secrets.py": "a table of formats, one a line, beside what reads it",
}
# The commands register with the group, which imports them to know its own.
REGISTERED = {
    "kg.cli.app": {
        "kg.cli.backup",
        "kg.cli.care",
        "kg.cli.context",
        "kg.cli.history",
        "kg.cli.meant",
        "kg.cli.measure",
        "kg.cli.purge",
        "kg.cli.read",
        "kg.cli.resolve",
        "kg.cli.revert",
        "kg.cli.review",
        "kg.cli.verbs",
        "kg.cli.write",
    },
}
# where a process of ours begins
ENVIRONMENT = {"kg/entry.py", "kg/cli/app.py", "kg/audit/rewriting.py"}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                f"kg.{alias.name}" if node.module == "kg" else node.module for alias in node.names
            )


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _needed(path: Path) -> set[str]:
    """Return our modules that one imports when it runs, in a function or not."""
    found, todo = set(), list[ast.AST](ast.parse(path.read_text(encoding="utf-8")).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if name in NAMES}
            found |= modules | ({node.module} if modules != names else set())
        else:
            todo += ast.iter_child_nodes(node)
    return {name for name in found if name.split(".")[0] == "kg"} - {_module(path)}


NAMES = {_module(path) for path in MODULES}


def _part(module: str) -> str:
    return module.split(".")[1]


def test_imports_go_down_the_layers() -> None:
    """A module imports its own package or a lower layer, lazily or not."""
    wrong = []
    for path in MODULES:
        own = _name(path).split("/")[1].removesuffix(".py")
        for module in set(_imports(path)):
            if not module.startswith("kg.") or _part(module) == own:
                continue
            part = _part(module)
            if part == "__version__":
                continue
            if LAYERS[part] > LAYERS[own] or (own, part) in APART:
                wrong.append(f"{_name(path)} imports {module}")
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """There is no cycle of imports among our modules, lazy ones counted, those for types not."""
    needs = {_module(path): _needed(path) for path in MODULES}
    for name, registering in REGISTERED.items():
        needs[name] -= registering
    assert set().union(*needs.values()) <= set(needs)
    while ends := set(needs) - (set().union(*needs.values()) & {n for n in needs if needs[n]}):
        needs = {name: needed - ends for name, needed in needs.items() if name not in ends}
    assert needs == {}, "what is left is a cycle, or lies between two"


@pytest.mark.parametrize("package", sorted(ALONE))
def test_heavy_packages_have_one_importer(package: str) -> None:
    """Each outside package is imported in the one place that knows it."""
    found = {
        _name(path)
        for path in MODULES
        if any(module.split(".")[0] == package for module in _imports(path))
    }
    assert found <= ALONE[package]


def test_recall_needs_nothing_installed() -> None:
    """The recall package imports the standard library and the ground it stands on, no more."""
    ours = {"kg.errors", "kg.text", "kg.place", "kg.gitprogram", "kg.model", "kg.clusters"}
    for path in (ROOT / "kg" / "recall").glob("*.py"):
        for module in _imports(path):
            top = module.split(".")[0]
            assert (
                module in ours or module.startswith("kg.recall") or top in sys.stdlib_module_names
            ), f"{_name(path)} imports {module}"


def test_the_environment_is_read_on_the_surface_only() -> None:
    """No module below layer 6 spells os.environ, os.getenv, sys.argv or sys.stdin.

    Looked for in the text: another name for one of them (`from os import environ`) is not seen.
    """
    for path in MODULES:
        if _name(path) in ENVIRONMENT or "kg/cli/" in _name(path):
            continue
        text = path.read_text(encoding="utf-8")
        for word in ("os.environ", "os.getenv", "sys.argv", "sys.stdin"):
            assert word not in text, f"{_name(path)} reads {word}"


def test_modules_are_short_or_say_why_not() -> None:
    """No module is over 400 lines without a reason on record here."""
    long = {_name(p) for p in MODULES if len(p.read_text(encoding="utf-8").splitlines()) > 400}
    assert long <= set(LONG)


def test_functions_are_short() -> None:
    """Half of all functions are under ten lines, nine in ten under 25."""
    sizes = sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    )
    assert sizes[len(sizes) // 2] < 10
    assert sizes[len(sizes) * 9 // 10] <= 25


@pytest.mark.parametrize("path", [*MODULES, *TESTS], ids=_name)
def test_every_module_says_what_it_knows(path: Path) -> None:
    """Every module has a docstring, and every test one that states its promise."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{_name(path)} has no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert ast.get_docstring(node), f"{_name(path)}: {node.name} has no docstring"


def test_what_recall_repeats_is_what_the_format_says() -> None:
    """What the hot path may not import, and so says itself, is the same as where it is kept."""
    assert f"{model.JUDGING}" == show.JUDGING
    assert asking.FORMAT == settings.VERSION


def test_importing_kg_costs_nothing() -> None:
    """`import kg` brings in no other module of ours or of anybody."""
    code = "import sys; before = set(sys.modules); import kg; print(set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(done.stdout) - {"__future__"} == {"kg"}


def test_what_the_package_exports_is_there() -> None:
    """Every name in `kg.__all__` can be had."""
    import kg

    for name in kg.__all__:
        assert getattr(kg, name) is not None
