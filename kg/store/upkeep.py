"""Keeping a repository that grows by small commits quick to read, under kg's own lock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kg.errors import StoreError
from kg.gitprogram import git

if TYPE_CHECKING:
    from kg.store.repository import Repository

MANY_LOOSE = 27  # files in one of 256 object folders, where `git gc --auto` would act as well


def maintain(repository: Repository) -> None:
    """Pack loose objects and refresh the commit-graph, now and then.

    Never `prune=now`, which corrupts beside a writer (GIT.md, 3). libgit2 never does this by
    itself, and the person's next git command would have to.
    """
    common = repository.place.commondir
    try:
        if len(os.listdir(f"{common}/objects/17")) <= MANY_LOOSE:
            return
        # twice, because each run deletes what the one before has packed
        loose = ("maintenance", "run", "--quiet", "--task=loose-objects")
        git(common, loose)
        git(common, (*loose, "--task=incremental-repack"))
        git(common, ("commit-graph", "write", "--reachable", "--changed-paths", "--split"))
    except (OSError, StoreError):
        return  # tidying never fails a write
