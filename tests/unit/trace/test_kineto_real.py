"""The reader on every real trace, compared with a plain JSON parser with exact decimals."""

from __future__ import annotations

import gc
import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from tb_steptime.trace.kineto.inputs import keeps_inputs, keeps_settings
from tb_steptime.trace.mangled import demangled
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind
from tests.drawn.event_columns import collectives_of, groups_of, inputs_of, memory_of, sequences_of, stacks_of
from tests.drawn.real_traces import on_real_traces, read_real, real_trace

PLAIN_KINDS = {
    "Operator": Kind.CPU_OP,
    "cpu_op": Kind.CPU_OP,
    "user_annotation": Kind.USER,
    "python_function": Kind.PYTHON,
    "Runtime": Kind.RUNTIME,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.DRIVER,
    "Kernel": Kind.KERNEL,
    "kernel": Kind.KERNEL,
    "Memcpy": Kind.MEMCPY,
    "gpu_memcpy": Kind.MEMCPY,
    "Memset": Kind.MEMSET,
    "gpu_memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.GPU_USER,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
}


@on_real_traces
def test_real_traces_agree_with_a_plain_parser(name: str) -> None:
    path = real_trace(name)
    plain = _plain(path)
    trace = read_real(path)
    complete = [event for event in plain["traceEvents"] if event["ph"] == "X" and event["cat"] != "Trace"]
    assert trace.event_count == len(plain["traceEvents"])
    assert trace.notes == ()
    rows = [_plain_row(event) for event in complete]
    assert _columns(trace) == Counter(rows)
    _assert_times(trace, complete, int(plain.get("baseTimeNanoseconds", 0)))
    _assert_kernels(trace, _with_shapes_of_calls(complete))
    assert Counter(inputs_of(trace)) == Counter(_plain_inputs(complete, rows))
    ops = [event for event, row in zip(complete, rows, strict=True) if row[0] == Kind.CPU_OP]
    assert Counter(sequences_of(trace)) == Counter(_plain_arguments(ops, "Sequence number", "Fwd thread id"))
    assert Counter(collectives_of(trace)) == Counter(_plain_collectives(complete))
    assert Counter(groups_of(trace)) == Counter(_plain_groups(complete))
    assert memory_of(trace) == _plain_memory(
        plain["traceEvents"], trace.origin_ns - int(plain.get("baseTimeNanoseconds", 0))
    )
    stacks = _plain_arguments(ops, "Call stack")
    assert Counter(stacks_of(trace)) == Counter(one for one in stacks if one[1])


def _plain(path: Path) -> dict[str, Any]:
    """Reads the file without garbage collection, which would find nothing and take as long as the parser."""
    gc.disable()
    try:
        with gzip.open(path, "rt") as file:
            plain: dict[str, Any] = json.load(file, strict=False, parse_float=Decimal)
    finally:
        gc.enable()
    return plain


def _plain_memory(events: list[dict[str, Any]], origin_ns: int) -> list[tuple[Any, ...]]:
    """The events in the order of the file, which is the order of time."""
    with_args = [(event, event["args"]) for event in events if event["name"] == "[memory]"]
    keys = ("Addr", "Total Allocated", "Total Reserved")
    return [
        (int(event["ts"] * 1000) - origin_ns, args["Bytes"], str(event["tid"]), *(args.get(key, -1) for key in keys))
        for event, args in with_args
    ]


def _columns(trace: Trace) -> Counter[tuple[Any, ...]]:
    table = trace.events
    size = np.full(len(table), -1) if table.bytes is None else table.bytes
    columns = (
        table.kind,
        table.name,
        table.thread,
        table.device,
        table.stream,
        table.correlation_id,
        table.external_id,
        size,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Counter(
        (Kind(kind), trace.strings[name], trace.threads[thread].pid, trace.threads[thread].tid, *rest)
        for kind, name, thread, *rest in rows
    )


def _plain_row(event: dict[str, Any]) -> tuple[Any, ...]:
    args, kind, name = event.get("args", {}), PLAIN_KINDS[event["cat"]], demangled(event["name"])
    if event["cat"] == "Operator" and name.startswith(("ProfilerStep#", "enumerate(DataLoader)#", "Optimizer.")):
        kind = Kind.USER
    on_device = kind in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GPU_USER, Kind.SYNC)
    stream = args.get("stream", event["tid"]) if on_device else -1
    return (
        kind,
        name,
        str(event["pid"]),
        str(event["tid"]),
        args.get("device", event["pid"]) if on_device else -1,
        stream if stream < 2**31 else -1,
        args.get("correlation", -1),
        args.get("External id", args.get("external id", -1)),
        args.get("bytes", -1) if on_device else -1,
    )


def _plain_inputs(events: list[dict[str, Any]], rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    with_inputs = [event for event, row in zip(events, rows, strict=True) if keeps_inputs(row[0], event["name"])]
    inputs = [
        [event.get("args", {}).get(key) for key in ("Input Dims", "Input type")]
        + [event.get("args", {}).get("Concrete Inputs") if keeps_settings(event["name"]) else None]
        for event in with_inputs
    ]
    return [
        (event["name"], *("" if one is None else json.dumps(one, separators=(",", ":")) for one in each))
        for event, each in zip(with_inputs, inputs, strict=True)
        if each != [None, None, None]
    ]


def _plain_arguments(ops: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    """The name and these arguments of the ops that have them."""
    with_args = [(event["name"], event.get("args", {})) for event in ops]
    return [(name, *(args[key] for key in keys)) for name, args in with_args if keys[0] in args]


def _plain_collectives(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    with_args = [(event["name"], event.get("args", {})) for event in events]
    return [
        (
            name,
            *(args.get(key) for key in ("Collective name", "dtype", "Process Group Name")),
            max(args["In msg nelems"], args["Out msg nelems"]),
            args["Group size"],
        )
        for name, args in with_args
        if "Collective name" in args
    ]


def _plain_groups(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    with_args = [(event["name"], event.get("args", {})) for event in events]
    return [
        (
            name,
            *(args.get(key) for key in ("Process Group Ranks", "Process Group Description")),
            *(args.get(key) for key in ("In split size", "Out split size")),
            *(args.get(key, -1) for key in ("Seq", "Dst Rank")),
        )
        for name, args in with_args
        if "Collective name" in args
    ]


def _assert_times(trace: Trace, events: list[dict[str, Any]], base_ns: int) -> None:
    """Events are sorted and exact to 1 ns; of two that start together, the longer one comes first."""
    table = trace.events
    start = sorted(base_ns + event["ts"] * 1000 for event in events)
    assert (
        max(abs(int(ours) + trace.origin_ns - theirs) for ours, theirs in zip(table.start_ns, start, strict=True)) <= 1
    )
    dur = sorted(event["dur"] * 1000 for event in events)
    assert max(abs(int(ours) - theirs) for ours, theirs in zip(np.sort(table.dur_ns), dur, strict=True)) <= 1
    follows = (np.diff(table.start_ns) > 0) | ((np.diff(table.start_ns) == 0) & (np.diff(table.dur_ns) <= 0))
    assert follows.all()


def _with_shapes_of_calls(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The kernels, with the values that ROCm writes only on the call."""
    calls = {event["args"].get("correlation"): event["args"] for event in events if "runtime" in event["cat"].lower()}
    kernels = []
    for event in (event for event in events if event["cat"].lower() == "kernel"):
        call = calls.get(event["args"].get("correlation"), {})
        more = {key: call[key] for key in ("grid", "block", "shared memory") if "grid" in call}
        kernels.append(event | {"args": more | event["args"]})
    return kernels


def _assert_kernels(trace: Trace, events: list[dict[str, Any]]) -> None:
    table = trace.kernels
    assert (trace.events.kind[table.event] == Kind.KERNEL).all()
    assert len(table) == len(events)
    columns = {
        "grid": (table.grid, [tuple(event["args"].get("grid", (-1, -1, -1))) for event in events]),
        "block": (table.block, [tuple(event["args"].get("block", (-1, -1, -1))) for event in events]),
        "registers": (table.registers, [event["args"].get("registers per thread", -1) for event in events]),
        "shared": (table.shared_memory, [event["args"].get("shared memory", -1) for event in events]),
        "blocks": (table.blocks_per_sm, [float(event["args"].get("blocks per SM", "nan")) for event in events]),
        "occupancy": (
            None if table.kineto_occupancy is None else table.kineto_occupancy * 100,
            [float(event["args"].get("est. achieved occupancy %", "nan")) for event in events],
        ),
    }
    correlations = [event["args"]["correlation"] for event in events]
    ours = trace.events.correlation_id[table.event].tolist()
    for key, (column, plain) in columns.items():
        if column is None:
            assert set(map(str, plain)) <= {"-1", "nan", "(-1, -1, -1)"}, key
            continue
        values = [tuple(value) if isinstance(value, list) else round(value, 6) for value in column.tolist()]
        assert Counter(zip(ours, map(str, values), strict=True)) == Counter(
            zip(correlations, (str(v if isinstance(v, tuple) else round(v, 6)) for v in plain), strict=True)
        ), key
