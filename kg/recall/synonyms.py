"""Which words mean the same to a search: store.json's table, or the shipped one.

Kept in the index as the JSON that store.json has, and read leniently: what makes no sense in
it is passed over (`kg fsck` names it).
"""

from __future__ import annotations

import json
import os
from functools import lru_cache

from kg.recall.parse import clean
from kg.text import fold

_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "synonyms.json")


@lru_cache(maxsize=8)
def groups(column: str) -> tuple[tuple[str, ...], ...]:
    """Return groups of words that mean the same, folded, from `meta.synonyms` of the index.

    The shipped table where store.json has none ("null"); an empty one means none. A word may
    stand in several groups, which does not make these one.
    """
    said = _parsed(column)
    if said is None:
        with open(_SHIPPED, "rb") as file:
            said = json.load(file)
    found = (_group(members) for members in said) if isinstance(said, list) else ()
    return tuple(group for group in dict.fromkeys(found) if len(group) > 1)


def _parsed(column: str) -> object:
    try:
        return json.loads(column)
    except (ValueError, RecursionError):
        return []


def _group(members: object) -> tuple[str, ...]:
    words = members if isinstance(members, list) else []
    texts = (fold(clean(word)) for word in words if isinstance(word, str))
    return tuple(dict.fromkeys(text for text in texts if text))
