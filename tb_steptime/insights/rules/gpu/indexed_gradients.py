"""The backward pass of x[index] sorts the indices, and adds up the rows of each index one after another."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.kernels import mostly
from tb_steptime.text import ns, phrase

#: The estimate of what a sum without a sort saves, as for chains of kernels: a part of the work stays.
SAVED_FRACTION = 0.75


def indexed_gradients(facts: Facts) -> Insight | None:
    """Fires when gradients of tensors that are indexed with a tensor take a twentieth of the step.

    Similar pattern: gradients of embeddings and of `gather`, and assignments x[index] = y: their kernels have other
    names.

    Needs: GPU kernels; the ops that launched them, for the sort.

    Jobs: training on a GPU.

    Gain: three quarters of the time of these kernels (est.), as sums in any order need no sort.

    Left out: how often the same index occurs, which makes the kernel slow.
    """
    found = facts.waste.indexing if facts.waste else None
    if found is None or facts.share(found.total_ns) < WARNING_FRACTION:
        return None
    what = phrase(
        "The gradient of an indexed tensor takes {time} a step: it sorts the indices first", time=ns(found.total_ns)
    )
    return kernel_card(
        facts,
        id="indexed_gradients",
        title=phrase("Select rows with index_select in place of indexing"),
        why=mostly(what, found.site),
        how="x.index_select(0, index)  # or torch.gather, torch.nn.functional.embedding: no sort in the backward pass",
        gain_ns=found.gain_ns * SAVED_FRACTION,
        formula=phrase("Three quarters of the time of these kernels and of the sort before them (est.)."),
        why_confidence=phrase("How long index_select takes is not known."),
        view="gpu",
        site=found.site,
        estimated=True,
    )
