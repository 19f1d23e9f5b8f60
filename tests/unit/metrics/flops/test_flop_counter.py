"""FLOPs as torch itself counts them, on layers and models that are recorded here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tb_steptime.metrics.flops.op_flops import OPS, work_of
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.nesting import outermost
from tb_steptime.trace.table import Kind

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


def layer(module: object, *sizes: int) -> Callable[[], object]:
    """A forward and a backward pass."""
    return lambda: module(torch.randn(*sizes, requires_grad=True)).sum().backward()  # type: ignore[operator]


def attention(causal: bool = False, heads: int = 4) -> Callable[[], object]:
    def run() -> object:
        query, key, value = (torch.randn(2, heads, 16, 8, requires_grad=True) for _ in range(3))
        return functional.scaled_dot_product_attention(query, key, value, is_causal=causal)

    return run


def of(op: Callable[..., object], *sizes: tuple[int, ...]) -> Callable[[], object]:
    return lambda: op(*(torch.randn(*size) for size in sizes))


def bottleneck() -> object:
    return nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 1))


JOBS: dict[str, Callable[[], object]] = {
    "linear": layer(nn.Linear(16, 32), 4, 16),
    "linear without bias": layer(nn.Linear(16, 32, bias=False), 4, 16),
    "linear of sequences": layer(nn.Linear(16, 32), 2, 5, 16),
    "chain of products": lambda: torch.linalg.multi_dot([torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 2)]),
    "mm": of(torch.mm, (3, 4), (4, 5)),
    "addmm": of(torch.addmm, (5,), (3, 4), (4, 5)),
    "bmm": of(torch.bmm, (7, 3, 4), (7, 4, 5)),
    "baddbmm": of(torch.baddbmm, (7, 3, 5), (7, 3, 4), (7, 4, 5)),
    "matmul of batches": of(torch.matmul, (2, 7, 3, 4), (2, 7, 4, 5)),
    "matmul with a shared matrix": of(torch.matmul, (2, 7, 3, 4), (4, 5)),
    "matmul that broadcasts": of(torch.matmul, (2, 1, 3, 4), (6, 4, 5)),
    "einsum": lambda: torch.einsum("bij,bjk->bik", torch.randn(2, 3, 4), torch.randn(2, 4, 5)),
    "conv1d": layer(nn.Conv1d(3, 8, 5), 2, 3, 20),
    "conv2d": layer(nn.Conv2d(3, 8, 3), 2, 3, 12, 12),
    "conv2d with stride and padding": layer(nn.Conv2d(3, 8, 3, stride=2, padding=1), 2, 3, 12, 12),
    "conv2d with dilation": layer(nn.Conv2d(3, 8, 3, dilation=2), 2, 3, 12, 12),
    # torch ignores the groups in the gradient of the weight, so only the forward pass is compared
    "conv2d in groups": lambda: nn.Conv2d(8, 8, 3, groups=4)(torch.randn(2, 8, 12, 12)),
    "depthwise conv2d": lambda: nn.Conv2d(8, 8, 3, groups=8)(torch.randn(2, 8, 12, 12)),
    "conv2d of one pixel": layer(nn.Conv2d(3, 8, 1), 2, 3, 12, 12),
    "conv2d, same": layer(nn.Conv2d(3, 8, 3, padding="same"), 2, 3, 12, 12),
    "conv3d": layer(nn.Conv3d(3, 4, 3), 1, 3, 6, 6, 6),
    "conv_transpose2d": layer(nn.ConvTranspose2d(8, 3, 3, stride=2), 2, 8, 6, 6),
    "bottleneck": layer(bottleneck(), 2, 8, 8, 8),
    "attention": attention(),
    "causal attention": attention(causal=True),
    "multi-head attention": lambda: nn.MultiheadAttention(16, 4, batch_first=True)(*[torch.randn(2, 5, 16)] * 3)[0],
    "encoder layer": layer(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2, 5, 16),
    "decoder layer": lambda: nn.TransformerDecoderLayer(16, 2, 32)(torch.randn(5, 2, 16), torch.randn(7, 2, 16)),
    "perceptron": layer(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4)), 8, 16),
    "norms alone": layer(nn.Sequential(nn.LayerNorm(16), nn.ReLU()), 4, 16),
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """For each job, what torch counts and what follows from the recording; one recording holds all jobs.

    Attention is unfused, because torch does not count the fused attention of CPUs.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    path, by_torch = tmp_path_factory.mktemp("flops") / "trace.json", {}
    for name, job in JOBS.items():
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            job()
        by_torch[name] = counter.get_total_flops()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recorder:
        for name, job in JOBS.items():
            with sdpa_kernel(SDPBackend.MATH), torch.profiler.record_function(f"job: {name}"):
                job()
    recorder.export_chrome_trace(str(path))
    by_us = from_trace(path)
    return {name: (by_torch[name], by_us[name]) for name in JOBS}


def from_trace(path: Path) -> dict[str, int]:
    """An op inside another op whose FLOPs are known counts as a part of that op."""
    trace = read_trace(path)
    events = trace.events
    rows = events.rows(Kind.CPU_OP)
    rows = rows[np.isin(events.name[rows], [n for n, name in enumerate(trace.strings.strings) if name in OPS])]
    work = {int(row): work_of(trace.strings[int(events.name[row])], *inputs(trace, int(row))) for row in rows}
    with_flops = np.array([row for row, found in work.items() if found], np.int64)
    outer = with_flops[outermost(trace, with_flops, with_flops) == with_flops]
    jobs = {trace.strings[int(events.name[row])]: row for row in events.rows(Kind.USER).tolist()}
    sums = {}
    for name in JOBS:
        row = jobs[f"job: {name}"]
        begins = events.start_ns[outer]
        inside = (begins >= events.start_ns[row]) & (begins < events.start_ns[row] + events.dur_ns[row])
        sums[name] = sum(found.flops for each in outer[inside].tolist() if (found := work[each]))
    return sums


def inputs(trace: object, row: int) -> list[str]:
    columns = [getattr(trace.events, name) for name in ("shapes", "dtypes", "settings")]  # type: ignore[attr-defined]
    return [trace.inputs[int(column[row])] if column[row] >= 0 else "" for column in columns]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", JOBS)
def test_as_many_as_torch_counts(counted: dict[str, tuple[int, int]], name: str):
    by_torch, by_us = counted[name]
    assert by_us == by_torch
