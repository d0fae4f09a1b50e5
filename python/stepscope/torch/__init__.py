"""torch.profiler's interface with Stepscope's capture behind it: change one import line.

    from stepscope.torch import profile, record_function, schedule, tensorboard_trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=3), on_trace_ready=tensorboard_trace_handler("log")) as prof:
        for batch in loader:
            train(batch)
            prof.step()
    print(prof.key_averages().table(sort_by="self_device_time_total", row_limit=10))
    print(prof.report())            # what torch.profiler has not: where the step goes and what to do

Names, arguments and results are those of torch.profiler (torch 2.13; see docs/python/pytorch.md for what differs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._schedule import ProfilerAction, schedule

if TYPE_CHECKING:
    from torch.profiler import DeviceType as DeviceType
    from torch.profiler import ExecutionTraceObserver as ExecutionTraceObserver
    from torch.profiler import ProfilerActivity as ProfilerActivity
    from torch.profiler import kineto_available as kineto_available
    from torch.profiler import record_function as record_function
    from torch.profiler import supported_activities as supported_activities

    from ._profile import profile as profile
    from ._profile import tensorboard_trace_handler as tensorboard_trace_handler

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

# torch's own, so that what other code does with them means the same to us.
_OF_TORCH = (
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerActivity",
    "kineto_available",
    "record_function",
    "supported_activities",
)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _OF_TORCH:
        value = getattr(import_module("torch.profiler"), name)
    elif name in ("profile", "tensorboard_trace_handler"):
        value = getattr(import_module("._profile", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
