"""What the callbacks of all frameworks do: record some steps of one training, then report on them."""

from __future__ import annotations

import sys
from typing import Any

from ..torch import profile, schedule, tensorboard_trace_handler


class StepRecorder:
    """One profile a training. `report`: of the last training that was long enough, else None."""

    def __init__(self, wait: int, warmup: int, active: int, directory: str | None, recorded: dict[str, Any]) -> None:
        self._plan = {"wait": wait, "warmup": warmup, "active": active, "repeat": 1}
        self._directory = directory
        self._recorded = recorded
        self._profile: profile | None = None
        self._prints = False
        self.report: Any = None

    def begin(self, prints: bool) -> None:
        """Before the first step. `prints`: the report goes to standard error too."""
        self._prints = prints
        self._profile = profile(schedule=schedule(**self._plan), on_trace_ready=self._ready, **self._recorded)
        self._profile.start()

    def step(self) -> None:
        """After each step."""
        if self._profile is not None:
            self._profile.step()

    def end(self) -> None:
        """After the last step, or where training failed; more than once is fine."""
        ended, self._profile = self._profile, None
        if ended is not None:
            ended.stop()

    def _ready(self, prof: profile) -> None:
        if self._directory is not None:
            tensorboard_trace_handler(self._directory, use_gzip=True)(prof)
        self.report = prof.report()
        if self._prints:
            print(self.report, file=sys.stderr)
