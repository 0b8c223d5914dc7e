"""The commands about what happened: log, blame, runs, diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, head, say
from kg.cli.read import complete_id, when

if TYPE_CHECKING:
    from kg.audit.blame import Blame
    from kg.audit.history import Event
    from kg.audit.lineage import Commit


@cli.command("log")
@click.argument("id_", metavar="[ID]", default="", shell_complete=complete_id)
@click.option("--limit", "-n", default=20, show_default=True, help="At most so many; 0 for all.")
@click.option("--run", default="", metavar="RUN", help="Only what a run did.")
@click.option("--agent", default="", metavar="A", help="Only what an agent did.")
@click.option("--op", default="", metavar="OP", help="Only one operation: retract, revert ...")
@click.option("--key", default="", metavar="KEY", help="Only what was said under a key.")
@click.option("--source", default="", metavar="RAW", help="Only what rests on a text of raw/.")
@click.option("--since", default="", metavar="D", help="Only from a date or time on.")
@click.option("--until", default="", metavar="D", help="Only before a date or time.")
@as_json
@click.pass_obj
def log(session: Session, /, id_: str, json_: bool, since: str, until: str, **only: Any) -> None:  # noqa: ANN401
    """Show what each commit did, in words of facts, newest first.

    \b
    kg log
    kg log object/payments-api -n 5
    kg log --agent scoper --key on-call --since 2026-11-01
    """
    from itertools import islice

    from kg.audit.history import Only, told

    graph = session.graph()
    if id_:
        graph.entity(id_)  # a mistyped id is told, with the nearest
    limit = only.pop("limit") or None
    wanted = Only(id=id_, since=seconds_of(since), until=seconds_of(until), **only)
    found = islice(told(graph, wanted, limit or 0), limit)
    if json_:
        answer("log", [_logged(commit, done) for commit, done in found])
        return
    for commit, done in found:
        said = f"{commit.id[:12]}  {when(commit.at)}  {commit.author}"
        head(f"{said}  {commit.run}  {commit.trailer('Op')}".rstrip())
        if not done:
            say(f"    {commit.subject}")
        for event in done:
            say(f"    {event.what}: {event_words(event)}")


@cli.command("blame")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("key", default="")
@click.option("--all", "gone", is_flag=True, help="What was taken back or superseded, too.")
@as_json
@click.pass_obj
def blame(session: Session, id_: str, key: str, gone: bool, json_: bool) -> None:
    """Say for each fact and edge who brought it, when, in which commit, from which line.

    \b
    kg blame object/payments-api
    kg blame object/payments-api on-call --all
    """
    from kg.audit.blame import blame as find

    found = find(session.graph(), id_, key, gone=gone)
    if json_:
        answer("blame", [one.to_json() for one in found])
        return
    for one in found:
        _show_blame(one, id_)


@cli.command("runs")
@click.option("--limit", "-n", default=20, show_default=True, help="At most so many; 0 for all.")
@as_json
@click.pass_obj
def runs(session: Session, limit: int, json_: bool) -> None:
    """List the runs: what each added, confirmed, contradicted, and what of it still stands.

    \b
    kg runs
    """
    from kg.audit.runs import runs as all_runs

    found = all_runs(session.graph())
    found = found[:limit] if limit else found
    if json_:
        answer("runs", [one.to_json() for one in found])
        return
    for one in found:
        say(f"{one.run}  {one.agent}  {when(one.first)}", _reverted(one.reverted, one.commits))
        counts = {
            "new": one.added, "seen again": one.confirmed, "contradicting": one.contradicted,
            "retracted": one.retracted, "tried": one.tried, "commits taken back": one.took_back,
        }  # fmt: skip
        told = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
        stands = f"; {one.stands} of {one.added} still stand" if one.added else ""
        say(f"    {told or 'texts only'}{stands}")


@cli.command("diff")
@click.argument("moments", metavar="A..B")
@as_json
@click.pass_obj
def diff(session: Session, moments: str, json_: bool) -> None:
    """Say what differs between two moments (commits, dates, runs), in words of facts.

    \b
    kg diff HEAD~5..HEAD
    kg diff 2026-11-01..
    """
    from kg.audit.history import between
    from kg.recall.moment import commit_at

    one, dots, other = moments.partition("..")
    if not dots or not one:
        raise click.UsageError("name two moments as A..B; B is HEAD if left out")
    graph = session.graph()
    ends = [graph.at(commit_at(graph.place, moment)) for moment in (one, other or "HEAD")]
    found = between(graph, *ends)
    if json_:
        answer("diff", [event.to_json() for event in found])
        return
    for event in found:
        say(f"{event.what}: {event_words(event)}")


def event_words(event: Event) -> str:
    """Return what a commit did, in words."""
    from kg.model import value_text

    shown = value_text(event.v)
    if event.what == "tried":
        return f"{event.k}: {shown} ({event.id})"
    if not event.k:
        return f"{event.id}" + (f" ({shown})" if shown and shown not in event.id else "")
    return f"{event.id} {event.k} {'->' if event.edge else '='} {shown}"


def seconds_of(time: str) -> int:
    """Return the moment of a date or time, in seconds; 0 for none."""
    from kg.graph.rawtext import seconds

    return seconds(time) if time else 0


def _show_blame(one: Blame, asked: str) -> None:
    from kg.model import value_text

    head(f"{one.id} {one.k} {'->' if one.edge else '='} {value_text(one.v)}")
    if one.id != asked:
        say(f"  filed under {one.id}, which is the same thing as {asked}")
    say(f"  src: {one.claim.src}")
    say(f"  {_by(one.commit) or f'run {one.claim.seen_run}: no commit of this history has it'}")
    if one.confirmed is not None:
        seen = one.confirmed
        say(f"  confirmed last by {seen.by} in {seen.run}: {seen.src}")
    if one.retraction is not None:
        gone = one.retraction
        say(f"  retracted in {gone.retracted_run}, because: {gone.because}")
        say(f"  {_by(one.gone)}" if one.gone else "")


def _by(commit: Commit | None) -> str:
    if commit is None:
        return ""
    return f"{commit.id[:12]}  {when(commit.at)}  {commit.agent}  {commit.run}  {commit.subject}"


def _logged(commit: Commit, done: list[Event]) -> dict[str, Any]:
    return {
        "commit": commit.id, "at": commit.at, "agent": commit.author, "run": commit.run,
        "op": commit.trailer("Op"), "subject": commit.subject,
        "events": [e.to_json() for e in done],
    }  # fmt: skip


def _reverted(count: int, commits: int) -> str:
    if not count:
        return ""
    return "(reverted)" if count == commits else f"({count} of {commits} commits reverted)"
