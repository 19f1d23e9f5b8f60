"""Drawn jobs with known excess: steps on one thread and one stream, with noise
and with healthy habits that look similar.

thread   [mm   ][mm   ] ... [Optimizer.step  ]     with uneven layers, later ops are longer
stream      kkk    kkk                             each kernel of a step is longer than the one before it
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.trace.model import Trace
from tb_steptime.trace.reading import read_trace

#: Habits of a healthy job that are not excess.
HABITS = ("none", "two_lengths", "alternates", "cold_clocks", "sequence_lengths", "uneven_layers")

_STEPS, _LAYERS = 15, 8
_GRID = [8, 1, 1]


@dataclass
class Job:
    """A drawn recording and its excess by kind, in us."""

    habit: str
    seed: int
    steps: int = _STEPS
    planned: dict[str, float] = field(default_factory=dict)
    drawn_us: dict[ExcessKind, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._now, self._free, self._calls = 0.0, 0.0, 0
        self._shaped = bool(self.seed % 2)
        if "edge" in self.planned:
            self._wait_for_earlier_work()
        for step in range(self.steps):
            self._step(step)

    def write(self, folder: Path) -> Trace:
        path = folder / f"{self.habit}_{self.seed}.json"
        device = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "numSms": 108, "computeMajor": 8}
        path.write_text(json.dumps({"deviceProperties": [device], "traceEvents": self.events}))
        return read_trace(path)

    def _add(self, cat: str, name: str, start: float, length: float, **args: Any) -> None:
        thread = {"kernel": (0, 7), "overhead": (10, 99)}.get(cat, (10, 10))
        where = dict(zip(("pid", "tid"), thread, strict=True))
        row = {"ph": "X", "cat": cat, "name": name, "ts": round(start, 3), "dur": round(length, 3), "args": args}
        self.events.append({**row, **where})

    def _noisy(self, length: float) -> float:
        return float(length * self._random.lognormal(0, 0.1))

    def _extra(self, kind: str, chance: bool) -> float:
        """The additional time of a call, if it is one of the calls that take longer."""
        if not chance or kind not in self.planned:
            return 0.0
        found = ExcessKind[kind.upper()]
        self.drawn_us[found] = self.drawn_us.get(found, 0.0) + self.planned[kind]
        return self.planned[kind]

    def _wait_for_earlier_work(self) -> None:
        length = self._extra("edge", True)
        self._add("cuda_runtime", "cudaDeviceSynchronize", 0, length)
        self._now = self._free = length

    def _step(self, step: int) -> None:
        begun = self._now
        for layer in range(_LAYERS):
            self._layer(step, layer)
        begins = self._now
        self._now += self._noisy(300)
        self._add("user_annotation", "Optimizer.step#SGD.step", begins, self._now - begins)
        self._now += self._noisy(40) + self._extra("periodic", step % 4 == 3)
        self._add("cuda_runtime", "cudaStreamSynchronize", self._now, max(self._free - self._now, 0) + 5)
        self._now = max(self._free, self._now) + 5
        self._add("user_annotation", f"ProfilerStep#{step + 3}", begun, self._now - begun)
        self._now += 4

    def _layer(self, step: int, layer: int) -> None:
        op, size = self._now, 1 + layer // 2 if self.habit == "uneven_layers" else 1
        first, odd = step == 0 and layer == 0, step == 7 and layer == 3
        args = {"Input Dims": [[64, 64 * (layer + 1)]]} if self._shaped else {}
        inner = op + self._noisy(25)
        begun = inner
        inner += self._noisy(20 * size * self._habit(step, layer)) + self._extra("once", first)
        inner += self._extra("interrupted", odd)
        own = self._extra("profiler", step == 5 and layer == 2)
        if own:
            self._add("overhead", "Activity Buffer Request", inner, own)
        inner += own
        self._calls += 1
        self._add("cuda_runtime", "cudaLaunchKernel", inner, self._noisy(6), correlation=self._calls)
        launched = inner + 8
        self._add("cpu_op", "aten::addmm", begun, launched + 4 - begun, **args)
        self._add("cpu_op", "aten::linear", op, launched + 10 - op, **args)
        self._kernel(step, layer, launched)
        self._now = launched + 10 + self._noisy(15)

    def _kernel(self, step: int, layer: int, launched: float) -> None:
        start = max(self._free + 1, launched + 3)
        length = self._noisy(12 + 4 * layer)
        if self.habit == "cold_clocks" and step == 0:
            length *= 1.4
        if self.habit == "sequence_lengths":
            length *= 1 + step % 5
        length += self._extra("interrupted", step == 9 and layer == 5)
        args = {"correlation": self._calls, "device": 0, "stream": 7, "grid": _GRID, "block": [128, 1, 1]}
        self._add("kernel", f"gemm_{layer}", start, length, **args)
        self._free = start + length

    def _habit(self, step: int, layer: int) -> float:
        if self.habit == "two_lengths":
            return 20.0 if self._random.random() < 0.3 else 1.0
        return 20.0 if self.habit == "alternates" and step % 2 and layer == 1 else 1.0


def healthy() -> list[Job]:
    """30 jobs without any excess."""
    return [Job(habit, seed) for habit in HABITS for seed in range(5)]


def with_excess() -> list[Job]:
    """Jobs with excess of each kind alone, and of all kinds together."""
    kinds = {"once": 5000.0, "interrupted": 3000.0, "periodic": 4000.0, "profiler": 2500.0, "edge": 6000.0}
    alone = [Job("none", 100 + seed, planned={kind: us}) for kind, us in kinds.items() for seed in range(5)]
    return alone + [Job("uneven_layers", 100 + seed, planned=dict(kinds)) for seed in range(5)]
