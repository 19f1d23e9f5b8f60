"""Recordings as other versions, settings and tools write them. Each says why the job is still the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from math import floor

from tb_steptime.trace.table import DEVICE_KINDS, Kind
from tests.judged.rewriting import (
    MEMORY,
    ON_DEVICE,
    SHAPES,
    STEP,
    Document,
    Event,
    Rewriting,
    arguments,
    is_of,
    is_step,
    kind,
    lasts,
    rewritten,
    with_each,
    without,
    without_arguments,
)

_IDS = ("correlation", "External id", "external id", "Python id", "Python parent id", "Ev Idx", "Record function id")
_SIZES = ("grid", "block", "registers per thread", "shared memory", "blocks per SM", "warps per SM", "priority")
_OCCUPANCY = "est. achieved occupancy %"
_PAUSE_US, _CLOCK_US = 1_000_000, 5
_FIRST_STEP = 10_000
#: Categories as Kineto wrote them in 2021.
_IN_2021 = {
    "cpu_op": "Operator",
    "kernel": "Kernel",
    "gpu_memcpy": "Memcpy",
    "gpu_memset": "Memset",
    "cuda_runtime": "Runtime",
}


def _headless(document: Document) -> Document | None:
    """Some tools keep only the list of events."""
    left = {"traceEvents": document["traceEvents"]}
    return left if len(left) < len(document) else None


def _without_ranks(document: Document) -> Document | None:
    """Kineto knows the ranks only if the process group was made before the profiler."""
    left = {key: value for key, value in document.items() if key != "distributedInfo"}
    return left if len(left) < len(document) else None


def _in_2021(event: Event) -> Event:
    word = _IN_2021.get(str(event.get("cat")))
    return event | {"cat": word} if word and lasts(event) else event


def _in_whole_us(event: Event) -> Event:
    """Kineto wrote no fractions until 2023. Both ends are rounded, so that what was nested still is."""
    if "ts" not in event:
        return event
    start = floor(event["ts"])
    if "dur" not in event:
        return event | {"ts": start}
    return event | {"ts": start, "dur": floor(event["ts"] + event["dur"]) - start}


def _with_short_name(length: int) -> Rewriting:
    """Tools that export from a table cut long names."""

    def short(event: Event) -> Event:
        name = str(event.get("name", ""))
        return event | {"name": name[:length]} if len(name) > length and is_of(Kind.KERNEL)(event) else event

    return with_each(short)


def _without_parameters(event: Event) -> Event:
    """Some demanglers leave out what a function is given and returns."""
    name = str(event.get("name", ""))
    if not is_of(Kind.KERNEL)(event) or not name.endswith(")"):
        return event
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += (name[place] == ")") - (name[place] == "(")
        if not depth:
            return event | {"name": re.sub(r"^void ", "", name[:place]) or name}
    return event


def _numbered_higher(event: Event) -> Event:
    """The profiler was started late in a training."""
    name = str(event.get("name", ""))
    if not is_step(event) or not name.removeprefix(STEP).isdigit():
        return event
    return event | {"name": f"{STEP}{int(name.removeprefix(STEP)) + _FIRST_STEP}"}


def _is_host_step(event: Event) -> bool:
    return is_step(event) and is_of(Kind.USER)(event)


def _steps_on_two_threads(document: Document) -> Document | None:
    """A second thread marks the same steps."""
    events = document["traceEvents"]
    return rewritten(document, [*events, *(each | {"tid": 899_999} for each in events if _is_host_step(each))])


def _every_second_step(document: Document) -> Document | None:
    """A loop that marks a step only for every second batch; too few marks are left alone."""
    events = document["traceEvents"]
    starts = sorted({each["ts"] for each in events if _is_host_step(each)})
    left_out = set(starts[1::2]) if len(starts) >= 6 else set()
    return rewritten(document, (each for each in events if not (_is_host_step(each) and each["ts"] in left_out)))


def _extent(document: Document) -> tuple[Decimal, Decimal]:
    """When the first event begins and the last one ends, us."""
    timed = [each for each in document["traceEvents"] if lasts(each) and "ts" in each]
    return min(each["ts"] for each in timed), max(each["ts"] + each.get("dur", 0) for each in timed)


def _recorded_twice(document: Document) -> Document | None:
    """Two recordings of one job, a second apart, in one file. Without marks of steps it could be a job that pauses."""
    events = document["traceEvents"]
    if not any(map(_is_host_step, events)):
        return None
    start, end = _extent(document)
    numbers = [value for each in events for value in (*map(arguments(each).get, _IDS), each.get("id"))]
    more = max((number for number in numbers if isinstance(number, int)), default=0) + 1
    steps = sum(map(_is_host_step, events))
    again = (_later(each, end - start + _PAUSE_US, more, steps) for each in events if "ts" in each)
    return rewritten(document, [*events, *again])


def _later(event: Event, us: Decimal, more: int, steps: int) -> Event:
    changed = {key: value + more if key in _IDS and _is_id(value) else value for key, value in arguments(event).items()}
    name = str(event.get("name", ""))
    number = name.removeprefix(STEP)
    later = event | {"ts": event["ts"] + us}
    if "args" in event:
        later["args"] = changed
    if isinstance(event.get("id"), int):
        later["id"] = event["id"] + more
    if is_step(event) and number.isdigit():
        later["name"] = f"{STEP}{int(number) + steps}"
    return later


def _is_id(value: object) -> bool:
    return isinstance(value, int) and value != 0


def _with_other_process(document: Document) -> Document:
    """Another process on the machine, whose events a tool merged into the file; it launches nothing."""
    return document | {"traceEvents": [*document["traceEvents"], *_small_ops(document, 4_000_001, 4_000_001)]}


def _with_other_thread(document: Document) -> Document | None:
    """A thread of the job that now and then does a small op while others compute, as one that logs does."""
    ops = [each for each in document["traceEvents"] if is_of(Kind.CPU_OP)(each)]
    if not ops:
        return None
    small = _small_ops({"traceEvents": ops}, ops[0]["pid"], 899_999)
    return document | {"traceEvents": [*document["traceEvents"], *small]}


def _small_ops(document: Document, pid: object, tid: int) -> Iterator[Event]:
    """Ten ops of 1 us, evenly over these events."""
    start, end = _extent(document)
    for place in range(10):
        at = start + floor((end - start) * place / 10)
        yield {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": pid, "tid": tid, "ts": at, "dur": 1}


def _without_options(document: Document) -> Document | None:
    """What `profile()` records without any option and without `step()`, as in most files. The header still says which
    options slowed the CPU."""
    bare = without(lambda event: is_of(Kind.PYTHON)(event) or event.get("name") == MEMORY or is_step(event))
    left = bare(document)
    return without_arguments(*SHAPES)(left or document) or left


def _with_calls(pattern: str, name: str) -> Rewriting:
    """Calls of the runtime are named after the version and the options with which a library was built."""
    expression = re.compile(pattern)

    def renamed(event: Event) -> Event:
        return event | {"name": expression.sub(name, str(event["name"]))} if is_of(Kind.RUNTIME)(event) else event

    return with_each(renamed)


def _on_gpu_3(document: Document) -> Document | None:
    """A process that sees all GPUs and uses the fourth one; only where one GPU works."""
    events = document["traceEvents"]
    if {arguments(each).get("device") for each in events if is_of(*DEVICE_KINDS)(each)} != {0}:
        return None
    moved = rewritten(document, map(_moved, events))
    listed = document.get("deviceProperties")
    if moved is None or not isinstance(listed, list):
        return moved
    return moved | {"deviceProperties": [each | {"id": 3} for each in listed if each.get("id") == 0]}


def _moved(event: Event) -> Event:
    found = arguments(event)
    number = "Device Id" if event.get("name") == MEMORY and found.get("Device Type") == 1 else "device"
    changed = event | {"args": found | {number: 3}} if number in found else event
    return changed | {"pid": 3} if is_of(*ON_DEVICE)(event) else changed


def _on_other_stream(event: Event) -> Event:
    """Streams are numbered in the order in which a process makes them."""
    stream = arguments(event).get("stream")
    if not isinstance(stream, int) or not is_of(*ON_DEVICE)(event):
        return event
    return event | {"tid": 1000 - stream, "args": event["args"] | {"stream": 1000 - stream}}


def _in_other_process(document: Document) -> Document | None:
    """Processes of the host have other numbers, and devices keep theirs."""
    events = document["traceEvents"]
    on_device = {event.get("pid") for event in events if is_of(*ON_DEVICE)(event)}
    hosts = {pid for event in events if lasts(event) and isinstance(pid := event.get("pid"), int)} - on_device
    return rewritten(
        document, (each | {"pid": each["pid"] + 1_000} if each.get("pid") in hosts else each for each in events)
    )


def _with_begins_and_ends(document: Document) -> Document | None:
    """Ops as pairs of a begin and an end, which the format allows."""
    return rewritten(document, chain.from_iterable(map(_as_pair, document["traceEvents"])))


def _as_pair(event: Event) -> list[Event]:
    if not is_of(Kind.CPU_OP)(event) or "dur" not in event:
        return [event]
    begin = {key: value for key, value in event.items() if key != "dur"} | {"ph": "B"}
    end = {key: event[key] for key in ("pid", "tid", "name", "cat")}
    return [begin, end | {"ph": "E", "ts": event["ts"] + event["dur"]}]


def _on_later_clock(event: Event) -> Event:
    """Clocks of CPU and GPU are aligned to some microseconds only."""
    return event | {"ts": event["ts"] + _CLOCK_US} if is_of(*ON_DEVICE)(event) else event


def _is_on_host_alone(event: Event) -> bool:
    """What is recorded only with ProfilerActivity.CPU."""
    return is_of(Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.GPU_USER)(event) or event.get("cat") == "fwdbwd"


def _is_of_device(event: Event) -> bool:
    """What is recorded only with the activity of the device."""
    return is_of(Kind.RUNTIME, Kind.DRIVER, *ON_DEVICE)(event) or event.get("cat") == "ac2g"


def _has_device(document: Document) -> bool:
    return any(lasts(each) and kind(each) in DEVICE_KINDS for each in document["traceEvents"])


def _where_devices_work(rewriting: Rewriting) -> Rewriting:
    return lambda document: rewriting(document) if _has_device(document) else None


#: Why the job is the same stands in a comment, or in the docstring of what rewrites it.
OTHER_FILES: dict[str, Rewriting] = {
    "events alone": _headless,
    # Tools that filter events drop metadata first.
    "no names of processes": without(lambda event: event.get("ph") == "M"),
    "no ranks": _without_ranks,
    # Not every device maker's profiler knows how a kernel was launched.
    "no launch sizes": without_arguments(*_SIZES, _OCCUPANCY),
    # They only repeat which op encloses a call.
    "no external ids": without_arguments("External id", "external id"),
    # These rows need an experimental flag.
    "no waits of streams": without(is_of(Kind.SYNC)),
    # They repeat ranges of the host, and Kineto writes them only since 2022.
    "no ranges on devices": without(is_of(Kind.GPU_USER)),
    "no options": _without_options,
    "streams per thread": _with_calls(r"^(cuda(?:Launch|Memcpy|Memset|Stream|Event)\w*)$", r"\1_ptsz"),
    "launches of CUDA 12": _with_calls(r"^cudaLaunchKernel$", "cudaLaunchKernelExC"),
    "GPU 3": _on_gpu_3,
    "other streams": with_each(_on_other_stream),
    "another process of the host": _in_other_process,
    "begins and ends of ops": _with_begins_and_ends,
    "clock of the device 5 us late": with_each(_on_later_clock),
    # profile(activities=[CUDA]), and the reverse.
    "no CPU activity": _where_devices_work(without(_is_on_host_alone)),
    "no device activity": _where_devices_work(without(_is_of_device)),
    "categories of 2021": with_each(_in_2021),
    "whole microseconds": with_each(_in_whole_us),
    "kernels of 128 characters": _with_short_name(128),
    "kernels of 80 characters": _with_short_name(80),
    "kernels without parameters": with_each(_without_parameters),
    "steps from 10,000": with_each(_numbered_higher),
    "steps on two threads": _steps_on_two_threads,
    "every second step": _every_second_step,
    "recorded twice": _recorded_twice,
    "another process": _with_other_process,
    "another thread": _with_other_thread,
}
