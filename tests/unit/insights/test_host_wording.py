"""The Host view's sentences: each verdict has its answer, and no title speaks of what is not there."""

import dataclasses

import msgspec
import pytest

from tb_steptime.metrics.host.answer import HostFigures, answer
from tb_steptime.metrics.host.titles import titles
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS, Bound
from tb_steptime.metrics.idle.meanings import IDLE_MEANINGS
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.idle.several_gpus import SeveralDevices
from tb_steptime.metrics.launches.queue import BackPressure
from tb_steptime.metrics.launches.run_ahead import LaunchFigures
from tb_steptime.metrics.steps.sites import PhaseRow
from tb_steptime.terminal.printer import plain
from tests.drawn.host_result import blocking, copy, host_result

MS = 1_000_000
LAUNCHES = LaunchFigures(1258, 1260, 5000, 6000, 12_000, 0.74, 0, 0.21, 11, 0.87, 0)
HOST = HostFigures(
    Bound.HOST, 200 * MS, IdleNs(cpu_work=100 * MS, nothing_recorded=30 * MS, launch_latency=10 * MS), LAUNCHES, None,
    150 * MS,
)  # fmt: skip


def said(host: HostFigures) -> str:
    return plain(answer(host).text)


def test_every_reason_has_one_meaning_in_the_order_of_the_partition():
    assert [meaning.id for meaning in IDLE_MEANINGS] == list(IdleNs.__struct_fields__)


def test_every_verdict_has_its_answer_and_its_word():
    assert {said(dataclasses.replace(HOST, bound=bound)) for bound in Bound} == {
        "Yes. The GPU waits 140.0 ms a step (70 %) for the host to launch its next work.",
        "No. The GPU works for 30 % of the step.",
        "No, the loader is: the GPU waits 0 ms a step (0 %) for data.",
        "Not by its speed: blocking calls make it wait for the GPU, and then the GPU for it. Of a step 140.0 ms are "
        "idle.",
        "No. The GPU waits 0 ms a step with its work already launched, for other streams or ranks.",
        "No. Communication between ranks holds the step up, not the launches of the host.",
        "In part. Of 140.0 ms idle a step, 140.0 ms wait for the host.",
        "The trace does not tell: it holds too few launch records.",
    }
    assert set(BOUND_WORDS) == set(Bound)


GPU_BOUND = dataclasses.replace(
    HOST, bound=Bound.GPU, idle=IdleNs(queued=4 * MS), back_pressure=BackPressure(300, 90 * MS, 0.45, 1024)
)  # fmt: skip


def test_a_cpu_that_waits_for_room_is_not_the_limit():
    assert said(GPU_BOUND) == (
        "No. A CPU at 100 % is waiting for room in the GPU's full queue, 90.0 ms a step: nothing is wrong with it, and "
        "the GPU works for 98 % of the step."
    )


@pytest.mark.parametrize(
    "host",
    [
        dataclasses.replace(GPU_BOUND, back_pressure=BackPressure(3, 10 * MS - 1, 0.05, 1024)),  # just below the share
        dataclasses.replace(GPU_BOUND, back_pressure=None),
    ],
)
def test_a_busy_cpu_that_finds_room_is_told_apart(host):
    assert said(host) == "No. The GPU works for 98 % of the step."


def test_the_answer_names_the_numbers_that_it_rests_on():
    assert [(figure.id, figure.value.value) for figure in answer(HOST).figures] == [
        ("idle_share", 0.7), ("gpu_busy", 60 * MS), ("host_floor", 150 * MS), ("queue_mean", 0.21), ("queue_max", 11),
        ("starved_share", 0.74), ("run_ahead", 12_000), ("back_pressure", 0),
    ]  # fmt: skip


def test_numbers_that_nobody_knows_are_left_out():
    unknown = dataclasses.replace(HOST, launches=None, host_floor_ns=None)
    assert [figure.id for figure in answer(unknown).figures] == ["idle_share", "gpu_busy", "back_pressure"]


def title(host: HostFigures, key: str, **shown: object) -> str:
    return plain(titles(host, msgspec.structs.replace(host_result(), **shown))[key])


def test_the_queue_is_told_by_what_it_means():
    assert title(HOST, "queue") == "The host never gets ahead: the queue is empty 87 % of the time"
    assert title(GPU_BOUND, "queue") == "The queue is full: up to 11 activities wait for the GPU"
    assert title(dataclasses.replace(HOST, bound=Bound.INPUT), "queue") == "The queue is empty 87 % of the time"
    assert title(dataclasses.replace(HOST, launches=None), "queue") == "How far ahead is the host?"


def test_the_largest_reason_titles_the_reasons():
    assert title(HOST, "reasons") == "CPU work is 71 % of the GPU's idle time"
    assert title(dataclasses.replace(HOST, idle=IdleNs()), "reasons") == "The GPU is never idle"


def test_blocking_calls_that_cost_nothing_are_said_to():
    assert title(HOST, "blocking", blocking_bubble_ns=MS - 1) == "No blocking call costs GPU time"
    assert title(HOST, "blocking", blocking_bubble_ns=MS) == "Blocking calls leave the GPU idle for 1.0 ms a step"


def test_what_is_not_there_has_no_title():
    bare = msgspec.structs.replace(host_result(), blocking=[], copies=[], pauses=[], several_devices=None)
    assert set(titles(HOST, bare)) == {"queue", "reasons", "sites", "blocking"}


def test_calls_that_cost_nothing_are_counted_all_the_same():
    rows = [blocking(0, call="cudaEventSynchronize", count=8.0, blocked_ns=30_000)]
    assert title(HOST, "blocking_remark", blocking=rows, blocking_bubble_ns=0) == (
        "8 calls of cudaEventSynchronize a step take 30 µs on the host and leave 0 ms of the GPU idle."
    )
    several = [*rows, blocking(0, call="cudaStreamSynchronize", count=1.0, blocked_ns=10_000)]
    assert title(HOST, "blocking_remark", blocking=several, blocking_bubble_ns=0) == (
        "9 calls a step take 40 µs on the host and leave 0 ms of the GPU idle."
    )


def test_pageable_memory_is_named_where_most_is_copied_from_it():
    pinned = msgspec.structs.replace(copy(), source="Pinned", pageable=False, total_ns=100_001, hidden_ns=50_000)
    short = msgspec.structs.replace(pinned, total_ns=99_999, hidden_ns=0)
    assert title(HOST, "copies", copies=[copy()]) == "Copies of pageable memory take 100 µs a step"
    assert title(HOST, "copies", copies=[copy(), short]) == "Copies of pageable memory take 100 µs of 200 µs a step"
    assert title(HOST, "copies", copies=[copy(), pinned]) == "Copies take 200 µs a step, 50 µs behind kernels"


@pytest.mark.parametrize(
    ("concurrency", "said"), [(1.19, "2 GPUs work in turns"), (1.2, "Of 2 GPUs, 1.2 work at a time")]
)
def test_devices_that_share_no_time_work_in_turns(concurrency, said):
    several = SeveralDevices([0, 1], concurrency, [MS, MS], 2 * MS, [])
    assert title(HOST, "devices", several_devices=several) == said


def test_phases_that_agree_are_said_to():
    row = PhaseRow("forward", "Forward", MS, MS, IdleNs(), 0, 10.0, 12_000, 0.7, Bound.HOST)
    both = [row, msgspec.structs.replace(row, phase="backward", label="Backward")]
    idle_one = msgspec.structs.replace(row, phase="other", launches=0.0, bound=Bound.UNKNOWN)
    assert title(HOST, "sites", phases=[*both, idle_one]) == "Every phase is host-bound"
    assert title(HOST, "sites", phases=both[:1]) == "Forward is host-bound"
    unlike = [both[0], msgspec.structs.replace(both[0], bound=Bound.GPU)]
    assert title(HOST, "sites", phases=unlike) == "Where does the GPU wait for launches?"
