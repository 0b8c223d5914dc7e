#!/usr/bin/env python3
"""make_store DIR N [--bare]: write a store of N entities and commit it, for measuring.

Bytes are canonical (FORMAT.md); names are made like those of code, from a fixed seed, so the
same N is the same tree everywhere. Goes through `git fast-import`, which is quadratic in the
size of a folder: folders of more than 4,000 files are fanned out, as kg does it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from typing import IO, TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

FAN_OUT_AT = 4000
RUNS, FIRST_RUN, HOUR = 200, 1_780_000_000, 3600
AGENTS = ("scoper", "searcher", "reviewer", "tester")
TYPES = {"object": "Object", "org": "Organization", "person": "Person", "location": "Location",
         "event": "Event"}  # fmt: skip
WEIGHTS = (78, 5, 5, 6, 6)
AREAS = """
    payments billing invoice ledger checkout cart catalog search index ranking auth session
    token identity user profile email notify queue worker scheduler cache storage blob media
    image video stream metrics trace log audit report export import sync webhook gateway proxy
    router config feature flag rollout deploy build release test fixture schema migration
    tenant quota limit retry backoff circuit health probe secret vault crypto hash parser
    lexer compiler linter formatter editor plugin theme locale currency tax refund dispute
    fraud risk score model train dataset vector graph edge node geo map address shipping order
    stock warehouse supplier contract consent privacy cookie
""".split()  # noqa: SIM905
PARTS = """
    api service client server store repository handler controller adapter factory builder
    reader writer loader cursor buffer pool batch job task runner monitor daemon agent cli sdk
    core common utils types errors events hooks views routes middleware serializer validator
    mapper resolver policy rules engine registry manifest bundle widget panel form table chart
""".split()  # noqa: SIM905
SUFFIX = ["py", "ts", "go", "rs", "java", "rb", "sql", "yaml", "toml", "md"]
STATUS = ("stable", "in migration", "deprecated", "experimental", "frozen until the next release")
NOTES = ("the connection pool is sized by the {a} {b}", "retries double the load on the {a} {b}",
         "reads go to the replica of the {a} {b}", "the {a} {b} must be started first",
         "timeouts are set in the {a} {b}, not here", "is generated from the {a} {b}")  # fmt: skip
KEYS = ("on-call", "status", "language", "note", "path", "version", "environment", "command")
PREDICATES = ("depends-on", "part-of", "uses", "owned-by", "tested-by", "documented-in")


class Thing(NamedTuple):
    """One entity to be."""

    prefix: str
    slug: str

    @property
    def id(self) -> str:
        """The entity's id."""
        return f"{self.prefix}/{self.slug}"


def main() -> None:
    """Write the store that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir")
    parser.add_argument("n", type=int)
    parser.add_argument("--bare", action="store_true")
    options = parser.parse_args()
    make(options.dir, options.n, bare=options.bare)


def make(folder: str, n: int, *, bare: bool = False) -> None:
    """Write a store of `n` entities into a new repository at `folder`."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for name in [name for name in env if name.startswith("GIT_") and "CONFIG" not in name]:
        del env[name]
    os.makedirs(folder, exist_ok=True)
    kind = ["--bare"] if bare else []
    subprocess.run(["git", "init", "-q", "-b", "main", *kind, folder], check=True, env=env)
    git = ["git", "-C", folder]
    with subprocess.Popen(
        [*git, "fast-import", "--quiet", "--done"], stdin=subprocess.PIPE, env=env
    ) as child:
        _commit(cast("IO[bytes]", child.stdin), sorted(files(n)))
    if child.returncode:
        sys.exit("git fast-import failed")
    if not bare:
        subprocess.run([*git, "reset", "-q", "--hard"], check=True, env=env)


def files(n: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, bytes) of every file of a store of `n` entities."""
    rng = random.Random(n)
    things = _things(rng, n)
    edges = _edges(rng, things)
    fan_out = _fan_out(things, edges)
    raw = {_raw(run, agent)[0]: _raw(run, agent)[1] for run in range(RUNS) for agent in AGENTS[:2]}
    yield from ((path, text) for path, text in raw.items())
    names = sorted(raw)
    for thing in things:
        path = _path("entities", thing.prefix, thing.slug, thing.slug, fan_out)
        yield path, _entity(rng, thing, names)
    for (subject, predicate, other), src in zip(edges, _srcs(rng, names, len(edges)), strict=True):
        name = f"{subject.slug}--{predicate}--{other.prefix}--{other.slug}"
        data = _edge(subject.id, predicate, other.id, src)
        yield _path("edges", subject.prefix, subject.slug, name, fan_out), data
    for at, thing in enumerate(things[:: max(1, n // 50)]):
        yield _trace(rng, thing, names[at % len(names)])
    settings = json.dumps(sorted(fan_out))
    yield (
        "store.json",
        (
            '{\n  "kg_format": 1,\n  "ontology": {\n    "types": {},\n    "keys": {},\n'
            '    "predicates": {}\n  },\n  "policies": {},\n  "fan_out": ' + settings + "\n}\n"
        ).encode(),
    )


def _things(rng: random.Random, n: int) -> list[Thing]:
    found: dict[str, Thing] = {}
    while len(found) < n:
        prefix = rng.choices(list(TYPES), WEIGHTS)[0]
        words = [rng.choice(AREAS), *rng.sample(AREAS, rng.randint(0, 1)), rng.choice(PARTS)]
        slug = rng.choice("-_").join(words)
        if rng.random() < 0.5 and prefix == "object":
            slug += "." + rng.choice(SUFFIX)
        if f"{prefix}/{slug}" in found or len(found) > 5000:
            slug = f"{slug}-{len(found):x}"
        thing = Thing(prefix, slug)
        found.setdefault(thing.id, thing)
    return list(found.values())


def _edges(rng: random.Random, things: list[Thing]) -> list[tuple[Thing, str, Thing]]:
    hubs = things[: max(3, len(things) // 100)]
    found: dict[tuple[str, str, str], tuple[Thing, str, Thing]] = {}
    for subject in things:
        for _ in range(3):
            predicate = rng.choice(PREDICATES)
            other = rng.choice(hubs if rng.random() < 0.5 else things)
            if other != subject:
                found[subject.id, predicate, other.id] = (subject, predicate, other)
    return list(found.values())


def _fan_out(things: list[Thing], edges: list[tuple[Thing, str, Thing]]) -> set[str]:
    counts: dict[str, int] = {}
    folders = [f"entities/{t.prefix}" for t in things] + [f"edges/{e[0].prefix}" for e in edges]
    for folder in folders:
        counts[folder] = counts.get(folder, 0) + 1
    return {folder for folder, count in counts.items() if count > FAN_OUT_AT}


def _path(kind: str, prefix: str, slug: str, name: str, fan_out: set[str]) -> str:
    folder = f"{kind}/{prefix}"
    if folder in fan_out:
        folder += "/" + hashlib.sha1(slug.encode(), usedforsecurity=False).hexdigest()[:2]
    return f"{folder}/{name}.json"


def _raw(run: int, agent: str) -> tuple[str, bytes]:
    text = "".join(f"line {at} of what {agent} saw in run {run}\n" for at in range(1, 10)).encode()
    digits = hashlib.sha256(text).hexdigest()[:8]
    return f"raw/r{FIRST_RUN + run * HOUR}-{agent}.{digits}.txt", text


def _srcs(rng: random.Random, names: list[str], n: int) -> list[str]:
    return [f"{rng.choice(names)}#L{rng.randint(1, 9)}" for _ in range(n)]


def _run_of(src: str) -> str:
    return src[4:].partition("-")[0]


def _line(members: dict[str, object]) -> str:
    return json.dumps(members, ensure_ascii=False)


def _entity(rng: random.Random, thing: Thing, names: list[str]) -> bytes:
    keys = rng.sample(KEYS, 5)
    srcs = _srcs(rng, names, 5)
    facts: list[dict[str, object]] = [
        {"k": k, "v": _value(rng, k, thing), "src": src, "seen_run": _run_of(src)}
        for k, src in zip(keys, srcs, strict=True)
    ]
    runs = sorted(map(_run_of, srcs))
    block = ",\n".join(f"    {line}" for line in sorted(map(_line, facts)))
    return (
        f'{{\n  "id": "{thing.id}",\n  "type": "{TYPES[thing.prefix]}",\n'
        f'  "name": "{thing.slug}",\n'
        f'  "aliases": [],\n  "facts": [\n{block}\n  ],\n  "seen_again": [],\n  "retracted": [],\n'
        f'  "contested": [],\n  "first_run": "{runs[0]}",\n  "last_seen_run": "{runs[-1]}"\n}}\n'
    ).encode()


def _value(rng: random.Random, key: str, thing: Thing) -> str:
    a, b = rng.choice(AREAS), rng.choice(PARTS)
    return {
        "on-call": f"{rng.choice(AREAS)}-team",
        "status": rng.choice(STATUS),
        "language": rng.choice(SUFFIX),
        "note": rng.choice(NOTES).format(a=a, b=b),
        "path": f"src/{a}/{thing.slug}",
        "version": f"{rng.randint(0, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}",
        "environment": rng.choice(("production", "staging", "ci", "laptops")),
        "command": f"make -C {a} test-{b}",
    }[key]


def _edge(subject: str, predicate: str, other: str, src: str) -> bytes:
    claim = _line({"src": src, "seen_run": _run_of(src)})
    return (
        f'{{\n  "subject": "{subject}",\n  "predicate": "{predicate}",\n  "object": "{other}",\n'
        f'  "claims": [\n    {claim}\n  ],\n  "seen_again": []\n}}\n'
    ).encode()


def _trace(rng: random.Random, thing: Thing, raw: str) -> tuple[str, bytes]:
    run, _, rest = raw[4:].partition("-")
    agent = rest.partition(".")[0]
    members = {
        "about": [thing.id],
        "tried": f"doubling the {rng.choice(PARTS)} limit",
        "outcome": "failed",
        "because": f"the {rng.choice(AREAS)} {rng.choice(PARTS)} caps it",
        "run": run,
        "agent": agent,
        "src": f"{raw}#L3",
    }
    front = "".join(f"{name}: {json.dumps(value)}\n" for name, value in members.items())
    digits = hashlib.sha256(front.encode()).hexdigest()[:6]
    return f"tried/{thing.slug[:60]}-{digits}.md", f"---\n{front}---\n".encode()


def _commit(out: IO[bytes], found: list[tuple[str, bytes]]) -> None:
    message = b"a store to measure with"
    out.write(b"commit refs/heads/main\ncommitter bench <bench@kg.invalid> 1780000000 +0000\n")
    out.write(b"data %d\n%s\n" % (len(message), message))
    for path, data in found:
        out.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    out.write(b"done\n")


if __name__ == "__main__":
    main()
