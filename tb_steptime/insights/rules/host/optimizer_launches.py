"""The GPU waits for the launches of the optimizer: one for each tensor, or a few launches that take long."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import late_ns, sites_of
from tb_steptime.insights.rules.host.host_bound import OPTIMIZER
from tb_steptime.insights.rules.host.idle_cards import late_card
from tb_steptime.text import Phrase, agreeing, count, ns, phrase

#: Minimum number of short kernels. An optimizer that updates all tensors at once launches a few dozen at most.
MANY_KERNELS = 100

#: A fused optimizer launches one kernel for some hundred tensors. With this many launches or fewer, there is nothing
#: to fuse.
FUSED_LAUNCHES = 2

#: Optimizers of torch with a fused form on GPUs, and optimizers that can update all tensors of one type at once.
_WITH_FUSED_FORM = ("Adam", "AdamW", "SGD")
_WITH_FOREACH_FORM = (
    *_WITH_FUSED_FORM, "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
)  # fmt: skip
#: Advice for an optimizer that has neither form: a compiler fuses its updates.
_COMPILE = "step = torch.compile(optimizer.step)  # from PyTorch 2.2 on; call step() in place of optimizer.step()"


def tiny_optimizer_kernels(facts: Facts) -> Insight | None:
    """Fires when an optimizer launches many short kernels, and the GPU's wait for them is worth a card.

    Similar pattern: short kernels of another range: only those within `Optimizer.step` count.

    Needs: the range `Optimizer.step`, which torch writes by itself, and the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time until work from the optimizer is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out.

    Left out: the kernels' time on the GPU.
    """
    kernels = _short_kernels(facts)
    if kernels < MANY_KERNELS:
        return None
    late = late_ns(facts.host, OPTIMIZER)
    title, why = (
        phrase("Let the optimizer update all tensors at once"),
        phrase(
            "The optimizer launches {count} short kernels a step, and the GPU is idle for {idle} meanwhile.",
            count=count(round(kernels)),
            idle=ns(late),
        ),
    )
    how = _form_for_many_tensors(facts.job.optimizer)
    return late_card(facts, "tiny_optimizer_kernels", title, why, OPTIMIZER, late, how)


def fused_optimizer(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for an optimizer that takes all tensors at once already, in more than two launches.

    Similar pattern: an optimizer with a launch for each tensor: `tiny_optimizer_kernels` is about that. One that is
    fused, and late for another reason or large enough for several launches: its kernels have other names. One that has
    no fused form has no card.

    Needs: the range `Optimizer.step`, which torch writes by itself, and the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time until work from the optimizer is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out.

    Left out: the update's time on the GPU.
    """
    launches = sum(row.launches for row in sites_of(facts.host, OPTIMIZER))
    if _short_kernels(facts) >= MANY_KERNELS or launches <= FUSED_LAUNCHES:
        return None
    if facts.job.optimizer not in _WITH_FUSED_FORM or (facts.waste and facts.waste.fused):
        return None
    late = late_ns(facts.host, OPTIMIZER)
    why = Phrase(
        agreeing(
            "The GPU waits for the optimizer's {launches} (launch|launches) a step, {each} for each.", round(launches)
        ),
        {"launches": count(round(launches)), "each": ns(late / launches if launches else None)},
    )
    how = f"torch.optim.{facts.job.optimizer}(model.parameters(), fused=True)"
    return late_card(facts, "fused_optimizer", phrase("Fuse the optimizer"), why, OPTIMIZER, late, how)


def _form_for_many_tensors(optimizer: str | None) -> str:
    """Returns the setting for the job's own optimizer; if torch has none, how to compile its step.

    >>> _form_for_many_tensors("SGD")
    'torch.optim.SGD(model.parameters(), fused=True)  # or foreach=True'
    >>> _form_for_many_tensors("RMSprop")
    'torch.optim.RMSprop(model.parameters(), foreach=True)'
    """
    if optimizer in _WITH_FUSED_FORM:
        return f"torch.optim.{optimizer}(model.parameters(), fused=True)  # or foreach=True"
    if optimizer in _WITH_FOREACH_FORM:
        return f"torch.optim.{optimizer}(model.parameters(), foreach=True)"
    return _COMPILE


def _short_kernels(facts: Facts) -> float:
    return facts.waste.optimizer.count if facts.waste else 0.0
