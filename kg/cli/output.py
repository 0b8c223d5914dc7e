"""What reaches the terminal: answers on stdout, talk on stderr, nothing a terminal would obey."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from kg.text import json_text, one_line


def answer(name: str, value: Any) -> None:  # noqa: ANN401
    """Print the JSON answer of a command: one object under one versioned key."""
    text = json.dumps({f"kg.{name}/v1": value}, ensure_ascii=False, indent=1)
    print(json_text(text))  # noqa: T201


def answer_line(name: str, value: Any) -> None:  # noqa: ANN401
    """Print one JSON answer on a line of its own, for commands that give several."""
    text = json.dumps({f"kg.{name}/v1": value}, ensure_ascii=False)
    print(json_text(text))  # noqa: T201


def say(*parts: str) -> None:
    """Print one line of the answer."""
    print(one_line(" ".join(part for part in parts if part)))  # noqa: T201


def say_all(rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows of the answer in columns; the last column takes what room there is."""
    table = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column), default=0) for column in zip(*table, strict=False)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join(cells).rstrip())  # noqa: T201


def head(text: str) -> None:
    """Print a heading: bold on a terminal."""
    if sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False, markup=False).print(one_line(text), style="bold", soft_wrap=True)
    else:
        say(text)


def talk(text: str) -> None:
    """Say something to the person, beside the answer."""
    print(f"kg: {one_line(text)}", file=sys.stderr)  # noqa: T201
