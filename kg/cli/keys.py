"""Keys from the terminal, one at a time, also those that were typed ahead."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import click

_ESCAPE = b"\x1b"
_LEAVES = frozenset({"", "\x03", "\x04"})  # the end of input, ctrl-C, ctrl-D


class Keys:
    """The keyboard, without echo and line by line for the length of a `with` block.

    click reads a key by switching for each one, and drops what came before; where there is no
    termios it is asked all the same.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        """Take the terminal over."""
        with suppress(ImportError, OSError, ValueError):
            import termios
            import tty

            end = sys.stdin.fileno()
            self._before = termios.tcgetattr(end)
            tty.setcbreak(end, termios.TCSADRAIN)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        """Leave it as it was."""
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
            self._before = None

    def next(self) -> str:
        """Return the next key in lower case, "q" where the person leaves."""
        try:
            key = self._read()
        except (KeyboardInterrupt, EOFError):
            return "q"
        return "q" if key in _LEAVES else key.lower()

    def line(self, prompt: str) -> str:
        """Ask for a line of text."""
        self.__exit__(None, None, None)
        try:
            return str(click.prompt(prompt, default="", show_default=False))
        finally:
            self.__enter__()

    def _read(self) -> str:
        if self._before is None:
            return click.getchar()
        end = sys.stdin.fileno()
        key = os.read(end, 1)
        if key == _ESCAPE:  # an arrow or the like, which means nothing here
            os.read(end, 16)
            return " "
        return key.decode("ascii", "replace")
