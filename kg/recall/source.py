"""Where the index's content comes from: a tree, through the git program, or a folder.

The git program is spawned with nothing of the caller's environment but PATH: no
configuration of the user or machine, no hooks, no pager, no replace refs, no network (a
partial clone says "missing" instead of fetching), and an explicit git directory, so that
whose repository it is does not matter.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from kg.errors import StoreError
from kg.gitprogram import command, environ
from kg.recall.parse import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_KINDS = {"store.json": 0, "raw": 1, "tried": 2, "edges": 3, "entities": 4}
TOO_LARGE = "is larger than {} MB"
LOST = "is missing or corrupt in git"
_LOST = 20  # objects that git may end at before it is the repository that is broken
_SUFFIX = {"raw": "", "tried": ".md", "edges": ".json", "entities": ".json"}


class GitMissingError(StoreError):
    """There is no git program, so HEAD cannot be read."""


class GitFailedError(StoreError):
    """The git program refused; the message is its own first line."""


class Change(NamedTuple):
    """One file as it is now: `data` is None when it is gone; of raw/ it is empty unless asked."""

    path: str
    oid: str
    data: bytes | None
    problem: str = ""


class Entry(NamedTuple):
    """One path of a tree; `oid` is "" when it is gone."""

    path: str
    mode: str
    oid: str


def changed_to(path: str, oid: str, data: bytes | None) -> Change:
    """Return the change to `data`, unless that is more than recall reads."""
    if data is not None and len(data) > MAX_FILE and not path.startswith("raw/"):
        return Change(path, oid, None, TOO_LARGE.format(MAX_FILE >> 20))
    return Change(path, oid, data)


def committed(changes: Mapping[str, bytes | None], tree: str) -> list[Change]:
    """Return what a commit of these files (None for gone) changes, in order; `tree` is its tree."""
    wide = len(tree) == 64  # hex digits: a repository of sha256 ids
    return [
        changed_to(path, "" if data is None else _blob_id(data, wide=wide), data)
        for path, data in sorted(changes.items(), key=lambda item: order(item[0]))
        if read_by_kg(path)
    ]


def _blob_id(data: bytes, *, wide: bool) -> str:
    whole = b"blob %d\0" % len(data) + data
    made: Any = hashlib.sha256(whole) if wide else hashlib.sha1(whole, usedforsecurity=False)
    return str(made.hexdigest())


def order(path: str) -> tuple[int, str]:
    """Return the key by which changes are applied: an entity comes after what it is said in."""
    return _KINDS.get(path.partition("/")[0], 9), path


def read_by_kg(path: str) -> bool:
    """Whether the path, relative to the store, is one that recall reads."""
    head, slash, _ = path.partition("/")
    if not slash:
        return path == "store.json"
    return head in _SUFFIX and path.endswith(_SUFFIX[head])


class Git:
    """The objects of one repository, read by the git program.

    Raises (everywhere):
        GitMissingError: there is no git program.
        GitFailedError: it refused, for instance because an object is not there.
    """

    def __init__(self, gitdir: str, most: int = MAX_FILE) -> None:
        """Read the repository at `gitdir`, of files at most `most` bytes."""
        self._gitdir, self._most = gitdir, most

    def head(self) -> str:
        """Return HEAD's commit id, "" when there is no commit yet."""
        try:
            return self._run("rev-parse", "--verify", "-q", "HEAD^{commit}").decode().strip()
        except GitFailedError:
            return ""

    def tree(self, head: str, prefix: str) -> str:
        """Return the id of the folder's tree in a commit, "" when it holds no such folder."""
        name = f"{head}:{prefix}" if prefix else f"{head}^{{tree}}"
        try:
            oid = self._run("rev-parse", "--verify", "-q", name).decode().strip()
            return oid if self._run("cat-file", "-t", oid).strip() == b"tree" else ""
        except GitFailedError:
            return ""

    def entries(self, tree: str, below: str = "") -> list[Entry]:
        """Return every path that recall reads below a tree, which is the store's folder `below`."""
        found = []
        for line in self._run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            facts, _, name = line.partition(b"\t")
            mode, _, oid = facts.decode().split(" ")
            found.append(Entry(below + _path(name), mode, oid))
        return [e for e in found if read_by_kg(e.path)]

    def changed(self, old: str, new: str, below: str = "") -> list[Entry]:
        """Return the paths that differ between two trees of `below`, as they are in the new one."""
        out = self._run("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")
        found = []
        for facts, name in zip(out[:-1:2], out[1::2], strict=True):
            _, mode, _, oid, status = facts.decode().split(" ")
            found.append(Entry(below + _path(name), mode, "" if status == "D" else oid))
        return [e for e in found if read_by_kg(e.path)]

    def changes(self, entries: Iterable[Entry], *, texts: bool = False) -> Iterator[Change]:
        """Yield the entries' bytes in the order in which they are to be applied.

        Those of raw/ only with `texts`.
        """
        wanted = sorted(entries, key=lambda e: order(e.path))
        read = [e for e in wanted if _is_file(e) and (texts or not e.path.startswith("raw/"))]
        blobs = self.blobs([e.oid for e in read])
        for entry in wanted:
            if not entry.oid:
                yield Change(entry.path, "", None)
            elif not _is_file(entry):
                yield Change(entry.path, entry.oid, None, "is no regular file, so not followed")
            elif entry.path.startswith("raw/") and not texts:
                yield Change(entry.path, entry.oid, b"")
            else:
                data, problem = next(blobs)
                yield Change(entry.path, entry.oid, data, problem)

    def _run(self, *args: str) -> bytes:
        with self._spawn(args, subprocess.PIPE) as child:
            out, err = child.communicate()
        if child.returncode:
            line = err.decode("utf-8", "replace").strip().split("\n")[0]
            raise GitFailedError(f"git {args[0]}: {line or 'failed'}: run kg fsck")
        return out

    def blobs(self, oids: Sequence[str]) -> Iterator[tuple[bytes | None, str]]:
        """Yield (bytes, problem) of each; git ends at some that it cannot read, so it restarts."""
        at = 0
        for _ in range(_LOST):
            for blob in self._batch(oids[at:]):
                at += 1
                yield blob
            if at == len(oids):
                return
            at += 1
            yield None, LOST
        raise GitFailedError(
            "too many of the store's objects are missing or corrupt: run git fsck, "
            "or in a partial clone git fetch --refetch"
        )

    def _batch(self, oids: Sequence[str]) -> Iterator[tuple[bytes | None, str]]:
        """Yield what git says of each until it ends."""
        with self._spawn(("cat-file", "--batch", "--buffer"), subprocess.PIPE) as child:
            stdin, stdout = cast("IO[bytes]", child.stdin), cast("IO[bytes]", child.stdout)
            # A thread feeds the names: git stops reading once nobody takes its answers.
            feeder = threading.Thread(target=_feed, args=(stdin, oids), daemon=True)
            feeder.start()
            try:
                for _ in oids:
                    header = stdout.readline().split()
                    if not header:
                        return
                    yield _blob(stdout, header, self._most)
            finally:
                child.kill()
                feeder.join()

    def _spawn(self, args: Sequence[str], stdout: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [*command(self._gitdir), *args],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.PIPE
                if args[0] != "cat-file" or args[1] == "-t"
                else subprocess.DEVNULL,
                env=environ(),
            )
        except OSError as error:
            raise GitMissingError(f"cannot start git ({error.strerror}): install it") from None


def folder_changes(folder: str, *, texts: int = 0) -> Iterator[Change]:
    """Yield every file below a folder that recall reads; symbolic links are not followed.

    Of raw/ the bytes of files that have at most `texts`, 0 for none of them.
    """
    names = sorted(_walk(folder, ""), key=lambda pair: order(pair[0]))
    for name, problem in names:
        if problem or (name.startswith("raw/") and not texts):
            yield Change(name, "", None if problem else b"", problem)
        else:
            yield _read(folder, name, texts if name.startswith("raw/") else MAX_FILE)


def _feed(stdin: IO[bytes], oids: Sequence[str]) -> None:
    try:
        for at in range(0, len(oids), 1000):
            stdin.write("".join(f"{oid}\n" for oid in oids[at : at + 1000]).encode())
        stdin.close()
    except OSError:
        pass  # git has ended: the reader of its answers sees that, and says so


def _blob(out: IO[bytes], header: list[bytes], most: int) -> tuple[bytes | None, str]:
    if len(header) != 3:
        return None, LOST
    size = int(header[2])
    if size > most:
        _skip(out, size + 1)
        return None, TOO_LARGE.format(most >> 20)
    data = out.read(size)
    out.read(1)
    return data, ""


def _skip(out: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(out.read(min(size, 1 << 20))) or size


def _is_file(entry: Entry) -> bool:
    return entry.mode.startswith("100")


def _path(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _walk(folder: str, below: str) -> Iterator[tuple[str, str]]:
    try:
        found = list(os.scandir(os.path.join(folder, below)))
    except OSError:
        return
    for entry in found:
        name = os.fsencode(below + entry.name).decode("utf-8", "backslashreplace")
        if entry.is_dir(follow_symlinks=False):
            if below or entry.name in _SUFFIX:
                yield from _walk(folder, below + entry.name + "/")
        elif read_by_kg(name):
            regular = entry.is_file(follow_symlinks=False)
            yield name, "" if regular else "is no regular file, so not followed"


def _read(folder: str, name: str, most: int) -> Change:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        return Change(name, "", None, f"cannot be read: {error.strerror}")
    if len(data) > most:
        return Change(name, "", None, TOO_LARGE.format(most >> 20))
    return Change(name, "", data)
