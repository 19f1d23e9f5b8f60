"""Many small collectives one after another: each costs the same start-up and wait, however few bytes it sends."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_advice import SLOW_LINK
from tb_steptime.insights.rules.communication.exchange_cards import (
    exchange_card,
    exchanged_one_by_one_ns,
    rows,
    small_in_a_row,
)
from tb_steptime.metrics.communication.summary import CollectiveRow, InARow
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, nbytes, ns, phrase, text

_NANOSECONDS = 1e9

_BUCKETS = """model = DistributedDataParallel(model)  # buckets of 25 MB
# or, by hand, one tensor of all gradients:
dist.all_reduce(torch.cat([p.grad.flatten() for p in model.parameters()]))"""
_WRAP_MORE = "fully_shard(block)  # each transformer block, not each layer in it"
_COALESCE = """with torch.distributed._coalescing_manager():
    for x in tensors:
        dist.all_reduce(x)"""
_HOW = {"all_reduce": _BUCKETS, "all_gather": _WRAP_MORE, "reduce_scatter": _WRAP_MORE}

_OF_GRADIENTS = phrase("All-reduce gradients in buckets, not one by one")
_OF_OTHERS = phrase("Exchange fewer, larger tensors between ranks")

_KNOWN = phrase(
    "Exposed time of these collectives, less what the computing time of the step could not hide of one exchange of all "
    "their bytes (est. at the best rate of one of them, and on a GPU at {rate} or more); and idle time until they are "
    "launched.",
    rate=Quantity(SLOW_LINK, Unit.BYTES_PER_SECOND),
)
_UNKNOWN = phrase(
    "Exposed time of these collectives, less that of one, as their bytes are not recorded; and idle time until they "
    "are launched."
)


def many_small_collectives(facts: Facts) -> Insight | None:
    """Fires when many small collectives follow one another with next to nothing computed between them.

    Similar pattern: tensor-parallel layers and SyncBatchNorm, whose collectives have a layer's kernels between them and
    cannot be merged. A bucketed exchange has few and large ones.

    Needs: kernels of collectives; the bytes from the arguments that PyTorch writes, else their lengths alone.

    Jobs: training in many ranks.

    Gain: their exposed time, less what computation could not hide of one exchange of all their bytes: at the best rate
    of one of them, and on a GPU at that of the slowest link at least; and the idle time until they are launched after
    the backward pass. Launches are saved, so the host does not limit it.

    Left out: the one wait for the slowest rank that is left of many.
    """
    small_rows = [(row, small) for row in rows(facts) if (small := small_in_a_row(facts, row))]
    if not small_rows:
        return None
    row, leading = max(small_rows, key=lambda each: each[1].exposed_ns)
    launches_ns, has_sizes = exchanged_one_by_one_ns(facts), all(small.bytes is not None for _, small in small_rows)
    return exchange_card(
        facts,
        id="many_small_collectives",
        title=_OF_GRADIENTS if row.kind == "all_reduce" else _OF_OTHERS,
        why=_why(row, leading, facts.worth(launches_ns)),
        how=_HOW.get(row.kind, _COALESCE),
        gain_ns=sum(_gain_ns(facts, each, small) for each, small in small_rows) + launches_ns,
        formula=_KNOWN if has_sizes else _UNKNOWN,
        best=Confidence.MEDIUM if has_sizes else Confidence.LOW,
        why_confidence=phrase("What one exchange of all takes is an estimate; nothing computes between these."),
        evidence=facts.communication.examples if facts.communication else [],
        spares_host=True,
    )


def _gain_ns(facts: Facts, row: CollectiveRow, small: InARow) -> int:
    """Returns the gain of one exchange in place of these collectives. It takes at least as long as one of them, and of
    this minimum nothing is hidden."""
    communication = facts.communication
    rate = max(row.best_rate or 0.0, SLOW_LINK if facts.overview.has_device else 0.0)
    one_ns = round(small.bytes / rate * _NANOSECONDS) if small.bytes else 0
    left_ns = max(small.ns_p50, one_ns - (communication.free_compute_ns if communication else 0))
    return max(0, small.exposed_ns - left_ns)


def _why(row: CollectiveRow, small: InARow, launches_ns: int) -> Phrase:
    values = {
        "count": count(round(small.count)),
        "kind": text(row.label),
        "bytes": nbytes(small.bytes_p50),
        "exposed": ns(small.exposed_ns),
        "late": ns(launches_ns),
    }
    subject = "{count} collectives ({kind}) a step, half of them with at most {bytes}, follow one another"
    if small.bytes_p50 is None:
        subject = "{count} collectives ({kind}) a step follow one another with nothing computed between them"
    waits = ", and for {late} the GPU waits for their launches" if launches_ns > 0 else ""
    return filled(f"{subject}: for {{exposed}} only they run{waits}.", values)
