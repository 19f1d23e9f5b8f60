"""Activations that are computed again, although the GPU has room to keep them.

memory of the GPU   |========================================|
reserved            |===============|                          at most
what would be kept                  |=======|                  at most: all that is alive once it is computed again
                                            |=======|          a fifth of the memory stays free: a card
"""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.memory.cards import has_even_peaks
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import agreeing, count, nbytes, ns, phrase

#: Maximum share of the GPU's memory that is reserved once all is kept. Checkpoints are also made for batches that are
#: larger than the recorded ones, and for what other libraries allocate.
FULL = 0.8

_HOW = (
    "# call the block itself instead of torch.utils.checkpoint.checkpoint(block, ...)\n"
    "model.gradient_checkpointing_disable()    # Transformers"
)
_FORMULA = phrase(
    "Replayed step less the replay without what is computed again, on the CPU and on the GPU; the memory is what is "
    "alive when it has been computed again."
)
_SURE = phrase("The time and the memory are measured, for batches of the recorded size.")
_VARIES = phrase("The peaks of the steps differ, so a larger batch than the recorded ones may need the memory.")
_RANKS = phrase("This is the memory of one rank; others may have less room.")


def needless_checkpoints(facts: Facts) -> Insight | None:
    """Fires when checkpoints compute activations again in the backward pass, that takes a share of the step that is
    worth a card, and a fifth of the GPU's memory would stay free if all of them were kept.

    Similar pattern: a backward pass that is differentiated again: its ops have numbers, too, but call no layers.
    Layers that compute again in a backward pass of their own, as reversible ones, and what a compiler computes again,
    do not count. A GPU that is fuller, or whose fill is not recorded: checkpoints may be needed, and there is no card.

    Needs: `profile_memory=True`, addresses (PyTorch 1.11 or later), the GPU's memory in the trace's head, and a replay
    that is to be trusted.

    Jobs: eager training with one GPU a process.

    Gain: the replayed step less the replay of it without the ops that are computed again and their work on the GPU.

    Left out: that checkpoints may be there for larger batches: where peaks differ, or in a job of several ranks, the
    card is minor.
    """
    found, gain = facts.host.recomputed, facts.replayed_gain("needless_checkpoints")
    gpus = [device for device in facts.memory.devices if device.device is not None]
    if found is None or found.kept_bytes is None or gain is None or not gain.gain_ns or len(gpus) != 1:
        return None
    device = gpus[0]
    reserved = device.reserved_peak.reserved_bytes if device.reserved_peak else None
    if reserved is None or not device.total_bytes or reserved + found.kept_bytes > FULL * device.total_bytes:
        return None
    ranks = facts.job.ranks != "one"
    words = (
        "(One checkpoint computes|{calls} checkpoints compute) activations again in each step, for {time} on the GPU. "
        "Kept, they take up to {kept} of {free} free."
    )
    return host_card(
        facts,
        id="needless_checkpoints",
        title=phrase("Keep activations: memory has room"),
        why=phrase(
            agreeing(words, found.calls),
            calls=count(found.calls),
            time=ns(found.ns),
            kept=nbytes(found.kept_bytes),
            free=nbytes(device.total_bytes - reserved),
        ),
        gain_ns=min(gain.gain_ns, facts.step_ns),
        formula=_FORMULA,
        best=Confidence.MEDIUM if has_even_peaks(device) and not ranks else Confidence.LOW,
        why_confidence=_RANKS if ranks else _SURE if has_even_peaks(device) else _VARIES,
        colour="kernel" if facts.bound is Bound.GPU else "cpu",
        part="kernel" if facts.bound is Bound.GPU else "cpu_exec",
        view="memory",
        how=_HOW,
    )
