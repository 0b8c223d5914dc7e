"""What a mention refers to, and what two names have in common. Pure: it touches no file.

`forms` reads a name, `scorers` compare two, `blocking` finds what is worth comparing, `bands`
say what a score means, and `decision` what becomes of a mention.
"""

from kg.resolve.decision import (
    Created,
    Decision,
    Evidence,
    Matched,
    Pending,
    Rival,
    Spoken,
    band,
    decide,
)
from kg.resolve.names import slug_of, suffixed

__all__ = [
    "Created", "Decision", "Evidence", "Matched", "Pending", "Rival", "Spoken", "band", "decide",
    "slug_of", "suffixed",
]  # fmt: skip
