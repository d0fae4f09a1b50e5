"""All ranks of a run together, read where they lie: on this machine, in an object store, on a Ray cluster.

    import stepscope.fleet
    report = stepscope.fleet.report("s3://bucket/run1/")
    print(report)

Each file becomes a summary (at most 256 KiB), summaries are merged, and the report follows from what was merged: nobody
ever holds two traces, and any tree of machines gives the same answer, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .. import _core
from . import _pool, _task
from ._files import PathLike, Source, StoreError, What, expand, is_url, names_here, read_whole, redact
from ._progress import Listener, Meter, Progress
from ._report import FleetReport
from ._ray import RayUnavailable
from ._task import Asked

__all__ = ["FleetReport", "Progress", "RayUnavailable", "StoreError", "load", "merge", "report", "summarize"]

Engine = Literal["local", "ray"]

# No summary of a run that fits a machine is larger; a file that is, is no summary.
_MOST_SUMMARY_BYTES = 16 << 30


def report(
    what: What,
    *,
    engine: Engine = "local",
    address: str | None = None,
    jobs: int | None = None,
    memory_bytes: int | None = None,
    per_node: bool = False,
    tries: int = 3,
    steps: str = "",
    device: int | None = None,
    peak_flops: float | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: bool | Listener = True,
) -> FleetReport:
    """Reads every rank of a run and looks at them together.

    `what`: a file, a folder (with the folders in it), a pattern, a URL of any of these, or a list. Traces, captures and
    summaries (`.sss`) may stand side by side. URLs are read through fsspec (s3://, gs://, https://, ...), streamed, never
    whole in memory; `storage_options` go to it, and are never printed.

    `engine`: "local" reads with a process a core, `jobs` of them, within `memory_bytes` (70 % of what can be had where
    None); "ray" on the cluster at `address` (the one that is connected, RAY_ADDRESS, or one on this machine where None),
    `jobs` files at a time. `per_node`: the files lie on each node's own disk (Ray only).

    `tries`: how often one place of a file may fail to be read, and how often a file may take its reader down, before it
    counts as unreadable. `steps`, `device`, `peak_flops`: as for `Trace.report`. `progress`: True shows a bar (tqdm) or a
    line on a terminal; a function is called with a `Progress`.

    A file that cannot be read is told in the report and stops nothing. Raises FileNotFoundError where there is no file
    at all, StoreError where a store cannot be listed, RayUnavailable where Ray is missing or its cluster unusable,
    ValueError where an argument is none, or asks for a span or device that a file does not have.
    """
    if engine not in ("local", "ray"):
        raise ValueError("engine: local or ray")
    for name, number in (("jobs", jobs), ("tries", tries), ("memory_bytes", memory_bytes)):
        if number is not None and number < 1:
            raise ValueError(f"{name}: at least 1")
    if engine == "local" and (per_node or address is not None):
        raise ValueError("address and per_node need engine='ray'")
    asked = Asked(steps, device, peak_flops, tries, dict(storage_options or {}))
    if engine == "ray":
        from . import _ray

        return FleetReport(
            _task.refuse_wrong(
                _ray.summarize_all(what, asked, address=address, jobs=jobs, per_node=per_node, progress=progress)
            ),
            inputs=names_here(what),
        )
    sources = expand(what, storage_options)
    sizes = [source.size_bytes for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    meter = Meter(len(sources), total, progress)
    remarks: list[str] = []
    try:
        parts = list(_pool.run(sources, asked, meter, jobs, memory_bytes, remarks))
    finally:
        meter.close()
    summary = _task.refuse_wrong(_core.merge_summaries(parts))
    return FleetReport(summary, tuple(remarks), [source.name for source in sources])


def summarize(
    path: PathLike,
    *,
    steps: str = "",
    device: int | None = None,
    peak_flops: float | None = None,
    tries: int = 3,
    threads: int = 0,
    storage_options: Mapping[str, Any] | None = None,
) -> FleetReport:
    """One file's summary, read in this process: what `stepscope summarize` writes. `threads`: 0 for all cores.

    Raises as `stepscope.load` does, and StoreError for URLs.
    """
    url = os.fspath(path)
    source = Source(redact(url), url) if is_url(url) else Source(url.removeprefix("file://"), url.removeprefix("file://"))
    if is_url(url):
        found = expand(url, storage_options)
        if len(found) != 1 or found[0].path is not None:
            raise ValueError(f"{redact(url)}: not one file; give report() a folder or pattern")
        source = found[0]
    asked = Asked(steps, device, peak_flops, tries, dict(storage_options or {}))
    try:
        return FleetReport(_task.summarize(source, asked, threads), inputs=[source.name])
    except (StoreError, FileNotFoundError, _core.TraceError):
        raise
    except OSError as error:
        raise type(error)(error.errno or 5, _task.why(error, source), source.name) from None


def merge(
    parts: Iterable[FleetReport | bytes | PathLike], *, storage_options: Mapping[str, Any] | None = None
) -> FleetReport:
    """Summaries, their bytes, or files and URLs of them put together: what `stepscope merge` writes.

    Associative, commutative and idempotent: any order and any tree gives the same bytes. Raises TraceError where one is
    damaged or of a newer version.
    """
    all_bytes = []
    inputs: list[str] = []
    for part in parts:
        if isinstance(part, FleetReport):
            all_bytes.append(part.summary)
            inputs += part.inputs
        elif isinstance(part, bytes):
            all_bytes.append(part)
        else:
            all_bytes.append(read_whole(os.fspath(part), storage_options, _MOST_SUMMARY_BYTES))
            inputs.append(redact(os.fspath(part)))
    return FleetReport(_core.merge_summaries(all_bytes), inputs=inputs)


def load(path: What, *, storage_options: Mapping[str, Any] | None = None) -> FleetReport:
    """The report of summaries that were saved: one file or URL, or several.

    Raises FileNotFoundError and OSError as opening does, TraceError where a file is no summary, damaged, or newer.
    """
    return merge([path] if isinstance(path, (str, os.PathLike)) else path, storage_options=storage_options)
