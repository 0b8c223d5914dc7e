#!/usr/bin/env python3
"""tried [--part PART]: does `kg tried` find the trace of an error, and nothing for a new one?

Makes traces from the messages in tried_errors.txt, asks with the same messages in which every
number, path, address, time, version and value is another, and counts. The constants of
kg/recall (clues, alike, traces) were set on the first part (every second pair of neighbours);
some of the second part was looked at meanwhile, so the fresh part, written and asked when all
stood, is what counts.

    rank 1     the first answer is the trace of that very error
    nothing    an error whose trace is not in the store, though its neighbour's is, is answered
               with nothing at all
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from kg.place import find as place_of  # noqa: E402 - measured is the checkout it lies in
from kg.recall import traces  # noqa: E402
from kg.recall.index import Index  # noqa: E402

WORDS = """payments billing invoice ledger checkout cart catalog search index ranking session
    token profile email queue worker scheduler cache storage media metrics export webhook gateway
    router config schema migration tenant quota retry probe parser plugin theme currency tax
    """.split()  # noqa: SIM905
# What somebody writes who tried something and saw no error message.
PROSE = (
    ("raising the {a} limit", "the {b} caps it at {n}"),
    ("caching {a} answers for {dur}", "the {b} went stale"),
    ("moving {a} into the {b} package", "imports went in a circle"),
    ("a second index on {a}", "writes to {b} took twice as long"),
    ("reading {a} lazily", "the {b} is closed by then"),
)
PARTS = ("first", "second", "fresh")
Query = Callable[[str, random.Random], str]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print each")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--filler", type=int, default=2000, help="traces of other work beside")
    parser.add_argument("--time", type=int, default=10_000, help="traces of the store timed")
    parser.add_argument("--json", action="store_true", help="the rates alone, as JSON")
    options = parser.parse_args()
    rates = {}
    for part in [options.part] if options.part else PARTS:
        chosen = _chosen(part)
        with tempfile.TemporaryDirectory() as folder:
            rates[part] = Part(folder, chosen, options.filler, misses=options.misses).rates()
        if not options.json:
            _print_rates(f"{part}, {len(chosen)} errors", rates[part])
    if options.json:
        print(json.dumps({"kg.bench.tried/v1": rates}))
    elif options.time:
        _times(options.time)


def _chosen(part: str) -> list[str]:
    """Return the errors of one part."""
    if part == "fresh":
        return _messages("fresh")
    pairs = enumerate(_messages("errors"))
    return [text for at, text in pairs if (at // 2 % 2 == 0) == (part == "first")]


def _messages(section: str) -> list[str]:
    with open(os.path.join(HERE, "tried_errors.txt"), encoding="utf-8") as file:
        _, _, rest = file.read().partition(f"\n## {section}")
    return [line for line in rest.partition("\n## ")[0].split("\n")[1:] if line.strip()]


def _print_rates(title: str, rates: dict[str, float]) -> None:
    print(f"\n{title}, %\n")
    for name, rate in rates.items():
        print(f"{name:<60}{rate:>7.1f}")


class Part:
    """The rates of a part of the errors."""

    def __init__(self, folder: str, chosen: list[str], n: int, *, misses: bool) -> None:
        self._folder, self._chosen, self._n, self._misses = folder, chosen, n, misses

    def rates(self) -> dict[str, float]:
        """Return the share of right answers for each kind of question, in percent."""
        rng = random.Random(1)
        return {**self._right(rng), **self._nothing(rng)}

    def _right(self, rng: random.Random) -> dict[str, float]:
        """Ask for errors whose traces are there: their message, or the last line of it in prose."""
        commands = _messages("commands")
        errors = [(f"e{at}", filled(text, rng)) for at, text in enumerate(self._chosen)]
        rows = [trace(name, rng, error=text) for name, text in errors]
        rows += [trace(f"c{at}", rng, tried=filled(c, rng)) for at, c in enumerate(commands)]
        index = _index(f"{self._folder}/all", [*rows, *filler(rng, self._n)])
        found = {}
        for what, query in QUERIES.items():
            asked = [(f"e{at}", query(text, rng)) for at, text in enumerate(self._chosen)]
            found[f"rank 1: {what}"] = self._first(index, asked)
        asked = [(f"c{at}", filled(text, rng)) for at, text in enumerate(commands)]
        found["rank 1: a command line"] = self._first(index, asked)
        rows = [trace(name, rng, because=text.split("\n")[-1]) for name, text in errors]
        index = _index(f"{self._folder}/said", [*rows, *filler(rng, self._n)])
        asked = [(f"e{at}", bare(text, rng)) for at, text in enumerate(self._chosen)]
        found["rank 1: bare, but only its last line is known, in because"] = self._first(
            index, asked
        )
        return found

    def _nothing(self, rng: random.Random) -> dict[str, float]:
        """Ask stores that have one half of the errors for the other half, and the reverse."""
        found = {}
        for size in (0, 5, 1):
            indexes = [self._store(rng, odd, size) for odd in (0, 1)]
            for what, query in QUERIES.items():
                asked = [
                    (query(text, rng), indexes[at % 2]) for at, text in enumerate(self._chosen)
                ]
                right = [self._is_nothing(index, text) for text, index in asked]
                store = f"{size} traces" if size else f"{len(self._chosen) // 2 + self._n:,} traces"
                found[f"nothing: {what}, new to {store}"] = 100 * sum(right) / len(right)
        return found

    def _store(self, rng: random.Random, odd: int, size: int) -> Index:
        """Return a store without the errors at even (odd: at odd) places; `size` 0 for all."""
        rows = [trace(f"e{at}", rng, error=filled(text, rng))
                for at, text in enumerate(self._chosen) if at % 2 != odd]  # fmt: skip
        rows = rng.sample(rows, size) if size else [*rows, *filler(rng, self._n)]
        return _index(f"{self._folder}/n{size}{odd}", rows)

    def _first(self, index: Index, asked: list[tuple[str, str]]) -> float:
        right = 0
        for name, text in asked:
            found = traces.find(index.connection, text)
            hit = bool(found) and found[0].path == f"tried/{name}.md"
            right += hit
            if self._misses and not hit:
                print("   missed", _shown(found), "<-", text[-100:].replace("\n", "|"))
        return 100 * right / len(asked)

    def _is_nothing(self, index: Index, text: str) -> bool:
        found = traces.find(index.connection, text)
        if found and self._misses:
            print("   wrongly", _shown(found), "<-", text[-100:].replace("\n", "|"))
        return not found


def _shown(found: list[traces.Match]) -> str:
    if not found:
        return "(nothing)"
    match = found[0]
    return f"{match.similarity:.2f} {match.members.get(match.part, match.part)[:100]!r}"


# --- messages and traces ---


def filled(text: str, rng: random.Random) -> str:
    """Return a message with other values in all its places, its bars as line feeds."""
    while "{" in text.replace("{{", ""):
        before, _, rest = text.replace("{{", "\0").partition("{")
        name, _, after = rest.partition("}")
        text = f"{before}{VALUES[name](rng)}{after}".replace("\0", "{{")
    return text.replace("{{", "{").replace("}}", "}").replace("|", "\n")


def bare(text: str, rng: random.Random) -> str:
    """Return the message alone."""
    return filled(text, rng)


def last_line(text: str, rng: random.Random) -> str:
    """Return the line of the message that says most: the longest."""
    return max(filled(text, rng).split("\n"), key=len)


def in_log(text: str, rng: random.Random) -> str:
    """Return the message near the end of a log of 400 lines, each stamped."""
    noise = _messages("noise")
    stamp = "{time} ERROR [main-{n}] "
    message = filled(text, rng).split("\n")
    lines = [filled(rng.choice(noise), rng) for _ in range(400)]
    lines += [filled(stamp, rng) + line for line in message]
    return "\n".join(lines + [filled(rng.choice(noise), rng) for _ in range(5)])


def cut(text: str, rng: random.Random) -> str:
    """Return the first two thirds of the line that says most."""
    line = last_line(text, rng)
    return line[: len(line) * 2 // 3]


QUERIES: dict[str, Query] = {
    "bare": bare, "one line": last_line, "two thirds of a line": cut, "in a log": in_log,
}  # fmt: skip


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _drawn(rng: random.Random, letters: str, n: int) -> str:
    return "".join(rng.choices(letters, k=n))


def _path(rng: random.Random) -> str:
    root = rng.choice(("/opt/ada/src", "/srv/build", "/builds/group/app", "/Users/bo/dev", "/app"))
    return f"{root}/{_word(rng)}/{_word(rng)}-{rng.randint(1, 99)}"


def _uuid(rng: random.Random) -> str:
    return "-".join(_drawn(rng, "0123456789abcdef", n) for n in (8, 4, 4, 4, 12))


VALUES: dict[str, Callable[[random.Random], str]] = {
    "n": lambda rng: str(rng.randint(2, 10 ** rng.randint(1, 5))),
    "hex": lambda rng: _drawn(rng, "0123456789abcdef", 12),
    "sha": lambda rng: _drawn(rng, "0123456789abcdef", rng.choice((8, 12, 40))),
    "uuid": _uuid,
    "path": _path,
    "time": lambda rng: (
        f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:"
        f"{rng.randint(0, 59):02}:{rng.randint(0, 59):02}.{rng.randint(0, 999):03}Z"
    ),
    "port": lambda rng: str(rng.randint(1024, 65535)),
    "ip": lambda rng: ".".join(str(rng.randint(1, 254)) for _ in range(4)),
    "dur": lambda rng: f"{rng.randint(1, 900)}{rng.choice(('ms', 's', 'm', 'h'))}",
    "tmp": lambda rng: "tmp" + _drawn(rng, string.ascii_lowercase + string.digits, 8),
    "ver": lambda rng: f"{rng.randint(0, 30)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}",
    "a": _word,
    "b": _word,
    "val": lambda rng: f"{_word(rng)}{rng.choice('-_')}{_word(rng)}",
}


def trace(name: str, rng: random.Random, **said: str) -> tuple[str, bytes]:
    """Return (path, bytes) of a trace that says this, the rest of it made up."""
    words = {"a": _word(rng), "b": _word(rng), "n": rng.randint(2, 999), "dur": VALUES["dur"](rng)}
    tried, because = (part.format(**words) for part in rng.choice(PROSE))
    members = {
        "about": [f"object/{_word(rng)}"], "tried": tried, "outcome": "failed", "because": because,
        "run": f"r{rng.randint(1_780_000_000, 1_790_000_000)}", "agent": "builder",
        "src": "raw/r1-builder.00000000.txt#L1", **said,
    }  # fmt: skip
    front = "".join(f"{k}: {json.dumps(v)}\n" for k, v in members.items())
    return f"tried/{name}.md", f"---\n{front}---\n".encode()


def filler(rng: random.Random, n: int) -> list[tuple[str, bytes]]:
    """Return traces of other work: half without an error, half with one of their own."""
    others = _messages("others")
    made = []
    for at in range(n):
        said = {"error": filled(rng.choice(others), rng)} if at % 2 else {}
        made.append(trace(f"f{at}", rng, **said))
    return made


def _index(folder: str, rows: list[tuple[str, bytes]]) -> Index:
    """Return the index of a folder that holds the traces."""
    _write(folder, rows)
    return Index.fresh(place_of(folder, {}, folder))


def _write(folder: str, rows: list[tuple[str, bytes]]) -> None:
    os.makedirs(f"{folder}/tried")
    with open(f"{folder}/store.json", "w", encoding="utf-8") as file:
        file.write('{"kg_format": 1}\n')
    for path, data in rows:
        with open(f"{folder}/{path}", "wb") as out:
            out.write(data)


# --- time ---


def _times(n: int, rounds: int = 15) -> None:
    """Print what the whole process costs at `n` traces, beside a bare start and kg's own help."""
    rng = random.Random(3)
    chosen = _messages("errors")
    rows = [
        trace(f"e{at}", rng, error=filled(chosen[at % len(chosen)], rng)) for at in range(n // 2)
    ]
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, rows + filler(rng, n - len(rows)))
        who = ["-c", "user.name=b", "-c", "user.email=b@kg.invalid"]
        for args in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "traces"]):
            subprocess.run(["git", "-C", folder, *args], check=True)
        log, every = in_log(chosen[0], rng), in_log("|".join(chosen), rng)
        logs = {
            f"a log of {len(log) >> 10} kB": log,
            f"{len(chosen)} errors in a log": every,
            "a log of 10 MB": every * (10_000_000 // len(every)),
        }
        kg = [sys.executable, "-m", "kg"]
        began = time.perf_counter()
        subprocess.run([*kg, "-C", folder, "tried", "x"], check=False, capture_output=True)
        print(f"\n{n:,} traces: index built and asked in {time.perf_counter() - began:.1f} s")
        runs = {"python3 -c pass": ([sys.executable, "-c", "pass"], ""),
                "kg recall NAME": ([*kg, "-C", folder, "recall", "payments"], ""),
                "kg ls (through click)": ([*kg, "-C", folder, "ls"], "")}  # fmt: skip
        for name, text in (("a message", filled(chosen[0], rng)), ("nothing like it", "gloop")):
            runs[f"kg tried, {name}"] = ([*kg, "-C", folder, "tried", "--", text], "")
        for name, text in logs.items():
            runs[f"kg tried -, {name}"] = ([*kg, "-C", folder, "tried", "-"], text)
        _print_times(runs, rounds)


def _print_times(runs: dict[str, tuple[list[str], str]], rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, (command, text) in runs.items():
            began = time.perf_counter()
            subprocess.run(command, input=text.encode(), check=False, capture_output=True,
                           cwd=os.path.dirname(os.path.dirname(HERE)))  # fmt: skip
            times[name].append(time.perf_counter() - began)
    bare_start = statistics.median(times["python3 -c pass"][1:])
    for name, found in times.items():
        median = statistics.median(found[1:])
        print(f"{name:<32} {median * 1e3:>8.1f} ms  {median / bare_start:>6.2f} x the bare start")


if __name__ == "__main__":
    main()
