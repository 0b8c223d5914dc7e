"""No secret gets past here: every string of every write is scanned before anything is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kg import secrets
from kg.errors import SecretError

Redacted = tuple[tuple[int, str], ...]  # (line of the text, kind)
# A quote is words of a text that is scanned itself, unless that lies in raw/ already.
_COVERED = frozenset({"quote", "src", "in", "ref", "run", "at"})


def screened(
    observations: Sequence[dict[str, Any]], *, redact: bool
) -> tuple[list[dict[str, Any]], list[Redacted]]:
    """Return the observations without secrets in them, and what was redacted from each text.

    Raises:
        SecretError: one holds a secret and `redact` was not asked for; names place and kind,
            never the text.
    """
    clean: list[dict[str, Any]] = []
    hits: list[Redacted] = []
    for number, raw in enumerate(observations, 1):
        strings = [text for _, text in _strings(raw)]
        if not secrets.scan("\n".join(strings)):
            clean.append(raw)
            hits.append(())
        elif redact:
            clean.append(_redacted(raw))
            hits.append(_found(raw))
        else:
            raise _refusal(raw, number if len(observations) > 1 else 0)
    return clean, hits


def _strings(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if name not in _COVERED:
                yield from _strings(member, f"{pointer}/{name}")
    elif isinstance(value, list | tuple):
        for number, member in enumerate(value):
            yield from _strings(member, f"{pointer}/{number}")


def _redacted(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return secrets.redact(value)[0]
    if isinstance(value, Mapping):
        return {name: _redacted(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(member) for member in value]
    return value


def _found(raw: Mapping[str, Any]) -> Redacted:
    text = raw.get("text")
    return tuple((f.line, f.kind) for f in secrets.scan(text)) if isinstance(text, str) else ()


def _refusal(raw: Mapping[str, Any], number: int) -> SecretError:
    which = f"observation {number}, " if number else ""
    for pointer, text in _strings(raw):
        found = secrets.scan(text)
        if not found:
            continue
        kinds = ", ".join(f"line {f.line} ({f.kind})" for f in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return SecretError(
            f"{which}{pointer[1:]}: looks like a secret in {kinds}{more}: remove it, or replace it "
            "with --redact",
            tuple((f.line, f.kind) for f in found),
        )
    return SecretError(f"{which}its parts together look like a secret: remove it, or use --redact")
