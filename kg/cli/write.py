"""The commands that write what was seen, said or taken back."""

from __future__ import annotations

from typing import Any

import click

from kg.cli.app import as_json, cli
from kg.cli.input import parse_objects, read, text_of
from kg.cli.read import complete_id
from kg.cli.written import stated, typed, write
from kg.errors import AlreadyExistsError, RefusedError
from kg.graph.rawtext import whole

redact_ = click.option("--redact", is_flag=True, help="Replace secrets instead of refusing.")
because_ = click.option("--because", metavar="TEXT", help="What you state; kept as the source.")
src_ = click.option("--src", metavar="SRC", help="A line of raw/ that says so: raw/FILE.txt#L4.")


@cli.command("remember")
@click.argument("file", type=click.Path(allow_dash=True), default="-")
@redact_
@as_json
@click.pass_context
def remember(ctx: click.Context, file: str, redact: bool, json_: bool) -> None:
    """Commit observations: what runs saw, in JSON or JSON Lines. FILE or - for stdin.

    Only "text" is required. Every fact, edge and trace quotes its words:

    \b
    {"run": "r1785343267", "agent": "scoper",
     "text": "payments-api is owned by Acme Corp.",
     "entities": [{"ref": "api", "type": "Object", "name": "payments-api"},
                  {"ref": "acme", "type": "Organization", "name": "Acme Corp"}],
     "edges": [{"subject": "api", "predicate": "owned-by", "object": "acme",
                "quote": "owned by Acme Corp"}]}

    \b
    kg remember observation.json
    some-agent | kg remember - --json
    """
    observations = parse_objects(read(file))
    write(ctx, observations, "remember", json_=json_, redact=redact)


@cli.command("capture")
@click.argument("file", type=click.Path(allow_dash=True), default="-")
@redact_
@as_json
@click.pass_context
def capture(ctx: click.Context, file: str, redact: bool, json_: bool) -> None:
    """Put a text into raw/ and print the src of its lines. FILE or - for stdin.

    \b
    git log -5 | kg capture
    kg capture meeting-notes.txt
    """
    text = text_of(read(file))
    if not text.strip():
        raise RefusedError("the text is empty: give some to capture")
    write(ctx, [{"text": text}], "capture", json_=json_, redact=redact)


@cli.group("add")
def add() -> None:
    """Add one thing by hand: an entity, a fact, an edge, or what was tried.

    \b
    kg add fact object/payments-api status "in maintenance" --because "Ada said so on Monday"
    """


@add.command("entity")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@click.option("--alias", "aliases", multiple=True, help="Another name; stated by --because.")
@because_
@redact_
@as_json
@click.pass_context
def add_entity(
    ctx: click.Context,
    type_: str,
    name: str,
    aliases: tuple[str, ...],
    because: str | None,
    redact: bool,
    json_: bool,
) -> None:
    """Add an entity; refuse where one of that name is known.

    \b
    kg add entity Organization "Acme Corp"
    """
    graph = ctx.obj.writable()
    kind = graph.ontology.type(type_)
    known = graph.draft(graph.at()).named(kind.prefix, name)
    if known:
        raise AlreadyExistsError(
            f"{known[0].id} is called {name!a} already: see kg show {known[0].id}"
        )
    text = because or f"{kind.name} {name}" + "".join(f", also known as {a}" for a in aliases)
    mention = {
        "ref": "it", "type": type_, "name": name,
        "aliases": [{"name": alias, "lines": whole(text)} for alias in aliases],
    }  # fmt: skip
    write(ctx, [{"text": text, "entities": [mention]}], "add", json_=json_, redact=redact)


@add.command("fact")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("key")
@click.argument("value")
@click.option("--since", metavar="DATE", help="From when it holds.")
@click.option("--until", metavar="DATE", help="Until when it holds, exclusive.")
@because_
@src_
@redact_
@as_json
@click.pass_context
def add_fact(
    ctx: click.Context, id_: str, key: str, value: str, since: str | None, until: str | None,
    because: str | None, src: str | None, redact: bool, json_: bool,
) -> None:  # fmt: skip
    """Add a fact, with the line that says so or with what you state.

    \b
    kg add fact object/payments-api status "in maintenance" --because "Ada: it is in maintenance"
    kg add fact object/payments-api port 8080 --src raw/r1785343267-scoper.f1fca0d4.txt#L2
    """
    times = {n: v for n, v in (("since", since), ("until", until)) if v}
    v = typed(ctx.obj.writable().ontology, key, value)
    fact = {"entity": id_, "k": key, "v": v, **times}
    write(
        ctx,
        [stated("facts", fact, because, src)],
        "add",
        json_=json_,
        redact=redact,
    )


@add.command("edge")
@click.argument("subject", shell_complete=complete_id)
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT", shell_complete=complete_id)
@because_
@src_
@redact_
@as_json
@click.pass_context
def add_edge(
    ctx: click.Context, subject: str, predicate: str, object_: str,
    because: str | None, src: str | None, redact: bool, json_: bool,
) -> None:  # fmt: skip
    """Add an edge between two entities.

    \b
    kg add edge object/payments-api owned-by org/acme-corp --because "Acme Corp took it over"
    """
    edge = {"subject": subject, "predicate": predicate, "object": object_}
    write(ctx, [stated("edges", edge, because, src)], "add", json_=json_, redact=redact)


@add.command("tried")
@click.argument("what", metavar="TRIED")
@click.option(
    "--about", multiple=True, metavar="ID", shell_complete=complete_id, help="What it was tried on."
)
@click.option(
    "--outcome",
    type=click.Choice(["failed", "worked", "inconclusive"]),
    default="failed",
    show_default=True,
)
@click.option("--because", required=True, metavar="TEXT", help="Why it ended that way.")
@click.option("--error", metavar="TEXT", help="The error message that was seen.")
@redact_
@as_json
@click.pass_context
def add_tried(
    ctx: click.Context, what: str, about: tuple[str, ...], outcome: str, because: str,
    error: str | None, redact: bool, json_: bool,
) -> None:  # fmt: skip
    """Add a trace: what was tried, how it ended and why.

    \b
    kg add tried "a larger pool" --about object/payments-api --because "the database caps it"
    """
    text = f"tried {what}: {outcome} because {because}" + (f"\n{error}" if error else "")
    trace = {
        "about": list(about), "tried": what, "outcome": outcome, "because": because,
        "lines": whole(text), **({"error": error} if error else {}),
    }  # fmt: skip
    write(ctx, [{"text": text, "tried": [trace]}], "add", json_=json_, redact=redact)


@cli.command("retract")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("key", metavar="KEY|PREDICATE")
@click.argument("value", metavar="[VALUE|OBJECT]", required=False)
@click.option("--because", required=True, metavar="TEXT", help="Why it is no longer held.")
@redact_
@as_json
@click.pass_context
def retract(
    ctx: click.Context,
    id_: str,
    key: str,
    value: str | None,
    because: str,
    redact: bool,
    json_: bool,
) -> None:
    """Take back a fact or an edge; the line and your reason stay on record.

    \b
    kg retract object/payments-api on-call --because "the rota moved"
    kg retract object/payments-api owned-by org/acme-corp --because "sold in March"
    """
    graph = ctx.obj.writable()
    draft = graph.draft(graph.at())
    entity, ontology = draft.existing(id_, graph.near), draft.ontology
    said: dict[str, Any] = {"entity": id_, "lines": whole(because)}
    held = [f for f in entity.facts if f.k == key]
    edges = [e for e in draft.edges_of(id_) if e.predicate == key]
    if not held and (edges or (key in ontology.predicates and key not in ontology.keys)):
        if value is None:
            raise RefusedError(f"{key} is an edge: name the entity it goes to as well")
        said |= {"predicate": key, "object": value}
    else:
        # what is there can be taken back even if its key is known no more
        said |= {"k": key if held else ontology.key(key).name}
        said |= {"v": typed(ontology, key, value)} if value is not None else {}
    observation = {"text": because, "retract": [said]}
    write(ctx, [observation], "retract", json_=json_, redact=redact)


@cli.group("alias")
def alias() -> None:
    """Add or take back another name of an entity.

    \b
    kg alias add org/acme-corp "Acme Corporation" --because "their letterhead"
    """


@alias.command("add")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("name")
@because_
@src_
@redact_
@as_json
@click.pass_context
def alias_add(
    ctx: click.Context,
    id_: str,
    name: str,
    because: str | None,
    src: str | None,
    redact: bool,
    json_: bool,
) -> None:
    """Add another name of an entity.

    \b
    kg alias add org/acme-corp "Acme Corporation"
    """
    graph = ctx.obj.writable()
    others = graph.draft(graph.at()).named(id_.partition("/")[0], name)
    if any(other.id != id_ for other in others):
        raise AlreadyExistsError(f"{others[0].id} is called {name!a}: choose a name that fits one")
    fact = {"entity": id_, "k": "also-known-as", "v": name}
    because = because or (None if src else f"{id_} is also known as {name}")
    write(ctx, [stated("facts", fact, because, src)], "alias", json_=json_, redact=redact)


@alias.command("rm")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("name")
@click.option("--because", required=True, metavar="TEXT", help="Why it is not a name of it.")
@redact_
@as_json
@click.pass_context
def alias_rm(
    ctx: click.Context, id_: str, name: str, because: str, redact: bool, json_: bool
) -> None:
    """Take back another name of an entity.

    \b
    kg alias rm org/acme-corp "Acme Ltd" --because "another company"
    """
    said = {"entity": id_, "k": "also-known-as", "v": name, "lines": whole(because)}
    write(ctx, [{"text": because, "retract": [said]}], "alias", json_=json_, redact=redact)


@cli.command("rename")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("name")
@because_
@redact_
@as_json
@click.pass_context
def rename(
    ctx: click.Context, id_: str, name: str, because: str | None, redact: bool, json_: bool
) -> None:
    """Give an entity a new name; its id stays, the old name becomes an alias.

    \b
    kg rename object/payments-api "Payments API"
    """
    graph = ctx.obj.writable()
    text = because or f"{graph.entity(id_).name}, {id_}, is now called {name}"
    said = {"entity": id_, "name": name, "lines": whole(text)}
    write(ctx, [{"text": text, "rename": [said]}], "rename", json_=json_, redact=redact)
