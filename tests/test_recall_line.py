"""recall's command line: -C as click takes it, and the environment's mistakes by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recall_store import Store, payments


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the example store, committed."""
    made = Store(tmp_path)
    payments(made)
    made.commit()
    return made


@pytest.mark.parametrize("script", [True, False])
def test_c_may_be_attached(store: Store, tmp_path: Path, script: bool) -> None:
    """-CDIR is -C DIR, on either side of the command, also without it."""
    want = store.recall("payments-api")
    verb = () if script else ("recall",)
    where = f"-C{store.folder}"
    for words in ((where, *verb), (*verb, where), ("-C", "/nowhere", where, *verb)):
        assert store.spawn(*words, "payments-api", at=tmp_path, script=script) == want


def test_unknown_variables_are_named(store: Store, tmp_path: Path) -> None:
    """A KG_* variable that means nothing is named in a line on stderr, store or not."""
    want = store.recall("payments-api")
    found = store.recall("payments-api", KG_STROE="/x", KG_RUN="r1", KG_AGENT="a", KGB="1")
    assert (found.out, found.code) == (want.out, want.code)
    assert found.err.splitlines() == [
        *want.err.splitlines(),
        "KG_STROE is not a variable kg knows (KG_STORE, KG_RUN, KG_AGENT): ignored",
    ]
    lost = store.recall("x", at=tmp_path / "home", KG_STROE="/x\n\x1b[31m")
    assert "KG_STROE" in lost.err.splitlines()[0]
    assert len(lost.err.splitlines()) == 2
    found = store.recall("--json", "payments-api", KG_STROE="/x")
    assert json.loads(found.out)["kg.recall/v1"]["warnings"] == []
