"""What comes once, by cause, as rows of a result: how long it takes, what of it leaves the device idle, and where."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.set_aside.one_time import OneTime, OneTimeCause, one_time_costs
from tb_steptime.metrics.set_aside.ranges import set_aside
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import op_at
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind


class OneTimeCost(msgspec.Struct, frozen=True):
    """What comes once, of one cause, over the span; ns. idle_ns: of total_ns the time in which the device is idle; all
    of it without a device. The rest describes the longest one: op, in which it is, or None; name, of the longest call
    in it, or its own; step and time range.
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

    @property
    def where(self) -> str:
        """The op or call, as its users know it: marks of compilation have the names of its functions."""
        return "torch.compile" if self.cause == "compilation" else self.op or self.name


def one_time_rows(trace: Trace, device: int | None) -> list[OneTimeCost]:
    """Most idle time first."""
    rows = [_row(trace, device, cost) for cost in one_time_costs(trace)]
    return sorted(rows, key=lambda row: (-row.idle_ns, -row.total_ns))


def _row(trace: Trace, device: int | None, cost: OneTime) -> OneTimeCost:
    events = trace.events
    own_ns = cost.when.overlap_ns(events.start_ns[cost.rows], events.ends(cost.rows))
    worst = int(cost.rows[own_ns.argmax()])
    op = int(op_at(trace, np.array([worst]))[0])
    steps = find_steps(trace)
    step = max(int(np.searchsorted(steps.start_ns, events.start_ns[worst], side="right")) - 1, 0)
    return OneTimeCost(
        cause=cost.cause,
        count=int((own_ns > 0).sum()),
        total_ns=cost.when.total_ns,
        idle_ns=(cost.when & set_aside(trace, device).once).total_ns,
        op=trace.strings[int(events.name[op])] if op >= 0 else None,
        name=trace.strings[int(events.name[_longest_call(trace, worst)])],
        worst_step=steps.steps[step].name,
        worst_start_ns=int(events.start_ns[worst]),
        worst_end_ns=int(events.start_ns[worst] + events.dur_ns[worst]),
    )


def _longest_call(trace: Trace, row: int) -> int:
    """Of the runtime or the driver inside an op or range; of a call, and of what has none inside, itself."""
    events = trace.events
    calls = events.rows(Kind.RUNTIME, Kind.DRIVER)
    start, end = events.start_ns[row], events.start_ns[row] + events.dur_ns[row]
    inside = calls[slice(*np.searchsorted(events.start_ns[calls], (start, end)).tolist())]
    inside = inside[events.thread[inside] == events.thread[row]]
    return int(inside[events.dur_ns[inside].argmax()]) if len(inside) else row
