"""The committed demo logs can all be read, simulations say that they are, and our figures equal the declared ones."""

from __future__ import annotations

import gzip
import json
import re
import statistics
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tb_steptime.analyses import data_loading, host, memory, overview, tensor_cores
from tb_steptime.analyses.host import HostResult
from tb_steptime.ingest.measure import measure_file
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.record.file.format import LOADER
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind
from tests import PROJECT
from tests.truth.simulate.chrome import STATEMENT_KEY, TRUTH_KEY, chrome_trace, file_name
from tests.truth.simulate.demo import recordings, simulate

DEMO = PROJECT / "demo_logs"
EXPERIMENTS = ("baseline", "num_dataloaders", "transforms", "resnet50_baseline", "autocast")
WITH_RECORDER = "recorded_workers"
#: Recorded with memory, shapes and call stacks, and therefore in a single span.
WITH_MEMORY = ("cpu_kept_graph", "gpu_kept_graph")
#: One recording for each of four ranks.
OF_RANKS = "cpu_late_rank"
FORUM = (
    *(f"forum_{data}{item}" for data in ("preloaded", "workers2", "workers8") for item in ("", "_item")),
    "forum_sparse_one_gpu", "forum_sparse_multi_gpu", "forum_dense_multi_gpu",
)  # fmt: skip
WITH_STACK = ("forum_sparse", "forum_dense", *WITH_MEMORY)

#: No demo log may be larger, so that cloning stays fast.
MOST_BYTES = 1_000_000


def logs(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(DEMO)) for path in DEMO.glob(pattern))


RECORDED, SIMULATED = logs("[cg]pu_*/*.pt.trace.json.gz"), logs("*_simulated/*.pt.trace.json.gz")
ASKED = [name for name in SIMULATED if name.startswith("forum_")]
TOLD = [name for name in SIMULATED if name not in ASKED]


@cache
def trace_of(name: str) -> Trace:
    return read_trace(DEMO / name)


@cache
def text_of(name: str) -> str:
    return gzip.decompress((DEMO / name).read_bytes()).decode()


def test_every_experiment_has_two_spans_of_each_kind_and_every_question_one():
    recorded = (f"{device}_{name}" for device in ("cpu", "gpu") for name in (*EXPERIMENTS, WITH_RECORDER))
    two = [*recorded, *(f"{name}_simulated" for name in EXPERIMENTS)]
    one = [*WITH_MEMORY, *(f"{name}_simulated" for name in FORUM)]
    folders = sorted(path.name for path in DEMO.iterdir() if path.is_dir())
    counts = {folder: len(logs(f"{folder}/*.pt.trace.json.gz")) for folder in folders}
    assert counts == dict.fromkeys(two, 2) | dict.fromkeys(one, 1) | {OF_RANKS: 4}


@pytest.mark.parametrize("name", RECORDED + SIMULATED)
def test_each_is_small_and_reads_without_a_word_of_loss(name: str):
    assert (DEMO / name).stat().st_size < MOST_BYTES
    trace = trace_of(name)
    assert trace.notes == ()
    assert trace.job.with_stack is name.startswith(WITH_STACK)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_is_not_called_simulated_and_names_no_machine(name: str):
    assert trace_of(name).job.simulated is None
    assert STATEMENT_KEY not in text_of(name)
    assert set(re.findall(r'"(?:host_name|traceName)": "([^"]*)"', text_of(name))) == {""}
    assert not re.search(r'"[^"]*/(?:home|root|tmp|usr)/', text_of(name))


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulation_says_so_and_names_the_declared_cause(name: str):
    simulated = trace_of(name).job.simulated
    assert simulated is not None
    assert simulated == json.loads(text_of(name))[STATEMENT_KEY]
    assert truth_of(name)["cause"] in simulated


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_shows_its_device_at_work_in_every_step(name: str):
    trace = trace_of(name)
    result = overview.analyse(trace)
    device, _, experiment = name.partition("/")[0].partition("_")
    few = {"resnet50_baseline": 3, "autocast": 3, "kept_graph": 5, "late_rank": 6}
    assert len(result.steps) == few.get(experiment, 15)
    assert result.has_device is (device == "gpu")
    works = "kernel" if result.has_device else "cpu_exec"
    assert min(getattr(row.parts_ns, works) for row in result.steps) > 0
    waits = data_loading.analyse(trace)
    assert waits.multiprocess is not name.startswith(OF_RANKS)
    assert all(0 <= row.exposed_ns <= row.wait_ns for row in waits.steps)
    assert result.has_device or all(0 < row.wait_ns == row.exposed_ns for row in waits.steps)


def test_the_graph_that_each_step_keeps_is_found_with_its_line():
    """For 32 images of 32 x 32, the graph keeps the 16 channels of 28 x 28 after the activation, and up to half as much
    again, such as the batch."""
    (name,) = logs("cpu_kept_graph/*.pt.trace.json.gz")
    (device,) = memory.analyse(trace_of(name)).devices
    activation = 32 * 16 * 28 * 28 * 4
    largest = max(device.makers, key=lambda each: each.bytes_per_step)
    assert (largest.bytes_per_step, largest.example.op) == (activation, "aten::clamp_min")
    assert "record_demo.py" in (largest.example.line or "") and "test" in (largest.example.line or "")
    assert activation < (device.growth.bytes_per_step or 0) < 1.5 * activation


def test_a_recorder_names_no_machine_and_tells_of_every_batch():
    files = sorted(DEMO.glob(f"cpu_{WITH_RECORDER}/*.loader"))
    headers = [LOADER.decode_header(path.read_bytes()) for path in files]
    assert [header["worker"] for header in headers] == [None, 0, 1, 2]
    assert {(header["host"], path.name.partition("_")[0]) for header, path in zip(headers, files, strict=True)} == {
        ("", "demo")
    }
    kinds = []
    for trace in sorted(DEMO.glob(f"cpu_{WITH_RECORDER}/*.pt.trace.json.gz")):
        told = measure_file(trace).results["data_loading"]
        assert isinstance(told, data_loading.DataLoadingResult)
        assert told.recorded is not None
        assert (told.recorded.batches, len(told.recorded.workers)) == (15, 3)
        kinds.append(told.recorded.kind)
        assert told.curve is not None
        assert told.curve.recommended > 2 * told.curve.measured_workers
    # workers compute for about 30 % of the time: less in the first span, more in the second
    assert kinds == ["io", "mixed"]


def test_the_committed_simulations_are_what_the_simulator_makes():
    """Compared as text, because the compressed bytes may differ between versions of zlib."""
    made = dict(simulations())
    assert list(made) == in_demo_order(SIMULATED)
    different = [name for name, text in made.items() if text_of(name) != text]
    assert not different, "run `python -m tests.truth.simulate demo_logs`, and delete the files that it does not write"


def simulations() -> Iterator[tuple[str, str]]:
    for training in recordings():
        for span in simulate(training):
            yield f"{training.name}_simulated/{file_name(span)}", chrome_trace(training, span)


def in_demo_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: ((*EXPERIMENTS, *FORUM).index(name.partition("_simulated")[0]), name))


@cache
def truth_of(name: str) -> Any:
    return json.loads(text_of(name))[TRUTH_KEY]


@pytest.mark.parametrize("name", SIMULATED)
def test_steps_last_as_declared(name: str):
    ours = [(row.name, row.duration_ns, row.host_ns) for row in overview.analyse(trace_of(name)).steps]
    assert ours == [(step["name"], step["duration_ns"], step["host_ns"]) for step in truth_of(name)["steps"]]


@pytest.mark.parametrize("name", TOLD)
def test_waits_are_exposed_and_hidden_as_declared(name: str):
    ours = [(row.wait_ns, row.exposed_ns, row.hidden_ns) for row in data_loading.analyse(trace_of(name)).steps]
    declared = truth_of(name)["steps"]
    assert ours == [(step["wait_ns"], step["exposed_ns"], step["hidden_ns"]) for step in declared]


@pytest.mark.parametrize("name", TOLD)
def test_tensor_cores_are_used_as_declared(name: str):
    (device,) = tensor_cores.analyse(trace_of(name)).devices
    gpu = truth_of(name)["gpu"]
    assert (device.total.kernel_ns, device.total.tensor_core_ns) == (gpu["kernel_ns"], gpu["tensor_core_ns"])
    assert device.total.unknown_ns == 0


@pytest.mark.parametrize("name", SIMULATED)
def test_every_op_of_a_simulation_has_its_launches_inside(name: str):
    """Host events of a thread either nest or do not overlap, as in a recording."""
    events = trace_of(name).events
    for thread in set(events.thread[events.rows(Kind.CPU_OP)].tolist()):
        open_ends: list[int] = []
        for row in (events.thread == thread).nonzero()[0].tolist():
            start, end = int(events.start_ns[row]), int(events.end_ns[row])
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def mean_ns(folder: str, key: str) -> float:
    return statistics.mean(truth_of(name)["mean"][key] for name in SIMULATED if name.startswith(f"{folder}_simulated"))


def test_the_demo_tells_its_story():
    """Each experiment fixes the problem of the previous one."""
    lengths = [mean_ns(name, "duration_ns") for name in EXPERIMENTS]
    assert lengths[0] > 2.5 * lengths[1] > 5 * lengths[2]
    assert lengths[3] > 3 * lengths[4]
    exposed = [mean_ns(name, "exposed_ns") / mean_ns(name, "duration_ns") for name in EXPERIMENTS]
    assert exposed[0] > 0.8
    assert exposed[1] > 0.5
    assert max(exposed[2:]) < 0.1
    idle = [mean_ns(name, "gpu_idle_ns") / mean_ns(name, "duration_ns") for name in EXPERIMENTS]
    assert min(idle[:3]) > 0.8
    assert max(idle[3:]) < 0.05


@cache
def host_of(folder: str) -> HostResult:
    (name,) = logs(f"{folder}_simulated/*.pt.trace.json.gz")
    return host.analyse(trace_of(name))


@cache
def declared_of(folder: str) -> Any:
    (name,) = logs(f"{folder}_simulated/*.pt.trace.json.gz")
    return truth_of(name)


@pytest.mark.parametrize("folder", FORUM)
def test_devices_are_idle_for_the_declared_reasons(folder: str):
    ours = [(each.busy_ns, each.steps) for each in host_of(folder).devices]
    declared = sorted(declared_of(folder)["devices"], key=lambda each: -sum(each["busy_ns"]))
    assert ours == [(each["busy_ns"], [IdleNs(**step) for step in each["idle_ns"]]) for each in declared]


@pytest.mark.parametrize("folder", FORUM)
def test_blocking_calls_cost_what_was_declared(folder: str):
    rows, declared = host_of(folder).blocking, declared_of(folder)
    assert {row.op for row in rows} == {call["op"] for call in declared["blocking_calls"]}
    bubbles = sum(call["bubble_ns"] for call in declared["blocking_calls"]) / len(declared["steps"])
    assert sum(row.bubble_ns for row in rows) == pytest.approx(bubbles, abs=2)


def test_more_workers_help_until_the_host_is_the_limit():
    """This is the first question. The tab names the cause that each variant was declared to have."""
    bounds = {folder: host_of(folder).bound.value for folder in FORUM[:6]}
    assert bounds == {
        "forum_preloaded": "host",
        "forum_preloaded_item": "host",
        "forum_workers2": "input",
        "forum_workers2_item": "input",
        "forum_workers8": "host",
        "forum_workers8_item": "host",
    }
    assert step_ns("forum_workers2") > 1.9 * step_ns("forum_workers8") > 2 * step_ns("forum_preloaded")
    for folder in ("forum_preloaded", "forum_workers2", "forum_workers8"):
        assert step_ns(f"{folder}_item") < 1.03 * step_ns(folder)


def step_ns(folder: str) -> float:
    return statistics.mean(step["duration_ns"] for step in declared_of(folder)["steps"])


def test_the_hidden_wait_of_the_backward_pass_is_told_by_op_layer_and_line():
    """This is the second question. The same waits cost next to nothing on one GPU, and half of the time on two."""
    one, two, dense = (host_of(f"forum_{name}_gpu") for name in ("sparse_one", "sparse_multi", "dense_multi"))
    assert [each.bound.value for each in (one, two, dense)] == ["gpu", "sync", "gpu"]
    assert step_ns("forum_sparse_multi_gpu") > step_ns("forum_sparse_one_gpu")
    for result in (one, two):
        assert {(row.op, row.site, row.forward_op) for row in result.blocking} == {
            ("aten::_coalesce", "backward.nodes", "aten::_sparse_addmm")
        }
        assert {row.forward_source for row in result.blocking} == {"examples/forum/sparse_multi_gpu.py(42): forward"}
    assert sum(row.blocked_ns for row in one.blocking) > 30 * one.blocking_bubble_ns
    assert two.blocking_bubble_ns > 10 * one.blocking_bubble_ns


def test_two_gpus_of_one_process_take_turns_when_the_loop_waits():
    sparse, dense = (host_of(f"forum_{name}_multi_gpu").several_devices for name in ("sparse", "dense"))
    assert sparse is not None
    assert dense is not None
    assert sparse.concurrency < 1.1
    assert dense.concurrency > 1.95
    held_up = [(row.op, row.by_device, row.idle_device) for row in sparse.blockers]
    assert sorted(held_up) == [("aten::_coalesce", 0, 1), ("aten::_coalesce", 1, 0)]
    assert dense.blockers == []
