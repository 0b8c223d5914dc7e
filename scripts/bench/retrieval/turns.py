"""Templated turns, and what an agent that keeps a memory would tell kg of each.

The wording alone decides: what is asked to be remembered is a fact of a thing named as the turn
names it; what confirms says it again; an update takes the place of what was; what is to be
forgotten is retracted; what is unverified, of another workspace, expired or secret is not told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = dict[str, Any]
_HERE = " for the current project"
_PROJECT = re.compile(r"\bthe [A-Z]\w+ (?:request board|\w+)")
_FOREIGN = re.compile(r"similar\b.*\b(?:another workspace|elsewhere)")
_RULES = (  # verb, key, pattern of topic and value; a topic that is not named is a heading
    ("tell", "note", r"Remember that (?P<topic>.+?) is (?P<v>.+)"),
    ("tell", "note", r"Confirm this still matters: (?P<topic>.+?) remains (?P<v>.+)"),
    ("tell", "note", r"Keep remembering the (?P<topic>.+?): (?P<v>.+)"),
    ("tell", "note", r"You are authorized to remember this (?P<topic>.+?): (?P<v>.+)"),
    ("update", "note", r"Update this: (?P<topic>.+?) is now (?P<v>.+)"),
    ("forget", "note", r"Forget and delete the (?P<topic>.+?): (?P<v>.+)"),
    ("tell", "instruction", r"Access note: (?P<topic>.+?) (?P<v>may be used only .+)"),
    ("tell", "note", r"(?P<heading>Tool result) from (?P<tool>\S+): (?P<v>.+)"),
    ("tell", "note", r"(?P<heading>Tool) outcome confirmation: confirmed outcome: (?P<v>.+)"),
    ("tell", "instruction", r"For (?P<topic>.+), remember this constraint: (?P<v>.+)"),
    ("tell", "instruction", r"Document note for (?P<topic>.+?): documented constraint: (?P<v>.+)"),
    ("tell", "instruction", r"(?P<heading>Procedure) to remember: (?P<v>.+)"),
    ("tell", "learning", r"(?P<heading>Feedback) for future tasks: (?P<v>.+)"),
    ("tell", "learning", r"(?P<heading>Reflection) to preserve: (?P<v>.+)"),
    ("tell", "note", r"(?P<heading>Task outcome): (?P<v>.+)"),
    ("tell", "note", r"(?P<heading>Platform) follow-up on .+? confirmed that (?P<v>.+)"),
    ("tell", "instruction", r"(?P<heading>Memory policy): (?P<v>.+)"),
)


class Told(NamedTuple):
    """What a turn is told as: `verb` is tell, update or forget."""

    verb: str
    topic: str
    k: str
    v: str

    @property
    def fact(self) -> tuple[str, str, str]:
        """The fact that it is about."""
        return self.topic, self.k, self.v


def heard(text: str) -> Told | None:
    """Return what a turn is told as, None for nothing."""
    rules = ((rule, re.fullmatch(rule[2], text.removesuffix("."))) for rule in _RULES)
    (verb, key, _), said = next((pair for pair in rules if pair[1]), (_RULES[0], None))
    if said is None:
        return None
    named = said.groupdict()
    if _FOREIGN.match(named["v"]):
        return None
    topic = named.get("topic") or _headed(named)
    return Told(verb, topic.removesuffix(_HERE), key, named["v"])


def told(turns: Iterable[Row]) -> tuple[list[Row], dict[str, tuple[str, str, str]]]:
    """Return an observation for each session, and the fact that each turn's id is about.

    What is said again of a fact, under whatever heading, is about the thing it was said of.
    """
    topics: dict[str, str] = {}
    facts: dict[str, tuple[str, str, str]] = {}
    live: dict[str, Told] = {}
    sessions: dict[str, Row] = {}
    for turn in turns:
        one = heard(turn["text"])
        if one is None:
            continue
        one = one._replace(topic=topics.setdefault(one.v, one.topic))
        facts[turn["id"]] = one.fact
        session = sessions.setdefault(turn["session"], _session(turn))
        session["messages"].append({"role": turn["speaker"], "content": turn["text"]})
        _say(session, one, live)
    return list(sessions.values()), facts


def _headed(named: dict[str, str]) -> str:
    """Return the name of a thing that the turn says only the sort of: with tool and project."""
    project = _PROJECT.search(named["v"])
    of = f" of {named['tool']}" if "tool" in named else ""
    return named["heading"].lower() + of + (f" for {project.group()}" if project else "")


def _session(turn: Row) -> Row:
    return {
        "at": turn["time"], "agent": "bench", "topic": turn["session"], "messages": [],
        "entities": [], "facts": [], "retract": [],
    }  # fmt: skip


def _say(session: Row, one: Told, live: dict[str, Told]) -> None:
    line = len(session["messages"]) + 1  # line 1 is the heading
    if one.topic not in [mention["ref"] for mention in session["entities"]]:
        session["entities"].append({"ref": one.topic, "type": "Object", "name": one.topic})
    if one.verb == "update" and one.topic in live:
        session["retract"].append(_claim(live[one.topic], line))
    if one.verb == "forget":
        session["retract"].append(_claim(one, line))
        live.pop(one.topic, None)
        return
    session["facts"].append(_claim(one, line))
    live[one.topic] = one


def _claim(one: Told, line: int) -> Row:
    return {"entity": one.topic, "k": one.k, "v": one.v, "lines": line}
