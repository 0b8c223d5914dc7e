"""Values to canonical bytes to paths and back: what FORMAT.md says, in code.

Knows nothing of git; `kg.store` knows nothing of what the bytes mean.
"""

from kg.format.canonical import (
    dump_edge,
    dump_entity,
    parse_edge,
    parse_entity,
)
from kg.format.paths import (
    EDGES,
    ENTITIES,
    FAN_OUT_AT,
    RAW,
    TRIED,
    edge_path,
    entity_path,
    fanned,
    key_of_edge_path,
    raw_path,
)
from kg.format.settings import Settings, dump_settings, parse_settings
from kg.format.trace import dump_trace, parse_trace, trace_path

__all__ = [
    "EDGES",
    "ENTITIES",
    "FAN_OUT_AT",
    "RAW",
    "TRIED",
    "Settings",
    "dump_edge",
    "dump_entity",
    "dump_settings",
    "dump_trace",
    "edge_path",
    "entity_path",
    "fanned",
    "key_of_edge_path",
    "parse_edge",
    "parse_entity",
    "parse_settings",
    "parse_trace",
    "raw_path",
    "trace_path",
]
