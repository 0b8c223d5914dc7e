"""The index as a file: SQLite's C module without what it drags in, and where and how to open it.

`_sqlite3` imports functools, and functools collections and more, for the one decorator with
which it caches prepared statements: 4 ms, where the interpreter itself starts in 9. The
decorator is written in C, so at the start of a process a stand-in offers just that, and is
gone before anybody else could ask for functools. Elsewhere, and wherever a Python wants more
of functools than this, the import is the ordinary one.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kg.place import Place

VERSION = 6  # of the index: raised with every change of its tables or of what goes into them
BUSY = 5.0  # seconds that SQLite waits for another's transaction


class _Functools:
    """What `_sqlite3` (CPython 3.11 to 3.14) takes from functools."""

    @staticmethod
    def lru_cache(size: int) -> object:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        return lambda function: _lru_cache_wrapper(function, size, False, tuple)


def _import() -> None:
    if "functools" in sys.modules:
        return
    sys.modules["functools"] = _Functools  # type: ignore[assignment]
    try:
        import _sqlite3

        _sqlite3.connect(":memory:").close()
    except (ImportError, AttributeError, TypeError):
        sys.modules.pop("_sqlite3", None)
    finally:
        del sys.modules["functools"]


_import()

import _sqlite3 as sqlite  # noqa: E402 - the line above decides what it costs

__all__ = ["BUSY", "VERSION", "index_file", "index_uris", "sqlite"]


def index_file(place: Place) -> str:
    """Return where the index of a store lies, "" outside git."""
    if not place.state:
        return ""
    return f"{place.state}/recall{'-' if place.name else ''}{place.name}.db"


def index_uris(file: str) -> list[str]:
    """Return how to open the index for reading, in the order in which to try."""
    escaped = file.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    found = [f"file:{escaped}?mode=ro"]
    if not os.access(os.path.dirname(file), os.W_OK) and not _has_log(file):
        # SQLite would have to write beside a file that it only reads; here nobody can
        found.append(f"file:{escaped}?immutable=1")
    return found


def _has_log(file: str) -> bool:
    try:
        return os.stat(file + "-wal").st_size > 0
    except OSError:
        return False
