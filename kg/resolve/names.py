"""From a name to the slug of an id: the same on every machine, in every clone."""

from __future__ import annotations

import hashlib
import re
from unicodedata import normalize

from kg.model import DEVICES, MAX_SLUG

_APART = re.compile(r"[^a-z0-9._]+")
_RUNS = re.compile(r"[-._]{2,}")
_DIGITS = 6  # of the hash that tells two things of one slug apart


def slug_of(name: str) -> tuple[str, bool]:
    """Return (slug, whole) for a name; not `whole` where the name alone does not identify.

    NFKC, transliterated to ASCII by anyascii, lower case, anything else one `-`. A slug that
    comes out empty (`x`), too long (cut) or reserved is not whole and needs `suffixed`.
    """
    plain = in_ascii(normalize("NFKC", name)).lower()
    slug = _RUNS.sub("-", _APART.sub("-", plain)).strip("-._")
    if not slug:
        return "x", False
    if len(slug) > MAX_SLUG:
        return slug[: MAX_SLUG - _DIGITS - 1].strip("-._"), False
    return slug, slug.split(".")[0] not in DEVICES


def in_ascii(text: str) -> str:
    """Return text transliterated to ASCII."""
    if text.isascii():
        return text
    from anyascii import anyascii

    return anyascii(text)


def suffixed(slug: str, type_name: str, name: str, first_src: str) -> str:
    """Return the slug of a thing that needs telling apart: by type, name and first source.

    Every clone that records the same sighting derives the same slug.
    """
    told = "\0".join((type_name, normalize("NFC", name), first_src))
    digits = hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]
    stem = slug[: MAX_SLUG - _DIGITS - 1].strip("-._")
    if stem.split(".")[0] in DEVICES:
        stem = stem.replace(".", "-")
    return f"{stem}-{digits}"
