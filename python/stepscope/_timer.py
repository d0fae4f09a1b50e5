"""Timer: torch.utils.benchmark's interface over the library's own Timer.

    >>> from stepscope import Timer
    >>> print(Timer("x + 1", globals={"x": 1}, label="add").blocked_autorange())      # doctest: +SKIP

Blocks are sized so that the clock's cost is at most 1e-4 of one; a GPU is waited for at both ends of each; the median is
reported with its spread. Works without torch; where torch is loaded, `num_threads` sets torch's threads too.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from . import _core

Measurement = _core.Measurement
BlockCallback = Callable[[int, float], object]

# The loop around the statement, as timeit has it: `it` runs without a name look-up, the setup's names are local.
_TEMPLATE = """
def _make():
{setup}
    def _run(_count):
        for _ in range(_count):
{statement}
    return _run
"""


def _compile(stmt: str, setup: str, names: dict[str, Any]) -> Callable[[int], None]:
    source = _TEMPLATE.format(
        setup=textwrap.indent(textwrap.dedent(setup) or "pass", " " * 4),
        statement=textwrap.indent(textwrap.dedent(stmt) or "pass", " " * 12),
    )
    # Compiled on their own first, so that a mistake shows its own line and not ours.
    compile(textwrap.dedent(setup), "<setup>", "exec")
    compile(textwrap.dedent(stmt), "<stmt>", "exec")
    scope = dict(names)
    exec(compile(source, "<stepscope.Timer>", "exec"), scope)  # the user's own code
    run: Callable[[int], None] = scope["_make"]()
    return run


def _torch_threads() -> Callable[[int], int] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None

    def set_threads(count: int) -> int:
        before = int(torch.get_num_threads())
        torch.set_num_threads(count)
        return before

    return set_threads


class Timer:
    """How long `stmt` takes, a run of it.

    `stmt`: code, or a callable without arguments. `setup`: code that runs once, before anything is timed, and whose
    names the statement sees. `timer`: tells seconds, and waits for a device where there is one; left out, the library's
    clocks do. `globals`: further names. `num_threads`: of torch's CPU operators. `label`, `sub_label`, `description`, `env`
    say in tables (`compare`) what was timed. `language`: Python only; C++ has stepscope/timer.h.

    All methods give a `Measurement`, whose times are seconds of one run.
    """

    def __init__(
        self,
        stmt: str | Callable[[], object] = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] | None = None,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: object = "python",
    ) -> None:
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise ValueError(f"language: Python alone, not {language!r}; C++ has stepscope/timer.h")
        if global_setup:
            raise ValueError("global_setup belongs to C++ snippets, which this Timer does not time")
        if num_threads < 1:
            raise ValueError(f"num_threads: 1 or more, not {num_threads}")
        names = dict(globals or {})
        if callable(stmt):
            names["_stmt"] = stmt
            text, code = getattr(stmt, "__name__", "callable"), "_stmt()"
        else:
            text = code = textwrap.dedent(stmt)
        self._timer = _core.Timer(
            _compile(code, setup, names),
            num_threads,
            _torch_threads(),
            timer,
            text.strip(),
            "" if setup == "pass" else setup.strip(),
            label or "",
            sub_label or "",
            description or "",
            env or "",
        )

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of `number` runs, after max(number // 100, 2) runs of warm-up."""
        return self._timer.timeit(number)

    def blocked_autorange(self, callback: BlockCallback | None = None, min_run_time: float = 0.2) -> Measurement:
        """As many blocks as fill `min_run_time` seconds; their size is found first."""
        return self._timer.blocked_autorange(min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: BlockCallback | None = None,
    ) -> Measurement:
        """Blocks until IQR / median < `threshold`, or until `max_run_time` seconds have passed."""
        return self._timer.adaptive_autorange(threshold, min_run_time, max_run_time, callback)


    # What torch's Timer has and does not do, and what this one does not do.

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there, as in torch: `blocked_autorange` and `timeit` are."""
        raise NotImplementedError("see Timer.blocked_autorange")

    def autorange(self, callback: BlockCallback | None = None) -> None:
        """Not there, as in torch: `blocked_autorange` is."""
        raise NotImplementedError("see Timer.blocked_autorange")

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Not there: instructions are Valgrind's to count."""
        raise NotImplementedError("instructions are not counted here; torch.utils.benchmark.Timer does, with Valgrind")


def compare(
    measurements: Sequence[Measurement],
    *,
    width: int = 80,
    trim_significant_figures: bool = False,
    colorize: bool = False,
    highlight_warnings: bool = False,
) -> str:
    """Measurements as a table: a row a sub_label, a column a description."""
    return _core.compare(list(measurements), width, trim_significant_figures, colorize, highlight_warnings)
