"""The process that rewrites history with git-filter-repo, and the only importer of it.

`python -m kg.audit.rewriting` in the repository; what to do comes as JSON on standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from kg.audit.scrub import Scrub
from kg.errors import StoreError
from kg.gitprogram import environ
from kg.place import Place

INSTALL = "git-filter-repo is not installed: pip install 'kg[purge]'"
ARGS = ("--force", "--partial", "--quiet", "--replace-refs", "delete-no-add",
        "--prune-empty", "never", "--prune-degenerate", "never")  # fmt: skip


def rewrite(place: Place, scrub: Scrub) -> None:
    """Rewrite all branches and tags of a repository by what a purge does to each file.

    Raises:
        StoreError: it is not installed, or failed; git's refs are as before then.
    """
    said = {
        "prefix": place.prefix, "pattern": scrub.pattern, "moved": scrub.moved,
        "words": scrub.words,
        "lines": {path: list(rows.items()) for path, rows in scrub.lines.items()},
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "kg.audit.rewriting"],
        input=json.dumps(said).encode(),
        capture_output=True,
        cwd=place.top or place.gitdir,
        env={**environ(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise StoreError(
            f"history was not rewritten: {last}; nothing has changed, the backup stays"
        )


def main() -> None:
    """Rewrite the repository in the current folder as standard input says."""
    try:
        import git_filter_repo as filter_repo  # type: ignore[import-untyped]
    except ImportError:
        sys.exit(INSTALL)
    said = json.loads(sys.stdin.buffer.read())
    lines = {path: dict(rows) for path, rows in said["lines"].items()}
    scrub = Scrub(lines, said["pattern"], said["moved"], said["words"])
    prefix = f"{said['prefix']}/".encode() if said["prefix"] else b""
    known: dict[tuple[bytes, bytes], tuple[bytes | None, bytes]] = {}

    def file(
        name: bytes,
        mode: bytes,
        blob: bytes,
        value: Any,  # noqa: ANN401
    ) -> tuple[bytes | None, bytes, bytes]:
        if not name.startswith(prefix) or mode not in (b"100644", b"100755"):
            return name, mode, blob
        if (name, blob) not in known:
            data = value.get_contents_by_identifier(blob)
            path, new = scrub.file(name[len(prefix) :].decode("utf-8", "surrogateescape"), data)
            whole = prefix + path.encode("utf-8", "surrogateescape") if path else None
            made = blob if new == data or not path else value.insert_file_with_contents(new)
            known[name, blob] = whole, made
        path_now, blob_now = known[name, blob]
        return path_now, mode, blob_now

    args = filter_repo.FilteringOptions.parse_args(ARGS, error_on_empty=False)
    filter_repo.RepoFilter(args, file_info_callback=file, message_callback=scrub.message).run()


if __name__ == "__main__":
    main()
