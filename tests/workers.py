"""Processes that tests of concurrency start: writers of a store, and a person at git."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHARED = 5  # entities that all writers write about, so that they meet


def main() -> None:
    """Do what the command line says; `write FOLDER NAME COUNT [PAUSE]`, `person`, or `poll TOP`."""
    verb, where, *rest = sys.argv[1:]
    if verb == "write":
        write(where, rest[0], int(rest[1]), float(rest[2]) if rest[2:] else 0.0)
    elif verb == "person":
        person(where)
    else:
        poll(where)


def write(folder: str, name: str, count: int, pause: float) -> None:
    """Write `count` facts one by one; say `ok N` for each that was acknowledged."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from stores import observed

    from kg.graph import Graph

    graph = Graph(folder)
    for number in range(count):
        value = f"{name}-{number}"
        told = observed(f"note {value}\n", (f"svc{number % SHARED}", "note", value), agent=name)
        answer = graph.remember([told])
        sys.stdout.write(f"{'queued' if answer.queued else 'ok'} {value}\n")
        sys.stdout.flush()
        time.sleep(pause)


def person(top: str) -> None:
    """Edit, add and commit code.py until stdin closes, trying again as a person would."""
    number = 0
    os.set_blocking(0, False)
    while _still_open():
        number += 1
        Path(top, "code.py").write_text(f"print({number})\n", encoding="utf-8")
        for args in (("add", "code.py"), ("commit", "-qm", "by a person", "--", "code.py")):
            _until_it_works(top, args if number % 2 else args[:3])


def poll(top: str) -> None:
    """Run `git status` until stdin closes; fail where it fails."""
    os.set_blocking(0, False)
    while _still_open():
        subprocess.run(["git", "status", "--porcelain"], cwd=top, check=True, capture_output=True)


def _until_it_works(top: str, args: tuple[str, ...]) -> None:
    for _ in range(10_000):
        done = subprocess.run(
            ["git", *args], cwd=top, check=False, capture_output=True, text=True, env=os.environ
        )
        if done.returncode == 0:
            return
        if "index.lock" not in done.stderr and "cannot lock ref" not in done.stderr:
            sys.exit(f"git {args}: {done.stdout}{done.stderr}")
    sys.exit(f"git {args} never got through")


def _still_open() -> bool:
    try:
        return os.read(0, 1) != b""
    except BlockingIOError:
        return True


def start(*args: object) -> subprocess.Popen[str]:
    """Start one of them."""
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> list[str]:
    """Close its stdin, wait for it, and return what it printed; its errors are the test's."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.splitlines()


if __name__ == "__main__":
    main()
