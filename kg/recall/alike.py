"""How alike two errors are, as far as their clues tell.

Lines are compared, not texts, because what an agent has is a log and what a trace keeps is a
sentence of it, or the reverse. The parts, each between 0 and 1, and every clue c with a weight
w(c), which is `clues.weight` times its rarity (`rarity`):

    line(A, B)   = w(A & B) / (w(A & B) + w(A - B) + STRAY w(B - A)), with the weights of A
                   (Tversky's index): what A says is wanted, what B says besides is in the way
    cover(X, Y)  = the mean over the lines A of X of the best line(A, B) with a line B of Y,
                   weighted by w(A), and by what kind of line it is (`_KINDS`)
    alike(X, Y)  = (LARGER max + (1 - LARGER) min)(cover(X, Y), cover(Y, X))
                   x min(1, weight of the clues that both have / ENOUGH)

The same clues in the same lines are alike to 1.0 however few. `ENOUGH` was set on the first part
of the errors in scripts/bench/tried.py; the other constants are first guesses that held there,
and on errors written afterwards ("fresh").
"""

from __future__ import annotations

from kg.recall.clues import FRAME, key, tells, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STRAY = 0.25
LARGER = 0.9
ENOUGH = 2.5  # an exception's class and a word: less than that may meet by chance
FOCUS = 12  # lines of a long text that speak for it
_PRIOR = 50  # errors that a store is taken to have besides, so that a small one knows what is rare

# A line that tells of an error weighs more than the rest of its text, a stack frame less.
_KINDS = {"error": 3.0, "": 1.0, "frame": 0.2}


def rarity(often: int, of: int) -> float:
    """Return how rare a clue is that `often` of `of` traces have: 1 for one or none, down to 0.

    An inverse document frequency, log(1 + (N + 50) / n), as a share of its greatest value.
    """
    from math import log

    most = log(1 + of + _PRIOR)
    return log(1 + (of + _PRIOR) / max(often, 1)) / most


class Message:
    """A text as lines of weighted clues."""

    __slots__ = ("alone", "clues", "kinds", "lines", "sums", "where")

    def __init__(self, lines: Sequence[Sequence[str]], rare: Callable[[str], float]) -> None:
        """Weigh the clues of each line (`clues.lines`); `rare` returns the rarity of a key."""
        self.alone: dict[str, float] = {}  # weights without rarity
        self.where: dict[str, list[int]] = {}
        self.lines: list[dict[str, float]] = []
        self.kinds = [_KINDS[_kind(line)] for line in lines]
        for at, line in enumerate(lines):
            weights: dict[str, float] = {}
            for clue in line:
                if clue == FRAME:
                    continue
                name, own = key(clue), weight(clue)
                weights[name] = max(own * rare(name), weights.get(name, 0.0))
                self.alone[name] = max(own, self.alone.get(name, 0.0))
            for name in weights:
                self.where.setdefault(name, []).append(at)
            self.lines.append(weights)
        self.sums = [sum(line.values()) for line in self.lines]
        self.clues = frozenset(self.where)

    def focus(self) -> list[int]:
        """Return the numbers of the lines that speak for the text: the last that tell of errors."""
        if len(self.lines) <= FOCUS:
            return list(range(len(self.lines)))
        telling = [at for at, kind in enumerate(self.kinds) if kind > 1]
        return telling[-FOCUS:] or list(range(len(self.lines)))[-FOCUS:]


def alike(one: Message, other: Message) -> float:
    """Return how alike two messages are, 0 to 1; symmetric."""
    both = one.clues & other.clues
    if not both:
        return 0.0
    if one.clues == other.clues and _same(one, other):
        return 1.0
    there, met = _cover(one, other)
    back, met_back = _cover(other, one)
    larger, smaller = max(there, back), min(there, back)
    common = met | met_back
    told = sum(min(one.alone[name], other.alone[name]) for name in common)
    return (LARGER * larger + (1 - LARGER) * smaller) * min(1.0, told / ENOUGH)


def _same(one: Message, other: Message) -> bool:
    return [set(line) for line in one.lines] == [set(line) for line in other.lines]


def _cover(one: Message, other: Message) -> tuple[float, set[str]]:
    """Return how much of one message stands in the other, and the clues that say so."""
    total = found = 0.0
    met: set[str] = set()
    for at in one.focus():
        own = one.sums[at] * one.kinds[at]
        best, line = _best(one.lines[at], one.sums[at], other)
        total += own
        found += own * best
        if line >= 0:
            met |= one.lines[at].keys() & other.lines[line].keys()
    return (found / total if total else 0.0), met


def _best(line: dict[str, float], whole: float, other: Message) -> tuple[float, int]:
    """Return (likeness, number) of the line of another message that is most like this one."""
    shared: dict[int, float] = {}
    for name, own in line.items():
        for at in other.where.get(name, ()):
            shared[at] = shared.get(at, 0.0) + own
    best, number = 0.0, -1
    for at, both in shared.items():
        stray = sum([w for name, w in other.lines[at].items() if name not in line])
        likeness = both / (whole + STRAY * stray)
        if likeness > best:
            best, number = likeness, at
    return best, number


def _kind(line: Sequence[str]) -> str:
    if line[0] == FRAME:
        return "frame"
    return "error" if tells(line) else ""
