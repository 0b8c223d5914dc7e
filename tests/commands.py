"""Running kg's commands in tests: in this process, as a user would type them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from kg.cli.app import main


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self, name: str) -> Any:  # noqa: ANN401
        """Return the value under the answer's versioned key."""
        return json.loads(self.out)[f"kg.{name}/v1"]


class Kg:
    """The commands, run in the current folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str) -> Ran:
        """Run `kg ARGS`."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(args)
        out, err = self._capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, out, err)

    def ok(self, *args: str) -> str:
        """Run `kg ARGS`, which must succeed, and return what it prints."""
        ran = self(*args)
        assert ran.code == 0, ran.err
        return ran.out
