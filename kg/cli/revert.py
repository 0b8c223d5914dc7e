"""The commands that take writes back, and those that say what to take back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.history import event_words, seconds_of
from kg.cli.output import answer, say

if TYPE_CHECKING:
    from kg.audit.revert import Choose, Reverted
    from kg.graph import Graph

dry_ = click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
why_ = click.option("--because", default="", metavar="TEXT", help="Why; kept in the commit.")


@cli.command("revert")
@click.argument("commits", metavar="[COMMIT]...", nargs=-1)
@click.option("--run", "of_run", default="", metavar="RUN", help="All commits of a run.")
@click.option("--agent", default="", metavar="A", help="All commits of an agent.")
@click.option("--since", default="", metavar="D", help="Only those since a date or time.")
@why_
@dry_
@as_json
@click.pass_obj
def revert(
    session: Session, /, commits: tuple[str, ...], of_run: str, agent: str, since: str, **said: Any  # noqa: ANN401
) -> None:  # fmt: skip
    """Take commits back by facts: one commit, no conflicts, and itself to be reverted.

    What others saw too stays; what something else rests on stays, bare. kg runs lists runs.

    \b
    kg revert --run r1785343267 --dry-run
    kg revert --agent scoper --since 2026-11-01 --because "it read the wrong branch"
    kg revert HEAD~2
    """
    from kg.audit.revert import commits_named, commits_of

    if bool(commits) == bool(of_run or agent or since):
        raise click.UsageError("say what to take back: commits, or --run, --agent, --since")
    graph = session.writable()
    if commits:
        choose = commits_named(commits)
    else:
        choose = commits_of(run=of_run, agent=agent, since=seconds_of(since))
    _take_back(session, graph, choose, "revert", **said)


@cli.command("undo")
@why_
@dry_
@as_json
@click.pass_obj
def undo(session: Session, /, **said: Any) -> None:  # noqa: ANN401
    """Take back the last write that stands; under KG_RUN, the last of that run.

    Again, it takes back the one before. To undo an undo: kg revert the commit it prints.

    \b
    kg undo
    """
    from kg.audit.revert import last_write

    _take_back(session, session.writable(), last_write(run=session.run), "undo", **said)


def _take_back(
    session: Session, graph: Graph, choose: Choose, name: str, *,
    because: str, dry_run: bool, json_: bool,
) -> None:  # fmt: skip
    from kg.audit.revert import revert as take_back

    found = take_back(
        graph, choose, because=because, run=session.run, agent=session.agent, dry=dry_run
    )
    if json_:
        answer(name, found.to_json())
    else:
        _show(found, dry=dry_run)


def _show(found: Reverted, *, dry: bool) -> None:
    for commit in found.commits:
        say(f"{'would take' if dry else 'taken'} back: {commit.id[:12]} {commit.subject}")
    for event in (*found.events, *found.stays):
        say(f"{event.what}: {event_words(event)}")
        if event.what == "stays":
            say(f"    others saw it: src: {event.src}")
    for id_, by in found.bare:
        say(f"kept bare: {id_}, {by} speaks of it")
    for path in found.left:
        say(f"left as it is: {path}, which holds no facts")
    if found.commit:
        say(f"commit {found.commit}")
    elif not found.events:
        say("nothing to take back: none of it stands by these commits alone")
