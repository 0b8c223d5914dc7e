"""No secret gets past here: every string of every write is scanned before anything is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize

from kg import secrets
from kg.errors import SecretError
from kg.graph.anchors import Text
from kg.graph.observation import parse_observation

Redacted = tuple[tuple[str, str], ...]  # (where, kind)
_FIXED = frozenset({"src", "run", "at"})  # their grammar leaves no room for one
_PARTS = ("facts", "edges", "tried", "retract", "rename", "judge")


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
        which = number if len(observations) > 1 else 0
        if not _secret(raw):
            clean.append(raw)
            hits.append(())
        elif redact:
            anchored = _anchored(raw)
            clean.append(_redacted(anchored))
            hits.append(tuple(_found(anchored)))
            if _secret(clean[-1]):  # spread over several parts, or in another Unicode form
                raise _refusal(clean[-1], which)
        else:
            raise _refusal(raw, which)
    return clean, hits


def _secret(raw: Mapping[str, Any]) -> bool:
    """Whether there is a secret in it, in this or in the form in which values are compared."""
    text = "\n".join(text for _, text in _strings(raw))
    return bool(secrets.scan(text) or (not text.isascii() and secrets.scan(_plain(text))))


def _plain(text: str) -> str:
    return normalize("NFKC", text)


def _strings(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield f"{pointer}/a name", str(name)
            if name not in _FIXED:
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


def _anchored(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observation with quotes of its own text as lines.

    A text and a quote of it may come out of redaction differently; lines are kept.
    """
    told = dict(raw)
    if "messages" in told:
        told["text"] = parse_observation(told, run="r0", agent="x", at=0).text
        del told["messages"]
        told.pop("topic", None)
    if isinstance(told.get("text"), str):
        text = Text(told["text"])
        for part in _PARTS:
            told[part] = [_by_lines(text, said) for said in told.get(part, ())]
        told["entities"] = [
            {**e, "aliases": [_by_lines(text, said) for said in e.get("aliases", ())]}
            if "aliases" in e
            else e
            for e in told.get("entities", ())
        ]
    return told


def _by_lines(text: Text, said: Mapping[str, Any]) -> Mapping[str, Any]:
    found = text.find(said["quote"]) if "quote" in said and "in" not in said else None
    if found is None:
        return said
    return {**{name: v for name, v in said.items() if name != "quote"}, "lines": list(found)}


def _found(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pointer, text in _strings(raw):
        for found in secrets.scan(text):
            yield (f"line {found.line}" if pointer == "/text" else pointer[1:]), found.kind


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
    return SecretError(
        f"{which}its parts together, or in plain letters, look like a secret: remove it"
    )
