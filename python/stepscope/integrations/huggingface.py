"""A callback for Hugging Face's Trainer: records some steps, then prints where their time went.

    from stepscope.integrations.huggingface import StepscopeCallback
    Trainer(model, args, train_dataset=data, callbacks=[StepscopeCallback(active=3)])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._recorder import StepRecorder


class StepscopeCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Records `active` optimizer steps after `wait` and `warmup` ones, once in each train().

    `directory`: where the Chrome trace is written too, under torch's file name. `recorded`: arguments of
    stepscope.torch.profile. The report is printed by the first process and kept in `report`.
    """

    def __init__(
        self, wait: int = 5, warmup: int = 2, active: int = 3, directory: str | None = None, **recorded: Any
    ) -> None:
        self._recorder = StepRecorder(wait, warmup, active, directory, recorded)

    @property
    def report(self) -> Any:
        return self._recorder.report

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.begin(prints=state.is_world_process_zero)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder.end()
