"""Files into which the recordings of several processes were merged: only the first process is read, and never a kernel
of one as the work of another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_steptime import cli
from tb_steptime.errors import TraceError
from tb_steptime.text import Note, count, text
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import Kind
from tests.drawn.event_columns import drawn
from tests.drawn.same_trace import differences
from tests.drawn.small_trace import small_trace, with_allocations

Event = dict[str, Any]

#: What a trace has of the whole file.
OF_FILE = ("notes", "file_bytes", "json_bytes", "event_count", "threads", "strings")


def rank(number: int, *, steps: int = 3, later_us: float = 0, more: int = 0) -> list[Event]:
    """A rank's events: with the numbers of launches of every other rank, or greater ones. It has memory, and a range on
    its GPU without a device of its own."""
    events = with_allocations(small_trace(steps))["traceEvents"]
    events.append({"ph": "X", "cat": "gpu_user_annotation", "name": "f", "pid": 0, "tid": 7, "ts": 40, "dur": 60})
    return [_of_rank(each, number, later_us, more) for each in events if each["ph"] != "M"]


def _of_rank(event: Event, number: int, later_us: float, more: int) -> Event:
    args = dict(event.get("args", {}))
    if "device" in args:
        args["device"] = number
    if "correlation" in args:
        args["correlation"] += more
    return event | {"pid": f"[TP0{number}] {event['pid']}", "ts": event["ts"] + later_us, "args": args}


def as_written(ranks: Sequence[list[Event]]) -> list[Event]:
    return [event for each in ranks for event in each]


def by_time(ranks: Sequence[list[Event]]) -> list[Event]:
    return sorted(as_written(ranks), key=lambda event: (event["ts"], "kernel" in str(event.get("cat"))))


def read(folder: Path, events: list[Event]) -> Trace:
    path = folder / "merged.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return read_trace(path)


@pytest.mark.parametrize("later_us", [-30.0, 0.0, 30.0, 1e6])
@pytest.mark.parametrize("more", [0, 1, 100])
def test_only_the_first_process_is_read(tmp_path: Path, later_us: float, more: int):
    alone = read(tmp_path, rank(0))
    merged = read(tmp_path, as_written([rank(0), rank(1, steps=5, later_us=later_us, more=more)]))
    assert merged.notes == (Note("several-processes", {"count": count(2), "name": text("[TP00] 10")}),)
    assert alone.events.device[alone.events.kind == Kind.GPU_USER].tolist() == [-1]
    assert merged.events.device[merged.events.kind == Kind.GPU_USER].tolist() == [0]
    assert merged.strings.strings[: len(alone.strings)] == alone.strings.strings
    of_file = {name: getattr(merged, name) for name in OF_FILE}
    same = replace(alone, **of_file, events=replace(alone.events, device=merged.events.device))
    assert differences(same, merged) == []


def on_cpu(number: int, least: int = 0) -> list[Event]:
    """A rank's events where no device is recorded; with `least`, only the first of its ops."""
    events = [each for each in rank(number) if each.get("cat") in ("cpu_op", "user_annotation")]
    ops = [each for each in events if each["cat"] == "cpu_op"]
    return ops[:least] if least else events


@pytest.mark.parametrize(("least", "merged"), [(0, True), (2, True), (1, False)], ids=["all", "two ops", "one op"])
def test_processes_without_a_device_are_told_by_their_ops(tmp_path: Path, least: int, merged: bool):
    alone, both = read(tmp_path, on_cpu(0)), read(tmp_path, as_written([on_cpu(0), on_cpu(1, least)]))
    more = 0 if merged else least
    assert len(both.events.rows(Kind.CPU_OP)) == len(alone.events.rows(Kind.CPU_OP)) + more
    note = Note("several-processes", {"count": count(2), "name": text("[TP00] 10")})
    assert both.notes == ((note,) if merged else ())


def test_a_process_that_was_merged_in_last_is_as_well_told_apart(tmp_path: Path):
    last = read(tmp_path, as_written([rank(1, steps=2), rank(2, steps=4), rank(0)]))
    first = read(tmp_path, rank(1, steps=2))
    assert [line.replace("0/7 stream", "0/7 gpu 1 stream") for line in drawn(first)] == drawn(last)
    assert last.notes[0].values == {"count": count(3), "name": text("[TP01] 10")}


def test_where_the_order_says_nothing_equal_numbers_are_not_joined(tmp_path: Path):
    with pytest.raises(TraceError, match="does not show which GPU is of which process"):
        read(tmp_path, by_time([rank(0), rank(1, later_us=3)]))


def test_where_the_order_says_nothing_other_numbers_say_it(tmp_path: Path):
    trace = read(tmp_path, by_time([rank(0), rank(1, later_us=3, more=100)]))
    launches, track = find_launches(trace), [thread.pid[:6] for thread in trace.threads]
    tracks = [[track[trace.events.thread[row]] for row in rows] for rows in (launches.activity, launches.call)]
    assert tracks == [["[TP00]", "[TP01]"] * 3] * 2
    assert trace.notes == ()


def _on_one_gpu(events: list[Event]) -> list[Event]:
    """The process drives the first GPU, as a tool writes it that leaves processes and devices as they are."""
    on_gpu = ("kernel", "gpu_memcpy", "gpu_user_annotation")
    return [
        event | {"pid": 0, "args": event.get("args", {}) | {"device": 0}} if event.get("cat") in on_gpu else event
        for event in events
    ]


@pytest.mark.parametrize("more", [0, 100])
@pytest.mark.parametrize("merge", [as_written, by_time])
def test_of_processes_that_ran_one_after_the_other_on_a_gpu_the_first_is_read(
    tmp_path: Path, merge: Callable[[Sequence[list[Event]]], list[Event]], more: int
):
    first, second = _on_one_gpu(rank(0)), _on_one_gpu(rank(1, steps=5, later_us=1e6, more=more))
    trace = read(tmp_path, merge([first, second]))
    assert drawn(trace) == drawn(read(tmp_path, first))
    assert trace.notes[0] == Note("several-processes", {"count": count(2), "name": text("[TP00] 10")})


def test_a_call_with_the_process_of_nobody_does_not_make_it_a_file_of_two(tmp_path: Path):
    events = rank(0)
    call = next(event for event in events if event.get("cat") == "cuda_runtime")
    trace = read(tmp_path, [*events, call | {"pid": "nobody", "cat": "cuda_driver", "name": "cuLaunchKernel"}])
    assert (len(trace.events), trace.notes) == (len(read(tmp_path, events).events) + 1, ())


def test_a_slice_is_of_the_first_process(tmp_path: Path):
    """It is read as if it were cut out of that process's own file."""
    sliced = []
    for name, ranks in (("alone", [rank(0)]), ("merged", [rank(0), rank(1, later_us=7)])):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"traceEvents": as_written(ranks)}))
        assert cli.main(["slice", str(path), "--steps", "6", "-o", str(tmp_path / "slice.json"), "--force"]) in (
            None,
            0,
        )
        trace = read_trace(tmp_path / "slice.json")
        sliced.append((drawn(trace), trace.notes))
    assert sliced[0] == sliced[1]
    assert sliced[0][0]


def _without_launches(events: list[Event]) -> list[Event]:
    return [event for event in events if event.get("cat") != "cuda_runtime"]


def _on_gpus_of_one_process(events: list[Event]) -> list[Event]:
    return [event | {"pid": event["pid"].replace("[TP01] 10", "[TP00] 10")} for event in events]


@pytest.mark.parametrize("change", [_without_launches, _on_gpus_of_one_process])
def test_a_process_that_launches_nothing_and_a_second_gpu_of_one_change_nothing(
    tmp_path: Path, change: Callable[[list[Event]], list[Event]]
):
    events = as_written([rank(0), change(rank(1, later_us=1, more=100))])
    trace = read(tmp_path, events)
    assert (len(trace.events), trace.notes) == (sum(event["ph"] == "X" for event in events), ())


def _of_the_gpu(events: list[Event], device: int = 0) -> list[Event]:
    """The rows of a recording of the GPU alone; the tool that merged it left the number of its device."""
    alone = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_user_annotation")]
    return [event | {"args": event["args"] | {"device": device}} for event in alone if "args" in event]


@pytest.mark.parametrize("merge", [as_written, by_time])
def test_of_devices_alone_the_first_is_read_where_two_have_one_stream(
    tmp_path: Path, merge: Callable[[Sequence[list[Event]]], list[Event]]
):
    first = _of_the_gpu(rank(0))
    trace = read(tmp_path, merge([first, _of_the_gpu(rank(1, steps=5, later_us=2))]))
    assert drawn(trace) == drawn(read(tmp_path, first))
    assert trace.notes[0] == Note("several-processes", {"count": count(2), "name": text("[TP00] 0")})


def test_devices_of_one_recording_and_kernels_of_nobody_are_no_other_process(tmp_path: Path):
    events = [*_of_the_gpu(rank(0)), *_of_the_gpu(rank(1), device=1)]
    events.append(events[0] | {"pid": "nobody"})
    assert len(read(tmp_path, events).events) == len(events)
