"""Agreement with torch-tb-profiler and with independently computed busy times on
real traces. Each difference is named."""

from __future__ import annotations

from functools import cache

import pytest

from tb_steptime.metrics.gpu.occupancy import kineto_achieved_occupancy
from tb_steptime.metrics.gpu.utilization import busy_intervals, est_sm_efficiency, gpu_utilization
from tb_steptime.metrics.idle.reasons import REASONS, devices_by_activity
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.metrics.steps.parts import part_intervals, step_breakdown
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import as_one_step, find_steps
from tests.drawn.real_traces import cases, needs, on_real_traces, read_real, reference

#: The times in these files are absolute microseconds with decimals. The reference stores them as float64, whose
#: resolution is 0.25 us at 1.7e15, so a sum over thousands of events is off by microseconds. Our sums are exact.
ON_A_FLOAT_GRID = {"hta_v100_ns/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"}
FLOAT_GRID_US = 10.0

#: Even if there is a device, the reference counts host-side collective calls as communication, which it ranks before
#: Runtime.
HOST_COLLECTIVES = {
    "hta_a100_ddp_control/control.json.gz",
    "hta_v100_ns/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta_a100_ddp_nccl/nccl_data.json.gz",
    "tracelens_mi300_resnet/resnet_act_checkpoint.json.gz",
}
#: There is no device, and the collective ops are not among the five names that the reference knows: they are CPU time
#: there, and Communication here.
UNKNOWN_COLLECTIVES = {"hta_no_gpu_in_trace/rank_not_found.json.gz"}


#: In us. Without step marks, the step of the reference ends with the last CPU op. Ours includes the calls and ranges
#: around the ops, such as a closing synchronize, that is, the host's time in them and the idle time of the device.
LONGER = {
    "hta_a100_alexnet_cudasync/alexnet_trace.json.gz": 76_727.0,
    "tracelens_b200_eager/eager_trace.json.gz": 984.178,
}
#: The reference takes launch shapes only from kernels. Here they come from the launch calls, which have them.
SHAPES_ON_CALLS = {"hta_mi250_toy/mi250_minitoy_train_ROCm6_2_kineto.json.gz"}


STEPS = reference("torch_tb_profiler.json")
BUSY = reference("device_time.json")


@cache
def trace_of(name: str) -> Trace:
    """The trace as the reference sees it: without step marks it is one step, even if something repeats."""
    trace = read_real(name)
    return trace if len(step_marks(trace)) else as_one_step(trace)


@pytest.mark.parametrize("name", cases(STEPS, "reference/torch_tb_profiler.json"))
def test_step_windows_agree(name: str):
    trace, expected = trace_of(name), STEPS[name]["steps"]
    steps = find_steps(trace).steps
    assert [step.name for step in steps] == [step["name"] for step in expected]
    off = [step.duration_ns / 1e3 - want["duration_us"] for step, want in zip(steps, expected, strict=True)]
    assert off == pytest.approx([LONGER.get(name, 0.0)] * len(off), abs=1.0)


@pytest.mark.parametrize("name", cases(STEPS, "reference/torch_tb_profiler.json"))
def test_parts_agree(name: str):
    tolerance = FLOAT_GRID_US if name in ON_A_FLOAT_GRID else 1.0
    for ours, step in zip(step_breakdown(trace_of(name)), STEPS[name]["steps"], strict=True):
        want = step["parts_us"]
        host_ns = ours.runtime + ours.data_loader + ours.cpu_exec
        pairs = {
            "device": (ours.kernel + ours.communication, want["Kernel"]),
            "Memcpy": (ours.memcpy, want["Memcpy"]),
            "Memset": (ours.memset, want["Memset"]),
            "DataLoader": (ours.data_loader, want["DataLoader"]),
            "Other": (ours.other, want["Other"]),
            "host": (host_ns, want["Runtime"] + want["DataLoader"] + want["CpuOp"] + want["Communication"]),
        }
        if name in UNKNOWN_COLLECTIVES:
            pairs["host"] = (host_ns + ours.communication, pairs["host"][1])
            pairs["device"] = (ours.kernel, want["Kernel"])
        elif name not in HOST_COLLECTIVES:
            pairs["Runtime"] = (ours.runtime, want["Runtime"])
            pairs["CpuOp"] = (ours.cpu_exec, want["CpuOp"])
        if name in LONGER:
            pairs = {part: pairs[part] for part in ("device", "Memcpy", "Memset", "DataLoader")}
        off = {part: got / 1e3 - value for part, (got, value) in pairs.items()}
        assert {part: us for part, us in off.items() if abs(us) > tolerance} == {}


@needs("reference/device_time.json")
def test_collectives_of_current_torch_are_communication_and_not_kernel():
    """The reference counts them as compute: Communication takes 20.7 us a step, but their kernels run for 27 256 us."""
    name = "hta_a100_ddp_control/control.json.gz"
    exposed_ns = sum(row.communication for row in step_breakdown(trace_of(name)))
    assert exposed_ns == BUSY[name]["exposed_comm_ns"]
    assert STEPS[name]["mean_us"]["Communication"] == pytest.approx(20.666667)


@pytest.mark.parametrize("name", cases(STEPS, "reference/torch_tb_profiler.json"))
def test_gpu_figures_agree(name: str):
    trace = trace_of(name)
    assert [str(device) for device in sorted(devices_by_activity(trace))] == sorted(STEPS[name]["gpu"])
    for device, want in STEPS[name]["gpu"].items():
        occupancy = want["achieved_occupancy_percent"]
        # The same busy time is a smaller share of a longer step.
        longer = sum(step.duration_ns for step in find_steps(trace).steps) / 1e3
        whole = longer / (longer - LONGER[name]) if name in LONGER else 1.0
        pairs = (
            (gpu_utilization(trace, int(device)).value, want["utilization"]),
            (est_sm_efficiency(trace, int(device)).value, want["sm_efficiency"]),
            (kineto_achieved_occupancy(trace, int(device)).value, None if occupancy is None else occupancy / 100),
        )
        for place, (ours, theirs) in enumerate(pairs):
            if place == 1 and name in SHAPES_ON_CALLS:
                assert theirs is None and ours is not None
                continue
            assert (ours is None) == (theirs is None)
            of_the_step = whole if place < 2 else 1.0
            assert ours is None or ours * of_the_step == pytest.approx(theirs, abs=0.0005)


@pytest.mark.parametrize("name", cases(BUSY, "reference/device_time.json"))
def test_busy_times_agree(name: str):
    trace = trace_of(name)
    for device in BUSY[name]["per_device"]:
        assert abs(busy_intervals(trace, device["device"]).total_ns - device["busy_ns"]) <= 1_000


@on_real_traces
def test_time_is_conserved(name: str):
    """On every trace, in integers: parts sum to the step, idle reasons to the idle time, busy and idle to the step."""
    trace = trace_of(name)
    steps = find_steps(trace)
    assert [row.total_ns for row in step_breakdown(trace)] == [step.duration_ns for step in steps.steps]
    windows = Intervals.union(steps.start_ns, steps.end_ns)
    assert sum(part.total_ns for part in part_intervals(trace).values()) == windows.total_ns
    for device, idle in idle_partition(trace).items():
        busy = busy_intervals(trace, device).overlap_ns(steps.start_ns, steps.end_ns)
        reasons = sum(idle.per_step_ns[reason] for reason in REASONS)
        assert (reasons + busy).tolist() == [step.duration_ns for step in steps.steps]
