"""Avoidable launches: the GPU waits for work that `zero_grad`, DDP or the optimizer launches, or that is launched
between the passes.

zero_grad     forward.buffer_broadcast   copies in backward.hooks   other       optimizer
set to None   no broadcast               gradients in buckets       less of it  all tensors at once, or fused

`launch_graphs` is about launches of the model itself, `long_waits` about a few long waits.
"""

from __future__ import annotations

from collections.abc import Collection

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import late_ns, sites_of
from tb_steptime.insights.rules.communication.exchange_cards import NO_BROADCAST, exchanged_one_by_one_ns
from tb_steptime.insights.rules.communication.fewer_exchanges import KEPT_IN_BUCKETS, VIEWS
from tb_steptime.insights.rules.host.blocking_rows import calls_of
from tb_steptime.insights.rules.host.idle_cards import (
    BACKWARD,
    BETWEEN,
    HOOKS,
    INPUTS,
    Advice,
    bucket_late_ns,
    late_card,
    model_late,
)
from tb_steptime.text import Phrase, agreeing, count, ns, phrase

BROADCAST = ("forward.buffer_broadcast",)
OPTIMIZER = ("optimizer",)
ZERO_GRAD = ("zero_grad",)


def zero_gradients(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while gradients are filled with zeros, tensor by tensor.

    Similar pattern: other fills: only those within `Optimizer.zero_grad` count.

    Needs: the range `Optimizer.zero_grad`, which torch writes by itself.

    Jobs: training with a GPU.

    Gain: the GPU's idle time until work from `zero_grad` is launched and reaches it, mean over the steps; waits for the
    loader, blocking calls and pauses are left out.

    Left out: the fills' time on the GPU.
    """
    why = _of_launches(facts.host, ZERO_GRAD, "{launches} (launch|launches) a step (fills|fill) gradients with zeros.")
    title = phrase("Set gradients to None instead of zero")
    how = "optimizer.zero_grad(set_to_none=True)"
    late = late_ns(facts.host, ZERO_GRAD)
    return late_card(facts, ZERO_GRAD, late, id="zero_gradients", title=title, why=why, how=how)


def buffer_broadcast(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while DistributedDataParallel copies the model's buffers before each forward pass.

    Similar pattern: other small copies in the forward pass: only those within DDP's range for its buffers count.

    Needs: DDP's own ranges in the trace.

    Jobs: training with DistributedDataParallel on GPUs.

    Gain: the GPU's idle time until work from this broadcast is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out.

    Left out: the broadcast's time on the GPU.
    """
    why = _of_launches(
        facts.host,
        BROADCAST,
        "DDP copies the model's buffers before each forward pass, one by one: {launches} (launch|launches) a step.",
    )
    title = phrase("Stop broadcasting buffers in DDP")
    late = late_ns(facts.host, BROADCAST)
    how = NO_BROADCAST
    return late_card(facts, BROADCAST, late, certain=True, id="buffer_broadcast", title=title, why=why, how=how)


def gradient_buckets(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while hooks copy gradients out of the buckets of DistributedDataParallel.

    Similar pattern: other copies in the backward pass: only those from hooks of the gradients count.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: training with DistributedDataParallel on GPUs.

    Gain: the GPU's idle time until work from these copies is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out.

    Left out: the copies' time on the GPU.
    """
    copies = round(facts.host.bucket_copies)
    why = phrase(
        agreeing("DDP copies {copies} (gradient|gradients) a step out of its buckets, one by one.", copies),
        copies=count(copies),
    )
    late, title = bucket_late_ns(facts.host), KEPT_IN_BUCKETS
    return late_card(facts, HOOKS, late, certain=True, id="gradient_buckets", title=title, why=why, how=VIEWS)


def between_passes(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for work that neither pass nor the optimizer launches, or for many launches before the
    first layer. With several GPUs, work for the others is launched meanwhile, and that has a card of its own.

    Similar pattern: a model whose phases the trace does not show: without a known backward pass nothing lies between
    passes. A model that computes masks or positions before its first layer launches few kernels for that. An optimizer
    without a range, as those outside torch are: then the card is a hint. Gradients that are exchanged one by one after
    the backward pass: `many_small_collectives`. A captured model that runs before the first layer, such as a server
    that generates what is trained on: nobody compiles that away, and there is no card.

    Needs: phases: autograd nodes; `Optimizer.step` to be sure.

    Jobs: training with one GPU.

    Gain: the GPU's idle time until this work is launched and reaches it, mean over the steps; waits for the
    loader, blocking calls and pauses are left out.

    Left out: waits for batches, blocking calls, pauses and long gaps, which have cards of their own.
    """
    if exchanged_one_by_one_ns(facts):
        return None
    between = model_late(facts.host).between
    after_ns, before_ns = (sum(between.get(site, 0) for site in each) for each in (BETWEEN, INPUTS))
    prepares = before_ns > after_ns
    sites, advice = (INPUTS, _BEFORE_MODEL) if prepares else (BETWEEN, _BESIDE_OPTIMIZER)
    if prepares and _mostly_in_graphs(facts.host):
        return None
    if not prepares and not sites_of(facts.host, OPTIMIZER):
        advice = _UNNAMED if sites_of(facts.host, (*BACKWARD, *HOOKS)) else _OUTSIDE_STEPS
    why, title = _of_launches(facts.host, sites, advice.why), phrase(advice.title)
    late, guess = max(before_ns, after_ns), _WHOSE if advice is _UNNAMED else None
    return late_card(facts, sites, late, guess=guess, id="between_passes", title=title, why=why, how=advice.how)


def _mostly_in_graphs(host: HostResult) -> bool:
    """Returns whether graphs launch most of what runs before the first layer."""
    rows = sites_of(host, INPUTS)
    return 2 * sum(row.calls for row in rows) < sum(row.launches for row in rows)


_NOW_AND_THEN = "if step % 100 == 0:\n    log(metrics)"
_BESIDE_OPTIMIZER = Advice(
    "Launch less outside forward, backward and optimizer",
    "The GPU waits for {launches} (launch|launches) a step after the backward pass and outside the optimizer: "
    "clipping, metrics, logging or an average of the weights, for example.",
    _NOW_AND_THEN + "\n# clipping: clip_grad_norm_(model.parameters(), max_norm, foreach=True)"
    "\n# averaged weights: AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))",
)
_BEFORE_MODEL = Advice(
    "Launch less before the model runs",
    "The GPU waits for {launches} (launch|launches) a step before the first layer: an augmentation, for example. "
    "Compiling the model does not reach what its caller launches.",
    "prepare = torch.compile(prepare)  # the function that makes the inputs of model(inputs)"
    "\n# averaged weights: AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))",
)
_UNNAMED = Advice(
    "Find out what is launched after the backward pass",
    "The GPU waits for {launches} (launch|launches) a step after the backward pass. No range says what they "
    "belong to: the optimizer or metrics.",
    'with torch.profiler.record_function("optimizer"):\n    optimizer.step()',
)
_WHOSE = phrase("The wait is measured; whose launches these are is not recorded.")
_OUTSIDE_STEPS = Advice(
    "Launch less between the steps",
    "The GPU waits for {launches} (launch|launches) a step between the marks of steps: metrics or logging, for "
    "example.",
    _NOW_AND_THEN,
)


def _of_launches(host: HostResult, sites: Collection[str], template: str) -> Phrase:
    """Returns a sentence about {launches}, the number of calls a step that launch work from these sites, with which it
    agrees."""
    launches = round(sum(row.calls for row in sites_of(host, sites)))
    return Phrase(agreeing(template, launches), {"launches": count(launches)})


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
#: Optimizers of torch whose step a compiler leaves as it is (torch/_dynamo/eval_frame.py: excluded_optimizer_classes).
_LEFT_AS_IS = ("LBFGS", "SparseAdam")
#: Advice for an optimizer that has neither form: a compiler fuses its updates.
_COMPILE = "step = torch.compile(optimizer.step)  # from PyTorch 2.2 on; call step() in place of optimizer.step()"


def tiny_optimizer_kernels(facts: Facts) -> Insight | None:
    """Fires when an optimizer launches many short kernels, and the GPU's wait for them is worth a card.

    Similar pattern: short kernels of another range: only those within `Optimizer.step` count. LBFGS and SparseAdam,
    which have no other form, and whose step a compiler leaves as it is: no card. Optimizers that mostly multiply or
    decompose matrices (Shampoo), or launch one kernel of their own for each tensor (bitsandbytes): no card.

    Needs: the range `Optimizer.step`, which torch writes by itself, and the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time until work from the optimizer is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out.

    Left out: the kernels' time on the GPU.
    """
    kernels = facts.waste.optimizer.count
    if kernels < max(MANY_KERNELS, sum(row.launches for row in sites_of(facts.host, OPTIMIZER)) / 2):
        return None
    wait_ns = late_ns(facts.host, OPTIMIZER)
    how = _form_for_many_tensors(facts.job.optimizer)
    title = phrase(
        "Compile the optimizer's step" if how == _COMPILE else "Let the optimizer update all tensors at once"
    )
    why = phrase(
        "The optimizer launches {count} short kernels a step, and the GPU is idle for {idle} meanwhile.",
        count=count(round(kernels)),
        idle=ns(wait_ns),
    )
    if how == _COMPILE and not _compiles(facts):
        return None
    return late_card(facts, OPTIMIZER, wait_ns, id="tiny_optimizer_kernels", title=title, why=why, how=how)


def _compiles(facts: Facts) -> bool:
    """Returns whether a compiler shortens the optimizer's step. Decompositions stay as they are
    (torch/_inductor/lowering.py: make_fallback), and wait for the GPU."""
    decomposes = any("linalg_" in (row.outer_op or "") for row in calls_of(facts, "optimizer"))
    return facts.job.compiles and facts.job.optimizer not in _LEFT_AS_IS and not decomposes


def fused_optimizer(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for an optimizer that takes all tensors at once already, in more than two launches.

    Similar pattern: an optimizer with a launch for each tensor: `tiny_optimizer_kernels` is about that. One that is
    fused, and late for another reason or large enough for several launches: its kernels have other names. One that is
    captured in a graph: one call launches all of it. One that has no fused form has no card.

    Needs: the range `Optimizer.step`, which torch writes by itself, and the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time until work from the optimizer is launched and reaches it, mean over the steps; waits for
    the loader, blocking calls and pauses are left out. At most what a replay gains in which one call launches it.

    Left out: the update's time on the GPU.
    """
    launches = sum(row.calls for row in sites_of(facts.host, OPTIMIZER))
    if facts.waste.optimizer.count >= MANY_KERNELS or launches <= FUSED_LAUNCHES:
        return None
    if facts.job.optimizer not in _WITH_FUSED_FORM or facts.waste.fused:
        return None
    wait_ns = late_ns(facts.host, OPTIMIZER)
    template = "The GPU waits for the optimizer's {launches} launches a step, {each} for each."
    why = phrase(template, launches=count(round(launches)), each=ns(wait_ns / launches))
    title, how = phrase("Fuse the optimizer"), fused_form(facts.job.optimizer)
    return late_card(facts, OPTIMIZER, wait_ns, id="fused_optimizer", title=title, why=why, how=how)


def fused_form(optimizer: str) -> str:
    """Returns the code of an optimizer of torch that updates all weights in one kernel."""
    return f"torch.optim.{optimizer}(model.parameters(), fused=True)"


def _form_for_many_tensors(optimizer: str | None) -> str:
    """Returns the setting for the job's own optimizer; if torch has none, how to compile its step.

    >>> _form_for_many_tensors("SGD")
    'torch.optim.SGD(model.parameters(), fused=True)  # or foreach=True'
    >>> _form_for_many_tensors("RMSprop")
    'torch.optim.RMSprop(model.parameters(), foreach=True)'
    """
    if optimizer in _WITH_FUSED_FORM:
        return f"{fused_form(optimizer)}  # or foreach=True"
    if optimizer in _WITH_FOREACH_FORM:
        return f"torch.optim.{optimizer}(model.parameters(), foreach=True)"
    return _COMPILE
