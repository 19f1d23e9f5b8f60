"""Host-bound: the GPU waits for launches. One card for each kind of remedy, each with its own sites of the partition.

zero_grad, other      forward.buffer_broadcast   forward, backward     backward.hooks      optimizer
between the passes    the broadcast              as graphs             gradient buckets    fused
"""

from __future__ import annotations

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import (
    MEASURED,
    PROFILING_SLOWS,
    HostCard,
    evidence_of_sites,
    host_card,
    late_by_site,
    late_ns,
    sites_of,
)
from tb_steptime.metrics.launch_sites import SiteRow
from tb_steptime.phrases import Phrase, code, count, ns, phrase

BROADCAST = ("forward.buffer_broadcast",)
HOOKS = ("backward.hooks",)
OPTIMIZER = ("optimizer",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")
BETWEEN = ("data_loading", "zero_grad", "other")

LATE = phrase(
    "Mean over the steps of the GPU's idle time until work from here is launched and reaches it; waits for the loader, "
    "blocking calls and pauses left out."
)


def launch_graphs(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the launches of the model itself. Hooks that copy no gradients belong to them."""
    host = facts.host
    sites = FORWARD + BACKWARD + (() if host.bucket_copies else HOOKS)
    rows = sites_of(host, sites)
    return host_card(
        facts,
        HostCard(
            id="launch_graphs",
            title=phrase(_graph_title(host)),
            text=_graph_words(rows),
            gain_ns=late_ns(host, sites),
            formula=LATE,
            best=Confidence.MEDIUM,
            why=PROFILING_SLOWS,
            evidence=evidence_of_sites(rows),
        ),
    )


def _graph_title(host: HostResult) -> str:
    late = late_by_site(host)
    forward, backward = (sum(late.get(site, 0) for site in sites) for sites in (FORWARD, BACKWARD))
    if not backward:
        return "Launch the forward pass as a graph"
    return "Launch forward and backward as graphs" if forward else "Launch the backward pass as a graph"


def _graph_words(rows: list[SiteRow]) -> Phrase:
    launches, device_ns = sum(row.launches for row in rows), sum(row.device_ns for row in rows)
    return phrase(
        "{launches} launches a step, for {each} of work on average: {compile} or CUDA graphs; else larger batches and "
        "fewer tiny ops.",
        launches=count(round(launches)),
        each=ns(device_ns / launches if launches else None),
        compile=code("torch.compile"),
    )


def buffer_broadcast(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while DistributedDataParallel copies the model's buffers before each forward pass."""
    rows = sites_of(facts.host, BROADCAST)
    return host_card(
        facts,
        HostCard(
            id="buffer_broadcast",
            title=phrase("Stop the buffer broadcast"),
            text=phrase(
                "DDP copies the model's buffers one by one before each forward, {launches} launches a step: {setting}.",
                launches=count(round(sum(row.launches for row in rows))),
                setting=code("broadcast_buffers=False"),
            ),
            gain_ns=late_ns(facts.host, BROADCAST),
            formula=LATE,
            best=Confidence.HIGH,
            why=MEASURED,
            evidence=evidence_of_sites(rows),
        ),
    )


def gradient_buckets(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while hooks copy gradients into and out of the buckets of DistributedDataParallel."""
    host = facts.host
    if not host.bucket_copies:
        return None
    rows = sites_of(host, HOOKS)
    return host_card(
        facts,
        HostCard(
            id="gradient_buckets",
            title=phrase("Let gradients live in DDP's buckets"),
            text=phrase(
                "{copies} copies a step move them there: {setting}.",
                copies=count(round(host.bucket_copies)),
                setting=code("gradient_as_bucket_view=True"),
            ),
            gain_ns=late_ns(host, HOOKS),
            formula=LATE,
            best=Confidence.HIGH,
            why=MEASURED,
            evidence=evidence_of_sites(rows),
        ),
    )


def between_passes(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for work that neither pass nor the optimizer launches."""
    rows = sites_of(facts.host, BETWEEN)
    return host_card(
        facts,
        HostCard(
            id="between_passes",
            title=phrase("Do less between the passes"),
            text=phrase(
                "Outside forward, backward and optimizer, {launches} launches a step keep the GPU waiting. "
                "Compute metrics every few steps; {setting}.",
                launches=count(round(sum(row.launches for row in rows))),
                setting=code("zero_grad(set_to_none=True)"),
            ),
            gain_ns=late_ns(facts.host, BETWEEN),
            formula=LATE,
            best=Confidence.MEDIUM,
            why=PROFILING_SLOWS,
            evidence=evidence_of_sites(rows),
        ),
    )
