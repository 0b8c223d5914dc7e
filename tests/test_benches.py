"""The benches run: on made-up data of a few lines, whose results mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent / "scripts" / "bench"


def ran(script: str, *args: str) -> Any:  # noqa: ANN401
    """Return what a bench prints with --json, under its key."""
    done = subprocess.run(
        [sys.executable, str(BENCH / script), *args, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (value,) = json.loads(done.stdout).values()
    return value


def test_names_are_asked_for_in_four_forms(tmp_path: Path) -> None:
    """Each form of query is measured on a small store, and what is not found first is listed."""
    import gzip

    words = ("amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar")
    rows = [("Object", f"{a}-{b}") for a in words for b in words if a != b]
    rows += [("Organization", f"{a.title()} Works") for a in words]
    with gzip.open(tmp_path / "names.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{type_}\t{name}\n" for type_, name in rows)
    misses = tmp_path / "misses"
    found = ran(
        "names.py", "--data", str(tmp_path), "--size", "30", "--asked", "8", "--misses", str(misses)
    )
    assert set(found["forms"]) >= {"bare name", "question", "one typo"}
    assert found["forms"]["bare name"]["n"] == 8
    assert misses.exists()
