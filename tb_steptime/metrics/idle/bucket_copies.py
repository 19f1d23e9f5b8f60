"""Gradients that DistributedDataParallel copies out of its buckets, one by one, because they are not stored there.

thread   [copy_bucket_to_grad]      [copy_bucket_to_grad]
           [copy_] [launch]           [copy_] [launch]
device                  k                        k
late      iiiiiiiiiiiiii           iiiiiiiiiiiiii
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.reasons import HOST_BOUND, REASONS
from tb_steptime.metrics.phases.assignment import SITE, activity_sites
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, is_in

#: Name of the op that copies a gradient's values back from the bucket. The copy into the bucket is needed anyway, since
#: it also divides.
BUCKET_COPY = "reducer::copy_bucket_to_grad"


class BucketCopies(msgspec.Struct, frozen=True):
    """The copies and their cost. per_step: number of copies per step; late_ns: idle time of the device per step that
    ends with such a copy because the host launches it late."""

    per_step: float
    late_ns: int


def bucket_copies(trace: Trace, device: int) -> BucketCopies:
    rows, steps = trace.events.rows(Kind.CPU_OP), find_steps(trace)
    wanted = [number for number, name in enumerate(trace.strings.strings) if name.endswith(BUCKET_COPY)]
    if not wanted:
        return BucketCopies(0.0, 0)
    rows = rows[is_in(trace.events.name[rows], wanted)]
    start = trace.events.start_ns[rows]
    inside = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return BucketCopies(float(inside.mean()), _late_ns(trace, device, rows) // len(steps.steps))


def _late_ns(trace: Trace, device: int, ops: Int64) -> int:
    """Returns the idle time of all steps that ends with launches inside these ops, and for which the host is late."""
    hooks = np.flatnonzero(activity_sites(trace) == SITE["backward.hooks"])
    copies = np.zeros(len(find_launches(trace).call), bool)
    copies[hooks] = innermost(trace, ops, find_launches(trace).call[hooks].astype(np.int64)) >= 0
    reasons = [REASONS.index(reason) for reason in HOST_BOUND]
    late_ns = 0
    for segments in idle_segments(trace, device):
        mine = is_in(segments.reason, reasons) & (segments.launch >= 0) & copies[segments.launch]
        late_ns += int((segments.end - segments.start)[mine].sum())
    return late_ns
