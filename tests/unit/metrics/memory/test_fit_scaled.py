"""The predicted peak of a drawn training entirely in BF16, and with sequences of another length."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.memory import device_fits
from tb_steptime.metrics.memory.curves import Place
from tb_steptime.metrics.memory.fit.fit import steady_steps
from tb_steptime.metrics.memory.fit.scaled import LENGTH_AMBIGUOUS, MIXED_TYPES, OWN_CHOICE, SMALL, scaled_settings
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

HOST = Place(*CPU)
#: Memory in use before the recording; on the CPU none of it belongs to the model.
BEFORE = 5_000_000
#: The tokens of 4 sequences of length 6 are looked up in 50 rows of 8, and multiplied with one another to give scores.
DRAWN = """
    step | 000000000000000000 |
    op   | .eebbss.nnmmkkaa.. |"""
NAMES = {
    "e": "aten::embedding",
    "b": "aten::bmm",
    "s": "aten::softmax",
    "n": "autograd::engine::evaluate_function: SoftmaxBackward0",
    "m": "autograd::engine::evaluate_function: BmmBackward0",
    "k": "autograd::engine::evaluate_function: EmbeddingBackward0",
    "a": "torch::autograd::AccumulateGrad",
}
INPUTS = {
    "e": ("[[50,8],[4,6]]", '["float","long int"]'),
    "b": ("[[4,6,8],[4,8,6]]", '["float","float"]'),
    "s": ("[[4,6,6]]", '["float"]'),
    "n": ("[[4,6,6]]", '["float"]'),
    "m": ("[[4,6,6]]", '["float"]'),
    "k": ("[[4,6,8]]", '["float"]'),
    "a": ("[[50,8]]", '["float"]'),
}
SEQUENCES = {"e": (1, 0), "b": (2, 0), "s": (3, 0), "n": (3, 1), "m": (2, 1), "k": (1, 1)}
#: t: tokens; x: rows of the table; y, z: scores; g: the gradient of the table.
SAID = """t +192 @0.5, x +768 @1.5, y +576 @3.5, z +576 @5.5, y -576 @7, z -576 @9.9, x -768 @11.9, g +1600 @13,
    t -192 @16.5, g -1600 @17.5"""


def training(names: dict[str, str] = NAMES, inputs: dict[str, tuple[str, ...]] = INPUTS, before: int = BEFORE) -> Trace:
    trace = timeline(DRAWN, names=names, inputs=inputs, sequences=SEQUENCES)
    return with_memory(trace, SAID, before=before, device=CPU)


def test_floats_are_halved_and_scores_grow_with_the_square_of_the_length():
    """Recorded: 192 + 768 + 2 x 576 bytes at once. In BF16: 192 + 384 + 2 x 288. Twice as long: 384 + 1536 + 2 x 2304.
    At half the length the gradient of the table makes the peak: 96 + 1600."""
    (fit,) = device_fits(training())
    peaks = {each.label: (each.peak_bytes or 0) - BEFORE for each in fit.settings}
    assert peaks == {
        "As recorded": 2112,
        "Sequences of 12": 6528,
        "Sequences of 3": 1696,
        "All in BF16": 1152,
        "Other optimizers, and FSDP": -BEFORE,
    }


BF16 = ("[[4,6,6]]", '["c10::BFloat16"]')


@pytest.mark.parametrize(
    ("trace", "half", "length"),
    [
        (training(before=0), SMALL, None),
        (training(inputs=INPUTS | {"s": BF16}), MIXED_TYPES, None),
        (training(NAMES | {"s": "aten::gru"}), OWN_CHOICE, OWN_CHOICE),
        (training(NAMES | {"s": "aten::_scaled_dot_product_attention_math"}), OWN_CHOICE, None),
        (training(inputs=INPUTS | {"a": ("[[50,6]]", '["float"]')}), None, LENGTH_AMBIGUOUS),
    ],
)
def test_what_is_not_known_has_a_reason(trace: Trace, half: Reason | None, length: Reason | None):
    steps = steady_steps(trace, HOST)
    assert not isinstance(steps, Reason)
    reasons = {each.label: each.lines for each in scaled_settings(trace, HOST, steps) if isinstance(each.lines, Reason)}
    expected = {"All in BF16": half, "Sequences of another length": length}
    assert reasons == {label: reason for label, reason in expected.items() if reason is not None}


def test_without_tokens_no_length_is_known():
    steps = steady_steps(trace := training(NAMES | {"e": "aten::linear"}), HOST)
    assert not isinstance(steps, Reason)
    assert [each.label for each in scaled_settings(trace, HOST, steps)] == ["All in BF16"]


def test_without_types_of_parameters_halved_floats_are_not_predicted():
    untyped = training(inputs=INPUTS | {"a": ("[[50,8]]",)})
    (fit,) = device_fits(untyped)
    assert "All in BF16" not in [each.label for each in fit.settings]
    assert "Sequences of 12" in [each.label for each in fit.settings]
