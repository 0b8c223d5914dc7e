"""The commit message of a write: what changed in words, and the trailers that git can query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kg.graph.recorded import Recorded, Stated
from kg.model import value_text
from kg.text import one_line

Trailer = tuple[str, str]  # a name and its value
MAX_DECISIONS = 100  # told in one message; the links themselves say the same of theirs
MAX_SUBJECT = 72  # what `git log --oneline` shows on a terminal, by custom


def commit_message(
    subject: str,
    *,
    run: str,
    agent: str,
    op: str,
    recorded: Sequence[Recorded] = (),
    session: str = "",
    more: Sequence[Trailer] = (),
) -> str:
    """Return subject and trailers.

    `Run`, `Agent`, `Op`, `Session`, `Decision` (of mentions that the bands decided),
    `Contradiction`, and `more`.
    """
    trailers = [("Run", run), ("Agent", agent), ("Op", op)]
    if session:
        trailers.append(("Session", session))
    decided = [words for r in recorded for m in r.mentions if (words := m.in_words())]
    trailers += [("Decision", words) for words in decided[:MAX_DECISIONS]]
    if len(decided) > MAX_DECISIONS:
        trailers.append(("Decision", f"and {len(decided) - MAX_DECISIONS} more"))
    against = {f"{s.id} {s.k}" for r in recorded for s in r.contradictions}
    trailers += [("Contradiction", one) for one in sorted(against)]
    trailers += more
    shown = _cut(one_line(subject or _in_words(recorded)))
    return shown + "\n\n" + "".join(f"{name}: {one_line(v)}\n" for name, v in trailers)


def _in_words(recorded: Sequence[Recorded]) -> str:
    news = [s for r in recorded for s in (*r.facts, *r.edges) if s.outcome == "new"]
    traces = sum(outcome == "new" for r in recorded for _, outcome in r.tried)
    done = [f"Rename {s.id} to {value_text(s.v)}" for r in recorded for s in r.renamed]
    done += [f"Judge {j.one} and {j.other} {j.verdict}" for r in recorded for j in r.judged]
    done += [f"Retract {_one(s)}" for r in recorded for s in r.retracted]
    done += [_amended(s) for r in recorded for s in r.amended if s.outcome != "known"]
    if done:
        return done[0] + (f" and {len(done) - 1} more" if len(done) > 1 else "")
    if len(news) == 1 and not traces:
        return _one(news[0])
    parts = [_count(len(news), "fact"), _count(traces, "trace")]
    about = _about(s.id for s in news) if news else ""
    said = " and ".join(part for part in parts if part)
    if said:
        return f"Remember {said}{about}"
    again = sum(s.outcome == "seen again" for r in recorded for s in (*r.facts, *r.edges))
    if again:
        return f"See {_count(again, 'fact')} again"
    made = [m.id for r in recorded for m in r.mentions]
    return f"Meet{_about(made).removeprefix(' about')}" if made else "Capture what was seen"


def _amended(stated: Stated) -> str:
    verb = {"confirmed": "Confirm", "archived": "Archive", "restored": "Restore"}[stated.outcome]
    return f"{verb} {_one(stated) if stated.k else stated.id}"


def _one(stated: Stated) -> str:
    slug = stated.id.partition("/")[2]
    return f"{slug}: {stated.k} = {value_text(stated.v)}"


def _about(ids: Iterable[str]) -> str:
    counted = [id_.partition("/")[2] for id_, _ in Counter(ids).most_common()]
    more = f" and {len(counted) - 2} more" if len(counted) > 2 else ""
    return f" about {', '.join(counted[:2])}{more}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def _cut(subject: str) -> str:
    return subject if len(subject) <= MAX_SUBJECT else subject[: MAX_SUBJECT - 3] + "..."
