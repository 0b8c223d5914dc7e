"""JSON Schema, the published contract: the only importer of jsonschema.

It costs a hundred milliseconds to import and a quarter of one a value (GIT.md, 10), so the
constructors of `kg.model` check on the way in; this explains what they refused and checks
what people and other programs wrote.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from kg.errors import KgError
from kg.model import check_time, parse_source, split_id

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

NAMES = ("entity", "edge", "store", "trace", "observation", "context", "resolver")


class Problem(NamedTuple):
    """One way in which a value breaks its schema; `pointer` is an RFC 6901 JSON Pointer."""

    pointer: str
    problem: str


def problems(name: str, value: object) -> list[Problem]:
    """Return how `value` breaks the schema `name`, the most telling problem first."""
    from jsonschema.exceptions import relevance

    found = sorted(validator(name).iter_errors(value), key=relevance, reverse=True)
    return [Problem(_pointer(e.absolute_path), _short(e.message)) for e in found]


@cache
def schema(name: str) -> dict[str, Any]:
    """Return one of the schemas in `NAMES`, as published."""
    text = files("kg").joinpath(f"schema/{name}.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a schema, with the formats and the integers of ours."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import extend

    checker = FormatChecker(formats=())
    for form, check in (("kg-time", _is_time), ("kg-id", _is_id), ("kg-src", _is_src)):
        checker.checks(form)(check)
    # JSON Schema counts 1.0 among the integers; a canonical file has no decimals at all
    strict: Any = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
    )
    made: Draft202012Validator = strict(schema(name), format_checker=checker)
    return made


def _is_integer(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(value: object) -> bool:
    return not isinstance(value, str) or _holds(check_time, value, "time")


def _is_id(value: object) -> bool:
    return not isinstance(value, str) or _holds(split_id, value)


def _is_src(value: object) -> bool:
    return not isinstance(value, str) or _holds(parse_source, value)


def _holds(check: Any, *args: object) -> bool:  # noqa: ANN401
    try:
        check(*args)
    except KgError:
        return False
    return True


def _pointer(path: Any) -> str:  # noqa: ANN401
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in path)


def _short(message: str) -> str:
    line = ascii(message)[1:-1] if not message.isprintable() else message
    return line if len(line) <= 200 else line[:197] + "..."
