"""The server's answers about all runs of a log directory."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.text import Phrase


class RunLine(msgspec.Struct, frozen=True):
    """A run, by the newest span that is read of its first worker.

    work: the number of its group: runs whose steps do the same on the same machine, as far as the recordings show
    (`comparison.fairness`); None where that cannot be told. trend_ns: mean step of each span that is read, of a single
    span each step. fix: title of the first card that saves time, with what it gains per step, at most: that on which
    the newest spans agree (`insights.run_advice`); None: none does. agreement: how far they do; None where they say the
    same.
    """

    run: str
    worker: str
    number: int
    span: str
    work: int | None
    step_ns: int
    trend_ns: list[int]
    parts_ns: Parts
    bound: Bound
    fix: Phrase | None
    agreement: Phrase | None
    gain_ns: int
    gain_fraction: float
    job: Phrase
    machine: Phrase


class RunsPage(msgspec.Struct, frozen=True):
    """headline: of all lines; None where there are none. lines: in the order of the pickers. left: runs that are read
    and whose lines are still to be made."""

    headline: Phrase | None
    lines: list[RunLine]
    left: int
