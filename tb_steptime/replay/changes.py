"""Changes to a step that can be replayed: each is a function from a step to the changed step.

launch_graphs(trace, step)      several compose: overlapped(trace, launch_graphs(trace, step))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators
from tb_steptime.metrics.excluded_time.ranges import warm_up
from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.host.blocking_calls import blocking_groups
from tb_steptime.metrics.idle.blocking_rows import ORIGINS, WaitOrigin, wait_origins
from tb_steptime.metrics.idle.token_waits import in_token_waits
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.metrics.kernels.eager_attention import in_attention
from tb_steptime.metrics.kernels.stream_kernels import stream_kernels
from tb_steptime.metrics.phases.assignment import optimizer_updates, prepared
from tb_steptime.metrics.phases.checkpoints import again_activities, checkpointed
from tb_steptime.metrics.steps.recaptures import recaptures
from tb_steptime.metrics.tensor_cores.eligibility import eligibility
from tb_steptime.replay.host import Role, host_lanes
from tb_steptime.replay.sensitivity import exchanges, free, sooner, without_batches, without_calls
from tb_steptime.replay.steady import SteadyStep, overlap_ns
from tb_steptime.replay.sweep import HOLDS, EdgeKind, edges_of, joined
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, shared
from tb_steptime.trace.nesting import op_rows, outermost
from tb_steptime.trace.ops import graph_calls, op_at
from tb_steptime.trace.quality.lost_launches import CAPTURED_FRACTION, captured_share
from tb_steptime.trace.table import CALL_KINDS, Bool, Int32, Int64, Kind, distinct, distinct_in, is_in

#: Minimum length of an op that computes on the CPU. Ops that only describe a tensor take microseconds.
COMPUTES_NS = 100_000
#: Number of workers in `more_workers` if the training thread loads its batches itself.
WORKERS = 4

Change = Callable[[SteadyStep], SteadyStep]


def changes(trace: Trace) -> dict[str, Change]:
    """Returns all changes, whether or not they affect this recording, by id. The id is that of the card that recommends
    the change, if there is one."""
    return {
        "launch_graphs": lambda step: launch_graphs(trace, step),
        "between_graphs": lambda step: between_graphs(trace, step),
        "fused_optimizer": lambda step: fused_optimizer(trace, step),
        "sync_bubble": lambda step: without_calls(step, step.graph.waits & ~needed(trace, step)),
        "input_bound": lambda step: without_batches(free(step, step.graph.role == Role.LOADER)),
        "more_workers": lambda step: more_workers(trace, step),
        "tensor_cores_unused": lambda step: on_tensor_cores(trace, step),
        "exposed_communication": lambda step: overlapped(trace, step),
        "eager_attention": lambda step: with_fused_attention(trace, step),
        "needless_checkpoints": lambda step: without_checkpoints(trace, step),
    }


def launch_graphs(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step with its ops launched as graphs: their time on the host vanishes, together with that of the
    launches in them. Python between ops and the optimizer stay unchanged; at inference, Python within modules vanishes
    too, since a graph holds the whole forward pass. The step stays as it is where it has no kernel, or where graphs are
    captured again and again, or for the first time: more graphs do not help there."""
    ran = trace.events.kind[step.graph.event[step.graph.on_device]]
    captures = recaptures(trace) is not None or captured_share(trace) >= CAPTURED_FRACTION
    if captures or not (ran == Kind.KERNEL).any():
        return step
    return step.with_own(_own_without(step, _in_ops(trace)))


@shared
def _in_ops(trace: Trace) -> Mapping[int, Intervals]:
    """Returns when each lane is in ops, or in calls that launch kernels, such as those that a library makes outside of
    ops. Those of the optimizer, those before the first layer, those that compute on the CPU, and those of a warm-up,
    which delay the device only once, are left out. At inference, time in modules is included."""
    launches = find_launches(trace)
    of_kernels = launches.call[trace.events.kind[launches.activity] == Kind.KERNEL]
    ops = np.concatenate((trace.events.rows(Kind.CPU_OP), distinct_in(of_kernels[of_kernels >= 0])))
    if job_kind(trace).purpose == "inference":
        ops = np.concatenate((ops, module_frames(trace)))
    called, computes = dict(_intervals_of_rows(trace, ops)), dict(_intervals_of_rows(trace, _on_cpu(trace)))
    device = main_device(trace)
    excluded = (
        optimizer_updates(trace) | prepared(trace) | (Intervals.empty() if device is None else warm_up(trace, device))
    )
    return {lane: when - excluded - computes.get(lane, Intervals.empty()) for lane, when in called.items()}


def fused_optimizer(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step with one launch for each update of the optimizer: without the time of its ops and calls on the
    host, unless they compute there. The work on the device stays."""
    updates = optimizer_updates(trace)
    if not len(updates):
        return step
    called = dict(_intervals_of_rows(trace, trace.events.rows(Kind.CPU_OP, *CALL_KINDS)))
    computes = dict(_intervals_of_rows(trace, _on_cpu(trace)))
    launching = {lane: (when & updates) - computes.get(lane, Intervals.empty()) for lane, when in called.items()}
    return step.with_own(_own_without(step, launching))


def _on_cpu(trace: Trace) -> Int64:
    """Returns the ops that compute on the CPU, such as those that draw random numbers there. They take long and make no
    call of the device's runtime, so no graph contains them."""
    events = trace.events
    ops = trace.events.rows(Kind.CPU_OP)
    calls = trace.events.rows(*CALL_KINDS)
    ops = ops[events.dur_ns[ops] >= COMPUTES_NS]
    alone = np.ones(len(ops), bool)
    for thread in distinct(events.thread[ops]).tolist():
        on_thread = np.flatnonzero(events.thread[ops] == thread)
        begins = events.start_ns[calls[events.thread[calls] == thread]]
        within = np.searchsorted(begins, (events.start_ns[ops[on_thread]], events.ends(ops[on_thread])))
        alone[on_thread] = within[0] == within[1]
    return ops[alone].astype(np.int64)


def without_checkpoints(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step without the work that checkpoints recompute, neither on the host, from the first op of each
    checkpoint to the last one, nor on a device."""
    again, graph = checkpointed(trace), step.graph
    if not len(again.rows):
        return step
    own = _own_without(step, dict(_by_lane(trace, *again.intervals(trace))))
    own[graph.on_device & is_in(graph.event, again_activities(trace))] = 0
    return step.with_own(own)


def with_fused_attention(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step without what fused attention replaces between the two products of each attention: neither its
    kernels nor the ops that launch only these. The products stay as they are, on the host, too."""
    device = main_device(trace)
    if device is None:
        return step
    kernels = trace.kernels.event[stream_kernels(trace, device).row[in_attention(trace, device)]]
    if not len(kernels):
        return step
    own = _own_without(step, dict(_intervals_of_rows(trace, _ops_of_only(trace, kernels))))
    own[step.graph.on_device & is_in(step.graph.event, kernels)] = 0
    return step.with_own(own)


def _ops_of_only(trace: Trace, kernels: Int32 | Int64) -> Int64:
    """Returns the ops that launch these kernels, and those around them that launch no others."""
    launches = find_launches(trace)
    op = op_at(trace, launches.call.astype(np.int64))
    outer = outermost(trace, op_rows, op)
    chosen = is_in(launches.activity, kernels) & (op >= 0)
    others = distinct_in(outer[~chosen])
    return distinct_in(np.where(is_in(outer, others), op, outer)[chosen])


def _intervals_of_rows(trace: Trace, rows: Int32 | Int64) -> Iterator[tuple[int, Intervals]]:
    events = trace.events
    return _by_lane(trace, events.thread[rows], events.start_ns[rows], events.ends(rows))


def _by_lane(trace: Trace, thread: Int32 | Int64, start_ns: Int64, end_ns: Int64) -> Iterator[tuple[int, Intervals]]:
    """Yields each lane that has any of these times of threads, and its times."""
    lane = host_lanes(trace)[thread]
    for each in distinct(lane).tolist():
        on_lane = lane == each
        yield each, Intervals.union(start_ns[on_lane], end_ns[on_lane])


def _own_without(step: SteadyStep, removed: Mapping[int, Intervals]) -> Int64:
    """Returns `own_ns` of the step's nodes without the time that lanes spend in these intervals."""
    graph = step.graph
    own: Int64 = graph.own_ns.copy()
    host = (graph.role == Role.STRETCH) | (graph.role == Role.CALL)
    for lane, when in removed.items():
        on_lane = np.flatnonzero(host & (graph.track == lane))
        own[on_lane] -= np.minimum(overlap_ns(when, graph, on_lane), own[on_lane])
    return own


def needed(trace: Trace, step: SteadyStep) -> Bool:
    """Returns which nodes wait for what the job works on: its results, or gradients for an optimizer on the CPU.
    Training does not need a step's results on the host, but a rollout in it cannot begin a pass without those of the
    pass before. Any other job fetches its results, and decoding continues from the step before, so the last wait for a
    copy to the host stays."""
    graph, job = step.graph, job_kind(trace)
    needs = graph.waits & in_token_waits(trace, graph.event)
    if job.purpose == "training" and not job.no_grad.in_many_passes:
        return needs
    returns = graph.edges.where(is_in(graph.edges.kind, HOLDS) & graph.waits[graph.edges.after])
    row = graph.event[returns.before]
    fetched = returns.after[are_named(trace, row, lambda name: way(name).direction == "DtoH")]
    needs[fetched if job.purpose == "training" else fetched[-1:]] = True
    return needs


def waits_by_origin(trace: Trace, step: SteadyStep) -> dict[WaitOrigin, Bool]:
    """Returns which nodes wait without need, by the origin of the wait; origins without any are left out."""
    graph, groups, origin = step.graph, blocking_groups(trace), wait_origins(trace)
    nodes = np.flatnonzero(graph.waits & (graph.event >= 0) & ~needed(trace, step))
    start_ns = trace.events.start_ns[graph.event[nodes]]
    lane, of_groups = host_lanes(trace)[trace.events.thread[groups.call]], np.full(len(nodes), -1, np.int64)
    for each in distinct(graph.track[nodes]).tolist():
        on_lane, waiting = np.flatnonzero(lane == each), np.flatnonzero(graph.track[nodes] == each)
        place = np.searchsorted(groups.start[on_lane], start_ns[waiting], side="right") - 1
        of_groups[waiting] = np.append(origin[on_lane], -1)[place]
    result = {name: np.zeros(len(graph), bool) for name in ORIGINS}
    for number, name in enumerate(ORIGINS):
        result[name][nodes[of_groups == number]] = True
    return {name: calls for name, calls in result.items() if calls.any()}


def between_graphs(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step without host time between its launches, if calls launch graphs. The calls stay. The step stays
    as it is where graphs are captured again and again, since that is the host's time between launches, and where a
    graph is launched only once."""
    graph = step.graph
    if len(graph_calls(trace)) < 2:
        return step
    launched = np.bincount(graph.edges.before[graph.edges.kind == EdgeKind.LAUNCH], minlength=1)
    if launched.max() <= 1 or recaptures(trace) is not None:
        return step
    return free(step, graph.role == Role.STRETCH)


def more_workers(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step with its batches loaded by workers in parallel, if the training thread loads them itself."""
    loads = step.graph.role == Role.LOADER
    if is_multiprocess(loader_iterators(trace)) is not False or not loads.any():
        return step
    return _paced(step, loads, int(step.graph.own_ns[loads].sum()) // WORKERS, EdgeKind.BATCH)


def overlapped(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step with its exchanges, one after another, in parallel with its other work."""
    shared = exchanges(trace, step.graph)
    if not shared.any():
        return step
    return _paced(step, shared, int(step.graph.own_ns[shared].sum()), EdgeKind.STREAM)


def on_tensor_cores(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the step with its matrix products on tensor cores, as far as they and memory allow it. Contended delays
    shrink by the same share as all work."""
    gain = np.zeros(len(trace.events), np.int64)
    gain[trace.kernels.event] = eligibility(trace).gain_ns
    graph = step.graph
    less = np.minimum(np.where(graph.on_device, gain[graph.event], 0), graph.own_ns)
    share = float(less.sum() / max(int(graph.own_ns[graph.on_device].sum()), 1))
    edges = sooner(graph.edges, graph.contended_ns, share)
    return step.with_own(graph.own_ns - less).with_edges(edges, step.links)


def _paced(step: SteadyStep, nodes: Bool, period_ns: int, kind: EdgeKind) -> SteadyStep:
    """Returns the step in which these nodes take no time, and which lasts at least the period that something in
    parallel takes."""
    last = np.flatnonzero(nodes)[-1:]
    link = edges_of(kind, last, last, period_ns)
    changed = free(step, nodes)
    if not step.repeats:
        return replace(changed, least_ns=max(step.least_ns, period_ns))
    return replace(changed, links=joined([changed.links, link]))
