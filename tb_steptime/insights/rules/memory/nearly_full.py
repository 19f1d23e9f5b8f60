"""A GPU whose memory is nearly full: what checkpointing, gradients set to None, or larger segments would save.

memory of the GPU   |================================|
reserved            |============================|           more than 80 %: worth a card
allocated           |==================|                     the gap is cached and not used
"""

from __future__ import annotations

from collections.abc import Iterator

from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.memory.cards import NEARLY_FULL, memory_card
from tb_steptime.text import Phrase, fraction, nbytes, phrase, text

#: From this share of the peak on, a kind of memory decides how high the peak is.
DOMINATES = 0.5
#: Minimum share of reserved memory that is cached and unused. Any caching allocator has less than this.
FRAGMENTED = 0.25

_CHECKPOINT = (
    "from torch.utils.checkpoint import checkpoint\nx = checkpoint(layer, x, use_reentrant=False)  # each layer"
)
_TO_NONE = "optimizer.zero_grad(set_to_none=True)"
_EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"


def peak_of_activations(facts: Facts) -> Insight | None:
    """Fires when a GPU is nearly full, and most of what is allocated at its peak is kept for the backward pass.

    Similar pattern: a GPU with room: activations are most of the memory of many jobs, and recomputing them would only
    cost time.

    Needs: `profile_memory=True`, addresses (PyTorch 1.11 or later), and the GPU's memory in the trace's head.

    Jobs: training on a GPU.

    Gain: bytes of activations at the peak; less what a checkpoint keeps, the inputs of each layer and one layer's own
    activations.

    Left out: the time that recomputing costs, about another forward pass; what else peaks once they are gone.
    """
    for device in _nearly_full(facts.memory):
        activation_bytes = sum(part.bytes for part in device.categories or [] if part.category == "activations")
        if activation_bytes >= DOMINATES * device.peak.allocated_bytes:
            return _card(
                device,
                "peak_of_activations",
                phrase("Checkpoint layers to keep fewer activations"),
                phrase(
                    "{share} of {device}'s peak is activations: {bytes}, which checkpointing saves at most.",
                    share=fraction(activation_bytes / device.peak.allocated_bytes),
                    device=text(device.name),
                    bytes=nbytes(activation_bytes),
                ),
                _CHECKPOINT,
            )
    return None


def gradients_kept(facts: Facts) -> Insight | None:
    """Fires when a GPU is nearly full, and gradients of an earlier step are still there when most is allocated.

    Similar pattern: gradients that several passes add up: they are needed, and there are fewer optimizer steps than
    passes.

    Needs: `profile_memory=True` from the first backward pass on, addresses, and the GPU's memory in the trace's head.

    Jobs: training on a GPU with one backward pass to each optimizer step.

    Gain: bytes of the gradients at the peak that an earlier step made, of those in the table.

    Left out: gradients from before the recording, which no allocation shows.
    """
    for device in _nearly_full(facts.memory):
        steps = [step.name for step in facts.memory.steps]
        old = [
            row.bytes
            for row in device.largest
            if row.category == "gradients" and row.step in steps and row.step != device.peak.step
        ]
        # where steps without the optimizer accumulate gradients, these are needed
        every = all(any(span.phase == "optimizer" for span in step.phase_spans) for step in facts.memory.steps)
        if device.peak.phase == "forward" and old and every:
            return _card(
                device,
                "gradients_kept",
                phrase("Set gradients to None after each step"),
                phrase(
                    "{bytes} of gradients of an earlier step are there at {device}'s peak, in the forward pass.",
                    bytes=nbytes(sum(old)),
                    device=text(device.name),
                ),
                _TO_NONE,
            )
    return None


def fragmented(facts: Facts) -> Insight | None:
    """Fires when a GPU is nearly full, a quarter of it is cached and unused at the peak, and the allocator asks the
    driver for more in the steps.

    Similar pattern: memory that an earlier, larger step needed stays cached: without calls to the driver nothing is
    wrong.

    Needs: `profile_memory=True`, the allocator's driver calls, and the GPU's memory in the trace's head.

    Jobs: those on NVIDIA GPUs, training and inference; most releases for ROCm lack the setting.

    Gain: bytes that are reserved and not allocated when most is allocated.

    Left out: blocks that only seem unused, because another stream still needs them.
    """
    memory = facts.memory
    later = memory.steps[1].start_ns if len(memory.steps) > 1 else memory.end_ns
    asks = any(call.start_ns >= later and "Free" not in call.name for call in memory.calls)
    if facts.job.vendor == "amd" or not asks:
        return None
    for device in _nearly_full(memory):
        reserved = device.peak.reserved_bytes or 0
        unused = reserved - device.peak.allocated_bytes
        if unused >= FRAGMENTED * reserved:
            return _card(
                device,
                "fragmented",
                phrase("Let the allocator grow its segments"),
                phrase(
                    "{bytes} of {device} are cached and unused at the peak, and steps still ask the driver for more.",
                    bytes=nbytes(unused),
                    device=text(device.name),
                ),
                _EXPANDABLE,
            )
    return None


def _nearly_full(memory: MemoryResult) -> Iterator[DeviceMemory]:
    """Yields the nearly full devices, if both their size and all of their allocations are known."""
    for device in memory.devices:
        most = device.reserved_peak.reserved_bytes if device.reserved_peak else None
        if device.whole and device.total_bytes and most and most >= NEARLY_FULL * device.total_bytes:
            yield device


def _card(device: DeviceMemory, id: str, title: Phrase, why: Phrase, how: str) -> Insight:
    return memory_card(
        id=id,
        title=title,
        why=why,
        how=how,
        saves=phrase("Bytes at the peak of what is allocated, at most; no time of the step."),
        why_confidence=phrase("The allocator's own totals; kinds follow from when memory is made and freed."),
    )
