"""Which call launched each device activity, joined on the correlation id."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Int32, Int64


class Launches(msgspec.Struct, frozen=True, eq=False):
    """One row per device activity, in time order.

    activity   row of the kernel, copy or set in the event table
    call       row of the runtime or driver call that launched it; -1 where the trace has none (launched before the
               window, or by a graph that lost its record). One call may launch many activities.
    """

    activity: Int32
    call: Int32

    def calls_of(self, activities: Int32 | Int64) -> Int64:
        """The row of the call that launched each of these device activities, which are rows too; -1 for none."""
        return self.call[np.searchsorted(self.activity, activities)].astype(np.int64)


@shared
def find_launches(trace: Trace) -> Launches:
    """Join by correlation id. Where a runtime call and the driver call inside it share an id, the outer one counts."""
    events = trace.events
    activity = events.rows(*DEVICE_KINDS)
    calls = events.rows(*CALL_KINDS)
    calls = calls[events.correlation_id[calls] >= 0]
    ids, first = np.unique(events.correlation_id[calls], return_index=True)
    if not len(ids):
        return Launches(activity.astype(np.int32), np.full(len(activity), -1, np.int32))
    wanted = events.correlation_id[activity]
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    found = ids[place] == wanted
    call = np.where(found, calls[first[place]], -1)
    return Launches(activity.astype(np.int32), call.astype(np.int32))  # row numbers, in half the memory


def launched_before(trace: Trace, activity: Int64) -> Bool:
    """Which of these activities were launched before the recording, as far as their numbers show. Launches are numbered
    in order, so an activity with a greater number than the first recorded launch belongs to the recording and has
    merely lost its call. Without any recorded launch, all were launched before."""
    launches, number = find_launches(trace), trace.events.correlation_id
    known = number[launches.activity[launches.call >= 0]]
    before: Bool = number[activity] < known.min(initial=np.iinfo(number.dtype).max) if len(known) else activity < 0
    return before
