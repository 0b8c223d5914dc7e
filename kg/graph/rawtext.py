"""What raw/ may hold: text as it was given, or a conversation rendered as one line a turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from kg.errors import RefusedError

MAX_TEXT = 20 * 1024 * 1024  # bytes; a text is read whole, hashed and scanned


def check_raw(text: str) -> str:
    """Return a text that raw/ can hold, with a final line feed.

    Raises:
        RefusedError: too long, binary, or half a character.
    """
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise RefusedError(f"the text holds a NUL byte in line {line}: it is not text, convert it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text[: error.start].count("\n") + 1
        raise RefusedError(
            f"the text holds half a character (a lone surrogate) in line {line}: re-encode it"
        ) from None
    if size > MAX_TEXT:
        raise RefusedError(f"the text has {size} bytes, over {MAX_TEXT}: split it into several")
    return text if not text or text.endswith("\n") else text + "\n"


def render_conversation(topic: str, at: str, messages: list[Mapping[str, str]]) -> str:
    """Return a conversation as raw text: a header line, then one line a turn (FORMAT.md, raw/)."""
    head = ["# conversation", at, " ".join(topic.split())]
    rows = [" ".join(part for part in head if part)]
    for turn in messages:
        said = " ".join(turn["content"].split())
        mark = f"[{when(turn['at'])}] " if "at" in turn else ""
        rows.append(f"{mark}{' '.join(turn['role'].split())}: {said}")
    return "\n".join(rows) + "\n"


def when(text: str) -> str:
    """Return a date as it is, and an RFC 3339 time in UTC as FORMAT.md writes it."""
    try:
        moment = datetime.fromisoformat(text)
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return text
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        plain = aware.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    except (ValueError, OverflowError):
        raise RefusedError(
            f"{text!a} is not a time: write 2026-11-30 or 2026-11-30T09:00:00Z"
        ) from None
    return f"{plain.isoformat()}Z"


def seconds(text: str) -> int:
    """Return a time as the seconds since 1970 that git holds."""
    at = datetime.fromisoformat(when(text).removesuffix("Z")).replace(tzinfo=UTC)
    if at.year > 2100:
        raise RefusedError(f"at is {text}: git holds no time so late, correct it")
    return max(0, int(at.timestamp()))  # nor any before 1970


def whole(text: str) -> list[int]:
    """Return the anchor of all of a text: its first and last line."""
    return [1, text.rstrip("\n").count("\n") + 1]
