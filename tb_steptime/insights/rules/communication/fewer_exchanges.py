"""Work that DistributedDataParallel does in each step, and that an option or `no_sync` saves; and collectives of which
one could do the work of many."""

from __future__ import annotations

from tb_steptime.insights.base import Insight, high, low, medium
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_cards import (
    SLOW_LINK,
    early_ns,
    exchange_card,
    exchanged_one_by_one_ns,
    rows,
    small_in_a_row,
)
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.metrics.communication.reducer import Reducer
from tb_steptime.metrics.communication.summary import CollectiveRow, InARow
from tb_steptime.text import Phrase, Quantity, Unit, agreeing, count, filled, nbytes, ns, phrase, text

_NO_SEARCH = """model = DistributedDataParallel(model)  # without find_unused_parameters=True
# where the same parameters are unused in every step: static_graph=True"""
#: Title and code of both cards about these copies: on CPUs this one, on GPUs `gradient_buckets`.
KEPT_IN_BUCKETS = phrase("Keep gradients in DDP's buckets")
VIEWS = "DistributedDataParallel(model, gradient_as_bucket_view=True)"

_SEARCHES = "In each step DDP searches the graph for unused parameters: {search} on the CPU."
_ALL_USED = (
    "In each step DDP searches for unused parameters ({search}) and ranks exchange which were used ({map}), but all "
    "{parameters} got a gradient."
)


def unused_parameters(facts: Facts) -> Insight | None:
    """Fires when DistributedDataParallel searches for unused parameters in each step, and the trace does not show that
    there are any.

    Similar pattern: a model with branches that some steps leave out needs the search: where fewer gradients are put
    into the buckets than the model has parameters, this rule is silent.

    Needs: CPU activity; for the number of parameters the types of what is exchanged, which PyTorch writes for NCCL,
    and for gloo with `record_shapes=True`.

    Jobs: training with DistributedDataParallel and `find_unused_parameters=True`, without `static_graph=True`.

    Gain: of the search the time in which no GPU works, and the median exposed time of the all-reduce that tells the
    ranks which parameters were used; waits for late ranks are in the all-reduces before it.

    Left out: buckets, which with the search stay in the order of the model and not in that of the gradients.
    """
    reducer = _reducer(facts)
    if reducer is None or not reducer.searches or reducer.all_used is False:
        return None
    values = {"search": ns(reducer.search_ns), "map": ns(reducer.map_ns), "parameters": count(reducer.parameters)}
    return exchange_card(
        facts,
        id="unused_parameters",
        title=phrase("Turn off find_unused_parameters in DDP"),
        why=filled(_ALL_USED if reducer.all_used else _SEARCHES, values),
        how=_NO_SEARCH,
        gain_ns=reducer.idle_search_ns + reducer.map_ns,
        formula="Time of the search in which no GPU works, and the median exposed time of the all-reduce that tells "
        "which parameters were used.",
        certainty=medium("Another rank or a later step may leave parameters out.")
        if reducer.all_used
        else low("Whether all parameters are used is not recorded."),
        spares_host=True,
    )


def gradient_copies(facts: Facts) -> Insight | None:
    """Fires when DistributedDataParallel on CPUs copies gradients out of its buckets.

    Similar pattern: on a GPU these copies are launches: `gradient_buckets`. The way into the buckets divides by the
    number of ranks too, and has to be done anyway.

    Needs: CPU activity.

    Jobs: training with DistributedDataParallel on CPUs.

    Gain: the time of these copies, mean over the steps.

    Left out: the memory that one copy of all gradients less takes.
    """
    reducer = _reducer(facts)
    if reducer is None or not reducer.copies or facts.overview.has_device:
        return None
    copies = round(reducer.copies)
    return exchange_card(
        facts,
        id="gradient_copies",
        title=KEPT_IN_BUCKETS,
        why=phrase(
            agreeing("DDP copies {copies} (gradient|gradients) a step out of its buckets: {copying}.", copies),
            copies=count(copies),
            copying=ns(reducer.copies_ns),
        ),
        how=VIEWS,
        gain_ns=reducer.copies_ns,
        formula="Time of these copies, mean over the steps.",
        certainty=high("The copies are measured."),
    )


def _reducer(facts: Facts) -> Reducer | None:
    return facts.communication.reducer if facts.communication else None


_NO_SYNC = """for number, batch in enumerate(micro_batches, 1):
    with contextlib.nullcontext() if number == len(micro_batches) else model.no_sync():
        loss_of(model(batch)).backward()  # gradients add up; only the last pass exchanges them"""


def each_micro_batch(facts: Facts) -> Insight | None:
    """Fires when DistributedDataParallel exchanges the same gradients after several backward passes before one step of
    an optimizer.

    Similar pattern: several models with an optimizer for all: passes that exchange other sizes are not counted, and
    models of the same size are not told apart. A model that is called several times before one backward pass exchanges
    once. Losses with a backward pass each are micro-batches too.

    Needs: CPU activity with the ranges of DistributedDataParallel and of the optimizer, and what launched collectives.

    Jobs: training with DistributedDataParallel and gradient accumulation.

    Gain: exposed time of the exchanges before the last of each optimizer step, less est. waits for other ranks, which
    the last one keeps. At most what the host leaves.

    Left out: that without an exchange a pass needs no copies into buckets.
    """
    communication = facts.communication
    if communication is None or communication.passes < 2:
        return None
    early = sum(early_ns(facts, row) for row in rows(facts))
    return exchange_card(
        facts,
        id="each_micro_batch",
        title=phrase("Exchange gradients once per optimizer step"),
        why=phrase(
            "Before one optimizer step, {passes} backward passes exchange the same gradients: for {early} a step "
            "only those run that the last could replace.",
            passes=count(communication.passes),
            early=ns(early),
        ),
        how=_NO_SYNC,
        gain_ns=early,
        formula="Exposed time of the exchanges before the last of each optimizer step, less est. waits. At most what "
        "the host leaves.",
        certainty=medium("The trace does not tell one model from two of the same size."),
        evidence=communication.examples,
    )


_NANOSECONDS = 1e9

_BUCKETS = """model = DistributedDataParallel(model)  # buckets of 25 MB
# or, by hand, one tensor of all gradients:
dist.all_reduce(torch.cat([p.grad.flatten() for p in model.parameters()]))"""
_WRAP_MORE = "fully_shard(block)  # each transformer block, not each layer in it"
_PACKED = """optimizer = ZeroRedundancyOptimizer(..., parameters_as_bucket_view=True)
# or, by hand, one tensor of all: dist.broadcast(torch.cat([x.flatten() for x in tensors]), src)"""
_TOGETHER = "x = torch.cat([x.flatten() for x in tensors])  # then one exchange of x"
_HOW = {"all_reduce": _BUCKETS, "all_gather": _WRAP_MORE, "reduce_scatter": _WRAP_MORE, "broadcast": _PACKED}

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
    cannot be merged. A bucketed exchange has few and large ones. A benchmark of collectives, which computes nothing. An
    inference, which has no gradients.

    Needs: kernels of collectives; the bytes from the arguments that PyTorch writes, else their lengths alone.

    Jobs: training in many ranks.

    Gain: their exposed time, less what computation could not hide of one exchange of all their bytes: at the best rate
    of one of them, and on a GPU at that of the slowest link at least; and the idle time until they are launched after
    the backward pass. Launches are saved, so the host does not limit it.

    Left out: the one wait for the slowest rank that is left of many.
    """
    small_rows = [(row, small) for row in rows(facts) if (small := small_in_a_row(facts, row))]
    if not small_rows or not (facts.trains or _may_train(facts)):
        return None
    row, leading = max(small_rows, key=lambda each: each[1].exposed_ns)
    launches_ns = exchanged_one_by_one_ns(facts)
    has_sizes = all(small.bytes is not None for _, small in small_rows)
    return exchange_card(
        facts,
        id="many_small_collectives",
        title=_OF_GRADIENTS if row.kind == "all_reduce" else _OF_OTHERS,
        why=_why(row, leading, facts.worth(launches_ns)),
        how=_HOW.get(row.kind, _TOGETHER),
        gain_ns=sum(_gain_ns(facts, each, small) for each, small in small_rows) + launches_ns,
        formula=_KNOWN if has_sizes else _UNKNOWN,
        certainty=(medium if has_sizes else low)(
            "What one exchange of all takes is an estimate; nothing computes between these."
        ),
        evidence=facts.communication.examples if facts.communication else [],
        spares_host=True,
    )


def _may_train(facts: Facts) -> bool:
    """Returns whether a job of an unknown kind computes something. What a CPU computes is not compared."""
    computes = not facts.overview.has_device or facts.share(facts.overview.mean_parts_ns.kernel) >= WARNING_FRACTION
    return computes and not facts.infers


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
