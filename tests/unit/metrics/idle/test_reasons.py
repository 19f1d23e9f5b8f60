"""Why the device is idle: every idle instant has one reason, and is charged to one place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.reasons import EXCLUDED, HOST_BOUND, REASONS, devices_by_activity
from tb_steptime.metrics.idle.sums import idle_of_activity, idle_partition, idle_sums, longest_gaps
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline


def reasons_us(trace: Trace, device: int = 0) -> dict[str, list[int]]:
    per_step = idle_partition(trace)[device].per_step_ns
    return {reason: (per_step[reason] // 1_000).tolist() for reason in REASONS if per_step[reason].any()}


def pieces_us(trace: Trace, device: int = 0) -> list[tuple[int, int, str, str]]:
    """(start, end, reason, site) in time order."""
    return [
        (start // 1_000, end // 1_000, REASONS[reason], SITES[site].id)
        for each in idle_segments(trace, device)
        for start, end, reason, site in zip(
            each.start.tolist(), each.end.tolist(), each.reason.tolist(), each.site.tolist(), strict=True
        )
    ]


def test_before_the_launch_the_host_is_late_and_after_it_launches_take_time():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k...q..... |
        kernel 7 | .kk...qqqq |""")
    assert reasons_us(trace) == {"nothing_recorded": [1], "launch_latency": [3]}
    assert idle_partition(trace)[0].sum_ns(HOST_BOUND).tolist() == [4_000]


def test_what_the_launching_thread_did_before_its_call():
    """Where two causes overlap, the one that comes first in the list of reasons counts."""
    trace = timeline(
        """
        step     | 000000000000000000000000 |
        user x   | .uuuuuuuuuuuuuuuuuuuuuu. |
        op       | ..aaaaaa.bbbb........... |
        runtime  | k..s.m..ec......f..q.... |
        kernel 7 | .k..................qqqq |""",
        calls={"s": "cudaStreamSynchronize", "m": "cudaMalloc", "e": "cudaEventQuery", "c": "cudaGetDevice",
               "f": "hipFree"},
    )  # fmt: skip
    assert pieces_us(trace) == [
        (0, 1, "launch_latency", "forward.model"),
        (2, 3, "cpu_work", "forward.model"),
        (3, 4, "blocking_call", "forward.model"),
        (4, 5, "cpu_work", "forward.model"),
        (5, 6, "allocator", "forward.model"),
        (6, 13, "cpu_work", "forward.model"),
        (13, 16, "nothing_recorded", "forward.model"),
        (16, 17, "allocator", "forward.model"),
        (17, 19, "nothing_recorded", "forward.model"),
        (19, 20, "launch_latency", "forward.model"),
    ]


def test_only_the_launching_thread_counts():
    trace = timeline("""
        step         | 0000000000 |
        op           | ..aaaaaa.. |
        op other     | ...bbb.... |
        runtime      | k......... |
        runtime other| ......q... |
        kernel 7     | .k......qq |""")
    assert reasons_us(trace) == {"cpu_work": [3], "nothing_recorded": [1], "launch_latency": [3]}


def test_a_training_thread_that_stands_still_waits_for_the_threads_of_the_engine():
    trace = timeline(
        """
        step          | 000000000000 |
        op engine     | ...nnnnn.... |
        runtime       | k.........q. |
        runtime engine| ....ss...... |
        kernel 7      | .k........qq |""",
        names={"n": "autograd::engine::evaluate_function: MmBackward0"},
        calls={"s": "cudaStreamSynchronize"},
    )
    assert reasons_us(trace) == {
        "blocking_call": [2], "cpu_work": [3], "nothing_recorded": [3], "launch_latency": [1],
    }  # fmt: skip


def test_a_launching_call_that_blocks_is_no_latency():
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | k...ccccc. |
        kernel 7 | .kk....... |
        memcpy 7 | .......c.. |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)"},
    )
    assert reasons_us(trace) == {
        "blocking_call": [3], "nothing_recorded": [1], "launch_latency": [1], "tail": [2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sync", "other", "expected"),
    [
        ("...............", "...............", {"launch_latency": [70], "dependency": [50]}),
        ("sssss..........", "...............", {"launch_latency": [70], "dependency": [50]}),
        ("......sssss....", "...............", {"launch_latency": [70], "dependency": [10], "unrecorded_work": [40]}),
        ("......sssss....", "....jjjjj......", {"launch_latency": [70], "dependency": [50]}),
    ],
    ids=["nothing else", "a synchronize before", "a synchronize", "another device that works"],
)
def test_a_launch_that_returned_long_ago_is_no_latency(sync: str, other: str, expected: dict[str, list[int]]):
    """From 50 us after the end of the call, something else delays the launch; a host that waits too may show what."""
    trace = timeline(
        f"""
        step          | 00000000000000000000000 |
        runtime       | k...j.aa{sync} |
        kernel 7 gpu0 | kkkkkk............aaaaa |
        kernel 7 gpu1 | ........{other} |""",
        cell_ns=10_000,
        calls={"s": "cudaStreamSynchronize"},
    )
    assert reasons_us(trace) == expected


def test_before_the_first_work_of_a_recording_the_device_is_busy_with_older_work():
    trace = timeline(
        """
        step     | 00000000000000000000 |
        runtime  | .a.................. |
        kernel 7 | ............aaaaaaaa |""",
        cell_ns=10_000,
    )
    assert reasons_us(trace) == {"nothing_recorded": [10], "launch_latency": [60], "unrecorded_work": [50]}


def test_where_launches_usually_take_long_they_are_late_from_ten_times_that_on():
    """Windows collects launches before it submits them."""
    letters = "abcdefghij"
    trace = timeline(
        f"""
        step     | {"0" * 300} |
        runtime  | {"".join(letter + "........." for letter in letters)}z{"." * 199} |
        kernel 7 | {"".join("..." + letter * 7 for letter in letters)}{"." * 80}{"z" * 120} |""",
        cell_ns=10_000,
    )
    assert reasons_us(trace) == {"launch_latency": [10 * 30 + 210], "dependency": [590]}


def test_launches_that_all_wait_for_unrecorded_work_are_not_late():
    """Each launch waits 5 ms, behind a graph whose kernels are not recorded or for the turn of another process: no
    system delays launches for so long, so this is no usual delay, and 50 us after its call each one is late."""
    trace = timeline(
        f"""
        step     | {"0" * 520} |
        runtime  | {"".join(letter + "." * 51 for letter in "abcdefghij")} |
        kernel 7 | {"".join("." * 51 + letter for letter in "abcdefghij")} |""",
        cell_ns=100_000,
    )
    found = reasons_us(trace)
    assert found["launch_latency"] == [10 * (100 + 50)]
    assert found["dependency"] == [9 * (50 * 100 - 50)]


@pytest.mark.parametrize(
    ("graphs", "reason"),
    [("g..", "unrecorded_work"), ("g.g", "unrecorded_work"), ("..g", "dependency")],
    ids=["one graph", "two", "none before the launch"],
)
def test_what_follows_a_graph_whose_kernels_are_not_recorded_waits_for_these(graphs: str, reason: str):
    """The launches of later graphs come after all work, and only make the number of graph launches higher."""
    trace = timeline(
        f"""
        step     | {"0" * 60} |
        runtime  | k.{graphs[0]}.q{"." * 46}{graphs[1:]}{"." * 7} |
        kernel 7 | .kk{"." * 30}q{"." * 26} |""",
        cell_ns=10_000,
        calls={"g": "cudaGraphLaunch"},
    )
    found = reasons_us(trace)
    assert found[reason][0] == 330 - (50 + 50)  # the launch returns after 50 us, and counts as late after another 50 us
    assert ({"dependency", "unrecorded_work"} - {reason}).isdisjoint(found)


@pytest.mark.parametrize(
    ("dropped", "idle", "unrecorded"), [("....", 360, 0), ("d...", 300, 60), ("de..", 290, 70), ("d..e", 270, 90)]
)
def test_where_the_work_of_launches_was_dropped_the_device_runs_it(dropped: str, idle: int, unrecorded: int):
    """Launches of 10 us, whose work is not recorded. Each reaches the device at most 50 us after its call."""
    trace = timeline(
        f"""
        step     | {"0" * 60} |
        runtime  | k....{dropped}{"." * 30}q{"." * 20} |
        kernel 7 | .kk{"." * 37}{"q" * 20} |""",
        cell_ns=10_000,
    )
    rest = {"unrecorded_work": [unrecorded]} if unrecorded else {}
    assert reasons_us(trace) == {"launch_latency": [20], "nothing_recorded": [idle]} | rest


@pytest.mark.parametrize(
    ("length", "expected"), [(20, {"blocking_call": [200]}), (50, {"blocking_call": [10], "unrecorded_work": [490]})]
)
def test_a_synchronize_of_an_idle_device_returns_at_once(length: int, expected: dict[str, list[int]]):
    """A longer call waits for work that is not recorded, so no gain is based on it."""
    trace = timeline(
        f"""
        step     | {"0" * 80} |
        runtime  | k..{"s" * length}q{"." * (76 - length)} |
        kernel 7 | kkk{"." * length}{"q" * (77 - length)} |""",
        cell_ns=10_000,
        calls={"s": "cudaStreamSynchronize"},
    )
    assert reasons_us(trace) == expected
    assert bubbles(trace, 0).idle_ns.sum() == 1_000 * expected["blocking_call"][0]


def test_a_synchronize_that_waits_for_launched_work_is_no_sign_of_other_work():
    trace = timeline(
        f"""
        step     | {"0" * 80} |
        runtime  | kq.{"s" * 60}{"." * 17} |
        kernel 7 | kkk{"." * 60}{"q" * 17} |""",
        cell_ns=10_000,
        calls={"s": "cudaStreamSynchronize"},
    )
    assert reasons_us(trace) == {"dependency": [600]}


COPIES = {
    "to the host": ("Memcpy DtoH (Device -> Pageable)", 1 << 20, 3, True),
    "to the host, at once": ("Memcpy DtoH (Device -> Pageable)", 1 << 20, 2, False),
    "of few bytes": ("Memcpy HtoD (Pageable -> Device)", 1 << 16, 3, True),
    "of staged bytes": ("Memcpy HtoD (Pageable -> Device)", (1 << 16) + 1, 11, True),
    "of staged bytes, at once": ("Memcpy HtoD (Pageable -> Device)", (1 << 16) + 1, 10, False),
}


@pytest.mark.parametrize("case", COPIES)
def test_a_copy_that_begins_late_waits_for_work_that_is_not_recorded(case: str):
    name, nbytes, cells, waits = COPIES[case]
    trace = timeline(
        f"""
        step     | {"0" * 40} |
        runtime  | k..{"c" * 30}{"." * 7} |
        kernel 7 | kkk{"." * 37} |
        memcpy 7 | {"." * (3 + cells)}{"c" * (37 - cells)} |""",
        cell_ns=100_000,
        names={"c": name},
        nbytes={"c": nbytes},
    )
    blocking = 10 if waits else 100 * cells
    rest = {"unrecorded_work": [100 * cells - 10]} if waits else {}
    assert reasons_us(trace) == {"blocking_call": [blocking]} | rest


@pytest.mark.parametrize(
    ("before", "cells", "reason"),
    [("..", 9, "blocking_call"), ("..", 11, "before_recording"), ("kk", 9, "unrecorded_work")],
)
def test_the_first_copy_of_a_recording_may_be_late_because_of_the_profiler(before: str, cells: int, reason: str):
    """It delays the first launch that it sees by up to a millisecond."""
    trace = timeline(
        f"""
        step     | {"0" * 40} |
        runtime  | {before[0]}.{"c" * 30}{"." * 8} |
        kernel 7 | {before}{"." * 38} |
        memcpy 7 | {"." * (2 + cells)}{"c" * (38 - cells)} |""",
        cell_ns=100_000,
        names={"c": "Memcpy HtoD (Pageable -> Device)"},
        nbytes={"c": 16},
    )
    found = reasons_us(trace)
    assert max(found, key=lambda each: found[each]) == reason
    assert ("unrecorded_work" in found) is (reason == "unrecorded_work")


@pytest.mark.parametrize(("gap", "reason"), [(10, "queued"), (11, "collective_wait")])
def test_only_a_gap_before_a_collective_is_a_wait_for_ranks(gap: int, reason: str):
    trace = timeline(f"""
        step     | {"0" * (gap + 20)} |
        runtime  | knq{"." * (gap + 17)} |
        kernel 7 | .kk{"." * (gap + 14)}qqq |
        nccl 9   | ...{"." * gap}nnn{"." * 14} |""")
    assert reasons_us(trace) == {"launch_latency": [1], reason: [gap], "dependency": [11]}


def test_work_that_was_launched_before_the_gap_is_queued():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | kq........ |
        kernel 7 | .kk..qqqqq |""")
    assert reasons_us(trace) == {"launch_latency": [1], "queued": [2]}


@pytest.mark.parametrize(("gap", "reason"), [(10, "queued"), (11, "dependency")])
def test_queued_work_that_does_not_start_waits_for_other_work(gap: int, reason: str):
    trace = timeline(f"""
        step     | {"0" * (gap + 5)} |
        runtime  | kq{"." * (gap + 3)} |
        kernel 7 | .kk{"." * gap}qq |""")
    assert reasons_us(trace) == {"launch_latency": [1], reason: [gap]}


@pytest.mark.parametrize(
    ("call", "kernels", "expected"),
    [
        ("q" * 30, "q", {"launch_latency": [1 + 27]}),
        ("q" * 13, "q", {"launch_latency": [1 + 27]}),  # it may reach the device until 50 us after the call
        ("q" * 12, "q", {"launch_latency": [1], "dependency": [27]}),
        ("g" * 30, "g", {"launch_latency": [1], "dependency": [27]}),
    ],
    ids=["still running", "11 us longer", "10 us longer", "a graph that has begun"],
)
def test_a_launch_call_that_still_runs_has_launched_nothing(call: str, kernels: str, expected: dict[str, list[int]]):
    """The device has no work from 3 us on, when the call has run for 2 us, or its first kernel has."""
    trace = timeline(
        f"""
        step     | {"0" * 33} |
        runtime  | k{call:.<32} |
        kernel 7 | .k{kernels if kernels == "g" else "k"}{"." * 27}{kernels * 3} |""",
        calls={"g": "cudaGraphLaunch"},
    )
    assert reasons_us(trace) == expected


def test_kernels_of_a_graph_share_its_call():
    trace = timeline(
        """
        step     | 000000000000000000000000 |
        runtime  | .g...................... |
        kernel 7 | ...gg.gg..............gg |""",
        calls={"g": "cudaGraphLaunch"},
    )
    assert reasons_us(trace) == {
        "nothing_recorded": [1], "launch_latency": [2], "queued": [1], "dependency": [14],
    }  # fmt: skip


def test_a_stream_that_works_leaves_no_gap():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | kj....q... |
        kernel 7 | .kkk....qq |
        kernel 9 | ..jjj..... |""")
    assert reasons_us(trace) == {"launch_latency": [3], "nothing_recorded": [1]}


def test_each_device_has_its_own_gaps():
    trace = timeline("""
        step          | 0000000000 |
        runtime       | k..q...... |
        kernel 7 gpu0 | .kkkkk.... |
        kernel 7 gpu1 | .....qqqqq |""")
    assert reasons_us(trace, 0) == {"launch_latency": [1], "tail": [4]}
    assert reasons_us(trace, 1) == {"cpu_work": [1], "nothing_recorded": [2], "launch_latency": [2]}


def test_the_wait_for_a_batch_comes_first():
    trace = timeline(
        """
        step     | 0000000000 |
        loader   | ..lll..... |
        runtime  | k..s...q.. |
        kernel 7 | .kk.....qq |""",
        calls={"s": "cudaStreamSynchronize"},
    )
    assert pieces_us(trace) == [
        (0, 1, "launch_latency", "forward.model"),
        (3, 5, "data_loading", "data_loading"),
        (5, 7, "nothing_recorded", "forward.model"),
        (7, 8, "launch_latency", "forward.model"),
    ]


def test_work_without_a_launch_record_leaves_the_cause_unknown():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k......... |
        kernel 7 | .kk..u.... |""")
    assert pieces_us(trace) == [
        (0, 1, "launch_latency", "forward.model"),
        (3, 5, "unknown", "unknown"),
        (6, 10, "tail", "no_launch"),
    ]


def test_a_gap_across_steps_is_cut_where_the_step_begins():
    trace = timeline("""
        step     | 0000011111 |
        runtime  | k.....q... |
        kernel 7 | .kk....qqq |""")
    assert reasons_us(trace) == {"nothing_recorded": [2, 1], "launch_latency": [1, 1]}


def test_what_an_activity_ended_and_the_longest_gaps():
    trace = timeline("""
        step     | 0000000001111111 |
        loader   | .......ll....... |
        op       | ..a............. |
        runtime  | k...q.....r...s. |
        kernel 7 | .k...q......r..s |""")
    assert (idle_of_activity(trace, 0) // 1_000).tolist() == [1, 3, 4, 2]
    assert longest_gaps(trace, 0, 1) == {
        ("data_loading", "data_loading"): [Evidence("0", 7_000, 9_000)],
        ("forward.model", "cpu_work"): [Evidence("0", 2_000, 3_000)],
        ("forward.model", "nothing_recorded"): [Evidence("0", 3_000, 4_000)],
        ("forward.model", "launch_latency"): [Evidence("1", 10_000, 12_000)],
    }


def test_bubbles_are_part_of_the_idle_time():
    trace = timeline(
        """
        step     | 000000000000 |
        runtime  | k.ssss...q.. |
        kernel 7 | .kkkk.....qq |""",
        calls={"s": "cudaStreamSynchronize"},
    )
    sums = idle_sums(trace)[0]
    assert {REASONS[i]: ns for i, ns in enumerate(sums.ns.sum((0, 1)).tolist()) if ns} == {
        "blocking_call": 1_000, "nothing_recorded": 3_000, "launch_latency": 2_000,
    }  # fmt: skip
    assert {REASONS[i]: ns for i, ns in enumerate(sums.bubble_ns.sum((0, 1)).tolist()) if ns} == {
        "blocking_call": 1_000, "nothing_recorded": 3_000,
    }  # fmt: skip


def test_pieces_are_the_same_however_many_are_made_at_once_and_kept(monkeypatch: pytest.MonkeyPatch):
    drawing = """
        step     | 000000000000 |
        op       | ..aa.....bb. |
        runtime  | k...q.r....s |
        kernel 7 | .k...q..r... |"""
    whole = pieces_us(timeline(drawing))
    monkeypatch.setattr("tb_steptime.metrics.idle.attribution._GAPS_AT_ONCE", 1)
    monkeypatch.setattr("tb_steptime.metrics.idle.attribution._KEPT_SEGMENTS", 2)
    trace = timeline(drawing)
    assert [pieces_us(trace), pieces_us(trace)] == [whole, whole]
    assert len(whole) == 5


CALLS = {"s": "cudaStreamSynchronize", "t": "cudaDeviceSynchronize", "m": "cudaMalloc", "z": "cudaMemcpy"}


@st.composite
def drawings(draw: st.DrawFn) -> str:
    """Kernels on two streams and two devices, launched by either of two threads or by none, between blocking calls, ops
    and waits for a loader."""

    def cells(alphabet: str) -> str:
        return draw(st.text(alphabet=alphabet, min_size=24, max_size=24))

    def once(chars: str) -> str:
        return "".join(draw(st.permutations([*chars, *"." * (24 - len(chars))])))

    def runs(chars: str) -> str:
        lengths = [(draw(st.integers(0, 4)), draw(st.integers(1, 3))) for _ in chars]
        return "".join("." * gap + char * length for (gap, length), char in zip(lengths, chars, strict=True))

    return f"""
        step           | 000000000001111111111111 |
        loader         | {cells("...l")} |
        op             | {cells("..o")} |
        runtime        | {once("abest")} |
        runtime other  | {once("cdm")} |
        memcpy 7 gpu0  | {runs("z")} |
        kernel 7 gpu0  | {runs("abx")} |
        kernel 9 gpu0  | {runs("cy")} |
        kernel 7 gpu1  | {runs("de")} |"""


@given(drawings())
def test_every_idle_instant_has_one_reason(drawing: str):
    assert_conserved(timeline(drawing, calls=CALLS))


def assert_conserved(trace: Trace) -> None:
    steps = find_steps(trace)
    for device, sums in idle_sums(trace).items():
        busy = busy_intervals(trace, device).overlap_ns(steps.start_ns, steps.end_ns)
        assert (sums.ns.sum(axis=(1, 2)) + busy).tolist() == (steps.end_ns - steps.start_ns).tolist()
        assert (sums.ns >= 0).all()
        assert (sums.bubble_ns >= 0).all()
        assert (sums.bubble_ns <= sums.ns).all()
        assert sums.bubble_ns.sum() == bubbles(trace, device).idle_ns.sum()
        by_reason = dict(zip(REASONS, sums.ns.sum(axis=(0, 1)).tolist(), strict=True))
        nobodys = ("data_loading", "tail", *EXCLUDED)
        charged = sum(by_reason.values()) - sum(by_reason[reason] for reason in nobodys)
        assert idle_of_activity(trace, device).sum() == charged
        for segments in idle_segments(trace, device):
            assert (segments.start[1:] >= segments.end[:-1]).all()
            assert (segments.end > segments.start).all()


@on_real_traces
def test_every_idle_instant_of_real_traces_has_one_reason(name: str):
    assert_conserved(read_real(name))


def test_a_device_whose_every_activity_is_empty_is_idle_all_the_time():
    """A profiler that lost the durations writes such a trace."""
    trace = timeline("""
        step     | 0000000000 |
        op       | .aaa...... |
        runtime  | ..k....... |
        kernel 7 | ....kk.... |""")
    lengths = np.where(trace.events.kind == Kind.USER, trace.events.dur_ns, 0)
    trace = replace(trace, events=replace(trace.events, dur_ns=lengths))
    assert sum(idle_partition(trace)[0].per_step_ns.values()).tolist() == [10_000]
    assert_conserved(trace)


def test_a_host_that_launches_late(trace_path: Callable[[str], Path]):
    """An A100 that waits for Python; the same as in a picture of this trace that was drawn by hand from its events."""
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    partition = idle_partition(trace)[0]
    ms = {reason: round(float(ns.mean()) / 1e6, 1) for reason, ns in partition.per_step_ns.items() if ns.any()}
    assert ms == {
        "blocking_call": 0.0, "cpu_work": 134.4, "nothing_recorded": 24.9, "launch_latency": 9.7, "queued": 0.6,
        "dependency": 0.0, "tail": 0.2,
    }  # fmt: skip
    assert devices_by_activity(trace) == (0,)
    assert len(idle_of_activity(trace, 0)) == len(find_launches(trace).activity)
