"""key_averages with torch's attribute names. Times are microseconds (float), as in torch; memory bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._table import Rows, Times


@dataclass(frozen=True)
class EventAverage(Times):
    """One row: an operator's, kernel's or label's name, perhaps with its input shapes or stack."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_memory_usage: int
    self_device_memory_usage: int
    flops: int
    is_async: bool
    is_user_annotation: bool
    input_shapes: list[Any] | str  # "" where rows are not by shape, as in torch
    stack: list[str] = field(default_factory=list)
    device_type: Any = None
    record_count: int = 0
    inclusive_ns: int = 0
    is_legacy: bool = False
    is_remote: bool = False
    node_id: int = -1
    overload_name: str = ""
    use_device: str | None = None

    @property
    def name(self) -> str:
        return self.key


def sum_up(rows: Sequence[Any]) -> EventAverage:
    """The total of events or of averages."""
    return EventAverage(
        key="Total",
        count=sum(row.count for row in rows),
        cpu_time_total=sum(row.cpu_time_total for row in rows),
        self_cpu_time_total=sum(row.self_cpu_time_total for row in rows),
        device_time_total=sum(row.device_time_total for row in rows),
        self_device_time_total=sum(row.self_device_time_total for row in rows),
        cpu_memory_usage=sum(row.cpu_memory_usage for row in rows),
        self_cpu_memory_usage=sum(row.self_cpu_memory_usage for row in rows),
        device_memory_usage=sum(row.device_memory_usage for row in rows),
        self_device_memory_usage=sum(row.self_device_memory_usage for row in rows),
        flops=sum(row.flops for row in rows),
        is_async=False,
        is_user_annotation=False,
        input_shapes="",
    )


class EventAverages(Rows[EventAverage]):
    """The rows of key_averages(), in order of first appearance."""

    def __init__(
        self,
        rows: Sequence[EventAverage],
        *,
        self_cpu_time_total: float,
        self_device_time_total: float,
        device: str | None,
        profile_memory: bool,
        with_flops: bool,
        top_level: Callable[[], set[tuple[str, str]]] = set,
    ) -> None:
        """`top_level`: finds (name, shapes) of the rows whose first event ran inside no other; shapes are "" where
        rows are not by shape."""
        super().__init__(rows, device, profile_memory, with_flops)
        self.self_cpu_time_total = self_cpu_time_total
        self.self_device_time_total = self_device_time_total
        self._find_top_level = top_level

    def _is_top_level(self, row: EventAverage) -> bool:
        return (row.key, str(row.input_shapes)) in self._find_top_level()

    def total_average(self) -> EventAverage:
        """All rows in one, as torch adds them up."""
        return sum_up(self)


def averages_of(
    document: dict[str, Any],
    *,
    device: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level: Callable[[], set[tuple[str, str]]] = set,
) -> EventAverages:
    """From the JSON of `stepscope ops`, whose keys and units are torch's."""
    known = EventAverage.__dataclass_fields__
    torch = sys.modules.get("torch")  # whose DeviceType scripts compare with; not there for a table of a file
    rows = []
    for row in document["rows"]:
        fields = {key: value for key, value in row.items() if key in known}
        if fields["input_shapes"]:
            fields["input_shapes"] = json.loads(fields["input_shapes"])
        if torch is not None:
            fields["device_type"] = getattr(torch.profiler.DeviceType, row["device_type"].partition(".")[2])
        rows.append(EventAverage(**fields, use_device=device))
    return EventAverages(
        rows,
        self_cpu_time_total=document["self_cpu_time_total_ns"] / 1e3,
        self_device_time_total=document["self_device_time_total_ns"] / 1e3,
        device=device,
        profile_memory=profile_memory,
        with_flops=with_flops,
        top_level=top_level,
    )


def no_averages(device: str | None, *, profile_memory: bool, with_flops: bool) -> EventAverages:
    """Of a recording in which nothing happened."""
    return EventAverages(
        [],
        self_cpu_time_total=0.0,
        self_device_time_total=0.0,
        device=device,
        profile_memory=profile_memory,
        with_flops=with_flops,
    )
