"""The Host view's sentences: each verdict has an answer, and no title mentions anything that is absent."""

import msgspec
import pytest

from tb_steptime.analyses.host import DeviceIdle, HostResult
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS, Bound
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS, IdleNs
from tb_steptime.metrics.idle.several_gpus import SeveralDevices
from tb_steptime.metrics.launches.run_ahead import LaunchFigures
from tb_steptime.metrics.steps.host_pace import PhaseRow
from tb_steptime.text import Finding
from tb_steptime.text.printer import plain
from tests.drawn.host_result import STEPS, US, blocking, copy, host_result, judged

#: Idle time in a step of 1 ms.
IDLE = IdleNs(cpu_work=500 * US, nothing_recorded=150 * US, launch_latency=50 * US)
LAUNCHES = LaunchFigures(1258, 1260, 12_000, 0.74, 0, 0.21, 11, 0.87, 0)


def host(idle: IdleNs = IDLE, bound: Bound = Bound.HOST, **changes: object) -> HostResult:
    devices = [DeviceIdle(0, "GPU 0", [300 * US] * STEPS, [idle] * STEPS, idle)]
    return msgspec.structs.replace(host_result(), devices=devices, bound=bound, launches=LAUNCHES, **changes)


def title(key: str, result: HostResult) -> str:
    return plain(judged(result).titles["host"][key])


def test_every_reason_has_one_meaning_in_the_order_of_the_partition():
    assert [meaning.id for meaning in IDLE_MEANINGS] == list(IdleNs.__struct_fields__)


def test_an_allocator_that_makes_most_of_the_late_launches_is_named():
    most = IdleNs(allocator=300 * US, cpu_work=200 * US)
    sentence = title("answer", host(most))
    assert sentence == "Yes. The GPU waits 300 µs a step (30 %) while the CPU allocates or frees GPU memory."
    less = IdleNs(allocator=200 * US, cpu_work=300 * US)
    assert title("answer", host(less)).endswith("500 µs a step (50 %) for the CPU to launch its next kernels.")


def test_every_verdict_has_its_answer_and_its_word():
    of_a_gpu = [bound for bound in Bound if bound is not Bound.CPU]
    assert {bound: title("answer", host(bound=bound)) for bound in of_a_gpu} == {
        Bound.HOST: "Yes. The GPU waits 700 µs a step (70 %) for the CPU to launch its next kernels.",
        Bound.GPU: "No. The GPU works for 30 % of the step.",
        Bound.INPUT: "No, the data loader is: the GPU waits 0 ms a step (0 %) for data.",
        Bound.SYNC: "Not by its speed: blocking calls make the CPU wait for the GPU, and then the GPU waits for the "
        "next launch. It is idle for 700 µs a step.",
        Bound.DEPENDENCY: "No. The GPU waits 0 ms a step although its next work is launched: for another stream, "
        "another GPU or an event.",
        Bound.COMMUNICATION: "No. Communication between ranks limits the step, not the launches of the CPU.",
        Bound.MIXED: "In part. The GPU is idle for 700 µs a step, and for 700 µs of it waits for the CPU.",
        Bound.UNKNOWN: "Unknown: this trace does not show why the GPU is idle for 700 µs a step.",
    }
    assert set(BOUND_WORDS) == set(Bound)


BUSY = IdleNs(queued=20 * US)


def test_a_cpu_that_waits_for_room_is_not_the_limit():
    assert title("answer", host(BUSY, Bound.GPU, full_queue_ns=450 * US)) == (
        "No. Launches wait 450 µs a step for room in the GPU's full queue: a CPU at 100 % is normal here. The GPU "
        "works for 98 % of the step."
    )


@pytest.mark.parametrize("full_queue_ns", [0, 50 * US - 1])
def test_a_busy_cpu_that_finds_room_is_told_apart(full_queue_ns):
    result = host(BUSY, Bound.GPU, full_queue_ns=full_queue_ns)
    assert title("answer", result) == "No. The GPU works for 98 % of the step."


def test_without_a_device_nothing_has_a_title():
    assert judged(host_result(device=None, devices=[])).titles["host"] == {}


def test_the_queue_is_told_by_what_it_means():
    full = host(BUSY, Bound.GPU, full_queue_ns=450 * US)
    assert title("queue", host()) == "The CPU is not ahead 87 % of the time: the launch queue is empty"
    assert title("queue", full) == "The launch queue is full: up to 11 launches wait for the GPU"
    assert title("queue", host(bound=Bound.INPUT)) == "The launch queue is empty 87 % of the time"
    none = msgspec.structs.replace(host(), launches=None)
    assert title("queue", none) == "How far ahead of the GPU is the CPU?"


def test_the_largest_reason_titles_the_reasons():
    assert title("reasons", host()) == "CPU work is 71 % of the GPU's idle time"
    assert title("reasons", host(IdleNs())) == "The GPU is never idle"


def test_blocking_calls_that_cost_nothing_are_said_to():
    assert title("blocking", host(blocking_bubble_ns=5 * US - 1)) == "No blocking call costs GPU time"
    assert title("blocking", host(blocking_bubble_ns=5 * US)) == "Blocking calls leave the GPU idle for 5 µs a step"


def test_what_is_not_there_has_no_title():
    assert set(judged(host()).titles["host"]) == {"answer", "queue", "reasons", "sites", "blocking"}


def test_calls_that_cost_nothing_are_counted_all_the_same():
    rows = [blocking(0, call="cudaEventSynchronize", count=8.0, blocked_ns=30_000)]
    assert title("blocking_remark", host(blocking=rows, blocking_bubble_ns=0)) == (
        "8 calls of cudaEventSynchronize a step take 30 µs on the CPU and leave the GPU idle for 0 ms."
    )
    several = [*rows, blocking(0, call="cudaStreamSynchronize", count=1.0, blocked_ns=10_000)]
    assert title("blocking_remark", host(blocking=several, blocking_bubble_ns=0)) == (
        "9 blocking calls a step take 40 µs on the CPU and leave the GPU idle for 0 ms."
    )


def test_pageable_memory_is_named_where_most_is_copied_from_it():
    pinned = msgspec.structs.replace(copy(), source="Pinned", pageable=False, total_ns=100_001, hidden_ns=50_000)
    short = msgspec.structs.replace(pinned, total_ns=99_999, hidden_ns=0)
    assert title("copies", host(copies=[copy()])) == "Copies of pageable memory take 100 µs a step"
    assert title("copies", host(copies=[copy(), short])) == "Copies of pageable memory take 100 µs of 200 µs a step"
    assert title("copies", host(copies=[copy(), pinned])) == "Copies take 200 µs a step, 50 µs overlap with kernels"


@pytest.mark.parametrize(
    ("concurrency", "sentence"),
    [(1.25, "2 GPUs work one after another"), (1.26, "1.26 of 2 GPUs work at the same time")],
)
def test_devices_that_share_no_time_work_one_after_another(concurrency, sentence):
    several = SeveralDevices([0, 1], concurrency, [US, US], 2 * US, [])
    assert title("devices", host(several_devices=several)) == sentence


def test_phases_that_agree_are_said_to():
    row = PhaseRow("forward", "Forward", US, US, IdleNs(), 0, 10.0, 12_000, 0.7, Bound.HOST)
    both = [row, msgspec.structs.replace(row, phase="backward", label="Backward")]
    idle_one = msgspec.structs.replace(row, phase="other", launches=0.0, bound=Bound.UNKNOWN)
    assert title("sites", host(phases=[*both, idle_one])) == "Every phase is host-bound"
    assert title("sites", host(phases=both[:1])) == "Forward is host-bound"
    unlike = [both[0], msgspec.structs.replace(both[0], bound=Bound.GPU)]
    assert title("sites", host(phases=unlike)) == "Where does the GPU wait for launches?"


def test_work_without_a_recorded_launch_is_no_phase():
    row = PhaseRow("forward", "Forward", US, US, IdleNs(), 0, 10.0, 12_000, 0.7, Bound.HOST)
    nowhere = msgspec.structs.replace(row, phase="unknown", label="Launch not recorded", idle_ns=IdleNs(once=9 * US))
    assert title("sites", host(phases=[row, nowhere])) == "Forward is host-bound"
    assert title("sites", host(phases=[nowhere])) == "Where does the GPU wait for launches?"


def test_the_queue_has_no_depth_where_no_launch_is_recorded():
    unlinked = msgspec.structs.replace(LAUNCHES, queue_mean=None, queue_max=None, empty_share=None)
    result = msgspec.structs.replace(host(), launches=unlinked)
    assert (title("queue", host()), title("queue", result)) == (
        "The CPU is not ahead 87 % of the time: the launch queue is empty",
        "How far ahead of the GPU is the CPU?",
    )


def test_no_title_says_why_the_gpu_is_idle_where_that_is_not_known():
    cut = Finding("gpu_cut_short", "said", ("launches",), "none")
    titles = {id: plain(title) for id, title in judged(host(), findings=[cut]).titles["host"].items()}
    assert titles["answer"].startswith("Unknown: ")
    assert titles["queue"] == "How far ahead of the GPU is the CPU?"
    assert titles["sites"] == "Where does the GPU wait for launches?"


def test_phases_that_contradict_the_verdict_are_told_by_their_idle_time():
    row = PhaseRow("forward", "Forward", US, US, IdleNs(cpu_work=2 * US), 0, 10.0, 12_000, 0.7, Bound.HOST)
    longer = msgspec.structs.replace(row, phase="optimizer", label="Optimizer", idle_ns=IdleNs(cpu_work=3 * US))
    sentence = title("sites", host(phases=[row, longer], bound=Bound.GPU))
    assert sentence == "The GPU is idle longest in optimizer: 3 µs a step"
    elsewhere = msgspec.structs.replace(longer, phase="other", label="Other")
    sentence = title("sites", host(phases=[row, elsewhere], bound=Bound.GPU))
    assert sentence == "The GPU is idle longest in other code: 3 µs a step"
