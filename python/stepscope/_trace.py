"""Traces, their reports and tables.

Times are integer nanoseconds, sizes bytes, ratios 0 to 1; what a file does not say is None or null, never 0. The
definitions behind the numbers: docs/glossary.md and docs/formats/report.md of the project.
"""

from __future__ import annotations

import html
import json
import os
import pickle
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

from . import _core

PathLike = str | os.PathLike[str]
By = Literal["name", "shape", "stack", "module"]


class Table:
    """Columns that pandas, polars, pyarrow and DuckDB take as they are, without a copy.

    >>> kernels = trace.kernels()                                                            # doctest: +SKIP
    >>> pandas.DataFrame.from_arrow(kernels); polars.DataFrame(kernels)                     # doctest: +SKIP
    >>> duckdb.sql("select name, count(*) from kernels group by name")                      # doctest: +SKIP

    Text columns are dictionary-encoded where they come from a trace. `columns` maps each name to its unit and meaning.
    Pickling keeps what the table was asked of, as that is pickled, and asks again.
    """

    __slots__ = ("_table", "_asked")

    def __init__(self, table: _core.Table, *asked: Any) -> None:
        """`asked`: the owner, the name of its method (or property) and the arguments that give this table again."""
        self._table = table
        self._asked = asked

    def __reduce__(self) -> tuple[Any, ...]:
        return _ask_again, self._asked

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def columns(self) -> dict[str, str]:
        """Name of each column, with its unit and when it is null."""
        return dict(zip(self._table.column_names, self._table.column_docs))

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> Any:
        """A pyarrow.Table; needs pyarrow."""
        import pyarrow  # type: ignore[import-untyped,unused-ignore]

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """A polars.DataFrame; needs polars."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<stepscope.Table: {len(self)} rows of {', '.join(self._table.column_names)}>"


def _ask_again(owner: Any, name: str, *arguments: Any) -> Any:
    found = getattr(owner, name)
    return found(*arguments) if callable(found) else found


class ReportText:
    """Writes a report for a place of some width: `owner._report_text(request, width, colour)`.

    Pickled, it keeps the text of 80 columns and the owner in its own pickled form, so that the report of a file can be
    printed where the file is not, or is another one by now; only another width reads it again.
    """

    WIDTH = 80

    def __init__(self, owner: Any, request: Any) -> None:
        self._owner, self._request = owner, request
        self._pickled, self._told = b"", ""

    def __call__(self, width: int, colour: bool) -> str:
        if self._told and (width, colour) == (self.WIDTH, False):
            return self._told
        if self._owner is None:
            self._owner = pickle.loads(self._pickled)
        return str(self._owner._report_text(self._request, width, colour))

    def __getstate__(self) -> tuple[bytes, str, Any]:
        return self._pickled or pickle.dumps(self._owner), self(self.WIDTH, False), self._request

    def __setstate__(self, state: tuple[bytes, str, Any]) -> None:
        self._owner = None
        self._pickled, self._told, self._request = state


class Report:
    """The answer as data, as text and, in a notebook, as a page.

    `report["verdict"]` and every other key are those of docs/formats/report.md; `print(report)` is what the command
    prints; `report.text(width=120)` the same for a wider place. Pickling keeps the data and the text of 80 columns;
    another width reads the file again, so it raises FileNotFoundError where that is gone and ValueError where it changed.
    """

    def __init__(self, document: str, text_of: Callable[[int, bool], str]) -> None:
        self.data: dict[str, Any] = json.loads(document)
        self._text_of = text_of

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def keys(self) -> Iterator[str]:
        """Of the document: docs/formats/report.md."""
        return iter(self.data)

    @property
    def verdict(self) -> str:
        """One sentence or two: what costs most, and what fixing it would bring."""
        return str(self.data.get("verdict", ""))

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Named causes, the costliest first."""
        return list(self.data.get("findings") or [])

    def text(self, width: int = 80, colour: bool = False) -> str:
        """What the command prints, in lines of at most `width` columns: 60 to 400, else ValueError."""
        return str(self._text_of(width, colour))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<stepscope.Report: {self.verdict or self.data.get('status')}>"

    def _repr_html_(self) -> str:
        try:
            text = self.text(100)
        except (OSError, ValueError):  # unpickled, and its file is gone or has changed: the text that it keeps
            text = self.text()
        rows = "".join(
            f"<tr><td>{html.escape(str(finding.get('severity', '')))}</td>"
            f"<td>{html.escape(str(finding.get('title', '')))}</td>"
            f"<td>{html.escape(str(finding.get('gain') or ''))}</td></tr>"
            for finding in self.findings
        )
        headline = f"<p><b>{html.escape(self.verdict)}</b></p>" if self.verdict else ""
        table = f"<table><tr><th></th><th>finding</th><th>fixing it</th></tr>{rows}</table>" if rows else ""
        return (
            f"{headline}{table}"
            f"<details><summary>report</summary><pre>{html.escape(text)}</pre></details>"
        )


class FileStamp:
    """Where a file lies, its size and when it was last written: what a pickle keeps of it, to read the same one again.

    The path is absolute, as another process has another working directory. A hash of the content would find a change that
    kept both size and time, but costs a pass over gigabytes for each pickle.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.size_and_time = self._look()

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:  # reading it says what is wrong
            return None
        return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None

    def check(self) -> str:
        """The path; raises ValueError where another file lies there than the one that was read."""
        now = self._look()
        if now is not None and now != self.size_and_time:
            raise ValueError(f"{self.path} has changed since it was loaded; load it again")
        return self.path


class Trace:
    """One recording: what one process (one rank) did. Made by `load`; immutable, so threads may share it.

    Pickling keeps the absolute path and reads the file again, so a trace may be handed to another process that sees the
    file; ValueError where the file's size or time is not what it was when the trace was loaded. What
    `stepscope.torch` captured has no file any more: its pickle holds the whole trace, as Chrome's, compressed.
    """

    def __init__(self, recording: _core.Recording, origin: tuple[FileStamp, int, int] | None) -> None:
        """`origin`: file, number of the recording in it, threads to read with; None: there is no file."""
        self._recording = recording
        self._origin = origin

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin is not None:
            return _load_one, self._origin
        with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
            path = os.path.join(folder, "trace.json.gz")
            self._recording.write_chrome_trace(path, [])
            with open(path, "rb") as file:
                return _load_bytes, (file.read(),)

    @property
    def info(self) -> dict[str, Any]:
        """source, producer, rank, world_size, host_name, base_ns (of the clock, since 1970), event_count, ..."""
        return self._recording.info

    @property
    def rank(self) -> int | None:
        """Of the process among those of its run; None where the file does not say."""
        rank = self.info["rank"]
        return None if rank is None else int(rank)

    def report(
        self,
        *,
        steps: str = "",
        whole_file: bool = False,
        device: int | None = None,
        peak_flops: float | None = None,
        top: int = 5,
    ) -> Report:
        """Where the step time goes and what to do.

        `steps`: name of the span that is one step (found where it is empty); `whole_file`: account for everything, not
        for the steps alone; `device`: CUDA ordinal; `peak_flops`: FLOP/s of one GPU, dense, for MFU; `top`: rows of the
        tables, 0 for none. Raises ValueError, naming what there is, where the trace has no such span or device.
        """
        request = (steps, whole_file, device, peak_flops, top)
        return Report(self._recording.report_json(_core.Request(*request)), ReportText(self, request))

    def _report_text(self, request: tuple[Any, ...], width: int, colour: bool) -> str:
        return self._recording.report_text(_core.Request(*request), width, colour)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Named causes, the costliest first: id, severity, title, saving_ns, evidence, advice, gain."""
        return self.report(top=0).findings

    @property
    def steps(self) -> Table:
        """One row a complete step."""
        return Table(self._recording.steps(_core.Request()), self, "steps")

    def kernels(self) -> Table:
        """One row a kernel, copy or set that ran."""
        return Table(self._recording.kernels(_core.Request()), self, "kernels")

    def gaps(self) -> Table:
        """One row a gap in which a device was idle, with its cause."""
        return Table(self._recording.gaps(_core.Request()), self, "gaps")

    def ops(self, by: By = "name", stack_depth: int = 5) -> Table:
        """key_averages: one row an operator's name, input shape, stack or module; times in ns."""
        return Table(self._recording.ops(by, stack_depth), self, "ops", by, stack_depth)

    def ops_text(
        self, by: By = "name", sort: str = "", limit: int | None = 30, width: int = 160, stack_depth: int = 5
    ) -> str:
        """The same as a table in text, as torch prints it; `sort` takes torch's names (self_device_time_total, ...)."""
        return self._recording.ops_text(by, stack_depth, sort, limit, width, False)

    def table(self, name: str) -> Table:
        """A table of the trace as it was read: one of `table_names`."""
        return Table(self._recording.table(name), self, "table", name)

    @property
    def table_names(self) -> list[str]:
        """What `table` takes."""
        return self._recording.table_names()

    def __repr__(self) -> str:
        info = self.info
        rank = "" if info["rank"] is None else f", rank {info['rank']}"
        return f"<stepscope.Trace: {info['source']}{rank}, {info['event_count']} events>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


class Run(Sequence[Trace]):
    """Several recordings, most often the ranks of one run, in the order of the files."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces = list(traces)

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> Run: ...
    def __getitem__(self, index: int | slice) -> Trace | Run:
        return Run(self.traces[index]) if isinstance(index, slice) else self.traces[index]

    def __len__(self) -> int:
        return len(self.traces)

    def report(self, *, steps: str = "", top: int = 0) -> Report:
        """One row a recording, the worst first, and what all of them together show (stragglers).

        `steps`, `top`: as Trace.report. Raises ValueError, naming the file, where one has no span of that name.
        """
        request = (steps, False, None, None, top)
        recordings = [trace._recording for trace in self.traces]
        return Report(_core.report_json(recordings, _core.Request(*request)), ReportText(self, request))

    def _report_text(self, request: tuple[Any, ...], width: int, colour: bool) -> str:
        return _core.report_text([trace._recording for trace in self.traces], _core.Request(*request), width, colour)

    def __repr__(self) -> str:
        return f"<stepscope.Run: {len(self)} recordings>"


class _Progress:
    """A bar of tqdm for a file that takes a while; nothing where tqdm is missing."""

    def __init__(self, path: str) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

        self._bar: Any = tqdm(unit="B", unit_scale=True, desc=os.path.basename(path), leave=False, delay=1.0)

    def __call__(self, bytes_read: int, bytes_total: int | None) -> None:
        self._bar.total = bytes_total
        self._bar.update(bytes_read - self._bar.n)

    def close(self) -> None:
        self._bar.close()


@contextmanager
def progress_bar(path: str, wanted: bool) -> Iterator[_Progress | None]:
    bar = None
    if wanted:
        try:
            bar = _Progress(path)
        except ImportError:
            pass
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


def _read(path: str, threads: int, progress: bool) -> list[_core.Recording]:
    with progress_bar(path, progress) as bar:
        return _core.read(os.fsencode(path), threads, bar)


def _load_one(file: FileStamp, index: int, threads: int) -> Trace:
    return Trace(_core.read(os.fsencode(file.check()), threads)[index], (file, index, threads))


def capture_at(path: str) -> Trace:
    """What this process (or the one that pickled it) captured; the file at `path` goes away, so nothing names it."""
    return Trace(_core.read(os.fsencode(path), source=b"this process")[0], None)


def _load_bytes(content: bytes) -> Trace:
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        path = os.path.join(folder, "trace.json.gz")
        with open(path, "wb") as file:
            file.write(content)
        return capture_at(path)


@overload
def load(path: PathLike, *, threads: int = 0, progress: bool = True) -> Trace: ...  # type: ignore[overload-overlap]
@overload
def load(path: Sequence[PathLike], *, threads: int = 0, progress: bool = True) -> Run: ...
def load(path: PathLike | Sequence[PathLike], *, threads: int = 0, progress: bool = True) -> Trace | Run:
    """Reads recordings of any format that Stepscope knows, plain or gzip, whatever the file is called.

    One path gives the file's trace (the first, where it holds several); a list gives a `Run` with every recording of
    every file. `threads`: 0 for as many as the process may use. `progress`: show a bar where tqdm is installed.

    Raises FileNotFoundError, PermissionError or OSError as opening a file does, FileNotFoundError for an empty list too (a
    pattern that found nothing), and TraceError (a ValueError with
    `file` and `offset`) where nothing in it can be used. Damage that costs single events raises nothing: the report
    counts it.
    """
    if isinstance(path, (str, os.PathLike)):
        where = os.fspath(path)
        file = FileStamp(where)  # before the reading: a file that is written meanwhile is another one
        return Trace(_read(where, threads, progress)[0], (file, 0, threads))
    traces = []
    for each in path:
        where = os.fspath(each)
        file = FileStamp(where)
        for index, recording in enumerate(_read(where, threads, progress)):
            traces.append(Trace(recording, (file, index, threads)))
    if not traces:
        raise FileNotFoundError("no file is named: the list is empty")
    return Run(traces)
