"""What an eager recording says of a graph's kernels: only the same kernel does the same work on the same types."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.gpu.activities import find_products
from tb_steptime.metrics.replays.labels import labelled
from tb_steptime.metrics.roofline.kernel_work import kernel_work
from tb_steptime.metrics.tensor_cores.eligibility import eligibility
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import A100, timeline

SGEMM = "ampere_sgemm_128x64_nn"
#: 137 GFLOP, which no A100 computes in FP32 on CUDA cores within one of the cells below.
MM = ("[[4096,4096],[4096,4096]]", '["float","float"]')
ADD = ("[[4096,4096],[4096,4096],[]]", '["float","float","Scalar"]')


def named(replaced: str, **kernels: Any) -> tuple[Trace, Trace]:
    """A replay of two products with another op between them, and the same with names from an eager recording of it.
    replaced: what the replay runs for the kernel between them."""
    names = {"k": SGEMM, "m": SGEMM, "g": "gemm_of_a_library", "t": replaced, "a": "aten::mm", "b": "aten::mm"}
    names |= {"e": "add_kernel<float>", "p": "aten::add", "c": "aten::mm"}
    eager = timeline(
        """
        op       | aa.bb.cc.pp................................. |
        runtime  | k..g..m..e.................................. |
        kernel 7 | ..kkkkkkkkkkkkkkkkgmmmmmmmmmmmmmmmmmee...... |""",
        names=names, inputs={"a": MM, "b": MM, "c": MM, "p": ADD}, devices={0: A100}, cell_ns=100_000,
    )  # fmt: skip
    replay = timeline(
        """
        runtime  | k..t..m..e.................................. |
        kernel 7 | ..kkkkkkkkkkkkkkkktmmmmmmmmmmmmmmmmmee...... |""",
        names=names, calls=dict.fromkeys("ktme", "cudaGraphLaunch"), kernels=kernels, devices={0: A100},
        cell_ns=100_000,
    )  # fmt: skip
    found = labelled(replay, eager)
    assert found is not None
    assert found.labelled_fraction == 1
    return replay, found.trace


def products(trace: Trace) -> list[str | None]:
    found = find_products(trace)
    return [found.distinct[place].op if place >= 0 else None for place in found.place.tolist()]


@pytest.mark.parametrize("replaced", ["triton_", "another_gemm", "ampere_sgemm_32x32_nn"])
def test_another_kernel_in_the_place_of_a_product_does_other_work(replaced):
    bare, trace = named(replaced)
    assert products(trace) == ["aten::mm", None, "aten::mm", None]
    assert kernel_work(trace).place.tolist() == [0, -1, 0, 1]
    bins = [[BINS[each] for each in kernel_bins(each).tolist()] for each in (bare, trace)]
    assert bins[0] == bins[1]


def test_names_do_not_hide_that_tf32_is_off():
    """If the fused kernel did the work of a product in FP32, its rate would show that TF32 is on."""
    of = []
    for trace in named("triton_"):
        found = eligibility(trace)
        of.append([found.reasons[why].id if why >= 0 else None for why in found.why.tolist()])
    assert of[0] == of[1] == ["tf32_off", None, "tf32_off", None]


def test_a_kernel_of_another_launch_shape_has_inputs_of_another_size():
    """The replay adds tensors of another size: its op is the same, its bytes are not known."""
    _, trace = named("gemm_of_a_library", e={"grid": (8, 1, 1), "block": (128, 1, 1)})
    assert products(trace) == ["aten::mm", "aten::mm", "aten::mm", None]
    assert kernel_work(trace).place.tolist() == [0, 0, 0, -1]
    labels = trace.kernel_labels
    assert labels is not None
    assert [trace.strings[row] for row in labels.op.tolist()] == ["aten::mm", "aten::mm", "aten::mm", "aten::add"]
