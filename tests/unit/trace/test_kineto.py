"""The reader on one tiny file per quirk, in any layout, and on damaged files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_steptime.errors import TraceError
from tb_steptime.text import Note, count, nbytes
from tb_steptime.trace.extension import PURE
from tb_steptime.trace.kineto import ReadProgress, limits, read_trace, source
from tb_steptime.trace.model import Device, Job, Thread, Trace
from tb_steptime.trace.quality.unrecorded_device import UnseenDevice, unseen_device
from tb_steptime.trace.reading import looks_like_trace
from tb_steptime.trace.table import Kind
from tests import TRACES
from tests.drawn.event_columns import (
    collectives_of,
    drawn,
    groups_of,
    inputs_of,
    memory_of,
    noted,
    sequences_of,
    stacks_of,
)

BASE_NS = 1_700_000_000_000_000_000

STEP = "0 +90000 USER ProfilerStep#3 |10/10 id 1"
OP = "9750 +40125 CPU_OP aten::mm |10/10 id 2"
CALL = "19500 +5500 RUNTIME cudaLaunchKernel |10/10 corr 77 id 2"
KERNEL = "29501 +50002 KERNEL sgemm |0/7 gpu 0 stream 7 corr 77 id 2"
FOUR = [STEP, OP, CALL, KERNEL]


def read(name: str) -> Trace:
    return read_trace(TRACES / name)


@pytest.mark.parametrize(
    "name",
    [
        "kineto_2024.json",
        "one_key_a_line.json",
        "compact.json",
        "keys_in_any_order.json",
        "metadata_after_events.json",
        "byte_order_mark.json",
        "gzip_members.json.gz",
        "metadata_of_wrong_types.json",
        "simulated.json",
        "numbers_in_strings.json",
    ],
)
def test_the_same_trace_in_other_layouts_reads_the_same(name: str) -> None:
    trace = read(name)
    assert drawn(trace) == FOUR
    assert (noted(trace), trace.event_count, trace.origin_ns) == ({}, 4, BASE_NS + 100_500)


def test_kernel_arguments() -> None:
    kernels = read("kineto_2024.json").kernels
    assert [column.tolist() for column in (kernels.event, kernels.grid, kernels.block)] == [
        [3],
        [[120, 1, 1]],
        [[256, 1, 1]],
    ]
    assert [kernels.registers, kernels.shared_memory, kernels.blocks_per_sm, kernels.kineto_occupancy] == [
        [32],
        [1024],
        [1.5],
        [0.19],
    ]


def _with_inputs(name: str, ts: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 1, "args": args}


@pytest.mark.parametrize("indent", [None, 1])
def test_shapes_are_kept_and_told_once_and_settings_of_products_too(tmp_path: Path, indent: int | None) -> None:
    inputs = {"Input Dims": [[128, 64], [64, 32]], "Input type": ["float", "c10::Half"]}
    events = [
        _with_inputs("aten::mm", 1, **inputs),
        _with_inputs("aten::relu", 2, **inputs, **{"Concrete Inputs": ["", "1"]}),  # not a product
        _with_inputs("aten::bmm", 3, **inputs),
        _with_inputs("aten::addmm", 4, **{"Input Dims": [[32]]}),
        _with_inputs("aten::conv2d", 5, **{"Input Dims": None, "Input type": 7, "Concrete Inputs": ["", "[2, 2]"]}),
        _with_inputs("aten::linear", 6),
    ]
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps({"traceEvents": events[::-1]}, indent=indent))
    trace = read_trace(path)
    mm = ("[[128,64],[64,32]]", '["float","c10::Half"]')
    assert inputs_of(trace) == [
        ("aten::mm", *mm, ""), ("aten::relu", *mm, ""), ("aten::bmm", *mm, ""), ("aten::addmm", "[[32]]", "", ""),
        ("aten::conv2d", "", "7", '["","[2, 2]"]'),
    ]  # fmt: skip
    assert len(trace.inputs) == 5
    assert trace.notes == ()


def test_shapes_of_an_event_that_had_to_be_mended(tmp_path: Path) -> None:
    event = json.dumps(_with_inputs("aten::mm", 1, **{"Input Dims": [[2.0, 64]]})).replace('"dur": 1', '"dur": "1"')
    path = tmp_path / "mended.json"
    path.write_text('{"traceEvents": [' + event + "]}")
    assert inputs_of(read_trace(path)) == [("aten::mm", "[[2.0,64]]", "", "")]


def test_modules_around_ops_of_torchscript_are_kept(tmp_path: Path) -> None:
    events = [
        _with_inputs("aten::sub", 1, **{"Module Hierarchy": "TOP(C)::forward.A0(A)::forward."}),
        _with_inputs("aten::add", 2, **{"Module Hierarchy": ""}),
    ]
    path = tmp_path / "modules.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(path)
    assert trace.hierarchies.event.tolist() == [0]
    assert trace.hierarchy_texts.strings == ["TOP(C)::forward.A0(A)::forward."]


def test_no_shapes_are_no_columns() -> None:
    events = read("kineto_2024.json").events
    assert (events.shapes, events.dtypes, events.settings) == (None, None, None)


def test_shapes_without_end_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_steptime.trace.kineto.inputs.MOST_BYTES", 20)
    events = [_with_inputs("aten::mm", n, **{"Input Dims": [[n % 7, 64, 64]]}) for n in range(14)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(path)
    assert trace.inputs.strings == ["[[0,64,64]]", "[[1,64,64]]"]
    assert [shapes for _, shapes, *_ in inputs_of(trace)] == ["[[0,64,64]]", "[[1,64,64]]"] * 2


def test_a_list_of_events_has_no_base_time() -> None:
    trace = read("top_level_list.json")
    assert (drawn(trace), trace.origin_ns) == (FOUR, 100_500)


def test_braces_in_strings_and_objects_in_arguments_are_no_cuts() -> None:
    odd = r'9750 +40125 CPU_OP odd }, { "ph": "X" ] [ \" name |10/10 id 2'
    assert drawn(read("braces_in_strings.json")) == [STEP, odd, CALL, KERNEL]


def exported_by_autograd(path: Path, *events: dict[str, Any]) -> Path:
    """A list of events as the autograd profiler exports it: the process of ops is a word, and no event of a duration
    has a category."""
    ours = {"ph": "X", "dur": 2.0, "tid": 1, "pid": "CPU functions", "args": {}}
    path.write_text(json.dumps([ours | {"ts": float(at)} | event for at, event in enumerate(events)]))
    return path


@pytest.mark.parametrize("pure", ["0", "1"])
def test_the_autograd_profiler_gives_events_no_category(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pure: str
) -> None:
    monkeypatch.setenv(PURE, pure)
    names = ("aten::mm", "Shared MLP", "Optimizer.step#SGD.step", "nn.Module: Linear_0", "torch/a.py(3): b",
             "<built-in method mm of type object at 0x7f>", "cudaLaunchKernel", "void gemm<float>(int)")  # fmt: skip
    others = {"name": "aten::add", "pid": 7}, {"name": "aten::add", "cat": "kernel", "args": {"device": 0}}
    trace = read_trace(exported_by_autograd(tmp_path / "a.json", *({"name": name} for name in names), *others))
    ours = (Kind.CPU_OP, Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.PYTHON, Kind.PYTHON, Kind.RUNTIME, Kind.OTHER)
    read_as = [(trace.name_of(row), Kind(kind)) for row, kind in enumerate(trace.events.kind.tolist())]
    assert read_as == [*zip(names, ours, strict=True), ("aten::add", Kind.OTHER), ("aten::add", Kind.KERNEL)]
    assert (trace.job.kernels_left_out, unseen_device(trace)) == (False, None)


@pytest.mark.parametrize("pure", ["0", "1"])
@pytest.mark.parametrize(
    ("labels", "gpus"),
    [
        (["CPU"], False),
        (["CPU", "GPU 0", "GPU 1"], True),
        (["CPU", "XPU 0"], None),
        ([None, 3], None),
        ([], None),
    ],
)
def test_processes_are_labelled_after_the_gpus_that_the_profiler_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pure: str, labels: list[object], gpus: bool | None
) -> None:
    monkeypatch.setenv(PURE, pure)
    rows = [{"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": of}} for pid, of in enumerate(labels)]
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 1.0, "dur": 2.0}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": [op, *rows]}))
    assert read_trace(path).job.labels_gpus is gpus


@pytest.mark.parametrize("pure", ["0", "1"])
def test_the_autograd_profiler_draws_arrows_to_kernels_that_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pure: str
) -> None:
    monkeypatch.setenv(PURE, pure)
    arrow = {"name": "aten::mm", "ph": "s", "id": 1, "cat": "cpu_to_xpu"}
    on_device = {"name": "aten::mm", "pid": "CUDA functions", "tid": 0}
    trace = read_trace(exported_by_autograd(tmp_path / "a.json", {"name": "aten::mm"}, arrow, on_device))
    assert trace.events.kind.tolist() == [Kind.CPU_OP, Kind.OTHER]
    assert (trace.job.kernels_left_out, trace.job.accelerator) == (True, "XPU")
    assert unseen_device(trace) == UnseenDevice("arrows", 1, "aten::mm")


def test_2021_calls_everything_by_other_names() -> None:
    trace = read("2021_operator_categories.json")
    assert drawn(trace) == [
        "0 +900000 USER ProfilerStep#1 |10/10 id 1",
        "10000 +300000 USER enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ |10/10 id 2",
        "320000 +7000 MEMCPY Memcpy HtoD (Pageable -> Device) |0/stream 7 gpu 0 stream 7 corr 29 id 2 bytes 4096",
        "330000 +1000 MEMSET Memset (Device) |0/stream 7 gpu 0 stream 7 corr 28 id 2 bytes 16",
        "400000 +50000 CPU_OP aten::add |10/10 id 3",
        "410000 +9000 RUNTIME cudaLaunchKernel |10/10 corr 30 id 3",
        "430000 +80000 KERNEL add |0/stream 7 gpu 0 stream 7 corr 30 id 3",
        "500000 +200000 USER Optimizer.step#SGD.step |10/10 id 4",
        "700000 +20000 USER Optimizer.zero_grad#SGD.zero_grad |10/10 id 5",
    ]
    assert trace.event_count == 14
    assert trace.origin_ns == 1_623_143_089_861_000_000
    assert trace.threads == [Thread("10", "10", "thread 10 (python)"), Thread("0", "stream 7")]
    assert trace.devices == {
        0: Device(0, "Tesla V100-SXM2-16GB", 80, (7, 0), 2048, 65536, 98304, 16_945_512_448),
    }


def test_absolute_microseconds_with_decimals_are_exact() -> None:
    trace = read("absolute_microseconds_with_decimals.json")
    assert drawn(trace) == [
        "0 +10001 CPU_OP a |10/10",
        "125 +3500 CPU_OP b |10/10",
        "435 +1000 CPU_OP c |10/10",
        "4555 +7 CPU_OP d |10/10",
    ]
    assert trace.origin_ns == 1_712_195_495_502_094_565


def test_amd() -> None:
    trace = read("amd_hip.json")
    assert drawn(trace) == [
        "0 +50000 CPU_OP aten::mm |10/10 id 2",
        "9000 +5000 RUNTIME hipLaunchKernel |10/10 corr 4 id 2",
        "17000 +9000 KERNEL Cijk_Ailk_Bljk_MT64x64_MI16 |2/0 gpu 2 stream 0 corr 4",
        "19000 +5000 RUNTIME hipMemcpyWithStream |10/10 corr 5",
        "27000 +3000 MEMCPY CopyHostToDevice |2/0 gpu 2 stream 0 corr 5",
    ]
    assert trace.devices == {
        2: Device(2, "AMD Instinct MI300X", 304, (9, 4), 2048, None, 65536, 206_141_652_992),
    }
    kernels = trace.kernels
    assert (kernels.registers, kernels.shared_memory, kernels.blocks_per_sm, kernels.kineto_occupancy) == (None,) * 4


def test_categories_of_other_devices() -> None:
    assert drawn(read("other_devices.json")) == [
        "0 +2000 RUNTIME mtiaLaunch |10/10 corr 1",
        "3000 +6000 KERNEL fc_kernel |1/3 gpu 1 stream 3 corr 1",
        "10000 +1000 RUNTIME aclrtLaunch |10/10 corr 2",
        "11000 +1000 DRIVER drvLaunch |10/10 corr 3",
        "12000 +1000 RUNTIME urEnqueueKernelLaunch |10/10 corr 4",
        "13000 +1000 MEMCPY copy |0/0 gpu 0 stream 0 corr 4",
        "14000 +9000 GPU_USER ProfilerStep#3 |0/7 gpu 0 stream 7",
        "15000 +2000 SYNC Stream Sync |0/7 gpu 0 corr 9",
        "17000 +1000 OVERHEAD Buffer Flush |-1/0",
        "18000 +1000 PYTHON train.py(3): step |10/10",
        "19000 +1000 DRIVER cuLaunchKernel |10/10 corr 11",
        "20000 +1000 OTHER range |10/10",
        "21000 +1000 OTHER no category |10/10",
    ]


def test_copies_of_mtia_are_no_kernels() -> None:
    """The copies have the category of MTIA's kernels."""
    trace = read("mtia_dma.json")
    kinds = [Kind(kind).name for kind in trace.events.kind]
    assert kinds == ["RUNTIME", "KERNEL", "MEMCPY", "MEMCPY", "KERNEL"]
    assert (trace.job.accelerator, trace.device_name(0)) == ("MTIA", "MTIA 0")


@pytest.mark.parametrize(
    ("runtime", "category", "accelerator"),
    [("privateuse1_runtime", "mtia_ccp_events", "GPU"), ("mlu_runtime", "mlu_notifier", "MLU")],
)
def test_waits_of_cambricons_queues_are_no_kernels(
    tmp_path: Path, runtime: str, category: str, accelerator: str
) -> None:
    """Cambricon's own Kineto has a category for them; as PrivateUse1, they have that of MTIA's kernels."""
    rows = [(runtime, "cnInvokeKernel"), ("kernel", "MLUUnion1Kernel"), (category, "NotifierWait")]
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": place, "dur": 1, "args": {"correlation": place}}
        for place, (cat, name) in enumerate(rows)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(path)
    assert [Kind(kind).name for kind in trace.events.kind] == ["RUNTIME", "KERNEL", "SYNC"]
    assert trace.job.accelerator == accelerator


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("rocm_agent_numbers.json", {2: "AMD Instinct MI300X", 9: "AMD Instinct MI300X"}),  # all listed GPUs are alike
        ("device_numbers_in_order.json", {4: "NVIDIA A100", 5: "NVIDIA A30"}),  # the same number of GPUs as are listed
        ("unlisted_device.json", {0: "NVIDIA A100", 9: "GPU 9"}),  # it is unknown which GPU it is
        ("xpu_without_properties.json", {1: "XPU 1"}),
    ],
)
def test_devices_under_other_numbers_than_the_listed_ones(name: str, names: dict[int, str]) -> None:
    trace = read(name)
    assert {device: trace.device_name(device) for device in names} == names
    assert (9 in trace.devices) is (name == "rocm_agent_numbers.json")


def test_a_device_without_a_number_has_none_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 0, "dur": 95}]))
    trace = read_trace(path)
    assert [trace.device_name(device) for device in trace.events.device.tolist()] == ["GPU"]


def test_sequence_numbers() -> None:
    """One op is written twice, as in 2022; one number has more than 32 bits, and one is not a number."""
    trace = read("sequence_numbers.json")
    assert sequences_of(trace) == [
        ("aten::mm", 4294967300, 0),
        ("aten::relu", 7, 0),
        ("autograd::engine::evaluate_function: MmBackward0", 4294967300, 1),
    ]
    assert noted(trace) == {"duplicate-events": 1}


def test_call_stacks_of_ops() -> None:
    trace = read("call_stacks_2021.json")
    functional = "/env/lib/python3.7/site-packages/torch/nn/functional.py(9): linear"
    assert stacks_of(trace) == [
        ("aten::linear", f'{functional};net.py(7): forward;"a".py(9): <module>'),
    ]
    assert len(trace.stack_texts) == 1


def test_what_collectives_say_of_themselves() -> None:
    """They are on the op and, from PyTorch 2.3 on, on the kernel; some values are missing or of a wrong type."""
    assert collectives_of(read("collective_arguments.json")) == [
        ("record_param_comms", "_allgather_base", "BFloat16", "3", 1608704, 8),
        ("ncclDevKernel_AllGather_RING_LL", "_allgather_base", "BFloat16", "3", 1608704, 8),
        ("record_param_comms", "wait", "Byte", None, 0, 1),
        ("ncclDevKernel_Generic", "allreduce", None, "0", -1, -1),
        ("record_param_comms", "send", "Float", "5", 64, 2),
        ("record_param_comms", "recv", "Float", "5", 64, 2),
    ]


def test_what_collectives_say_of_their_group_their_place_in_it_and_the_other_side() -> None:
    """The kernel has Seq from PyTorch 2.12 on; the last collective has an impossible rank."""
    trace = read("collective_arguments.json")
    assert groups_of(trace) == [
        ("record_param_comms", "[0, 1, 2, 3, 4, 5, 6, 7]", "mesh_tp", "[]", "[]", -1, -1),
        ("ncclDevKernel_AllGather_RING_LL", None, None, None, None, 41, -1),
        ("record_param_comms", None, None, None, None, -1, -1),
        ("ncclDevKernel_Generic", None, None, None, None, -1, -1),
        ("record_param_comms", "[2, 3]", None, None, None, 17, 3),
        ("record_param_comms", None, None, None, None, -1, -1),
    ]


def test_what_the_allocator_said() -> None:
    """One event is written twice, one as in 2021, and one has text for numbers and is on another thread. Others lack a
    time or a size, and one is not an allocation."""
    trace = read("memory_events.json")
    assert memory_of(trace) == [
        (19_501, 512, "10", 4096, 1536, 2097152),
        (29_500, 4, "10", -1, -1, -1),
        (39_750, -512, "20", 4096, 1024, 2097152),
    ]
    assert trace.memory.device_type.tolist() == [1, 0, 1]
    assert trace.memory.device.tolist() == [0, -1, 0]
    assert trace.event_count == 9


def test_allocations_without_memory_are_a_note(tmp_path: Path) -> None:
    """Events with another size, and one without a size, are not counted as allocations."""
    content = json.loads((TRACES / "memory_events.json").read_text())
    for size in (4096, 8192, None):
        args = {"Device Type": 1, "Device Id": 0, "Bytes": size, "Total Allocated": 1536, "Total Reserved": 2097152}
        content["traceEvents"].append(
            {"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 10, "tid": 10, "ts": 145, "args": args}
        )
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps(content))
    trace = read_trace(path)
    assert trace.notes[-1] == Note("out-of-memory", {"count": count(3), "most": nbytes(8192)}, ("overview", "memory"))
    assert len(trace.memory) == 3


def test_names_beyond_a_bound_are_cut_and_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_CHARACTERS", 8)
    check_names_are_cut(tmp_path)


def test_names_are_cut_there_too_where_many_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "USUAL_CHARACTERS", 8)
    monkeypatch.setattr(limits, "MOST_OF_LONG", 17)
    check_names_are_cut(tmp_path)


def check_names_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    named = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::mm{k}", "pid": 1, "tid": 1, "ts": k, "dur": 1} for k in (1, 2)
    ]
    short = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 3, "dur": 1}
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*named, short]}))
    trace = read_trace(path)
    assert trace.strings.strings == ["aten::mm… (name 0, 9 characters)", "aten::mm… (name 1, 9 characters)", "aten::mm"]
    assert [(note.id, note.values["count"].value) for note in trace.notes] == [("long-names", 2)]


def test_what_unpacks_to_a_thousand_times_its_size_is_not_held_in_memory(tmp_path: Path) -> None:
    """64 MB of blanks in 65 kB: they stream through like any text that is not an event."""
    path = tmp_path / "a.pt.trace.json.gz"
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    head, tail = '{"schemaVersion": 1, "traceEvents": [', f"{json.dumps(op)}]}}"
    with gzip.open(path, "wt") as file:
        file.write(head + " " * 2**26 + tail)
    assert path.stat().st_size < 2**17
    tracemalloc.start()
    try:
        trace = read_trace(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(trace.events), trace.json_bytes) == (1, len(head) + 2**26 + len(tail))
    assert peak < 2**25


def test_kernels_whose_names_are_too_much_to_read_share_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_OF_KERNELS", 8)
    path = tmp_path / "a.pt.trace.json"
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "dur": 1, "args": {"device": 0, "stream": 7}}
    names = ["gemm", "relu", "copy", "gemm", "fill"]
    events = [kernel | {"name": name, "ts": k} for k, name in enumerate(names)]
    op = {"ph": "X", "cat": "cpu_op", "name": "copy", "pid": 1, "tid": 1, "ts": 9, "dur": 1}
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*events, op]}))
    trace = read_trace(path)
    found = [trace.strings[name] for name in trace.events.name.tolist()]
    assert found == ["gemm", "relu", "(one of 2 more kernels)", "gemm", "(one of 2 more kernels)", "copy"]
    assert [(note.id, note.values["count"].value) for note in trace.notes] == [("many-kernels", 2)]


def test_totals_and_times_of_memory_that_cannot_be(tmp_path: Path) -> None:
    """One total is -1; an event two days away from the others is left out."""
    content = json.loads((TRACES / "memory_events.json").read_text())
    first = next(event for event in content["traceEvents"] if event["name"] == "[memory]")
    args = first["args"] | {"Total Reserved": -5, "Total Allocated": 2**45, "Addr": 8192}
    content["traceEvents"] += [first | {"ts": 135, "args": args}, first | {"ts": 2 * 86_400 * 10**6}]
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps(content))
    trace = read_trace(path)
    before = memory_of(read("memory_events.json"))
    assert memory_of(trace) == [*before[:2], (34_500, 512, "10", 8192, -1, -1), before[2]]
    assert {note.id: note.values["count"].value for note in trace.notes} == {
        "impossible-times": 1,
        "impossible-sizes": 2,
    }


def test_memory_where_a_float_would_not_hold_the_time(tmp_path: Path) -> None:
    """Absolute microseconds, in blocks that contain only instant events."""
    content = json.loads((TRACES / "memory_events.json").read_text())
    text = json.dumps({"traceEvents": []})
    events = [json.dumps(event) for event in content["traceEvents"][:2]]
    late = [event.replace('"ts": 1', '"ts": 16231426234601') for event in events]
    path = tmp_path / "a.pt.trace.json"
    path.write_text(text.replace("[]", "[" + ",".join(reversed(late)) + "]"))
    assert memory_of(read_trace(path)) == [(19_501, 512, "10", 4096, 1536, 2097152)]


def test_a_trace_without_memory_events() -> None:
    assert memory_of(read("kineto_2024.json")) == []


def test_shapes_of_a_backends_marks_are_kept() -> None:
    trace = read("collective_arguments.json")
    assert inputs_of(trace) == [("nccl:_all_gather_base", "[[201088]]", '["c10::BFloat16"]', "")]


def test_the_job() -> None:
    assert read("kineto_2024.json").job == Job()
    assert read("metadata_after_events.json").job == Job(rank=5, world_size=8)
    assert read("metadata_of_wrong_types.json").job == Job()
    assert read("metadata_of_wrong_types.json").devices == {0: Device(0, "", 80)}
    assert read("simulated.json").job.simulated == "Made up, seed 1."
    assert read("call_stacks.json").job.with_stack
    assert not read("empty_call_stacks.json").job.with_stack


@pytest.mark.parametrize("pure", ["0", "1"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_empty_object_is_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pure: str, place: int) -> None:
    """Writers that end each event with a comma begin or end with one."""
    monkeypatch.setenv(PURE, pure)
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "dur": 2.0}
    events: list[object] = [op | {"ts": 1.0}, op | {"ts": 4.0}]
    events.insert(place, {})
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(path)
    assert (len(trace.events), trace.event_count, trace.notes) == (2, 2, ())


@pytest.mark.parametrize(("value", "recorded"), [("1", True), ("true", True), ("0", False)])
def test_memory_profiling_is_said_in_the_head(tmp_path: Path, value: str, recorded: bool) -> None:
    path = tmp_path / "a.pt.trace.json"
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    path.write_text(f'{{"schemaVersion": 1, "profile_memory": {value}, "traceEvents": [{event}]}}')
    assert read_trace(path).job.with_memory is recorded


@pytest.mark.parametrize(
    ("name", "rows", "notes"),
    [
        ("truncated_in_event.json", FOUR[:3], {"truncated-file": None, "lost-events": 1}),
        ("truncated_in_string.json", FOUR[:2], {"truncated-file": None, "lost-events": 1}),
        ("truncated_between_events.json", FOUR[:3], {"truncated-file": None}),
        ("still_being_written.json", FOUR[:3], {"truncated-file": None}),
        ("corrupt_checksum.json.gz", FOUR, {"corrupt-file": None}),
        ("missing_quote.json", [STEP, CALL, KERNEL], {"lost-events": 1}),
        ("missing_brace.json", [STEP, CALL, KERNEL], {"lost-events": 1}),
        ("stray_bracket.json", [STEP, CALL, KERNEL], {"lost-events": 1}),
        ("junk_between_events.json", FOUR, {"lost-events": 1}),
        ("damaged_metadata.json", FOUR, {"bad-metadata": 2}),
        ("broken_metadata.json", FOUR, {"bad-metadata": 1}),
        (
            "not_a_number.json",
            [STEP, OP.replace("40125", "0"), CALL, KERNEL],
            {"missing-durations": 1, "bad-values": 6},
        ),
        ("invalid_utf8.json", [STEP, OP.replace("mm", "\ufffd\ufffdmm"), CALL, KERNEL], {"bad-strings": 2}),
        ("control_characters.json", [STEP, OP.replace("mm", "\n\tm\x01m"), CALL, KERNEL], {"bad-strings": 1}),
        (
            "windows_paths.json",
            [STEP, OP.replace("aten::mm", r"C:\Users\me\train.py(3): step"), CALL, KERNEL],
            {"bad-strings": 1},
        ),
        (
            "missing_dur.json",
            [STEP, OP.replace("40125", "0"), CALL.replace("5500", "0"), KERNEL],
            {"missing-durations": 2},
        ),
        ("null_arguments.json", [STEP, OP.replace(" id 2", ""), CALL, KERNEL], {}),
        (
            "absurd_numbers.json",
            [STEP, OP.replace(" id 2", ""), CALL.replace(" corr 77", ""), KERNEL.replace(" gpu 0", "")],
            {},
        ),
        (
            "impossible_values.json",
            [STEP, CALL.replace(" corr 77", ""), KERNEL.replace(" gpu 0", "")],
            {"impossible-times": 1, "impossible-ids": 2, "impossible-launches": 4},
        ),
        (
            "copies_of_another_day.json",
            [
                STEP.replace(" id 1", ""),
                OP.replace("mm", "copy_"),
                "19500 +5500 RUNTIME cudaDeviceSynchronize |10/10 corr 7 id 2",
            ],
            {"impossible-times": 1},
        ),
        ("negative_dur.json", [STEP, OP.replace("40125", "0"), CALL, KERNEL], {"negative-durations": 1}),
        (
            "begin_end_pairs.json",
            ["0 +10000 CPU_OP outer |1/1", "2500 +1500 CPU_OP inner |1/1", "3000 +0 CPU_OP elsewhere |1/2"],
            {"missing-durations": 1, "unpaired-ends": 1},
        ),
        (
            "duplicate_events.json",
            # Two frames without an id and without a length may be two calls within one tick of the clock.
            [*FOUR, "99500 +0 PYTHON f |10/10", "99500 +0 PYTHON f |10/10", "109500 +1000 PYTHON g |10/10"],
            {"duplicate-events": 5},
        ),
        (
            "wrong_types_in_args.json",
            [STEP, OP.replace(" id 2", ""), CALL.replace(" id 2", ""), KERNEL.replace(" stream 7", "")],
            {},
        ),
        (
            "wrong_types_in_events.json",
            [STEP, OP.replace("aten::mm", "12"), CALL, KERNEL.replace("|0/7", "|[0]/{'t': 1}")],
            {"lost-events": 5},
        ),
    ],
)
def test_bad_input_is_repaired_or_counted(name: str, rows: list[str], notes: dict[str, int | None]) -> None:
    trace = read(name)
    assert (drawn(trace), noted(trace)) == (rows, notes)


def test_metadata_behind_a_damaged_event_is_found() -> None:
    for name in ("missing_quote.json", "missing_brace.json", "stray_bracket.json"):
        assert read(name).origin_ns == BASE_NS + 100_500


def test_numbers_in_strings_are_numbers() -> None:
    kernels = read("wrong_types_in_args.json").kernels
    assert (kernels.grid, kernels.shared_memory) == (None, None)
    assert kernels.block is not None and kernels.block.tolist() == [[256, 1, 1]]
    assert [kernels.registers, kernels.blocks_per_sm, kernels.kineto_occupancy] == [[32], [1.5], [0.19]]


def _ops_of(name: str) -> list[str]:
    """The names of the ops in a file of 400, in order of time."""
    trace = read(name)
    return [trace.strings[name] for name in trace.events.name]


def test_a_truncated_gzip_file_keeps_all_that_was_packed_before() -> None:
    text = gzip_text(TRACES / "truncated.json.gz")
    whole = text.count("\n    }\n  }")
    assert 100 < whole < 400
    assert len(_ops_of("truncated.json.gz")) == whole
    assert noted(read("truncated.json.gz")) == {"truncated-file": None, "lost-events": 1}


def gzip_text(path: Path) -> str:
    """The output of zlib for a gzip file that is cut short."""
    return zlib.decompressobj(31).decompress(path.read_bytes()).decode()


def test_behind_the_damage_of_a_corrupt_gzip_file_nothing_is_believed() -> None:
    trace = read("corrupt.json.gz")
    starts = trace.events.start_ns.tolist()
    assert starts == list(range(0, 10_000 * len(starts), 10_000))
    assert set(trace.events.kind) == {Kind.CPU_OP}
    assert 100 < len(starts) < 200
    assert noted(trace) == {"corrupt-file": None}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("empty.json", "The file is empty"),
        ("empty.json.gz", "The file is empty"),
        ("empty_inside.json.gz", "The file is empty"),
        ("header_only.json.gz", "The compressed file is damaged at its beginning"),
        ("page.html.json", "The file is a web page"),
        ("binary.json", "The file is not JSON"),
        ("not_a_trace.json", "The file has no traceEvents"),
        ("events_null.json", "The file has no traceEvents"),
        ("no_events.json", "The trace has no event with a duration"),
        ("no_complete_events.json", "The trace has no event with a duration"),
        ("truncated_before_events.json", "The file ends before its first event"),
        ("nowhere.json", "There is no such file"),
        (".", "This is a folder, not a trace"),
    ],
)
def test_what_is_no_trace_is_refused_with_a_way_out(name: str, problem: str) -> None:
    path = TRACES / name
    with pytest.raises(TraceError) as refusal:
        read_trace(path)
    assert (refusal.value.problem, refusal.value.path) == (problem, str(path))
    assert refusal.value.hint.endswith(".")


def _tarred(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("trace.json"), io.BytesIO(content))
    return packed.getvalue()


def _zipped(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "{}")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("timeline.json", json.dumps([[1_700, 1_800], [[0, 8], [0, 16]]]).encode(), "export_memory_timeline"),
        (
            "timeline.raw.json.gz",
            gzip.compress(b"[[-1, 1, 256, 0], [1700, 2, 128, 2]]", mtime=0),
            "export_memory_timeline",
        ),
        ("timeline.html", b"<html>\n<head><title>GPU Memory Timeline HTML</title></head>", "export_memory_timeline"),
        ("et.json", b'{\n "schema": "1.1.1", "pid": 7, "time": "2024", "nodes": []}', "ExecutionTraceObserver"),
        ("list.json", b'[{"name": "aten::mm", "dur": 5}, {"name": "aten::add", "dur": 5}]', "records"),
        ("rows.json", b'{"traceEvents": [\n {"name": "aten::mm", "args": {}}]}', "records"),
        ("values.json", b"[1, 2, 3]", "a list of values"),
        ("counters.json", b'[{"name": "x", "ph": "C", "ts": 1}]', "no event with a duration"),
        ("cut.json", b'[{"name": "aten::mm", "cat": "cpu_op"', "ends before its first event"),
        ("table.txt", b"-------  -----\n Name  Self CPU %\n-------  -----\n", "key_averages()"),
        ("stacks.txt", b"train.py(6): <module> 5\ntrain.py(6): <module>;torch/nn.py(3): forward 12\n", "export_stacks"),
        ("snapshot.pickle", pickle.dumps({"segments": [], "device_traces": []}), "memory snapshot"),
        ("nccl_3", pickle.dumps({"version": "2.9", "pg_config": {}, "entries": []}), "flight recorder"),
        ("other.pickle", pickle.dumps({"loss": 1.5}), "a pickle"),
        ("job.nsys-rep", b"\x00\x01", "Nsight Systems"),
        ("job.sqlite", b"SQLite format 3\0\x10", "SQLite"),
        ("mm.ncu-rep", b"NVR\0", "Nsight Compute"),
        ("model.json", _zipped("model/data.pkl"), "torch.save"),
        ("trace.json.zip", _zipped("trace.json"), "zip"),
        ("trace.json.xz", lzma.compress(b"{}"), "xz"),
        ("trace.json.bz2", bz2.compress(b"{}"), "bzip2"),
        ("trace.json.gz", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "twice"),
        ("traces.tar.gz", gzip.compress(_tarred(b"{}"), mtime=0), "tar"),
        ("trace.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",  # bytes of packed files are long, and some hold the time
)
def test_files_of_other_kinds_are_called_by_their_names(name: str, content: bytes, word: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError) as refusal:
        read_trace(path)
    assert (word in refusal.value.problem, refusal.value.path) == (True, str(path))


def test_a_perfetto_trace_that_is_none_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "rank0.pftrace"
    path.write_bytes((TRACES / "binary.json").read_bytes())
    with pytest.raises(TraceError) as refusal:
        read_trace(path)
    assert (refusal.value.problem, refusal.value.path) == ("The file is no Perfetto trace", str(path))


def _denied(*_: object, **__: object) -> Any:
    raise PermissionError(13, "Permission denied")


def test_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "open", _denied, raising=False)  # root may read every file
    with pytest.raises(TraceError, match="No permission to read the file") as refusal:
        read("kineto_2024.json")
    assert refusal.value.hint == "Ask its owner for permission to read it."
    assert not looks_like_trace(TRACES / "kineto_2024.json")


def test_a_disk_that_fails_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.FileIO):
        def __init__(self, path: Path, mode: str, buffering: int) -> None:
            super().__init__(path, mode)

        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(source, "open", Failing, raising=False)
    with pytest.raises(TraceError, match="The file cannot be read: Input/output error"):
        read("kineto_2024.json")


READABLE = sorted(
    path.name
    for path in TRACES.iterdir()
    if path.name.split(".")[0]
    not in {
        "empty", "empty_inside", "header_only", "page", "binary", "not_a_trace", "events_null", "no_events",
        "no_complete_events", "truncated_before_events",
    }
)  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("name", [name for name in READABLE if name not in ("truncated.json.gz", "corrupt.json.gz")])
def test_where_the_pieces_end_does_not_matter(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(name)
    monkeypatch.setattr(source, "TEXT_BYTES", size)
    monkeypatch.setattr(source, "PACKED_BYTES", size + 1)
    pieces = read(name)
    assert (drawn(pieces), pieces.event_count, pieces.origin_ns) == (drawn(whole), whole.event_count, whole.origin_ns)
    assert (pieces.notes, pieces.job, pieces.devices) == (whole.notes, whole.job, whole.devices)


def test_looks_like_trace() -> None:
    looks = {path.name: looks_like_trace(path) for path in TRACES.iterdir()}
    no_traces = {
        "empty.json", "empty.json.gz", "empty_inside.json.gz", "header_only.json.gz", "page.html.json", "binary.json",
        "not_a_trace.json", "truncated_before_events.json",
    }  # fmt: skip
    assert {name for name, like in looks.items() if not like} == no_traces
    assert not looks_like_trace(TRACES)


def test_a_chrome_trace_of_another_program_does_not_look_like_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"traceEvents": [{"ph": "X", "cat": "v8", "name": "GC", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    assert not looks_like_trace(path)


def test_progress_is_told_in_bytes_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "TEXT_BYTES", 500)
    monkeypatch.setattr(source, "PACKED_BYTES", 500)
    reports: list[ReadProgress] = []
    path = TRACES / "kineto_2024.json"
    trace = read_trace(path, reports.append)
    assert [one.events for one in reports] == sorted({one.events for one in reports})
    assert (
        reports[0].read_bytes
        < reports[-1].read_bytes
        == reports[-1].total_bytes
        == trace.file_bytes
        == path.stat().st_size
    )
    assert reports[-1].events == 4


# Properties: any small trace, in any layout, cut at any place.


def _numbered(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event | {"args": event["args"] | {"correlation": number}} for number, event in enumerate(events)]


_names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
#: Exactly 0, hours before all others, would mean that the time is unknown (`times_at_the_base.json`).
_microseconds = st.integers(1, 10**13).map(lambda ns: ns / 1000)
_events = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.just("X"),
            "cat": st.sampled_from(["cpu_op", "user_annotation", "cuda_runtime", "kernel", "python_function"]),
            "name": _names,
            "pid": st.integers(0, 3),
            "tid": st.integers(0, 3) | st.sampled_from(["1", "stream 7"]),
            "ts": _microseconds,
            "dur": _microseconds,
            "args": st.fixed_dictionaries({"Note": _names, "Lists": st.just([{"a": "}, {"}, {}])}),
        }
    ),
    min_size=1,
    max_size=8,
).map(_numbered)


def _shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, list):
        return [_shuffled(one, random) for one in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    random.shuffle(keys)
    return {key: _shuffled(value[key], random) for key in keys}


@given(_events, st.randoms(use_true_random=False), st.sampled_from([None, 0, 1, 4, "\t"]), st.booleans())
def test_white_space_and_the_order_of_keys_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], random: Any, indent: Any, first: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "layout.json"
    rest = {"schemaVersion": 1, "baseTimeNanoseconds": 5, "distributedInfo": {"rank": 1}}
    path.write_text(json.dumps({**rest, "traceEvents": events}))
    plain = read_trace(path)
    other = {"traceEvents": events, **rest} if first else {**rest, "traceEvents": events}
    path.write_text(json.dumps(_shuffled(other, random), indent=indent, ensure_ascii=random.random() < 0.5))
    odd = read_trace(path)
    assert (drawn(odd), odd.origin_ns, odd.job, odd.notes) == (drawn(plain), plain.origin_ns, plain.job, ())
    assert sorted(plain.events.correlation_id.tolist()) == list(range(len(events)))


@given(_events, st.floats(0, 1), st.sampled_from([None, 1]))
def test_a_cut_anywhere_keeps_all_events_before_it(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], share: float, indent: Any
) -> None:
    texts = [json.dumps(event, indent=indent) for event in events]
    text = '{"traceEvents": [' + ",\n".join(texts) + "]}"
    cut = int(share * len(text))
    path = tmp_path_factory.getbasetemp() / "cut.json"
    path.write_text(text[:cut])
    ends = [len('{"traceEvents": [') + sum(map(len, texts[: n + 1])) + 2 * n for n in range(len(texts))]
    whole = [number for number, end in enumerate(ends) if end <= cut]
    if not whole:
        with pytest.raises(TraceError):
            read_trace(path)
        return
    trace = read_trace(path)
    assert sorted(trace.events.correlation_id.tolist()) == whole
    assert ("truncated-file" in noted(trace)) == (cut < len(text))


_pieces_of_json = st.sampled_from(
    [
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\\",
        b"NaN",
        b"-",
        b"1e999",
        b"9" * 30,
        b"\x00",
        b"\xff",
        b'"ph"',
        b'"ts":',
    ]
)


@settings(max_examples=6 * settings().max_examples)
@given(st.data(), st.sampled_from(sorted(path.name for path in TRACES.iterdir())))
def test_no_damage_raises_anything_but_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    content = bytearray((TRACES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 40))] = data.draw(_pieces_of_json | st.binary(max_size=4))
    path = tmp_path_factory.getbasetemp() / ("damaged.json.gz" if name.endswith(".gz") else "damaged.json")
    path.write_bytes(content)
    looks_like_trace(path)
    try:
        trace = read_trace(path)
    except TraceError:
        return
    assert len(drawn(trace)) == len(trace.events) > 0
    assert (trace.events.start_ns >= 0).all() and (trace.events.dur_ns >= 0).all()


@pytest.mark.parametrize(
    ("half", "read"),
    [
        (r"a\ud83d", "a\ufffd"),
        (r"\ud83db", "\ufffdb"),
        (r"\ude00", "\ufffd"),
        (r"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
    ],
)
def test_half_of_a_character_in_a_name_is_no_text(tmp_path: Path, half: str, read: str) -> None:
    """This happens where a producer cuts a long name; no file written later could hold half of a character."""
    event = '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    (tmp_path / "halves.json").write_text(f'{{"traceEvents": [{event % half}, {event % "aten::mm"}]}}')
    trace = read_trace(tmp_path / "halves.json")
    assert set(trace.strings.strings) == {read, "aten::mm"}


def test_a_size_that_no_memory_has_is_no_size(tmp_path: Path) -> None:
    event = '{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2, "args": {"Bytes": %d}}'
    op = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9}'
    sizes = ", ".join(event % size for size in (2**62, 8, -(10**30)))
    (tmp_path / "sizes.json").write_text(f'{{"traceEvents": [{op}, {sizes}]}}')
    assert read_trace(tmp_path / "sizes.json").memory.bytes.tolist() == [8]


@pytest.mark.parametrize(
    ("categories", "foreign"),
    [
        (["Session", "Node", "Kernel"], True),
        (["Session", "Node", "Kernel", "Operator"], False),
        (["Node", "Kernel"], False),
        (["Runtime", "Kernel"], False),
    ],
)
def test_a_profile_of_onnx_runtime_is_refused_for_all_its_kernels(
    tmp_path: Path, categories: list[str], foreign: bool
) -> None:
    event = {"ph": "X", "name": "f", "pid": 1, "tid": 1, "dur": 2}
    rows = [event | {"cat": each, "ts": 5 * place} for place, each in enumerate(categories)]
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(rows))
    if foreign:
        with pytest.raises(TraceError, match=r"No event is of a kind that torch\.profiler writes"):
            read_trace(path)
    else:
        assert len(read_trace(path).events) == len(categories)


@pytest.mark.parametrize("category", ["kernel", "Cpu"])
def test_a_file_of_unknown_kinds_alone_is_refused(tmp_path: Path, category: str) -> None:
    rows = [{"ph": "X", "cat": each, "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2} for each in ("Cpu", category)]
    rows += [{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 5, "dur": 2}, rows[0] | {"cat": "Trace"}]
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    if category == "Cpu":
        with pytest.raises(TraceError, match=r"No event is of a kind that torch\.profiler writes"):
            read_trace(path)
    else:
        assert len(read_trace(path).events) == 3


@pytest.mark.parametrize("pure", ["0", "1"])
def test_each_joined_recording_says_when_it_ran(tmp_path: Path, pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, pure)
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 2}
    span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}
    rows = [op | {"ts": 100}, span | {"ts": 99, "dur": 5}, op | {"ts": 300}, span | {"ts": 290, "dur": 20}]
    rows += [span | {"ts": 200}, span | {"ts": 10**12, "dur": 9}]  # without a length, and of another day
    path = tmp_path / "joined.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    trace = read_trace(path)
    assert list(trace.windows) == [(-1_000, 4_000), (190_000, 210_000)]
    assert (drawn(trace), len(trace.threads)) == (
        ["0 +2000 CPU_OP aten::mm |1/1", "200000 +2000 CPU_OP aten::mm |1/1"],
        1,
    )
