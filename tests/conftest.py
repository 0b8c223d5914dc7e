"""Every test runs in a scrubbed environment with a HOME of its own: nothing real is touched."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kg.cli.app import AGENTS

_HOME = tempfile.mkdtemp(prefix="kg-test-home-")

# Before anything imports pygit2, which reads HOME once.
for _name in [n for n in os.environ if n.startswith(("GIT_", "KG_", "XDG_")) or n in AGENTS]:
    del os.environ[_name]
os.environ["HOME"] = _HOME
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
os.environ["NO_COLOR"] = "1"

settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "deep", settings.get_profile("default"), max_examples=2000, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """Write the git identity of the tests, and check that it is the one git sees."""
    Path(_HOME, ".gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = person@example.invalid\n"
        "[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n",
        encoding="utf-8",
    )
    import pygit2

    pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = _HOME
    assert pygit2.Config.get_global_config()["user.name"] == "Test Person"


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test in an empty folder, so that no store is found by accident."""
    monkeypatch.chdir(tmp_path)
