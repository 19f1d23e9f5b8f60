"""Each rule about communication: it fires, its boundary, and the same symptom with another cause. Traces are drawn."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tb_steptime.insights.base import Confidence, Evidence, Severity
from tb_steptime.insights.rules.communication.exchange_cards import MANY_IN_A_ROW, SEE_RANKS
from tb_steptime.metrics.communication.summary import CollectiveRow, communication
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card_sentence, judged, sure
from tests.drawn.timeline import timeline

US, MS = 1_000, 1_000_000
CARDS = {"exposed_communication", "many_small_collectives", "collectives_on_compute_stream", "between_layers"}
ALL_REDUCE = ("allreduce", "Float", 250_000, "0", 8)
NODE = "autograd::engine::evaluate_function: AddmmBackward0"
#: The host launches a step's work in a tenth of it, then waits for the GPU.
HOST = """
    step     | 1111111111222222222233333333334444444444 |
    op       | b.........b.........b.........b......... |
    runtime  | kyyyyyyyyykyyyyyyyyykyyyyyyyyykyyyyyyyyy |"""


def drawn(device: str, **given: Any) -> Trace:
    """A training of four steps of 10 ms."""
    defaults = {"names": {"b": NODE}, "calls": {"y": "cudaStreamSynchronize"}, "cell_ns": MS}
    return timeline(HOST + device, **(defaults | given))


def exchanged(trace: Trace) -> list[CollectiveRow]:
    found = communication(trace)
    return [] if found is None else found.rows


def fired(trace: Trace) -> list[str]:
    return [insight.id for insight in judged(trace).insights if insight.id in CARDS]


HIDDEN_HALF = """
    kernel 7 | .kkkkk.....kkkkk.....kkkkk.....kkkkk.... |
    nccl 40  | ....cccc......cccc......cccc......cccc.. |"""


def test_exposed_collectives_are_worth_what_computation_could_hide():
    insight = sure(drawn(HIDDEN_HALF, exchanges={"c": ALL_REDUCE}), "exposed_communication")
    assert (insight.gain_ns, insight.severity, insight.part) == (2 * MS, Severity.MAJOR, "communication")
    assert (insight.later_ns, insight.confidence, insight.view) == (None, Confidence.MEDIUM, "overview")
    assert plain(insight.title) == "Overlap communication with computation"
    assert card_sentence(insight) == (
        "For 2.0 ms a step only collectives run, most of it all-reduce: 1.0 MB a step at 250 MB/s, including waits for "
        "the slowest rank."
    )
    assert insight.evidence == [Evidence(str(step), (10 * step - 4) * MS, (10 * step - 2) * MS) for step in range(1, 5)]


@pytest.mark.parametrize(("computes", "cards"), [({}, []), ({"kernel 7": ".kk......."}, ["exposed_communication"])])
def test_a_benchmark_of_exchanges_is_not_asked_to_send_less(computes: dict[str, str], cards: list[str]):
    lines = "".join(f"\n {line} | {cells * 4} |" for line, cells in {**computes, "nccl 40": "...ccccccc"}.items())
    trace = drawn(lines, names={"b": "c10d::allreduce_"}, exchanges={"c": ALL_REDUCE})
    assert fired(trace) == cards


@pytest.mark.parametrize(
    ("elements", "caps"),
    [
        (49_999, []),  # 200 kB take as long as 100 kB
        (50_000, ["0.1"]),
        (1_600_000, ["3"]),  # 6.4 MB in one bucket
        (5_242_880, ["10"]),  # 20 MiB
        (100_000_000, ["10"]),
        (None, ["10"]),
    ],
)
def test_advised_buckets_are_smaller_than_those_recorded(elements: int | None, caps: list[str]):
    exchanges = {} if elements is None else {"c": ("allreduce", "Float", elements, "0", 8)}
    names = {"b": NODE} | ({"c": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)"} if elements is None else {})
    how = sure(drawn(HIDDEN_HALF, names=names, exchanges=exchanges), "exposed_communication").how
    assert how is not None
    assert re.findall(r"bucket_cap_mb=([\d.]+)", how) == caps


@pytest.mark.parametrize(
    ("kernel", "call"),
    [
        ("void deep_ep::internode::combine<false, 8, __nv_bfloat16>(int4*)", "buffer.dispatch"),
        ("void dpsk::ep::intranode::dispatch<8, 768>(int4*)", "buffer.dispatch"),
        ("ncclDevKernel_AllToAll(ncclDevKernelArgsStorage<4096ul>)", "dist.all_to_all_single"),
        ("void moeAllToAllKernel<8>(int4*)", "dist.all_to_all_single"),
    ],
)
def test_the_code_of_an_all_to_all_is_that_of_its_library(kernel: str, call: str):
    insight = sure(drawn(HIDDEN_HALF, names={"b": NODE, "c": kernel}), "exposed_communication")
    assert (plain(insight.title), insight.gain_ns) == ("Overlap communication with computation", 2 * MS)
    assert insight.how is not None
    assert call in insight.how


def test_all_reduces_of_the_forward_pass_are_those_of_layers_split_over_ranks():
    """They are launched before the backward pass begins, not during it."""
    device = """
        kernel 7 | .kkkkk.....kkkkk.....kkkkk.....kkkkk.... |
        nccl 40  | ....cccc......cccc......cccc......cccc.. |"""
    host = HOST.replace("b.........", ".......b..").replace("kyyyyyyyyy", "kcyyyyyyyy")
    trace = timeline(host + device, names={"b": NODE}, calls={"y": "cudaStreamSynchronize"}, cell_ns=MS)
    insight = sure(trace, "exposed_communication")
    assert insight.how is not None
    assert "_micro_pipeline_tp" in insight.how


def test_without_bytes_the_card_says_how_many_there_are():
    assert card_sentence(sure(drawn(HIDDEN_HALF), "exposed_communication")) == (
        "For 2.0 ms a step only collectives run, most of it all-reduce, 1 a step, including waits for the slowest rank."
    )


@pytest.mark.parametrize(("cells", "fires"), [(1, []), (2, ["exposed_communication"])])
def test_it_needs_a_hundredth_of_the_step(cells: int, fires: list[str]):
    trace = timeline(
        f"""
        step     | {"9" * 200} |
        op       | b{"." * 199} |
        runtime  | k{"y" * 199} |
        kernel 7 | .{"k" * 150}{"." * 49} |
        nccl 40  | {"." * 151}{"c" * cells}{"." * (49 - cells)} |""",
        names={"b": NODE},
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    assert fired(trace) == fires


@pytest.mark.parametrize(
    ("exchange", "title", "how"),
    [
        (("allreduce", "Float", 10_000_000, "0", 8), "Send less between ranks, or less often", "bf16_compress_hook"),
        (("allreduce", "BFloat16", 20_000_000, "0", 8), "Send less between ranks, or less often", "no_sync"),
        (
            ("_reduce_scatter_base", "BFloat16", 20_000_000, "0", 8),
            "Send less between ranks, or less often",
            "gradient_sync",
        ),
        (("_allgather_base", "Float", 10_000_000, "0", 8), "Send less between ranks, or less often", "mp_policy"),
        (("allreduce", "Float", 1_000_000, "0", 8), "Check the links between ranks, or send less", "NCCL_DEBUG"),
    ],
)
def test_where_little_is_left_to_hide_them_less_is_sent(exchange: tuple[Any, ...], title: str, how: str):
    """5 ms are exposed and only 1 ms computes: half of the bytes take half of the time."""
    device = """
        kernel 7 | .k.........k.........k.........k........ |
        nccl 40  | ..ccccc.....ccccc.....ccccc.....ccccc... |"""
    insight = sure(drawn(device, exchanges={"c": exchange}), "exposed_communication")
    assert (insight.gain_ns, plain(insight.title)) == (2_500 * US, title)
    assert insight.how is not None
    assert how in insight.how


NOTHING_TO_HIDE = """
    kernel 7 | .k.........k.........k.........k........ |
    nccl 40  | ..ccccc.....ccccc.....ccccc.....ccccc... |"""


@pytest.mark.parametrize(
    ("elements", "in_forward", "gain_ns", "found", "lacks"),
    [
        (24_999, False, 5 * MS, "exchange them together", "bf16"),
        (24_999, True, 5 * MS, "tensor-parallel ranks", "bf16"),
        (25_000, False, 2_500 * US, "bf16_compress_hook", "tensor-parallel"),
        (10_000_000, True, 2_500 * US, "tensor-parallel ranks", "bf16"),
    ],
)
def test_a_collective_of_few_bytes_waits_for_other_ranks(
    elements: int, in_forward: bool, gain_ns: int, found: str, lacks: str
):
    """Less than 100 kB do not take 5 ms. A hook of DDP changes no exchange between layers that are split over ranks,
    which the forward pass launches."""
    host = HOST.replace("b.........", ".......b..").replace("kyyyyyyyyy", "kcyyyyyyyy") if in_forward else HOST
    trace = timeline(
        host + NOTHING_TO_HIDE,
        names={"b": NODE},
        calls={"y": "cudaStreamSynchronize"},
        exchanges={"c": ("allreduce", "Float", elements, "0", 8)},
        cell_ns=MS,
    )
    insight = sure(trace, "exposed_communication")
    assert insight.gain_ns + (insight.later_ns or 0) == gain_ns
    assert insight.how is not None
    assert found in insight.how
    assert lacks not in insight.how


def test_a_host_that_never_waits_leaves_nothing_now():
    trace = drawn(HIDDEN_HALF, calls={"y": "cudaLaunchKernel"})
    insight = sure(trace, "exposed_communication")
    assert (insight.gain_ns, insight.later_ns, insight.severity) == (0, 2 * MS, Severity.MINOR)
    assert plain(insight.title) == "After the first fix: overlap communication with computation"


LONGER = """
    kernel 7 | .kkkk......kkkk......kkkk......kkkk..... |
    nccl 40  | .....c.........cccc......cccc......cccc. |"""


def test_where_most_may_be_waits_for_other_ranks_the_ranks_come_first():
    """Three of four steps wait 3 ms; 1 ms of each is the exchange itself, which computation could hide."""
    insight = sure(drawn(LONGER, exchanges={"c": ALL_REDUCE}), "exposed_communication")
    assert (insight.gain_ns, plain(insight.title)) == (3_250 * US, "Find the rank that the others wait for")
    assert insight.asks_ranks
    assert insight.confidence is Confidence.LOW
    assert card_sentence(insight) == (
        "For 3.2 ms a step only collectives run, most of it all-reduce: 1.0 MB a step at 308 MB/s. Est. 2.2 ms may be "
        "waits for slower ranks."
    )
    assert [(each.step, each.end_ns - each.start_ns) for each in insight.evidence] == [(step, 4 * MS) for step in "234"]


def test_stages_of_a_pipeline_wait_for_its_schedule():
    insight = sure(drawn(LONGER, exchanges={"c": ("send", "Float", 250_000, "0", 2)}), "exposed_communication")
    assert insight.how is not None
    assert "n_microbatches" in insight.how


def test_waits_that_are_less_than_half_are_told_and_not_part_of_the_gain():
    device = """
        kernel 7 | .kkkk......kkkk......kkkk......kkkk..... |
        nccl 40  | .....ccc.......ccc.......cc........ccc.. |"""
    insight = sure(drawn(device, exchanges={"c": ALL_REDUCE}), "exposed_communication")
    assert (insight.gain_ns, plain(insight.title)) == (2 * MS, "Overlap communication with computation")
    assert card_sentence(insight) == (
        "For 2.8 ms a step only collectives run, most of it all-reduce: 1.0 MB a step at 364 MB/s. Est. 750 µs may be "
        "waits for slower ranks."
    )


def test_a_wait_in_the_first_step_alone_is_that_of_profilers_that_start():
    device = """
        kernel 7 | .kkkk......kkkk......kkkk......kkkk..... |
        nccl 40  | .....cccc......c.........c.........c.... |"""
    insight = sure(drawn(device, exchanges={"c": ALL_REDUCE}), "exposed_communication")
    assert (insight.gain_ns, plain(insight.title)) == (1 * MS, "Overlap communication with computation")


def rows_of_small(
    kernels_between: int,
    count: int,
    elements: int = 1_000,
    kind: str = "allreduce",
    op: str = NODE,
    computing: str = "k",
) -> Trace:
    """One step: 10 ms of computing, then `count` exchanges of 0.1 ms, with this many kernels between each two."""
    between = ("lmno" if computing == "k" else "....")[:kernels_between]
    width = 101 + count * (1 + kernels_between)
    return timeline(
        f"""
        step     | {"7" * width} |
        op       | {"b." * 50}{"." * (width - 100)} |
        runtime  | k{"y" * (width - 1)} |
        kernel 7 | .{computing * 100}{("." + between) * count} |
        nccl 40  | {"." * 101}{("c" + "." * kernels_between) * count} |""",
        names={"b": op},
        calls={"y": "cudaStreamSynchronize"},
        exchanges={"c": (kind, "Float", elements, "0", 8)},
        cell_ns=MS // 10,
    )


def test_many_small_collectives_in_a_row_could_be_one():
    insight = sure(rows_of_small(1, MANY_IN_A_ROW), "many_small_collectives")
    assert card_sentence(insight) == (
        "30 collectives (all-reduce) a step, half of them with at most 4 kB, follow one another: for 3.0 ms only "
        "they run."
    )
    assert (insight.gain_ns, insight.later_ns, insight.confidence) == (2_900 * US, None, Confidence.LOW)
    assert plain(insight.title) == "All-reduce gradients in buckets, not one by one"
    assert "exposed_communication" not in fired(rows_of_small(1, MANY_IN_A_ROW))


@pytest.mark.parametrize(("kind", "code"), [("broadcast", "parameters_as_bucket_view"), ("all_to_all", "torch.cat")])
def test_the_code_for_one_exchange_is_that_of_its_kind(kind: str, code: str):
    insight = sure(rows_of_small(1, MANY_IN_A_ROW, kind=kind), "many_small_collectives")
    assert (code in (insight.how or ""), "all_reduce" in (insight.how or "")) == (True, False)


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (rows_of_small(1, MANY_IN_A_ROW - 1), "too few"),
        (rows_of_small(3, MANY_IN_A_ROW), "a layer between two of them"),
        (rows_of_small(1, MANY_IN_A_ROW, 250_000), "large ones"),
    ],
)
def test_others_are_no_unbucketed_gradients(trace: Trace, why: str):
    assert "many_small_collectives" not in fired(trace), why


@pytest.mark.parametrize(
    ("op", "computing", "shown"),
    [
        (NODE, "k", True),
        (NODE, ".", True),  # a training, whose kernels are not recorded
        ("mm", "k", True),  # may be one
        ("mm", ".", False),  # a benchmark of collectives
        ("aten::addmm", "k", False),  # an inference
    ],
)
def test_what_trains_exchanges_gradients(op: str, computing: str, shown: bool):
    trace = rows_of_small(1, MANY_IN_A_ROW, op=op, computing=computing)
    assert ("many_small_collectives" in fired(trace)) is shown


def test_collectives_on_the_stream_of_the_model():
    device = """
        kernel 7 | .kkkkk.....kkkkk.....kkkkk.....kkkkk.... |
        nccl 7   | ......cc........cc........cc........cc.. |"""
    insight = sure(drawn(device), "collectives_on_compute_stream")
    assert (insight.gain_ns, fired(drawn(device))) == (2 * MS, ["collectives_on_compute_stream"])
    assert card_sentence(insight) == (
        "Collectives (all-reduce) of 2.0 ms a step run on the stream of the model's kernels, so no later kernel can "
        "overlap them."
    )


@pytest.mark.parametrize(
    ("op", "others", "gain_ms"),
    [
        ("SyncBatchNorm", 4, 4),
        ("SyncBatchNormBackward", 4, 4),
        ("SyncBatchnormFunction", 3, 4),
        ("SyncBatchNorm", 5, None),
        ("aten::batch_norm", 4, None),
    ],
)
def test_statistics_of_batches_are_not_hidden_but_left_out(op: str, others: int, gain_ms: int | None):
    """Each step exchanges statistics twice for 2 ms, and gradients for some more."""
    trace = timeline(
        f"""
        step     | {"".join(number * (16 + others) for number in "1234")} |
        op       | {("b.nn..nn........" + "." * others) * 4} |
        runtime  | {("kp.m.q.w..gyyyyy" + "y" * others) * 4} |
        kernel 7 | {(".kk..pp..qqqq..." + "." * others) * 4} |
        nccl 40  | {("...mm..ww...." + "." * others + "...") * 4} |
        nccl 41  | {("............." + "g" * others + "...") * 4} |""",
        names={"b": NODE, "n": op},
        calls={"y": "cudaStreamSynchronize"},
        exchanges=dict.fromkeys("mw", ("allgather", "Float", 129, "0", 8)) | {"g": ALL_REDUCE},
        cell_ns=MS,
    )
    (row,) = [each for each in exchanged(trace) if each.kind == "all_gather"]
    assert row.norms_ns == (0 if op == "aten::batch_norm" else 4 * MS)
    insight = sure(trace, "exposed_communication")
    assert ("batch norms" in plain(insight.title)) is (gain_ms is not None)
    assert gain_ms is None or insight.gain_ns == gain_ms * MS


@pytest.mark.parametrize(("op", "replaced"), [("Broadcast", True), ("aten::mul", False)])
def test_a_model_that_is_copied_to_all_gpus_in_each_step_is_told_of_processes(op: str, replaced: bool):
    device = """
        op            | ...d......d......d......d............... |
        kernel 7      | .kkkkk.....kkkkk.....kkkkk.....kkkkk.... |
        nccl 7        | ......cc........cc........cc........cc.. |
        kernel 7 gpu1 | .jj........jj........jj........jj....... |"""
    insight = sure(drawn(device, names={"b": NODE, "d": op}), "collectives_on_compute_stream")
    assert insight.gain_ns == 2 * MS
    assert ("DistributedDataParallel" in (insight.how or "")) is replaced


@pytest.mark.parametrize(("op", "cards"), [("Broadcast", 1), ("aten::mul", 2)])
def test_copies_of_a_model_on_gpus_that_take_turns_have_one_card(op: str, cards: int):
    """What copies the model, and what keeps its GPUs from working together, has one remedy."""
    device = """
        op            | ...d......d......d......d............... |
        kernel 7      | .kkk......kkkk......kkkk......kkkk...... |
        nccl 7        | ....cccc......cccc......cccc......cccc.. |
        kernel 7 gpu1 | ........jj........jj........jj.......jj. |"""
    judgement = judged(drawn(device, names={"b": NODE, "d": op}))
    found = [each for each in judgement.insights if each.id in ("serial_devices", "collectives_on_compute_stream")]
    assert len(found) == cards
    assert ("in place of DataParallel" in plain(found[0].title)) is (cards == 1)


BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def test_in_inference_the_next_layer_needs_the_result():
    """Ten layers without a backward pass; an exchange on the model's own stream follows each of them."""
    layers = timeline(
        f"""
        step     | {"5" * 80} |
        op       | {"m." * 10 + "." * 60} |
        runtime  | {"k" + "y" * 79} |
        kernel 7 | {"." + ("kkk...." * 10) + "." * 9} |
        nccl 7   | {"." + ("...cc.." * 10) + "." * 9} |""",
        names={"m": "aten::addmm", "k": "gemm"},
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    insight = sure(layers, "between_layers")
    assert fired(layers) == ["between_layers"]
    assert (insight.gain_ns, insight.severity, card_sentence(insight)) == (
        0,
        Severity.MINOR,
        "For 20.0 ms a step only collectives run, most of it all-reduce: 10 a step, 2.0 ms for each.",
    )


def test_a_model_that_is_copied_to_all_gpus_for_each_inference_needs_a_process_for_each():
    copied = timeline(
        f"""
        step          | {"5" * 30} |
        op            | {"m." * 10 + "." * 10} |
        runtime       | {"bc" + "k." * 4 + "l." + "y" * 17 + "."} |
        kernel 7      | {"." * 10 + "kkkkk" + "." * 15} |
        nccl 7        | {"..bbbbbbbb" + "." * 20} |
        kernel 7 gpu1 | {"." * 10 + "lllll" + "." * 15} |
        nccl 7 gpu1   | {"..cccccccc" + "." * 20} |""",
        names={"m": "aten::addmm", "b": BROADCAST, "c": BROADCAST, "k": "gemm", "l": "gemm"},
        calls={"y": "cudaDeviceSynchronize"},
        cell_ns=MS,
    )
    insight = sure(copied, "collectives_on_compute_stream")
    assert (plain(insight.title), insight.gain_ns) == ("Run one process per GPU", 8 * MS)
    assert "between_layers" not in fired(copied)


def one_long_exchange(steps: int = 1, **drawn: Any) -> Trace:
    """Inference over ten layers. In each step, one exchange takes 30 ms, and the others take 2 ms each."""
    return timeline(
        f"""
        step     | {"".join(str(step) * 100 for step in range(steps))} |
        op       | {("m." * 10 + "." * 80) * steps} |
        runtime  | {("k." * 10 + "y" * 79 + ".") * steps} |
        kernel 7 | {("." + "kkk...." * 10 + "." * 29) * steps} |
        nccl 7   | {("." + "...cc.." * 9 + "...c" + "c" * 29 + "...") * steps} |""",
        names={"m": "aten::addmm", "k": "gemm"},
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
        **drawn,
    )


def test_one_collective_that_is_far_longer_is_no_part_of_the_mean():
    layers = one_long_exchange()
    assert card_sentence(sure(layers, "between_layers")) == (
        "For 48.0 ms a step only collectives run, most of it all-reduce: 10 a step, one of 30.0 ms, 2.0 ms for each of "
        "the others."
    )


@pytest.mark.parametrize(
    ("kind", "long", "behind", "after", "gathers"),
    [
        ("AllGather", 10, "r" * 15, "", True),
        ("AllGather", 9, "r" * 15, "", False),
        ("AllGather", 10, "r" * 14, "", False),
        ("AllGather", 10, "r" * 15, "cc", False),
        ("AllReduce_Sum_f32", 10, "r" * 15, "", False),
        ("AllGather", 10, "k" * 15, "", False),
        ("AllGather", 10, "r" * 15 + "k", "", False),
        ("AllGather", 10, "r" * 15 + ".r", "", True),
    ],
    ids=[
        "an all-gather", "not that long", "its result is as large", "not the last one", "an all-reduce",
        "a product reads it", "a product follows", "no product follows",
    ],
)  # fmt: skip
def test_a_last_all_gather_of_more_is_told_to_gather_less(kind: str, long: int, behind: str, after: str, gathers: bool):
    """An exchange of 2 ms follows each of nine layers, and is read by a kernel of 3 ms; of unknown size are all. Logits
    are the result of the last product, and FSDP's parameters are read by one."""
    end = f"kkk{'.' * long}{behind}", f"...{'c' * long}{'.' * len(behind)}{after}"
    length = 66 + max(map(len, end))
    layers = timeline(
        f"""
        step     | {"5" * length} |
        op       | {"m." * 10:.<{length}} |
        runtime  | {"k" + "y" * (length - 1)} |
        kernel 7 | {"." + "kkk...." * 9 + end[0]:.<{length}} |
        nccl 7   | {"." + "...cc.." * 9 + end[1]:.<{length}} |""",
        names={
            "m": "aten::addmm",
            "k": "gemm",
            "r": "CatArrayBatchedCopy",
            "c": f"ncclDevKernel_{kind}_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        },
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    insight = sure(layers, "between_layers")
    assert insight.how is not None
    assert ("logits" in insight.how) is gathers
    assert insight.gain_ns == 0
    if gathers:
        assert {name: each.value for name, each in insight.why.values.items()} == {
            "exposed": (18 + long) * MS, "last": long * MS, "others": 2 * MS
        }  # fmt: skip


@pytest.mark.parametrize(
    ("range", "gathers"),
    [("FSDP::all_gather (norm)", False), ("FullyShardedDataParallel._pre_forward", False), ("forward", True)],
)
def test_parameters_of_an_embedding_are_no_logits(range: str, gathers: bool):
    """FSDP gathers an embedding at last, which has more parameters than a layer."""
    length = 4 + 63 + 3 + 20 + 15
    layers = timeline(
        f"""
        step         | {"5" * length} |
        user {range} | {"r" * 22:.<{length}} |
        op           | {"m." * 10:.<{length}} |
        runtime      | {"k" + "c." * 10 + "y" * (length - 21)} |
        kernel 7     | {"...." + "kkk...." * 9 + "kkk" + "." * 20 + "r" * 15:.<{length}} |
        nccl 7       | {"...." + "...cc.." * 9 + "..." + "c" * 20:.<{length}} |""",
        names={
            "m": "aten::addmm",
            "k": "gemm",
            "r": "CatArrayBatchedCopy",
            "c": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        },
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    insight = sure(layers, "between_layers")
    assert insight.how is not None
    assert ("logits" in insight.how) is gathers


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_where_other_ranks_are_waited_for_no_faster_exchange_is_advised(steps: int):
    """All exchanges have one size, so another rank came late to the long one."""
    layers = one_long_exchange(steps, exchanges={"c": ("allreduce", "Float", 1_000_000, "0", 8)})
    insight = sure(layers, "between_layers")
    assert plain(insight.title) == "Find the rank that the others wait for"
    assert "Est. 28.0 ms of it is waiting" in card_sentence(insight)


def test_without_a_gpu_gloo_is_exposed_where_no_op_runs():
    trace = timeline(
        """
        step                    | 11111222223333344444 |
        op                      | bbb..bbb..bbb..bbb.. |
        user gloo:all_reduce @1 | ..ccc..ccc..ccc..ccc |""",
        names={"b": NODE},
        cell_ns=MS,
    )
    insight = sure(trace, "exposed_communication")
    assert (insight.gain_ns, fired(trace)) == (2 * MS, ["exposed_communication"])
    assert not insight.asks_ranks  # computation can hide it, whatever other ranks do


def test_without_a_gpu_a_late_rank_is_asked_for_before_fewer_bytes():
    """What looks like a lot to send may only be waiting for one late rank, which the trace of one rank cannot show."""
    trace = timeline(
        """
        step                    | 11111222223333344444 |
        op                      | b....b....b....b.... |
        user gloo:all_reduce @1 | .cccc.cccc.cccc.cccc |""",
        names={"b": NODE},
        cell_ns=MS,
    )
    insight = sure(trace, "exposed_communication")
    assert plain(insight.title) == "Find the late rank, or send less"
    assert insight.asks_ranks
    assert (insight.severity, insight.confidence) == (Severity.MINOR, Confidence.LOW)
    assert insight.how is not None
    assert SEE_RANKS in insight.how
    assert "no_sync" in insight.how
    found = communication(trace)
    assert found is not None
    assert [row.wait_ns for row in found.rows] == [None]


@pytest.mark.parametrize(
    ("ops", "level"), [("b....b....b....b....", Confidence.HIGH), ("." * 20, Confidence.LOW)], ids=["ops", "none"]
)
def test_without_ops_nobody_knows_what_they_hide(ops: str, level: Confidence):
    trace = timeline(
        f"""
        step                    | 11111222223333344444 |
        op                      | {ops} |
        user gloo:all_reduce @1 | ..ccc..ccc..ccc..ccc |""",
        cell_ns=MS,
    )
    verdict = judged(trace).verdict
    assert (verdict.bound, verdict.confidence) == (Bound.COMMUNICATION, level)
    assert bool(fired(trace)) is (level is Confidence.HIGH)
    assert ("only communicates" in verdict.text.template) is (level is Confidence.HIGH)


@pytest.mark.parametrize(
    ("ops", "beside_ns"), [("b.bb......", 2 * MS), ("b.........", None)], ids=["beside the exchange", "before it"]
)
def test_the_bar_counts_exchanges_beside_which_ops_run(ops: str, beside_ns: int | None):
    trace = timeline(
        f"""
        step                    | {"".join(str(step) * 10 for step in range(4))} |
        op                      | {ops * 4} |
        user gloo:all_reduce @1 | {"..cccccccc" * 4} |""",
        cell_ns=MS,
    )
    basis = judged(trace).headlines["overview"].basis
    assert (basis and basis.values["beside"].value) == beside_ns


def test_a_job_of_one_rank_has_no_such_card():
    trace = drawn("\n    kernel 7 | .kkkkk.....kkkkk.....kkkkk.....kkkkk.... |")
    assert fired(trace) == []


SEARCH, MAP = "torch.distributed.ddp.reducer::search_unused_parameters", '["int"]'


def ddp_on_cpus(gradients: str = "gg", types: str = MAP, search: str = "s") -> Trace:
    """Two steps of 20 us: DDP searches, copies gradients into its bucket, and tells the ranks which of two it used."""
    step = f"ff{search}ffffbb.{gradients}........"
    return timeline(
        f"""
        step      | {"0" * 20}{"1" * 20} |
        op        | {step}{step} |
        op worker | {"..............mm...." * 2} |
        """,
        names={
            "s": SEARCH, "g": "torch::distributed::reducer::mul_out", "h": "torch::distributed::reducer::mul_out",
            "m": "gloo:all_reduce", "b": NODE,
        },
        inputs={"m": ("[[2]]", types)},
    )  # fmt: skip


def test_a_search_for_unused_parameters_is_not_needed_where_all_are_used():
    insight = sure(ddp_on_cpus("gh"), "unused_parameters")
    assert (insight.gain_ns, insight.confidence) == (3 * US, Confidence.LOW)  # two steps only
    assert card_sentence(insight) == (
        "In each step DDP searches for unused parameters (1 µs) and ranks exchange which were used (2 µs), but all 2 "
        "got a gradient."
    )
    assert insight.how is not None
    assert "static_graph=True" in insight.how


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (ddp_on_cpus("g."), "one of two parameters gets no gradient: the search is needed"),
        (ddp_on_cpus("gh", search="f"), "there is no search"),
    ],
)
def test_a_search_that_is_needed_or_is_not_there_is_no_card(trace: Trace, why: str):
    assert "unused_parameters" not in [insight.id for insight in judged(trace).insights], why


def test_where_the_trace_does_not_tell_what_is_used_the_card_says_only_that_it_searches():
    insight = sure(ddp_on_cpus("gh", types='["float"]'), "unused_parameters")
    assert card_sentence(insight) == "In each step DDP searches the graph for unused parameters: 1 µs on the CPU."
    assert (insight.gain_ns, insight.confidence) == (US, Confidence.LOW)


def test_gradients_are_copied_out_of_buckets_on_cpus():
    copied = timeline(
        """
        step      | 00000000001111111111 |
        op        | ff.bb...c.ff.bb...c. |
        op worker | .....mm........mm... |
        """,
        names={"c": "torch.distributed.ddp.reducer::copy_bucket_to_grad", "m": "gloo:all_reduce", "b": NODE},
    )
    insight = sure(copied, "gradient_copies")
    assert (insight.gain_ns, plain(insight.title)) == (US, "Keep gradients in DDP's buckets")
    assert card_sentence(insight) == "DDP copies 1 gradient a step out of its buckets: 1 µs."


FORWARD, UPDATE = "user DistributedDataParallel.forward", "user Optimizer.step#SGD.step"
#: Two micro-batches before each of two optimizer steps; a and c start the exchanges A and C on a thread of gloo.
MICRO_BATCHES = f"""
    step      | 0000000000000011111111111111 |
    {FORWARD} | FF....FF......FF....FF...... |
    op        | ffba..ffbc..o.ffba..ffbc..o. |
    op worker | ....AA....CC......AA....CC.. |
    {UPDATE}  | ............O.............O. |"""


def micro_batches(lines: str = MICRO_BATCHES, sizes: tuple[int, int] = (100, 100)) -> Trace:
    ask, run = "c10d::allreduce_", "gloo:all_reduce"
    sent = {name: (f"[[{size}]]", '["float"]') for name, size in zip("ACac", sizes * 2, strict=True)}
    return timeline(lines, names={"a": ask, "c": ask, "A": run, "C": run, "b": NODE}, inputs=sent)


def test_gradients_of_micro_batches_are_exchanged_once():
    insight = sure(micro_batches(), "each_micro_batch")
    assert (plain(insight.title), insight.gain_ns) == ("Exchange gradients once per optimizer step", 2 * US)
    assert card_sentence(insight) == (
        "Before one optimizer step, 2 backward passes exchange the same gradients: for 2 µs a step only those run that "
        "the last could replace."
    )
    rest = next(each for each in judged(micro_batches()).insights if each.id == "exposed_communication")
    assert rest.gain_ns <= 2 * US, "the exchange that stays"


def test_the_last_micro_batch_may_run_in_a_closure_of_the_optimizer():
    closure = micro_batches(MICRO_BATCHES.replace("............O.............O.", "......OOOOOOO.......OOOOOOO."))
    insight = sure(closure, "each_micro_batch")
    assert insight.gain_ns == 2 * US
    assert "2 backward passes exchange the same gradients: for 2 µs a step" in card_sentence(insight)


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (micro_batches(sizes=(100, 200)), "two models, each with gradients of its own"),
        (micro_batches(MICRO_BATCHES.replace("FF....FF", "FFFFFFFF")), "one forward pass before both exchanges"),
        (
            micro_batches(MICRO_BATCHES.replace("............O.", "......O.....O.")),
            "the optimizer steps after each of them",
        ),
        (
            micro_batches(MICRO_BATCHES.replace("............O.............O.", "OOOOOOOOOOOOO.OOOOOOOOOOOOO.")),
            "the optimizer calls a closure again and again, and needs each gradient",
        ),
        (micro_batches("\n".join(MICRO_BATCHES.splitlines()[:-1])), "no step of an optimizer is recorded"),
        (micro_batches(MICRO_BATCHES.replace("FF....FF......", "FFFF..FFFF....")), "the forward passes exchange them"),
    ],
)
def test_exchanges_that_are_all_needed_are_no_card(trace: Trace, why: str):
    assert "each_micro_batch" not in [insight.id for insight in judged(trace).insights], why
