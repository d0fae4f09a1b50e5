"""What is known of a run: its summary, and what follows from it."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _core
from .._trace import Table
from ._files import refuse_output, write_whole


class FleetReport:
    """All ranks of a run together. Made by `report`, `merge` and `load`; immutable.

    `print(report)` is what `stepscope report` prints; `report["verdict"]` and every other key are those of
    docs/formats/report.md; `table()` has one row a rank. Times are integer nanoseconds, sizes bytes, ratios 0 to 1;
    unknown is None, never 0. Pickling keeps the summary (at most 256 KiB a rank).
    """

    def __init__(self, summary: bytes, remarks: tuple[str, ...] = (), inputs: Iterable[str] = ()) -> None:
        self._summary = bytes(summary)
        self.inputs = tuple(inputs)
        """The files that were read, as far as they are known; `save` writes over none of them."""
        self._data: dict[str, Any] | None = None
        self.remarks = remarks
        """What happened on the way that the answer does not tell (a reading process that was killed, and how)."""

    @property
    def summary(self) -> bytes:
        """The run's summary, as `stepscope merge` writes it (docs/formats/summary.md)."""
        return self._summary

    def save(self, path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> None:
        """Writes the summary to a file or URL (`.sss`), from which `load` makes this report again.

        Raises FileExistsError where that would write over a file that was read, or over one that is no summary: a
        recording cannot be made again.
        """
        refuse_output(path, self.inputs, storage_options)
        write_whole(path, self._summary, storage_options)

    def page(self, top: int = 0) -> str:
        """The page that `stepscope report --html` writes, as HTML that needs nothing else; `top`: rows of the table."""
        return _core.fleet_page(self._summary, row_count=top)

    def to_dict(self) -> dict[str, Any]:
        """The answer as data: the document that `stepscope report --json` prints."""
        if self._data is None:
            self._data = json.loads(_core.fleet_report(self._summary, as_json=True))
        return self._data

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def keys(self) -> Iterator[str]:
        """Those of the document."""
        return iter(self.to_dict())

    @property
    def verdict(self) -> str:
        """One sentence or two: what costs most, and what fixing it would bring."""
        return str(self.to_dict().get("verdict") or "")

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Named causes over all ranks, the costliest first."""
        return list(self.to_dict().get("findings") or [])

    def table(self) -> Table:
        """One row a rank: pandas, polars, pyarrow and DuckDB take it as it is."""
        return Table(_core.summary_ranks(self._summary), self, "table")

    @property
    def unreadable(self) -> list[tuple[str, str]]:
        """(file, reason) of each that gave nothing."""
        return _core.summary_unreadable(self._summary)

    def __len__(self) -> int:
        """Recordings that were read."""
        return len(self.table())

    def text(self, width: int = 80, colour: bool = False) -> str:
        """What `stepscope report` prints, for a place of `width` columns (60 to 400); `colour`: with a terminal's escapes."""
        return _core.fleet_report(self._summary, width=width, colour=colour)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<stepscope.fleet.FleetReport: {len(self)} ranks; {self.verdict}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FleetReport) and self._summary == other._summary

    def __hash__(self) -> int:
        return hash(self._summary)

    def __reduce__(self) -> tuple[Any, ...]:
        return FleetReport, (self._summary, self.remarks, self.inputs)

    def _repr_html_(self) -> str:
        return (
            f"<p><b>{html.escape(self.verdict)}</b></p>"
            f"<details open><summary>report</summary><pre>{html.escape(self.text(100))}</pre></details>"
        )
