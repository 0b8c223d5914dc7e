"""A name as scorers compare it: folded, cut into tokens, with what in it is not mere wording.

Numbers, versions and single letters tell things apart that are otherwise called the same
(`Fund IX`, `Fund VIII`); which words are mere wording depends on the type. What each rule is
worth on labelled names stands in scripts/bench/resolve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from kg.resolve.names import in_ascii

# The seed's words and the five more that measurement supports; a longer list makes Deutsche
# Bank AG one with Deutsche Bank GmbH (RESOLUTION.md, 5d).
LEGAL = {
    "inc": "inc", "incorporated": "inc", "corp": "corp", "corporation": "corp",
    "co": "co", "company": "co", "ltd": "ltd", "limited": "ltd", "llc": "llc", "plc": "plc",
}  # fmt: skip
# Words that say where software is published, not what it is; those of one group are one word.
ECOSYSTEMS = {
    word: group
    for group, words in {
        "python": "py python python2 python3", "node": "js node nodejs npm",
        "go": "go golang", "ruby": "gem rb ruby", "rust": "crate rs rust", "perl": "perl",
        "php": "php", "java": "java", "haskell": "ghc haskell", "r": "cran r",
        "emacs": "elpa emacs", "vim": "vim", "lua": "lua", "ocaml": "ocaml",
    }.items()
    for word in words.split()
}  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_WORD = re.compile(r"[a-z0-9]+")
_ANY = re.compile(r"[^\W_]")
_POSSESSIVE = re.compile(r"(?<=\w)['`\u2019](?=\w)")
_INITIALS = re.compile(r"\b([a-z])\.(?=[a-z]\b)")  # L.L.C.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"")  # a nickname, an office
_SHARP = re.compile(r"(?<=[a-z])#(?![a-z0-9])")  # C#, and not PR #260
# Han: one sound is written with many characters, so that its letters do not say which.
_HAN = re.compile("[\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_DIGITS = re.compile(r"[0-9]+")
_ROMANS = "ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN = {
    roman: str(number)
    for number, roman in enumerate(_ROMANS.split(), start=2)
    if len(roman) > 1  # a single letter is a letter
}
_SON_OF = frozenset({"bin", "ibn", "ben", "bint", "binti"})  # then the order says who is whose


class Form(NamedTuple):
    """One reading of a name; a name with an umlaut has two.

    `squash` is the name without what separates its words; `hard` what must not differ; `keys`
    are what names that share no token may be found and matched by; `han` are the characters
    whose reading many others share; `twice` that it is one word again and again (Baden-Baden),
    unless as a repository called like its owner (fzf/fzf).
    """

    words: tuple[str, ...]
    tokens: frozenset[str]
    squash: str
    hard: frozenset[str]
    keys: frozenset[str]
    han: str = ""
    twice: bool = False

    @property
    def letters(self) -> frozenset[str]:
        """The single letters among what must not differ."""
        return frozenset(word for word in self.hard if len(word) == 1 and word.isalpha())


@lru_cache(maxsize=200_000)
def forms(name: str, type_name: str) -> tuple[Form, ...]:
    """Return the readings of a name of that type, at least one; tokens may be empty."""
    if type_name == "Person":
        name = _without_asides(name)
    spelt = normalize("NFKC", name)
    readings = dict.fromkeys((spelt, spelt.lower().translate(_UMLAUTS)))
    made = (_form(reading, type_name) for reading in readings)
    return tuple(dict.fromkeys(made))


def fold(text: str, type_name: str) -> str:
    """Return text in the letters a to z, as every script is written in them by anyascii."""
    plain = _POSSESSIVE.sub("", in_ascii(text).lower()).replace("&", " and ")
    plain = _SHARP.sub("sharp", plain.replace("++", "plusplus"))  # C, C++ and C# are three
    return plain if type_name == "Object" else _INITIALS.sub(r"\1", plain)


def ecosystem(words: tuple[str, ...]) -> frozenset[str]:
    """Return the ecosystems that a name of software speaks of."""
    return frozenset(ECOSYSTEMS[word] for word in words if word in ECOSYSTEMS)


def legal_forms(words: tuple[str, ...]) -> frozenset[str]:
    """Return the legal forms that a name of an organization says."""
    return frozenset(LEGAL[word] for word in words if word in LEGAL)


def bare_words(words: tuple[str, ...]) -> frozenset[str]:
    """Return the words of a name of software that do not speak of an ecosystem."""
    return frozenset(word for word in words if word not in ECOSYSTEMS)


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, in order."""
    return _DIGITS.findall(text)


def same_order_needed(words: tuple[str, ...]) -> bool:
    """Whether a person's name says whose child that is, so that its order matters."""
    return not _SON_OF.isdisjoint(words)


def _form(reading: str, type_name: str) -> Form:
    cut = _CAMEL.sub(" ", reading) if type_name == "Object" else reading
    words = tuple(_WORD.findall(fold(cut, type_name)))
    kept = tuple(_meant(words, type_name)) or words
    squash = "".join(kept)
    hard, keys = _hard(kept, type_name), _keys(squash, words, type_name)
    twice = len(kept) > len(set(kept)) == 1 and "/" not in reading
    han = "".join(_HAN.findall(reading))
    return Form(words, frozenset(kept), squash, hard, keys, han, twice)


def _meant(words: tuple[str, ...], type_name: str) -> Iterator[str]:
    """Yield the words that name the thing, numbers in one spelling."""
    organization = type_name == "Organization"
    for at, word in enumerate(words):
        if organization and (word in LEGAL or word in ("the", "and")):
            continue
        if word == "the" and type_name != "Person":
            continue
        yield _ROMAN.get(word, word) if at else word


def _hard(words: tuple[str, ...], type_name: str) -> frozenset[str]:
    """Return the numbers, versions and single letters among the words."""
    found = {w for w in words if any(c.isdigit() for c in w)}
    if type_name == "Object":
        found = {w for w in found if w not in ECOSYSTEMS}
    if type_name != "Person":  # where a letter is an initial, which may be left out
        found |= {w for w in words if len(w) == 1}
    return frozenset(found)


def _keys(squash: str, words: tuple[str, ...], type_name: str) -> frozenset[str]:
    found = {squash} if squash else set()
    if type_name == "Person":
        found |= handles(words)
    if type_name == "Object" and ecosystem(words):
        found.add(_published(words))
    return frozenset(found)


def _published(words: tuple[str, ...]) -> str:
    """Return the key of software within its ecosystem, in whatever order it is written."""
    return f"{'+'.join(sorted(ecosystem(words)))}:{''.join(sorted(bare_words(words)))}"


def handles(words: tuple[str, ...]) -> frozenset[str]:
    """Return the handles that people of this name choose: jlherren, christinad, decchristina.

    Each form matched at most one different person in 4,000 labelled pairs; shorter ones, and
    the last name with the first initial, matched more.
    """
    if len(words) < 2:
        return frozenset()
    first, last = words[0], words[-1]
    initials = "".join(word[0] for word in words)
    found = {first + last, last + first, first[0] + last, initials[:-1] + last}
    found = {handle for handle in found if len(handle) >= 5}
    found |= {h for h in (first + initials[1:], first + last[0]) if len(h) >= 6}
    return frozenset(found)


def _without_asides(name: str) -> str:
    plain = _ASIDE.sub(" ", name)
    return plain if _ANY.search(plain) else name
