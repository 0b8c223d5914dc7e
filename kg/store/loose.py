"""Loose objects that are cut short: libgit2 reads them for ever, so they are looked at before.

Measured with libgit2 1.9: a loose object truncated after its header never returns. git itself
says that it is corrupt.
"""

from __future__ import annotations

import zlib

from kg.errors import StoreError


class Loose:
    """The loose objects of a repository; each is looked at once."""

    def __init__(self, commondir: str) -> None:
        self._folder = f"{commondir}/objects"
        self._sound: set[str] = set()

    def check(self, id_: str) -> None:
        """Refuse an object whose file is cut short or damaged; a packed one has no file.

        Raises:
            StoreError: it is; says where it may be had again.
        """
        if id_ in self._sound:
            return
        try:
            with open(f"{self._folder}/{id_[:2]}/{id_[2:]}", "rb") as file:
                stream = zlib.decompressobj()
                stream.decompress(file.read())
        except FileNotFoundError:
            pass
        except (OSError, zlib.error):
            raise _damaged(id_) from None
        else:
            if not stream.eof:
                raise _damaged(id_)
        self._sound.add(id_)


def is_object_name(text: str) -> bool:
    """Whether a text is an object's whole name."""
    return len(text) == 40 and not text.strip("0123456789abcdef")


def _damaged(id_: str) -> StoreError:
    return StoreError(
        f"the object {id_[:12]} is damaged: remove its file and fetch it from a clone or a backup, "
        "git fsck names all of them"
    )


def unreadable_head(commit: str) -> StoreError:
    """Return the error for a HEAD whose commit is not there."""
    return StoreError(
        f"the commit at HEAD, {commit[:12]}, cannot be read: git fsck says what is damaged; git "
        "index-pack makes a pack's index anew, a clone or a backup has the rest"
    )
