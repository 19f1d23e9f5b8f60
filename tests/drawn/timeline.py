"""Traces drawn as text, for tests whose input can be seen. Builds the columns directly: no JSON, no reader.

    trace = timeline('''
        step      | 00000000001111111111 |
        loader    | llll......mm........ |
        op        | ....aaaaaa..bbbb.... |
        runtime   | .....k.......q...... |
        kernel 7  | ......kkkk....qqq... |''')

One cell is 1 us. The cells stand between `| ` and ` |`; a run of one character is one event, '.' and ' ' are nothing.
Lines may repeat, so that what encloses stands above what it encloses. A line's label says what its events are:

    step                       ProfilerStep#N on the main thread; N is the digit; for a letter its place
    loader [single|<Iterator>] the loader's mark; without a word the multi-process iterator's
    op [thread]                CPU ops
    user <name>                a host-side range of that name
    python                     Python stack frames
    overhead, sync             the profiler's own rows
    unread [process]           rows of a kind that is not read, in the process of the others or in one of their own
    runtime [thread]           calls that may launch; a call launches the activities drawn with its character
    driver [thread]            the same through the driver API
    kernel <stream> [gpuN]     device activities; nccl, memcpy, memset, gpu_user likewise

`step`, `loader`, `user`, `python`, `overhead` and `sync` lines take a thread as a last word `@thread`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tb_steptime.text import Note
from tb_steptime.trace.model import Device, Job, Thread, Trace
from tb_steptime.trace.table import DEVICE_KINDS, Kind
from tests.drawn.columns import Drawn, trace_of, with_collectives, with_sequences, with_stacks

MAIN = "main"
LOADER = "enumerate(DataLoader)#{}.__next__"
NCCL_NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

#: Real cards, for tests that need device properties.
V100 = Device(0, "Tesla V100-SXM2-16GB", 80, (7, 0), 2048, 65536, 98304)
A100 = Device(0, "NVIDIA A100-SXM4-80GB", 108, (8, 0), 2048, 65536, 167936)

_ITERATORS = {"": "_MultiProcessingDataLoaderIter", "single": "_SingleProcessDataLoaderIter"}
_KINDS = {
    "step": Kind.USER,
    "loader": Kind.USER,
    "user": Kind.USER,
    "op": Kind.CPU_OP,
    "python": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
    "sync": Kind.SYNC,
    "unread": Kind.OTHER,
    "runtime": Kind.RUNTIME,
    "driver": Kind.DRIVER,
    "kernel": Kind.KERNEL,
    "nccl": Kind.KERNEL,
    "memcpy": Kind.MEMCPY,
    "memset": Kind.MEMSET,
    "gpu_user": Kind.GPU_USER,
}
_CALLS = (Kind.RUNTIME, Kind.DRIVER)
_ON_DEVICE = (*DEVICE_KINDS, Kind.GPU_USER)
_DEVICE_NAMES = {"nccl": NCCL_NAME, "memcpy": "Memcpy HtoD (Pinned -> Device)", "memset": "Memset (Device)"}
_CALL_NAMES = {
    (Kind.RUNTIME, Kind.KERNEL): "cudaLaunchKernel",
    (Kind.RUNTIME, Kind.MEMCPY): "cudaMemcpyAsync",
    (Kind.RUNTIME, Kind.MEMSET): "cudaMemsetAsync",
    (Kind.DRIVER, Kind.KERNEL): "cuLaunchKernel",
    (Kind.DRIVER, Kind.MEMCPY): "cuMemcpyAsync",
    (Kind.DRIVER, Kind.MEMSET): "cuMemsetD8Async",
}


def timeline(
    drawing: str,
    *,
    names: Mapping[str, str] | None = None,
    calls: Mapping[str, str] | None = None,
    kernels: Mapping[str, Mapping[str, Any]] | None = None,
    nbytes: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[str, ...]] | None = None,
    sequences: Mapping[str, tuple[int, int]] | None = None,
    stacks: Mapping[str, str] | None = None,
    exchanges: Mapping[str, tuple[str, str, int, str, int]] | None = None,
    devices: Mapping[int, Device] | None = None,
    job: Job | None = None,
    notes: tuple[Note, ...] = (),
    cell_ns: int = 1000,
) -> Trace:
    """The trace that a drawing shows; t = 0 is the first cell.

    names      character -> name of its ops, activities, frames (default: the character; for a copy, memset or
               collective a name such as Kineto writes)
    calls      character -> name of its runtime and driver calls (default: the call that fits what it launches)
    kernels    character -> what the kernel carries: grid, block, registers, shared_memory, blocks_per_sm,
               kineto_occupancy. blocks_per_sm follows from the grid where the device's sm_count is known
    nbytes     character -> bytes of a copy or memset
    inputs     character -> shapes, types and, if wanted, settings of its ops' inputs:
               ("[[128,64],[64,32]]", '["float","float"]', '["",""]')
    sequences  character -> sequence number of its ops, and the forward thread of nodes, 0 for forward ops
    stacks     character -> call stack of its ops, as 2021 wrote them: "net.py(7): forward;train.py(9): step"
    exchanges  character -> what its ops and kernels say of a collective: ("allreduce", "Float", 1024, "0", 8), which
               are its name, type, elements, process group and ranks
    devices    GPU -> its properties (default: a nameless one for each that is drawn on)

    A character on one call and several activities joins them all to the call, as a CUDA graph does; on several calls
    it joins the n-th call with the n-th activity. Ops are numbered by external id, which calls take from the innermost
    op around them and activities from their call.
    """
    runs = [run for line in drawing.strip("\n").splitlines() if line.strip() for run in _line(line, cell_ns)]
    renamed = [_named(run, names or {}) for run in runs]
    events = sorted(_joined(renamed, calls or {}), key=lambda event: (event.start_ns, -event.end_ns))
    trace = trace_of(events, kernels or {}, nbytes or {}, devices or {}, job or Job(), notes, inputs or {})
    trace = with_collectives(trace, events, exchanges or {})
    return with_stacks(with_sequences(trace, events, sequences or {}), events, stacks or {})


def _line(line: str, cell_ns: int) -> list[Drawn]:
    label, bar, cells = line.partition("|")
    cells = cells.rstrip().removesuffix("|")
    if not bar or not cells.startswith(" "):
        raise ValueError(f"a line reads 'label | cells |', with a blank on both sides of the cells: {line!r}")
    make = _event_maker(label.split())
    return [
        make(char, number, first * cell_ns, past * cell_ns)
        for number, (char, first, past) in enumerate(_runs(cells[1:]))
    ]


def _runs(cells: str) -> list[tuple[str, int, int]]:
    runs: list[tuple[str, int, int]] = []
    for place, char in enumerate(cells):
        if char in ". ":
            continue
        if runs and runs[-1][0] == char and runs[-1][2] == place:
            runs[-1] = (char, runs[-1][1], place + 1)
        else:
            runs.append((char, place, place + 1))
    return runs


def _event_maker(parts: Sequence[str]) -> Callable[[str, int, int, int], Drawn]:
    if not parts or parts[0] not in _KINDS:
        raise ValueError(f"unknown label {' '.join(parts)!r}; known: {', '.join(_KINDS)}")
    label, rest, kind = parts[0], list(parts[1:]), _KINDS[parts[0]]
    if kind in _ON_DEVICE:
        return _on_device(label, rest)
    thread = MAIN
    process = rest.pop() if label == "unread" and rest else "1"
    if rest and (label in ("op", "runtime", "driver") or rest[-1].startswith("@")):
        thread = rest.pop().removeprefix("@")

    def make(char: str, number: int, start_ns: int, end_ns: int) -> Drawn:
        name = _host_name(label, " ".join(rest), char, number)
        return Drawn(char, start_ns, end_ns, kind, name, Thread(process, thread, f"thread {thread}"))

    return make


def _host_name(label: str, word: str, char: str, number: int) -> str:
    if label == "step":
        return f"ProfilerStep#{char if char.isdigit() else number}"
    if label == "loader":
        return LOADER.format(_ITERATORS.get(word, word))
    return word if label == "user" else char


def _on_device(label: str, rest: Sequence[str]) -> Callable[[str, int, int, int], Drawn]:
    if not rest:
        raise ValueError(f"a {label} line names its stream: '{label} 7'")
    stream = int(rest[0])
    device = int(rest[1].removeprefix("gpu")) if len(rest) > 1 else 0
    thread = Thread(str(device), str(stream), f"stream {stream}")

    def make(char: str, number: int, start_ns: int, end_ns: int) -> Drawn:
        name = _DEVICE_NAMES.get(label, char)
        return Drawn(char, start_ns, end_ns, _KINDS[label], name, thread, device, stream)

    return make


def _named(event: Drawn, names: Mapping[str, str]) -> Drawn:
    if event.kind in (*_CALLS, Kind.USER) or event.char not in names:
        return event
    return replace(event, name=names[event.char])


def _joined(events: list[Drawn], calls: Mapping[str, str]) -> list[Drawn]:
    """The events with correlation and external ids, and calls with their names."""
    ops = sorted((event for event in events if event.kind == Kind.CPU_OP), key=lambda op: (op.start_ns, -op.end_ns))
    external = {op: number for number, op in enumerate(ops, 1)}
    call_of, activity_of = _correlated(events)
    launched = {correlation: event for event, correlation in activity_of.items()}
    by_call = {correlation: _external_id(external, call) for call, correlation in call_of.items()}

    def join(event: Drawn) -> Drawn:
        correlation = call_of.get(event, activity_of.get(event, -1))
        if event in call_of:
            event = replace(event, name=calls.get(event.char) or _call_name(event, launched.get(correlation)))
        number = external.get(event, by_call.get(correlation, -1))
        return replace(event, correlation_id=correlation, external_id=number)

    return [join(event) for event in events]


def _correlated(events: list[Drawn]) -> tuple[dict[Drawn, int], dict[Drawn, int]]:
    """Correlation ids of every call, and of every activity that a call launches."""
    call_of: dict[Drawn, int] = {}
    activity_of: dict[Drawn, int] = {}
    next_id = 1
    for char in sorted({event.char for event in events if event.kind in _CALLS}):
        drawn = sorted((event for event in events if event.char == char), key=lambda event: event.start_ns)
        sides = [[event for event in drawn if event.kind == kind] for kind in _CALLS]
        activities = [event for event in drawn if event.kind in DEVICE_KINDS]
        number = max(len(side) for side in sides)
        if number > 1 and len(activities) > number:
            raise ValueError(f"{char!r} is on {number} calls and {len(activities)} activities: which launches which?")
        call_of.update((event, next_id + place) for side in sides for place, event in enumerate(side))
        activity_of.update((event, next_id + (place if number > 1 else 0)) for place, event in enumerate(activities))
        next_id += number
    return call_of, activity_of


def _external_id(external: Mapping[Drawn, int], call: Drawn) -> int:
    """The innermost op around a call: the last one that starts before it and encloses it."""
    return max((number for op, number in external.items() if op.encloses(call)), default=-1)


def _call_name(call: Drawn, launched: Drawn | None) -> str:
    return _CALL_NAMES[call.kind, launched.kind if launched else Kind.KERNEL]
