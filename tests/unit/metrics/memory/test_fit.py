"""Which allocations of drawn trainings grow with the batch, and what fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.analyses import overview
from tb_steptime.analyses.memory import device_fits
from tb_steptime.metrics.memory.curves import NO_TOTALS, Place
from tb_steptime.metrics.memory.fit.fit import (
    NO_SHAPES,
    MemoryFit,
    PeakLine,
    growing,
    highest_lines,
    largest_batch,
    memory_fit,
    parameter_shapes,
    peak_at,
    step_batches,
)
from tb_steptime.metrics.memory.fit.predictions import BatchFit, size_of
from tb_steptime.text.printer import plain
from tests.drawn.batched_training import FLOATS, INPUTS, NAMES, SAID, TRAINING, training
from tests.drawn.cards import judged
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import A100, timeline

HOST = Place(*CPU)


def test_the_batch_is_what_the_forward_pass_is_given_and_no_parameter_has():
    assert parameter_shapes(training()) == {(8, 6): 1, (8,): 1}
    assert step_batches(training()) == (4, 4)


def test_inputs_and_outputs_grow_and_the_gradient_of_a_weight_does_not():
    assert growing(training(), 4).tolist() == [True, True, False] * 2


def test_a_layer_as_wide_as_the_batch_grows_all_the_same():
    """A layer from 6 to 4 neurons, batch 4: no other tensor is as large as the output [4,4]; its input is as large as
    the weight."""
    inputs = {
        "f": ("[[4],[4,6],[6,4]]", FLOATS),
        "m": ("[[4,4],[4,6]]", FLOATS),
        "a": ("[[4,6]]", FLOATS),
        "b": ("[[4]]", FLOATS),
    }
    assert step_batches(training(inputs)) == (4, 4)
    assert growing(training(inputs), 4).tolist() == [True, True, False] * 2


def grown(op: str, shapes: str, size: int, types: str = FLOATS) -> bool:
    """Whether what this op of the backward pass allocates for a moment grows with the batch of 4, in a training whose
    parameters are [8,6] and [8]."""
    names = NAMES | {"m": op}
    drawn = timeline(TRAINING, names=names, inputs=INPUTS | {"m": (shapes, types)},
                     sequences={"f": (5, 0), "n": (5, 1)})  # fmt: skip
    trace = with_memory(drawn, f"t +{size} @7.5, t -{size} @7.9", before=1000, device=CPU)
    assert step_batches(trace) == (4, 4)
    return bool(growing(trace, 4)[0])


@pytest.mark.parametrize(
    ("op", "shapes", "size", "grows"),
    [
        # [8,6] is the gradient of a layer's result here, since an op by element pairs equal places; [4,1] is sure.
        ("aten::native_layer_norm_backward", "[[8,6],[8,6],[8,1]]", 192, True),
        ("aten::linear", "[[4,6],[8,6]]", 192, False),
        # The weight in rows of 16 floats instead of 6; the same size with a batch of such rows is the batch's.
        ("aten::mkldnn_rnn_layer_backward", "[[4,6],[8,6]]", 8 * 16 * 4, False),
        ("aten::mkldnn_rnn_layer_backward", "[[4,32],[8,6]]", 8 * 16 * 4, True),
        # Rows of 256 floats get a cache line more.
        ("aten::mkldnn_rnn_layer_backward", "[[4,6],[6,256]]", 6 * 272 * 4, False),
        # A workspace that no tensor explains: too large for a parameter or not.
        ("aten::mkldnn_rnn_layer_backward", "[[4,6],[8,6]]", 999, True),
        ("aten::mkldnn_rnn_layer_backward", "[[4,6],[8,6]]", 99, False),
    ],
)
def test_what_a_library_allocates_besides_its_results(op: str, shapes: str, size: int, grows: bool):
    assert grown(op, shapes, size) == grows


def test_a_workspace_is_not_compared_with_another_one():
    """The buffer of 5000 bytes that the forward pass filled is no parameter, though it is larger than 999 bytes."""
    shapes, types = "[[4,6],[8,6],[5000]]", '["float","float","{}"]'
    assert grown("aten::mkldnn_rnn_layer_backward", shapes, 999, types.format("unsigned char"))
    assert not grown("aten::mkldnn_rnn_layer_backward", shapes, 999, types.format("float"))


def test_the_peak_is_a_line_over_the_batch():
    fit = memory_fit(training(), HOST)
    assert fit == MemoryFit(batch=4, peak_bytes=1416, lines=[PeakLine(constant=1192, per_sample=56.0, row=8)])


def test_what_fits():
    (answer,) = device_fits(training(), [8], 2000)
    assert (answer.device, answer.batch, answer.limit_bytes) == ("CPU", 4, 2000)
    assert answer.peaks == [BatchFit(4, 1416, 1416, 1416), BatchFit(8, 1640, 1558, 1722)]
    assert (answer.largest_low, answer.largest, answer.largest_high) == (12, 14, 16)


def test_the_step_as_recorded_is_the_steady_step_of_the_page():
    drawn = f"{TRAINING}\n    overhead | ..........oo........ |"  # the profiler's own time in the second step
    trace = timeline(drawn, names=NAMES, inputs=INPUTS, sequences={"f": (5, 0), "n": (5, 1)})
    trace = with_memory(trace, SAID, before=1000, device=CPU)
    (answer,) = device_fits(trace)
    assert answer.settings[0].step_ns == overview.analyse(trace).steady_step_ns == 9_000


def test_without_a_limit_no_largest_batch_is_told():
    (answer,) = device_fits(training())
    assert [peak.batch for peak in answer.peaks] == [2, 4, 8, 16]
    assert (answer.limit_bytes, answer.largest, answer.largest_low, answer.largest_high) == (None,) * 4


def test_nothing_fits_where_the_constant_part_is_too_large():
    assert [each.largest for each in device_fits(training(), limit_bytes=1000)] == [0]


def test_what_is_missing_is_said():
    assert memory_fit(training({}), HOST) == NO_SHAPES
    assert memory_fit(training(totals=False), HOST) == NO_TOTALS
    assert [answer.unknown for answer in device_fits(training({}))] == [NO_SHAPES]
    assert device_fits(timeline(TRAINING, names=NAMES)) == []


def test_a_batch_has_a_sample():
    with pytest.raises(ValueError, match="0 was asked for"):
        device_fits(training(), [0])


@pytest.mark.parametrize("text", ["", "GB", "24 apples", "-1GB", "24", "1.5"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="is no size such as 24GB"):
        size_of(text)


INSTANTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=30)


@given(INSTANTS, st.integers(1, 64), st.integers(1, 10**4), st.integers(0, 10**7))
def test_the_highest_lines_are_the_peak_at_every_batch(instants, recorded, batch, limit):
    constant, growing_bytes = (np.array(column, np.int64) for column in zip(*instants, strict=True))
    lines = highest_lines(constant, growing_bytes, recorded)
    assert peak_at(lines, batch) == pytest.approx((constant + growing_bytes / recorded * batch).max())
    assert [line.per_sample for line in lines] == sorted({line.per_sample for line in lines})
    largest = largest_batch(lines, limit)
    if largest:
        assert peak_at(lines, largest) <= limit * (1 + 1e-12)
    if largest is not None:
        assert peak_at(lines, largest + 1) > limit * (1 - 1e-12)


@pytest.mark.parametrize(
    ("memory_bytes", "title"),
    [
        (None, "Which batch fits?"),
        (3000, "The largest batch that fits in 3 kB is est. 32 (29 to 35)"),
        (1000, "No batch fits in 1 kB, est."),
    ],
)
def test_the_memory_view_says_the_largest_batch(memory_bytes: int | None, title: str):
    trace = timeline(
        TRAINING, names=NAMES, inputs=INPUTS, sequences={"f": (5, 0), "n": (5, 1)},
        devices={0: replace(A100, memory_bytes=memory_bytes)},
    )  # fmt: skip
    titles = judged(with_memory(trace, SAID, before=1000)).titles["memory"]
    assert plain(titles["memory_fit.0"]) == title
