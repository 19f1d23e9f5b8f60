"""The types of a metric. A metric's meaning is defined in the module of its formula, and every view and table shows it.

A formula returns a Figure: one number for the span, and one for each step.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64

NO_TIME = Reason("empty_window")


class Metric(msgspec.Struct, frozen=True):
    """The meaning of one figure. `id` is stable and public. `meaning` is one or two sentences for a person who has
    never seen the figure.

    `short` is the label where room is scarce, as in table heads; where it is empty, the label itself is used. `colour`
    names the meaning's colour token, whose style only the front end knows: kernel, tensor, copy, comm, data, cpu,
    runtime, blocking, other, ink.
    """

    id: str
    label: str
    unit: Unit
    meaning: str
    colour: str = "ink"
    short: str = ""


class Series(msgspec.Struct, frozen=True):
    """One metric over the steps of a span.

    `value` is the span's own figure, which is not always the mean of the steps. `steps` has one entry per step. None
    means "not measurable here"; `reason` says why. `device` is None for figures of the whole process.
    """

    metric: str
    device: int | None
    value: float | None
    steps: list[float | None]
    reason: Reason | None = None


class PartMeaning(msgspec.Struct, frozen=True):
    """A part of the step: its id in `Parts`, its label, its colour token and its meaning. works: the device is busy in
    it."""

    id: str
    label: str
    meaning: str
    colour: str
    hatched: bool = False
    works: bool = False


class Evidence(msgspec.Struct, frozen=True):
    """A time range that shows something, relative to the span's origin, and the step in which it begins."""

    step: str
    start_ns: int
    end_ns: int


class Figure(msgspec.Struct, frozen=True):
    """A figure over the span's window and over each step. A value that is not known is None, and `reason` says why."""

    value: float | None
    steps: tuple[float | None, ...]
    reason: Reason | None = None


def mean_figure(values: Int64 | Float64) -> Figure:
    """Returns a figure with one value per step, and their mean for the span."""
    return Figure(float(values.mean()), tuple(values.tolist()))


def ratio_figure(part: Float64 | Int64, whole: Float64 | Int64, reason: Reason | None) -> Figure:
    """Returns part / whole. The first entry of both is that of the span, the others are those of its steps. A share is
    None if the whole is 0. If the span's own is None, the figure has the reason, or else NO_TIME."""
    shares = [p / w if w > 0 else None for p, w in zip(part.tolist(), whole.tolist(), strict=True)]
    return Figure(shares[0], tuple(shares[1:]), (reason or NO_TIME) if shares[0] is None else None)


def share_of_step(trace: Trace, values: Int64 | Float64) -> Figure:
    """Returns the values as shares of the length of their steps; both are in ns. The span's share weighs steps by their
    length."""
    part, whole = [np.concatenate(([column.sum()], column)) for column in (values, find_steps(trace).duration_ns)]
    return ratio_figure(part, whole, None)


def unknown(trace: Trace, reason: Reason) -> Figure:
    """Returns a figure that is None for the span and all its steps."""
    return Figure(None, (None,) * len(find_steps(trace).steps), reason)
