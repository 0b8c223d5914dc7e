"""What the command line of recall asks for.

On the hot path: imports nothing but the errors, since argparse costs more than an answer.
"""

from __future__ import annotations

from kg.errors import KgError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 10
BUDGET = 4000  # tokens of an answer in text; clients refuse what is over 25,000 (PEERS.md, 3)
FORMATS = ("text", "json", "md")

HELP = """\
usage: kg recall [-C DIR] [options] [--] QUERY...
       kg recall [-C DIR] [options] --queries FILE

Prints what is known about QUERY, with the source of each fact: the entities called so or
with it in their id, name or alias; else those of which its words are said, best first. Any
text is a query: a name, an id, a part of one, a question, an error message. No model, no
network; the answer is what the commit at HEAD says.

what to look in
  --raw            the texts that runs saw (raw/) instead of what is known
  --with-raw       both, in one list
  --type TYPE      only entities of this type (Object, object/)
  --tag TAG        only entities with this tag
  --kind KIND      only entities with a fact of this kind (decision, preference, ...)
  --about ID       only this entity and its neighbours; with --raw the texts that name them
  --archived       archived entities too
  --at MOMENT      what was known then: a commit, a date or time, or a run
  --hops N         how far from what matches an answer may lie, along edges (1; 0 to 3)

what to print
  --limit N        at most N entities or lines (10)
  --budget TOKENS  at most so much text, at 3 bytes a token (4000; 0 for all), whole entities
  --format FORMAT  text, json (one object, {"kg.recall/v1": ...}) or md
  --json           the same as --format json
  --age            how old each fact is, in runs and in days
  --explain        what each part of a score is
  --group file     with --raw: whole texts instead of lines

  --queries FILE   many queries, one a line (text, or JSON with "query" and "id"); - reads
                   standard input. Answers are JSON, one line each, in order
  --meant ID       tell that QUERY meant this entity, instead: see kg recall --meant ID --help
  -C DIR           the store, or where to begin looking for it
  --               what follows is the query, whatever it looks like

exit: 0 found, 1 nothing known, 2 usage, 3 failed
"""


class UsageError(KgError):
    """The command line is wrong; the message says what to write."""


class Options:
    """What the command line asks for; each member is named as its option."""

    __slots__ = (
        "C", "about", "age", "archived", "at", "budget", "explain", "format", "group", "help",
        "hops", "json", "kind", "limit", "queries", "query", "raw", "tag", "type", "with_raw",
    )  # fmt: skip

    def __init__(self, argv: Sequence[str]) -> None:
        """Read `argv`, without the program's name.

        Raises:
            UsageError: it is not what `HELP` says.
        """
        self.raw = self.with_raw = self.archived = self.json = False
        self.age = self.explain = self.help = False
        self.C = self.type = self.tag = self.kind = self.about = self.group = self.queries = ""
        self.at = ""
        self.format = "text"
        self.limit, self.hops, self.budget = LIMIT, 1, -1
        words = self._read(list(argv))
        self.query = " ".join(words)
        self._check(asked=bool(words))

    @classmethod
    def of(cls, query: str, **said: object) -> Options:
        """Return the options for a query; `said` names members, the others are as by default.

        Unless it is said there is no budget.

        Raises:
            UsageError: a value is not what `HELP` says.
            AttributeError: there is no such option.
        """
        options = cls(["--", query])
        options.budget = 0
        for name, value in said.items():
            setattr(options, name, value)
        options._check(asked=True)
        return options

    def _read(self, rest: list[str]) -> list[str]:
        """Take the options out of the command line and return the rest of it."""
        words: list[str] = []
        while rest:
            word = rest.pop(0)
            if word == "--":
                return words + rest
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            if word == "-h":
                self.help = True
            elif word[:2] == "-C":
                self.C = word[2:] or _value(word, rest)
            elif word[:1] != "-" or len(word) == 1:
                words.append(word)
            elif word[:2] != "--" or name not in self.__slots__ or name in ("C", "query"):
                raise UsageError(f"recall has no option {word}: see --help, or put -- before it")
            elif isinstance(getattr(self, name), bool):
                setattr(self, name, True)
            else:
                value = value if equals else _value(word, rest)
                numeric = isinstance(getattr(self, name), int)
                setattr(self, name, _number(name, value) if numeric else value)
        return words

    def _check(self, *, asked: bool) -> None:
        if self.json:
            self.format = "json"
        if self.budget < 0:
            self.budget = 0 if self.format == "json" else BUDGET
        if self.format not in FORMATS:
            raise UsageError(f"--format takes text, json or md: not {self.format}")
        self._check_texts()
        if self.hops > 3:
            raise UsageError("--hops takes 0 to 3")
        if self.queries and asked:
            raise UsageError("--queries takes the place of a query: write one or the other")
        if not (asked or self.queries or self.help):
            raise UsageError("nothing to look for: write kg recall QUERY")

    def _check_texts(self) -> None:
        """Refuse what does not go with texts, or only with them."""
        if self.group not in ("", "file"):
            raise UsageError(f"--group takes file: not {self.group}")
        if self.group and not (self.raw or self.with_raw):
            raise UsageError("--group is about texts: add --raw")
        named = [name for name in ("type", "tag", "kind", "age") if getattr(self, name)]
        if named and self.raw and not self.with_raw:
            raise UsageError(f"--{named[0]} is about entities: leave out --raw, or add --with-raw")
        if self.at and (self.raw or self.with_raw or self.queries):
            raise UsageError("--at is about what is known: leave out --raw and --queries")


def _value(option: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{option} takes a value: see --help")
    return rest.pop(0)


def _number(name: str, text: str) -> int:
    least = 1 if name == "limit" else 0
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise UsageError(f"--{name} takes a number from {least}: not {text}")
    return int(text)
