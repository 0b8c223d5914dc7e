"""The queue on the command line: as a list, as JSON, from a file, or one key a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.input import parse_objects, read
from kg.cli.output import answer, say, say_all, talk

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.review import Question


@cli.command("review")
@click.option("--list", "listed", is_flag=True, help="List the questions; asks nothing.")
@click.option("--limit", metavar="N", type=click.IntRange(1), default=20, show_default=True)
@click.option("--unsure", is_flag=True, help="Ask again what a person did not know.")
@click.option("--audit", metavar="N", type=click.IntRange(1), help="Ask of N automatic links.")
@click.option(
    "--apply", "file", type=click.Path(allow_dash=True), metavar="FILE",
    help='Judge by a file, JSON Lines: {"one", "other", "verdict", "because"}.',
)  # fmt: skip
@as_json
@click.pass_context
def review(
    ctx: click.Context, listed: bool, limit: int, unsure: bool, audit: int | None,
    file: str | None, json_: bool,
) -> None:  # fmt: skip
    """Judge what the resolver leaves to people: the queue, most valuable first.

    At a terminal it asks one question after another, one key a decision, each of them a commit;
    whoever stops goes on there next time. Elsewhere it lists.

    \b
    kg review
    kg review --list --limit 50
    kg review --json --limit 5
    kg review --audit 20
    kg review --apply judged.jsonl
    """
    session: Session = ctx.obj
    if file is not None:
        _apply(session, file, json_=json_)
        return
    person = "" if listed or json_ else session.person()
    graph = session.writable() if person else session.graph()
    questions, doubted = _questions(graph, unsure=unsure, audit=audit)
    if json_:
        answer("review", _as_json(graph, questions, limit, doubted))
    elif person:
        from kg.cli.reviewing import Sitting

        Sitting(graph, questions, person).run()
    else:
        _list(questions, limit, doubted)


def _questions(graph: Graph, *, unsure: bool, audit: int | None) -> tuple[list[Question], int]:
    from kg.review import queue
    from kg.review.queue import sample

    if audit is not None:
        return sample(graph, audit), 0
    found = queue(graph, unsure=unsure)
    return list(found.questions), 0 if unsure else found.unsure


def _as_json(graph: Graph, questions: list[Question], limit: int, doubted: int) -> dict[str, Any]:
    from kg.review.sides import sides

    linker = graph.linker(graph.draft(graph.at()))
    shown = [sides(graph, linker, question).to_json() for question in questions[:limit]]
    return {"waiting": len(questions), "unsure": doubted, "questions": shown}


def _list(questions: list[Question], limit: int, doubted: int) -> None:
    rows = [(q.kind, q.one, q.other, q.why) for q in questions[:limit]]
    say_all(rows)
    if len(questions) > limit:
        say(f"{len(questions) - limit} more: use --limit N")
    if doubted:
        say(f"{doubted} that a person did not know: use --unsure")
    if not questions:
        say("nothing waits for a judgement")


def _apply(session: Session, file: str, *, json_: bool) -> None:
    """Judge by a file: all of it is checked before the first is committed."""
    from kg.review.verdicts import Verdict

    raws = parse_objects(read(file), "review")
    graph = session.writable()
    verdicts = [Verdict.parse(raw) for raw in raws]
    for verdict in verdicts:
        verdict.check(graph)
    person, judged = session.person(), []
    for verdict in verdicts:
        judged += verdict.commit(graph, person, run=session.run, agent=session.agent)
    if not person:
        talk("no person at a terminal: these are suggestions until one judges (kg review)")
    if json_:
        answer("judged", {"judged": [one.to_json() for one in judged]})
        return
    for one in judged:
        say(f"{one.outcome}: {one.one} and {one.other} {one.verdict} ({one.by})")
