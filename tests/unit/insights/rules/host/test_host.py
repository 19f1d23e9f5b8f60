"""Each rule about the host: it fires, its boundary, the same symptom with another cause. Results are hand-written."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from tb_steptime.analyses.host import HostResult, HostStep, JudgedRows
from tb_steptime.insights.base import Confidence, Evidence, Insight, Severity
from tb_steptime.insights.rules.host import copies
from tb_steptime.insights.rules.host.blocking_rows import waiting_op
from tb_steptime.insights.severity import may_be_added, remark_of_view
from tb_steptime.metrics.gpu.activities import KernelSite
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.blocking_rows import LARGE_BYTES, BlockingRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.idle.long_gaps import LongGap, LongGaps, WaitName
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.idle.several_gpus import Blocker, SeveralDevices
from tb_steptime.metrics.job.device import Ranks
from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.job.purpose import Purpose
from tb_steptime.metrics.job.servers import Server
from tb_steptime.metrics.kernels.device_copies import CopiesOfKind, CopyKind
from tb_steptime.metrics.kernels.eager_attention import EagerAttention
from tb_steptime.metrics.kernels.waste import LaunchWaste, Waste
from tb_steptime.metrics.phases.left_as_is import LeftAsIs
from tb_steptime.metrics.phases.no_grad import NoGrad
from tb_steptime.metrics.phases.sites import PhaseId
from tb_steptime.metrics.steps.host_pace import SiteRow
from tb_steptime.metrics.steps.inserted import RecurringWork
from tb_steptime.metrics.steps.parts import Grown, GrownPart, Segment
from tb_steptime.metrics.steps.recaptures import Recaptures
from tb_steptime.replay.sensitivity import Sensitivity
from tb_steptime.replay.whatif import Gain, WhatIf
from tb_steptime.text import Finding, count, phrase, text
from tb_steptime.text.frames import source_line
from tb_steptime.text.printer import plain
from tb_steptime.trace.loader_records import StepPace
from tests.drawn.host_result import LAUNCHES, STEP, STEPS, US, blocking, card, copy, fired, host_result, judged, site

FORWARD, NODES, HOOKS, BROADCAST = "forward.model", "backward.nodes", "backward.hooks", "forward.buffer_broadcast"


def late(us: int) -> IdleNs:
    return IdleNs(cpu_work=us * US)


# Host-bound: launches of the model, of DDP, of the optimizer, and between them.


def test_late_launches_of_the_model_are_worth_their_idle_time():
    most = msgspec.structs.replace(site(FORWARD, late(200), launches=120.0), each_ns=2 * US)
    host = host_result([most, msgspec.structs.replace(site(NODES, late(100), launches=80.0), each_ns=9 * US)])
    insight = card(host, "launch_graphs")
    assert insight is not None
    assert (insight.gain_ns, insight.severity, insight.confidence) == (300 * US, Severity.MAJOR, Confidence.MEDIUM)
    assert plain(insight.title) == "Launch forward and backward pass as CUDA graphs"
    assert plain(insight.why) == (
        "200 launches a step, with a median of 2 µs of GPU work: the CPU cannot launch them in time."
    )
    assert insight.evidence == [Evidence("1", STEP, STEP + 200 * US), Evidence("1", STEP, STEP + 100 * US)]


@pytest.mark.parametrize(
    ("compiles", "twice", "how"),
    [
        (True, False, "torch.compile"),
        (False, False, "make_graphed_callables"),
        (True, True, "cuda.graph("),  # the others refuse gradients of gradients
        (False, True, "cuda.graph("),
    ],
)
def test_a_graph_is_captured_by_what_can_capture_the_model(compiles: bool, twice: bool, how: str):
    job = JobKind(purpose="training", vendor="nvidia", compiles=compiles, double_backward=twice)
    insight = card(host_result([site(FORWARD, late(100))]), "launch_graphs", job)
    assert insight is not None and insight.how is not None
    code = [line.split("#")[0] for line in insight.how.splitlines()]
    known = ("torch.compile", "make_graphed_callables", "cuda.graph(")
    assert [each for each in known if any(each in line for line in code)] == [how]


@pytest.mark.parametrize(
    ("job", "how"),
    [
        ({}, "torch.compile(model,"),
        ({"left_as_is": "recurrent"}, "make_graphed_callables(model,"),
        ({"left_as_is": "scripted"}, "torch.compile(eager_model,"),
        ({"left_as_is": "tensorrt"}, "torch_tensorrt.runtime.set_cudagraphs_mode("),
        ({"left_as_is": "tensorrt", "compiled_share": 0.5}, "torch_tensorrt.runtime.set_cudagraphs_mode("),
        ({"left_as_is": "onnxruntime"}, "enable_cuda_graph"),
        ({"left_as_is": "recurrent", "compiled_share": 0.5}, "torch.compile(model,"),
        ({"left_as_is": "scripted", "double_backward": True}, "cuda.graph("),
        ({"transforms": True}, "torch.compile(step,"),
        ({"transforms": True, "double_backward": True}, "cuda.graph("),
        ({"transforms": True, "compiled_share": 0.5}, "torch.compile(model,"),
        ({"accelerator": "XPU"}, "torch.xpu.make_graphed_callables(model,"),  # it captures graphs of CUDA and HIP alone
        ({"accelerator": "XPU", "compiled_share": 0.5}, "torch.xpu.make_graphed_callables(model,"),
    ],
    ids=[
        "compiled",
        "recurrent",
        "scripted",
        "TensorRT",
        "TensorRT, by torch.compile",
        "ONNX Runtime",
        "compiled already",
        "gradients of gradients",
        "transform",
        "a transform beside gradients of gradients",
        "a compiled transform",
        "XPU",
        "XPU, compiled",
    ],
)
def test_no_model_is_compiled_that_a_compiler_leaves_or_refuses(job: dict[str, Any], how: str):
    insight = card(host_result([site(FORWARD, late(100))]), "launch_graphs", JobKind(purpose="training", **job))
    assert insight is not None and insight.how is not None
    code = "".join(line.split("#")[0] for line in insight.how.splitlines())
    ways = (
        "torch.compile(model,",
        "torch.compile(eager_model,",
        "torch.compile(step,",
        "make_graphed_callables(model,",
        "cuda.graph(",
        "torch_tensorrt.runtime.set_cudagraphs_mode(",
        "enable_cuda_graph",
    )
    assert [each for each in ways if each in code] == [how.removeprefix("torch.xpu.")]
    assert how in code


@pytest.mark.parametrize(
    ("job", "layer"),
    [
        ({}, True),
        ({"purpose": "inference"}, True),
        ({"vendor": "amd"}, True),
        ({"vendor": "other"}, False),
        ({"double_backward": True}, False),
        ({"compiled_share": 0.5}, False),
        ({"sequence_layer": None}, False),
    ],
    ids=["training", "inference", "AMD", "no layer in a library", "refused", "compiled already", "no loop"],
)
def test_a_loop_over_cells_is_one_layer(job: dict[str, Any], layer: bool):
    kind = JobKind(**{"purpose": "training", "vendor": "nvidia", "sequence_layer": "GRU", **job})
    insight = card(host_result([site(FORWARD, late(100))]), "launch_graphs", kind)
    assert insight is not None and insight.how is not None
    assert ("nn.GRU" in insight.title.template, "torch.nn.GRU(" in insight.how) == (layer, layer)
    assert insight.gain_ns == 100 * US


def test_late_launches_need_a_hundredth_of_the_step():
    assert fired(host_result([site(FORWARD, IdleNs(cpu_work=STEP // 100 - 1))])) == []
    assert fired(host_result([site(FORWARD, IdleNs(cpu_work=STEP // 100))])) == ["launch_graphs"]


def test_idle_time_that_no_launch_ends_is_not_the_host_s():
    others = IdleNs(data_loading=100 * US, queued=100 * US, dependency=100 * US, unknown=40 * US, tail=100 * US)
    assert fired(host_result([site(FORWARD, others)])) == ["unrecorded_work"]  # because of the dependency


@pytest.mark.parametrize(
    ("job", "title", "confidence"),
    [
        ({}, "Compile each block, or compute more in each launch", Confidence.LOW),
        ({"compiled_share": 0.5}, "Compute more in each launch", Confidence.LOW),
        ({"compiles": False}, "Launch the forward pass as a CUDA graph", Confidence.MEDIUM),
        ({"double_backward": True}, "Launch the forward pass as a CUDA graph", Confidence.MEDIUM),
    ],
)
def test_no_graph_holds_weights_that_are_gathered_anew(job: dict[str, Any], title: str, confidence: Confidence):
    kind = JobKind(**{"purpose": "training", "vendor": "nvidia", "left_as_is": "sharded", **job})
    insight = card(host_result([site(FORWARD, late(100))]), "launch_graphs", kind)
    assert insight is not None and insight.how is not None
    assert (plain(insight.title), insight.confidence) == (title, confidence)
    assert ("reduce-overhead" in insight.how, "block.compile()" in insight.how) == (False, title.startswith("Compile"))


@pytest.mark.parametrize(
    ("op", "outer_op", "reads", "job", "fixed"),
    [
        ("aten::nonzero", "aten::where", 8.0, {}, True),
        ("aten::nonzero", "aten::index", 24.0, {"purpose": "inference"}, True),
        ("aten::_unique2", "aten::_unique2", 9.0, {}, True),
        ("aten::nonzero", "aten::where", 7.0, {}, False),
        ("aten::_local_scalar_dense", "aten::item", 24.0, {}, False),
        ("aten::nonzero", "aten::where", 24.0, {"double_backward": True}, False),
        ("aten::nonzero", "aten::where", 24.0, {"left_as_is": "scripted"}, False),
        ("aten::nonzero", "aten::where", 24.0, {"compiles": False}, False),
        ("aten::nonzero", "aten::where", 24.0, {"server": "vllm"}, False),
        ("aten::nonzero", "aten::where", 24.0, {"compiled_share": 0.5}, True),
    ],
    ids=[
        "experts",
        "masks",
        "unique",
        "few",
        "values",
        "twice",
        "scripted",
        "no compiler",
        "server",
        "compiled",
    ],
)
@pytest.mark.parametrize(("phase", "of_model"), [("forward", True), ("unknown", True), ("other", False)])
def test_no_graph_holds_calls_that_read_sizes(
    op: str, outer_op: str, reads: float, job: dict[str, Any], fixed: bool, phase: PhaseId, of_model: bool
):
    kind = JobKind(**{"purpose": "training", "vendor": "nvidia", **job})
    waits = [blocking(0, op=op, outer_op=outer_op, source=None, count=reads, phase=phase)]
    fixed = fixed and of_model
    insight = card(host_result([site(FORWARD, late(100))], blocking=waits), "launch_graphs", kind)
    assert insight is not None and insight.how is not None
    said = (
        plain(insight.title) == "Fix the shapes, then launch the model as CUDA graphs",
        f"{reads:.0f} calls that read sizes" in plain(insight.why),
        "grouped_mm" in insight.how,
    )
    assert said == (fixed, fixed, fixed)


@pytest.mark.parametrize(
    ("changes", "job", "inside"),
    [
        ({"count": 8.0}, {}, True),
        ({"count": 7.0}, {}, False),
        ({"count": 24.0, "module": None}, {}, False),  # between passes: the next token
        ({"count": 24.0, "phase": "other"}, {}, False),
        ({"count": 24.0, "direction": "HtoD"}, {}, False),  # an input
        ({"count": 24.0}, {"server": "vllm"}, False),
        ({"count": 24.0}, {"compiled_share": 0.5}, True),
    ],
)
def test_no_graph_holds_what_a_module_reads_back(changes: dict[str, Any], job: dict[str, Any], inside: bool):
    """Such as how many tokens each expert of a layer has."""
    reads = {"op": "aten::copy_", "outer_op": "aten::to", "source": None, "phase": "forward", "module": "MoE_3"}
    host = host_result([site(FORWARD, late(100))], blocking=[blocking(0, **(reads | changes))])
    insight = card(host, "launch_graphs", JobKind(**{"purpose": "inference", **job}))
    assert insight is not None and insight.how is not None
    said = (
        plain(insight.title) == "Read no results inside the model, then launch CUDA graphs",
        f"{changes['count']:.0f} calls in its modules" in plain(insight.why),
        "grouped_mm" in insight.how,
    )
    assert said == (inside, inside, inside)


@pytest.mark.parametrize(
    ("sites", "title"),
    [
        ([FORWARD], "Launch the forward pass as a CUDA graph"),
        ([NODES], "Launch the backward pass as a CUDA graph"),
        ([FORWARD, "backward.gradient_accumulation"], "Launch forward and backward pass as CUDA graphs"),
    ],
)
def test_the_pass_that_is_late_is_the_one_to_launch(sites: list[str], title: str):
    host = host_result([site(each, late(100)) for each in sites])
    insight = card(host, "launch_graphs", JobKind(purpose="training"))
    assert insight is not None
    assert plain(insight.title) == title


@pytest.mark.parametrize("id", ["launch_graphs", "between_graphs"])
@pytest.mark.parametrize(("server", "command"), [("vllm", "vllm serve"), ("sglang", "sglang.launch_server")])
def test_a_server_captures_by_its_options(id: str, server: Server, command: str):
    host = host_result([site(FORWARD, late(100), launches=100.0)])
    share = 0.9 if id == "between_graphs" else 0.0
    hows = [
        insight.how
        for job in (JobKind(graph_share=share), JobKind(graph_share=share, server=server))
        if (insight := card(host, id, job)) is not None
    ]
    assert [command in (how or "") for how in hows] == [False, True]
    assert "torch.compile" not in (hows[1] or "")


@pytest.mark.parametrize(
    ("kinds", "job", "is_static"),
    [
        (["layout", "concatenation"], JobKind(purpose="inference"), True),
        (["layout"], JobKind(purpose="inference"), False),
        (["concatenation"], JobKind(purpose="training"), False),
        (["concatenation"], JobKind(purpose="inference", compiled_share=0.5), False),
        (["concatenation"], JobKind(purpose="inference", compiles=False, vendor="nvidia"), False),
    ],
)
def test_graphs_of_a_growing_cache_need_a_static_one(kinds: list[CopyKind], job: JobKind, is_static: bool):
    nothing, of_kernel = Waste(None, 0.0, 0.0, 0.0), KernelSite("k", "k", "aten::cat", None, None, None)
    copies = [CopiesOfKind(kind, "aten::cat", of_kernel, 2.0, 3.0) for kind in kinds]
    sites = [site(FORWARD, late(100))]
    rows = JudgedRows(
        steps=[0, 1, 2, 3], sites=sites, blocking=[], blocking_bubble_ns=0, copies=[], pauses=[], exchange_ns=0,
        communication=None, waste=LaunchWaste(None, None, nothing, nothing, copies=copies), obstacles=[], rates=None,
        waits=None, long_gaps=[], full_queue_ns=0, bucket_copies=0.0, bucket_late_ns=0, before_graphs_ns=0,
        host_functions_ns=0, several_devices=None, anomaly=None, observed_ns=0,
    )  # fmt: skip
    insight = card(host_result(sites, judged=rows), "launch_graphs", job)
    assert insight is not None
    assert ("cache_implementation" in (insight.how or "")) is is_static


@pytest.mark.parametrize(
    ("job", "graphs", "title", "why"),
    [
        (JobKind(), 0.0, "Launch the model as a CUDA graph", _LATE := "the CPU cannot launch them in time."),
        (JobKind(purpose="inference"), 0.0, "Launch the model as a CUDA graph", _LATE),
        (JobKind(vendor="amd"), 0.0, "Launch the model as a HIP graph", _LATE),
        (JobKind(compiled_share=0.1), 0.0, "Launch the compiled model as a CUDA graph", "of GPU work, come late."),
        (JobKind(), 2.0, "Capture more of the step in CUDA graphs", "with a median of 0 ms, start late."),
        (
            JobKind(graph_share=0.6),
            2.0,
            "Shorten what the CPU does between graph launches",
            "100 µs a step for the CPU.",
        ),
        (
            JobKind(graph_share=0.6, vendor="other", accelerator="MUSA"),
            2.0,
            "Shorten what the CPU does between graph launches",
            "100 µs a step for the CPU.",
        ),
        (
            JobKind(vendor="other", accelerator="MUSA"),
            2.0,
            "Capture more of the step in graphs",
            "with a median of 0 ms, start late.",
        ),
    ],
)
def test_the_advice_names_what_is_there(job: JobKind, graphs: float, title: str, why: str):
    host = host_result([site(FORWARD, late(100))], launches=msgspec.structs.replace(LAUNCHES, graphs=graphs))
    insight = card(host, "between_graphs" if job.graph_share else "launch_graphs", job)
    assert insight is not None
    assert [each.id for each in judged(host, job).insights] == [insight.id]
    assert plain(insight.title) == title
    assert plain(insight.why).endswith(why)
    assert not plain(insight.why)[0].islower()
    assert len(plain(insight.why)) <= 160


def test_what_ddp_copies_has_cards_of_its_own():
    sites = [site(FORWARD, late(100)), site(BROADCAST, late(80), launches=163.0), site(HOOKS, late(60))]
    host = host_result(sites, bucket_copies=161.0, bucket_late_ns=50 * US)
    assert fired(host) == ["launch_graphs", "buffer_broadcast", "gradient_buckets"]
    assert [insight.gain_ns // US for insight in judged(host).insights[:3]] == [110, 80, 50]
    broadcast, buckets = card(host, "buffer_broadcast"), card(host, "gradient_buckets")
    assert broadcast is not None
    assert buckets is not None
    assert (broadcast.gain_ns, broadcast.why.values["launches"].value) == (80 * US, 163)
    assert (buckets.gain_ns, buckets.why.values["copies"].value) == (50 * US, 161)


def test_hooks_that_copy_no_gradients_are_part_of_the_backward_pass():
    insight = card(host_result([site(NODES, late(100)), site(HOOKS, late(60))]), "launch_graphs")
    assert insight is not None
    assert insight.gain_ns == 160 * US
    assert card(host_result([site(HOOKS, late(60))]), "gradient_buckets") is None


def test_ddp_s_copies_need_a_hundredth_of_the_step():
    for id, place in (("buffer_broadcast", BROADCAST), ("gradient_buckets", HOOKS)):
        for us, fires in ((9, False), (10, True)):
            host = host_result([site(place, late(us))], bucket_copies=1.0, bucket_late_ns=us * US)
            assert (card(host, id) is not None) == fires


def fused(row: SiteRow, optimizer: str | None = "AdamW") -> Insight | None:
    return card(host_result([row]), "fused_optimizer", JobKind(optimizer=optimizer))


def test_an_optimizer_of_few_launches_can_be_fused():
    insight = fused(site("optimizer", late(140), launches=10.0))
    assert insight is not None
    assert (insight.gain_ns, insight.why.values["each"].value) == (140 * US, 14 * US)
    assert insight.how == "torch.optim.AdamW(model.parameters(), fused=True)"
    assert fused(site("optimizer", late(9))) is None
    assert fused(site("optimizer", late(140), launches=2.0)) is None
    assert fused(site("optimizer", late(140), launches=2.5)) is not None
    assert fused(site("optimizer", IdleNs(tail=140 * US))) is None
    assert fused(site("optimizer", late(140), launches=40.0, calls=1.0)) is None  # captured in a graph


@pytest.mark.parametrize("optimizer", ["RMSprop", "FusedAdam", "Lion", None])
def test_an_optimizer_without_a_fused_form_has_no_card(optimizer: str | None):
    assert fused(site("optimizer", late(140), launches=10.0), optimizer) is None


@pytest.mark.parametrize(
    ("no_grad", "job", "title", "code"),
    [
        (NoGrad(0.5, 8.0), {}, "Compute more inputs in each pass without gradients", "AsyncVectorEnv("),
        (NoGrad(0.5, 7.0), {}, "Launch the forward pass as a CUDA graph", "teacher = torch.compile("),
        (NoGrad(0.4, 8.0), {}, "Launch the forward pass as a CUDA graph", "teacher = torch.compile("),
        (NoGrad(0.09, 8.0), {}, "Launch the forward pass as a CUDA graph", "or a larger batch"),
        (NoGrad(0.5, 8.0), {"compiled_share": 0.5}, "Launch the compiled model as a CUDA graph", "graph_breaks"),
        (NoGrad(0.4, 1.0), {"compiles": False}, "Launch the forward pass as a CUDA graph", "make_graphed_callables("),
    ],
)
def test_what_runs_without_gradients_is_no_part_of_the_model(
    no_grad: NoGrad, job: dict[str, Any], title: str, code: str
):
    kind = JobKind(purpose="training", vendor="nvidia", no_grad=no_grad, **job)
    insight = card(host_result([site(FORWARD, late(100))]), "launch_graphs", kind)
    assert insight is not None and insight.how is not None
    assert (plain(insight.title), code in insight.how) == (title, True)
    assert ("teacher" in insight.how) == ("teacher" in code)


@pytest.mark.parametrize(
    ("before_us", "after_us", "gain_us", "title"),
    [
        (60, 40, 60, "Launch less before the model runs"),
        (40, 60, 60, "Launch less outside forward, backward and optimizer"),
    ],
)
def test_what_the_caller_of_the_model_launches_is_no_matter_of_its_graphs(
    before_us: int, after_us: int, gain_us: int, title: str
):
    sites = [site("forward.inputs", late(before_us)), site(FORWARD, late(100)), site("other", late(after_us))]
    host = host_result([*sites, site("optimizer", IdleNs())])
    between, graphs = card(host, "between_passes"), card(host, "launch_graphs")
    assert between is not None and graphs is not None
    assert (between.gain_ns, plain(between.title)) == (gain_us * US, title)
    assert (graphs.gain_ns, graphs.why.values["launches"].value) == (100 * US, 100)


def test_the_launches_of_a_captured_model_before_the_first_layer_are_no_augmentation():
    """GRPO with a server in the process: graphs generate what the model then trains on."""
    captured, eager = (
        host_result([site("forward.inputs", late(60), launches=900.0, calls=calls), site("optimizer", IdleNs())])
        for calls in (100.0, 800.0)
    )
    assert card(captured, "between_passes") is None
    insight = card(eager, "between_passes")
    assert insight is not None
    assert insight.why.values["launches"].value == 800


def test_work_between_the_passes_is_done_less_often():
    insight = card(host_result([site("other", late(30)), site("zero_grad", late(20))]), "between_passes")
    assert insight is not None
    assert insight.gain_ns == 30 * US
    assert card(host_result([site("other", late(9))]), "between_passes") is None
    assert card(host_result([site("other", late(30))], several_devices=two_gpus(1.0)), "between_passes") is None
    assert card(host_result([site("data_loading", IdleNs(data_loading=50 * US))]), "between_passes") is None


@pytest.mark.parametrize(
    ("others", "title", "severity"),
    [
        (["optimizer", NODES], "Launch less outside forward, backward and optimizer", Severity.MAJOR),
        ([NODES], "Find out what is launched after the backward pass", Severity.MINOR),
        ([], "Launch less between the steps", Severity.MAJOR),
    ],
)
def test_without_its_range_the_optimizer_may_be_what_follows_the_backward_pass(
    others: list[str], title: str, severity: Severity
):
    insight = card(
        host_result([site("other", late(300)), *(site(each, IdleNs()) for each in others)]), "between_passes"
    )
    assert insight is not None
    assert (plain(insight.title), insight.severity, insight.gain_ns) == (title, severity, 300 * US)


@pytest.mark.parametrize(("activities", "steps", "cards"), [(9, 1, 0), (10, 1, 1), (9, 2, 1)])
def test_one_step_with_hardly_any_work_shows_no_job(activities: int, steps: int, cards: int):
    host = host_result([site(FORWARD, late(300))], launches=msgspec.structs.replace(LAUNCHES, activities=activities))
    found = judged(host, steps=steps).insights
    assert [each.id for each in found] == cards * ["launch_graphs"]


@pytest.mark.parametrize(("masks", "title"), [(0, "Read values"), (5, "Read values"), (6, "Read what a loop needs")])
def test_waits_of_several_kinds_in_turn_are_those_of_a_loop(masks: int, title: str):
    """Five waits a step read values. Removing them leaves those for the sizes of masks, if there are many."""
    late_site = msgspec.structs.replace(site(FORWARD, late(300), bubble=60 * US), split_ns=200 * US)
    of_masks = blocking(10 * US, op="aten::nonzero", outer_op="aten::index", source=None, count=float(masks))
    rows = [blocking(50 * US, count=5.0), *([of_masks] if masks else [])]
    insight = card(host_result([late_site], blocking=rows, whatif=replayed(sync_bubble=180 * US)), "sync_bubble")
    assert insight is not None
    assert plain(insight.title).startswith(title)


def test_what_few_launches_between_two_waits_cost_is_the_waits_and_no_graph_s():
    late_site = msgspec.structs.replace(site(FORWARD, late(300), bubble=50 * US), split_ns=200 * US)
    host = host_result([late_site], blocking=[blocking(50 * US)], whatif=replayed(sync_bubble=180 * US))
    assert said(host, "sync_bubble") == (
        180, "Read values from the GPU less often",
        "aten::item and other calls that wait leave the GPU idle for 180 µs a step: between two of them the CPU "
        "launches too little to get ahead.",
    )  # fmt: skip
    assert card(host, "launch_graphs").gain_ns == 50 * US  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("compiled", "split_us", "waits_us", "gain_us", "in_one_piece"),
    [
        (0.1, 200, 100, 150, True),
        (0.09, 200, 100, 50, False),
        (0.1, 200, 200, 50, False),
        (0.1, 120, 50, 130, False),
    ],
    ids=["broken up", "eager", "the waits alone", "mostly unbroken"],
)
def test_compiled_code_that_waits_break_up_is_to_be_one_piece(
    compiled: float, split_us: int, waits_us: int, gain_us: int, in_one_piece: bool
):
    """Of 250 us of late launches some lie in small groups between two waits. These leave the GPU idle for 50 us; what a
    replay without them gains beyond that is theirs."""
    late_site = msgspec.structs.replace(site(FORWARD, late(300), bubble=50 * US), split_ns=split_us * US)
    host = host_result([late_site], blocking=[blocking(50 * US)], whatif=replayed(sync_bubble=waits_us * US))
    insight = card(host, "launch_graphs", JobKind(compiled_share=compiled))
    assert insight is not None
    assert (insight.gain_ns // US, "one piece" in plain(insight.title)) == (gain_us, in_one_piece)
    assert (insight.confidence is Confidence.LOW) is in_one_piece


@pytest.mark.parametrize(
    ("exported", "title", "how"),
    [
        (None, "Keep the compiled model in one piece", "TORCH_LOGS=graph_breaks"),
        ("exported", "Launch the compiled model as a CUDA graph", "aoti_load_package(path, run_single_threaded=True)"),
    ],
)
def test_a_package_compiled_ahead_of_time_is_loaded_so_that_a_graph_can_hold_it(
    exported: LeftAsIs | None, title: str, how: str
):
    """It has no graph breaks, and torch.compile has no part in it."""
    late_site = msgspec.structs.replace(site(FORWARD, late(300), bubble=50 * US), split_ns=200 * US)
    host = host_result([late_site], blocking=[blocking(50 * US)], whatif=replayed(sync_bubble=100 * US))
    insight = card(host, "launch_graphs", JobKind("inference", compiled_share=0.5, left_as_is=exported))
    assert insight is not None and insight.how is not None
    assert (plain(insight.title), how in insight.how) == (title, True)
    assert ("torch.compile(" in insight.how) is (exported is None)


@pytest.mark.parametrize(
    ("gains", "low_us", "waits_us", "graphs_us"),
    [
        ({"sync_bubble": (180, 180), "launch_graphs": (100, 0)}, 180, 180, 70),
        ({"sync_bubble": (180, 180), "launch_graphs": (100, 0)}, 60, 60, 100),
        ({"sync_bubble": (180, 180)}, 60, 60, 190),
        ({"sync_bubble": (180, 180)}, 40, 50, 200),
        ({"sync_bubble": (400, 400)}, 400, 250, None),
        ({"launch_graphs": (150, 150), "sync_bubble": (120, 80)}, 120, 80, 150),
        ({"launch_graphs": (150, 150), "sync_bubble": (120, 30)}, 120, 50, 150),
        ({"launch_graphs": (150, 150), "sync_bubble": (120, 120)}, 120, 100, 150),
        ({}, 0, 50, 200),
    ],
    ids=["waits first", "at the low end of its range", "no graphs", "less than the bubble", "no more than is late",
         "graphs first", "nothing after graphs", "no more than graphs leave", "no replay"],
)  # fmt: skip
def test_launches_that_are_late_because_of_a_wait_are_the_wait_s(
    gains: dict[str, tuple[int, int]], low_us: int, waits_us: int, graphs_us: int | None
):
    """50 us lie in the bubble of the wait, and 200 us in short gaps. Graphs promise no more than their replay gains."""
    changes = [Gain(id, one * US, low_us * US, one * US, after * US, []) for id, (one, after) in gains.items()]
    whatif = msgspec.structs.replace(replayed(), changes=changes)
    host = host_result([site(FORWARD, late(250), bubble=50 * US)], blocking=[blocking(50 * US)], whatif=whatif)
    waits, graphs = card(host, "sync_bubble"), card(host, "launch_graphs")
    assert waits is not None
    assert (waits.gain_ns, graphs and graphs.gain_ns) == (waits_us * US, graphs_us and graphs_us * US)


def test_idle_time_that_no_other_card_is_about_is_the_waits_before_late_launches():
    """As the gap that a wait leaves at the end of a recording."""
    late_site = site(FORWARD, IdleNs(cpu_work=250 * US, tail=80 * US), bubble=50 * US)
    host = host_result([late_site], blocking=[blocking(50 * US)], whatif=replayed(sync_bubble=180 * US))
    waits, graphs = card(host, "sync_bubble"), card(host, "launch_graphs")
    assert (waits and waits.gain_ns, graphs and graphs.gain_ns) == (180 * US, 150 * US)


@pytest.mark.parametrize("pace", ["host", "sync"])
def test_waits_for_what_the_cpu_works_on_cost_their_bubbles(pace: str):
    """The replay says that waits set the pace, and the verdict that the CPU does: it needs what they read."""
    whatif = msgspec.structs.replace(replayed(sync_bubble=180 * US), pace=pace)
    late_site = site(FORWARD, late(250), bubble=50 * US)
    host = host_result([late_site], blocking=[blocking(50 * US)], whatif=whatif, bound=Bound.HOST)
    waits, graphs = card(host, "sync_bubble"), card(host, "launch_graphs")
    expected = (180, 70) if pace == "host" else (50, 200)
    assert (waits and waits.gain_ns // US, graphs and graphs.gain_ns // US) == expected


def test_what_a_step_without_waits_gains_is_divided_among_them_by_how_long_the_cpu_waits():
    """300 us are idle, 100 us of it in bubbles. The pageable copy has a card of its own."""
    rows = [blocking(50 * US), in_backward(50 * US, blocked_ns=250 * US)]
    rows.append(blocking(0, kind="pageable_copy", direction="HtoD", op="aten::to", outer_op=None, blocked_ns=50 * US))
    host = host_result(
        [site(FORWARD, late(300), bubble=100 * US)], blocking=rows, whatif=replayed(sync_bubble=300 * US)
    )
    gains = {id: card(host, id) for id in ("sync_bubble", "hidden_sync_backward", "pageable_copies", "launch_graphs")}
    assert {id: each and each.gain_ns // US for id, each in gains.items()} == {
        "sync_bubble": 100, "hidden_sync_backward": 175, "pageable_copies": None, "launch_graphs": None,
    }  # fmt: skip


def replayed(**gains: int) -> WhatIf:
    """A trustworthy replay with these gains, in which no other change shortens the step."""
    instant = STEP - 300 * US
    return WhatIf(
        STEP, STEP, STEP, "host", Sensitivity(instant, STEP, STEP, STEP, STEP, instant), None, 0.0, 0.0, True, True,
        [Gain(id, ns, ns, ns, ns, []) for id, ns in gains.items()], [],
    )  # fmt: skip


@pytest.mark.parametrize(("bound", "gain_us"), [(Bound.HOST, 100), (Bound.INPUT, 300)])
def test_graphs_promise_no_more_than_their_replay_gains(bound: Bound, gain_us: int):
    """While batches come late, a replay of the graphs alone does not show what they gain once batches come in time."""
    found = card(
        host_result([site(FORWARD, late(300))], whatif=replayed(launch_graphs=100 * US), bound=bound), "launch_graphs"
    )
    assert found is not None
    assert max(found.gain_ns, found.later_ns or 0) == gain_us * US


def test_gradients_need_no_zeros():
    insight = card(host_result([site("zero_grad", late(20), launches=161.0)]), "zero_gradients")
    assert insight is not None
    assert (insight.gain_ns, insight.why.values["launches"].value) == (20 * US, 161)
    assert card(host_result([site("zero_grad", late(9))]), "zero_gradients") is None
    assert card(host_result([site("other", late(20))]), "zero_gradients") is None


EVALUATE, CROP = "/home/me/eval.py(9): evaluate", "/site-packages/a/data.py(9): crop"


def long_gap(name: str | None, ms: float, *, inside: str | None = None, compiles: bool = False) -> LongGap:
    doing = "nothing" if name is None else "frame" if source_line(name) else "call" if inside else "op"
    return LongGap("1", STEP, STEP + int(ms * 1000) * US, int(ms * 1000) * US, doing, name, inside, compiles, compiles)


@pytest.mark.parametrize(
    ("busiest", "share", "waits"),
    [
        ("queue.py(154): get", 0.5, True),
        ("/usr/lib/python3.11/threading.py(323): wait", 0.9, True),
        ("C:\\Python311\\Lib\\concurrent\\futures\\_base.py(428): result", 0.9, True),
        ("<built-in method acquire of _thread.lock object at 0x7f>", 0.9, True),
        ("<built-in method get of _queue.SimpleQueue object at 0x7f>", 0.9, True),
        ("nvidia/dali/pipeline.py(1223): share_outputs", 0.9, True),
        ("app/pipeline.py(12): share_outputs", 0.9, False),
        ("queue.py(154): get", 0.49, False),
        ("app/jobs/queue.py(9): get", 0.9, False),
        ("<built-in method get of dict object at 0x7f>", 0.9, False),
        (None, 0.0, False),
    ],
)
def test_a_function_that_waits_for_another_thread_is_not_the_one_to_shorten(
    busiest: str | None, share: float, waits: bool
):
    gap = long_gap("train.py(9): fetch", 0.06)
    gap = msgspec.structs.replace(gap, busiest=busiest, busiest_ns=round(share * gap.late_ns))
    insight = card(waited(gap), "long_stretches")
    assert insight is not None and insight.how is not None
    title = "Find out what fetch waits for" if waits else "Shorten fetch, or overlap it with GPU work"
    assert (plain(insight.title), "py-spy dump" in insight.how) == (title, waits)


@pytest.mark.parametrize(
    ("name", "busiest", "asks"),
    [
        ("<built-in method poll of select.epoll object at 0x7f>", None, True),
        ("selectors.py(451): select", "<built-in method poll of select.epoll object at 0x7f>", True),
        ("socket.py(286): accept", "<built-in method accept of _socket.socket object at 0x7f>", True),
        ("train.py(9): fetch", "<built-in method recv_into of _socket.socket object at 0x7f>", False),
        ("<built-in method polling of Camera object at 0x7f>", None, False),
    ],
)
def test_a_server_without_requests_is_no_work_to_shorten(name: str, busiest: str | None, asks: bool):
    gap = msgspec.structs.replace(long_gap(name, 0.6), doing="frame", busiest=busiest, busiest_ns=500 * US)
    insight = card(waited(gap, late_us=600), "long_stretches")
    assert insight is not None
    assert plain(insight.title).startswith("Find out what") is asks
    assert (insight.confidence is Confidence.LOW, insight.severity is Severity.MINOR) == (asks, asks)


@pytest.mark.parametrize(
    ("purpose", "name", "waited_ms", "guessed"),
    [
        ("inference", "<built-in method acquire of _thread.lock object at 0x7f>", 0.6, True),
        ("inference", "<built-in method poll of select.epoll object at 0x7f>", 0.6, True),
        ("inference", "<built-in method acquire of _thread.lock object at 0x7f>", 0.4, False),
        ("inference", "infer.py(9): crop", 0.6, False),
        ("inference", "nvidia/dali/pipeline.py(1223): share_outputs", 0.6, False),
        ("training", "<built-in method acquire of _thread.lock object at 0x7f>", 0.6, False),
    ],
)
def test_a_request_that_is_yet_to_come_is_not_sooner_because_nothing_is_read(
    purpose: Purpose, name: str, waited_ms: float, guessed: bool
):
    """Four steps of 1 ms, in each of which a read leaves the GPU idle for 300 us."""
    gap, sites, reads = long_gap(name, waited_ms), [site(FORWARD, late(100))], [blocking(300 * US)]
    rows = [LongGaps(FORWARD, 1, 4, 100 * US, 0, 0, [gap], [WaitName(name, False, False, 1, gap.late_ns)])]
    insight = card(host_result(sites, blocking=reads, long_gaps=rows), "sync_bubble", JobKind(purpose=purpose))
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (300 * US, Severity.MINOR if guessed else Severity.MAJOR)


@pytest.mark.parametrize(("purpose", "guessed"), [("inference", True), ("training", False)])
def test_an_inference_may_get_its_requests_from_a_queue(purpose: Purpose, guessed: bool):
    gap = long_gap("<built-in method acquire of _thread.lock object at 0x7f>", 0.06)
    insight = card(waited(gap), "long_stretches", JobKind(purpose=purpose))
    assert insight is not None
    assert (insight.confidence is Confidence.LOW, insight.severity is Severity.MINOR) == (guessed, guessed)


@pytest.mark.parametrize(
    ("purpose", "waits_us", "others_us", "stacks", "guessed"),
    [
        ("inference", (100, 500, 700, 200), (300, 300, 310, 300), False, True),
        ("inference", (490, 500, 510, 500), (300, 300, 310, 300), False, False),  # a function of the loop
        ("inference", (500, 500, 2000, 500), (300, 300, 310, 300), False, False),  # one pause
        ("inference", (300, 400, 600, 700), (300, 300, 310, 300), False, False),  # what it works on grows
        ("inference", (100, 500, 700, 200), (100, 500, 700, 200), False, False),  # longer inputs
        ("inference", (100, 500, 700, 200), (300, 300, 310, 300), True, False),
        ("training", (100, 500, 700, 200), (300, 300, 310, 300), False, False),
    ],
    ids=["requests", "equal", "one pause", "grows", "work varies, too", "call stacks", "training"],
)
def test_irregular_waits_of_an_inference_may_be_for_requests(
    purpose: Purpose, waits_us: tuple[int, ...], others_us: tuple[int, ...], stacks: bool, guessed: bool
):
    """Nothing is recorded of the CPU in these waits, and a read leaves the GPU idle for 300 us in each step."""
    gaps = waited(long_gap(None, 0.6), long_gap(None, 0.5), late_us=400)
    lengths = [(wait + other) * US for wait, other in zip(waits_us, others_us, strict=True)]
    ends = list(itertools.accumulate(lengths))
    steps = [
        HostStep(str(place), end - length, end, IdleNs(nothing_recorded=wait * US))
        for place, (end, length, wait) in enumerate(zip(ends, lengths, waits_us, strict=True))
    ]
    host = msgspec.structs.replace(gaps, steps=steps, blocking=[blocking(300 * US)], with_stack=stacks)
    cards = [card(host, id, JobKind(purpose=purpose)) for id in ("long_stretches", "sync_bubble")]
    assert [each is not None and each.severity is Severity.MINOR for each in cards] == [guessed] * 2
    assert [each is not None and each.confidence is Confidence.LOW for each in cards] == [guessed] * 2


def waited(
    *gaps: LongGap,
    late_us: int = 60,
    compiled_us: int = 0,
    unusual_us: int = 0,
    launches: float = 100.0,
    steps: int = 2,
) -> HostResult:
    """100 us of each step are late, some of it in long gaps."""
    names = [WaitName(gap.name, gap.compiled, gap.unusual, 1, gap.late_ns) for gap in gaps]
    rows = (
        [LongGaps(FORWARD, len(gaps), steps, late_us * US, compiled_us * US, unusual_us * US, list(gaps), names)]
        if gaps
        else []
    )
    return host_result([site(FORWARD, late(100), launches=launches)], long_gaps=rows)


def said(host: HostResult, id: str) -> tuple[int, str, str] | None:
    insight = card(host, id)
    return None if insight is None else (insight.gain_ns // US, plain(insight.title), plain(insight.why))


def test_long_waits_are_about_what_the_cpu_does_in_them():
    named = waited(long_gap("/home/me/data.py(9): crop", 0.2), long_gap(None, 0.1))
    assert said(named, "launch_graphs") == (
        40, "Launch the model as a CUDA graph",
        "100 launches a step, with a median of 0 ms of GPU work: the CPU cannot launch them in time.",
    )  # fmt: skip
    assert said(named, "long_stretches") == (
        60, "Shorten crop, or overlap it with GPU work",
        "1 long wait, of 200 µs, leaves the GPU idle while the CPU is in data.py:9 crop. 1 more has other causes.",
    )  # fmt: skip
    called = waited(long_gap("cudaFree", 0.2, inside="aten::cudnn_convolution"))
    assert said(called, "long_stretches") == (
        60, "Find out why cudaFree takes long on the CPU",
        "1 long wait, of 200 µs, leaves the GPU idle while the CPU is in cudaFree in aten::cudnn_convolution.",
    )  # fmt: skip
    filled = waited(on_cpu("aten::normal_", 0.2))
    assert said(filled, "long_stretches") == (
        60, "Make random numbers on the GPU",
        "1 long wait, of 200 µs, leaves the GPU idle while aten::normal_ computes on the CPU.",
    )  # fmt: skip
    assert 'device="cuda"' in (card(filled, "long_stretches").how or "")  # type: ignore[union-attr]
    assert card(named, "long_stretches").evidence == [  # type: ignore[union-attr]
        Evidence("1", STEP, STEP + 200 * US), Evidence("1", STEP, STEP + 100 * US),
    ]  # fmt: skip


def test_long_waits_in_a_function_say_what_it_calls_for_most_of_them():
    def preprocess(ms: float, busiest_ms: float) -> LongGap:
        gap = long_gap("/home/me/data.py(41): preprocess", ms)
        return msgspec.structs.replace(
            gap, busiest="/home/me/data.py(7): normalize", busiest_ns=int(busiest_ms * 1000) * US
        )

    assert said(waited(preprocess(0.2, 0.15)), "long_stretches") == (
        60, "Shorten preprocess, or overlap it with GPU work",
        "1 long wait, of 200 µs, leaves the GPU idle while the CPU is in data.py:41 preprocess, 150 µs of it in "
        "normalize.",
    )  # fmt: skip
    assert said(waited(preprocess(0.2, 0.15), preprocess(0.2, 0.18)), "long_stretches") == (
        60, "Shorten preprocess, or overlap it with GPU work",
        "2 long waits, of up to 200 µs, leave the GPU idle while the CPU is in data.py:41 preprocess, up to 180 µs "
        "of it in normalize.",
    )  # fmt: skip
    more_than_is_late = said(waited(preprocess(0.2, 0.25)), "long_stretches")
    assert more_than_is_late is not None and more_than_is_late[2].endswith("in data.py:41 preprocess.")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/home/me/data.py(9): crop", True),
        ("/home/me/data.py(9): __call__", False),
        ("/home/me/data.py(9): <listcomp>", False),
        ("prepare", False),
    ],
)
def test_only_a_function_that_a_script_can_call_is_shown_as_called(name: str, shown: bool):
    gap = long_gap(name, 0.2)
    of_range = msgspec.structs.replace(gap, doing="range") if name == "prepare" else gap
    insight = card(waited(of_range), "long_stretches")
    assert insight is not None
    assert (insight.how is not None and "crop(" in insight.how) == shown
    assert (insight.how is None) != shown


def test_what_a_function_of_torch_logs_can_come_less_often():
    insight = card(waited(long_gap("torch/utils/tensorboard/writer.py(494): add_histogram", 0.2)), "long_stretches")
    assert insight is not None
    assert insight.how == "if step % 100 == 0:\n    add_histogram(...)"


def test_what_a_module_computes_does_not_run_beside_the_model():
    insight = card(waited(long_gap("/home/me/matcher.py(40): forward", 0.2)), "long_stretches")
    assert insight is not None and insight.how is not None
    assert (plain(insight.title), "py-spy" in insight.how) == ("Shorten forward", True)


@pytest.mark.parametrize(
    ("name", "inside", "how"),
    [
        ("aten::stft", None, "py-spy record --native"),
        ("cudaFree", "aten::cudnn_convolution", "py-spy record --native"),
        ("cudaGraphLaunch", None, "after the next one is launched"),
        ("hipGraphLaunch", None, "after the next one is launched"),
    ],
)
def test_nobody_can_shorten_an_op_of_torch(name: str, inside: str | None, how: str):
    """So the card says how to find out what it does, or how to hide it."""
    insight = card(waited(long_gap(name, 0.2, inside=inside)), "long_stretches")
    assert insight is not None and insight.how is not None
    assert how in insight.how
    assert not plain(insight.title).startswith("Shorten")


@pytest.mark.parametrize(("search", "fires"), [("search_unused_parameters", False), ("copy_bucket_to_grad", True)])
def test_the_search_for_unused_parameters_has_a_card_of_its_own(search: str, fires: bool):
    host = waited(long_gap(f"torch.distributed.ddp.reducer::{search}", 0.2))
    assert (card(host, "long_stretches") is not None) is fires


def one_graph(host: HostResult, launches: float) -> HostResult:
    """The same host with so many launches of graphs over the whole recording."""
    of_graphs = msgspec.structs.replace(LAUNCHES, graphs=launches / len(host.steps))
    return msgspec.structs.replace(host, launches=of_graphs)


@pytest.mark.parametrize("launches", [1, 2])
def test_a_single_graph_launch_does_not_show_what_is_between_two(launches: int):
    before = card(one_graph(waited(long_gap("cudaGraphLaunch", 0.2)), launches), "long_stretches")
    assert (before is not None and "while the one before it runs" in plain(before.title)) == (launches > 1)
    host = one_graph(host_result([site(FORWARD, late(100), launches=100.0)]), launches)
    assert (card(host, "between_graphs", JobKind(graph_share=0.9)) is not None) == (launches > 1)


@pytest.mark.parametrize(
    ("purpose", "before_us", "how"),
    [
        ("inference", None, "prepare the next inputs"),
        ("inference", 50, "prepare the next inputs"),
        ("inference", 49, "fewer ops"),
        ("training", 50, "one graph of the whole step"),
        ("training", 49, "one graph of the whole step"),
    ],
)
def test_the_advice_between_graphs_is_by_what_the_gpu_waits_for(purpose: str, before_us: int | None, how: str):
    """Of 100 us, the GPU waits for the work of graphs for so long, and else for other work."""
    host = host_result([site(FORWARD, late(100), launches=100.0)])
    host = msgspec.structs.replace(host, before_graphs_ns=before_us and before_us * US)
    insight = card(host, "between_graphs", JobKind(graph_share=0.9, purpose=purpose))
    assert insight is not None and insight.how is not None
    assert how in insight.how
    assert insight.gain_ns == 100 * US
    assert ("outside the graphs" in insight.why.template) is (before_us == 49)
    assert len(plain(insight.why)) <= 160


@pytest.mark.parametrize(
    ("graphs", "share", "how"),
    [
        (1.0, 1.0, "prepare the next inputs"),
        (1.0, 0.98, "one graph of the whole step"),  # the optimizer, for example, is in none
        (2.0, 1.0, "one graph of the whole step"),
    ],
)
def test_a_graph_that_is_the_whole_step_already(graphs: float, share: float, how: str):
    host = host_result([site(FORWARD, late(100), launches=100.0)])
    host = msgspec.structs.replace(host, launches=msgspec.structs.replace(LAUNCHES, graphs=graphs))
    insight = card(host, "between_graphs", JobKind(graph_share=share, purpose="training"))
    assert insight is not None and how in (insight.how or "")


def test_a_server_that_schedules_ahead_is_not_told_to():
    host = host_result([site(FORWARD, late(100), launches=100.0)])
    job = JobKind(graph_share=0.9, server="sglang", schedules_ahead=True)
    insight = card(host, "between_graphs", job)
    assert insight is not None
    assert "overlap-schedule" not in (insight.how or "")


@pytest.mark.parametrize("name", ["vllm/v1/worker/gpu_model_runner.py(753): _update_states", "cudaGraphLaunch"])
@pytest.mark.parametrize(
    ("job", "how"),
    [
        (JobKind(), None),
        (JobKind(server="vllm"), "--async-scheduling"),
        (JobKind(server="sglang"), "--disable-overlap-schedule"),
        (JobKind(server="sglang", schedules_ahead=True), "py-spy"),
    ],
)
def test_what_a_server_does_is_scheduled_ahead_by_its_options(name: str, job: JobKind, how: str | None):
    insight = card(waited(long_gap(name, 0.2)), "long_stretches", job)
    assert insight is not None and insight.how is not None
    known = ("--async-scheduling", "--disable-overlap-schedule", "py-spy")
    assert [each for each in known if each in insight.how] == ([how] if how else [])


def test_an_overlap_gains_no_more_than_the_gpu_s_own_time():
    host = waited(long_gap("/home/me/data.py(9): crop", 0.2))
    whatif = replayed()
    of_gpu = msgspec.structs.replace(whatif.sensitivity, device=STEP - 20 * US)
    bounded = msgspec.structs.replace(host, whatif=msgspec.structs.replace(whatif, sensitivity=of_gpu))
    found = [said(each, "long_stretches") for each in (host, bounded)]
    assert [each is not None and each[2].endswith("Overlapped, it gains up to 20 µs.") for each in found] == [
        False,
        True,
    ]
    assert found[1] is not None and found[1][0] == 60


def test_long_waits_without_a_name_need_a_twentieth_of_the_step():
    several = [long_gap("a", 0.1), long_gap("b", 0.1), long_gap(None, 0.1)]
    assert said(waited(*several, late_us=49), "long_stretches") is None
    assert said(waited(*several, late_us=50), "long_stretches") == (
        50, "Shorten what the CPU does between launches",
        "3 long waits, of up to 100 µs, leave the GPU idle; no one op or function makes most of them.",
    )  # fmt: skip
    assert card(waited(*several), "long_stretches").how is not None  # type: ignore[union-attr]


@pytest.mark.parametrize("with_stack", [False, True])
def test_between_the_steps_of_a_server_its_options_are_tried_first(with_stack: bool):
    host = msgspec.structs.replace(waited(long_gap(None, 0.2)), with_stack=with_stack)
    insight = card(host, "long_stretches", JobKind(purpose="inference", server="vllm"))
    assert insight is not None and insight.how is not None
    assert ("--async-scheduling" in insight.how, "with_stack=True" in insight.how) == (True, not with_stack)


def on_cpu(name: str | None, ms: float) -> LongGap:
    return msgspec.structs.replace(long_gap(name, ms), doing="op", on_cpu=True)


def test_what_computes_on_the_cpu_is_to_run_on_the_gpu():
    host = waited(on_cpu("torchvision::nms", 0.2))
    assert said(host, "long_stretches") == (
        60, "Run torchvision::nms on the GPU",
        "1 long wait, of 200 µs, leaves the GPU idle while torchvision::nms computes on the CPU.",
    )  # fmt: skip
    several = waited(*(on_cpu(name, 0.1) for name in ("aten::mm", "aten::topk", None)))
    assert said(several, "long_stretches") == (
        60, "Run ops on the GPU, not the CPU",
        "3 long waits, of up to 100 µs, leave the GPU idle while ops compute on the CPU.",
    )  # fmt: skip
    mixed = waited(on_cpu("aten::mm", 0.1), on_cpu(None, 0.1), long_gap("aten::cat", 0.2))
    assert "on the GPU" not in str(said(mixed, "long_stretches"))
    of_server = card(host, "long_stretches", JobKind(server="vllm"))
    assert of_server is not None and "on the GPU" not in plain(of_server.title)


def test_where_gpus_take_turns_a_long_wait_without_a_name_is_the_other_one_s_turn():
    host = waited(long_gap(None, 0.2))
    assert card(host, "long_stretches") is not None
    assert card(msgspec.structs.replace(host, several_devices=two_gpus(1.25)), "long_stretches") is None
    assert card(msgspec.structs.replace(host, several_devices=two_gpus(1.26)), "long_stretches") is not None
    named = waited(long_gap("/home/me/data.py(9): crop", 0.2))
    assert card(msgspec.structs.replace(named, several_devices=two_gpus(1.0)), "long_stretches") is not None


def test_long_waits_of_one_step_are_no_cost_of_every_step():
    assert said(waited(long_gap("a", 0.2), steps=1), "long_stretches") is None
    assert card(waited(long_gap("a", 0.2), steps=1), "launch_graphs").gain_ns == 40 * US  # type: ignore[union-attr]


def test_long_waits_between_the_passes_are_named_too():
    rows = [
        LongGaps(
            "other", 4, 4, 60 * US, 0, 0, [long_gap(EVALUATE, 0.2)], [WaitName(EVALUATE, False, False, 4, 200 * US)]
        )
    ]
    host = host_result([site("other", late(100))], long_gaps=rows)
    assert said(host, "long_stretches") == (
        60, "Shorten evaluate, or overlap it with GPU work",
        "4 long waits, of up to 200 µs, leave the GPU idle while the CPU is in eval.py:9 evaluate.",
    )  # fmt: skip
    assert card(host, "between_passes").gain_ns == 40 * US  # type: ignore[union-attr]


def test_what_takes_long_once_and_not_elsewhere_is_no_cost_of_every_step():
    first = msgspec.structs.replace(long_gap("aten::addmm", 0.2), unusual=True)
    host = waited(first, long_gap("aten::cat", 0.1), late_us=60, unusual_us=45)
    assert said(host, "long_stretches") == (
        15, "Find out why aten::cat takes long on the CPU",
        "1 long wait, of 100 µs, leaves the GPU idle while the CPU is in aten::cat.",
    )  # fmt: skip
    assert card(host, "launch_graphs").gain_ns == 40 * US  # type: ignore[union-attr]


def test_few_launches_are_no_matter_of_graphs():
    assert fired(waited(launches=10)) == ["launch_graphs"]
    assert fired(waited(launches=9)) == ["long_stretches"]
    assert said(waited(launches=9), "long_stretches") == (
        100, "Shorten what the CPU does between launches",
        "9 launches a step leave the GPU idle for 100 µs: too few for a graph to help.",
    )  # fmt: skip


def test_long_waits_of_compiled_code_are_about_torch_compile():
    looks_up = waited(long_gap("TorchDynamo Cache Lookup", 0.2, compiles=True), compiled_us=45)
    assert said(looks_up, "compiled_waits") == (
        45, "Keep torch.compile from working during the steps",
        "1 long wait, of 200 µs, leaves the GPU idle while the CPU is in TorchDynamo Cache Lookup.",
    )  # fmt: skip
    assert [insight.gain_ns // US for insight in judged(looks_up).insights[:2]] == [45, 40]
    compiled = msgspec.structs.replace(long_gap(None, 0.2), compiled=True)
    assert said(waited(compiled, compiled_us=60), "compiled_waits") == (
        60, "Find out what delays the compiled code",
        "1 long wait, of 200 µs, leaves the GPU idle; nothing is recorded of the CPU then: Python code, or a wait.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("purpose", "advice"),
    [
        ("inference", "with torch.inference_mode():"),
        ("training", "torch.compiler.cudagraph_mark_step_begin()"),
    ],
)
def test_a_graph_that_is_captured_again_and_again_is_what_delays_compiled_code(purpose: Purpose, advice: str):
    compiled = msgspec.structs.replace(long_gap("CompiledFunction", 0.2), compiled=True)
    again = Recaptures(steps=3, step_ns=213 * US, other_ns=2 * US)
    host = msgspec.structs.replace(waited(compiled, compiled_us=60), recaptures=again)
    insight = card(host, "compiled_waits", JobKind(purpose=purpose))
    assert insight is not None
    assert insight.gain_ns == 60 * US
    assert plain(insight.title) == "Keep torch.compile from capturing the same graph again"
    assert [insight.why.values[name].value for name in ("steps", "each", "other")] == [3, 213 * US, 2 * US]
    assert insight.how is not None and insight.how.startswith(advice)


def test_long_waits_of_which_nothing_is_recorded_are_to_be_found_out():
    """A server may simply have no requests: it is not known whether the CPU does anything."""
    unknown = waited(long_gap(None, 0.2), long_gap(None, 0.1))
    assert said(unknown, "long_stretches") == (
        60, "Find out what the CPU does between launches",
        "2 long waits, of up to 200 µs, leave the GPU idle; nothing is recorded of the CPU then: Python code, or a "
        "wait.",
    )  # fmt: skip
    with_stacks = said(msgspec.structs.replace(unknown, with_stack=True), "long_stretches")
    assert with_stacks is not None and with_stacks[1] == "Shorten what the CPU does between launches"


@pytest.mark.parametrize(("ranks", "moves"), [("one", True), ("many", False), ("unknown", False)])
def test_weights_whose_optimizer_runs_on_the_cpu_may_fit_on_the_gpu(ranks: Ranks, moves: bool):
    updates = msgspec.structs.replace(long_gap("Optimizer.step#AdamW.step", 0.2), doing="update")
    insight = card(waited(updates), "long_stretches", JobKind(purpose="training", ranks=ranks))
    assert insight is not None and insight.how is not None
    assert ('model.to("cuda")' in insight.how, "offload_optimizer" in insight.how) == (moves, True)


def test_what_reads_a_value_is_named_and_not_the_model_s_op_around_it():
    within: dict[str, Any] = {"op": "aten::_local_scalar_dense", "reads": "aten::allclose"}
    within |= {"outer_op": "mylib::checked_attention", "source": None}
    host = host_result([site(FORWARD, late(100), bubble=100 * US)], blocking=[blocking(100 * US, **within)])
    assert said(host, "sync_bubble") == (
        100, "Choose values on the GPU, not in Python",
        "aten::allclose in mylib::checked_attention leaves the GPU idle for 100 µs a step.",
    )  # fmt: skip


# Time that belongs to one card belongs to no other.


def test_a_bubble_is_the_blocking_call_s_and_not_the_launches():
    host = host_result(
        [site("other", late(10)), site(FORWARD, late(200), bubble=150 * US)], blocking=[blocking(150 * US)]
    )
    assert [(each.id, each.gain_ns) for each in judged(host).insights if each.gain_ns] == [
        ("sync_bubble", 150 * US),
        ("launch_graphs", 50 * US),
        ("between_passes", 10 * US),
    ]


def test_gains_of_the_partition_add_up_to_no_more_than_the_idle_time():
    pause = Pause("garbage_collection", True, "gc", 1, 50 * US, 33_333, "1", 0, 50 * US)
    stop = Pause("unexplained", False, None, 1, 50 * US, 22_222, "1", 0, 50 * US)
    sites = [
        site(FORWARD, IdleNs(cpu_work=100_001, nothing_recorded=50_003, launch_latency=10_007), bubble=20_001),
        site(NODES, IdleNs(cpu_work=70_001, nothing_recorded=20_002)),
        site("optimizer", IdleNs(allocator=15_001, nothing_recorded=30_001)),
    ]
    sites[:2] = (msgspec.structs.replace(each, paused_ns=ns) for each, ns in zip(sites, (33_333, 22_222), strict=False))
    host = host_result(sites, pauses=[pause, stop], blocking=[blocking(20_001)])
    judgement = judged(host, JobKind(optimizer="AdamW"))
    late_ns = sum(row.idle_ns.late_ns for row in sites)
    total = sum(insight.gain_ns for insight in judgement.insights if insight.view == "host")
    assert late_ns - 10 <= total <= late_ns  # rounded down, site by site
    assert judgement.insights_remark is not None
    assert judgement.insights_remark.values["total"].value == total
    of_host = [insight for insight in judgement.insights if insight.view == "host"]
    assert may_be_added(of_host, judgement.addable) == phrase("gains can be added")
    assert may_be_added(of_host[:1], judgement.addable) is None
    overlapping = msgspec.structs.replace(of_host[0], id="slow_steps")
    assert may_be_added([*of_host, overlapping], judgement.addable) == judgement.insights_remark
    assert may_be_added([overlapping, *of_host], judgement.addable) is None
    assert remark_of_view([], judgement) is None  # the cards are in another view, and the tab leads there
    nothing = msgspec.structs.replace(judgement, insights=[])
    assert remark_of_view([], nothing) == phrase("No recommendation for this span.")


# Blocking calls.


def test_a_read_value_is_worth_its_bubble_and_not_its_length():
    host = host_result([site(FORWARD, late(100), bubble=100 * US)], blocking=[blocking(100 * US)])
    insight = card(host, "sync_bubble")
    assert insight is not None
    assert (insight.gain_ns, insight.confidence, insight.colour) == (100 * US, Confidence.HIGH, "blocking")
    assert plain(insight.title) == "Read values from the GPU less often"
    assert plain(insight.why) == ("aten::item in train.py:54 step leaves the GPU idle for 100 µs a step.")
    assert insight.evidence == [Evidence("2", 2 * STEP, 2 * STEP + 100 * US)]


def test_a_value_that_ranks_exchange_is_read_less_often_on_all_of_them():
    rows = [blocking(100 * US, collective="all-reduce"), blocking(30 * US)]
    host = host_result([site(FORWARD, late(130), bubble=130 * US)], blocking=rows)
    insight, own = card(host, "synchronous_exchange"), card(host, "sync_bubble")
    assert insight is not None
    assert own is not None
    assert (insight.gain_ns, own.gain_ns, insight.confidence) == (100 * US, 30 * US, Confidence.HIGH)
    assert plain(insight.title) == "Read less often what ranks exchange"
    assert plain(insight.why) == (
        "aten::item in train.py:54 step waits for an all-reduce of all ranks, then the GPU is idle for 100 µs a step."
    )
    barrier = card(host_result(blocking=[blocking(100 * US, collective="barrier")]), "synchronous_exchange")
    assert barrier is not None
    assert plain(barrier.title) == "Remove barriers from the loop"


def test_what_ranks_exchange_at_inference_cannot_be_read_later():
    host = host_result(blocking=[blocking(100 * US, collective="broadcast")])
    of_inference = {each.id for each in judged(host, JobKind(purpose="inference")).insights}
    assert of_inference >= {"sync_bubble"}
    assert "synchronous_exchange" not in of_inference


def test_a_card_with_long_names_fits():
    long = {"op": "aten::" + "long_" * 9, "outer_op": None, "source": "train.py(1054): " + "long_" * 9}
    read, exchanged = blocking(123_400 * US, **long), blocking(123_400 * US, **long, collective="send and receive")
    of_pass = blocking(50 * US, **long, phase="backward", site=NODES)
    rows = [read, exchanged, of_pass, blocking(US), blocking(US, collective="all-reduce")]
    for id in ("sync_bubble", "synchronous_exchange", "hidden_sync_backward"):
        insight = card(host_result(blocking=rows), id)
        assert insight is not None
        assert len(plain(insight.why)) <= 160


def test_a_long_call_without_a_bubble_costs_nothing():
    assert fired(host_result(blocking=[blocking(0, blocked_ns=900 * US)])) == []
    assert fired(host_result(blocking=[blocking(9 * US, blocked_ns=900 * US)])) == []
    assert fired(host_result(blocking=[blocking(10 * US, blocked_ns=900 * US)])) == ["sync_bubble"]


def in_backward(bubble: int, **changes: Any) -> BlockingRow:
    node = "autograd::engine::evaluate_function: SparseAddmmBackward0"
    return blocking(
        bubble, op="aten::_coalesce", outer_op=node, phase="backward", site=NODES, source=None,
        forward_op="aten::_sparse_addmm", forward_source="/home/me/model.py(31): forward", **changes,
    )  # fmt: skip


def test_a_hidden_wait_names_the_line_that_made_it():
    host = host_result([site(NODES, late(200), bubble=100 * US)], blocking=[in_backward(100 * US)])
    insight = card(host, "hidden_sync_backward")
    assert insight is not None
    assert (insight.gain_ns, card(host, "sync_bubble")) == (100 * US, None)
    assert plain(insight.why) == ("aten::_coalesce, from model.py:31 forward, leaves the GPU idle for 100 µs a step.")
    assert insight.how == "transposed = matrix.t().coalesce()\n# once, for use in a torch.autograd.Function"


def test_a_hidden_wait_needs_a_hundredth_of_the_step():
    assert card(host_result(blocking=[in_backward(9 * US)]), "hidden_sync_backward") is None
    assert card(host_result(blocking=[in_backward(10 * US)]), "hidden_sync_backward") is not None


def test_a_wait_before_the_backward_pass_is_seen_in_the_script():
    before = blocking(100 * US, phase="backward", site="backward.loss")
    assert fired(host_result(blocking=[before])) == ["sync_bubble"]


def test_the_optimizer_has_hidden_waits_too():
    rows = [blocking(100 * US, phase="optimizer", site="optimizer", source=None)]
    insight = card(host_result(blocking=rows), "hidden_sync_optimizer")
    assert insight is not None
    assert ", from" not in plain(insight.why)
    assert card(host_result(blocking=rows), "hidden_sync_backward") is None
    rows = [blocking(9 * US, phase="optimizer", site="optimizer")]
    assert card(host_result(blocking=rows), "hidden_sync_optimizer") is None


@pytest.mark.parametrize(
    ("optimizer", "op", "how"),
    [
        ("LBFGS", "aten::item", "history_size"),
        ("LBFGS", "aten::is_nonzero", "history_size"),
        ("AdamW", "aten::item", "torch.optim.AdamW(model.parameters(), capturable=True)"),
        ("Lion", "aten::item", "in its step()"),  # it is from outside torch, and prints no loss
        ("Lion", "aten::is_nonzero", "torch.where"),
        ("AdamW", "aten::nonzero", "torch.where(mask"),
        ("SOAP", "aten::linalg_qr", "in every 10th step"),
        ("Shampoo", "aten::linalg_inv", "in every 10th step"),
        ("Shampoo", "aten::linalg_inv", "inv_ex"),
    ],
)
def test_an_optimizer_that_reads_values_is_told_what_it_can_do(optimizer: str, op: str, how: str):
    row = blocking(100 * US, op=op, outer_op=op, phase="optimizer", site="optimizer", source=None)
    insight = card(host_result(blocking=[row]), "hidden_sync_optimizer", JobKind("training", optimizer=optimizer))
    assert insight is not None
    assert how in (insight.how or "")


def batch(bubble: int, **changes: Any) -> BlockingRow:
    moved = {"op": "aten::copy_", "outer_op": "aten::to", "kind": "pageable_copy", "direction": "HtoD",
             "bytes": 38_535_168, "phase": "forward", "site": FORWARD, "source": None}  # fmt: skip
    return blocking(bubble, **(moved | changes))


def moved(direction: str, **changes: Any) -> CopyRow:
    """Forty tensors that move between host and GPU in one go."""
    row = msgspec.structs.replace(copy(direction), count=40.0, in_a_row=39.0)
    row = row if direction == "HtoD" else msgspec.structs.replace(row, source="Device", target="Pageable")
    return msgspec.structs.replace(row, **changes)


@pytest.mark.parametrize(
    ("to_gpu", "back", "purpose", "are_weights"),
    [
        ({}, {}, "inference", True),
        ({}, {}, "training", False),
        ({}, {"bytes": 500_000}, "inference", True),
        ({}, {"bytes": 490_000}, "inference", False),  # results
        ({}, {"in_a_row": 15.0}, "inference", False),  # one copy for each of the batches
        ({"count": 79.0}, {}, "inference", False),
        ({"count": 78.0}, {}, "inference", True),
        ({"source": "Pinned", "pageable": False}, {}, "inference", False),
    ],
)
def test_weights_that_move_to_the_gpu_and_back_have_one_card(
    to_gpu: dict[str, Any], back: dict[str, Any], purpose: Purpose, are_weights: bool
):
    to_gpu_row, back_row = moved("HtoD", **to_gpu), moved("DtoH", **back)
    insights = judged(host_result(copies=[to_gpu_row, back_row]), JobKind(purpose=purpose)).insights
    apart = [("pageable_batch_copies", "Copy these tensors while kernels run", 100 * US)]
    together = [("pageable_batch_copies", "Keep the weights on the GPU", 200 * US)]
    assert [(each.id, plain(each.title), each.gain_ns) for each in insights] == (
        together if are_weights else apart if to_gpu_row.pageable else []
    )


MOVED_ALWAYS = [200 * US] * STEPS


@pytest.mark.parametrize(
    ("to_gpu", "back", "mean", "copied", "are_weights"),
    [
        ({}, {}, 2 << 20, MOVED_ALWAYS, True),
        ({"phase": "backward"}, {}, 2 << 20, MOVED_ALWAYS, False),  # saved activations
        ({}, {"phase": "backward"}, 2 << 20, MOVED_ALWAYS, False),  # gradients
        ({}, {"phase": "optimizer"}, 2 << 20, MOVED_ALWAYS, False),
        ({}, {"feeds": "aten::embedding"}, 2 << 20, MOVED_ALWAYS, False),
        ({}, {}, (1 << 20) - 1, MOVED_ALWAYS, False),
        ({}, {}, 2 << 20, [800 * US, 0, 0, 0], False),  # once in the recording
    ],
)
def test_an_encoder_that_each_step_of_a_training_moves_has_one_card(
    to_gpu: dict[str, Any], back: dict[str, Any], mean: int, copied: list[int], are_weights: bool
):
    size = 40 * mean
    calls = [
        batch(0, **{"direction": way, "bytes": size, "count": 40.0, **changes})
        for way, changes in (("HtoD", to_gpu), ("DtoH", back))
    ]
    host = host_result(copies=[moved("HtoD", bytes=size), moved("DtoH", bytes=size)], blocking=calls)
    insights = judged(host, JobKind(purpose="training"), copied_ns=copied).insights
    copies = [
        (plain(each.title), each.gain_ns) for each in insights if each.id.endswith(("batch_copies", "result_copies"))
    ]
    assert (copies == [("Keep the weights on the GPU", 200 * US)]) is are_weights
    assert are_weights or all(title != "Keep the weights on the GPU" for title, _ in copies)
    how = next((each.how for each in insights if each.id == "pageable_batch_copies"), None)
    assert ("encoder" in (how or "")) is are_weights


@pytest.mark.parametrize(
    ("changes", "purpose", "may_be_weights"),
    [
        ({"bytes": 40 << 20}, "inference", True),
        ({"bytes": (40 << 20) - 1}, "inference", False),  # features of a batch
        ({"bytes": 40 << 20, "in_a_row": 16.0}, "inference", True),
        ({"bytes": 40 << 20, "in_a_row": 15.0}, "inference", False),
        ({"bytes": 40 << 20}, "training", False),
    ],
)
def test_large_tensors_in_a_row_may_be_weights_of_layers_on_the_cpu(
    changes: dict[str, Any], purpose: Purpose, may_be_weights: bool
):
    host = host_result(copies=[moved("HtoD", **changes)])
    insight = card(host, "pageable_batch_copies", JobKind(purpose=purpose))
    assert insight is not None
    assert ("device_map" in (insight.how or "")) is may_be_weights
    in_one_step = judged(host, JobKind(purpose=purpose), steps=1).insights
    (how,) = [each.how or "" for each in in_one_step if each.id == "pageable_batch_copies"]
    assert ("device_map" in how, "weights are copied once" in how) == (False, changes.get("in_a_row") != 15)


def test_a_measurement_of_the_link_moves_no_weights(monkeypatch: pytest.MonkeyPatch):
    host, job = host_result(copies=[moved("HtoD"), moved("DtoH")]), JobKind(purpose="inference")
    kernels = judged(host, job).insights
    monkeypatch.setattr(copies, "_LEAST_COMPUTING", 1.1)  # of the step, as if kernels took next to nothing
    assert [(each.id, each.gain_ns) for each in kernels] == [("pageable_batch_copies", 200 * US)]
    assert [(each.id, each.gain_ns) for each in judged(host, job).insights] == [("pageable_batch_copies", 100 * US)]


def test_a_pageable_batch_is_pinned():
    insight = card(host_result(blocking=[batch(50 * US)]), "pageable_copies")
    assert insight is not None
    assert plain(insight.why) == ("aten::to copies 38.5 MB a step from pageable memory and blocks the CPU for 100 µs.")
    assert insight.how is not None
    assert "DataLoader" not in insight.how  # no loader is recorded
    assert card(host_result(blocking=[batch(9 * US)]), "pageable_copies") is None
    assert card(host_result(blocking=[batch(10 * US)]), "pageable_copies") is not None


@pytest.mark.parametrize(
    ("counts", "each", "small"),
    [((60, 40), 65_535, True), ((60, 39), 8, False), ((60, 40), 65_536, False), ((1003.0,), 12_500, True)],
    ids=["of two ops", "too few", "too large", "with one image"],
)
def test_many_small_copies_are_made_together(counts: tuple[float, ...], each: int, small: bool):
    """Pinned memory shortens the transfer of bytes, and not the start of each copy."""
    rows = [batch(50 * US, count=number, bytes=round(number * each)) for number in counts]
    insight = card(host_result(blocking=rows), "pageable_copies")
    assert insight is not None
    assert insight.gain_ns == len(counts) * 50 * US
    assert insight.how is not None
    assert ("pin_memory" not in insight.how) is small
    assert ("copies" in insight.why.values) is small


@pytest.mark.parametrize(
    ("op", "bytes_a_step", "cards"),
    [
        ("autograd::engine::evaluate_function: ToCopyBackward0", 500_001, 0),
        ("autograd::engine::evaluate_function: ToCopyBackward0", 500_000, 1),
        ("aten::to", 1_000_000, 1),
    ],
)
def test_gradients_of_a_loss_on_the_cpu_are_no_batch(op: str, bytes_a_step: int, cards: int):
    host = host_result(blocking=[batch(50 * US, outer_op=op, bytes=bytes_a_step)], copies=[copy()])
    assert [each.id for each in judged(host).insights].count("pageable_batch_copies") == cards


def test_copies_without_recorded_bytes_are_of_tensors():
    insight = card(host_result(copies=[msgspec.structs.replace(copy(), bytes=None)]), "pageable_batch_copies")
    assert insight is not None
    assert plain(insight.why).startswith("Tensors come from ")


@pytest.mark.parametrize(("created_us", "created"), [(100, True), (51, True), (50, False)])
def test_what_an_op_creates_right_before_its_copy_is_no_batch(created_us: int, created: bool):
    row = msgspec.structs.replace(copy(), created_ns=created_us * US)
    host = host_result(blocking=[batch(50 * US, bytes=1_000_000)], copies=[row])
    found = [each for each in judged(host).insights if each.id.startswith("pageable")]
    of_batch = ["Pin the memory of the copied tensors", "Copy the next batch while kernels run"]
    assert {plain(each.title) for each in found} == (
        {"Create on the GPU what is copied there"} if created else {*of_batch}
    )
    assert {"device=x.device" in (each.how or "") for each in found} == {created}


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ({"created_ns": 100 * US}, "Create on the GPU what is copied there"),
        ({"made_by": "aten::index_select"}, "Make on the GPU what is copied there"),
    ],
)
@pytest.mark.parametrize(("waits_us", "id"), [(50, "pageable_batch_copies"), (150, "pageable_copies")])
def test_one_card_is_about_a_copy_that_need_not_be_made(row: dict[str, Any], title: str, waits_us: int, id: str):
    """The copy's own time and the idle time after it have one cause, and the card with more of it speaks."""
    host = host_result(blocking=[batch(waits_us * US)], copies=[msgspec.structs.replace(copy(), **row)])
    found = [each for each in judged(host).insights if each.id.startswith("pageable")]
    assert [(each.id, plain(each.title)) for each in found] == [(id, title)]
    assert all("tensor.pin_memory()" not in (each.how or "") for each in found)


@pytest.mark.parametrize(
    ("of_model", "batch_bytes", "kept"),
    [
        ({"user_range": "forward_pass", "count": 16.0}, 99_999, True),
        ({"module": "nn.Module: Attention_3", "count": 16.0}, 99_999, True),
        ({"module": "nn.Module: Attention_3", "count": 15.0}, 99_999, False),
        ({"module": "nn.Module: Attention_3", "count": 16.0}, 100_000, False),
        ({"user_range": "to_device", "count": 16.0}, 99_999, False),
        ({"module": "nn.Module: Collator_0", "count": 16.0, "phase": "other"}, 99_999, False),
    ],
    ids=["in a range", "in a module", "as many as a batch has", "mostly the batch", "around the batch", "elsewhere"],
)
def test_what_the_model_copies_in_its_forward_pass_is_no_batch(of_model: dict[str, Any], batch_bytes: int, kept: bool):
    rows = [batch(50 * US, bytes=100_000, **of_model), batch(50 * US, bytes=batch_bytes)]
    host = host_result(blocking=rows, copies=[copy()])
    titles = {plain(each.title) for each in judged(host).insights if each.id.startswith("pageable")}
    of_batch = {"Pin the memory of the copied tensors", "Copy the next batch while kernels run"}
    assert titles == ({"Keep on the GPU what the model copies there"} if kept else of_batch)


@pytest.mark.parametrize(("copies", "of_batch"), [(15.0, True), (16.0, False)])
def test_copies_of_more_tensors_than_a_batch_has_are_of_no_batch(copies: float, of_batch: bool):
    rows = [msgspec.structs.replace(copy(), count=copies)]
    insight = card(host_result(copies=rows), "pageable_batch_copies")
    assert insight is not None
    assert plain(insight.title) == f"Copy {'the next batch' if of_batch else 'these tensors'} while kernels run"


@pytest.mark.parametrize(
    ("others_us", "low_us", "alone_us", "gain_us"),
    [
        (0, 150, None, 150),
        (0, 300, None, 200),
        (0, 90, None, 100),
        (100, 150, None, 100),
        (100, 180, None, 120),
        (100, 180, 110, 110),
        (100, 300, 20, 100),
    ],
    ids=["replayed", "as long as the calls", "less than the copy alone", "its share", "more", "by itself", "together"],
)
def test_a_copy_in_which_the_cpu_waits_for_earlier_work_is_worth_that_wait(
    others_us: int, low_us: int, alone_us: int | None, gain_us: int
):
    """Its call takes 200 us; for 100 us of the copy no kernel runs. alone_us: what the step gains if only copies no
    longer wait, where a replay shows that."""
    rows = [batch(0, blocked_ns=200 * US), blocking(0, blocked_ns=others_us * US)]
    gain = Gain("sync_bubble", 300 * US, low_us * US, 300 * US, 300 * US, [])
    waits = [msgspec.structs.replace(gain, id="copies", low_ns=alone_us * US)] if alone_us else []
    whatif = msgspec.structs.replace(replayed(), changes=[gain], waits=waits)
    insight = card(host_result(blocking=rows, copies=[copy()], whatif=whatif), "pageable_batch_copies")
    assert insight is not None
    assert insight.gain_ns == gain_us * US


def test_pinned_memory_does_not_help_what_waits_for_a_result():
    assert fired(host_result(blocking=[batch(50 * US, direction="DtoH")])) == ["sync_bubble"]
    item = blocking(50 * US, kind="pageable_copy", direction="HtoD")
    assert fired(host_result(blocking=[item])) == ["sync_bubble"]


def allocating(steps: int, bubble: int = 50 * US) -> list[HostStep]:
    each = [IdleNs(allocator=bubble if i < steps else 0) for i in range(4)]
    return [HostStep(str(i), i * STEP, (i + 1) * STEP, idle, 1.0, 100) for i, idle in enumerate(each)]


def test_the_allocator_may_ask_for_memory_in_the_first_steps_only():
    rows = [blocking(50 * US, op=None, outer_op=None, call="cudaMalloc", kind="allocator", source=None)]
    assert fired(host_result(blocking=rows, steps=allocating(1))) == []
    assert fired(host_result(blocking=rows, steps=allocating(2))) == ["allocator_steady"]
    less = [msgspec.structs.replace(rows[0], bubble_ns=9 * US)]
    assert fired(host_result(blocking=less, steps=allocating(4))) == []


@pytest.mark.parametrize(
    ("call", "pins"),
    [("cudaHostAlloc", True), ("hipHostMalloc", True), ("cudaMallocHost", True), ("cudaMalloc", False)],
)
def test_pinned_memory_of_the_host_is_no_memory_of_the_gpu(call: str, pins: bool):
    rows = [blocking(50 * US, op="aten::_pin_memory", outer_op=None, call=call, kind="allocator", source=None)]
    (insight,) = judged(host_result(blocking=rows, steps=allocating(4))).insights
    advice = insight.how or ""
    assert ("pin_memory=True" in advice, "PYTORCH_CUDA_ALLOC_CONF" in advice) == (pins, not pins)


def test_one_step_shows_that_the_caching_allocator_is_off():
    rows = [blocking(50 * US, op=None, outer_op=None, call="cudaMalloc", kind="allocator", source=None)]
    off = Finding("caching_off", "said", ("host_time",), count=30, values={"count": count(30), "all": count(30)})
    host = host_result(blocking=rows, steps=allocating(1))
    (insight,) = [each for each in judged(host, findings=[off]).insights if each.id == "allocator_steady"]
    assert (insight.gain_ns, "PYTORCH_NO_CUDA_MEMORY_CACHING" in (insight.how or "")) == (50 * US, True)
    assert not [each for each in judged(host_result(), findings=[off]).insights if each.id == "allocator_steady"]


@pytest.mark.parametrize(
    ("op", "outer_op", "call", "waiting"),
    [
        ("aten::_local_scalar_dense", "aten::item", "cudaMemcpyAsync", "item"),
        ("aten::_local_scalar_dense", "aten::is_nonzero", "cudaMemcpyAsync", "truth"),
        ("aten::_local_scalar_dense", "MatMul8bitLt", "cudaMemcpyAsync", "outliers"),
        ("aten::is_nonzero", "bitsandbytes::int8_vectorwise_quant", "cudaMemcpyAsync", "outliers"),
        ("aten::is_nonzero", "MatMul4Bit", "cudaMemcpyAsync", "truth"),
        ("aten::nonzero", "aten::index", "cudaMemcpyAsync", "mask"),
        ("aten::masked_select", "aten::masked_select", "cudaMemcpyAsync", "mask"),
        ("aten::_unique2", "aten::_unique2", "cudaMemcpyAsync", "unique"),
        ("aten::repeat_interleave", "aten::repeat_interleave", "cudaMemcpyAsync", "repeat_interleave"),
        ("aten::_coalesce", "aten::coalesce", "cudaMemcpyAsync", "coalesce"),
        (
            "aten::_coalesce",
            "autograd::engine::evaluate_function: SparseAddmmBackward0",
            "cudaMemcpyAsync",
            "product_gradient",
        ),
        ("aten::_coalesce", "aten::_sparse_mm", "cudaMemcpyAsync", "product"),
        ("aten::_coalesce", "SparseAdam.step", "cudaMemcpyAsync", "coalesce"),
        ("aten::item", "aten::multinomial", "cudaMemcpyAsync", "multinomial"),
        ("aten::item", "aten::bincount", "cudaMemcpyAsync", "bincount"),
        ("aten::_local_scalar_dense", "aten::linalg_cholesky", "cudaMemcpyAsync", "factor"),
        ("aten::_local_scalar_dense", "aten::inverse", "cudaMemcpyAsync", "factor"),
        ("aten::_local_scalar_dense", "aten::one_hot", "cudaMemcpyAsync", "one_hot"),
        ("aten::_local_scalar_dense", "aten::normal", "cudaMemcpyAsync", "normal"),
        ("aten::cudnn_convolution", "aten::conv2d", "cudaEventSynchronize", "search"),
        ("aten::cudnn_convolution_backward", "ConvolutionBackward0", "cudaEventSynchronize", "search"),
        ("aten::item", "autograd::engine::evaluate_function: ConvolutionBackward0", "cudaMemcpyAsync", "item"),
        ("aten::_local_scalar_dense", "aten::istft", "cudaMemcpyAsync", "within"),
        ("aten::_linalg_eigh", "aten::linalg_eigh", "cudaMemcpyAsync + cudaStreamSynchronize", "within"),
        ("spconv::get_indice_pairs", "SubMConvFunction", "cudaMemcpy", "within"),
        ("dgl::sample_neighbors", "dgl::sample_neighbors", "cudaStreamSynchronize", "within"),
        ("_RasterizeGaussians", "_RasterizeGaussians", "cudaMemcpy", "within"),
        ("autograd::engine::evaluate_function: MulBackward0", None, "cudaMemcpy", "read_back"),  # a hook
        ("torch::autograd::AccumulateGrad", None, "cudaMemcpy", "read_back"),  # another one
        ("copy_", "to", "cudaMemcpyAsync", "read_back"),  # before PyTorch 1.8
        ("aten::copy_", "aten::to", "cudaMemcpyAsync", "read_back"),
        (None, None, "cudaMemcpyAsync + cudaStreamSynchronize", "read_back"),
        (None, None, "cudaDeviceSynchronize", "explicit"),
        (None, None, "cudaEventSynchronize", "event"),
        ("c10d::allreduce_", None, "cudaStreamSynchronize", "explicit"),
        (None, None, "cudaFree", "other"),
    ],
)
def test_what_makes_the_cpu_wait_is_known_by_name(op: str | None, outer_op: str | None, call: str, waiting: str):
    row = blocking(US, op=op, outer_op=outer_op, call=call, source=None)
    assert waiting_op(row).id == waiting


@pytest.mark.parametrize(
    ("op", "around", "waiting"),
    [
        ("aten::item", "## all2all_tw_data:init ##", "exchange"),
        ("aten::to", "## sparse_data_dist 1 ##", "exchange"),
        ("fbgemm::permute_sparse_features", None, "exchange"),
        ("aten::item", "all2all", "item"),
    ],
)
def test_sizes_of_exchanges_are_no_values_to_read_less_often(op: str, around: str | None, waiting: str):
    row = blocking(US, op="aten::_local_scalar_dense", outer_op=op, user_range=around, source=None)
    assert waiting_op(row).id == waiting


@pytest.mark.parametrize(
    ("op", "around", "waiting"),
    [
        ("aten::nonzero", {"module": "nn.Module: Qwen3MoeSparseMoeBlock_0"}, "mask"),
        ("aten::item", {"source": "sparse_autoencoder.py(88): forward"}, "item"),
        ("aten::item", {"outer_op": "autograd::engine::evaluate_function: SparseAttentionBackward"}, "item"),
        ("aten::copy_", {"source": "arrays.py(3): to_numpy"}, "read_back"),
        ("aten::item", {"source": "scaler.py(41): inverse_transform"}, "item"),
        ("aten::item", {"user_range": "MinMaxScaler.scale"}, "item"),
        ("aten::item", {"user_range": "scaler.step(optimizer)"}, "grad_scaler"),
        ("aten::item", {"module": "nn.Module: GradScaler_0"}, "grad_scaler"),
        ("aten::item", {"source": "clip_grad.py(7): norm"}, "clip_grad"),
        ("aten::item", {"checks": "aten::_amp_foreach_non_finite_check_and_unscale_"}, "grad_scaler"),
    ],
)
def test_names_of_models_and_their_files_do_not_say_what_an_op_waits_for(op: str, around: dict[str, str], waiting: str):
    row = blocking(US, **({"op": op, "outer_op": op, "source": None} | around))
    assert waiting_op(row).id == waiting


def test_a_function_of_autograd_may_wait_for_the_gpu_by_a_call_of_the_script():
    row = blocking(US, op="Rasterize", outer_op="Rasterize", call="cudaDeviceSynchronize", direction=None, source=None)
    assert waiting_op(row).id == "explicit"


@pytest.mark.parametrize(("size", "of_sizes"), [(4, True), (LARGE_BYTES, False)])
def test_what_an_op_of_a_library_reads_is_a_size_if_it_is_small(size: int, of_sizes: bool):
    op = "spconv::get_indice_pairs"
    reads = [blocking(0, op=op, outer_op=op, source=None, count=8.0, bytes=8 * size, phase="forward")]
    insight = card(host_result([site(FORWARD, late(100))], blocking=reads), "launch_graphs")
    assert insight is not None
    assert ("8 calls that read sizes" in plain(insight.why)) == of_sizes


@pytest.mark.parametrize(("reads", "title"), [(8.0, "Compute more in each launch"), (10.0, "Fix the shapes, then")])
def test_shapes_are_fixed_where_the_script_reads_most_of_the_sizes(reads: float, title: str):
    """Sparse convolutions read theirs themselves; the script chooses whether it calls aten::nonzero."""
    rows = [
        blocking(0, op=op, outer_op=op, source=None, count=count, phase="forward")
        for op, count in (("spconv::get_indice_pairs", 9.0), ("aten::nonzero", reads))
    ]
    insight = card(host_result([site(FORWARD, late(100))], blocking=rows), "launch_graphs")
    assert insight is not None and insight.how is not None
    assert plain(insight.title).startswith(title)
    assert ("grouped_mm" in insight.how) == (reads == 10.0)
    assert (insight.severity is Severity.MINOR) == (reads == 8.0)  # a larger batch shortens no step


@pytest.mark.parametrize(("direction", "waiting"), [("HtoD", "index"), ("DtoH", "mask"), (None, "mask")])
@pytest.mark.parametrize("op", ["aten::index", "aten::index_put_"])
def test_an_index_that_is_copied_to_the_gpu_is_no_mask(op: str, direction: str | None, waiting: str):
    rows = [blocking(50 * US, op="aten::copy_", outer_op=op, direction=direction, kind="pageable_copy", source=None)]
    assert (waiting_op(rows[0]).id, fired(host_result(blocking=rows))) == (waiting, ["sync_bubble"])


@pytest.mark.parametrize(
    ("outer_op", "why"),
    [
        ("aten::istft", "aten::istft leaves the GPU idle for 100 µs a step."),
        ("aten::item", "aten::item leaves the GPU idle for 100 µs a step."),
        ("Solve", "aten::item in Solve leaves the GPU idle for 100 µs a step."),
    ],
)
def test_where_an_op_of_pytorch_reads_a_value_it_is_named(outer_op: str, why: str):
    insight = card(
        host_result(blocking=[blocking(100 * US, outer_op=outer_op, reads="aten::item", source=None)]), "sync_bubble"
    )
    assert insight is not None
    assert (plain(insight.why), insight.how is None) == (why, outer_op == "aten::istft")


@pytest.mark.parametrize(("count", "at_once"), [(7.0, False), (8.0, True)])
def test_many_conditions_are_asked_at_once(count: float, at_once: bool):
    row = blocking(50 * US, op="aten::_local_scalar_dense", outer_op="aten::is_nonzero", source=None, count=count)
    insight = card(host_result(blocking=[row]), "sync_bubble")
    assert insight is not None and insight.how is not None
    assert ("torch.stack(conditions)" in insight.how, "torch.where(" in insight.how) == (at_once, True)


TRAINS = JobKind(purpose="training")
ROLLOUT = JobKind(purpose="training", no_grad=NoGrad(0.5, 8.0))


@pytest.mark.parametrize(
    ("changes", "job", "said"),
    [
        ({"count": 1.0}, TRAINS, {"print(loss.item())"}),
        ({"count": 8.0}, TRAINS, {"torch.stack(values)"}),
        ({"count": 8.0}, JobKind(execution="compiled", purpose="training"), {"torch.stack(values)", "graph_breaks"}),
        ({"count": 7.0}, JobKind(purpose="inference"), {"x.tolist()"}),
        ({"count": 8.0}, JobKind(purpose="inference"), {"torch.stack(values)", "tensors of one element"}),
        ({"count": 1.0}, JobKind(), {"x.tolist()"}),  # a simulation has no loss, either
        ({"count": 1.0}, JobKind(execution="graphs", purpose="training"), {"print(loss.item())"}),
        ({"count": 8.0, "phase": "backward"}, TRAINS, {"torch.stack(values)"}),
        ({"count": 8.0, "phase": "forward"}, ROLLOUT, {"policy(observations)"}),
        ({"count": 7.0, "phase": "forward"}, ROLLOUT, {"print(loss.item())"}),
        ({"count": 8.0, "phase": "other"}, ROLLOUT, {"torch.stack(values)"}),
        ({"count": 8.0, "phase": "optimizer"}, TRAINS, {"in its step()"}),
    ],
)
def test_the_code_for_a_read_value_depends_on_how_many_are_read_and_where(
    changes: dict[str, Any], job: JobKind, said: set[str]
):
    (insight,) = judged(host_result(blocking=[blocking(100 * US, **changes)]), job).insights
    known = (
        "print(loss.item())",
        "torch.stack(values)",
        "policy(observations)",
        "graph_breaks",
        "x.tolist()",
        "in its step()",
        "tensors of one element",
    )
    assert {code for code in known if code in (insight.how or "")} == said


@pytest.mark.parametrize("attends", [True, False])
def test_a_language_model_generates_for_many_prompts_and_a_policy_acts_in_many_environments(attends: bool):
    nothing, of_softmax = Waste(None, 0.0, 0.0, 0.0), KernelSite("k", "k", "aten::softmax", None, None, None)
    attention = EagerAttention(of_softmax, 8.0, 1.0, 1.0, 0.0) if attends else None
    sites, reads = [site(FORWARD, late(100))], [blocking(100 * US, count=8.0, phase="forward")]
    rows = JudgedRows(
        steps=[0, 1, 2, 3], sites=sites, blocking=reads, blocking_bubble_ns=0, copies=[], pauses=[], exchange_ns=0,
        communication=None, waste=LaunchWaste(None, None, nothing, nothing, attention=attention), obstacles=[],
        rates=None, waits=None, long_gaps=[], full_queue_ns=0, bucket_copies=0.0, bucket_late_ns=0, before_graphs_ns=0,
        host_functions_ns=0, several_devices=None, anomaly=None, observed_ns=0,
    )  # fmt: skip
    host = host_result(sites, blocking=reads, judged=rows)
    graphs, waits = (card(host, id, ROLLOUT) for id in ("launch_graphs", "sync_bubble"))
    assert graphs is not None and waits is not None
    assert ("more_prompts" in (graphs.how or ""), "gymnasium" in (graphs.how or "")) == (attends, not attends)
    assert ("prompts" in (waits.how or ""), "actions" in (waits.how or "")) == (attends, not attends)


@pytest.mark.parametrize("phase", ["forward", "backward", "optimizer", "other"])
@pytest.mark.parametrize("op", ["aten::_coalesce", "aten::to_sparse"])
def test_a_sparse_tensor_of_the_forward_pass_is_no_gradient(phase: PhaseId, op: str):
    row = blocking(US, op=op, outer_op="aten::mv", phase=phase, source=None)
    assert waiting_op(row).id == ("product" if phase == "forward" else "coalesce")


def test_a_copy_that_the_cpu_reads_is_not_to_go_on_without_it():
    """x.to("cpu", non_blocking=True) returns before the values are there."""
    row = blocking(
        US, op="aten::copy_", outer_op="aten::to", call="cudaMemcpyAsync + cudaStreamSynchronize", source=None
    )
    reads = waiting_op(msgspec.structs.replace(row, direction="DtoH"))
    assert (reads.id, waiting_op(msgspec.structs.replace(row, direction="HtoD")).id) == ("read_back", "copy")
    assert reads.how is not None and "done.synchronize()" in reads.how


# Pauses, slow steps, several GPUs.


def pause(cause: str, idle_us: int, sure: bool = True, steps: int = 3) -> Pause:
    return Pause(
        cause, sure, None, 3, 600 * US, idle_us * US, "2", 2 * STEP, 2 * STEP + 300 * US, steps=steps
    )  # fmt: skip


@pytest.mark.parametrize("cause", ["garbage_collection", "interrupted", "unexplained"])
@pytest.mark.parametrize(("steps", "severity"), [(1, Severity.MINOR), (2, Severity.MAJOR)])
def test_pauses_of_a_single_step_say_nothing_of_how_often_they_come(cause: str, steps: int, severity: Severity):
    """A checkpoint takes 30 % of the mean step, since few steps are recorded: it may come every thousand steps."""
    sites = [msgspec.structs.replace(site(FORWARD, IdleNs(nothing_recorded=400 * US)), paused_ns=300 * US)]
    id = "garbage_collection" if cause == "garbage_collection" else "host_stops"
    insight = card(host_result(sites, pauses=[pause(cause, 300, steps=steps)]), id)
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (300 * US, severity)


@pytest.mark.parametrize(
    ("paused", "steps", "in_a_row"),
    [
        ((3, 4, 5, 6), 10, True),  # a variant that a benchmark times: 1 in 30 by chance
        ((3, 4, 5, 7), 10, False),
        ((3, 4, 5), 10, False),  # 1 in 15 by chance
    ],
)
def test_successive_steps_that_all_pause_do_what_the_others_do_not(paused: tuple[int, ...], steps: int, in_a_row: bool):
    """Each pause takes 200 us; in all other steps nothing is recorded for 50 us."""
    rows = [
        HostStep(
            str(place),
            place * STEP,
            (place + 1) * STEP,
            IdleNs(nothing_recorded=250 * US if place in paused else 50 * US),
        )
        for place in range(steps)
    ]
    found = msgspec.structs.replace(
        pause("unexplained", 300, steps=len(paused)), count=len(paused), total_ns=200 * US * len(paused)
    )
    sites = [msgspec.structs.replace(site(FORWARD, IdleNs(nothing_recorded=400 * US)), paused_ns=300 * US)]
    host = host_result(sites, pauses=[found], steps=rows)
    (insight,) = (each for each in judged(host, steps=steps).insights if each.id == "host_stops")
    assert ("successive" in plain(insight.why), insight.severity is Severity.MINOR) == (in_a_row, in_a_row)


@pytest.mark.parametrize(
    ("cause", "id", "unnamed"),
    [
        ("garbage_collection", "garbage_collection", (Confidence.LOW, Severity.MINOR)),
        ("unexplained", "host_stops", (Confidence.MEDIUM, Severity.WARNING)),
    ],
)
def test_stops_of_the_host_are_worth_the_idle_time_they_leave(
    cause: str, id: str, unnamed: tuple[Confidence, Severity]
):
    sites = [msgspec.structs.replace(site(FORWARD, IdleNs(nothing_recorded=400 * US)), paused_ns=100 * US)]
    insight = card(host_result(sites, pauses=[pause(cause, 100)]), id)
    assert insight is not None
    assert (insight.gain_ns, insight.confidence) == (100 * US, Confidence.HIGH)
    assert insight.why.values["longest"].value == 300 * US
    assert insight.evidence == [Evidence("2", 2 * STEP, 2 * STEP + 300 * US)]
    rest = card(host_result(sites, pauses=[pause(cause, 100)]), "launch_graphs")
    assert rest is not None
    assert rest.gain_ns == 300 * US
    assert card(host_result(sites, pauses=[pause(cause, 9)]), id) is None
    assert card(host_result(sites, pauses=[pause(cause, 10)]), id) is not None
    unsure = card(host_result(sites, pauses=[pause(cause, 100, sure=False)]), id)
    assert unsure is not None
    assert (unsure.confidence, unsure.severity) == unnamed


@pytest.mark.parametrize(
    ("cause", "native_us", "collects"),
    [("interrupted", 0, True), ("interrupted", 299, True), ("interrupted", 300, False), ("unexplained", 0, True)],
)
def test_garbage_is_collected_only_where_python_runs(cause: str, native_us: int, collects: bool):
    """Of 600 us of pauses, half in native code show that the core is lost."""
    sites = [site(FORWARD, IdleNs(nothing_recorded=200 * US, cpu_work=200 * US))]
    stops = msgspec.structs.replace(pause(cause, 100, sure=False), native_ns=native_us * US)
    insight = card(host_result(sites, pauses=[stops]), "host_stops")
    assert insight is not None
    assert ("gc." in (insight.how or "")) is collects


@pytest.mark.parametrize(
    ("steps", "paused", "collects"),
    [
        (["2", "7", "12"], 3, False),
        (["2", "7"], 3, True),
        (["2", "7"], 2, False),
        (["3", "8", "13"], 3, True),
        ([], 3, True),
    ],
)
def test_pauses_in_steps_that_do_more_are_no_garbage_collections(steps: list[str], paused: int, collects: bool):
    """Three pauses, the longest one in step 2: as many steps as have pauses call more ops, fewer, others, or none."""
    sites = [site(FORWARD, IdleNs(nothing_recorded=200 * US, cpu_work=200 * US))]
    recurring = RecurringWork(5, steps, 300 * US, "aten::item", 1) if steps else None
    stops = pause("unexplained", 100, sure=False, steps=paused)
    insight = card(host_result(sites, pauses=[stops], recurring=recurring), "host_stops")
    assert insight is not None
    assert (insight.gain_ns, insight.confidence) == (100 * US, Confidence.MEDIUM)
    assert ("gc." in (insight.how or "")) is collects


@pytest.mark.parametrize(("copied_us", "collects"), [(0, True), (299, True), (300, False)])
def test_pauses_behind_copies_to_the_host_are_no_garbage_collections(copied_us: int, collects: bool):
    sites = [site(FORWARD, IdleNs(nothing_recorded=200 * US, cpu_work=200 * US))]
    stops = msgspec.structs.replace(pause("unexplained", 100, sure=False), copied_ns=copied_us * US)
    insight = card(host_result(sites, pauses=[stops]), "host_stops")
    assert insight is not None
    assert (insight.gain_ns, insight.confidence) == (100 * US, Confidence.MEDIUM)
    assert ("gc." in (insight.how or "")) is collects


@pytest.mark.parametrize(
    ("purpose", "cause", "severity"),
    [
        ("training", "unexplained", Severity.WARNING),
        ("inference", "unexplained", Severity.MINOR),
        ("inference", "interrupted", Severity.WARNING),
        ("unknown", "unexplained", Severity.WARNING),
    ],
)
def test_an_inference_that_pauses_may_wait_for_a_request(purpose: Purpose, cause: str, severity: Severity):
    sites = [site(FORWARD, IdleNs(nothing_recorded=200 * US, cpu_work=200 * US))]
    host = host_result(sites, pauses=[pause(cause, 100, sure=False)])
    insight = card(host, "host_stops", JobKind(purpose=purpose))
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (100 * US, severity)
    assert ("server" in insight.why.template) is (severity is Severity.MINOR)


@pytest.mark.parametrize(
    ("late_us", "graphs", "order"),
    [
        (49, 0.0, ["unrecorded_work", "launch_graphs"]),
        (50, 0.0, ["launch_graphs", "unrecorded_work"]),  # a warning
        (49, 1.0, ["launch_graphs", "unrecorded_work"]),  # hidden in graphs: nothing takes this time away
    ],
)
def test_another_process_on_the_gpu_comes_before_what_gains_little(late_us: int, graphs: float, order: list[str]):
    idle = IdleNs(cpu_work=late_us * US, unrecorded_work=20 * US, dependency=200 * US)
    launches = msgspec.structs.replace(LAUNCHES, graphs=graphs)
    assert fired(host_result([site(FORWARD, idle)], launches=launches)) == order


def slow(last_us: int, reason: str = "nothing_recorded", **changes: Any) -> dict[str, Any]:
    """Five steps. The recording begins in the first; the next three take 900 us; the last one is longer, with 300 us of
    idle time for the given reason."""
    lengths = [1_900 * US, *[900 * US] * 3, last_us * US]
    ends = [sum(lengths[: i + 1]) for i in range(5)]
    idle = [IdleNs()] * 4 + [IdleNs(**{reason: 300 * US})]
    steps = [HostStep(str(i), ends[i] - lengths[i], ends[i], idle[i], 1.0, 100) for i in range(5)]
    part = GrownPart(reason, reason.replace("_", " ").capitalize(), 300 * US)
    return {"steps": steps, "grown": [Grown("4", ends[3], ends[4], (last_us - 900) * US, [part])], **changes}


def test_where_a_card_names_the_pause_the_slow_step_is_not_told_again():
    """The slow step raises the mean by 80 us. If a pause explains less than that, something is left to look for."""
    for idle_us, shown in ((60, {"host_stops", "slow_steps"}), (70, {"host_stops"})):
        pause = Pause("unexplained", False, None, 1, 400 * US, idle_us * US, "2", 0, 400 * US)
        ids = {each.id for each in judged(host_result(**slow(1_300), pauses=[pause])).insights}
        assert ids & {"host_stops", "slow_steps"} == shown


def test_slow_steps_are_worth_what_they_lift_the_mean_by():
    insight = card(host_result(**slow(1_300)), "slow_steps")
    assert insight is not None
    assert (insight.gain_ns, insight.steps) == (80 * US, ["4"])
    assert plain(insight.why) == (
        "1 of 5 steps is slow. Step 4 takes 400 µs longer than usual (nothing recorded: 300 µs)."
    )
    assert card(host_result(**(slow(1_300) | {"grown": []})), "slow_steps") is None
    assert card(host_result(**slow(989)), "slow_steps") is None  # 9.9 % of the 900 us of the others
    assert card(host_result(**slow(990)), "slow_steps") is not None


@pytest.mark.parametrize(("other_us", "confidence"), [(1_150, Confidence.LOW), (1_250, Confidence.MEDIUM)])
def test_where_one_slow_step_takes_nearly_all_of_it_how_often_is_not_known(other_us: int, confidence: Confidence):
    """It takes 1000 us longer than usual. The step after it, still behind, takes 150 or 350 us longer."""
    lengths = [1_900 * US, *[900 * US] * 4, 1_900 * US, other_us * US]
    ends = list(itertools.accumulate(lengths))
    steps = [HostStep(str(i), ends[i] - lengths[i], ends[i], IdleNs(), 1.0, 100) for i in range(7)]
    part = GrownPart("nothing_recorded", "Nothing recorded", 150 * US)
    grown = [Grown(str(i), ends[i] - lengths[i], ends[i], lengths[i] - 900 * US, [part]) for i in (5, 6)]
    insight = card(host_result(steps=steps, grown=grown), "slow_steps")
    assert insight is not None
    assert (insight.steps, insight.confidence) == (["5", "6"], confidence)


@pytest.mark.parametrize(("judged_steps", "over"), [([0, 1, 2, 3, 4], 5), ([1, 2, 3, 4], 4), ([1, 3, 4], 3)])
def test_slow_steps_lift_the_mean_of_the_steps_that_are_not_left_out(judged_steps: list[int], over: int):
    nothing = Waste(None, 0.0, 0.0, 0.0)
    rows = JudgedRows(
        steps=judged_steps, sites=[], blocking=[], blocking_bubble_ns=0, copies=[], pauses=[], exchange_ns=0,
        communication=None, waste=LaunchWaste(None, None, nothing, nothing), obstacles=[], rates=None, waits=None,
        long_gaps=[], full_queue_ns=0, bucket_copies=0.0, bucket_late_ns=0, before_graphs_ns=0, host_functions_ns=0,
        several_devices=None, anomaly=None, observed_ns=0,
    )  # fmt: skip
    insight = card(host_result(**slow(1_300), judged=rows), "slow_steps")
    assert insight is not None
    assert insight.gain_ns == round(400 * US / over)


@pytest.mark.parametrize(("step", "late_us", "is_named"), [("4", 150, True), ("4", 149, False), ("3", 150, False)])
def test_a_slow_step_names_the_function_in_which_most_of_it_is(step: str, late_us: int, is_named: bool):
    gap = LongGap(step, 0, 200 * US, late_us * US, "frame", "train.py(90): save", None, False, False)
    gaps = LongGaps(FORWARD, 1, 1, late_us * US // 5, 0, 0, [gap])
    insight = card(host_result(**slow(1_300), long_gaps=[gaps]), "slow_steps")
    assert insight is not None
    assert insight.why.values.get("doing") == (text("train.py:90 save") if is_named else None)


@pytest.mark.parametrize(("step", "late_us", "compiles", "is_told"), [
    ("4", 200, True, True), ("4", 199, True, False), ("3", 200, True, False), ("4", 200, False, False),
])  # fmt: skip
def test_a_step_is_slow_because_torch_compile_works_again(step: str, late_us: int, compiles: bool, is_told: bool):
    """It takes 400 us longer than usual."""
    gap = LongGap(step, 0, 200 * US, late_us * US, "op", "compile_inner (dynamo_timed)", None, compiles, compiles)
    gaps = LongGaps(FORWARD, 1, 1, late_us * US // 5, 0, 0, [gap])
    insight = card(host_result(**slow(1_300), long_gaps=[gaps]), "slow_steps")
    assert insight is not None
    assert ("recompiles" in (insight.how or "")) == is_told
    assert ("torch.compile" in plain(insight.title)) == is_told


@pytest.mark.parametrize(
    ("places", "late_us", "shown"),
    [
        ({4, 7, 9, 11}, 150, {"long_stretches"}),
        ({4, 7, 9, 10}, 150, {"long_stretches", "slow_steps"}),  # usual steps wait as long
        ({4, 7, 9, 11}, 60, {"long_stretches", "slow_steps"}),
    ],
)
def test_long_waits_in_slow_steps_are_told_once(places: set[int], late_us: int, shown: set[str]):
    slow = some_slow({4: 600, 7: 450, 9: 350, 11: 500}, "nothing_recorded")
    gaps = [
        LongGap(str(place), 0, 900 * US, late_us * US, "nothing", None, None, False, False) for place in sorted(places)
    ]
    rows = [LongGaps(FORWARD, 4, 4, late_us * US, 0, 0, gaps, [WaitName(None, False, False, 4, 13 * late_us * US)])]
    sites = [site(FORWARD, late(late_us))]
    ids = {each.id for each in judged(host_result(sites, **slow, long_gaps=rows)).insights}
    assert ids & {"long_stretches", "slow_steps"} == shown


def compiling_in(*steps: str) -> list[LongGaps]:
    """Long waits in steps 4 and 7, in which torch.compile works in these steps."""
    gaps = [
        LongGap(step, 0, 900 * US, 400 * US, "op", "compile_inner", None, step in steps, True) for step in ("4", "7")
    ]
    return [LongGaps(FORWARD, 2, 2, 60 * US, 0, 0, gaps)]


@pytest.mark.parametrize(("compiling", "is_told"), [(["4", "7"], True), (["4"], False)])
def test_the_card_is_about_torch_compile_where_it_makes_all_slow_steps(compiling: list[str], is_told: bool):
    rows = compiling_in(*compiling)
    insight = card(host_result(**some_slow({4: 400, 7: 200}, "nothing_recorded"), long_gaps=rows), "slow_steps")
    assert insight is not None
    assert ("torch.compile" in plain(insight.title)) == is_told


@pytest.mark.parametrize(("compiling", "is_slow"), [(["4", "7"], True), (["4"], False), ([], False)])
def test_steps_that_compile_are_slow_although_they_are_as_long_as_each_other(compiling: list[str], is_slow: bool):
    host = host_result(**some_slow({4: 400, 7: 390}, "cpu_forward"), long_gaps=compiling_in(*compiling))
    assert (card(host, "slow_steps") is not None) == is_slow


@pytest.mark.parametrize(("compiling", "shown"), [(["4", "7"], "slow_steps"), (["4"], "recurring_steps")])
def test_a_loop_does_not_do_more_where_torch_compile_works(compiling: list[str], shown: str):
    recurring = RecurringWork(3, ["4", "7"], 300 * US, "_compile.compile_inner (dynamo_timed)", 1)
    slow = some_slow({4: 400, 7: 200}, "cpu_forward", steps=12)
    host = host_result(**slow, long_gaps=compiling_in(*compiling), recurring=recurring)
    ids = {each.id for each in judged(host, steps=12).insights}
    assert ids & {"slow_steps", "recurring_steps"} == {shown}


@pytest.mark.parametrize(
    ("part", "call", "how"),
    [("allocator", "cudaFree", True), ("allocator", "cudaHostAlloc", False), ("nothing_recorded", "cudaFree", False)],
)
def test_a_step_that_waits_for_the_allocator_is_told_how_to_keep_memory(part: str, call: str, how: bool):
    calls = [blocking(80 * US, call=call, kind="allocator", op=None, outer_op=None, source=None)]
    insight = card(host_result(**some_slow({4: 400}, part), blocking=calls), "slow_steps")
    assert insight is not None
    assert ("expandable_segments" in (insight.how or "")) == how


def some_slow(excess_us: dict[int, int], part: str, steps: int = 13) -> dict[str, Any]:
    """Steps of 900 us. Some take longer, and one part accounts for all of the excess."""
    lengths = [(900 + excess_us.get(i, 0)) * US for i in range(steps)]
    ends = list(itertools.accumulate(lengths))
    return {
        "steps": [HostStep(str(i), ends[i] - lengths[i], ends[i], IdleNs(), 1.0, 100) for i in range(steps)],
        "grown": [
            Grown(str(i), ends[i] - lengths[i], ends[i], excess * US, [GrownPart(part, part, excess * US)])
            for i, excess in sorted(excess_us.items(), key=lambda each: -each[1])
        ],
    }


@pytest.mark.parametrize(
    ("excess_us", "part", "is_slow"),
    [
        ({4: 300, 8: 290}, "kernel", False),  # an update every fourth step
        ({4: 300, 8: 290}, "cpu_optimizer", False),
        ({4: 300, 8: 200}, "kernel", True),  # two steps that differ from each other are chance
        ({4: 300}, "kernel", True),
        ({4: 300, 8: 200, 12: 250}, "cpu_forward", False),  # an evaluation, on batches that differ
        ({4: 300, 7: 200, 12: 250}, "cpu_forward", True),
        ({4: 300, 8: 290, 12: 300}, "nothing_recorded", True),  # a checkpoint, which need not stop the GPU
        ({4: 300, 8: 290, 12: 300}, "allocator", True),
    ],
)
def test_steps_that_do_more_are_not_slow(excess_us: dict[int, int], part: str, is_slow: bool):
    assert (card(host_result(**some_slow(excess_us, part)), "slow_steps") is not None) == is_slow


@pytest.mark.parametrize(
    ("part", "launches", "purpose", "server", "is_slow"),
    [
        ("nothing_recorded", 133, "inference", None, False),  # as much more work as time: the next window of a text
        ("nothing_recorded", 133, "training", None, True),
        ("nothing_recorded", 115, "inference", None, True),  # 1.16 times as long for each launch
        ("nothing_recorded", 116, "inference", None, False),
        ("kernel", 100, "training", None, True),
        ("kernel", 91, "training", None, True),
        ("kernel", 90, "training", None, False),
        ("kernel", 110, "training", None, False),  # a validation
        ("nothing_recorded", 110, "training", None, True),
        ("kernel", 100, "inference", None, False),  # a prompt between single tokens
        ("kernel", 100, "unknown", "vllm", False),
        ("nothing_recorded", 100, "inference", None, True),
        ("cpu_forward", 100, "inference", "vllm", True),
    ],
)
def test_a_step_that_computes_something_else_is_not_slow(
    part: str, launches: int, purpose: Purpose, server: Server | None, is_slow: bool
):
    steps = some_slow({4: 300}, part)
    steps["steps"][4] = msgspec.structs.replace(steps["steps"][4], launches=launches)
    job = JobKind(purpose=purpose, server=server)
    assert (card(host_result(**steps), "slow_steps", job) is not None) == is_slow


@pytest.mark.parametrize(("evaluates", "is_slow"), [((), True), ((1,), True), ((3,), False)])
def test_a_forward_pass_alone_is_no_slow_step(evaluates: tuple[int, ...], is_slow: bool):
    """It launches as much as the others, but with larger batches."""
    host = host_result(**some_slow({3: 300}, "kernel", steps=STEPS))
    ids = [each.id for each in judged(host, JobKind(purpose="training"), forward_only=evaluates).insights]
    assert ("slow_steps" in ids) == is_slow


@pytest.mark.parametrize(
    ("server", "outside_us", "shown"),
    [(None, 0, True), ("vllm", 0, False), ("vllm", 124, False), ("vllm", 125, True)],
)
def test_a_server_processes_prompts_in_the_steps_that_have_any(server: Server | None, outside_us: int, shown: bool):
    recurring = RecurringWork(4, ["4", "8"], 250 * US, "aten::mm", 20, outside_us * US)
    host = host_result(**some_slow({4: 300, 8: 200}, "kernel", steps=12), recurring=recurring)
    ids = {each.id for each in judged(host, JobKind(purpose="inference", server=server), steps=12).insights}
    assert ("recurring_steps" in ids) is shown


@pytest.mark.parametrize(
    ("recurs", "shown"),
    [
        (["4", "8"], {"recurring_steps"}),  # says what they do
        (["3", "7"], {"slow_steps", "recurring_steps"}),  # other steps
    ],
)
def test_where_a_card_says_what_slow_steps_do_more_they_are_not_told_again(recurs: list[str], shown: set[str]):
    recurring = RecurringWork(every=4, steps=recurs, excess_ns=250 * US, name="aten::copy_", more=20)
    host = host_result(**some_slow({4: 300, 8: 200}, "memory", steps=12), recurring=recurring)
    ids = {each.id for each in judged(host, steps=12).insights}
    assert ids & {"slow_steps", "recurring_steps"} == shown


@pytest.mark.parametrize(
    ("excess_us", "severity"), [({4: 3_000}, Severity.MINOR), ({4: 3_000, 7: 2_000}, Severity.MAJOR)]
)
def test_a_single_slow_step_says_nothing_of_how_often_one_comes(excess_us: dict[int, int], severity: Severity):
    insight = card(host_result(**some_slow(excess_us, "nothing_recorded")), "slow_steps")
    assert insight is not None
    assert (insight.gain_fraction > 0.15, insight.severity) == (True, severity)


@pytest.mark.parametrize(("paused", "left_us", "severity"), [("4", 40, Severity.MINOR), ("2", 120, Severity.WARNING)])
def test_slow_steps_are_worth_what_no_card_names_in_them(paused: str, left_us: int, severity: Severity):
    pause = Pause("unexplained", False, None, 2, 400 * US, 80 * US, paused, 0, 400 * US, steps=2)
    host = host_result(**some_slow({4: 860, 8: 700}, "nothing_recorded"), pauses=[pause])
    insight = card(host, "slow_steps")
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (left_us * US, severity)


def test_without_launch_calls_no_step_is_called_slow():
    """Steps then end with their marks on the host, which in some of them waits for room in the queue."""
    unlinked = msgspec.structs.replace(LAUNCHES, unlinked=round(LAUNCHES.activities * 5))
    assert card(host_result(**slow(1_300), launches=unlinked), "slow_steps") is None


@pytest.mark.parametrize("reason", ["data_loading", "tail"])
def test_a_step_that_waits_for_its_batch_or_for_the_end_is_not_slow(reason: str):
    assert card(host_result(**slow(1_300, reason)), "slow_steps") is None  # only 100 of the 400 us are the step's own
    insight = card(host_result(**slow(1_500, reason)), "slow_steps")
    assert insight is not None
    assert insight.gain_ns == 60 * US  # the other 300 of 600 us count, in one of five steps
    assert plain(insight.why) == "1 of 5 steps is slow. Step 4 takes 600 µs longer than usual."


def two_gpus(concurrency: float, blockers: list[Blocker] | None = None) -> SeveralDevices:
    return SeveralDevices([0, 1], concurrency, [300 * US, 300 * US], round(600 * US / concurrency), blockers or [])


def test_gpus_in_series_get_a_process_each():
    blocker = Blocker("aten::_coalesce", 0, 1, 200 * US)
    insight = card(host_result(several_devices=two_gpus(1.0, [blocker])), "serial_devices")
    assert insight is not None
    assert insight.gain_ns == 300 * US
    assert plain(insight.why) == (
        "On average 1 of 2 GPUs work at a time; aten::_coalesce keeps GPU 1 idle for 200 µs a step."
    )


@pytest.mark.parametrize(("code", "others"), [("replicas", "other GPUs"), ("cpu_ops", "other ranks")])
def test_the_gpus_of_one_process_are_no_ranks(code: str, others: str):
    host = host_result([site(FORWARD, IdleNs(collective_wait=400 * US))], bound=Bound.COMMUNICATION)
    judgement = judged(host, JobKind(purpose="training", evidence=(JobEvidence(code, 1, "Broadcast"),)))
    assert plain(judgement.verdict.text).endswith(f"waits for {others}.")


@pytest.mark.parametrize(
    ("purpose", "union_us", "title", "waits_us", "verdict"),
    [
        ("training", 950, "Run one process per GPU", 400, False),
        ("inference", 950, "Let the GPUs work at the same time", 50, True),
        ("inference", 900, "Let the GPUs work at the same time", 100, False),
    ],
)
def test_a_model_that_is_split_over_gpus_does_not_wait_for_the_calls_during_which_another_one_works(
    purpose: Purpose, union_us: int, title: str, waits_us: int, verdict: bool
):
    """A step of 1 ms. In training each GPU may have a copy of the model, and a call for one holds up the other."""
    several = SeveralDevices([0, 1], 1.0, [500 * US, (union_us - 500) * US], union_us * US, [])
    sites = [site(FORWARD, IdleNs(blocking_call=400 * US))]
    host = host_result(sites, blocking=[blocking(400 * US)], several_devices=several)
    judgement = judged(host, JobKind(purpose=purpose))
    gains = {each.id: (plain(each.title), each.gain_ns) for each in judgement.insights}
    assert gains["serial_devices"] == (title, (union_us - 500) * US)
    assert gains["sync_bubble"][1] == waits_us * US
    assert ("one after another" in judgement.verdict.text.template) is verdict


@pytest.mark.parametrize(("purpose", "gain_us"), [("training", 300), ("inference", 200), ("unknown", 300)])
def test_gpus_that_share_layers_save_no_more_than_an_instant_gpu(purpose: Purpose, gain_us: int):
    """An instant GPU saves 200 of 1,000 us. The CPU launches all layers for each GPU then, unlike copies of a model."""
    whatif = replayed()
    sensitivity = msgspec.structs.replace(whatif.sensitivity, device=STEP - 200 * US)
    whatif = msgspec.structs.replace(whatif, sensitivity=sensitivity)
    host = host_result(several_devices=two_gpus(1.0), whatif=whatif)
    insight = card(host, "serial_devices", JobKind(purpose=purpose))
    assert insight is not None
    assert insight.gain_ns == gain_us * US


@pytest.mark.parametrize(("purpose", "prints"), [("training", True), ("inference", False), ("unknown", False)])
def test_only_a_training_has_a_loss_to_print(purpose: Purpose, prints: bool):
    sites = [site(FORWARD, IdleNs(blocking_call=100 * US))]
    insight = card(host_result(sites, blocking=[blocking(100 * US)]), "sync_bubble", JobKind(purpose=purpose))
    assert insight is not None
    assert ("loss" in (insight.how or "")) is prints


def test_gpus_that_work_at_the_same_time_are_not_in_series():
    assert card(host_result(several_devices=two_gpus(1.25)), "serial_devices") is not None
    assert card(host_result(several_devices=two_gpus(1.26)), "serial_devices") is None
    assert card(host_result(), "serial_devices") is None


# Information.


def test_a_cpu_that_waits_for_room_is_left_alone():
    judgement = judged(host_result(full_queue_ns=600 * US))
    insight = next(each for each in judgement.insights if each.id == "back_pressure")
    assert (insight.gain_ns, insight.later_ns, insight.severity) == (0, None, Severity.MINOR)
    assert plain(judgement.verdict.text) == "The GPU sets the pace: it works for 100 % of a step of 1.0 ms."
    assert judgement.headlines["overview"].card is None, "there is nothing to do"
    assert len(plain(insight.why)) <= 160


def test_a_full_queue_explains_no_idle_gpu():
    assert card(host_result([site(FORWARD, late(300))], full_queue_ns=600 * US), "back_pressure") is None
    for share, fires in ((49, False), (50, True)):
        short = host_result(full_queue_ns=share * US)
        assert (card(short, "back_pressure") is not None) == fires


def test_missing_launches_are_to_be_recorded():
    insight = card(host_result([site("unknown", IdleNs(unknown=50 * US))]), "trace_quality")
    assert insight is not None
    assert (insight.gain_ns, plain(insight.title)) == (0, "Record the launches after a warm-up")
    alone = msgspec.structs.replace(LAUNCHES, calls=0.0, unlinked=400)
    insight = card(host_result([site("unknown", IdleNs(unknown=50 * US))], launches=alone), "trace_quality")
    assert insight is not None
    assert plain(insight.title) == "Record the launches too"
    assert card(host_result([site("unknown", IdleNs(unknown=49 * US))]), "trace_quality") is None
    assert card(host_result([site("unknown", IdleNs(tail=500 * US))]), "trace_quality") is None


def test_where_most_work_is_not_recorded_no_gain_rests_on_the_rest():
    def found(unrecorded_us: int) -> list[str]:
        return fired(host_result([site(FORWARD, IdleNs(cpu_work=100 * US, unrecorded_work=unrecorded_us * US))]))

    assert found(100) == ["launch_graphs", "unrecorded_work"]
    assert found(101) == ["unrecorded_work"]


def test_a_cold_start_shows_no_gain():
    def found(once_us: int, steps: int = 2) -> list[str]:
        host = host_result([site(FORWARD, late(100))])
        return [each.id for each in judged(host, once_ns=once_us * US, steps=steps).insights]

    assert "launch_graphs" in found(500)
    assert "launch_graphs" not in found(501)
    assert "launch_graphs" in found(501, steps=3)


def test_work_that_is_not_recorded_is_to_be_recorded_and_no_gain():
    host = host_result([site(FORWARD, IdleNs(unrecorded_work=50 * US))])
    insight = card(host, "unrecorded_work")
    assert insight is not None
    assert (insight.gain_ns, insight.severity) == (0, Severity.MINOR)
    assert fired(host) == ["unrecorded_work"]
    assert fired(host_result([site(FORWARD, IdleNs(unrecorded_work=49 * US))])) == []
    waits = host_result([site(FORWARD, IdleNs(unrecorded_work=20 * US, dependency=30 * US))])
    assert fired(waits) == ["unrecorded_work"]
    assert plain(insight.title) == "Check for other processes on the GPU"
    of_graphs = card(host, "unrecorded_work", JobKind(execution="graphs"))
    assert of_graphs is not None
    assert plain(of_graphs.title) == "Record the kernels of graphs"
    recorded = card(host, "unrecorded_work", JobKind(execution="graphs", graph_share=0.9))
    assert recorded is not None
    assert plain(recorded.title) == "Record the GPU's work after a warm-up"
    some = host_result(
        [site(FORWARD, IdleNs(unrecorded_work=50 * US))], launches=msgspec.structs.replace(LAUNCHES, graphs=1.0)
    )
    in_some = card(some, "unrecorded_work")
    assert in_some is not None
    assert in_some.title == recorded.title


@pytest.mark.parametrize(("works_us", "cards"), [(0, ["unrecorded_work"]), (9, ["unrecorded_work"]), (11, [])])
def test_a_wait_may_be_for_another_gpu_as_long_as_that_works(works_us: int, cards: list[str]):
    """A library may have set one byte on a GPU that the process does not use."""
    waits = host_result([site(FORWARD, IdleNs(unrecorded_work=30 * US, dependency=30 * US))])
    busy_ns = [works_us * US for _ in waits.devices[0].busy_ns]
    other = msgspec.structs.replace(waits.devices[0], device=1, busy_ns=busy_ns)
    assert fired(msgspec.structs.replace(waits, devices=[*waits.devices, other])) == cards


@pytest.mark.parametrize(("waits_us", "leads"), [(500, True), (499, False)])
def test_where_launched_work_mostly_waits_for_unrecorded_work_that_comes_first(waits_us: int, leads: bool):
    """Whatever other cards gain: they are about the rest of the step."""
    host = host_result(
        [site(FORWARD, IdleNs(cpu_work=200 * US, unrecorded_work=50 * US, dependency=(waits_us - 50) * US))]
    )
    judgement = judged(host)
    cards = [(each.id, each.severity) for each in judgement.insights]
    headline, answer = judgement.headlines["overview"], plain(judgement.titles["host"]["answer"])
    if not leads:
        assert cards == [("launch_graphs", Severity.MAJOR), ("unrecorded_work", Severity.MINOR)]
        assert (headline.card, judgement.verdict.bound) == ("launch_graphs", host.bound)
        return
    sentence = "For 500 µs of a step of 1.0 ms, launched work waits while nothing is recorded on the GPU"
    assert cards == [("unrecorded_work", Severity.MINOR), ("launch_graphs", Severity.MINOR)]
    assert (headline.card, judgement.verdict.bound) == ("unrecorded_work", Bound.UNKNOWN)
    for verdict in (judgement.verdict.text, headline.verdict, judgement.headlines["host"].verdict):
        assert plain(verdict).startswith(sentence)
    assert answer.startswith(f"No. {sentence}")
    assert judgement.could_be is None


# The verdict.


@pytest.mark.parametrize(
    ("host", "text"),
    [
        (host_result([site(FORWARD, late(300))]),
         "The GPU starves for 30 % of the step: kernels are not launched in time."),
        (host_result([site(FORWARD, IdleNs(launch_latency=150 * US, cpu_work=150 * US))]),
         "The GPU is idle for 30 % of the step, most of it between launch calls and the start of their work."),
        (host_result([site(FORWARD, IdleNs(launch_latency=149 * US, cpu_work=151 * US))]),
         "The GPU starves for 30 % of the step: kernels are not launched in time."),
        (host_result([site(FORWARD, IdleNs(nothing_recorded=150 * US, cpu_work=150 * US))]),
         "The GPU is idle for 30 % of the step, most of it while the CPU is in no op or call."),
        (host_result([site(FORWARD, IdleNs(nothing_recorded=149 * US, cpu_work=151 * US))]),
         "The GPU starves for 30 % of the step: kernels are not launched in time."),
        (host_result([site(FORWARD, late(300), bubble=200 * US)]),
         "The GPU is idle for 20 % of the step because blocking calls make the CPU wait for it."),
        (host_result([site(FORWARD, IdleNs(dependency=300 * US))]),
         "The GPU is idle for 30 % of the step: its next work is launched, but waits for another stream, "
         "another GPU or an event."),
        (host_result([site(FORWARD, IdleNs(collective_wait=300 * US))]),
         "The GPU is idle for 30 % of the step because it waits for other ranks."),
        (host_result([site("unknown", IdleNs(unknown=100 * US, tail=60 * US, unrecorded_work=140 * US))]),
         "For 140 µs of a step of 1.0 ms, launched work waits while nothing is recorded on the GPU: usually another "
         "process uses it."),
        (host_result([site("unknown", IdleNs(unknown=300 * US))]),
         "The GPU is idle for 30 % of the step; the launches that would tell why are not in this trace."),
        (host_result([site("unknown", IdleNs(tail=300 * US))]),
         "The GPU is idle for 30 % of the step because no work follows in this recording."),
        (host_result([site(FORWARD, IdleNs(data_loading=140 * US, cpu_work=100 * US, dependency=60 * US))]),
         "The GPU is idle for 30 % of the step for several reasons: waiting for input data (14 %), late kernel "
         "launches (10 %)."),
        (host_result([site(FORWARD, IdleNs(cpu_work=90 * US))]),
         "The GPU sets the pace: it works for 91 % of a step of 1.0 ms."),
    ],
)  # fmt: skip
def test_the_verdict_names_the_largest_cause(host: Any, text: str):
    verdict = judged(host).verdict
    assert (verdict.bound, plain(verdict.text)) == (host.bound, text)
    assert judged(host).headlines["overview"].verdict == judged(host).headlines["host"].verdict == verdict.text


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (late(200), "The GPU starves for 20 % of the step: kernels are not launched in time."),
        (IdleNs(blocking_call=200 * US),
         "The GPU is idle for 20 % of the step because blocking calls make the CPU wait for it."),
        (IdleNs(collective_wait=200 * US), "The GPU is idle for 20 % of the step because it waits for other ranks."),
    ],
)  # fmt: skip
def test_the_verdict_counts_no_idle_time_of_other_causes(cause: IdleNs, text: str):
    host = host_result([site(FORWARD, cause), site("data_loading", IdleNs(data_loading=150 * US))])
    assert plain(judged(host).verdict.text) == text


@pytest.mark.parametrize(
    ("late_us", "rest"),
    [
        ((300, 300, 300, 300), "."),
        ((160, 160, 720, 160), "."),  # more than half of the mean in the others
        ((0, 0, 1200, 0), ", mostly in step 2. Usual steps take 1.0 ms."),
        ((100, 100, 500, 500), "."),
        ((0, 500, 0, 500, 0, 500, 0, 500, 0), "."),  # two marks for each batch
        ((10, 10, 10, 600, 600), ", mostly in 2 of 5 steps. Usual steps take 1.0 ms."),
    ],
)
def test_the_verdict_names_the_few_steps_in_which_most_launches_are_late(late_us: tuple[int, ...], rest: str):
    steps = [
        HostStep(str(place), place * STEP, (place + 1) * STEP, IdleNs(cpu_work=each * US))
        for place, each in enumerate(late_us)
    ]
    idle = [IdleNs(cpu_work=each * US) for each in late_us]
    host = host_result([site(FORWARD, late(300))], steps=steps)
    devices = [msgspec.structs.replace(host.devices[0], steps=idle)]
    verdict = judged(msgspec.structs.replace(host, devices=devices), steps=len(late_us)).verdict
    assert plain(verdict.text) == "The GPU starves for 30 % of the step: kernels are not launched in time" + rest


def test_of_several_losses_communication_is_one():
    segments = [Segment("kernel", "Kernel", 350 * US, "kernel", False, True),
                Segment("communication", "Communication", 250 * US, "comm", False, True)]  # fmt: skip
    idle = [site(FORWARD, IdleNs(data_loading=150 * US, cpu_work=200 * US, dependency=50 * US))]
    host = host_result(idle, segments=segments, bound=Bound.MIXED)
    assert plain(judged(host).verdict.text) == (
        "For 250 µs of the step the GPU does nothing but communicate, and for 40 % of it is idle; the largest reason: "
        "late kernel launches (20 %)."
    )


def test_one_stop_that_holds_most_of_the_idle_time_is_the_verdict():
    def said(*pauses: Pause) -> str:
        sites = [site(FORWARD, IdleNs(cpu_work=151 * US, nothing_recorded=149 * US))]
        return plain(judged(host_result(sites, pauses=list(pauses))).verdict.text)

    def stopped(count: int, total_us: int, idle_us: int) -> Pause:
        return Pause("unexplained", False, None, count, total_us * US, idle_us * US, "2", 2 * STEP, 2 * STEP + 650 * US)

    many = "The GPU starves for 30 % of the step: kernels are not launched in time."
    one = "The GPU is idle for 30 % of the step, most of it because of one pause of the CPU, 650 µs in step 2."
    assert said(stopped(1, 650, 150)) == one  # 600 of 1200 us of idle time
    assert said(stopped(1, 650, 149)) == many
    assert said(stopped(2, 700, 163)) == one  # the other pause leaves at most 50 us
    several = "The GPU is idle for 30 % of the step, most of it in {} pauses of the CPU of up to 650 µs."
    assert said(stopped(2, 700, 162)) == several.format(2)
    assert said(stopped(3, 900, 150)) == several.format(3)
    assert said(stopped(3, 900, 149)) == many


def test_one_thing_in_which_the_cpu_is_for_most_of_the_idle_time_is_the_verdict():
    def text_of(ms: float) -> str:
        rows = [
            LongGaps(
                FORWARD,
                1,
                1,
                int(ms * 250) * US,
                0,
                0,
                [long_gap(CROP, ms)],
                [WaitName(CROP, False, False, 1, int(ms * 1000) * US)],
            )
        ]
        return plain(judged(host_result([site(FORWARD, late(300))], long_gaps=rows)).verdict.text)

    assert text_of(0.599) == "The GPU starves for 30 % of the step: kernels are not launched in time."
    assert text_of(0.6) == (
        "The GPU is idle for 30 % of the step, most of it while the CPU is in data.py:9 crop."
    )  # half of the 1.2 ms that the four steps are idle


@pytest.mark.parametrize(
    ("stack", "memory", "why"),
    [
        (True, False, "Recorded with call stacks, which slow the CPU."),
        (False, True, "Recorded with memory profiling, which slows the CPU."),
        (True, True, "Recorded with call stacks and memory profiling, which slow the CPU."),
    ],
)
def test_what_slowed_the_cpu_is_said(stack: bool, memory: bool, why: str):
    host = host_result([site(FORWARD, late(600))], with_stack=stack, with_memory=memory)
    verdict = judged(host).verdict
    assert (verdict.confidence, plain(verdict.why_confidence)) == (Confidence.MEDIUM, why)


@pytest.mark.parametrize(
    ("plain_us", "bound", "share"),
    [(600, Bound.GPU, "100 %"), (650, Bound.GPU, "92.3 %"), (700, Bound.HOST, None), (1_000, Bound.HOST, None)],
)
def test_a_cpu_that_only_the_profiler_slows_does_not_set_the_pace(plain_us: int, bound: Bound, share: str | None):
    """The GPU works for 600 us of a step of 1 ms."""
    found = judged(host_result([site(FORWARD, late(400))]), pace=StepPace(STEP, 20, plain_us * US, 40))
    assert found.verdict.bound is bound
    sentences = [plain(found.verdict.text), plain(found.titles["host"]["answer"])]
    if share is None:
        assert sentences[1] == "Yes. The GPU waits 400 µs a step (40 %) for the CPU to launch its next kernels."
        return
    without = f"Without the profiler a step takes {plain_us} µs, and the GPU works for {share} of"
    only = "The CPU sets the pace only in recorded steps, which take 1.0 ms."
    assert sentences == [f"{without} that. {only}", f"Only in recorded steps. {without} it."]
    assert found.verdict.confidence is Confidence.MEDIUM
    assert [card.id for card in found.insights if card.view == "host" and card.gain_ns > (plain_us - 600) * US] == []


def test_steps_that_differ_by_chance_say_nothing_of_the_profiler():
    pace = StepPace(STEP, 20, 600 * US, 40, differ=False)
    assert judged(host_result([site(FORWARD, late(400))]), pace=pace).verdict.bound is Bound.HOST


def test_of_several_gpus_the_verdict_names_the_one():
    host = host_result([site(FORWARD, late(300))])
    host = msgspec.structs.replace(host, devices=[*host.devices, msgspec.structs.replace(host.devices[0], device=1)])
    assert plain(judged(host).verdict.text) == "GPU 0 starves for 30 % of the step: kernels are not launched in time."


@pytest.mark.parametrize(
    ("host", "confidence"),
    [
        (host_result([site(FORWARD, late(600))]), Confidence.HIGH),
        (host_result([site(FORWARD, late(150))]), Confidence.MEDIUM),  # half of this would not be worth a mention
        (host_result([site(FORWARD, late(600))], with_stack=True), Confidence.MEDIUM),
        (host_result(), Confidence.HIGH),
        (host_result([site(FORWARD, late(600))], launches=msgspec.structs.replace(LAUNCHES, unlinked=20)),
         Confidence.LOW),
        (host_result([site(FORWARD, late(600))], launches=msgspec.structs.replace(LAUNCHES, unlinked=19)),
         Confidence.HIGH),
        (host_result([site(FORWARD, late(150)), site("unknown", IdleNs(data_loading=120 * US, unknown=90 * US))]),
         Confidence.MEDIUM),
    ],
)  # fmt: skip
def test_how_sure_a_verdict_is(host: Any, confidence: Confidence):
    assert judged(host).verdict.confidence is confidence


def test_the_host_view_opens_with_what_the_host_can_do():
    host = host_result([site(FORWARD, late(300))])
    headline = judged(host).headlines["host"]
    assert headline.action is not None
    assert plain(headline.action) == "Launch the model as a CUDA graph: up to 300 µs a step (30 %)."
    assert judged(host).sidebar["host"].share == 0.3
    assert judged(host_result()).headlines["host"].action is None


def test_without_a_gpu_there_is_no_share():
    host = msgspec.structs.replace(host_result(), device=None, devices=[], bound=Bound.UNKNOWN)
    assert judged(host).sidebar["host"].share is None
