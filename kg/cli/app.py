"""The command group, what all commands share, and how errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from kg import __version__
from kg.cli.output import talk
from kg.errors import KgError, RefusedError
from kg.place import Place, find, unknown_variables

if TYPE_CHECKING:
    from kg.graph import Graph

DONE, USAGE, FAILED = 0, 2, 3

# What coding agents set for the commands they run, and ours.
AGENTS = (
    "KG_AGENT", "AI_AGENT", "AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX",
    "CODEX_THREAD_ID", "OPENCODE", "CURSOR_AGENT", "CURSOR_TRACE_ID", "GEMINI_CLI",
    "COPILOT_AGENT", "AIDER_MODEL",
)  # fmt: skip

_SECTIONS = {
    "Read": ("recall", "tried", "show", "ls", "why", "ontology"),
    "History": ("log", "blame", "runs", "diff", "revert", "undo", "forget", "purge"),
    "Write": (
        "remember",
        "capture",
        "add",
        "retract",
        "supersede",
        "confirm",
        "archive",
        "restore",
        "alias",
        "rename",
        "retype",
    ),
    "Resolve": ("compare", "review", "judge", "unmerge", "measure", "conflicts", "settle", "stale"),
    "Care": ("init", "status", "fsck", "commit", "backup", "restore-backup", "completion"),
}


class Commands(click.Group):
    """A group that lists its commands by purpose and knows what a mistyped one meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or say which one may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = get_close_matches(args[0], self.commands, n=2, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "see kg --help"
            ctx.fail(f"{args[0]!a} is not a command: {hint}")

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections."""
        named = {name for names in _SECTIONS.values() for name in names}
        rest = tuple(name for name in self.commands if name not in named)
        sections = {**_SECTIONS, "Other": rest} if self.name == "kg" else {"Commands": rest}
        for title, names in sections.items():
            here = [(n, self.commands[n]) for n in names if n in self.commands]
            if here:
                with formatter.section(title):
                    formatter.write_dl([(n, c.get_short_help_str(70)) for n, c in here])


class Session:
    """What `-C` and the environment say; the store is opened when a command asks for it."""

    def __init__(self, directory: str | None) -> None:
        self.directory = directory
        self.opened: Graph | None = None

    def place(self) -> Place:
        """Return where the store is."""
        return find(self.directory, os.environ, os.getcwd())

    def graph(self) -> Graph:
        """Return the store, open for reading."""
        from kg.graph import Graph

        if self.opened is None:
            self.opened = Graph(self.place(), committer=committer())
        for problem in unknown_variables(os.environ):
            talk(problem)
        return self.opened

    def writable(self) -> Graph:
        """Return the store, open for writing.

        Raises:
            RefusedError: an unknown KG_* variable is set: the write might go somewhere else than
                its author thinks.
        """
        self.refuse_unknown_variables()
        graph = self.graph()
        if os.environ.get("GIT_INDEX_FILE") and graph.place.shared:
            # its git has read HEAD and will not stand for another
            graph.not_now = "inside a git hook of this repository: it is written afterwards"
        return graph

    def refuse_unknown_variables(self) -> None:
        """Refuse a misspelt KG_* variable: its author may mean another store."""
        for problem in unknown_variables(os.environ):
            raise RefusedError(f"{problem.removesuffix(': ignored')}: unset it")

    @property
    def run(self) -> str:
        """The run of this session, "" for now."""
        return os.environ.get("KG_RUN", "")

    @property
    def agent(self) -> str:
        """The agent of this session, "" for the git identity."""
        return os.environ.get("KG_AGENT", "")

    def person(self) -> str:
        """Return who is at the terminal, "" where that may be an agent.

        A person has a terminal and none of the variables that agents set for what they start.
        """
        known = [name for name in AGENTS if os.environ.get(name)]
        if known or sys.stdin is None or not sys.stdin.isatty():
            return ""
        return self.graph().agent_here()


def committer() -> tuple[str, str] | None:
    """Return who commits as the environment says it, as git itself would take it."""
    name, email = os.environ.get("GIT_COMMITTER_NAME"), os.environ.get("GIT_COMMITTER_EMAIL")
    return (name, email) if name and email else None


@click.group(cls=Commands, name="kg", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "directory", metavar="DIR", help="A store, or where to look for one.")
@click.version_option(__version__, prog_name="kg")
@click.pass_context
def cli(ctx: click.Context, directory: str | None) -> None:
    """Memory for coding agents that is nothing but files in git.

    \b
    kg init                        make a store in memory/
    kg remember observation.json   commit what a run saw
    kg recall payments-api         what is known, with sources
    kg why object/payments-api     the sentences behind it
    """
    ctx.obj = Session(directory)


@cli.result_callback()
@click.pass_context
def _told(ctx: click.Context, /, *_result: object, **_options: object) -> None:
    """Say what of the outbox this command has written."""
    session: Session = ctx.obj
    if session.opened is not None and session.opened.delivered:
        talk(f"made {len(session.opened.delivered)} writes that had been waiting")


def commands() -> list[str]:
    """Return the names of all commands, each registered."""
    import kg.cli.backup
    import kg.cli.care
    import kg.cli.context
    import kg.cli.history
    import kg.cli.meant
    import kg.cli.measure
    import kg.cli.purge
    import kg.cli.read
    import kg.cli.resolve
    import kg.cli.revert
    import kg.cli.review
    import kg.cli.verbs
    import kg.cli.write  # noqa: F401 - importing registers

    return list(cli.commands)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 nothing or faults, 2 usage, 3 refused or failed."""
    commands()
    try:
        code = cli.main(
            args=None if argv is None else list(argv), prog_name="kg", standalone_mode=False
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        code = USAGE
    except click.UsageError as error:
        talk(_one(error.format_message(), error.ctx))
        code = USAGE
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except KgError as error:
        talk(str(error))
        code = FAILED
    except BrokenPipeError:
        # the reader of a pipe has gone (`kg log | head`): no one is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    except OSError as error:
        talk(
            f"{error.filename or ''}: {error.strerror}: check the file and its permissions".lstrip(
                ": "
            )
        )
        code = FAILED
    sys.exit(code if isinstance(code, int) else DONE)


def _one(message: str, ctx: click.Context | None) -> str:
    where = ctx.command_path if ctx is not None else "kg"
    text = message.rstrip(".")
    return text if "--help" in text or text.endswith("?") else f"{text}: see {where} --help"


as_json = click.option(
    "--json", "json_", is_flag=True, help="Answer in JSON, versioned by its key."
)
