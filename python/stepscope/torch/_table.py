"""The table that torch prints of events, or of their averages: columns, widths, units and cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

R = TypeVar("R", bound=Any)


def format_time(time_us: float) -> str:
    if time_us >= 1_000_000:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1_000:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def format_memory(size: int) -> str:
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(size) >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size} B"


def _format_share(part: float, whole: float) -> str:
    if whole == 0:
        return "NaN" if part != 0 else "0.00%"
    return f"{part * 100 / whole:.2f}%"


OLD_NAMES = {
    "cuda_time": "device_time",
    "cuda_time_total": "device_time_total",
    "self_cuda_time_total": "self_device_time_total",
    "cuda_memory_usage": "device_memory_usage",
    "self_cuda_memory_usage": "self_device_memory_usage",
}

_FLOPS_UNITS = ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"]


class Times:
    """Means and texts of what has a count and total times; with the names of torch before 2.4."""

    if TYPE_CHECKING:

        @property
        def count(self) -> int: ...
        @property
        def cpu_time_total(self) -> float: ...
        @property
        def self_cpu_time_total(self) -> float: ...
        @property
        def device_time_total(self) -> float: ...
        @property
        def self_device_time_total(self) -> float: ...

    @property
    def cpu_time(self) -> float:
        """Mean of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Mean of a call."""
        return self.device_time_total / self.count if self.count else 0.0

    # The names of torch before 2.4.
    @property
    def cuda_time(self) -> float:
        return self.device_time

    @property
    def cuda_time_total(self) -> float:
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        return self.self_device_time_total

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class Rows(list[R]):
    """Events, or their averages, that can be printed as torch prints them."""

    self_cpu_time_total: float
    """Of all rows, microseconds."""
    self_device_time_total: float
    """Of all kernels, copies and sets, microseconds."""

    def __init__(self, rows: Iterable[R], device: str | None, profile_memory: bool, with_flops: bool) -> None:
        super().__init__(rows)
        self._use_device = device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def _is_top_level(self, row: R) -> bool:
        raise NotImplementedError

    def _sorted(self, sort_by: str | None) -> list[R]:
        if sort_by is None:
            return list(self)
        name = OLD_NAMES.get(sort_by, sort_by)
        if self and not hasattr(self[0], name):
            raise AttributeError(f"no column {sort_by!r} to sort by")
        return sorted(self, key=lambda row: getattr(row, name), reverse=True)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The rows as text, in torch's layout. `row_limit` < 0: all. Percentages are of the sum of self times.

        `top_level_events_only`: without what ran inside another operator or label; of averages, those whose first event
        did. `time_unit`: "s", "ms" or "us" for all times.
        """
        rows = self._sorted(sort_by)
        if top_level_events_only:
            rows = [row for row in rows if self._is_top_level(row)]
        if row_limit >= 0:
            rows = rows[:row_limit]
        layout = _Layout(self, rows, max_src_column_width, max_name_column_width, max_shapes_column_width, time_unit)
        return layout.text([header] if header is not None else [], top_level_events_only)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What export_stacks takes."""
        return ["self_cpu_time_total", "self_cuda_time_total"]

    def __str__(self) -> str:
        return self.table()


class _Layout:
    """Columns, their widths and their cells."""

    def __init__(
        self,
        averages: Rows[Any],
        rows: list[Any],
        src_width: int,
        name_width: int,
        shapes_width: int,
        time_unit: str | None,
    ) -> None:
        self._averages = averages
        self._rows = rows
        all_rows = list(averages)  # widths and units do not depend on the limit
        self._all = all_rows
        self._time_unit = time_unit
        self._name_limit, self._shapes_limit, self._src_limit = name_width, shapes_width, src_width
        self._has_shapes = any(row.input_shapes for row in all_rows)
        self._stacks = [row.stack for row in all_rows if row.stack]
        self._device = (averages._use_device or "").upper()

    def _time(self, value: float) -> str:
        if self._time_unit == "s":
            return f"{value / 1e6:.3f}s"
        if self._time_unit == "ms":
            return f"{value / 1e3:.3f}ms"
        if self._time_unit == "us":
            return f"{value:.3f}us"
        return format_time(value)

    @staticmethod
    def _cut(text: str, limit: int) -> str:
        return text if limit < 0 or len(text) < limit else text[: limit - 3] + "..."

    def _columns(self) -> list[tuple[str, int]]:
        """Title and width of each."""
        name_width = max((len(row.key) for row in self._all), default=0) + 4
        if self._name_limit >= 0:
            name_width = min(name_width, self._name_limit)
        columns = [("Name", name_width)]
        titles = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        if self._device:
            d = self._device
            titles += [f"Self {d}", f"Self {d} %", f"{d} total", f"{d} time avg"]
        if self._averages._profile_memory:
            titles += ["CPU Mem", "Self CPU Mem"]
            if self._device:
                titles += [f"{self._device} Mem", f"Self {self._device} Mem"]
        titles.append("# of Calls")
        columns += [(title, 12) for title in titles]
        if self._has_shapes:
            width = max(len(str(row.input_shapes)) for row in self._all) + 4
            columns.append(("Input Shapes", min(width, self._shapes_limit) if self._shapes_limit >= 0 else width))
        if self._stacks:
            width = max(len(line) for stack in self._stacks for line in stack) + 4
            columns.append(("Source Location", min(width, self._src_limit) if self._src_limit >= 0 else width))
        if self._averages._with_flops:
            columns.append((f"Total {self._flops_unit()[1]}", 12))
        return columns

    def _flops_unit(self) -> tuple[float, str]:
        least = min((row.flops for row in self._all if row.flops > 0), default=0)  # as torch: no row below one unit
        if least <= 0:
            return 1.0, _FLOPS_UNITS[0]
        power = max(0, min(int(math.log10(least) / 3), len(_FLOPS_UNITS) - 1))
        return 10.0 ** (3 * power), _FLOPS_UNITS[power]

    def _cells(self, row: Any) -> list[str]:
        whole, whole_device = self._averages.self_cpu_time_total, self._averages.self_device_time_total
        cells = [
            self._cut(row.key, self._name_limit),
            _format_share(row.self_cpu_time_total, whole),
            self._time(row.self_cpu_time_total),
            # The part of an asynchronous event that another thread saw is no share of this one's time.
            _format_share(row.cpu_time_total, whole) if not row.is_async else "0",
            self._time(row.cpu_time_total),
            self._time(row.cpu_time),
        ]
        if self._device:
            cells += [
                self._time(row.self_device_time_total),
                _format_share(row.self_device_time_total, whole_device),
                self._time(row.device_time_total),
                self._time(row.device_time),
            ]
        if self._averages._profile_memory:
            cells += [format_memory(row.cpu_memory_usage), format_memory(row.self_cpu_memory_usage)]
            if self._device:
                cells += [format_memory(row.device_memory_usage), format_memory(row.self_device_memory_usage)]
        cells.append(str(row.count))
        if self._has_shapes:
            cells.append(self._cut(str(row.input_shapes), self._shapes_limit))
        if self._stacks:
            cells.append(self._cut(row.stack[0], self._src_limit) if row.stack else "")
        if self._averages._with_flops:
            unit = self._flops_unit()[0]
            cells.append(f"{row.flops / unit:8.3f}" if row.flops > 0 else "--")
        return cells

    def text(self, headers: list[str], top_level_events_only: bool) -> str:
        if not self._rows:
            return ""
        if top_level_events_only:
            headers = [*headers, "This report only display top-level ops statistics"]  # as torch has it
        columns = self._columns()
        rule = "".join("-" * width + "  " for _, width in columns)
        lines = []
        for header in headers:
            lines += ["=" * len(rule.rstrip()), header]
        lines.append(rule)
        lines.append(self._line([title for title, _ in columns], columns))
        lines.append(rule)
        for row in self._rows:
            lines.append(self._line(self._cells(row), columns))
            for further in row.stack[1:] if self._stacks else []:
                cells = [""] * len(columns)
                cells[-2 if self._averages._with_flops else -1] = self._cut(further, self._src_limit)
                lines.append(self._line(cells, columns))
        lines.append(rule)
        lines.append(f"Self CPU time total: {self._time(self._averages.self_cpu_time_total)}")
        if self._device:
            total = self._time(self._averages.self_device_time_total)
            lines.append(f"Self {self._device} time total: {total}")
        return "\n".join(lines) + "\n"

    @staticmethod
    def _line(cells: Sequence[str], columns: Sequence[tuple[str, int]]) -> str:
        return "".join(cell.rjust(width) + "  " for cell, (_, width) in zip(cells, columns))


