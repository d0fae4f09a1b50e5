"""Memory snapshots: what PyTorch's allocator held, by which line, and what other settings would have done.

    import stepscope
    snapshot = stepscope.memory.load("snapshot.pickle")
    print(snapshot)                                    # what `stepscope memory` prints
    print(snapshot.live_by("line").to_pandas().head())

A snapshot is never unpickled: what it holds is data, whoever made it. The words (requested, allocated, active, reserved,
live set, category) are told in docs/memory.md of the project. Bytes are integers, times microseconds since 1970; a place in
the history is an `event`, the number of an entry within its GPU's list, as in docs/formats/memory.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _core
from ._trace import FileStamp, PathLike, Report, ReportText, Table, progress_bar

Grouping = Literal["line", "stack", "category", "span", "module", "device", "stream", "pool"]

__all__ = ["Snapshot", "load"]


class Snapshot:
    """One snapshot file, or the GPU memory events of a trace or capture. Made by `load`; immutable.

    `device` of the methods is a CUDA ordinal; None: `main_device`, the one with most activity. `at` names a moment:
    "peak" (of the allocated level), "oom", "start", "end", "#12" (after that event), "2.5s", "300ms" (since the first event);
    empty: the peak, or the end where no history was recorded. Tables go to pandas, polars, pyarrow and DuckDB as they are.

    A file that was cut has no sound number: everything but `events`, `segments`, `blocks` and `report` raises TraceError then.
    Pickling keeps the absolute path and reads the file again; ValueError where the file has changed since.
    """

    def __init__(self, recording: _core.MemoryRecording, path: str, file: FileStamp, steps: str) -> None:
        self._recording = recording
        self._path = path  # as it was asked for
        self._origin = (file, steps)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_again, self._origin

    @property
    def devices(self) -> list[int]:
        """CUDA ordinals of the GPUs in the file."""
        return list(self._recording.devices)

    @property
    def main_device(self) -> int | None:
        """The GPU with most activity; None: there is none."""
        return self._recording.main_device

    @property
    def settings(self) -> str | None:
        """The allocator's, as PYTORCH_CUDA_ALLOC_CONF would set them; None where the file does not say."""
        settings: str | None = self.report(top=0)["settings"]
        return settings

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is odd and what to do, of the main device."""
        return self.report(top=0).findings

    def report(
        self,
        *,
        at: str = "",
        by: Grouping | Literal[""] = "",
        device: int | None = None,
        what_if: Sequence[str] = (),
        capacity_bytes: int | None = None,
        top: int = 10,
        lifetimes: bool = False,
    ) -> Report:
        """The answer as data (keys: docs/formats/memory.md), as text and, in a notebook, as a page.

        `what_if`: settings to simulate beside it; `top`: rows of each table; `lifetimes`: bytes x time and what was never
        freed, of the whole history, so with neither `at` nor `what_if` (ValueError).
        """
        if lifetimes and (at or what_if):
            raise ValueError("lifetimes are of the whole history: they go with neither at nor what_if")
        request = (at, by, device, list(what_if), capacity_bytes, top, lifetimes)
        return Report(self._recording.report_json(*request), ReportText(self, request))

    def _report_text(self, request: tuple[Any, ...], width: int, colour: bool) -> str:
        at, by, device, settings, capacity_bytes, top, lifetimes = request
        return self._recording.report_text(at, by, device, settings, capacity_bytes, top, lifetimes, width, colour)

    # ---- Who held it.

    def live(self, at: str = "", device: int | None = None) -> Table:
        """One row an allocation that was held at the moment: from its allocation until its free completed."""
        return Table(self._recording.live(at, device), self, "live", at, device)

    def live_by(self, by: Grouping = "line", at: str = "", device: int | None = None) -> Table:
        """The same in groups: name, requested bytes, count; most first. The rows sum to the whole live set."""
        return Table(self._recording.live_by(by, at, device), self, "live_by", by, at, device)

    def categories(self, at: str = "", device: int | None = None) -> Table:
        """`live_by("category")`: parameters, gradients, activations, optimizer state, ..."""
        return self.live_by("category", at, device)

    def diff(self, after: Snapshot, *, by: Grouping = "line", at: str = "", device: int | None = None) -> Table:
        """What `after` holds more and less than this one, each at its moment; largest difference first."""
        found = self._recording.diff(after._recording, by, at, device)
        return Table(found, self, "_diff", after, by, at, device)

    def _diff(self, after: Snapshot, by: Grouping, at: str, device: int | None) -> Table:
        return self.diff(after, by=by, at=at, device=device)

    # ---- When.

    def levels(self, device: int | None = None) -> Table:
        """Requested, allocated, active and reserved bytes after each event; the first row is before all of them."""
        return Table(self._recording.levels(device), self, "levels", device)

    def allocations(self, device: int | None = None) -> Table:
        """One row an allocation that was live at some moment, with its line, stack, category and the events of its life."""
        return Table(self._recording.allocations(device), self, "allocations", device)

    def events(self, device: int | None = None) -> Table:
        """What the allocator did, one row an entry of the history, as recorded."""
        return Table(self._recording.events(device), self, "events", device)

    def steps(self, device: int | None = None) -> Table:
        """One row a training step with its peak; empty where no annotation marks steps."""
        return Table(self._recording.steps(device), self, "steps", device)

    # ---- What the allocator held when the snapshot was written.

    def segments(self, device: int | None = None) -> Table:
        """One row a segment that was taken from the device."""
        return Table(self._recording.segments(device), self, "segments", device)

    def blocks(self, device: int | None = None) -> Table:
        """One row a block of them, free ones too."""
        return Table(self._recording.blocks(device), self, "blocks", device)

    def memory_summary(self, device: int | None = None, abbreviated: bool = False) -> str:
        """The table of torch.cuda.memory_summary(), with `-` for what a snapshot cannot know."""
        return self._recording.summary_text(device, abbreviated)

    # ---- What if.

    def what_if(self, *settings: str, capacity_bytes: int | None = None, device: int | None = None) -> Table:
        """One row a setting: peaks, retries, and whether a request would have failed, by re-simulation.

        `settings`: what PYTORCH_CUDA_ALLOC_CONF takes, "default", or "no_caching"; none: the sensible ones, best first.
        `capacity_bytes`: what the process may hold; None: what the recorded failure shows, else no limit.

        Raises TraceError where the recorded settings, replayed, do not return every recorded address: then the simulation
        is not that allocator, and its answers are withheld. Raises ValueError for settings that there are not.
        """
        found = self._recording.what_if(list(settings), capacity_bytes, device)
        return Table(found, self, "_what_if", settings, capacity_bytes, device)

    def _what_if(self, settings: Sequence[str], capacity_bytes: int | None, device: int | None) -> Table:
        return self.what_if(*settings, capacity_bytes=capacity_bytes, device=device)

    def __str__(self) -> str:
        return str(self.report())

    def __repr__(self) -> str:
        return f"<stepscope.memory.Snapshot: {self._path}, devices {self.devices}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def load(path: PathLike, *, steps: str = "", progress: bool = True) -> Snapshot:
    """Reads a snapshot of torch.cuda.memory (any version, plain or gzip, pickle or JSON) without running what is in it.

    A map of tensor addresses beside it (`stepscope run --memory` writes one) makes categories exact. A trace or capture with
    GPU memory events is answered too, without `what_if`. `steps`: the annotation that is one step, if it is not found.

    Raises FileNotFoundError, PermissionError or OSError as opening a file does, and TraceError (a ValueError with `file` and
    `offset`) where nothing in it can be used, or where it asks for code to be run.
    """
    where = os.fspath(path)
    file = FileStamp(where)  # before the reading: a file that is written meanwhile is another one
    with progress_bar(where, progress) as bar:
        return Snapshot(_core.read_memory(os.fsencode(where), steps, bar), where, file, steps)


def _load_again(file: FileStamp, steps: str) -> Snapshot:
    return load(file.check(), steps=steps, progress=False)
