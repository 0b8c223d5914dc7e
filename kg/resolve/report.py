"""What was measured as a page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape

from kg.resolve.evidence import Tally
from kg.resolve.measure import Measurement, Scored, tally
from kg.resolve.picture import BINS, HEAD, percent, sentences, spread, table
from kg.text import one_line

NEAREST = 12  # pairs shown at a cutoff
_WIDE, _HIGH, _EDGE = 640, 150, 30  # of a drawing, in its own units
_SLOT = (_WIDE - 2 * _EDGE) / (BINS + 1)
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1b1f24; background: #fff }
h2 { border-top: 1px solid #d0d7de; padding-top: 1rem; margin-top: 2.5rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #eaeef2 }
td.wrong { color: #a40e26; font-weight: 600 }
svg { width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: #57606a }
.same { fill: #2a6fb0 } .different { fill: #c9510c } .cutoff { stroke: #1b1f24; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 }
  h2, th, td { border-color: #30363d } td.wrong { color: #ff7b72 } .cutoff { stroke: #e6edf3 } }
"""


def page(labels: str, measurements: Sequence[Measurement]) -> str:
    """Return the page: per type the scores, both cutoffs, what is right and wrong, what is near.

    Names are escaped; the same measurements give the same bytes.
    """
    parts = "".join(_type(one) for one in measurements)
    title = f"kg measure: label set {_text(labels)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"{parts}</body>\n</html>\n"
    )


def _type(one: Measurement) -> str:
    said = "".join(f"<li>{_text(line)}</li>\n" for line in sentences(one))
    near = "".join(
        _near(one.scored, cut, name)
        for name, cut in (("upper", one.upper), ("lower", one.cutoffs.lower))
        if cut is not None
    )
    return (
        f"<h2>{_text(one.type)}, {_text(one.cutoffs.scorer)}</h2>\n<ul>\n{said}</ul>\n"
        f"{_drawing(one)}{_confusion(one)}{near}"
        f"{_rows('Every twentieth, and the cutoffs', HEAD, table(one)[1:])}"
    )


# the distribution


def _drawing(one: Measurement) -> str:
    counts = spread(one.scored)
    bars = "".join(
        _bar(at, side, counts[at][side], max(1, *(pair[side] for pair in counts)))
        for at in range(BINS + 1)
        for side in (0, 1)
    )
    marks = [("lower", one.cutoffs.lower)]
    marks += [("upper", one.upper)] if one.upper is not None else []
    lines = "".join(_mark(name, cut) for name, cut in marks)
    ticks = "".join(
        f'<text x="{_x(at):.1f}" y="{_HIGH + 14}">{at / BINS:.1f}</text>'
        for at in range(0, BINS + 1, 4)
    )
    label = f"Scores of same and different pairs of {_text(one.type)}"
    return (
        f'<svg viewBox="0 0 {_WIDE} {_HIGH + 22}" role="img" aria-label="{label}">\n{bars}{lines}'
        f'{ticks}<text x="{_EDGE}" y="10" class="same">same pairs</text>'
        f'<text x="{_EDGE + 80}" y="10" class="different">different pairs</text>'
        f"<text x='{_EDGE + 180}' y='10'>(each to its own greatest column)</text></svg>\n"
    )


def _bar(at: int, side: int, count: int, most: int) -> str:
    if not count:
        return ""
    high = max(1.0, (_HIGH - 30) * count / most)
    kind, half = ("same", "different")[side], _SLOT * 0.42
    return (
        f'<rect class="{kind}" x="{_x(at) + side * half:.1f}" y="{_HIGH - high:.1f}" '
        f'width="{half:.1f}" height="{high:.1f}"><title>{count} {kind}</title></rect>\n'
    )


def _mark(name: str, cut: Fraction) -> str:
    x = _x(float(cut * BINS))
    return (
        f'<line class="cutoff" x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="{_HIGH}"/>'
        f'<text x="{x:.1f}" y="22">{name} {cut}</text>\n'
    )


def _x(at: float) -> float:
    return _EDGE + at * _SLOT


# the tables


def _confusion(one: Measurement) -> str:
    upper = tally(one.scored, one.cutoffs.upper)
    kept = tally(one.scored, one.cutoffs.lower)
    rows = [
        ("same", upper.true, kept.true - upper.true, kept.same - kept.true),
        ("different", upper.false, kept.false - upper.false, kept.different - kept.false),
    ]
    shown = [(name, *map(str, counts)) for name, *counts in rows]
    shown.append(("precision", percent(upper.precision), "", _missed(kept)))
    return _rows("What becomes of the labelled pairs", ("", "match", "review", "non-match"), shown)


def _missed(kept: Tally) -> str:
    share = Fraction(kept.same - kept.true, kept.same) if kept.same else None
    return f"{percent(share)} of same pairs"


def _near(scored: Iterable[Scored], cut: Fraction, name: str) -> str:
    """Return the pairs nearest to a cutoff, on either side of it."""
    nearest = sorted(scored, key=lambda s: (abs(s.score - cut), s.pair))[:NEAREST]
    body = "".join(
        f"<tr><td>{each.score}</td><td>{_text(each.pair.a)}</td><td>{_text(each.pair.b)}</td>"
        f"<td{_class(each, cut)}>{'same' if each.pair.same else 'different'}</td>"
        f"<td>{_text(each.pair.source)}</td></tr>\n"
        for each in sorted(nearest, key=lambda s: (-s.score, s.pair))
    )
    return _table(f"Nearest to {name} {cut}", ("score", "a", "b", "label", "source"), body)


def _class(each: Scored, cut: Fraction) -> str:
    return ' class="wrong"' if each.pair.same != (each.score >= cut) else ""


def _rows(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    return _table(caption, head, body)


def _table(caption: str, head: Iterable[str], body: str) -> str:
    titles = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    return (
        f"<table>\n<caption>{_text(caption)}</caption>\n<thead><tr>{titles}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>\n"
    )


def _text(text: str) -> str:
    return escape(one_line(text))
