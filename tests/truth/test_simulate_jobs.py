"""The files of the simulator's jobs show what the jobs declare: streams,
graphs, ranks, and the edges of a recording."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import A100, MI300X, Activity, Op, Recording, Section, Span, Training
from tests.truth.simulate.chrome import chrome_trace
from tests.truth.simulate.jobs.compiled import compiled_step, graph_launch, graph_step
from tests.truth.simulate.jobs.edges import first_product, side_stream, unrecorded_work
from tests.truth.simulate.jobs.ranks import after_backward, all_reduce, overlapped
from tests.truth.simulate.jobs.transfers import from_pageable, prefetched
from tests.truth.simulate.jobs.transformer import Transformer, training_step
from tests.truth.simulate.kernels import launch
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.pairs import both, total, union

MS = 1_000_000
LONG = Section((Op(("aten::mm",), (launch(Activity("kernel", "long", 10 * MS, (108, 1, 1), (128, 1, 1))),)),))
SMALL = Transformer(batch=1, length=128, width=512, depth=2, classes=1024)


def span_of(sections: tuple[Section, ...], **changes: Any) -> Span:
    (span,) = Machine(training(sections, **changes)).run()
    return span


def training(sections: tuple[Section, ...], **changes: Any) -> Training:
    schedule: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 2, "spans": 1}
    return Training("drawn up here", "a test.", None, sections, seed=7, **{**schedule, **changes})


def events(sections: tuple[Section, ...], **changes: Any) -> list[dict[str, Any]]:
    declared = training(sections, **changes)
    (span,) = Machine(declared).run()
    return list(json.loads(chrome_trace(declared, span))["traceEvents"])


def named(span: Span, name: str) -> list[tuple[int, int]]:
    return [(row.start_ns, row.end_ns) for row in span.rows if row.name == name]


def test_a_recording_waits_for_the_device_unless_it_is_declared_not_to():
    """Two steps of 10 ms are running when the recording begins; two more are recorded."""
    first = {head: span_of((LONG,), recording=Recording(head=head)) for head in ("drained", "hidden", "unlinked")}
    calls = {head: len(named(span, kernels.LAUNCH)) for head, span in first.items()}
    begins = {head: min(start for start, _ in named(span, "long")) - span.start_ns for head, span in first.items()}
    assert calls == {"drained": 2, "hidden": 2, "unlinked": 2}
    assert {head: len(named(span, "long")) for head, span in first.items()} == {
        "drained": 2,
        "hidden": 2,
        "unlinked": 4,
    }
    assert begins["drained"] < 2 * MS < 15 * MS < begins["hidden"]
    assert begins["unlinked"] < 0


def test_a_cut_recording_lacks_what_has_not_started():
    assert len(named(span_of((LONG,), active=4), "long")) == 4
    assert len(named(span_of((LONG,), active=4, recording=Recording(tail="cut")), "long")) == 1


def test_work_that_is_not_recorded_keeps_the_device_busy():
    span = span_of((unrecorded_work(5, waits=True), LONG), active=1)
    assert named(span, "unseen") == []
    ((start, end),) = named(span, "cudaStreamSynchronize")
    assert end - start > 4.9 * MS


def test_a_side_stream_is_waited_for_and_runs_beside_the_other():
    small = Section((Op(("aten::mul",), (launch(kernels.small("short")),)),))
    span = span_of((*side_stream(5), small), active=1)
    ((_, side_end),) = named(span, "void cooperative_preprocess_kernel<float>")
    ((short, _),) = named(span, "short")
    assert short >= side_end
    streams = {event["args"]["stream"] for event in events((*side_stream(5), small)) if event.get("cat") == "kernel"}
    assert streams == {7, 22}


def test_the_nodes_of_a_graph_share_the_launch():
    nodes = [kernels.small("node")] * 5
    shown = [event for event in events((Section((graph_launch(nodes, nodes=True),)),), active=1) if "cat" in event]
    (call,) = (event["args"]["correlation"] for event in shown if event["name"] == "cudaGraphLaunch")
    assert [event["args"]["correlation"] for event in shown if event["name"] == "node"] == [call] * 5
    hidden = events((Section((graph_launch(nodes, nodes=False),)),), active=1)
    assert [event["name"] for event in hidden if event.get("cat") == "kernel"] == []


def test_a_graph_step_is_launched_at_once():
    span = span_of(graph_step(SMALL, nodes=True), active=1)
    assert Counter(row.name for row in span.rows if row.category == "cuda_runtime")["cudaGraphLaunch"] == 1
    assert sum(row.category == "kernel" for row in span.rows) > 40


def test_compiled_kernels_are_launched_by_the_driver_inside_their_region():
    span = span_of(compiled_step(SMALL), active=1)
    (region,) = named(span, "Torch-Compiled Region: 0/0")
    driven = [row for row in span.rows if row.category == "cuda_driver" and row.thread == "main"]
    assert len(driven) > 5
    assert all(region[0] < row.start_ns < row.end_ns < region[1] for row in driven)


def exposed_ns(span: Span) -> int:
    """The time in which collectives run and nothing computes."""
    on_device = [row for row in span.rows if row.activity]
    exchange = union([(row.start_ns, row.end_ns) for row in on_device if "nccl" in row.name])
    compute = union([(row.start_ns, row.end_ns) for row in on_device if "nccl" not in row.name])
    return total(exchange) - total(both(exchange, compute))


def test_buckets_run_beside_the_backward_pass_or_after_it():
    wide = training_step(Transformer(batch=4, depth=2, classes=4096))
    reduces = (all_reduce(1_000_000, MS // 2),) * 3
    beside, after = (span_of(step, active=1) for step in (overlapped(wide, reduces), after_backward(wide, reduces)))
    assert exposed_ns(after) > 1.4 * MS
    assert exposed_ns(beside) < 0.7 * MS


def test_a_collective_tells_what_it_moves():
    kernel = next(event for event in events((Section((all_reduce(64, 5_000),)),)) if event.get("cat") == "kernel")
    assert kernel["args"]["Collective name"] == "allreduce"
    assert kernel["args"]["In msg nelems"] == 64


def test_a_prefetched_batch_is_copied_while_kernels_run():
    span = span_of((*prefetched(24_000_000), LONG), active=4)
    copies = union(named(span, "Memcpy HtoD (Pinned -> Device)"))
    assert total(both(copies, union(named(span, "long")))) > 0.7 * total(copies)


def test_a_pageable_copy_keeps_the_host():
    span = span_of((from_pageable(6_000_000),), active=1)
    ((start, end),) = named(span, "cudaMemcpyAsync")
    assert end - start > 1 * MS


def test_a_first_product_is_slow_once():
    span = span_of((first_product(50, step=2), LONG), active=3)
    lengths = [end - start for start, end in named(span, "aten::linear")]
    assert len(lengths) == 1
    assert 49 * MS < lengths[0] < 51 * MS


def test_hip_names_its_calls_and_tells_the_grid_alone():
    shown = events((LONG,), gpu=MI300X)
    assert {event["name"] for event in shown if event.get("cat") == "cuda_runtime"} == {
        "hipLaunchKernel",
        "hipDeviceSynchronize",
    }
    kernel = next(event for event in shown if event.get("cat") == "kernel")
    assert "grid" in kernel["args"]
    assert "registers per thread" not in kernel["args"]
    assert A100.amd is False


def test_what_is_left_out_of_a_recording_is_missing():
    step = training_step(SMALL)
    without = frozenset({"cpu_op", "user_annotation"})
    shown = events(step, recording=Recording(without=without, shapes=False))
    assert {event["cat"] for event in shown if event["ph"] == "X"} == {
        "cuda_runtime", "kernel", "gpu_memcpy", "Trace",
    }  # fmt: skip
    assert [
        event for event in events(step, recording=Recording(shapes=False)) if "Input Dims" in event.get("args", {})
    ] == []
    names = {event["name"] for event in events(step, recording=Recording(marks=False))}
    assert not any(name.startswith("ProfilerStep") for name in names)
