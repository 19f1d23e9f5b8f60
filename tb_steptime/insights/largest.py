"""The largest pieces of a step where no card is about anything big: kernels of a GPU, ops of a CPU, and the throughput.

The size of a batch is what the first product or convolution of a step works on, where its first dimension can be
nothing else: images of a convolution, sequences of a layer with three dimensions or more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.insights.base import EvidenceRow, Insight, Largest, Piece, Severity
from tb_steptime.insights.facts import Facts, little_is_judged
from tb_steptime.insights.severity import most_gain
from tb_steptime.metrics.excluded_time.ranges import FEW_STEPS
from tb_steptime.metrics.means import whole_mean
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, filled, phrase

#: Maximum number of parts that are named; the linked view has all of them.
PIECES = 5
#: Share of the step in which a GPU is idle, only communicates or only sets memory, from which on it is not busy with
#: its work; and of a card, from which on it is about something big.
IDLE_FRACTION = 0.2
#: Minimum number of dimensions: a batch of vectors may be one of samples times positions.
LEAST_DIMENSIONS = 3

_NOTHING_BIG = phrase("Nothing big is left; these kernels take the most time")
_KERNELS = phrase("These kernels take the most time")
_OF_THE_CPU = phrase("These ops take the most CPU time")


def largest_pieces(facts: Facts, insights: Sequence[Insight]) -> Largest | None:
    """Returns the largest costs: of a GPU where no card is above minor; of the CPU wherever nothing on a GPU is
    recorded. None where nothing is known of them."""
    quiet = all(insight.severity is Severity.MINOR for insight in insights) and not little_is_judged(facts)
    leads = quiet and most_gain(insights) is None and not _advises_something_big(facts, insights)
    work = facts.host.cpu
    if not facts.overview.has_device and work is not None and work.ops and work.step_ns:
        ops = [
            Piece(row.op, row.self_ns, row.self_ns / work.step_ns, "host", EvidenceRow("cpu_ops", row.op))
            for row in work.ops[:PIECES]
        ]
        return Largest(_OF_THE_CPU, phrase("share of the step"), throughput(facts), ops, leads, _threads(facts))
    kernels = largest_kernels(facts) if quiet else []
    others = max(facts.share(facts.exchange_ns), facts.share(setting_ns(facts)))  # no kernels, but something big, too
    title = _NOTHING_BIG if leads and nothing_waits(facts) and others < IDLE_FRACTION else _KERNELS
    return Largest(title, phrase("share of kernel time"), throughput(facts), kernels, leads) if kernels else None


def _advises_something_big(facts: Facts, insights: Sequence[Insight]) -> bool:
    """Returns whether a card says how to change what takes much of the step, though its gain is not computed."""
    return any(card.how is not None and facts.share(card.about_ns) >= IDLE_FRACTION for card in insights)


def nothing_waits(facts: Facts) -> bool:
    """Returns whether the GPU is busy for most of the step: where it idles something big is left, though no card knows
    what."""
    return facts.idle is not None and facts.share(facts.idle.total_ns) < IDLE_FRACTION


def setting_ns(facts: Facts) -> int:
    """Returns for how long a step the GPU only sets memory to a value, mean over the steps that are judged."""
    steps_ns = [facts.overview.steps[step].parts_ns.memset for step in facts.judged_steps]
    return whole_mean(sum(steps_ns), len(steps_ns))


def largest_kernels(facts: Facts) -> list[Piece]:
    steps = max(1, len(facts.overview.steps))
    return [
        Piece(row.short or row.name, row.total_ns // steps, row.share, "gpu", EvidenceRow("kernels", row.name))
        for row in facts.kernels[:PIECES]
    ]


def _threads(facts: Facts) -> Phrase:
    """Words the number of threads. A trace does not show the threads of OpenMP, which share the work of one op."""
    work = facts.host.cpu
    assert work is not None
    template = "Ops run on {threads} (thread|threads), not counting those of OpenMP"
    template += "; how many cores there are is not recorded." if work.cores is None else ", of {cores} usable cores."
    return filled(agreeing(template, work.threads), {"threads": count(work.threads), "cores": count(work.cores)})


def throughput(facts: Facts) -> Phrase:
    """Steps a second, and samples where the size of a batch shows. Of the judged step; one or two show no rate."""
    if len(facts.overview.steps) < FEW_STEPS or not facts.step_ns:
        return phrase("Too few steps are recorded for a throughput.")
    batch, each_second = batch_size(facts), 1e9 / facts.step_ns
    rate = Quantity(each_second, Unit.NUMBER)
    if batch is None:
        return phrase("{rate} steps a second; the trace does not show the size of a batch.", rate=rate)
    template = "{rate} steps a second, {samples} samples a second in batches of {batch}."
    return phrase(template, rate=rate, samples=count(round(batch * each_second)), batch=count(batch))


def batch_size(facts: Facts) -> int | None:
    """Reads the batch size from the first input of the first product; None without recorded shapes, or where it is
    ambiguous."""
    if not facts.has("compare"):
        return None
    inputs = facts.result("compare", CompareResult).setup.first_inputs
    shapes = msgspec.json.decode(inputs[0].shapes) if inputs else []
    first = shapes[0] if isinstance(shapes, list) and shapes else []
    sizes = isinstance(first, list) and len(first) >= LEAST_DIMENSIONS and all(isinstance(each, int) for each in first)
    return int(first[0]) if sizes and first[0] > 0 else None
