"""Copies of pinned memory that run alone: they share a stream with the kernels, which wait for them.

stream   | copy | kernels            | copy | kernels            |
streams  | kernels            | kernels            | kernels            |
         |        copy |             copy |             copy |
"""

from __future__ import annotations

from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.host.blocking_rows import updates_on_cpu
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.text import Phrase, joined, nbytes, ns, phrase

#: Number of copies a step from which on they are more than the tensors of a batch.
_MORE_THAN_A_BATCH = 16
_TO_GPU = """with torch.cuda.stream(copies):  # copies = torch.cuda.Stream(), made once
    following = tensor.to(device, non_blocking=True)  # while kernels work on the one before
torch.cuda.current_stream().wait_stream(copies)  # before it is used
following.record_stream(torch.cuda.current_stream())"""
_BACK = """copies.wait_stream(torch.cuda.current_stream())  # copies = torch.cuda.Stream(), made once
with torch.cuda.stream(copies):
    host.copy_(result, non_blocking=True)  # host is read after an event of this stream
result.record_stream(copies)"""
#: Layers whose weights, and checkpoints whose activations, are kept on the host.
_LESS = {
    True: "# weights of layers on the CPU: quantize them until more fit on the GPU",
    False: "# activations on the CPU: keep more of them on the GPU, or compute them again",
}
_FORMULA = phrase(
    "Mean over the steps of these copies' time during which no kernel runs, at most the rest of the step, which could "
    "hide them."
)
_DEPENDS = phrase("The copies are recorded; whether kernels are there to run meanwhile depends on the script.")


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
    rows = [row for row in facts.host.copies if "Pinned" in (row.source, row.target) and row.direction in _HOW]
    alone_ns = min(sum(map(_alone_ns, rows)), facts.usual_copies_ns)
    if facts.share(alone_ns) < WARNING_FRACTION or updates_on_cpu(facts):
        return None
    most, rest_ns = max(rows, key=_alone_ns), facts.step_ns - facts.copying_ns
    of_batch = most.direction == "HtoD" and most.count < _MORE_THAN_A_BATCH
    how = _HOW[most.direction]
    return host_card(
        facts,
        id="pinned_copies",
        title=phrase("Copy the next batch while kernels run" if of_batch else "Copy these tensors while kernels run"),
        why=_why(rows, alone_ns, rest_ns),
        how=how if of_batch else f"{how}\n{_LESS[facts.infers]}",
        gain_ns=min(alone_ns, rest_ns),
        formula=_FORMULA,
        certainty=(medium if of_batch else low)(_DEPENDS),
        part="memcpy",
    )


_HOW = {"HtoD": _TO_GPU, "DtoH": _BACK}


def _alone_ns(row: CopyRow) -> int:
    return row.total_ns - row.hidden_ns


def _why(rows: list[CopyRow], alone_ns: int, rest_ns: int) -> Phrase:
    """Returns the reason, which says where the rest of the step cannot hide all of it."""
    sizes = [row.bytes for row in rows if row.bytes is not None]
    copied = phrase(
        "{bytes} a step come from pinned memory or go there, and for {alone} of the copy no kernel runs.",
        bytes=nbytes(sum(sizes) if sizes else None),
        alone=ns(alone_ns),
    )
    less = phrase("The rest of the step takes {rest}, and can hide no more.", rest=ns(rest_ns))
    return joined(copied, less) if rest_ns < alone_ns else copied
