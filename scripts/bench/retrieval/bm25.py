"""Plain BM25: what any search does, and what recall has to beat.

Robertson and Zaragoza 2009, with k1 1.2 and b 0.75; words are runs of letters and digits in
lower case, 60 stop words left out, no stemming. Of equal scores the earlier text goes first.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

K1, B = 1.2, 0.75
STOP = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her
    him his how i if in is it its me my of on or our she so that the their them they this to was
    we were what when where which who why will with would you your
    """.split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Return the words of a text that count."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP]


class Bm25:
    """Texts, ready to be searched."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the texts by id."""
        self._counts = {id_: Counter(words(text)) for id_, text in texts.items()}
        self._long = {id_: sum(counts.values()) for id_, counts in self._counts.items()}
        self._mean = sum(self._long.values()) / max(1, len(texts))
        self._holding = Counter(word for counts in self._counts.values() for word in counts)

    def search(self, query: str, limit: int) -> list[str]:
        """Return the ids of the texts that hold a word of the query, best first."""
        idf = {word: self._idf(word) for word in set(words(query)) if self._holding[word]}
        scores = {id_: self._score(id_, idf) for id_ in self._counts}
        best = sorted(scores, key=lambda id_: -scores[id_])
        return [id_ for id_ in best[:limit] if scores[id_] > 0]

    def _idf(self, word: str) -> float:
        often = self._holding[word]
        return log(1 + (len(self._counts) - often + 0.5) / (often + 0.5))

    def _score(self, id_: str, idf: Mapping[str, float]) -> float:
        counts, norm = self._counts[id_], 1 - B + B * self._long[id_] / self._mean
        return sum(
            worth * counts[word] * (K1 + 1) / (counts[word] + K1 * norm)
            for word, worth in idf.items()
            if word in counts
        )
