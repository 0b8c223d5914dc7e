"""Which commit a moment of the past is: a revision as git names it, a date or time, or a run."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kg.errors import NotFoundError
from kg.gitprogram import git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.place import Place

# the grammars of FORMAT.md; kg.model, which has them too, is no part of the free read path
_RUN = re.compile(r"r[0-9]+(\.[a-z0-9]{1,16})?")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?")


def commit_at(place: Place, moment: str) -> str:
    """Return the commit that was HEAD at a moment.

    A run stands for its last commit. A time stands for the last commit made until then, a date for
    the last of that day in UTC; on the first-parent line, so what was merged later is not there.

    Raises:
        NotFoundError: there is none.
    """
    time = _TIME.fullmatch(moment)
    if time:
        args: Sequence[str] = ("rev-list", "-1", "--first-parent", f"--before={_seconds(time)}")
        found = _said(place, (*args, "HEAD", "--"))
    elif _RUN.fullmatch(moment):
        trailer = f"^Run: {re.escape(moment)}$"
        found = _said(place, ("log", "-1", "--format=%H", "-E", f"--grep={trailer}", "HEAD", "--"))
    else:
        name = f"{moment}^{{commit}}"
        found = _said(place, ("rev-parse", "--verify", "-q", "--end-of-options", name))
    if not found:
        raise NotFoundError(
            f"{moment!a} is no commit, date or run of this store: see kg log and kg runs"
        )
    return found


def _said(place: Place, args: Sequence[str]) -> str:
    return git(place.gitdir, args, codes=(0, 1, 128)).decode("utf-8", "replace").strip()


def _seconds(time: re.Match[str]) -> int:
    """Return the last second of a day, or the very second."""
    try:
        at = datetime.fromisoformat(time[0].removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise NotFoundError(f"{time[0]} is no day: write a date as 2026-11-30") from None
    day = timedelta(days=0 if time[2] else 1) - timedelta(seconds=0 if time[2] else 1)
    return int((at + day).timestamp())
