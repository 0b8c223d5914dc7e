"""Measure kg.secrets: recall on the corpus, false positives on real text, and what it costs.

    python scripts/bench/secrets.py [--show N] [FOLDER ...]

Recall: the share of the fakes of tests/test_secrets.py whose secret is gone after `redact`.
On each folder (benign by assumption): findings per 10,000 lines by kind, and microseconds a
line; `--show N` prints the lines of up to N findings of each kind, to be looked at.
"""

# ruff: noqa: E402 (see below)
from __future__ import annotations

import sys

# This file's name hides the standard library's `secrets` while its folder leads the path.
sys.path[0] = __file__.rsplit("/", 3)[0]

import argparse
import collections
import importlib.util
import os
import time
from typing import TYPE_CHECKING, Any

from kg import secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: tuple[str, ...] = (
    ".py",
    ".md",
    ".txt",
    ".rst",
    ".json",
    ".html",
    ".toml",
    ".cfg",
    ".c",
    ".h",
    ".sh",
    ".js",
)
TEXT += (".yaml", ".yml", ".po", ".pyi", "copyright", "README", "METADATA")


def corpus() -> Any:  # noqa: ANN401 (a module found by its path has no type)
    """Return the tests' module, which makes the two corpora."""
    spec = importlib.util.spec_from_file_location("corpus", sys.path[0] + "/tests/test_secrets.py")
    if spec is None or spec.loader is None:
        raise SystemExit("tests/test_secrets.py is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recall() -> None:
    """Print how much of the corpus is found, and how much of the benign lines is flagged."""
    made = corpus()
    lines = [(f"{before}{secret}{after}", secret) for _, before, secret, after in made.CASES]
    missed = [text[:60] for text, secret in lines if secret in secrets.redact(text)[0]]
    false = [line[:60] for line in made.BENIGN if secrets.scan(line)]
    print(f"recall {len(lines) - len(missed)}/{len(lines)} of {len(made.CORPUS)} kinds", missed)
    print(f"false positives {len(false)}/{len(made.BENIGN)} benign lines", false)


def texts(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the path and text of every text file under `folder`, up to 3 MB each."""
    for base, _, names in os.walk(folder):
        for path in (os.path.join(base, name) for name in names if name.endswith(TEXT)):
            if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 3e6:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    yield path, file.read()


def benign(folder: str, show: int) -> None:
    """Print what is found in a folder that is taken to hold no secret."""
    lines, spent, kinds = 0, 0.0, collections.Counter[str]()
    for path, text in texts(folder):
        start = time.perf_counter()
        found = secrets.scan(text)
        spent += time.perf_counter() - start
        lines += text.count("\n") + 1
        for finding in found:
            kinds[finding.kind] += 1
            if kinds[finding.kind] <= show:
                around = text[max(0, finding.start - 60) : finding.end + 20]
                print(f"  {finding.kind} {path}:{finding.line} {around!r}"[:240])
    rate, cost = kinds.total() * 1e4 / max(lines, 1), spent * 1e6 / max(lines, 1)
    print(f"{folder}: {lines} lines, {rate:.2f} per 10k, {cost:.1f} us a line, {dict(kinds)}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    given = parser.parse_args()
    recall()
    for folder in given.folders:
        benign(folder, given.show)


if __name__ == "__main__":
    main()
