"""Collectives that run while nothing computes.

training                hide them if enough computation remains, otherwise send less
on the compute stream   later kernels wait, whether they need the result or not
inference               each layer waits for the exchange before it, so nothing can hide the exchange
"""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.rules.communication.exchange_cards import (
    BALANCED,
    FEWER_RANKS,
    NEEDED_AT_ONCE,
    NORMS,
    SEE_RANKS,
    Advice,
    exchange_card,
    fewer_exchanges,
    hiding_ns,
    in_parts,
    less_to_send,
    of_split_layers,
    on_compute_stream_ns,
    overlapped,
    rest_ns,
    rows,
    sends_little,
)
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.job import COPY_PER_PROCESS, IN_PLACE_OF_REPLICAS, ONE_PROCESS_EACH
from tb_steptime.metrics.communication.summary import TIMES_LONGER, CollectiveRow, Communication
from tb_steptime.text import Phrase, Quantity, Unit, count, filled, nbytes, ns, phrase, text

_NANOSECONDS = 1e9

#: From this share of the exposed time on, the card is about estimated waits, which a faster exchange does not end.
#: Shorter waits only get a sentence.
MOSTLY_WAITS = 0.5
#: From this share of the exposed time on, the card is about the exchanges of SyncBatchNorm.
MOSTLY_NORMS = 0.5
#: Minimum share of the step that computes. Below it, what the exchanges are for is not recorded, or they are all that
#: the job does, as in a benchmark of a network.
LEAST_COMPUTED = 0.01

_HIDE = phrase(
    "Exposed time of these collectives less est. waits, at most the computing time that no collective overlaps (of "
    "gradients: that of the backward pass), and at most what the host leaves."
)
_HALVE = phrase(
    "Half of the exposed time of these collectives less est. waits: little computation is left to hide them, but half "
    "of the bytes take half as long. At most what the host leaves."
)
_BY_NORMS = phrase(
    "Exposed time of the exchanges of SyncBatchNorm, at most that of all these collectives less est. waits, and what "
    "the host leaves: other batch norms exchange nothing."
)
_BALANCE = phrase(
    "Exposed time of these collectives: waits, est. from the shortest of their size, end when ranks are balanced, and "
    "computation can hide the rest. At most what the host leaves."
)
_LITTLE = phrase(
    "Exposed time of these collectives: they send so little that all but some latency is waits for other ranks. At "
    "most what the host leaves."
)
_ONE_RANK = phrase("Measured on this rank, where a collective's time includes its wait for the slowest rank.")


_SAME_CORES = phrase("On CPUs an exchange needs the cores that compute: hidden, it may gain nothing.")


class _Exposed(msgspec.Struct, frozen=True):
    """Exposed time of collectives without a card of their own, ns a step. whole: what the step exchanges. leading: the
    row with most of it; saves: the row with most of it that is no est. wait."""

    whole: Communication
    ns: int
    waits_ns: int
    free_compute_ns: int
    leading: CollectiveRow
    saves: CollectiveRow


def exposed_communication(facts: Facts) -> Insight | None:
    """Fires when collectives run and nothing computes, for other reasons than those that have a card of their own.

    Similar pattern: a rank that waits for a slower one: what collectives take longer than others of their kind, group
    and size, or than those of the group that send more, is an est. wait, and so is what a hidden wait delays; where
    that is most of it, the card is about balance. A barrier only waits. A profiler that starts late on another rank
    makes the first step wait: that alone does not count. On CPUs waits cannot be estimated, so the card asks for a
    late rank before anything else, and its confidence is low. Tensor-parallel inference, whose next layer needs the
    result: `between_layers`. SyncBatchNorm, whose layers wait for the statistics of a batch: nothing hides these, so
    where they are most of it the card is about them. Layers that are split over ranks, which exchange in the forward
    pass, too: their confidence is low, because their next kernel needs the result. A benchmark of exchanges, which
    computes nothing: there is no card.

    Needs: kernels of NCCL, RCCL or XCCL, or marks of gloo or MPI, and ops or kernels that compute. For est. waits
    three steps, and the bytes.

    Jobs: training in many ranks.

    Gain: min(exposed time less est. waits, computing time that no collective overlaps, of gradients that of the
    backward passes that make them, after the first of them is ready); where that hides less than half, half of the
    former, for half as many bytes, or what a compiled pass computes before it returns all gradients; where most are
    est. waits, these and what computation hides; where the calls send so little that they do not take long by
    themselves, all of it. At most the step less the host floor.

    Left out: the last bucket of gradients, which nothing is left to hide; waits that are the same every time and that
    no exchange of more bytes shows, which are not told apart from a network that others share; that the slowest rank
    gains nothing from balance.
    """
    exposed = _exposed(facts)
    if exposed is None:
        return None
    advice, gain_ns, formula = _advice(facts, exposed)
    doubt = None if facts.overview.has_device else _SAME_CORES
    asks_ranks = _mostly_waits(exposed) or advice.by_rank
    if asks_ranks:
        doubt = phrase("One rank's trace does not show what the others did meanwhile.")
    elif advice is NORMS:
        doubt = phrase("Whether the batch of a rank is large enough by itself is not recorded.")
    elif of_split_layers(facts, exposed.saves):
        doubt = NEEDED_AT_ONCE
    return exchange_card(
        facts,
        id="exposed_communication",
        title=advice.title,
        later=advice.later,
        why=phrase(_STATISTICS, exposed=ns(exposed.ns), norms=ns(gain_ns)) if advice is NORMS else _why(facts, exposed),
        how=advice.how,
        gain_ns=gain_ns,
        formula=formula,
        certainty=low(doubt) if doubt else medium(_ONE_RANK),
        evidence=exposed.whole.waits if _mostly_waits(exposed) else exposed.whole.examples,
        asks_ranks=asks_ranks,
    )


def _exposed(facts: Facts) -> _Exposed | None:
    communication, own_rows = facts.communication, rows(facts)
    if communication is None or facts.infers or facts.share(communication.computing_ns) < LEAST_COMPUTED:
        return None
    own = [rest_ns(facts, row) for row in own_rows]
    waits = [min(row.wait_ns or 0, ns) for row, ns in zip(own_rows, own, strict=True)]
    leading = own_rows[max(range(len(own)), key=lambda place: own[place])]
    saves = own_rows[max(range(len(own)), key=lambda place: own[place] - waits[place])]
    return _Exposed(communication, sum(own), sum(waits), hiding_ns(facts, communication, saves), leading, saves)


def _advice(facts: Facts, exposed: _Exposed) -> tuple[Advice, int, Phrase]:
    if _mostly_waits(exposed):
        return BALANCED, min(exposed.ns, exposed.waits_ns + exposed.free_compute_ns), _BALANCE
    saved_ns = exposed.ns - exposed.waits_ns
    norms_ns = sum(row.norms_ns for row in rows(facts))
    if norms_ns >= MOSTLY_NORMS * exposed.ns:
        return NORMS, min(saved_ns, norms_ns), _BY_NORMS
    if exposed.free_compute_ns < saved_ns / 2 and (parts := in_parts(facts, exposed.saves, saved_ns)):
        return *parts, _HIDE
    if exposed.free_compute_ns >= saved_ns / 2:
        return overlapped(facts, exposed.saves), min(saved_ns, exposed.free_compute_ns), _HIDE
    if facts.overview.has_device and sends_little(exposed.saves):
        return fewer_exchanges(facts, exposed.saves), exposed.ns, _LITTLE
    return less_to_send(facts, exposed.saves), saved_ns // 2, _HALVE


def _mostly_waits(exposed: _Exposed) -> bool:
    """Returns whether most of the time is waits, both in all steps and in the steps after the first one. False between
    the stages of a pipeline, whose schedule causes the waits."""
    steady_ns = exposed.whole.steady_wait_ns
    if steady_ns is None or exposed.leading.kind == "send_receive":
        return False
    return min(exposed.waits_ns, steady_ns) >= MOSTLY_WAITS * exposed.ns > 0


_STATISTICS = (
    "For {exposed} a step only collectives run: {norms} of it for the statistics of batch norms, which the next layer "
    "waits for."
)


def _why(facts: Facts, exposed: _Exposed) -> Phrase:
    row = exposed.leading if _mostly_waits(exposed) else exposed.saves
    rate = row.bytes / row.running_ns * _NANOSECONDS if row.bytes and row.running_ns else None
    amount = ", {count} a step" if rate is None else ": {bytes} a step at {rate}"
    waits = ", including waits for the slowest rank."
    if facts.share(exposed.waits_ns) >= WORTH_FRACTION:
        waits = ". Est. {waits} may be waits for slower ranks."
    template = "For {exposed} a step only collectives run, most of it {kind}" + amount + waits
    if row is not exposed.leading:
        template = "For {exposed} a step only collectives run. Est. {waits} may be waits for slower ranks, "
        template += "and most of the rest is {kind}" + amount + "."
    return filled(
        template,
        {
            "exposed": ns(exposed.ns),
            "kind": text(row.label),
            "count": count(round(row.count)),
            "bytes": nbytes(row.bytes),
            "rate": Quantity(rate, Unit.BYTES_PER_SECOND),
            "waits": ns(exposed.waits_ns),
        },
    )


_ON_STREAM = (
    "Collectives ({kind}) of {exposed} a step run on the stream of the model's kernels, so no later kernel can overlap "
    "them."
)
_REPLICATES = (
    "One process copies the model to all GPUs in each step and adds up their gradients: for {exposed} a step only that "
    "runs."
)
_REPLICATES_ALONE = "One process copies the model to all GPUs in each step: for {exposed} a step only that runs."
_ASYNC = """work = dist.all_reduce(x, async_op=True)  # on NCCL's own stream
...  # compute what does not need x
work.wait()"""


def collectives_on_compute_stream(facts: Facts) -> Insight | None:
    """Fires when collectives run on a stream of the model's own kernels.

    Similar pattern: tensor-parallel layers, which need the result at once: in inference that is `between_layers`, in
    training, where their group exchanges in the forward pass, `exposed_communication`.
    `nn.DataParallel`, which copies the model to all GPUs of its process: then the card is about it, unless the GPUs
    work one after another, as `serial_devices` then says the same.

    Needs: streams of kernels, as every trace of a GPU has them.

    Jobs: training in many ranks, or on several GPUs of one process; inference by `nn.DataParallel`.

    Gain: min(exposed time of these collectives, computing time that no collective overlaps, of gradients that of the
    backward passes that make them), at most the step less the host floor. In inference a process for each GPU copies
    nothing, and saves all of the exposed time.

    Left out: what really needs the result at once.
    """
    communication, own_rows = facts.communication, rows(facts)
    alone = facts.infers and facts.replicates
    if communication is None or (facts.infers and not alone) or (facts.replicates and facts.in_series):
        return None
    leading = max(own_rows, key=lambda row: on_compute_stream_ns(facts, row))
    exposed_ns = sum(on_compute_stream_ns(facts, row) for row in own_rows)
    title, why, how = "Move collectives off the compute stream", _ON_STREAM, _ASYNC
    if facts.job.ranks == "one" and facts.host.several_devices is not None:
        title, why, how = IN_PLACE_OF_REPLICAS, _REPLICATES, ONE_PROCESS_EACH
    if alone:
        title, why, how = "Run one process per GPU", _REPLICATES_ALONE, COPY_PER_PROCESS
    return exchange_card(
        facts,
        id="collectives_on_compute_stream",
        title=phrase(title),
        why=filled(why, {"kind": text(leading.label), "exposed": ns(exposed_ns)}),
        how=how,
        gain_ns=exposed_ns if alone else min(exposed_ns, hiding_ns(facts, communication, leading)),
        formula=_WITHOUT_COPIES if alone else _OVERLAPPED,
        certainty=medium(_WHO_LAUNCHES if alone else "Which kernels need the result at once is not recorded."),
        evidence=communication.examples,
    )


_OVERLAPPED = (
    "Exposed time of these collectives, at most the computing time that no collective overlaps (of gradients: that of "
    "the backward pass), and at most what the host leaves."
)
_WITHOUT_COPIES = "Exposed time of these collectives, at most what the host leaves."
_WHO_LAUNCHES = "One process drives the GPUs, and copies the model to them."


def between_layers(facts: Facts) -> Insight | None:
    """Fires when inference spends a twentieth of the step in collectives and computes nothing meanwhile.

    Similar pattern: training, where the exchange can be hidden: `exposed_communication`. Waits for a rank that comes
    late, which a single recording shows by collectives that take far longer than others like them: where that is most
    of the time, the card asks who is late instead. A last all-gather of the step that takes far longer than the others:
    if the kernel that reads its result does, too, it gathers more, as that of a split vocabulary's logits does, and the
    card is about it. Without that it may as well wait. FSDP gathers parameters, of which an embedding has more than
    other layers: its ranges show that, or a kernel of a layer behind the last all-gather, as no layer follows logits.
    Copies of the model on all GPUs of a process: `collectives_on_compute_stream`.

    Needs: kernels of collectives.

    Jobs: inference in many ranks.

    Gain: none is computed: the next layer needs the result, so nothing is left that could hide it.

    Left out: what a fused or one-shot all-reduce would save.
    """
    communication = facts.communication
    if communication is None or not facts.infers or facts.share(communication.exposed_ns) < WARNING_FRACTION:
        return None
    if facts.replicates:
        return None
    leading = communication.rows[0]
    title = "Shorten the collectives between layers"
    how: str | None = FEWER_RANKS
    why = _why_in_layers(facts, communication.exposed_ns, leading)
    waits = communication.wait_ns >= MOSTLY_WAITS * communication.exposed_ns
    if waits:
        title, how = "Find the rank that the others wait for", SEE_RANKS
        why = phrase(_WAITS, exposed=ns(communication.exposed_ns), wait=ns(communication.wait_ns))
    elif (last := leading.gathers_more) is not None:
        title = "Gather less at the end of the step"
        how = None if facts.job.server else _LOGITS
        why = phrase(_GATHERS, exposed=ns(communication.exposed_ns), last=ns(last.ns), others=ns(last.others_ns))
    return card(
        facts,
        id="between_layers",
        title=phrase(title),
        why=why,
        formula="Not computed: what follows needs the result, so nothing can hide the exchange. How much of it is "
        "needed is not recorded.",
        certainty=medium("Measured on this rank, where a collective's time includes its wait for the slowest."),
        counted=True,
        view="overview",
        part="communication",
        how=how,
        evidence=communication.examples,
        about_ns=communication.exposed_ns,
        asks_ranks=waits,
    )


def _why_in_layers(facts: Facts, exposed_ns: int, leading: CollectiveRow) -> Phrase:
    """Returns the reason. A collective that takes far longer than the others is named on its own, because a mean over
    all would mislead; one that no judged step has room for is in a step that is left out."""
    steps = len(facts.judged_steps)
    others = leading.count * steps - 1
    others_ns = leading.running_ns * steps - leading.longest_ns
    outlier = others >= 1 and leading.longest_ns >= TIMES_LONGER * others_ns / others
    each_ns = max(others_ns, 0) / others if outlier else leading.running_ns / leading.count
    template = "For {exposed} a step only collectives run, most of it {kind}: {count} a step, "
    named = outlier and leading.longest_ns <= max(facts.overview.steps[each].judged_ns for each in facts.judged_steps)
    template += "one of {longest}, {each} for each of the others." if named else "{each} for each."
    values = {"exposed": ns(exposed_ns), "kind": text(leading.label), "count": count(round(leading.count))}
    return filled(template, values | {"longest": ns(leading.longest_ns), "each": ns(each_ns)})


_GATHERS = (
    "For {exposed} a step only collectives run: {last} in the last all-gather, {others} in each of the others. The "
    "kernel that reads its result takes longer, too, so it gathers more."
)
_LOGITS = """\
logits = model(input_ids, logits_to_keep=1).logits  # of the last token only, where it gathers logits
# or let each rank keep its part of the vocabulary: ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)"""
_WAITS = "For {exposed} a step only collectives run. Est. {wait} of it is waiting for other ranks."
