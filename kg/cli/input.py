"""What comes in on stdin or from a file, as text and as observations."""

from __future__ import annotations

import json
import sys
from typing import Any

from kg.errors import RefusedError

MAX_INPUT = 256 * 1024 * 1024  # bytes of one `kg remember`; more is more than one batch


def read(file: str) -> bytes:
    """Return what a file or stdin holds."""
    if file == "-" and sys.stdin is None:
        raise RefusedError("stdin is closed: name a file")
    if file == "-":
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
    else:
        with open(file, "rb") as handle:
            data = handle.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise RefusedError(f"{file} is larger than {MAX_INPUT} bytes: split it")
    return data


def read_some(most: int) -> bytes:
    """Return the first `most` bytes of stdin, none where it is closed."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read(most)


def text_of(data: bytes) -> str:
    """Return bytes as text.

    Raises:
        RefusedError: they are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RefusedError(f"line {line} is not UTF-8: convert it (iconv -t utf-8)") from None


def parse_objects(data: bytes, command: str = "remember") -> list[dict[str, Any]]:
    """Return the objects of a JSON object, a JSON list, or JSON Lines.

    Raises:
        RefusedError: it is none of these; names the line, and the command that explains.
    """
    text = text_of(data).removeprefix("\ufeff")
    see = f"see kg {command} --help"
    if not text.strip():
        raise RefusedError(f"nothing in it: give JSON, {see}")
    try:
        whole = json.loads(text)
    except RecursionError:
        raise RefusedError("the JSON is nested too deeply: flatten it") from None
    except ValueError as error:
        rows = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(rows) < 2 or not _whole(rows[0][1]):
            raise RefusedError(f"not JSON: {error}: {see}") from None
        whole = [_line(number, line, see) for number, line in rows]
    found = whole if isinstance(whole, list) else [whole]
    if not found or not all(isinstance(one, dict) for one in found):
        raise RefusedError(f"it takes JSON objects: {see}")
    return found


def _whole(line: str) -> bool:
    """Whether a line is JSON by itself, as JSON Lines begin."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line(number: int, line: str, see: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"line {number} is not JSON ({error}): {see}") from None
