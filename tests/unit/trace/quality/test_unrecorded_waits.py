"""Waits that the profiler does not record: for copies from an XPU, and of allocations for events."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.host.blocking_calls import KINDS, Blocks, blocking_calls, blocking_groups
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.model import Job, Trace
from tb_steptime.trace.quality.unrecorded_waits import with_event_waits, with_waits
from tb_steptime.trace.table import Kind
from tests.drawn.timeline import timeline

XPU = Job(accelerator="XPU")
NAMES = {"o": "aten::_local_scalar_dense", "p": "aten::mul", "c": "Memcpy D2M (DEVICE -> MEMORY(Unknown))"}
CALLS = {"c": "urEnqueueUSMMemcpy", "k": "urEnqueueKernelLaunch", "y": "urEventWait"}
READ = {"op": "ooooooooooo...", "runtime": ".cc...........", "memcpy 7": "........c....."}


def read(job: Job = XPU, names: dict[str, str] | None = None, **lines: str) -> Trace:
    drawing = "\n".join(f"{label} | {line} |" for label, line in (READ | lines).items())
    return timeline(drawing, names=NAMES | (names or {}), calls=CALLS, job=job)


def calls_us(trace: Trace) -> list[int]:
    return [int(length) // 1000 for length in trace.events.dur_ns[trace.events.rows(Kind.RUNTIME)]]


def test_an_op_that_ends_after_its_copy_waited_for_it():
    trace = with_waits(read())
    assert calls_us(trace) == [8]
    assert [(each.id, each.count, each.values["time"].value) for each in trace.repaired] == [
        ("waits_inferred", 1, 6_000)
    ]
    assert blocking_calls(trace).kind.tolist() == [Blocks.COPY]


@pytest.mark.parametrize(
    ("lines", "findings"),
    [
        ({"op": "ooooo........."}, True),  # it ends before its copy
        ({"op": "ooooppooooo..."}, True),  # its thread went on meanwhile
        ({"op": ".............."}, True),  # nothing shows until when it waits
        ({"runtime": ".cc..k........"}, True),
        ({"runtime": ".cc.yyyyy....."}, False),  # waits are recorded
    ],
)
def test_calls_that_last_as_they_were_recorded(lines: dict[str, str], findings: bool):
    trace = read(**lines)
    assert calls_us(with_waits(trace)) == calls_us(trace)
    assert [(each.id, each.count) for each in with_waits(trace).repaired] == [("waits_not_recorded", None)] * findings


def test_a_copy_to_the_device_is_not_waited_for():
    assert calls_us(with_waits(read(names={"c": "Memcpy M2D (MEMORY(Unknown) -> DEVICE)"}))) == [2]


def test_the_waits_of_other_devices_are_recorded():
    trace = read(Job())
    assert with_waits(trace) is trace


def test_a_step_is_limited_by_the_same_with_and_without_the_calls_that_wait():
    """Two kernels, then a read: the copy follows on them, and the op ends a cell after it."""

    def limits(wait: str) -> list[int]:
        lines = {
            "step": "0" * 30 + "1" * 30 + "2" * 30,
            "op": "aa.bb.ooooooooooooooo........." * 3,
            "runtime": f"k..m..c{wait}....." * 3,
            "kernel 7": "..kkkkkkkkmmmmmmmmm..........." * 3,
            "memcpy 7": "...................c.........." * 3,
        }
        drawing = "\n".join(f"{label} | {line} |" for label, line in lines.items())
        calls = CALLS | {"m": CALLS["k"]}
        found = what_if(with_waits(timeline(drawing, names=NAMES, calls=calls, job=XPU, cell_ns=100_000)))
        assert found is not None
        assert found.replayed_step_ns == 3_000_000
        return [found.sensitivity.device, found.sensitivity.host, found.sensitivity.blocking]

    assert limits("." * 18) == pytest.approx(limits(".yyyyyyyyyyyy....."), abs=200_000)


RETRY = {"op": "aaaaaaaaaaaaa", "runtime": "mm.......ffnn", "kernel 7": "kkkkkkkkk...."}
RETRY_CALLS = {
    "m": "cudaMalloc",
    "n": "cudaMalloc",
    "f": "cudaFree",
    "y": "cudaEventSynchronize",
    "k": "cudaLaunchKernel",
}


def retry(cell_ns: int = 100_000, **lines: str) -> Trace:
    drawing = "\n".join(f"{label} | {line} |" for label, line in ({"step": "1" * 13} | RETRY | lines).items())
    return timeline(drawing, names={"a": "aten::empty"}, calls=RETRY_CALLS, cell_ns=cell_ns)


def test_an_allocation_that_failed_waits_until_memory_may_be_freed():
    trace = with_event_waits(retry())
    assert calls_us(trace) == [900, 200, 200]
    assert [(each.id, each.count, each.values["time"].value) for each in trace.repaired] == [
        ("event_waits_inferred", 1, 700_000)
    ]
    assert blocking_calls(trace).kind.tolist() == [Blocks.SYNC, Blocks.ALLOCATOR, Blocks.ALLOCATOR]
    assert [KINDS[kind] for kind in blocking_groups(trace).kind] == ["allocator"]


@pytest.mark.parametrize(
    ("lines", "cell_ns"),
    [
        ({"runtime": "mm.yyyyyyffnn"}, 100_000),  # the wait is recorded
        ({"runtime": "mm..k....ffnn"}, 100_000),  # work is launched meanwhile: no retry
        ({"op": "aaaa...aaaaaa"}, 100_000),
        ({"runtime": "mm.......ff.."}, 100_000),  # the memory is given back for good
        ({}, 10_000),  # the allocator itself takes that long
    ],
)
def test_allocations_that_last_as_they_were_recorded(lines: dict[str, str], cell_ns: int):
    trace = retry(cell_ns, **lines)
    assert with_event_waits(trace) is trace
    assert blocking_calls(trace).kind[0] == Blocks.ALLOCATOR
