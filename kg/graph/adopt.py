"""Making a hand-written store canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kg.graph.draft import Draft
    from kg.graph.graph import Graph


def adopt(graph: Graph, draft: Draft, paths: list[str]) -> list[str]:
    """Put what the hand-written files say into the draft; return the paths taken over."""
    raise NotImplementedError
