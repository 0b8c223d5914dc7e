"""Where each value lies in a store, and what a path says about it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from kg.model import RawName, is_id, split_id

ENTITIES, EDGES, RAW, TRIED = "entities", "edges", "raw", "tried"
FAN_OUT_AT = 4000  # files in one folder; beyond, git rewrites too large a tree (GIT.md, 2)


def entity_path(id_: str, fan_out: Collection[str]) -> str:
    """Return the path of an entity's file."""
    prefix, slug = split_id(id_)
    return _under(f"{ENTITIES}/{prefix}", slug, f"{slug}.json", fan_out)


def edge_path(subject: str, predicate: str, object_: str, fan_out: Collection[str]) -> str:
    """Return the path of an edge's file, which lies with its subject's."""
    prefix, slug = split_id(subject)
    other, other_slug = split_id(object_)
    name = f"{slug}--{predicate}--{other}--{other_slug}.json"
    return _under(f"{EDGES}/{prefix}", slug, name, fan_out)


def fanned(folder: str, name: str) -> str:
    """Return the path of a file of `folder` (entities/<type>, edges/<type>) when fanned out."""
    slug = name.removesuffix(".json").split("--")[0]
    return f"{folder}/{_hex(slug)}/{name}"


def key_of_edge_path(path: str) -> tuple[str, str, str] | None:
    """Return (subject, predicate, object) as a path of edges/ says, None for another form."""
    parts = path.removesuffix(".json").split("/")
    words = parts[-1].split("--")
    if parts[0] != EDGES or len(words) != 4 or not path.endswith(".json"):
        return None
    subject, object_ = f"{parts[1]}/{words[0]}", f"{words[2]}/{words[3]}"
    return (subject, words[1], object_) if is_id(subject) and is_id(object_) else None


def raw_path(name: RawName, folded: bool) -> str:
    """Return the path of a new file of raw/; `folded` when raw/ itself is full."""
    sub = f"{name.digits[:2]}/" if folded else ""
    return f"{RAW}/{sub}{name.run}-{name.agent}.{name.digits}.txt"


def _under(folder: str, slug: str, name: str, fan_out: Collection[str]) -> str:
    return f"{folder}/{_hex(slug)}/{name}" if folder in fan_out else f"{folder}/{name}"


def _hex(slug: str) -> str:
    # spreads files evenly; slugs' own first letters do not ("src-", "tests-"; GIT.md, 2)
    return hashlib.sha1(slug.encode(), usedforsecurity=False).hexdigest()[:2]
