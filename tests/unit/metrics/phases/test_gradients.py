"""Which gradients autograd differentiates, and which ones transforms of torch.func compute."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.job.kind import job_kind
from tests.drawn.timeline import timeline

_NUMBERS = {"x": (7, 0), "y": (8, 0), "z": (8, 0), "n": (8, 1)}


@pytest.mark.parametrize(
    ("second", "third", "sequences", "twice", "transforms"),
    [
        (".....", ".....", {"x": (8, 0), "n": (8, 1)}, True, False),
        ("yyyy.", ".....", _NUMBERS, True, False),
        ("yyyy.", ".zz..", _NUMBERS, False, True),
        ("yyyy.", ".zz..", {}, True, True),
    ],
    ids=["autograd", "an op that calls itself", "torch.func", "torch.func without numbers"],
)
def test_gradients_of_a_transform_are_ops_to_what_differentiates_them(
    second: str, third: str, sequences: dict[str, tuple[int, int]], twice: bool, transforms: bool
):
    ops = dict.fromkeys("xyz", "aten::tanh_backward")
    trace = timeline(
        f"""
        step | 0000000000000 |
        op   | bbbbbbb.nnnn. |
        op   | .xxxxx....... |
        op   | .{second}....... |
        op   | .{third}....... |""",
        names=ops | {"b": "TanhBackward0", "n": "TanhBackwardBackward0"},
        sequences=sequences,
    )
    job = job_kind(trace)
    assert (job.double_backward, job.transforms) == (twice, transforms)


def test_a_gradient_of_autograd_beside_those_of_a_transform_is_still_refused():
    ops = dict.fromkeys("xyzw", "aten::tanh_backward")
    trace = timeline(
        """
        step | 00000000000000000 |
        op   | xxxxx.nn.www.mmm. |
        op   | yyyy............. |
        op   | .zz.............. |""",
        names=ops | {"n": "TanhBackwardBackward0", "m": "TanhBackwardBackward0"},
        sequences={"x": (7, 0), "y": (8, 0), "z": (8, 0), "n": (8, 1), "w": (9, 0), "m": (9, 1)},
    )
    assert job_kind(trace).double_backward
