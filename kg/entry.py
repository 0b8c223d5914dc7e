"""Where the program starts: `recall` and `tried` go straight to an answer, all else to kg.cli.

(`recall --meant` writes, so it is one of all else.)

The only reader of argv, the environment, stdin and the current folder for these two, and the place
where their process ends: with os._exit, which saves the interpreter's tidying up (1 to 2 ms).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run the command that sys.argv names."""
    argv = sys.argv[1:]
    before = 0
    while argv[before:] and argv[before].startswith("-C"):
        before += 1 if argv[before][2:] else 2  # -CDIR or -C DIR, as click has it
    if argv[before : before + 1] == ["recall"] and not _tells(argv[before:]):
        recall(argv[:before] + argv[before + 1 :])
    if argv[before : before + 1] == ["tried"]:
        tried(argv[:before] + argv[before + 1 :])
    from kg.cli import main as cli

    cli()


def recall(argv: list[str] | None = None) -> None:
    """Answer `recall` and end the process; `argv` is sys.argv's without the program's name."""
    from kg.recall.hot import main as answer

    _end(lambda: answer(sys.argv[1:] if argv is None else argv, os.environ, _cwd()))


def tried(argv: list[str]) -> None:
    """Answer `tried` and end the process."""
    from kg.recall.tried import main as answer

    _end(lambda: answer(argv, os.environ, _cwd(), _stdin))


def _end(answer: Callable[[], int]) -> None:
    """End the process with the code that `answer` returns."""
    from kg.recall.asking import FAILED, FOUND

    code = FAILED
    if sys.stdout is None:  # closed by the caller: there is nobody to answer
        os._exit(code)
    try:
        code = answer()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = FOUND  # the reader has seen enough
    except OSError as error:
        os.write(2, f"cannot write the answer: {error.strerror}\n".encode())
    except KeyboardInterrupt:
        code = 130  # 128 + SIGINT, as shells have it
    os._exit(code)


def _stdin(most: int) -> bytes:
    return b"" if sys.stdin is None else sys.stdin.buffer.read(most)


def _tells(argv: list[str]) -> bool:
    """Whether it is told what a query meant, which is a write; after `--` it is the query."""
    said = argv[: argv.index("--")] if "--" in argv else argv
    return any(word == "--meant" or word.startswith("--meant=") for word in said)


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder we are in was removed; -C and KG_STORE may still lead somewhere
        return os.sep
