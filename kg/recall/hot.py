"""recall on the command line, as far as a fresh index needs: the hot path.

Every agent pays for this module at each step, so it imports `os`, `sys` and SQLite, and of kg
what a name needs: the words and the ranking wait for a question, and what is needed only where
the index is behind HEAD, or for --json, is imported there (a test holds that).
"""

from __future__ import annotations

import os

from kg import place as places
from kg.recall.asking import FOUND, NOTHING, ask, found_by, say, told, warnings, write
from kg.recall.edits import named, uncommitted
from kg.recall.engine import BUSY, VERSION, index_file, index_uris, sqlite
from kg.recall.options import HELP, Options
from kg.recall.show import Page
from kg.recall.used import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from sqlite3 import Connection

    from kg.place import Place

_QUOTED = 200  # characters of a query that are repeated when nothing is found


def main(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> int:
    """Answer one command line on stdout and stderr; return the exit code."""
    return told(lambda: _main(argv, environ, cwd))


def _main(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> int:
    options = Options(argv)
    if options.help:
        write(HELP)
        return FOUND
    place = found_by(options.C, environ, cwd)
    if options.raw or options.with_raw or options.queries:
        from kg.recall.wide import answer

        return answer(place, options)
    if options.at:
        from kg.recall.past import answer as answer_then

        return answer_then(place, options)
    return from_index(place, lambda con, head, notes: _print(con, place, options, head, notes))


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
    found = ask(con, options)
    talk = [*notes, *warnings(con)]
    # while a journal is there kg itself is about to replace the files
    if head and place.folder and not os.path.exists(f"{place.state}/journal"):
        talk += named(uncommitted(con, place.folder, [row[0] for row in found.rows]))
    if options.format == "json":
        from kg.recall.document import document, dumped

        text = dumped(document(con, place, options, head=head, found=found, warnings=talk)) + "\n"
    else:
        text = Page(con, found, options).text
    if not found.rows:
        talk.append(f'nothing known about "{options.query[:_QUOTED]}"')
    if head and place.state:
        note(place.state, [row[1] for row in found.rows])
    for line in talk:
        say(line)
    write(text)
    return FOUND if found.rows else NOTHING
