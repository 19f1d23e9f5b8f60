"""Steps of a recording without step marks, if repeated calls show them (`calls`); else None.

    calls         O          O          O          O     ends of the optimizer's steps
    work       wwwwww wwwwwwwwww  wwwwwwwwww wwwwwwwwww  www
    steps              |---- 1 ---|--- 2 ---|--- 3 ---|          what is before and after is none

At least three similar steps are needed, and they must contain most of the recorded work: what repeats within a part of
the recording does not describe the rest. Calls that alternate, such as those of two optimizers, make one step together.

A recording that counts as one step is the window in which the job's work begins and ends.

    host    sync  op op op [cudaGraphLaunch]   [synchronize]        sync       the profiler's own, of an idle device
    device                       kkkkkkkkkkkkkkkkkkkkkk
    window        |---------------------------------|

Ops, ranges of the user, calls of the runtime and what they launch count as work. If a tenth of the recording lies
before or after these, functions of the user that are called and return there count too, such as one that prepares a
batch in numpy. A shorter time is the profiler's start and end. torch.profiler synchronizes as it starts and stops; if
nothing is left to wait for, that is not work of the job. Threads that only poll the state of the runtime, such as
NCCL's watchdog, do so as long as the process lives, and do not show work either. A file may have events of another
process too, since tools merge files: only processes that launch work count, if any does.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.trace.frames import source_frames
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, are_named, find_launches, recording_at, rows_named, shared
from tb_steptime.trace.ops import SYNC_DEVICE_CALL
from tb_steptime.trace.steps.calls import BACKWARD, StepCalls, batch_calls, loop_calls, step_calls
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Int64, Kind, distinct_in, is_in, median

#: Minimum number of steps; fewer may be similar by chance.
FEWEST_STEPS = 3
#: Steps are similar if their work differs by at most this share. Steps that evaluate or log have more work than others.
ALIKE_FRACTION = 0.2
#: Minimum share of the steps that have to be similar.
ALIKE_STEPS = 0.5
#: Work at the edge of a recording counts as a step within these multiples of the usual work. The lower one is that of a
#: cut last step with marks; the upper one allows for a first step that also sets up the optimizer's state.
EDGE_LEAST, EDGE_MOST = 0.8, 1.5
#: A window with less than this share of the usual work is not a step: there the loader reports the end of the epoch.
NO_STEP_FRACTION = 0.2
#: Maximum number of calls that may belong to one step.
MOST_CALLS = 8
#: Steps with less than this share of the recorded work do not represent the recording.
MOST_OF_THE_WORK = 0.5
#: Inferred steps are considered certain from this share of the work, and of similar steps, if their calls mean a step.
SURE_SHARE = 0.9


class InferredSteps(msgspec.Struct, frozen=True, eq=False):
    """Windows on the host, disjoint, in time order, shown by calls of `name` on `thread`.

    share      of the recorded work inside them: of the devices' time, or of ops and calls if there is no device
    computed   the same of what devices compute: copies around the steps, such as those of a model's weights to the
               device, are no other work that the steps would have to represent
    confident  the calls mean a step, and the steps contain nearly all work; else only repetition shows them
    """

    start_ns: Int64
    end_ns: Int64
    thread: int
    calls: int
    name: str
    share: float
    computed: float
    confident: bool


class Inference(msgspec.Struct, frozen=True):
    """The steps that calls show. If there are none, `little` has those of calls that repeat but contain too little
    work."""

    steps: InferredSteps | None
    little: InferredSteps | None


@shared
def inference(trace: Trace) -> Inference:
    """Returns the steps by the first kind of calls that shows any. If several such calls fall on each batch, the
    batches show the steps.

    batch      b...........b...........b...........
    optimizer  ......d....g......d....g......d....g        two optimizers that work alike: a step has both
    """
    begins = trace.events.start_ns[trace.events.rows(Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)]  # of any thread
    first, little = None, None
    for calls in step_calls(trace):
        for steps in _steps_of(trace, calls, begins):
            if steps.computed < MOST_OF_THE_WORK:
                little = little or steps
            elif first is None:
                first = steps
            elif calls.are_batches and len(first.start_ns) >= 2 * len(steps.start_ns):
                return Inference(steps, None)
    if first is None:
        rounds = (steps for calls in loop_calls(trace) for steps in _steps_of(trace, calls, begins))
        first = next(rounds, None)
    return Inference(first, None if first else little)


@shared
def inferred_steps(trace: Trace) -> InferredSteps | None:
    return inference(trace).steps


def _steps_of(trace: Trace, calls: StepCalls, begins: Int64) -> Iterator[InferredSteps]:
    """Yields one result, or none if these calls show no steps."""
    rows = _that_begin_steps(trace, calls, begins)
    if len(rows) < FEWEST_STEPS or not len(begins):
        return
    each = _calls_in_turn(trace, calls, rows)
    if each == 1 and not _fall_to_batches(trace, calls):
        each = _calls_a_step(trace, calls, rows, begins)
    edges = _edges(trace, rows, calls.at_end, each, begins)
    counted = edges if calls.at_end else np.append(edges[:-1], max(edges[-1], begins[-1] + 1))
    work = np.diff(np.searchsorted(begins, counted))  # includes the profiler's own last call, after the last step
    launched = _launched_ns(trace, counted)[:-1]
    whole = _whole(work, launched, calls.at_end)
    if len(whole) < FEWEST_STEPS:
        return
    usual_share = float((_usual(work[whole]) | _usual(launched[whole])).mean())
    if usual_share >= ALIKE_STEPS:
        thread = int(trace.events.thread[rows[0]])
        start = edges[:-1][whole]
        end = edges[1:][whole]
        share = _share(trace, start, end, begins, DEVICE_KINDS)
        computed = _share(trace, start, end, begins, (Kind.KERNEL,))
        confident = calls.mean_steps and min(usual_share, share) >= SURE_SHARE
        yield InferredSteps(start, end, thread, len(rows), calls.name, share, computed, confident)


def _share(trace: Trace, start: Int64, end: Int64, begins: Int64, kinds: tuple[Kind, ...]) -> float:
    """Returns the share of the recorded work inside these windows of the host: of device time of these kinds with a
    known launch, or of ops and calls."""
    launches, events = find_launches(trace), trace.events
    linked = (launches.call >= 0) & is_in(events.kind[launches.activity], kinds)
    at, weights = begins, np.ones(len(begins), np.int64)
    if linked.any():
        at = events.start_ns.take(launches.call[linked])
        weights = events.dur_ns.take(launches.activity[linked])
    place = np.searchsorted(start, at, side="right") - 1
    inside = (place >= 0) & (at < end[place])
    return float(weights[inside].sum() / max(int(weights.sum()), 1))


def _that_begin_steps(trace: Trace, calls: StepCalls, begins: Int64) -> Int64:
    """Returns the calls, where a step begins with its call, without those after which there is hardly any work on the
    host or a device. A graph launch is only one call, but works as long as what it was captured from."""
    if calls.at_end or len(calls.rows) < FEWEST_STEPS:
        return calls.rows
    start = trace.events.start_ns[calls.rows]
    work = np.diff(np.searchsorted(begins, np.append(start, max(start[-1], begins[-1]) + 1))) if len(begins) else start
    launched = _launched_ns(trace, start)
    on_device = (launched > 0) & (launched >= NO_STEP_FRACTION * median(launched))
    return calls.rows[(work >= NO_STEP_FRACTION * median(work)) | on_device]


def _launched_ns(trace: Trace, start: Int64) -> Int64:
    """Returns the device time that is launched from each of these instants to the next one."""
    launches, events = find_launches(trace), trace.events
    linked = launches.call >= 0
    place = np.searchsorted(start, events.start_ns.take(launches.call[linked]), side="right")
    sums = np.bincount(place, events.dur_ns.take(launches.activity[linked]), minlength=len(start) + 1)
    return sums[1:].astype(np.int64)


def _fall_to_batches(trace: Trace, calls: StepCalls) -> bool:
    """Returns whether an optimizer steps once for each batch, as in most loops. Then each step of the optimizer is a
    step of its own."""
    if not calls.of_optimizer:
        return False
    batches = batch_calls(trace)
    return len(batches) >= FEWEST_STEPS and abs(len(batches) - len(calls.rows)) <= 1


def _calls_in_turn(trace: Trace, calls: StepCalls, rows: Int64) -> int:
    """Returns the number of calls that follow on each other without an op between, if ops run behind each so many of
    them: the blocks of a model that are compiled by themselves. 1 where no such number shows, or a call means a step.

    calls    [block][block][block]      [block][block][block]      [block][block][block]
    ops                            o o                        o o                        o o
    """
    if calls.mean_steps or calls.at_end:
        return 1
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    starts = events.start_ns[ops[events.thread[ops] == events.thread[rows[0]]]]
    between = np.searchsorted(starts, events.start_ns[rows[1:]]) - np.searchsorted(starts, events.ends(rows[:-1]))
    last = np.flatnonzero(between > 0)
    distances = np.diff(last, prepend=-1, append=len(rows) - 1)
    inner = distances[1:-1]
    regular = len(last) >= FEWEST_STEPS and inner[0] > 1 and (inner == inner[0]).all()
    return int(inner[0]) if regular and distances.max() <= inner[0] else 1


def _calls_a_step(trace: Trace, calls: StepCalls, rows: Int64, begins: Int64) -> int:
    """Returns the number of calls in a step. It is 1 if the work from each call to the next is alike, or else the
    number after which names and work repeat, or 1 if they do not repeat at all. Where each call steps an optimizer, the
    gradients that are computed from each call to the next repeat, too, if any period has them so. One optimizer that is
    always given the same gradients steps once a step, whatever else some steps do, such as an evaluation in every fifth
    one."""
    instants = trace.events.ends(rows) if calls.at_end else trace.events.start_ns[rows]
    work, names = np.diff(np.searchsorted(begins, instants)), trace.events.name[rows]
    gradients = _gradients(trace, instants) if calls.of_optimizer else np.zeros((len(work), 0), np.int64)
    if gradients.any() and (names == names[0]).all() and (gradients == gradients[:1]).all():
        return 1
    periods = [
        period
        for period in range(1, min(MOST_CALLS, len(rows) // FEWEST_STEPS) + 1)
        if (names[period:] == names[:-period]).all() and _similar(work[period:], work[:-period]).all()
    ]
    repeated = [period for period in periods if (gradients[period:] == gradients[:-period]).all()]
    return next(iter(repeated or periods), 1)


def _gradients(trace: Trace, instants: Int64) -> Int64:
    """Returns how many autograd nodes of each name run from each instant to the next one. Two optimizers of one class
    differ in these, as for a generator and a discriminator, where their work is alike. Logging, or an average of the
    weights that is updated now and then, has none."""
    nodes = rows_named(trace, (Kind.CPU_OP,), BACKWARD.match)
    window = np.searchsorted(instants, trace.events.start_ns[nodes], side="right") - 1
    inside = (window >= 0) & (window < len(instants) - 1)
    names, name = np.unique(trace.events.name[nodes[inside]], return_inverse=True)
    counts = np.zeros((len(instants) - 1, len(names)), np.int64)
    np.add.at(counts, (window[inside], name.reshape(-1)), 1)
    return counts


def _edges(trace: Trace, rows: Int64, at_end: bool, each: int, begins: Int64) -> Int64:
    """Returns where windows begin and end, including the one at the edge of the recording. A batch is the first work of
    a step, whether or not the job runs ops while it waits for it."""
    if at_end:
        batches = batch_calls(trace)
        own = batches[trace.events.thread[batches] == trace.events.thread[rows[0]]]
        opens = min(begins[0], *trace.events.start_ns[np.append(own[:1], rows[:1])])
        return np.append(opens, trace.events.ends(rows[each - 1 :: each]))
    last = max(recorded_extent(trace).end_ns, int(trace.events.ends(rows).max()))
    return np.append(trace.events.start_ns[rows[::each]], last)


def _whole(work: Int64, launched: Int64, at_end: bool) -> Int64:
    """Returns the places of the windows that are whole steps. The window at the edge is judged by its work, on the host
    or on the devices."""
    places = np.arange(len(work))
    if _is_edge_whole(work, at_end) or _is_edge_whole(launched, at_end):
        return places
    return places[1:] if at_end else places[:-1]


def _is_edge_whole(work: Int64, at_end: bool) -> bool:
    inner, edge = (work[1:], work[0]) if at_end else (work[:-1], work[-1])
    usual = median(inner) if len(inner) else 0.0
    return usual > 0 and bool(EDGE_LEAST * usual <= edge <= EDGE_MOST * usual)


def _usual(work: Int64) -> Bool:
    """Returns which amounts are close to their median. None are if the median is 0."""
    return _similar(work, median(work)) & (work > 0)


def _similar(work: Int64, other: Int64 | float) -> Bool:
    """Returns which amounts are nearly equal to the others."""
    return np.abs(work - other) <= ALIKE_FRACTION * np.maximum(work, other)


#: A shorter synchronize found the device idle, which takes 5 to 20 us.
IDLE_SYNCHRONIZE_NS = 50_000
#: From this share of the recording on, functions of the user before the first op or after the last one count as work of
#: the job.
PYTHON_FRACTION = 0.1


class Extent(msgspec.Struct, frozen=True):
    """When the job's first recorded work begins and its last one ends, on the host; ns."""

    start_ns: int
    end_ns: int


@shared
def recorded_extent(trace: Trace) -> Extent:
    """Returns the extent of ops, ranges and calls, or of all events if these are not recorded. It is 0, 0 without
    events."""
    rows = _work_rows(trace)
    if not len(rows):
        return Extent(0, 0)
    extent = Extent(int(trace.events.start_ns[rows].min()), int(trace.events.ends(rows).max()))
    return _with_functions(trace, extent)


@shared
def recorded_extents(trace: Trace) -> list[Extent]:
    """Returns the extent of each recording that has work, in a file that several were joined into, or else the whole
    extent.

    windows    [PyTorch Profiler]              [PyTorch Profiler]
    work          oooo oo ooo                     oooo oo ooo
    extents       |---------|                     |---------|
    """
    rows = _work_rows(trace)
    if len(trace.windows) < 2 or not len(rows):
        return [recorded_extent(trace)]
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    groups = Groups.of(recording_at(trace, start))
    first, last = groups.extremes(start, end)
    return list(map(Extent, first.tolist(), last.tolist()))


def _work_rows(trace: Trace) -> Int64:
    """Returns the rows of ops, ranges and calls of the processes that launch work, or of all events if there are
    none."""
    rows = _rows_of_launching_processes(
        trace, np.concatenate((trace.events.rows(Kind.CPU_OP, Kind.USER), _calls_of_the_job(trace)))
    )
    return rows if len(rows) else np.arange(len(trace.events))


def _rows_of_launching_processes(trace: Trace, rows: Int64) -> Int64:
    """Returns the rows of the processes that launch what runs on a device, or all rows if no launch is known."""
    call = find_launches(trace).call
    threads = distinct_in(trace.events.thread[call[call >= 0]]).tolist()
    processes = {trace.threads[thread].pid for thread in threads}
    if not processes:
        return rows
    theirs = [number for number, thread in enumerate(trace.threads) if thread.pid in processes]
    return rows[is_in(trace.events.thread[rows], theirs)]


def _with_functions(trace: Trace, extent: Extent) -> Extent:
    """Extends the extent to the first call and the last return of a user's function, if these are far from all ops."""
    events, frames = trace.events, source_frames(trace)
    frames = frames[is_in(events.thread[frames], distinct_in(events.thread[events.rows(Kind.CPU_OP)]))]
    start, end = events.start_ns[frames], events.ends(frames)
    low, high = int(events.start_ns[0]), int(events.end_ns.max())
    inside = (start > low) & (end < high)  # others were called before the recording, or return after it
    first, last = int(start[inside].min(initial=high)), int(end[inside].max(initial=low))
    least = PYTHON_FRACTION * (high - low)
    return Extent(
        first if extent.start_ns - first >= least else extent.start_ns,
        last if last - extent.end_ns >= least else extent.end_ns,
    )


def _calls_of_the_job(trace: Trace) -> Int64:
    """Returns the calls of the threads that compute or launch, without synchronizes of an idle device. Returns none if
    they are all that is recorded of the host, and launched none of the recorded work, which may then run long before
    and after them."""
    events, calls = trace.events, trace.events.rows(*CALL_KINDS)
    if not len(calls):
        return calls
    launching = find_launches(trace).call
    working = np.concatenate((events.rows(Kind.CPU_OP, Kind.USER), launching[launching >= 0]))
    if not len(working) and len(events.rows(*DEVICE_KINDS)):
        return calls[:0]
    threads = distinct_in(events.thread[working]) if len(working) else distinct_in(events.thread[calls])
    waits = are_named(trace, calls, SYNC_DEVICE_CALL.match)
    idle = waits & (events.dur_ns[calls] < IDLE_SYNCHRONIZE_NS)
    return calls[is_in(events.thread[calls], threads) & ~idle]
