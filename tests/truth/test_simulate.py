"""The simulator behaves as declared, its files are read like recordings, and our figures equal its truth."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from tb_steptime.metrics.data_loading.waits import loader_iterators, loader_waits
from tb_steptime.metrics.gpu.utilization import busy_intervals, est_sm_efficiency, gpu_utilization
from tb_steptime.metrics.idle.reasons import HOST_BOUND
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.metrics.operators.table import OpGrouping, operator_tables
from tb_steptime.metrics.steps.parts import step_breakdown
from tb_steptime.metrics.tensor_cores.usage import split_kernel_time
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.truth.simulate import kernels
from tests.truth.simulate.causes import A100, Activity, Call, Loader, Op, Section, Span, Training
from tests.truth.simulate.chrome import STATEMENT_KEY, chrome_trace, statement, write
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.loading import Workers
from tests.truth.simulate.machine import Machine
from tests.truth.simulate.networks import read_back, small_cnn
from tests.truth.simulate.occupancy import kineto_occupancy
from tests.truth.simulate.truth import idle_of_ops

MS = 1_000_000


def matmul(dur_ns: int) -> Op:
    name = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
    activity = Activity("kernel", name, dur_ns, (216, 1, 1), (128, 1, 1), 128, 32768, tensor_core=True)
    return Op(("aten::mm",), (kernels.launch(activity),), 10_000, ((64, 64), (64, 64)), ("c10::Half", "c10::Half"))


def training(*sections: Section, loader: Loader | None = None, **changes: Any) -> Training:
    loader = loader or Loader(MS, workers=2)
    return Training("drawn up here", "a test.", loader, sections, seed=7, **{"active": 9, "spans": 1, **changes})


def launches(count: int, dur_ns: int) -> Section:
    return Section((matmul(dur_ns),) * count)


TO_PAGEABLE = Op(
    ("aten::to", "aten::_to_copy", "aten::copy_"),
    (Call("cudaMemcpyAsync", kernels.copy("Memcpy HtoD (Pageable -> Device)", 4_000_000), blocks=True),),
)

CAUSES = {
    "gpu_bound": training(launches(40, 500_000)),
    "host_bound": training(launches(40, 5_000)),
    "input_bound": training(launches(20, 40_000), loader=Loader(20 * MS, workers=1, jitter=0.1)),
    "input_bound_in_bursts": training(launches(20, 40_000), loader=Loader(20 * MS, workers=3, jitter=0.01)),
    "no_workers": training(launches(20, 40_000), loader=Loader(5 * MS)),
    "item_every_step": training(launches(30, 100_000), Section((read_back(),)), launches(5, 50_000)),
    "wait_hidden_behind_the_gpu": training(launches(40, 500_000), loader=Loader(12 * MS, workers=1, jitter=0.2)),
    "pageable_copy": training(Section((TO_PAGEABLE,)), launches(30, 100_000)),
    "full_queue": training(launches(40, 500_000), queue_limit=16),
    "backward_thread": training(launches(20, 90_000), replace(launches(40, 90_000), backward=True)),
    "small_cnn": training(*small_cnn(128, normalize=True), loader=Loader(7 * MS, workers=3, jitter=0.05)),
}


@pytest.fixture(params=CAUSES, scope="module")
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, dict[str, Any]]:
    """A trace as the reader returns it, and the truth about it."""
    declared = CAUSES[request.param]
    (span,) = simulate(declared)
    path = tmp_path_factory.mktemp(request.param) / "simulated.pt.trace.json.gz"
    write(path, declared, span)
    return read_trace(path), {**span.truth, "ops_idle_ns": idle_of_ops(span)}


def test_steps_are_the_declared_ones(simulated):
    trace, truth = simulated
    ours = [
        {"name": step.name, "duration_ns": step.duration_ns, "host_ns": step.host_ns}
        for step in find_steps(trace).steps
    ]
    assert ours == [{key: step[key] for key in ("name", "duration_ns", "host_ns")} for step in truth["steps"]]


def test_waits_for_data_are_the_declared_ones(simulated):
    trace, truth = simulated
    waits = loader_waits(trace)
    for key in ("wait_ns", "exposed_ns", "hidden_ns"):
        assert getattr(waits, key).tolist() == [step[key] for step in truth["steps"]], key


def test_parts_are_the_declared_ones(simulated):
    trace, truth = simulated
    for ours, step in zip(step_breakdown(trace), truth["steps"], strict=True):
        theirs = {key: getattr(ours, key) for key in ("kernel", "memcpy", "memset", "runtime", "data_loader")}
        assert {**theirs, "cpu_and_other": ours.cpu_exec + ours.other} == step["parts_ns"]


def test_reasons_for_idleness_are_the_declared_ones(simulated):
    trace, truth = simulated
    partition = idle_partition(trace)[0]
    ours = partition.per_step_ns
    expected = [step["idle_ns"] for step in truth["steps"]]
    assert ours["data_loading"].tolist() == [idle["data_loading"] for idle in expected]
    assert (ours["queued"] + ours["dependency"]).tolist() == [idle["queued"] for idle in expected]
    assert ours["blocking_call"].tolist() == [idle["blocking"] for idle in expected]
    assert partition.sum_ns(HOST_BOUND).tolist() == [
        idle["host_late"] + idle["launch_latency"] + idle["blocking"] for idle in expected
    ]


def test_idle_time_of_ops_is_that_of_the_declared_launches(simulated):
    trace, truth = simulated
    (rows,) = operator_tables(trace, [OpGrouping("name", "ran")])
    assert {row.name: row.idle_ns for row in rows} == truth["ops_idle_ns"]
    assert sum(truth["ops_idle_ns"].values())


def test_gpu_figures_are_the_declared_ones(simulated):
    trace, truth = simulated
    steps = find_steps(trace)
    busy = busy_intervals(trace, 0).overlap_ns(steps.start_ns, steps.end_ns)
    split = split_kernel_time(trace, 0).total
    assert busy.tolist() == [step["gpu_busy_ns"] for step in truth["steps"]]
    assert gpu_utilization(trace, 0).value == pytest.approx(truth["gpu"]["utilization"], abs=1e-9)
    assert est_sm_efficiency(trace, 0).value == pytest.approx(truth["gpu"]["est_sm_efficiency"], abs=1e-6)
    assert (split.kernel_ns, split.tensor_core_ns) == (truth["gpu"]["kernel_ns"], truth["gpu"]["tensor_core_ns"])


def test_the_reader_sees_what_a_recording_would_show(simulated):
    trace, _ = simulated
    assert trace.job.simulated is not None
    assert trace.job.simulated.startswith("No GPU has run this training.")
    device = trace.devices[0]
    assert (device.name, device.sm_count, device.compute_capability) == ("NVIDIA A100-SXM4-80GB", 108, (8, 0))
    assert (find_launches(trace).call >= 0).all()
    assert trace.kernels.grid is not None
    assert (trace.events.dur_ns >= 0).all()
    assert len(trace.events.rows(Kind.GPU_USER)) > 0


def test_one_activity_at_a_time_after_its_call_began(simulated):
    trace, _ = simulated
    joined = find_launches(trace)
    start, end = trace.events.start_ns[joined.activity], trace.events.end_ns[joined.activity]
    assert Intervals.union(start, end).total_ns == int((end - start).sum())
    assert (start >= trace.events.end_ns[joined.call]).sum() >= len(start) - (joined_blocking(trace) > 0).sum()
    assert (start >= trace.events.start_ns[joined.call]).all()


def joined_blocking(trace: Trace) -> Any:
    """The length of each launch call that took more than 100 us because it waited for room in the queue or for its own
    copy; 0 for the others."""
    call = find_launches(trace).call
    return trace.events.dur_ns[call] * (trace.events.dur_ns[call] > 100_000)


@cache
def means(name: str) -> dict[str, Any]:
    (span,) = simulate(CAUSES[name])
    return dict(span.truth["mean"])


def test_each_cause_has_its_effect():
    assert means("gpu_bound")["gpu_idle_ns"] < 0.01 * means("gpu_bound")["duration_ns"]
    host = means("host_bound")
    assert host["idle_ns"]["host_late"] + host["idle_ns"]["launch_latency"] > 0.6 * host["duration_ns"]
    assert means("input_bound")["exposed_ns"] > 0.8 * means("input_bound")["duration_ns"]
    hidden = means("wait_hidden_behind_the_gpu")
    assert hidden["hidden_ns"] > 0.9 * hidden["wait_ns"] > 5 * MS
    assert means("item_every_step")["idle_ns"]["host_late"] > 3 * means("gpu_bound")["idle_ns"]["host_late"]
    assert means("full_queue")["host_ns"] > 0.9 * means("full_queue")["duration_ns"]
    assert means("gpu_bound")["host_ns"] < 0.2 * means("gpu_bound")["duration_ns"]


def lengths(span: Span, name: str) -> list[int]:
    return [row.end_ns - row.start_ns for row in span.rows if row.name == name]


def test_a_wait_of_a_single_process_is_the_production_itself():
    (span,) = simulate(CAUSES["no_workers"])
    assert lengths(span, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == [5 * MS] * 9


def test_a_pageable_copy_keeps_the_host_until_it_is_done():
    (span,) = simulate(CAUSES["pageable_copy"])
    calls, copies = lengths(span, "cudaMemcpyAsync"), lengths(span, "Memcpy HtoD (Pageable -> Device)")
    assert all(call > copy > 4_000_000 / 25 for call, copy in zip(calls, copies, strict=True))
    assert span.truth["mean"]["idle_ns"]["host_late"] > 20_000


def test_three_slow_workers_make_bursts_of_three():
    (span,) = simulate(CAUSES["input_bound_in_bursts"])
    waits = [step["wait_ns"] for step in span.truth["steps"]]
    long = [place for place, wait in enumerate(waits) if wait > 5 * MS]
    assert [later - earlier for earlier, later in itertools.pairwise(long)] == [3, 3]
    assert all(wait < MS for place, wait in enumerate(waits) if place not in long)


def test_workers_deliver_in_order_and_keep_their_queue():
    """Two workers make batches in 10 ms each, with one prefetched batch per worker: the loader requests batches 0 and 1
    at once, and batch 2 when batch 0 is received."""
    workers = Workers(Loader(10 * MS, workers=2, prefetch=1, receive_ns=0), Random(0), start_ns=0)
    received = [workers.next_batch(request) for request in (0, 11 * MS, 12 * MS, 40 * MS, 41 * MS)]
    assert received == [10 * MS, 11 * MS, 20 * MS, 40 * MS, 41 * MS]


def test_the_queue_never_exceeds_its_limit():
    machine = Machine(CAUSES["full_queue"])
    (span,) = machine.run()
    calls = {row.correlation_id: row.end_ns for row in span.rows if row.category == "cuda_runtime"}
    changes = sorted(
        [(calls[row.correlation_id], 1) for row in span.rows if row.activity]
        + [(row.start_ns, -1) for row in span.rows if row.activity]
    )
    depth, deepest = 0, 0
    for _, change in changes:
        depth += change
        deepest = max(deepest, depth)
    assert deepest == 16


def test_the_iterator_is_named_after_the_loader(simulated):
    trace, truth = simulated
    kind = "Multi" if truth["workers"] else "Single"
    assert loader_iterators(trace) == (
        f"_{kind}ProcessingDataLoaderIter" if truth["workers"] else "_SingleProcessDataLoaderIter",
    )


def test_the_same_cause_makes_the_same_text():
    declared = CAUSES["small_cnn"]
    first, again = (chrome_trace(declared, *simulate(declared)) for _ in range(2))
    assert first == again
    assert chrome_trace(replace(declared, seed=8), *simulate(replace(declared, seed=8))) != first


def test_the_file_says_what_it_is():
    declared = CAUSES["item_every_step"]
    (span,) = simulate(declared)
    file = json.loads(chrome_trace(declared, span))
    assert file[STATEMENT_KEY] == statement(declared)
    assert list(file)[1] == STATEMENT_KEY
    stamps = [event["ts"] for event in file["traceEvents"] if event["ph"] == "X" and event["cat"] == "kernel"]
    assert [round(1000 * stamp) for stamp in stamps] == [row.start_ns for row in span.rows if row.category == "kernel"]


def test_occupancy_is_written_with_kinetos_fault():
    """Kineto's calculator ignores that a kernel may opt in to more than 48 KiB of shared memory per block."""
    modest = Activity("kernel", "k", 1, (1080, 1, 1), (256, 1, 1), 64, 16384)
    assert kineto_occupancy(A100, modest) == 50
    assert kineto_occupancy(A100, replace(modest, registers=32)) == 100
    assert kineto_occupancy(A100, replace(modest, grid=(108, 1, 1))) == 13
    assert kineto_occupancy(A100, replace(modest, shared_memory=65536)) == 0


def test_spans_of_one_training_follow_each_other():
    first, second = simulate(replace(CAUSES["host_bound"], spans=2))
    assert first.end_ns < second.start_ns
    assert numbers(second)[0] == numbers(first)[-1] + 1 + 6  # three steps of waiting and three of warm-up


def numbers(span: Span) -> list[int]:
    return [number for number, _, _ in span.marks]
