"""kg: memory for coding agents that is nothing but files in git.

`import kg` costs nothing: every public name is imported on first use (PEP 562).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kg.errors import KgError
    from kg.graph import Graph
    from kg.model import Edge, Entity, Fact

__version__ = "0.1.0"
__all__ = ["Edge", "Entity", "Fact", "Graph", "KgError", "__version__"]

_HOME = {
    "Edge": "kg.model",
    "Entity": "kg.model",
    "Fact": "kg.model",
    "Graph": "kg.graph",
    "KgError": "kg.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'kg' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
