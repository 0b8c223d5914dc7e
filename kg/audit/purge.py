"""Purging: a line or a word leaves the store and all of its history, for what must not be there.

Everything that names it is rewritten, so every commit gets a new id and other clones must be
made anew. A backup is written first; it holds what is purged, until a person removes it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kg.audit.drafts import drafts
from kg.audit.resting import holding
from kg.audit.rewriting import INSTALL, rewrite
from kg.audit.rules import value_of
from kg.audit.scrub import Scrub, values_of
from kg.errors import DirtyError, FormatError, NotFoundError, RefusedError, StoreError
from kg.format import ENTITIES, RAW
from kg.gitprogram import git
from kg.graph import Graph
from kg.model import Edge, Entity, parse_source
from kg.place import Place
from kg.recall.source import Git
from kg.store.bundle import make_bundle
from kg.store.locks import own_lock, release_index_lock, take_index_lock
from kg.store.writing import GIT_WAIT, WAIT

_KEPT = ("outbox", "lock")  # of .git/kg; all else is derived and may hold words of the past
REASON = "its source was purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What a purge did, or would do.

    `texts` are the files of raw/ that change, `versions` counts those of other files that rest
    on them, `retracted` what rested on a purged line alone and says more than that line.
    """

    texts: tuple[str, ...]
    versions: int
    retracted: tuple[str, ...] = ()
    backup: str = ""
    head: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON contract shows it."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "texts": list(self.texts), "retracted": list(self.retracted),
        }  # fmt: skip


def lines_named(graph: Graph, src: str) -> Scrub:
    """Return what purges the lines that a src names.

    Raises:
        NotFoundError: no version of the text has such a line.
    """
    source = parse_source(src)
    for path, data in _blobs(graph.place, RAW):
        rows = data.decode("utf-8", "replace").split("\n")
        if path == source.path and source.last <= len(rows):
            held = {n: rows[n - 1] for n in range(source.first, source.last + 1)}
            return Scrub({path: held})
    raise NotFoundError(f"no commit has {src}: see kg why for where a fact was seen")


def words_matching(pattern: str) -> Scrub:
    """Return what purges all that a regular expression finds.

    Raises:
        RefusedError: it is none, or finds nothing at all in particular.
    """
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise RefusedError(f"{pattern!a} is no regular expression: {error}: escape it") from None
    if found.search("") or found.search("purged"):
        raise RefusedError(f"{pattern!a} matches too much: give the secret itself, or its form")
    return Scrub({}, pattern)


def purge(
    graph: Graph, scrub: Scrub, *, backup: str = "", shared: bool = False, dry: bool = False
) -> Purged:
    """Rewrite history without what is to go, and leave no object that has it.

    `backup` is where the bundle goes, beside the store if it is not given; `shared` allows to
    rewrite a repository that holds code as well.

    Raises:
        NotFoundError: nothing has it.
        RefusedError: it cannot be done here, or not yet; the message says why. Nothing changed.
        StoreError: git failed, or an object still has it; the backup has all that was there.
    """
    place = graph.place
    with own_lock(place.state, time.monotonic() + WAIT):  # what is planned is what is rewritten
        _check(graph, shared=shared)
        planned = _plan(graph, scrub)
        if dry:
            return planned
        if importlib.util.find_spec("git_filter_repo") is None:
            raise RefusedError(INSTALL)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        beside = f"{(place.folder or place.gitdir).rstrip('/')}.before-purge-{stamp}.bundle"
        made = make_bundle(place, backup or beside)
        graph.close()
        rewrite(place, scrub)
        _drop_old(place)
    after = Graph(place)
    retracted = _retract(after, scrub)
    left = sorted(set(_holding(place, scrub)))
    if left:
        raise StoreError(f"still in {', '.join(left[:3])}: purge that too; the backup is {made}")
    return replace(planned, backup=made, head=after.at().commit, retracted=retracted)


def _check(graph: Graph, *, shared: bool) -> None:
    place = graph.place
    if place.shared and not shared:
        raise RefusedError(
            "this repository holds code too, and all of its commits would change: add "
            "--shared-history if that is what you want"
        )
    if drafts(graph):
        raise DirtyError("files are edited by hand: kg commit or git restore them first", ())
    if not place.bare and git(place.gitdir, ("status", "--porcelain", "-uno"), top=place.top):
        raise DirtyError("the work tree has changes: commit or restore them first", ())
    common = place.commondir
    if os.path.exists(f"{common}/shallow"):
        raise RefusedError("this clone is shallow: git fetch --unshallow first")
    if git(place.gitdir, ("config", "--get", "extensions.partialclone"), codes=(0, 1)):
        raise RefusedError("this clone is partial: purge in a full one")
    if git(place.gitdir, ("for-each-ref", "refs/stash")):
        raise RefusedError("there is a stash, which may hold it: git stash drop first")
    if os.path.isdir(f"{common}/worktrees") and os.listdir(f"{common}/worktrees"):
        raise RefusedError("the repository has other worktrees: git worktree remove them first")
    if graph.outbox.names() or graph.outbox.refused():
        raise RefusedError("writes are waiting, which may hold it: see kg status first")


def _plan(graph: Graph, scrub: Scrub) -> Purged:
    """Fill in what else the purge has to know, and say what it will change."""
    place = graph.place
    texts = {path: data for path, data in _blobs(place, RAW) if scrub.text(path, data) != data}
    for path, data in texts.items():
        scrub.move(path, data)
    versions = list(_blobs(place, ENTITIES)) if scrub.lines else []
    scrub.words.extend(sorted(v for v in values_of(scrub, versions) if len(v) > 3))
    scrub.words.extend(row for rows in scrub.lines.values() for row in rows.values() if row.strip())
    if scrub.pattern:
        found = re.compile(scrub.pattern)
        said = (data.decode("utf-8", "replace") for _, data in _blobs(place, ""))
        scrub.words.extend({hit[0] for text in said for hit in found.finditer(text)})
    changed = sum(scrub.file(path, data) != (path, data) for path, data in _blobs(place, ""))
    if not changed and not list(_holding(place, scrub)):
        raise NotFoundError("nothing in this history has it: see kg recall --raw")
    resting = tuple(" ".join(str(part) for part in one) for one in _resting(graph, scrub))
    return Purged(texts=tuple(texts), versions=changed - len(texts), retracted=resting)


def _blobs(place: Place, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path, bytes) of each version of each file of the store below a folder."""
    prefix = f"{place.prefix}/" if place.prefix else ""
    said = git(place.gitdir, ("rev-list", "--objects", "--all", "--"))
    named = [line.split(" ", 1) for line in said.decode("utf-8", "replace").split("\n")]
    wanted = [
        (oid[0], oid[1].removeprefix(prefix))
        for oid in named
        if len(oid) == 2 and oid[1].startswith(prefix + folder)
    ]
    kinds = git(
        place.gitdir,
        ("cat-file", "--batch-check=%(objecttype)"),
        data="\n".join(oid for oid, _ in wanted).encode(),
    ).split()
    files = [one for one, kind in zip(wanted, kinds, strict=False) if kind == b"blob"]
    for (_, path), (data, _problem) in zip(
        files, Git(place.gitdir).blobs([oid for oid, _ in files]), strict=True
    ):
        if data is not None:
            yield path, data


def _holding(place: Place, scrub: Scrub) -> Iterator[str]:
    """Yield the objects of a repository that hold what is to go: each of them is looked at."""
    rows = [row for held in scrub.lines.values() for row in held.values() if len(row.strip()) > 7]
    needles = [re.escape(row.strip()) for row in rows] + ([scrub.pattern] if scrub.pattern else [])
    if not needles:
        return
    found = re.compile("|".join(f"(?:{needle})" for needle in needles).encode())
    check = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    listed = [line.split() for line in git(place.gitdir, check).decode().splitlines()]
    names = [name for name, _ in listed]
    kinds = {name: kind for name, kind in listed}  # noqa: C416
    for name, (data, _problem) in zip(names, Git(place.gitdir).blobs(names), strict=True):
        if data is not None and found.search(data):
            yield f"{kinds[name]} {name[:12]}"


def _drop_old(place: Place) -> None:
    """Leave nothing that reaches the old history, and none of what was derived from it."""
    refs = git(place.gitdir, ("for-each-ref", "--format=%(refname)")).decode().split()
    old = [ref for ref in refs if ref.startswith(("refs/remotes/", "refs/original/", "refs/kg/"))]
    drop = "".join(f"delete {ref}\n" for ref in old)
    git(place.gitdir, ("update-ref", "--stdin"), data=drop.encode())
    for name in ("ORIG_HEAD", "FETCH_HEAD"):
        if os.path.exists(f"{place.gitdir}/{name}"):
            os.unlink(f"{place.gitdir}/{name}")
    shutil.rmtree(f"{place.commondir}/filter-repo", ignore_errors=True)
    for name in os.listdir(place.state):
        if name not in _KEPT:
            path = f"{place.state}/{name}"
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    lock = f"{place.gitdir}/index.lock"
    nonce = "" if place.bare else take_index_lock(
        lock, f"{place.state}/token", time.monotonic() + GIT_WAIT
    )  # fmt: skip
    try:
        git(place.gitdir, ("reflog", "expire", "--expire=now", "--all"))
        # nobody else writes: our lock keeps other kg away, git's lock keeps git commit away
        git(place.gitdir, ("gc", "--quiet", "--prune=now"))
    finally:
        if nonce:
            release_index_lock(lock, nonce)


def _resting(graph: Graph, scrub: Scrub) -> list[tuple[str, str, Any]]:
    """Return what at HEAD rests on purged lines alone, and does not repeat them."""
    found: list[tuple[str, str, Any]] = []
    snapshot = graph.at()
    for path in sorted(holding(graph.place, snapshot.commit, [f"{p}#L" for p in scrub.lines])):
        try:
            value = value_of(path, snapshot.read(path) or b"")
        except FormatError:
            continue  # fsck names it
        if isinstance(value, Entity):
            facts = scrub.entity(value).facts
            found += [(value.id, f.k, f.v) for f in facts if scrub.cites(f.src)]
        elif isinstance(value, Edge):
            claims = scrub.edge(value).claims
            found += [value.key for c in claims[:1] if scrub.cites(c.src)]
    return found


def _retract(graph: Graph, scrub: Scrub) -> tuple[str, ...]:
    """Retract what rests on the purged lines, which have new names by now."""
    moved = {scrub.moved.get(path, path): rows for path, rows in scrub.lines.items()}
    resting = _resting(graph, Scrub(moved))
    predicates = graph.ontology.predicates
    gone: list[dict[str, Any]] = []
    for id_, k, v in resting:
        edge = k in predicates and k not in graph.ontology.keys
        said = {"predicate": k, "object": v} if edge else {"k": k, "v": v}
        gone.append({"entity": id_, "lines": 1, **said})
    if gone:
        graph.remember([{"text": f"{REASON}\n", "retract": gone}], op="purge")
    return tuple(f"{id_} {k} {v}" for id_, k, v in resting)


def after_words() -> list[str]:
    """Return what people have to do once it is purged."""
    return [
        "every commit has a new id: git push --force --all, and --tags, to each remote",
        "other clones still hold it: delete them and clone anew; never pull into them",
        "what was purged is known to whoever read it: revoke the secret",
    ]
