"""The picture of two steps in lanes: which steps it shows, and what is in each lane."""

from __future__ import annotations

from tb_steptime.analyses.data_loading import ANALYSIS
from tb_steptime.metrics.data_loading import waits as lanes_module
from tb_steptime.metrics.data_loading.waits import LaneWindow
from tests.drawn.timeline import timeline


def lanes(drawing: str) -> LaneWindow:
    window = ANALYSIS.analyse(timeline(drawing)).lanes
    assert window is not None
    return window


def test_the_two_steps_are_the_typical_ones():
    window = lanes("""
        step     | 111111112222222233333333 |
        loader   | llllll..mmm.....nnn..... |
        runtime  | ......a....b.......c.... |
        kernel 7 | .......a...bbbbb...ccccc |""")
    assert window.steps == ["2", "3"]
    assert [(lane.id, lane.start_ns, lane.end_ns, lane.hatched) for lane in window.lanes[:1]] == [
        ("loader", [8_000, 16_000], [11_000, 19_000], [False, False])
    ]
    assert window.lanes[2].start_ns == [11_000, 19_000]


def test_of_a_burst_the_pair_shows_the_long_wait():
    window = lanes("""
        step     | 1122333333333344556666666666 |
        loader   | l.l.mmmmmmmmm.l.l.nnnnnnnnn. |
        runtime  | .a.b.........c.d.e.........f |
        kernel 7 | .a.b.........c.d.e.........f |""")
    assert {"3", "6"} & set(window.steps)


def test_of_too_many_waits_gaps_that_nobody_sees_are_closed(monkeypatch):
    """Where there are too many waits, those that cost GPU time cover the others."""
    monkeypatch.setattr(lanes_module, "MOST_WAITS", 2)
    monkeypatch.setattr(lanes_module, "LANE_GAP_FRACTION", 0.1)  # 2 us
    window = lanes("""
        step     | 11111111112222222222 |
        loader   | l.m......o...p...... |
        runtime  | a..........b........ |
        kernel 7 | ........a....bb..... |""")
    assert [(lane.start_ns, lane.end_ns, lane.hatched) for lane in window.lanes[:1]] == [
        ([0, 9_000, 13_000], [3_000, 10_000, 14_000], [False, False, True])
    ]


def test_without_a_device_there_is_no_lane_that_would_call_it_idle():
    window = lanes("""
        step     | 1111222233334444 |
        loader   | l...m...n...o... |
        op       | .aaa.bbb.ccc.ddd |""")
    assert [lane.id for lane in window.lanes] == ["loader", "cpu"]
