"""Stepscope: how long a GPU training step really takes, where the rest goes, and on which line of your code.

    import stepscope
    trace = stepscope.load("trace.pt.trace.json.gz")
    print(trace.report())

Importing this package imports neither torch, CUDA nor numpy; what needs them says so when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._trace import Report as Report
    from ._trace import Run as Run
    from ._trace import Table as Table
    from ._trace import Trace as Trace
    from ._trace import load as load
    from ._core import TraceError as TraceError

__all__ = ["Report", "Run", "Table", "Trace", "TraceError", "__version__", "load"]

# Attribute -> module that has it, imported at the first use: the import of the package stays under a few milliseconds.
_HOMES = {
    "Report": "._trace",
    "Run": "._trace",
    "Table": "._trace",
    "Trace": "._trace",
    "load": "._trace",
    "TraceError": "._core",
    "__version__": "._core",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))
