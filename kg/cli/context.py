"""The command that writes what goes into a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, say, talk

if TYPE_CHECKING:
    from kg.context import View
    from kg.graph import Graph


@cli.command("context")
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS", help="Room (100000; 0: all).")
@click.option(
    "--window", type=click.IntRange(1), metavar="N", help="Room: 15% of a model's window."
)
@click.option("--index", "form", flag_value="index", help="One line an entity instead.")
@click.option("--narrate", "form", flag_value="narrate", help="Prose of half of the facts instead.")
@click.option(
    "--consolidate", "form", flag_value="consolidate",
    help="Put what is important at both edges first, and commit that order.",
)  # fmt: skip
@as_json
@click.pass_obj
def context(
    session: Session, budget: int | None, window: int | None, form: str | None, *, json_: bool
) -> None:
    """Print all that is known for the start of a prompt, one line a fact.

    A line is the importance (1 to 9), the date, the fact and its source, in the order in which
    the facts came to be: a new fact is a line at the end, and the bytes before it stay, so that
    a prompt's cache holds. Over the budget (at 3 bytes a token) the least important facts are
    forgotten; those of importance 9 never are.

    \b
    kg context
    kg context --window 200000
    kg context --index
    """
    from kg.context import consolidate, narrate, view
    from kg.context.view import BUDGET, SHARE, capacity

    if window and budget is not None:
        raise click.UsageError("--window and --budget both say how much room there is: give one")
    graph = session.graph()
    if form == "index":
        _index(graph, json_)
        return
    if form == "consolidate":
        commit = consolidate(session.writable())
        talk(f"order committed: {commit}" if commit else "that is the order already")
    room = max(1, int(window * SHARE)) if window else BUDGET if budget is None else budget
    found = view(graph, budget=room)
    if window:
        fits = capacity(found.lines, room)
        talk(f"a window of {window} tokens: {room} for this view, which holds about {fits} facts")
    if found.forgotten:
        talk(f"{found.forgotten} facts had no room: raise --budget to see them")
    if json_:
        _answer(found)
    elif form == "narrate":
        click.echo(narrate(found.lines), nl=False)
    else:
        click.echo(found.text, nl=False)


def _index(graph: Graph, json_: bool) -> None:
    from kg.context import listing

    rows = list(listing(graph))
    if json_:
        answer("context", {"index": [{"id": i, "description": d, "file": f} for i, d, f in rows]})
    for id_, description, file in rows if not json_ else ():
        say(f"{id_} | {description} | {file}")


def _answer(found: View) -> None:
    lines = [
        {"id": line.id, "importance": line.importance, "line": line.text} for line in found.lines
    ]
    shown = {"budget": found.budget, "tokens": found.tokens, "forgotten": found.forgotten}
    answer("context", {**shown, "lines": lines})
