"""A memory snapshot and a profile of one job agree on what its memory is for.

Torch writes snapshots of GPUs only. So a real training on the CPU is profiled with memory and call stacks, and its
allocator events are written a second time, as torch writes the snapshot of an allocator that did the same. The profile
tells categories by the phases of the recording, the snapshot by the code that allocates and frees.
"""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.metrics.memory.contents import by_category
from tb_steptime.snapshots.categories import by_category as snapshot_by_category
from tb_steptime.snapshots.categories import categories
from tb_steptime.snapshots.model import allocations, usage
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.trace.reading import read_trace
from tests.drawn.snapshots import Allocator

_FRAME = re.compile(r"(.*)\(\d+\): (.*)")
#: A snapshot does not tell a batch from other memory of the loop.
_OF_THE_LOOP = ("inputs", "unknown")


def training(torch: Any, kind: str) -> tuple[Any, Any, tuple[int, ...]]:
    """The model, its optimizer and the shape of a batch."""
    nn = torch.nn
    if kind == "mlp":
        model = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.Dropout(0.1), nn.Linear(64, 8))
        return model, torch.optim.AdamW(model.parameters()), (64, 256)
    if kind == "cnn":
        model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 8))
        return model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), (8, 3, 16, 16)
    model = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    return model, torch.optim.Adam(model.parameters(), foreach=False), (4, 16, 32)


def recorded(kind: str, path: Path) -> None:
    """Four steps of a training whose model is created while memory is recorded."""
    torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True, record_shapes=True, with_stack=True) as profiler:
        model, optimizer, shape = training(torch, kind)
        for _ in range(4):
            batch = torch.randn(shape)
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def snapshot_of(events: list[dict[str, Any]]) -> tuple[Allocator, list[int]]:
    """The allocator that did what the profile's memory events say, and its entries after each of them."""
    frames = sorted(
        (event["ts"], event["ts"] + event["dur"], event["tid"], _FRAME.fullmatch(event["name"]))
        for event in events
        if event.get("cat") == "python_function" and _FRAME.fullmatch(event["name"])
    )
    allocator, blocks, entries = Allocator(segment=1 << 20), {}, []
    for event in sorted((event for event in events if event.get("name") == "[memory]"), key=lambda event: event["ts"]):
        at, thread, address = event["ts"], event["tid"], event["args"]["Addr"]
        around = [found.groups() for start, end, tid, found in frames if start <= at <= end and tid == thread]
        if event["args"]["Bytes"] > 0:
            blocks[address] = allocator.alloc(event["args"]["Bytes"], code=around[::-1])
        elif address in blocks:
            allocator.free(blocks.pop(address), around[::-1])
        entries.append(len(allocator.entries))
    return allocator, entries


@pytest.mark.parametrize("kind", ["mlp", "cnn", "encoder"])
def test_they_agree_at_each_moment_of_a_training(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "cpu.pt.trace.json"
    recorded(kind, path)
    allocator, entries = snapshot_of(json.loads(path.read_text())["traceEvents"])
    (tmp_path / "snapshot.pickle").write_bytes(pickle.dumps(allocator.state()))
    snapshot, trace = read_snapshot(tmp_path / "snapshot.pickle"), read_trace(path)
    use = usage(snapshot, 0)
    made = allocations(snapshot, use, 0)
    places = categories(snapshot, use, made)
    assert len(trace.memory) == len(entries)
    for row, after in enumerate(entries):
        profiled, shown = (
            {part.category: part.bytes for part in parts if part.category != "before_recording"}
            for parts in (
                by_category(trace, row, int(trace.memory.allocated[row])) or (),
                snapshot_by_category(places, made, after),
            )
        )
        total = sum(profiled.values())
        assert total == sum(shown.values()), row
        for category in ("parameters", "gradients", "optimizer_state"):
            assert profiled.get(category) == shown.get(category), (row, category)
        of_loop = [sum(parts.get(each, 0) for each in _OF_THE_LOOP) for parts in (profiled, shown)]
        assert of_loop[0] == pytest.approx(of_loop[1], abs=0.01 * total), row
        assert profiled.get("activations", 0) == pytest.approx(shown.get("activations", 0), abs=0.01 * total), row
