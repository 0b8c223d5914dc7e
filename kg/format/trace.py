"""Reasoning traces as Markdown with front matter: `key: <JSON value>`, then prose."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kg.errors import FormatError, RefusedError
from kg.format.canonical import encode, explained
from kg.format.paths import TRIED
from kg.model import Trace
from kg.text import fold

_MEMBERS = ("about", "tried", "outcome", "because", "run", "agent", "src", "error")
_FENCE = "---\n"


def dump_trace(trace: Trace) -> bytes:
    """Return the bytes of a trace's file."""
    members = {name: getattr(trace, name) for name in _MEMBERS}
    front = "".join(f"{n}: {encode(v)}\n" for n, v in members.items() if v is not None)
    return (_FENCE + front + _FENCE + (trace.prose + "\n" if trace.prose else "")).encode()


def parse_trace(data: bytes, path: str) -> Trace:
    """Return the trace a file holds.

    Raises:
        FormatError: it is not one; names the place and the problem.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(path, f"not UTF-8 at byte {error.start}: re-encode it") from None
    front, fence, prose = text.removeprefix(_FENCE).partition("\n" + _FENCE)
    if not text.startswith(_FENCE) or not fence:
        raise FormatError(path, "has no front matter between two lines of ---: add it")
    raw = {}
    for line in front.split("\n"):
        name, value = _front_line(line, path)
        if name in raw:
            raise FormatError(path, f"has {name} twice: keep one")
        raw[name] = value
    return _trace(raw, prose.removesuffix("\n"), path)


def trace_path(trace: Trace, slug: str) -> str:
    """Return the path of a trace's file: the same for whoever tried the same with the same result.

    `slug` is for people; six hex digits of what was tried, on what, and how it ended identify.
    """
    parts = (*trace.about, fold(trace.tried), trace.outcome, fold(trace.because))
    digits = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:6]
    return f"{TRIED}/{slug}-{digits}.md"


def _front_line(line: str, path: str) -> tuple[str, Any]:
    name, colon, value = line.partition(": ")
    try:
        if not colon or name not in _MEMBERS:
            raise ValueError(f"line {ascii(line)[:60]} is not one of {', '.join(_MEMBERS)}")
        return name, json.loads(value)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"front matter: {error}") from None


def _trace(raw: dict[str, Any], prose: str, path: str) -> Trace:
    try:
        about = raw.get("about", [])
        if not isinstance(about, list) or not all(isinstance(a, str) for a in about):
            raise RefusedError("about is not a list of ids")
        for name in _MEMBERS[1:]:
            if not isinstance(raw.get(name, "" if name == "error" else None), str):
                raise RefusedError(f"{name} is missing or not a string")
        return Trace(**{**raw, "about": tuple(about)}, prose=prose)
    except RefusedError as error:
        raise explained(path, raw, "trace", error) from None
