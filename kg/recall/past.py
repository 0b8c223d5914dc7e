"""What was known at a moment of the past: recall from an index of that commit.

One such index is kept beside the present one, and stepped from moment to moment as that is from
commit to commit. Files that a person is editing have no part in the past.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import NotFoundError
from kg.recall.asking import FOUND, NOTHING, ask, say, warnings, write
from kg.recall.document import document, dumped
from kg.recall.engine import index_file
from kg.recall.index import Index
from kg.recall.moment import commit_at
from kg.recall.show import Page

if TYPE_CHECKING:
    from kg.place import Place
    from kg.recall.options import Options


class Past(Index):
    """The index of one commit that need not be HEAD."""

    def __init__(self, place: Place, moment: str) -> None:
        """Make it say what was known at a moment.

        Raises:
            NotFoundError: there is no such moment, or the store was not there yet.
        """
        folder, _, name = index_file(place).rpartition("/")
        super().__init__(place, f"{folder}/{name.replace('recall', 'past', 1)}", place.prefix)
        self.commit = commit_at(place, moment)
        git = self._git()
        if not git.tree(self.commit, place.prefix):
            raise NotFoundError(f"the store was not there yet at {moment}: see kg log")
        self._refresh(git, self.commit)

    def refresh(self) -> None:
        """Stay at the moment: the past does not change."""


def answer(place: Place, options: Options) -> int:
    """Answer on stdout and stderr from the past; return the exit code."""
    if not place.gitdir or place.seed:
        raise NotFoundError("this store has no history: see kg init")
    with Past(place, options.at) as past:
        con = past.connection
        found = ask(con, options)
        talk = [f"as of {past.commit[:12]}", *warnings(con)]
        if not found.rows:
            talk.append(f'nothing was known about "{options.query[:200]}"')
        if options.format == "json":
            made = document(con, place, options, head=past.commit, found=found, warnings=talk)
            text = dumped(made) + "\n"
        else:
            text = Page(con, found, options).text
    for line in talk:
        say(line)
    write(text)
    return FOUND if found.rows else NOTHING
