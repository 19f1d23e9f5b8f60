"""GPU utilization and est. SM efficiency on drawn traces, and their laws on any trace."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.base import Figure
from tb_steptime.metrics.gpu.utilization import (
    EST_SM_EFFICIENCY,
    GPU_UTILIZATION,
    NO_BLOCKS,
    NO_KERNELS,
    Levels,
    blocks_per_sm,
    busy_intervals,
    devices_with_activity,
    est_sm_efficiency,
    gpu_utilization,
    kernel_intervals,
    levels,
)
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Job, Trace
from tb_steptime.trace.table import Float64
from tests.drawn.binned import binned
from tests.drawn.timeline import A100, V100, timeline

#: 40 blocks on 80 SMs, 20 blocks on 80 SMs, and ten blocks per SM.
HALF, QUARTER, FULL = {"grid": (40, 1, 1)}, {"grid": (5, 4, 1)}, {"grid": (800, 1, 1)}


def two_streams() -> Trace:
    """Two steps of 10 us; kernels of two streams overlap; a copy and two sets overlap with nothing."""
    return timeline(
        """
        step     | 00000000001111111111 |
        op       | aaaaaaaa..bbbbbbbb.. |
        runtime  | xyz.......wuv....... |
        kernel 7 | .xxxx......www...... |
        kernel 9 | ...yyyy............. |
        memcpy 3 | .......zz........... |
        memset 3 | ..............uv.... |""",
        devices={0: V100},
        kernels={"x": HALF, "y": QUARTER, "w": FULL},
    )


def test_overlapping_streams_are_counted_once():
    trace = two_streams()
    assert kernel_intervals(trace, 0) == Intervals.of((1_000, 7_000), (11_000, 14_000))
    assert gpu_utilization(trace, 0) == Figure(0.45, (0.6, 0.3))


def test_copies_make_a_device_busy_and_do_not_count_as_utilization():
    trace = two_streams()
    assert busy_intervals(trace, 0) == Intervals.of((1_000, 9_000), (11_000, 16_000))


def test_sm_efficiency_adds_kernels_that_run_together_and_is_capped_at_one():
    # step 0: 2 us at 1/2, 2 us at 1/2 + 1/4, 2 us at 1/4; step 1: 3 us at min(1, 10)
    assert est_sm_efficiency(two_streams(), 0) == Figure((3.0 + 3.0) / 20, (0.3, 0.3))


def test_bins_are_exact_overlaps_and_not_samples():
    trace, edges = two_streams(), np.array([0, 2_500, 5_000, 12_500, 20_000])
    assert binned(trace, GPU_UTILIZATION, edges).tolist() == [0.6, 1.0, 3.5 / 7.5, 0.2]
    half_then, middle = (1.5 * 0.5) / 2.5, (0.5 * 0.5 + 2 * 0.75) / 2.5
    expected = [half_then, middle, (2 * 0.25 + 1.5) / 7.5, 1.5 / 7.5]
    assert binned(trace, EST_SM_EFFICIENCY, edges) == pytest.approx(expected)


def test_each_device_has_its_own_figures():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | aaaaaaaaaa |
        runtime       | xy........ |
        kernel 7      | .xxxx..... |
        kernel 7 gpu1 | ..yyyyyyyy |""",
        devices={0: V100, 1: A100},
        kernels={"x": {"grid": (80, 1, 1)}, "y": {"grid": (54, 1, 1)}},
    )
    assert devices_with_activity(trace) == (0, 1)
    assert [gpu_utilization(trace, device).value for device in (0, 1)] == [0.4, 0.8]
    assert [est_sm_efficiency(trace, device).value for device in (0, 1)] == [0.4, 0.4]


def test_a_trace_that_says_no_blocks_has_no_sm_efficiency_and_says_why():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | x......... |
        kernel 7 | .xxxx..... |""",
    )
    assert est_sm_efficiency(trace, 0) == Figure(None, (None,), NO_BLOCKS)
    assert binned(trace, EST_SM_EFFICIENCY, np.array([0, 10_000])) is None


def test_a_device_that_only_copies_is_not_utilized_and_has_no_sm_efficiency():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | x......... |
        memcpy 3 | .xxxx..... |""",
    )
    assert gpu_utilization(trace, 0) == Figure(0.0, (0.0,))
    assert est_sm_efficiency(trace, 0) == Figure(None, (None,), NO_KERNELS)


def without_blocks_per_sm(**columns):
    trace = two_streams()
    kernels = replace(trace.kernels, blocks_per_sm=None, **columns)
    return replace(trace, kernels=kernels, memo={})


def test_grids_alone_are_enough_where_all_are_known():
    """CUPTI's monitor writes the grid, but no blocks per SM."""
    assert est_sm_efficiency(without_blocks_per_sm(), 0) == est_sm_efficiency(two_streams(), 0)


def test_where_some_grids_are_not_known_the_others_are_not_enough():
    grid = two_streams().kernels.grid.copy()
    grid[0] = -1
    assert est_sm_efficiency(without_blocks_per_sm(grid=grid), 0).reason == NO_BLOCKS


@pytest.mark.parametrize("job", [Job(runtime="HIP 7.0"), Job()], ids=["HIP", "CUDA"])
def test_a_grid_of_rocm_without_its_launch_call_may_count_work_items(job):
    silent = replace(without_blocks_per_sm(), job=job)
    assert (est_sm_efficiency(silent, 0).reason == NO_BLOCKS) == (job.runtime is not None)


@pytest.mark.parametrize(
    ("recorded", "grid", "expected"),
    [
        (np.inf, (160, 1, 1), 2.0),  # the writer of the file divided by zero SMs
        (-26_843_545.6, (65536, 65535, 1), 65536 * 65535 / 80),  # the file's product overflowed 32 bits
        (0.333333, (80 * 4, 1, 1), 4.0),  # the grid takes precedence over the file's value
        (0.333333, (-1, -1, -1), 0.333333),  # no grid: the file's value
        (-1.0, (-1, -1, -1), np.nan),
        (np.inf, (-1, -1, -1), np.nan),
    ],
)
def test_blocks_per_sm_are_recomputed_or_refused(recorded: float, grid: tuple[int, int, int], expected: float):
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | x......... |
        kernel 7 | .xxxx..... |""",
        devices={0: V100},
        kernels={"x": {"grid": grid, "blocks_per_sm": recorded}},
    )
    assert blocks_per_sm(trace) == pytest.approx([expected], nan_ok=True)


def test_a_level_returns_to_exactly_nothing():
    third = np.array([1 / 3, 0.1, 0.7])
    level = levels(np.array([0, 1, 2]), np.array([5, 6, 7]), third)
    assert level.integral_ns(np.array([7]), np.array([10**15])).tolist() == [0.0]
    assert isinstance(level, Levels)


intervals = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 10), st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])), max_size=12
)


@given(intervals, st.lists(st.integers(-5, 60), min_size=2, max_size=6, unique=True).map(sorted))
def test_a_level_is_the_sum_of_what_is_open_at_each_instant(drawn: list[tuple[int, int, float]], edges: list[int]):
    start = np.array([first for first, _, _ in drawn], np.int64)
    end = start + np.array([length for _, length, _ in drawn], np.int64)
    height = np.array([value for _, _, value in drawn], float)
    found = levels(start, end, height).integral_ns(np.array(edges[:-1]), np.array(edges[1:]))
    assert found == pytest.approx(by_instants(start, end, height, edges))


def by_instants(start: Float64, end: Float64, height: Float64, edges: list[int]) -> list[float]:
    """The same result, computed by looking at every instant."""

    def at(instant: int) -> float:
        return min(1.0, float(height[(start <= instant) & (instant < end)].sum()))

    return [sum(at(instant) for instant in range(low, high)) for low, high in pairwise(edges)]
