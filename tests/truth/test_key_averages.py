"""The table of ops equals torch's own `key_averages()` of the same recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tb_steptime.metrics.operators.module_tree import module_rows
from tb_steptime.metrics.operators.modules import find_modules, outside_modules
from tb_steptime.metrics.operators.table import OpGrouping, operator_tables
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import as_one_step

torch = pytest.importorskip("torch", reason="torch is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable


def linear() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    model(torch.ones(3, 8)).sum().backward()


def convolution() -> None:
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2))
    layer(torch.ones(2, 3, 8, 8)).mean().backward()


def attention() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(2, 5, 8)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("job", [linear, convolution, attention], ids=lambda job: str(job.__name__))
def test_calls_and_cpu_times_are_those_of_key_averages(job: Callable[[], None], tmp_path: Path) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recording:
        job()
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    (rows,) = operator_tables(as_one_step(read_trace(tmp_path / "trace.json")), [OpGrouping()])
    ours = {row.name: (row.calls, row.host_total_ns / 1e3, row.host_self_ns / 1e3) for row in rows}
    theirs: dict[str, Any] = {row.key: row for row in recording.key_averages()}
    assert ours.keys() == {name for name in theirs if not name.startswith("Optimizer.")}
    for name, (calls, total_us, self_us) in ours.items():
        assert calls == theirs[name].count
        assert total_us == pytest.approx(theirs[name].cpu_time_total, abs=1.0)
        assert self_us == pytest.approx(theirs[name].self_cpu_time_total, abs=1.0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_of_torchscript_are_those_that_were_called(tmp_path: Path) -> None:
    class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(x) - 1.0

    model = torch.jit.trace(torch.nn.Sequential(Block(), Block()), torch.ones(4))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_modules=True) as recording:
        model(torch.ones(4))
        model(torch.ones(4))
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    rows, _ = module_rows(find_modules(as_one_step(read_trace(tmp_path / "trace.json"))), folded=True)
    found = {row.name: (row.instances, row.occurrences) for row in rows}
    assert (found["Sequential"], found["Block"]) == ((1, 2), (2, 4))


def test_modules_allocate_what_their_forward_and_backward_passes_do(tmp_path: Path) -> None:
    """Every allocation of the recording belongs to a module or to no module. The backward pass of a linear layer
    allocates the gradients of its weight and of its input, and what a checkpoint recomputes counts as forward work."""
    first, second = (torch.nn.Linear(64, size, bias=False) for size in (64, 8))
    block = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())

    class Net(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.block, self.second = first, block, second

        def forward(self, x: Any) -> Any:
            return self.second(torch.utils.checkpoint.checkpoint(self.block, self.first(x), use_reentrant=False))

    net = Net()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_stack=True
    ) as recording:
        net(torch.ones(16, 64)).square().sum().backward()
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    sizes = [event["args"]["Bytes"] for event in events if event.get("name") == "[memory]"]
    trace = as_one_step(read_trace(tmp_path / "trace.json"))
    found = find_modules(trace)
    rows, _ = module_rows(found, folded=False)
    outside = outside_modules(trace, found.calls).allocated_bytes
    of_modules = sum((row.allocated_bytes or 0) + (row.backward_allocated_bytes or 0) for row in rows if row.parent < 0)
    assert outside is not None
    assert of_modules + outside == sum(size for size in sizes if size > 0)
    backward = {row.name: row.backward_allocated_bytes for row in rows}
    weight, inputs = 4 * 64, 4 * 16 * 64
    assert (backward["Linear_0"], backward["Linear_1"]) == (64 * weight, 8 * weight + inputs)
    assert backward["Net_0"] == sum(backward[name] or 0 for name in ("Linear_0", "Linear_1", "ReLU_0", "Tanh_0"))
    tanh = next(row for row in rows if row.name == "Tanh_0")
    assert (tanh.occurrences, tanh.allocated_bytes) == (2, 2 * inputs)
