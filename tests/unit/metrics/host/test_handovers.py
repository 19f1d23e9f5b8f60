"""Waits of a thread that launches nothing, at whose end the one that launches goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.metrics.host.handovers import background_waits, handovers
from tb_steptime.metrics.idle.blocking_rows import blocking_rows
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

US = 1_000
#: A step of 20 cells. The wait of the other thread ends with the kernel, one cell or ten cells before the next launch.
SOON, LATER = ".ssssssssssssssssss.", ".sssssssss.........."


def served(
    wait: str, kernel: str | None = None, *, thread: str = "results", cell_us: int = 20, steps: int = 5
) -> Trace:
    kernel = wait.replace("s", "k") if kernel is None else kernel
    return timeline(
        f"""
        step             | {"".join(number * 20 for number in "12345"[:steps])} |
        runtime          | {"k..................." * steps} |
        runtime {thread} | {wait * steps} |
        kernel 7         | {kernel * steps} |""",
        calls={"s": "cudaEventSynchronize"},
        cell_ns=cell_us * US,
    )


@pytest.mark.parametrize(
    ("wait", "changes", "number"),
    [
        (SOON, {}, 4),
        (".ssssssssssssssss...", {}, 4),  # 60 of 380 us before the launch
        (".sssssssssssssss....", {}, 0),  # 80 us
        (LATER, {}, 0),
        (".ss.ss.ss.ss.ss.ss..", {"kernel": SOON.replace("s", "k")}, 0),  # a thread that asks again and again
        (SOON, {"steps": 3}, 0),  # two may end then by chance
        (SOON, {"cell_us": 5}, 0),  # too short to tell
        (SOON, {"thread": "main"}, 0),  # the thread that launches waits itself
    ],
)
def test_a_thread_goes_on_when_the_wait_of_another_one_ends(wait: str, changes: dict[str, Any], number: int):
    trace = served(wait, **changes)
    found = handovers(trace)
    assert len(found.wait) == number
    assert set(found.wait.tolist()) <= set(background_waits(trace).tolist())
    assert found.end_ns.tolist() == [400 * US * step for step in range(1, number + 1)]


def test_of_a_thread_most_times_have_to_end_so():
    """Four do, of 380 us each; and then one of 2 ms, in which the other thread waits for something else."""
    trace = timeline(
        f"""
        runtime         | {"k..................." * 4}k{"." * 99}k |
        runtime results | {SOON * 4}.ssss................{"." * 80} |
        kernel 7        | {SOON.replace("s", "k") * 4}.kkkk................{"." * 79}.k |""",
        calls={"s": "cudaEventSynchronize"},
        cell_ns=20 * US,
    )
    assert len(handovers(trace).wait) == 0


def test_a_wait_in_a_thread_of_its_own_delays_nothing():
    """That of results does; that of metrics ends while the other thread is busy with something else."""
    results, metrics = served(SOON), served(LATER)
    assert bubbles(results, 0).idle_ns.tolist() == [40 * US] * 4 + [0]
    assert bubbles(metrics, 0).idle_ns.tolist() == [0] * 5
    assert [row.bubble_ns for row in blocking_rows(metrics, 0)] == [0]


def test_the_device_sets_the_pace_of_a_thread_that_waits_for_the_one_of_results():
    results, metrics = what_if(served(SOON)), what_if(served(LATER))
    assert results is not None and metrics is not None
    assert (results.pace, results.trusted, results.wrong_by) == (Bound.GPU.value, True, 0)
    assert (metrics.pace, metrics.trusted, metrics.wrong_by) == (Bound.HOST.value, True, 0)
    cell_ns = 20 * US
    assert (results.sensitivity.host, results.sensitivity.device) == (19 * cell_ns, 2 * cell_ns)
