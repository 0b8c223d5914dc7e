"""The values a memory is made of, and the rules each must keep on its own.

Constructing a value checks it: what exists is valid. What needs more than the value to
judge (is the key known, does the source line exist) is not known here. Strings come out in
NFC; grammar and bounds are those of FORMAT.md, and `kg/schema/` says the same in JSON Schema
(a property test holds that both agree).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from unicodedata import normalize

from kg.errors import MissingSourceError, RefusedError
from kg.text import fold

Value = str | bool | int

KINDS = (
    "fact", "decision", "preference", "instruction",
    "goal", "learning", "observation", "commitment",
)  # fmt: skip
BASES = ("stated", "observed", "imported", "inferred")
OUTCOMES = ("failed", "worked", "inconclusive")
VERDICTS = ("same", "different", "unsure")
JUDGING = ("same-as", "different-from")  # the predicates that hold judgements, not claims

MAX_NAME, MAX_VALUE, MAX_SLUG = 500, 10_000, 80  # characters, characters, bytes
SAFE_INTEGER = 2**53  # from here on JSON readers that use doubles lose digits (RFC 8259, 6)

SLUG = r"[a-z0-9]+(?:[-._][a-z0-9]+)*"
_ID = re.compile(rf"([a-z]+)/({SLUG})")
_WORD = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")  # keys and predicates
_RUN = re.compile(r"r([0-9]{1,12})(?:\.[a-z0-9]{1,16})?")
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_BY = re.compile(r"(?:person:|agent:)?[a-z0-9][a-z0-9._-]{0,62}")
_RAW = re.compile(r"raw/(?:[0-9a-f]{2}/)?(r[0-9]{1,12}(?:\.[a-z0-9]{1,16})?)-([a-z0-9][a-z0-9._-]{0,62}?)(?:\.([0-9a-f]{8,64}))?\.txt")  # fmt: skip  # noqa: E501
_SRC = re.compile(r"(raw/[A-Za-z0-9._/-]+)#L([1-9][0-9]{0,8})(?:-L([1-9][0-9]{0,8}))?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?")
_SCORE = re.compile(r"(?:0|1|[1-9][0-9]*/[1-9][0-9]*)")
# Names of devices on Windows, whatever their extension ("Naming Files, Paths, and Namespaces").
DEVICES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}
)
# Controls but tab and line feed, and lone surrogates, which UTF-8 cannot carry.
UNTEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Source(NamedTuple):
    """Lines `first` to `last` (from 1, inclusive) of a file of raw/."""

    path: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path}#L{self.first}" + (f"-L{self.last}" if self.last > self.first else "")


class RawName(NamedTuple):
    """What the name of a file of raw/ says: the run and the agent that saw it."""

    run: str
    agent: str
    digits: str


def parse_source(text: str) -> Source:
    """Return the lines a `src` names.

    Raises:
        MissingSourceError: it does not have the form `raw/FILE#L4` or `raw/FILE#L4-L6`.
    """
    found = _SRC.fullmatch(text)
    if not found or {"", ".", ".."}.intersection(found[1].split("/")):
        raise MissingSourceError(
            f"{_shown(text)} is not a source: name a line of raw/, as in raw/FILE.txt#L4"
        )
    first = int(found[2])
    last = int(found[3] or first)
    if last < first or (found[3] and last == first):
        raise MissingSourceError(f"{_shown(text)}: the last line must come after the first")
    return Source(found[1], first, last)


def parse_raw_name(path: str) -> RawName | None:
    """Return run, agent and digits of a path of raw/, None where it has another form."""
    found = _RAW.fullmatch(path)
    return RawName(found[1], found[2], found[3] or "") if found else None


def split_id(text: str) -> tuple[str, str]:
    """Return (prefix, slug) of an id.

    Raises:
        RefusedError: it is not `<type>/<slug>` by the grammar of FORMAT.md.
    """
    found = _ID.fullmatch(text)
    if not found or len(found[2]) > MAX_SLUG or found[2].split(".")[0] in DEVICES:
        raise RefusedError(
            f"{_shown(text)} is not an id: write <type>/<slug>, as in object/payments-api"
        )
    return found[1], found[2]


def is_id(text: object) -> bool:
    """Whether the text has the form of an id."""
    try:
        return isinstance(text, str) and bool(split_id(text))
    except RefusedError:
        return False


def run_order(run: str) -> tuple[int, str]:
    """Return the key that orders runs: the number, then the id."""
    found = _RUN.fullmatch(run)
    if not found:
        raise RefusedError(f"{_shown(run)} is not a run: write r<unix seconds>, as in r1785343267")
    return int(found[1]), run


def check_agent(agent: str) -> str:
    """Return the agent's name if it keeps to the grammar."""
    if not _AGENT.fullmatch(agent):
        raise RefusedError(
            f"{_shown(agent)} is no agent's name: lower-case letters, digits, . _ -, as in scoper"
        )
    return agent


def check_word(word: str, what: str) -> str:
    """Return a key's or predicate's name if it keeps to the grammar."""
    if not _WORD.fullmatch(word) or len(word) > 40:
        raise RefusedError(f"{_shown(word)} is not a {what}: lower-case words joined by single -")
    return word


def check_text(text: object, what: str, limit: int = MAX_VALUE) -> str:
    """Return `text` in NFC if it is text: not blank, not over `limit`, no control characters."""
    if not isinstance(text, str):
        raise RefusedError(f"{what} must be a string, not {_kind_of(text)}: quote it")
    if not text.strip():
        raise RefusedError(f"{what} is empty: give it or leave it out")
    if len(text) > limit:
        raise RefusedError(
            f"{what} has {len(text)} characters, over {limit}: keep long text in raw/ and quote it"
        )
    if UNTEXT.search(text):
        raise RefusedError(f"{what} holds a control character or half a character: remove it")
    return normalize("NFC", text)


def check_name(text: object, what: str = "a name") -> str:
    """Return a name in NFC: text on one line, at most 500 characters."""
    name = check_text(text, what, MAX_NAME)
    if "\n" in name or "\t" in name:
        raise RefusedError(f"{what} holds a line break or tab: write it on one line")
    return name


def check_value(v: object) -> Value:
    """Return a fact's value: text, a boolean, or an integer below 2^53 in magnitude."""
    if isinstance(v, bool):
        return v
    if isinstance(v, int):
        if abs(v) >= SAFE_INTEGER:
            raise RefusedError(f"v is {v}, beyond 2^53: write it as a string")
        return v
    if isinstance(v, float):
        raise RefusedError(f"v is the decimal {v}: write it as a string")
    return check_text(v, "v")


def check_time(text: object, what: str) -> str:
    """Return a bare date or RFC 3339 time in UTC, as FORMAT.md writes it."""
    try:
        if isinstance(text, str) and _TIME.fullmatch(text):
            datetime.fromisoformat(text)
            return text
    except ValueError:
        pass
    raise RefusedError(
        f"{what} is {_shown(text)}: write a date as 2026-11-30 or a time as 2026-11-30T09:00:00Z"
    )


def moment(time: str | None) -> str:
    """Return a time in the form that sorts: a bare date is its first moment."""
    return f"{time}T00:00:00Z" if time and len(time) == len("2026-11-30") else time or ""


def value_text(v: Value) -> str:
    """Return a value as text, the way JSON and the answers show it."""
    return str(v).lower() if isinstance(v, bool) else str(v)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one source line says: the part that facts and edges have in common.

    `kind` and `importance` are None where the key or predicate implies them.
    """

    src: str
    seen_run: str
    kind: str | None = None
    basis: str = "stated"
    importance: int | None = None
    since: str | None = None
    until: str | None = None

    def __post_init__(self) -> None:
        parse_source(self.src)
        run_order(self.seen_run)
        _among(self.kind, (*KINDS, None), "kind")
        _among(self.basis, BASES, "basis")
        _among(self.importance, (*range(1, 10), None), "importance")
        if isinstance(self.importance, bool):
            raise RefusedError("importance must be a number from 1 to 9")
        for what in ("since", "until"):
            if getattr(self, what) is not None:
                check_time(getattr(self, what), what)
        if self.since and self.until and moment(self.until) <= moment(self.since):
            raise RefusedError(f"until {self.until} is not after since {self.since}: swap them")

    @property
    def order(self) -> tuple[tuple[int, str], str]:
        """The key that decides which of several sightings is the origin: the least."""
        return run_order(self.seen_run), self.src

    def overlaps(self, other: Claim) -> bool:
        """Whether the two hold at some common time; `until` is exclusive."""
        return not (self._ends_before(other) or other._ends_before(self))

    def _ends_before(self, other: Claim) -> bool:
        return bool(self.until and other.since) and moment(self.until) <= moment(other.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Claim):
    """One thing said about an entity, and the line it was said on."""

    k: str
    v: Value
    # equal for facts that are the same: key, value folded, start of validity
    identity: tuple[str, str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # slots=True makes a new class, so the zero-argument super() does not find this one
        Claim.__post_init__(self)
        check_word(self.k, "key")
        object.__setattr__(self, "v", check_value(self.v))
        identity = (self.k, fold(value_text(self.v)), self.since or "")
        object.__setattr__(self, "identity", identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeClaim(Claim):
    """An edge's claim with the rest of its edge, as a retraction keeps it."""

    predicate: str
    object: str

    def __post_init__(self) -> None:
        Claim.__post_init__(self)
        check_word(self.predicate, "predicate")
        split_id(self.object)

    @property
    def identity(self) -> tuple[str, str, str]:
        """Equal for claims of the same edge and start of validity."""
        return self.predicate, self.object, self.since or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The latest run in which an agent (or a person) saw a statement again.

    `k` and `v` are empty for the sightings of an edge's claim.
    """

    by: str
    run: str
    src: str
    k: str = ""
    v: Value = ""
    since: str | None = None

    def __post_init__(self) -> None:
        if not _BY.fullmatch(self.by):
            raise RefusedError(f"{_shown(self.by)} is neither an agent nor person:NAME")
        run_order(self.run)
        parse_source(self.src)
        if self.k:
            check_word(self.k, "key")
            object.__setattr__(self, "v", check_value(self.v))
        if self.since is not None:
            check_time(self.since, "since")

    @property
    def identity(self) -> tuple[str, str, str]:
        """The identity of the statement that was seen."""
        return self.k, fold(value_text(self.v)), self.since or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A statement no longer held, with the source of the reason: a value, not an absence."""

    what: Fact | EdgeClaim
    because: str
    retracted_run: str

    def __post_init__(self) -> None:
        parse_source(self.because)
        run_order(self.retracted_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One verdict on a pair: who, when, why; for the resolver with score and cutoffs."""

    by: str
    verdict: str
    run: str
    src: str
    score: str | None = None
    upper: str | None = None
    lower: str | None = None
    scorer: str | None = None

    def __post_init__(self) -> None:
        if not (_BY.fullmatch(self.by) and (":" in self.by or self.by == "resolver")):
            raise RefusedError(f"{_shown(self.by)} is not person:NAME, agent:NAME or resolver")
        _among(self.verdict, VERDICTS, "verdict")
        run_order(self.run)
        parse_source(self.src)
        for what in ("score", "upper", "lower"):
            text = getattr(self, what)
            if text is not None and not _SCORE.fullmatch(text):
                raise RefusedError(f"{what} is {_shown(text)}: write a fraction, as in 2/3")
        if self.scorer is not None:
            check_name(self.scorer, "scorer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One thing, and everything said about it."""

    id: str
    type: str
    name: str
    facts: tuple[Fact, ...] = ()
    seen_again: tuple[Sighting, ...] = ()
    retracted: tuple[Retraction, ...] = ()
    contested: tuple[str, ...] = ()
    first_run: str
    last_seen_run: str
    archived: bool = False

    def __post_init__(self) -> None:
        split_id(self.id)
        object.__setattr__(self, "name", check_name(self.name))
        check_name(self.type, "type")
        if run_order(self.last_seen_run) < run_order(self.first_run):
            raise RefusedError("last_seen_run comes before first_run: swap them")
        _no_twins([fact.identity for fact in self.facts], "fact")

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names: what the live `also-known-as` facts say, but for its own name."""
        told = (value_text(f.v) for f in self.facts if f.k == "also-known-as")
        return tuple(name for name in told if name != self.name)

    def fact(self, identity: tuple[str, str, str]) -> Fact | None:
        """The live fact of that identity, if there is one."""
        return next((f for f in self.facts if f.identity == identity), None)

    def seen(self, run: str) -> Entity:
        """The entity with its span of runs widened to take in `run`."""
        first = min(self.first_run, run, key=run_order)
        last = max(self.last_seen_run, run, key=run_order)
        if (first, last) == (self.first_run, self.last_seen_run):
            return self
        return replace(self, first_run=first, last_seen_run=last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed relation between two entities: claims, or judgements for `JUDGING` predicates."""

    subject: str
    predicate: str
    object: str
    claims: tuple[Claim, ...] = ()
    seen_again: tuple[Sighting, ...] = ()
    judgements: tuple[Judgement, ...] = ()

    def __post_init__(self) -> None:
        split_id(self.subject)
        split_id(self.object)
        check_word(self.predicate, "predicate")
        if self.subject == self.object:
            raise RefusedError(f"{self.subject} cannot be {self.predicate} itself: name two things")
        judging = self.predicate in JUDGING
        if judging and self.object < self.subject:
            raise RefusedError(f"a {self.predicate} edge goes from the lesser id to the greater")
        if judging and (self.claims or self.seen_again):
            raise RefusedError(f"a {self.predicate} edge holds judgements, not claims")
        if not judging and self.judgements:
            raise RefusedError(f"a {self.predicate} edge holds claims, not judgements")
        if not (self.judgements or self.claims):
            raise RefusedError("an edge without a claim has no file: remove it")
        _no_twins([claim.since or "" for claim in self.claims], "claim")

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the edge: subject, predicate, object."""
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What was tried and how it ended: read when something fails, not on the way in."""

    about: tuple[str, ...]
    tried: str
    outcome: str
    because: str
    run: str
    agent: str
    src: str
    error: str | None = None
    prose: str = ""

    def __post_init__(self) -> None:
        for about in self.about:
            split_id(about)
        object.__setattr__(self, "about", tuple(sorted(set(self.about))))
        object.__setattr__(self, "tried", check_text(self.tried, "tried"))
        object.__setattr__(self, "because", check_text(self.because, "because"))
        _among(self.outcome, OUTCOMES, "outcome")
        run_order(self.run)
        check_agent(self.agent)
        parse_source(self.src)
        if self.error is not None:
            object.__setattr__(self, "error", check_text(self.error, "error"))
        if self.prose:
            object.__setattr__(self, "prose", check_text(self.prose, "prose").strip("\n"))


def _among(value: object, allowed: tuple[object, ...], what: str) -> None:
    if value not in allowed or (value is not None and isinstance(value, bool | float)):
        choices = ", ".join(str(a) for a in allowed if a is not None)
        raise RefusedError(f"{what} is {_shown(value)}: use one of {choices}")


def _no_twins(identities: Sequence[object], what: str) -> None:
    if len(set(identities)) != len(identities):
        raise RefusedError(f"the same {what} stands there twice: keep one")


def _kind_of(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."
