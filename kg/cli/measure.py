"""The command that measures cutoffs on labelled pairs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.input import read
from kg.cli.output import answer, head, say, say_all, talk
from kg.errors import NotARepositoryError, RefusedError

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.resolve.bands import Cutoffs
    from kg.resolve.evidence import Policy
    from kg.resolve.labels import Labels, Pair
    from kg.resolve.measure import Lowered, Measurement


class Share(click.ParamType[Fraction]):
    """A share from 0 to 1, exact: at most six decimals, as resolver.json keeps it."""

    name = "SHARE"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Fraction:
        """Return the share that a text says."""
        if isinstance(value, Fraction):
            return value
        try:
            share = Fraction(str(value).strip())
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if not 0 <= share <= 1 or (share * 10**6).denominator != 1:
            self.fail(f"{value!a} is no share: write a decimal from 0 to 1, as 0.005", param, ctx)
        return share


SHARE = Share()


@cli.command("measure")
@click.argument("files", metavar="[LABELS]...", nargs=-1)
@click.option("--type", "type_name", metavar="TYPE", help="The type of pairs that name none.")
@click.option("--scorer", "scorer_name", metavar="NAME", help="Measure this one.")
@click.option("--max-false-merge", type=SHARE, default="0.005", help="Of different pairs (0.005).")
@click.option("--min-precision", type=SHARE, default="0.99", help="Of matches (0.99).")
@click.option("--max-split", type=SHARE, default="0.05", help="Of same pairs with a token (0.05).")
@click.option(
    "--policy", type=click.Choice(["measured", "zero-errors"]), default="measured",
    help="Or the two cuts without an error on these labels.",
)  # fmt: skip
@click.option("--accept-bound", is_flag=True, help="Match at the cut of zero-errors all the same.")
@click.option("--rule", metavar="UPPER/LOWER", help="Say what this fixed rule does, as 0.95/0.85.")
@click.option("--dry-run", is_flag=True, help="Write nothing into the store.")
@click.option("--keep", metavar="NAME", default="", help="Keep the pairs as labels/NAME.jsonl.")
@click.option("--report", metavar="FILE", help="Write a page of HTML as well.")
@click.option("--from-judgements", is_flag=True, help="How judgements here move lower cutoffs.")
@click.option("--write", is_flag=True, help="Write what --from-judgements gives.")
@as_json
@click.pass_obj
def measure(session: Session, /, **given: Any) -> None:  # noqa: ANN401
    """Choose the two cutoffs of each type on labelled pairs, and say what they are worth.

    LABELS are JSON Lines with a, b, label (1 or 0) and type, or CSV with these columns; without
    any, labels/ of the store. At or above the upper cutoff a mention is matched by itself, below
    the lower one it is new, between them a person decides. The upper one is the lowest cut that
    keeps the policy on two halves of the labels; the bound printed is a 95% upper bound of the
    share of different pairs that match. In a store the cutoffs are committed to resolver.json.

    \b
    kg measure labels.jsonl --dry-run
    kg measure people.csv --type Person --keep people --report measure.html
    kg measure eight.jsonl --policy zero-errors --rule 0.95/0.85
    """
    if given["accept_bound"] and given["policy"] != "zero-errors":
        raise click.UsageError("--accept-bound is for --policy zero-errors")
    if given["write"] and not given["from_judgements"]:
        raise click.UsageError("--write is for --from-judgements: LABELS are written as it is")
    if given["from_judgements"]:
        if given["files"]:
            raise click.UsageError("--from-judgements reads the store: leave out LABELS")
        _judged(session, given)
    else:
        _measured(session, given)


def _measured(session: Session, given: Mapping[str, Any]) -> None:
    from kg.resolve.bands import DEFAULT
    from kg.resolve.measure import measure as measure_labels
    from kg.resolve.scorers import scorer

    rule = _rule(given["rule"])
    graph = _graph(session, needed=not given["files"] or bool(given["keep"]))
    labels = _labels(graph, given)
    chosen = scorer(given["scorer_name"] or DEFAULT)
    found = measure_labels(labels, chosen, _policy(given), _today())
    if given["report"]:
        _report(given["report"], labels, found)
    commit = "" if given["dry_run"] or graph is None else _keep(session, given, labels, found)
    if given["json_"]:
        shown = _set_json(labels) | {"types": [_type_json(one, rule) for one in found]}
        answer("measure", shown | {"commit": commit})
        return
    _show(labels, found, rule)
    if commit:
        say(f"commit {commit}")
    elif graph is None or given["dry_run"]:
        why = "--dry-run" if given["dry_run"] else "there is no store to write to"
        talk(f"nothing is written: {why}")
    else:
        say("resolver.json says so already")


def _graph(session: Session, *, needed: bool) -> Graph | None:
    """Return the store, None where there is none to write to and nothing asks for one."""
    try:
        seed = session.place().seed  # hand-written: only read
    except NotARepositoryError:
        if needed or session.directory is not None:
            raise
        return None
    if seed and not needed:
        return None
    graph = session.graph()
    graph.check_adopted()
    return graph


def _labels(graph: Graph | None, given: Mapping[str, Any]) -> Labels:
    from kg.graph.cutoffs import stored_labels
    from kg.resolve.labels import labels_of, read_labels

    pairs: list[Pair] = []
    for file in given["files"]:
        pairs += read_labels(read(file), file, given["type_name"] or "")
    if not given["files"] and graph is not None:
        pairs = stored_labels(graph)
    if not pairs:
        raise RefusedError("there are no labelled pairs: name a file, see kg measure --help")
    if graph is not None:
        known = {name: graph.ontology.type(name).name for name in {pair.type for pair in pairs}}
        pairs = [pair._replace(type=known[pair.type]) for pair in pairs]
    return labels_of(pairs)


def _policy(given: Mapping[str, Any]) -> Policy:
    from kg.resolve.evidence import Policy

    members = ("max_false_merge", "min_precision", "max_split", "accept_bound")
    return Policy(given["policy"], **{name: given[name] for name in members})


def _rule(text: str | None) -> tuple[Fraction, Fraction] | None:
    if text is None:
        return None
    upper, _, lower = text.partition("/")
    rule = (SHARE.convert(upper, None, None), SHARE.convert(lower, None, None))
    if rule[0] < rule[1]:
        raise click.UsageError(f"--rule {text}: the upper cutoff comes first, as in 0.95/0.85")
    return rule


def _report(file: str, labels: Labels, found: Sequence[Measurement]) -> None:
    from kg.resolve.report import page

    with open(file, "w", encoding="utf-8", newline="\n") as out:
        out.write(page(labels.id, found))
    talk(f"report: {file}")


def _keep(
    session: Session, given: Mapping[str, Any], labels: Labels, found: Sequence[Measurement]
) -> str:
    from kg.graph.cutoffs import keep

    cutoffs = {one.type: one.cutoffs for one in found}
    return keep(
        session.writable(), cutoffs, name=given["keep"], pairs=labels.pairs,
        run=session.run, agent=session.agent,
    )  # fmt: skip


# printing


def _show(
    labels: Labels, found: Sequence[Measurement], rule: tuple[Fraction, Fraction] | None
) -> None:
    from kg.resolve.picture import bars, rule_said, sentences, table

    twice = f", {labels.twice} more than once" if labels.twice else ""
    say(f"label set {labels.id}: {len(labels.pairs)} pairs{twice}")
    for type_name, a, b in labels.both_ways:
        talk(f"left out, labelled both ways: {type_name}: {a} | {b}")
    for one in found:
        at = one.whole
        say("")
        head(f"{one.type}, {one.cutoffs.scorer}: {at.same} same, {at.different} different pairs")
        say_all(table(one))
        said = [*sentences(one), *([rule_said(one, *rule)] if rule is not None else [])]
        for line in ["", *bars(one), "", *(row for text in said for row in wrap(text, 79))]:
            say(line)


def _set_json(labels: Labels) -> dict[str, Any]:
    both = [{"type": t, "a": a, "b": b} for t, a, b in labels.both_ways]
    return {
        "labels": labels.id, "pairs": len(labels.pairs), "twice": labels.twice, "both_ways": both,
    }  # fmt: skip


def _type_json(one: Measurement, rule: tuple[Fraction, Fraction] | None) -> dict[str, Any]:
    from kg.format.resolver import to_json
    from kg.resolve.picture import rule_counts

    steps = [{"cut": str(step.at), **step.whole._asdict()} for step in one.steps]
    return {
        "type": one.type, **to_json(one.cutoffs), "needed": one.needed,
        "split_over": one.split_over, "steps": steps,
        **({"rule": rule_counts(one, *rule)} if rule is not None else {}),
    }  # fmt: skip


# judgements


def _judged(session: Session, given: Mapping[str, Any]) -> None:
    from kg.graph.cutoffs import in_store
    from kg.graph.judged import labels_from_judgements
    from kg.resolve.bands import in_force
    from kg.resolve.labels import labels_of
    from kg.resolve.measure import lowered

    graph = session.writable() if given["write"] else session.graph()
    labels = labels_of(labels_from_judgements(graph))
    force, policy = in_store(graph), _policy(given)
    rows = [
        (type_name, now, lowered(pairs, now, policy))
        for type_name, pairs in labels.types.items()
        for now in [in_force(force, type_name)]
    ]
    commit = _write_lower(session, labels, rows) if given["write"] else ""
    if given["json_"]:
        shown = [_lowered_json(*row) for row in rows]
        answer("measure", _set_json(labels) | {"judged": shown, "commit": commit})
        return
    if not rows:
        say("nobody has judged a pair here yet: see kg review")
    for row in rows:
        say(_lowered_said(*row))
    if commit:
        say(f"commit {commit}")


def _write_lower(
    session: Session, labels: Labels, rows: Sequence[tuple[str, Cutoffs, Lowered]]
) -> str:
    from kg.graph.cutoffs import keep

    moved = {
        type_name: replace(now, lower=new.at, lower_labels=labels.id)
        for type_name, now, new in rows
        if new.at != now.lower
    }
    run, agent = session.run, session.agent
    return keep(session.writable(), moved, run=run, agent=agent) if moved else ""


def _lowered_said(type_name: str, now: Cutoffs, new: Lowered) -> str:
    of = f"{new.split.of} pairs judged same that share a token"
    if new.needed:
        return (
            f"{type_name}: lower {now.lower} stays: {of}, {new.needed} more are needed to move it"
        )
    if new.at == now.lower:
        return f"{type_name}: lower {now.lower} stays: {of}"
    return f"{type_name}: lower {now.lower} -> {new.at}: below it are {new.split.lost} of {of}"


def _lowered_json(type_name: str, now: Cutoffs, new: Lowered) -> dict[str, Any]:
    return {
        "type": type_name, "lower": str(now.lower), "new": str(new.at), "needed": new.needed,
        "split": new.split._asdict(),
    }  # fmt: skip


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
