"""Prints how far our figures are from torch-tb-profiler's on real traces, as a Markdown table.

    python -m benchmarks.conformance TRACES REFERENCE.json

TRACES is a folder of traces; REFERENCE.json maps a file below it to what torch-tb-profiler computes from it: `steps`
with
`duration_us` and `parts_us`, and `gpu` by device with `utilization`, `sm_efficiency` and `achieved_occupancy_percent`.
The first table is how far ours are from these at most, the second shows both.
`tests/truth/test_conformance.py` holds the same comparison to its tolerances and names the differences.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tb_steptime.metrics.gpu.occupancy import est_achieved_occupancy, kineto_achieved_occupancy
from tb_steptime.metrics.gpu.utilization import est_sm_efficiency, gpu_utilization
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.steps.parts import Parts, step_breakdown
from tb_steptime.metrics.tensor_cores.usage import split_kernel_time
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: Traces of six kinds of GPU work, for the second table: figures as they are, ours / torch-tb-profiler's.
SHOWN = (
    "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz",
    "hta_a100_ddp_nccl/nccl_data.json.gz",
    "tracelens_h100_bert/bert-small.json.gz",
    "tracelens_h100_timesformer/timesformer.json.gz",
    "tracelens_b200_eager/eager_trace.json.gz",
    "tracelens_mi300_resnet/resnet_act_checkpoint.json.gz",
)
FIGURES_HEAD = (
    "trace", "GPU utilization", "est. SM efficiency", "est. achieved occupancy", "on tensor cores", "could be, is not",
)  # fmt: skip
HEAD = ("trace", "steps", "window, us", "device parts, us", "loader, us", "host parts, us", "GPU figures")


def main(traces: str, reference: str) -> None:
    expected: dict[str, Any] = json.loads(Path(reference).read_text())
    print("| " + " | ".join(HEAD) + " |")
    print("|---|" + "---:|" * (len(HEAD) - 1))
    for name, values in expected.items():
        print("| " + " | ".join(_row(name, read_trace(Path(traces) / name), values)) + " |")
    print("\n| " + " | ".join(FIGURES_HEAD) + " |")
    print("|---|" + "---:|" * (len(FIGURES_HEAD) - 1))
    for name in (each for each in SHOWN if each in expected):
        print("| " + " | ".join(_figures(name, read_trace(Path(traces) / name), expected[name])) + " |")


def _row(name: str, trace: Trace, values: dict[str, Any]) -> tuple[str, ...]:
    steps = find_steps(trace).steps
    window = [step.duration_ns / 1e3 - want["duration_us"] for step, want in zip(steps, values["steps"], strict=True)]
    parts = [
        _part_differences(ours, want["parts_us"])
        for ours, want in zip(step_breakdown(trace), values["steps"], strict=True)
    ]
    device, loader, host = (max((abs(row[i]) for row in parts), default=0.0) for i in range(3))
    short = "/".join(Path(name).parts[:-1])
    return (
        short,
        str(len(steps)),
        _us(max(map(abs, window))),
        _us(device),
        _us(loader),
        _us(host),
        _gpu(trace, values),
    )


def _part_differences(ours: Parts, theirs: dict[str, float]) -> tuple[float, float, float]:
    """Differences of the device (kernels and collectives), the loader, and the host (runtime, ops, collective calls),
    in us.
    """
    device = (ours.kernel + ours.communication) / 1e3 - theirs["Kernel"]
    host = (ours.runtime + ours.cpu_exec) / 1e3 - theirs["Runtime"] - theirs["CpuOp"] - theirs["Communication"]
    if not theirs["Kernel"]:  # no device: collective calls are Communication here and CPU time there
        device, host = 0.0, host + ours.communication / 1e3
    return device, ours.data_loader / 1e3 - theirs["DataLoader"], host


def _gpu(trace: Trace, values: dict[str, Any]) -> str:
    """The largest difference of the three fractions over the devices."""
    differences = []
    for device, want in values["gpu"].items():
        occupancy = want["achieved_occupancy_percent"]
        for ours, theirs in (
            (gpu_utilization(trace, int(device)).value, want["utilization"]),
            (est_sm_efficiency(trace, int(device)).value, want["sm_efficiency"]),
            (kineto_achieved_occupancy(trace, int(device)).value, None if occupancy is None else occupancy / 100),
        ):
            if ours is not None and theirs is not None:
                differences.append(abs(ours - theirs))
    return f"{max(differences):.6f}" if differences else "-"


def _figures(name: str, trace: Trace, values: dict[str, Any]) -> tuple[str, ...]:
    """The figures of the device that is busy longest: ours, then torch-tb-profiler's."""
    device = devices_by_activity(trace)[0]
    theirs = values["gpu"][str(device)]
    split = split_kernel_time(trace, device).total
    occupancy = theirs["achieved_occupancy_percent"]
    return (
        "/".join(Path(name).parts[:-1]),
        _pair(gpu_utilization(trace, device).value, theirs["utilization"]),
        _pair(est_sm_efficiency(trace, device).value, theirs["sm_efficiency"]),
        _pair(est_achieved_occupancy(trace, device).value, None if occupancy is None else occupancy / 100),
        f"{_share_range(split.share_low, split.share_high)} / {_percent(values.get('tc_used_ratio_all_kernels'))}",
        _percent(split.matmul_like_share),
    )


def _pair(ours: float | None, theirs: float | None) -> str:
    return f"{_percent(ours)} / {_percent(theirs)}"


def _share_range(low: float | None, high: float | None) -> str:
    same = low is None or high is None or _percent(low) == _percent(high)
    return _percent(low) if same else f"{_percent(low)} to {_percent(high)}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _us(value: float) -> str:
    return f"{value:.2f}"


if __name__ == "__main__":
    main(*sys.argv[1:])
