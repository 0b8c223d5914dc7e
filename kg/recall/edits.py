"""Which files of the working tree a person has changed since HEAD, as far as an answer needs.

On the hot path: `os` and the interpreter's own hash (`hashlib` would load OpenSSL, 4 ms).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection

_FILES = (
    "select path, oid from page where n = ?1 union select p.path, p.oid from ent e"
    " join cluster c on c.canonical = e.id join ent m on m.id = c.id join page p on p.n = m.n"
    " where e.n = ?1"
)
_MOST = 5  # names; the rest is counted


def uncommitted(con: Connection, folder: str, numbers: Iterable[int]) -> list[str]:
    """Return the entity files that differ from HEAD.

    Of the entities `numbers`, and those they answer for, the changed ones; of folders that are
    not fanned out also the new and the missing ones.
    """
    found = set()
    for n in numbers:
        for path, oid in con.execute(_FILES, (n,)):
            if oid and _blob_id(f"{folder}/{path}", len(oid)) != oid:
                found.add(path)
    files = dict(con.execute("select path, files from folder"))
    for kind in _names(f"{folder}/entities"):
        below = f"entities/{kind}"
        names = {f"{below}/{n}" for n in _names(f"{folder}/{below}") if n.endswith(".json")}
        if len(names) != files.get(below, 0):
            found |= names ^ _known(con, below)
    return sorted(found)


def named(paths: list[str]) -> list[str]:
    """Return what to tell a person about the paths, a line each."""
    lines = [f"uncommitted hand edit: {path} (kg commit)" for path in paths[:_MOST]]
    more = len(paths) - _MOST
    return lines + ([f"{more} more uncommitted hand edits (kg commit)"] if more > 0 else [])


def _known(con: Connection, below: str) -> set[str]:
    """Return the paths that HEAD has directly in a folder."""
    sql = "select path from page where path glob ?1 union select path from fault where path glob ?1"
    paths = {row[0] for row in con.execute(sql, (f"{below}/*.json",))}
    return {path for path in paths if "/" not in path[len(below) + 1 :]}


def _blob_id(path: str, digits: int) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.readall()
    except OSError:
        return ""
    whole = b"blob %d\0" % len(data) + data
    if digits == 64:
        from hashlib import sha256

        return sha256(whole).hexdigest()
    return _sha1(whole)


def _sha1(data: bytes) -> str:
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha1
    return str(sha1(data).hexdigest())  # noqa: S324 - git's choice of an id


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
