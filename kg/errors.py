"""Every error kg raises on purpose, and the one root a caller catches.

    KgError
    ├── FormatError              a file breaks the format: path, pointer, problem
    │   └── FormatVersionError   written by a newer kg
    ├── NotFoundError            no such entity, fact, line, revision (LookupError)
    ├── RefusedError             the write breaks a rule; nothing was written (ValueError)
    │   ├── MissingSourceError   no source, or one that names no line
    │   ├── OntologyError        unknown or misused type, key or predicate
    │   ├── SecretError          text that holds a credential: lines and kinds, never the text
    │   └── AlreadyExistsError   creating never overwrites
    └── StoreError               git, the disk or the repository's state says no
        ├── NotARepositoryError  no store here
        ├── UnsupportedError     a repository or store kg cannot write, for good
        └── PassingError         the reason passes; worth keeping and trying again
            ├── BusyError        another program holds a lock
            ├── DirtyError       a person has edited the very path
            └── StateError       a merge, rebase or bisect is in progress, or HEAD is detached

Each message is one line and ends in what to do. This module knows no other.
"""

from __future__ import annotations


class KgError(Exception):
    """The root: catching it catches everything kg raises on purpose."""


class FormatError(KgError):
    """A file breaks the format; `path`, `pointer` and `problem` say where and how."""

    def __init__(self, path: str, problem: str, pointer: str = "") -> None:
        self.path, self.pointer, self.problem = path, pointer, problem
        where = f"{path} at {pointer}" if pointer else path
        super().__init__(f"{where}: {problem}")


class FormatVersionError(FormatError):
    """The store was written by a newer kg: it is read where possible, never written."""


class NotFoundError(KgError, LookupError):
    """Nothing of that name is in the store."""


class RefusedError(KgError, ValueError):
    """The write breaks a rule; nothing was written."""


class MissingSourceError(RefusedError):
    """A fact without a source, or with one that names no line of raw/."""


class OntologyError(RefusedError):
    """An unknown or misused type, key or predicate."""


class AlreadyExistsError(RefusedError):
    """Creating never overwrites what is there."""


class SecretError(RefusedError):
    """Text that holds a credential; `findings` are (line, kind), never the text itself."""

    def __init__(self, message: str, findings: tuple[tuple[int, str], ...] = ()) -> None:
        self.findings = findings
        super().__init__(message)


class StoreError(KgError):
    """git, the disk or the repository's state says no; nothing was written."""


class NotARepositoryError(StoreError, LookupError):
    """There is no store where one was looked for."""


class UnsupportedError(StoreError):
    """A repository or folder that kg cannot write, and waiting will not help."""


class PassingError(StoreError):
    """Refused for a reason that passes: the write may be kept and tried again."""


class BusyError(PassingError):
    """Another program holds a lock."""


class DirtyError(PassingError):
    """A person has edited the very path; `paths` are the ones in the way."""

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        self.paths = paths
        super().__init__(message)


class StateError(PassingError):
    """A merge, rebase or bisect is in progress, or HEAD is detached in a shared repository."""
