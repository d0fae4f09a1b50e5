"""Stepscope: how long a GPU training step really takes, where the rest goes, and on which line of your code.

    import stepscope
    trace = stepscope.load("trace.pt.trace.json.gz")
    print(trace.report())

Importing this package imports neither torch, CUDA nor numpy; what needs them says so when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import fleet as fleet
    from . import memory as memory
    from . import torch as torch
    from ._trace import Report as Report
    from ._trace import Run as Run
    from ._trace import Table as Table
    from ._trace import Trace as Trace
    from ._trace import load as load
    from ._core import TraceError as TraceError
    from ._core import __version__ as __version__
    from ._efficiency import (
        StepMemory as StepMemory,
        hfu as hfu,
        max_memory_allocated as max_memory_allocated,
        max_memory_reserved as max_memory_reserved,
        memory_allocated as memory_allocated,
        memory_reserved as memory_reserved,
        memory_summary as memory_summary,
        mfu as mfu,
        peak_flops as peak_flops,
        peak_memory_per_step as peak_memory_per_step,
        reset_peak_memory_stats as reset_peak_memory_stats,
    )
    from ._steps import StepTimes as StepTimes, profile_steps as profile_steps, steps as steps, time_steps as time_steps
    from ._timer import Measurement as Measurement, Timer as Timer, compare as compare


# Attribute -> module that has it, imported at the first use: the import of the package stays under a few milliseconds.
_HOMES = {
    "Report": "._trace",
    "Run": "._trace",
    "Table": "._trace",
    "Trace": "._trace",
    "load": "._trace",
    "TraceError": "._core",
    "__version__": "._core",
    "Measurement": "._timer",
    "Timer": "._timer",
    "compare": "._timer",
    "StepTimes": "._steps",
    "profile_steps": "._steps",
    "steps": "._steps",
    "time_steps": "._steps",
    "StepMemory": "._efficiency",
    "hfu": "._efficiency",
    "max_memory_allocated": "._efficiency",
    "max_memory_reserved": "._efficiency",
    "memory_allocated": "._efficiency",
    "memory_reserved": "._efficiency",
    "memory_summary": "._efficiency",
    "mfu": "._efficiency",
    "peak_flops": "._efficiency",
    "peak_memory_per_step": "._efficiency",
    "reset_peak_memory_stats": "._efficiency",
}

# Found as attributes too, so that `stepscope.fleet.report(...)` needs no import of its own. Not in __all__: `torch` would hide
# PyTorch behind a star.
_SUBMODULES = {"fleet", "memory", "torch"}

__all__ = [
    "Measurement",
    "Report",
    "Run",
    "StepMemory",
    "StepTimes",
    "Table",
    "Timer",
    "Trace",
    "TraceError",
    "__version__",
    "compare",
    "hfu",
    "load",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "mfu",
    "peak_flops",
    "peak_memory_per_step",
    "profile_steps",
    "reset_peak_memory_stats",
    "steps",
    "time_steps",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES) | _SUBMODULES)
