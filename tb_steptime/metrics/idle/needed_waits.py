"""Waits that have to stay: for gradients that an optimizer reads on the CPU, and for the tokens of a decoding step.

An optimizer whose state is offloaded updates the weights on the CPU, while the GPU waits. It cannot start before it has
the gradients, and the next step cannot start before it ends.

range                                             [ Optimizer.step, on the CPU  ]
thread   [launch]|-- copy gradients to the host --|                              [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk                                kkkkkk
                                                  iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii     idle because of the CPU's work

An update without a range, as of optimizers outside torch, is known by the copies around it:

thread   backward [copy][ sync  ]                 [copy]
device   kkkkkkkkkggggggggggggggg                 wwwwww    gradients to the host, weights back: about as many bytes
update                           uuuuuuuuuuuuuuuuu

Other work of a CPU between two copies lacks one of these signs. Batches and the results of an evaluation are not copied
back within the step, reading a loss copies a few bytes, activations are offloaded before the backward pass ends, a
checkpoint is copied one way, and inference has no backward pass.

A server reads which tokens its model chose, and decides by them what runs next, so the last wait of each step has to
stay, and what follows is the time of the CPU:

thread   [launch]|-- copy tokens to the host --|  schedule, prepare  [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkk                       kkkkkkkk
                                              iiiiiiiiiiiiiiiiiiiiiii          idle because of the CPU's work

In training, or where batches follow each other, a value can be read later, or not at all.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.activities import directions, way
from tb_steptime.metrics.host.blocking_calls import KINDS, blocking_groups
from tb_steptime.metrics.idle.host_activity import activity_in
from tb_steptime.metrics.job import purpose_of
from tb_steptime.metrics.phases.assignment import SITES, optimizer_marks, site_of, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, is_in

#: Minimum length of an optimizer's step on the CPU. One on a GPU whose launches are not recorded is shorter.
LEAST_UPDATE_NS = 1_000_000
#: Minimum bytes of gradients and of weights. A step that reads a loss or its metrics copies less.
LEAST_BYTES = 1 << 20
#: Gradients may have twice or half the bytes of the weights, or be scattered among ranks that gather fewer of these.
MOST_TIMES = 4
#: Places where the CPU is after the backward pass.
_AFTER_BACKWARD = [place for place, site in enumerate(SITES) if site.phase in ("optimizer", "other")]
#: Functions of an optimizer.
_OF_OPTIMIZER = expression(r"(?i)adam|adagrad|optim")


@shared
def cpu_updates(trace: Trace) -> Intervals:
    """Returns when optimizers run on the CPU and launch no kernel."""
    events, marks = trace.events, optimizer_marks(trace)
    if not len(marks):
        return _unmarked(trace)
    launches = find_launches(trace)
    kernels = (launches.call >= 0) & (events.kind[launches.activity] == Kind.KERNEL)
    call_starts = np.sort(events.start_ns[launches.call[kernels]])
    inside = np.searchsorted(call_starts, events.ends(marks)) - np.searchsorted(call_starts, events.start_ns[marks])
    return Intervals.of_events(events, marks[(inside == 0) & (events.dur_ns[marks] >= LEAST_UPDATE_NS)])


def _unmarked(trace: Trace) -> Intervals:
    """Returns the times from a wait after the backward pass to the next launch, which copies weights in the same step,
    if the CPU does nothing recorded meanwhile. Only marks show where a step ends, and so that a copy is no batch."""
    groups, steps = blocking_groups(trace), find_steps(trace)
    if not len(groups) or trace.events.bytes is None or steps.by != "marks":
        return Intervals.empty()
    rows = np.flatnonzero(
        is_in(site_of(trace, groups.call), _AFTER_BACKWARD)
        & is_in(trace.events.thread[groups.call], [*training_threads(trace)])
        & (steps.holding_on_host(groups.end) >= 0)
    )
    start = groups.end[rows]
    end = _next_weights(trace, start)
    long = (end - start >= LEAST_UPDATE_NS) & (loader_intervals(trace).overlap_ns(start, end) == 0)
    rows, start, end = rows[long], start[long], end[long]
    threads = trace.events.thread[groups.call[rows]]
    places = zip(threads.tolist(), start.tolist(), end.tolist(), strict=True)
    doing = [activity_in(trace, *each) for each in places]
    # nothing is recorded of the CPU for most of the time, or a function of an optimizer
    is_unmarked = np.array([
        each.kind == "nothing" or (each.kind == "frame" and _OF_OPTIMIZER.search(each.name or "") is not None)
        for each in doing
    ], bool)  # fmt: skip
    return Intervals.union(start[is_unmarked], end[is_unmarked])


def _next_weights(trace: Trace, waited: Int64) -> Int64:
    """Returns for the end of each wait when the next launch begins, if it is a copy to the device in the same step and
    about as many bytes are copied to the host before as to the device after; else the end of the wait."""
    events, launches, steps = trace.events, find_launches(trace), find_steps(trace)
    rows = np.flatnonzero(launches.call >= 0)
    rows = rows[np.argsort(events.start_ns[launches.call[rows]], kind="stable")]
    call_starts, activity = events.start_ns[launches.call[rows]], launches.activity[rows]
    to_host, to_device = (_copied(trace, activity, direction) for direction in ("DtoH", "HtoD"))
    step = steps.holding_on_host(waited)
    low, following, high = (
        np.searchsorted(call_starts, bound) for bound in (steps.host_start_ns[step], waited, steps.host_end_ns[step])
    )
    out, back = to_host[following] - to_host[low], to_device[high] - to_device[following]
    alike = (np.minimum(out, back) >= LEAST_BYTES) & (np.maximum(out, back) <= MOST_TIMES * np.minimum(out, back))
    follows = np.minimum(following + 1, high)
    copies = to_device[follows] > to_device[following]
    return np.where(alike & copies, np.append(call_starts, 0)[following], waited)


def _copied(trace: Trace, activity: Int32, direction: str) -> Int64:
    """Returns the bytes that are copied in this direction before each of these activities, and by all of them."""
    assert trace.events.bytes is not None
    is_copy = are_named(trace, activity, lambda name: way(name).direction == direction)
    is_copy &= trace.events.kind[activity] == Kind.MEMCPY
    return np.append(0, np.cumsum(np.where(is_copy, np.maximum(trace.events.bytes[activity], 0), 0)))


#: Ranges and kernels of decoding with a cache of keys and values: of vLLM, SGLang, TensorRT-LLM, FlashInfer and
#: FlashAttention. The range of vLLM ends with the number of requests and tokens that it generates, the older one with
#: that of the requests that it goes on with.
_DECODES = expression(
    r"\bDECODE\b|generation_[1-9]|\bexecute_new_0_cached_[1-9]|reshape_and_cache|store_kv_?cache|paged_attention"
    r"|Paged(?:KV|Attention)|BatchDecode|flash_fwd_splitkv|unified_attention|decode_attention"
    r"|_fwd_(?:grouped_)?kernel_stage[12]|masked_multihead_attention"
)


@shared
def token_waits(trace: Trace) -> Bool:
    """Says which of `blocking_groups` are the last ones of their step that wait for results, if the job decodes, or
    wait for what an optimizer on the CPU needs."""
    groups = blocking_groups(trace)
    is_token_wait = np.zeros(len(groups), bool)
    if not len(groups):
        return is_token_wait
    way = directions(trace, groups.copy)
    reads = np.array([way[place] == "DtoH" for place in range(len(groups))], bool)
    rows = np.flatnonzero(reads | (groups.kind == KINDS.index("sync")) & (groups.copy < 0))
    is_token_wait[rows] = _before_updates(trace, groups.end[rows])
    decodes = rows_named(trace, (Kind.USER, Kind.CPU_OP, Kind.KERNEL), _DECODES.search)
    if not len(decodes) or purpose_of(trace)[0] == "training":
        return is_token_wait
    step_starts = find_steps(trace).host_start_ns
    step = np.searchsorted(step_starts, groups.start[rows], side="right")
    is_token_wait[rows[np.diff(step, append=len(step_starts) + 1) > 0]] = True
    return is_token_wait


def _before_updates(trace: Trace, ends: Int64) -> Bool:
    """Whether optimizers run on the CPU for most of the time from each instant to the next launch, or to the end of
    the steps."""
    launches = find_launches(trace)
    call_starts = np.sort(trace.events.start_ns[launches.call[launches.call >= 0]])
    following = np.append(call_starts, ends.max(initial=find_steps(trace).window[1]))[
        np.searchsorted(call_starts, ends)
    ]
    return np.asarray(2 * cpu_updates(trace).overlap_ns(ends, following) > following - ends, bool)


def in_token_waits(trace: Trace, rows: Int32 | Int64) -> Bool:
    """Says which of these rows of the event table begin in such a wait, or in another one at the same time."""
    groups, token_groups = blocking_groups(trace), token_waits(trace)
    starts = trace.events.start_ns[rows]
    return Intervals.union(groups.start[token_groups], groups.end[token_groups]).overlap_ns(starts, starts + 1) > 0
