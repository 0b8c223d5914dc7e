"""What a person should know about a store at a glance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kg.audit.drafts import Drafted, drafts
from kg.errors import FormatVersionError, KgError, StateError
from kg.format import EDGES, ENTITIES, RAW, TRIED, Settings, parse_settings
from kg.format.settings import PATH as SETTINGS
from kg.format.settings import check_version
from kg.graph import Graph
from kg.graph.learning import Heard, waiting
from kg.model import parse_raw_name, run_order
from kg.store import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where the store is, what it holds, and what waits for somebody."""

    store: str
    why: str
    layout: str
    head: str
    counts: dict[str, int]
    runs: int
    last_run: str
    format: int
    problem: str = ""
    in_the_way: str = ""
    drafts: tuple[Drafted, ...] = ()
    waiting: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    meant: tuple[tuple[str, Heard], ...] = ()
    index: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {
            "store": self.store, "why": self.why, "layout": self.layout, "head": self.head,
            "counts": self.counts, "runs": self.runs, "last_run": self.last_run,
            "format": self.format, "problem": self.problem, "in_the_way": self.in_the_way,
            "drafts": [{"path": d.path, "state": d.state} for d in self.drafts],
            "outbox": {
                "waiting": self.waiting,
                "refused": [{"path": path, "because": because} for path, because in self.refused],
            },
            "meant": [{"id": id_, **heard.to_json()} for id_, heard in self.meant],
            "index": self.index, "notes": list(self.notes),
        }  # fmt: skip


def status(graph: Graph) -> Status:
    """Return the state of a store; takes no lock of git's and changes nothing in it."""
    place, snapshot = graph.place, graph.at()
    settings, problem = _settings(snapshot)
    names = [n for path, _ in snapshot.files(RAW) if (n := parse_raw_name(path))]
    runs = {(n.run, n.agent) for n in names}
    return Status(
        store=place.folder or place.gitdir,
        why=place.why,
        layout=_layout(graph),
        head=snapshot.commit,
        counts={
            "entities": _count(snapshot, ENTITIES),
            "edges": _count(snapshot, EDGES),
            "raw": len(names),
            "tried": snapshot.count(TRIED),
        },
        runs=len(runs),
        last_run=max((run for run, _ in runs), key=run_order, default=""),
        format=settings.version,
        problem=problem,
        in_the_way=_in_the_way(graph),
        drafts=tuple(drafts(graph)),
        waiting=len(graph.outbox.names()),
        refused=tuple(graph.outbox.refused()),
        meant=tuple(waiting(graph)),
        index=graph.index().tree,
        notes=tuple(graph.index().notes),
    )


def _settings(snapshot: Snapshot) -> tuple[Settings, str]:
    data = snapshot.read(SETTINGS)
    if data is None:
        return Settings(version=0), "HEAD has no store.json: run kg init"
    try:
        settings = parse_settings(data)
        check_version(settings)
    except FormatVersionError as error:
        return settings, str(error)
    except KgError as error:
        return Settings(version=0), str(error)
    return settings, ""


def _layout(graph: Graph) -> str:
    place = graph.place
    if place.bare:
        return "bare repository"
    if place.seed:
        return "hand-written store, read-only"
    return f"folder {place.prefix}/ of {place.top}" if place.shared else "repository of its own"


def _in_the_way(graph: Graph) -> str:
    try:
        graph.repository.check_state()
    except StateError as error:
        return str(error)
    return ""


def _count(snapshot: Snapshot, folder: str) -> int:
    return sum(1 for path, _ in snapshot.files(folder) if path.endswith(".json"))
