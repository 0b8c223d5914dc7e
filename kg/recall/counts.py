"""How often words are: in how many entities each is, and in how many names.

Full text would have to walk all that hold a word to count them; the ranking needs it for every
word of a query. Kept exact: what comes and goes is added up and written at the end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kg.recall.query import NEAR
from kg.recall.words import words

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence


class Counts:
    """The tables `spread` and `vocab` of one index, and what is to be added to them."""

    def __init__(self, con: sqlite3.Connection) -> None:
        """Begin with nothing to add."""
        self._con = con
        self.one_by_one = True  # False while a new index is filled: then it is counted at once
        self._vocab: Counter[str] = Counter()
        self._spread: Counter[str] = Counter()

    def names(self, names: Iterable[str], by: int) -> None:
        """Count the words of names, which a query may mistype."""
        for name in names:
            for word in words(name):
                if len(word) >= NEAR:
                    self._vocab[word] += by

    def document(self, doc: Sequence[object], by: int) -> None:
        """Count the words of an entity, a row of `doc`."""
        if self.one_by_one:
            found = dict.fromkeys(" ".join(map(str, doc[1:])).split(), by)
            self._spread.update(found)

    def write(self) -> None:
        """Bring the tables to what has come and gone."""
        if not self.one_by_one:
            self._all()
        vocab = [(word, word[::-1], by) for word, by in self._vocab.items() if by]
        spread = [(word, by) for word, by in self._spread.items() if by]
        add = "insert into {} on conflict (word) do update set {} = {} + excluded.{}"
        many = self._con.executemany
        many(add.format("vocab values (?, ?, ?)", *["uses"] * 3), vocab)
        many(add.format("spread values (?, ?)", *["docs"] * 3), spread)
        many(
            "delete from vocab where word = ? and uses < 1", [(w,) for w, _, by in vocab if by < 0]
        )
        many("delete from spread where word = ? and docs < 1", [(w,) for w, by in spread if by < 0])

    def _all(self) -> None:
        """Count all words at once, as full text has them."""
        ex = self._con.execute
        ex("create virtual table temp.held using fts5vocab (main, words, row)")
        ex("insert into spread select term, doc from temp.held")
        ex("drop table temp.held")
        self.one_by_one = True
