"""Which blocking calls have to stay: the wait for the tokens of a decoding step, and that for gradients that an
optimizer reads on the CPU.

A server reads which tokens its model chose, and decides by them what runs next, so the last wait of each step has to
stay, and what follows is the time of the CPU:

thread   [launch]|-- copy tokens to the host --|  schedule, prepare  [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkk                       kkkkkkkk
                                              iiiiiiiiiiiiiiiiiiiiiii          idle because of the CPU's work

In training, or where batches follow each other, a value can be read later, or not at all.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.activities import directions
from tb_steptime.metrics.host.blocking_calls import KINDS, blocking_groups
from tb_steptime.metrics.idle.cpu_updates import cpu_updates
from tb_steptime.metrics.job.purpose import purpose_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, calls_that_launch, rows_named, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Ranges and kernels of decoding with a cache of keys and values, of vLLM, SGLang, TensorRT-LLM, FlashInfer and
#: FlashAttention. The range of vLLM ends with the number of requests and tokens that it generates; that of earlier
#: releases with the number of requests that it continues.
_DECODES = expression(
    r"\bDECODE\b|generation_[1-9]|\bexecute_new_0_cached_[1-9]|reshape_and_cache|store_kv_?cache|paged_attention"
    r"|Paged(?:KV|Attention)|BatchDecode|flash_fwd_splitkv|unified_attention|decode_attention"
    r"|_fwd_(?:grouped_)?kernel_stage[12]|masked_multihead_attention"
)


@shared
def token_waits(trace: Trace) -> Bool:
    """Returns which of `blocking_groups` are the last ones of their step that wait for results, if the job decodes, or
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
    """Returns whether optimizers run on the CPU for most of the time from each instant to the next launch, or to the
    end of the steps."""
    call_starts = trace.events.start_ns[calls_that_launch(trace)]
    following = np.append(call_starts, ends.max(initial=find_steps(trace).window[1]))[
        np.searchsorted(call_starts, ends)
    ]
    return np.asarray(2 * cpu_updates(trace).overlap_ns(ends, following) > following - ends, bool)


def in_token_waits(trace: Trace, rows: Int32 | Int64) -> Bool:
    """Returns which of these rows of the event table begin during a wait of `token_waits`, on any thread."""
    groups, token_groups = blocking_groups(trace), token_waits(trace)
    starts = trace.events.start_ns[rows]
    return Intervals.union(groups.start[token_groups], groups.end[token_groups]).overlap_ns(starts, starts + 1) > 0
