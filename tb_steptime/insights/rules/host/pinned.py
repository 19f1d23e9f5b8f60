"""Copies between pinned memory and the GPU that run alone, because they share a stream with the kernels.

stream   | copy | kernels            | copy | kernels            |
streams  | kernels            | kernels            | kernels            |
         |        copy |             copy |             copy |
"""

from __future__ import annotations

from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.host.blocking_rows import updates_on_cpu
from tb_steptime.insights.rules.host.copies import DEPENDS, MORE_THAN_A_BATCH, bytes_of, copied_alone_ns, with_bytes
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.text import filled, ns, phrase

_TO_GPU = """with torch.cuda.stream(copies):  # copies = torch.cuda.Stream(), made once
    following = tensor.to(device, non_blocking=True)  # while kernels work on the one before
torch.cuda.current_stream().wait_stream(copies)  # before it is used
following.record_stream(torch.cuda.current_stream())"""
_BACK_ON_STREAM = """copies.wait_stream(torch.cuda.current_stream())  # copies = torch.cuda.Stream(), made once
with torch.cuda.stream(copies):
    host.copy_(result, non_blocking=True)  # host is read after an event of this stream
result.record_stream(copies)"""
#: Layers whose weights, and checkpoints whose activations, are kept on the host.
_LESS = {
    True: "# weights of layers on the CPU: quantize them until more fit on the GPU",
    False: "# activations on the CPU: keep more of them on the GPU, or compute them again",
}
_HOW_PINNED = {"HtoD": _TO_GPU, "DtoH": _BACK_ON_STREAM}


def pinned_copies(facts: Facts) -> Insight | None:
    """Fires when no kernel runs beside copies from or to pinned memory, and that takes a twentieth of the step.

    Similar pattern: copies of pageable memory, in which the CPU waits: these have cards of their own. Gradients and
    weights of an optimizer on the CPU, for which the step has to wait. A checkpoint that few of the steps write: what
    less than half of the steps copy does not count. Weights of layers and activations that are kept on the host: more
    copies than a batch has tensors, or to the host; what the next layer needs leaves little to run meanwhile, so that
    the card is a minor one.

    Needs: memory copies with their kind of memory (CUDA and ROCm traces name it).

    Jobs: those with a GPU that copy in each step, training and inference.

    Gain: the time of these copies while no kernel runs, mean over the steps; at most the rest of the step.

    Left out: what fewer copies gain where the rest of the step cannot hide them.
    """
    rows = [row for row in facts.host.copies if "Pinned" in (row.source, row.target) and row.direction in _HOW_PINNED]
    alone_ns = min(copied_alone_ns(*rows), facts.usual_copies_ns)
    if facts.share(alone_ns) < WARNING_FRACTION or updates_on_cpu(facts):
        return None
    most, rest_ns = max(rows, key=copied_alone_ns), facts.step_ns - facts.copying_ns
    of_batch = most.direction == "HtoD" and most.count < MORE_THAN_A_BATCH
    how = _HOW_PINNED[most.direction]
    template = "{bytes} a step come from pinned memory or go there, and for {alone} of the copy no kernel runs."
    template += " The rest of the step takes {rest}, and can hide no more." if rest_ns < alone_ns else ""
    values = {"bytes": bytes_of(rows), "alone": ns(alone_ns), "rest": ns(rest_ns)}
    return host_card(
        facts,
        id="pinned_copies",
        title=phrase("Copy the next batch while kernels run" if of_batch else "Copy these tensors while kernels run"),
        why=filled(with_bytes(template, rows), values),
        how=how if of_batch else f"{how}\n{_LESS[facts.infers]}",
        gain_ns=min(alone_ns, rest_ns),
        formula="Mean over the steps of these copies' time during which no kernel runs, at most the rest of the step, "
        "which could hide them.",
        certainty=(medium if of_batch else low)(DEPENDS),
        part="memcpy",
    )
