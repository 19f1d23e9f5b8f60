"""One-time costs by cause, as rows of a result: how long they take, how much of that leaves the device idle, and
where."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.one_time import OneTime, OneTimeCause, one_time_costs
from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind


class OneTimeCost(msgspec.Struct, frozen=True):
    """One-time costs of one cause, over the span; ns. idle_ns: the part of total_ns in which the device is idle; all of
    it without a device. The rest describes the longest one: op, in which it is, or None; name, of the call or range
    that takes longest in it; step and time range, and how much of that is one-time.
    """

    cause: OneTimeCause
    count: int
    total_ns: int
    idle_ns: int
    op: str | None
    name: str
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int
    worst_ns: int

    @property
    def place(self) -> str:
        """Where the longest one is, with {name} for the op or call."""
        return "Python code between ops" if self.cause == "between_ops" else "the first {name}"

    @property
    def where(self) -> str:
        """The op or call, as its users know it: marks of compilation have the names of its functions."""
        return "torch.compile" if self.cause == "compilation" else self.op or self.name


def one_time_rows(trace: Trace, device: int | None) -> list[OneTimeCost]:
    """Returns a row for each cause that has any cost, most idle time first."""
    rows = [_row(trace, device, cost) for cost in one_time_costs(trace, device)]
    return sorted(rows, key=lambda row: (-row.idle_ns, -row.total_ns))


def _row(trace: Trace, device: int | None, cost: OneTime) -> OneTimeCost:
    """Returns the row of a cause. The longest cost is the op, call or range with most of the excess, which may consist
    of several pieces."""
    events = trace.events
    own_ns = cost.when.overlap_ns(cost.excess.start_ns, cost.excess.end_ns)
    groups = Groups.of(np.where(cost.row >= 0, cost.row, -2 - np.arange(len(cost.row))))
    sums = groups.sum(own_ns)
    mine = np.flatnonzero(groups.place == sums.argmax())
    piece = int(mine[own_ns[mine].argmax()])
    row, event = int(cost.row[piece]), int(cost.excess.event[piece])
    start, end = int(cost.excess.start_ns[mine].min()), int(cost.excess.end_ns[mine].max())
    return OneTimeCost(
        cause=cost.cause,
        count=int((sums > 0).sum()),
        total_ns=cost.when.total_ns,
        idle_ns=(cost.when & excluded_time(trace, device).once).total_ns,
        op=trace.name_of(row) if row >= 0 and events.kind[row] == Kind.CPU_OP else None,
        name=trace.name_of(event) if event >= 0 else "",
        worst_step=find_steps(trace).at(start).name,
        worst_start_ns=start,
        worst_end_ns=end,
        worst_ns=int(sums.max()),
    )
