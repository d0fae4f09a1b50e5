"""What the callbacks of all frameworks do: record some steps of one training, then report on them."""

from __future__ import annotations

import sys
from typing import Any

from ..torch import profile, schedule, tensorboard_trace_handler


class StepRecorder:
    """One profile a training. `report`: of the last training that was long enough, else None.

    The window is whole when the step after its last one begins; the profile is ready then. One that the training's end
    cuts off gives no report: its last span is no step (saving, or half of one that failed), and fewer steps were asked
    about than were wanted. Why there is none is said in one line.
    """

    def __init__(self, wait: int, warmup: int, active: int, directory: str | None, recorded: dict[str, Any]) -> None:
        self._plan = {"wait": wait, "warmup": warmup, "active": active, "repeat": 1}
        self._directory = directory
        self._recorded = recorded
        self._profile: profile | None = None
        self._is_ready = False
        self._prints = False
        self.report: Any = None

    def begin(self, prints: bool) -> None:
        """Before the first step. `prints`: the report goes to standard error too."""
        self.end()  # of a training that failed where its framework tells callbacks nothing
        self._prints, self._is_ready = prints, False
        self._profile = profile(schedule=schedule(**self._plan), on_trace_ready=self._ready, **self._recorded)
        self._profile.start()

    def step(self) -> None:
        """After each step."""
        if self._profile is not None:
            self._profile.step()

    def end(self) -> None:
        """After the last step, or where training failed; more than once is fine."""
        ended, self._profile = self._profile, None
        if ended is None:
            return
        is_cut = not self._is_ready
        if is_cut:
            ended.on_trace_ready = None
        ended.stop()
        if is_cut and self._prints:
            wanted = ", ".join(f"{name} {self._plan[name]}" for name in ("wait", "warmup", "active"))
            print(f"stepscope: no report: training ended after {ended.step_num} whole steps of {wanted}", file=sys.stderr)

    def _ready(self, prof: profile) -> None:
        self._is_ready = True
        if self._directory is not None:
            tensorboard_trace_handler(self._directory, use_gzip=True)(prof)
        self.report = prof.report()
        if self._prints:
            print(self.report, file=sys.stderr)
