"""Asking kg many questions through its command line, in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CHECKOUT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
)
FOUND_OR_NOT = (0, 1)  # exit codes


def recall(store: str, queries: Iterable[str], *flags: str) -> list[dict[str, Any]]:
    """Return the answers of `kg recall FLAGS --queries` to queries, in order.

    Ends the program where kg fails, with what it said.
    """
    asked = [json.dumps({"id": str(at), "query": query}) for at, query in enumerate(queries)]
    command = [sys.executable, "-m", "kg", "recall", "-C", store, *flags, "--queries", "-"]
    done = subprocess.run(
        command, input="\n".join(asked) + "\n", cwd=CHECKOUT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode not in FOUND_OR_NOT:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    answers = [next(iter(json.loads(line).values())) for line in done.stdout.splitlines()]
    if len(answers) != len(asked):
        sys.exit(f"{' '.join(command)}: {len(answers)} answers to {len(asked)} queries")
    return answers


def sources(answers: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return where the hits of each raw answer stand, best first."""
    return [[hit["src"] for hit in answer["hits"]] for answer in answers]


def recall_each(store: str, queries: Iterable[str], *flags: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the entities that `kg recall FLAGS --json` finds for each query, best first."""
    command = [sys.executable, "-m", "kg", "recall", "-C", store, *flags, "--json", "--"]
    for query in queries:
        done = subprocess.run(
            [*command, query], cwd=CHECKOUT, capture_output=True, text=True, check=False
        )
        if done.returncode not in FOUND_OR_NOT:
            sys.exit(f"{' '.join(command)} {query!r}: {done.stderr}")
        answer = json.loads(done.stdout) if done.stdout else {"": {"entities": []}}
        yield next(iter(answer.values()))["entities"]


def read_rows(folder: str, name: str) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]
