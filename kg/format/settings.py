"""store.json: format version, additions to the ontology, policies, synonyms, fan-out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from unicodedata import normalize

from kg.errors import FormatError, FormatVersionError, OntologyError
from kg.format.canonical import encode, load
from kg.format.schema import problems
from kg.ontology import Ontology, extend, shipped

VERSION = 1
PATH = "store.json"
# An exact name links things that have few namesakes; people and places have many, so there
# an identifying fact that conflicts prevents it (`kg.resolve.decide`).
EXACT = {
    "Object": "link",
    "Organization": "link",
    "Event": "link",
    "Person": "check",
    "Location": "check",
}


Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What store.json says; `more` keeps members that this version does not know.

    `synonyms` are groups of words that mean the same to a search; None is the shipped table.
    """

    version: int = VERSION
    additions: Mapping[str, Any] = field(
        default_factory=lambda: {"types": {}, "keys": {}, "predicates": {}}
    )
    policies: Mapping[str, Any] = field(default_factory=dict)
    synonyms: Groups | None = None
    fan_out: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ontology(self) -> Ontology:
        """The ontology in force: the shipped one and this store's additions."""
        return extend(shipped(), self.additions)

    def exact(self, type_name: str) -> str:
        """What an exact name of that type does: `link`, `check` or `review`."""
        policy = self.policies.get("exact", {})
        return str(policy.get(type_name, EXACT.get(type_name, "link")))


@cache
def shipped_synonyms() -> Groups:
    """Return the table that `kg init` writes, and that holds where store.json has none."""
    found: list[list[str]] = json.loads(files("kg").joinpath("synonyms.json").read_text("utf-8"))
    return _sorted(found)


def parse_settings(data: bytes) -> Settings:
    """Return the settings of a store; of a newer format what can be read of them.

    Raises:
        FormatError: it breaks the format.
    """
    raw = load(data, PATH)
    newer = _newer(raw.get("kg_format"))
    found = problems("store", raw)
    if found and not newer:
        raise FormatError(PATH, found[0].problem, found[0].pointer)
    if found:
        return Settings(version=raw["kg_format"])
    known = ("kg_format", "ontology", "policies", "synonyms", "fan_out")
    settings = Settings(
        version=raw["kg_format"],
        additions={"types": {}, "keys": {}, "predicates": {}, **raw.get("ontology", {})},
        policies=raw.get("policies", {}),
        synonyms=_sorted(raw["synonyms"]) if "synonyms" in raw else None,
        fan_out=tuple(sorted(raw.get("fan_out", []))),
        more={name: value for name, value in raw.items() if name not in known},
    )
    try:
        _ = settings.ontology
    except OntologyError as error:
        raise FormatError(PATH, str(error), "/ontology") from None
    return settings


def check_version(settings: Settings) -> None:
    """Refuse to write into a store of a newer format.

    Raises:
        FormatVersionError: a newer kg wrote it.
    """
    if _newer(settings.version):
        raise FormatVersionError(
            PATH,
            f"written in format {settings.version}, this kg writes {VERSION}: "
            "upgrade kg to write here",
        )


def _newer(version: object) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and version > VERSION


def dump_settings(settings: Settings) -> bytes:
    """Return store.json's bytes: the format first, a definition, policy or group on a line each."""
    blocks = [f'  "kg_format": {settings.version}']
    groups = [
        f'    "{group}": {_table(settings.additions[group], 6)}'
        for group in ("types", "keys", "predicates")
    ]
    blocks.append('  "ontology": {\n' + ",\n".join(groups) + "\n  }")
    blocks.append(f'  "policies": {_table(settings.policies, 4)}')
    if settings.synonyms is not None:
        rows = [f"    {encode(list(group))}" for group in _sorted(settings.synonyms)]
        blocks.append('  "synonyms": [' + ("\n" + ",\n".join(rows) + "\n  ]" if rows else "]"))
    blocks.append(f'  "fan_out": {encode(sorted(settings.fan_out))}')
    blocks += [f"  {encode(name)}: {encode(value)}" for name, value in settings.more.items()]
    return ("{\n" + ",\n".join(blocks) + "\n}\n").encode()


def _sorted(groups: Iterable[Iterable[str]]) -> Groups:
    return tuple(sorted({tuple(sorted({normalize("NFC", w) for w in g})) for g in groups}))


def _table(members: Mapping[str, Any], indent: int) -> str:
    if not members:
        return "{}"
    rows = [f"{' ' * indent}{encode(n)}: {encode(members[n])}" for n in sorted(members)]
    return "{\n" + ",\n".join(rows) + "\n" + " " * (indent - 2) + "}"
