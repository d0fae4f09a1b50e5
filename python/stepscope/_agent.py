"""The agent inside this process: one capture at a time, begun and ended by the program.

The agent hears every operator of PyTorch on all threads and every kernel, copy and set of the GPU, and writes them to a
file; see docs/run.md of the project. Nothing is loaded before the first capture.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

_TEXT_BYTES = 4096


class CaptureError(RuntimeError):
    """No capture could be begun or finished; the text says why."""


def path() -> Path:
    """Where the agent's library lies."""
    return Path(__file__).parent / "lib" / "stepscope" / "libstepscope_agent.so"


@lru_cache(maxsize=1)
def _library() -> ctypes.PyDLL:
    # A copy that is in the process already (stepscope run) is the one to ask. PyDLL: the agent looks at the frames of
    # the calling thread, which must hold the GIL meanwhile.
    for library in (ctypes.PyDLL(None), None):
        if library is None:
            library = ctypes.PyDLL(str(path()))
        if hasattr(library, "stepscope_agent_warm_up"):
            library.stepscope_agent_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
            library.stepscope_agent_begin.restype = ctypes.c_int
            library.stepscope_agent_end.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            library.stepscope_agent_end.restype = ctypes.c_int
            for name in ("stepscope_agent_warm_up", "stepscope_agent_start", "stepscope_agent_stop"):
                getattr(library, name).argtypes = []
                getattr(library, name).restype = None
            return library
    raise CaptureError("the agent in this process is older than this package")


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.value.decode("utf-8", "surrogateescape")


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace(";", "%3B")


def begin(directory: str, *, shapes: bool, stacks: bool, allocations: bool, gpu: bool) -> None:
    """Gets ready to record into a new file in `directory`; nothing is recorded before `start`."""
    options = (
        f"directory={_escape(directory)};shapes={shapes:d};stacks={stacks:d};allocations={allocations:d};gpu={gpu:d}"
    )
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    if _library().stepscope_agent_begin(options.encode("utf-8", "surrogateescape"), buffer, _TEXT_BYTES) != 1:
        raise CaptureError(_text(buffer) or "the capture could not be begun")


def warm_up() -> None:
    """Meets every operator, label and stack from now on without recording it, and starts CUPTI once: the first recorded step
    does not pay for that then."""
    _library().stepscope_agent_warm_up()


def start() -> None:
    """Records from now on."""
    _library().stepscope_agent_start()


def stop() -> None:
    """Records no more. Does not wait for the GPU: what was launched is still collected by `end`."""
    _library().stepscope_agent_stop()


def end() -> str | None:
    """The path of the finished file; None: nothing was recorded."""
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    if _library().stepscope_agent_end(buffer, _TEXT_BYTES) == 1:
        return _text(buffer)
    if reason := _text(buffer):
        raise CaptureError(reason)
    return None
