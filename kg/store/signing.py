"""Signed commits: made and checked by git itself, with the person's own configuration and keys.

The one place where git runs in the caller's environment: keys, agents and `gpg.*` live there.
"""

from __future__ import annotations

import subprocess

from kg.errors import StoreError
from kg.place import Place

GOOD = "GU"  # of git's %G?: good, and good by a key whose validity is not known


def signed_commit(
    place: Place, tree: str, parent: str, message: str, *, author: tuple[str, str, int],
    committer: tuple[str, str],
) -> str:  # fmt: skip
    """Write a signed commit object and return its id; no ref moves.

    Raises:
        StoreError: git could not sign it; the message has git's last line.
    """
    name, email, at = author
    identity = (
        f"GIT_AUTHOR_NAME={name}", f"GIT_AUTHOR_EMAIL={email}", f"GIT_AUTHOR_DATE=@{at} +0000",
        f"GIT_COMMITTER_NAME={committer[0]}", f"GIT_COMMITTER_EMAIL={committer[1]}",
    )  # fmt: skip
    parents = ("-p", parent) if parent else ()
    return _git(place, ("commit-tree", "-S", tree, *parents), identity, message).strip()


def signatures(place: Place, head: str) -> dict[str, str]:
    """Return {commit: what git says of its signature} for all up to `head`.

    One letter, as git-log(1) has it for %G?: G good, B bad, E cannot be checked, N none ...
    """
    prefix = ("--", place.prefix) if place.prefix else ()
    said = _git(place, ("log", "--format=%H %G?", head, *prefix), (), "")
    return dict(line.split(" ") for line in said.splitlines())


def _git(place: Place, args: tuple[str, ...], identity: tuple[str, ...], data: str) -> str:
    command = ["env", "-u", "GIT_DIR", "-u", "GIT_INDEX_FILE", "LC_ALL=C", *identity,
               "git", f"--git-dir={place.gitdir}", "--no-pager", *args]  # fmt: skip
    done = subprocess.run(command, input=data.encode(), capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise StoreError(
            f"git could not sign: {last}: mend the key, or git config commit.gpgsign false"
        )
    return done.stdout.decode("utf-8", "replace")
