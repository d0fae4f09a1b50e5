"""The process that reads files for the local pool: `python -m stepscope.fleet._worker`, spoken to over its pipes.

A process of its own by this way, and not by multiprocessing: that would either fork a program which may hold CUDA and
threads, or run the user's main module again.

    to it:    length (8 bytes), pickle of (Source, Asked, threads)
    from it:  kind (1 byte), length (8 bytes), content; kinds below
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import time
from typing import IO

READY, PROGRESS, SUMMARY, FAILED = b"r", b"p", b"s", b"f"
HEADER = struct.Struct("<cQ")
LENGTH = struct.Struct("<Q")
# Of a summary frame: the peak of this process's memory while it read, bytes; 0 if unknown.
PEAK = struct.Struct("<Q")

_PROGRESS_EVERY_S = 0.2


def read_exactly(file: IO[bytes], count: int) -> bytes | None:
    """None where the other side is gone."""
    content = file.read(count)
    return content if len(content) == count else None


class _Peak:
    """The high-water mark of resident memory, begun anew for each file (Linux; elsewhere unknown)."""

    def __init__(self) -> None:
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
            self._is_known = True
        except OSError:
            self._is_known = False

    def bytes(self) -> int:
        if not self._is_known:
            return 0
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0


def _serve(requests: IO[bytes], answers: int) -> None:
    from ._task import summarize_or_say_why

    def send(kind: bytes, content: bytes = b"") -> None:
        rest = memoryview(HEADER.pack(kind, len(content)) + content)
        while rest:
            rest = rest[os.write(answers, rest) :]

    send(READY)
    while (header := read_exactly(requests, LENGTH.size)) is not None:
        request = read_exactly(requests, LENGTH.unpack(header)[0])
        if request is None:
            return
        source, asked, threads = pickle.loads(request)
        last = 0.0

        def progress(bytes_read: int, bytes_total: int | None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _PROGRESS_EVERY_S:
                last = now
                send(PROGRESS, LENGTH.pack(bytes_read))

        peak = _Peak()
        try:
            summary = summarize_or_say_why(source, asked, threads, progress)
        except BaseException as error:
            send(FAILED, f"{type(error).__name__}: {error}".encode(errors="replace"))
            return
        send(SUMMARY, PEAK.pack(peak.bytes()) + summary)


def main() -> None:
    # What anybody prints goes to the error output; the answers keep the pipe for themselves.
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        _serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # nobody is there any more


if __name__ == "__main__":
    main()
