"""The recall index of one store: what its folder says at HEAD, and small questions to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kg.recall import near, schema
from kg.recall.derived import Derived
from kg.recall.engine import index_file
from kg.recall.forms import squash
from kg.recall.grouped import members
from kg.recall.load import Loader
from kg.recall.source import Git, folder_changes
from kg.recall.used import counts

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kg.place import Place
    from kg.recall.source import Change


class Index(Derived):
    """What a store says at one commit, as `Derived` has it."""

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return an empty one for a store."""
        return cls(place, index_file(place), place.prefix)

    def ids_named(self, type_prefix: str, folded: str) -> list[str]:
        """Return the entities of a type ("org") with a name or alias of that folded form."""
        sql = (
            "select distinct e.id from key k join ent e on e.n = k.ent"
            " where k.squash = ? and k.folded = ? and k.kind in ('name', 'alias')"
            " and e.id between ? and ?"
            " order by e.id"
        )
        row = (squash(folded), folded, f"{type_prefix}/", f"{type_prefix}/\U0010ffff")
        return [found[0] for found in self.connection.execute(sql, row)]

    def ids_like(self, text: str) -> list[str]:
        """Return a few ids whose id or name is near `text`, nearest first."""
        return near.ids_like(self.connection, text)

    def edges_of(self, id: str) -> list[tuple[str, str, str, str]]:  # noqa: A002
        """Return (subject, predicate, object, path) of each edge at `id`, either way."""
        sql = (
            "select s, p, o, path from edge where s = ? union"
            " select s, p, o, path from edge where o = ? order by 1, 2, 3, 4"
        )
        return self.connection.execute(sql, (id, id)).fetchall()

    def edge_keys(self, id: str) -> list[tuple[str, str, str]]:  # noqa: A002
        """Return (subject, predicate, object) of each edge at `id`, either way."""
        return [(s, p, o) for s, p, o, _ in self.edges_of(id)]

    def kin_of(self, id: str) -> list[str]:  # noqa: A002
        """Return the ids of the cluster that an entity is in, the canonical first; [] for none."""
        sql = "select canonical from cluster where id = ?"
        canonical = self.connection.execute(sql, (id,)).fetchone()
        kin = members(self.connection, canonical[0]) if canonical else []
        return kin if len(kin) > 1 else []

    def path_of(self, id: str) -> str | None:  # noqa: A002
        """Return the path of an entity's file in the store, None where there is none."""
        sql = "select min(p.path) from ent e join page p on p.n = e.n where e.id = ?"
        found: str | None = self.connection.execute(sql, (id,)).fetchone()[0]
        return found

    # --- what it holds ---

    def _create(self, con: sqlite3.Connection) -> None:
        schema.create(con, self.place.prefix)

    def _usable(self, con: sqlite3.Connection) -> bool:
        return schema.usable(con, self.place.prefix)

    def _apply(self, con: sqlite3.Connection, changes: Iterable[Change], *, empty: bool) -> None:
        Loader(con).apply(changes, empty=empty)
        if self.place.state:
            con.execute("delete from used")
            rows = counts(self.place.state).items()
            con.executemany("insert into used values (?, ?)", rows)

    def _all(self, git: Git, tree: str) -> Iterable[Change]:
        return git.changes(git.entries(tree))

    def _changed(self, git: Git, old: str, tree: str) -> Iterable[Change]:
        return git.changes(git.changed(old, tree))

    def _in_folder(self) -> Iterable[Change]:
        return folder_changes(self.place.folder) if self.place.folder else ()
