"""How far a run's reading is, with rate and time left: a line on a terminal, a bar of tqdm, or the caller's function."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO


@dataclass(frozen=True)
class Progress:
    """What is done: files and bytes as stored. `total_bytes` is None where a store does not say sizes."""

    done_count: int
    total_count: int
    done_bytes: int
    total_bytes: int | None
    elapsed_s: float

    @property
    def bytes_per_s(self) -> float:
        """Bytes as stored, over the time so far."""
        return self.done_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds to the end at the rate so far; None while nothing is done."""
        if self.total_bytes:
            share = self.done_bytes / self.total_bytes
        else:
            share = self.done_count / self.total_count if self.total_count else 0.0
        return self.elapsed_s * (1 - min(share, 1.0)) / share if share > 0 else None

    def __str__(self) -> str:
        text = f"reading: {self.done_count:,} of {self.total_count:,} files"
        if self.total_bytes:
            text += f", {_size(self.done_bytes)} of {_size(self.total_bytes)}"
        if self.done_bytes:
            text += f", {_size(self.bytes_per_s)}/s"
        left = self.left_s
        return text if left is None else f"{text}, {_time(left)} left"


Listener = Callable[[Progress], object]


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    if whole < 90 * 60:
        return f"{whole / 60:.0f} min"
    return f"{whole / 3600:.1f} h"


class Line:
    """A line on the terminal that is wiped at the end; nothing where the output is no terminal."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._is_shown = self._out.isatty()
        self._last_s = 0.0
        self._is_drawn = False

    def __call__(self, now: Progress) -> None:
        # Half a second: less is over before it can be read.
        if not self._is_shown or now.elapsed_s < 0.5 or now.elapsed_s - self._last_s < 0.1:
            return
        self._last_s = now.elapsed_s
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r{str(now)[:width]}\x1b[K")
        self._is_drawn = True

    def close(self) -> None:
        if self._is_drawn:
            self._write("\r\x1b[K")
            self._is_drawn = False

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except OSError:
            self._is_shown = False  # progress that cannot be shown is no reason to stop


class Bar:
    """tqdm's bar. Raises ImportError where tqdm is missing."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

        self._make = tqdm
        self._bar: Any = None

    def __call__(self, now: Progress) -> None:
        by_bytes = bool(now.total_bytes)
        if self._bar is None:
            total = now.total_bytes if by_bytes else now.total_count
            self._bar = self._make(
                total=total, unit="B" if by_bytes else "files", unit_scale=by_bytes, leave=False, delay=1.0
            )
        self._bar.set_description(f"{now.done_count:,} of {now.total_count:,} files", refresh=False)
        self._bar.update((now.done_bytes if by_bytes else now.done_count) - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Meter:
    """Counts, and tells the listener. `progress`: True for a bar (tqdm) or a line, False for nothing, or a function."""

    def __init__(self, total_count: int, total_bytes: int | None, progress: bool | Listener) -> None:
        self._total_count = total_count
        self._total_bytes = total_bytes
        self._done_count = 0
        self._done_bytes = 0
        self._under_way: dict[object, int] = {}
        self._start_s = time.monotonic()
        self._listener: Listener | None = None
        if callable(progress):
            self._listener = progress
        elif progress:
            try:
                self._listener = Bar()
            except ImportError:
                self._listener = Line()

    def finished(self, key: object, size_bytes: int | None) -> None:
        """A file is done. Tells the listener."""
        self._under_way.pop(key, None)
        self._done_count += 1
        self._done_bytes += size_bytes or 0
        self.tell()

    def reading(self, key: object, bytes_read: int) -> None:
        """A file is under way. Tells the listener."""
        self._under_way[key] = bytes_read
        self.tell()

    def tell(self) -> None:
        if self._listener is None:
            return
        done = self._done_bytes + sum(self._under_way.values())
        if self._total_bytes:
            done = min(done, self._total_bytes)
        elapsed = time.monotonic() - self._start_s
        self._listener(Progress(self._done_count, self._total_count, done, self._total_bytes, elapsed))

    def close(self) -> None:
        close = getattr(self._listener, "close", None)
        if close is not None:
            close()
