"""Ranges that count the steps have one name in all of them; those of a step's parts keep theirs."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.host.annotations import range_rows
from tb_steptime.metrics.idle.blocking_rows import blocking_rows
from tests.drawn.timeline import timeline


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (("iter 9", "iter 10", "iter 11"), ("iter #", "iter #", "iter #")),
        (("e_0/batch_7", "e_0/batch_8", "e_1/batch_0"), ("e_#/batch_#", "e_#/batch_#", "e_#/batch_#")),
        (("iter 9", "eval 9", "iter 10"), ("iter #", "eval 9", "iter #")),
        (("iter 9", "iter 9", "iter 10"), ("iter 9", "iter 9", "iter 10")),
        (("layer 2", "layer 1", "layer 0"), ("layer 2", "layer 1", "layer 0")),
        (("a", "b", "c"), ("a", "b", "c")),
    ],
    ids=["the step", "epoch and batch", "not in every step", "in two steps", "backwards", "no number"],
)
def test_a_range_that_counts_the_steps_is_one_place(ranges: tuple[str, ...], expected: tuple[str, ...]):
    drawn = zip(ranges, ("aaaaaa..........", "......aaaaaa....", "............aaaa"), strict=True)
    lines = "\n".join(f"user {name} | {cells} |" for name, cells in drawn)
    trace = timeline(
        f"""
        step     | 1111112222223333 |
        {lines}
        op       | .kk.x..kk.x..kkx |
        runtime  | .k.ss..q.tt..r.u |
        kernel 7 | ..kkk...qqq..rrr |""",
        names=dict.fromkeys("x", "aten::item"),
        calls=dict.fromkeys("stu", "cudaStreamSynchronize"),
    )
    assert {row.user_range for row in blocking_rows(trace, 0)} == set(expected)
    host_ns = dict.fromkeys(expected, 0)
    for name, length_us in zip(expected, (6, 6, 4), strict=True):
        host_ns[name] += length_us * 1_000
    assert {row.path[0]: row.host_ns for row in range_rows(trace)} == {name: ns // 3 for name, ns in host_ns.items()}


def test_ranges_of_a_step_s_parts_stay_apart():
    """Each layer is in one step alone, but two of them are in the same."""
    trace = timeline("""
        step         | 111111222222 |
        user layer 0 | .aa......... |
        user layer 1 | ...aa....... |
        user layer 2 | .......aa... |
        op           | .o.o...o.... |""")
    assert sorted(path for row in range_rows(trace) for path in row.path) == ["layer 0", "layer 1", "layer 2"]
