"""How near to the hardware: model FLOPs utilization, and what the process uses of the device's memory.

Definitions and sources: include/stepscope/efficiency.h and memory_stats.h of the project.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from . import _core

T = TypeVar("T")


def mfu(
    params: float,
    layers: float,
    d_model: float,
    context: float,
    tokens_per_step: float,
    step_s: float,
    gpus: float,
    peak_flops: float,
) -> float:
    """Model FLOPs utilization (PaLM's formula), 0 to 1: 6 N + 12 L d c FLOPs a token against the GPUs' peak.

    `peak_flops`: FLOP/s of one GPU, dense, for the data type used; `peak_flops(name)` knows the common ones. Leave the
    attention out with layers = 0. Raises ValueError for a value of 100 % or more, which is an error in the data.

    >>> round(mfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12), 4)
    0.1475
    """
    return _core.mfu(params, layers, d_model, context, tokens_per_step, step_s, gpus, peak_flops)


def hfu(
    params: float,
    layers: float,
    d_model: float,
    context: float,
    tokens_per_step: float,
    step_s: float,
    gpus: float,
    peak_flops: float,
    recomputed_flops: float,
) -> float:
    """Hardware FLOPs utilization: `mfu` with `recomputed_flops` a step (activation checkpointing) added."""
    return _core.hfu(params, layers, d_model, context, tokens_per_step, step_s, gpus, peak_flops, recomputed_flops)


def peak_flops(device_name: str, dtype: str = "bf16") -> float | None:
    """Dense FLOP/s of a GPU by the driver's name ("NVIDIA H200", torch.cuda.get_device_name()), from its maker's sheet.

    None for one that is not known, never a guess, since boards of one chip differ. A warning names what may have been meant.
    """
    found = _core.peak_flops(device_name, dtype)
    if found is not None:
        return found
    if dtypes := _core.known_dtypes(device_name):
        warnings.warn(f"no peak of {device_name} for {dtype!r}; there are: {', '.join(dtypes)}", stacklevel=2)
    elif near := _core.similar_devices(device_name):
        warnings.warn(f"no GPU {device_name!r} in the table; near: {', '.join(near)}", stacklevel=2)
    return None


def _torch_cuda() -> Any:
    """torch.cuda where this process uses it, else None: asking must not start CUDA."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return torch.cuda


def _ask(name: str, device: int | None) -> int | None:
    cuda = _torch_cuda()
    if cuda is not None:
        return int(getattr(cuda, name)(device))
    known: int | None = getattr(_core, name)(-1 if device is None else device)
    return known


def memory_allocated(device: int | None = None) -> int | None:
    """Bytes in live tensors (torch's allocator where torch is used); None where nobody knows, never 0 for that."""
    return _ask("memory_allocated", device)


def max_memory_allocated(device: int | None = None) -> int | None:
    """The most since the start or the last reset_peak_memory_stats."""
    return _ask("max_memory_allocated", device)


def memory_reserved(device: int | None = None) -> int | None:
    """Bytes that the allocator holds from the device."""
    return _ask("memory_reserved", device)


def max_memory_reserved(device: int | None = None) -> int | None:
    """The most since the start or the last reset_peak_memory_stats."""
    return _ask("max_memory_reserved", device)


def reset_peak_memory_stats(device: int | None = None) -> None:
    """Peaks count from now on."""
    cuda = _torch_cuda()
    if cuda is not None:
        cuda.reset_peak_memory_stats(device)
    else:
        _core.reset_peak_memory_stats(-1 if device is None else device)


def memory_summary(device: int | None = None) -> str:
    """Who holds how much of the device, as text; torch's own where torch is used."""
    cuda = _torch_cuda()
    if cuda is not None:
        return str(cuda.memory_summary(device))
    return _core.memory_summary(-1 if device is None else device)


@dataclass(frozen=True)
class StepMemory:
    """Peaks of one step in bytes; None where nobody knows."""

    step: int
    allocated_peak_bytes: int | None
    reserved_peak_bytes: int | None
    allocated_end_bytes: int | None


def peak_memory_per_step(
    train_step: Callable[[T], object], batches: Iterable[T], snapshot: str | None = None
) -> list[StepMemory]:
    """Runs `train_step` on each of `batches` and gives each step's peak; peaks are reset before each.

    `snapshot`: a path for torch's memory snapshot of the step with the highest peak so far, with the history of that
    step (read it with `stepscope memory`); needs CUDA.
    """
    cuda = _torch_cuda()
    if snapshot is not None and cuda is None:
        raise RuntimeError("snapshot: needs torch with CUDA in use in this process")
    peaks: list[StepMemory] = []
    highest = -1
    for number, batch in enumerate(batches):
        if cuda is not None or _core.memory_allocated(-1) is not None:
            reset_peak_memory_stats()
        if snapshot is not None:
            cuda.memory._record_memory_history(max_entries=200_000)
        try:
            train_step(batch)
            if cuda is not None:
                cuda.synchronize()
            found = StepMemory(number, max_memory_allocated(), max_memory_reserved(), memory_allocated())
            peaks.append(found)
            if snapshot is not None and (found.allocated_peak_bytes or 0) > highest:
                highest = found.allocated_peak_bytes or 0
                cuda.memory._dump_snapshot(snapshot)
        finally:
            if snapshot is not None:  # where the step failed too: a history goes on costing time and memory
                cuda.memory._record_memory_history(enabled=None)
    return peaks
