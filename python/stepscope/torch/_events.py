"""events(): every operator, label, call, kernel, copy and set of one capture, as torch lists them.

torch nests what ran on one thread by time, gives an operator the kernels that it launched, and folds one that is the only
child of its like into it (aten::to in aten::to). The same here, out of the tables of the trace, so that a script that
walks `cpu_children`, `kernels` or `self_cpu_time_total` gets what it got. What torch has and this has not stands in
docs/python/pytorch.md; a test compares the names. A million events are objects of Python: `prof.trace` is for those.
"""

from __future__ import annotations

import ast
import json
import os
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

from torch.profiler import DeviceType

from .. import _core
from .._trace import Trace
from ._averages import EventAverage, EventAverages, averages_of, no_averages, sum_up
from ._table import Rows, Times

# PyTorch's own bookkeeping, which its profiler leaves out too.
_HIDDEN = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
}
_CPU, _CUDA = 0, 1  # device_type of the table memory_events


class Interval(NamedTuple):
    """Microseconds since the first event of the cycle."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it lasted."""
        return self.end - self.start


class Kernel(NamedTuple):
    """What an operator launched; `duration` in microseconds."""

    name: str
    device: int
    duration: float


class Event(Times):
    """One operator, label, call, kernel, copy or set that ran; names of members are torch's FunctionEvent's.

    Times are microseconds, memory bytes. What was not asked for (`record_shapes`, `with_stack`) is empty.
    """

    count: int

    def __init__(self, id: int, name: str, start_us: float, end_us: float, thread: int, device_type: Any) -> None:
        self.id = id
        self.trace_name: str | None = name
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.device_type = device_type
        self.device_index = 0
        self.device_resource_id = thread
        self.use_device: str | None = None
        self.count = 1
        self.cpu_parent: Event | None = None
        self.cpu_children: list[Event] = []
        self.kernels: list[Kernel] = []
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.flops = 0
        self.fwd_thread: int | None = None
        self.sequence_nr = -1
        self.is_async = False
        self.is_user_annotation = False
        self.input_shapes: list[Any] = []
        self.structured_input_shapes: list[Any] = []
        self.input_dtypes: list[str] = []
        self.concrete_inputs: list[Any] = []
        self.stack: list[str] = []
        # What only torch's older or other recordings have.
        self.node_id = -1
        self.overload_name = ""
        self.kwinputs: dict[str, Any] = {}
        self.is_legacy = self.is_remote = self.is_python_function = False

    @property
    def key(self) -> str:
        return self.name

    @property
    def _is_on_cpu(self) -> bool:
        return bool(self.device_type == DeviceType.CPU)

    @property
    def cpu_time_total(self) -> float:
        return self.time_range.elapsed_us() if self._is_on_cpu else 0.0

    @property
    def self_cpu_time_total(self) -> float:
        if self.is_async or not self._is_on_cpu:
            return 0.0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:
        if self.is_async or self.use_device is None:
            return 0.0
        if not self._is_on_cpu:
            return self.time_range.elapsed_us()
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        if self.is_async or self.use_device is None:
            return 0.0
        return sum(kernel.duration for kernel in self.kernels) if self._is_on_cpu else self.time_range.elapsed_us()

    @property
    def self_cpu_memory_usage(self) -> int:
        if self.is_async or not self._is_on_cpu:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        if self.is_async or not self._is_on_cpu:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        where = f"{self.time_range.start:.3f} to {self.time_range.end:.3f} us"
        return f"<stepscope.torch Event: {self.name}, {where}, thread {self.thread}>"


@dataclass(frozen=True)
class Recorded:
    """A finished cycle and what was asked of it."""

    trace: Trace | None  # None: nothing happened in it
    device: str | None
    profile_memory: bool
    with_flops: bool

    def read(self) -> Trace:
        if self.trace is None:
            raise AssertionError("Nothing was recorded")
        return self.trace

    def averages(self, by_shape: bool, stack_depth: int) -> EventAverages:
        if self.trace is None:
            return no_averages(self.device, profile_memory=self.profile_memory, with_flops=self.with_flops)
        by = "stack" if stack_depth > 0 else "shape" if by_shape else "name"
        document = json.loads(self.trace._recording.ops_text(by, max(stack_depth, 1), "", None, 80, True))
        return averages_of(
            document,
            device=self.device,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            top_level=partial(_top_level, self, by == "shape"),
        )

    def events(self) -> EventList:
        return EventList([] if self.trace is None else _Builder(self).build(), self)

    def export_stacks(self, path: str, metric: str) -> None:
        lines = self.read()._recording.folded_stacks(metric)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)


class EventList(Rows[Event]):
    """Events by start."""

    def __init__(self, events: Iterable[Event], recorded: Recorded) -> None:
        super().__init__(events, recorded.device, recorded.profile_memory, recorded.with_flops)
        self._recorded = recorded
        self.self_cpu_time_total = sum(event.self_cpu_time_total for event in self)
        self.self_device_time_total = sum(event.self_device_time_total for event in self if not event._is_on_cpu)

    def _is_top_level(self, row: Event) -> bool:
        return row.cpu_parent is None

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventAverages:
        """As profile.key_averages."""
        return self._recorded.averages(group_by_input_shapes, group_by_stack_n)

    def total_average(self) -> EventAverage:
        """All events in one, as torch adds them up."""
        return sum_up(self)

    def export_chrome_trace(self, path: str) -> None:
        """As profile.export_chrome_trace, without the keys of add_metadata."""
        self._recorded.read()._recording.write_chrome_trace(os.fspath(path), [])

    def export_stacks(self, path: str, metric: str) -> None:
        """As profile.export_stacks."""
        self._recorded.export_stacks(path, metric)


def _top_level(recorded: Recorded, by_shape: bool) -> set[tuple[str, str]]:
    """Names (and shapes) of the averages whose first event ran inside no other."""
    first: dict[tuple[str, str], bool] = {}
    for event in recorded.events():
        key = (event.name, str(event.input_shapes) if by_shape else "")
        first.setdefault(key, event.cpu_parent is None)
    return {key for key, is_top in first.items() if is_top}


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    return json.loads(text) if text else []


def _flat_shapes(shapes: list[Any]) -> list[Any]:
    """Lists of tensors are empty lists here, as in torch's input_shapes."""
    return [[] if shape and isinstance(shape[0], list) else shape for shape in shapes]


@lru_cache(maxsize=4096)
def _value(text: str) -> Any:
    """An argument that was recorded as text; None where torch recorded none."""
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class _Builder:
    """Makes the list of one trace."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._events: list[Event] = []

    def _columns(self, table: str, *names: str) -> Iterable[tuple[Any, ...]]:
        found = self._recorded.read()._recording.table(table)
        return zip(*(found.column(name) for name in names))

    def build(self) -> list[Event]:
        ops = self._add_ops()
        self._add_spans()
        for name, start, end, thread in self._columns("calls", "name", "start_ns", "end_ns", "thread"):
            self._add(name, start, end, thread)
        self._add_gpu_events(ops)
        self._events = [event for event in self._events if event.name not in _HIDDEN]
        self._add_memory()
        base = int(min((event.time_range.start for event in self._events), default=0))
        for event in self._events:  # until here whole ns, which no float holds since 1970
            start, end = event.time_range
            event.time_range = Interval((start - base) / 1e3, (end - base) / 1e3)
        self._events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
        self._nest()
        self._fold()
        self._add_stacks(base)
        return self._events

    def _add(self, name: str, start: int, end: int, thread: int, device_type: Any = DeviceType.CPU) -> Event:
        event = Event(len(self._events), name, start, end, thread, device_type)
        event.use_device = self._recorded.device
        self._events.append(event)
        return event

    def _add_ops(self) -> list[Event]:
        names = ("name", "start_ns", "end_ns", "thread", "forward_thread", "sequence", "shapes", "types", "concrete_inputs")
        ops = []
        for name, start, end, thread, forward, sequence, shapes, types, concrete in self._columns("ops", *names):
            event = self._add(name, start, end, thread)
            event.fwd_thread = forward
            event.sequence_nr = -1 if sequence is None else sequence
            event.structured_input_shapes = list(_parsed(shapes))
            event.input_shapes = _flat_shapes(event.structured_input_shapes)
            event.input_dtypes = list(_parsed(types))
            event.concrete_inputs = [_value(text) for text in _parsed(concrete)]
            if self._recorded.with_flops:
                event.flops = int(_core.torch_flops(name, shapes, concrete) or 0)
            ops.append(event)
        return ops

    def _add_spans(self) -> None:
        for name, start, end, thread, is_async in self._columns("spans", "name", "start_ns", "end_ns", "thread", "is_async"):
            event = self._add(name, start, end, thread)
            event.is_async = bool(is_async)
            event.is_user_annotation = True

    def _add_gpu_events(self, ops: list[Event]) -> None:
        names = ("name", "start_ns", "end_ns", "stream", "device", "op")
        for name, start, end, stream, device, op in self._columns("gpu_events", *names):
            event = self._add(name, start, end, stream, DeviceType.CUDA)
            event.device_index = device
            if op is not None:
                ops[op].kernels.append(Kernel(name, device, (end - start) / 1e3))

    def _add_memory(self) -> None:
        """Bytes of each event: of all threads, as in torch; what happened outside of all events is one of its own."""
        found = sorted(self._columns("memory_events", "time_ns", "bytes", "device_type", "thread"))
        if not found:
            return
        times = [time for time, _, _, _ in found]
        on_cpu = list(accumulate((size if device == _CPU else 0 for _, size, device, _ in found), initial=0))
        on_gpu = list(accumulate((size if device == _CUDA else 0 for _, size, device, _ in found), initial=0))
        told = [0] * (len(found) + 1)  # +1 where an event begins to hold them, -1 after
        for event in self._events:
            if event._is_on_cpu:
                first, last = bisect_left(times, event.time_range.start), bisect_right(times, event.time_range.end)
                event.cpu_memory_usage = on_cpu[last] - on_cpu[first]
                event.device_memory_usage = on_gpu[last] - on_gpu[first]
                told[first] += 1
                told[last] -= 1
        for (time, size, device, thread), holders in zip(found, accumulate(told)):
            if holders == 0:
                event = self._add("[memory]", time, time, thread)
                event.trace_name = None
                event.cpu_memory_usage = size if device == _CPU else 0
                event.device_memory_usage = size if device == _CUDA else 0

    def _nest(self) -> None:
        open_of: dict[int, list[Event]] = defaultdict(list)
        for event in self._events:
            if event.is_async or not event._is_on_cpu:
                continue
            start, end = event.time_range
            open_events = open_of[event.thread]
            while open_events and (start >= open_events[-1].time_range.end or end > open_events[-1].time_range.end):
                open_events.pop()
            if open_events:
                event.cpu_parent = open_events[-1]
                event.cpu_parent.cpu_children.append(event)
            open_events.append(event)

    def _fold(self) -> None:
        kept = []
        for event in self._events:
            parent = event.cpu_parent
            if parent is None or parent.name != event.name or len(parent.cpu_children) != 1:
                kept.append(event)
                continue
            parent.cpu_children = event.cpu_children
            parent.kernels += event.kernels
            for child in event.cpu_children:
                child.cpu_parent = parent
        self._events = kept

    def _add_stacks(self, base: int) -> None:
        """The frames that were open where an operator began, innermost first; of backward ones, those of the forward one."""
        frames = sorted(self._columns("frames", "thread", "start_ns", "end_ns", "name"), key=lambda row: (row[0], row[1], -row[2]))
        if not frames:
            return
        by_thread: dict[int, list[tuple[float, float, str]]] = defaultdict(list)
        for thread, start, end, name in frames:
            by_thread[thread].append(((start - base) / 1e3, (end - base) / 1e3, name))
        open_of: dict[int, list[tuple[float, str]]] = defaultdict(list)
        position: dict[int, int] = defaultdict(int)
        forward: dict[int, list[str]] = {}
        for event in self._events:
            if not event._is_on_cpu:
                continue
            at, rows, open_frames = event.time_range.start, by_thread[event.thread], open_of[event.thread]
            while position[event.thread] < len(rows) and rows[position[event.thread]][0] <= at:
                start, end, name = rows[position[event.thread]]
                while open_frames and open_frames[-1][0] <= start:
                    open_frames.pop()
                open_frames.append((end, name))
                position[event.thread] += 1
            while open_frames and open_frames[-1][0] <= at:
                open_frames.pop()
            event.stack = [name for _, name in reversed(open_frames)]
            if event.sequence_nr >= 0 and event.fwd_thread is None and event.stack:
                forward.setdefault(event.sequence_nr, event.stack)
        for event in self._events:
            backward: Event | None = event
            while backward is not None and backward.fwd_thread is None:
                backward = backward.cpu_parent
            if backward is not None:
                event.stack = forward.get(backward.sequence_nr, [])
