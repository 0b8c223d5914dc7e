"""The commands by which people keep what is held true: validate, replace, put away, settle."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, head, say, talk
from kg.cli.read import complete_id
from kg.cli.write import redact_
from kg.cli.written import typed, write
from kg.errors import NotFoundError, RefusedError
from kg.graph.rawtext import whole

if TYPE_CHECKING:
    from kg.audit.conflicts import Conflict, Side
    from kg.graph import Graph
    from kg.model import Fact

reason_ = click.option("--because", required=True, metavar="TEXT", help="Why; kept as the source.")
id_ = click.argument("id_", metavar="ID", shell_complete=complete_id)


@cli.command("confirm")
@id_
@click.argument("key", required=False)
@click.argument("value", required=False)
@reason_
@redact_
@as_json
@click.pass_context
def confirm(
    ctx: click.Context,
    /,
    id_: str,
    key: str | None,
    value: str | None,
    because: str,
    **how: Any,  # noqa: ANN401
) -> None:
    """Say that you have checked a fact, or all that is held of an entity.

    A person's word: it lifts the confidence and wakes what was dormant. Agents report what they
    saw with kg remember instead.

    \b
    kg confirm object/payments-api on-call --because "asked the team on Monday"
    """
    graph = ctx.obj.writable()
    said: dict[str, Any] = {"entity": id_, "lines": whole(because)}
    said |= {"k": key} if key else {}
    said |= {"v": typed(graph.ontology, key, value)} if key and value is not None else {}
    _write(ctx, [{"text": because, "confirm": [said]}], "confirm", person=ctx.obj.person(), **how)


@cli.command("supersede")
@id_
@click.argument("key")
@click.argument("value", metavar="NEW")
@click.option("--old", metavar="VALUE", help="Which value it replaces, where there are several.")
@click.option("--since", metavar="DATE", help="Since when; the old value held until then.")
@reason_
@redact_
@as_json
@click.pass_context
def supersede(
    ctx: click.Context, /, id_: str, key: str, value: str, old: str | None, since: str | None,
    because: str, **how: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Replace a value: the old one is retracted, or with --since held until then.

    \b
    kg supersede object/payments-api on-call sre-team --because "the rota moved"
    kg supersede object/payments-api on-call sre-team --since 2026-11-30 --because "the rota"
    """
    graph = ctx.obj.writable()
    fact = _held(graph, id_, key, old)
    new = {"entity": id_, "k": key, "v": typed(graph.ontology, key, value), "lines": whole(because)}
    if since:
        ended = {**_stated(id_, fact, because), "until": since}
        said = [{"text": because, "facts": [ended, {**new, "since": since}]}]
    else:
        said = [
            {"text": because, "retract": [_stated(id_, fact, because)]},
            {"text": because, "facts": [new]},
        ]
    _write(ctx, said, "supersede", **how)


@cli.command("archive")
@id_
@reason_
@redact_
@as_json
@click.pass_context
def archive(ctx: click.Context, /, id_: str, because: str, **how: Any) -> None:  # noqa: ANN401
    """Put an entity away: recall leaves it out unless asked with --archived.

    \b
    kg archive object/payments-api --because "switched off in March"
    """
    said = {"entity": id_, "lines": whole(because)}
    _write(ctx, [{"text": because, "archive": [said]}], "archive", **how)


@cli.command("restore")
@id_
@click.argument("key", metavar="[KEY", required=False)
@click.argument("value", metavar="VALUE]", required=False)
@reason_
@redact_
@as_json
@click.pass_context
def restore(
    ctx: click.Context,
    /,
    id_: str,
    key: str | None,
    value: str | None,
    because: str,
    **how: Any,  # noqa: ANN401
) -> None:
    """Take an entity out of the archive, or hold a retracted fact true again.

    \b
    kg restore object/payments-api --because "it is back"
    kg restore object/payments-api on-call platform-team --because "the rota was right"
    """
    if not key:
        said = {"entity": id_, "archived": False, "lines": whole(because)}
        _write(ctx, [{"text": because, "archive": [said]}], "restore", **how)
        return
    if value is None:
        raise click.UsageError("name the value as well: kg restore ID KEY VALUE")
    graph = ctx.obj.writable()
    entity = graph.entity(id_)
    v = typed(graph.ontology, key, value)
    _retracted(entity, key, v)
    fact = {"entity": id_, "k": key, "v": v, "lines": whole(because)}
    _write(ctx, [{"text": because, "facts": [fact]}], "restore", **how)


@cli.command("retype")
@id_
@click.argument("type_", metavar="TYPE")
@reason_
@as_json
@click.pass_obj
def retype(session: Session, id_: str, type_: str, because: str, json_: bool) -> None:
    """Give an entity another type, and so another id: every reference follows.

    \b
    kg retype object/berlin Location --because "it is the city, not the cluster"
    """
    from kg.audit.retype import retype as change

    graph = session.writable()
    done = change(graph, id_, type_, because, run=session.run, agent=session.agent)
    if json_:
        answer("retype", done.to_json())
        return
    say(f"{done.old} is {done.new} now; {done.references} references followed")
    say(f"commit {done.commit}")


@cli.command("conflicts")
@click.argument("id_", metavar="[ID]", default="", shell_complete=complete_id)
@as_json
@click.pass_obj
def conflicts(session: Session, id_: str, json_: bool) -> None:
    """List what contradicts itself, each value with its source. kg settle decides.

    \b
    kg conflicts
    """
    from kg.audit.conflicts import conflicts as find

    found = find(session.graph(), id_)
    if json_:
        answer("conflicts", [one.to_json() for one in found])
        return
    for one in found:
        _show(one)
    talk(f"{len(found)} {'contradiction' if len(found) == 1 else 'contradictions'}")


@cli.command("settle")
@id_
@click.argument("key")
@click.option("--keep", metavar="VALUE", help="This one holds, the others are retracted.")
@click.option("--set", "new", metavar="VALUE", help="None of them holds, this one does.")
@click.option(
    "--split-in-time", "date", metavar="DATE", help="The older value until then, the newer since."
)
@click.option("--first", metavar="VALUE", help="With --split-in-time: which one held first.")
@reason_
@redact_
@as_json
@click.pass_context
def settle(
    ctx: click.Context, /, id_: str, key: str, keep: str | None, new: str | None, date: str | None,
    first: str | None, because: str, **how: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Settle a contradiction, with your reason: one commit.

    \b
    kg settle object/payments-api on-call --keep sre-team --because "asked them"
    kg settle object/payments-api on-call --split-in-time 2026-11-30 --because "the rota moved"
    """
    from kg.audit.conflicts import conflicts as find
    from kg.audit.settling import keep as kept
    from kg.audit.settling import set_to, split

    if sum(choice is not None for choice in (keep, new, date)) != 1:
        raise click.UsageError("give one of --keep, --set, --split-in-time")
    graph = ctx.obj.writable()
    open_ = [one for one in find(graph, id_) if key in {one.k, *(s.k for s in one.sides)}]
    if not open_:
        raise NotFoundError(f"{id_} has no contradiction under {key!a}: see kg conflicts {id_}")
    sides = [side for one in open_ for side in one.sides]
    if keep is not None:
        said = kept(sides, keep, because)
    elif new is not None:
        said = set_to(sides, id_, key, typed(graph.ontology, key, new), because)
    else:
        said = split(sides, date or "", first, because)
    _write(ctx, said, "settle", **how)


@cli.command("stale")
@click.option(
    "--worktree", metavar="DIR", help="The code that paths are of; else where the store lies."
)
@as_json
@click.pass_obj
def stale(session: Session, worktree: str | None, json_: bool) -> None:
    """List what may hold no more: dormant entities, facts that are over, paths that are gone.

    \b
    kg stale
    kg stale --worktree ~/src/payments
    """
    from kg.audit.conflicts import stale as find

    graph = session.graph()
    folder = worktree or _code(graph)
    if worktree and not os.path.isdir(worktree):
        raise RefusedError(f"{worktree} is no folder: name the work tree of the code")
    found = list(find(graph, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), folder))
    if json_:
        answer("stale", [one.to_json() for one in found])
        return
    for one in found:
        from kg.model import value_text

        said = f" {one.k} = {value_text(one.v)}" if one.k else ""
        say(f"{one.why}: {one.id}{said}  ({one.detail})")
    talk(f"{len(found)} that may hold no more")


def _write(
    ctx: click.Context,
    said: list[dict[str, Any]],
    op: str,
    *,
    person: str = "",
    **how: Any,  # noqa: ANN401
) -> None:
    write(ctx, said, op, json_=how["json_"], redact=how["redact"], person=person)


def _held(graph: Graph, id_: str, key: str, old: str | None) -> Fact:
    """Return the one fact under a key that is meant."""
    from kg.model import value_text
    from kg.text import fold

    facts = [f for f in graph.entity(id_).facts if f.k == key]
    if old is not None:
        facts = [f for f in facts if fold(value_text(f.v)) == fold(old)]
    if not facts:
        raise NotFoundError(f"{id_} holds nothing such under {key!a}: see kg show {id_}")
    if len(facts) > 1:
        values = ", ".join(ascii(value_text(f.v)) for f in facts)
        raise RefusedError(f"{id_} has several values of {key}: add --old with one of {values}")
    return facts[0]


def _stated(id_: str, fact: Fact, because: str) -> dict[str, Any]:
    since = {"since": fact.since} if fact.since else {}
    return {"entity": id_, "k": fact.k, "v": fact.v, "lines": whole(because), **since}


def _retracted(entity: Any, key: str, v: Any) -> None:  # noqa: ANN401
    """Refuse to restore what was never retracted."""
    from kg.model import value_text
    from kg.text import fold

    gone = [r.what for r in entity.retracted if getattr(r.what, "k", "") == key]
    values = {fold(value_text(what.v)) for what in gone}
    if fold(value_text(v)) not in values:
        known = ", ".join(ascii(value_text(what.v)) for what in gone) or "none"
        raise NotFoundError(f"{entity.id} has no such retracted {key}: it has {known}")


def _code(graph: Graph) -> str:
    """Return the work tree that a store lies in, "" where it lies in none."""
    place = graph.place
    if place.shared:
        return place.top
    around = os.path.dirname(place.folder) if place.folder else ""
    return around if around and os.path.exists(os.path.join(around, ".git")) else ""


def _show(one: Conflict) -> None:
    head(f"{one.id} {one.k}")
    for side in one.sides:
        say(f"  {_side(side, one.id)}")
        say(f"      src: {side.claim.src}")
        if side.confirmed is not None:
            seen = side.confirmed
            say(f"      confirmed last by {seen.by} in {seen.run}: {seen.src}")


def _side(side: Side, id_: str) -> str:
    from kg.model import value_text

    times = {"since": side.claim.since, "until": side.claim.until}
    when = "".join(f", {name} {time_}" for name, time_ in times.items() if time_)
    filed = f", filed under {side.id}" if side.id != id_ else ""
    said = f"{side.k} {'->' if side.edge else '='} {value_text(side.v)}"
    return f"{said}  (run {side.claim.seen_run}{when}{filed})"
