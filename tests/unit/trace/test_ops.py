"""The op, range, module and line that each device activity comes from; activities without one are counted by reason."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.trace.frames import is_source
from tb_steptime.trace.host_ranges import named_ranges, short_range
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.ops import NoOp, Places, kernel_origins, places
from tb_steptime.trace.table import Int64, Kind
from tests.drawn.op_rows import linear, named
from tests.drawn.timeline import timeline


def around(trace: Trace) -> Places:
    """What encloses the launch of each kernel, or its op if the launch is not recorded."""
    origins = kernel_origins(trace)
    found = places(trace, np.where(origins.call >= 0, origins.call, origins.op))
    assert found.op.tolist() == origins.op.tolist()
    return found


def with_ids(trace: Trace, ids: Int64, **columns: Int64) -> Trace:
    return replace(trace, events=replace(trace.events, external_id=ids, **columns), memo={})


def test_a_kernel_comes_from_the_innermost_op_and_all_that_is_around_it():
    trace = linear()
    found = around(trace)
    assert named(trace, trace.kernels.event) == ["k", "j", "e"]
    assert named(trace, found.op) == ["aten::addmm", "aten::linear", "aten::add"]
    assert named(trace, found.outer_op) == ["aten::linear", "aten::linear", "aten::add"]
    assert named(trace, found.user_range) == ["forward", "forward", None]
    assert named(trace, found.module) == ["nn.Module: Linear_0", "nn.Module: Linear_0", None]
    assert named(trace, found.source) == ["train.py(7): forward", "train.py(7): forward", None]
    assert kernel_origins(trace).reason.tolist() == [NoOp.LINKED] * 3


def test_without_external_ids_the_answer_is_the_same():
    trace = linear()
    silent = with_ids(trace, np.full(len(trace.events), -1, np.int64))
    for column in ("op", "outer_op", "user_range", "module", "source"):
        assert getattr(around(silent), column).tolist() == getattr(around(trace), column).tolist()
    assert kernel_origins(silent).reason.tolist() == kernel_origins(trace).reason.tolist()


def test_another_threads_ops_are_not_around_the_launch():
    trace = timeline(
        """
        step           | 00000000 |
        op main        | aaaaaaaa |
        op backward    | ..bbb... |
        runtime backward | ...k.... |
        kernel 7       | .....kkk |"""
    )
    assert named(trace, around(trace).op) == ["b"]
    assert named(trace, around(trace).outer_op) == ["b"]


def test_correlation_ids_written_as_external_ids_are_not_believed():
    """The external id of op a happens to be the kernel's correlation id."""
    trace = timeline(
        """
        step           | 00000000 |
        op             | aa.bbb.. |
        runtime        | ....k... |
        kernel 7       | .....kkk |"""
    )
    device = np.isin(trace.events.kind, (Kind.RUNTIME, Kind.KERNEL))
    wrong = with_ids(trace, np.where(device, trace.events.correlation_id, trace.events.external_id))
    assert wrong.events.external_id[device].tolist() == [1, 1]
    assert named(wrong, around(wrong).op) == ["b"]


def test_where_clocks_of_microseconds_end_an_op_before_its_call_the_id_tells():
    trace = timeline(
        """
        step           | 00000000 |
        op             | aa.ccc.. |
        op             | .bd..... |
        runtime        | ..kk.... |
        kernel 7       | .....kkk |"""
    )
    (b,) = np.flatnonzero((trace.events.kind == Kind.CPU_OP) & (trace.events.name == trace.strings.strings.index("b")))
    of_b = np.where(
        np.isin(trace.events.kind, (Kind.RUNTIME, Kind.KERNEL)), trace.events.external_id[b], trace.events.external_id
    )
    assert named(trace, around(trace).op) == ["d"]
    assert named(trace, around(with_ids(trace, of_b)).op) == ["b"]


def unlaunched() -> Trace:
    return timeline(
        """
        step           | 000000000000 |
        op             | .aaa........ |
        runtime        | ..k....j.... |
        kernel 7       | zz..kk...jjj |"""
    )


def test_activities_without_an_op_are_kept_with_their_reason():
    trace = unlaunched()
    found = kernel_origins(trace)
    assert named(trace, trace.kernels.event) == ["z", "k", "j"]
    assert found.reason.tolist() == [NoOp.NO_LAUNCH, NoOp.LINKED, NoOp.OUTSIDE]
    assert named(trace, found.op) == [None, "a", None]
    assert found.call[0] == -1


@pytest.mark.parametrize(("correlation", "op"), [(77, "a"), (1, None)])
def test_without_a_launch_an_id_names_the_op_unless_it_is_the_correlation_id(correlation: int, op: str | None):
    trace = timeline(
        """
        step           | 00000000 |
        op             | aaa..... |
        kernel 7       | .....kkk |"""
    )
    kernel = trace.events.kind == Kind.KERNEL
    trace = with_ids(
        trace, np.where(kernel, 1, trace.events.external_id), correlation_id=np.where(kernel, correlation, -1)
    )
    assert named(trace, around(trace).op) == [op]


@pytest.mark.parametrize("call", ["cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"])
def test_a_graphs_kernels_share_one_call(call: str):
    trace = timeline(
        """
        step           | 000000000000 |
        op             | ......aa.... |
        runtime        | .g.....h.... |
        kernel 7       | ..gggg..hh.. |
        kernel 9       | ...ggg....hh |
        memset 9       | ......g..... |""",
        calls={"g": call, "h": call},
    )
    launches = find_launches(trace)
    assert named(trace, launches.activity) == ["g", "g", "Memset (Device)", "h", "h"]
    assert len(set(launches.call[:3])) == len(set(launches.call[3:])) == 1
    assert named(trace, places(trace, launches.call).op) == [None, None, None, "a", "a"]
    assert kernel_origins(trace).reason.tolist() == [NoOp.GRAPH] * 2 + [NoOp.LINKED] * 2


def test_a_trace_of_the_device_alone():
    trace = timeline(
        """
        kernel 7       | kk..jj |"""
    )
    found = around(trace)
    assert kernel_origins(trace).reason.tolist() == [NoOp.NO_LAUNCH] * 2
    for column in (found.op, found.outer_op, found.user_range, found.module, found.source):
        assert column.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("train.py(54): train_step", True),
        ("torchvision/models/resnet.py(89): forward", True),
        ("/home/me/lib/python3.11/site-packages/timm/layers.py(3): forward", True),
        ("/usr/lib/python3.11/threading.py(9): run", False),
        ("/home/me/lib/python3.11/site-packages/torch/nn/modules/module.py(1): _call_impl", False),
        ("torch/utils/data/dataloader.py(630): __next__", False),
        ("contextlib.py(79): inner", False),
        ("<frozen os>(680): __getitem__", False),
        ("<built-in function isinstance>", False),
        ("nn.Module: Linear_0", False),
    ],
)
def test_source_frames_are_those_that_a_user_may_have_written(frame: str, expected: bool):
    assert is_source(frame) is expected


def test_named_ranges_leave_out_step_marks_and_the_loader():
    trace = timeline(
        """
        step                             | 0000000000 |
        loader                           | ll........ |
        user Optimizer.step#SGD.step     | ...aa.bb.. |
        user x                           | .........c |"""
    )
    assert named_ranges(trace) == {
        "Optimizer.step#SGD.step": Intervals.of((3_000, 5_000), (6_000, 8_000)),
        "x": Intervals.of((9_000, 10_000)),
    }
    assert [short_range(name) for name in named_ranges(trace)] == ["Optimizer.step", "x"]
