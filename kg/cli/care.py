"""The commands that make a store, keep it, and extend its ontology."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, head, say, say_all
from kg.errors import AlreadyExistsError

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.ontology import Ontology, Term


@cli.command("init")
@click.argument("folder", metavar="[DIR]", required=False)
@click.option(
    "--in-tree", "layout", flag_value="in-tree", help="A folder of the repository around it."
)
@click.option(
    "--bare", "layout", flag_value="bare", help="A bare repository, for very large stores."
)
@as_json
@click.pass_obj
def init(session: Session, folder: str | None, layout: str | None, json_: bool) -> None:
    """Make a store in DIR (memory/), or adopt the hand-written one that is there.

    By default it is a repository of its own, so that no memory is ever committed to a
    developer's branch.

    \b
    kg init
    kg init memory --in-tree
    kg init --bare memory.git
    """
    import os

    from kg.cli.app import committer
    from kg.graph.init import init as make

    session.refuse_unknown_variables()
    target = os.path.join(session.directory or "", folder or "memory")
    made = make(target, layout=layout or "own", committer=committer())
    if json_:
        store = made.place.folder or made.place.gitdir
        found = {"store": store, "commit": made.commit, "adopted": list(made.adopted)}
        answer("init", found | {"excluded_in": made.excluded})
        return
    say(f"a store in {made.place.folder or made.place.gitdir}")
    if made.adopted:
        say(f"adopted {len(made.adopted)} files, in canonical form: see kg log")
    if made.excluded:
        say(f"kept out of the repository around it by {made.excluded}")
    say(f"commit {made.commit}")


@cli.command("commit")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("-m", "message", default="", help="The commit's subject.")
@as_json
@click.pass_obj
def commit(session: Session, paths: tuple[str, ...], message: str, json_: bool) -> None:
    """Commit what you have edited by hand, once it is valid, in canonical form.

    PATH, as kg fsck names it, is put into canonical form even if you have not edited it.

    \b
    kg commit -m "Correct the on-call team"
    """
    from kg.audit.drafts import commit as commit_drafts

    done, drafts = commit_drafts(session.writable(), message, paths)
    if json_:
        shown = [{"path": d.path, "state": d.state} for d in drafts]
        answer("commit", {"commit": done, "files": shown})
        return
    for drafted in drafts:
        say(f"{drafted.state}: {drafted.path}")
    say(f"commit {done}" if done else "nothing to commit")


@cli.group("ontology", invoke_without_command=True)
@click.option("--json", "json_", is_flag=True, help="Answer in JSON, versioned by its key.")
@click.pass_context
def ontology(ctx: click.Context, json_: bool) -> None:
    """List the types, keys and predicates, or extend them.

    \b
    kg ontology
    kg ontology add-key sla --definition "the availability promised" --domain Object
    """
    if ctx.invoked_subcommand is not None:
        return
    found = ctx.obj.graph().ontology
    if json_:
        answer("ontology", _ontology_json(found))
        return
    head("Types")
    say_all((t.name, f"{t.prefix}/", t.definition) for t in found.types.values())
    say("A file is an Object; its path is a fact of it. A Location is a place in its own right.")
    for title, terms in (("Keys", found.keys), ("Predicates", found.predicates)):
        head(title)
        say_all((name, _shape(term), term.definition) for name, term in sorted(terms.items()))


_TERM = (
    click.option(
        "--definition", required=True, metavar="TEXT", help="What it means, in a sentence."
    ),
    click.option(
        "--domain", multiple=True, metavar="TYPE", help="What it is said of; any if left out."
    ),
    click.option("--range", "range_", multiple=True, metavar="TYPE", help="What it takes."),
    click.option("--many", is_flag=True, help="Several values may hold at once."),
    as_json,
)


def _term_options(made: Any) -> Any:  # noqa: ANN401
    for option in reversed(_TERM):
        made = option(made)
    return made


@ontology.command("add-key")
@click.argument("name")
@_term_options
@click.pass_obj
def add_key(session: Session, /, name: str, **given: Any) -> None:  # noqa: ANN401
    """Declare a key that facts may have.

    \b
    kg ontology add-key sla --definition "the availability promised" --domain Object
    """
    _add_term(session, "keys", name, given)


@ontology.command("add-predicate")
@click.argument("name")
@_term_options
@click.pass_obj
def add_predicate(session: Session, /, name: str, **given: Any) -> None:  # noqa: ANN401
    """Declare a predicate that edges may have.

    \b
    kg ontology add-predicate blocks --definition "the object waits for the subject" --many
    """
    _add_term(session, "predicates", name, given)


@ontology.command("add-type")
@click.argument("name")
@click.option("--prefix", required=True, help="What its ids begin with.")
@click.option("--definition", required=True, metavar="TEXT", help="What it is, in a sentence.")
@click.option(
    "--confused-with", multiple=True, metavar="TYPE", help="Twice: the types it collides with."
)
@click.option("--because", default="", metavar="TEXT", help="Why neither of the two fits.")
@as_json
@click.pass_obj
def add_type(session: Session, /, name: str, json_: bool, **given: Any) -> None:  # noqa: ANN401
    """Declare a sixth type; it must name the two it would be confused with, and why.

    \b
    kg ontology add-type Concept --prefix concept --definition "an idea that code embodies" \\
       --confused-with Object --confused-with Event --because "it is not built, nor happens"
    """
    from kg.ontology import Type, check_new_type

    graph = session.writable()
    made = Type(name=name, **{**given, "confused_with": tuple(given["confused_with"])})
    check_new_type(made, graph.ontology)
    members = {n: given[n] for n in ("prefix", "definition", "because")}
    members["confused_with"] = list(given["confused_with"])
    _extend(graph, "types", name, members, json_=json_)


@cli.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    kg completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    if maker is not None:
        click.echo(maker(cli, {}, "kg", "_KG_COMPLETE").source())


def _add_term(session: Session, group: str, name: str, given: dict[str, Any]) -> None:
    from kg.ontology import Term

    graph = session.writable()
    term = Term(
        name=name,
        definition=given["definition"],
        domain=tuple(graph.ontology.type(t).name for t in given["domain"]),
        range=tuple(_range(graph.ontology, t) for t in given["range_"]),
        cardinality="many" if given["many"] else "one",
    )
    _extend(graph, group, name, term.to_json(), json_=given["json_"])


def _range(ontology: Ontology, name: str) -> str:
    from kg.ontology import LITERALS

    return name if name in LITERALS else ontology.type(name).name


def _extend(graph: Graph, group: str, name: str, members: dict[str, Any], *, json_: bool) -> None:
    """Commit an addition to the ontology; one that is there already is never changed."""
    from kg import secrets

    if name in getattr(graph.ontology, group):
        raise AlreadyExistsError(f"{name!a} is there already: see kg ontology")
    secrets.check(str(members), "the definition")

    def edit(draft: Any) -> str:  # noqa: ANN401
        additions = draft.settings.additions
        more = {**additions, group: {**additions[group], name: members}}
        draft.put_settings(replace(draft.settings, additions=more))
        return f"Declare the {group.removesuffix('s')} {name}"

    done = graph.change(edit, op="ontology")
    if json_:
        answer("ontology", {group: {name: members}, "commit": done})
    else:
        say(f"declared the {group.removesuffix('s')} {name}")
        say(f"commit {done}")


def _shape(term: Term) -> str:
    takes = " or ".join(term.range) or "text"
    return f"{' or '.join(term.domain) or 'any'} -> {takes}, {term.cardinality}"


def _ontology_json(found: Ontology) -> dict[str, Any]:
    return {
        "types": [
            {"name": t.name, "prefix": t.prefix, "definition": t.definition}
            for t in found.types.values()
        ],
        "keys": [{"name": n, **t.to_json()} for n, t in sorted(found.keys.items())],
        "predicates": [{"name": n, **t.to_json()} for n, t in sorted(found.predicates.items())],
    }
