"""Which steps are recorded: torch.profiler's schedule, by its definition (docs/glossary.md, "schedule")."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """What is done in a step; names and values are torch's."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """After `skip_first` steps, cycles of `wait` idle, `warmup` and `active` recorded steps, `repeat` times (0: no end).

    The last active step of a cycle ends a trace. `skip_first_wait` other than 0: the first cycle has no wait.
    """
    for name, value, least in (
        ("wait", wait, 0),
        ("warmup", warmup, 0),
        ("active", active, 1),
        ("repeat", repeat, 0),
        ("skip_first", skip_first, 0),
    ):
        if value < least:
            raise AssertionError(f"Invalid profiler schedule arguments: {name}={value}, must be {least} or more")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        if repeat > 0 and step / cycle >= repeat:
            return ProfilerAction.NONE
        position = step % cycle
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


def as_action(action: Enum) -> ProfilerAction:
    """Ours, also of torch's own enumeration (a schedule made by torch.profiler.schedule)."""
    if isinstance(action, ProfilerAction):
        return action
    try:
        return ProfilerAction[action.name]
    except (AttributeError, KeyError):
        raise ValueError(f"the schedule gave {action!r}, which is no action of a profiler") from None
