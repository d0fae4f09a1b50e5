"""A callback for PyTorch Lightning: records some steps, then prints where their time went.

    from stepscope.integrations.lightning import StepscopeCallback
    trainer = Trainer(callbacks=[StepscopeCallback(active=3)])
"""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ModuleNotFoundError:  # the package's older name
    from pytorch_lightning.callbacks import Callback  # type: ignore[import-not-found,no-redef,unused-ignore]

from ._recorder import StepRecorder


class StepscopeCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Records `active` training batches after `wait` and `warmup` ones, once in each fit.

    `directory`: where the Chrome trace is written too, under torch's file name. `recorded`: arguments of
    stepscope.torch.profile. The report is printed by rank 0 and kept in `report`.
    """

    def __init__(
        self, wait: int = 5, warmup: int = 2, active: int = 3, directory: str | None = None, **recorded: Any
    ) -> None:
        self._recorder = StepRecorder(wait, warmup, active, directory, recorded)

    @property
    def report(self) -> Any:
        return self._recorder.report

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.begin(prints=trainer.is_global_zero)

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self._recorder.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._recorder.end()
