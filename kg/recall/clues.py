"""What of an error message stays the same when the error happens again: its clues.

A clue is a word that tells what failed: an exception's class, an errno name, an error code, an
identifier, the base name of a file, a status such as 429, and the words of the message. What
differs from one time to the next is left out: numbers, addresses, times, durations, sizes,
UUIDs, hashes, temporary names, folders, lines and columns, ports, process ids. A value that is
quoted in the message may be either, so it is kept and counts half.

A clue is written as it stands; `#` before a number makes it a code, `'` before a word says
that it was quoted, and the word `@` begins a line that is a stack frame. Masked text holds the
clues of a line joined by spaces and the lines joined by line feeds: that is what the index keeps.

Imports nothing: `re` would cost the command as much as the interpreter's own start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FRAME = "@"
# Characters that make up a clue besides letters and digits: the index must not part words there.
WITHIN = "_.#-"
# Characters of a message that are read. Of a longer text an eighth from the start, where compilers
# name the first error, and the rest from the end, where a log stops.
MAX_TEXT = 512 << 10
MAX_KEPT = 20_000  # and of each part of a trace, for the index
_MAX_LINE = 2000  # characters; what is longer is no message but data, and is taken apart

# Words that say nothing of what failed.
_STOP = frozenset(
    """
    a about after again all also am an and another any are as at be because been before being but
    by did do does doing during each for from had has have here how if in into is it its just let
    me my no now of on one only or our out over please than that the their them then there these
    they this those to too up us use used using via was we were what when where which while who
    why will with would yes you your
    mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep sept oct nov dec utc gmt am pm
    ms sec secs min mins kb mb gb kib mib gib com org net io www http https pid ppid tid
    """.split()  # noqa: SIM905 - lines a reader takes in, not a hundred
)
# Words that stand in every second error message, whatever failed.
_COMMON = frozenset(
    """
    abort aborted aborting bad call called can cannot cause caused code column command could couldn
    critical debug didn doesn don err errno error errors exception exit exited fail failed failing
    failure failures fatal file files found get got info last line log main message missing more
    most new non not null object occurred operation process reason recent request return returned
    run running see severe stderr status step stdout task thread trace traceback true false try
    trying unable unexpected unknown value verbose warn warning warnings zero
    """.split()  # noqa: SIM905
)
# After these a number is a code that tells errors apart.
_CODED = frozenset(
    """
    code status errno exit exitcode exit_code status_code statuscode statusline signal error rc
    sqlstate http errorcode error_code returncode retcode oserror winerror
    """.split()  # noqa: SIM905
)
_STATUSES = frozenset(
    """
    400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 421 422 423 424 425
    426 428 429 431 451 500 501 502 503 504 505 507 508 511
    """.split()  # noqa: SIM905
)
_SUFFIXES = frozenset(
    """
    a bash bat c cc cfg class cjs cmake conf cpp crt cs csproj css csv dll env ex exs gem go
    gradle gz h hpp html ini ipynb jar java jl js json jsx key kt kts lock log lua m md mjs mk o
    pem php pl proto ps1 py pyc pyi pyx r rb rs scala scss sh so sock sql sqlite sum svg swift tar
    tf tgz toml ts tsx txt vue whl xml yaml yml zip
    """.split()  # noqa: SIM905
)
_TEMPORARY = frozenset(("tmp", "temp", "T", "folders", "scratch"))
_HEX = frozenset("0123456789abcdefABCDEF")
# Parts of words of which one stands in most lines that tell of an error.
_TELLING = (
    "error", "exception", "fail", "fatal", "panic", "denied", "refused", "cannot", "couldn",
    "abort", "timeout", "timed", "undefined", "undeclared", "unresolved", "invalid", "unable",
    "missing", "killed", "unexpected", "unknown", "unsupported", "not ", "no such", "too many",
    "conflict", "forbidden", "unauthorized", "exceeded", "overflow", "mismatch", "violat",
    "incompatible", "locked", "unreachable", "oomk", "reset", "rejected", "segv", "npm err",
    "required", "#",
)  # fmt: skip
SPEAKING = 12  # the last lines of a text, which speak for it whatever they say
_DIGITS = "0123456789"
_UUID = (8, 4, 4, 4, 12)
_QUOTES = dict.fromkeys(map(ord, '"`\u2018\u2019\u201c\u201d\u00ab\u00bb'), "'")
_APART = {c: " " for c in range(128) if not (chr(c).isalnum() or chr(c) in "_.-/\\:")}
_BREAKS = {ord(c): "\n" for c in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}


def masked(text: str) -> str:
    """Return the clues of a text: those of a line joined by spaces, the lines by line feeds."""
    return "\n".join(" ".join(line) for line in lines(text, MAX_KEPT))


def lines(text: str, most: int = MAX_TEXT) -> list[list[str]]:
    """Return the clues of each line that has any, no line twice, in order of the last.

    Of a text of more than `most` characters the begin and the end; of a text of many lines the
    last `SPEAKING`, and of the others those that tell of an error.
    """
    found: dict[tuple[str, ...], None] = {}
    known: dict[str, list[str]] = {}
    for line in dict.fromkeys(_lines(_read(text, most))):
        clues = tuple(_of_line(line, known))
        if clues and clues != (FRAME,):
            found.pop(clues, None)
            found[clues] = None
    kept = list(found)
    return [list(c) for c in kept[:-SPEAKING] if tells(c)] + [list(c) for c in kept[-SPEAKING:]]


def tells(clues: Sequence[str]) -> bool:
    """Whether a line looks as if it told of an error."""
    text = " ".join(clues).lower()
    return any(part in text for part in _TELLING)


def key(clue: str) -> str:
    """Return the form in which two clues are the same: without quotes and case."""
    word = clue.removeprefix("'")
    return word.lower() if word.isascii() else word  # others are folded already


def weight(clue: str) -> float:
    """Return how much a clue by itself tells one error from another: 0.15 to 2.

    A word counts 1; an identifier, a code and a file's name 2, because nobody writes them by
    chance; a word that stands in every error message 0.3; quoted ones half of it. The values
    are guesses that scripts/bench/tried.py has borne out.
    """
    word = clue.removeprefix("'")
    if word.lower() in _COMMON or word in ("#0", "#1", "#2"):
        found = 0.3
    else:
        found = 2.0 if _identifies(word) else 1.0
    return found / 2 if word != clue else found


def _identifies(word: str) -> bool:
    if any(c in WITHIN or c in _DIGITS for c in word):
        return True
    return (len(word) > 3 and word.isupper()) or not (word.islower() or word[1:].islower())


def _read(text: str, most: int) -> str:
    """Return what of a text is read, without the colours of a terminal."""
    if len(text) > most:
        text = text[: most // 8] + "\n" + text[most // 8 - most :]
    first, *coloured = text.split("\x1b[")
    return first + "".join(map(_uncoloured, coloured))


def _uncoloured(part: str) -> str:
    """Return a text that stood after ESC [ without the parameters and the letter (ECMA-48, 5.4)."""
    at = 0
    while at < len(part) and "\x20" <= part[at] <= "\x3f":
        at += 1
    return part[at + 1 :]


def _lines(text: str) -> Iterator[str]:
    for line in text.translate(_BREAKS).split("\n"):
        for at in range(0, len(line), _MAX_LINE):
            yield line[at : at + _MAX_LINE].strip()


def _of_line(line: str, known: dict[str, list[str]]) -> Iterator[str]:
    """Yield the clues of one line; `known` keeps those of each chunk between spaces."""
    if line.startswith(("at ", 'File "', "from /")) or (line[:1] == "#" and line[1:2].isdigit()):
        yield FRAME
    before = ""
    chunks = line.translate(_QUOTES).split()
    for chunk, after in zip(chunks, [*chunks[1:], ""], strict=False):
        if chunk.isascii() and chunk.isalpha():
            before = chunk.lower()
            if len(chunk) > 1 and before not in _STOP:
                yield chunk
            continue
        if any(c in _DIGITS for c in chunk):
            yield from _codes(chunk, before, after)
        if chunk not in known:
            known[chunk] = list(_of_chunk(chunk))
        yield from known[chunk]
        before = chunk.translate(_APART).replace(":", " ").strip(" .-").rpartition(" ")[2].lower()


def _codes(chunk: str, before: str, after: str) -> Iterator[str]:
    """Yield the numbers of a chunk that are codes: after "code" and its like, HTTP statuses."""
    previous = before
    for at, piece in enumerate(chunk.translate(_APART).replace(":", " ").split()):
        number = piece.strip(".-")
        if number.isdigit() and len(number) < 7:
            titled = at == 0 and (after[:1].isupper() or chunk[0] in "([")
            if previous in _CODED or (number in _STATUSES and titled):
                yield "#" + (number.lstrip("0") or "0")
        previous = piece.lower()
        if "/" in previous and previous.startswith("http"):
            previous = "http"  # HTTP/1.1 429


def _of_chunk(chunk: str) -> Iterator[str]:
    pieces = chunk.split("'")
    for at, piece in enumerate(pieces):
        # a single quote is an apostrophe, or the begin of a quotation of several words
        mark = "'" if at % 2 and len(pieces) > 2 else ""
        for atom in piece.translate(_APART).split():
            yield from (mark + clue for clue in _of_atom(atom) if len(clue) > 1)


def _of_atom(atom: str) -> Iterator[str]:
    if not atom.isascii():
        from kg.recall.words import words

        yield from (word for word in words(atom) if not word.isdigit())
        return
    atom = atom.replace("\\", "/")
    if atom[1:3] == ":/":
        atom = atom[2:]  # a drive
    for piece in atom.split(":"):
        if "/" in piece:
            yield from _of_path(piece)
        else:
            yield from _of_word(piece)


def _of_path(path: str) -> Iterator[str]:
    """Yield the base name of a path, the host of an address, the words of "and/or"."""
    parts = [part for part in path.split("/") if part.strip(".")]
    host = path.startswith("//")
    pair = path[:1] not in ("/", ".", "~") and len(parts) == 2 and "." not in parts[1]
    if parts and (host or pair):
        yield from _of_word(parts.pop(0))
    if parts:
        folders = parts[:-1]
        if _is_file(parts[-1]) or not any(f in _TEMPORARY or f[:3] == "tmp" for f in folders):
            yield from _of_word(parts[-1])


def _is_file(name: str) -> bool:
    return name.rpartition(".")[0] != "" and name.rpartition(".")[2].lower() in _SUFFIXES


def _of_word(word: str) -> Iterator[str]:
    """Yield the clues in what has no colon and no slash."""
    word = word.strip("._-")
    if _is_file(word):
        stem, _, suffix = word.rpartition(".")
        stem = _stable(_stable(stem, "-"), "_")
        if stem:
            yield f"{stem}.{suffix}"
    elif _is_code(word):
        yield word
    elif "." in word or "-" in word:
        yield from _of_parts([part for dotted in word.split(".") for part in dotted.split("-")])
    else:
        yield from _of_parts([word])


def _of_parts(parts: list[str]) -> Iterator[str]:
    for part in _without_uuids(parts):
        clue = _stable(part, "_")
        if clue.lower() not in _STOP:
            yield clue


def _without_uuids(parts: list[str]) -> list[str]:
    """Return the parts of a hyphenated word without the five of each UUID (RFC 9562)."""
    at = 0
    while at + 5 <= len(parts):
        five = parts[at : at + 5]
        if tuple(map(len, five)) == _UUID and all(_HEX.issuperset(part) for part in five):
            parts = parts[:at] + parts[at + 5 :]
        else:
            at += 1
    return parts


def _is_code(word: str) -> bool:
    """Whether a word is an error's number: E0382, TS2322, ORA-00942, SQLSTATE 42P01."""
    letters = word.rstrip(_DIGITS)
    digits = len(word) - len(letters)
    if digits < 2:
        return False
    if len(word) == 5 and word[0] in _DIGITS and word.isalnum() and word.isupper():
        return True
    letters = letters.removesuffix("-")
    return letters.isalpha() and letters.isupper() and len(letters) <= 8 and digits <= 6


def _stable(word: str, joint: str) -> str:
    """Return a name without the parts that are counted or drawn by lot."""
    if joint not in word:
        return _named(word)
    return joint.join(filter(None, map(_named, word.split(joint))))


def _named(part: str) -> str:
    """Return a part of a name without a number at its end, "" where it is no name but a value."""
    if part.isalpha():
        drawn = len(part) >= 5 and part.islower() and not any(c in "aeiouy" for c in part)
        hashed = len(part) >= 8 and _HEX.issuperset(part)
        return "" if drawn or hashed or len(part) > 60 else part
    if part[:1] in _DIGITS or (len(part) >= 7 and _HEX.issuperset(part)):
        return ""
    letters = part.rstrip(_DIGITS)
    if letters.isalpha():
        return letters if len(letters) > 1 else ""
    if any(c in ".-_" for c in part):
        return part
    return part if len(part) <= 4 else ""
