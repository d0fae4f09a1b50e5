"""One file of the run to the bytes of its summary: what every engine does, wherever it runs.

A file that cannot be read is an answer too: a summary that names it and says why. Only what is wrong with the whole run
(a package that is missing, another version) is raised.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ._files import _CREDENTIAL_ERRORS, Source, StoreError, describe, open_at
from ._stream import BLOCK_BYTES, ReadFailed, read_blocks, through_pipe

# Enough to tell a summary, which is read whole, from all else, which is not.
_FIRST_BYTES = 64

Progress = Callable[[int, "int | None"], object]


@dataclass(frozen=True)
class Asked:
    """What is asked beyond the files; the same for all of them.

    `steps`: name of the span that is one step; `device`: CUDA ordinal; `peak_flops`: FLOP/s of one GPU, dense; `tries`:
    how often a read may fail at one place, and how often a file may take its reader down.
    """

    steps: str = ""
    device: int | None = None
    peak_flops: float | None = None
    tries: int = 3
    storage_options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:  # never the storage options: they may hold keys
        return f"Asked(steps={self.steps!r}, device={self.device}, peak_flops={self.peak_flops}, tries={self.tries})"


# An answer that travels as every other does, through whichever engine: `refuse_wrong` raises it where all come together.
_WRONG = "wrong usage: "


class WrongAsked(ValueError):
    """What was asked does not fit a file: a span or a device that it does not have."""


def refuse_wrong(summary: bytes) -> bytes:
    """The bytes as they are, or WrongAsked."""
    for _, reason in _core.summary_unreadable(summary):
        if reason.startswith(_WRONG):
            raise WrongAsked(reason.removeprefix(_WRONG))
    return summary


def summarize(source: Source, asked: Asked, threads: int = 1, progress: Progress | None = None) -> bytes:
    """The summary of a file; raises as `stepscope.load` does, StoreError for URLs, and WrongAsked."""

    def read(path: bytes) -> bytes:
        try:
            return _core.summarize(
                path,
                source=os.fsencode(source.name),
                threads=threads,
                progress=progress,
                steps=asked.steps,
                device=asked.device,
                peak_flops=asked.peak_flops,
            )
        except _core.TraceError:
            raise
        except ValueError as error:
            raise WrongAsked(f"{source.name}: {error}") from None

    def take(summary: bytes) -> bytes:
        wrong = _core.check_asked_of_summary(
            summary, os.fsencode(source.name), asked.steps, asked.device, asked.peak_flops
        )
        if wrong:
            raise WrongAsked(wrong)
        return _core.merge_summaries([summary])

    if source.is_local:
        path = source.path or source.url
        if os.path.isfile(path):
            with open(path, "rb") as file:
                first = file.read(_FIRST_BYTES)
                if _core.is_summary(first):
                    return take(first + file.read())
        return read(os.fsencode(path))
    blocks = read_blocks(
        lambda offset: open_at(source, asked.storage_options, offset, BLOCK_BYTES),
        source.size_bytes,
        asked.tries,
        _is_permanent,
    )
    first = next(blocks, b"")
    if _core.is_summary(first):
        return take(first + b"".join(blocks))
    return through_pipe(itertools.chain([first], blocks), read)


def _is_permanent(error: BaseException) -> bool:
    kinds = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, ImportError, StoreError)
    return isinstance(error, kinds) or type(error).__name__ in _CREDENTIAL_ERRORS


def why(error: BaseException, source: Source) -> str:
    """The reason that stands beside an unreadable file: the same words whichever engine met it."""
    if isinstance(error, ReadFailed):
        cause = error.__cause__
        return f"{error.args[0]}: {describe(cause, source.url)}" if cause is not None else str(error.args[0])
    if isinstance(error, MemoryError):
        return "not enough memory to read it"
    if isinstance(error, StoreError):
        return str(error.strerror)
    if isinstance(error, _core.TraceError):
        return error.reason
    if source.is_local and isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    return describe(error, source.url)


def summarize_or_say_why(source: Source, asked: Asked, threads: int = 1, progress: Progress | None = None) -> bytes:
    """The summary of a file, or one that says why there is none."""
    try:
        return summarize(source, asked, threads, progress)
    except WrongAsked as error:
        return unreadable(source, _WRONG + str(error), "invalid_argument")
    except Exception as error:
        return unreadable(source, why(error, source), _code_of(error))


def _code_of(error: BaseException) -> str:
    """docs/formats/report.md has the words."""
    cause = error.__cause__ if isinstance(error, ReadFailed) and error.__cause__ is not None else error
    if isinstance(cause, _core.TraceError):
        return cause.code
    if isinstance(cause, FileNotFoundError):
        return "not_found"
    return "permission" if isinstance(cause, PermissionError) else "io"


def unreadable(source: Source, reason: str, code: str = "io") -> bytes:
    return _core.unreadable_summary(os.fsencode(source.name), reason, code)


def reader_died(source: Source, tries: int) -> bytes:
    """The answer for a file that takes its reader down each time."""
    return unreadable(source, f"the process that read it died {tries} times")
