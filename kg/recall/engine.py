"""SQLite's C module without what it drags in.

`_sqlite3` imports functools, and functools collections and more, for the one decorator with
which it caches prepared statements: 4 ms, where the interpreter itself starts in 9. The
decorator is written in C, so at the start of a process a stand-in offers just that, and is
gone before anybody else could ask for functools. Elsewhere, and wherever a Python wants more
of functools than this, the import is the ordinary one.
"""

from __future__ import annotations

import sys


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

__all__ = ["sqlite"]
