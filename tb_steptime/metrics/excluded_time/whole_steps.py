"""The steps of a recording that a comparison takes: those that are whole, or nearly."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: A step of which more than this share is left out of verdicts is not like the others.
WHOLE_FRACTION = 0.05


def whole_steps(trace: Trace, device: int | None) -> Bool:
    """Per step, whether it is compared: at most a twentieth of it is left out of verdicts, of `device` (None: of a
    process without any). All of them where no step is whole, since there is nothing else."""
    steps = find_steps(trace)
    length: Int64 = steps.end_ns - steps.start_ns
    whole: Bool = length - judged_ns(trace, device) <= WHOLE_FRACTION * length
    return whole if whole.any() else np.ones(len(length), bool)


def step_at(trace: Trace, instants: Int64, wanted: Bool) -> Int64:
    """The place of the step that holds each instant; -1 outside the steps that are wanted."""
    steps = find_steps(trace)
    place: Int64 = np.searchsorted(steps.start_ns, instants, side="right") - 1
    inside = (place >= 0) & (instants < steps.end_ns[place])
    return np.where(inside & wanted[place], place, -1)
