"""The observation: what a run reports it saw, and the one thing that can be written.

Everything that changes facts goes through it, people's direct verbs too, so that every write
has a text, a run, an agent and a source. `kg/schema/observation.json` is the published form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kg.errors import MissingSourceError, RefusedError
from kg.graph.rawtext import check_raw, render_conversation, seconds, when
from kg.graph.said import (
    WITHDRAWN,
    Anchor,
    Mention,
    Observation,
    Options,
    SaidArchive,
    SaidConfirmation,
    SaidEdge,
    SaidFact,
    SaidJudgement,
    SaidName,
    SaidRetraction,
    SaidTrace,
)
from kg.model import (
    MAX_NAME,
    OUTCOMES,
    VERDICTS,
    Claim,
    check_agent,
    check_name,
    check_text,
    check_value,
    parse_source,
    run_order,
    split_id,
)

T = TypeVar("T")
_ANCHOR = ("quote", "lines", "src", "in")
_OPTIONS = ("kind", "basis", "importance", "since", "until")


def parse_observation(raw: Mapping[str, Any], *, run: str, agent: str, at: int) -> Observation:
    """Return the observation a JSON object says; `run`, `agent` and `at` fill in for its own.

    Raises:
        RefusedError: it breaks the contract; the message names the place and the problem.
    """
    try:
        return _observation(raw, run, agent, at)
    except MissingSourceError:
        raise
    except (RefusedError, TypeError, KeyError, AttributeError) as error:
        from kg.format.schema import problems

        for problem in problems("observation", raw):
            where = problem.pointer or "the observation"
            raise RefusedError(f"{where}: {problem.problem}: see kg remember --help") from None
        raise (
            error
            if isinstance(error, RefusedError)
            else RefusedError(f"the observation: {error}: see kg remember --help")
        ) from None


def _observation(raw: Mapping[str, Any], run: str, agent: str, at: int) -> Observation:
    _only(raw, (*Observation.__dataclass_fields__, "topic", "messages"))
    run, agent = raw.get("run", run), raw.get("agent", agent)
    run_order(run)
    check_agent(agent)
    made = Observation(
        run=run,
        agent=agent,
        at=seconds(raw["at"]) if "at" in raw else at,
        text=_text(raw),
        session=_name_of(raw, "session"),
        entities=_each(raw, "entities", _mention),
        facts=_each(raw, "facts", _fact),
        edges=_each(raw, "edges", _edge),
        tried=_each(raw, "tried", _trace),
        retract=_each(raw, "retract", _retraction),
        rename=_each(raw, "rename", _name),
        judge=_each(raw, "judge", _judgement),
        confirm=_each(raw, "confirm", _confirmation),
        archive=_each(raw, "archive", _archive),
    )
    refs = [m.ref for m in made.entities]
    if len(set(refs)) != len(refs):
        raise RefusedError("two entities have one ref: give each its own")
    return made


def _text(raw: Mapping[str, Any]) -> str:
    if "messages" in raw:
        if "text" in raw:
            raise RefusedError("give text or messages, not both")
        at = when(raw["at"]) if "at" in raw else ""
        turns = _dicts(raw, "messages")
        if not turns:
            raise RefusedError("messages is empty: give text, or what was said")
        for turn in turns:
            _only(turn, ("role", "content", "at"))
            check_name(turn.get("role"), "role")
        return check_raw(render_conversation(_name_of(raw, "topic"), at, turns))
    text = raw.get("text", "")
    if not isinstance(text, str):
        raise RefusedError("text must be a string")
    return check_raw(text)


def _mention(raw: Mapping[str, Any]) -> Mention:
    _only(raw, ("ref", "type", "name", "id", "aliases"))
    id_, type_, name = _text_of(raw, "id"), _text_of(raw, "type"), _name_of(raw, "name")
    if id_:
        split_id(id_)
    elif not type_ or not name:
        raise RefusedError("an entity needs a type and a name, or an id")
    aliases = _dicts(raw, "aliases")
    for alias in aliases:
        _only(alias, ("name", *_ANCHOR))
    return Mention(
        ref=_text_of(raw, "ref") or id_ or name,
        id=id_,
        type=type_,
        name=name,
        aliases=tuple(
            (check_name(a.get("name"), "an alias"), _anchor(a, "alias")) for a in aliases
        ),
    )


def _fact(raw: Mapping[str, Any]) -> SaidFact:
    _only(raw, ("entity", "k", "v", *_ANCHOR, *_OPTIONS))
    said = f"fact {raw.get('k')!a}"
    return SaidFact(
        entity=_ref(raw, "entity"),
        k=_ref(raw, "k"),
        v=check_value(raw.get("v")),
        anchor=_anchor(raw, said),
        options=_options(raw),
    )


def _edge(raw: Mapping[str, Any]) -> SaidEdge:
    _only(raw, ("subject", "predicate", "object", *_ANCHOR, *_OPTIONS))
    return SaidEdge(
        subject=_ref(raw, "subject"),
        predicate=_ref(raw, "predicate"),
        object=_ref(raw, "object"),
        anchor=_anchor(raw, f"edge {raw.get('predicate')!a}"),
        options=_options(raw),
    )


def _trace(raw: Mapping[str, Any]) -> SaidTrace:
    _only(raw, ("about", "tried", "outcome", "because", "error", "prose", *_ANCHOR))
    return SaidTrace(
        about=tuple(_ref({"about": ref}, "about") for ref in _list(raw, "about")),
        tried=check_text(raw.get("tried"), "tried"),
        outcome=_outcome(raw),
        because=check_text(raw.get("because"), "because"),
        anchor=_anchor(raw, "trace"),
        error=check_text(raw["error"], "error") if "error" in raw else None,
        prose=_text_of(raw, "prose"),
    )


def _retraction(raw: Mapping[str, Any]) -> SaidRetraction:
    _only(raw, ("entity", "k", "v", "since", "predicate", "object", *_ANCHOR))
    k, predicate = _text_of(raw, "k"), _text_of(raw, "predicate")
    if bool(k) == bool(predicate):
        raise RefusedError("a retraction names a key k, or a predicate and an object")
    return SaidRetraction(
        entity=_ref(raw, "entity"),
        k=k,
        v=check_value(raw["v"]) if "v" in raw else None,
        since=when(raw["since"]) if "since" in raw else None,
        predicate=predicate,
        object=_ref(raw, "object") if predicate else _text_of(raw, "object"),
        anchor=_anchor(raw, "retraction"),
    )


def _confirmation(raw: Mapping[str, Any]) -> SaidConfirmation:
    _only(raw, ("entity", "k", "v", *_ANCHOR))
    return SaidConfirmation(
        entity=_ref(raw, "entity"),
        k=_text_of(raw, "k"),
        v=check_value(raw["v"]) if "v" in raw else None,
        anchor=_anchor(raw, "confirmation"),
    )


def _archive(raw: Mapping[str, Any]) -> SaidArchive:
    _only(raw, ("entity", "archived", *_ANCHOR))
    archived = raw.get("archived", True)
    if not isinstance(archived, bool):
        raise RefusedError("archived must be true or false")
    return SaidArchive(
        entity=_ref(raw, "entity"), archived=archived, anchor=_anchor(raw, "archive")
    )


def _name(raw: Mapping[str, Any]) -> SaidName:
    _only(raw, ("entity", "name", *_ANCHOR))
    return SaidName(
        entity=_ref(raw, "entity"), name=check_name(raw.get("name")), anchor=_anchor(raw, "name")
    )


def _judgement(raw: Mapping[str, Any]) -> SaidJudgement:
    _only(raw, ("one", "other", "verdict", *_ANCHOR))
    verdict = _ref(raw, "verdict")
    if verdict not in (*VERDICTS, WITHDRAWN):
        choices = ", ".join((*VERDICTS, WITHDRAWN))
        raise RefusedError(f"verdict is {verdict!a}: use one of {choices}")
    anchor = _anchor(raw, "judgement")
    ends = {end: _ref(raw, end) for end in ("one", "other")}
    return SaidJudgement(**ends, verdict=verdict, anchor=anchor)


def _anchor(raw: Mapping[str, Any], said: str) -> Anchor:
    given = [name for name in ("quote", "lines", "src") if name in raw]
    if len(given) != 1:
        problem = "has no source" if not given else f"gives {' and '.join(given)}"
        raise MissingSourceError(
            f"the {said} {problem}: give one of quote (words of the text), lines, or src"
        )
    if "in" in raw and "quote" not in raw:
        raise RefusedError(f"the {said} gives in without a quote: give the quote")
    if "lines" in raw:
        return Anchor(lines=_lines(raw["lines"], said))
    if "src" in raw:
        parse_source(_ref(raw, "src"))
        return Anchor(src=raw["src"])
    if not isinstance(raw["quote"], str) or not raw["quote"].strip():
        raise MissingSourceError(f"the {said} has an empty quote: quote words of the text")
    within = _text_of(raw, "in")
    if "in" in raw and not within.startswith("raw/"):
        raise RefusedError(f"the {said}: in names no file of raw/: give its path, or leave it out")
    return Anchor(quote=raw["quote"], within=within)


def _lines(lines: object, said: str) -> tuple[int, int]:
    given: list[Any] = lines if isinstance(lines, list) else [lines, lines]
    if len(given) == 2 and all(type(n) is int for n in given) and 1 <= given[0] <= given[1]:
        return given[0], given[1]
    raise MissingSourceError(
        f"the {said}: lines are counted from 1, first before last: 4, or [4, 6]"
    )


def _options(raw: Mapping[str, Any]) -> Options:
    given: dict[str, Any] = {name: raw[name] for name in _OPTIONS if name in raw}
    for name, value in given.items():
        if value is None:
            raise RefusedError(f"{name} is null: leave it out")
        if name in ("since", "until"):
            given[name] = when(value)
    Claim(src="raw/x.txt#L1", seen_run="r1", **given)  # holds them to the rules
    return Options(**given)


def _outcome(raw: Mapping[str, Any]) -> str:
    outcome = _ref(raw, "outcome")
    if outcome not in OUTCOMES:
        raise RefusedError(f"outcome is {outcome!a}: use one of {', '.join(OUTCOMES)}")
    return outcome


def _each(
    raw: Mapping[str, Any], name: str, make: Callable[[Mapping[str, Any]], T]
) -> tuple[T, ...]:
    return tuple(make(member) for member in _dicts(raw, name))


def _dicts(raw: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    for member in _list(raw, name):
        if not isinstance(member, Mapping):
            raise RefusedError(f"{name} holds something that is not an object")
    return _list(raw, name)


def _list(raw: Mapping[str, Any], name: str) -> list[Any]:
    value = raw.get(name, [])
    if not isinstance(value, list | tuple):
        raise RefusedError(f"{name} is not a list")
    return list(value)


def _ref(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value or len(value) > MAX_NAME:
        raise RefusedError(f"{name} is missing, too long, or not a string")
    return value


def _text_of(raw: Mapping[str, Any], name: str) -> str:
    """Return an optional member, "" where it is absent."""
    value = raw.get(name, "")
    if not isinstance(value, str) or (name == "ref" and name in raw and not value):
        raise RefusedError(f"{name} is not a string")
    return value


def _name_of(raw: Mapping[str, Any], name: str) -> str:
    """Return an optional name, "" where it is absent."""
    return check_name(raw[name], name) if name in raw else ""


def _only(raw: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in raw:
        if name not in names:
            raise RefusedError(f"{name!a} is not a member here")
