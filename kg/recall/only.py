"""Which entities a question is about at all: of a type, with a tag, around another one.

On the hot path: imports the words and nothing else.
"""

from __future__ import annotations

from kg.recall.forms import folded

# With `ent e left join roles r`: whether an entity was missed by as many runs as make it so.
DORMANT = "e.last <> '' and e.last < coalesce(r.floor, '')"


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
                " (select 1 from page p where p.n = e.n and lower(p.type) = ?))"
            )
            self.values += [f"{prefix}/", f"{prefix}/\U0010ffff", prefix]
        for name, value in (("tag", tag), ("kind", kind)):
            if value:
                wanted.append(
                    "exists (select 1 from mark m where m.kind = ? and m.value = ? and m.ent = e.n)"
                )
                self.values += [name, folded(value)]
        if about:
            wanted.append(
                "e.id in (select ? union all select o from edge where s = ?"
                " union all select s from edge where o = ?)"
            )
            self.values += [about] * 3
        self.sql = " and ".join(wanted) or "1"
