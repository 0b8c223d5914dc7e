"""What can be read of a file of the store, however wrong the rest of it is.

`kg.format` is strict, because it guards the writes; a reader takes what it can use and names
what it cannot. Nothing here raises for the sake of what a file holds, except `UnreadableError`
where nothing of it is of use.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.errors import RefusedError
from kg.model import JUDGING, parse_raw_name, run_order
from kg.recall.schema import ITEM, MEMBER
from kg.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_FILE = 4 << 20  # bytes; a fact is at most 10,000 characters, so this is hundreds of facts


_STORED = ("src", "seen_run", "kind", "basis", "importance", "since", "until")


class UnreadableError(ValueError):
    """Nothing in the file is of use; the message says why."""


class Claim(NamedTuple):
    """What stands behind a fact or edge; "" where a member is absent.

    `again` is the latest run that saw it once more.
    """

    src: str
    seen_run: str
    kind: str
    basis: str
    importance: str
    since: str
    until: str
    again: str = ""


class Fact(NamedTuple):
    """A key, a value as text, and whether that text is a string, `b`oolean or `i`nteger."""

    k: str
    v: str
    tag: str
    claim: Claim


class Entity(NamedTuple):
    """One entity file. `said` are the keys it calls contested, `agents` the roles that saw it.

    `sightings` counts the lines of seen_again.
    """

    id: str
    type: str
    name: str
    aliases: tuple[str, ...]
    facts: tuple[Fact, ...]
    said: tuple[str, ...]
    agents: frozenset[str]
    first: str
    seen: str
    archived: bool
    sightings: int


class Edge(NamedTuple):
    """One edge file; its `judgements` are (by, verdict, run), as they stand there."""

    subject: str
    predicate: str
    object: str
    claims: tuple[Claim, ...]
    judgements: tuple[tuple[str, str, str], ...] = ()


class Trace(NamedTuple):
    """One file of tried/, its members in FORMAT.md's order, without the prose."""

    about: tuple[str, ...]
    tried: str
    outcome: str
    because: str
    run: str
    agent: str
    src: str
    error: str


def entity(data: bytes) -> tuple[Entity, list[str]]:
    """Return the entity a file holds, and what in it could not be read."""
    raw = _object(data)
    id_, problems = _required(raw, "id"), []  # type: tuple[str, list[str]]
    again = [a for a in _list(raw, "seen_again", problems) if isinstance(a, dict)]
    facts = tuple(_facts(raw, problems))
    if again:
        facts = tuple(_confirmed(facts, again))
    srcs = [f.claim.src for f in facts] + [_text(a.get("src")) for a in again]
    runs = [f.claim.seen_run for f in facts] + [_text(a.get("run")) for a in again]
    known = sorted(filter(None, map(run_key, runs)))
    also = [f.v for f in facts if f.k == "also-known-as"]
    aliases = [_text(a) for a in _list(raw, "aliases", problems)] + also
    return Entity(
        id=id_,
        type=_text(raw.get("type")) or id_.split("/")[0].capitalize(),
        name=_text(raw.get("name")) or id_.split("/")[-1],
        aliases=tuple(dict.fromkeys(filter(None, aliases))),
        facts=facts,
        said=tuple(sorted({_text(k) for k in _list(raw, "contested", problems)} - {""})),
        agents=agents_of(srcs),
        first=_text(raw.get("first_run")) or (known[0][21:] if known else ""),
        seen=_text(raw.get("last_seen_run")) or (known[-1][21:] if known else ""),
        archived=raw.get("archived") is True,
        sightings=len(again),
    ), problems


def edge(data: bytes) -> tuple[Edge, list[str]]:
    """Return the edge a file holds, and what in it could not be read."""
    raw, problems = _object(data), []  # type: tuple[Mapping[str, Any], list[str]]
    subject, predicate, other = (_required(raw, n) for n in ("subject", "predicate", "object"))
    lines = _list(raw, "claims", problems)
    if "claims" not in raw and "src" in raw:
        lines = [raw]  # as hand-written stores have it: one claim, at the top
    again = [a for a in _list(raw, "seen_again", problems) if isinstance(a, dict)]
    claims = tuple(_claim(c) for c in _dicts(lines, "claims", problems))
    if again:
        claims = tuple(c._replace(again=_latest(again, {"since": c.since})) for c in claims)
    if predicate not in JUDGING:
        return Edge(subject, predicate, other, claims), problems
    lines = _list(raw, "judgements", problems)
    judged = tuple(map(_judged, _dicts(lines, "judgements", problems)))
    return Edge(subject, predicate, other, (), judged), problems


def trace(data: bytes) -> tuple[Trace, list[str]]:
    """Return the reasoning trace a file holds."""
    lines = _decoded(data).split("\n")
    if lines[0].rstrip() != "---":
        raise UnreadableError("has no front matter, so it is about nothing")
    raw: dict[str, Any] = {}
    for line in lines[1:]:
        if line.rstrip() == "---":
            break
        name, _, value = line.partition(":")
        raw[name.strip()] = _scalar(value.strip())
    about = raw.get("about")
    ids = about if isinstance(about, list) else [about]
    return Trace(
        tuple(filter(None, map(_text, ids))),
        *(_text(raw.get(name)) for name in Trace._fields[1:]),
    ), []


def prose(data: bytes) -> str:
    """Return what stands in a trace's file below its front matter."""
    return _decoded(data).partition("\n---")[2].partition("\n")[2]


def store_json(data: bytes) -> Mapping[str, Any]:
    """Return what store.json holds."""
    return _object(data)


@lru_cache(maxsize=4096)
def run_key(run: str) -> str:
    """Return a text that sorts as runs do, "" for what is no run; [21:] is the run."""
    try:
        number, name = run_order(run)
    except RefusedError:
        return ""
    return f"{number:020d} {name}"


def agents_of(srcs: Iterable[str]) -> frozenset[str]:
    """Return the agents whose texts the sources name."""
    return frozenset(filter(None, map(_agent_of, srcs)))


@lru_cache(maxsize=4096)
def raw_name(path: str) -> tuple[str, str]:
    """Return (sortable run, agent) of a path of raw/, ("", "") where it has another form."""
    name = parse_raw_name(path)
    return (run_key(name.run), name.agent) if name else ("", "")


def clean(text: str) -> str:
    """Return `text` without what SQLite cannot hold or the index uses for itself."""
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.translate({0: "\ufffd", 0x1E: "\ufffd", 0x1F: "\ufffd"})


def joined(items: Iterable[Iterable[str]]) -> str:
    """Return the items as one column of the index."""
    return ITEM.join(MEMBER.join(item) for item in items)


def flat(fact: Fact) -> tuple[str, ...]:
    """Return a fact's members in the order the index has them."""
    return (fact.k, fact.v, fact.tag, *fact.claim)


def facts_of(column: str) -> tuple[Fact, ...]:
    """Return the facts that `joined` made a column of."""
    if not column:
        return ()
    rows = [item.split(MEMBER) for item in column.split(ITEM)]
    return tuple(Fact(k, v, tag, Claim(*rest)) for k, v, tag, *rest in rows)


def claims_of(column: str) -> tuple[Claim, ...]:
    """Return the claims that `joined` made a column of."""
    return tuple(Claim(*item.split(MEMBER)) for item in column.split(ITEM)) if column else ()


def judgements_of(column: str) -> list[tuple[str, str, str]]:
    """Return the judgements that `joined` made a column of."""
    rows = [item.split(MEMBER) for item in column.split(ITEM)] if column else []
    return [(by, verdict, run) for by, verdict, run in rows]


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        raw = json.loads(_decoded(data))
    except RecursionError:
        raise UnreadableError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg} at line {error.lineno}") from None
    except ValueError as error:
        raise UnreadableError(f"is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise UnreadableError("is not a JSON object")
    return raw


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 at byte {error.start}") from None


def _facts(raw: Mapping[str, Any], problems: list[str]) -> Iterable[Fact]:
    for at, item in enumerate(_list(raw, "facts", problems)):
        k = _text(item.get("k")) if isinstance(item, dict) else ""
        v, tag = _value(item.get("v")) if isinstance(item, dict) else ("", "")
        if k and (v or tag == "s"):
            yield Fact(k, v, tag.strip("s"), _claim(item))
        else:
            problems.append(f"/facts/{at} is not a fact")


def _claim(raw: Mapping[str, Any]) -> Claim:
    get = raw.get
    return Claim(*[_value(v)[0] if (v := get(name)) is not None else "" for name in _STORED])


def _confirmed(facts: Iterable[Fact], again: Sequence[Mapping[str, Any]]) -> Iterable[Fact]:
    """Yield the facts with the latest run that saw each again."""
    for fact in facts:
        same = {"k": fact.k, "v": fact.v, "since": fact.claim.since}
        yield fact._replace(claim=fact.claim._replace(again=_latest(again, same)))


def _latest(again: Sequence[Mapping[str, Any]], same: Mapping[str, str]) -> str:
    """Return the latest run of those lines whose members are these."""
    runs = [
        run_key(_text(line.get("run")))
        for line in again
        if all(fold(_value(line.get(name))[0]) == fold(value) for name, value in same.items())
    ]
    return max(runs, default="")[21:]


def _agent_of(src: str) -> str:
    return raw_name(src.partition("#")[0])[1]


def _judged(raw: Mapping[str, Any]) -> tuple[str, str, str]:
    return _text(raw.get("by")), _text(raw.get("verdict")), _text(raw.get("run"))


def _value(value: object) -> tuple[str, str]:
    if isinstance(value, str):
        return clean(value), "s"
    if isinstance(value, bool):
        return str(value).lower(), "b"
    return (str(value), "i") if isinstance(value, int) else ("", "")


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _required(raw: Mapping[str, Any], name: str) -> str:
    text = _text(raw.get(name))
    if not text:
        raise UnreadableError(f"has no {name}")
    return text


def _list(raw: Mapping[str, Any], name: str, problems: list[str]) -> list[Any]:
    value = raw.get(name, [])
    if isinstance(value, list):
        return value
    problems.append(f"/{name} is not a list")
    return []


def _dicts(items: list[Any], name: str, problems: list[str]) -> Iterable[Mapping[str, Any]]:
    for at, item in enumerate(items):
        if isinstance(item, dict):
            yield item
        else:
            problems.append(f"/{name}/{at} is not an object")


def _scalar(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
