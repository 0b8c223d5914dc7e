"""Making a store, or making one of what is there: a folder becomes a memory in one commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from kg import place as places
from kg.errors import AlreadyExistsError, NotARepositoryError
from kg.format import Settings
from kg.format.resolver import PATH as RESOLVER
from kg.format.resolver import shipped_bytes
from kg.format.settings import PATH as SETTINGS
from kg.format.settings import shipped_synonyms
from kg.graph.adopt import adopt
from kg.graph.draft import Draft
from kg.graph.graph import Graph
from kg.place import Place
from kg.store.repository import create
from kg.store.worktree import Worktree

ATTRIBUTES = b"* -text\n*.json merge=kg\n"  # no line ending is touched; text merges break JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What `init` did; `excluded` is the exclude file of the repository around, if it changed."""

    place: Place
    commit: str
    adopted: tuple[str, ...] = ()
    excluded: str = ""


def init(folder: str, *, layout: str = "own", committer: tuple[str, str] | None = None) -> Made:
    """Make a store in `folder`, or adopt the hand-written one that is there, in one commit.

    `layout` is `own` (a repository of its own in the folder), `in-tree` (a folder of the
    repository around it) or `bare` (no working tree).

    Raises:
        AlreadyExistsError: there is a store already, or a file that a store would overwrite.
        NotARepositoryError: `in-tree` outside a repository.
    """
    folder = os.path.realpath(folder)
    found = places.at(folder, "named") if os.path.isdir(folder) else None
    if found is not None and not found.seed and not _unfounded(found):
        raise AlreadyExistsError(f"{folder} is a store already: see kg -C {folder} status")
    if found is None:
        _check_free(folder)
    tracked = found is not None and found.seed and _tracked(found)
    place, excluded = _place(folder, "in-tree" if tracked and layout == "own" else layout)
    graph = Graph(place, committer=committer)
    edited = _files_there(graph) if place.folder else {}
    adopted: list[str] = []
    run = graph.run_now()
    edit = _founding(graph, edited if found is not None else {}, adopted, run)
    commit = graph.change(edit, op="init", run=run, edited=edited, founding=True)
    graph.close()
    return Made(place=place, commit=commit, adopted=tuple(adopted), excluded=excluded)


def format_page() -> bytes:
    """Return the format document that every store carries as its README.md."""
    return files("kg").joinpath("FORMAT.md").read_bytes()


def _founding(
    graph: Graph, edited: dict[str, str], adopted: list[str], run: str
) -> Callable[[Draft], str]:
    def found(draft: Draft) -> str:
        adopted.clear()
        draft.put_settings(Settings(synonyms=shipped_synonyms()))
        if RESOLVER not in edited:  # a store that lost its store.json has measured its own
            draft.put_file(RESOLVER, shipped_bytes())
        if edited:
            adopted.extend(adopt(graph, draft, sorted(edited), run))
        page, attributes = _theirs(graph, "README.md"), _theirs(graph, ".gitattributes")
        if page not in (b"", format_page()):
            draft.put_file(_free_name(edited), page)
        draft.put_file("README.md", format_page())
        draft.put_file(".gitattributes", attributes.replace(ATTRIBUTES, b"") + ATTRIBUTES)
        return f"Adopt {len(adopted)} hand-written files" if adopted else "Begin a memory"

    return found


def _theirs(graph: Graph, name: str) -> bytes:
    """Return what a hand-written store has under a name that a store needs, b"" for nothing."""
    try:
        with open(f"{graph.place.folder or os.devnull}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _free_name(taken: dict[str, str]) -> str:
    """Return the name under which a hand-written store keeps its own README.md."""
    names = ("README.old.md", *(f"README.old{n}.md" for n in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _check_free(folder: str) -> None:
    """Refuse a folder that holds files of somebody else's under the names a store needs."""
    needed = {
        "README.md": format_page(),
        ".gitattributes": ATTRIBUTES,
        SETTINGS: b"",
        RESOLVER: shipped_bytes(),
    }
    for name, ours in needed.items():
        path = f"{folder}/{name}"
        if os.path.lexists(path):
            with open(path, "rb") as file:
                if file.read() != ours:
                    raise AlreadyExistsError(
                        f"{path} is there already: make the store in a folder of its own: "
                        f"kg init {folder}/memory"
                    )


def _place(folder: str, layout: str) -> tuple[Place, str]:
    if layout == "in-tree":
        top, gitdir = places.repository_around(folder)
        if not gitdir:
            raise NotARepositoryError(f"{folder} is in no git repository: leave out --in-tree")
        os.makedirs(folder, exist_ok=True)
        return Place(folder, top, gitdir, "just made"), ""
    if layout == "bare":
        create(folder, bare=True)
        return Place("", "", folder, "just made"), ""
    outer_top, outer = places.repository_around(os.path.dirname(folder))
    os.makedirs(folder, exist_ok=True)
    if places.repository_around(folder)[0] != folder:
        create(folder, bare=False)
    return (
        Place(folder, folder, places.repository_around(folder)[1], "just made"),
        _exclude(folder, outer_top, outer) if outer else "",
    )


def _exclude(folder: str, top: str, gitdir: str) -> str:
    """Keep the store's folder out of the repository around it; return the file that says so."""
    line = f"/{os.path.relpath(folder, top).replace(os.sep, '/')}/"
    path = f"{places.commondir_of(gitdir)}/info/exclude"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    if line in text.splitlines():
        return ""
    with open(path, "a", encoding="utf-8") as file:
        file.write(("" if not text or text.endswith("\n") else "\n") + line + "\n")
    return path


def _unfounded(found: Place) -> bool:
    """Whether it is a repository that holds no store yet: a fresh bare one."""
    return found.bare and Graph(found).at().read("store.json") is None


def _tracked(seed: Place) -> bool:
    return bool(seed.gitdir and seed.prefix and Graph(seed).at().tree)


def _files_there(graph: Graph) -> dict[str, str]:
    """Return {path: blob id} of the files already in the folder."""
    folder, files_ = graph.place.folder, Worktree(graph.repository)
    found: dict[str, str] = {}
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != ".git" and not os.path.islink(f"{at}/{f}"))
        for name in sorted(names):
            path = os.path.relpath(f"{at}/{name}", folder).replace(os.sep, "/")
            if not os.path.islink(f"{at}/{name}"):
                found[path] = files_.id_of(path)
    return found
