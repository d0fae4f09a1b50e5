"""The engine `local`: a pool of reading processes over the cores of this machine, within a bound of memory.

A file is given to a process of its own for as long as it is read, so that one that takes its reader down (a fault of
ours, the kernel's out-of-memory killer) costs a process and not the run: it is tried again, alone, and after
`Asked.tries` deaths it counts as unreadable. Threads were rejected for that reason; concurrent.futures because one dead
process there breaks the pool and does not say whose file it had.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any

from ._files import Source
from ._machine import available_memory_bytes, core_count
from ._progress import Meter
from ._task import Asked, reader_died, summarize_or_say_why
from ._worker import FAILED, HEADER, LENGTH, PEAK, PROGRESS, READY, SUMMARY, read_exactly

# Memory of a reader before its first file, and for each byte of a file as stored, until files of this run have been
# measured. docs/scale.md has the figures; too high costs a little concurrency at the start, too low risks the machine.
_BASE_BYTES = 96 << 20
_BYTES_PER_BYTE = {False: 1.5, True: 20.0}  # plain, gzip (traces shrink 9 to 20 times)
# Of the memory that can be had: the rest is left to the merging and to others.
_MEMORY_SHARE = 0.7


class WorkerFailed(RuntimeError):
    """The reading processes cannot work at all: what they said is in the message."""


class _Died(Exception):
    def __init__(self, return_code: int) -> None:
        self.return_code = return_code


class _Reader:
    """One process, spoken to by one thread."""

    def __init__(self, errors: IO[bytes]) -> None:
        environment = dict(os.environ)
        # The package where this process found it, whatever changed sys.path.
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stepscope.fleet._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for us; we end the readers
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def wait_until_ready(self) -> None:
        if self._receive()[0] != READY:
            raise _Died(self._process.wait())

    def read(self, source: Source, asked: Asked, threads: int, meter_queue: queue.Queue[Any]) -> tuple[bytes, int]:
        """The summary and the peak of memory in bytes (0: unknown)."""
        request = pickle.dumps((source, asked, threads))
        try:
            self._to.write(LENGTH.pack(len(request)) + request)
            self._to.flush()
        except OSError:
            raise _Died(self._process.wait()) from None
        while True:
            kind, content = self._receive()
            if kind == PROGRESS:
                meter_queue.put((source, LENGTH.unpack(content)[0]))
            elif kind == SUMMARY:
                return content[PEAK.size :], PEAK.unpack_from(content)[0]
            elif kind == FAILED:
                raise WorkerFailed(content.decode())

    def _receive(self) -> tuple[bytes, bytes]:
        header = read_exactly(self._from, HEADER.size)
        if header is not None:
            kind, length = HEADER.unpack(header)
            content = read_exactly(self._from, length)
            if content is not None:
                return kind, content
        raise _Died(self._process.wait())

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        for end in (self._to, self._from):
            try:
                end.close()
            except OSError:
                pass  # the process is gone
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Memory:
    """Lets a file be read when what all readers need at most fits the bound; one alone is always let in."""

    def __init__(self, bound_bytes: int | None) -> None:
        self._bound_bytes = bound_bytes
        self._granted_bytes = 0
        self._reader_count = 0
        self._ratio = dict(_BYTES_PER_BYTE)
        self._is_measured = {False: False, True: False}
        self._changed = threading.Condition()
        self._is_over = False

    def enter(self, source: Source, alone: bool) -> int | None:
        """Waits. The bytes granted; None when the run is over."""
        with self._changed:
            while not self._is_over:
                need = self._need(source, alone)
                bound = self._bound_bytes
                if self._reader_count == 0 or (not alone and (bound is None or self._granted_bytes + need <= bound)):
                    self._reader_count += 1
                    self._granted_bytes += need
                    return need
                self._changed.wait()
            return None

    def leave(self, granted: int, source: Source, peak_bytes: int) -> None:
        with self._changed:
            self._reader_count -= 1
            self._granted_bytes -= granted
            if peak_bytes and source.size_bytes:
                kind = _is_gzip(source)
                ratio = max(0.0, peak_bytes - _BASE_BYTES) / source.size_bytes
                # The first measurement replaces the guess; after it the largest counts.
                self._ratio[kind] = max(self._ratio[kind], ratio) if self._is_measured[kind] else ratio
                self._is_measured[kind] = True
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _need(self, source: Source, alone: bool) -> int:
        if alone and self._bound_bytes is not None:
            return self._bound_bytes
        return _BASE_BYTES + int((source.size_bytes or 0) * self._ratio[_is_gzip(source)])


def _is_gzip(source: Source) -> bool:
    return source.name.endswith(".gz")


class _Pool:
    def __init__(self, sources: Sequence[Source], asked: Asked, jobs: int, threads: int, memory: _Memory) -> None:
        self._asked = asked
        self._threads = threads
        self._memory = memory
        self._todo: queue.SimpleQueue[tuple[Source, int]] = queue.SimpleQueue()
        # Large files first: a long one that begins last would be waited for alone.
        for source in sorted(sources, key=lambda source: -(source.size_bytes or 0)):
            self._todo.put((source, 0))
        self._guard = threading.Lock()
        # (source, summary), (source, bytes read) or an exception.
        self.events: queue.Queue[Any] = queue.Queue()
        self._errors = tempfile.TemporaryFile()
        self._readers: set[_Reader] = set()
        self._is_over = threading.Event()
        self._threads_of_it = [threading.Thread(target=self._run, daemon=True) for _ in range(jobs)]
        for thread in self._threads_of_it:
            thread.start()

    def close(self) -> None:
        """Ends whatever still runs."""
        self._is_over.set()
        self._memory.end()
        for _ in self._threads_of_it:
            self._todo.put((Source("", ""), -1))
        with self._guard:
            for reader in self._readers:
                reader.kill()
        for thread in self._threads_of_it:
            thread.join()
        self._errors.close()

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:
            if not self._is_over.is_set():
                self.events.put(error)

    def _serve(self) -> None:
        reader: _Reader | None = None
        try:
            while True:
                source, deaths = self._todo.get()
                if deaths < 0 or self._is_over.is_set():
                    return
                granted = self._memory.enter(source, alone=deaths > 0)
                if granted is None:
                    return
                peak = 0
                try:
                    if reader is None:
                        reader = self._start()
                    summary, peak = reader.read(source, self._asked, self._threads, self.events)
                except _Died as death:
                    self._drop(reader)
                    reader = None
                    self._died(source, deaths + 1, death.return_code)
                else:
                    self._give(source, summary)
                finally:
                    self._memory.leave(granted, source, peak)
        finally:
            self._drop(reader)

    def _start(self) -> _Reader:
        reader = _Reader(self._errors)
        with self._guard:
            self._readers.add(reader)
        try:
            reader.wait_until_ready()
        except _Died as death:
            self._drop(reader)
            raise WorkerFailed(f"a reading process ended at its start ({_end(death.return_code)}): {self._said()}") from None
        return reader

    def _drop(self, reader: _Reader | None) -> None:
        if reader is None:
            return
        with self._guard:
            self._readers.discard(reader)
        reader.close()

    def _died(self, source: Source, deaths: int, return_code: int) -> None:
        if self._is_over.is_set():
            return
        if deaths < self._asked.tries:
            self._todo.put((source, deaths))
            return
        self.events.put(f"{source.name}: the process that read it died {deaths} times, last: {_end(return_code)}")
        self._give(source, reader_died(source, deaths))

    def _give(self, source: Source, summary: bytes) -> None:
        self.events.put((source, summary))

    def _said(self) -> str:
        end = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, end - 2000))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def _end(return_code: int) -> str:
    if return_code >= 0:
        return f"exit status {return_code}"
    name = signal.Signals(-return_code).name if -return_code in list(signal.Signals) else f"signal {-return_code}"
    return name + (" (the machine may be short of memory)" if -return_code == signal.SIGKILL else "")


def run(
    sources: Sequence[Source], asked: Asked, meter: Meter, jobs: int | None, memory_bytes: int | None, remarks: list[str]
) -> Iterator[bytes]:
    """A summary for each source, as they come. `remarks` gets what is worth telling beside the answer."""
    here = [source for source in sources if source.is_of_this_process]
    elsewhere = [source for source in sources if not source.is_of_this_process]
    for source in here:  # no other process sees them
        yield summarize_or_say_why(source, asked, jobs or core_count())
        meter.finished(source, source.size_bytes)
    if not elsewhere:
        return
    cores = core_count()
    count = min(jobs or cores, len(elsewhere))
    if memory_bytes is None:
        available = available_memory_bytes()
        memory_bytes = None if available is None else int(available * _MEMORY_SHARE)
    pool = _Pool(elsewhere, asked, count, max(1, (jobs or cores) // count), _Memory(memory_bytes))
    left = len(elsewhere)
    try:
        while left > 0:
            event = pool.events.get()
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, str):
                remarks.append(event)
                continue
            source, what = event
            if isinstance(what, int):
                meter.reading(source, what)
                continue
            left -= 1
            meter.finished(source, source.size_bytes)
            yield what
    finally:
        pool.close()
