"""Where the job begins and ends in a recording of one step, and how much work lies outside of steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import as_one_step, find_steps
from tb_steptime.trace.steps.windows import DeviceTime, device_time
from tb_steptime.trace.table import DEVICE_KINDS
from tests import PROJECT
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.drawn.timeline import timeline

DEMO = sorted(str(path.relative_to(PROJECT)) for path in PROJECT.glob("demo_logs/*/*.trace.json.gz"))


def window(trace: Trace) -> tuple[int, int]:
    found = find_steps(trace)
    assert found.by == "recording"
    return found.window


def test_a_graph_that_is_launched_after_the_last_op_is_in_the_recording():
    """A server that decodes is like this: ops prepare the inputs, and one launch starts all the work."""
    trace = timeline(
        """
        op       | .aa.b........... |
        runtime  | .....k.......... |
        kernel 7 | ......kkk.kkkk.. |""",
        calls={"k": "cudaGraphLaunch"},
    )
    assert window(trace) == (1_000, 14_000)


def test_calls_and_ranges_before_the_first_op_and_after_the_last_one_are_in_it():
    trace = timeline(
        """
        user request  | uuuuuuuuuu........ |
        op            | ...a..b........... |
        runtime       | .c....k....sssssss |
        kernel 7      | .......kkk........ |""",
        calls={"s": "cudaDeviceSynchronize", "c": "cudaMalloc"},
        cell_ns=10_000,
    )
    assert window(trace) == (0, 180_000)


@pytest.mark.parametrize(
    ("host", "expected", "outside"),
    [
        ("runtime | .........ss |", (1, 11), []),  # the stop's wait for work that was launched before the recording
        ("runtime | ......c.... |", (1, 9), []),
        ("runtime | ......c..ss |\nop | .....oo.... |", (5, 11), ["outside_steps"]),
        ("runtime | k........ss |", (3, 11), ["outside_steps"]),
    ],
)
def test_calls_that_launch_nothing_do_not_bound_the_recorded_work(
    host: str, expected: tuple[int, int], outside: list[str]
):
    calls = {"s": "cudaDeviceSynchronize", "c": "cudaMalloc"}
    trace = timeline(f"{host}\nkernel 7 | .aa.kk.bb.. |", calls=calls, cell_ns=1_000_000)
    assert window(trace) == (expected[0] * 1_000_000, expected[1] * 1_000_000)
    assert [note.id for note in find_steps(trace).notes] == ["no_steps", *outside]


@pytest.mark.parametrize(
    ("head", "kernels", "line", "noted"),
    [
        (20, 1, "user batch", [15, 36, 21, 0]),  # reads a file first, and its model repeats then
        (14, 1, "user batch", []),  # as long as the steps
        (20, 1, "step", []),  # marks are where the user wants them
        (0, 22, "user batch", []),  # the host is ahead of the device, and waits for it behind its last step
    ],
)
def test_steps_that_take_little_of_the_recording_are_said_to(head: int, kernels: int, line: str, noted: list[int]):
    marks = "1111222233334444" if line == "step" else "uuu.uuu.uuu.uuu."
    trace = timeline(f"""
        op           | h{"h" * head}abc.abc.abc.abc.{"." * kernels} |
        {line:12} | .{"." * head}{marks}{"." * kernels} |
        runtime      | .{"." * head}k...k...k...k...{"s" * kernels} |
        kernel 7     | .{"." * head}{".k..k..k..k...." + "." * kernels if kernels == 1 else ".kkkkkkkkk." * 3} |""",
        calls={"s": "cudaDeviceSynchronize"})  # fmt: skip
    notes = [note for note in find_steps(trace).notes if note.id == "time_outside_steps"]
    assert [[value.value // 1_000 for value in note.values.values()] for note in notes] == [noted] * bool(noted)


@pytest.mark.parametrize(("kernel", "expected"), [(".kk......", (3_000, 9_000)), (".........", (0, 16_000))])
def test_another_process_that_launches_nothing_is_not_the_job(kernel, expected):
    """Tools merge the files of processes; without a known launch, none of them is more the job than another."""
    trace = timeline(f"""
        op other | a..............b |
        op       | ...c..d......... |
        runtime  | ......k......... |
        kernel 7 | ......{kernel}. |""")
    threads = tuple(replace(each, pid="2") if each.tid == "other" else each for each in trace.threads)
    assert window(replace(trace, threads=threads, memo={})) == expected
    assert window(trace) == (0, 16_000), "a thread of the same process is the job's"


def test_a_synchronize_of_an_idle_device_at_an_edge_is_the_profilers_own():
    trace = timeline(
        """
        op       | ....a..b.......... |
        runtime  | s......k.........t |
        kernel 7 | ........kkk....... |""",
        calls={"s": "cudaDeviceSynchronize", "t": "hipDeviceSynchronize"},
    )
    assert window(trace) == (4_000, 11_000)


def test_a_thread_that_only_asks_for_the_state_of_events_shows_no_work():
    trace = timeline(
        """
        op                | ....a..b.......... |
        runtime watchdog  | q.......q......q.q |""",
        calls={"q": "cudaEventQuery"},
    )
    assert window(trace) == (4_000, 8_000)


def test_activities_that_no_call_launches_are_in_the_recording_of_one_step():
    trace = timeline("""
        op       | .a.b........ |
        kernel 7 | ...kkk..kk.. |""")
    assert window(trace) == (1_000, 10_000)


def test_the_work_outside_of_the_steps_is_said():
    """The kernel n was launched before the mark of its step, and its time is split where the step begins."""
    trace = timeline("""
        step     | ....5555.....6666....... |
        runtime  | k...l.......nm.......... |
        kernel 7 | .kkk.lll....nnmmm.....zz |""")
    (note,) = find_steps(trace).notes
    assert (note.id, {key: value.value for key, value in note.values.items()}) == (
        "outside_steps",
        {"outside": 6_000, "total": 13_000, "before": 3_000, "between": 1_000, "after": 2_000},
    )


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15)), max_size=12)


@given(SPANS, st.lists(st.integers(0, 70), min_size=2, max_size=8).map(sorted))
def test_device_time_is_divided_without_a_rest(spans, edges):
    """The result is compared with a count of each microsecond of each kernel."""
    windows = list(zip(edges[::2], edges[1::2], strict=False))
    cells = ["." * start + "k" * length + "." * (80 - start - length) for start, length in spans if length]
    trace = timeline("op | a |" + "".join(f"\n kernel {place} | {line} |" for place, line in enumerate(cells)))
    busy = np.array([[char == "k" for char in line] for line in cells], bool).reshape(-1, 80).sum(axis=0)
    at = np.arange(80)
    inside = np.any([(low <= at) & (at < high) for low, high in windows], axis=0)
    before, after = at < windows[0][0], at >= windows[-1][1]
    between = ~(inside | before | after)
    expected = [int(busy[where].sum()) * 1000 for where in (inside, before & ~inside, between, after & ~inside)]
    assert list(device_time(trace, [(low * 1000, high * 1000) for low, high in windows])) == expected


def assert_every_activity_lies_somewhere(trace: Trace) -> None:
    """Each activity is in a step, or before, between or after steps; the sums of times and of counts are complete."""
    found, rows = find_steps(trace), trace.events.rows(*DEVICE_KINDS)
    time = device_time(trace, [(step.start_ns, step.end_ns) for step in found.steps])
    assert min(time) >= 0
    assert time.total_ns == trace.events.dur_ns[rows].sum()
    notes = [note for note in found.notes if note.id == "outside_steps"]
    assert len(notes) == (time.outside_ns > 0.01 * time.total_ns)
    if found.by == "recording":
        assert (time.between_ns, time.after_ns) == (0, 0)
        own = trace.events.start_ns[rows] >= found.steps[0].start_ns
        assert time.before_ns <= trace.events.dur_ns[rows[~own]].sum()


@on_every_real_trace
def test_every_activity_of_a_real_trace_lies_somewhere(path):
    trace = read_real(real_path(path))
    assert_every_activity_lies_somewhere(trace)
    assert_every_activity_lies_somewhere(as_one_step(trace))


@pytest.mark.parametrize("name", DEMO)
def test_every_activity_of_a_demo_lies_somewhere(name):
    trace = read_real(PROJECT / name)
    assert_every_activity_lies_somewhere(trace)
    assert_every_activity_lies_somewhere(as_one_step(trace))


def test_a_trace_without_a_device_has_no_device_time():
    assert device_time(timeline("op | aa |"), [(0, 1_000)]) == DeviceTime(0, 0, 0, 0)
