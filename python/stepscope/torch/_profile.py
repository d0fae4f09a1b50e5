"""profile: the schedule's transitions, one capture a cycle, and what can be asked of the last one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .. import _agent
from .._trace import Report, Trace, capture_at
from ._averages import EventAverages
from ._events import EventList, Recorded
from ._schedule import ProfilerAction, as_action

NONE, WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
RECORD, SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE

# What a transition does (docs/glossary.md, "schedule"): (from, to) -> names of methods. `None`: the end.
_TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[str, ...]] = {
    (NONE, WARMUP): ("_prepare", "_warm_up"),
    (NONE, RECORD): ("_prepare", "_start"),
    (NONE, SAVE): ("_prepare", "_start"),
    (WARMUP, NONE): ("_warn_warmup_to_none", "_start", "_stop"),
    (WARMUP, RECORD): ("_start",),
    (WARMUP, SAVE): ("_start",),
    (WARMUP, None): ("_start", "_stop"),
    (RECORD, NONE): ("_warn_record_to_none", "_stop"),
    (RECORD, WARMUP): ("_warn_record_to_warmup", "_stop"),
    (RECORD, None): ("_stop", "_trace_ready"),
    (SAVE, NONE): ("_stop", "_trace_ready"),
    (SAVE, WARMUP): ("_stop", "_trace_ready", "_prepare", "_warm_up"),
    (SAVE, RECORD): ("_stop", "_trace_ready", "_prepare", "_start"),
    (SAVE, SAVE): ("_stop", "_trace_ready", "_prepare", "_start"),
    (SAVE, None): ("_stop", "_trace_ready"),
}


def _safe_json(text: str) -> str:
    """The same JSON in a form that every reader of a trace takes."""
    try:
        value = json.loads(text)
        return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None


def _names_of(activities: Iterable[Any]) -> set[str]:
    """CPU, CUDA. A dict of torch's (activity -> kinds of events) counts as its activities: kinds are not chosen here."""
    names = set()
    for activity in activities:
        names |= {each.name for each in activity} if isinstance(activity, dict) else {getattr(activity, "name", str(activity))}
    return names


def _new_trace_id() -> str:
    return uuid.uuid4().hex.upper()


class _Capture:
    """A capture under way and the folder that its file is in."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._process = 0  # that began it: a forked child has no part in it

    @property
    def is_under_way(self) -> bool:
        return self._folder is not None

    def begin(self, *, shapes: bool, stacks: bool, allocations: bool, gpu: bool) -> bool:
        """False: one is under way already."""
        if self._folder is not None:
            return False
        folder = tempfile.mkdtemp(prefix="stepscope-")
        try:
            _agent.begin(folder, shapes=shapes, stacks=stacks, allocations=allocations, gpu=gpu)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._folder = folder
        self._process = os.getpid()
        return True

    def end(self) -> Trace | None:
        folder, self._folder = self._folder, None
        try:
            _agent.stop()
            path = _agent.end()
            return None if path is None else capture_at(path)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def abandon(self) -> None:
        if self._folder is None or self._process != os.getpid():
            return
        try:
            self.end()
        except Exception:
            pass  # nobody is there to be told


class profile:
    """torch.profiler.profile with Stepscope's capture behind it; see the package's text for an example.

    `activities`: ProfilerActivity.CPU and CUDA; left out, both where there is a GPU. `experimental_config`,
    `execution_trace_observer`, `acc_events` and `post_processing_timeout_s` are accepted and have no effect. The trace of
    the last finished cycle is `trace`; `report()` says where its steps went.

    Raises CaptureError where `stepscope run` captures the process already.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        import torch

        wanted = None if activities is None else _names_of(activities)
        if wanted is not None and not wanted:
            raise AssertionError("No valid profiler activities found")
        has_gpu = torch.cuda.is_available()
        self.use_device = "cuda" if has_gpu and (wanted is None or "CUDA" in wanted or bool(use_cuda)) else None
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.on_trace_ready = on_trace_ready
        self.custom_trace_id_callback = custom_trace_id_callback
        self.record_steps = schedule is not None
        self.schedule: Callable[[int], Any] = schedule if schedule is not None else lambda _step: RECORD
        self.step_num = 0
        self.current_action = as_action(self.schedule(0))
        self._step_span: Any = None
        self._capture = _Capture()
        # A profile that is dropped, or still open at the exit, leaves neither a capture under way nor a folder behind.
        weakref.finalize(self, self._capture.abandon)
        self._trace: Trace | None = None
        self._is_empty = False  # a cycle ended in which nothing was recorded
        self._trace_id: str | None = None
        self._preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, str] = {}  # of `trace`, or of the cycle under way
        self._last_metadata: dict[str, str] = {}

    # ---- The cycle.

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins the first step; `with` does it."""
        self._go(NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """Ends the last step and, where one is recorded, its trace; `with` does it."""
        self._close_step()
        self._go(self.current_action, None)
        # As torch: started again, it goes on in the same cycle.

    def step(self) -> None:
        """Ends a step and begins the next."""
        self._close_step()
        before = self.current_action
        after = as_action(self.schedule(self.step_num + 1))
        self.step_num += 1
        self.current_action = after
        self._go(before, after)
        self._open_step()

    def _open_step(self) -> None:
        if not self.record_steps:
            return
        from torch.profiler import record_function

        self._step_span = record_function(f"ProfilerStep#{self.step_num}")
        self._step_span.__enter__()

    def _close_step(self) -> None:
        if self._step_span is not None:
            span, self._step_span = self._step_span, None
            span.__exit__(None, None, None)

    def _go(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        for name in _TRANSITIONS.get((before, after), ()):
            getattr(self, name)()

    # ---- Recording without steps, by hand.

    def prepare_trace(self) -> None:
        """Warms up: the recording that `start_trace` begins will not pay for what is done once."""
        self._prepare()
        self._warm_up()

    def start_trace(self) -> None:
        """Records from now on."""
        self._start()

    def stop_trace(self) -> None:
        """Ends the recording; its results can be read."""
        self._stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Within a recording: records no more (`enable` False), or again. Both activities go together here; one of them
        alone, where both are recorded, raises NotImplementedError."""
        if not self._capture.is_under_way:
            return
        recorded = {"CPU"} if self.use_device is None else {"CPU", "CUDA"}
        asked = _names_of(activities) & recorded
        if not asked:
            return
        if asked != recorded:
            raise NotImplementedError(f"only all that is recorded can be toggled: {', '.join(sorted(recorded))}")
        if enable:
            _agent.start()
        else:
            _agent.stop()

    # ---- What transitions do.

    def _prepare(self) -> None:
        has_begun = self._capture.begin(
            shapes=self.record_shapes,
            stacks=self.with_stack,
            allocations=self.profile_memory,
            gpu=self.use_device is not None,
        )
        if has_begun:
            self._trace_id = (self.custom_trace_id_callback or _new_trace_id)()

    def _warm_up(self) -> None:
        _agent.warm_up()

    def _start(self) -> None:
        self._prepare()
        self._last_metadata, self._metadata = self._metadata, dict(self._preset_metadata)
        _agent.start()

    def _stop(self) -> None:
        trace = self._capture.end()
        if trace is not None:
            self._trace = trace
        else:  # nothing was recorded, as where the loop ends in a warm-up step: the last cycle's stays
            self._metadata = self._last_metadata
            self._is_empty = True

    def _warn_warmup_to_none(self) -> None:
        warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)

    def _warn_record_to_none(self) -> None:
        warnings.warn("Incorrect schedule: RECORD followed by NONE", stacklevel=3)

    def _warn_record_to_warmup(self) -> None:
        warnings.warn("Incorrect schedule: RECORD followed by WARMUP", stacklevel=3)

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- The last finished cycle.

    @property
    def trace(self) -> Trace:
        """What was recorded, as `stepscope.load` gives it."""
        if self._trace is None:
            raise AssertionError("Profiler must be stopped, with a recorded step, before its results can be read")
        return self._trace

    def report(self, **asked: Any) -> Report:
        """Where the step time went and what to do; arguments as Trace.report."""
        return self.trace.report(**asked)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventAverages:
        """One row a name of operators, labels and kernels, perhaps with its input shapes or innermost frames.

        Print `.table(sort_by, row_limit)` of it. `group_by_overload_name` has no effect.
        """
        return self._recorded.averages(group_by_input_shape, group_by_stack_n)

    def events(self) -> EventList:
        """Every operator, label, call, kernel, copy and set, by start, in torch's nesting; times since the first."""
        return self._recorded.events()

    @property
    def _recorded(self) -> Recorded:
        trace = None if self._trace is None and self._is_empty else self.trace
        return Recorded(trace, self.use_device, self.profile_memory, self.with_flops)

    # ---- Keys of the user's in the exported trace.

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Gives the identifier of each cycle that begins from now on; None: one is made up."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """Of the latest cycle; `trace_id` in its exported trace. None: none has begun."""
        return self._trace_id

    def add_metadata(self, key: str, value: str) -> None:
        """A text in the trace of this cycle, as a key beside the events; up to its export."""
        self._metadata[key] = _safe_json(json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same with a value in JSON. Raises ValueError for what is no JSON."""
        self._metadata[key] = _safe_json(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same for every cycle that begins from now on."""
        self._preset_metadata[key] = _safe_json(value)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes a trace for Perfetto and chrome://tracing; compressed where the name ends in .gz."""
        keys = {"trace_id": json.dumps(self._trace_id)} | self._metadata
        self.trace._recording.write_chrome_trace(os.fspath(path), list(keys.items()))

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Writes who held the memory of `device` ("cuda:0", "cpu"), moment by moment, by category.

        By the ending of `path`: .html a page, .raw.json.gz the events, .json or .json.gz the levels. Categories are inferred
        (docs/formats/memory-timeline.md of the project); times and bytes are those of the allocator. Needs
        profile_memory=True. Left out, `device` is "cuda:0" where CUDA is recorded, else "cpu".
        """
        if not self.profile_memory:
            raise ValueError("profile_memory required for memory profiling.")
        path = os.fspath(path)
        kind, _, number = (device or ("cuda:0" if self.use_device else "cpu")).partition(":")
        if kind not in ("cpu", "cuda") or not (number or "0").isdigit():
            raise ValueError(f"no device {device!r}; give 'cpu' or 'cuda:N'")
        shape = "memory-page" if path.endswith(".html") else "memory-rows" if path.endswith("raw.json.gz") else "memory-levels"
        self.trace._recording.write_memory_timeline(path, -1 if kind == "cpu" else int(number or 0), shape)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes folded stacks for flame graphs, whole microseconds."""
        self._recorded.export_stacks(path, metric)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """Writes each trace into `dir_name` as WORKER.TIME.pt.trace.json[.gz]; WORKER is HOST_PID where it is not given."""

    def write(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write
