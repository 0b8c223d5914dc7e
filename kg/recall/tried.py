"""`kg tried` on the command line: what was done before about an error, and how it ended.

It starts as recall does (`kg.recall.hot`), because it stands in the way of an agent whose
step has just failed. Standard input is read by the caller, since only the surface may.
"""

from __future__ import annotations

from kg.recall.asking import FOUND, NOTHING, found_by, say, told, warnings, write
from kg.recall.hot import from_index
from kg.recall.options import UsageError
from kg.recall.traces import OUTCOMES, find, is_known, shown
from kg.text import json_text, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from kg.place import Place
    from kg.recall.traces import Match

LIMIT = 5
MAX_INPUT = 64 << 20  # bytes; of these the index is asked for the end (`clues.MAX_TEXT`)
NAME = "kg.tried/v1"
_SHOWN = 400  # characters of one member of a trace as text; JSON has all
_QUOTED = 200

HELP = """\
usage: kg tried [-C DIR] [options] [--] ERROR...|-

Prints what was tried before when something failed like this, how it ended and why: the most
similar first. ERROR is an error message or the command line that failed; - reads standard
input, a whole log if need be. Numbers, paths, addresses, times and the like do not matter.

  kg tried "ModuleNotFoundError: No module named 'yaml'"
  make test 2>&1 | kg tried -

  --about ID          only what was tried on this entity
  --outcome OUTCOME   only failed, worked or inconclusive
  --limit N           at most N (5); the best cure (worked) is always among them
  --format FORMAT     text or json (one object, {"kg.tried/v1": ...})
  --json              the same as --format json
  -C DIR              the store, or where to begin looking for it
  --                  what follows is the error, whatever it looks like

The number before each is how alike the two messages are: the share of the words of one,
weighted by how rare and how telling they are, that stand in a line of the other (1.00 all;
below 0.50 nothing is shown).

exit: 0 found, 1 nothing like it, 2 usage, 3 failed
"""


class Asked:
    """What the command line asks for; each member is named as its option."""

    __slots__ = ("C", "about", "format", "help", "limit", "outcome", "text", "words")

    def __init__(self, argv: Sequence[str]) -> None:
        """Read `argv`, without the program's and the command's name.

        Raises:
            UsageError: it is not what `HELP` says.
        """
        self.C = self.about = self.outcome = ""
        self.format, self.limit, self.help = "text", LIMIT, False
        self.text = ""  # of the error, once it is read
        self.words: list[str] = []
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.words += rest
                break
            if word[:1] != "-" or word == "-":
                self.words.append(word)
            else:
                self._option(word, rest)
        if not self.words and not self.help:
            raise UsageError("nothing to look for: write kg tried ERROR, or kg tried - < LOG")

    def _option(self, word: str, rest: list[str]) -> None:
        name, equals, value = word[2:].partition("=")
        if word in ("-h", "--help"):
            self.help = True
        elif word == "--json":
            self.format = "json"
        elif word[:2] == "-C":
            self.C = word[2:] or _next(word, rest)
        elif word[:2] == "--" and name in ("about", "outcome", "limit", "format"):
            self._set(name, value if equals else _next(word, rest))
        else:
            raise UsageError(f"tried has no option {word}: see --help, or put -- before the error")

    def _set(self, name: str, value: str) -> None:
        if name == "limit":
            if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value)):
                raise UsageError(f"--limit takes a number from 1: not {value}")
            self.limit = int(value)
            return
        among = {"outcome": OUTCOMES, "format": ("text", "json")}.get(name)
        if among and value not in among:
            raise UsageError(f"--{name} takes {', '.join(among)}: not {value}")
        setattr(self, name, value)


def _next(option: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{option} takes a value: see --help")
    return rest.pop(0)


def main(
    argv: Sequence[str], environ: Mapping[str, str], cwd: str, stdin: Callable[[int], bytes]
) -> int:
    """Answer one command line on stdout and stderr; return the exit code.

    `stdin(n)` returns at most n bytes of standard input; it is called only for `-`.
    """
    return told(lambda: _main(argv, environ, cwd, stdin))


def _main(
    argv: Sequence[str], environ: Mapping[str, str], cwd: str, stdin: Callable[[int], bytes]
) -> int:
    asked = Asked(argv)
    if asked.help:
        write(HELP)
        return FOUND
    place = found_by(asked.C, environ, cwd)
    asked.text = _text(asked.words, stdin)
    return from_index(place, lambda con, head, notes: _print(con, place, asked, head, notes))


def _text(words: Sequence[str], stdin: Callable[[int], bytes]) -> str:
    """Return the error: what is no UTF-8 in it is no word either; UTF-16 where it says so."""
    if words != ["-"]:
        return " ".join(words)
    data = stdin(MAX_INPUT)
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return data.decode("utf-16" if utf16 else "utf-8", "replace")


def _print(con: Connection, place: Place, asked: Asked, head: str, notes: Sequence[str]) -> int:
    if asked.about and not is_known(con, asked.about):
        raise UsageError(f"--about takes an id, and no entity is {asked.about}: see kg ls")
    found = find(con, asked.text, about=asked.about, outcome=asked.outcome)
    first = shown(found, asked.limit)
    talk, more = [*notes, *warnings(con)], len(found) - len(first)
    if asked.format == "json":
        where = {"store": place.folder or place.gitdir, "head": head}
        answer = _json(asked, where, first, more, talk)
    else:
        answer = "\n".join(map(_block, first))
        answer += f"\n{more} more: use --limit N\n" if more else ""
    if not found:
        talk.append(_nothing(asked))
    for line in talk:
        say(line)
    write(answer)
    return FOUND if found else NOTHING


def _nothing(asked: Asked) -> str:
    """Return what to do where nothing was found."""
    if not asked.text.strip():
        return "the error is empty: pass what the failing step printed (2>&1 | kg tried -)"
    if asked.about or asked.outcome:
        return "nothing like it was tried with that: leave out --about and --outcome"
    quoted = " ".join(asked.text[:_QUOTED].split())
    return (
        f'nothing like it was tried: "{quoted}": once you know how it ends, '
        "record it (kg add tried --help)"
    )


def _block(match: Match) -> str:
    return "".join([one_line(line) + "\n" for line in _lines(match)])


def _lines(match: Match) -> Iterator[str]:
    get = match.members.get
    because = f": {_cut(get('because'))}" if get("because") else ""
    yield f"{match.similarity:.2f}  {_cut(get('tried'))} -> {get('outcome')}{because}"
    if get("error"):
        yield f"      error: {_cut(get('error'))}"
    if match.about:
        yield f"      about: {', '.join(match.about)}"
    yield f"      run: {get('run')}, agent {get('agent') or 'unknown'}"
    yield f"      {match.path}"
    yield f"      src: {get('src') or 'missing'}"


def _cut(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


def _json(
    asked: Asked, where: dict[str, str], first: list[Match], more: int, warned: list[str]
) -> str:
    """Return the answer as JSON, one line."""
    import json

    query = {"query": asked.text[:_QUOTED], "about": asked.about, "outcome": asked.outcome}
    traces = [_members(match) for match in first]
    found = {**query, **where, "traces": traces, "more": more, "warnings": warned}
    return json_text(json.dumps({NAME: found}, ensure_ascii=False)) + "\n"


def _members(match: Match) -> dict[str, object]:
    said = {name: value for name, value in match.members.items() if value}
    alike = {"similarity": round(match.similarity, 3), "matched": match.part}
    return {"path": match.path, **alike, "about": match.about, **said}
