"""The commands that write what was seen, said or taken back."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import FAILED, Session, as_json, cli
from kg.cli.output import answer, say, talk
from kg.cli.read import complete_id
from kg.errors import RefusedError

if TYPE_CHECKING:
    from kg.graph import Answer, Recorded
    from kg.graph.recorded import Stated

MAX_INPUT = 256 * 1024 * 1024  # bytes of one `kg remember`; more is more than one batch

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
    observations = parse_observations(read(file))
    session: Session = ctx.obj
    _write(ctx, observations, "remember", json_=json_, redact=redact, session=session)


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
    _write(ctx, [{"text": text}], "capture", json_=json_, redact=redact, session=ctx.obj)


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
@as_json
@click.pass_context
def add_entity(
    ctx: click.Context, type_: str, name: str, aliases: tuple[str, ...], because: str | None, json_: bool
) -> None:
    """Add an entity; refuse where one of that name is known.

    \b
    kg add entity Organization "Acme Corp"
    """
    graph = ctx.obj.writable()
    kind = graph.ontology.type(type_)
    known = graph.draft(graph.at()).named(kind.prefix, name)
    if known:
        from kg.errors import AlreadyExistsError

        raise AlreadyExistsError(f"{known[0].id} is called {name!a} already: see kg show {known[0].id}")
    text = because or f"{kind.name} {name}" + "".join(f", also known as {a}" for a in aliases)
    mention = {
        "ref": "it", "type": type_, "name": name,
        "aliases": [{"name": alias, "lines": _all(text)} for alias in aliases],
    }  # fmt: skip
    _write(ctx, [{"text": text, "entities": [mention]}], "add", json_=json_, session=ctx.obj)


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
    v = _typed(ctx.obj.writable().ontology, key, value)
    fact = {"entity": id_, "k": key, "v": v, **times}
    _write(ctx, [_stated("facts", fact, because, src)], "add", json_=json_, redact=redact, session=ctx.obj)


@add.command("edge")
@click.argument("subject", shell_complete=complete_id)
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT", shell_complete=complete_id)
@because_
@src_
@as_json
@click.pass_context
def add_edge(
    ctx: click.Context, subject: str, predicate: str, object_: str,
    because: str | None, src: str | None, json_: bool,
) -> None:  # fmt: skip
    """Add an edge between two entities.

    \b
    kg add edge object/payments-api owned-by org/acme-corp --because "Acme Corp took it over"
    """
    edge = {"subject": subject, "predicate": predicate, "object": object_}
    _write(ctx, [_stated("edges", edge, because, src)], "add", json_=json_, session=ctx.obj)


@add.command("tried")
@click.argument("what", metavar="TRIED")
@click.option("--about", multiple=True, metavar="ID", shell_complete=complete_id, help="What it was tried on.")
@click.option(
    "--outcome", type=click.Choice(["failed", "worked", "inconclusive"]), default="failed", show_default=True
)
@click.option("--because", required=True, metavar="TEXT", help="Why it ended that way.")
@click.option("--error", metavar="TEXT", help="The error message that was seen.")
@as_json
@click.pass_context
def add_tried(
    ctx: click.Context, what: str, about: tuple[str, ...], outcome: str, because: str,
    error: str | None, json_: bool,
) -> None:  # fmt: skip
    """Add a trace: what was tried, how it ended and why.

    \b
    kg add tried "raising the pool size" --about object/payments-api --because "the database caps it"
    """
    text = f"tried {what}: {outcome} because {because}" + (f"\n{error}" if error else "")
    trace = {
        "about": list(about), "tried": what, "outcome": outcome, "because": because,
        "lines": _all(text), **({"error": error} if error else {}),
    }  # fmt: skip
    _write(ctx, [{"text": text, "tried": [trace]}], "add", json_=json_, session=ctx.obj)


@cli.command("retract")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("key", metavar="KEY|PREDICATE")
@click.argument("value", metavar="[VALUE|OBJECT]", required=False)
@click.option("--because", required=True, metavar="TEXT", help="Why it is no longer held.")
@as_json
@click.pass_context
def retract(ctx: click.Context, id_: str, key: str, value: str | None, because: str, json_: bool) -> None:
    """Take back a fact or an edge; the line and your reason stay on record.

    \b
    kg retract object/payments-api on-call --because "the rota moved"
    kg retract object/payments-api owned-by org/acme-corp --because "sold in March"
    """
    ontology = ctx.obj.writable().ontology
    said: dict[str, Any] = {"entity": id_, "lines": _all(because)}
    if key in ontology.predicates and key not in ontology.keys:
        if value is None:
            raise RefusedError(f"{key} is an edge: name the entity it goes to as well")
        said |= {"predicate": key, "object": value}
    else:
        said |= {"k": ontology.key(key).name}
        said |= {"v": _typed(ontology, key, value)} if value is not None else {}
    _write(ctx, [{"text": because, "retract": [said]}], "retract", json_=json_, session=ctx.obj)


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
@as_json
@click.pass_context
def alias_add(
    ctx: click.Context, id_: str, name: str, because: str | None, src: str | None, json_: bool
) -> None:
    """Add another name of an entity.

    \b
    kg alias add org/acme-corp "Acme Corporation"
    """
    fact = {"entity": id_, "k": "also-known-as", "v": name}
    because = because or (None if src else f"{id_} is also known as {name}")
    _write(ctx, [_stated("facts", fact, because, src)], "alias", json_=json_, session=ctx.obj)


@alias.command("rm")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("name")
@click.option("--because", required=True, metavar="TEXT", help="Why it is not a name of it.")
@as_json
@click.pass_context
def alias_rm(ctx: click.Context, id_: str, name: str, because: str, json_: bool) -> None:
    """Take back another name of an entity.

    \b
    kg alias rm org/acme-corp "Acme Ltd" --because "another company"
    """
    said = {"entity": id_, "k": "also-known-as", "v": name, "lines": _all(because)}
    _write(ctx, [{"text": because, "retract": [said]}], "alias", json_=json_, session=ctx.obj)


@cli.command("rename")
@click.argument("id_", metavar="ID", shell_complete=complete_id)
@click.argument("name")
@because_
@as_json
@click.pass_context
def rename(ctx: click.Context, id_: str, name: str, because: str | None, json_: bool) -> None:
    """Give an entity a new name; its id stays, the old name becomes an alias.

    \b
    kg rename object/payments-api "Payments API"
    """
    text = because or f"{id_} is now called {name}"
    said = {"entity": id_, "name": name, "lines": _all(text)}
    _write(ctx, [{"text": text, "rename": [said]}], "rename", json_=json_, session=ctx.obj)


def read(file: str) -> bytes:
    """Return what a file or stdin holds."""
    if file == "-":
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
    else:
        with open(file, "rb") as handle:
            data = handle.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise RefusedError(f"{file} is larger than {MAX_INPUT} bytes: split it")
    return data


def text_of(data: bytes) -> str:
    """Return bytes as text.

    Raises:
        RefusedError: they are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RefusedError(f"line {line} is not UTF-8: convert it (iconv -t utf-8)") from None


def parse_observations(data: bytes) -> list[dict[str, Any]]:
    """Return the observations of a JSON object, a JSON list, or JSON Lines.

    Raises:
        RefusedError: it is none of these; names the line.
    """
    text = text_of(data).removeprefix("\ufeff")
    if not text.strip():
        raise RefusedError("nothing to remember: give an observation in JSON (kg remember --help)")
    try:
        whole = json.loads(text)
    except RecursionError:
        raise RefusedError("the JSON is nested too deeply: flatten it") from None
    except ValueError as error:
        if "Extra data" not in str(error):
            raise RefusedError(f"not JSON: {error}: see kg remember --help") from None
        whole = [_line(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    found = whole if isinstance(whole, list) else [whole]
    if not all(isinstance(one, dict) for one in found):
        raise RefusedError("an observation is a JSON object: see kg remember --help")
    return found


def _line(number: int, line: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"line {number} is not JSON ({error}): see kg remember --help") from None


def _write(
    ctx: click.Context, observations: list[dict[str, Any]], op: str, *,
    json_: bool, session: Session, redact: bool = False,
) -> None:  # fmt: skip
    """Write, print what became of it, and exit 3 where it was kept for later."""
    found = session.writable().remember(
        observations, op=op, redact=redact, run=session.run, agent=session.agent
    )
    if json_:
        answer(op, found.to_json())
    else:
        _show(found)
    if found.queued:
        talk(f"queued, not written yet: {found.queued}")
        ctx.exit(FAILED)


def _show(found: Answer) -> None:
    for one in found.recorded:
        _show_recorded(one)
    for commit in found.commits:
        say(f"commit {commit}")
    if not found.commits and not found.queued:
        say("nothing new: all of it is there already")


def _show_recorded(one: Recorded) -> None:
    for line, kind in one.redacted:
        say(f"redacted: line {line} ({kind})")
    if one.raw:
        say(f"{one.raw}#L1")
    for mention in one.mentions:
        shown = mention.to_json()
        more = f" by {shown['by']}" if "by" in shown else ""
        others = f", perhaps {' or '.join(shown['candidates'])}" if "candidates" in shown else ""
        say(f"{shown['decision']}{more}: {mention.id}{others}")
    for stated in one.facts:
        _show_stated(stated, "=")
    for stated in one.edges:
        _show_stated(stated, "->")
    for path, outcome in one.tried:
        say(f"{outcome}: {path}")
    for stated in (*one.retracted, *one.renamed):
        _show_stated(stated, "=")


def _show_stated(stated: Stated, sign: str) -> None:
    from kg.model import value_text

    inferred = " (inferred: the value is not in the source line)" if stated.inferred else ""
    say(f"{stated.outcome}: {stated.id} {stated.k} {sign} {value_text(stated.v)}{inferred}")
    say(f"    src: {stated.src}")
    for value, src in stated.against:
        say(f"    contradicts: {value}  src: {src}")


def _stated(part: str, said: dict[str, Any], because: str | None, src: str | None) -> dict[str, Any]:
    """Return the observation of one thing said by hand, resting on a line or on a statement."""
    if bool(because) == bool(src):
        raise click.UsageError("say where it comes from: either --because TEXT or --src SRC")
    if src:
        return {part: [{**said, "src": src}]}
    return {"text": because, part: [{**said, "lines": _all(because or "")}]}


def _all(text: str) -> list[int]:
    return [1, text.rstrip("\n").count("\n") + 1]


def _typed(ontology: Any, key: str, value: str) -> str | bool | int:  # noqa: ANN401
    """Return a value from the command line as the type its key takes."""
    range_ = ontology.key(key).range
    if range_ == ("boolean",) and value in ("true", "false"):
        return value == "true"
    if range_ == ("integer",) and value.lstrip("-").isdecimal():
        return int(value)
    return value
