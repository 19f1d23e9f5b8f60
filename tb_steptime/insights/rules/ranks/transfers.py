"""Ranks that exchange data while nothing computes: exposed transfers, without waits for late ranks, larger last ones,
and slow links; and stages of a pipeline that are idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median

from tb_steptime.insights.base import Insight, low, medium
from tb_steptime.insights.rules.communication.exchange_cards import (
    COMPILE_OUTSIDE,
    LITTLE_BYTES,
    NEEDED_AT_ONCE,
    Exchanger,
    how_to_overlap,
    how_to_send_less,
)
from tb_steptime.insights.rules.ranks.job_cards import job_card, uncomputed_job_card
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.job_what_if import SCHEDULE_NAMES
from tb_steptime.insights.wording.ranks import rank_name, replayed, step_ns
from tb_steptime.ranks.pipeline.result import BubbleCause, Pipeline, StageRow
from tb_steptime.ranks.result import ExchangeTime, JobCollective, JobRanks, Role
from tb_steptime.text import Phrase, Quantity, Unit, count, joined, ns, phrase, text

#: Minimum number of groups that do the same. Among fewer groups, it is not clear which one is the exception.
FEWEST_GROUPS = 3
#: A group has a slower link if its transfers take at least this many times the median of the other groups.
SLOWER = 1.5

_HIDE = phrase(
    "Exposed time of transfers a step, waits for late ranks taken out, at most the computing time that no collective "
    "overlaps (of gradients: that of the backward pass)."
)
_HALVE = phrase(
    "Half of the exposed time of transfers: little computation is left to hide them, but half of the bytes take half "
    "as long."
)
_WITHIN_MACHINES = """mesh = init_device_mesh("cuda", (machines, gpus), mesh_dim_names=("replicate", "shard"))
fully_shard(model, mesh=mesh)  # parameters are gathered within a machine alone; needs memory"""


def exposed_transfers(job: JobRanks) -> Insight | None:
    """Fires when transfers take a twentieth of the step in which the ranks compute nothing, waits for late ranks taken
    out.

    Similar pattern: waits for a late rank, which one recording alone cannot tell apart: `straggler` and `imbalance`.
    `exposed_communication` estimates from one rank what is measured here on all of them, and advises the same. A call
    that takes ten times as long as the others of its kind and size on all ranks waits for what none of them recorded:
    what it takes beyond them is left out. So are exchanges of few bytes, as of SyncBatchNorm, whose result is needed at
    once. Layers that are split over ranks need it at once, too, so for these the confidence is low. Inference, in which
    each layer waits for the exchange before it: `between_layers` says so on each rank.

    Needs: recordings of the same steps on two or more ranks, with collectives of whole groups.

    Jobs: training in many ranks on GPUs. Ranks on CPUs share their cores with the exchange, so that a transfer may as
    well be a wait for a core.

    Gain: min(exposed time of transfers, computing time that no collective overlaps, of gradients that of the backward
    passes that make them); where that hides less than half,
    half of the former, for half as many bytes, where bytes are recorded. Where the ranks can be replayed together, at
    most what they gain if transfers take no time.

    Left out: the last bucket of gradients, which nothing is left to hide; the host floor, which may limit it.
    """
    exchange, leading = job.exchange, _leading(job)
    if not job.on_device or job.infers or exchange is None or leading is None:
        return None
    exposed_ns = exchange.exposed_transfer_ns - exchange.exposed_stall_ns - _few_bytes_ns(job)
    if exposed_ns < WARNING_FRACTION * step_ns(job):
        return None
    free_ns = _hiding_ns(exchange, leading)
    hides = free_ns >= exposed_ns / 2
    in_parts = not hides and leading.role == "ddp" and exchange.before_gradients_ns >= exposed_ns / 2
    if in_parts:  # the compiled backward pass returns all gradients at its end
        free_ns, hides = exchange.before_gradients_ns, True
    if not hides and leading.bytes is None:
        return None  # nothing says that its time is one of bytes
    return job_card(
        job,
        id="exposed_transfers",
        title=phrase("Overlap transfers with computation") if hides else phrase("Send fewer bytes between ranks"),
        why=_why(exposed_ns, leading, job.matched_steps),
        how=COMPILE_OUTSIDE if in_parts else _how(job, leading, hides=hides),
        gain_ns=_replayed_ns(job, min(exposed_ns, free_ns) if hides else exposed_ns // 2),
        formula=_HIDE if hides else _HALVE,
        certainty=low(NEEDED_AT_ONCE)
        if leading.role == "tensor_parallel"
        else medium("Measured on all ranks; which kernels need the result at once is not recorded."),
    )


def _hiding_ns(exchange: ExchangeTime, leading: JobCollective) -> int:
    """Returns the computing time that could hide more: of gradients, only that of the backward passes that make
    them."""
    if leading.role in ("ddp", "fsdp") and leading.kind != "all_gather" and exchange.free_backward_ns is not None:
        return min(exchange.free_compute_ns, exchange.free_backward_ns)
    return exchange.free_compute_ns


def _replayed_ns(job: JobRanks, gain_ns: int) -> int:
    """Returns the gain, limited to what the ranks, replayed together, gain if transfers take no time."""
    what_if = replayed(job)
    return gain_ns if what_if is None else min(gain_ns, what_if.usual_gain_ns("instant_exchanges"))


def _leading(job: JobRanks) -> JobCollective | None:
    return max((row for row in job.collectives if row.running_ns), key=_exposed_transfer_ns, default=None)


def _exposed_transfer_ns(row: JobCollective) -> float:
    return max(0.0, row.exposed_ns * (row.transfer_ns / max(1, row.running_ns)) - row.stalled_exposed_ns)


def _few_bytes_ns(job: JobRanks) -> int:
    """Returns the exposed time, a step and rank, of transfers that take the latency of their ranks, whatever they
    send."""
    few = sum(
        _exposed_transfer_ns(row) for row in job.collectives if row.bytes is not None and row.bytes < LITTLE_BYTES
    )
    return round(few / max(1, job.matched_steps * len(job.ranks)))


def _why(exposed_ns: int, leading: JobCollective, steps: int) -> Phrase:
    values: dict[str, Quantity] = {
        "exposed": ns(exposed_ns),
        "kind": text(leading.label),
        "count": count(round((leading.count - leading.stalled) / max(1, steps))),
        "each": ns(leading.transfer_p50_ns),
    }
    template = "For {exposed} a step ranks only transfer, waits not counted, most in {kind}: {count} of {each}"
    if leading.bus_rate is not None:
        template += " at {rate} on each link"
        values["rate"] = Quantity(leading.bus_rate, Unit.BYTES_PER_SECOND)
    return Phrase(template + ".", values)


_EXCHANGERS: dict[Role, Exchanger] = {"tensor_parallel": "split_layers", "buffers": "buffers", "fsdp": "sharded"}
#: The advice for these kinds depends on what is exchanged.
_KNOWN_ROLES: dict[str, tuple[Role, ...]] = {
    "all_reduce": ("ddp", "tensor_parallel", "fsdp"),
    "all_gather": ("fsdp", "tensor_parallel"),
    "reduce_scatter": ("fsdp", "tensor_parallel"),
    "broadcast": ("buffers",),
}


def _how(job: JobRanks, leading: JobCollective, *, hides: bool) -> str | None:
    """Returns the code of the advice; None if it is not known what is exchanged, and the advice depends on it."""
    if leading.role not in _KNOWN_ROLES.get(leading.kind, (leading.role,)):
        return None
    if leading.kind == "all_to_all" and leading.dtype is None:
        return None  # torch.distributed writes the type: kernels of DeepEP and others have code of their own
    exchanger = _EXCHANGERS.get(leading.role)
    if exchanger == "sharded" and leading.kind == "all_gather" and {"optimizer", "other"}.issuperset(leading.phases):
        exchanger = "optimizer"
    if hides:
        return how_to_overlap(leading.kind, _mean_bytes(job, leading), exchanger)
    hosts = {row.host for row in job.ranks if row.rank in leading.members and row.host is not None}
    over_machines = leading.role == "fsdp" and leading.kind != "all_reduce" and len(hosts) > 1
    if over_machines and exchanger == "sharded":
        return _WITHIN_MACHINES
    gathers = [row.phases for row in job.collectives if (row.kind, row.group) == ("all_gather", leading.group)]
    gathers_again = any("backward" in phases or "unknown" in phases for phases in gathers)
    return how_to_send_less(leading.kind, leading.dtype, exchanger, gathers_again)


def _mean_bytes(job: JobRanks, leading: JobCollective) -> float | None:
    """Returns the mean size of the exchanges of this row's kind, group and role, as a row holds those of one size; None
    if the bytes of any are not recorded."""
    kind = leading.kind, leading.group, leading.role
    alike = [(row.bytes, row.count) for row in job.collectives if (row.kind, row.group, row.role) == kind]
    sizes = [(size, number) for size, number in alike if size is not None]
    return sum(size * number for size, number in sizes) / sum(number for _, number in sizes) if sizes == alike else None


def larger_gathers(job: JobRanks) -> Insight | None:
    """Fires when the last all-gathers of the steps gather more than the others, which takes a twentieth of the step.

    Similar pattern: a last all-gather that waits for what no rank recorded: then the kernels that read the result take
    no longer than behind the others. FSDP's parameters of a large layer, behind which a kernel of that layer runs.
    `between_layers` says the same from one rank.

    Needs: recordings of the same steps on two or more ranks, and the kernels behind the all-gathers.

    Jobs: inference in many ranks.

    Gain: none is computed: how much of the result is needed is not recorded.

    Left out: what of the exchange a faster link would save.
    """
    row = max(job.collectives, key=lambda row: row.larger_ns, default=None)
    if row is None or not row.larger:
        return None
    steps, others = max(1, job.matched_steps), row.count - row.larger
    last_ns = row.larger_ns // (row.larger * row.ranks)
    larger_ns = last_ns * row.larger // steps
    if larger_ns < WARNING_FRACTION * step_ns(job):
        return None
    template = "The last all-gather of a step takes {last}, and each of the others {others}. The kernel that reads its "
    template += (
        "result takes longer on every rank, too, so it gathers more. The Overview of each rank says how to avoid it."
    )
    values = {"last": ns(last_ns), "others": ns((row.transfer_ns - row.larger_ns) // max(1, others * row.ranks))}
    return uncomputed_job_card(
        formula="Not computed: how much of the result is needed is not recorded.",
        certainty=medium("Measured on all ranks; what it gathers is not recorded."),
        id="larger_gathers",
        title=phrase("Gather less at the end of the step"),
        why=Phrase(template, values),
        about_ns=larger_ns,
    )


#: Kinds with which layers that are split over ranks exchange, and the minimum number of them in a step.
_OF_LAYERS, _FEWEST_OF_LAYERS = ("all_reduce", "all_gather", "reduce_scatter"), 4
_IN_A_MACHINE = """mesh = init_device_mesh("cuda", (machines, gpus), mesh_dim_names=("pp", "tp"))
parallelize_module(layer, mesh["tp"], plan)  # over machines: pipeline stages, or replicas
# vllm serve MODEL --tensor-parallel-size GPUS --pipeline-parallel-size MACHINES"""


def layers_over_machines(job: JobRanks) -> Insight | None:
    """Fires when the layers of an inference are split over the ranks of several machines, and exchanging between layers
    takes a twentieth of the step.

    Similar pattern: machines with one GPU each, which has no other one to share a layer with. Experts, which exchange
    by all-to-alls, stages of a pipeline, which send, and FSDP, which gathers parameters. Machines that NVLink connects,
    or containers of one machine, whose names differ as those of machines do: a guess. `between_layers` says on each
    rank what these exchanges take.

    Needs: recordings of the same steps on two or more ranks, with the names of their machines.

    Jobs: inference in many ranks. In training, gradients and parameters go over machines, too.

    Gain: none is computed: what an exchange takes within a machine is not recorded.

    Left out: the memory that a stage or a replica needs.
    """
    exchange = job.exchange
    leading = _leading(job)
    steps = max(1, job.matched_steps)
    if not job.infers or exchange is None or leading is None:
        return None
    if leading.kind not in _OF_LAYERS or leading.role == "fsdp":
        return None
    machines = Counter(row.host for row in job.ranks if row.rank in leading.members)
    apart = len(machines) > 1 and None not in machines and min(machines.values()) > 1
    exposed_ns = exchange.exposed_transfer_ns - exchange.exposed_stall_ns
    often = leading.count >= _FEWEST_OF_LAYERS * steps
    if not (apart and often) or exposed_ns < WARNING_FRACTION * step_ns(job):
        return None
    template = "The {ranks} ranks that share each layer are on {machines} machines."
    shared = phrase(template, ranks=count(leading.ranks), machines=count(len(machines)))
    return uncomputed_job_card(
        formula="Not computed: what an exchange takes within a machine is not recorded.",
        certainty=low("Which links connect the machines is not recorded."),
        id="layers_over_machines",
        title=phrase("Keep tensor parallelism within one machine"),
        why=joined(shared, _why(exposed_ns, leading, job.matched_steps)),
        how=_IN_A_MACHINE,
        about_ns=exposed_ns,
    )


def slow_link(job: JobRanks) -> Insight | None:
    """Fires when one of several groups of ranks takes half as long again as the others for the same collective.

    Similar pattern: a late rank in that group: waits are taken out. Groups over different links, within a machine and
    between machines, are of different sizes or ranks in most jobs; where they are not, the slower ones are several.

    Needs: recordings of the same steps on all ranks of three groups, which exchange as many bytes.

    Jobs: training and inference in many ranks, in several groups that do the same.

    Gain: (median transfer of that group - the median of the others) x its collectives a step, at most their exposed
    time, and what the ranks, replayed together, gain if transfers take no time.

    Left out: what else uses the link.
    """
    slowest = _slowest(job)
    if slowest is None:
        return None
    row, usual_ns, ranks = slowest
    steps = max(1, job.matched_steps)
    gain_ns = _replayed_ns(job, min((row.transfer_p50_ns - usual_ns) * row.count, row.exposed_ns // row.ranks) // steps)
    return job_card(
        job,
        id="slow_link",
            title=phrase("Check the link between ranks {first} to {last}", first=rank_name(ranks[0]),
                         last=rank_name(ranks[-1])),
            why=phrase("{kind} takes {own} among ranks {first} to {last}, and {usual} in the other groups of its size.",
                       kind=text(row.label.capitalize()), own=ns(row.transfer_p50_ns), first=rank_name(ranks[0]),
                       last=rank_name(ranks[-1]), usual=ns(usual_ns)),
            how="NCCL_DEBUG=INFO torchrun ...  # says which links it uses; nvidia-smi topo -m",
            gain_ns=gain_ns,
            formula="(Its median transfer - the median of the other groups) x its collectives a step.",
            certainty=medium("Transfers are measured; what else uses the link is not recorded."),
            )  # fmt: skip


def _slowest(job: JobRanks) -> tuple[JobCollective, int, list[int]] | None:
    """Returns the slowest group, the median transfer of the other groups that do the same, and the slowest group's
    ranks."""
    for row in sorted(job.collectives, key=lambda row: -row.transfer_p50_ns * row.count):
        same = (row.kind, row.bytes, row.dtype, row.ranks)
        others = [o for o in job.collectives if o is not row and (o.kind, o.bytes, o.dtype, o.ranks) == same]
        if len(others) + 1 < FEWEST_GROUPS or row.bytes is None:
            continue
        usual_ns = round(median(other.transfer_p50_ns for other in others))
        if row.transfer_p50_ns >= SLOWER * usual_ns and row.transfer_p50_ns > max(o.transfer_p50_ns for o in others):
            return row, usual_ns, row.members
    return None


#: Minimum share of all bubbles that a cause must have to get a card.
_DOMINATES = 0.5

_TITLES: Mapping[BubbleCause, Phrase] = {
    "schedule": phrase("Use more micro-batches, or interleave the stages"),
    "imbalance": phrase("Balance the stages of the pipeline"),
    "ordering": phrase("Run all stages in the order of one schedule"),
    "transfer": phrase("Send between stages while they compute"),
}
_HOW: Mapping[BubbleCause, str] = {
    "schedule": """ScheduleInterleaved1F1B(stages, n_microbatches=..., loss_fn=loss)  # stages: two for each rank
# or twice as many micro-batches of half the size, where kernels still fill the GPU""",
    "imbalance": """pipeline(model, mb_args=(x,), split_spec={"layers.N": SplitPoint.BEGINNING})  # other layers N
# the first stage also embeds, the last one also computes the loss: give them fewer layers""",
    "ordering": "Schedule1F1B(stage, n_microbatches=..., loss_fn=loss)  # on every rank, all micro-batches in one step",
    "transfer": """works = dist.batch_isend_irecv(ops)  # before the pass beside which they run
...
for work in works: work.wait()  # where what they bring is needed""",
}
_FORMULAS: Mapping[BubbleCause, Phrase] = {
    "schedule": phrase(
        "Half of the time for which stages of equal length would be idle: with twice as many micro-batches, or "
        "two stages a rank, they fill and drain in half the time."
    ),
    "imbalance": phrase("The recorded step, less its replay with all stages as long as their mean."),
    "ordering": phrase("The recorded step, less its replay in the order of the schedule."),
    "transfer": phrase("The recorded step, less its replay with messages that arrive at once."),
}
#: From this many micro-batches for each stage on, a schedule fills and drains in less than a fifth of its step. Half of
#: that can be gained at most, and smaller micro-batches, or a schedule with more messages, may cost as much.
ENOUGH_FOR_EACH_STAGE = 4
_SMALL = phrase(
    "The pipeline has {number} micro-batches or more for each stage. What smaller ones cost in slower kernels, or "
    "another schedule in memory and messages, is not recorded.",
    number=count(ENOUGH_FOR_EACH_STAGE),
)
_SURE = phrase("Passes and messages are measured on all ranks, and replayed; other causes may take their place.")


def pipeline_bubbles(job: JobRanks) -> Insight | None:
    """Fires when the cause with the largest gain takes half of what the stages of a pipeline are idle.

    Similar pattern: ranks that compute at the same time and send to each other: their passes are in no order of stages.
    A host that is late, or an optimizer, delays stages too: it is work of their own in all replays. Four micro-batches
    or more for each stage: little more can be gained by another schedule, so the card about it is a hint.

    Needs: recordings of the same steps on all ranks of a pipeline, with forward and backward passes.

    Jobs: training in pipeline stages.

    Gain: the difference of two replays of the same passes; of the schedule's own bubble half.

    Left out: what smaller micro-batches cost in slower kernels; memory that another schedule needs.
    """
    pipeline = job.pipeline
    if pipeline is None:
        return None
    costs = pipeline.costs()
    gains = costs | {"schedule": costs["schedule"] // 2}
    cause = max(costs, key=lambda each: gains[each])
    if costs[cause] < _DOMINATES * pipeline.bubble_ns:
        return None
    if cause == "schedule" and pipeline.schedule not in ("gpipe", "1f1b"):
        return None  # it is interleaved already
    small = cause == "schedule" and pipeline.micro_batches >= ENOUGH_FOR_EACH_STAGE * pipeline.stages
    return job_card(
        job,
        id="pipeline_bubbles",
        title=_TITLES[cause],
        why=_why_idle(pipeline, cause, costs[cause]),
        how=_HOW[cause],
        gain_ns=gains[cause],
        formula=_FORMULAS[cause],
        certainty=low(_SMALL) if small else medium(_SURE),
        measured_steps=pipeline.steps,
    )


def _why_idle(pipe: Pipeline, cause: BubbleCause, cost_ns: int) -> Phrase:
    values: dict[str, Quantity] = {"cost": ns(cost_ns), "stages": count(pipe.stages),
                                   "batches": count(pipe.micro_batches)}  # fmt: skip
    if cause == "schedule" and pipe.schedule is not None:
        values["name"] = text(SCHEDULE_NAMES[pipe.schedule])
        template = "With {stages} stages and {batches} micro-batches {name} leaves each stage idle for {cost} a step "
        return Phrase(template + "while it fills and drains.", values)
    if cause == "imbalance":
        slowest, fastest = max(pipe.rows, key=_works_ns), min(pipe.rows, key=_works_ns)
        return Phrase(
            "Stages wait {cost} a step for slower ones: rank {slowest} computes {most}, rank {fastest} {least}.",
            values | {"slowest": rank_name(slowest.rank), "fastest": rank_name(fastest.rank),
                      "most": ns(_works_ns(slowest)), "least": ns(_works_ns(fastest))},
        )  # fmt: skip
    if cause == "ordering":
        values["name"] = text(SCHEDULE_NAMES[pipe.schedule or "1f1b"])
        return Phrase("Passes that do not follow {name} leave stages idle for {cost} a step.", values)
    return Phrase("Stages are idle for {cost} a step while messages from other stages are under way.", values)


def _works_ns(row: StageRow) -> int:
    return row.forward_ns + row.backward_ns
