"""The kernel table: laws on any trace, complete rows of drawn ones, and waves compared with dealing out blocks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.gpu.occupancy import filling, is_persistent, rounds, sm_active
from tb_steptime.metrics.gpu.utilization import blocks, devices_with_activity, kernel_rows
from tb_steptime.metrics.kernels.details import LaunchLengths, kernel_details, lengths
from tb_steptime.metrics.kernels.table import By, KernelGroup, kernel_table, launch_columns
from tb_steptime.metrics.kernels.waste import _Kernels
from tb_steptime.metrics.operators.op_tree import op_tree, outside_ops, own_costs
from tb_steptime.metrics.tensor_cores.opportunities import opportunities
from tb_steptime.metrics.tensor_cores.usage import split_kernel_time
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.trace.groups import Groups, numbered
from tb_steptime.trace.model import Trace
from tb_steptime.trace.sources import modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.op_rows import checkpointed
from tests.drawn.real_traces import on_traces_of_all_formats, read_real, real_path
from tests.drawn.timeline import A100, V100, timeline

GROUPINGS: tuple[By, ...] = get_args(By)
TENSOR = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
GEMM, SIMT = "volta_h884gemm_128x128_ldg8_nn", "volta_sgemm_64x64_nt"


def launch(blocks: int, threads: int = 256, registers: int = 32, shared: int = 0, **more: object) -> dict[str, object]:
    return {
        "grid": (blocks, 1, 1),
        "block": (threads, 1, 1),
        "registers": registers,
        "shared_memory": shared,
        "kineto_occupancy": 0.5,
        **more,
    }


def drawn() -> Trace:
    """x: 2 launches under two ops; y: under one of these ops; z: before the step; u: at the end, without a launch."""
    return timeline(
        """
        step     | ..000000000000000000 |
        python   | ..mmmmmm............ |
        op       | ..aaaaaa....bbbb.... |
        runtime  | z.x.y.......x....... |
        kernel 7 | .zz..xxxx....xx..... |
        kernel 9 | ........yyyy....uuuu |""",
        names={"a": "aten::mm", "b": "aten::addmm", "m": "nn.Module: Net_0", "x": GEMM, "y": SIMT, "u": "mine"},
        devices={0: V100},
        kernels={"x": launch(80), "y": launch(1000), "z": launch(80), "u": launch(80)},
    )


def row(rows: list[KernelGroup], name: str) -> KernelGroup:
    (found,) = (row for row in rows if row.name == name)
    return found


def test_a_row_of_the_table_by_name():
    found = row(kernel_table(drawn(), "name"), GEMM)
    assert found == KernelGroup(
        name=GEMM,
        short="gemm f16 128x128",
        device=0,
        count=2,
        total_ns=6_000,
        mean_ns=3_000.0,
        min_ns=2_000,
        max_ns=4_000,
        share=6 / 14,
        tensor_core="yes",
        tensor_core_reason=found.tensor_core_reason,
        tensor_core_ns=6_000,
        matmul_like_ns=0,
        unknown_ns=0,
        other_ns=0,
        eligible=True,
        why_not=None,
        gain_ns=None,
        kernel_count=1,
        op="aten::mm",
        op_count=2,
        no_op=None,
        module="Net_0",
        blocks_per_sm=1.0,
        waves=1.0,
        tail_fraction=1 / 8,
        sm_active_share=1.0,
        slot_efficiency=1 / 8,
        est_achieved_occupancy=1 / 8,
        kineto_achieved_occupancy=0.5,
        persistent=False,
    )


def test_the_groupings():
    trace = drawn()
    rows = {
        by: [(each.name, each.op, each.no_op, each.count, each.total_ns) for each in kernel_table(trace, by)]
        for by in GROUPINGS
    }
    none = "no launch in this trace"
    assert rows == {
        "name": [
            (GEMM, "aten::mm", None, 2, 6_000),
            ("mine", None, none, 1, 4_000),
            (SIMT, "aten::mm", None, 1, 4_000),
        ],
        "name,op": [
            ("mine", None, none, 1, 4_000),
            (GEMM, "aten::mm", None, 1, 4_000),
            (SIMT, "aten::mm", None, 1, 4_000),
            (GEMM, "aten::addmm", None, 1, 2_000),
        ],
        "name,module": [
            ("mine", None, none, 1, 4_000),
            (GEMM, "aten::mm", None, 1, 4_000),
            (SIMT, "aten::mm", None, 1, 4_000),
            (GEMM, "aten::addmm", None, 1, 2_000),
        ],
        "name,line": [
            (GEMM, "aten::mm", None, 2, 6_000),
            ("mine", None, none, 1, 4_000),
            (SIMT, "aten::mm", None, 1, 4_000),
        ],
        "op": [
            ("aten::mm", "aten::mm", None, 2, 8_000),
            (none, None, none, 1, 4_000),
            ("aten::addmm", "aten::addmm", None, 1, 2_000),
        ],
        "module": [
            ("Net_0", "aten::mm", None, 2, 8_000),
            ("outside any module", None, none, 2, 6_000),
        ],
        "line": [("no recorded line", "aten::mm", None, 4, 14_000)],
    }


def test_modules_and_lines_of_the_forward_pass_have_the_kernels_that_they_made():
    """What a checkpoint recomputes belongs to the line that computed it first."""
    trace = checkpointed()
    for by, name in (("module", "Block_0"), ("line", "net.py(4): forward")):
        (found,) = kernel_table(trace, by)
        assert (found.name, found.short, found.module, found.source) == (name, name, "Block_0", "net.py(4): forward")
        assert (found.source_count, found.count, found.total_ns, found.op_count) == (1, 5, 12_000, 4)


def test_the_line_with_most_time_and_how_many_there_are():
    trace = timeline(
        """
        step     | 000000000000000000 |
        python   | .aaaaa..bbbb...... |
        op       | ..ooo....oo...ooo. |
        runtime  | ..k......k....k... |
        kernel 7 | ...k......kkk..k.. |""",
        names={"a": "net.py(4): forward", "b": "net.py(9): loss", "o": "aten::add"},
    )
    (found,) = kernel_table(trace, "name")
    assert (found.source, found.source_count, found.module) == ("net.py(9): loss", 2, None)
    assert [(row.name, row.total_ns, row.source_count) for row in kernel_table(trace, "line")] == [
        ("net.py(9): loss", 3_000, 1),
        ("net.py(4): forward", 1_000, 1),
        ("no recorded line", 1_000, 0),
    ]


def test_what_most_of_a_groups_time_is_decides_where_its_kernels_differ():
    by_op = kernel_table(drawn(), "op")
    mixed = row(by_op, "aten::mm")
    assert (mixed.kernel_count, mixed.tensor_core, mixed.tensor_core_ns, mixed.matmul_like_ns) == (2, "yes", 4000, 4000)
    assert (mixed.blocks_per_sm, mixed.persistent) == ((1.0 + 12.5) / 2, False)
    unknown = row(by_op, "no launch in this trace")
    assert (unknown.tensor_core, unknown.eligible, unknown.unknown_ns) == ("unknown", None, 4_000)


SGEMM, HGEMM = "ampere_sgemm_128x64_nn", "maxwell_hgemm_128x64_nn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"


def test_why_a_row_is_not_on_tensor_cores_and_what_that_costs():
    """x: FP32 with TF32 off, and once 16 bits of an odd size like y; t: on tensor cores already; e: elementwise."""
    trace = timeline(
        """
        step     | 000000000000000000000000 |
        op       | aaa.bbbbbbb.cccc........ |
        runtime  | x...y..x.t..e........... |
        kernel 7 | ....xxxxxxyyyyxxttee.... |""",
        names={"a": "aten::mm", "b": "aten::addmm", "c": "aten::add", "x": SGEMM, "y": HGEMM, "t": TENSOR, "e": ADD},
        inputs={
            "a": ("[[1024,512],[512,256]]", '["float","float"]'),
            "b": ("[[256],[1024,514],[514,256]]", '["c10::Half","c10::Half","c10::Half"]'),
        },
        devices={0: A100},
        cell_ns=100_000,
    )
    rows = {
        by: {each.name: (each.eligible, each.why_not, each.gain_ns) for each in kernel_table(trace, by)}
        for by in ("name", "op")
    }
    fp32, widened, half = (
        int(600_000 * (1 - 19.5 / 156)),
        int(200_000 * (1 - 19.5 / 312)),
        int(400_000 * (1 - 78 / 312)),
    )
    assert rows == {
        "name": {
            SGEMM: (True, "tf32_off", fp32 + widened),
            HGEMM: (True, "alignment", half),
            TENSOR: (True, None, None),
            ADD: (False, None, None),
        },
        "op": {
            "aten::mm": (True, "tf32_off", fp32),
            "aten::addmm": (True, "alignment", widened + half),
            "aten::add": (False, None, None),
        },
    }


def test_each_device_is_its_own_and_shares_are_of_its_time():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | aaaaaaaaaa |
        runtime       | xy........ |
        kernel 7      | .xxxx..... |
        kernel 7 gpu1 | ..yyyyyyyy |
        kernel 9 gpu1 | ....yy.... |""",
        devices={0: V100, 1: A100},
        names={"x": "same", "y": "same"},
    )
    found = [(each.name, each.device, each.count, each.total_ns, each.share) for each in kernel_table(trace, "name")]
    assert found == [("same", 1, 2, 10_000, 1.0), ("same", 0, 1, 4_000, 1.0)]


def test_what_cannot_be_measured_is_none():
    """A device that is missing in the device properties, and a kernel without launch data."""
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | xy........ |
        kernel 7 | .xxxx.yyy. |""",
        devices={0: V100},
        kernels={"x": launch(80)},
    )
    silent = row(kernel_table(trace, "name"), "y")
    missing = row(kernel_table(replace(trace, devices={}, memo={}), "name"), "x")
    for measured in ("waves", "tail_fraction", "sm_active_share", "slot_efficiency", "est_achieved_occupancy"):
        assert getattr(silent, measured) is None
        assert getattr(missing, measured) is None
    assert (silent.blocks_per_sm, silent.kineto_achieved_occupancy, silent.persistent) == (None, None, False)
    assert (missing.blocks_per_sm, missing.kineto_achieved_occupancy, missing.persistent) == (1.0, 0.5, False)


def test_groups():
    groups, weight = Groups.of(np.array([7, 9, 7, 7]), np.array([1, 1, 1, 1])), np.array([10, 5, 30, 15])
    assert (groups.place.tolist(), groups.first.tolist()) == ([0, 1, 0, 0], [0, 1])
    assert (groups.count().tolist(), groups.sum(weight).tolist()) == ([3, 1], [55, 5])
    assert [each.tolist() for each in groups.extremes(weight)] == [[10, 5], [30, 5]]
    assert [each.tolist() for each in groups.extremes(weight, 2 * weight)] == [[10, 5], [60, 10]]
    assert groups.leading(np.array([3, 8, 4, 3]), weight) == ([4, 8], [2, 1])
    assert groups.leading(np.array([4, 8, 3, 5]), np.array([9, 9, 9, 9])) == ([3, 8], [3, 1])


def test_means_weigh_by_length_and_leave_out_what_is_not_known():
    trace = timeline(
        """
        step     | 0000000000 |
        op       | aaaaaaaaaa |
        runtime  | xyz....... |
        kernel 7 | .xyyyzzzzz |""",
        devices={0: V100},
        names={"x": "same", "y": "same", "z": "same"},
        kernels={"x": launch(80), "y": launch(240)},
    )
    (found,) = kernel_table(trace, "name")
    assert (found.count, found.blocks_per_sm, found.kineto_achieved_occupancy) == (3, (1 * 1 + 3 * 3) / 4, 0.5)
    assert (found.min_ns, found.max_ns, found.mean_ns) == (1_000, 5_000, 3_000)


@given(st.lists(st.integers(-(2**40), 2**40) | st.integers(0, 9)))
def test_keys_are_numbered_by_rank_however_far_apart(keys: list[int]):
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    assert numbered(np.array(keys, np.int64)).tolist() == [ranks[key] for key in keys]


# Waves, tails and persistent kernels


@given(st.integers(1, 400), st.integers(1, 12), st.integers(1, 9))
def test_waves_are_what_comes_of_dealing_out_blocks(block_count: int, sms: int, resident: int):
    """A wave gives each SM one block after the other, in turn, until all SMs have `resident` blocks."""
    waves, left = [], block_count
    while left:
        wave = Counter(place % sms for place in range(min(left, sms * resident)))
        waves.append(wave)
        left -= wave.total()
    found, tail = (int(each[0]) for each in rounds(np.array([block_count]), np.array([sms * resident])))
    assert (found, tail) == (len(waves), waves[-1].total())
    card = replace(V100, sm_count=sms, max_threads_per_sm=64 * resident, registers_per_sm=1 << 30)
    trace = timeline(
        """
        step     | 0000 |
        op       | aaaa |
        runtime  | x... |
        kernel 7 | .xxx |""",
        devices={0: replace(card, shared_memory_per_sm=1 << 30)},
        kernels={"x": launch(block_count, threads=64)},
    )
    shape = filling(trace)
    assert shape.resident.tolist() == [resident]
    assert sm_active(trace)[0] == pytest.approx(np.mean([len(wave) / sms for wave in waves]))
    assert shape.slot_efficiency[0] == pytest.approx(np.mean([wave.total() / (sms * resident) for wave in waves]))
    assert dict(launch_columns(trace))["tail_fraction"][0] == pytest.approx(waves[-1].total() / (sms * resident))


@pytest.mark.parametrize(
    ("name", "block_count", "expected"),
    [
        ("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", 5000, True),
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwd> >(int)", 5000, True),
        ("matmul_kernel_persistent", 5000, True),
        (SIMT, 80, False),  # a grid no larger than the number of SMs
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Params)", 5000, False),
        ("triton_per_fused_sum_0", 5000, False),  # a persistent reduction has whole rows in a block, and many blocks
    ],
)
def test_persistent_kernels(name: str, block_count: int, expected: bool):
    trace = timeline(
        """
        step     | 0000 |
        op       | aaaa |
        runtime  | x... |
        kernel 7 | .xxx |""",
        devices={0: V100},
        names={"x": name},
        kernels={"x": launch(block_count)},
    )
    assert is_persistent(trace).tolist() == [expected]
    assert [each.persistent for each in kernel_table(trace, "name")] == [expected]


def one_kernel(grid: tuple[int, int, int], call: str, second_call: str = "") -> Trace:
    return timeline(
        """
        step     | 00000000 |
        op       | aaaaaaaa |
        runtime  | x.y..... |
        kernel 7 | .xxx.yyy |""",
        devices={0: V100},
        kernels={
            "x": launch(1, 64) | {"grid": grid, "block": (64, 4, 1)},
            "y": launch(1, 64) | {"grid": grid, "block": (64, 4, 1)},
        },
        calls={"x": call, "y": second_call or call},
    )


def counted(trace: Trace) -> list[int]:
    found = blocks(trace)
    assert found is not None
    return found.tolist()


def test_products_of_grids_take_64_bits():
    assert counted(one_kernel((2**31 - 1, 65_535, 60), "cudaLaunchKernel")) == [(2**31 - 1) * 65_535 * 60] * 2


def test_rocm_counts_grids_in_work_items_or_in_blocks_by_the_launching_call():
    assert counted(one_kernel((640, 10, 2), "hipLaunchKernel", "hipExtModuleLaunchKernel")) == [12_800, 10 * 3 * 2]


def test_where_rocm_does_not_say_the_call_nobody_knows_what_its_grid_counts():
    assert counted(one_kernel((640, 10, 2), "hipLaunchKernel", "hipGraphLaunch")) == [12_800, -1]
    launched = one_kernel((640, 10, 2), "hipLaunchKernel")
    lost = np.where(launched.events.kind == Kind.KERNEL, 99, launched.events.correlation_id)
    lost[np.flatnonzero(launched.events.kind == Kind.KERNEL)[0]] = 1
    events = replace(launched.events, correlation_id=lost)
    assert counted(replace(launched, events=events, memo={})) == [12_800, -1]


def test_graphs_of_cuda_keep_their_kernels_arguments():
    assert counted(one_kernel((640, 10, 2), "cudaGraphLaunch")) == [12_800, 12_800]


# Details


def test_a_distribution_holds_every_launch():
    assert lengths(np.array([7, 7])) == LaunchLengths([7, 7], [2])
    found = lengths(np.array([100, 100, 199, 400, 6_400]))
    assert (found.edges_ns[0], found.edges_ns[-1], sum(found.count)) == (100, 6_400, 5)
    assert found.count[0] == 2
    assert found.count[-1] == 1


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_any_distribution_counts_between_its_edges(values: list[int]):
    found = lengths(np.array(values))
    edges = found.edges_ns
    counts = [sum(low <= value < high for value in values) for low, high in pairwise(edges)]
    counts[-1] += sum(value == edges[-1] for value in values)
    assert found.count == counts
    assert sum(counts) == len(values)


def test_details_of_a_kernel():
    (gemm, *_) = kernel_details(drawn(), 0, 9)
    assert gemm.name == GEMM
    assert sum(gemm.calls.count) == 2
    assert sum(gemm.calls.busy_ns) == 6_000
    assert [place for place, count in enumerate(gemm.calls.count) if count] == [
        14,
        70,
    ]  # of 120 from 3 us, where z ends, to 20 us
    shape = gemm.shape
    assert shape is not None
    assert (shape.grid, shape.blocks, shape.sm_count, shape.resident, shape.slots) == ([80, 1, 1], 80, 80, 8, 640)
    assert (shape.waves, shape.tail, shape.launches, shape.shape_count) == (1, 80, 2, 1)


# Laws on every trace


@on_traces_of_all_formats
def test_kernels_ops_and_modules_sum_to_kernel_time_on_recorded_traces(path: str):
    trace = read_real(real_path(path))
    expected = {device: split_kernel_time(trace, device).total for device in devices_with_activity(trace)}
    could = {device: opportunities(trace, device) for device in expected}
    for by in GROUPINGS:
        for device, split in expected.items():
            mine = [each for each in kernel_table(trace, by) if each.device == device]
            for column in msgspec.structs.fields(split):
                name = "total_ns" if column.name == "kernel_ns" else column.name
                assert sum(getattr(each, name) for each in mine) == getattr(split, column.name), (by, column.name)
            assert split.kernel_ns == 0 or sum(each.share for each in mine) == pytest.approx(1)
        gains = {device: sum(row.gain_ns for row in found.rows) + found.more_gain_ns for device, found in could.items()}
        assert gains == {
            device: sum(each.gain_ns or 0 for each in kernel_table(trace, by) if each.device == device)
            for device in could
        }
    counts = {sum(each.count for each in kernel_table(trace, by)) for by in GROUPINGS}
    assert len(counts) == 1


@pytest.mark.parametrize("name", ["tracelens_mi300_resnet", "tracelens_h100_bert"])
@pytest.mark.parametrize("by", ["line", "module"])
def test_kernels_of_lines_and_modules_are_those_of_the_table_of_ops(name: str, by: By, trace_path):
    """This includes work of the backward pass, counted where it was made. The table of ops counts by the start of ops
    and this one by the start of kernels. They would differ by work launched in one step that runs in another, of which
    these recordings have none."""
    trace = read_real(trace_path(name))
    tree, outside = op_tree(trace, "made"), outside_ops(trace)
    row_texts = (sources if by == "line" else modules)(trace, np.append(tree.row[tree.owner], outside.call))
    ns = np.append(own_costs(trace, tree, "kernel"), outside.costs(trace, "kernel"))
    expected = Counter[str | None]()
    for place in np.flatnonzero(ns).tolist():
        expected[row_texts[place]] += int(ns[place])
    found = {row.source if by == "line" else row.module: row.total_ns for row in kernel_table(trace, by)}
    assert found == expected
    assert len(found) > 3


def test_every_column_has_a_meaning_and_is_a_field():
    fields = set(KernelGroup.__struct_fields__)
    columns = {column.id for column in KERNELS.columns}
    assert columns <= fields
    numbers = {
        name for name in fields if name.endswith(("_ns", "share", "fraction", "occupancy", "efficiency", "waves"))
    }
    split = {"tensor_core_ns", "matmul_like_ns", "unknown_ns", "other_ns", "gain_ns"}
    assert numbers - split <= columns


def test_an_op_without_a_name_has_an_empty_one():
    trace = timeline(
        """
        step     | 0000 |
        op       | aaaa |
        runtime  | .x.. |
        kernel 7 | ..xx |""",
        names={"a": "", "x": GEMM},
    )
    assert [(row.name, row.op) for row in kernel_table(trace, "op")] == [("", "")]


def test_kernels_that_lose_nothing_have_a_name_among_them():
    """Clocks with whole microseconds may write durations of 0, so that no name has the largest part of the gain."""
    trace = timeline("step | 0000 |\n runtime | .xy. |\n kernel 7 | ..xy |", names={"x": "first", "y": "second"})
    rows, nothing = kernel_rows(trace, 0), np.zeros(2)
    kernels = _Kernels(trace, rows, nothing.astype(np.int64), find_steps(trace), np.ones(2, bool))
    waste = kernels.waste(np.ones(2, bool), nothing)
    assert (waste.count, waste.gain_ns, waste.name) == (2, 0, "first")
