"""What a GPU measured about itself, beside the estimates."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.gpu import TILES
from tb_steptime.analyses.gpu import analyse as analyse_gpu
from tb_steptime.analyses.quality import notes
from tb_steptime.analyses.trends import analyse as analyse_trends
from tb_steptime.metrics.gpu.counters import (
    COUNTERS,
    NOT_SAMPLED,
    NOT_SAMPLED_HERE,
    measured,
    measured_in,
    sampled_ids,
    validated_sm_efficiency,
)
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.page import timeline_page
from tb_steptime.trace.model import CounterTable, Trace
from tb_steptime.trace.table import StringTable
from tests.drawn.timeline import V100, timeline

DRAWING = """
    step     | 00000000001111111111 |
    op       | aaaaaaaaaabbbbbbbbbb |
    runtime  | x.........y......... |
    kernel 7 | .xxxxx.....yyyyyyyy. |"""
SM, POWER, TENSOR = "SM Active (%)", "Power (W)", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"


def sampled(samples: list[tuple[str, int, float]], device: int = 0) -> Trace:
    """samples: counter, time in us, value. The kernels have half as many blocks as the GPU has SMs."""
    trace = timeline(DRAWING, devices={0: V100}, kernels={"x": {"grid": (40, 1, 1)}, "y": {"grid": (40, 1, 1)}})
    names = list(dict.fromkeys(name for name, _, _ in samples))
    rows = sorted((names.index(name), ts * 1000, value) for name, ts, value in samples)
    name, ts, value = zip(*rows, strict=True)
    table = CounterTable(
        np.full(len(rows), device, np.int32), np.array(name, np.int32), np.array(ts, np.int64), np.array(value)
    )
    return replace(trace, counters=table, counter_names=StringTable(names), memo={})


def test_each_step_has_the_mean_of_its_samples_by_the_time_that_they_are_of() -> None:
    """The samples cover (0, 4], (4, 8], (8, 12], (12, 16] and (16, 20]; the third belongs to both steps."""
    trace = sampled([(SM, 4, 50.0), (SM, 8, 100.0), (SM, 12, 0.0), (SM, 16, 100.0), (SM, 20, 100.0)])
    figure = measured(trace, 0, "measured_sm_active")
    assert (figure.value, figure.steps) == (pytest.approx(0.7), (pytest.approx(0.6), pytest.approx(0.8)))


def test_missing_samples_are_of_no_time() -> None:
    """The ring buffer had no room for the samples from 4 to 16 us."""
    trace = sampled([(SM, 2, 40.0), (SM, 4, 40.0), (SM, 16, 80.0), (SM, 18, 80.0)])
    found = measured_in(trace, 0, "measured_sm_active", np.array([0, 4_000, 14_000, 20_000]))
    assert found is not None
    assert [each.tolist() for each in found] == [[1600.0, 0.0, 3200.0], [4000.0, 0.0, 4000.0]]
    assert measured(trace, 0, "measured_sm_active").steps == (pytest.approx(0.4), pytest.approx(0.8))


@pytest.mark.parametrize(
    ("name", "id", "value", "expected"),
    [
        (SM, "measured_sm_active", 61.5, 0.615),
        ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "measured_sm_active", 50.0, 0.5),
        (TENSOR, "measured_tensor_active", 30.0, 0.3),
        ("sm__inst_executed_pipe_tensor.sum.pct_of_peak_sustained_active", "measured_tensor_active", 30.0, 0.3),
        ("DRAM BW (%)", "measured_dram", 120.0, 1.0),
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "measured_dram", 12.0, 0.12),
        (POWER, "gpu_power", 412.5, 412.5),
        ("Temperature (C)", "gpu_temperature", 61.0, 61.0),
        ("SM Clock (MHz)", "sm_clock", 1410.0, 1410.0),
        ("Memory Clock (MHz)", "memory_clock", 1593.0, 1593.0),
    ],
)
def test_counters_by_the_names_of_each_profiler(name: str, id: str, value: float, expected: float) -> None:
    trace = sampled([(name, ts, value) for ts in (5, 10, 15, 20)])
    assert measured(trace, 0, id).value == pytest.approx(expected)
    assert sampled_ids(trace, 0) == (id,)


def test_what_was_not_sampled_is_unknown_and_says_why() -> None:
    trace = sampled([("Fan Speed (%)", 5, 30.0), (SM, 90, 30.0), (SM, 95, 30.0)])
    assert measured(trace, 0, "gpu_power").reason == NOT_SAMPLED
    assert measured(trace, 1, "measured_sm_active").reason == NOT_SAMPLED
    assert measured(trace, 0, "measured_sm_active").reason == NOT_SAMPLED_HERE
    assert validated_sm_efficiency(trace, 0) is None


def test_the_estimate_is_held_against_what_was_measured_in_the_same_time() -> None:
    """The samples cover only (6, 20], in which kernels on half of the SMs run for 8 of 14 us."""
    trace = sampled([(SM, 13, 20.0), (SM, 20, 40.0)])
    found = validated_sm_efficiency(trace, 0)
    assert found is not None
    assert (found.estimated, found.measured) == (pytest.approx(0.5 * 8 / 14), pytest.approx(0.3))
    notes_here = {note.id: {name: value.value for name, value in note.values.items()} for note in notes(trace)}
    assert notes_here["sm_efficiency_measured"] == {"estimated": found.estimated, "measured": found.measured}
    assert "clocks_locked" in notes_here


def test_power_alone_locks_no_clocks() -> None:
    trace = sampled([(POWER, 5, 300.0), (POWER, 10, 310.0)])
    assert not {"clocks_locked", "sm_efficiency_measured"} & {note.id for note in notes(trace)}


def test_views_show_what_was_sampled_and_only_that() -> None:
    trace = sampled([*((SM, ts, 50.0) for ts in (5, 10, 15, 20)), (POWER, 5, 300.0), (POWER, 10, 310.0)])
    (device,) = analyse_gpu(trace).devices
    assert [tile.metric for tile in device.tiles] == [*TILES, "measured_sm_active"]
    bins = [bins.metric for bins in device.time_bins]
    assert bins.index("measured_sm_active") == bins.index("est_sm_efficiency") + 1
    series = {each.metric: each for each in analyse_trends(trace).series}
    assert COUNTERS.keys() & series.keys() == {"measured_sm_active", "gpu_power"}
    assert series["measured_sm_active"].steps == [pytest.approx(0.5)] * 2
    assert series["gpu_power"].steps == [pytest.approx(305.0), None]
    without = replace(trace, counters=trace.counters.where(np.zeros(6, bool)), memo={})
    assert not COUNTERS.keys() & {each.metric for each in analyse_trends(without).series}


def test_the_timeline_has_a_track_for_each_counter(tmp_path) -> None:
    trace = sampled([(SM, 5, 50.2), (SM, 10, 50.4), (SM, 15, 0.0), (POWER, 5, 300.0), (POWER, 10, 310.0)])
    write_events(trace, tmp_path)
    page = timeline_page(EventFile.open(tmp_path), 0, 20_000, 1)
    boxes = page.boxes
    shown = zip(boxes.track, boxes.name, boxes.start_ns, boxes.length_ns, boxes.event, strict=True)
    found = [
        (page.tracks[track], page.names[name], start, length, event) for track, name, start, length, event in shown
    ]
    counters = [(track.label, *rest) for track, *rest, _ in found if track.kind == "ranges"]
    assert counters == [
        ("SM active, measured", "50 %", 0, 10_000),
        ("SM active, measured", "0 %", 10_000, 5_000),
        ("Power (W)", "300", 0, 5_000),
        ("Power (W)", "310", 5_000, 5_000),
    ]
    numbers = [event for *_, event in found]
    assert len(set(numbers)) == len(numbers)
