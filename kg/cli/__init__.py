"""The command line: argv, stdin, the environment and exit codes live here.

Each command is a few lines over one library call; `main` is what `kg` runs for everything but
recall, which does not wait for any of this to be imported.
"""

from __future__ import annotations

from kg.cli.app import main

__all__ = ["main"]
