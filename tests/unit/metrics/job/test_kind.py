"""Which kind of job a recording shows."""

from __future__ import annotations

import pytest
from msgspec.structs import astuple

from tb_steptime.metrics.job.device import where_it_runs
from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.kind import JobKind, job_kind
from tb_steptime.metrics.job.purpose import MANY
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Device, Job, Trace
from tests.drawn.cards import judged
from tests.drawn.timeline import A100, timeline


def line(trace: Trace) -> str:
    return plain(judged(trace).job.line)


def test_a_step_of_an_eager_training_on_one_gpu_of_eight_ranks():
    trace = timeline(
        """
        step      | 00000000000000000000 |
        op        | .ll................. |
        op engine | ......bbbb.......... |
        user Optimizer.step#SGD.step | ............oo...... |
        runtime   | .k.................. |
        kernel 7  | ....kkkkkkkkkkkkk... |""",
        names={"b": "autograd::engine::evaluate_function: AddmmBackward0", "l": "aten::addmm"},
        devices={0: A100},
        job=Job(rank=3, world_size=8),
    )
    assert job_kind(trace) == JobKind(
        purpose="training",
        execution="eager",
        compiled_share=0.0,
        graph_share=0.0,
        device="gpu",
        vendor="nvidia",
        ranks="many",
        rank=3,
        world_size=8,
        evidence=(
            JobEvidence("autograd_nodes", 1),
            JobEvidence("optimizer_steps", 1, "Optimizer.step#SGD.step"),
            JobEvidence("device_activities", 1),
            JobEvidence("world_size", 8),
        ),
        optimizer="SGD",
    )
    assert line(trace) == "training · eager · NVIDIA A100-SXM4-80GB · rank 3 of 8"


@pytest.mark.parametrize(("device", "named"), [("", "AMD GPU"), ("AMD Instinct MI300X", "AMD Instinct MI300X")])
def test_a_gpu_without_a_name_is_known_by_its_calls(device, named):
    trace = timeline(
        "runtime | k... |\nkernel 7 | .kkk |", calls={"k": "hipLaunchKernel"}, devices={0: Device(0, device)}
    )
    assert line(trace) == f"eager · {named}"


@pytest.mark.parametrize(("layers", "purpose"), [(MANY, "inference"), (MANY - 1, "unknown")])
def test_layers_without_gradients_are_an_inference_where_they_are_many(layers, purpose):
    trace = timeline(f"op | {'a.' * layers} |", names={"a": "aten::addmm"})
    assert job_kind(trace).purpose == purpose


@pytest.mark.parametrize("traced", ["autograd::engine::evaluate_function: AddmmBackward0", "aten::threshold_backward"])
@pytest.mark.parametrize(
    ("compiler", "kind"),
    [("compile_fx_inner (dynamo_timed)", ("inference", "compiled")), ("my_function", ("training", "mixed"))],
)
def test_what_torch_compile_traces_is_no_training(traced: str, compiler: str, kind: tuple[str, str]):
    trace = timeline(
        """
        op | ccccccccccccccccllrrrrrrrrrrrrr |
        op | .bb.a.a.a.a.a.a...a.a.a.a...... |""",
        names={
            "c": compiler, "b": traced, "a": "aten::addmm", "l": "TorchDynamo Cache Lookup",
            "r": "Torch-Compiled Region: 0/0",
        },
    )  # fmt: skip
    found = job_kind(trace)
    assert (found.purpose, found.execution) == kind


def test_a_recording_that_ends_before_the_first_gradient_is_of_a_training():
    trace = timeline(
        f"user Optimizer.zero_grad#SGD.zero_grad | zz{'..' * MANY} |\nop | ..{'a.' * MANY} |", names={"a": "aten::mm"}
    )
    kind = job_kind(trace)
    assert kind.purpose == "training"
    assert kind.evidence[0] == JobEvidence("optimizer_steps", 1, "Optimizer.zero_grad#SGD.zero_grad")


@pytest.mark.parametrize(
    "gradient",
    [
        "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_kernel",
        "void at::native::vectorized_elementwise_kernel<4, masked_scale_kernel<bool, float, float>(float)>(int)",
    ],
)
def test_without_ops_the_names_of_kernels_show_a_training(gradient: str):
    trace = timeline("kernel 7 | aa.bbb |", names={"a": "ampere_sgemm_128x64_nn", "b": gradient})
    assert (job_kind(trace).purpose, job_kind(trace).evidence[0]) == (
        "training",
        JobEvidence("backward_kernels", 1, gradient),
    )


def test_a_transposed_convolution_is_no_training():
    """Its forward pass runs what is the gradient of the input in another convolution."""
    data = "sm80_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_kernel"
    trace = timeline("kernel 7 | bbb |", names={"b": data})
    assert job_kind(trace).purpose != "training"


#: How kernels are launched: k in compiled code, t as a generated kernel, g with a graph, and e in none of these ways.
LAUNCHES = """
    op       | ccccccccccc....... |
    runtime  | ..k...t.......e.g. |
    kernel 7 | {} |"""


@pytest.mark.parametrize(
    ("kernels", "execution"),
    [
        ("....kkkkkkkkkkkkee", "compiled"),
        ("....kkkkkkkkkee...", "compiled"),
        ("....kkkkkkkkkeee..", "mixed"),
        (".......tttteeeegg.", "mixed"),
        ("..............eggg", "mixed"),
        ("..............eeee", "eager"),
        ("...........kgggggg", "graphs"),
    ],
)
def test_what_makes_four_fifths_of_kernel_time_is_how_the_job_runs(kernels, execution):
    trace = timeline(
        LAUNCHES.format(kernels),
        names={"c": "Torch-Compiled Region: 0/0", "t": "triton_poi_fused_add_0"},
        calls={"g": "cudaGraphLaunch"},
    )
    assert job_kind(trace).execution == execution


@pytest.mark.parametrize(("kernels", "execution"), [("tteee", "unknown"), ("tttee", "compiled")])
def test_without_launches_a_few_names_of_inductor_are_not_the_whole_job(kernels, execution):
    trace = timeline(f"kernel 7 | {kernels} |", names={"t": "triton_poi_fused_add_0"})
    assert job_kind(trace).execution == execution


@pytest.mark.parametrize(("launches", "execution"), [(3, "graphs"), (2, "eager")])
def test_graphs_whose_kernels_are_not_recorded_are_known_by_their_launches(launches, execution):
    trace = timeline(
        f"""
        runtime  | {"g." * launches}k...... |
        kernel 7 | {".." * launches}.kk.... |""",
        calls={"g": "cudaGraphLaunch"},
    )
    assert (job_kind(trace).execution, job_kind(trace).graph_share) == (execution, None if launches > 2 else 0.0)


def test_collectives_are_no_work_that_is_launched_in_one_way_or_another():
    trace = timeline(
        LAUNCHES.format("....kkkkk.........") + "\n    nccl 8 | .....eeeeeeeeeeeee |",
        names={"c": "CompiledFunction"},
    )
    kind = job_kind(trace)
    assert (kind.execution, kind.compiled_share, kind.ranks) == ("compiled", 1.0, "many")


AMD = Device(0, "AMD Radeon Graphics")
ON_DEVICE = JobEvidence("device_activities", 1)


@pytest.mark.parametrize(
    ("drawing", "names", "devices", "expected"),
    [
        ("op | a |", {"a": "aten::addmm"}, {}, ("cpu", None, [])),
        ("op | a |", {"a": "aten::addmm"}, {0: A100}, ("unknown", None, [])),
        (
            "op | a |",
            {"a": "aten::mkldnn_convolution"},
            {0: A100},
            ("cpu", None, [JobEvidence("cpu_ops", 1, "aten::mkldnn_convolution")]),
        ),
        (
            "op | ab |",
            {"a": "aten::cudnn_is_acceptable", "b": "aten::mkldnn_rnn_layer"},
            {},
            ("cpu", None, [JobEvidence("cpu_ops", 1, "aten::mkldnn_rnn_layer")]),
        ),
        ("runtime | a |", {}, {}, ("gpu", "nvidia", [JobEvidence("runtime_calls", 1, "cudaLaunchKernel")])),
        ("user nccl:all_reduce | a |", {}, {}, ("gpu", None, [JobEvidence("gpu_ops", 1, "nccl:all_reduce")])),
        ("kernel 7 | a |", {}, {0: AMD}, ("gpu", "amd", [ON_DEVICE])),
        ("kernel 7 | a |", {}, {0: Device(0, "MTIA")}, ("gpu", "other", [ON_DEVICE])),
    ],
)  # fmt: skip
def test_where_it_runs(drawing, names, devices, expected):
    assert astuple(where_it_runs(timeline(drawing, names=names, devices=devices))) == expected


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("A100-SXM4-40GB", "nvidia"),
        ("Tesla-V100-SXM2", "nvidia"),
        ("V100", "nvidia"),
        ("Iluvatar BI-V150", "other"),
        ("MR-V100", "other"),
        ("MetaX C550", "other"),
        ("MTT S4000", "other"),
        ("AMD Instinct MI300X", "amd"),
    ],
)
def test_the_maker_of_a_gpu(name, vendor):
    assert where_it_runs(timeline("kernel 7 | a |", devices={0: Device(0, name)})).vendor == vendor


@pytest.mark.parametrize(("labels_gpus", "device"), [(False, "cpu"), (True, "unknown")])
def test_a_profiler_that_found_a_gpu_may_not_have_been_asked_to_record_it(labels_gpus, device):
    assert where_it_runs(timeline("op | aaaa |", job=Job(labels_gpus=labels_gpus))).device == device


@pytest.mark.parametrize(
    ("call", "device"), [("cudaGetDeviceCount", "cpu"), ("cudaDeviceSynchronize", "cpu"), ("cudaLaunchKernel", "gpu")]
)
def test_calls_that_bring_a_listed_gpu_no_work_show_that_ops_run_on_the_cpu(call, device):
    assert where_it_runs(timeline("op | a |\nruntime | c |", calls={"c": call}, devices={0: A100})).device == device


@pytest.mark.parametrize(
    ("drawing", "job", "ranks", "end"),
    [
        ("op | a |", Job(), "one", "eager · CPU"),
        ("op | a |", Job(rank=0), "unknown", "eager · CPU"),
        ("op | a |", Job(rank=1), "many", "eager · CPU · several ranks"),
        ("op | a |", Job(world_size=1), "one", "eager · CPU"),
        ("op | a |", Job(world_size=2), "many", "eager · CPU · 2 ranks"),
        ("user gloo:all_reduce | a |\nop | a |", Job(), "many", "eager · CPU · several ranks"),
    ],
)
def test_ranks_are_as_the_file_says_or_as_collectives_show(drawing, job, ranks, end):
    trace = timeline(drawing, job=job)
    assert (job_kind(trace).ranks, line(trace)) == (ranks, end)


@pytest.mark.parametrize(
    ("op", "user", "job", "ranks"),
    [
        ("Broadcast", "range", Job(), "one"),
        ("BroadcastBackward", "range", Job(), "one"),
        ("aten::broadcast_tensors", "range", Job(), "many"),
        ("Broadcast", "nccl:all_reduce", Job(), "many"),
        ("Broadcast", "range", Job(rank=0), "many"),
        ("Broadcast", "range", Job(world_size=2), "many"),
    ],
)
def test_copies_of_a_model_on_the_gpus_of_one_process_are_no_ranks(op, user, job, ranks):
    trace = timeline(
        f"op | b |\nuser {user} | r |\nruntime | k.. |\nkernel 7 | .nn |",
        names={"b": op, "n": "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)"},
        job=job,
    )
    assert job_kind(trace).ranks == ranks


@pytest.mark.parametrize(
    ("second", "kernel", "rank", "ranks"),
    [
        ("main", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", None, "one"),
        ("other", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", None, "many"),  # a merged file
        (
            "main",
            "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            None,
            "many",
        ),  # a split model
        ("main", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, "many"),
    ],
)
def test_a_thread_that_broadcasts_on_several_gpus_copies_a_model(
    second: str, kernel: str, rank: int | None, ranks: str
):
    trace = timeline(
        f"""
        runtime main     | k.... |
        runtime {second} | .l... |
        nccl 7           | ..kk. |
        nccl 7 gpu1      | ..ll. |""",
        names={"k": kernel, "l": kernel},
        job=Job(rank=rank),
    )
    assert job_kind(trace).ranks == ranks


def test_what_shows_the_kind_is_said_with_numbers():
    trace = timeline(
        LAUNCHES.format("....kkkkttttteeegg"),
        names={"c": "Torch-Compiled Region: 0/0", "t": "triton_poi_fused_add_0"},
        calls={"g": "cudaGraphLaunch"},
    )
    job_text = judged(trace).job
    assert plain(job_text.line) == "partly compiled · drawn GPU"
    assert list(map(plain, job_text.shown_by)) == [
        "64 % of kernel time is compiled code, and 14 % runs in graphs.",
        "Graphs: 1 call of cudaGraphLaunch.",
        "Compiled: 1 range of compiled code, such as Torch-Compiled Region: 0/0.",
        "Compiled: 1 generated kernel, such as triton_poi_fused_add_0.",
        "GPU: 4 kernels, copies and sets run on it.",
    ]


@pytest.mark.parametrize(
    ("label", "name", "server"),
    [
        ("python", "vllm/worker/gpu_model_runner.py(1514): execute_model", "vllm"),
        ("python", "/opt/venv/site-packages/vllm/v1/engine/core.py(300): step", "vllm"),
        ("op", "vllm::unified_attention_with_output", "vllm"),
        ("user", "execute_context_0(0)_generation_16(16)", "vllm"),
        ("python", "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(740): run_batch", "sglang"),
        ("user", "step[DECODE bs=16]", "sglang"),
        ("python", "nanovllm/engine/llm_engine.py(144): step", None),
        ("python", "serve.py(9): vllm", None),
        ("user", "step 16", None),
    ],
)
def test_a_server_is_known_by_its_code(label: str, name: str, server: str | None):
    where = f"user {name}" if label == "user" else label
    trace = timeline(
        f"{where} | xxxx |\nop | .o.. |", names={"o": "aten::mm"} | ({} if label == "user" else {"x": name})
    )
    assert job_kind(trace).server == server


def test_sglang_runs_ops_of_vllm():
    trace = timeline("user step[EXTEND bs=2] | xxxx |\nop | .o.. |", names={"o": "vllm::all_reduce"})
    assert job_kind(trace).server == "sglang"


_CELLS = {"c": "aten::gru_cell", "v": "aten::select", "a": "aten::argmax", "l": "aten::linear"}


@pytest.mark.parametrize(
    ("loop", "launches", "layer"),
    [
        ("vccc.", "..k..", "GRU"),
        (".ccc.", "..k..", "GRU"),
        (".ccca", "..k..", None),
        ("lccc.", "..k..", None),
        (".lll.", "..k..", None),
        (".ccc.", "....k", None),
        (".ccc.", "..k.k", None),
    ],
    ids=[
        "next element",
        "back to back",
        "a choice",
        "what depends on it",
        "no cell",
        "others launch",
        "as many outside",
    ],
)
def test_a_loop_over_cells_computes_a_given_sequence(loop: str, launches: str, layer: str | None):
    cells = {9: None, 10: layer, 30: layer}
    for count, expected in cells.items():
        trace = timeline(
            f"""
            step     | {"0" * 5 * count} |
            op       | {loop * count} |
            runtime  | {launches * count} |
            kernel 7 | {launches * count} |""",
            names=_CELLS,
        )
        assert job_kind(trace).sequence_layer == expected


_PARTS = [
    ("aten::lstm", "recurrent"),
    ("aten::rnn_tanh", "recurrent"),
    ("aten::lstm_cell", None),
    ("forward", "scripted"),
    ("<forward op>", "scripted"),
    ("aten::forward", None),
    ("tensorrt::execute_engine", "tensorrt"),
]


@pytest.mark.parametrize(("part", "left"), _PARTS)
def test_what_launches_most_and_no_compiler_takes(part: str, left: str | None):
    names = {"p": part, "m": "aten::mm"}
    for launches, expected in ((".kj.k.", left), (".k..k.", None)):
        trace = timeline(
            f"""
            step     | 000000 |
            op       | .pp.m. |
            runtime  | {launches} |
            kernel 7 | {launches} |""",
            names=names,
        )
        assert job_kind(trace).left_as_is == expected


@pytest.mark.parametrize(("part", "left"), _PARTS)
def test_what_holds_most_ops_on_the_cpu_and_no_compiler_takes(part: str, left: str | None):
    names = {"p": part, "m": "aten::mm", "a": "aten::add"}
    for inside, expected in (("aba..", left), (".....", None)):
        trace = timeline(f"step | 0000000 |\nop | ppppp.m |\nop | {inside}.. |", names=names)
        assert job_kind(trace).left_as_is == expected


@pytest.mark.parametrize(
    ("ops", "kernel", "left"),
    [
        ("......a", "void onnxruntime::cuda::SkipLayerNormKernel<__half, 192u>(int)", "onnxruntime"),
        (".aaaa..", "void onnxruntime::cuda::SkipLayerNormKernel<__half, 192u>(int)", None),  # of an op of the user
        ("......a", "void at::native::SkipLayerNormKernel<__half, 192u>(int)", None),
    ],
)
def test_onnx_runtime_launches_without_ops(ops: str, kernel: str, left: str | None):
    trace = timeline(
        f"""
        step     | 0000000 |
        op       | {ops} |
        runtime  | .k.l.m. |
        kernel 7 | .k.l.m. |""",
        names={"k": kernel, "a": "aten::softmax"},
    )
    assert job_kind(trace).left_as_is == left


@pytest.mark.parametrize(
    ("frame", "calls", "left"),
    [
        ("torch/export/pt2_archive/_package.py(737): __call__", ".k.l.m.", "exported"),
        ("/env/lib/python3.12/site-packages/torch/_inductor/package/package.py(275): __call__", ".k.l.m.", "exported"),
        ("torch/_export/__init__.py(181): optimized", ".k.l.m.", "exported"),
        ("torch/export/pt2_archive/_package.py(737): __call__", ".k...lm", None),  # a smaller part of the model
        ("torch/export/pt2_archive/_package.py(812): load_pt2", ".k.l.m.", None),
        ("torch/export/unflatten.py(320): __call__", ".k.l.m.", None),  # its ops can be compiled
    ],
)
def test_a_package_that_was_compiled_ahead_of_time(frame: str, calls: str, left: str | None):
    """Its code launches kernels without ops, so only call stacks show it."""
    trace = timeline(
        f"""
        step     | 0000000 |
        python   | fffff.. |
        runtime  | {calls} |
        kernel 7 | {calls} |""",
        names={"f": frame, "k": "triton_poi_fused_add_0", "l": "triton_red_fused_sum_1", "m": "triton_poi_fused_mul_2"},
    )
    assert job_kind(trace).left_as_is == left


@pytest.mark.parametrize(
    ("hook", "part", "left"),
    [
        ("FSDP::pre_forward (layers.0)", "aten::mm", "sharded"),
        ("FullyShardedDataParallel._pre_forward", "aten::mm", "sharded"),
        ("FullyShardedDataParallel.forward", "aten::mm", None),
        ("FSDP::pre_forward (layers.0)", "forward", "scripted"),
        ("forward", "aten::mm", None),
    ],
)
def test_hooks_that_break_compiled_code_up(hook: str, part: str, left: str | None):
    trace = timeline(
        f"""
        step        | 000000 |
        user {hook} | h..... |
        op          | .pp... |
        runtime     | .kk... |
        kernel 7    | .kk... |""",
        names={"p": part},
    )
    assert job_kind(trace).left_as_is == left
