"""Waits for the tokens of a decoding step, which the next step continues from.

thread   [launch]|-- copy tokens to the host --|  schedule, prepare  [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkk                       kkkkkkkk
                                              iiiiiiiiiiiiiiiiiiiiiii          idle because of the CPU's work

A server reads which tokens its model chose, and decides by them what runs next, so the last wait of each step has to
stay, and what follows is the time of the CPU. In training, or where batches follow each other, a value can be read
later, or not at all.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.copy_directions import directions
from tb_steptime.metrics.host.sync_groups import KINDS, blocking_groups
from tb_steptime.metrics.job.purpose import purpose_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Ranges and kernels of decoding with a cache of keys and values: of vLLM, SGLang, FlashInfer and FlashAttention. The
#: range of vLLM ends with the number of requests and tokens that it generates.
_DECODES = expression(
    r"\bDECODE\b|generation_[1-9]|reshape_and_cache|store_kv_?cache|paged_attention|Paged(?:KV|Attention)"
    r"|BatchDecode|flash_fwd_splitkv|unified_attention"
)


@shared
def token_waits(trace: Trace) -> Bool:
    """Says which of `blocking_groups` are the last ones of their step that wait for results, if the job decodes."""
    groups = blocking_groups(trace)
    found = np.zeros(len(groups), bool)
    if not len(groups) or not _decodes(trace):
        return found
    way = directions(trace, groups.copy)
    reads = np.array([way[place] == "DtoH" for place in range(len(groups))], bool)
    rows = np.flatnonzero(reads | (groups.kind == KINDS.index("sync")) & (groups.copy < 0))
    begun = find_steps(trace).host_start_ns
    step = np.searchsorted(begun, groups.start[rows], side="right")
    found[rows[np.diff(step, append=len(begun) + 1) > 0]] = True
    return found


def _decodes(trace: Trace) -> bool:
    kinds = (Kind.USER, Kind.CPU_OP, Kind.KERNEL)
    named = rows_named(trace, kinds, _DECODES.search)
    return len(named) > 0 and purpose_of(trace)[0] != "training"


def in_token_waits(trace: Trace, rows: Int32 | Int64) -> Bool:
    """Says which of these rows of the event table begin in such a wait, or in another one at the same time."""
    groups, mine = blocking_groups(trace), token_waits(trace)
    begun = trace.events.start_ns[rows]
    return Intervals.union(groups.start[mine], groups.end[mine]).overlap_ns(begun, begun + 1) > 0
