"""Who may write the index file: one process at a time, until it lets go or ends."""

from __future__ import annotations

import os

# Seconds to wait for another process that builds the very index one needs: twice what a
# rebuild of 100,000 entities takes. Then building one's own in memory is the quicker way.
PATIENCE = 60.0
_PAUSE = 0.02


class Held:
    """Holds the lock file at `path` as a context; entering waits at most `patience` seconds.

    Raises:
        OSError: it cannot be made, or others held it for longer.
    """

    __slots__ = ("_file", "_path", "_patience")

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        self._path, self._patience, self._file = path, patience, -1

    def __enter__(self) -> None:
        """Take the lock."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        left = self._patience
        try:
            while not _taken(self._file):
                left = _wait(self._path, left)
        except BaseException:
            os.close(self._file)
            raise

    def __exit__(self, *_error: object) -> None:
        """Let go."""
        os.close(self._file)


def _wait(path: str, left: float) -> float:
    if left <= 0:
        raise BlockingIOError(f"{path} is held")
    _sleep(_PAUSE)
    return left - _PAUSE


def _taken(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's own locks order the writers there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sleep(seconds: float) -> None:
    import time

    time.sleep(seconds)
