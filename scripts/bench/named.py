"""A store of real names under boilerplate, and what people write when they look for one.

Names come from a file of `type<TAB>name` lines. All descriptions, states and owners are of one
small vocabulary, so that only the name tells an entity from the others.
"""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.errors import KgError
from kg.model import check_name
from kg.text import fold
from scripts.bench.make_store import AREAS, NOTES, PARTS, STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RUN = "r1785343267"
BATCH = 100  # entities an observation names
FORMS = ("bare name", "question", "one typo", "partial")
SENTENCE = "{a} {b} that handles {c} and {d} for the {e} team"
QUESTIONS = (
    "who owns the payments service {}?",
    "what is the status of {}?",
    "who is on call for {}",
    "what does {} depend on?",
    "where is {} used in production?",
    "how do we deploy {} to staging?",
    "tell me about {}",
    "why did the checkout team change {}?",
    "is {} still in migration or deprecated?",
    "which team is responsible for the {} handler?",
)
_WORD = re.compile(r"[^\W_]+")
_SEGMENT = re.compile(r"[A-Z]+(?![^\W\d_A-Z])\d*|[A-Z]?[^\W\d_A-Z]+\d*|\d+|[^\W_]")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Named(NamedTuple):
    """One entity to be: its type and its name."""

    type: str
    name: str


class Asked(NamedTuple):
    """A query of one of the forms, and the name of the entity it means."""

    form: str
    query: str
    name: str


def read_names(path: str, n: int, seed: int) -> list[Named]:
    """Return n names of all types, each as often as in the file; one seed, one sample.

    Of two names of one type that fold to the same only the first is taken.
    """
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    random.Random(seed).shuffle(rows)
    found: dict[tuple[str, str], Named] = {}
    for type_, name in rows:
        if len(found) == n:
            break
        if _fit(name):
            found.setdefault((type_, fold(name)), Named(type_, name))
    return list(found.values())


def observations(names: Sequence[Named], seed: int) -> Iterator[dict[str, Any]]:
    """Yield what one run says of the names: facts that share words, and edges between them."""
    rng = random.Random(seed)
    for at in range(0, len(names), BATCH):
        yield _observation(rng, names[at : at + BATCH], at)


def queries(names: Sequence[Named], n: int, seed: int) -> list[Asked]:
    """Return the four forms for at least n names each, as far as there are fit names."""
    rng = random.Random(seed)
    known = {fold(one.name) for one in names}
    runs = _segment_runs(names)
    order = [one.name for one in rng.sample(names, len(names))]
    found = [Asked("bare name", name, name) for name in order[:n]]
    found += [Asked("question", rng.choice(QUESTIONS).format(name), name) for name in order[:n]]
    slips = ((name, _typo(rng, name)) for name in order if sum(map(str.isalpha, name)) >= 5)
    found += _first(n, "one typo", ((q, name) for name, q in slips if fold(q) not in known))
    parts = ((rng.choice(fit), name) for name in order if (fit := _parts(name, runs)))
    return found + _first(n, "partial", parts)


def segments(text: str) -> list[tuple[int, int, str]]:
    """Return (begin, end, folded) of each word of a text and each part of an identifier."""
    return [
        (word.start() + part.start(), word.start() + part.end(), fold(part.group()))
        for word in _WORD.finditer(text)
        for part in _SEGMENT.finditer(word.group())
    ]


def _fit(name: str) -> bool:
    try:
        return check_name(name) == name and bool(_WORD.search(name))
    except KgError:
        return False


def _observation(rng: random.Random, batch: Sequence[Named], at: int) -> dict[str, Any]:
    text = [f"what was seen in part {at // BATCH}"]
    refs = [str(number) for number in range(len(batch))]
    facts, edges = [], []
    for ref, one in zip(refs, batch, strict=True):
        said = _said(rng)
        text.append(f"{one.name}: " + "; ".join(said.values()))
        facts += [{"entity": ref, "k": k, "v": v, "lines": len(text)} for k, v in said.items()]
        if one.type in ("Object", "Location"):
            owner = _other(rng, batch, refs, ("Organization", "Person"))
            edges += _edge(ref, "owned-by", owner, len(text))
        edges += _edge(ref, "uses", _other(rng, batch, refs, ("Object", "Location")), len(text))
    entities = [
        {"ref": ref, "type": one.type, "name": one.name}
        for ref, one in zip(refs, batch, strict=True)
    ]
    return {
        "run": RUN, "agent": "bench", "text": "\n".join(text),
        "entities": entities, "facts": facts, "edges": edges,
    }  # fmt: skip


def _said(rng: random.Random) -> dict[str, str]:
    a, c, d, e = rng.choices(AREAS, k=4)
    b = rng.choice(PARTS)
    return {
        "status": rng.choice(STATUS),
        "contact": f"{e}-team",
        "description": SENTENCE.format(a=a, b=b, c=c, d=d, e=e),
        "note": rng.choice(NOTES).format(a=c, b=b),
    }


def _other(
    rng: random.Random, batch: Sequence[Named], refs: list[str], types: tuple[str, ...]
) -> str:
    fit = [ref for ref, one in zip(refs, batch, strict=True) if one.type in types]
    return rng.choice(fit) if fit else ""


def _edge(subject: str, predicate: str, other: str, line: int) -> list[dict[str, Any]]:
    if other in ("", subject):
        return []
    return [{"subject": subject, "predicate": predicate, "object": other, "lines": line}]


def _first(n: int, form: str, found: Iterator[tuple[str, str]]) -> list[Asked]:
    return [Asked(form, query, name) for _, (query, name) in zip(range(n), found, strict=False)]


def _typo(rng: random.Random, name: str) -> str:
    """Return the name with one letter left out, put in, replaced, or swapped with the next."""
    at = rng.choice([n for n, letter in enumerate(name) if letter.isalpha()])
    letter = rng.choice(_LETTERS)
    swapped = name[at + 1 : at + 2] + name[at]
    return rng.choice(
        (
            name[:at] + name[at + 1 :],
            name[:at] + letter + name[at:],
            name[:at] + letter + name[at + 1 :],
            name[:at] + swapped + name[at + 2 :],
        )
    )


def _segment_runs(names: Sequence[Named]) -> Counter[tuple[str, ...]]:
    """Return in how many different names each run of segments stands."""
    counts: Counter[tuple[str, ...]] = Counter()
    for name in {fold(one.name): one.name for one in names}.values():
        words = [word for _, _, word in segments(name)]
        counts.update(
            {
                tuple(words[begin:end])
                for begin in range(len(words))
                for end in range(begin + 1, len(words) + 1)
            }
        )
    return counts


def _parts(name: str, runs: Counter[tuple[str, ...]]) -> list[str]:
    """Return the proper parts of a name that only it has and that are no boilerplate."""
    found = segments(name)
    plain = {word for text in (*AREAS, *PARTS, *STATUS, SENTENCE, *NOTES) for word in text.split()}
    fit = []
    for begin in range(len(found)):
        for end in range(begin + 1, len(found) + 1):
            words = tuple(word for _, _, word in found[begin:end])
            text = name[found[begin][0] : found[end - 1][1]]
            proper = len(words) < len(found) and len("".join(words)) >= 3
            if proper and runs[words] == 1 and not plain.issuperset(words):
                fit.append(text)
    return fit
