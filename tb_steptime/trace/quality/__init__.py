"""Faults of a recording: impossible values are corrected in its columns, other faults are found before measuring.

Decisions and their reasons:

- Work reaches the device at least 3 to 12 µs after its launch call begins in 43 of 50 real recordings of 2021 to 2026;
  in the other seven all work waits behind other work. In none of the 50 does any work begin before its launch. So two
  launches suffice to find clocks that disagree, and a shift that only made launches come first would shorten every wait
  by 7 µs.
- A row that runs over its successor is cut at the successor's start, not to the usual length of its name, which would
  be an estimate. If the GPU was idle after it, the row remains too long by that gap: in 2 of 43 real recordings by more
  than 2 %.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Finding, count, ns, text
from tb_steptime.trace.intervals import Intervals, longest_ranges
from tb_steptime.trace.model import Trace, find_launches, is_cut_short, shared
from tb_steptime.trace.quality.clock_steps import clock_step
from tb_steptime.trace.quality.clocks import on_one_clock
from tb_steptime.trace.quality.graph_holes import graph_findings
from tb_steptime.trace.quality.loader_frames import with_loader_marks
from tb_steptime.trace.quality.lost_launches import capture_findings, lost_findings
from tb_steptime.trace.quality.memory_calls import memory_findings
from tb_steptime.trace.quality.overruns import without_crossings, without_overruns
from tb_steptime.trace.quality.unrecorded_device import ASKS as ASKS
from tb_steptime.trace.quality.unrecorded_device import accelerator as accelerator
from tb_steptime.trace.quality.unrecorded_device import device_findings, unread_findings
from tb_steptime.trace.quality.unrecorded_device import holds_no_work as holds_no_work
from tb_steptime.trace.quality.unrecorded_device import may_hide_device as may_hide_device
from tb_steptime.trace.quality.unrecorded_device import unseen_device as unseen_device
from tb_steptime.trace.quality.unrecorded_waits import with_event_waits, with_waits
from tb_steptime.trace.step_marks import all_marks, step_marks
from tb_steptime.trace.table import DEVICE_KINDS, Kind, distinct_in, is_in

_ORDER = ("repaired", "left_out", "said")
#: Libraries name a generation of GPUs in kernels that are built for it, and run them on later ones as well. The latest
#: of all names is the oldest generation that the GPU can be. The oldest comes first here.
_GENERATIONS = {
    "Maxwell": r"\bmaxwell_|(?<![a-z0-9])sm5[0-9]_",
    "Pascal": r"\bpascal_|(?<![a-z0-9])sm6[0-9]_",
    "Volta": r"\bvolta_|(?<![a-z0-9])sm7[0-4]_",
    "Turing": r"\bturing_|(?<![a-z0-9])sm75_",
    "Ampere": r"\bampere_|(?<![a-z0-9])sm8[0-8]_",
    "Hopper": r"\bhopper_|(?<![a-z0-9])sm90_",
    "Blackwell": r"\bblackwell_|(?<![a-z0-9])sm1[0-2][0-9]_",
}


def repaired(trace: Trace) -> Trace:
    """Returns the trace as it was read, or with impossible values corrected; its `repaired` lists the corrections. The
    file stays unchanged. It must be called before anything else reads the trace."""
    trace = without_crossings(with_loader_marks(trace))
    set_back = clock_step(trace)  # then no shift of the device's rows fits all launches
    clocked = replace(trace, repaired=(*trace.repaired, set_back)) if set_back else on_one_clock(trace)
    return with_event_waits(with_waits(without_overruns(clocked)))


@shared
def recording_findings(trace: Trace) -> tuple[Finding, ...]:
    """Returns all faults that the columns show: first repaired, then left out, then reported."""
    findings = [
        *trace.repaired,
        *_marks(trace),
        *_cut_short(trace),
        *lost_findings(trace),
        *capture_findings(trace),
        *graph_findings(trace),
        *device_findings(trace),
        *unread_findings(trace),
        *memory_findings(trace),
        *_unnamed_device(trace),
    ]
    return tuple(sorted(findings, key=lambda each: _ORDER.index(each.done)))


def _marks(trace: Trace) -> list[Finding]:
    """Returns a finding about step marks that do not enclose steps."""
    marks = all_marks(trace)
    if not len(marks) or len(step_marks(trace)):
        return []
    events = trace.events
    device = events.rows(*DEVICE_KINDS)
    values = {
        "count": count(len(marks)),
        "time": ns(int(events.dur_ns[marks].sum())),
        "work": ns(Intervals.of_events(events, device).total_ns),
    }
    ranges = longest_ranges(events.start_ns[marks], events.ends(marks))
    return [Finding("marks_meaningless", "left_out", ("steps",), "medium", len(marks), 1.0, values, ranges)]


def _cut_short(trace: Trace) -> list[Finding]:
    """Returns a finding if the file ends before the trace does. Kineto writes GPU activities last, not by time: those
    of any step may be missing, with their launches, while its ops are there. If no activities are left, a note says
    so."""
    if not is_cut_short(trace.notes) or not len(trace.events.rows(*DEVICE_KINDS)):
        return []
    return [Finding("gpu_cut_short", "said", ("launches",), "none")]


def _unnamed_device(trace: Trace) -> list[Finding]:
    """Returns a finding if no device has a name, as in files of 2021, and kernels show how old the device can be at
    most."""
    if any(device.name for device in trace.devices.values()):
        return []
    kernels = trace.events.rows(Kind.KERNEL)
    names = [trace.strings[name] for name in distinct_in(trace.events.name[kernels]).tolist()]
    generations = [name for name, pattern in _GENERATIONS.items() if any(map(re.compile(pattern).search, names))]
    return [Finding("device_unnamed", "said", (), values={"generation": text(generations[-1])})] if generations else []


@shared
def is_cpu_unrecorded(trace: Trace) -> bool:
    """Returns whether launch calls are all that the recording has of the threads that launch most of its work. What
    keeps them from launching is then not known, and neither is one-time work. So it is with `activities=[CUDA]`, and
    where these are not the thread that started the profiler, which records the ops and ranges of no other one.

    thread a   [ProfilerStep#0                    ]      starts the profiler, and waits for the other one
    thread b        [l] [l]              [l][l]          runs ops, of which nothing is recorded
    """
    calls = find_launches(trace).call
    launching = trace.events.thread[calls[calls >= 0]]
    described = distinct_in(trace.events.thread[trace.events.rows(Kind.CPU_OP, Kind.USER, Kind.PYTHON)])
    return bool(2 * np.count_nonzero(is_in(launching, described)) < len(launching))
