"""Formats of PyTorch's profilers in 2026, a tiny file for each: CUPTI's monitor, the Python exporter, XPU, ROCm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_steptime.metrics.gpu.activities import CopyDirection, way
from tb_steptime.metrics.gpu.occupancy import NO_LAUNCH_SHAPES, est_achieved_occupancy
from tb_steptime.metrics.gpu.utilization import NO_BLOCKS, blocks, busy_intervals, est_sm_efficiency
from tb_steptime.timeline.answers import EventFact
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.kineto import further, read_trace
from tb_steptime.trace.kineto.tables import Shapes, mended
from tb_steptime.trace.model import Device, Trace, find_launches, launched_before
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.quality import recording_findings
from tb_steptime.trace.table import Kind
from tests import TRACES
from tests.drawn.event_columns import collectives_of, drawn, memory_of, noted

#: The threads of one SM of the GPU in these files, which has 132 SMs.
THREADS = 2048


def read(name: str) -> Trace:
    return read_trace(TRACES / name)


def on_device(trace: Trace) -> list[str]:
    return [line for line in drawn(trace) if "/10 " not in f"{line} "]


def facts_of(events: EventFile, number: int) -> list[EventFact]:
    detail = event_detail(events, number)
    assert detail is not None
    return detail.facts


def test_the_monitors_launch_shapes_are_enough_for_occupancy_and_sm_efficiency() -> None:
    """66 blocks for 10 us and 264 for 10 us, on 132 SMs, within the op's 60 us. Each block has 256 threads."""
    trace = read("monitor_kernels.json")
    assert est_sm_efficiency(trace, 0).value == pytest.approx((0.5 + 1.0) * 10 / 60)
    assert est_achieved_occupancy(trace, 0).value == pytest.approx((0.5 + 2) / 2 * 256 / THREADS)


def test_a_monitor_without_launch_shapes_leaves_them_unknown() -> None:
    trace = read("monitor_without_shapes.json")
    figures = est_sm_efficiency(trace, 0), est_achieved_occupancy(trace, 0)
    assert [(figure.value, figure.reason) for figure in figures] == [(None, NO_BLOCKS), (None, NO_LAUNCH_SHAPES)]
    assert noted(trace) == {}


def test_copies_that_are_called_memcpy_say_from_where_to_where_they_go() -> None:
    trace = read("monitor_copies.json")
    names = [trace.strings[name] for name in trace.events.name[trace.events.rows(Kind.MEMCPY, Kind.MEMSET)]]
    assert [way(name) for name in names[:3]] == [
        CopyDirection("HtoD", "Pageable", "Device"),
        CopyDirection("DtoH", "Device", "Pinned"),
        CopyDirection("PtoP", "Device", "Device"),
    ]
    assert names[3] == "Memset (Device)"


def test_launches_without_an_external_id_belong_to_the_op_around_them() -> None:
    trace = read("monitor_kernels.json")
    assert [trace.strings[trace.events.name[op]] for op in kernel_origins(trace).op] == ["aten::mm"] * 2
    assert (find_launches(trace).call >= 0).all()


def test_what_a_user_noted_on_graph_kernels() -> None:
    trace = read("graph_annotations.json")
    table, texts = trace.annotations, [*trace.annotation_texts.strings, None]
    rows = zip(table.event, *(column for column in (table.module, table.name, table.phase)), strict=True)
    names = trace.events.name
    assert [(trace.strings[names[row]], *(texts[each] for each in columns)) for row, *columns in rows] == [
        ("spread", "layers.0.attention", "attention", "backward"),
        ("listed", "layers.1", "mlp", None),
        ("plain", None, "my scope", None),
        ("Memcpy DtoD (Device -> Device)", "layers.1", None, None),
    ]
    assert [texts[text] is not None for text in table.text] == [False, True, True, False]


def test_nodes_of_graphs_are_told_in_both_spellings_and_0_is_none() -> None:
    trace = read("graph_annotations.json")
    nodes, names = trace.graph_nodes, trace.events.name
    assert list(zip(nodes.graph.tolist(), nodes.node.tolist(), strict=True)) == [(5, each) for each in range(1, 6)]
    assert "eager" not in {trace.strings[names[row]] for row in nodes.event}


def test_lanes_are_not_streams_and_what_they_put_together_are_no_doubles() -> None:
    trace = read("graph_lanes.json")
    assert on_device(trace) == [
        "20000 +10000 KERNEL gemm |0/60 gpu 0 stream 7 corr 4",
        "20000 +10000 KERNEL gemm |0/60 gpu 0 stream 13 corr 4",
        "20000 +10000 KERNEL gemm |0/60 gpu 0 stream 13 corr 4",
        "40000 +10000 KERNEL relu |0/7 gpu 0 stream 7 corr 4",
    ]
    assert noted(trace) == {"duplicate-events": 1}  # the node that is written twice
    assert (trace.annotations.lane.tolist(), trace.annotations.stream.tolist()) == ([60, 60, 60, -1], [-1, -1, -1, 60])


def test_rows_that_were_put_on_one_lane_overlap_and_are_right(tmp_path) -> None:
    """Eager work that a profiler merged from two streams into one lane; the first event is by far the longest."""
    events = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 60, "ts": ts, "dur": length,
         "args": {"device": 0, "stream": 60, "original_stream": stream, "correlation": number}}
        for number, (ts, length, stream) in enumerate([(0, 90_000, 7), *((1_000 * at, 900, 13) for at in range(1, 80))])
    ]  # fmt: skip
    for moved in (True, False):
        path = tmp_path / f"moved_{moved}.json"
        rows = [each if moved else each | {"args": each["args"] | {"original_stream": 60}} for each in events]
        path.write_text(json.dumps({"traceEvents": rows}))
        found = [finding.id for finding in recording_findings(read_trace(path))]
        assert found == ([] if moved else ["rows_overrun"])


def test_the_timeline_shows_lanes_and_says_where_the_work_ran(tmp_path) -> None:
    trace = read("graph_lanes.json")
    write_events(trace, tmp_path)
    events = EventFile.open(tmp_path)
    streams = [(track.label, track.rows) for track in events.head.tracks if track.kind == "stream"]
    assert streams == [("DP", 3), ("Stream 7", 1)]
    facts = [{fact.label: fact.value.value for fact in facts_of(events, row)} for row in (1, 2, 4)]
    assert [fact.get("Ran on") for fact in facts] == ["stream 7", "stream 13", None]


def test_marks_of_graphs_are_on_the_devices_lane_and_no_work(tmp_path) -> None:
    trace = read("graph_marks.json")
    assert on_device(trace)[1:] == [
        "31000 +1 MARK EventRecord |0/7 gpu 0 stream 7 corr 4",
        "35000 +20000 MARK HostNode: log |0/7 gpu 0 stream 7 corr 0",
    ]
    busy = busy_intervals(trace, 0)
    assert (busy.start.tolist(), busy.end.tolist()) == ([20_000], [30_000])
    write_events(trace, tmp_path)
    tracks = EventFile.open(tmp_path).head.tracks
    assert [(track.group, track.label) for track in tracks if track.kind in ("stream", "thread")] == [
        ("GPU 0", "Stream 7")
    ]


def test_allocations_with_a_duration_are_allocations() -> None:
    trace = read("python_exporter.json")
    assert [line for line in drawn(trace) if "OTHER" in line] == []
    assert memory_of(trace) == [(3500, 512, "10", 4096, 512, 8192), (25500, -512, "10", 4096, 0, 8192)]
    assert noted(trace) == {"out-of-memory": 1, "mended-properties": 1}
    assert trace.event_count == 9


def test_the_number_of_sms_in_the_place_of_their_threads_is_put_right() -> None:
    h100 = ("NVIDIA H100 80GB HBM3", 132, (9, 0), THREADS, 65536, 233472, 85_000_000_000)
    assert read("python_exporter.json").devices == {0: Device(0, *h100)}
    figure = est_achieved_occupancy(read("python_exporter.json"), 0)
    assert figure.value == pytest.approx((10 * 0.5 + 5 * 0.25) / 15 * 256 / THREADS)


def test_numbers_that_are_texts_and_keys_of_python_s_exporter() -> None:
    trace = read("python_exporter.json")
    assert on_device(trace) == [
        "25000 +10000 KERNEL gemm |0/60 gpu 0 stream 7 corr 4 id 2",
        "45000 +5000 KERNEL reduce |0/7 gpu 0 stream 7 corr 4",
    ]
    assert collectives_of(trace) == [("reduce", "allreduce", "Float", "0", 16, 8)]
    assert (trace.collectives.sequence.tolist(), trace.annotations.stream.tolist()) == ([4], [-1, 60])


def test_a_synchronize_is_of_the_stream_that_it_names_not_of_its_track() -> None:
    trace = read("sync_tracks.json")
    rows = trace.events.rows(Kind.SYNC)
    assert trace.events.stream[rows].tolist() == [7, -1]
    assert busy_intervals(trace, 0).end.tolist() == [9_000]


def test_the_metrics_of_a_kernel_of_xpu_are_not_its_time_once_more() -> None:
    trace = read("xpu_metrics.json")
    kernels = trace.events.rows(Kind.KERNEL)
    assert [trace.strings[name] for name in trace.events.name[kernels]] == ["gemm", "softmax", "add"]
    assert busy_intervals(trace, 0).total_ns == 30_000
    assert noted(trace) == {"kernel-metrics": 1}


def test_a_queue_of_sycl_or_level_zero_stands_for_a_stream() -> None:
    trace = read("xpu_metrics.json")
    gemm, softmax, add = trace.events.stream[trace.events.rows(Kind.KERNEL)].tolist()
    assert (gemm, softmax == add, 0 <= softmax < 2**24) == (3, True, True)


def test_a_kernel_of_rocm_has_the_shape_that_its_call_says() -> None:
    """For hipExtModuleLaunchKernel the grid is in work-items."""
    trace = read("rocm_shapes_on_calls.json")
    kernels = trace.kernels
    assert [column.tolist() for column in (kernels.grid, kernels.block, kernels.shared_memory)] == [
        [[128, 1, 1], [65536, 1, 1]],
        [[256, 1, 1], [256, 1, 1]],
        [64, 64],
    ]
    assert blocks(trace).tolist() == [128, 256]
    assert est_sm_efficiency(trace, 2).value == pytest.approx((0.5 + 1) * 10 / 60)


def test_all_work_items_in_the_place_of_a_block_are_divided_by_the_workgroup() -> None:
    """This includes work that a graph launched; the unit of the launch call is not applied a second time."""
    trace = read("rocm_work_items.json")
    assert blocks(trace).tolist() == [128, 256, 100, 1]
    assert trace.kernels.block.tolist() == [[256, 1, 1], [256, 1, 1], [64, 4, 1], [64, 1, 1]]
    assert noted(trace) == {}


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        (
            [[8, 1, 1], [4, 2, 1]],
            [[256, 1, 1], [32, 32, 1]],
            ([[8, 1, 1], [4, 2, 1]], [[256, 1, 1], [32, 32, 1]], 0, 0),
        ),
        ([[256, 1, 1], [64, 1, 1]], [[1000, 1, 1], [64, 1, 1]], ([[256, 1, 1], [64, 1, 1]], None, 0, 0)),
        (
            [[256, 1, 1], [64, 1, 1]],
            [[4000, 1, 1], [64, 1, 1]],
            ([[16, 1, 1], [1, 1, 1]], [[256, 1, 1], [64, 1, 1]], 2, 0),
        ),
        ([[4096, 1, 1], [2, 1, 1]], [[4096 * 64, 1, 1], [128, 1, 1]], (None, [[64, 1, 1], [64, 1, 1]], 2, 0)),
        ([[1, 1, 1], [2, 1, 1]], [[65536, 1, 1], [64, 1, 1]], ([[-1] * 3, [2, 1, 1]], [[-1] * 3, [64, 1, 1]], 0, 1)),
        ([[-1] * 3, [2, 1, 1]], [[65536, 1, 1], [64, 1, 1]], ([[-1] * 3, [2, 1, 1]], [[-1] * 3, [64, 1, 1]], 0, 1)),
    ],
    ids=["plain", "a block of 1000", "a workgroup", "blocks and work-items", "one workgroup", "no grid"],
)
def test_what_stands_for_a_block(grid, block, expected) -> None:
    shapes = Shapes(np.array(grid), np.array(block), np.full(len(grid), -1))
    found = mended(shapes)
    result = found.shapes.grid.tolist(), found.shapes.block.tolist(), int(found.in_blocks.sum()), found.refused_count
    assert result == (
        grid if expected[0] is None else expected[0],
        block if expected[1] is None else expected[1],
        *expected[2:],
    )


def test_what_gpus_measure_is_read_and_other_counters_are_only_counted() -> None:
    trace = read("gpu_counters.json")
    table, names = trace.counters, trace.counter_names
    rows = zip(table.device.tolist(), table.name.tolist(), table.ts.tolist(), table.value.tolist(), strict=True)
    tensor = "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"
    assert [(device, names[name], ts // 1000, value) for device, name, ts, value in rows] == [
        *((0, "SM Active (%)", ts, value) for ts, value in ((5, 0), (15, 0), (25, 0), (35, 48), (45, 96), (55, 0))),
        *((0, tensor, ts, value) for ts, value in ((35, 30), (45, 10))),
        (0, "Power (W)", 20, 412.5),
        (1, "SM Clock (MHz)", 20, 1410),
    ]
    assert (trace.event_count, noted(trace)) == (18, {})


def test_of_many_samples_some_are_kept_of_each_counter(monkeypatch) -> None:
    monkeypatch.setattr(further, "MOST_SAMPLES", 6)
    table = read("gpu_counters.json").counters
    assert len(table) == 5
    assert table.name.tolist() == [0, 0, 0, 1, 2]


def test_arrows_between_nodes_of_a_graph_are_dependencies_and_others_are_not() -> None:
    """One arrow begins at a time at which no node ends, and one has no beginning."""
    trace = read("graph_dependencies.json")
    names = [trace.strings[name] for name in trace.events.name]
    pairs = zip(trace.dependencies.before.tolist(), trace.dependencies.after.tolist(), strict=True)
    assert [(names[before], names[after]) for before, after in pairs] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("c", "HostNode"),
    ]


def test_events_at_the_time_from_which_the_profiler_counts_are_not_of_the_recording() -> None:
    """The other events are an hour later. A recording that begins at 0 is kept as it is."""
    trace = read("times_at_the_base.json")
    assert drawn(trace) == [
        "0 +60000 CPU_OP aten::mm |10/10 id 2",
        "5000 +4000 RUNTIME cudaLaunchKernel |10/10 corr 4",
        "25000 +10000 KERNEL gemm |0/7 gpu 0 stream 7 corr 4",
    ]
    assert noted(trace) == {"impossible-times": 2}
    assert noted(read("graph_lanes.json")) == {"duplicate-events": 1}


@pytest.mark.parametrize(("later_s", "kept"), [(50, 3), (70, 1)])
def test_a_pause_behind_a_first_event_at_0_is_one_of_the_recording(tmp_path, later_s, kept) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5}
        for name, ts in (("first", 0), ("second", 0), ("third", later_s * 1e6))
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert len(read_trace(path).events) == kept


def test_addresses_of_streams_tell_them_apart() -> None:
    trace = read("rocm_streams_as_addresses.json")
    first, same, other, none = trace.events.stream[trace.events.rows(Kind.KERNEL)].tolist()
    assert 0 <= first == same != other
    assert none == -1
    assert noted(trace) == {}


def numbered(folder: Path, calls: list[int], kernels: list[int], *, correlation: int | None = None) -> Trace:
    """Launches and kernels with these external ids; with a correlation, the last kernel has it, too."""

    def row(cat: str, at: int, id: int) -> dict[str, Any]:
        track = {"pid": 0, "tid": 7} if cat == "kernel" else {"pid": 1, "tid": 1}
        where = {"device": 0, "stream": 7} if cat == "kernel" else {}
        name = "gemm" if cat == "kernel" else "cudaLaunchKernel"
        return {"ph": "X", "cat": cat, "name": name, "ts": at, "dur": 2, **track, "args": {"External id": id} | where}

    rows = [row("cuda_runtime", 10 * place, id) for place, id in enumerate(calls)]
    rows += [row("kernel", 10 * place + 5, id) for place, id in enumerate(kernels)]
    if correlation is not None:
        rows[-1]["args"]["correlation"] = correlation
    path = folder / "numbered.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    return read_trace(path)


@pytest.mark.parametrize(
    ("calls", "kernels", "launched_by"),
    [
        ([3, 5, 9], [3, 5, 9], [0, 1, 2]),
        ([3, 5, 9], [9, 3, 5], [2, 0, 1]),
        ([3, 5, 9], [3, 5, 5], [0, None, None]),  # an op may launch several kernels
        ([3, 5, 5], [3, 5, 9], [0, None, None]),  # or have several calls
        ([3, 5, 9], [4, 6, 8], [None, None, None]),
    ],
)
def test_launches_without_correlations_are_joined_by_the_id_of_their_op(
    tmp_path: Path, calls: list[int], kernels: list[int], launched_by: list[int | None]
) -> None:
    trace = numbered(tmp_path, calls, kernels)
    launches, start = find_launches(trace), trace.events.start_ns
    assert [start[call] // 10_000 if call >= 0 else None for call in launches.call.tolist()] == launched_by
    assert launched_before(trace, launches.activity.astype(np.int64)).tolist() == [False] * 3


def test_one_kernel_with_a_correlation_shows_that_the_ids_of_ops_are_not_those_of_launches(tmp_path: Path) -> None:
    assert find_launches(numbered(tmp_path, [3, 5, 9], [3, 5, 9], correlation=7)).call.tolist() == [-1] * 3


@pytest.mark.parametrize(("kernel", "found"), [(-1, ["launches_untied"]), (4, [])])
def test_launches_that_nothing_ties_to_their_work_are_a_finding(tmp_path: Path, kernel: int, found: list[str]) -> None:
    """A kernel with a number may have been launched before the recording."""
    assert [each.id for each in recording_findings(numbered(tmp_path, [3], [kernel]))] == found
