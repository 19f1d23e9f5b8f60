"""The drawings themselves: they produce the events that a test draws."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.trace.model import find_launches
from tb_steptime.trace.table import Kind
from tests.drawn.timeline import A100, V100, timeline


def rows(trace):
    """Every event as (kind, name, start, end) in us."""
    events = trace.events
    return [
        (Kind(kind).name, trace.strings[name], start // 1000, end // 1000)
        for kind, name, start, end in zip(
            events.kind, events.name, events.start_ns.tolist(), events.end_ns.tolist(), strict=True
        )
    ]


def test_every_label():
    trace = timeline("""
        step           | 5555aaaaaa |
        loader         | ll         |
        loader single  |   ll       |
        user my range  |     rr     |
        op             |       oo   |
        op backward    |   pp       |
        python         | yyyyyyyyyy |
        overhead       |          z |
        runtime        | k c        |
        driver         |  d         |
        kernel 7       |  k         |
        kernel 9 gpu1  |    d       |
        nccl 20        |      n     |
        memcpy 7       |   c        |
        memset 7       |        s   |
        gpu_user 7     |        u   |""")
    assert rows(trace) == [
        ("PYTHON", "y", 0, 10),
        ("USER", "ProfilerStep#5", 0, 4),
        ("USER", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 2),
        ("RUNTIME", "cudaLaunchKernel", 0, 1),
        ("DRIVER", "cuLaunchKernel", 1, 2),
        ("KERNEL", "k", 1, 2),
        ("USER", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2, 4),
        ("CPU_OP", "p", 2, 4),
        ("RUNTIME", "cudaMemcpyAsync", 2, 3),
        ("MEMCPY", "Memcpy HtoD (Pinned -> Device)", 2, 3),
        ("KERNEL", "d", 3, 4),
        ("USER", "ProfilerStep#1", 4, 10),
        ("USER", "my range", 4, 6),
        ("KERNEL", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 5, 6),
        ("CPU_OP", "o", 6, 8),
        ("MEMSET", "Memset (Device)", 7, 8),
        ("GPU_USER", "u", 7, 8),
        ("OVERHEAD", "z", 9, 10),
    ]
    assert {thread.tid for thread in trace.threads} == {"main", "backward", "7", "9", "20"}
    assert sorted(trace.devices) == [0, 1]
    assert trace.events.stream[trace.events.rows(Kind.KERNEL)].tolist() == [7, 9, 20]
    assert trace.events.device[trace.events.rows(Kind.KERNEL)].tolist() == [0, 1, 0]


def joined(trace):
    """(call start, activity start) in us for every activity; None where it has no call."""
    launches, start = find_launches(trace), trace.events.start_ns // 1000
    return [
        (int(start[call]) if call >= 0 else None, int(start[activity]))
        for activity, call in zip(launches.activity, launches.call, strict=True)
    ]


def test_the_nth_call_launches_the_nth_activity():
    trace = timeline("""
        runtime  | k.k.q....... |
        kernel 7 | .kk..kkk.q.. |
        kernel 9 | ..........x. |""")
    assert joined(trace) == [(0, 1), (2, 5), (4, 9), (None, 10)]


def test_one_call_may_launch_many():
    assert joined(
        timeline("""
        runtime  | g        |
        kernel 7 | .g.g.g   |""")
    ) == [(0, 1), (0, 3), (0, 5)]


def test_a_driver_call_inside_a_runtime_call_shares_its_id():
    trace = timeline("""
        runtime  | kkk    |
        driver   |  k     |
        kernel 7 |    kkk |""")
    assert joined(trace) == [(0, 3)]
    assert len(set(trace.events.correlation_id.tolist())) == 1


def test_activities_take_the_external_id_of_the_innermost_op():
    trace = timeline("""
        op          | aaaaaaaa..... |
        op          | .bbb......... |
        op backward | .cccccc...... |
        runtime     | ..k..q..x.... |
        kernel 7    | ....kk.qq.xx. |""")
    of_name = dict(zip((trace.strings[name] for name in trace.events.name), trace.events.external_id, strict=True))
    assert of_name["k"] == of_name["b"]
    assert of_name["q"] == of_name["a"]
    assert of_name["x"] == -1
    assert len({of_name["a"], of_name["b"], of_name["c"]}) == 3


def test_names_calls_and_cells():
    trace = timeline(
        """
        runtime  | kc.s |
        kernel 7 | .k   |
        memcpy 7 | ..c  |""",
        names={"k": "volta_sgemm_64x64_nt"},
        calls={"s": "cudaDeviceSynchronize"},
        nbytes={"c": 4096},
        cell_ns=10,
    )
    assert [trace.strings[name] for name in trace.events.name] == [
        "cudaLaunchKernel",
        "cudaMemcpyAsync",
        "volta_sgemm_64x64_nt",
        "Memcpy HtoD (Pinned -> Device)",
        "cudaDeviceSynchronize",
    ]
    assert trace.events.start_ns.tolist() == [0, 10, 10, 20, 30]
    assert trace.events.bytes.tolist() == [-1, -1, -1, 4096, -1]


def test_kernels_carry_what_is_given_and_nothing_else():
    trace = timeline(
        """
        kernel 7      | k.q |
        kernel 7 gpu1 | k.. |""",
        kernels={"k": {"grid": (80, 2, 1), "block": (256, 1, 1), "kineto_occupancy": 0.5}},
        devices={0: V100, 1: A100},
    )
    assert trace.kernels.event.tolist() == [0, 1, 2]
    assert trace.kernels.grid.tolist() == [[80, 2, 1], [80, 2, 1], [-1, -1, -1]]
    assert trace.kernels.blocks_per_sm[:2].tolist() == [2.0, 160 / 108]
    assert np.isnan(trace.kernels.blocks_per_sm[2])
    assert trace.kernels.registers is None
    assert trace.kernels.shared_memory is None
    assert [device.id for device in trace.devices.values()] == [0, 1]
    assert trace.events.bytes is None


@pytest.mark.parametrize(
    ("drawing", "text"),
    [
        ("kernel 7 |kkk |", "label | cells |"),
        ("kernel 7 kkk", "label | cells |"),
        ("kernal 7 | kkk |", "unknown label"),
        ("kernel | kkk |", "names its stream"),
        ("runtime | k.k |\nkernel 7 | k.k.k |", "which launches which"),
    ],
)
def test_a_drawing_that_cannot_be_understood_says_so(drawing, text):
    with pytest.raises(ValueError, match=text.replace("|", r"\|")):
        timeline(drawing)
