"""Occupancy, waves and slots compared with sums done by hand, and with Kineto's own values on real traces."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.metrics.base import Figure
from tb_steptime.metrics.gpu.occupancy import (
    EST_ACHIEVED_OCCUPANCY,
    NO_KINETO_OCCUPANCY,
    NO_LAUNCH_SHAPES,
    est_achieved_occupancy,
    filling,
    kineto_achieved_occupancy,
    kineto_zero_fraction,
    resident_blocks,
    rounds,
    sm_active,
)
from tb_steptime.trace.compute_capability import SM_LIMITS
from tb_steptime.trace.model import Device, Trace
from tests.drawn.binned import binned
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, V100, timeline

H100 = Device(0, "NVIDIA H100 80GB HBM3", 132, (9, 0), 2048, 65536, 233472)
T4 = Device(0, "Tesla T4", 40, (7, 5), 1024, 65536, 65536)


@pytest.mark.parametrize(
    ("device", "threads", "registers", "shared", "blocks", "limit"),
    [
        (V100, 64, 16, 0, 32, "blocks: 32 on compute capability 7.0"),
        (T4, 32, 16, 0, 16, "blocks: 16 on compute capability 7.5"),
        (V100, 512, 32, 0, 4, "warps: 64 / 16"),
        (V100, 257, 16, 0, 7, "warps: 257 threads are 9 warps, 64 / 9"),
        (V100, 256, 64, 0, 4, "registers: 16384 a partition / 2048 a warp = 8, x 4 = 32 warps, / 8"),
        (V100, 256, 61, 0, 4, "registers: 61 x 32 is rounded up to 2048"),
        (V100, 256, 33, 0, 6, "registers: 1056 is rounded up to 1280, 16384 / 1280 = 12, x 4 = 48 warps, / 8"),
        (V100, 64, 16, 20_000, 4, "shared memory: 20000 is rounded up to 20224, 98304 / 20224"),
        (A100, 64, 16, 20_000, 7, "shared memory: 1024 more are reserved, 21024 up to 21120, 167936 / 21120"),
        (H100, 384, 168, 227_328, 1, "shared memory above 48 KiB: 228352 of 233472"),
        (V100, 1024, 255, 0, 1, "registers allow none; a kernel that ran had one"),
    ],
)
def test_resident_blocks(device: Device, threads: int, registers: int, shared: int, blocks: int, limit: str):
    found = resident_blocks(device, np.array([threads]), np.array([registers]), np.array([shared]))
    assert found is not None
    assert found.tolist() == [blocks], limit


@pytest.mark.parametrize(
    "device",
    [
        replace(V100, compute_capability=None),
        replace(V100, compute_capability=(3, 5)),
        replace(V100, registers_per_sm=None),
        replace(V100, shared_memory_per_sm=None),
        replace(V100, max_threads_per_sm=None),
    ],
)
def test_a_device_whose_limits_are_not_known_has_no_answer(device: Device):
    assert resident_blocks(device, np.array([64]), np.array([16]), np.array([0])) is None


@pytest.mark.parametrize(
    ("blocks", "slots", "waves", "tail"), [(8, 3, 3, 2), (9, 3, 3, 3), (1, 3, 1, 1), (3, 3, 1, 3), (4, 3, 2, 1)]
)
def test_rounds(blocks: int, slots: int, waves: int, tail: int):
    assert [each.tolist() for each in rounds(np.array([blocks]), np.array([slots]))] == [[waves], [tail]]


def launch(grid: int, threads: int, registers: int = 16, shared: int = 0, kineto: float = 0.0) -> dict[str, object]:
    return {
        "grid": (grid, 1, 1),
        "block": (threads, 1, 1),
        "registers": registers,
        "shared_memory": shared,
        "kineto_occupancy": kineto,
    }


def drawn(**kernels: dict[str, object]) -> Trace:
    """Kernel x runs 6 us of step 0 and y 2 us; z runs 3 us of step 1."""
    return timeline(
        """
        step     | 00000000001111111111 |
        op       | aaaaaaaa..bbbbbbbb.. |
        runtime  | xy........zu........ |
        kernel 7 | ..xxxxxx...zzz...... |
        kernel 9 | ........yy.......... |
        memset 9 | ..............uu.... |""",
        devices={0: V100},
        kernels=kernels,
    )


def test_a_kernel_that_fills_two_waves_and_a_half():
    # 4 blocks of 512 threads are resident per SM: 320 slots; 800 blocks make 3 waves, the last of 160 on 80 SMs
    trace = drawn(x=launch(800, 512), y=launch(40, 1024), z=launch(81, 1024))
    found = filling(trace)
    assert found.resident.tolist() == [4, 2, 2]
    assert found.waves.tolist() == [3, 1, 1]
    assert found.tail.tolist() == [160, 40, 81]
    assert found.occupancy.tolist() == [1.0, 0.25, 81 / 80 / 2]
    assert sm_active(trace).tolist() == [1.0, 0.5, 1.0]
    assert found.slot_efficiency.tolist() == [800 / 960, 0.25, 81 / 160]


def test_the_mean_weighs_kernels_by_their_time_and_drops_what_is_outside():
    trace = drawn(x=launch(800, 512, kineto=1.0), y=launch(40, 1024, kineto=0.25), z=launch(40, 1024, kineto=0.0))
    step_0 = (6 * 1.0 + 2 * 0.25) / 8
    assert est_achieved_occupancy(trace, 0) == Figure((6 * 1.0 + 2 * 0.25 + 3 * 0.25) / 11, (step_0, 0.25))
    assert kineto_achieved_occupancy(trace, 0) == Figure((6 * 1.0 + 2 * 0.25) / 11, (step_0, 0.0))
    assert kineto_zero_fraction(trace, 0) == 3 / 11


def test_bins_in_which_nothing_runs_have_no_occupancy():
    trace = drawn(x=launch(800, 512), y=launch(40, 1024), z=launch(40, 1024))
    found = binned(trace, EST_ACHIEVED_OCCUPANCY, np.array([0, 2_000, 4_000, 10_000, 20_000]))
    assert found == pytest.approx([np.nan, 1.0, (4 * 1.0 + 2 * 0.25) / 6, 0.25], nan_ok=True)


def test_a_trace_without_registers_has_no_occupancy_and_says_why():
    shape = {"grid": (40, 1, 1), "block": (64, 1, 1)}
    trace = drawn(x=shape, y=shape, z=shape)
    assert est_achieved_occupancy(trace, 0) == Figure(None, (None, None), NO_LAUNCH_SHAPES)
    assert kineto_achieved_occupancy(trace, 0) == Figure(None, (None, None), NO_KINETO_OCCUPANCY)
    assert binned(trace, EST_ACHIEVED_OCCUPANCY, np.array([0, 10])) is None
    assert kineto_zero_fraction(trace, 0) is None


#: A kernel with more shared memory than this has opted in to it, which Kineto's calculator does not know.
OPT_IN_BYTES = 48 * 1024

NVIDIA = (
    "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz",
    "kineto_v100_resnet50/workers4/worker0.1623212756351.pt.trace.json.gz",
    "hta_a100_ddp_control/control.json.gz",
    "hta_v100_ns/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta_a100_ddp_nccl/nccl_data.json.gz",
    "tracelens_h100_bert/bert-small.json.gz",
    "tracelens_h100_timesformer/timesformer.json.gz",
    "tracelens_b200_eager/eager_trace.json.gz",
)


@cache
def recorded(name: str) -> Trace:
    return read_real(name)


@pytest.mark.parametrize("name", NVIDIA)
def test_agrees_with_kineto_where_kineto_is_right_and_it_wrote_zero_elsewhere(name: str):
    trace = recorded(name)
    kernels, kinetos, ours = trace.kernels, trace.kernels.kineto_occupancy, filling(trace).occupancy
    assert kinetos is not None
    assert kernels.shared_memory is not None
    plain = kernels.shared_memory <= OPT_IN_BYTES
    assert plain.sum() > 50
    assert np.abs(ours - kinetos)[plain].max() <= 0.01
    assert not kinetos[~plain].any()
    assert (ours[~plain] > 0).all()


@pytest.mark.parametrize("name", NVIDIA)
def test_no_kernel_is_fuller_than_full(name: str):
    found = filling(recorded(name))
    for share in (found.occupancy, sm_active(recorded(name)), found.slot_efficiency):
        assert share.min() > 0
        assert share.max() <= 1
    assert (found.tail > 0).all()


def test_an_h100_whose_sms_are_busy_and_whose_slots_are_empty():
    """The known figures of this recording: 63 % SM-active and 25 % of the slots, weighted by kernel time."""
    trace = recorded("tracelens_h100_bert/bert-small.json.gz")
    dur, found = trace.events.dur_ns[trace.kernels.event], filling(trace)
    assert math.isclose(np.average(sm_active(trace), weights=dur), 0.63, abs_tol=0.005)
    assert math.isclose(np.average(found.slot_efficiency, weights=dur), 0.25, abs_tol=0.005)


def test_a_b200_is_twice_as_full_as_kineto_writes():
    trace = recorded("tracelens_b200_eager/eager_trace.json.gz")
    ours, kinetos = est_achieved_occupancy(trace, 0).value, kineto_achieved_occupancy(trace, 0).value
    assert (ours, kinetos) == (pytest.approx(0.261, abs=0.0005), pytest.approx(0.127, abs=0.0005))


def test_the_table_of_limits_names_every_generation_since_volta():
    assert {major for major, _ in SM_LIMITS} >= {7, 8, 9, 10, 12}
