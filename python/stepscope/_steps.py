"""Timing a training loop: each step between two events in the stream, and the wait for its data apart from it.

    for batch in stepscope.steps(loader):
        train(batch)

prints at the end how long a step takes, how long the loop waited for data, and what that says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, TypeVar

from . import _core

T = TypeVar("T")
StepTimes = _core.StepTimes

# A loader that keeps the loop waiting for this share of its time is worth a look (docs/findings/data-loader-stall.md).
_STALL_RATIO = 0.05


class _AtEnd:
    """What a fetch gives when there is no more."""


_END = _AtEnd()


def _verdict(times: StepTimes) -> str:
    """One sentence: is it the data, or the step?"""
    data = times.data_median
    if data is None:
        return ""
    whole = data + times.median
    share = data / whole if whole > 0 else 0.0
    if share >= _STALL_RATIO:
        return (
            f"The loop waits for data during {share:.0%} of each step. With the data ready in time a step would take "
            f"about {_time_words(times.median)} instead of {_time_words(whole)}: try more workers, pinned memory, "
            "cheaper decoding."
        )
    return f"Data are ready in time ({share:.1%} of a step); the step itself is what to look at."


def _time_words(seconds: float) -> str:
    for unit, in_a_second in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * in_a_second >= 1:
            return f"{seconds * in_a_second:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


class steps(Iterable[T]):
    """Goes over `batches` and times what the loop's body does with each, and the fetching of each.

    The step is timed on the device where CUDA is used (an event before, one after; the host is not made to wait: the
    times are read at the end), else on the host. The first `warmup` steps are dropped. When the loop ends, by itself or
    by `break`, the times stand in `times` and a summary goes to `file` (None: to standard error; False: nowhere).
    An exception of the body passes, and looks like a `break` from here: the whole steps before it are told. One of
    `batches` passes and nothing is told.
    """

    def __init__(self, batches: Iterable[T], *, warmup: int = 3, file: TextIO | None | bool = None) -> None:
        self._batches = batches
        self._warmup = warmup
        self._file = file
        self.times: StepTimes | None = None

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        timer = _core.StepTimer(self._warmup, _ALL_PENDING)
        iterator = iter(self._batches)

        def fetch() -> T | _AtEnd:
            return next(iterator, _END)

        try:
            while not isinstance(batch := timer.time_data(fetch), _AtEnd):
                timer.begin_step()
                yield batch
                timer.end_step()
        except GeneratorExit:  # the loop was left: the step that is under way may be half of one
            timer.drop_step()
            self._finish(timer)
            raise
        self._finish(timer)

    def _finish(self, timer: _core.StepTimer) -> None:
        try:
            self.times = timer.times()
        except ValueError:  # no step beyond the warm-up
            return
        if self._file is False:
            return
        file = sys.stderr if self._file is None or self._file is True else self._file
        print(self.summary(), file=file)

    def summary(self) -> str:
        """Times and what they say; empty before the loop has ended or when every step was warm-up."""
        return "" if self.times is None else f"{self.times}{_verdict(self.times)}"


_ALL_PENDING = 2**63 - 1


def time_steps(
    train_step: Callable[[T], object], batches: Iterable[T], *, steps: int | None = None, warmup: int = 3
) -> StepTimes:
    """Calls `train_step` on each of `batches` and times it: an event before and after, each step waited for.

    `steps`: how many count, after `warmup` ones; None: all. Raises ValueError where there are too few batches.
    """
    timer = _core.StepTimer(warmup, 0)
    iterator = iter(batches)
    count = 0
    while steps is None or count < warmup + steps:
        batch = timer.time_data(lambda: next(iterator, _END))
        if isinstance(batch, _AtEnd):
            break
        timer.begin_step()
        try:
            train_step(batch)
        except BaseException:
            timer.drop_step()
            raise
        timer.end_step()
        count += 1
    return timer.times()


def profile_steps(
    train_step: Callable[[T], object],
    batches: Iterable[T],
    *,
    wait: int = 1,
    warmup: int = 2,
    active: int = 3,
    **recorded: Any,
) -> Any:
    """Records `active` steps after `wait` and `warmup` ones and gives the finished `stepscope.torch.profile`.

    `recorded`: arguments of `stepscope.torch.profile` (record_shapes, with_stack, ...). Reads no more batches than it
    needs. Raises ValueError where there are too few of them.
    """
    from .torch import profile, schedule

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=1)
    needed = wait + warmup + active
    count = 0
    with profile(schedule=plan, **recorded) as prof:
        for batch in batches:
            train_step(batch)
            prof.step()
            count += 1
            if count == needed:
                break
    if count < needed:
        raise ValueError(f"{needed} batches are needed (wait {wait}, warmup {warmup}, active {active}), got {count}")
    return prof
