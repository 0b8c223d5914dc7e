"""What an observation says, as values: mentions, facts, edges and what else can be told.

Parsed by `kg.graph.observation`, put into effect by `kg.graph.record`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kg.model import Value, value_text
from kg.text import fold

WITHDRAWN = "withdrawn"  # whoever judged says nothing of the pair any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Where something was said: a quote (of this text, or `within` a raw file), lines, or a src."""

    quote: str = ""
    lines: tuple[int, int] | None = None
    src: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A thing spoken of, by `id` or by type and name; `ref` names it in this observation."""

    ref: str
    id: str = ""
    type: str = ""
    name: str = ""
    aliases: tuple[tuple[str, Anchor], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A claim's optional members, as given."""

    kind: str | None = None
    basis: str | None = None
    importance: int | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidFact:
    """A fact as said: `entity` is a ref or an id, and so is `v` where the key takes an entity."""

    entity: str
    k: str
    v: Value
    anchor: Anchor
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidEdge:
    """An edge as said, between refs or ids."""

    subject: str
    predicate: str
    object: str
    anchor: Anchor
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTrace:
    """What was tried, as said."""

    about: tuple[str, ...]
    tried: str
    outcome: str
    because: str
    anchor: Anchor
    error: str | None = None
    prose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidRetraction:
    """That a fact (`k`, and `v` where there are several) or an edge is no longer held."""

    entity: str
    anchor: Anchor
    k: str = ""
    v: Value | None = None
    since: str | None = None
    predicate: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidConfirmation:
    """That a person has checked a fact or edge (`k`, and `v` where there are several), or all."""

    entity: str
    anchor: Anchor
    k: str = ""
    v: Value | None = None

    def takes(self, k: str, v: str) -> bool:
        """Whether a statement is meant."""
        return self.k in ("", k) and (self.v is None or fold(value_text(self.v)) == fold(v))


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidArchive:
    """That a thing is put away, or (`archived` false) is not any more."""

    entity: str
    anchor: Anchor
    archived: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidName:
    """That a thing is now called something else."""

    entity: str
    name: str
    anchor: Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidJudgement:
    """That two things are one, or are not, or that it is not known; or that this is taken back."""

    one: str
    other: str
    verdict: str
    anchor: Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one run and agent saw, in one text, and what it makes of it."""

    run: str
    agent: str
    at: int
    text: str = ""
    session: str = ""
    entities: tuple[Mention, ...] = ()
    facts: tuple[SaidFact, ...] = ()
    edges: tuple[SaidEdge, ...] = ()
    tried: tuple[SaidTrace, ...] = ()
    retract: tuple[SaidRetraction, ...] = ()
    rename: tuple[SaidName, ...] = ()
    judge: tuple[SaidJudgement, ...] = ()
    confirm: tuple[SaidConfirmation, ...] = ()
    archive: tuple[SaidArchive, ...] = ()
