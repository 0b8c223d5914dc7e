"""The commands that only read."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, head, say, say_all, talk

if TYPE_CHECKING:
    from kg.audit.why import Evidence
    from kg.graph import Graph
    from kg.model import Claim, Edge, Entity


def complete_id(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids that begin with what was typed, for the shell."""
    session = ctx.find_root().obj or Session(ctx.find_root().params.get("directory"))
    prefix, slash, _ = incomplete.partition("/")
    graph = session.graph()
    types = graph.ontology.types.values()
    if not slash:
        return [f"{t.prefix}/" for t in types if t.prefix.startswith(prefix)]
    return [id_ for id_, _, _ in listing(graph, prefix) if id_.startswith(incomplete)][:100]


@cli.command("tried")
@click.argument("error", metavar="ERROR|-", nargs=-1)
@click.option("--about", metavar="ID", shell_complete=complete_id, help="Only on this entity.")
@click.option("--outcome", metavar="OUTCOME", help="Only failed, worked or inconclusive.")
@click.option("--limit", metavar="N", help="At most so many (5).")
@click.option("--format", metavar="FORMAT", help="text or json.")
@as_json
@click.pass_context
def tried(
    ctx: click.Context, /, error: tuple[str, ...], json_: bool, **options: str | None
) -> None:
    """Say what was tried before about an error, and how it ended.

    \b
    kg tried "ModuleNotFoundError: No module named 'yaml'"
    make test 2>&1 | kg tried -
    """
    from kg.cli.input import read_some
    from kg.recall.tried import main

    # `kg.entry` answers it before this module is imported; this is for help and completion, and
    # for whoever calls the command from Python
    said = {**options, "format": "json" if json_ else options["format"]}
    argv = [f"--{name}={value}" for name, value in said.items() if value is not None]
    where = ["-C", ctx.obj.directory] if ctx.obj.directory else []
    ctx.exit(main([*where, *argv, "--", *error], os.environ, os.getcwd(), read_some))


@cli.command("show")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.option(
    "--at", "moment", metavar="MOMENT", default="", help="As of a commit, a date or a run."
)
@as_json
@click.pass_obj
def show(session: Session, id_: str, moment: str, json_: bool) -> None:
    """Show one entity: every fact and edge, retracted ones too.

    Where others were judged to be the same thing, theirs too, below the id they are filed under.

    \b
    kg show object/payments-api
    kg show object/payments-api --at 2026-11-30
    """
    graph = session.graph()
    draft, index = graph.then(moment) if moment else (graph.draft(graph.at()), graph.index())
    entity = draft.existing(id_, index.ids_like)
    edges, kin = draft.edges_of(id_), index.kin_of(id_)
    others = [e for e in (draft.entity(other) for other in kin if other != id_) if e is not None]
    if json_:
        found = _entity_json(entity, edges)
        if kin:
            found["cluster"] = {"canonical": kin[0], "members": sorted(kin)}
            found["others"] = [_entity_json(e, draft.edges_of(e.id)) for e in others]
        answer("show", found)
        return
    head(f"{entity.id}  ({entity.type})  {entity.name}")
    if kin:
        say(f"  one of {len(kin)} that are the same thing, which goes by {kin[0]}")
    _show_entity(entity, edges)
    for other in others:
        head(f"filed under {other.id}  ({other.type})  {other.name}")
        _show_entity(other, draft.edges_of(other.id))


@cli.command("ls")
@click.argument("type_", metavar="[TYPE]", default="")
@click.option(
    "--at", "moment", metavar="MOMENT", default="", help="As of a commit, a date or a run."
)
@as_json
@click.pass_obj
def ls(session: Session, type_: str, moment: str, json_: bool) -> None:
    """List all entities, or those of one type.

    \b
    kg ls
    kg ls org --at r1785343267
    """
    from kg.recall.moment import commit_at

    graph = session.graph()
    prefix = graph.ontology.type(type_).prefix if type_ else ""
    rows = listing(graph, prefix, commit_at(graph.place, moment) if moment else "")
    if json_:
        answer("ls", [{"id": id_, "type": t, "name": name} for id_, t, name in rows])
    else:
        say_all((id_, name if name != id_.partition("/")[2] else "") for id_, _, name in rows)
        talk(f"{len(rows)} {'entity' if len(rows) == 1 else 'entities'}")


@cli.command("why")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("key", default="")
@as_json
@click.pass_obj
def why(session: Session, id_: str, key: str, json_: bool) -> None:
    """Say why the store believes a fact: the sentence, the run, the agent, the commit.

    Also what is filed under others that were judged to be the same thing.

    \b
    kg why object/payments-api
    kg why object/payments-api owned-by
    """
    from kg.audit.why import why as find

    found = find(session.graph(), id_, key)
    if json_:
        answer("why", [evidence.to_json() for evidence in found])
        return
    for evidence in found:
        _show_evidence(evidence)
    if not found:
        talk(f"{id_} has no facts")


@cli.command("status")
@as_json
@click.pass_obj
def status(session: Session, json_: bool) -> None:
    """Say where the store is, what it holds, and what waits for somebody.

    \b
    kg status
    """
    from kg.audit.status import status as look
    from kg.cli.written import told_of

    graph = session.graph()
    found = look(graph)
    if json_:
        answer("status", found.to_json())
        return
    head(f"{found.store}  ({found.layout})")
    counts = ", ".join(f"{number} {what}" for what, number in found.counts.items())
    rows = [("found", found.why), ("head", found.head or "no commit yet"), ("holds", counts)]
    rows.append(("runs", f"{found.runs}, the last {found.last_run}" if found.runs else "none"))
    rows += [("problem", text) for text in (found.problem, found.in_the_way) if text]
    rows += [("draft", f"{d.path} {d.state} by hand: kg commit") for d in found.drafts]
    if found.waiting:
        rows.append(("waiting", f"{found.waiting} writes, made by the next command that can"))
    rows += [("refused", f"{path}: {because}") for path, because in found.refused]
    rows += [("meant", f"{told_of(heard)}: {id_}") for id_, heard in found.meant]
    rows += [("index", note) for note in found.notes]
    say_all(rows)


@cli.command("fsck")
@click.option("--history", is_flag=True, help="Also every commit: trailers, texts, signatures.")
@click.option("--fix", is_flag=True, help="Mend form and place, in one commit; say what is left.")
@as_json
@click.pass_context
def fsck(ctx: click.Context, history: bool, fix: bool, json_: bool) -> None:
    """Check that the store keeps its own rules; each finding ends in its remedy.

    Exits 1 where there are faults; notes (contested keys, drafts) are none.

    \b
    kg fsck
    kg fsck --history
    """
    from kg.audit.fsck import fsck as check
    from kg.audit.mend import in_words, mend
    from kg.audit.past_faults import past_faults

    graph = ctx.obj.writable() if fix else ctx.obj.graph()
    if fix:
        mended = mend(graph, run=ctx.obj.run, agent=ctx.obj.agent)
        for line in in_words(mended):
            talk(line)
        if mended.commit:
            talk(f"commit {mended.commit}")
    found = check(graph)
    if history:
        found += past_faults(graph)
    faults = [f for f in found if f.level == "fault"]
    if json_:
        answer("fsck", {"faults": len(faults), "findings": [f.to_json() for f in found]})
    else:
        for finding in found:
            say(f"{finding.level}: {finding.path}: {finding.problem}: {finding.remedy}")
        talk(f"{len(faults)} faults, {len(found) - len(faults)} notes")
    ctx.exit(1 if faults else 0)


def listing(graph: Graph, prefix: str, commit: str = "") -> list[tuple[str, str, str]]:
    """Return (id, type, name) of the entities of a type, or of all, by id."""
    from kg.errors import FormatError, StoreError
    from kg.format import ENTITIES, parse_entity

    snapshot, found = graph.at(commit), []
    for path, blob in snapshot.files(f"{ENTITIES}/{prefix}" if prefix else ENTITIES):
        try:
            entity = parse_entity(snapshot.blob(blob), path)
        except (FormatError, StoreError) as error:
            talk(f"{path}: {str(error).removeprefix(path + ': ')}")
            continue
        found.append((entity.id, entity.type, entity.name))
    return sorted(found)


def _entity_json(entity: Entity, edges: list[Edge]) -> dict[str, Any]:
    import json

    from kg.format import dump_edge, dump_entity

    found: dict[str, Any] = json.loads(dump_entity(entity))
    return found | {"edges": [json.loads(dump_edge(edge)) for edge in edges]}


def _show_entity(entity: Entity, edges: list[Edge]) -> None:
    from kg.model import value_text

    for fact in sorted(entity.facts, key=lambda f: (f.k, value_text(f.v))):
        say(f"  {fact.k} = {value_text(fact.v)}{_marks(fact)}")
        say(f"      src: {fact.src}")
    for edge in edges:
        for claim in edge.claims:
            say(f"  {edge.predicate} -> {edge.object}{_marks(claim)}")
            say(f"      src: {claim.src}")
        for judged in edge.judgements:
            say(f"  {edge.predicate} {edge.object}: {judged.verdict} ({judged.by})")
    for gone in entity.retracted:
        what = gone.what
        said = getattr(what, "v", None)
        shown = f"= {value_text(said)}" if said is not None else f"-> {getattr(what, 'object', '')}"
        say(f"  retracted: {getattr(what, 'k', '') or getattr(what, 'predicate', '')} {shown}")
        say(f"      src: {what.src}, because: {gone.because}")
    for key in entity.contested:
        say(f"  contested: {key}")
    say(f"  seen from {entity.first_run} to {entity.last_seen_run}")


def _marks(claim: Claim) -> str:
    parts = [claim.basis] if claim.basis != "stated" else []
    parts += [f"since {claim.since}"] if claim.since else []
    parts += [f"until {claim.until}"] if claim.until else []
    return f" ({', '.join(parts)})" if parts else ""


def _show_evidence(found: Evidence) -> None:
    head(f"{found.id} {found.k} {'->' if found.edge else '='} {found.v}{_marks(found.claim)}")
    if found.filed_under:
        say(f"  filed under {found.filed_under}, which is the same thing as {found.asked}")
    if found.retraction is not None:
        say(f"  retracted in {found.retraction.retracted_run}, because: {found.retraction.because}")
    say(f"  src: {found.claim.src}")
    for line in found.lines:
        say(f"  {'>' if line.cited else ' '} {line.number:>4}  {line.text}")
    if not found.lines:
        say("    (that line is not in the store: run kg fsck)")
    say(f"  run {found.claim.seen_run}, agent {found.agent or 'unknown'}")
    if found.commit is not None:
        say(f"  commit {found.commit.id[:12]}  {when(found.commit.at)}  {found.commit.subject}")
    if found.trust is not None and found.trust.value < 1:
        say(f"  confidence {found.trust.value:.2f}: {_trust(found)}")
    for seen in found.again:
        say(f"  seen again by {seen.by} in {seen.run}: {seen.src}")


def _trust(found: Evidence) -> str:
    """Return what a confidence is made of, in words."""
    trust = found.trust
    if trust is None:
        return ""
    parts = ["checked by a person" if trust.validated else found.claim.basis]
    parts += ["contradicted"] if trust.contradicted else []
    parts += [f"last seen {trust.age:.0f} days ago"] if trust.decay < 1 else []
    return ", ".join(parts)


def when(seconds: int) -> str:
    """Return a time for people, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))
