"""The steps of a recording that are used in a comparison: those that are whole, or nearly."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: A step with more than this share excluded from verdicts is not comparable with the others.
WHOLE_FRACTION = 0.05


def whole_steps(trace: Trace, device: int | None) -> Bool:
    """Which steps are compared: those of which at most a twentieth is excluded from verdicts for `device` (None: for a
    process without a device). All of them if no step is whole, since there is nothing else."""
    steps = find_steps(trace)
    length: Int64 = steps.end_ns - steps.start_ns
    whole: Bool = length - judged_ns(trace, device) <= WHOLE_FRACTION * length
    return whole if whole.any() else np.ones(len(length), bool)


def step_at(trace: Trace, instants: Int64, wanted: Bool) -> Int64:
    """The place of the step that contains each instant; -1 outside the wanted steps."""
    steps = find_steps(trace)
    place: Int64 = np.searchsorted(steps.start_ns, instants, side="right") - 1
    inside = (place >= 0) & (instants < steps.end_ns[place])
    return np.where(inside & wanted[place], place, -1)
