"""What limits a span or a phase: every verdict, and the value at which it changes."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.bottleneck import Bound, CpuPace, Pace, causes, judge, judge_cpu, sync_ns
from tb_steptime.metrics.idle.reasons import IdleNs


@pytest.mark.parametrize(
    ("pace", "bound"),
    [
        (Pace(IdleNs(cpu_work=60), 0, 40), Bound.HOST),
        (Pace(IdleNs(nothing_recorded=30, launch_latency=30), 0, 40), Bound.HOST),
        (Pace(IdleNs(data_loading=60), 0, 40), Bound.INPUT),
        (Pace(IdleNs(blocking_call=30, cpu_work=30), 60, 40), Bound.SYNC),
        (Pace(IdleNs(allocator=60), 0, 40), Bound.SYNC),
        (Pace(IdleNs(queued=29, dependency=31), 0, 40), Bound.DEPENDENCY),
        (Pace(IdleNs(queued=60), 0, 40), Bound.GPU),
        (Pace(IdleNs(cpu_work=30), 0, 70, exposed_communication_ns=40), Bound.COMMUNICATION),
        (Pace(IdleNs(cpu_work=50), 0, 50, exposed_communication_ns=40), Bound.HOST),
        (Pace(IdleNs(cpu_work=30), 0, 70, exposed_communication_ns=20), Bound.HOST),
        (Pace(IdleNs(collective_wait=60), 0, 40), Bound.COMMUNICATION),
        (Pace(IdleNs(dependency=60), 0, 40, exposed_communication_ns=40), Bound.DEPENDENCY),
        (Pace(IdleNs(dependency=30, cpu_work=20), 0, 50, exposed_communication_ns=30), Bound.MIXED),
        (Pace(IdleNs(unrecorded_work=60), 0, 40), Bound.UNKNOWN),
        (Pace(IdleNs(unknown=60), 0, 40), Bound.UNKNOWN),
        (Pace(IdleNs(tail=60), 0, 40), Bound.UNKNOWN),
        (Pace(IdleNs(data_loading=20, cpu_work=20, unknown=20), 0, 40), Bound.MIXED),
        (Pace(IdleNs(), 0, 0), Bound.UNKNOWN),
        (Pace(IdleNs(), 0, 40), Bound.GPU),
        (Pace(IdleNs(), 0, 40, exposed_communication_ns=12), Bound.COMMUNICATION),
    ],
)
def test_the_leading_cause_is_the_verdict(pace: Pace, bound: Bound):
    assert judge(pace) is bound


def test_a_tenth_of_idle_time_is_news():
    assert judge(Pace(IdleNs(cpu_work=99), 0, 901)) is Bound.GPU
    assert judge(Pace(IdleNs(cpu_work=100), 0, 900)) is Bound.HOST


def test_half_of_the_idle_time_leads():
    assert judge(Pace(IdleNs(data_loading=50, cpu_work=30, unknown=20), 0, 100)) is Bound.INPUT
    assert judge(Pace(IdleNs(data_loading=49, cpu_work=31, unknown=20), 0, 100)) is Bound.MIXED


def test_starved_launches_decide_where_the_idle_time_does_not():
    late = IdleNs(data_loading=30, cpu_work=40, unknown=30)
    assert judge(Pace(late, 0, 100, starved_share=0.49)) is Bound.MIXED
    assert judge(Pace(late, 0, 100, starved_share=0.5)) is Bound.HOST
    loading = IdleNs(data_loading=40, cpu_work=30, unknown=30)
    assert judge(Pace(loading, 0, 100, starved_share=0.9)) is Bound.MIXED
    assert judge(Pace(IdleNs(cpu_work=10), 0, 1000, starved_share=0.9)) is Bound.GPU


def test_what_follows_a_blocking_call_is_its_fault_too():
    """The call ends, and the host then needs time to launch again, because the call had drained the device."""
    idle = IdleNs(blocking_call=10, cpu_work=50)
    assert judge(Pace(idle, 10, 40)) is Bound.HOST
    assert judge(Pace(idle, 40, 40)) is Bound.SYNC


def test_causes_sum_to_the_idle_time():
    idle = IdleNs(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
    for bubble in (0, 6, 20, 62, 10_000):
        pace = Pace(idle, bubble, 100)
        assert sum(causes(pace).values()) == idle.total_ns - idle.queued
        assert min(causes(pace).values()) >= 0
    assert sync_ns(Pace(idle, 10_000, 100)) == idle.late_ns


@pytest.mark.parametrize(
    ("pace", "bound"),
    [
        (CpuPace(60, 0, 40, 0, on_cpu=True), Bound.INPUT),
        (CpuPace(60, 0, 40, 0, on_cpu=False), Bound.UNKNOWN),  # the GPU may work in the meantime
        (CpuPace(0, 60, 40, 0, on_cpu=False), Bound.COMMUNICATION),
        (CpuPace(0, 40, 10, 50, on_cpu=True), Bound.UNKNOWN),  # the others wait for what this rank does outside of ops
        (CpuPace(0, 0, 60, 40, on_cpu=True), Bound.CPU),
        (CpuPace(0, 0, 60, 40, on_cpu=False), Bound.UNKNOWN),  # the ops of this job only launch
        (CpuPace(0, 0, 40, 60, on_cpu=True), Bound.UNKNOWN),
        (CpuPace(40, 0, 0, 60, on_cpu=True), Bound.INPUT),
        (CpuPace(9, 0, 0, 91, on_cpu=True), Bound.UNKNOWN),
    ],
)
def test_what_takes_a_step_of_which_nothing_on_a_gpu_is_recorded(pace: CpuPace, bound: Bound):
    assert judge_cpu(pace) is bound
