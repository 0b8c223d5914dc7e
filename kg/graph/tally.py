"""What was told of words, on this machine: one small file beside the repository.

A line of JSON for each word and entity, in the store's state folder, never in the store. It is
written anew under a lock and put in place at once, so readers need none. Whatever in it makes
no sense is passed over, and a file that is gone is an empty one: counts can be lost, and that is
all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kg.graph.meant import Count, Occurrence
from kg.place import Place
from kg.recall.lock import Held

PATIENCE = 10.0  # seconds to wait for others, each of whom takes milliseconds
MOST = 2000  # counts: the ones told of last; a runaway agent must not fill the disk

Counts = dict[tuple[str, str], Count]  # by id and word


class Tally:
    """The counts of one store; `file` is where they lie."""

    def __init__(self, place: Place) -> None:
        self._folder = place.state
        self.file = f"{place.state}/meant{'-' if place.name else ''}{place.name}.jsonl"

    def read(self, now: int) -> Counts:
        """Return the counts that have not lapsed."""
        found = {(count.id, count.word): count for count in _read(self.file)}
        return {key: count for key, count in found.items() if not count.lapsed(now)}

    @contextmanager
    def changing(self, now: int) -> Iterator[Counts]:
        """Give the counts to be changed in place; they are written when the block ends.

        Raises:
            OSError: they cannot be written, or others held the lock all this time.
        """
        os.makedirs(self._folder, exist_ok=True)
        with Held(f"{self.file}.lock", PATIENCE):
            counts = self.read(now)
            before = dict(counts)
            yield counts
            if counts != before:
                self._write(counts.values())

    def _write(self, counts: Iterable[Count]) -> None:
        latest = sorted(counts, key=lambda count: count.last)[-MOST:]
        with open(f"{self.file}.new", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(count._asdict()) + "\n" for count in latest)
        os.replace(f"{self.file}.new", self.file)


def _read(file: str) -> Iterator[Count]:
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            yield from filter(None, map(_count, lines))
    except OSError:
        return


def _count(line: str) -> Count | None:
    try:
        raw = json.loads(line)
        told = tuple(Occurrence(*one) for one in raw["told"])
        count = Count(raw["id"], raw["word"], raw["last"], told)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    texts = (count.id, count.word, *(part for one in told for part in one))
    sound = all(isinstance(text, str) for text in texts) and type(count.last) is int
    return count if sound and told else None
