"""Recordings as other versions, settings and tools write them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.judged.rewriting import Document, Event
from tests.judged.variants import variants

KERNEL = "void sum<float, 4>(float*, (anonymous namespace)::Sizes)"


def event(cat: str, name: str, start: str, length: str, **args: Any) -> Event:
    times = {"ts": Decimal(start), "dur": Decimal(length)}
    return {"ph": "X", "cat": cat, "name": name, **times, "pid": 1, "tid": 1, "args": args}


STEP = event("user_annotation", "ProfilerStep#7", "10.6", "9")
OP = event("cpu_op", "aten::sum", "11", "2", **{"External id": 5})
CALL = event("cuda_runtime", "cudaLaunchKernel", "11.7", "0.6", correlation=3)
WORK = event("kernel", KERNEL, "13.2", "3.9", correlation=3, grid=[1, 1, 1], device=0, stream=7)
SHADOW = event("gpu_user_annotation", "mine", "13", "4")
WAIT = event("cuda_sync", "Stream Sync", "17", "1")
NAMED = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
FLOW = {"ph": "s", "id": 3, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": Decimal("11.7")}
EVENTS = [STEP, OP, CALL, WORK, SHADOW, WAIT, NAMED, FLOW]
DOCUMENT = {"traceEvents": EVENTS, "distributedInfo": {"rank": 0}, "schemaVersion": 1}


def rewritten(variant: str, document: Document = DOCUMENT) -> Document:
    return dict(variants(document))[variant]


def without(each: Event, *names: str) -> Event:
    return each | {"args": {key: value for key, value in each["args"].items() if key not in names}}


def at(each: Event, start: str, length: str | None = None) -> Event:
    return each | {"ts": Decimal(start)} | ({"dur": Decimal(length)} if length else {})


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("no names of processes", [STEP, OP, CALL, WORK, SHADOW, WAIT, FLOW]),
        ("no launch sizes", [STEP, OP, CALL, without(WORK, "grid"), SHADOW, WAIT, NAMED, FLOW]),
        ("no external ids", [STEP, without(OP, "External id"), CALL, WORK, SHADOW, WAIT, NAMED, FLOW]),
        ("no waits of streams", [STEP, OP, CALL, WORK, SHADOW, NAMED, FLOW]),
        ("no ranges on devices", [STEP, OP, CALL, WORK, WAIT, NAMED, FLOW]),
        ("no options", [OP, CALL, WORK, SHADOW, WAIT, NAMED, FLOW]),
        ("streams per thread", [STEP, OP, CALL | {"name": "cudaLaunchKernel_ptsz"}, WORK, SHADOW, WAIT, NAMED, FLOW]),
        ("launches of CUDA 12", [STEP, OP, CALL | {"name": "cudaLaunchKernelExC"}, WORK, SHADOW, WAIT, NAMED, FLOW]),
        (
            "GPU 3",
            [
                STEP,
                OP,
                CALL,
                WORK | {"pid": 3, "args": WORK["args"] | {"device": 3}},
                SHADOW | {"pid": 3},
                WAIT | {"pid": 3},
                NAMED,
                FLOW,
            ],
        ),
        (
            "other streams",
            [STEP, OP, CALL, WORK | {"tid": 993, "args": WORK["args"] | {"stream": 993}}, SHADOW, WAIT, NAMED, FLOW],
        ),
        (
            "clock of the device 5 us late",
            [STEP, OP, CALL, at(WORK, "18.2"), at(SHADOW, "18"), at(WAIT, "22"), NAMED, FLOW],
        ),
        ("no CPU activity", [CALL, WORK, WAIT, NAMED, FLOW]),
        ("no device activity", [STEP, OP, NAMED]),
        (
            "categories of 2021",
            [
                STEP,
                OP | {"cat": "Operator"},
                CALL | {"cat": "Runtime"},
                WORK | {"cat": "Kernel"},
                SHADOW,
                WAIT,
                NAMED,
                FLOW,
            ],
        ),
        (
            "whole microseconds",
            [at(STEP, "10", "9"), OP, at(CALL, "11", "1"), at(WORK, "13", "4"), SHADOW, WAIT, NAMED, at(FLOW, "11")],
        ),
        (
            "kernels without parameters",
            [STEP, OP, CALL, WORK | {"name": "sum<float, 4>"}, SHADOW, WAIT, NAMED, FLOW],
        ),
        ("steps from 10,000", [STEP | {"name": "ProfilerStep#10007"}, OP, CALL, WORK, SHADOW, WAIT, NAMED, FLOW]),
        ("steps on two threads", [*EVENTS, STEP | {"tid": 899_999}]),
    ],
)
def test_what_other_files_have(variant: str, expected: list[Event]):
    assert rewritten(variant) == DOCUMENT | {"traceEvents": expected}


def test_what_stands_beside_the_events_may_be_missing():
    assert rewritten("events alone") == {"traceEvents": EVENTS}
    assert rewritten("no ranks") == {"traceEvents": EVENTS, "schemaVersion": 1}


def test_processes_of_the_host_have_other_numbers():
    on_device = {"traceEvents": [OP, CALL, WORK | {"pid": 0}]}
    others = [OP | {"pid": 1_001}, CALL | {"pid": 1_001}, WORK | {"pid": 0}]
    assert rewritten("another process of the host", on_device)["traceEvents"] == others
    assert "another process of the host" not in dict(variants(DOCUMENT)), "the device has the number of its process"


def test_ops_as_pairs_of_events():
    begin = {key: value for key, value in OP.items() if key != "dur"} | {"ph": "B"}
    end = {"ph": "E", "ts": Decimal(13), "pid": 1, "tid": 1, "name": "aten::sum", "cat": "cpu_op"}
    assert rewritten("begins and ends of ops")["traceEvents"] == [
        STEP,
        begin,
        end,
        CALL,
        WORK,
        SHADOW,
        WAIT,
        NAMED,
        FLOW,
    ]


def test_long_names_of_kernels_are_cut():
    long = {"traceEvents": [WORK | {"name": "k" * 200}, OP | {"name": "o" * 200}]}
    cut = [
        [len(each["name"]) for each in rewritten(f"kernels of {n} characters", long)["traceEvents"]] for n in (80, 128)
    ]
    assert cut == [[80, 200], [128, 200]]


def test_every_second_mark_is_missing():
    steps = [event("user_annotation", f"ProfilerStep#{n}", str(10 * n), "10") for n in range(6)]
    assert rewritten("every second step", {"traceEvents": steps})["traceEvents"] == steps[::2]
    assert "every second step" not in dict(variants({"traceEvents": steps[:5]}))


def test_a_second_recording_has_its_own_numbers_and_times():
    later = 1_000_000 + Decimal("9")  # a pause of a second after 9 us
    steps, numbers = 1, 6
    again = [
        STEP | {"name": f"ProfilerStep#{7 + steps}"},
        OP | {"args": {"External id": 5 + numbers}},
        CALL | {"args": {"correlation": 3 + numbers}},
        WORK | {"args": WORK["args"] | {"correlation": 3 + numbers}},
        SHADOW,
        WAIT,
        FLOW | {"id": 3 + numbers},
    ]
    assert rewritten("recorded twice")["traceEvents"] == [
        *EVENTS,
        *(each | {"ts": each["ts"] + later} for each in again),
    ]
    assert "recorded twice" not in dict(variants({"traceEvents": EVENTS[1:]}))


@pytest.mark.parametrize(
    ("variant", "process", "first", "last"),
    [("another process", 4_000_001, Decimal("10.6"), Decimal("18.6")), ("another thread", 1, Decimal(11), Decimal(12))],
)
def test_small_ops_of_others(variant: str, process: int, first: Decimal, last: Decimal):
    found = rewritten(variant)["traceEvents"]
    assert found[: len(EVENTS)] == EVENTS
    ops = found[len(EVENTS) :]
    assert {(each["cat"], each["name"], each["pid"], each["dur"]) for each in ops} == {
        ("cpu_op", "aten::empty", process, 1)
    }
    assert (len(ops), ops[0]["ts"], ops[-1]["ts"]) == (10, first, last)
    assert ops[0]["tid"] != 1
