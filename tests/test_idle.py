"""Why the device is idle: every idle instant has one reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.gpu import busy_intervals
from tb_steptime.metrics.idle import REASONS, idle_partition
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.timeline import timeline


def reasons_us(trace: Trace, device: int = 0) -> dict[str, list[int]]:
    per_step = idle_partition(trace)[device].per_step_ns
    return {reason: (per_step[reason] // 1_000).tolist() for reason in REASONS if per_step[reason].any()}


def test_before_the_launch_the_host_is_late_and_after_it_launches_take_time():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k...q..... |
        kernel 7 | .kk...qqqq |""")
    assert reasons_us(trace) == {"launch_latency": [3], "host_late": [1]}


def test_work_that_was_launched_before_the_gap_is_queued():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | kq........ |
        kernel 7 | .kk..qqqqq |""")
    assert reasons_us(trace) == {"launch_latency": [1], "queued": [2]}


def test_the_wait_for_a_batch_comes_first():
    trace = timeline("""
        step     | 0000000000 |
        loader   | ..lll..... |
        runtime  | k......q.. |
        kernel 7 | .kk.....qq |""")
    assert reasons_us(trace) == {"launch_latency": [2], "data_loading": [2], "host_late": [2]}


def test_work_without_a_launch_record_leaves_the_cause_unknown():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k......... |
        kernel 7 | .kk..u.... |""")
    assert reasons_us(trace) == {"launch_latency": [1], "unknown": [2], "tail": [4]}


@st.composite
def drawings(draw: st.DrawFn) -> str:
    """Up to four kernels with gaps between, each launched anywhere or nowhere, beside a loader."""
    runs = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4))
    kernels = "".join("." * gap + char * length for (gap, length), char in zip(runs, "abcd", strict=False))
    calls = draw(st.permutations([*"abcd"[: len(runs)], *"." * (16 - len(runs))]))
    loader = draw(st.text(alphabet=".l", min_size=16, max_size=16))
    return f"""
        step     | 0000000011111111 |
        loader   | {loader} |
        runtime  | {"".join(calls)} |
        kernel 7 | {kernels} |"""


@given(drawings())
def test_reasons_sum_to_the_idle_time(drawing: str):
    trace = timeline(drawing)
    steps = find_steps(trace)
    idle = (steps.end_ns - steps.start_ns) - busy_intervals(trace, 0).overlap_ns(steps.start_ns, steps.end_ns)
    partition = idle_partition(trace)[0]
    assert sum(partition.per_step_ns[reason] for reason in REASONS).tolist() == idle.tolist()
