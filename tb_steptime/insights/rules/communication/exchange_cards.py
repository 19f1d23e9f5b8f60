"""Code that cards about communication share: the exposed time of each card, what saving it gains now, and how to hide a
collective or make it smaller, by its kind, with PyTorch's own wrappers.

exposed  |sssssss|ccc|eeeee|rrrrrrrrrrrr|      small ones in a row, those on the compute stream, those of earlier
          many_   on_ each_ exposed_           micro-batches, the rest: each card has a part of its own, less what of
          small compute pass communication     it is an est. wait for other ranks

A step cannot become shorter than the time that the host needs for it, so hiding an exchange gains at most the time that
the host waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from tb_steptime.insights.base import Insight
from tb_steptime.insights.cards import Reasoned, card
from tb_steptime.insights.facts import WORTH_FRACTION, Facts
from tb_steptime.insights.host_gains import host_and_batches_ns, late_ns, sites_of
from tb_steptime.metrics.communication.summary import CollectiveRow, Communication, InARow
from tb_steptime.text import Phrase, phrase
from tb_steptime.text.patterns import expression

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Minimum number of small collectives in a row. A model has hundreds of parameters, but a bucketed exchange of its
#: gradients has only a dozen collectives.
MANY_IN_A_ROW = 30
#: DDP's first bucket, its smallest, has 1 MB. If half of the collectives have less, latency decides how long they take,
#: and not the number of bytes.
SMALL_BYTES = 1_000_000
#: Maximum length of a small collective if bytes are not recorded. The exchange of a bucket takes longer.
SMALL_NS = 300_000


#: The place of the launches if gradients are exchanged by hand, and the number of launches for each collective, with a
#: division and a copy.
AFTER_BACKWARD, LAUNCHES_EACH = ("other",), 3


def exchange_card(
    facts: Facts, gain_ns: int, *, later: Phrase | None = None, spares_host: bool = False, **words: Unpack[Reasoned]
) -> Insight | None:
    """Returns the card, if its gain is worth one now, or will be once the host does not limit the step.

    gain_ns: exposed time a step that the change saves at most. later: the title while the host limits the step; None:
    `later_title`. spares_host: the change saves the host's time too.
    """
    if facts.share(gain_ns) < WORTH_FRACTION:
        return None
    now_ns = gain_ns if spares_host else _worth_now(facts, gain_ns)
    return card(facts, gain_ns=gain_ns, now_ns=now_ns, later=later, view="overview", part="communication", **words)


def _worth_now(facts: Facts, gain_ns: int) -> int:
    """Returns the gain, limited to what instant communication would gain, or without a replay to the part of the step
    above `host_and_batches_ns`; 0 if that is not worth a card. Without a GPU it returns the whole gain."""
    if not facts.overview.has_device:
        return gain_ns
    if facts.replayed is not None:
        return facts.worth(facts.at_most_ns(gain_ns, "communication"))
    return facts.worth(min(gain_ns, max(0, facts.recorded_ns - host_and_batches_ns(facts))))


def rows(facts: Facts) -> list[CollectiveRow]:
    """Returns the collectives of the mean step, those with the most exposed time first."""
    communication = facts.communication
    return communication.rows if communication else []


def small_in_a_row(facts: Facts, row: CollectiveRow) -> InARow | None:
    """Returns the collectives of a row that one exchange could replace: they are many and small, and nothing is
    computed between them."""
    small_ones = row.in_a_row
    if small_ones is None or small_ones.count < MANY_IN_A_ROW or facts.infers:
        return None
    small = small_ones.ns_p50 < SMALL_NS if small_ones.bytes_p50 is None else small_ones.bytes_p50 < SMALL_BYTES
    return small_ones if small else None


def on_compute_stream_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of a row on a stream of the model, without estimated waits. It is 0 for many small
    collectives in a row, whose card has this time, for layers that are split over ranks, whose next kernel needs the
    result on any stream, and for barriers, which the next kernel needs, too."""
    if small_in_a_row(facts, row) or of_split_layers(facts, row) or row.kind == "barrier":
        return 0
    return max(0, row.compute_stream_ns - (row.wait_ns or 0))


def early_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of exchanges in this row that a later micro-batch could also make, without time that
    other cards have."""
    return 0 if small_in_a_row(facts, row) else min(row.early_ns, row.exposed_ns - on_compute_stream_ns(facts, row))


def rest_ns(facts: Facts, row: CollectiveRow) -> int:
    """Returns the exposed time of a row that no other card has, including estimated waits. Of barriers nothing but the
    waits can be saved."""
    if row.kind == "barrier" and row.wait_ns is not None:
        return row.wait_ns
    small = small_in_a_row(facts, row)
    others = small.exposed_ns if small else on_compute_stream_ns(facts, row) + early_ns(facts, row)
    return max(0, row.exposed_ns - others)


def exchanged_one_by_one_ns(facts: Facts) -> int:
    """Returns the idle time a step until work after the backward pass is launched, if most of that work belongs to
    small collectives, one for each gradient; else 0."""
    small = [each.count for row in rows(facts) if (each := small_in_a_row(facts, row))]
    launches = sum(row.launches for row in sites_of(facts.host, AFTER_BACKWARD))
    return late_ns(facts.host, AFTER_BACKWARD) if LAUNCHES_EACH * sum(small) >= launches > 0 else 0


#: Rate in bytes per second of the slowest link made for exchanges between GPUs, eight lanes of PCIe 3 (NVLink and
#: Infinity Fabric are ten times as fast), and the number of bytes below which collectives do not reach their link's
#: rate.
SLOW_LINK, MUCH_BYTES = 5e9, 4_000_000
#: Below this mean size a collective takes the latency of its ranks, some tens of microseconds, whatever it sends.
LITTLE_BYTES = 100_000


class Advice(msgspec.Struct, frozen=True):
    """Advice of a card. later: the title while something else limits the step, where it is another. by_rank: the remedy
    depends on what other ranks did."""

    title: Phrase
    later: Phrase | None
    how: str
    by_rank: bool = False


_OVERLAP = phrase("Overlap communication with computation")
_LINK = phrase("Check the links between ranks, or send less")
_LINK_LATER = phrase("After the first fix: check the links between ranks")
_LESS = phrase("Send less between ranks, or less often")
_LESS_LATER = phrase("After the first fix: send less between ranks")

_LATE = phrase("Find the late rank, or send less")
_LATE_LATER = phrase("After the first fix: find the late rank")

#: Advice for DDP's gradients. Buckets hold 25 MiB unless set (torch/nn/parallel/distributed.py), so 10 are smaller
#: where sizes are not recorded; where they are, half of the mean bucket is.
_BUCKETS = """model = DistributedDataParallel(model, bucket_cap_mb={cap})
# smaller buckets are sent earlier in the backward pass"""
_MOST_BUCKET_MIB, _MIB = 10.0, 2**20
_PREFETCH = """for layer, after in zip(layers, layers[1:]):
    layer.set_modules_to_forward_prefetch([after])  # FSDP2
# FSDP1: forward_prefetch=True, limit_all_gathers=False"""
_ASYNC = """work = dist.{call}(..., async_op=True)
...  # compute what does not need the result
work.wait()"""
_OF_DEEP_EP = """*received, event = buffer.dispatch(..., async_finish=True)  # so does buffer.combine
...  # compute what does not need the result
event.current_stream_wait()"""
#: The script reduces gradients after the backward pass, or averages parameters of ranks that train apart.
_BY_DDP = """model = DistributedDataParallel(model)  # sends gradients in the backward pass
# averaged parameters: average them after more steps"""
#: DDP alone decides when gradients are sent, so a graph around it can be split where a bucket is full.
COMPILE_OUTSIDE = """model = torch.compile(DistributedDataParallel(model))  # splits the graph between buckets
# a model that is compiled before, in one graph, returns all gradients at its end"""
#: An optimizer whose states are divided among ranks gathers the parameters that it has updated.
_GATHER_LATER = """work = dist.all_gather_into_tensor(..., async_op=True)  # Megatron-LM: --overlap-param-gather
...  # the forward pass of the layers before
work.wait()"""
_TENSOR_PARALLEL = """torch._inductor.config._micro_pipeline_tp = True  # with torch.compile
# layers split over ranks: exchange in parts, beside their matrix products"""
#: The compiler exchanges in parts what is gathered before a product or reduced and scattered after it, and no
#: all-reduce.
_SEQUENCE_PARALLEL = f"""parallelize_module(block, mesh, {{"norm": SequenceParallel(), ...}})
# in place of an all-reduce, layers then reduce and scatter, and gather; after that:
{_TENSOR_PARALLEL}"""
#: Attention over a sequence that is divided among ranks, which pass keys and values on in a ring.
_RING = """works = dist.batch_isend_irecv(ops)  # of the next block of keys and values
...  # attention to the block that is there
for work in works: work.wait()"""
#: FSDP gathers a block's parameters ahead of time, but reduces its gradients only when all of them are there.
_EACH_BLOCK = "fully_shard(block)  # each block: its gradients are sent while those before it are computed"
#: Kernels of DeepEP, whose buffer exchanges the tokens of experts; DeepSeek's own builds name them dpsk.
_DEEP_EP = expression(r"\b(?:deep_ep|dpsk::ep)::")
NO_BROADCAST = "DistributedDataParallel(model, broadcast_buffers=False)"
_MICRO_BATCHES = "ScheduleInterleaved1F1B(stages, n_microbatches=4 * len(stages))  # more of them, and smaller"

_OF_EXCHANGER = {"ring": _RING, "buffers": NO_BROADCAST, "optimizer": _GATHER_LATER}
_HOW_TO_OVERLAP = {
    "broadcast": _ASYNC.format(call="broadcast"),
    "all_gather": _PREFETCH,
    "reduce_scatter": _EACH_BLOCK,
    "send_receive": _MICRO_BATCHES,
    "all_to_all": _ASYNC.format(call="all_to_all_single"),
}

_EVERY_SECOND = """with model.no_sync():  # DDP: every second batch sends the gradients of two
    loss.backward()"""
_EVERY_SECOND_SHARDED = """model.set_requires_all_reduce(number % 2 == 1)  # FSDP2
# every second batch sends the gradients of two to other replicas"""
_COMPRESS = "model.register_comm_hook(None, default_hooks.bf16_compress_hook)  # DDP: half of the bytes"
_HALF_TYPES = "fully_shard(layer, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.bfloat16))"
_ONCE_SHARDED = """model.set_requires_gradient_sync(number % 2 == 1)  # FSDP2
model.set_reshard_after_backward(number % 2 == 1)
# every second batch sends the gradients of two, and both use the same parameters"""
_LESS_OFTEN = "# exchange after several steps, or a larger batch per rank"
_HALF_BY_HAND = f"dist.all_reduce(x.bfloat16())  # half of the bytes\n{_LESS_OFTEN}"
_KEEP_GATHERED = "fully_shard(layer, reshard_after_forward=False)  # gathers once; needs memory"
_LINKS = """NCCL_DEBUG=INFO torchrun ...  # says which links it uses; RCCL reads the same variable
# is it a slow link, or a rank that is late in every step? The Ranks view shows which"""
#: The trace of one rank does not say whether those of the others lie beside it.
SEE_RANKS = "# the Ranks view names the late rank, and why, if all ranks are recorded at the same time"
_EVERY_RANK = f"""{SEE_RANKS}
torch.profiler.profile(..., on_trace_ready=  # on every rank
    torch.profiler.tensorboard_trace_handler(log_dir))"""
_IF_NONE = f"{SEE_RANKS}\n# if none is late:\n"
_TOGETHER = "# few bytes each: exchange them together, or less often"
_LARGER_BATCH = "# a larger batch per rank: the same bytes for more work"


#: Advice for the statistics of batches, which each layer waits for in both passes.
NORMS = Advice(
    phrase("Synchronize batch norms only where batches are small"),
    phrase("After the first fix: synchronize batch norms only for small batches"),
    """model = DistributedDataParallel(model)  # without SyncBatchNorm.convert_sync_batchnorm(model)
# or among fewer ranks: convert_sync_batchnorm(model, process_group)""",
)


def overlapped(facts: Facts, row: CollectiveRow) -> Advice:
    """Returns the advice for a row whose collectives the remaining computation could hide. Kernels of DeepEP exchange
    without torch.distributed."""
    if row.kind == "all_to_all" and any(_DEEP_EP.search(kernel.name) for kernel in facts.split_kernels):
        return Advice(_OVERLAP, None, _OF_DEEP_EP)
    each = None if row.bytes is None else row.bytes / row.count
    return Advice(_OVERLAP, None, how_to_overlap(row.kind, each, exchanger_of(facts, row)))


def in_parts(facts: Facts, row: CollectiveRow, saved_ns: int) -> tuple[Advice, int] | None:
    """Returns the advice for gradients that a compiled backward pass returns all at once, and how much of saved_ns it
    gains; None where most of what could hide them comes after their first."""
    communication = facts.communication
    if communication is None or not facts.job.compiled_share or exchanger_of(facts, row) is not None:
        return None
    if row.kind != "all_reduce" or communication.before_gradients_ns < saved_ns / 2:
        return None
    return Advice(_OVERLAP, None, COMPILE_OUTSIDE), min(saved_ns, communication.before_gradients_ns)


#: Who exchanges a row of collectives: layers that are split over ranks, layers that send to the next rank of a ring,
#: DDP its buffers, a model whose parameters are divided among ranks, as by FSDP, an optimizer whose states are, which
#: gathers what it has updated, or the training script outside of both passes. None: DDP its gradients, or stages of a
#: pipeline.
Exchanger = Literal["split_layers", "ring", "buffers", "sharded", "optimizer", "script"]
#: Layers exchange in both passes, and in the backward pass up to twice as much as in the forward pass, where it
#: computes activations again: then a third of the time is in the forward pass.
_LEAST_IN_PASS = 0.25


def exchanger_of(facts: Facts, row: CollectiveRow) -> Exchanger | None:
    if of_split_layers(facts, row):
        return "split_layers"
    if row.kind == "send_receive":  # a pipeline sends between its passes, and no node of a backward pass does
        return "ring" if row.nodes_ns >= row.exposed_ns * _LEAST_IN_PASS > 0 else None
    if row.kind == "broadcast":  # without a GPU the trace does not show what is sent; mostly it is the buffers
        return "buffers" if not facts.overview.has_device or 2 * row.buffers_ns >= row.exposed_ns else None
    outside = row.in_backward == 0 and not row.forward_ns
    if any(_shards(facts, each, row) for each in rows(facts)):
        return "optimizer" if outside and row.kind == "all_gather" else "sharded"
    return "script" if outside and row.kind == "all_reduce" else None


def _shards(facts: Facts, scatter: CollectiveRow, row: CollectiveRow) -> bool:
    """Says whether the ranks of `row` share what `scatter` leaves of gradients: it reduces as many bytes at least."""
    if scatter.kind != "reduce_scatter" or of_split_layers(facts, scatter):
        return False
    return row.kind != "all_reduce" or None in (scatter.bytes, row.bytes) or (scatter.bytes or 0) >= (row.bytes or 0)


def of_split_layers(facts: Facts, row: CollectiveRow) -> bool:
    """Says whether layers that are split over ranks exchange this row: their group reduces in the forward pass, too.
    Gradients are reduced in the backward pass alone, while parameters are gathered in both."""
    if row.kind == "all_reduce":
        return _reduces_activations(row)
    others = [each for each in rows(facts) if each.kind == "reduce_scatter" and each.group == row.group]
    return row.kind in ("all_gather", "reduce_scatter") and any(map(_reduces_activations, others))


def hiding_ns(facts: Facts, communication: Communication, row: CollectiveRow) -> int:
    """Returns the computing time of the step that could hide more of a row: of gradients, only that of the backward
    passes that make them."""
    of_gradients = row.kind in ("all_reduce", "reduce_scatter") and not of_split_layers(facts, row)
    if of_gradients and communication.free_backward_ns is not None:
        return communication.free_backward_ns
    return communication.free_compute_ns


def _reduces_activations(row: CollectiveRow) -> bool:
    return row.forward_ns >= row.exposed_ns * _LEAST_IN_PASS > 0


#: Reason and advice for layers that are split over ranks: each rank needs the results of all ranks.
NEEDED_AT_ONCE = phrase("The next layer needs the result: only what is exchanged in parts can be hidden.")
FEWER_RANKS = "# fewer tensor-parallel ranks, or all-reduce fused with the norm that follows"


def how_to_overlap(kind: str, each_bytes: float | None, exchanger: Exchanger | None) -> str:
    """Returns the code. each_bytes: mean size of an exchange, None if it is not recorded."""
    little = each_bytes is not None and each_bytes < 2 * LITTLE_BYTES
    if exchanger == "split_layers":
        return _SEQUENCE_PARALLEL if kind == "all_reduce" else _TENSOR_PARALLEL
    if exchanger == "script":
        return _TOGETHER if little else _BY_DDP
    if exchanger is not None and exchanger in _OF_EXCHANGER:
        return _OF_EXCHANGER[exchanger]
    if kind == "all_reduce":  # smaller buckets that send little would take as long each
        return _EACH_BLOCK if exchanger == "sharded" else _LARGER_BATCH if little else _in_smaller_buckets(each_bytes)
    if kind == "send_receive" and each_bytes is None:  # NCCL runs an all-to-all as a kernel of that name too
        return _HOW_TO_OVERLAP["all_to_all"]
    return _HOW_TO_OVERLAP.get(kind, _ASYNC.format(call="all_reduce"))


def _in_smaller_buckets(each_bytes: float | None) -> str:
    half_mib = _MOST_BUCKET_MIB if each_bytes is None else each_bytes / 2 / _MIB
    return _BUCKETS.format(cap=f"{min(_MOST_BUCKET_MIB, float(f'{half_mib:.1g}')):g}")


def less_to_send(facts: Facts, row: CollectiveRow) -> Advice:
    """Returns the advice where all computation together could not hide half of the exchange. Without a GPU it is not
    known how much of the exchange is a wait for a late rank."""
    on_gpu = facts.overview.has_device
    sends_much = row.bytes is not None and row.bytes / row.count >= MUCH_BYTES
    how = how_to_send_less(row.kind, row.dtype, exchanger_of(facts, row), gathers_again(facts, row))
    if on_gpu and sends_much and row.best_rate is not None and row.best_rate < SLOW_LINK:
        return Advice(_LINK, _LINK_LATER, f"{_LINKS}\n{how}")
    if not on_gpu:
        return Advice(_LATE, _LATE_LATER, _IF_NONE + how, by_rank=True)
    return Advice(_LESS, _LESS_LATER, how)


def fewer_exchanges(facts: Facts, row: CollectiveRow) -> Advice:
    """Returns the advice for a row of few bytes, whose time is latency and waits."""
    how = FEWER_RANKS if of_split_layers(facts, row) else _TOGETHER
    return replace(BALANCED, how=_IF_NONE + how, by_rank=True)


def sends_little(row: CollectiveRow) -> bool:
    """Says whether fewer bytes would not take less time. Stages of a pipeline wait by its schedule, whatever they
    send."""
    return row.kind != "send_receive" and row.bytes is not None and row.bytes < LITTLE_BYTES * row.count


def gathers_again(facts: Facts, row: CollectiveRow) -> bool:
    """Says whether the backward pass gathers parameters again, or may do so for all that is recorded."""
    return any(each.kind == "all_gather" and each.group == row.group and each.in_backward != 0 for each in rows(facts))


def how_to_send_less(kind: str, dtype: str | None, exchanger: Exchanger | None, gathers_again: bool = True) -> str:
    """Returns the code. dtype: None if it is not recorded."""
    single = (dtype or "").lower() == "float"
    if exchanger == "split_layers":
        return FEWER_RANKS
    if exchanger == "optimizer":
        return _GATHER_LATER
    if exchanger == "script":
        return _HALF_BY_HAND if single else _LESS_OFTEN
    if exchanger == "sharded" and kind == "all_reduce":
        return _HALF_TYPES if single else _EVERY_SECOND_SHARDED
    if kind == "all_reduce":
        return _COMPRESS if single else _EVERY_SECOND
    if kind in ("all_gather", "reduce_scatter"):
        return _HALF_TYPES if single else _KEEP_GATHERED if gathers_again else _ONCE_SHARDED
    return _LARGER_BATCH


#: Advice where most of the time is an estimated wait for slower ranks.
BALANCED = Advice(
    phrase("Find the rank that the others wait for"),
    phrase("After the first fix: find the rank that others wait for"),
    _EVERY_RANK,
)
