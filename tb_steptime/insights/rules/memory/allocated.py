"""Allocated memory: what checkpointing, gradients set to None, or larger segments would save of a GPU's that is nearly
full; memory for which the GPU has no room; and memory that every step leaves allocated, with the places that allocate
it.

memory of the GPU   |================================|
reserved            |============================|           more than 80 %: worth a card
allocated           |==================|                     the gap is cached and not used
reserved            |====================================|   more than the GPU has: the rest is in the system's memory

allocated at the end of the steps   100  112  124  136  148        12 a step, the same places make it: a card
                                    100  112  100  112  100        comes and goes: no card
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.insights.base import Certainty, EvidenceRow, Insight, Severity, high, medium
from tb_steptime.insights.cards import Words
from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.memory.growth import Maker
from tb_steptime.text import Phrase, count, filled, fraction, nbytes, phrase, text
from tb_steptime.text.frames import code_line

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: From this share of its memory on, a device may run out of memory with the next longer batch.
NEARLY_FULL = 0.8


#: Maximum difference between the peaks of the steps, as a share. A larger difference comes from batches of several
#: sizes, of which the largest may not be recorded.
EVEN = 0.05


def has_even_peaks(device: DeviceMemory) -> bool:
    peaks = device.step_peaks
    return len(peaks) > 1 and min(peaks) >= (1 - EVEN) * max(peaks)


def memory_card(
    saves: str, certainty: Certainty, severity: Severity = Severity.MINOR, **words: Unpack[Words]
) -> Insight:
    """Returns the card. It has no gain, because no time of the step is saved. saves: how the bytes in `why` are
    computed, and what they leave out."""
    words["instead"] = phrase("less memory")
    return Insight(
        severity=severity,
        gain_formula=phrase(saves),
        confidence=certainty.level,
        why_confidence=certainty.why,
        view="memory",
        colour="other",
        **words,
    )


_AT_PEAK = "The bytes at the peak of allocated memory, at most. They are no time of the step."
_BY_ALLOCATOR = medium("The allocator's own totals; kinds follow from when memory is made and freed.")
#: From this share of the peak on, a kind of memory decides how high the peak is.
DOMINATES = 0.5
#: Minimum share of reserved memory that is cached and unused. Any caching allocator has less than this.
FRAGMENTED = 0.25

_CHECKPOINT = (
    "from torch.utils.checkpoint import checkpoint\nx = checkpoint(layer, x, use_reentrant=False)  # each layer"
)


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
            return memory_card(
                _AT_PEAK,
                _BY_ALLOCATOR,
                id="peak_of_activations",
                title=phrase("Checkpoint layers to keep fewer activations"),
                why=phrase(
                    "{share} of {device}'s peak is activations: {bytes}, which checkpointing saves at most.",
                    share=fraction(activation_bytes / device.peak.allocated_bytes),
                    device=text(device.name),
                    bytes=nbytes(activation_bytes),
                ),
                how=_CHECKPOINT,
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
            return memory_card(
                _AT_PEAK,
                _BY_ALLOCATOR,
                id="gradients_kept",
                title=phrase("Set gradients to None after each step"),
                why=phrase(
                    "At {device}'s peak, in the forward pass, {bytes} of an earlier step's gradients are allocated.",
                    bytes=nbytes(sum(old)),
                    device=text(device.name),
                ),
                how="optimizer.zero_grad(set_to_none=True)",
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
            return memory_card(
                _AT_PEAK,
                _BY_ALLOCATOR,
                id="fragmented",
                title=phrase("Let the allocator grow its segments"),
                why=phrase(
                    "{bytes} of {device} are cached and unused at the peak, and steps still ask the driver for more.",
                    bytes=nbytes(unused),
                    device=text(device.name),
                ),
                how="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            )
    return None


_BY_DRIVER = "The peak of reserved bytes, less the memory of the GPU. They are no time of the step."
_FIT = """# a smaller batch, or the computation in several parts
# Windows: NVIDIA Control Panel, "CUDA - Sysmem Fallback Policy": "Prefer No Sysmem Fallback"
# then the allocator gives back what it only caches, and raises an error if memory is still short"""


def spilled(facts: Facts) -> Insight | None:
    """Fires when the allocator reserves more memory than an NVIDIA GPU has. The driver of Windows, and of Linux in
    Windows, then keeps the rest in the system's memory.

    Similar pattern: a GPU that shares the system's memory, as those of AMD's and Intel's processors do: there is no
    card. Without this driver an allocation fails before that.

    Needs: `profile_memory=True`, and the GPU's memory in the trace's head; no GPU activity.

    Jobs: those on NVIDIA GPUs, training and inference.

    Gain: bytes that are reserved at most, less what the GPU has.

    Left out: how much of the step kernels wait for the system's memory; memory of other processes on the GPU.
    """
    if facts.job.vendor != "nvidia":
        return None
    for device in facts.memory.devices:
        most = device.most_reserved_bytes
        if device.device is None or not device.total_bytes or not most or most <= device.total_bytes:
            continue
        in_use = device.whole and device.peak.allocated_bytes > device.total_bytes
        return memory_card(
            _BY_DRIVER,
            high("The allocator's own total.") if in_use else medium("The memory there may only be cached."),
            Severity.WARNING if in_use else Severity.MINOR,
            id="spilled",
            title=phrase("Fit the job into the GPU's memory"),
            why=phrase(
                "{reserved} are reserved on {device}, which has {total}: {rest} are in the system's memory, which "
                "kernels reach far more slowly.",
                reserved=nbytes(most),
                device=text(device.name),
                total=nbytes(device.total_bytes),
                rest=nbytes(most - device.total_bytes),
            ),
            how=_FIT,
        )
    return None


def _nearly_full(memory: MemoryResult) -> Iterator[DeviceMemory]:
    """Yields the nearly full devices, if both their size and all of their allocations are known."""
    for device in memory.devices:
        most = device.most_reserved_bytes
        if device.whole and device.total_bytes and most and most >= NEARLY_FULL * device.total_bytes:
            yield device


#: Minimum growth in bytes a step. A list of losses or of figures to report grows by less, and is harmless even after a
#: million steps.
LEAST_BYTES = 100_000
#: Minimum share of the growth that the known places must leave. Below it, the cause is not known.
MOST_OF_GROWTH = 0.5
#: A place that leaves at least this share of the growth is named as the only one.
MOST_OF_ALL = 0.9
#: Minimum number of rises in a row from one step's end to the next.
FEWEST_RISES = 4

_HOW = "losses.append(loss.item())  # not loss: it keeps the whole graph\nkept.append(out.detach().cpu())  # on the CPU"


def memory_grows(facts: Facts) -> Insight | None:
    """Fires when each step ends with more allocated than the one before, and the same places make most of what stays.

    Similar pattern: caches that fill up, such as the keys and values of a model that generates text, and loaders that
    prefetch: inference and allocations of the loader are no card, nor is what comes only in some steps.

    Needs: `profile_memory=True`, five steps, and addresses (PyTorch 1.11 or later).

    Jobs: training, on a GPU or the CPU.

    Gain: bytes a step that nothing frees while recording, from the end of the first step to that of the last.

    Left out: growth under 0.1 MB a step; memory that is freed later than the recording ends, such as that of an epoch's
    figures.
    """
    if not facts.trains:
        return None
    growing = [device for device in facts.memory.devices if _grows(device)]
    if not growing:
        return None
    device = max(growing, key=lambda each: each.growth.bytes_per_step or 0.0)
    maker = device.makers[0]
    return memory_card(
        id="memory_grows",
        title=phrase("Free what every step leaves allocated"),
        why=_why(device, maker),
        how=_HOW,
        saves="Bytes a step that nothing frees between the end of the first step and the end of the last one.",
        certainty=(high if maker.steps > FEWEST_RISES else medium)(
            "Each step ends with more allocated, by the same places; it may be freed later."
        ),
        severity=Severity.WARNING,
        row=EvidenceRow("makers", maker.example.op or ""),
    )


def _grows(device: DeviceMemory) -> bool:
    """Returns whether memory grows in every step, by what the same places allocate, and not mainly by allocations of
    the loader."""
    growth, grown_bytes = device.growth, device.growth.bytes_per_step or 0.0
    if not growth.every_step or len(growth.at_step_ends) <= FEWEST_RISES or not device.makers:
        return False
    by_loader = device.makers[0].example.phase == "data_loading"
    left = sum(maker.bytes_per_step for maker in device.makers)
    return not by_loader and grown_bytes >= LEAST_BYTES and left >= MOST_OF_GROWTH * grown_bytes


def _named(device: DeviceMemory) -> str:
    """Returns the device's name without an article for a GPU, whose name is a proper name, and "the CPU"."""
    return "the CPU" if device.name == "CPU" else device.name


def _why(device: DeviceMemory, maker: Maker) -> Phrase:
    """Returns the reason, with the place that leaves most. If there are several places, only the largest is named."""
    example, grown_bytes = maker.example, device.growth.bytes_per_step or 0.0
    place = example.line or example.module or example.outer_op
    values = {"steps": count(maker.steps), "bytes": nbytes(grown_bytes), "device": text(_named(device))}
    values |= {"op": text(example.op or ""), "place": text(code_line(place or ""))}
    verb = " made" if maker.bytes_per_step >= MOST_OF_ALL * grown_bytes else " made mostly"
    where = f"{verb} by {{op}}" + (" in {place}" if place is not None and place != example.op else "")
    where = " made outside of ops" if example.op is None else where
    return filled(f"Each of {{steps}} steps leaves {{bytes}} on {{device}},{where}.", values)
