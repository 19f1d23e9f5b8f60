"""The allocator asks the driver for memory in steps that should find it cached: shapes change, or the cache is emptied.

step        0        1        2
cudaMalloc  mmmmm                       warm-up: no card
cudaMalloc  mmmmm    m  m     m m       steady: a card
"""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, calls_of
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.text import count, ns, phrase, text

_UNSET = "unset PYTORCH_NO_CUDA_MEMORY_CACHING"
_CACHE_AGAIN = phrase("Turn the caching allocator on again")

#: Minimum share of the steps that wait for the allocator. Waits in this many steps are not part of the warm-up.
STEADY_FRACTION = 0.5

_KEEP_CACHE = "# no torch.cuda.empty_cache() in the loop; batches of one shape"
_EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n# and no torch.cuda.empty_cache() in the loop"

_NOT_FOUND = "{call} leaves the GPU idle for {idle} a step: tensor shapes change, or the cache was emptied."
_NOT_KEPT = "{call} leaves the GPU idle for {idle} a step: nothing is kept for the next allocation."
_SHORT = (
    "Memory runs short: an allocation failed {times} times, and each time PyTorch emptied its cache and filled it "
    "again. That leaves the GPU idle for {idle} a step."
)


def allocator_steady(facts: Facts) -> Insight | None:
    """Fires when most steps wait for GPU memory, and that is worth a card.

    Similar pattern: memory runs short, so that each step gives back and asks again: the card says so. The caching
    allocator is off, which one step shows: the card says what to unset. Warm-up: allocations in less than half of the
    steps, or in one step, are no card.

    Needs: the allocator's driver calls (`cudaMalloc`, `hipMalloc`, `cuMem…`).

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the time of calls during which the GPU works.
    """
    rows = calls_of(facts, "allocator")
    known = {finding.id: finding for finding in facts.overview.findings}
    # a single step that waits does not show it, as it may be a warm-up
    waiting = sum(step.idle_ns.allocator > 0 for step in facts.host.steps)
    steady = waiting > 1 and waiting >= STEADY_FRACTION * len(facts.host.steps)
    if not rows or not ("caching_off" in known or steady):
        return None
    leaves = {"call": text(rows[0].call), "idle": ns(bubble_ns(rows))}
    if "caching_off" in known:
        return calls_card(facts, "allocator_steady", _CACHE_AGAIN, phrase(_NOT_KEPT, **leaves), rows, _UNSET)
    why = phrase(_NOT_FOUND, **leaves)
    if "memory_short" in known:
        why = phrase(_SHORT, times=count(known["memory_short"].count), idle=ns(bubble_ns(rows)))
    how = _KEEP_CACHE if facts.job.vendor == "amd" else _EXPANDABLE  # which most releases for ROCm lack
    return calls_card(facts, "allocator_steady", phrase("Stop allocating GPU memory in every step"), why, rows, how)
