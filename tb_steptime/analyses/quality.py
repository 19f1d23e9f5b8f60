"""The notes above a view's pictures, which say how far a recording can be trusted. The most serious come first."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.catalogue import main_device, measure
from tb_steptime.metrics.communication.expert_rows import ExpertRows, expert_rows
from tb_steptime.metrics.communication.summary import MOST_ROWS, how_many_alike
from tb_steptime.metrics.data_loading.loaders import MOST_LOADERS, find_batches
from tb_steptime.metrics.data_loading.waits import loader_iterators
from tb_steptime.metrics.excluded_time.ranges import excluded_time, one_time_rows
from tb_steptime.metrics.gpu.counters import clocks_were_locked, validated_sm_efficiency
from tb_steptime.metrics.gpu.occupancy import kineto_zero_fraction
from tb_steptime.metrics.gpu.utilization import EST_SM_EFFICIENCY, has_device_activity
from tb_steptime.metrics.host.profiler_cost import profiler_cost
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION
from tb_steptime.metrics.idle.figures import HOST_BOUND_SHARE
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.metrics.replays.graph_time import graph_time
from tb_steptime.metrics.roofline.utilization import HFU
from tb_steptime.metrics.roofline.validated import validated_tensor_work, validated_traffic
from tb_steptime.metrics.steady.edges import between_recordings, has_launches
from tb_steptime.text import Note, Quantity, Unit, count, fraction, ns, shortened, text
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.model import Trace, is_cut_short, rows_named
from tb_steptime.trace.nesting import innermost, op_rows
from tb_steptime.trace.quality import is_cpu_unrecorded, recording_findings, unseen_device
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct_in, is_in, median

#: Minimum share of kernel time with a wrong 0 in Kineto's occupancy for a note: from there on the two figures differ
#: visibly.
KINETO_ZERO_FRACTION = 0.01

#: Minimum share of a step that verdicts leave out for a note about it.
LEFT_OUT_FRACTION = 0.01
#: Minimum rows of the busiest expert / their mean, and minimum share of the steps in loops over experts, for a note.
UNEVEN, EXPERTS_FRACTION = 1.5, 0.1
#: Minimum updates of the weights in a step for a note: a step of a GAN may hold five of one network and one of another.
#: If each of them has a batch of its own and runs as many ops, within this share, a second one is enough.
MANY_UPDATES, ALIKE_UPDATES = 10, 0.1
#: Minimum steps for a note about two steps for each update: three batches do not alternate by chance.
LEAST_SPLIT = 6
#: Minimum mean of an expert's rows for it: with 64 rows on average, the busiest of 256 equally likely experts has 1.4
#: times the mean by chance, and with 16 rows it has 1.8 times.
UNEVEN_ROWS = 64
#: Maximum length of a name in a note, which a longer one would fill.
NAME_LENGTH = 40


def notes(trace: Trace) -> list[Note]:
    """Returns the notes: simulation first, then what was lost in reading, then what the recording lacks, then what
    slows it."""
    several = []
    if (number := len(devices_by_activity(trace))) > 1:
        several = [Note("several_devices", {"number": count(number), "main": count(main_device(trace))})]
    statement = trace.job.simulated
    return [
        *([] if statement is None else [Note("simulated", {"statement": text(statement)})]),
        *trace.notes,
        *_cpu_only(trace),
        *([Note("launches_only", qualifies=("overview", "host", "data_loading"))] if is_cpu_unrecorded(trace) else []),
        *find_steps(trace).notes,
        *_updates(trace),
        *_too_many_to_list(trace),
        *_left_out(trace),
        *_profiling_slows(trace),
        *([Note("with_stack", qualifies=("overview", "data_loading", "trends"))] if trace.job.with_stack else []),
        *([Note("with_memory", qualifies=("overview", "host", "trends"))] if trace.job.with_memory else []),
        *several,
        *_occupancy_zeros(trace),
        *_counters(trace),
        *_graphs(trace),
        *_experts(trace),
    ]


def _cpu_only(trace: Trace) -> list[Note]:
    """Returns a note where nothing on a GPU is recorded, because the job has none, the file is truncated, or it was not
    requested."""
    if has_device_activity(trace):
        return []
    if is_cut_short(trace.notes):
        return [Note("cut_before_device")]
    if any(finding.id in ("mostly_unread", "profiler_not_started") for finding in recording_findings(trace)):
        return []
    if job_kind(trace).device == "cpu":
        return [Note("cpu_job")]
    if len(trace.events.rows(*CALL_KINDS)) or unseen_device(trace):
        return []  # calls are recorded only together with the GPU; of an unseen device the finding says more
    return [Note("cpu_only")]


def _updates(trace: Trace) -> list[Note]:
    """Returns a note where a marked step contains many updates of the weights, because `prof.step()` is called once an
    epoch, or because a step trains on what it has collected. Returns one, too, where each update takes two steps.
    Similar pattern: several optimizers that step one after the other, or within the backward pass, one for each layer.
    So an update is counted if the backward pass ran since the one before it, and none in an op. A few updates in turn
    are an iteration of a GAN, of reinforcement learning or of an inner loop, unless each takes a batch and all are
    alike.

    mark      |---------------------------- 0 ----------------------------|
    backward     bbbb          bbbb          bbbb          bbbb
    step             ss            ss            ss            ss             4 updates
    """
    if find_steps(trace).by != "marks":
        return []
    events, marks = trace.events, step_marks(trace)
    rows = optimizer_marks(trace)
    rows = rows[is_in(events.thread[rows], distinct_in(events.thread[marks]))]
    rows = rows[innermost(trace, op_rows, rows) < 0]
    nodes = events.start_ns[rows_named(trace, (Kind.CPU_OP,), lambda name: name.startswith(NODE))]
    rows = rows[np.diff(np.searchsorted(nodes, events.start_ns[rows]), prepend=0) > 0]
    place = find_steps(trace).holding_on_host(events.start_ns[rows])
    updates = np.bincount(place + 1, minlength=len(find_steps(trace).steps) + 1)[1:]
    if (usual := int(median(updates))) >= (2 if _are_of_own_batches(trace, rows) else MANY_UPDATES):
        return [Note("several_updates", {"updates": count(usual)})]
    return [Note("split_updates")] if _are_split(trace, updates > 0, nodes) else []


def _are_of_own_batches(trace: Trace, updates: Int64) -> bool:
    """Returns whether a loader gives one batch between any two of these updates, of one optimizer, and all of them
    follow about as many ops."""
    events, starts = trace.events, trace.events.start_ns[updates]
    ops, batches = (
        np.diff(np.searchsorted(np.sort(events.start_ns[each]), starts))
        for each in (events.rows(Kind.CPU_OP), find_batches(trace).row)
    )
    one_optimizer = len(distinct_in(events.name[updates])) == 1
    alike = np.abs(ops - median(ops)) <= ALIKE_UPDATES * median(ops) if len(ops) else np.zeros(0, bool)
    return one_optimizer and bool(len(ops)) and bool((alike & (batches == 1)).all())


def _are_split(trace: Trace, updates: Bool, nodes: Int64) -> bool:
    """Returns whether `prof.step()` is called twice for each batch, as by a trainer and by the script. Then steps
    alternate, in length as well. One of two has no backward pass and nothing but the update, or no op at all. Similar
    patterns are gradients that are accumulated, with a backward pass in every step, and a step that evaluates, which
    runs other ops but updates nothing.

    mark      |--- 0 ---|-1-|--- 2 ---|-1-|--- 4 ---|-1-|
    backward     bbbb          bbbb          bbbb
    update                s             s             s
    """
    events, steps = trace.events, find_steps(trace)
    ops = events.rows(Kind.CPU_OP)
    ops = ops[is_in(events.thread[ops], distinct_in(events.thread[step_marks(trace)]))]
    passes, works = (_holding(steps, start) for start in (nodes, events.start_ns[ops]))
    second = ~passes
    alternate = len(second) >= LEAST_SPLIT and bool((second[1:] != second[:-1]).all())
    # a window may begin between the two steps of a batch, whose backward pass is then not recorded
    own = updates[1:] == second[1:]
    return alternate and bool(own.all() or (~works[second].any() and updates[~second].all()))


def _holding(steps: Steps, start_ns: Int64) -> Bool:
    """Returns which steps contain one of these times on the host."""
    return np.bincount(steps.holding_on_host(start_ns) + 1, minlength=len(steps.steps) + 1)[1:] > 0


def _too_many_to_list(trace: Trace) -> list[Note]:
    """Returns notes about more loaders, or kinds and groups of collectives, than a page has room for."""
    loaders, exchanges = len(loader_iterators(trace)), how_many_alike(trace)
    many = (("many_loaders", loaders, MOST_LOADERS), ("many_collectives", exchanges, MOST_ROWS))
    return [
        Note(id, {"count": count(number), "most": count(most - 1)}, qualifies=("overview", "data_loading"))
        for id, number, most in many
        if number > most
    ]


def _left_out(trace: Trace) -> list[Note]:
    """Returns a note about the part of the steps that is not judged, for each reason that takes a visible share of a
    step."""
    device = main_device(trace)
    steps, excluded = find_steps(trace), excluded_time(trace, device)
    notes, finding_ids = [], {finding.id for finding in recording_findings(trace)}
    for id, when in (
        ("before_recording" if has_launches(trace) else "before_first_work", excluded.before_recording),
        ("once", excluded.once),
        ("after_recording", excluded.after_recording - between_recordings(trace)),  # the finding names these
    ):
        left_out = steps.overlap_ns(when)
        if id == "after_recording" and "end_missing" in finding_ids:
            continue  # the finding says why
        if (left_out >= LEFT_OUT_FRACTION * steps.duration_ns).any() and left_out.any():
            notes.append(Note(id, _values_of(trace, device, id, left_out), ("overview", "host", "trends")))
    return notes


def _values_of(trace: Trace, device: int | None, id: str, left_out: Int64) -> dict[str, Quantity]:
    values = {"time": ns(int(left_out.sum())), "step": text(find_steps(trace).steps[int(left_out.argmax())].name)}
    if id == "once":
        longest = one_time_rows(trace, device)[0]
        values |= {
            "longest": ns(longest.named_ns),
            "name": text(longest.place.format(name=shortened(longest.where, NAME_LENGTH))),
        }
    return values


def _profiling_slows(trace: Trace) -> list[Note]:
    """Returns notes about the cost of recording, which is in the figures where the step waits for the host. The cost
    was measured by a recorder; otherwise the number of recorded events gives a lower limit."""
    if trace.step_pace is not None:
        return [_timed(trace.step_pace)]
    pace = trace.loader_records.pace if trace.loader_records else None
    if pace is not None:
        values = {
            "inside": ns(pace.inside_ns), "outside": ns(pace.outside_ns), "count": count(pace.inside),
            "others": count(pace.outside),
        }  # fmt: skip
        return [Note("profiling_measured", values, ("overview", "host"))]
    device = None if trace.job.simulated else main_device(trace)
    share = None if device is None else measure(trace, HOST_BOUND_SHARE.id, device).value
    if share is None or share < IDLE_FRACTION:
        return []
    cost = profiler_cost(trace)
    if cost is None:
        return [Note("profiling_slows", qualifies=("host",))]
    values = {"low": ns(cost.low_ns), "high": ns(cost.high_ns), "count": count(cost.events)}
    return [Note("profiling_estimated", values, qualifies=("host",))]


def _timed(pace: StepPace) -> Note:
    values = {
        "inside": ns(pace.recorded_ns), "outside": ns(pace.plain_ns),
        "count": count(pace.recorded), "others": count(pace.plain),
    }  # fmt: skip
    if not pace.differ:
        return Note("profiling_unseen", values, ("overview", "host"))
    if pace.times < 1:
        return Note("profiling_drifted", values, ("overview", "host"))
    return Note("profiling_timed", values | {"times": Quantity(pace.times, Unit.NUMBER)}, ("overview", "host"))


def _occupancy_zeros(trace: Trace) -> list[Note]:
    device = main_device(trace)
    share = None if device is None else kineto_zero_fraction(trace, device)
    if share is None or share < KINETO_ZERO_FRACTION:
        return []
    return [Note("kineto_occupancy", {"share": fraction(share)}, ("tensor_cores",))]


def _counters(trace: Trace) -> list[Note]:
    """Returns notes on how sampling the GPU's counters affects the recording, and how close the estimates are to the
    counters."""
    device = main_device(trace)
    if device is None or not clocks_were_locked(trace, device):
        return []
    notes = [Note("clocks_locked", qualifies=("overview", "gpu", "trends"))]
    for id, comparison, qualifies in (
        ("sm_efficiency_measured", validated_sm_efficiency(trace, device), ("gpu", EST_SM_EFFICIENCY.id)),
        ("tensor_work_measured", validated_tensor_work(trace, device), ("gpu", "tensor_cores", HFU.id)),
        ("traffic_measured", validated_traffic(trace, device), ("gpu", "tensor_cores")),
    ):
        if comparison is not None:
            values = {"estimated": fraction(comparison.estimated), "measured": fraction(comparison.measured)}
            notes.append(Note(id, values, qualifies))
    return notes


#: Minimum share of the graphs' kernel time in kernels that an eager recording of the log directory has, too, for it to
#: be mentioned although it does not name them: below, it is another job. One that the user named is always mentioned.
_SOME_KERNELS = 0.1
#: Views whose tables have rows of kernels in CUDA graphs.
_SHOWS_GRAPHS = ("operators", "gpu")


def _graphs(trace: Trace) -> list[Note]:
    """Returns notes on where the ops and modules of kernels in CUDA graphs come from, or how to get them."""
    time = graph_time(trace)
    if not time.graph_ns:
        return []
    notes = []
    if time.annotated_ns:
        notes.append(Note("graphs_annotated", {"share": fraction(time.annotated_ns / time.graph_ns)}, _SHOWS_GRAPHS))
    source = trace.named_from
    if source is not None and source.labelled_fraction:
        values = {"recording": text(source.recording), "share": fraction(source.labelled_fraction)}
        notes.append(Note("graphs_named", values, _SHOWS_GRAPHS))
    elif source is not None and not notes and (source.is_private or source.named_fraction >= _SOME_KERNELS):
        values = {"recording": text(source.recording), "share": fraction(source.named_fraction)}
        notes.append(Note("graphs_run_other_kernels", values, _SHOWS_GRAPHS))
    elif not notes and time.is_much:
        notes.append(Note("graphs_unnamed", {"share": fraction(time.graph_ns / time.all_ns)}, _SHOWS_GRAPHS))
    return notes


def _experts(trace: Trace) -> list[Note]:
    """Returns a note on how uneven the load of experts is that one process computes in a loop."""
    experts = expert_rows(trace)
    if not isinstance(experts, ExpertRows) or experts.busiest < UNEVEN or experts.share < EXPERTS_FRACTION:
        return []
    if sum(experts.rows) < UNEVEN_ROWS * len(experts.rows):
        return []
    values = {
        "experts": count(len(experts.rows)),
        "most": count(round(experts.rows[0])),
        "factor": text(f"{experts.busiest:.1f}"),
    }
    return [Note("experts_uneven", values, ("operators",))]
