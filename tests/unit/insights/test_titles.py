"""The titles above the pictures of a view and under its tiles, for drawn traces."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.insights import judge
from tb_steptime.insights.wording.gpu import OLDER, kernels_title, split_title
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import analysed, judged
from tests.drawn.timeline import timeline

ZERO_GRAD = "Optimizer.zero_grad#SGD.zero_grad"
#: A product on CUDA cores that could use tensor cores, and one on tensor cores.
PLAIN, TENSOR = "volta_sgemm_64x64_nt", "volta_h884gemm_128x128_ldg8_nn"


def titles_of(trace: Trace, view: str) -> dict[str, str]:
    return {id: plain(title) for id, title in judged(trace).titles[view].items()}


def loading(rest: str = "") -> Trace:
    """The GPU is idle for 12 of 24 us: 10 us while the loader runs, and otherwise where `rest` says."""
    return timeline(
        f"""
        step     | 000000000000000000000000 |
        loader   | llllllllll.............. |
        op       | ................aaaaaaaa |
        {rest}
        runtime  | ...........x....x....... |
        kernel 7 | ............xx...xxxxxxx |""",
        names={"x": PLAIN},
    )


def test_gpu_titles_say_when_it_is_idle_and_what_its_kernels_are():
    assert titles_of(loading(), "gpu") == {
        "time_bins.0": "The GPU is idle while the main process waits for data",
        "split.0": "100 % of kernel time could use tensor cores, and none of it does",
        "kernels.0": "One matrix-product kernel takes 100 % of kernel time",
        "kernel_time.0": "9 µs of kernel time a step",
        "roofline.0": "How far are kernels from the GPU's limits?",
        "no_lines": plain(MISSING["no_stacks"]),
        "no_modules": plain(MISSING["no_modules"]),
    }


def test_what_adds_lines_and_modules_is_said_where_they_are_missing():
    """The recordings behind older summaries have lines and modules, but those summaries have no kernels by them."""
    trace = timeline(
        """
        step     | 0000000000 |
        python   | mmmmmmmm.. |
        python   | .ssssss... |
        op       | ..aaaaa... |
        runtime  | ...x...... |
        kernel 7 | ....xxx... |""",
        names={"m": "nn.Module: Net_0", "s": "net.py(4): forward"},
    )
    assert {"no_lines", "no_modules"}.isdisjoint(titles_of(trace, "gpu"))
    results = analysed(trace)
    gpu = results["gpu"]
    assert isinstance(gpu, GpuResult)
    (device,) = gpu.devices
    kept = [table for table in device.tables if table.by in ("name", "module")]
    devices = [msgspec.structs.replace(device, tables=kept)]
    titles = judge(results | {"gpu": msgspec.structs.replace(gpu, devices=devices)}).titles["gpu"]
    assert (titles["no_lines"], titles["no_modules"]) == (OLDER, OLDER)


def test_the_gpu_title_names_the_range_that_holds_the_other_idle_time():
    title = titles_of(loading(f"user {ZERO_GRAD} | ..........zzzzzz........ |"), "gpu")["time_bins.0"]
    assert title == "The GPU is idle while the main process waits for data, and again in zero_grad"


def test_a_busy_gpu():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | x......... |
        kernel 7 | xxxxxxxxxx |"""
    )
    assert titles_of(trace, "gpu")["time_bins.0"] == "The GPU is busy for 100 % of the steps"


def test_a_gpu_that_only_copies():
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | x......... |
        memcpy 7 | ..xx...... |"""
    )
    assert titles_of(trace, "gpu")["time_bins.0"] == "No kernel runs on this GPU within the steps"


def test_without_a_gpu_the_headline_says_so_alone():
    trace = timeline("step | 00001111 |\n op | aaaaaaaa |")
    assert titles_of(trace, "gpu") == {}
    assert titles_of(trace, "tensor_cores") == {}


def test_each_gpu_has_its_own_titles():
    trace = timeline(
        """
        step            | 0000000000 |
        runtime         | xyz....... |
        kernel 7        | ..xxxx.... |
        kernel 9 gpu1   | ...yyyy... |
        kernel 11 gpu1  | ...zz..... |""",
        names={"x": PLAIN, "y": TENSOR, "z": TENSOR},
    )
    titles = titles_of(trace, "tensor_cores")
    assert (titles["split.0"], titles["split.1"]) == (
        "Use of tensor cores",
        "100 % of kernel time runs on tensor cores",
    )


@pytest.mark.parametrize(
    ("split", "title"),
    [
        (Split(0, 0, 0, 0, 0), "Kernel time by what it does"),
        (Split(100, 0, 4, 0, 96), "No kernel runs on tensor cores, and almost none could"),
        (Split(100, 0, 48, 0, 52), "48 % of kernel time could use tensor cores, and none of it does"),
        (Split(100, 40, 4, 0, 56), "40 % of kernel time runs on tensor cores"),
        (Split(100, 40, 30, 0, 30), "40 % of kernel time runs on tensor cores, another 30 % could"),
        (Split(1000, 400, 40, 9, 551), "40 % of kernel time runs on tensor cores"),
        (Split(100, 40, 4, 10, 46), "40 % to 50 % of kernel time runs on tensor cores"),
        (
            Split(100, 40, 30, 10, 20),
            "40 % to 50 % of kernel time runs on tensor cores, another 30 % could",
        ),
    ],
)
def test_the_split(split: Split, title: str):
    assert plain(split_title(split, True, "nvidia")) == title
    assert plain(split_title(split, True, "amd")) == title.replace("tensor cores", "matrix cores")
    assert plain(split_title(split, False, "nvidia")) == "Kernel time by what it does"


@pytest.mark.parametrize(
    ("shares", "title"),
    [
        ([], "No kernel runs within the steps"),
        ([0.4, 0.3], "One convolution kernel takes 40 % of kernel time"),
        ([0.13, 0.12, 0.1], "Two convolution kernels take a quarter of kernel time"),
        ([0.01] * 30, "No kernel stands out: the longest takes 1 % of kernel time"),
    ],
)
def test_the_kernels(shares: list[float], title: str):
    assert plain(kernels_title([(share, "FP32 convolution on CUDA cores") for share in shares])) == title


def test_kernels_that_do_different_things_have_no_common_word():
    rows = [(0.13, "convolution"), (0.12, "normalization")]
    assert plain(kernels_title(rows)) == "Two kernels take a quarter of kernel time"


@pytest.mark.parametrize(
    ("ops", "title"),
    [
        ("aaaaaaaaaa", "Where does the step go?"),
        ("aaaaa|aaaaa", "All steps are alike"),
        ("aaaaaaaa|aa", "CPU exec makes steps differ most"),
        ("aaaaaaaa|aaaaaaaa...", "CPU exec is steady; Other makes steps differ"),
    ],
)
def test_what_makes_steps_differ(ops: str, title: str):
    steps = "".join(str(number) * len(step) for number, step in enumerate(ops.split("|")))
    assert titles_of(timeline(f"step | {steps} |\n op | {ops.replace('|', '')} |"), "overview")["steps"] == title


def test_the_tile_of_tensor_cores_says_what_could_use_them():
    assert titles_of(loading(), "overview")["tile.tensor_core_share"] == "100 % could use them"
