"""Copies of pageable memory: the driver stages their bytes while the CPU waits, asynchronous or not."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import host_card
from tb_steptime.insights.rules.host.blocking_rows import name_of, pageable
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, nbytes, ns, phrase, text


def pageable_copies(facts: Facts) -> Insight | None:
    """Fires when copies of pageable memory to the GPU leave it idle long enough for a card.

    Similar pattern: copies that wait for earlier work of the GPU: then the GPU is busy, and nothing is gained. A
    first copy that waits for work from before the recording is left out.

    Needs: memory copies with their kind of memory, and the launch calls.

    Jobs: those with a GPU that copy from the host in each step.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: the copies themselves, and waits for the loader.
    """
    rows = pageable(facts.host)
    if not rows:
        return None
    title, how = _OF_LOADER if facts.data_loading.unknown is None else _OF_TENSOR
    return calls_card(facts, "pageable_copies", phrase(title), _why(rows), rows, how)


#: The title and the code of the advice. If no loader is recorded, the job may have none.
_OF_LOADER = "Pin the memory of the batch", "DataLoader(dataset, pin_memory=True)\nbatch.to(device, non_blocking=True)"
_OF_TENSOR = (
    "Pin the memory of the copied tensors",
    "tensor = tensor.pin_memory()  # allocated once, and reused\ntensor.to(device, non_blocking=True)",
)


#: Code that lets copies run while kernels run.
_AHEAD_OF_LOADER = "DataLoader(..., pin_memory=True)\nbatch.to(device, non_blocking=True)  # on a stream of its own"
_AHEAD = "tensor = tensor.pin_memory()\ntensor.to(device, non_blocking=True)  # on a stream of its own"


def _why(rows: list[BlockingRow]) -> Phrase:
    known = [row.bytes for row in rows if row.bytes is not None]
    return phrase(
        "{op} copies {bytes} a step from pageable memory and blocks the CPU for {blocked}.",
        op=text(name_of(rows[0])),
        bytes=nbytes(sum(known) if known else None),
        blocked=ns(sum(row.blocked_ns for row in rows)),
    )


def pageable_batch_copies(facts: Facts) -> Insight | None:
    """Fires when copies from pageable memory to the GPU run alone for long enough. The copy's time is no idle time of
    the GPU, so that no other card claims it.

    Similar pattern: copies that no kernel could hide, because the step has none to run meanwhile: the confidence is
    medium for that reason.

    Needs: memory copies with their kind of memory (CUDA and ROCm traces name it).

    Jobs: those with a GPU that copy from the host in each step.

    Gain: the time of these copies while no kernel runs, mean over the steps.

    Left out: the copies' time during which kernels run.
    """
    rows = [row for row in facts.host.copies if row.direction == "HtoD" and row.source == "Pageable"]
    known = [row.bytes for row in rows if row.bytes is not None]
    alone_ns = sum(row.total_ns - row.hidden_ns for row in rows)
    words = "{bytes} a step come from pageable memory, and for {alone} of the copy no kernel runs."
    depends = "The copies are recorded; whether kernels are there to run meanwhile depends on the script."
    return host_card(
        facts,
        id="pageable_batch_copies",
        title=phrase("Copy the next batch while kernels run"),
        why=phrase(words, bytes=nbytes(sum(known) if known else None), alone=ns(alone_ns)),
        how=_AHEAD_OF_LOADER if facts.data_loading.unknown is None else _AHEAD,
        gain_ns=alone_ns,
        formula=phrase("Mean over the steps of the batches' copies during which no kernel runs."),
        best=Confidence.MEDIUM,
        why_confidence=phrase(depends),
        colour="copy",
        part="memcpy",
    )
