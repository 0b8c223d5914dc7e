"""Writing from the command line, and saying what became of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from kg.cli.app import FAILED, Session
from kg.cli.output import answer, say, talk
from kg.clusters import CONFLICT
from kg.graph.rawtext import whole

if TYPE_CHECKING:
    from kg.graph import Answer, Recorded
    from kg.graph.learning import Heard
    from kg.graph.recorded import Judged, Mentioned, Stated
    from kg.ontology import Ontology


def write(
    ctx: click.Context, observations: list[dict[str, Any]], op: str, *,
    json_: bool, redact: bool = False, person: str = "",
) -> None:  # fmt: skip
    """Write, print what became of it, and exit 3 where it was kept for later."""
    session: Session = ctx.obj
    found = session.writable().remember(
        observations, op=op, redact=redact, run=session.run, agent=session.agent, person=person
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
    for where, kind in one.redacted:
        say(f"redacted: {where} ({kind})")
    if one.raw:
        say(f"{one.raw}#L1")
    for mention in one.mentions:
        _show_mention(mention)
    for told in one.facts:
        _show_stated(told, "=")
    for told in one.edges:
        _show_stated(told, "->")
    for path, outcome in one.tried:
        say(f"{outcome}: {path}")
    for told in (*one.retracted, *one.renamed, *one.amended):
        _show_stated(told, "=")
    for judged in one.judged:
        _show_judged(judged)


def _show_mention(mention: Mentioned) -> None:
    shown = mention.to_json()
    more = f" by {shown['by']}" if "by" in shown else ""
    others = f", perhaps {' or '.join(shown['candidates'])}" if "candidates" in shown else ""
    if mention.id != shown.get("of", mention.id):
        others = f", one with {shown['of']}"
    say(f"{shown['decision']}{more}: {mention.id}{others}")
    if "score" in shown:
        cutoffs = f"{shown['lower']}..{shown['upper'] or 'off'}"
        say(f"    {shown['score']} like {shown['like']} ({shown['scorer']}, review {cutoffs})")
    if "because" in shown:
        say(f"    because: {shown['because']}")


def _show_judged(judged: Judged) -> None:
    say(f"{judged.outcome}: {judged.one} and {judged.other} {judged.verdict} ({judged.by})")
    stands = judged.standing
    if judged.disputed:
        say("    disputed: people judge them one and not one, so all are answered apart")
    elif stands.verdict == CONFLICT:
        say(f"    conflict: {' and '.join(stands.by)} judge them differently, so they stay apart")
    elif judged.canonical:
        say(f"    one thing now, under {judged.canonical}")
    if judged.outcome == "suggested":
        say("    a suggestion: it links nothing until a person judges (kg review)")


def _show_stated(one: Stated, sign: str) -> None:
    from kg.model import value_text

    inferred = " (inferred: the value is not in the source line)" if one.inferred else ""
    said = f" {one.k} {sign} {value_text(one.v)}" if one.k else ""
    outcome = "still retracted" if one.because else one.outcome
    say(f"{outcome}: {one.id}{said}{inferred}")
    say(f"    src: {one.src}")
    if one.because:
        say(f"    it was retracted, and nothing new speaks for it: {one.because}")
    for value, src in one.against:
        say(f"    contradicts: {value}  src: {src}")


def stated(part: str, said: dict[str, Any], because: str | None, src: str | None) -> dict[str, Any]:
    """Return the observation of one thing said by hand, resting on a line or on a statement."""
    if bool(because) == bool(src):
        raise click.UsageError("say where it comes from: either --because TEXT or --src SRC")
    if src:
        return {part: [{**said, "src": src}]}
    return {"text": because, part: [{**said, "lines": whole(because or "")}]}


def typed(ontology: Ontology, key: str, value: str) -> str | bool | int:
    """Return a value from the command line as the type its key takes."""
    range_ = ontology.keys[key].range if key in ontology.keys else ()
    if range_ == ("boolean",) and value in ("true", "false"):
        return value == "true"
    if range_ == ("integer",) and re.fullmatch(r"-?[0-9]{1,16}", value):
        return int(value)
    return value


def told_of(heard: Heard) -> str:
    """Return a word with what was told of it, for people."""
    from kg.graph.meant import ENOUGH

    if heard.state == "left out":
        return f"{heard.word} {heard.because}"
    times = f"{heard.count} of {ENOUGH}" if heard.state == "counted" else f"{heard.count} times"
    wants = "until another run or agent tells it" if heard.state == "pending" else ""
    more = ", ".join(part for part in (times, heard.because, wants) if part)
    return f"{heard.word} ({more})"
