"""Asking git one thing as cheaply as it can be asked, and noting the answer.

By posix_spawn: 2 ms, where `subprocess` costs 15 (GIT.md, 1).
"""

from __future__ import annotations

import os

from kg.gitprogram import command, environ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def rev_parse(gitdir: str, names: Sequence[str]) -> list[str]:
    """Return the object ids of `names`, [] where one is unknown or there is no git program."""
    reader, writer = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        arguments = [*command(gitdir), "rev-parse", *names]
        pid = os.posix_spawnp("git", arguments, environ(), file_actions=actions)
    except OSError:
        os.close(reader)
        return []
    finally:
        os.close(writer)
    with open(reader, "rb") as file:
        found = file.read().decode().split()
    status = os.waitpid(pid, 0)[1]
    return found if status == 0 and len(found) == len(names) else []


def note_head(file: str, tree: str, head: str) -> None:
    """Note in the index that a commit has this tree, so that the next reader need not ask.

    Left undone where the file cannot be written or another process writes it.
    """
    from kg.recall.engine import index_uris, sqlite
    from kg.recall.lock import Held

    try:
        with Held(file + ".lock", 0):
            uri = index_uris(file)[0].replace("mode=ro", "mode=rw")
            con = sqlite.connect(uri, timeout=0, isolation_level=None, uri=True)
            con.execute("update meta set head = ? where tree = ?", (head, tree))
            con.close()
    except (OSError, sqlite.Error):
        return
