"""Many small collectives one after another: each costs the same start-up and wait, however few bytes it sends."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_advice import SLOW_LINK
from tb_steptime.insights.rules.communication.exchange_cards import (
    ExchangeCard,
    exchange_card,
    rows,
    small_in_a_row,
)
from tb_steptime.metrics.communication.summary import CollectiveRow, InARow
from tb_steptime.text import Phrase, Quantity, Unit, count, nbytes, ns, phrase, text

_NANOSECONDS = 1e9

_BUCKETS = """model = DistributedDataParallel(model)  # buckets of 25 MB
# or, by hand, one tensor of all gradients:
dist.all_reduce(torch.cat([p.grad.flatten() for p in model.parameters()]))"""
_WRAP_MORE = "fully_shard(block)  # each transformer block, not each layer in it"
_COALESCE = """with torch.distributed._coalescing_manager():
    for x in tensors:
        dist.all_reduce(x)"""
_HOW = {"all_reduce": _BUCKETS, "all_gather": _WRAP_MORE, "reduce_scatter": _WRAP_MORE}

_KNOWN = phrase(
    "Exposed time of these collectives, less what the computing time of the step could not hide of one exchange of all "
    "their bytes (est. at the best rate of one of them, and on a GPU at {rate} or more).",
    rate=Quantity(SLOW_LINK, Unit.BYTES_PER_SECOND),
)
_UNKNOWN = phrase("Exposed time of these collectives, less that of one: their bytes are not recorded.")


def many_small_collectives(facts: Facts) -> Insight | None:
    """Fires when many small collectives follow one another with next to nothing computed between them.

    Similar pattern: tensor-parallel layers and SyncBatchNorm, whose collectives have a layer's kernels between them and
    cannot be merged. A bucketed exchange has few and large ones.

    Needs: kernels of collectives; the bytes from the arguments that PyTorch writes, else their lengths alone.

    Jobs: training in many ranks.

    Gain: their exposed time, less what computation could not hide of one exchange of all their bytes: at the best rate
    of one of them, and on a GPU at that of the slowest link at least. Launches are saved too, so the host does not
    limit it.

    Left out: that fewer launches shorten the host's part; the one wait for the slowest rank that is left of many.
    """
    found = [(row, small) for row in rows(facts) if (small := small_in_a_row(facts, row))]
    if not found:
        return None
    row, leading = max(found, key=lambda each: each[1].exposed_ns)
    known = all(small.bytes is not None for _, small in found)
    return exchange_card(
        facts,
        ExchangeCard(
            id="many_small_collectives",
            title=_title(row.kind),
            later=_title(row.kind),
            why=_why(row, leading),
            how=_HOW.get(row.kind, _COALESCE),
            gain_ns=sum(_gain_ns(facts, each, small) for each, small in found),
            formula=_KNOWN if known else _UNKNOWN,
            best=Confidence.MEDIUM if known else Confidence.LOW,
            why_confidence=phrase("What one exchange of all takes is an estimate; nothing computes between these."),
            evidence=facts.overview.communication.examples if facts.overview.communication else (),
            spares_host=True,
        ),
    )


def _gain_ns(facts: Facts, row: CollectiveRow, small: InARow) -> int:
    """One exchange of all takes as long as one of these at least, of which nothing is hidden."""
    found = facts.overview.communication
    rate = max(row.best_rate or 0.0, SLOW_LINK if facts.overview.has_device else 0.0)
    one_ns = round(small.bytes / rate * _NANOSECONDS) if small.bytes else 0
    left_ns = max(small.ns_p50, one_ns - (found.free_compute_ns if found else 0))
    return max(0, small.exposed_ns - left_ns)


def _title(kind: str) -> Phrase:
    if kind == "all_reduce":
        return phrase("All-reduce gradients in buckets, not one by one")
    return phrase("Exchange fewer, larger tensors between ranks")


def _why(row: CollectiveRow, small: InARow) -> Phrase:
    values = {"count": count(round(small.count)), "kind": text(row.label), "exposed": ns(small.exposed_ns)}
    if small.bytes_p50 is None:
        return Phrase(
            "{count} collectives ({kind}) a step follow one another with nothing computed between them: {exposed} in "
            "which only they run.",
            values,
        )
    return Phrase(
        "{count} collectives ({kind}) a step, half of them with at most {bytes}, follow one another: {exposed} in "
        "which only they run.",
        values | {"bytes": nbytes(small.bytes_p50)},
    )
