"""A GPU that waits for its launches and has memory to spare: a larger batch gives each launch more to do.

memory of the GPU   |========================================|
reserved            |=============|                            90 % of the memory is taken as full
what a batch takes      |=========|                            twice and more of it fits beside the rest: a card
the rest            |===|                                      parameters, gradients, optimizer state: stays as it is
"""

from __future__ import annotations

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.analyses.memory import DeviceMemory
from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.memory.cards import has_even_peaks, memory_card
from tb_steptime.metrics.idle.reasons import HOST_BOUND
from tb_steptime.metrics.memory.categories import CategoryId
from tb_steptime.text import Phrase, count, nbytes, phrase, text

#: Share of its memory with which a GPU counts as full: CUDA itself, libraries and other batches need the rest.
FULL = 0.9
#: Minimum factor by which the batch must be able to grow. Below it, the launches of a step are spread over few more
#: samples.
LEAST_TIMES = 2
#: Minimum share of the step in which the GPU waits for launches. A larger batch gives these launches more to do.
WAITS = 0.2
#: Maximum share of the peak that is of unknown kind, and minimum share that a batch takes. Otherwise the split of the
#: peak is a guess.
MOST_UNKNOWN, LEAST_OF_BATCH = 0.1, 0.1
#: Kinds of memory that grow with the batch. Unknown memory counts as one of them, so that the room is underestimated
#: rather than overestimated.
_OF_BATCH: tuple[CategoryId, ...] = ("activations", "inputs", "temporary", "unknown")
#: Minimum number of dimensions of an input whose first dimension is the batch. In matrices, it may be batch x tokens.
_BATCHED = 3

_HOW = (
    "DataLoader(dataset, batch_size=2 * batch_size, ...)\n"
    "# the learning rate may need to grow with it; check torch.cuda.max_memory_allocated()"
)


def larger_batch(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for launches in a fifth of the step, and twice the batch or more fits into its memory.

    Similar pattern: a GPU that waits for the loader or for other ranks, or is busy: a larger batch takes as much more
    time there, and there is no card. A peak in the optimizer's step, or one that differs from step to step, tells
    nothing of the batch.

    Needs: `profile_memory=True`, addresses (PyTorch 1.11 or later), and the GPU's memory in the trace's head; steps
    with one peak, and nine tenths of the peak with a known kind.

    Jobs: eager training with one GPU a process.

    Gain: how many times the batch fits: (90 % of the memory - what is reserved at most) / what a batch takes, and the
    batch itself. No time is promised.

    Left out: what a larger batch does to the training; memory that grows faster than the batch, as that of attention
    with longer sequences, or of other processes on the GPU.
    """
    gpus = [device for device in facts.memory.devices if device.device is not None]
    late_ns = sum(getattr(facts.idle, reason) for reason in HOST_BOUND) if facts.idle is not None else 0
    if len(gpus) != 1 or facts.job.purpose != "training" or facts.share(late_ns) < WAITS:
        return None
    device, taken = gpus[0], _of_batch(gpus[0])
    most = device.reserved_peak.reserved_bytes if device.reserved_peak else None
    if taken is None or most is None or not device.total_bytes or not _even(device):
        return None
    free = int(FULL * device.total_bytes) - most
    if free < (LEAST_TIMES - 1) * taken:
        return None
    return memory_card(
        id="larger_batch",
        title=phrase("Try a larger batch: memory has room"),
        why=_why(facts, device, taken, free),
        how=_HOW,
        saves=phrase("No time is computed: launches would be spread over more samples."),
        why_confidence=phrase(
            "Kinds follow from when memory is made and freed; the memory of a batch is assumed to scale."
        ),
        confidence=Confidence.LOW,
    )


def _of_batch(device: DeviceMemory) -> int | None:
    """Returns the bytes at the peak that grow with the batch; None if they are not known well enough, or are very
    few."""
    parts = {part.category: part.bytes for part in device.categories or []}
    taken, peak = sum(parts.get(category, 0) for category in _OF_BATCH), device.peak.allocated_bytes
    known = parts.get("unknown", 0) <= MOST_UNKNOWN * peak and taken >= LEAST_OF_BATCH * peak
    return taken if device.whole and parts and known else None


def _even(device: DeviceMemory) -> bool:
    """Whether the peak is in a pass, all steps have about the same peak, and memory from before the recording stays
    allocated until its end."""
    in_pass = device.peak.step is not None and device.peak.phase in ("forward", "backward")
    before = sum(part.bytes for part in device.categories or [] if part.category == "before_recording")
    return in_pass and has_even_peaks(device) and before <= min(device.growth.at_step_ends, default=0)


def _why(facts: Facts, device: DeviceMemory, taken: int, free: int) -> Phrase:
    times, samples = 1 + free // taken, _samples(facts)
    values = {"batch": nbytes(taken), "free": nbytes(free), "times": count(times), "device": text(device.name)}
    if samples is None:
        words = "A batch takes {batch} of {device}, and {free} are free: about {times} times as large fits."
        return phrase(words, **values)
    words = "{samples} samples take {batch} of {device}, {each} each, and {free} are free: {times} times as many fit."
    return phrase(words, samples=count(samples), each=nbytes(taken / samples), **values)


def _samples(facts: Facts) -> int | None:
    """Returns the number of samples in a batch, from the first product with a batch dimension; None if none is
    recorded."""
    for inputs in facts.result("compare", CompareResult).setup.first_inputs:
        first = inputs.shapes.lstrip("[").partition("]")[0].split(",")
        if len(first) >= _BATCHED and first[0].strip().isdigit():
            return int(first[0]) or None
    return None
