"""Perfetto traces of PyTorch's profilers: what they share with the recording's JSON, and what the format loses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.errors import TraceError
from tb_steptime.metrics.steps.parts import step_breakdown
from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.model import Device, Trace, find_launches
from tb_steptime.trace.perfetto import packets as packets_module
from tb_steptime.trace.reading import is_pftrace, looks_like_trace, plan_slice, read_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests import PROJECT
from tests.drawn.pftrace import backend_trace, converted_trace, message, packed, packet, packets_of
from tests.drawn.real_traces import PFTRACE_OF_A_LOOP, REAL, cases, on_real_pftraces, read_real, real_path
from tests.drawn.small_trace import small_trace, write_trace
from tests.fuzz.checks import finding

TRACES = PROJECT / "tests" / "traces"
WRITERS = [backend_trace, converted_trace]
SMALL = ("kineto_2024.json", "compact.json", "sequence_numbers.json", "call_stacks.json", "other_devices.json")
#: Real recordings with small numbers for processes and threads; larger numbers lose a bit.
TOLD_AGAIN = ("hta_a100_event_sync", "hta_mi250_toy", "tracelens_mi300_vllm_graph", "tracelens_b200_eager")


def written(folder: Path, content: bytes, name: str = "a.pftrace") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """Everything that the tables hold about each event."""
    events, kernels = trace.events, trace.kernels
    shapes = [(name, getattr(kernels, name)) for name in ("grid", "block", "registers")]
    of_kernel = {
        int(event): tuple((name, np.ravel(column[place]).tolist()) for name, column in shapes if column is not None)
        for place, event in enumerate(kernels.event.tolist())
    }
    sequences = {
        int(event): (int(number), int(thread))
        for event, number, thread in zip(
            trace.sequences.event, trace.sequences.number, trace.sequences.forward_thread, strict=True
        )
    }
    found = [
        (
            *(int(column[row]) for column in (events.start_ns, events.dur_ns, events.device, events.stream)),
            int(events.correlation_id[row]),
            Kind(events.kind[row]).name,
            trace.strings[events.name[row]],
            (trace.threads[events.thread[row]].pid, trace.threads[events.thread[row]].tid),
            *(
                None if column is None or column[row] == UNKNOWN else trace.inputs[column[row]]
                for column in (events.shapes, events.dtypes, events.settings)
            ),
            UNKNOWN if events.bytes is None else int(events.bytes[row]),
            of_kernel.get(row),
            sequences.get(row),
        )
        for row in range(len(events))
    ]
    return sorted(found, key=repr)


def collectives(trace: Trace) -> list[tuple[Any, ...]]:
    table, texts = trace.collectives, trace.collective_texts
    columns = [(table.name, table.dtype, table.group, table.members, table.description)]
    return sorted(
        (
            trace.strings[trace.events.name[event]],
            *(None if word[place] < 0 else texts[word[place]] for word in columns[0]),
            *(int(column[place]) for column in (table.elements, table.group_size, table.sequence, table.peer)),
        )
        for place, event in enumerate(table.event.tolist())
    )


def graph_nodes(trace: Trace) -> list[tuple[Any, ...]]:
    """Graph nodes, and the users' annotations of activities."""
    events, nodes, noted, texts = trace.events, trace.graph_nodes, trace.annotations, trace.annotation_texts

    def activity(row: int) -> tuple[Any, ...]:
        return int(events.start_ns[row]), int(events.stream[row]), trace.strings[events.name[row]]

    found = [
        (*activity(row), int(nodes.graph[place]), int(nodes.node[place]))
        for place, row in enumerate(nodes.event.tolist())
    ]
    columns = (noted.module, noted.name, noted.phase, noted.text)
    found += [
        (
            *activity(row),
            *(None if word[place] < 0 else texts[word[place]] for word in columns),
            int(noted.lane[place]),
            int(noted.stream[place]),
        )
        for place, row in enumerate(noted.event.tolist())
    ]
    return sorted(found, key=repr)


def noted(trace: Trace) -> set[str]:
    return {note.id for note in trace.notes}


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", SMALL)
def test_a_recording_is_the_same_in_either_format(name, write, tmp_path):
    document = json.loads((TRACES / name).read_text())
    here, there = read_trace(TRACES / name), read_trace(written(tmp_path, write(document)))
    assert rows(there) == rows(here)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("graph_lanes.json", backend_trace),
        ("graph_annotations.json", backend_trace),
        ("graph_annotations.json", converted_trace),
    ],
)
def test_nodes_of_graphs_their_lanes_and_annotations_are_the_same(name, write, tmp_path):
    document = json.loads((TRACES / name).read_text())
    here, there = read_trace(TRACES / name), read_trace(written(tmp_path, write(document)))
    assert len(here.graph_nodes) > 0
    assert graph_nodes(there) == graph_nodes(here)
    assert rows(there) == rows(here)


def test_dependencies_between_nodes_of_graphs_are_the_same(tmp_path):
    def pairs(trace: Trace) -> list[tuple[str, str]]:
        table, name = trace.dependencies, trace.events.name
        return [
            (trace.strings[name[a]], trace.strings[name[b]]) for a, b in zip(table.before, table.after, strict=True)
        ]

    path = TRACES / "graph_dependencies.json"
    there = read_trace(written(tmp_path, backend_trace(json.loads(path.read_text()))))
    assert pairs(there) == pairs(read_trace(path)) != []


def test_what_gpus_measure_of_themselves_is_the_same(tmp_path):
    def samples(trace: Trace) -> list[tuple[Any, ...]]:
        table = trace.counters
        columns = (table.device.tolist(), table.ts.tolist(), table.value.tolist())
        return [(trace.counter_names[name], *row) for name, *row in zip(table.name.tolist(), *columns, strict=True)]

    path = TRACES / "gpu_counters.json"
    there = read_trace(written(tmp_path, backend_trace(json.loads(path.read_text()))))
    assert samples(there) == samples(read_trace(path)) != []


@pytest.mark.parametrize("write", WRITERS)
def test_collectives_are_the_same_in_either_format(write, tmp_path):
    """This includes collectives whose values are text in extra data: a group's name that is a number stays text."""
    args = {"Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 4, "dtype": "Float"}
    group = {"Process Group Name": "0", "Process Group Description": "DP", "Process Group Ranks": "[0, 1, 2, 3]"}
    both = args | group | {"Seq": 3}
    exchange = kernel("ncclDevKernel_AllReduce", 5, 5)
    exchange["args"] |= both
    document = {"traceEvents": [event("cpu_op", "record_param_comms", 0, 5, args=both), exchange]}
    (tmp_path / "a.json").write_text(json.dumps(document))
    here, there = read_trace(tmp_path / "a.json"), read_trace(written(tmp_path, write(document)))
    assert collectives(there) == collectives(here)
    assert len(collectives(there)) == 2


@pytest.mark.parametrize("name", cases([each for each in REAL if each.startswith(TOLD_AGAIN)]))
def test_real_recordings_are_the_same_as_pytorchs_backend_would_have_written_them(name, tmp_path):
    path = real_path(f"traces/{name}")
    document = json.loads(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"), strict=False)
    here, there = read_real(path), read_trace(written(tmp_path, packed(backend_trace(document)), "a.pftrace.gz"))
    assert rows(there) == rows(here)


@on_real_pftraces
def test_real_files_are_read_whole(path):
    trace = read_real(real_path(path))
    assert noted(trace) == {"devices-not-described"}
    assert len(trace.events) == trace.event_count > 0
    assert {(thread.pid, thread.tid) for thread in trace.threads} >= {("0", "7")}
    assert set(trace.events.stream[trace.events.rows(Kind.KERNEL)].tolist()) == {7}
    assert (find_launches(trace).call >= 0).all()
    kernels = trace.kernels
    assert kernels.grid is not None and (kernels.grid > 0).all()
    assert kernels.kineto_occupancy is not None and kernels.blocks_per_sm is not None


def test_the_steps_of_a_real_training_loop():
    trace = read_real(real_path(PFTRACE_OF_A_LOOP))
    assert len(trace.events.rows(Kind.KERNEL)) == 201
    assert len(trace.events.rows(Kind.MEMCPY)) == 12
    assert len(find_steps(trace).steps) >= 1


@on_real_pftraces
def test_figures_of_real_files_are_possible_and_parts_sum_to_their_steps(path):
    assert finding(real_path(path)) is None
    trace = read_real(real_path(path))
    assert [sum(msgspec.structs.astuple(parts)) for parts in step_breakdown(trace)] == [
        step.duration_ns for step in find_steps(trace).steps
    ]


def test_a_group_pairs_ends_in_the_order_of_begins(tmp_path):
    """Two ops that begin and end at the same moments, and an op that encloses another."""
    trace = read_trace(written(tmp_path, backend_trace(ops(("a", 0, 10), ("b", 0, 10), ("c", 20, 9), ("d", 22, 3)))))
    assert lengths(trace) == {"a": 10_000, "b": 10_000, "c": 9_000, "d": 3_000}


def test_ends_in_the_order_of_time_are_of_the_last_open_begin(tmp_path):
    trace = read_trace(written(tmp_path, converted_trace(ops(("a", 0, 10), ("b", 1, 4), ("c", 6, 2), ("d", 6, 2)))))
    assert lengths(trace) == {"a": 10_000, "b": 4_000, "c": 2_000, "d": 2_000}


def test_begins_without_ends_and_ends_without_begins_are_counted(tmp_path):
    *others, _end_of_b = packets_of(converted_trace(ops(("a", 0, 10), ("b", 20, 4))))
    stray = packet(f8=1, f10=1001, f11=message(f9=2, f11=1000))
    trace = read_trace(written(tmp_path, b"".join([*others[:2], stray, *others[2:]])))
    assert lengths(trace) == {"a": 10_000, "b": 0}
    assert {"missing-durations", "unpaired-ends"} <= noted(trace)


def test_a_kernel_that_says_no_correlation_has_that_of_the_call_that_lists_it(tmp_path):
    document = small_trace()
    trace = read_trace(written(tmp_path, backend_trace(document, links=False)))
    same = read_trace(written(tmp_path, backend_trace(document), "b.pftrace"))
    assert (find_launches(trace).call >= 0).sum() == (find_launches(same).call >= 0).sum() == 3


def test_process_numbers_are_unmasked(tmp_path):
    document = {"traceEvents": [event("overhead", "Activity Buffer Request", 0, 5, pid=-1, tid=0)]}
    (thread,) = read_trace(written(tmp_path, backend_trace(document))).threads
    assert (thread.pid, thread.tid) == ("-1", "0")


def test_lanes_are_shown_by_their_names(tmp_path):
    document = {
        "traceEvents": [
            kernel("a", 0, 5, tid=60, stream=7),
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 60, "args": {"name": "DP"}},
        ]
    }
    (thread,) = read_trace(written(tmp_path, backend_trace(document))).threads
    assert (thread.pid, thread.tid, thread.name) == ("0", "60", "DP")


def test_nodes_of_events_and_of_the_host_are_no_gpu_work(tmp_path):
    nodes = [event(f"graph_{what}_node", what, 1, 2, pid=0, tid=7, args={"stream": 7}) for what in ("event", "host")]
    document = {"traceEvents": [kernel("a", 0, 5), *nodes, event("gpu_user_annotation", "step", 0, 6, pid=0, tid=7)]}
    events = read_trace(written(tmp_path, backend_trace(document))).events
    assert len(events) == 4
    assert len(events.rows(Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)) == 1
    assert len(events.rows(Kind.GPU_USER)) == 1


def test_limits_of_a_gpu_follow_from_its_architecture(tmp_path):
    trace = read_trace(written(tmp_path, backend_trace({"traceEvents": [kernel("a", 0, 5)]}, architecture="sm_90a")))
    assert trace.devices == {0: Device(0, "", None, (9, 0), 2048, 65_536, 228 * 1024)}
    assert "devices-by-architecture" in noted(trace)


def test_an_architecture_of_the_future_is_its_number_alone(tmp_path):
    trace = read_trace(written(tmp_path, backend_trace({"traceEvents": [kernel("a", 0, 5)]}, architecture="sm_150")))
    assert trace.devices == {0: Device(0, "", None, (15, 0))}


@pytest.mark.parametrize(("architecture", "name"), [("sm_70", "Tesla V100-SXM2-16GB"), ("sm_90", "")])
def test_a_trace_beside_describes_the_gpu_where_it_is_of_the_same_architecture(tmp_path, architecture, name):
    properties = [{"id": 0, "name": "Tesla V100-SXM2-16GB", "numSms": 80, "computeMajor": 7, "computeMinor": 0}]
    write_trace(tmp_path / "rank1_trace.json.gz", deviceProperties=properties)
    content = packed(backend_trace(small_trace(), architecture=architecture))
    trace = read_trace(written(tmp_path, content, "rank0_trace.pftrace.gz"))
    assert trace.devices[0].name == name
    assert ("devices-from-beside" in noted(trace)) == bool(name)
    assert ("no-static-shared-memory" in noted(trace)) == bool(name), "where est. occupancy is shown"


def test_activities_that_touch_the_next_one_are_said(tmp_path):
    document = {"traceEvents": [kernel("a", 0, 5), kernel("b", 5, 5), kernel("c", 12, 5)]}
    (note,) = [n for n in read_trace(written(tmp_path, backend_trace(document))).notes if n.id == "cut-to-next"]
    assert note.values["count"].value == 1
    apart = {"traceEvents": [kernel("a", 0, 5), kernel("c", 12, 5)]}
    assert "cut-to-next" not in noted(read_trace(written(tmp_path, backend_trace(apart), "b.pftrace")))


def test_times_of_the_machines_start_become_those_of_its_clock(tmp_path):
    clocks = packet(f6=message(f1=[message(f1=6, f2=1_000), message(f1=1, f2=5_000_001_000)]))
    trace = read_trace(written(tmp_path, clocks + converted_trace(ops(("a", 3, 2)))))
    assert trace.origin_ns == 5_000_003_000


def test_the_rank_is_that_of_the_name(tmp_path):
    content = packed(backend_trace(small_trace()))
    assert read_trace(written(tmp_path, content, "rank3_trace.pftrace.gz")).job.rank == 3
    assert read_trace(written(tmp_path, content, "mine.pftrace.gz")).job.rank is None


def test_what_the_backend_writes_in_more_than_one_way(tmp_path):
    """Unsigned numbers, objects as arguments, names of processes and contexts, and one lane for two GPUs, because lanes
    used to be numbered by stream only."""

    def named(*texts: str, first: int = 1) -> list[bytes]:
        return [message(f1=iid, f2=text) for iid, text in enumerate(texts, start=first)]

    def stage(gpu: int) -> bytes:
        fields = {"device id": gpu, "stream id": 7, "correlation": 5, "arch": "sm_100"}
        extra = [message(f1=key, f2=str(value)) for key, value in fields.items() if value]
        launch = message(f1=message(f1=4, f2=1, f3=1), f2=message(f1=64, f2=1, f3=1), f3=[message(f1=1, f4=32)])
        return message(f1=1 + gpu, f2=3_000, f5=1, f6=extra, f11=gpu, f13=100, f14=1, f19=1, f21=launch)

    interned = message(
        f1=named("cuda_runtime"), f2=named("cudaGraphLaunch"), f23=[message(f1=1, f2=77)],
        f24=[*named("Kernel"), *named("[0007] stream 7", first=100)], f1000=[message(f1=1, f3="gemm")],
        f1001=named("registers_per_thread", "shared_mem_dynamic"),
    )  # fmt: skip
    fields = [message(f10="correlation", f3=5), message(f10="more", f11=[message(f10="External id", f4=1)])]
    call = message(f3=1, f4=fields, f9=1, f10=1, f11=8, f3000=message(f1=[1, 2]))
    content = [
        packet(f6=message(f1=[message(f1=6, f2=1_000), message(f1=1, f2=1_000)])),
        packet(f60=message(f1=9, f3=message(f1=77, f6="python"))),
        packet(f60=message(f1=8, f4=message(f1=77, f2=5, f5="main"), f5=9)),
        packet(f10=1, f13=1, f12=interned),
        packet(f8=2_000, f10=1, f13=2, f11=call),
        packet(f8=4_000, f10=1, f13=2, f11=message(f9=2, f11=8)),
        *(packet(f8=6_000 + gpu, f10=1, f13=2, f53=stage(gpu)) for gpu in (0, 1)),
    ]
    trace = read_trace(written(tmp_path, packed(b"".join(content)), "rank0_trace.pftrace.gz"))
    assert [row[:8] for row in rows(trace)] == [
        (0, 2_000, -1, -1, 5, "RUNTIME", "cudaGraphLaunch", ("77", "5")),
        (4_000, 3_000, 0, 7, 5, "KERNEL", "gemm", ("0", "7")),
        (4_001, 3_000, 1, 7, 5, "KERNEL", "gemm", ("1", "7")),
    ]
    assert trace.kernels.grid is not None and trace.kernels.grid.tolist() == [[4, 1, 1]] * 2
    assert (find_launches(trace).call == 0).all()


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_that_is_cut_is_read_up_to_there(write, tmp_path):
    content = write(small_trace(steps=20))
    trace = read_trace(written(tmp_path, content[:-7]))
    assert "truncated-file" in noted(trace)
    cut = read_trace(written(tmp_path, packed(content)[:-20], "a.pftrace.gz"))
    assert "truncated-file" in noted(cut)
    assert 0 < len(cut.events) <= len(trace.events)


@pytest.mark.parametrize("write", WRITERS)
def test_packets_behind_a_damaged_one_are_read(write, tmp_path):
    parts = packets_of(write(small_trace(steps=20)))
    whole = read_trace(written(tmp_path, b"".join(parts)))
    middle = len(parts) // 2
    parts[middle] = b"\xff" * len(parts[middle])
    trace = read_trace(written(tmp_path, b"".join(parts), "b.pftrace"))
    assert "lost-events" in noted(trace)
    assert len(whole.events) - 2 <= len(trace.events) <= len(whole.events)


def test_a_damaged_length_costs_its_packet_alone(tmp_path):
    parts = packets_of(backend_trace(small_trace(steps=20)))
    parts[-3] = parts[-3][:1] + b"\xff\xff\xff\x7f" + parts[-3][3:]
    trace = read_trace(written(tmp_path, b"".join(parts)))
    assert noted(trace) >= {"lost-events"} and "truncated-file" not in noted(trace)
    assert len(trace.events.rows(Kind.KERNEL)) == 19


def test_what_is_no_packets_for_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(packets_module, "_MOST_TRIES", 100)
    content = backend_trace(small_trace())
    trace = read_trace(written(tmp_path, packed(content + b"\n\x00\xff" * 200_000 + content), "a.pftrace.gz"))
    assert len(find_steps(trace).steps) == 3
    assert "truncated-file" in noted(trace)


def test_what_comes_behind_damaged_packing_is_not_trusted(tmp_path):
    content = bytearray(packed(backend_trace(small_trace(steps=200))))
    content[len(content) // 2] ^= 0xFF
    trace = read_trace(written(tmp_path, bytes(content), "a.pftrace.gz"))
    assert "corrupt-file" in noted(trace)


@pytest.mark.parametrize(
    "content",
    [
        packet(f10=1, f60=message(f1=1, f2="CrRendererMain"))
        + packet(f8=5, f10=1, f11=message(f9=1, f11=1, f22="toplevel", f23="RunTask"))
        + packet(f8=9, f10=1, f11=message(f9=2, f11=1)),
        packet(f8=1, f2=message(f1=[message(f1=1, f2=0)])) * 3,  # a list of processes, as Android writes it
        packet(f8=1, f1=message(f1=0, f2=message(f1=77))),  # events of the operating system's kernel
    ],
    ids=["chrome", "android", "ftrace"],
)
def test_traces_of_other_programs_are_refused_in_words(content, tmp_path):
    path = written(tmp_path, content)
    assert is_pftrace(path) and not looks_like_trace(path)
    with pytest.raises(TraceError, match=r"not of PyTorch's profiler.*ui\.perfetto\.dev"):
        read_trace(path)


def test_of_a_large_trace_of_another_program_not_all_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tb_steptime.trace.perfetto.reader._ENOUGH_BYTES", 1_000)
    monkeypatch.setattr(packets_module, "_TOGETHER_BYTES", 1_000)
    one = packet(f8=5, f10=1, f11=message(f9=1, f11=1, f22="toplevel", f23="RunTask"))
    read = []
    with pytest.raises(TraceError):
        read_trace(written(tmp_path, one * 50_000), lambda progress: read.append(progress.read_bytes))
    assert max(read, default=0) < len(one) * 50_000


def test_steps_are_not_cut_out_of_it(tmp_path):
    with pytest.raises(TraceError, match="cannot be cut"):
        plan_slice(written(tmp_path, backend_trace(small_trace())), 5, 5)


@pytest.mark.parametrize("opening", ["\n{\n", "\n[\n", '\n{ "traceEvents"', "\n{}"])
def test_json_behind_a_line_break_is_json(opening, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(opening)
    assert not is_pftrace(path)


def test_what_a_file_is_its_bytes_say_and_not_its_name(tmp_path):
    renamed = written(tmp_path, packed(backend_trace(small_trace())), "a.pt.trace.json")
    assert looks_like_trace(renamed)
    assert len(find_steps(read_trace(renamed)).steps) == 3
    other = write_trace(tmp_path / "b.pftrace.gz")
    assert looks_like_trace(other) and len(find_steps(read_trace(other)).steps) == 3


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\x02", gzip.compress(b"")], ids=["empty", "line", "bytes", "gzip"])
def test_what_holds_nothing_is_refused(content, tmp_path):
    with pytest.raises(TraceError):
        read_trace(written(tmp_path, content))


def test_samples_of_counters_are_counted(tmp_path):
    content = backend_trace(small_trace()) + packet(f8=1, f10=1, f52=message(f2=message(f1=1, f3=0.5))) * 4
    assert read_trace(written(tmp_path, content)).event_count == 4 + len(small_trace()["traceEvents"]) - 1


@pytest.mark.parametrize("name", ["Input Dims", "External id", "grid"])
def test_an_argument_that_is_damaged_counts_as_not_said(name, tmp_path):
    damaged = message(f10=name, f12=[b"\xff\xff", b"\x08"])
    slice = message(f9=1, f11=1, f22="cpu_op", f23="aten::mm", f4=[damaged])
    content = packet(f8=5, f10=1, f11=slice) + packet(f8=9, f10=1, f11=message(f9=2, f11=1))
    trace = read_trace(written(tmp_path, content))
    assert lengths(trace) == {"aten::mm": 4}
    assert "bad-values" in noted(trace)


@given(st.data())
def test_any_damage_gives_a_trace_or_a_refusal(tmp_path_factory, data):
    content = bytearray(data.draw(st.sampled_from(WRITERS))(small_trace()))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path = written(tmp_path_factory.mktemp("damaged"), bytes(content))
    try:
        assert len(read_trace(path).events) > 0
    except TraceError as refused:
        assert refused.problem and refused.hint


def ops(*named: tuple[str, float, float]) -> dict[str, Any]:
    return {"traceEvents": [event("cpu_op", *one) for one in named]}


def event(category: str, name: str, start: float, length: float, **other: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, "pid": 10, "tid": 11, **other}


def kernel(name: str, start: float, length: float, tid: int = 7, stream: int = 7) -> dict[str, Any]:
    args = {"device": 0, "stream": stream, "correlation": 1, "grid": [8, 1, 1], "block": [32, 1, 1]}
    return event("kernel", name, start, length, pid=0, tid=tid, args=args)


def lengths(trace: Trace) -> dict[str, int]:
    return {trace.strings[name]: int(dur) for name, dur in zip(trace.events.name, trace.events.dur_ns, strict=True)}
