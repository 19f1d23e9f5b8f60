"""Estimates for tensor cores and memory, beside what the GPU measured for both."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from tb_steptime.analyses.quality import notes
from tb_steptime.metrics.gpu.counters import Validation
from tb_steptime.metrics.roofline.validated import validated_tensor_work, validated_traffic
from tb_steptime.trace.model import CounterTable, Device, Trace
from tb_steptime.trace.table import StringTable
from tests.drawn.timeline import A100, timeline

TENSOR, MEMORY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "DRAM BW (%)"
GEMM, ADD = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn", "vectorized_elementwise_kernel"
#: The time in us of a product on an A100 with 312 TFLOP/s of FP16, and of a sum of two matrices with 2039 GB/s.
PRODUCT_US, SUM_US = 2 * 1024**3 / 312e6, 3 * 2 * 1024**2 / 2039e3
#: The product reads two matrices of 2 MiB and writes one, and so does the sum.
PRODUCT_MOVES_US = SUM_US


def sampled(
    counter: str, *samples: tuple[int, float], device: Device = A100, shapes: bool = True, unknown: str = ""
) -> Trace:
    """A product of 20 us on two streams and a sum of 10 us in a step of 50 us. samples: us, percent. unknown: the drawn
    ops whose inputs were not recorded."""
    matrices = "[[1024,1024],[1024,1024]]", '["c10::Half","c10::Half"]'
    inputs = {"p": matrices, "s": ("[[1024,1024],[1024,1024],[]]", '["c10::Half","c10::Half","Scalar"]')}
    trace = timeline(
        """
        step     | 00000 |
        op       | ps... |
        runtime  | ps... |
        kernel 7 | .pp.. |
        kernel 9 | ...s. |""",
        names={"p": "aten::mm", "s": "aten::add"},
        inputs={op: both for op, both in inputs.items() if op not in unknown} if shapes else None,
        devices={0: device},
        cell_ns=10_000,
    )
    strings = StringTable([*trace.strings.strings, GEMM, ADD])
    name = trace.events.name.copy()
    name[trace.kernels.event] = [len(trace.strings), len(trace.strings) + 1]
    number = len(samples)
    table = CounterTable(
        np.zeros(number, np.int32), np.zeros(number, np.int32),
        np.array([1000 * us for us, _ in samples], np.int64), np.array([value for _, value in samples]),
    )  # fmt: skip
    return replace(
        trace, strings=strings, events=replace(trace.events, name=name), counters=table,
        counter_names=StringTable([counter]), memo={},
    )  # fmt: skip


def test_products_at_the_peak_beside_the_activity_of_tensor_cores() -> None:
    trace = sampled(TENSOR, (10, 0.0), (20, 40.0), (30, 30.0), (40, 0.0), (50, 0.0))
    found = validated_tensor_work(trace, 0)
    assert found == Validation(pytest.approx(PRODUCT_US / 50, rel=1e-3), pytest.approx(0.14))
    assert validated_traffic(trace, 0) is None


def test_only_the_time_that_samples_cover_counts() -> None:
    """The samples cover the second half of the product and ten us after it."""
    found = validated_tensor_work(sampled(TENSOR, (30, 30.0), (40, 0.0)), 0)
    assert found == Validation(pytest.approx(PRODUCT_US / 2 / 20, rel=1e-3), pytest.approx(0.15))


def test_what_ops_move_beside_the_bandwidth_of_memory() -> None:
    trace = sampled(MEMORY, (10, 0.0), (20, 20.0), (30, 20.0), (40, 35.0), (50, 0.0))
    found = validated_traffic(trace, 0)
    assert found == Validation(pytest.approx((PRODUCT_MOVES_US + SUM_US) / 50, rel=1e-2), pytest.approx(0.15))


def test_both_stand_in_the_notes() -> None:
    trace = sampled(TENSOR, (10, 0.0), (20, 40.0), (30, 30.0), (40, 0.0), (50, 0.0))
    found = validated_tensor_work(trace, 0)
    assert found is not None
    (note,) = (note for note in notes(trace) if note.id == "tensor_work_measured")
    assert {name: value.value for name, value in note.values.items()} == asdict(found)
    trace = sampled(MEMORY, (20, 20.0), (40, 35.0))
    found = validated_traffic(trace, 0)
    assert found is not None
    (note,) = (note for note in notes(trace) if note.id == "traffic_measured")
    assert {name: value.value for name, value in note.values.items()} == asdict(found)


@pytest.mark.parametrize("counter", [TENSOR, MEMORY])
def test_without_shapes_or_peaks_there_is_no_estimate(counter: str) -> None:
    samples = (20, 20.0), (40, 30.0)
    for trace in (
        sampled(counter, *samples, shapes=False),
        sampled(counter, *samples, device=replace(A100, name="a GPU of next year")),
        sampled("Power (W)", *samples),
        sampled(counter, (90, 20.0), (95, 20.0)),
    ):
        assert validated_tensor_work(trace, 0) is None
        assert validated_traffic(trace, 0) is None


def test_too_much_of_unknown_work_would_make_the_estimate_too_low() -> None:
    samples = (20, 20.0), (40, 30.0)
    assert validated_traffic(sampled(MEMORY, *samples, unknown="s"), 0) is None
    assert validated_tensor_work(sampled(TENSOR, *samples, unknown="s"), 0) is not None
    assert validated_tensor_work(sampled(TENSOR, *samples, unknown="p"), 0) is None
