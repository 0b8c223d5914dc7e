"""The commands that keep a copy of all of a store, and make a store of it again."""

from __future__ import annotations

import os

import click

from kg.cli.app import Session, as_json, cli
from kg.cli.output import answer, say


@cli.command("backup")
@click.argument("file", type=click.Path())
@as_json
@click.pass_obj
def backup(session: Session, file: str, json_: bool) -> None:
    """Write the whole store, history included, to one file, and check it.

    It is a git bundle: kg restore-backup makes a store of it, and so does git clone.

    \b
    kg backup ~/backups/memory-2026-11-30.bundle
    """
    from kg.store.bundle import heads_of, make_bundle

    place = session.graph().place
    made = make_bundle(place, file)
    head = heads_of(place.gitdir, made)["HEAD"]
    if json_:
        answer("backup", {"file": made, "bytes": os.path.getsize(made), "head": head})
        return
    say(f"{made}: {os.path.getsize(made)} bytes, verified, HEAD {head[:12]}")


@cli.command("restore-backup")
@click.argument("file", type=click.Path())
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--bare", is_flag=True, help="As a bare repository.")
@as_json
@click.pass_obj
def restore_backup(session: Session, file: str, folder: str, bare: bool, json_: bool) -> None:
    """Make a store of a backup, in a new folder, and check it.

    \b
    kg restore-backup memory-2026-11-30.bundle memory
    """
    from kg.audit.fsck import fsck
    from kg.graph import Graph
    from kg.store.bundle import restore_bundle

    session.refuse_unknown_variables()
    restore_bundle(file, folder, bare=bare)
    graph = Graph(folder)
    faults = [found for found in fsck(graph) if found.level == "fault"]
    if json_:
        answer("restore-backup", {"store": folder, "head": graph.at().commit,
                                  "faults": len(faults)})  # fmt: skip
        return
    say(f"a store in {graph.place.folder or graph.place.gitdir}, HEAD {graph.at().commit[:12]}")
    say(f"{len(faults)} faults" + (": see kg fsck" if faults else ""))
