"""Entities and edges as canonical bytes: one value, one byte string, on every machine.

One fact stands on one line, sorted, so that `grep` shows a fact with its source, `git diff`
is a list of facts and `git blame` is right for nearly all of them (GIT.md, section 5).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kg.errors import FormatError, RefusedError
from kg.model import (
    Claim,
    Edge,
    EdgeClaim,
    Entity,
    Fact,
    Judgement,
    Retraction,
    Sighting,
    check_text,
    check_word,
)
from kg.text import MISREAD

T = TypeVar("T")
Known = dict[str, Any]  # what lines say: {list and line: (what it is sorted by, its value)}

# Line separators split lines in some readers (`str.splitlines`), the bidirectional controls
# make a line read differently from what it says (CVE-2021-42574); JSON readers see the same.
_ESCAPED = {c: f"\\u{c:04x}" for c in MISREAD}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

_CLAIM = ("src", "seen_run", "kind", "basis", "importance", "since", "until")
_FACT = ("k", "v", *_CLAIM)
_EDGE_CLAIM = ("predicate", "object", *_CLAIM)
_SIGHTING = ("k", "v", "since", "by", "run", "src")
_JUDGEMENT = ("by", "verdict", "score", "upper", "lower", "scorer", "run", "src")
_ENTITY = (
    "id",
    "type",
    "name",
    "aliases",
    "facts",
    "seen_again",
    "retracted",
    "contested",
    "first_run",
    "last_seen_run",
    "archived",
)
_EDGE = ("subject", "predicate", "object", "claims", "seen_again", "judgements")


def encode(value: object) -> str:
    """Return one JSON value on one line, as it stands in a canonical file."""
    return _encode(value).translate(_ESCAPED)


def dump_entity(entity: Entity) -> bytes:
    """Return the canonical bytes of an entity."""
    members: dict[str, object] = {
        "id": entity.id,
        "type": entity.type,
        "name": entity.name,
        "aliases": lines(entity.aliases),
        "facts": lines(_fact(f) for f in entity.facts),
        "seen_again": lines(_sighting(s) for s in entity.seen_again),
        "retracted": lines(_retraction(r) for r in entity.retracted),
        "contested": lines(entity.contested),
        "first_run": entity.first_run,
        "last_seen_run": entity.last_seen_run,
    }
    if entity.archived:
        members["archived"] = True
    return dump_object(members)


def dump_edge(edge: Edge) -> bytes:
    """Return the canonical bytes of an edge."""
    members: dict[str, object] = {
        "subject": edge.subject,
        "predicate": edge.predicate,
        "object": edge.object,
    }
    if edge.judgements:
        members["judgements"] = lines(_members(j, _JUDGEMENT) for j in edge.judgements)
    else:
        members["claims"] = lines(_claim(c, _CLAIM) for c in edge.claims)
        members["seen_again"] = lines(_sighting(s) for s in edge.seen_again)
    return dump_object(members)


def parse_entity(data: bytes, path: str, known: Known | None = None) -> Entity:
    """Return the entity a file holds, whatever its layout.

    `known` is for who reads many versions of one file: what a line says is made once.

    Raises:
        FormatError: it is not one; names the place and the problem.
    """
    raw = load(data, path)
    try:
        _only(raw, _ENTITY)
        for alias in _strings(raw, "aliases"):  # computed from the facts: checked, not taken
            check_text(alias, "an alias")
        return Entity(
            id=_str(raw, "id"),
            type=_str(raw, "type"),
            name=_str(raw, "name"),
            facts=_each(raw, "facts", _parse_fact, known),
            seen_again=_each(raw, "seen_again", _parse_fact_sighting, known),
            retracted=_each(raw, "retracted", _parse_retraction, known),
            contested=tuple(sorted(check_word(k, "key") for k in _strings(raw, "contested"))),
            first_run=_str(raw, "first_run"),
            last_seen_run=_str(raw, "last_seen_run"),
            archived=_archived(raw),
        )
    except (RefusedError, TypeError) as error:
        raise explained(path, raw, "entity", error) from None


def parse_edge(data: bytes, path: str) -> Edge:
    """Return the edge a file holds, whatever its layout.

    Raises:
        FormatError: it is not one; names the place and the problem.
    """
    raw = load(data, path)
    try:
        _only(raw, _EDGE)
        return Edge(
            subject=_str(raw, "subject"),
            predicate=_str(raw, "predicate"),
            object=_str(raw, "object"),
            claims=_each(raw, "claims", lambda m: Claim(**_known(m, _CLAIM))),
            seen_again=_each(raw, "seen_again", _parse_edge_sighting),
            judgements=_each(raw, "judgements", lambda m: Judgement(**_known(m, _JUDGEMENT))),
        )
    except (RefusedError, TypeError) as error:
        raise explained(path, raw, "edge", error) from None


def _no_decimal(text: str) -> float:
    raise ValueError(f"{text} is a decimal: write it as a string")


def load(
    data: bytes, path: str, *, decimal: Callable[[str], object] = _no_decimal
) -> dict[str, Any]:
    """Return the JSON object that `data` holds: UTF-8, no twin members, no decimals.

    `decimal` makes something of the text of a decimal where one is welcome.

    Raises:
        FormatError: it holds something else.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_no_twins,
            parse_float=decimal,
            parse_constant=decimal,
        )
    except UnicodeDecodeError as error:
        raise FormatError(path, f"not UTF-8 at byte {error.start}: re-encode it") from None
    except RecursionError:
        raise FormatError(path, "nested too deeply: flatten it") from None
    except ValueError as error:
        raise FormatError(path, f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(path, "holds no JSON object: write one")
    return value


def explained(path: str, raw: Mapping[str, Any], schema: str, error: Exception) -> FormatError:
    """Return a FormatError with what JSON Schema finds, else in the constructor's words."""
    from kg.format.schema import problems

    found = problems(schema, raw)
    if found:
        return FormatError(path, found[0].problem, found[0].pointer)
    return FormatError(path, str(error))


def lines(items: Iterable[object]) -> list[str]:
    """Return the items as encoded lines, sorted, no two the same."""
    return sorted({encode(item) for item in items})


def dump_object(members: Mapping[str, object]) -> bytes:
    """Return the canonical bytes of an object whose lists are given as `lines`."""
    parts = []
    for name, value in members.items():
        if isinstance(value, list):
            body = ",\n    ".join(value)
            shown = f"[\n    {body}\n  ]" if value else "[]"
        else:
            shown = encode(value)
        parts.append(f'  "{name}": {shown}')
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def line_of(value: Claim | Retraction) -> str:
    """Return the line that holds a fact, a claim of an edge, or a retraction, without its comma."""
    if isinstance(value, Retraction):
        return encode(_retraction(value))
    return encode(_fact(value) if isinstance(value, Fact) else _claim(value, _CLAIM))


def _members(value: object, names: Iterable[str]) -> dict[str, object]:
    found = {name: getattr(value, name) for name in names}
    return {name: member for name, member in found.items() if member is not None}


def _claim(claim: Claim, names: tuple[str, ...]) -> dict[str, object]:
    found = _members(claim, names)
    if claim.basis == "stated":
        del found["basis"]
    return found


def _fact(fact: Fact) -> dict[str, object]:
    return _claim(fact, _FACT)


def _sighting(seen: Sighting) -> dict[str, object]:
    found = _members(seen, _SIGHTING)
    if not seen.k:
        del found["k"], found["v"]
    return found


def _retraction(gone: Retraction) -> dict[str, object]:
    line = _fact(gone.what) if isinstance(gone.what, Fact) else _claim(gone.what, _EDGE_CLAIM)
    return {**line, "because": gone.because, "retracted_run": gone.retracted_run}


def _parse_fact(raw: Mapping[str, Any]) -> Fact:
    return Fact(**_known(raw, _FACT, need=("k", "v")))


def _parse_retraction(raw: Mapping[str, Any]) -> Retraction:
    line = dict(raw)
    because, run = line.pop("because", None), line.pop("retracted_run", None)
    if "predicate" in line:
        what: Fact | EdgeClaim = EdgeClaim(**_known(line, _EDGE_CLAIM))
    else:
        what = Fact(**_known(line, _FACT, need=("k", "v")))
    return Retraction(
        what=what, because=_text(because, "because"), retracted_run=_text(run, "retracted_run")
    )


def _parse_fact_sighting(raw: Mapping[str, Any]) -> Sighting:
    return Sighting(**_known(raw, _SIGHTING, need=("k", "v", "by", "run", "src")))


def _parse_edge_sighting(raw: Mapping[str, Any]) -> Sighting:
    return Sighting(**_known(raw, _SIGHTING[2:], need=("by", "run", "src")))


def _known(
    raw: Mapping[str, Any], names: tuple[str, ...], need: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the members as keyword arguments: text where text is due, none unknown, none null."""
    _only(raw, names)
    for name in need:
        if name not in raw:
            raise RefusedError(f"{name} is missing")
    for name, value in raw.items():
        if name not in ("v", "importance"):
            _text(value, name)
        elif value is None:
            raise RefusedError(f"{name} is null: leave it out")
    return dict(raw)


def _each(
    raw: Mapping[str, Any],
    name: str,
    make: Callable[[Mapping[str, Any]], T],
    known: Known | None = None,
) -> tuple[T, ...]:
    made: list[tuple[str, T]] = []
    for member in _list(raw, name):
        if not isinstance(member, dict):
            raise RefusedError(f"{name} holds something that is not an object")
        made.append(_made(member, name, make, known))
    # the order in a file says nothing; one order makes equal values equal
    return tuple(value for _, value in sorted(made, key=lambda one: one[0]))


def _made(
    member: dict[str, Any], name: str, make: Callable[[Mapping[str, Any]], T], known: Known | None
) -> tuple[str, T]:
    """Return a member's value with what it is sorted by."""
    if known is None:
        value = make(member)
        return repr(value), value
    line = f"{name} {member!r}"  # as text: 1 and true are equal, and are not the same value
    if line not in known:
        value = make(member)
        known[line] = repr(value), value
    found: tuple[str, T] = known[line]
    return found


def _strings(raw: Mapping[str, Any], name: str) -> list[str]:
    return [_text(member, name) for member in _list(raw, name)]


def _list(raw: Mapping[str, Any], name: str) -> list[Any]:
    value = raw.get(name, [])
    if not isinstance(value, list):
        raise RefusedError(f"{name} is not a list")
    return value


def _str(raw: Mapping[str, Any], name: str) -> str:
    return _text(raw.get(name), name)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise RefusedError(f"{name} is missing or not a string")
    return value


def _archived(raw: Mapping[str, Any]) -> bool:
    if raw.get("archived", True) is not True:
        raise RefusedError("archived is true or absent")
    return "archived" in raw


def _only(raw: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in raw:
        if name not in names:
            raise RefusedError(f"{name!a} is not a member here")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has two members of one name")
    return found
