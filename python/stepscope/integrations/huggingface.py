"""A callback for Hugging Face's Trainer: records some steps, then prints where their time went.

    from stepscope.integrations.huggingface import StepscopeCallback
    Trainer(model, args, train_dataset=data, callbacks=[StepscopeCallback(active=3)])
"""

from __future__ import annotations

import sys
from typing import Any

from transformers import TrainerCallback

from ..torch import profile, schedule


class StepscopeCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Records `active` optimizer steps after `wait` and `warmup` ones, once in each train().

    `directory`: where the Chrome trace is written too, under torch's file name. `recorded`: arguments of
    stepscope.torch.profile. The report is printed by the first process and kept in `report`.
    """

    def __init__(
        self, wait: int = 5, warmup: int = 2, active: int = 3, directory: str | None = None, **recorded: Any
    ) -> None:
        self._plan = {"wait": wait, "warmup": warmup, "active": active, "repeat": 1}
        self._directory = directory
        self._recorded = recorded
        self._profile: profile | None = None
        self.report: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._is_first = state.is_world_process_zero
        self._profile = profile(schedule=schedule(**self._plan), on_trace_ready=self._ready, **self._recorded)
        self._profile.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._profile is not None:
            self._profile.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        ended, self._profile = self._profile, None
        if ended is not None:
            ended.stop()

    def _ready(self, prof: profile) -> None:
        if self._directory is not None:
            from ..torch import tensorboard_trace_handler

            tensorboard_trace_handler(self._directory, use_gzip=True)(prof)
        self.report = prof.report()
        if self._is_first:
            print(self.report, file=sys.stderr)
