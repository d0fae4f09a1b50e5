"""A callback for PyTorch Lightning: records some steps, then prints where their time went.

    from stepscope.integrations.lightning import StepscopeCallback
    trainer = Trainer(callbacks=[StepscopeCallback(active=3)])
"""

from __future__ import annotations

import sys
from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ModuleNotFoundError:  # the package's older name
    from pytorch_lightning.callbacks import Callback  # type: ignore[import-not-found,no-redef,unused-ignore]

from ..torch import profile, schedule


class StepscopeCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Records `active` training batches after `wait` and `warmup` ones, once in each fit.

    `directory`: where the Chrome trace is written too, under torch's file name. `recorded`: arguments of
    stepscope.torch.profile. The report is printed by rank 0 and kept in `report`.
    """

    def __init__(
        self, wait: int = 5, warmup: int = 2, active: int = 3, directory: str | None = None, **recorded: Any
    ) -> None:
        self._plan = {"wait": wait, "warmup": warmup, "active": active, "repeat": 1}
        self._directory = directory
        self._recorded = recorded
        self._profile: profile | None = None
        self.report: Any = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._is_first = trainer.is_global_zero
        self._profile = profile(schedule=schedule(**self._plan), on_trace_ready=self._ready, **self._recorded)
        self._profile.start()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        if self._profile is not None:
            self._profile.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._stop()

    def _stop(self) -> None:
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
