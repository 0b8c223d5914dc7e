"""What became of what was said: the answer to a write, as values and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kg.clusters import Standing
from kg.model import Value
from kg.resolve import Created, Decision, Matched
from kg.resolve.bands import Cutoffs
from kg.sightings import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """What a mention was taken for."""

    ref: str
    id: str
    decision: Decision

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {"ref": self.ref, "id": self.id, **decision_to_json(self.decision)}

    def in_words(self) -> str:
        """Return what was decided by the bands as a commit's trailer has it, "" for the rest."""
        shown = decision_to_json(self.decision)
        if "scorer" not in shown:
            return ""
        near = f" {shown['score']} like {shown['nearest']}" if "score" in shown else ""
        cutoffs = f"{shown['scorer']} {shown['lower']}..{shown['upper'] or 'off'}"
        because = f": {shown['because']}" if "because" in shown else ""
        return f"{self.id} {shown['decision']}{near} ({cutoffs}){because}"


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """Return a decision as the JSON contract shows it, with whatever it rests on."""
    if isinstance(decision, Created):
        return {"decision": "created", **_cutoffs_to_json(decision.cutoffs)}
    if isinstance(decision, Matched):
        found: dict[str, Any] = {"decision": "matched", "by": decision.by, "of": decision.id}
    else:
        candidates = list(decision.candidates)
        found = {"decision": "pending", "candidates": candidates, "because": decision.because}
    if decision.evidence is None:
        return found
    evidence = decision.evidence
    near = {"nearest": evidence.nearest, "like": evidence.name, "score": str(evidence.score)}
    return found | near | _cutoffs_to_json(evidence.cutoffs)


def _cutoffs_to_json(cutoffs: Cutoffs | None) -> dict[str, Any]:
    if cutoffs is None:
        return {}
    upper = str(cutoffs.upper) if cutoffs.upper is not None else None
    said = {"scorer": cutoffs.scorer, "upper": upper, "lower": str(cutoffs.lower)}
    return {**said, "bound": cutoffs.bound} if cutoffs.bound else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What became of one thing said; `against` are the (value, src) that it contradicts.

    `because` is why it was retracted, where nothing new speaks for it and so it stays retracted.
    """

    id: str
    k: str
    v: Value
    src: str
    outcome: Outcome | str
    inferred: bool = False
    against: tuple[tuple[str, str], ...] = ()
    because: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {
            "id": self.id, "k": self.k, "v": self.v, "src": self.src, "outcome": self.outcome,
        }  # fmt: skip
        if self.inferred:
            found["basis"] = "inferred"
        if self.because:
            found["retracted_because"] = self.because
        if self.against:
            found["contradicts"] = [{"v": v, "src": src} for v, src in self.against]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of a judgement: by whom, and what stands of the pair and its cluster since.

    `outcome` is judged, suggested (an agent's, which links nothing), withdrawn, known, or told
    late (the same judge has spoken in a later run). `canonical` is what both go by, where they
    are one.
    """

    one: str
    other: str
    verdict: str
    by: str
    outcome: str
    standing: Standing
    canonical: str = ""
    disputed: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        said = {name: getattr(self, name) for name in ("one", "other", "verdict", "by", "outcome")}
        stands = {"verdict": self.standing.verdict, "by": list(self.standing.by)}
        found = {**said, "stands": stands, "disputed": self.disputed}
        return {**found, "canonical": self.canonical} if self.canonical else found


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What became of one observation."""

    run: str
    agent: str
    raw: str = ""
    redacted: tuple[tuple[str, str], ...] = ()  # where, kind
    mentions: list[Mentioned] = field(default_factory=list)
    facts: list[Stated] = field(default_factory=list)
    edges: list[Stated] = field(default_factory=list)
    tried: list[tuple[str, str]] = field(default_factory=list)  # path, outcome
    retracted: list[Stated] = field(default_factory=list)
    renamed: list[Stated] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    amended: list[Stated] = field(default_factory=list)  # confirmed, archived, restored
    commit: str = ""

    @property
    def contradictions(self) -> list[Stated]:
        """The new facts and edges that contradict what is there."""
        return [s for s in (*self.facts, *self.edges) if s.against]

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {
            "run": self.run,
            "agent": self.agent,
            "raw": self.raw,
            "commit": self.commit,
            "redacted": [{"where": where, "kind": kind} for where, kind in self.redacted],
            "mentions": [m.to_json() for m in self.mentions],
            "facts": [s.to_json() for s in self.facts],
            "edges": [s.to_json() for s in self.edges],
            "tried": [{"path": path, "outcome": outcome} for path, outcome in self.tried],
            "retracted": [s.to_json() for s in self.retracted],
            "renamed": [s.to_json() for s in self.renamed],
            "judged": [j.to_json() for j in self.judged],
            "amended": [s.to_json() for s in self.amended],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a write: committed, nothing new, or kept for later (`queued` says why)."""

    recorded: tuple[Recorded, ...] = ()
    commits: tuple[str, ...] = ()
    queued: str = ""
    kept_as: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        found: dict[str, Any] = {
            "commits": list(self.commits),
            "results": [r.to_json() for r in self.recorded],
        }
        if self.queued:
            found["queued"] = {"because": self.queued, "as": self.kept_as}
        return found
