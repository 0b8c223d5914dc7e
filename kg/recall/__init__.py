"""recall: what is known about something, read without a model, a network or a service.

Importing this package costs nothing, because the command line's hot path lies in it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from kg.place import Place
    from kg.recall.answer import Answer


def recall(where: Place | str | PathLike[str], query: str, **said: object) -> Answer:
    """Return what the store at or above `where` knows about `query`, any text whatever.

    What else is said are options as of the command line: limit, archived, type and so on. A
    program that asks often keeps an `Index` and calls `kg.recall.answer.ask` instead.

    Raises:
        NotARepositoryError: there is no store.
        StoreError: its repository cannot be read.
    """
    import os

    from kg import place as places
    from kg.recall.answer import ask
    from kg.recall.index import Index

    if not isinstance(where, places.Place):
        where = places.find(os.fspath(where), {}, os.curdir)
    with Index.fresh(where) as index:
        return ask(index, query, **said)
