"""Host-bound: the GPU waits for launches. One card for each kind of remedy, each with its own part of the partition.

zero_grad     forward.buffer_broadcast   forward.model, backward.*     copies in backward.hooks   other
set to None   no broadcast               graphs, or a few long waits   gradients in buckets       less of it
"""

from __future__ import annotations

from collections.abc import Collection

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import EVIDENCE, evidence_of_sites, late_by_site, late_ns, sites_of
from tb_steptime.insights.rules.host.idle_cards import LateCard, late_card
from tb_steptime.metrics.steps.sites import SiteRow
from tb_steptime.text import Phrase, agreeing, count, ns, phrase

BROADCAST = ("forward.buffer_broadcast",)
HOOKS = ("backward.hooks",)
OPTIMIZER = ("optimizer",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")
ZERO_GRAD = ("zero_grad",)
BETWEEN = ("data_loading", "other")

#: A site whose few longest waits make half of its time waits for these, and not for its many launches.
FEW_FRACTION = 0.5
#: Only of a site with this many waits for each that is kept is it news that few make so much.
MANY_LAUNCHES = 10


def launch_graphs(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the many launches of the model itself.

    Similar pattern: one long gap: `long_stretches` is about those. Waits for batches, blocking calls and pauses are
    other reasons of the same partition.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: those with a GPU whose model launches many short kernels; the advice depends on whether it is compiled or
    captured already.

    Gain: the GPU's idle time until work from the model is launched and reaches it, mean over the steps; waits for the
    loader, blocking calls and pauses are left out.

    Left out: launches that the profiler slows by 1.5 to 2 times: without it, the GPU waits less.
    """
    late = {site: ns for site, ns in _model_late(facts.host).items() if not _few_long_waits(facts.host, site)}
    graphs = facts.host.launches is not None and facts.host.launches.graphs > 0
    title, why = _graph_title(graphs, late), _graph_why(facts.host, graphs, sites_of(facts.host, late))
    return late_card(facts, LateCard("launch_graphs", title, why, late, sum(late.values()), how=_COMPILE))


def long_stretches(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the model's launches in a few long gaps: graphs would not shorten those.

    Similar pattern: many short gaps: `launch_graphs` is about those.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: those with a GPU, training and inference.

    Gain: the GPU's idle time until work from the model is launched and reaches it, mean over the steps; waits for the
    loader, blocking calls and pauses are left out.

    Left out: waits for batches, blocking calls and pauses, which have cards of their own.
    """
    late = {site: ns for site, ns in _model_late(facts.host).items() if _few_long_waits(facts.host, site)}
    evidence = evidence_of_sites(sites_of(facts.host, late))
    if not evidence:
        return None
    longest = ns(evidence[0].end_ns - evidence[0].start_ns)
    why = Phrase(agreeing(_FEW_LONG_WAITS, len(evidence)), {"few": count(len(evidence)), "longest": longest})
    title = phrase("Shorten what the CPU does between launches")
    return late_card(facts, LateCard("long_stretches", title, why, late, sum(late.values()), evidence=evidence))


_FEW_LONG_WAITS = (
    "{few} long (wait makes|waits make) most of the GPU's idle time here, the longest {longest}: Python code, a first "
    "call or a file, for example."
)
#: Graphs save the launches; where they do not fit, more work for each launch helps.
_COMPILE = 'model = torch.compile(model, mode="reduce-overhead")\n# or a larger batch'


def _model_late(host: HostResult) -> dict[str, int]:
    """ns by site of the model; hooks but for the copies out of DDP's buckets."""
    late = late_by_site(host)
    late[HOOKS[0]] = late.get(HOOKS[0], 0) - _bucket_late_ns(host)
    return {site: late[site] for site in (*FORWARD, *BACKWARD, *HOOKS) if late.get(site)}


def _bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))


def _few_long_waits(host: HostResult, site: str) -> bool:
    """Whether a few long waits make most of what a site waits for; what pauses and blocking calls make left out."""
    (row,) = sites_of(host, (site,))
    steps, launches = len(host.steps), host.launches
    calls = row.launches * launches.calls / launches.activities if launches and launches.activities else row.launches
    longest = sum(each.end_ns - each.start_ns for each in row.examples)
    claimed = row.bubble_ns + sum(pause.idle_ns for pause in host.pauses)
    many = calls * steps >= MANY_LAUNCHES * EVIDENCE
    return many and longest - claimed * steps >= FEW_FRACTION * late_by_site(host)[site] * steps


def _graph_title(graphs: bool, late: Collection[str]) -> Phrase:
    if graphs:
        return phrase("Capture more of the step in CUDA graphs")
    if not any(site in late for site in BACKWARD):
        return phrase("Launch the forward pass as a CUDA graph")
    if FORWARD[0] in late:
        return phrase("Launch forward and backward pass as CUDA graphs")
    return phrase("Launch the backward pass as a CUDA graph")


def _graph_why(host: HostResult, graphs: bool, rows: list[SiteRow]) -> Phrase:
    launches, device_ns = sum(row.launches for row in rows), sum(row.device_ns for row in rows)
    if any(row.site in HOOKS for row in rows):
        launches -= host.bucket_copies
    values = {"launches": count(round(launches)), "each": ns(device_ns / launches if launches > 0 else None)}
    return Phrase(agreeing(_BESIDE_GRAPHS if graphs else _OF_LAUNCHES, round(launches)), values)


_BESIDE_GRAPHS = (
    "CUDA graphs launch a part of the work, yet {launches} (kernel|kernels) a step, of {each} on average, "
    "(starts|start) late."
)
_OF_LAUNCHES = (
    "{launches} (launch|launches) a step, for {each} of GPU work each on average: the CPU cannot launch them in time."
)


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
    title, gain_ns = phrase("Set gradients to None instead of zero"), late_ns(facts.host, ZERO_GRAD)
    how = "optimizer.zero_grad(set_to_none=True)"
    return late_card(facts, LateCard("zero_gradients", title, why, ZERO_GRAD, gain_ns, how))


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
    title, gain_ns = phrase("Stop broadcasting buffers in DDP"), late_ns(facts.host, BROADCAST)
    how = "DistributedDataParallel(model, broadcast_buffers=False)"
    return late_card(facts, LateCard("buffer_broadcast", title, why, BROADCAST, gain_ns, how, certain=True))


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
    title, gain_ns = phrase("Keep gradients in DDP's buckets"), _bucket_late_ns(facts.host)
    how = "DistributedDataParallel(model, gradient_as_bucket_view=True)"
    return late_card(facts, LateCard("gradient_buckets", title, why, HOOKS, gain_ns, how, certain=True))


def between_passes(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for work that neither pass nor the optimizer launches. Of several GPUs the others' work
    is launched meanwhile, and that has a card of its own.

    Similar pattern: a model whose phases the trace does not show: without a known backward pass nothing lies between
    passes.

    Needs: phases: autograd nodes and `Optimizer.step`.

    Jobs: training with one GPU.

    Gain: the GPU's idle time until this work is launched and reaches it, mean over the steps; waits for the
    loader, blocking calls and pauses are left out.

    Left out: waits for batches, blocking calls and pauses, which have cards of their own.
    """
    if facts.host.several_devices is not None:
        return None
    why = _of_launches(
        facts.host,
        BETWEEN,
        "The GPU waits for {launches} (launch|launches) a step after the backward pass and outside the optimizer: "
        "metrics or logging, for example.",
    )
    title, gain_ns = phrase("Launch less outside forward, backward and optimizer"), late_ns(facts.host, BETWEEN)
    return late_card(facts, LateCard("between_passes", title, why, BETWEEN, gain_ns, how=_NOW_AND_THEN))


_NOW_AND_THEN = "if step % 100 == 0:\n    log(metrics)"


def _of_launches(host: HostResult, sites: Collection[str], words: str) -> Phrase:
    """A sentence about {launches}, with which it agrees: those of the sites in a step."""
    launches = round(sum(row.launches for row in sites_of(host, sites)))
    return Phrase(agreeing(words, launches), {"launches": count(launches)})
