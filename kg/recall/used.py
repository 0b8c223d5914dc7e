"""How often each entity was an answer on this machine: a log beside the index, never in the store.

One id a line, added by whoever printed it, or an id and a count once the log was made short.
It only slows the fading of what is asked for (`kg.recall.rank`), so a line lost matters to
nobody, and where it cannot be written nothing is said.

On the hot path: imports `os` alone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST = 3  # of an answer: what stands further down is rarely what was meant
_LONG = 256 << 10  # bytes of a log that is made short
_FULL = 4 << 20  # bytes of one that is not written to any more until then


def note(state: str, ids: Iterable[str]) -> None:
    """Add the first ids of an answer to the log in a store's state folder."""
    text = "".join([f"{id_}\n" for id_ in [*ids][:FIRST]]).encode("utf-8", "replace")
    try:
        file = os.open(f"{state}/recalled", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError:
        return
    try:
        if os.fstat(file).st_size < _FULL:
            os.write(file, text)  # one call, so that lines of two processes do not mix
    except OSError:
        pass
    finally:
        os.close(file)


def counts(state: str) -> dict[str, int]:
    """Return how often each id was an answer; the caller holds the lock of the index.

    A long log is made short.
    """
    path = f"{state}/recalled"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except OSError:
        return {}
    found: dict[str, int] = {}
    for line in lines:
        id_, _, count = line.partition(" ")
        if id_ and len(id_) < 200:
            known = int(count) if count.isascii() and count.isdigit() and len(count) < 9 else 1
            found[id_] = found.get(id_, 0) + known
    if sum(map(len, lines)) > _LONG:
        _shorten(path, found)
    return found


def _shorten(path: str, found: dict[str, int]) -> None:
    new = f"{path}.new"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write("".join(f"{id_} {count}\n" for id_, count in found.items()))
        os.replace(new, path)
    except OSError:
        return
