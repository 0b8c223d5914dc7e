"""What every surface of recall shares: asking the index, its warnings, and where answers go.

On the hot path.
"""

from __future__ import annotations

import sys

from kg import place as places
from kg.errors import KgError
from kg.recall.match import find
from kg.recall.only import Only
from kg.recall.options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from sqlite3 import Connection

    from kg.place import Place
    from kg.recall.match import Found
    from kg.recall.options import Options

FORMAT = 1  # the greatest kg_format this reader knows: `kg.format.settings.VERSION`
FOUND, NOTHING, USAGE, FAILED = 0, 1, 2, 3
_KNOWN = "select 1 from ent where id = ?"
_FAULTS = 5  # named; the rest is counted


def ask(con: Connection, options: Options) -> Found:
    """Return what the options ask for.

    Raises:
        UsageError: --about names no entity.
    """
    if options.about and not con.execute(_KNOWN, (options.about,)).fetchone():
        raise UsageError(f"--about takes an id, and no entity is {options.about}: see kg ls")
    only = Only(
        archived=options.archived, type=options.type, tag=options.tag, kind=options.kind,
        about=options.about,
    )  # fmt: skip
    return find(con, options.query, options.limit, only, hops=options.hops)


def warnings(con: Connection) -> list[str]:
    """Return what the index has to say about the store itself."""
    found = []
    version = con.execute("select format from meta").fetchone()[0]
    if version > FORMAT:
        found.append(
            f"store.json says format {version}, this kg reads {FORMAT}: "
            "some of what is known may be missing, upgrade kg"
        )
    sql = "select path, problem from fault order by path, problem"
    faults = con.execute(f"{sql} limit {_FAULTS + 1}").fetchall()
    found += [f"{path} {problem}: skipped, see kg fsck" for path, problem in faults[:_FAULTS]]
    if len(faults) > _FAULTS:
        more = con.execute("select count(*) from fault").fetchone()[0] - _FAULTS
        found.append(f"{more} more faults: see kg fsck")
    return found


def told(answer: Callable[[], int]) -> int:
    """Return the exit code of `answer`; an error of ours is told in one line on stderr."""
    try:
        return answer()
    except UsageError as error:
        say(str(error))
        return USAGE
    except KgError as error:
        say(str(error))
        return FAILED


def found_by(directory: str, environ: Mapping[str, str], cwd: str) -> Place:
    """Return the store that a command line is about; tell of variables that nobody knows."""
    for line in places.unknown_variables(environ):
        say(line)
    return places.find(directory or None, environ, cwd)


def say(line: str) -> None:
    """Tell a person something, on stderr."""
    from kg.text import one_line

    _put(sys.stderr, f"{one_line(line)}\n")


def write(text: str) -> None:
    """Answer, on stdout."""
    _put(sys.stdout, text)
    sys.stdout.flush()


def _put(stream: object, text: str) -> None:
    """Write what a stream's encoding can carry, and the rest as escapes."""
    try:
        stream.write(text)  # type: ignore[attr-defined]
    except UnicodeEncodeError:
        encoding = stream.encoding  # type: ignore[attr-defined]
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]
