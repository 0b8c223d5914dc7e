"""The commands about what is one thing: compare, judge, unmerge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.input import parse_objects, read
from kg.cli.output import answer_line, say
from kg.cli.read import complete_id
from kg.cli.write import redact_
from kg.cli.written import write
from kg.errors import NotARepositoryError, NotFoundError, RefusedError
from kg.graph.rawtext import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kg.graph.comparing import Asked
    from kg.resolve.comparison import Comparison


@cli.command("compare")
@click.argument("one", metavar="[A", required=False)
@click.argument("other", metavar="B]", required=False)
@click.option("--type", "type_", metavar="TYPE", help="Of what type; else the entity's, or Object.")
@click.option("--scorer", metavar="NAME", default="", help="As in token-set-jaccard/1.")
@click.option(
    "--pairs",
    type=click.Path(allow_dash=True),
    help='JSON Lines: {"a": ..., "b": ..., "type": ...}.',
)
@as_json
@click.pass_context
def compare(
    ctx: click.Context, one: str | None, other: str | None, type_: str | None, scorer: str,
    pairs: str | None, json_: bool,
) -> None:  # fmt: skip
    """Show what the resolver would do with two names or entities, and why. Writes nothing.

    \b
    kg compare "Acme Corp" "Acme Corporation" --type Organization
    kg compare org/acme-corp org/acme-logistics --json
    kg compare --pairs pairs.jsonl --json
    """
    if bool(pairs) == bool(one and other):
        raise click.UsageError("give two names or ids, or --pairs FILE")
    from kg.graph.comparing import Asked

    asked = [Asked(one or "", other or "", type_ or "", scorer)]
    if pairs:
        asked = [_asked(raw, type_ or "", scorer) for raw in parse_objects(read(pairs), "compare")]
    compared = _comparer(ctx.obj)
    for found in map(compared, asked):
        if json_ or pairs:
            answer_line("compare", found.to_json())
        else:
            _show(found)


def _asked(raw: dict[str, Any], type_name: str, scorer: str) -> Asked:
    from kg.graph.comparing import Asked

    one, other, said = raw.get("a"), raw.get("b"), raw.get("type", type_name)
    if not (isinstance(one, str) and isinstance(other, str) and isinstance(said, str)):
        line = json.dumps(raw)[:80]
        raise RefusedError(f'{line}: a pair needs the texts "a" and "b": see kg compare --help')
    return Asked(one, other, said, scorer)


def _comparer(session: Session) -> Callable[[Asked], Comparison]:
    """Return what compares: in the store, or where there is none by the shipped cutoffs."""
    from kg.format.resolver import shipped
    from kg.graph.comparing import compare_in, cutoffs_for
    from kg.resolve.bands import in_force
    from kg.resolve.comparison import compare as compare_names

    try:
        graph = session.graph()
    except (NotARepositoryError, NotFoundError):

        def bare(asked: Asked) -> Comparison:
            type_name = asked.type or "Object"
            cutoffs = cutoffs_for(asked.scorer, in_force(shipped(), type_name))
            return compare_names([asked.one], [asked.other], type_name, cutoffs)

        return bare
    linker = graph.linker(graph.draft(graph.at()))
    types = linker.draft.ontology

    def stored(asked: Asked) -> Comparison:
        type_name = types.type(asked.type).name if asked.type else ""
        return compare_in(linker, asked._replace(type=type_name))

    return stored


def _show(found: Comparison) -> None:
    for name, id_, tokens in zip(found.names, found.ids, found.tokens, strict=True):
        say(f"{id_ or name}  ({name})" if id_ else name, f" tokens: {' '.join(tokens) or 'none'}")
    cutoffs, upper = found.cutoffs, found.cutoffs.upper
    shown = f"{upper} ({float(upper):.2f})" if upper is not None else "off"
    say(f"type:    {found.type}")
    say(f"score:   {found.score} ({float(found.score):.2f}) by {cutoffs.scorer}")
    bound = f", false merges at most {cutoffs.bound} (95%)" if cutoffs.bound else ""
    say(f"cutoffs: match from {shown}, review from {cutoffs.lower} "
        f"({float(cutoffs.lower):.2f}){bound}")  # fmt: skip
    say(f"band:    {found.band}")
    for reason in found.reasons:
        say(f"  {reason}")
    for veto in found.vetoes:
        say(f"  against a match: {veto}")
    if found.would != found.band:
        say(f"would:   {found.would}")


@cli.command("judge")
@click.argument("one", metavar="A", shell_complete=complete_id)
@click.argument("other", metavar="B", shell_complete=complete_id)
@click.argument("verdict", type=click.Choice(["same", "different", "unsure", "withdrawn"]))
@click.option("--because", required=True, metavar="TEXT", help="Why; kept as the source.")
@redact_
@as_json
@click.pass_context
def judge(
    ctx: click.Context, one: str, other: str, verdict: str, because: str, redact: bool, json_: bool
) -> None:
    """Judge whether two entities are one thing. An agent's judgement is a suggestion.

    A person is whoever sits at a terminal without an agent's environment (KG_AGENT and the
    like). What agents suggest links nothing until a person judges too: see kg review.

    \b
    kg judge org/acme-corp org/acme-corporation same --because "one letterhead"
    kg judge org/acme-corp org/acme-logistics different --because "two registers"
    kg judge org/acme-corp org/acme-corporation withdrawn --because "I mistook the address"
    """
    _judge(ctx, [(one, other)], verdict, because, "judge", json_=json_, redact=redact)


@cli.command("unmerge")
@click.argument("one", metavar="A", shell_complete=complete_id)
@click.argument("other", metavar="[B]", required=False, shell_complete=complete_id)
@click.option("--because", required=True, metavar="TEXT", help="Why they are two; kept.")
@redact_
@as_json
@click.pass_context
def unmerge(
    ctx: click.Context, one: str, other: str | None, because: str, redact: bool, json_: bool
) -> None:
    """Take a merge back: both sides are as they were filed, and stay apart.

    Nothing was ever fused, so later facts stay with the id they were filed under. Without B, A
    is told apart from everything it was linked with.

    \b
    kg unmerge org/acme-corp org/acme-logistics --because "two registers"
    """
    graph = ctx.obj.writable()
    if other is None:
        pairs = [(one, end) for end in linked_with(graph, one)]
        if not pairs:
            raise RefusedError(f"{graph.entity(one).id} is linked with nothing: see kg show {one}")
    else:
        pairs = [(one, other)]
    _judge(ctx, pairs, "different", because, "unmerge", json_=json_, redact=redact)


def _judge(
    ctx: click.Context, pairs: list[tuple[str, str]], verdict: str, because: str, op: str, *,
    json_: bool, redact: bool,
) -> None:  # fmt: skip
    lines = whole(because)
    judged = [{"one": a, "other": b, "verdict": verdict, "lines": lines} for a, b in pairs]
    observation = {"text": because, "judge": judged}
    write(ctx, [observation], op, json_=json_, redact=redact, person=ctx.obj.person())


def linked_with(graph: Any, id_: str) -> Iterator[str]:  # noqa: ANN401
    """Yield the ids that a standing judgement links an entity with."""
    from kg.clusters import SAME

    graph.entity(id_)
    draft = graph.draft(graph.at())
    for pair, standing in sorted(draft.standings(id_).items()):
        if standing.verdict == SAME:
            yield pair[0] if pair[1] == id_ else pair[1]
