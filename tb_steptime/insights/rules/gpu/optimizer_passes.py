"""The optimizer reads and writes all weights several times, where one kernel would do the whole update."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import late_ns
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.rules.host.host_bound import OPTIMIZER
from tb_steptime.text import count, ns, phrase

#: Of Adam's kernels: one pass reads the weight, its gradient and two averages, and writes three of them: seven values.
#: The separate kernels read and write 19 to 21.
SAVED_FRACTION = 0.6
_OPTIMIZERS = ("Adam", "AdamW")


def optimizer_passes(facts: Facts) -> Insight | None:
    """Fires when the kernels of Adam take a visible part of the step, and none of them does a whole update.

    Similar pattern: a GPU that waits for the optimizer's launches: `tiny_optimizer_kernels` and `fused_optimizer` are
    about that, and then there is no further card. A fused optimizer, and a compiled one: their kernels have other
    names. Other optimizers save less: SGD reads and writes eight values, and five in one pass.

    Needs: the range `Optimizer.step`, which torch writes by itself, and GPU kernels with their launch calls.

    Jobs: training with Adam on a GPU.

    Gain: 60 % of the time of these kernels (est.), as memory limits them.

    Left out: the launches that are saved.
    """
    update, optimizer = facts.waste.update if facts.waste else None, facts.job.optimizer
    if update is None or optimizer not in _OPTIMIZERS or (facts.waste and facts.waste.fused):
        return None
    if facts.share(late_ns(facts.host, OPTIMIZER)) >= WORTH_FRACTION:
        return None
    return kernel_card(
        facts,
        id="optimizer_passes",
        title=phrase("Update the weights in one pass"),
        why=phrase(
            "{count} kernels of the optimizer take {time} a step: each reads and writes the weights or their averages.",
            count=count(round(update.count)),
            time=ns(update.total_ns),
        ),
        how=f"torch.optim.{optimizer}(model.parameters(), fused=True)",
        gain_ns=update.gain_ns * SAVED_FRACTION,
        formula=phrase(
            "60 % of the time of these kernels (est.), because one kernel reads and writes a third of their values."
        ),
        why_confidence=phrase("What the fused kernel takes is an estimate from what it reads and writes."),
        view="gpu",
        site=update.site,
        estimated=True,
    )
