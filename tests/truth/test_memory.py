"""Memory compared with the truth: counts of torch-tb-profiler, the allocator's totals, declared and real trainings."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses.memory import DeviceMemory, analyse
from tb_steptime.metrics.memory.by_op import memory_by_op
from tb_steptime.metrics.memory.curves import Place, curve, memory_devices
from tb_steptime.trace.kineto import read_trace
from tests.drawn.memory import with_memory
from tests.drawn.real_traces import cases, read_real, reference
from tests.drawn.timeline import timeline

RECORDED = reference("operators.json")
WITH_MEMORY = [name for name, said in RECORDED.items() if "memory_by_operator" in said]


def named(place: Place) -> str:
    return "CPU" if place.type == 0 else f"GPU{place.device}"


@pytest.mark.parametrize("name", cases(WITH_MEMORY, "reference/operators.json"))
def test_what_ops_allocate_is_what_torch_tb_profiler_counts(name: str):
    """All figures are equal: sizes, counts and calls, with and without children, over the whole recording. How much an
    op itself adds is not counted here."""
    trace, recorded = read_real(name), RECORDED[name]["memory_by_operator"]
    expected = {device: {op: figures[1:] for op, figures in ops.items()} for device, ops in recorded.items()}
    found = {
        named(place): {
            row.op: [
                row.allocated_bytes, row.count,
                row.all_increase_bytes, row.all_allocated_bytes, row.all_count, row.calls,
            ]
            for row in memory_by_op(trace, place)
        }
        for place in memory_devices(trace)
    }  # fmt: skip
    assert found == expected


@pytest.mark.parametrize("name", cases(WITH_MEMORY, "reference/operators.json"))
def test_peaks_are_those_of_the_allocator(name: str):
    """Files of 2021 have no totals: their peak is counted from the first event, and the reference has no peak."""
    trace, expected = read_real(name), RECORDED[name]["memory_peak_bytes"]
    whole = [place for place in memory_devices(trace) if curve(trace, place).whole]
    assert {f"{each.type}:{each.device}": int(curve(trace, each).allocated.max()) for each in whole} == expected
    for device in analyse(trace).devices:
        assert device.categories is None or parts(device)[0] == device.peak.allocated_bytes


def parts(device: DeviceMemory) -> tuple[int, dict[str, int]]:
    """The sum of the parts, and each part."""
    found = {part.category: part.bytes for part in device.categories or []}
    return sum(found.values()), found


NODE = "autograd::engine::evaluate_function: AddmmBackward0"
STEP_US = 10
#: For each kind of memory, the time within its step at which it is allocated, and the later step and the
#: time within that step at which it is freed.
LIVES = {
    "inputs": (0.5, 1, 0.4),
    "activations": (2.0, 0, 5.5),
    "temporary": (2.2, 0, 2.8),
    "gradients": (5.2, 0, 9.0),
    "unknown": (3.0, None, None),
}


@dataclass
class Declared:
    """A training of six steps that never ran. Its allocations are drawn at random, and tracked independently."""

    seed: int
    said: list[tuple[float, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        self.before, self.steps = chance.randrange(1, 10_000), 6
        self.leak = chance.randrange(1, 500)
        self.state = chance.randrange(1, 5_000)
        self.sizes = {kind: [chance.randrange(1, 3_000) for _ in range(3)] for kind in LIVES if kind != "unknown"}
        self._live("state", self.state, 7.5, None)
        for step in range(self.steps):
            for kind, (born, later, died) in LIVES.items():
                for number, size in enumerate(self.sizes.get(kind, [self.leak])):
                    end = None if later is None or died is None else (step + later) * STEP_US + died + number / 100
                    self._live(f"{kind}{step}{number}", size, step * STEP_US + born + number / 100, end)

    def _live(self, address: str, size: int, born: float, died: float | None) -> None:
        self.said.append((born, size, address))
        if died is not None and died < self.steps * STEP_US:
            self.said.append((died, -size, address))

    def drawing(self) -> str:
        return ", ".join(f"{address} {size:+d} @{us}" for us, size, address in sorted(self.said))

    def peak(self) -> tuple[int, float]:
        total, most = self.before, (self.before, 0.0)
        for us, size, _ in sorted(self.said):
            total += size
            most = max(most, (total, us), key=lambda one: one[0])
        return most

    def at(self, instant: float) -> Counter[str]:
        """The bytes that are alive, by kind."""
        found = Counter({"before_recording": self.before})
        for us, size, address in self.said:
            if us <= instant:
                found["optimizer_state" if address == "state" else address.rstrip("0123456789")] += size
        return found


@pytest.mark.parametrize("seed", range(12))
def test_a_declared_training_is_recovered_exactly(seed: int):
    """Peak, growth, the maker of the leak and every category are right to the byte. Leaked memory is of unknown kind,
    except in the last step, where it looks like any other activation because nothing shows yet that nobody frees it."""
    declared = Declared(seed)
    digits = "".join(str(step) * STEP_US for step in range(declared.steps))
    lines = {
        "step": digits,
        "op": ".fff.nn..." * declared.steps,
        "user Optimizer.step#Adam.step": ".......oo." * declared.steps,
    }
    drawing = "\n".join(f"{label} | {cells} |" for label, cells in lines.items())
    names = {"f": "aten::linear", "n": NODE}
    trace = timeline(drawing, names=names, sequences={"f": (5, 0), "n": (5, 1)})
    (found,) = analyse(with_memory(trace, declared.drawing(), before=declared.before)).devices
    most, at_us = declared.peak()
    assert (found.peak.allocated_bytes, found.peak.at_ns) == (most, round(at_us * 1000))
    assert found.growth.bytes_per_step == declared.leak
    assert [(maker.bytes_per_step, maker.example.op, maker.since) for maker in found.makers] == [
        (declared.leak, "aten::linear", "0")
    ]
    expected = declared.at(at_us)
    late = sum(size for us, size, address in declared.said if address.startswith("unknown") and 50 <= us <= at_us)
    expected += Counter({"activations": late, "unknown": -late})
    assert parts(found)[1] == {kind: size for kind, size in expected.items() if size}


def recorded(path: Path) -> dict[str, Any]:
    """Record four steps of a training with torch, and return the sizes of its tensors in bytes."""
    torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer, kept = torch.optim.Adam(model.parameters(), foreach=False), []
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=4),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        profile_memory=True,
        record_shapes=True,
        with_stack=True,
    ) as profiler:
        for _ in range(5):
            batch = torch.randn(32, 256)
            out = model(batch)
            out.square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            kept.append(out)
            profiler.step()
    return {
        "leak": out.nbytes,
        "gradients": sum(each.nbytes for each in model.parameters()),
        "batch": batch.nbytes,
    }


def test_a_real_training_on_the_cpu(tmp_path: Path):
    """The truth of the peak is the allocator's totals in the file; the truth of the rest is the sizes of the tensors.
    Most is allocated when the optimizer needs its temporaries, because then all gradients are still alive."""
    path = tmp_path / "cpu.pt.trace.json"
    truth = recorded(path)
    events = [event["args"] for event in json.loads(path.read_text())["traceEvents"] if event.get("name") == "[memory]"]
    trace = read_trace(path)
    (found,) = analyse(trace).devices
    assert found.events == len(events)
    assert found.peak.allocated_bytes == max(each["Total Allocated"] for each in events)
    assert found.end_bytes == events[-1]["Total Allocated"]
    assert found.growth.bytes_per_step == truth["leak"]
    (maker,) = found.makers
    assert (maker.bytes_per_step, maker.example.op, maker.example.module) == (truth["leak"], "aten::addmm", "Linear_1")
    assert maker.example.line is not None and "test_memory.py" in maker.example.line
    total, by = parts(found)
    assert total == found.peak.allocated_bytes
    assert found.peak.phase == "optimizer"
    assert by["gradients"] == truth["gradients"]
    assert by["inputs"] == truth["batch"]
