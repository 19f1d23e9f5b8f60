"""What the host does in a time range: the innermost of the ops, calls, frames and ranges that last for most of it.

thread   |------------- train.py(80): main -------------|    lasts for many such ranges: says nothing of this one
            |---- data.py(9): crop ----|
              |-- aten::index --|
range        |---------------|                               -> op aten::index

If no single one does, ops of one name may do so together, such as thirty updates of an optimizer that runs on the CPU.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.phases.threads import step_threads, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import CALLED_BY_LOOPS, MODULE_FRAME, is_helper, is_source, short_frame
from tb_steptime.trace.host_ranges import loader_names, short_range
from tb_steptime.trace.model import Trace, are_named, shared
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps, inferred_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct_in, is_in, median

#: The kinds of calls that a frame may make. Marks and the user's ranges are not calls.
_CALLED = (Kind.PYTHON, Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)


class Busiest(NamedTuple):
    """The calls of one name that take most of a frame's time within a range. ns: their time within the range together,
    which is never more than the frame's own."""

    name: str
    ns: int


def busiest_of(trace: Trace, frames: Int64, start: int, end: int) -> Busiest | None:
    """Returns the busiest call in successive frames of one thread (rows of the event table), taken together, between
    two instants, in ns; None if no single name takes most of the time. Each call on the way takes most of the time of
    the one around it. The innermost one that a user knows is returned: `argmax` of numpy, and not its `_wrapfunc`.

    range           [                                        ]
    frame      |----------- data.py(41): preprocess ------------------|
                 |--_one--|  |crop|  |-----_one-----|    |-- save --|
                  |-norm-|               |-norm-|
    ns               nnnnn                nnnnnn                        -> norm: its two calls, cut to the range
    """
    busiest, rows = None, frames
    whole_ns = int(_within(trace, rows, start, end).sum())
    calls = _calls(trace, frames, end)
    while len(inner := _busiest(trace, _called(trace, calls, rows), start, end)):
        ns, name = int(_within(trace, inner, start, end).sum()), trace.name_of(inner[0])
        if 2 * ns <= whole_ns or (busiest is not None and not (is_source(name) or is_helper(name))):
            break
        busiest = busiest if is_helper(name) else Busiest(short_frame(name), ns)
        rows, whole_ns = inner, ns
    return busiest


def _within(trace: Trace, rows: Int64, start: int, end: int) -> Int64:
    """Returns how long each row lasts between the two instants; 0 or less if it is outside."""
    return np.minimum(trace.events.ends(rows), end) - np.maximum(trace.events.start_ns[rows], start)


def _busiest(trace: Trace, rows: Int64, start: int, end: int) -> Int64:
    rows = rows[_within(trace, rows, start, end) > 0]
    names, place = np.unique(trace.events.name[rows], return_inverse=True)
    if not len(names):
        return rows
    busiest: Int64 = rows[place == np.bincount(place, _within(trace, rows, start, end)).argmax()]
    return busiest


def _calls(trace: Trace, frames: Int64, end: int) -> Int64:
    """Returns the rows of all calls on the frames' thread from the first frame to an instant, in time order."""
    events, first = trace.events, int(frames[0]) + 1
    chunk = slice(first, int(np.searchsorted(events.start_ns, end)))
    calls: Int64 = np.flatnonzero(
        (events.thread[chunk] == events.thread[first - 1]) & is_in(events.kind[chunk], _CALLED)
    )
    calls += first
    return calls


def _called(trace: Trace, calls: Int64, frames: Int64) -> Int64:
    """Returns the calls that these frames, successive ones of one thread, make directly, in time order."""
    events = trace.events
    rows = calls[np.searchsorted(calls, frames[0], side="right") :]
    around = frames[np.searchsorted(frames, rows) - 1]
    return top_level(trace, rows[(events.ends(rows) <= events.ends(around)) & ~is_in(rows, frames)])


#: An event that lasts for at least this share of a range explains the range.
MOSTLY = 0.5
#: A frame or range that is longer than this many times the time range contains other work too.
AROUND_TIMES = 10

#: An op or call is unusual if it takes this many times its median over at least ENOUGH_ALIKE calls.
UNUSUAL_TIMES, ENOUGH_ALIKE = 10, 5

#: Minimum mean length of ops of one name that are named together. Shorter ones only describe tensors or launch work, so
#: the code that calls so many of them should be improved and not the op.
LEAST_NAMED_NS = 100_000

Kinds = Literal["call", "op", "frame", "range", "nothing", "update"]
#: The kinds of activities. Those that name the activity most exactly come first.
_KINDS: tuple[tuple[Kinds, tuple[Kind, ...]], ...] = (
    ("call", CALL_KINDS),
    ("op", (Kind.CPU_OP,)),
    ("frame", (Kind.PYTHON,)),
    ("range", (Kind.USER,)),
)

#: Ops that compute where their inputs are, on the CPU or on a device.
_COMPUTES = expression(r"(aten|torchvision|torchaudio)::")
#: Ops among these that only allocate, copy or join tensors, as for a batch that is about to leave the CPU, and
#: decompositions of matrices, which a GPU may compute no faster because their steps depend on each other.
_STAYS = expression(
    r"aten::(to|_to_copy|copy_|clone|contiguous|_?pin_memory|cat|stack|item|_local_scalar_dense|lift_fresh|set_|resize_"
    r"|fill_|zero_|(empty|zeros|ones|full)\w*|_?linalg_(?!\w*norm)\w+|_?cholesky\w*)$"
)

#: Names of torch.compile's work: its phases, the functions of its packages, and its look-up of compiled code.
_COMPILES = expression(
    r"\(dynamo_timed\)|^TorchDynamo |^(entire_frame_compile|backend_compile|inductor_compile|compile_fx\b)"
    r"|torch/(_dynamo|_inductor)/(?!eval_frame|external_utils|decorators)"
)


class HostActivity(msgspec.Struct, frozen=True):
    """What the host does for most of a time range.

    kind, name   "nothing" and None if nothing lasts for most of the range; "op" and None if ops of several names, or
                 many short ones, do so together; "update" in an optimizer's step on the CPU (`long_gaps.py`)
    inside       the op around a call
    compiles     whether torch.compile works for most of the range
    unusual      whether other events like this op or call are far shorter, so that it is not a cost of every step: a
                 first call, or a thread without a core
    busiest, busiest_ns   for a frame, the name of the calls that take most of its time in the range, and their time
                 (`busiest_of`); None and 0 if no single name does
    on_cpu       whether long ops of PyTorch compute for most of the range and do not call the device's runtime: their
                 inputs are on the CPU
    """

    kind: Kinds
    name: str | None
    inside: str | None
    compiles: bool
    unusual: bool = False
    busiest: str | None = None
    busiest_ns: int = 0
    on_cpu: bool = False


#: Number of events of a block. The latest end of each block is known, so that the events that last until an instant are
#: found without reading all events before it.
_BLOCK = 1 << 14

#: Kinds of events that name the user's code.
_NAMES_CODE = (Kind.PYTHON, Kind.USER)

NOTHING = HostActivity("nothing", None, None, False)


def activity_in(trace: Trace, thread: int, start: int, end: int) -> HostActivity:
    """Returns what the thread does. If it does nothing, the threads of the autograd engine and the training, which work
    while it waits, are asked."""
    one_at_a_time = step_threads(trace)
    others = sorted({*one_at_a_time} - {thread}) if thread in one_at_a_time else []
    rows = _lasting(trace, start, end)
    of_thread = (rows[trace.events.thread[rows] == number] for number in (thread, *others))
    candidates = [_activity(trace, thread_rows, start, end) for thread_rows in of_thread]
    activity = next((each for each in candidates if each.kind in ("call", "op")), None) or next(
        (each for each in candidates if each.name), candidates[0]
    )
    if activity.kind != "nothing":
        return activity
    several = (_several(trace, number, start, end, activity.compiles) for number in (thread, *others))
    return next((each for each in several if each.kind != "nothing"), activity)


def _several(trace: Trace, thread: int, start: int, end: int, compiles: bool) -> HostActivity:
    """Returns what the outermost ops that begin in the range on a thread do for most of it together. The name is None
    if no single name does."""
    events = trace.events
    low, high = np.searchsorted(events.start_ns, (start, end))
    rows = low + np.flatnonzero((events.thread[low:high] == thread) & (events.kind[low:high] == Kind.CPU_OP))
    rows = top_level(trace, rows)
    within = np.minimum(events.ends(rows), end) - events.start_ns[rows]
    if within.sum() <= MOSTLY * (end - start):
        return replace(NOTHING, compiles=compiles)
    names, place = np.unique(events.name[rows], return_inverse=True)
    sums = np.bincount(place, within)
    most = int(sums.argmax())
    long = sums[most] >= max(MOSTLY * (end - start), LEAST_NAMED_NS * np.count_nonzero(place == most))
    name = trace.strings[int(names[most])] if long else None
    on_cpu = within[_compute_on_cpu(trace, rows)].sum() > MOSTLY * (end - start)
    return HostActivity("op", name, None, compiles, on_cpu=bool(on_cpu))


def _compute_on_cpu(trace: Trace, rows: Int64) -> Bool:
    """Returns which ops of one thread, in time order, compute and do not call the device's runtime, as an op does that
    launches, copies or allocates on the device. Short ones do not count. They may be views of tensors on the device,
    which launch nothing, or work on so few elements that the device would be no faster."""
    events = trace.events
    if not len(rows):
        return np.zeros(0, bool)
    low, high = np.searchsorted(events.start_ns, (events.start_ns[rows[0]], events.ends(rows).max()))
    calls = is_in(events.kind[low:high], CALL_KINDS) & (events.thread[low:high] == events.thread[rows[0]])
    starts = events.start_ns[low:high][calls]
    calls_nothing = np.searchsorted(starts, events.start_ns[rows]) == np.searchsorted(starts, events.ends(rows))
    computes = are_named(trace, rows, lambda name: _COMPUTES.match(name) and not _STAYS.match(name))
    return np.asarray(calls_nothing & computes & (events.dur_ns[rows] >= LEAST_NAMED_NS), bool)


def _lasting(trace: Trace, start: int, end: int) -> Int64:
    """Returns the rows of the events of all threads that last for most of the range, outer ones first."""
    events = trace.events
    rows = _open_rows_at(trace, (start + end) // 2)  # an event that lasts for half of a range lasts at its middle
    within = np.minimum(events.ends(rows), end) - np.maximum(events.start_ns[rows], start)
    rows = rows[within >= MOSTLY * (end - start)]
    rows = rows[~_marks(trace)[events.name[rows]]]
    if (events.kind[rows] == Kind.USER).any():  # steps are inferred only if needed, because that takes long
        rows = rows[~is_in(events.name[rows], events.name[_step_ranges(trace)])]
    return rows


def _open_rows_at(trace: Trace, instant: int) -> Int64:
    """Returns the rows of the events that last at an instant, in ns, or begin or end at it, in time order."""
    events = trace.events
    start_count = int(np.searchsorted(events.start_ns, instant, side="right"))
    open_rows = []
    for block in np.flatnonzero(_latest_ends(trace)[: -(-start_count // _BLOCK)] >= instant).tolist():
        first, last = block * _BLOCK, min((block + 1) * _BLOCK, start_count)
        ends = events.start_ns[first:last] + events.dur_ns[first:last]
        open_rows.append(first + np.flatnonzero(ends >= instant))
    return np.concatenate((np.empty(0, np.int64), *open_rows))


@shared
def _latest_ends(trace: Trace) -> Int64:
    """Returns the latest end of the events of each block, in ns."""
    events = trace.events
    blocks = (slice(first, first + _BLOCK) for first in range(0, len(events), _BLOCK))
    return np.array([(events.start_ns[block] + events.dur_ns[block]).max() for block in blocks], np.int64)


@shared
def _marks(trace: Trace) -> Bool:
    """Returns which names show no activity, because they mark steps or waits for the loader."""
    marks: Bool = loader_names(trace).copy()
    marks[trace.events.name[step_marks(trace)]] = True
    return marks


@shared
def _step_ranges(trace: Trace) -> Int64:
    """Returns the rows of the ranges with which inferred steps begin and that last for most of them."""
    inferred, ranges = inferred_steps(trace), trace.events.rows(Kind.USER)
    if inferred is None:
        return np.empty(0, np.int64)
    place = np.searchsorted(inferred.start_ns, trace.events.start_ns[ranges], side="right") - 1
    begins = (place >= 0) & (inferred.start_ns[place] == trace.events.start_ns[ranges])
    most = trace.events.dur_ns[ranges] >= MOSTLY * (inferred.end_ns[place] - inferred.start_ns[place])
    rows: Int64 = ranges[begins & most]
    return rows


def _activity(trace: Trace, rows: Int64, start: int, end: int) -> HostActivity:
    """Returns the activity that fills most of the range, out of the rows that last longest in it."""
    events = trace.events
    compiles = any(_COMPILES.search(trace.strings[name]) for name in distinct_in(events.name[rows]).tolist())
    for kind, kinds in _KINDS:
        candidates = rows[is_in(events.kind[rows], kinds) & _exact(trace, rows, end - start)]
        if len(candidates):
            row = _named(trace, candidates)
            name = trace.name_of(row)
            ops = rows[events.kind[rows] == Kind.CPU_OP]
            inside = trace.name_of(ops[-1]) if kind == "call" and len(ops) else None
            alike = events.dur_ns[_alike_to(trace, row)] if kind in ("op", "call") else ()
            unusual = len(alike) >= ENOUGH_ALIKE and bool(events.dur_ns[row] >= UNUSUAL_TIMES * median(alike))
            busiest = busiest_of(trace, np.array([row], np.int64), start, end) if kind == "frame" else None
            on_cpu = kind == "op" and bool(_compute_on_cpu(trace, np.array([row], np.int64))[0])
            called, called_ns = busiest or (None, 0)
            return HostActivity(
                kind, short_range(short_frame(name)), inside, compiles, unusual, called, called_ns, on_cpu
            )
    return HostActivity("nothing", None, None, compiles)


def _exact(trace: Trace, rows: Int64, length_ns: int) -> Bool:
    """Returns which rows name the activity exactly. Ops and calls do so at any length. A frame or a range may contain
    the whole training."""
    events = trace.events
    return ~is_in(events.kind[rows], _NAMES_CODE) | (events.dur_ns[rows] <= AROUND_TIMES * length_ns)


def _named(trace: Trace, rows: Int64) -> int:
    """Returns the innermost row. Of frames it is the innermost one that a user knows, which is in a file outside torch
    or belongs to a module, and is no helper of a package if there is another one. What happens inside a function of
    torch that a loop calls, such as TensorBoard's writer, counts as that function."""
    names = [trace.strings[name] for name in trace.events.name[rows].tolist()]
    known = [place for place, name in enumerate(names) if is_source(name) or name.startswith(MODULE_FRAME)]
    named = [place for place in known if not is_helper(names[place])] or known or [len(names) - 1]
    called = [place for place, name in enumerate(names) if CALLED_BY_LOOPS.match(name)]
    return int(rows[min([named[-1], *called])])


def is_explained(trace: Trace, start: int, end: int) -> bool:
    """Returns whether a frame or range of a training thread explains why the host launches nothing for so long. It must
    last for most of that time, and so must events with its name elsewhere, if there are any. A frame that is short
    elsewhere is only where the host happened to be, and one that contains the begin of a step is the loop around it."""
    events, length = trace.events, end - start
    rows = _lasting(trace, start, end)
    rows = rows[is_in(events.thread[rows], [*training_threads(trace)]) & is_in(events.kind[rows], _NAMES_CODE)]
    # Frames that contain the beginning of another step explain nothing.
    begins = np.sort(find_steps(trace).host_start_ns)
    begun, ended = trace.events.start_ns[rows], trace.events.ends(rows)
    within_step = np.searchsorted(begins, ended) <= np.searchsorted(begins, begun, side="right")
    rows = rows[_exact(trace, rows, length) & within_step]
    return any(_is_usual(trace, row, MOSTLY * length) for row in rows.tolist())


def _is_usual(trace: Trace, row: int, least_ns: float) -> bool:
    """Returns whether events with this row's name last at least so long elsewhere, or there are none elsewhere."""
    alike = _alike_to(trace, row)
    alike = alike[alike != row]
    return not len(alike) or median(trace.events.dur_ns[alike]) >= least_ns


def _alike_to(trace: Trace, row: int) -> Int64:
    """Returns the rows of all events with the name and kind of this one."""
    return _named_so(trace, int(trace.events.name[row]), int(trace.events.kind[row]))


@shared
def _named_so(trace: Trace, name: int, kind: int) -> Int64:
    return np.flatnonzero((trace.events.name == name) & (trace.events.kind == kind))


def is_graph_launch(name: str) -> bool:
    """Returns whether this call launches a captured graph."""
    return GRAPH_CALL.search(name) is not None
