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
from tb_steptime.insights.rules.host.idle_cards import late_card
from tb_steptime.metrics.steps.sites import SiteRow
from tb_steptime.text import Phrase, Quantity, agreeing, code, count, ns, phrase

BROADCAST = ("forward.buffer_broadcast",)
HOOKS = ("backward.hooks",)
OPTIMIZER = ("optimizer",)
FORWARD = ("forward.model",)
BACKWARD = ("backward.loss", "backward.nodes", "backward.gradient_accumulation")
ZERO_GRAD = ("zero_grad",)
BETWEEN = ("data_loading", "other")

#: A site whose few longest waits hold half of its time is held up by them, and not by its number of launches.
FEW_FRACTION = 0.5
#: Only of a site with this many waits for each that is kept is it news that few hold so much.
MANY_LAUNCHES = 10


def launch_graphs(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the many launches of the model itself."""
    late = {site: ns for site, ns in _model_late(facts.host).items() if not _stalled(facts.host, site)}
    text = _graph_words(facts.host, sites_of(facts.host, late))
    return late_card(facts, "launch_graphs", _graph_title(facts.host, late), text, late, sum(late.values()))


def long_stretches(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the model's launches in a few long stretches: graphs would not shorten those."""
    late = {site: ns for site, ns in _model_late(facts.host).items() if _stalled(facts.host, site)}
    evidence = evidence_of_sites(sites_of(facts.host, late))
    if not evidence:
        return None
    text = phrase(
        agreeing("{few} long (wait holds|waits hold) most of it, {longest} the longest: ", len(evidence))
        + "Python of its own, a first call, a file. Look there.",
        few=count(len(evidence)),
        longest=ns(evidence[0].end_ns - evidence[0].start_ns),
    )
    title = "Shorten what the host does between launches"
    return late_card(facts, "long_stretches", title, text, late, sum(late.values()), evidence=evidence)


def _model_late(host: HostResult) -> dict[str, int]:
    """ns by site of the model; hooks but for the copies out of DDP's buckets."""
    late = late_by_site(host)
    late[HOOKS[0]] = late.get(HOOKS[0], 0) - _bucket_late_ns(host)
    return {site: late[site] for site in (*FORWARD, *BACKWARD, *HOOKS) if late.get(site)}


def _bucket_late_ns(host: HostResult) -> int:
    return min(host.bucket_late_ns, late_ns(host, HOOKS))


def _stalled(host: HostResult, site: str) -> bool:
    """Whether a few long waits hold most of what a site waits for; what pauses and blocking calls hold left out."""
    (row,) = sites_of(host, (site,))
    steps, launches = len(host.steps), host.launches
    calls = row.launches * launches.calls / launches.activities if launches and launches.activities else row.launches
    longest = sum(each.end_ns - each.start_ns for each in row.examples)
    claimed = row.bubble_ns + sum(pause.idle_ns for pause in host.pauses)
    many = calls * steps >= MANY_LAUNCHES * EVIDENCE
    return many and longest - claimed * steps >= FEW_FRACTION * late_by_site(host)[site] * steps


def _graph_title(host: HostResult, late: dict[str, int]) -> str:
    if host.launches and host.launches.graphs:
        return "Capture more of the step in each graph"
    if not any(site in late for site in BACKWARD):
        return "Launch the forward pass as a graph"
    return "Launch forward and backward as graphs" if FORWARD[0] in late else "Launch the backward pass as a graph"


def _graph_words(host: HostResult, rows: list[SiteRow]) -> Phrase:
    launches, device_ns = sum(row.launches for row in rows), sum(row.device_ns for row in rows)
    if any(row.site in HOOKS for row in rows):
        launches -= host.bucket_copies
    values = {"launches": count(round(launches)), "each": ns(device_ns / launches if launches > 0 else None)}
    if host.launches and host.launches.graphs:
        words = (
            "Graphs launch work already, yet {launches} (piece|pieces) of it a step, of {each} on average, "
            "(comes|come) late. Larger batches help too."
        )
    else:
        values["compile"] = code("torch.compile")
        words = (
            "{launches} (launch|launches) a step, for {each} of work on average: {compile} or CUDA graphs; else larger "
            "batches and fewer tiny ops."
        )
    return Phrase(agreeing(words, round(launches)), values)


def zero_gradients(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while gradients are filled with zeros, tensor by tensor."""
    text = _of_launches(
        facts.host,
        ZERO_GRAD,
        "{launches} (launch a step fills|launches a step fill) them with zeros one by one: {setting}.",
        setting=code("zero_grad(set_to_none=True)"),
    )
    title, gain_ns = "Set gradients to None instead of zero", late_ns(facts.host, ZERO_GRAD)
    return late_card(facts, "zero_gradients", title, text, ZERO_GRAD, gain_ns)


def buffer_broadcast(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while DistributedDataParallel copies the model's buffers before each forward pass."""
    text = _of_launches(
        facts.host,
        BROADCAST,
        "DDP copies the model's buffers one by one before each forward, {launches} (launch|launches) a step: "
        "{setting}.",
        setting=code("broadcast_buffers=False"),
    )
    gain_ns = late_ns(facts.host, BROADCAST)
    return late_card(facts, "buffer_broadcast", "Stop the buffer broadcast", text, BROADCAST, gain_ns, certain=True)


def gradient_buckets(facts: Facts) -> Insight | None:
    """Fires when the GPU waits while hooks copy gradients out of the buckets of DistributedDataParallel."""
    copies = round(facts.host.bucket_copies)
    text = phrase(
        agreeing("DDP copies {copies} (gradient|gradients) a step out of its buckets, one by one: {setting}.", copies),
        copies=count(copies),
        setting=code("gradient_as_bucket_view=True"),
    )
    title, gain_ns = "Let gradients live in DDP's buckets", _bucket_late_ns(facts.host)
    return late_card(facts, "gradient_buckets", title, text, HOOKS, gain_ns, certain=True)


def between_passes(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for work that neither pass nor the optimizer launches. Of several GPUs the others' work
    is launched meanwhile, and that has a card of its own."""
    if facts.host.several_devices is not None:
        return None
    text = _of_launches(
        facts.host,
        BETWEEN,
        "After the backward pass and outside the optimizer {launches} (launch a step keeps|launches a step keep) the "
        "GPU waiting: metrics and logs can wait for a later step.",
    )
    gain_ns = late_ns(facts.host, BETWEEN)
    return late_card(facts, "between_passes", "Do less between the passes", text, BETWEEN, gain_ns)


def _of_launches(host: HostResult, sites: Collection[str], words: str, **values: Quantity) -> Phrase:
    """A sentence about {launches}, with which it agrees: those of the sites in a step."""
    launches = round(sum(row.launches for row in sites_of(host, sites)))
    return phrase(agreeing(words, launches), launches=count(launches), **values)
