"""The advice where the device's work is not recorded, and for a job whose memory the allocator does not keep."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.analyses.quality import notes
from tb_steptime.metrics.idle.gaps import behind_host_functions_ns
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Device, Job, Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.cards import card_sentence, judged, sure
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

MS = 1_000_000


def advice(trace: Trace) -> str:
    action = judged(trace).headlines["overview"].action
    return plain(action) if action else ""


def test_a_recording_with_launch_calls_had_the_gpu_switched_on():
    trace = timeline("op | aaaaaaaa |\nruntime | .k...k.. |", calls={"k": "cudaLaunchKernel"}, cell_ns=MS)
    assert advice(trace) == (
        "Record again with no other profiler attached, and call `torch.cuda.synchronize()` before `prof.stop()`."
    )


@pytest.mark.parametrize(("runtime", "share"), [("k.wwwwww..", 0.6), ("k" + 17 * "." + "w.", None)])
def test_the_verdict_says_how_long_calls_wait_for_work_that_is_not_recorded(runtime: str, share: float | None):
    calls = {"k": "cudaLaunchKernel", "w": "cudaStreamSynchronize"}
    trace = timeline(f"op | {len(runtime) * 'a'} |\nruntime | {runtime} |", calls=calls, cell_ns=MS)
    said = judged(trace).verdict.text.values.get("share")
    assert (said and said.value) == share


@pytest.mark.parametrize(
    ("op", "runtime", "fires"),
    [
        ("rrrrrr.sss", "........k.", True),
        ("rrrrrr.sss", "kkkkkk....", False),
        ("rr.....sss", "........k.", False),
        ("ssssss.sss", "........k.", False),
    ],
    ids=["on the CPU", "a launch that waits for a full queue", "a fifth of the step", "another op"],
)
def test_random_numbers_that_the_cpu_makes_are_known_without_the_gpu(op: str, runtime: str, fires: bool):
    names = {"r": "aten::normal_", "s": "aten::square"}
    steps, calls = "".join(10 * each for each in "123"), {"k": "cudaLaunchKernel"}
    drawing = f"step | {steps} |\nop | {3 * op} |\nruntime | {3 * runtime} |"
    judgement = judged(timeline(drawing, names=names, calls=calls, cell_ns=MS))
    assert ("random_on_cpu" in [card.id for card in judgement.insights]) is fires
    assert (judgement.headlines["overview"].card == "random_on_cpu") is fires
    share = judgement.verdict.text.values.get("share")
    assert (share is not None and share.value == 0.6) is fires


def test_one_long_draw_may_load_a_module():
    drawing = "op | rrrrrr.sss |\nruntime | ........k. |"
    names, calls = {"r": "aten::normal_", "s": "aten::square"}, {"k": "cudaLaunchKernel"}
    assert "random_on_cpu" not in [
        card.id for card in judged(timeline(drawing, names=names, calls=calls, cell_ns=MS)).insights
    ]


def test_a_profiler_that_could_not_start_on_the_gpu_was_asked_to():
    listed = {0: Device(0, "NVIDIA H200")}
    trace = timeline("op | aaaaaaaa |", devices=listed, job=Job(labels_gpus=False), cell_ns=MS)
    assert advice(trace) == (
        "If the job uses the GPU, its log says why this failed: see the line before `CUPTI initialization failed`."
    )
    assert advice(with_memory(trace, "a +512 @1, b +512 @2")) == (
        "The job's log says why this failed: see the line before `CUPTI initialization failed`."
    )
    assert [note.id for note in notes(trace) if note.id.startswith("cpu_")] == []
    asked_for_the_cpu = timeline("op | aaaaaaaa |", devices=listed, job=Job(labels_gpus=True), cell_ns=MS)
    assert [note.id for note in notes(asked_for_the_cpu) if note.id.startswith("cpu_")] == ["cpu_only"]


@pytest.mark.parametrize("op", ["aten::linear_backward", "aten::max_pool2d_backward", "aten::lstm_mps_backward"])
def test_metal_is_recorded_by_another_tool(op: str):
    trace = timeline("op | aaaaaaaa |", names={"a": op}, cell_ns=MS)
    assert advice(trace) == "See the GPU's work in Xcode's Instruments: `torch.mps.profiler.profile()` marks it there."
    assert job_kind(trace).device == "gpu"


@pytest.mark.parametrize(
    ("inner", "other", "unseen"),
    [
        ("aten::empty", "aten::silu", True),
        ("aten::empty", "aten::addmm", True),
        ("aten::addmm", "aten::silu", False),
        ("aten::silu", "aten::silu", False),
        ("aten::empty", "mkldnn::_linear_pointwise", False),
        ("aten::empty", "vendor::gelu", False),
    ],
    ids=["a kernel of its own", "products elsewhere", "made of ops", "nothing allocated", "a CPU", "a library"],
)
def test_linear_is_made_of_ops_but_on_metal(inner: str, other: str, unseen: bool):
    """One of two calls without an allocation, as where rows were left out, shows nothing."""
    for inside in (".ee..ee...", ".e...e....", ".e........"):
        trace = timeline(
            f"""
            op | llll.llll. |
            op | {inside} |
            op | ....o....o |""",
            names={"l": "aten::linear", "e": inner, "o": other},
            cell_ns=MS,
        )
        expected = unseen and inside.count("e") > 1
        assert (job_kind(trace).device == "gpu") is expected
        metal = (
            "On Metal (MPS), see the GPU's work in Xcode's Instruments: `torch.mps.profiler.profile()` marks it there."
        )
        assert (advice(trace) == metal) is expected


def test_tensors_of_a_gpu_ask_for_its_activity():
    trace = with_memory(timeline("op | aaaaaaaa |", cell_ns=MS), "a +512 @1, b +512 @2")
    assert advice(trace).startswith("Record the GPU, too")


@pytest.mark.parametrize(("device_type", "name"), [(1, "GPU"), (12, "XPU"), (15, "HPU")])
def test_tensors_show_what_the_device_is_called(device_type: int, name: str):
    trace = with_memory(timeline("op | aaaaaaaa |", cell_ns=MS), "a +512 @1, b +512 @2", device=(device_type, 0))
    activity = {"GPU": "CUDA"}.get(name, name)
    assert job_kind(trace).accelerator == name
    assert advice(trace) == (
        f"Record the {name}, too: `profile(activities=[ProfilerActivity.CPU, ProfilerActivity.{activity}])`."
    )


def test_tensors_of_the_cpu_make_a_job_of_the_cpu_whatever_gpus_the_machine_has():
    trace = timeline("op | aaaaaaaa |", devices={0: Device(0, "Tesla V100")}, cell_ns=MS)
    assert job_kind(trace).device == "unknown"
    assert job_kind(with_memory(trace, "a +512 @1", device=CPU)).device == "cpu"


@pytest.mark.parametrize("waits", ["aten::_local_scalar_dense", "aten::linear_backward"])
def test_waits_for_a_device_are_no_work_of_the_cpu(waits: str):
    """Otherwise the advice would be to make the longest op faster."""
    steps = "".join(f"{step}{step}{step}{step}{step}{step}" for step in "12345")
    trace = timeline(f"step | {steps} |\nop | {'aaaab.' * 5} |", names={"a": waits}, cell_ns=MS)
    assert [card.id for card in judged(trace).insights if card.id.startswith("cpu_")] == []


def uncached() -> Trace:
    """Six steps of six ops each; every op asks the driver for memory while the GPU waits, and gives it back."""
    step = "".join(str(number) * 30 for number in range(6))
    op, runtime, kernel = "aaaa." * 36, "mmf.k" * 36, "....k" * 36
    return timeline(
        f"step | {step} |\nop | {op} |\nruntime | {runtime} |\nkernel 7 | {kernel} |",
        names={"a": "aten::empty"},
        calls={"m": "cudaMalloc", "f": "cudaFree", "k": "cudaLaunchKernel"},
        cell_ns=100_000,
    )


def test_a_job_without_the_caching_allocator_is_told_what_to_unset():
    card = sure(uncached(), "allocator_steady")
    assert plain(card.title) == "Turn the caching allocator on again"
    assert card.how == "unset PYTORCH_NO_CUDA_MEMORY_CACHING"
    assert card_sentence(card).endswith("nothing is kept for the next allocation.")


@pytest.mark.parametrize("captured", [True, False])
def test_a_recording_of_captures_alone_lost_no_work(captured: bool):
    """Two launches, and the whole of it in a capture or not."""
    edges = ("Begin", "End") if captured else ("Is", "Is")
    calls = {letter: f"cudaStream{edge}Capture" for letter, edge in zip("be", edges, strict=True)}
    step = f"step | {'1' * 20}{'2' * 20} |\nop | .aaaaaaaaaaaaaaaaaa.{'a' * 20} |\nruntime | b..k...k..........e"
    trace = timeline(f"{step} |", calls=calls | {"k": "cudaLaunchKernel"}, cell_ns=MS)
    assert ("`prof.stop()`" in advice(trace)) is not captured
    assert "Record the GPU, too" not in advice(trace)
    assert [note.id for note in notes(trace) if note.id.startswith("cpu_")] == []


@pytest.mark.parametrize(
    ("calls", "waits", "title"),
    [
        ("k.f.m", 2_800, "Shorten what the CPU computes for the GPU"),
        ("k.m.f", 0, "Check for other processes on the GPU"),  # the function is behind the work that waits
        ("k...m", 0, "Check for other processes on the GPU"),
    ],
)
@pytest.mark.parametrize("call", ["cudaLaunchHostFunc", "hipLaunchHostFunc", "cudaStreamAddCallback"])
def test_work_behind_a_function_of_the_cpu_waits_for_no_other_process(call: str, calls: str, waits: int, title: str):
    """Two kernels a step. The second one waits for 2.8 ms after it was launched."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 40 for step in range(4))} |
        runtime  | {f"{calls}{'.' * 35}" * 4} |
        kernel 7 | {f".kk{'.' * 30}{'m' * 7}" * 4} |""",
        calls={"f": call},
        cell_ns=MS // 10,
    )
    assert behind_host_functions_ns(trace, 0) == waits * 1_000
    judgement = judged(trace)
    assert plain(next(each.title for each in judgement.insights if each.id == "unrecorded_work")) == title
    assert ("functions of the CPU" in judgement.verdict.text.template) is (waits > 0)


@pytest.mark.parametrize(
    ("gaps", "call", "waits", "title"),
    [
        ((300, 300, 300, 300), "cudaGraphLaunch", 3_000, "Shorten what the CPU computes for the GPU"),
        ((300, 220, 260, 300), "hipGraphLaunch", 2_700, "Shorten what the CPU computes for the GPU"),
        ((300, 300, 5, 300), "cudaGraphLaunch", 0, "Record the GPU's work after a warm-up"),  # not in each launch
        ((300, 300), "cudaGraphLaunch", 0, "Record the GPU's work after a warm-up"),  # by chance
        ((300, 300, 300, 300), "cudaLaunchKernel", 0, "Check for other processes on the GPU"),
    ],
)
def test_a_graph_that_always_waits_in_the_same_place_waits_for_no_other_process(gaps, call, waits, title):
    """In each step, of 4 ms, a graph of two kernels, with a gap of so many cells between them."""
    launches = [chr(ord("A") + number) for number in range(len(gaps))]
    kernels = [f".{each * 9}{'.' * gap}{each * 9}{'.' * (381 - gap)}" for each, gap in zip(launches, gaps, strict=True)]
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 400 for step in range(len(gaps)))} |
        runtime  | {"".join(each + "." * 399 for each in launches)} |
        kernel 7 | {"".join(kernels)} |""",
        calls=dict.fromkeys(launches, call),
        cell_ns=MS // 100,
    )
    assert behind_host_functions_ns(trace, 0) == waits * 1_000
    titles = [plain(each.title) for each in judged(trace).insights if each.id == "unrecorded_work"]
    assert titles == [title]


@pytest.mark.parametrize(("chosen", "waits"), [("1111", 700), ("1000", 2_800), ("0111", 0)])
def test_waits_for_functions_of_the_cpu_are_a_mean_over_the_chosen_steps(chosen: str, waits: int):
    """Only the first of four steps has a function of the CPU."""
    trace = timeline(
        f"""
        step     | {"".join(str(step) * 40 for step in range(4))} |
        runtime  | k.f.m{"." * 35}{f"k...m{'.' * 35}" * 3} |
        kernel 7 | {f".kk{'.' * 30}{'m' * 7}" * 4} |""",
        calls={"f": "cudaLaunchHostFunc"},
        cell_ns=MS // 10,
    )
    steps = find_steps(trace).chosen(np.array([each == "1" for each in chosen]))
    assert behind_host_functions_ns(trace, 0, steps) == waits * 1_000


@pytest.mark.parametrize(("between", "waits"), [("..", True), ("d.", False)])
def test_work_that_was_dropped_is_no_long_wait_and_no_other_process(between: str, waits: bool):
    """Between two bursts of launches the CPU launches nothing, or work that is missing, for most of each step."""
    launches, works = f"{'a.b.' * 20}{between * 100}{'a.b.' * 20}", f"{'.a.b' * 20}{'..' * 100}{'.a.b' * 20}"
    trace = timeline(
        f"""
        step     | {"".join(str(number) * len(works) for number in range(3))} |
        op       | {"o" * len(works) * 3} |
        runtime  | {launches * 3} |
        kernel 7 | {works * 3} |""",
        cell_ns=MS // 100,
    )
    judgement = judged(trace)
    assert ("long_stretches" in [each.id for each in judgement.insights]) is waits
    assert "unrecorded_work" not in [each.id for each in judgement.insights]
    assert ("this recording lacks" in judgement.verdict.text.template) is not waits
