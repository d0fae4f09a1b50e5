"""The compiled part. Shapes and units are told by the package's own classes (stepscope._trace)."""

from collections.abc import Callable, Sequence
from typing import Any

__version__: str

class TraceError(ValueError):
    file: str
    offset: int | None
    reason: str
    code: str

class Request:
    def __init__(
        self,
        steps: str = "",
        whole_file: bool = False,
        device: int | None = None,
        peak_flops: float | None = None,
        top: int = 5,
    ) -> None: ...

class Table:
    column_names: list[str]
    column_docs: list[str]
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def column(self, name: str) -> list[Any]: ...
    def __len__(self) -> int: ...

class Recording:
    info: dict[str, Any]
    def report_json(self, request: Request) -> str: ...
    def report_text(self, request: Request, width: int = 80, colour: bool = False) -> str: ...
    def table(self, name: str) -> Table: ...
    @staticmethod
    def table_names() -> list[str]: ...
    def steps(self, request: Request) -> Table: ...
    def kernels(self, request: Request) -> Table: ...
    def gaps(self, request: Request) -> Table: ...
    def ops(self, by: str = "name", stack_depth: int = 5) -> Table: ...
    def write_chrome_trace(self, path: str, metadata: Sequence[tuple[str, str]]) -> None: ...
    def write_memory_timeline(self, path: str, device: int, shape: str) -> None: ...
    def folded_stacks(self, metric: str) -> list[str]: ...
    def ops_text(
        self, by: str, stack_depth: int, sort: str, limit: int | None, width: int, as_json: bool
    ) -> str: ...

def read(
    path: bytes,
    threads: int = 0,
    progress: Callable[[int, int | None], object] | None = None,
    source: bytes = b"",
) -> list[Recording]: ...
def torch_flops(name: str, input_dims: str, concrete_inputs: str) -> float | None: ...
def report_json(recordings: Sequence[Recording], request: Request) -> str: ...
def report_text(recordings: Sequence[Recording], request: Request, width: int = 80, colour: bool = False) -> str: ...

class MemoryRecording:
    devices: list[int]
    main_device: int | None
    def events(self, device: int | None = None) -> Table: ...
    def segments(self, device: int | None = None) -> Table: ...
    def blocks(self, device: int | None = None) -> Table: ...
    def levels(self, device: int | None = None) -> Table: ...
    def allocations(self, device: int | None = None) -> Table: ...
    def steps(self, device: int | None = None) -> Table: ...
    def live(self, at: str = "", device: int | None = None) -> Table: ...
    def live_by(self, by: str = "line", at: str = "", device: int | None = None) -> Table: ...
    def diff(self, after: MemoryRecording, by: str = "line", at: str = "", device: int | None = None) -> Table: ...
    def what_if(
        self, settings: Sequence[str], capacity_bytes: int | None = None, device: int | None = None
    ) -> Table: ...
    def report_json(
        self,
        at: str,
        by: str,
        device: int | None,
        settings: Sequence[str],
        capacity_bytes: int | None,
        top: int,
        lifetimes: bool,
    ) -> str: ...
    def report_text(
        self,
        at: str,
        by: str,
        device: int | None,
        settings: Sequence[str],
        capacity_bytes: int | None,
        top: int,
        lifetimes: bool,
        width: int,
        colour: bool,
    ) -> str: ...
    def summary_text(self, device: int | None, abbreviated: bool) -> str: ...

def read_memory(
    path: bytes, steps: str = "", progress: Callable[[int, int | None], object] | None = None
) -> MemoryRecording: ...

class Measurement:
    times: list[float]
    raw_times: list[float]
    number_per_run: int
    median: float
    mean: float
    iqr: float
    significant_figures: int
    has_warnings: bool
    warnings: list[str]
    title: str
    stmt: str
    setup: str
    label: str | None
    sub_label: str | None
    description: str | None
    env: str | None
    as_row_name: str
    num_threads: int
    def percentile(self, percent: float) -> float: ...
    def meets_confidence(self, threshold: float = 0.1) -> bool: ...
    @staticmethod
    def merge(measurements: Sequence[Measurement]) -> list[Measurement]: ...

class Timer:
    def __init__(
        self,
        run: Callable[[int], object],
        num_threads: int,
        set_num_threads: Callable[[int], int] | None,
        clock: Callable[[], float] | None,
        statement: str,
        setup_text: str,
        label: str,
        sub_label: str,
        description: str,
        env: str,
    ) -> None: ...
    def timeit(self, number: int) -> Measurement: ...
    def blocked_autorange(
        self, min_run_time: float, callback: Callable[[int, float], object] | None
    ) -> Measurement: ...
    def adaptive_autorange(
        self,
        threshold: float,
        min_run_time: float,
        max_run_time: float,
        callback: Callable[[int, float], object] | None,
    ) -> Measurement: ...

class StepTimes:
    clock: str
    steps: list[float]
    warmup: list[float]
    data: list[float]
    outliers: list[tuple[int, float]]
    warnings: list[str]
    median: float
    p10: float
    p90: float
    data_median: float | None

class StepTimer:
    def __init__(self, warmup: int, pending: int) -> None: ...
    def begin_step(self) -> None: ...
    def end_step(self) -> None: ...
    def drop_step(self) -> None: ...
    def time_data(self, fetch: Callable[[], Any]) -> Any: ...
    def times(self) -> StepTimes: ...

def compare(
    measurements: Sequence[Measurement], width: int, trim: bool, colorize: bool, highlight_warnings: bool
) -> str: ...
def mfu(
    params: float,
    layers: float,
    d_model: float,
    context: float,
    tokens_per_step: float,
    step_s: float,
    gpus: float,
    peak_flops: float,
) -> float: ...
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
) -> float: ...
def peak_flops(device_name: str, dtype: str) -> float | None: ...
def similar_devices(text: str) -> list[str]: ...
def known_dtypes(device_name: str) -> list[str]: ...
def memory_allocated(device: int = -1) -> int | None: ...
def max_memory_allocated(device: int = -1) -> int | None: ...
def memory_reserved(device: int = -1) -> int | None: ...
def max_memory_reserved(device: int = -1) -> int | None: ...
def memory_summary(device: int = -1) -> str: ...
def reset_peak_memory_stats(device: int = -1) -> None: ...
def summarize(
    path: bytes,
    source: bytes = b"",
    threads: int = 0,
    progress: Callable[[int, int | None], object] | None = None,
    steps: str = "",
    device: int | None = None,
    peak_flops: float | None = None,
) -> bytes: ...
def is_summary(first_bytes: bytes) -> bool: ...
def looks_like_trace(first_bytes: bytes) -> bool: ...
def merge_summaries(parts: Sequence[bytes]) -> bytes: ...
def check_asked_of_summary(
    summary: bytes, name: bytes, steps: str, device: int | None = None, peak_flops: float | None = None
) -> str: ...
def unreadable_summary(source: bytes, reason: str, code: str = "damaged") -> bytes: ...
def summary_unreadable(summary: bytes) -> list[tuple[str, str]]: ...
def summary_ranks(summary: bytes) -> Table: ...
def fleet_report(
    summary: bytes,
    as_json: bool = False,
    width: int = 80,
    colour: bool = False,
    ascii: bool = False,
    row_count: int = 0,
) -> str: ...
def fleet_page(summary: bytes, row_count: int = 0) -> str: ...
