"""The command that takes a line or a secret out of history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, say, talk
from kg.cli.revert import confirmed

if TYPE_CHECKING:
    from kg.audit.purge import Purged


@cli.command("purge")
@click.argument("src", metavar="[SRC]", default="")
@click.option("--secret", default="", metavar="PATTERN", help="What this regular expression finds.")
@click.option("--backup", default="", metavar="FILE", help="Where the backup goes.")
@click.option("--shared-history", is_flag=True, help="Also where the repository holds code.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@as_json
@click.pass_obj
def purge(
    session: Session, src: str, secret: str, backup: str, shared_history: bool, yes: bool,
    dry_run: bool, json_: bool,
) -> None:  # fmt: skip
    """Take a line of raw/ or a secret out of the store and all of its history.

    Facts that repeat the line go with it, unless another line says the same; what only rested on
    it is retracted. Every commit gets a new id, so other clones must be made anew. A backup is
    written first: it holds what is purged, until you delete it.

    \b
    kg purge raw/r1785343267-scoper.80343fdf.txt#L4 --dry-run
    kg purge --secret 'hunter[0-9]' --yes
    """
    from kg.audit.purge import after_words, lines_named, words_matching
    from kg.audit.purge import purge as work

    if bool(src) == bool(secret):
        raise click.UsageError("name a line as raw/FILE#L4, or give --secret PATTERN")
    graph = session.writable()

    def run(*, dry: bool) -> Purged:
        scrub = lines_named(graph, src) if src else words_matching(secret)
        return work(graph, scrub, backup=backup, shared=shared_history, dry=dry)

    found = run(dry=True)
    if not json_:
        say(f"{len(found.texts)} texts, {found.versions} other versions of files")
        for line in found.texts:
            say(f"{'would change' if dry_run else 'changes'}: {line}")
        for line in found.retracted:
            say(f"{'would be' if dry_run else 'is'} retracted: {line}")
    if not dry_run:
        confirmed("purge this from history?", "purged", yes=yes)
        found = run(dry=False)
    if json_:
        answer("purge", found.to_json())
    elif found.head:
        say(f"backup {found.backup}, which holds it: delete it once all is well")
        say(f"HEAD {found.head}")
        for line in after_words():
            talk(line)
