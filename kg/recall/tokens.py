"""How much of a model's context a text takes, as an estimate.

On the hot path: imports nothing.
"""

from __future__ import annotations

BYTES = 4  # of UTF-8 a token: common tokenizers take 3.5 to 4.5 for English and code


def tokens(text: str) -> int:
    """Return about how many tokens a text is: a quarter of its bytes in UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)
