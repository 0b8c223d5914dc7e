"""The commands that take writes back, and those that say what to take back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.history import event_words, seconds_of
from kg.cli.output import answer, say, talk
from kg.cli.read import complete_id
from kg.errors import NotFoundError, RefusedError
from kg.model import is_id

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


@cli.command("forget")
@click.argument("what", metavar="ID|QUERY|*", shell_complete=complete_id)
@click.argument("key", default="")
@click.argument("value", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_
@as_json
@click.pass_obj
def forget(
    session: Session, /, what: str, key: str, value: str | None, yes: bool, dry_run: bool,
    json_: bool,
) -> None:  # fmt: skip
    """Forget entities with all that is said of them, or one fact: shown first, one commit.

    It can be reverted, since history still holds it: what must not be there either takes kg purge.
    A QUERY stands for the entities that recall finds by name.

    \b
    kg forget object/payments-api
    kg forget object/payments-api on-call platform-team --yes
    kg forget '*' --yes
    """
    from functools import partial

    from kg.audit.forget import EVERYTHING, Wanted, forget_everything
    from kg.audit.forget import forget as forget_some

    graph = session.writable()
    if what == EVERYTHING:
        work = partial(forget_everything, graph)
    else:
        ids = (what,) if is_id(what) else _called(graph, what)
        work = partial(forget_some, graph, Wanted(ids=ids, key=key, value=value))
    shown = work(dry=True)
    if not json_:
        for line in (*shown.words, *shown.texts):
            say(f"{'would forget' if dry_run else 'forget'}: {line}")
    if not dry_run:
        confirmed("forget this?", "forgotten", yes=yes, may_ask=what != EVERYTHING)
        shown = work(run=session.run, agent=session.agent)
    if json_:
        answer("forget", shown.to_json())
    elif shown.commit:
        say(f"commit {shown.commit}")
        talk("history still holds it: kg revert brings it back, kg purge removes it for good")


def _called(graph: Graph, query: str) -> tuple[str, ...]:
    """Return the entities that a query names."""
    from kg.recall.asking import ask
    from kg.recall.options import Options

    with_name = ask(graph.index().connection, Options.of(query, hops=0))
    found = tuple(row[1] for row in with_name.rows)
    if not found:
        raise NotFoundError(f"nothing is known about {query!a}: see kg ls")
    return found


def confirmed(question: str, done: str, *, yes: bool, may_ask: bool = True) -> None:
    """Go on only if a person says so, here or by --yes.

    Raises:
        RefusedError: nobody did.
    """
    if yes:
        return
    if not may_ask or sys.stdin is None or not sys.stdin.isatty():
        raise RefusedError(f"nothing is {done} yet: add --yes once this is what you mean")
    if not click.confirm(question, err=True):
        raise RefusedError(f"nothing was {done}: you said no")


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
