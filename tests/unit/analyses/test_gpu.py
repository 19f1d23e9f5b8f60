"""The GPU analysis: strips that are exact at every resolution, tables that add up, sentences that match the drawing."""

from __future__ import annotations

import gzip

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.analyses import gpu
from tb_steptime.analyses.gpu import COARSEST_BINS, FINER, NO_ACTIVITY, GpuResult, IdleTime, analyse
from tb_steptime.metrics.gpu.occupancy import est_achieved_occupancy, slot_efficiency
from tb_steptime.metrics.gpu.utilization import est_sm_efficiency, gpu_utilization
from tb_steptime.metrics.kernels.time_bins import TIME_BIN_METRICS, Bins, metrics_in_bins
from tb_steptime.metrics.tensor_cores.usage import share_of
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import on_real_traces, read_real, real_trace
from tests.drawn.timeline import V100, timeline

SHAPE = {"block": (1024, 1, 1), "registers": 16, "shared_memory": 0}
ZERO_GRAD = "Optimizer.zero_grad#SGD.zero_grad"


def loading() -> Trace:
    """The loader's wait is 6 us, 2 of them hidden by a copy; kernels of 40 and of 160 blocks overlap on two streams."""
    return timeline(
        """
        step     | 000000000000000000000000 |
        loader   | llllll.................. |
        op       | .......aaaaaaaaaaaaaaaaa |
        runtime  | c......xy............n.. |
        memcpy 3 | .cc..................... |
        kernel 7 | ........xxxx............ |
        kernel 9 | ..........yyyyyyyy...... |
        nccl 9   | ......................nn |""",
        devices={0: V100},
        names={"x": "volta_h884gemm_128x128_ldg8_nn", "y": "volta_sgemm_64x64_nt"},
        kernels={"x": SHAPE | {"grid": (40, 1, 1)}, "y": SHAPE | {"grid": (160, 1, 1)}},
    )


def figures(trace: Trace, edges: list[int]) -> dict[str, list[float | None]]:
    return {
        metric.id: [None if np.isnan(value) else value for value in bins.values]
        for metric, bins in metrics_in_bins(trace, 0, np.array(edges))
    }


def test_strips_are_exact_overlaps_of_all_streams():
    # bins: the loader's wait; x, with y beside it for 2 us; y alone, then a gap; the collective
    assert figures(loading(), [0, 6_000, 12_000, 22_000, 24_000]) == {
        "loader_exposed_share": [4 / 6, 0, 0, 0],
        "loader_hidden_share": [2 / 6, 0, 0, 0],
        "busy_share": [2 / 6, 4 / 6, 6 / 10, 1],
        "gpu_utilization": [0, 4 / 6, 6 / 10, 1],
        "est_sm_efficiency": [0, (2 * 0.5 + 2) / 6, 6 / 10, 0],
        "slot_efficiency": [None, (4 * 0.25 + 2 * 1) / 6, 1, None],
        "est_achieved_occupancy": [None, (4 * 0.25 + 2 * 1) / 6, 1, None],
        "tensor_core_share": [None, 4 / 6, 0, 0],
        "matmul_like_share": [None, 2 / 6, 1, 0],
        "communication_share": [0, 0, 0, 1],
        "copies_share": [2 / 6, 0, 0, 0],
    }


def test_what_the_trace_does_not_hold_has_no_strip():
    trace = timeline(
        """
        step     | 0000 |
        op       | aaaa |
        runtime  | x... |
        kernel 7 | .xxx |"""
    )
    strips = {metric.id for metric, _ in metrics_in_bins(trace, 0, np.array([0, 4_000]))}
    assert strips == {"busy_share", "gpu_utilization"}  # the kernel's name does not tell how it computes


def test_a_strips_own_figure_is_that_of_the_whole_window():
    (device,) = analyse(loading()).devices
    values = {strip.metric: strip.value for strip in device.time_bins}
    assert values == pytest.approx({metric: bins[0] for metric, bins in figures(loading(), [0, 24_000]).items()})


@given(st.integers(1, 40), st.integers(2, 5))
def test_joined_bins_are_those_of_wider_bins(bin_ns: int, count: int):
    edges = np.minimum(bin_ns * 100 * np.arange(-(-240 // bin_ns) + 1), 24_000)
    wide = np.append(edges[:-1:count], 24_000)
    trace = loading()
    for (metric, fine), (_, direct) in zip(
        metrics_in_bins(trace, 0, edges), metrics_in_bins(trace, 0, wide), strict=True
    ):
        np.testing.assert_allclose(fine.joined(count).values, direct.values, atol=1e-9, err_msg=metric.id)


def test_a_bin_in_which_nothing_runs_has_no_value_and_no_rest_of_rounding():
    assert np.isnan(Bins(np.array([0.0]), np.array([0.0])).values).all()
    assert Bins(np.array([1.0 + 1e-12]), np.array([1.0])).values.tolist() == [1.0]


def test_levels_of_a_strip_nest_and_end_with_the_window():
    (device,) = analyse(loading()).devices
    for strip in device.time_bins:
        coarse, *finer = strip.levels
        assert len(coarse.permille) <= COARSEST_BINS
        assert coarse.bin_ns * len(coarse.permille) >= 24_000
        for level in finer:
            assert coarse.bin_ns == FINER * level.bin_ns
            coarse = level
    by_id = {strip.metric: strip.levels[0] for strip in device.time_bins}
    level = by_id["gpu_utilization"]
    start = level.bin_ns * np.arange(len(level.permille))
    end = np.minimum(start + level.bin_ns, 24_000)
    running = Intervals.of((8_000, 18_000), (22_000, 24_000)).overlap_ns(start, end)
    assert level.permille == np.rint(1000 * running / (end - start)).tolist()


def test_a_long_span_of_a_large_file_has_finer_levels_than_a_small_one():
    assert gpu._levels(1_000_000_000, 50_000) == 2
    assert gpu._levels(1_000_000_000, 100_000) == 3
    assert gpu._levels(1_000_000_000, 2_000_000) == 5
    assert gpu._levels(10_000, 2_000_000) == 1  # bins of 39 ns are narrow enough


def test_the_figures_beside_the_strips_are_those_of_every_other_view():
    trace = loading()
    (device,) = analyse(trace).devices
    expected = [
        gpu_utilization(trace, 0),
        est_sm_efficiency(trace, 0),
        slot_efficiency(trace, 0),
        est_achieved_occupancy(trace, 0),
        share_of("share_low")(trace, 0),
    ]
    assert [(tile.value, tuple(tile.steps)) for tile in device.tiles] == [(each.value, each.steps) for each in expected]


def test_tables_are_groupings_of_one_kernel_time_and_what_is_folded_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(gpu.TABLE_ROWS, "name", 1)
    (device,) = analyse(loading()).devices
    assert device.split.kernel_ns == 14_000
    for table in device.tables:
        assert sum(row.total_ns for row in table.rows) + table.more_ns == 14_000
    (names,) = (table for table in device.tables if table.by == "name")
    assert [row.name for row in names.rows] == ["volta_sgemm_64x64_nt"]
    assert (names.more_rows, names.more_count, names.more_ns) == (2, 2, 6_000)


def test_idle_time_has_the_reason_for_most_of_it_and_the_range_of_the_rest():
    (device,) = analyse(loading()).devices
    assert device.idle == IdleTime(10 / 24, "data_loading", None)


def test_the_range_that_holds_the_other_waits():
    trace = timeline(
        f"""
        step             | 000000000000000000000000 |
        loader           | llllllllll.............. |
        user {ZERO_GRAD} | ..........zzzzzz........ |
        op               | ................aaaaaaaa |
        runtime          | ................x....... |
        kernel 7         | .................xxxxxxx |"""
    )
    (device,) = analyse(trace).devices
    assert device.idle == IdleTime(17 / 24, "data_loading", "zero_grad")


def test_a_busy_gpu_has_no_reason():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | x......... |
        kernel 7 | xxxxxxxxxx |"""
    )
    assert analyse(trace).devices[0].idle == IdleTime(0.0, None, None)


def test_a_trace_without_a_device():
    trace = timeline(
        """
        step     | 0000 |
        op       | aaaa |"""
    )
    result = analyse(trace)
    assert (result.unknown, result.devices) == (NO_ACTIVITY, [])


#: The disk space that the strips, tables and details of a small recording may take.
SMALL_SUMMARY_BYTES, SUMMARY_FRACTION = 200_000, 0.02


@on_real_traces
def test_the_result_of_a_recorded_trace(name: str):
    path = real_trace(name)
    trace = read_real(path)
    result = analyse(trace)
    written = msgspec.json.encode(result)
    assert msgspec.json.decode(written, type=GpuResult) == result
    assert len(gzip.compress(written, 6)) <= max(SMALL_SUMMARY_BYTES, SUMMARY_FRACTION * path.stat().st_size)
    low, high = find_steps(trace).window
    for device in result.devices:
        assert {strip.metric for strip in device.time_bins} <= {metric.id for metric in TIME_BIN_METRICS}
        for tile in device.tiles:
            assert (tile.value is None) == (tile.reason is not None)
        strips = {strip.metric: strip for strip in device.time_bins}
        level = strips["gpu_utilization"].levels[-1]
        whole = np.minimum(low + level.bin_ns * np.arange(len(level.permille) + 1), high)
        mean = (np.diff(whole) * np.array(level.permille)).sum() / (high - low) / 1000
        assert mean == pytest.approx(device.tiles[0].value, abs=0.001)
