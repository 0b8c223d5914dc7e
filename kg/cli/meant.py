"""`kg recall --meant`: telling what a query meant. Plain recall never gets here (`kg.entry`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kg.cli.app import FAILED, Session, as_json, cli
from kg.cli.output import answer, say, talk
from kg.cli.read import complete_id
from kg.cli.written import told_of

if TYPE_CHECKING:
    from kg.graph.learning import Told


@cli.command("recall")
@click.argument("query", nargs=-1)
@click.option("--meant", "id_", metavar="ID", shell_complete=complete_id,
              help="The entity that the query meant.")  # fmt: skip
@click.option("--forget", is_flag=True, help="Forget what was counted of these words for it.")
@click.option("-C", "directory", metavar="DIR", help="A store, or where to look for one.")
@as_json
@click.pass_context
def recall(
    ctx: click.Context,
    query: tuple[str, ...],
    id_: str | None,
    forget: bool,
    directory: str | None,
    json_: bool,
) -> None:
    """Say what is known about a name, an id or words; with --meant, tell what a query meant.

    A word of the query that the entity cannot be found by is counted, on this machine only.
    Told by three queries or runs it is pending; once another run or agent tells the same, it is
    committed as a term of the entity. Told for several entities, it is not. What is not told
    again for 30 days is dropped. kg status lists what is counted; kg retract takes a term back.

    \b
    kg recall who runs the kaas
    kg recall who runs the kaas --meant object/payments-api
    kg recall kaas --meant object/payments-api --forget
    """
    if id_ is None:  # kg.entry answers plain recall before this module is imported
        raise click.UsageError("kg recall goes before every other option but -C", ctx)
    if not query:
        raise click.UsageError("nothing to tell of: write kg recall QUERY --meant ID", ctx)
    session: Session = ctx.obj
    session.directory = directory or session.directory
    told = _told(session, " ".join(query), id_, forget=forget)
    if json_:
        answer("meant", told.to_json())
    else:
        _show(told)
    problem = told.note or (told.answer.queued and f"queued, not written yet: {told.answer.queued}")
    if problem:
        talk(problem)
        ctx.exit(FAILED)


def _told(session: Session, query: str, id_: str, *, forget: bool) -> Told:
    from kg.graph import learning

    if forget:
        return learning.forget(session.writable(), query, id_)
    return learning.tell(session.writable(), query, id_, run=session.run, agent=session.agent)


def _show(told: Told) -> None:
    for heard in told.words:
        say(f"{heard.state}: {told_of(heard)}")
    for commit in told.answer.commits:
        say(f"commit {commit}")
    if not told.words and not told.note:
        talk("no word of it can be learnt")
