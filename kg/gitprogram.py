"""How the git program is called: never with the caller's configuration, environment or hooks.

The options and variables are those of git(1): nothing of the user's or the machine's
configuration, no replace refs, no locks for the sake of reading, no network, no questions,
and an explicit git directory. On the hot path of recall, so `subprocess` waits for `git`.
"""

from __future__ import annotations

import os

from kg.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def command(gitdir: str, top: str = "") -> list[str]:
    """Return how git is called on exactly this repository; `top` is its working tree."""
    return [
        "git",
        f"--git-dir={gitdir}",
        *([f"--work-tree={top}"] if top else []),
        "--no-pager",
        "--no-replace-objects",
        "--literal-pathspecs",
        "-c",
        "core.fsmonitor=false",
        "-c",
        f"core.hooksPath={os.devnull}",
        "-c",
        "gc.auto=0",
    ]


def environ() -> dict[str, str]:
    """Return the child's whole environment: of the caller's, only where programs are."""
    return {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",  # git 2.44; the next line does the same for older ones
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }


def git(
    gitdir: str,
    args: Sequence[str],
    *,
    top: str = "",
    data: bytes = b"",
    index: str = "",
    codes: Sequence[int] = (0,),
) -> bytes:
    """Return what `git ARGS` prints, run on this git directory; pathspecs are literal.

    `top` is the working tree where one is needed, `index` another index file, `codes` the exit
    codes that are answers.

    Raises:
        StoreError: git is missing or says no; the message carries its last line.
    """
    import subprocess

    try:
        done = subprocess.run(
            [*command(gitdir, top), *args],
            input=data,
            capture_output=True,
            env=environ() | ({"GIT_INDEX_FILE": index} if index else {}),
            cwd=top or gitdir,
            check=False,
        )
    except FileNotFoundError:
        raise StoreError("the git program is not on PATH: install git") from None
    if done.returncode not in codes:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise StoreError(f"git {args[0]} failed: {said}; run it by hand to see why")
    return done.stdout
