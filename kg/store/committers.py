"""The `git commit`s under way, which a write must outlast with git's lock still held.

`git commit` reads the index before it locks it. Where a whole write of ours falls between the
two, it puts the old index back and says that HEAD has moved; the next try at it then silently
reverts the write (1 to 4 of 100 writes beside a person who tries again). With our lock in its
way it fails there instead, and has done no harm.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

_PAST = 2.0  # seconds of age after which a commit is past its lock: it runs hooks, or an editor
# Commands that never write an index they have read without the lock. An alias may be anything.
_HARMLESS = frozenset(
    b"blame cat-file diff fetch gc grep log ls-files maintenance push rev-list rev-parse show"
    b" status".split()
)


class _Process(NamedTuple):
    parent: str
    age: float
    words: list[bytes]


def outlast(top: str, least: float) -> None:
    """Return when every git now running in this working tree that may commit has ended.

    Takes `least` seconds or more: where the system lists no processes (in /proc), or not those
    of another container, that has to do.
    """
    began = time.monotonic()
    running = _committing(top) - _ancestors()  # the git whose hook we are waits for us
    time.sleep(max(0.0, began + least - time.monotonic()))
    while running and time.monotonic() - began < _PAST:
        time.sleep(0.001)
        running = {pid for pid in running if _may_commit(pid, top)}


def _committing(top: str) -> set[str]:
    try:
        return {pid for pid in os.listdir("/proc") if pid.isdecimal() and _may_commit(pid, top)}
    except OSError:
        return set()


def _may_commit(pid: str, top: str) -> bool:
    try:
        if _read(f"/proc/{pid}/comm") != b"git\n":
            return False
        found = _process(pid)
        inside = f"{os.readlink(f'/proc/{pid}/cwd')}/".startswith(f"{top}/")
    except (OSError, ValueError, IndexError):  # it has ended, or is somebody else's
        return False
    return inside and found.age < _PAST and _HARMLESS.isdisjoint(found.words)


def _ancestors() -> set[str]:
    found, pid = set(), str(os.getppid())
    try:
        while pid not in ("0", "1"):
            found.add(pid)
            pid = _process(pid).parent
    except (OSError, ValueError, IndexError):
        pass
    return found


def _process(pid: str) -> _Process:
    # proc(5): the name, in parentheses, may hold anything; parent and start are fields 4 and 22
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    uptime = float(_read("/proc/uptime").split()[0])
    age = uptime - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return _Process(fields[1].decode(), age, _read(f"/proc/{pid}/cmdline").split(b"\0"))


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)
