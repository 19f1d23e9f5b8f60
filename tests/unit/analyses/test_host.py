"""The Host view's result: complete results of drawn traces, and conservation laws and known verdicts on real traces."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.analyses.host import HostResult, analyse
from tb_steptime.insights import judge
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.phases.assignment import host_time_ns
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import analysed, judged
from tests.drawn.real_traces import on_traces_of_all_formats, read_real, real_path
from tests.drawn.rollouts import rollout
from tests.drawn.timeline import timeline

US = 1_000

#: Forward on the main thread, backward on the engine's, an optimizer; `.item()` between them drains the device.
TRAINING = """
    step                     | 111111111111111111111111111111 |
    loader single            | lll........................... |
    op                       | ...aaaaa.iiiiii............... |
    user Optimizer.step#SGD  | .........................ooooo |
    op autograd              | .................bbbbb........ |
    runtime                  | .....k...csssss............o.. |
    runtime autograd         | ...................q.......... |
    kernel 7                 | ......kkkkkkkk......qqq.....oo |
    memcpy 7                 | ..............c............... |"""

NAMES = {
    "a": "aten::linear", "i": "aten::_local_scalar_dense", "c": "Memcpy DtoH (Device -> Pageable)",
    "b": "autograd::engine::evaluate_function: AddmmBackward0",
}  # fmt: skip


def training() -> HostResult:
    return analyse(timeline(TRAINING, names=NAMES, calls={"s": "cudaStreamSynchronize"}))


def test_the_pieces_are_the_mean_step():
    result = training()
    assert {segment.id: segment.ns // US for segment in result.segments if segment.ns} == {
        "kernel": 13, "memory": 1, "data_loading": 3, "cpu_forward": 2, "cpu_backward": 2,
        "nothing_recorded": 6, "launch_latency": 3,
    }  # fmt: skip
    assert sum(segment.ns for segment in result.segments) == result.mean_step_ns == 30 * US


def test_idle_time_is_charged_to_the_site_that_ends_it():
    sites = {row.site: row for row in training().sites}
    assert {site: row.idle_ns.total_ns // US for site, row in sites.items()} == {
        "data_loading": 3, "forward.model": 3, "backward.nodes": 5, "optimizer": 5,
    }  # fmt: skip
    assert sites["backward.nodes"].bubble_ns == 5 * US
    assert [(row.op, row.site, row.bubble_ns) for row in training().blocking] == [
        ("aten::_local_scalar_dense", "forward.model", 5 * US)
    ]


def test_phases_are_sums_of_sites():
    result = training()
    for phase in result.phases:
        sites = [row for row in result.sites if row.phase == phase.phase]
        assert phase.idle_ns.total_ns == sum(row.idle_ns.total_ns for row in sites)
        assert phase.bubble_ns == sum(row.bubble_ns for row in sites)
        assert phase.launches == sum(row.launches for row in sites)
    assert {row.phase: row.bound for row in result.phases if row.idle_ns.total_ns} == {
        "data_loading": Bound.INPUT, "forward": Bound.HOST, "backward": Bound.SYNC, "optimizer": Bound.HOST,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("waits", "bound", "sentence"),
    [
        ((1,) * 10, Bound.GPU, "The GPU sets the pace: it works for 94.1 % of a step of 1.7 ms."),
        (
            (1,) * 7 + (150, 1, 1),
            Bound.GPU,
            "The GPU sets the pace in usual steps, which take 1.7 ms. For 1.6 ms of a step of 3.2 ms, the GPU does "
            "nothing but communicate, mostly in step 7.",
        ),
        (
            (30,) * 10,
            Bound.COMMUNICATION,
            "Exchanges with other ranks set the pace: without them, a step takes est. 1.6 ms, not 4.6 ms.",
        ),
        (
            (1, 1, 1, 60, 1, 1, 1, 60, 60, 60),
            Bound.COMMUNICATION,
            "For 2.5 ms of a step of 4.1 ms, the GPU does nothing but communicate, mostly in 4 of 10 steps.",
        ),
    ],
    ids=["never", "once", "in each step", "often"],
)
def test_a_rank_that_waits_once_for_another_does_not_communicate_in_each_step(
    waits: tuple[int, ...], bound: Bound, sentence: str
):
    trace = exchanging(waits)
    assert analyse(trace).bound is bound
    assert plain(judged(trace).verdict.text) == sentence


@pytest.mark.parametrize(("waits", "bound"), [
    ((1,) * 7 + (150, 1, 1), Bound.GPU), ((1, 1, 1, 60, 1, 1, 1, 60, 60, 60), Bound.COMMUNICATION),
])  # fmt: skip
def test_nor_does_one_whose_steps_cannot_be_replayed(waits: tuple[int, ...], bound: Bound):
    result = analyse(exchanging(waits, launches=False))
    assert result.whatif is None or not result.whatif.trusted
    assert result.bound is bound


def exchanging(waits: tuple[int, ...], *, launches: bool = True) -> Trace:
    """A step for each of these numbers, with an exchange of so many cells of 100 us. launches: whether launch calls
    are recorded."""
    return timeline(
        f"""
        step     | {"".join(str(number) * (16 + wait) for number, wait in enumerate(waits))} |
        runtime  | {"".join(("kn" if launches else "..") + "." * (14 + wait) for wait in waits)} |
        kernel 7 | {"".join("." + "k" * 15 + "." * wait for wait in waits)} |
        nccl 9   | {"".join("." * 16 + "n" * wait for wait in waits)} |""",
        cell_ns=100 * US,
    )


def test_a_span_without_a_device_tells_of_the_host():
    result = analyse(timeline("step | 1111122222 |\nloader single | lll..lll.. |\nop | ...aa...aa |"))
    assert (result.device, result.devices, result.segments, result.bound) == (None, [], [], Bound.INPUT)
    assert {row.phase: row.host_ns for row in result.phases} == {"data_loading": 3 * US, "forward": 2 * US}
    assert result.cpu is not None
    assert [(row.op, row.calls, row.self_ns) for row in result.cpu.ops] == [("a", 1.0, 2 * US)]


@pytest.mark.parametrize(
    ("loader", "op", "gloo", "bound"),
    [
        ("l.........", ".aaaaaaaaa", "..........", Bound.CPU),
        ("lllll.....", ".....aaaa.", "..........", Bound.INPUT),
        ("l.........", ".aaa......", "....gggggg", Bound.COMMUNICATION),
        ("l.........", ".aaaaaaaaa", "..gggggggg", Bound.CPU),  # communication that ops hide
        ("..........", ".......aaa", "....ggg...", Bound.UNKNOWN),  # the other ranks wait for this rank
        ("l.........", ".aaaa.....", "..........", Bound.UNKNOWN),
        ("..........", ".a........", "..........", Bound.UNKNOWN),
    ],
)
def test_without_a_device_what_takes_most_of_the_step_decides(loader, op, gloo, bound):
    """A step that waits for a tenth of its time and runs ops otherwise computes; Python without ops is unknown."""
    drawing = f"step | 1111111111 |\nloader single | {loader} |\nop | {op} |\nuser gloo:all_reduce | {gloo} |"
    assert analyse(timeline(drawing)).bound is bound


def test_ops_that_launch_work_of_a_gpu_are_no_work_of_the_cpu():
    trace = timeline("step | 1111111111 |\nop | aaaaaaaaaa |", names={"a": "aten::cudnn_convolution"})
    assert analyse(trace).bound is Bound.UNKNOWN


def test_a_slow_step_names_what_grew():
    usual, slow = "k.....", "k..............."
    drawing = f"""
        step     | {"111111222222333333444444" + "5" * 16} |
        op       | {("aaaa.." * 4) + "aaaaaaaaaaaaaa.."} |
        runtime  | {("...k.." * 4) + ".............k.."} |
        kernel 7 | {("....kk" * 4) + "..............kk"} |"""
    assert len(usual) == 6
    (grown,) = analyse(timeline(drawing)).grown
    assert (grown.step, grown.excess_ns) == ("5", (len(slow) - len(usual)) * US)
    assert [(part.label, part.excess_ns) for part in grown.grown] == [("CPU, model", 10 * US)]


def test_gradients_out_of_buckets_are_counted_with_what_they_cost():
    names = {"a": "aten::mm", "b": "autograd::engine::evaluate_function: MmBackward0",
             "x": "torch.distributed.ddp.reducer::copy_bucket_to_grad"}  # fmt: skip
    result = analyse(timeline("""
        step             | 11111111111111111111 |
        op               | aaaa................ |
        op autograd      | ....bbbb..xxxx..yyyy |
        runtime          | .k.................. |
        runtime autograd | .....q......x.....z. |
        kernel 7         | ..kk..qq.....xx....z |""", names=names))  # fmt: skip
    assert (result.bucket_copies, result.bucket_late_ns) == (1.0, 5 * US)


@on_traces_of_all_formats
def test_every_picture_is_a_sum_of_the_same_sums(path: str):
    trace = read_real(real_path(path))
    results = analysed(trace)
    result = results["host"]
    assert result.mean_step_ns == results["overview"].mean_duration_ns == sum(row.host_ns for row in result.phases)
    assert host_time_ns(trace).sum(axis=1).tolist() == [step.end_ns - step.start_ns for step in result.steps]
    for each in result.devices:
        for step, busy_ns, idle in zip(result.steps, each.busy_ns, each.steps, strict=True):
            assert busy_ns + idle.total_ns == step.end_ns - step.start_ns
    if result.device is not None:
        _sums_agree(result)
    judgement = judge(results)
    worth = sum(insight.gain_ns for insight in judgement.insights if insight.id in judgement.addable)
    idle_ns = sum(row.idle_ns.total_ns for row in result.phases) or result.mean_step_ns
    assert worth <= idle_ns + len(result.blocking) + len(result.sites)  # each gain is rounded on its own


def _sums_agree(result: HostResult) -> None:
    idle = _sum([row.idle_ns for row in result.sites])
    assert idle == _sum([row.idle_ns for row in result.phases])
    assert idle == next(each.mean for each in result.devices if each.device == result.device)
    assert sum(segment.ns for segment in result.segments) == result.mean_step_ns
    assert sum(segment.ns for segment in result.segments if not segment.works) == idle.total_ns
    for segment in result.segments:
        alike = [each for each in result.segments if each.reasons == segment.reasons and not each.works]
        assert sum(each.ns for each in alike) == sum(getattr(idle, reason) for reason in segment.reasons)
    for row in result.sites:
        assert 0 <= row.bubble_ns <= row.idle_ns.total_ns
        assert all(each.start_ns < each.end_ns for each in row.examples)


def _sum(idles: list[IdleNs]) -> IdleNs:
    return IdleNs(*map(sum, zip(*map(msgspec.structs.astuple, [IdleNs(), *idles]), strict=True)))


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("hta_a100_ddp_nccl", Bound.HOST),
        ("hta_v100_ns", Bound.GPU),
        ("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz", Bound.INPUT),
        ("tracelens_h100_bert", Bound.HOST),
        ("tracelens_mi300_resnet", Bound.COMMUNICATION),
    ],
)
def test_the_verdicts_of_known_jobs(name: str, bound: Bound):
    trace = read_real(name)
    judgement = judged(trace)
    assert judgement.verdict.bound is bound
    fired = [insight.id for insight in judgement.insights]
    assert ("back_pressure" in fired) == (bound is Bound.GPU)


def test_a_host_bound_ddp_job_gets_what_each_remedy_gains(trace_path):
    """Four cards share 163 of 170 ms of idle time, less the 103 ms that observing each op takes; the rest is a tail,
    gaps, a blocking call and a few long gaps."""
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    judgement = judged(trace)
    gains = {insight.id: round(insight.gain_ns / 1e6, 1) for insight in judgement.insights if insight.gain_ns}
    assert gains == {
        "launch_graphs": 34.9,  # of 94.9; 5.9 ms lie in long gaps that have several causes
        "buffer_broadcast": 14.5,  # of 39.3
        "gradient_buckets": 5.3,  # of 14.5
        "fused_optimizer": 5.1,  # of 13.9
    }
    assert judgement.insights_remark is not None
    assert judgement.insights_remark.values["number"].value == 4


@pytest.mark.parametrize(
    ("passes", "layer", "bound"),
    [(8, "x", Bound.HOST), (8, "m", Bound.SYNC), (7, "x", Bound.SYNC)],
    ids=["a rollout", "with gradients", "few passes"],
)
def test_waits_of_a_rollout_are_needed(passes: int, layer: str, bound: Bound):
    """Without its waits the host would be ahead, but each pass needs what the one before it returned."""
    assert analyse(rollout(passes, layer)).bound is bound
