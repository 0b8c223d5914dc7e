"""What adoption grows: the ontology by what a hand-written store says, raw/ by what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kg.errors import MissingSourceError, OntologyError, RefusedError
from kg.format import RAW
from kg.format.canonical import encode
from kg.graph import handwritten as hand
from kg.graph.anchors import Text
from kg.model import MAX_VALUE, Source, Value, check_time, is_id, parse_source, split_id, value_text
from kg.ontology import Ontology, Term, Type, extend, shipped
from kg.resolve import slug_of, suffixed
from kg.text import fold

if TYPE_CHECKING:
    from kg.graph.draft import Draft

_DEFINITION = "adopted from a hand-written store"
_NEUTRAL = "note"  # the key for what can have no key of its own


class Outgrown:
    """The shipped ontology and the `additions` that make room for what is said."""

    def __init__(self) -> None:
        self.additions: dict[str, dict[str, Any]] = {"types": {}, "keys": {}, "predicates": {}}
        self.now: Ontology = shipped()

    def id_of(self, text: str, type_: str = "") -> str:
        """Return the id that a file's own id comes to: of `type_` where it begins with no type.

        Raises:
            OntologyError: neither is a type.
        """
        prefix, _, slug = text.rpartition("/")
        try:
            kind = self._type(prefix)
        except OntologyError:
            kind = self._type(type_ or prefix)
        made, whole = slug_of(slug)
        if is_id(f"{kind.prefix}/{slug}"):
            made, whole = slug, True
        return f"{kind.prefix}/{made if whole else suffixed(made, kind.name, slug, '')}"

    def id_like(self, v: object) -> str:
        """Return the id that a value is, "" where it is none."""
        if not isinstance(v, str) or not is_id(v):
            return ""
        prefix, slug = split_id(v)
        try:
            return f"{self._type(prefix).prefix}/{slug}"
        except OntologyError:
            return ""

    def _type(self, prefix: str) -> Type:
        return self.now.type("Organization" if fold(prefix) == "organisation" else prefix)

    def learn(self, said: Iterable[tuple[str, Value]]) -> None:
        """Declare the unknown keys: of entities where all the values are ids, else of text."""
        values: dict[str, list[Value]] = {}
        for k, v in said:
            values.setdefault(hand.word_of(k), []).append(v)
        for k in values.keys() - self.now.keys.keys() - {""}:
            ids = [self.id_like(v) for v in values[k]]
            types = {self.now.type_of(id_).name for id_ in ids} if all(ids) else set()
            self._put("keys", Term(name=k, definition=_DEFINITION, range=tuple(sorted(types)), cardinality="many"))  # fmt: skip  # noqa: E501

    def key(self, k: str, v: Value) -> tuple[str, Value]:
        """Return the key and value under which a fact is kept."""
        word = hand.word_of(k)
        wants_entity = bool(word) and self.now.takes_entity(self.now.key(word))
        nameable = isinstance(v, str) and hand.one_line(v) == v
        if word and (nameable or not wants_entity):
            return word, v
        return _NEUTRAL, f"{hand.clean(k)}: {value_text(v)}"[:MAX_VALUE]

    def predicate(self, name: str) -> str:
        """Return the predicate under which an edge is kept, declared if need be; "" for none."""
        word = hand.word_of(name)
        if word and word not in self.now.predicates:
            self._put("predicates", Term(name=word, definition=_DEFINITION, cardinality="many"))
        return word

    def said_of(self, group: str, name: str, id_: str) -> Term:
        """Return the key or predicate, its domain wide enough for the entity."""
        term = self._term(group, name)
        return self._put(group, replace(term, domain=self._wider(term.domain, id_)))

    def takes(self, group: str, name: str, id_: str) -> Term:
        """Return the key or predicate, its range wide enough for the entity."""
        term = self._term(group, name)
        return self._put(group, replace(term, range=self._wider(term.range, id_)))

    def literal(self, k: str, v: Value) -> Value:
        """Return the value in the form the key takes; the key takes text where there is none."""
        term = self.now.key(k)
        if not term.range:
            return self.id_like(v) or v
        made = _literal(term.range[0], v)
        if made is None:
            self._put("keys", replace(term, range=()))
        return v if made is None else made

    def _term(self, group: str, name: str) -> Term:
        return (self.now.keys if group == "keys" else self.now.predicates)[name]

    def _wider(self, types: tuple[str, ...], id_: str) -> tuple[str, ...]:
        wanted = self.now.type_of(id_).name
        return types if not types or wanted in types else (*types, wanted)

    def _put(self, group: str, term: Term) -> Term:
        known = self.now.keys if group == "keys" else self.now.predicates
        if known.get(term.name) != term:
            self.additions[group][term.name] = term.to_json()
            self.now = extend(shipped(), self.additions)
        return term


class Sources:
    """The texts of raw/ that a hand-written store has, and the ones it is given."""

    def __init__(self, fresh: Draft, files: Mapping[str, bytes], run: str, agent: str) -> None:
        self._fresh, self._run, self._agent = fresh, run, agent
        self._texts: dict[str, Text] = {}
        self._folded: list[tuple[str, str]] = []  # (src, folded line)
        for path, data in files.items():
            if path.startswith(f"{RAW}/"):
                fresh.put_file(path, data)
                self._add(path, data)
                lines = enumerate(self._texts[path].lines, 1)
                self._folded += [(f"{path}#L{at}", fold(line)) for at, line in lines]

    def resolve(self, src: str) -> str:
        """Return the source if its lines are there, "" if not; folders before raw/ do not count."""
        try:
            source = parse_source(src[max(src.find(f"{RAW}/"), 0) :])
        except MissingSourceError:
            return ""
        text = self._texts.get(source.path)
        return str(source) if text is not None and source.last <= text.line_count() else ""

    def holds(self, src: str, words: Iterable[str]) -> bool:
        """Whether any of the words stands in the lines of a source."""
        source = parse_source(src)
        text = self._texts[source.path]
        return any(text.holds(source.first, source.last, word) for word in words)

    def line_with(self, *ends: Iterable[str]) -> str:
        """Return the first line that holds one name of each of the ends, "" where none does."""
        wanted = [[fold(name) for name in names] for names in ends]
        for src, line in self._folded:
            here = all(any(name in line for name in names) for names in wanted)
            if here and _citable(src) and all(self.holds(src, names) for names in wanted):
                return src
        return ""

    def text_with(self, words: str) -> str:
        """Return the lines that hold all of a text, "" where no text of raw/ does."""
        for path, text in self._texts.items():
            found = text.find(words)
            if found and _citable(f"{path}#L1"):
                return str(Source(path, *found))
        return ""

    def words(self, src: str, slug: str) -> str:
        """Return the words of a source's lines that give this slug, "" where none do."""
        source = parse_source(src)
        words = " ".join(self._texts[source.path].lines[source.first - 1 : source.last]).split()
        most = len(re.split(r"[-._]", slug))
        for count in range(1, most + 1):
            for at in range(len(words) - count + 1):
                here = re.sub(r"^\W+|\W+$", "", " ".join(words[at : at + count]))
                if slug_of(here) == (slug, True):
                    return here
        return ""

    def kept(self, path: str, text: str, k: str = "", v: Value = "") -> str:
        """Keep the old text of a file in raw/; return the line of it that says `k` and `v`."""
        whole = (
            f"# {hand.clean(path)}, as it stood before kg init\n{hand.clean(text)}".rstrip("\n")
            + "\n"
        )
        kept = self._fresh.add_raw(self._run, self._agent, whole.encode())[0]
        self._add(kept, whole.encode())
        shown = v if not k and isinstance(v, str) else encode(v).strip('"')
        words = (f'"{k}"', shown) if k else (shown,)
        if not shown:
            return str(Source(kept, 1, whole.count("\n")))
        return f"{kept}#L{hand.line_of(whole, *words)}"

    def _add(self, path: str, data: bytes) -> None:
        self._texts[path] = Text(data.decode("utf-8", "replace"))


def _literal(due: str, v: Value) -> Value | None:
    """Return the value in the form that is due, None where it has none."""
    text = value_text(v)
    if due == "integer":
        whole = re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})", text)
        return int(text) if whole else None
    if due == "boolean":
        return text == "true" if text in ("true", "false") else None
    try:
        return check_time(v, "a date")
    except RefusedError:
        return None


def _citable(src: str) -> bool:
    try:
        return bool(parse_source(src))
    except MissingSourceError:
        return False
