"""Which entities a question is about at all: of a type, with a tag, around another one.

And of entities that are one thing, which one answers: the canonical of their cluster.

On the hot path: imports the words and nothing else.
"""

# ruff: noqa: S608 - every SQL text here is put together from constants; values are bound

from __future__ import annotations

from kg.recall.forms import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    Row = tuple[int, str, bool]  # number in the index, id, dormant

# With `ent e left join roles r`: whether an entity was missed by as many runs as make it so,
# and with it all that are one thing with it.
DORMANT = (
    "e.last <> '' and e.last < coalesce(r.floor, '') and not exists (select 1 from cluster x"
    " join cluster y on y.canonical = x.canonical join ent z on z.id = y.id"
    " left join roles q on q.n = z.roles"
    " where x.id = e.id and (z.last = '' or z.last >= coalesce(q.floor, '')))"
)
# All that are one thing with an id, itself among them.
KIN = (
    "select {0} union select y.id from cluster x join cluster y on y.canonical = x.canonical"
    " where x.id = {0}"
)
_ABOUT = (
    f"with kin (id) as ({KIN.format('(select id from asked)')}), asked (id) as (select ?),"
    " near (id) as (select id from kin union select o from edge where s in (select id from kin)"
    " union select s from edge where o in (select id from kin))"
    " select id from near union select canonical from cluster where id in (select id from near)"
)
_HEADS = (
    f"select z.n, e.n, e.id, {DORMANT} from ent z join cluster c on c.id = z.id"
    " join ent e on e.id = c.canonical join page p on p.n = e.n"
    " left join roles r on r.n = e.roles where z.n in ({some}) order by p.path desc"
)


class Wholes:
    """Who answers for the members of clusters; asks the index for it where it has any."""

    __slots__ = ("_any", "_con")

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._any = con.execute("select 1 from cluster limit 1").fetchone() is not None

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows with each cluster once, as its canonical, where its first member was."""
        heads = self.heads([row[0] for row in rows])
        found = (heads.get(row[0], row) for row in rows)
        return list({row[0]: row for row in reversed(list(found))}.values())[::-1]

    def numbers(self, numbers: Iterable[int]) -> list[int]:
        """Return numbers of entities in the same way."""
        return [row[0] for row in self.rows([(n, "", False) for n in numbers])]

    def heads(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Return for members of clusters the row of the canonical, of twins the first file's."""
        if not self._any:
            return {}
        sql = _HEADS.replace("{some}", ", ".join("?" * len(numbers)))
        rows = self._con.execute(sql, numbers)
        return {member: (n, id_, bool(dormant)) for member, n, id_, dormant in rows}


class Only:
    """Which entities are wanted at all, as a condition on `ent e` with its values."""

    __slots__ = ("sql", "values")

    def __init__(
        self,
        *,
        archived: bool = False,
        type: str = "",  # noqa: A002 - named as its option
        tag: str = "",
        kind: str = "",
        about: str = "",
    ) -> None:
        """Take the wanted type (Object, object, object/), tag, kind of fact, and neighbourhood."""
        wanted = [] if archived else ["not e.archived"]
        self.values: list[str] = []
        if type:
            prefix = type.rstrip("/").lower()
            wanted.append(
                "(e.id between ? and ? or exists"
                " (select 1 from page p where p.n = e.n and lower(p.type) = ?) or exists"
                " (select 1 from cluster x join ent z on z.id = x.id join page p on p.n = z.n"
                " where x.canonical = e.id and (z.id between ? and ? or lower(p.type) = ?)))"
            )
            self.values += [f"{prefix}/", f"{prefix}/\U0010ffff", prefix] * 2
        for name, value in (("tag", tag), ("kind", kind)):
            if value:
                wanted.append(
                    "exists (select 1 from mark m where m.kind = ? and m.value = ? and m.ent = e.n)"
                )
                self.values += [name, folded(value)]
        if about:
            wanted.append(f"e.id in ({_ABOUT})")
            self.values.append(about)
        self.sql = " and ".join(wanted) or "1"
