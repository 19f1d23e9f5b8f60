"""The head of a recording: work launched before it, whether visible or not, and what else looks like such work."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.quality import notes
from tb_steptime.metrics.excluded_time.ranges import excluded_time, judged_ns
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind
from tests.drawn.timeline import timeline

MS = 1_000_000


def head_ms(trace: Trace, device: int = 0) -> list[tuple[float, float]]:
    return [(start / MS, end / MS) for start, end in excluded_time(trace, device).before_recording]


def drawn(runtime: str, kernel: str, copy: str = ".", cell_ns: int = MS, **calls: str) -> Trace:
    width = max(len(runtime), len(kernel))
    lines = [("step", "0" * width), ("runtime", runtime), ("kernel 7", kernel), ("memcpy 7", copy)]
    drawing = "\n".join(f"{label} | {cells:.<{width}} |" for label, cells in lines)
    return timeline(drawing, calls=calls, names={"c": "Memcpy HtoD (Pageable -> Device)"}, cell_ns=cell_ns)


def test_a_first_copy_that_waits_stands_behind_work_that_is_not_seen():
    trace = drawn("..cccccc..k..", "..........kk", "......cc")
    assert head_ms(trace) == [(0, 6)]
    assert judged_ns(trace, 0).tolist() == [7 * MS]


def test_a_wait_that_is_short_against_the_time_before_says_nothing_about_that():
    assert head_ms(drawn("." * 38 + "ccc.", "", "." * 40 + "c.")) == [(0, 40)]
    assert head_ms(drawn("." * 39 + "ccc.", "", "." * 41 + "c.")) == [(39, 41)]


def test_a_first_kernel_that_starts_long_after_its_call_returned_stands_behind_such_work():
    assert head_ms(drawn("..k....", ".....kk")) == [(0, 5)]


@pytest.mark.parametrize(
    "trace",
    [
        drawn("..k....", "..kkk"),
        drawn("..kkkk.", ".....kk"),
        drawn("..k....", "....kk", cell_ns=MS - 1),
        drawn("s.k....", "....kk", s="cudaDeviceSynchronize", cell_ns=40_000),
        drawn("s.k.......", ".......kk", s="cudaDeviceSynchronize", cell_ns=MS // 4),
        drawn("kq...s...", ".k.......", s="cudaStreamSynchronize"),
    ],
    ids=[
        "starts at once",
        "as its call returns",
        "less than a millisecond later",
        "found empty by a short synchronize",
        "found empty by a synchronize, which waits no more",
        "a synchronize after the first launch",
    ],
)
def test_what_no_earlier_work_explains_is_no_head(trace: Trace):
    assert [end for _, end in head_ms(trace) if end > 0.25] == []


def test_a_synchronize_before_the_first_launch_waits_for_earlier_work():
    assert head_ms(drawn("..ssss.k....", "........kk", s="cudaStreamSynchronize")) == [(0, 6)]


def test_a_synchronize_for_one_device_is_no_head_of_another():
    trace = timeline(
        """
        step          | 000000000000 |
        runtime       | asssssssb... |
        kernel 7 gpu0 | .aaaaaaa.... |
        kernel 7 gpu1 | ........bb.. |""",
        calls={"s": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    assert head_ms(trace, 1) == []


@pytest.mark.parametrize(("wait", "head"), [(1, [(0, 6)]), (3, [])], ids=["shorter", "half as long"])
def test_a_wait_that_comes_again_on_an_idle_device_is_a_cost(wait: int, head: list[tuple[float, float]]):
    trace = timeline(
        f"""
        step     | {"0" * 8}{"1" * (wait + 3)} |
        runtime  | ccccccc.{"d" * (wait + 1)} |
        memcpy 7 | ......c.{"." * wait}d |""",
        names=dict.fromkeys("cd", "Memcpy HtoD (Pageable -> Device)"),
        cell_ns=MS,
    )
    assert head_ms(trace) == head


def test_a_process_that_creates_its_context_had_no_work_before():
    trace = timeline(
        """
        step     | 000000000000 |
        runtime  | pppppp.k.... |
        kernel 7 | ..........kk |""",
        calls={"p": "cudaDeviceGetStreamPriorityRange"},
        cell_ns=10 * MS,
    )
    assert head_ms(trace) == []


def test_a_first_activity_that_another_device_explains_waits_for_that():
    trace = timeline(
        """
        step          | 000000000000 |
        runtime       | ab.......... |
        kernel 7 gpu0 | .aaaaaaa.... |
        kernel 7 gpu1 | ........bb.. |""",
        cell_ns=MS,
    )
    assert head_ms(trace, 1) == []


def numbered_before(trace: Trace, first: int) -> Trace:
    """ROCm records work from before the recording, with correlation ids smaller than that of the first launch."""
    events = trace.events
    lost = np.isin(events.kind, (Kind.KERNEL,)) & ~np.isin(
        events.correlation_id, events.correlation_id[events.rows(Kind.RUNTIME)]
    )
    ids = events.correlation_id.astype(np.int64) + 100
    ids[lost] = first + np.arange(int(lost.sum()))
    return replace(trace, events=replace(events, correlation_id=ids))


@pytest.mark.parametrize(("first", "head"), [(10, [(0, 4), (7, 8)]), (1000, [])], ids=["before", "lost calls"])
def test_recorded_work_without_launch_is_a_head_by_its_number(first: int, head: list[tuple[float, float]]):
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | .k........ |
        kernel 7 | xxyy.kk... |
        kernel 9 | .......z.. |""",
        cell_ns=MS,
    )
    assert head_ms(numbered_before(trace, first)) == head


def test_a_copy_on_a_stream_of_its_own_does_not_end_the_head():
    """Without the kernels of others before it, a copy is the recording's own first work."""
    copies = """
        step      | 000000000000000000 |
        runtime   | pk................ |
        memcpy 20 | .p................ |"""
    names = {"p": "Memcpy HtoD (Pinned -> Device)"}
    behind = timeline(f"{copies}\n kernel 7 | .....xx.yyyy.kkk.. |", names=names, cell_ns=MS)
    assert head_ms(numbered_before(behind, 10)) == [(0, 12)]


@pytest.mark.parametrize(
    ("pause", "number", "heads"),
    [(10, 150, [(14, 16)]), (9, 150, []), (10, 250, [])],
    ids=["launched meanwhile", "a short pause", "a lost call"],
)
def test_a_second_recording_in_the_file_has_a_head_too(pause: int, number: int, heads: list[tuple[float, float]]):
    """The first launch has the number 100, the second one 200."""
    trace = timeline(
        f"""
        step     | 0000{"." * pause}111111 |
        runtime  | k...{"." * pause}l..... |
        kernel 7 | .kkk{"." * pause}zz..ll |""",
        cell_ns=MS,
    )
    events = trace.events
    ids = 100 * events.correlation_id.astype(np.int64)
    ids[[trace.strings[name] == "z" for name in events.name]] = number
    assert head_ms(replace(trace, events=replace(events, correlation_id=ids), memo={})) == heads


def test_without_any_launch_record_nothing_is_known():
    assert excluded_time(timeline("kernel 7 | ..kk.kk |"), 0).total == Intervals.empty()


def test_kernels_wait_for_earlier_work_while_a_copy_on_a_stream_of_its_own_does_not():
    trace = timeline(
        """
        step      | 0000000000000000 |
        runtime   | pk.............. |
        memcpy 20 | .p.............. |
        kernel 7  | ............kkk. |""",
        names={"p": "Memcpy HtoD (Pinned -> Device)"},
        cell_ns=MS,
    )
    assert head_ms(trace) == [(0, 12)]


def test_a_stream_that_is_first_used_after_a_kernel_has_run_shows_no_head():
    trace = timeline(
        """
        step      | 0000000000000000 |
        runtime   | k.s............. |
        kernel 7  | .k.............. |
        kernel 20 | ............sss. |""",
        cell_ns=MS,
    )
    assert head_ms(trace) == []


def test_without_launch_calls_nothing_says_what_a_device_does_before_its_first_work():
    assert head_ms(drawn("", ".....kkk")) == [(0, 5)]
    assert head_ms(drawn("", ".....kkk", cell_ns=MS // 10)) == []
    assert [note.id for note in notes(drawn("", ".....kkk")) if note.id.startswith("before")] == ["before_first_work"]
    assert [note.id for note in notes(drawn("..k", ".....kkk")) if note.id.startswith("before")] == ["before_recording"]
