"""The git store: bytes at paths, committed all or nothing. Knows nothing of what a fact is."""

from kg.store.outbox import Outbox
from kg.store.repository import Repository
from kg.store.snapshot import Snapshot
from kg.store.writing import Plan, Planned, Written, write

__all__ = ["Outbox", "Plan", "Planned", "Repository", "Snapshot", "Written", "write"]
