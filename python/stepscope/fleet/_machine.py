"""What this process may use: cores and memory, also inside of a container."""

from __future__ import annotations

import os


def core_count() -> int:
    """Cores that this process may run on, as the scheduler and the container's quota grant them; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit() and quota[1].isdigit() and int(quota[1]) > 0:
        count = min(count, max(1, int(quota[0]) // int(quota[1])))
    return max(1, count)


def available_memory_bytes() -> int | None:
    """Memory that can still be had without swapping, of the machine and of the container; None where unknown."""
    known = []
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            known.append(int(line.split()[1]) * 1024)
    most, used = _read("/sys/fs/cgroup/memory.max").strip(), _read("/sys/fs/cgroup/memory.current").strip()
    if most.isdigit() and used.isdigit():
        # What the kernel only caches for the container counts as used there, and can be had.
        known.append(max(0, int(most) - int(used) + _cached_bytes()))
    return min(known) if known else None


def _cached_bytes() -> int:
    for line in _read("/sys/fs/cgroup/memory.stat").splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
