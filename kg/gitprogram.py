"""Running the git program: never with the caller's git environment, never with a hook or pager.

The one place that spawns git for the write path and the audit. (Recall spawns it by itself,
without `subprocess`, which costs more than the whole answer.)
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from kg.errors import StoreError

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")


def scrubbed(environ: dict[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which git reads nothing from the caller's GIT_* variables."""
    kept = {k: v for k, v in (environ or dict(os.environ)).items() if not k.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def git(
    gitdir: str,
    args: Sequence[str],
    *,
    top: str = "",
    data: bytes = b"",
    index: str = "",
) -> bytes:
    """Return what `git ARGS` prints, run on this git directory.

    `top` is the working tree where one is needed, `index` another index file.

    Raises:
        StoreError: git is missing or says no; the message carries its last line.
    """
    where = [f"--git-dir={gitdir}"] + ([f"--work-tree={top}"] if top else [])
    env = scrubbed() | ({"GIT_INDEX_FILE": index} if index else {})
    try:
        done = subprocess.run(
            ["git", *_SAFE, *where, *args],
            input=data,
            capture_output=True,
            env=env,
            cwd=top or gitdir,
            check=False,
        )
    except FileNotFoundError:
        raise StoreError("the git program is not on PATH: install git") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise StoreError(f"git {args[0]} failed: {said}; run it by hand to see why")
    return done.stdout
