"""Input-bound: the GPU waits for batches that come late, and no number of workers is known to end it best."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.data_loading.loader_waits import MARKS_AGREE, LoaderCard, loader_card, shares
from tb_steptime.insights.rules.data_loading.more_workers import more_workers
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.scaling.worker_curve import DEEP_PREFETCH
from tb_steptime.text import Phrase, count, fraction, ns, phrase

#: A line of a smaller share of the batch is not where to begin.
WORTH_LINE = 0.3
#: Where more prefetched batches end less of the wait than this, they are not what to do.
MOST_OF_IT = 0.5

_FORMULA_DEEPER = phrase(
    "Mean over the steps of the exposed wait for late batches, at most what so many prefetched batches save in the "
    "in-order delivery simulation."
)


def input_bound(facts: Facts) -> Insight | None:
    """Fires when late batches are worth a card and no other number of workers is; on a CPU every wait is exposed, and
    worker processes hide it too.

    Gain: the exposed wait for late batches, mean over the steps; at most what more prefetched batches save, where these
    are the remedy.
    """
    result = facts.data_loading
    if result.mean is None or result.multiprocess is False or more_workers(facts) is not None:
        return None
    return loader_card(facts, _card(facts, shares(facts).late_ns))


def _card(facts: Facts, late_ns: int) -> LoaderCard:
    recorded, curve = facts.data_loading.recorded, facts.data_loading.curve
    card = LoaderCard("input_bound", phrase("Produce batches faster"), _UNKNOWN, late_ns, *_confidence(facts))
    if recorded is not None and recorded.kind == "cores":
        return _short_of_cores(card, recorded)
    if curve is None or not curve.measured_workers:
        return card
    saved_ns = min(late_ns, curve.deeper_ns)
    if saved_ns > 0 and saved_ns >= MOST_OF_IT * late_ns:
        why = phrase(
            "Workers keep up on average, but slow batches block those behind them; more prefetched batches save est. "
            "{saved}.",
            saved=ns(saved_ns),
        )
        return card._replace(
            title=phrase("Prefetch more batches"), why=why, how=f"DataLoader(..., prefetch_factor={DEEP_PREFETCH})",
            gain_ns=saved_ns, formula=_FORMULA_DEEPER,
        )  # fmt: skip
    return card._replace(title=phrase("Make the slowest batches faster"), why=_ENOUGH)


_UNKNOWN = phrase("Batches come late. How many workers would keep up is ambiguous in this trace: record the workers.")
_ENOUGH = phrase("Workers keep up on average, but single batches come late: see the slowest ones.")


def _confidence(facts: Facts) -> tuple[Confidence, Phrase]:
    steps, recorded = facts.data_loading.steps, facts.data_loading.recorded
    if not all(step.exposed_ns >= WORTH_FRACTION * step.duration_ns for step in steps):
        return Confidence.MEDIUM, phrase("Some steps hardly wait, so the mean rests on a few.")
    if recorded is not None and recorded.kind == "cores" and recorded.few_sampled:
        return Confidence.MEDIUM, phrase("Only a few sampled batches show that cores are short.")
    return Confidence.HIGH, MARKS_AGREE


def _short_of_cores(card: LoaderCard, recorded: Recorded) -> LoaderCard:
    """With the line to begin with, where one is long enough."""
    longest = next(iter(recorded.lines.lines), None) if recorded.lines else None
    why = phrase("The workers compute and share {cores} cores.", cores=count(recorded.cores))
    if recorded.core_wait_share is not None:
        why = phrase(
            "The workers compute, and for {waits} of their time they wait for a core ({sampled} sampled batches).",
            waits=fraction(recorded.core_wait_share),
            sampled=count(recorded.sampled),
        )
    how = None
    if longest is not None and longest.share >= WORTH_LINE:
        how = f"# {place_of(longest.line)}: {longest.share:.0%} of a batch, est."
    return card._replace(title=phrase("Make the dataset cheaper"), why=why, how=how)


def place_of(line: str) -> str:
    """
    >>> place_of("torchvision/transforms/functional.py(138): to_tensor")
    'functional.py:138'
    """
    file, _, rest = line.rpartition("/")[2].partition("(")
    return f"{file}:{rest.partition(')')[0]}"
