"""Waits that have to stay: for the tokens of a decoding step, and for gradients that an optimizer reads on the CPU.

thread   [launch]|-- copy tokens to the host --|  schedule, prepare  [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkk                       kkkkkkkk
                                              iiiiiiiiiiiiiiiiiiiiiii          idle because of the CPU's work

A server reads which tokens its model chose, and decides by them what runs next, so the last wait of each step has to
stay, and what follows is the time of the CPU. In training, or where batches follow each other, a value can be read
later, or not at all.

An optimizer on the CPU (`metrics/idle/cpu_updates.py`) cannot start before it has the gradients, and the next step
cannot start before it ends.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.activities import directions
from tb_steptime.metrics.host.blocking_calls import KINDS, blocking_groups
from tb_steptime.metrics.idle.cpu_updates import cpu_updates
from tb_steptime.metrics.job import purpose_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

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
    found = np.zeros(len(groups), bool)
    if not len(groups):
        return found
    way = directions(trace, groups.copy)
    reads = np.array([way[place] == "DtoH" for place in range(len(groups))], bool)
    rows = np.flatnonzero(reads | (groups.kind == KINDS.index("sync")) & (groups.copy < 0))
    found[rows] = _before_updates(trace, groups.end[rows])
    decodes = rows_named(trace, (Kind.USER, Kind.CPU_OP, Kind.KERNEL), _DECODES.search)
    if not len(decodes) or purpose_of(trace)[0] == "training":
        return found
    begun = find_steps(trace).host_start_ns
    step = np.searchsorted(begun, groups.start[rows], side="right")
    found[rows[np.diff(step, append=len(begun) + 1) > 0]] = True
    return found


def _before_updates(trace: Trace, ends: Int64) -> Bool:
    """Whether optimizers run on the CPU for most of the time from each instant to the next launch, or to the end of
    the steps."""
    launches = find_launches(trace)
    begun = np.sort(trace.events.start_ns[launches.call[launches.call >= 0]])
    following = np.append(begun, ends.max(initial=find_steps(trace).window[1]))[np.searchsorted(begun, ends)]
    return np.asarray(2 * cpu_updates(trace).overlap_ns(ends, following) > following - ends, bool)


def in_token_waits(trace: Trace, rows: Int32 | Int64) -> Bool:
    """Says which of these rows of the event table begin in such a wait, or in another one at the same time."""
    groups, mine = blocking_groups(trace), token_waits(trace)
    begun = trace.events.start_ns[rows]
    return Intervals.union(groups.start[mine], groups.end[mine]).overlap_ns(begun, begun + 1) > 0
