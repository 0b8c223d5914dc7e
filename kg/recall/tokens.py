"""How much of a model's context a text takes, as an estimate.

On the hot path: imports nothing.
"""

from __future__ import annotations

# Of UTF-8 a token. An old vocabulary (GPT-3's) takes 2.8 for lines of `kg context`, 3.1 for
# this project's README; newer ones take more, so this is rather too many tokens than too few.
BYTES = 3


def tokens(text: str) -> int:
    """Return about how many tokens a text is: a third of its bytes in UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)
