"""Lines and modules as text, from Python frames and from the call stacks of older traces."""

from __future__ import annotations

import pytest

from tb_steptime.trace.host_ranges import garbage_collections, loading_calls, loading_overheads
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import Rows, forward_of, places
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.table import Kind
from tests import TRACES
from tests.drawn.op_rows import linear, named
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline


def told(text: Words) -> list[str | None]:
    return [text[index] for index in range(len(text.number))]


def calls(trace: Trace) -> Rows:
    return trace.events.rows(Kind.RUNTIME)


def test_from_frames():
    trace = linear()
    assert told(sources(trace, calls(trace))) == ["train.py(7): forward", "train.py(7): forward", None]
    assert told(modules(trace, calls(trace))) == ["Linear_0", "Linear_0", None]


def stacked() -> Trace:
    """The inner op has no stack, and the last op has only frames of torch."""
    installed = "/env/lib/python3.7/site-packages"
    line = f"{installed}/torch/nn/functional.py(9): linear;{installed}/timm/net.py(7): forward;train.py(54): step"
    return timeline(
        """
        step           | 00000000000000000 |
        op             | aaaaaa..cc..dd... |
        op             | ..bb............. |
        runtime        | ..k..j...l...m..n |
        kernel 7       | ...kk.jj..l...m.n |""",
        stacks={
            "a": line,
            "c": line,
            "d": f"{installed}/torch/autograd/profiler.py(3): step",
        },
    )


def test_from_call_stacks_of_the_op_or_of_the_one_around_it():
    trace = stacked()
    found = sources(trace, calls(trace))
    assert told(found) == ["timm/net.py(7): forward"] * 3 + [None] * 2
    assert (found.number[0], len(found.texts)) == (0, 1)
    assert told(modules(trace, calls(trace))) == [None] * 5


def test_of_the_backward_pass_the_forward_op_is_asked():
    trace = timeline(
        """
        step           | 0000000000 |
        op             | aa........ |
        op engine      | .....AAA.. |
        runtime engine | ......k... |
        kernel 7       | .......k.. |""",
        names={"a": "aten::relu", "A": "ReluBackward0"},
        sequences={"a": (3, 0), "A": (3, 1)},
        stacks={"a": "net.py(7): forward"},
    )
    assert told(sources(trace, calls(trace))) == [None]
    assert told(sources(trace, forward_of(trace, calls(trace)))) == ["net.py(7): forward"]


def test_without_frames_and_stacks_nothing_is_told():
    trace = timeline(
        """
        op             | aaa. |
        runtime        | .k.. |
        kernel 7       | ..k. |"""
    )
    assert told(sources(trace, calls(trace))) == told(modules(trace, calls(trace))) == [None]


def test_places_of_calls_and_ops():
    trace = linear()
    rows = trace.events.rows(Kind.RUNTIME, Kind.CPU_OP)
    found = places(trace, rows)
    assert [
        (names[0] or "", *names[1:])
        for names in zip(*(named(trace, column) for column in (rows, found.op, found.outer_op, found.user_range,
                                                               found.module, found.source)), strict=True)
    ] == [
        ("aten::linear", "aten::linear", "aten::linear", "forward", "nn.Module: Linear_0", "train.py(7): forward"),
        ("aten::addmm", "aten::addmm", "aten::linear", "forward", "nn.Module: Linear_0", "train.py(7): forward"),
        ("cudaLaunchKernel", "aten::addmm", "aten::linear", "forward", "nn.Module: Linear_0", "train.py(7): forward"),
        ("cudaLaunchKernel", "aten::linear", "aten::linear", "forward", "nn.Module: Linear_0", "train.py(7): forward"),
        ("aten::add", "aten::add", "aten::add", None, None, None),
        ("cudaLaunchKernel", "aten::add", "aten::add", None, None, None),
    ]  # fmt: skip


def test_garbage_collection_and_loading_are_found_by_name():
    trace = read_trace(TRACES / "garbage_collection_and_loading.json")
    assert named(trace, garbage_collections(trace)) == ["<built-in function collect>", "Python GC"]
    assert named(trace, loading_calls(trace)) == ["cuLibraryLoadData"]
    assert named(trace, loading_overheads(trace)) == ["Lazy Function Loading"]


@pytest.mark.parametrize(
    "call", ["cuModuleLoadData", "cuLibraryGetKernel", "hipModuleLoadData", "hipModuleGetFunction"]
)
def test_calls_that_load(call: str):
    trace = timeline("runtime | ab |", calls={"a": call, "b": "hipModuleLaunchKernel"})
    assert named(trace, loading_calls(trace)) == [call]


def test_a_trace_of_2021_tells_the_lines_of_its_calls(trace_path):
    trace = read_real(trace_path("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz"))
    lines = told(sources(trace, calls(trace)))
    assert lines.count("resnet50_profiler_api.py(51): <module>") == 2898
    backward = forward_of(trace, calls(trace))
    made_by = set(told(sources(trace, backward[backward >= 0])))
    assert "torchvision/models/resnet.py(128): forward" in made_by
    assert None not in made_by
