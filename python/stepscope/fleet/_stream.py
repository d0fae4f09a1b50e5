"""A file of a store as a pipe that the compiled reader reads: never whole in memory.

Two threads: one fetches blocks ahead of need, one writes them into the pipe. At most `AHEAD_COUNT + 2` blocks exist at a
time (one being fetched, the waiting ones, one being written). A fetch that fails is tried again from the byte where it
broke; what is given up is an error of its own and never looks like a file that ends early.
"""

from __future__ import annotations

import fcntl
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

T = TypeVar("T")

# One request of a store takes 10 to 50 ms before its first byte: blocks of this size hide it at 100 MB/s and more.
BLOCK_BYTES = 4 << 20
AHEAD_COUNT = 2
_PIPE_BYTES = 1 << 20  # what Linux grants to everyone
_PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, ImportError, NotImplementedError)


class ReadFailed(OSError):
    """Reading was given up; `__cause__` is the last error, `offset` the byte at which it broke."""

    def __init__(self, offset: int, tries: int) -> None:
        super().__init__(f"reading broke at byte {offset:,}, {tries} times")
        self.offset = offset


def read_blocks(
    open_at: Callable[[int], BinaryIO],
    size_bytes: int | None,
    tries: int,
    is_permanent: Callable[[BaseException], bool] = lambda error: isinstance(error, _PERMANENT),
    wait: Callable[[float], object] = time.sleep,
) -> Iterator[bytes]:
    """The blocks of a file. `tries`: how often the same place may fail before ReadFailed is raised.

    Permanent errors (no such file, no permission, no credentials) are raised as they are, at once.
    """
    offset = 0
    failures = 0
    file: BinaryIO | None = None
    try:
        while True:
            try:
                if file is None:
                    file = open_at(offset)
                block = file.read(BLOCK_BYTES)
                if not block and size_bytes is not None and offset < size_bytes:
                    raise ConnectionError(f"the connection ended {size_bytes - offset:,} bytes early")
            except Exception as error:
                failures += 1
                _close(file)
                file = None
                if is_permanent(error):
                    raise
                if failures >= tries:
                    raise ReadFailed(offset, failures) from error
                wait(min(0.25 * 2**failures, 8.0))
                continue
            if not block:
                return
            failures = 0
            offset += len(block)
            yield block
    finally:
        _close(file)


def _close(file: BinaryIO | None) -> None:
    try:
        if file is not None:
            file.close()
    except Exception:
        pass  # nothing was written


class _Feeder:
    """Runs the two threads; `error` is what the fetching ended with, if it did not reach the end."""

    def __init__(self, blocks: Iterator[bytes], into: int) -> None:
        self.error: BaseException | None = None
        self._blocks = blocks
        self._into = into
        self._ready: queue.Queue[bytes | None] = queue.Queue(maxsize=AHEAD_COUNT)
        self._is_over = threading.Event()  # nobody reads any more
        # Daemons: a fetch that hangs must not keep the process.
        self._fetcher = threading.Thread(target=self._fetch, name="stepscope-fetch", daemon=True)
        self._writer = threading.Thread(target=self._write, name="stepscope-feed", daemon=True)

    def start(self) -> None:
        self._fetcher.start()
        self._writer.start()

    def finish(self) -> None:
        """Once the reader has closed its end. Waits for what is under way in the pipe, not in the network."""
        self._is_over.set()
        self._writer.join()

    def _fetch(self) -> None:
        try:
            for block in self._blocks:
                if not self._put(block):
                    return
        except BaseException as error:
            self.error = error
        self._put(None)

    def _put(self, block: bytes | None) -> bool:
        while not self._is_over.is_set():
            try:
                self._ready.put(block, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _write(self) -> None:
        try:
            while (block := self._take()) is not None:
                rest = memoryview(block)
                while rest:
                    rest = rest[os.write(self._into, rest) :]
        except BrokenPipeError:
            pass  # the reader has seen enough
        finally:
            os.close(self._into)

    def _take(self) -> bytes | None:
        while True:
            try:
                return self._ready.get(timeout=0.1)
            except queue.Empty:
                if self._is_over.is_set():
                    return None


def through_pipe(blocks: Iterator[bytes], read: Callable[[bytes], T]) -> T:
    """What `read` makes of a path under which the blocks come one after another.

    An error of the blocks comes before any of `read`, which then saw only a part.
    """
    reading, writing = os.pipe()
    try:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (OSError, AttributeError):
        pass  # 64 KiB then (Python 3.10, or a user with many pipes)
    feeder = _Feeder(blocks, writing)
    feeder.start()
    result: T | None = None
    failure: Exception | None = None
    try:
        result = read(f"/dev/fd/{reading}".encode())
    except Exception as error:
        failure = error
    finally:
        os.close(reading)
        feeder.finish()
    if feeder.error is not None:
        raise feeder.error
    if failure is not None:
        raise failure
    assert result is not None
    return result
