"""What hand-written files say, whatever shape they say it in.

Pure: bytes in, values out. Read more leniently than `kg.format` (which guards the writes),
and unlike recall with nothing left out: what has no place of its own is reported as `lossy`,
so that the old text is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kg.errors import FormatError
from kg.format.canonical import encode, load, parse_edge, parse_entity
from kg.model import (
    MAX_NAME,
    MAX_VALUE,
    SAFE_INTEGER,
    UNTEXT,
    Edge,
    Entity,
    Value,
    check_word,
    parse_raw_name,
    run_order,
)

_SUBJECT, _OBJECT = ("subject", "from"), ("object", "to")
_PREDICATE = ("predicate", "type", "relation")
_RUN = ("seen_run", "run")
_OPTIONS = ("kind", "basis", "importance", "since", "until")
_ENTITY = ("id", "type", "name", "aliases", "facts", "first_run", "last_seen_run", "contested")
_CARRIED = ("seen_again", "retracted", "archived")  # known only where the file is as kg writes it
_LINK = (*_SUBJECT, *_PREDICATE, *_OBJECT, *_RUN, *_OPTIONS, "src", "claims")


class Said(NamedTuple):
    """One statement: a fact, or with an empty `k` an edge's claim; "" where it does not say."""

    k: str
    v: Value
    src: str
    run: str
    options: Mapping[str, Any]


class Thing(NamedTuple):
    """One file of entities/; `whole` is the entity where the file is as kg writes it."""

    path: str
    text: str
    id: str
    type: str
    name: str
    runs: tuple[str, ...]
    facts: tuple[Said, ...]
    whole: Entity | None
    lossy: bool


class Link(NamedTuple):
    """One file of edges/; its ends are ids, slugs or names."""

    path: str
    text: str
    subject: str
    predicate: str
    object: str
    claims: tuple[Said, ...]
    whole: Edge | None
    lossy: bool


class Tale(NamedTuple):
    """One file of tried/, as the members of a trace."""

    path: str
    text: str
    members: Mapping[str, Any]


def thing(path: str, data: bytes) -> Thing:
    """Return what a file of entities/ says.

    Raises:
        FormatError: it cannot be read.
    """
    raw, whole = _load(path, data), _strict(parse_entity, data, path)
    folders, _, file = path.rpartition("/")
    prefix, slash, slug = (_text(raw, "id") or file.removesuffix(".json")).rpartition("/")
    prefix = prefix if slash else folders.partition("/")[2] or _text(raw, "type")
    facts: list[Said] = []
    lossy = whole is None and any(raw.get(name) for name in _CARRIED)
    for at, item in enumerate(_facts(raw, path)):
        if not isinstance(item, dict) or not _text(item, "k") or "v" not in item:
            raise FormatError(path, "is no fact, it has no k and v: complete it", f"/facts/{at}")
        facts += _said(item, _text(item, "k"), item["v"])
        lossy = lossy or not item.keys() <= {"k", "v", "src", *_RUN, *_OPTIONS}
    for alias in _list(raw, "aliases", path):
        facts += _said({}, "also-known-as", alias)
    for name in raw.keys() - {*_ENTITY, *_CARRIED}:
        facts += _said({}, name, raw[name])
    return Thing(
        path,
        _decoded(data),
        f"{prefix}/{slug}",
        _text(raw, "type"),
        one_line(_text(raw, "name")),
        tuple(filter(None, (run_of(raw.get(n)) for n in ("first_run", "last_seen_run")))),
        tuple(sorted(facts, key=repr)),
        whole,
        lossy or len(_text(raw, "name")) > MAX_NAME,
    )


def link(path: str, data: bytes) -> Link:
    """Return what a file of edges/ says; its name counts where its members are silent.

    Raises:
        FormatError: it cannot be read, or neither says what it relates.
    """
    raw = _load(path, data)
    named = _named(path)
    subject, predicate, object_ = (
        _first(raw, names) or other
        for names, other in zip((_SUBJECT, _PREDICATE, _OBJECT), named, strict=True)
    )
    if not (subject and predicate and object_):
        raise FormatError(path, "does not say what it relates: write subject, predicate, object")
    claims = _list(raw, "claims", path) or [raw]
    return Link(
        path,
        _decoded(data),
        subject,
        predicate,
        object_,
        tuple(s for claim in claims if isinstance(claim, dict) for s in _said(claim, "", "x")),
        _strict(parse_edge, data, path),
        not raw.keys() <= {*_LINK},
    )


def tale(path: str, data: bytes) -> Tale:
    """Return what a file of tried/ says: its front matter, and what its words say besides."""
    text = _decoded(data)
    front, body = _front(text)
    lines = [line.strip() for line in body.split("\n") if line.strip()] or [path]
    heading = next((line.lstrip("#") for line in lines if line.startswith("#")), lines[0])
    rest = " ".join(line for line in lines if not line.startswith("#")) or heading
    found = {
        "tried": heading.strip(),
        "outcome": _outcome(text),
        "because": _because(rest),
        **{name: value for name, value in front.items() if value not in ("", None)},
        "prose": clean(text if not front else body)[:MAX_VALUE],
    }
    return Tale(path, text, found)


def run_of(value: object) -> str:
    """Return a run as it is written, or as bare seconds; "" for anything else."""
    text = f"r{value}" if isinstance(value, int) or str(value).isdecimal() else str(value)
    try:
        run_order(text)
    except ValueError:
        return ""
    return text


def run_of_raw(src: str) -> str:
    """Return the run that a source's file name gives, "" where it gives none."""
    name = parse_raw_name(src.partition("#")[0])
    return name.run if name else ""


def word_of(text: str) -> str:
    """Return the key or predicate that a hand-written one comes to, "" where to none."""
    word = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    try:
        return check_word(word, "key")
    except ValueError:
        return ""


def clean(text: str) -> str:
    """Return the text with CRLF as line feeds and without what a value may not hold."""
    return UNTEXT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def member(text: object) -> str:
    """Return what a trace says as one of its members: without control characters, not too long."""
    return clean(str(text)).strip()[:MAX_VALUE].rstrip() or "unknown"


def one_line(text: str) -> str:
    """Return the text as a name: on one line and not too long."""
    return " ".join(clean(text).split())[:MAX_NAME]


def line_of(text: str, *words: str) -> int:
    """Return the first line, from 1, that holds all of the words; else the last of them; else 1."""
    lines = text.split("\n")
    for wanted in (words, words[-1:]):
        for number, line in enumerate(lines, 1):
            if all(word in line for word in wanted):
                return number
    return 1


def _load(path: str, data: bytes) -> dict[str, Any]:
    return load(data.removeprefix(b"\xef\xbb\xbf"), path, decimal=str)


def _strict(parse: Any, data: bytes, path: str) -> Any:  # noqa: ANN401
    try:
        return parse(data, path)
    except FormatError:
        return None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _facts(raw: Mapping[str, Any], path: str) -> list[Any]:
    facts = raw.get("facts")
    if isinstance(facts, dict):
        return [{"k": k, "v": v} for k, v in facts.items()]
    return _list(raw, "facts", path)


def _said(item: Mapping[str, Any], k: str, v: object) -> Iterator[Said]:
    options = {name: item[name] for name in _OPTIONS if item.get(name) is not None}
    run = next(filter(None, (run_of(item[name]) for name in _RUN if name in item)), "")
    for value in _values(v):
        yield Said(k, value, _text(item, "src"), run, options)


def _values(v: object) -> Iterable[Value]:
    """Yield the values that a JSON value comes to: a list is several, an object its own text."""
    if isinstance(v, list):
        for member in v:
            yield from _values(member)
    elif isinstance(v, bool) or (isinstance(v, int) and abs(v) < SAFE_INTEGER):
        yield v
    elif v is not None:
        text = clean(v if isinstance(v, str) else encode(v)).strip()[:MAX_VALUE]
        if text:
            yield text


def _list(raw: Mapping[str, Any], name: str, path: str) -> list[Any]:
    value = raw.get(name)
    if value is not None and not isinstance(value, list):
        raise FormatError(path, "is not a list: make it one", f"/{name}")
    return value or []


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _first(raw: Mapping[str, Any], names: Iterable[str]) -> str:
    return next(filter(None, (_text(raw, name) for name in names)), "")


def _named(path: str) -> tuple[str, str, str]:
    """Return the ends and the predicate as a file's name gives them."""
    words = path.rsplit("/", maxsplit=1)[-1].removesuffix(".json").split("--")
    if len(words) == 4:
        folder = path.split("/")[1]
        return f"{folder}/{words[0]}", words[1], f"{words[2]}/{words[3]}"
    return (words[0], words[1], words[2]) if len(words) == 3 else ("", "", "")


def _front(text: str) -> tuple[dict[str, Any], str]:
    """Return (front matter, the rest): each line a name and a JSON value or plain words."""
    head, fence, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not fence:
        return {}, text
    found: dict[str, Any] = {}
    for line in head.split("\n"):
        name, _, value = line.partition(":")
        try:
            found[name.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            found[name.strip()] = value.strip()
    return found, body


def _outcome(text: str) -> str:
    failed = re.search(r"(?i)\bfail|\b(?:not|n't|never) work", text)
    worked = re.search(r"(?i)(?<!not )(?<!n't )(?<!never )\b(?:worked|works)\b", text)
    if bool(failed) == bool(worked):
        return "inconclusive"
    return "failed" if failed else "worked"


def _because(text: str) -> str:
    """Return the rest of the sentence after "because", else the first sentence."""
    found = re.search(r"(?is)\bbecause\b[:,]?\s+(.+?)(?:[.!?](?=\s|$)|$)", text)
    return found[1] if found else re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
