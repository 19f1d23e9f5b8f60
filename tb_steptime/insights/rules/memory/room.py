"""A GPU that has memory to spare, for a larger batch, or for activations that are computed again.

memory of the GPU   |========================================|
reserved            |=============|                            90 % of the memory is taken as full
what a batch takes      |=========|                            twice and more of it fits beside the rest: a card
the rest            |===|                                      parameters, gradients, optimizer state: stays as it is

reserved            |===============|                          at most
what would be kept                  |=======|                  at most: all that is alive once it is computed again
                                            |=======|          a fifth of the memory stays free: a card
"""

from __future__ import annotations

from tb_steptime.analyses.memory import DeviceMemory
from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.largest import batch_size
from tb_steptime.insights.rules.memory.allocated import has_even_peaks, memory_card
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import HOST_BOUND
from tb_steptime.metrics.memory.categories import CategoryId
from tb_steptime.text import Phrase, agreeing, count, nbytes, ns, phrase, text

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
    gpu = _only_gpu(facts)
    late_ns = sum(getattr(facts.idle, reason) for reason in HOST_BOUND) if facts.idle is not None else 0
    if gpu is None or not facts.trains or facts.share(late_ns) < WAITS:
        return None
    device, reserved, total = gpu
    batch_bytes, free = _bytes_of_batch(device), int(FULL * total) - reserved
    if batch_bytes is None or not _even(device) or free < (LEAST_TIMES - 1) * batch_bytes:
        return None
    return memory_card(
        id="larger_batch",
        title=phrase("Try a larger batch: memory has room"),
        why=_why(facts, device, batch_bytes, free),
        how=_HOW,
        saves="No time is computed: launches would be spread over more samples.",
        certainty=low("Kinds follow from when memory is made and freed; the memory of a batch is assumed to scale."),
    )


def _only_gpu(facts: Facts) -> tuple[DeviceMemory, int, int] | None:
    """Returns the GPU, the most that it reserves and the size of its memory, in bytes; None if one of them is not
    recorded, or if the process has several GPUs or none."""
    gpus = [device for device in facts.memory.devices if device.device is not None]
    if len(gpus) != 1 or gpus[0].most_reserved_bytes is None or not gpus[0].total_bytes:
        return None
    return gpus[0], gpus[0].most_reserved_bytes, gpus[0].total_bytes


def _bytes_of_batch(device: DeviceMemory) -> int | None:
    """Returns the bytes at the peak that grow with the batch; None if they are not known well enough, or are very
    few."""
    parts = {part.category: part.bytes for part in device.categories or []}
    batch_bytes = sum(parts.get(category, 0) for category in _OF_BATCH)
    peak = device.peak.allocated_bytes
    is_reliable = parts.get("unknown", 0) <= MOST_UNKNOWN * peak and batch_bytes >= LEAST_OF_BATCH * peak
    return batch_bytes if device.whole and parts and is_reliable else None


def _even(device: DeviceMemory) -> bool:
    """Returns whether the peak is in a pass, all steps have about the same peak, and memory from before the recording
    stays allocated until its end."""
    in_pass = device.peak.step is not None and device.peak.phase in ("forward", "backward")
    before = sum(part.bytes for part in device.categories or [] if part.category == "before_recording")
    return in_pass and has_even_peaks(device) and before <= min(device.growth.at_step_ends, default=0)


def _why(facts: Facts, device: DeviceMemory, batch_bytes: int, free: int) -> Phrase:
    times, samples = 1 + free // batch_bytes, batch_size(facts)
    values = {"batch": nbytes(batch_bytes), "free": nbytes(free), "times": count(times), "device": text(device.name)}
    if samples is None:
        template = "A batch takes {batch} of {device}, and {free} are free: about {times} times as large fits."
        return phrase(template, **values)
    template = (
        "{samples} samples take {batch} of {device}, {each} each, and {free} are free: {times} times as many fit."
    )
    return phrase(template, samples=count(samples), each=nbytes(batch_bytes / samples), **values)


#: Maximum share of the GPU's memory that is reserved once all is kept. Checkpoints are also made for batches that are
#: larger than the recorded ones, and for what other libraries allocate.
FULL_ONCE_KEPT = 0.8

_KEEP = (
    "# call the block itself instead of torch.utils.checkpoint.checkpoint(block, ...)\n"
    "model.gradient_checkpointing_disable()    # Transformers"
)
_SURE = medium("The time and the memory are measured, for batches of the recorded size.")
_VARIES = low("The peaks of the steps differ, so a larger batch than the recorded ones may need the memory.")
_RANKS = low("This is the memory of one rank; others may have less room.")


def needless_checkpoints(facts: Facts) -> Insight | None:
    """Fires when checkpoints compute activations again in the backward pass, that takes a share of the step that is
    worth a card, and a fifth of the GPU's memory would stay free if all of them were kept; on a CPU, whose memory no
    recording holds, whenever it takes such a share.

    Similar pattern: a backward pass that is differentiated again: its ops have numbers, too, but call no layers.
    Layers that compute again in a backward pass of their own, as reversible ones, and what a compiler computes again,
    do not count. A GPU that is fuller, or whose fill is not recorded: checkpoints may be needed, and there is no card.

    Needs: with a GPU, `profile_memory=True`, addresses (PyTorch 1.11 or later), the GPU's memory in the trace's head,
    and a replay that is to be trusted.

    Jobs: eager training with one GPU a process, or on the CPU.

    Gain: the replayed step less the replay of it without the ops that are computed again and their work on the GPU; on
    the CPU the time of these ops.

    Left out: that checkpoints may be there for larger batches: where peaks differ, in a job of several ranks, and on
    the CPU, the card is minor.
    """
    if facts.job.device == "cpu":
        return _card_on_cpu(facts)
    recomputed = facts.host.recomputed
    gain = facts.replayed_gain("needless_checkpoints")
    gpu = _only_gpu(facts)
    if recomputed is None or recomputed.kept_bytes is None or gain is None or not gain.gain_ns or gpu is None:
        return None
    device, reserved, total = gpu
    if reserved + recomputed.kept_bytes > FULL_ONCE_KEPT * total:
        return None
    ranks = facts.job.ranks != "one"
    template = (
        "(One checkpoint computes|{calls} checkpoints compute) activations again in each step, for {time} on the GPU. "
        "Kept, they take up to {kept} of {free} free."
    )
    return host_card(
        facts,
        id="needless_checkpoints",
        title=phrase("Keep activations: memory has room"),
        why=phrase(
            agreeing(template, recomputed.calls),
            calls=count(recomputed.calls),
            time=ns(recomputed.ns),
            kept=nbytes(recomputed.kept_bytes),
            free=nbytes(total - reserved),
        ),
        gain_ns=min(gain.gain_ns, facts.step_ns),
        formula="Replayed step less the replay without what is computed again, on the CPU and on the GPU; the memory "
        "is what is alive when it has been computed again.",
        certainty=_RANKS if ranks else _SURE if has_even_peaks(device) else _VARIES,
        part="kernel" if facts.bound is Bound.GPU else "cpu_exec",
        view="memory",
        how=_KEEP,
    )


def _card_on_cpu(facts: Facts) -> Insight | None:
    recomputed = facts.host.recomputed
    if recomputed is None or not facts.worth(recomputed.ns):
        return None
    template = "(One checkpoint computes|{calls} checkpoints compute) activations again in each step, for {time}."
    return card(
        facts,
        id="needless_checkpoints",
        title=phrase("Keep activations if memory has room"),
        why=phrase(agreeing(template, recomputed.calls), calls=count(recomputed.calls), time=ns(recomputed.ns)),
        formula="Time of the ops that are computed again, mean over the steps.",
        certainty=low("The time is measured; whether the memory has room for the activations is not recorded."),
        gain_ns=recomputed.ns,
        how=_KEEP,
    )
