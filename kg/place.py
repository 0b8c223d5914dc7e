"""Where a store lives: finding it, and reading HEAD's commit id without a git library.

A store is a pair of a repository and a prefix inside its tree. On the hot path of recall,
so it imports `os` alone. How HEAD is read follows gitrepository-layout(5) and was compared
with `git rev-parse HEAD` in thirteen kinds of repository; where the files cannot say
(reftable, an odd ref), `head` returns None and the git program has to be asked.
"""

from __future__ import annotations

import os

from kg.errors import NotARepositoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = ("KG_STORE", "KG_RUN", "KG_AGENT")  # of the environment; no other means anything
MARKER = b'"kg_format"'  # the first key of every store.json: other programs use that name too
_HEX = frozenset(b"0123456789abcdef")


class Place:
    """One store: `folder` in a working tree, `gitdir` and `prefix` in a repository.

    `folder` is "" for a bare repository, `gitdir` is "" outside git; `prefix` is the
    folder's path inside the repository's tree, "" at its root. `seed` says that there is
    no store.json: a hand-written store, read-only until `kg init` adopts it. `why` tells a
    person how it was found.
    """

    __slots__ = ("folder", "gitdir", "prefix", "seed", "top", "why")

    def __init__(self, folder: str, top: str, gitdir: str, why: str, *, seed: bool = False) -> None:
        self.folder, self.top, self.gitdir, self.why, self.seed = folder, top, gitdir, why, seed
        inside = os.path.relpath(folder, top) if folder and top else "."
        self.prefix = "" if inside == "." else inside.replace(os.sep, "/")

    @property
    def bare(self) -> bool:
        """Whether there is no working tree."""
        return not self.folder

    @property
    def commondir(self) -> str:
        """The git directory that all linked worktrees share; "" outside git."""
        return commondir_of(self.gitdir) if self.gitdir else ""

    @property
    def shared(self) -> bool:
        """Whether the repository holds more than the store."""
        return bool(self.prefix)

    @property
    def state(self) -> str:
        """The folder for what is derived and local: index, lock, journal, outbox."""
        return self.gitdir + "/kg" if self.gitdir else ""

    @property
    def name(self) -> str:
        """What the files in `state` that are this store's alone are told apart by, "" mostly."""
        return "" if self.prefix in ("", "memory") else self.prefix.replace("/", "+")


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return what to say of each KG_* variable that means nothing, such as a mistyped one."""
    names = [name for name in environ if name.startswith("KG_") and name not in VARIABLES]
    known = ", ".join(VARIABLES)
    return [f"{name} is not a variable kg knows ({known}): ignored" for name in sorted(names)]


def find(start: str | None, environ: Mapping[str, str], cwd: str) -> Place:
    """Return the store that `start` (-C), KG_STORE or the current folder leads to.

    Raises:
        NotARepositoryError: there is none; the message says how to make one.
    """
    if start is not None:
        return _below_or_above(os.path.join(cwd, start), f"-C {start}")
    if environ.get("KG_STORE"):
        named = os.path.join(cwd, environ["KG_STORE"])
        here = at(named, "KG_STORE")
        if here is None:
            raise NotARepositoryError(
                f"KG_STORE names {named}, where there is no store: correct it, "
                f"or make one with: kg init {named}"
            )
        return here
    return _below_or_above(cwd, "the nearest above the current folder")


def at(folder: str, why: str) -> Place | None:
    """Return the store in exactly this folder or bare repository, or None."""
    folder = os.path.realpath(folder)
    marked, seed = _marked(folder), False
    if not marked:
        if is_gitdir(folder):
            return Place("", "", folder, why) if _is_bare(folder) else None
        seed = _has_entities(folder)
    if not (marked or seed):
        return None
    top, gitdir = repository_around(folder)
    return Place(folder, top, gitdir, why, seed=seed)


def is_gitdir(folder: str) -> bool:
    """Whether the folder is a git directory (what a bare repository is)."""
    return (
        os.path.exists(folder + "/HEAD")
        and os.path.isdir(folder + "/objects")
        and os.path.isdir(folder + "/refs")
    )


def _is_bare(gitdir: str) -> bool:
    """Whether no working tree goes with it, which a write to HEAD alone would leave behind."""
    return os.path.basename(gitdir) != ".git" and not os.path.exists(gitdir + "/index")


def head(gitdir: str) -> str | None:  # noqa: PLR0911 - one way out for each kind of HEAD
    """Return the commit id HEAD names, "" when unborn, None when git itself must be asked."""
    common = commondir_of(gitdir)
    value = _read(gitdir + "/HEAD")
    for _ in range(5):  # git's own limit on chained symbolic refs
        if value is None:
            return None
        found = _commit_id(value)
        if found:
            return found
        if not value.startswith(b"ref: ") or os.path.isdir(common + "/reftable"):
            return None
        name = os.fsdecode(value[5:].strip())
        if not name.startswith("refs/") or ".." in name:
            return None
        own = name.startswith(("refs/bisect/", "refs/worktree/", "refs/rewritten/"))
        path = f"{gitdir if own else common}/{name}"
        value = _read(path)
        if value is None:
            packed = _packed(common, name)
            if packed:
                return packed
            value = _read(path)  # packed-refs may have been rewritten between the two looks
            if value is None:
                return _packed(common, name) or ""
    return None


def _below_or_above(start: str, why: str) -> Place:
    """Look in `start`, then upward; a main worktree's store comes before what lies above it."""
    start = os.path.realpath(start)
    if not os.path.isdir(start):
        raise NotARepositoryError(f"{start} is not a folder: name an existing one")
    folder, asked_main = start, False
    while True:
        for candidate in (folder, folder + "/memory"):
            if candidate == folder and folder != start and not _marked(folder):
                continue  # above the start, a folder that merely looks like a store is none
            found = at(candidate, why)
            if found is not None and not (found.bare and folder != start):
                return found
        if os.path.exists(folder + "/.git") and not asked_main:
            asked_main = True
            main = _main_worktree(folder)
            found = at(main + "/memory", "the main worktree's") if main else None
            if found is not None:
                return found
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    raise NotARepositoryError(f"no store at {start} or above it: make one with: kg init")


def _marked(folder: str) -> bool:
    data = _read(folder + "/store.json")
    if data is None or MARKER in data:
        return data is not None
    # a store.json that was damaged by hand hides no store: HEAD still has it whole
    return all(os.path.isdir(f"{folder}/{name}") for name in ("entities", "raw"))


def _has_entities(folder: str) -> bool:
    return os.path.isdir(folder + "/entities") and not os.path.exists(folder + "/store.json")


def repository_around(folder: str) -> tuple[str, str]:
    """Return (top of the working tree, git directory) of the repository around, or ("", "")."""
    while True:
        gitdir = _gitdir(folder)
        if gitdir:
            return folder, gitdir
        above = os.path.dirname(folder)
        if above == folder:
            return "", ""
        folder = above


def _gitdir(top: str) -> str:
    dot = top + "/.git"
    if os.path.isdir(dot):
        return dot if is_gitdir(dot) or os.path.exists(dot + "/commondir") else ""
    data = _read(dot)
    if data is None or not data.startswith(b"gitdir: "):
        return ""
    return os.path.normpath(os.path.join(top, os.fsdecode(data[8:].strip())))


def _main_worktree(top: str) -> str:
    gitdir = _gitdir(top)
    common = commondir_of(gitdir) if gitdir else ""
    if not common or common == gitdir or os.path.basename(common) != ".git":
        return ""
    return os.path.dirname(common)


def commondir_of(gitdir: str) -> str:
    """Return the git directory that all linked worktrees of a repository share."""
    data = _read(gitdir + "/commondir")
    if data is None:
        return gitdir
    return os.path.normpath(os.path.join(gitdir, os.fsdecode(data.strip())))


def _packed(common: str, name: str) -> str:
    data = _read(common + "/packed-refs", whole=True)
    if data is None:
        return ""
    end = data.find(b" " + os.fsencode(name) + b"\n")
    return _commit_id(data[data.rfind(b"\n", 0, end) + 1 : end]) if end >= 0 else ""


def _commit_id(value: bytes) -> str:
    value = value.strip()
    return value.decode() if len(value) in (40, 64) and _HEX.issuperset(value) else ""


def _read(path: str, *, whole: bool = False) -> bytes | None:
    """Return the first 4 kB of a file (or all), None where there is no readable file."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() if whole else file.read(4096)
    except OSError:
        return None
