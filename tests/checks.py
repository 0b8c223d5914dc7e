"""What must hold of any store at any time: by git, the format's readers and writers, and fsck."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stores import git

from kg.audit.fsck import fsck
from kg.format import (
    dump_edge,
    dump_entity,
    dump_settings,
    dump_trace,
    edge_path,
    entity_path,
    parse_edge,
    parse_entity,
    parse_settings,
    parse_trace,
)
from kg.graph import Graph

if TYPE_CHECKING:
    from kg.graph.recorded import Recorded


def check_store(top: str, prefix: str = "") -> None:
    """Assert that HEAD is the working files, canonical, its sources resolve, and git is content."""
    folder = Path(top, prefix)
    assert git(Path(top), "diff", "HEAD", "--stat") == ""
    assert git(Path(top), "status", "--porcelain", "--untracked-files=no") == ""
    names = git(Path(top), "ls-files", "-z", "--", prefix or ".").split("\0")[:-1]
    files = {n.removeprefix(f"{prefix}/"): Path(top, n).read_bytes() for n in names}
    settings = parse_settings(files["store.json"])
    assert dump_settings(settings) == files["store.json"]
    lines = {n: d.count(b"\n") + (not d.endswith(b"\n")) for n, d in files.items()}
    ids = set()
    for name, data in files.items():
        if name.startswith("entities/"):
            entity = parse_entity(data, name)
            assert dump_entity(entity) == data, name
            assert entity_path(entity.id, settings.fan_out) == name
            assert entity.contested == settings.ontology.contested(entity.facts)
            for fact in entity.facts:
                settings.ontology.check_fact(entity.id, fact.k, fact.v)
            ids.add(entity.id)
        elif name.startswith("tried/"):
            assert dump_trace(parse_trace(data, name)) == data, name
        elif name.startswith("edges/"):
            edge = parse_edge(data, name)
            assert dump_edge(edge) == data, name
            assert edge_path(*edge.key, settings.fan_out) == name
            settings.ontology.check_edge(*edge.key)
        if not name.startswith("raw/") and "/" in name:
            for path, first, last in sources(data.decode()):
                assert 0 < first <= last <= lines.get(path, 0), f"{name}: {path}#L{first}"
    for name, data in files.items():
        if name.startswith("edges/"):
            assert {parse_edge(data, name).subject, parse_edge(data, name).object} <= ids, name
    git(folder, "fsck", "--strict", "--no-progress")
    assert [f for f in fsck(Graph(str(folder))) if f.level == "fault"] == []


def sources(text: str) -> list[tuple[str, int, int]]:
    """Return every source a file names."""
    found = re.findall(r'"(?:src|because)": "(raw/[^"#]+)#L(\d+)(?:-L(\d+))?"', text)
    found += re.findall(r'^src: "(raw/[^"#]+)#L(\d+)(?:-L(\d+))?"', text, re.MULTILINE)
    return [(path, int(first), int(last or first)) for path, first, last in found]


def one_line_error(error: Any) -> None:  # noqa: ANN401
    """Assert that an error's message is one printable line."""
    assert str(error)
    assert "\n" not in str(error)
    assert str(error).isprintable()


def remembered(graph: Graph, raw: dict[str, Any]) -> Recorded:
    """Remember one observation, check the store, and return what became of it."""
    answer = graph.remember([raw])
    check_store(graph.place.top, graph.place.prefix)
    assert len(answer.recorded) == 1
    return answer.recorded[0]


def head(graph: Graph) -> str:
    """Return HEAD's commit."""
    return git(Path(graph.place.top), "rev-parse", "HEAD").strip()
