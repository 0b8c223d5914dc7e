"""recall on the command line, as far as a fresh index needs: the hot path.

Every agent pays for this module at each step, so it imports `os`, `sys` and SQLite, and of
kg the place, the text and four neighbours. What is needed only where the index is behind
HEAD, or for --json, is imported there (a test holds that).
"""

from __future__ import annotations

import os
import sys

from kg import place as places
from kg.errors import KgError
from kg.recall.edits import told, uncommitted
from kg.recall.engine import BUSY, VERSION, index_file, index_uris, sqlite
from kg.recall.match import find
from kg.recall.options import HELP, Options, UsageError
from kg.recall.show import block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from sqlite3 import Connection

    from kg.place import Place
    from kg.recall.match import Found

FORMAT = 1  # the greatest kg_format this reader knows: `kg.format.settings.VERSION`
FOUND, NOTHING, USAGE, FAILED = 0, 1, 2, 3
_QUOTED = 200  # characters of a query that are repeated when nothing is found
_FAULTS = 5  # named; the rest is counted


def main(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> int:
    """Answer one command line on stdout and stderr; return the exit code."""
    try:
        options = Options(argv)
        if options.help:
            write(HELP)
            return FOUND
        say(places.unknown_variables(environ))
        place = places.find(options.C or None, environ, cwd)
        if options.raw or options.with_raw or options.queries:
            from kg.recall import wide

            return wide.answer(place, options)
        return _answer(place, options)
    except UsageError as error:
        say([str(error)])
        return USAGE
    except KgError as error:
        say([str(error)])
        return FAILED


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


def render(con: Connection, found: Found) -> str:
    """Return the answer as text, "" where there is none at all."""
    blocks = [block(con, n, dormant=dormant) for n, _, dormant in found.rows]
    last, least = "", "+" if found.least else ""
    if found.more:
        last += f"{found.more}{least} more: narrow the query or use --limit N\n"
    if found.dormant:
        entities = "entity" if found.dormant == 1 else "entities"
        last += f"{found.dormant}{least} dormant {entities} left out: ask by name\n"
    return "\n".join([*blocks, last] if last else blocks)


def say(lines: Sequence[str]) -> None:
    """Tell a person, beside the answer."""
    from kg.text import one_line

    for line in lines:
        _put(sys.stderr, f"{one_line(line)}\n")


def write(text: str) -> None:
    """Print the answer."""
    _put(sys.stdout, text)
    sys.stdout.flush()


def from_index(place: Place, show: Callable[[Connection, str, Sequence[str]], int]) -> int:
    """Return what `show(connection, commit, notes)` makes of the index of what HEAD says.

    It is shown a second time, from an index made anew, where the first proves to be damaged.
    """
    fresh = _fresh(place)
    if fresh is not None:
        try:
            return show(fresh[0], fresh[1], [])
        except (sqlite.DatabaseError, TypeError, ValueError):
            fresh[0].close()  # damaged: by SQLite's account, or a row is not what it must be
    from kg.recall.index import Index

    with Index.fresh(place) if fresh is None else Index.rebuilt(place) as index:
        return show(index.connection, index.head, index.notes)


def _answer(place: Place, options: Options) -> int:
    return from_index(place, lambda con, head, notes: _print(con, place, options, head, notes))


def _fresh(place: Place) -> tuple[Connection, str] | None:
    """Return the index and its commit if it is what HEAD says; None if it takes more."""
    head = places.head(place.gitdir) if place.gitdir and not place.seed else ""
    file = index_file(place)
    if not head or not os.path.exists(file):
        return None
    for uri in index_uris(file):
        try:
            con = sqlite.connect(uri, timeout=BUSY, isolation_level=None, uri=True)
            con.execute("begin")  # one snapshot for all that follows
            row = con.execute("select schema, prefix, head, tree from meta").fetchone()
        except sqlite.Error:
            continue
        if row is None or row[:2] != (VERSION, place.prefix):
            return None
        if row[2] == head or _same_tree(place, file, head, row[3]):
            return con, head
        return None
    return None


def _same_tree(place: Place, file: str, head: str, tree: str) -> bool:
    """Whether another commit has the same store; then the index notes the commit."""
    if not hasattr(os, "posix_spawnp"):
        return False
    from kg.recall.spawn import note_head, rev_parse

    name = f"{head}:{place.prefix}" if place.prefix else f"{head}^{{tree}}"
    if rev_parse(place.gitdir, [name]) != [tree]:
        return False
    note_head(file, tree, head)
    return True


def _print(con: Connection, place: Place, options: Options, head: str, notes: Sequence[str]) -> int:
    found = find(con, options.query, options.limit, archived=options.archived)
    talk = [*notes, *warnings(con)]
    # while a journal is there kg itself is about to replace the files
    if head and place.folder and not os.path.exists(f"{place.state}/journal"):
        talk += told(uncommitted(con, place.folder, [row[0] for row in found.rows]))
    if options.format == "json":
        from kg.recall.document import document, dumped

        text = (
            dumped(document(con, place, query=options.query, head=head, found=found, warnings=talk))
            + "\n"
        )
    else:
        text = render(con, found)
    if not found.rows:
        talk.append(f'nothing known about "{options.query[:_QUOTED]}"')
    say(talk)
    write(text)
    return FOUND if found.rows else NOTHING


def _put(stream: object, text: str) -> None:
    """Write what a stream's encoding can carry, and the rest as escapes."""
    try:
        stream.write(text)  # type: ignore[attr-defined]
    except UnicodeEncodeError:
        encoding = stream.encoding  # type: ignore[attr-defined]
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]
