"""Blocking calls: which of them form one group, how long they block the host, and what that costs the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tb_steptime.metrics.host.blocking_calls import KINDS, Blocks, blocking_calls, blocking_groups, blocking_launches
from tb_steptime.metrics.idle.blocking_rows import BlockingRow, blocking_rows
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card, sure
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import timeline

CALLS = {
    "c": "cudaMemcpyAsync",
    "d": "cudaMemcpyAsync",
    "s": "cudaStreamSynchronize",
    "t": "cudaStreamSynchronize",
    "y": "cudaDeviceSynchronize",
    "m": "cudaMalloc",
    "f": "cudaFree",
}
ITEM = {"c": "Memcpy DtoH (Device -> Pageable)", "i": "aten::item", "l": "aten::_local_scalar_dense"}


def groups_us(trace: Trace) -> list[tuple[int, int, int, str]]:
    """(start, end, blocked, kind) of each group."""
    groups = blocking_groups(trace)
    numbers = ((groups.start // 1_000).tolist(), (groups.end // 1_000).tolist(), (groups.blocked_ns // 1_000).tolist())
    return list(zip(*numbers, [KINDS[kind] for kind in groups.kind.tolist()], strict=True))


def bubbles_us(trace: Trace, device: int = 0) -> list[tuple[int, int, int]]:
    """(start, end, idle time in it) of the groups that cost idle time."""
    columns = [(column // 1_000).tolist() for column in bubbles(trace, device)]
    return [row for row in zip(*columns, strict=True) if row[2]]


def drawn(drawing: str, names: Mapping[str, str] | None = None, **given: Mapping[str, int]) -> Trace:
    return timeline(drawing, calls=CALLS, names=names, **given)


@pytest.mark.parametrize(("calls", "kind"), [("m.yyyyy.f.m", "allocator"), ("m.yyyyy.k.m", "sync")])
def test_a_wait_before_memory_is_freed_for_a_failed_allocation_is_the_allocators(calls: str, kind: str):
    trace = drawn(f"step | {'1' * 11} |\nop | {'a' * 11} |\nruntime | {calls} |", {"a": "aten::empty"})
    assert groups_us(trace)[0][3] == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaStreamSynchronize", Blocks.SYNC),
        ("cuCtxSynchronize", Blocks.SYNC),
        ("hipEventSynchronize", Blocks.SYNC),
        ("urQueueFinish", Blocks.SYNC),
        ("urEventWait", Blocks.SYNC),
        ("piEventsWait", Blocks.SYNC),
        ("piQueueFinish", Blocks.SYNC),
        ("piEnqueueEventsWait", None),
        ("zeEventHostSynchronize", Blocks.SYNC),
        ("zeCommandQueueSynchronize", Blocks.SYNC),
        ("mcStreamSynchronize", Blocks.SYNC),
        ("mcCtxSynchronize", Blocks.SYNC),
        ("mcMemcpyAsync", None),
        ("mcFree", Blocks.ALLOCATOR),
        ("musaStreamSynchronize", Blocks.SYNC),
        ("topsDeviceSynchronize", Blocks.SYNC),
        ("cnrtQueueSync", Blocks.SYNC),
        ("cnrtSyncDevice", Blocks.SYNC),
        ("cnrtWaitNotifier", Blocks.SYNC),
        ("cnrtQueueWaitNotifier", None),
        ("musaStreamWaitEvent", None),
        ("musaMemcpy", Blocks.COPY),
        ("topsMemcpyAsync", None),
        ("musaMalloc", Blocks.ALLOCATOR),
        ("cudaMemcpy", Blocks.COPY),
        ("cuMemcpyDtoH_v2", Blocks.COPY),
        ("hipMemcpyWithStream", Blocks.COPY),
        ("cudaMalloc", Blocks.ALLOCATOR),
        ("cudaMallocAsync", Blocks.ALLOCATOR),
        ("cudaHostAlloc", Blocks.ALLOCATOR),
        ("cuMemMap", Blocks.ALLOCATOR),
        ("hipHostFree", Blocks.ALLOCATOR),
        ("cudaEventQuery", None),
        ("urEventWaitsForNothing", None),
        ("urEnqueueEventsWait", None),
        ("cudaStreamWaitEvent", None),
        ("cudaMemcpyAsync", None),
        ("cudaHostGetDevicePointer", None),
        ("cuMemGetInfo_v2", None),
    ],
)
def test_which_calls_hold_their_thread_up(name: str, kind: Blocks | None):
    trace = timeline("""
        step    | 000 |
        runtime | .x. |""", calls={"x": name})  # fmt: skip
    assert blocking_calls(trace).kind.tolist() == ([] if kind is None else [kind])


def test_a_call_of_the_driver_inside_one_of_the_runtime_is_no_second_one():
    trace = timeline(
        """
        step    | 0000000000 |
        runtime | .xxxx..... |
        driver  | ..ww...v.. |""",
        calls={"x": "cudaDeviceSynchronize", "w": "cuCtxSynchronize", "v": "cuStreamSynchronize"},
    )
    assert groups_us(trace) == [(1, 5, 4, "sync"), (7, 8, 1, "sync")]


def test_a_copy_and_the_synchronize_after_it_under_one_op_are_one():
    trace = drawn(
        """
        step     | 00000000000000000000 |
        op       | ..iiiiiiiii......... |
        op       | ...lllllll.......... |
        runtime  | k...cssss......q.... |
        kernel 7 | .kkkkkk.........qqqq |
        memcpy 7 | .......c............ |""",
        ITEM,
        nbytes={"c": 4},
    )
    assert groups_us(trace) == [(4, 9, 5, "pageable_copy")]
    assert bubbles_us(trace) == [(7, 13, 5)]
    assert blocking_rows(trace, 0) == [
        BlockingRow(
            "aten::_local_scalar_dense", "aten::item", "forward", "forward.model",
            "cudaMemcpyAsync + cudaStreamSynchronize", "pageable_copy", "DtoH", None, None, None, None, None, None,
            1.0, 5_000, 5_000, 4, 0, "0", 4_000, 13_000, None, "aten::item",
        ),
    ]  # fmt: skip


def test_a_long_call_costs_no_more_than_it_leaves_idle():
    trace = drawn("""
        step     | 00000000000000000000 |
        runtime  | k.ssssssssssssssss.q |
        kernel 7 | .kkkkkkkkkkkkkkkkk.q |""")
    assert groups_us(trace) == [(2, 18, 16, "sync")]
    assert bubbles_us(trace) == [(18, 19, 1)]


def test_a_short_call_on_an_idle_device_costs_no_more_than_it_lasts():
    trace = drawn("""
        step     | 00000000000000000000 |
        runtime  | k......ss........q.. |
        kernel 7 | .kk...............qq |""")
    assert bubbles_us(trace) == [(7, 9, 2)]


def test_the_time_in_which_a_copy_is_staged_is_part_of_the_bubble():
    trace = drawn(
        """
        step     | 00000000000000000000 |
        runtime  | k...ccccccc....q.... |
        kernel 7 | .kk.............qqqq |
        memcpy 7 | .........cc......... |""",
        ITEM | {"c": "Memcpy HtoD (Pageable -> Device)"},
    )
    assert bubbles_us(trace) == [(4, 13, 7)]


def test_a_copy_that_is_waited_for_at_once_is_part_of_the_group():
    trace = drawn(
        """
        step     | 00000000000000000000 |
        op       | aaaa.bbbbbb......... |
        runtime  | c.....dss...tt...... |
        memcpy 7 | .c.....d............ |""",
        {"c": "Memcpy HtoD (Pinned -> Device)", "d": "Memcpy DtoH (Device -> Pinned)"},
    )
    assert groups_us(trace) == [(6, 9, 3, "copy"), (12, 14, 2, "sync")]


def test_outside_any_op_only_a_copy_and_its_synchronize_are_one():
    trace = drawn(
        """
        step     | 00000000000000000000 |
        runtime  | cctt.yy.mf.......... |
        memcpy 7 | .c.................. |""",
        ITEM,
    )
    assert groups_us(trace) == [
        (0, 4, 4, "pageable_copy"), (5, 7, 2, "sync"), (8, 9, 1, "allocator"), (9, 10, 1, "allocator"),
    ]  # fmt: skip


def test_the_op_that_reads_is_found_within_the_model_s_own():
    trace = timeline(
        """
        step     | 1111111111111111 |
        op       | mmmmmmmmmmm..... |
        op       | .aaaaaaaa....... |
        op       | ..iiiiii........ |
        runtime  | k..csss.....q... |
        kernel 7 | .kkkk........qqq |
        memcpy 7 | .....c.......... |""",
        names={"m": "mylib::checked", "a": "aten::allclose", "i": "aten::_local_scalar_dense"},
        calls={"c": "cudaMemcpyAsync", "s": "cudaStreamSynchronize"},
    )
    ((row),) = blocking_rows(trace, 0)
    assert (row.op, row.reads, row.outer_op) == ("aten::_local_scalar_dense", "aten::allclose", "mylib::checked")


#: Each read is a call that waits.
CALLS_OF_READS = str.maketrans({"u": "k", "n": ".", "i": "s", "j": "t"})
CHECK = "aten::_amp_foreach_non_finite_check_and_unscale_"


@pytest.mark.parametrize(
    ("ops", "update", "read_by"),
    [
        ("u......iii..", "........o...", [CHECK]),
        ("u..nn..iii..", "........o...", [CHECK]),  # gradients were clipped by their norm
        ("u..njjjiii..", "........o...", [None, CHECK]),  # the norm is read, too
        ("u......iii.n", "........o...", [None]),  # other work comes before the optimizer
        ("u......iii..", "............", [None]),
        (".......iii..", "........o...", [None]),  # a loss
    ],
    ids=["a scaler", "clipped", "the norm is read", "other work", "no optimizer", "no scaler"],
)
def test_a_scaler_reads_last_before_the_optimizer_what_the_check_of_gradients_found(
    ops: str, update: str, read_by: list[str | None]
):
    trace = drawn(
        f"""
        step                           | {"1" * 24} |
        op                             | {ops}............ |
        user Optimizer.step#AdamW.step | ......{update}...... |
        runtime                        | {ops.translate(CALLS_OF_READS)}.....q...... |
        kernel 7                       | kkkkkkkkkkk.......q..... |""",
        {"u": CHECK, "n": "aten::linalg_vector_norm", "i": "aten::item", "j": "aten::item"},
    )
    rows = sorted(blocking_rows(trace, 0), key=lambda row: row.worst_start_ns)
    assert [row.checks for row in rows] == read_by


def test_work_launched_between_parts_calls_of_one_op():
    trace = drawn(
        """
        step     | 00000000000000000000 |
        op       | uuuuuuuuuuuuuuuuuu.. |
        runtime  | css..k.dtt.......... |
        kernel 7 | ......k............. |
        memcpy 7 | .c......d........... |""",
        ITEM | {"u": "aten::_unique2", "d": "Memcpy DtoH (Device -> Pageable)"},
    )
    assert groups_us(trace) == [(0, 3, 3, "pageable_copy"), (7, 10, 3, "pageable_copy")]
    (row,) = blocking_rows(trace, 0)
    assert (row.op, row.count, row.blocked_ns) == ("aten::_unique2", 2.0, 6_000)


def test_two_threads_are_two_groups():
    trace = drawn("""
        step          | 00000000000000000000 |
        op            | aaaaaaaaaa.......... |
        op other      | bbbbbbbbbb.......... |
        runtime       | .ssss............... |
        runtime other | ...ttttt............ |""")
    assert groups_us(trace) == [(1, 5, 4, "sync"), (3, 8, 5, "sync")]


def test_bubbles_end_where_the_next_group_begins():
    trace = drawn("""
        step     | 00000000000000000000 |
        runtime  | k.sssss..tttttt...q. |
        kernel 7 | .kkkk.............qq |""")
    assert bubbles_us(trace) == [(5, 9, 4), (9, 15, 6)]


def test_queued_work_is_no_bubble_and_a_wait_for_a_batch_neither():
    trace = drawn("""
        step     | 000000000000000000000000 |
        loader   | ........llll............ |
        runtime  | kj.sssssss....q......... |
        kernel 7 | .kk.jj........qqqqqqqqqq |""")
    assert bubbles_us(trace) == [(6, 14, 4)]


def test_after_the_last_activity_nothing_is_lost():
    trace = drawn("""
        step     | 0000000000 |
        runtime  | k.ssss.... |
        kernel 7 | .kkk...... |""")
    assert (groups_us(trace), bubbles_us(trace)) == ([(2, 6, 4, "sync")], [])


def test_the_profilers_own_calls_are_none_of_the_training_s():
    trace = drawn("""
        step     | ..00000.....111111........ |
        runtime  | ss.k......t...q.......yyyy |
        kernel 7 | ....kkkk.......qqqqqqqq... |""")
    assert groups_us(trace) == [(10, 11, 1, "sync")]


def test_a_bubble_of_another_device_is_its_own():
    trace = drawn("""
        step          | 00000000000000000000 |
        runtime       | kj.sssssssss...q.... |
        kernel 7 gpu0 | .kkkkkkkkkk.....qqqq |
        kernel 7 gpu1 | ..jj................ |""")
    assert bubbles_us(trace, 0) == [(11, 16, 5)]
    assert bubbles_us(trace, 1) == []


def test_alike_groups_are_one_row_and_the_costliest_comes_first():
    trace = drawn(
        """
        step      | 00000000000000000000111111111111111111111 |
        user eval | ..............................uuuuuuu.... |
        op        | ..aaaaaa.............aaaaaaaa............ |
        runtime   | k..ssss...q....mm...j.tttt..r..yyy.....p. |
        kernel 7  | .kkk......qq.........jjj....rr.........pp |""",
        {"a": "aten::nonzero"},
    )
    rows = blocking_rows(trace, 0)
    assert [(row.op, row.call, row.user_range, row.kind, row.count) for row in rows] == [
        ("aten::nonzero", "cudaStreamSynchronize", None, "sync", 1.0),
        (None, "cudaDeviceSynchronize", "eval", "sync", 0.5),
        (None, "cudaMalloc", None, "allocator", 0.5),
    ]
    assert [(row.blocked_ns, row.bubble_ns) for row in rows] == [(4_000, 4_000), (1_500, 1_500), (1_000, 1_000)]
    assert [(row.worst_step, row.worst_start_ns, row.worst_end_ns) for row in rows] == [
        ("0", 3_000, 8_000), ("1", 31_000, 34_000), ("0", 15_000, 17_000),
    ]  # fmt: skip


def test_a_wait_in_the_backward_pass_names_the_op_that_made_it():
    trace = timeline(
        """
        step       | 00000000000000000000 |
        python     | ttttttttttt......... |
        python     | .MMMM............... |
        op         | ..ff................ |
        op engine  | .......nnnnnnnn..... |
        op engine  | ........uuuuuu...... |
        runtime    | ..k................. |
        runtime engine | .........sss..q. |
        kernel 7   | ...kkkk........qqqq. |""",
        names={
            "f": "aten::embedding", "n": "autograd::engine::evaluate_function: EmbeddingBackward0",
            "u": "aten::_coalesce", "t": "train.py(12): step", "M": "nn.Module: Embedding_0",
        },
        calls=CALLS,
        sequences={"f": (7, 0), "n": (7, 1)},
    )  # fmt: skip
    (row,) = blocking_rows(trace, 0)
    assert (row.op, row.outer_op, row.phase, row.site) == (
        "aten::_coalesce", "autograd::engine::evaluate_function: EmbeddingBackward0", "backward", "backward.nodes",
    )  # fmt: skip
    assert (row.source, row.forward_op, row.forward_module) == (None, "aten::embedding", "Embedding_0")
    assert row.forward_source == "train.py(12): step"


def test_events_that_are_waited_for_on_an_idle_device_cost_nothing(trace_path: Callable[[str], Path]):
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    (row,) = blocking_rows(trace, 0)
    assert (row.call, row.kind, row.op, row.count) == ("cudaEventSynchronize", "sync", None, 8.0)
    assert (row.blocked_ns, row.bubble_ns) == (26_245, 26_245)


def test_a_pageable_batch_costs_what_it_leaves_idle(trace_path: Callable[[str], Path]):
    """Two copies a step, of the images and of the labels, each followed by a synchronize."""
    trace = read_real(trace_path("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz"))
    (row,) = blocking_rows(trace, 0)
    assert (row.op, row.outer_op, row.call, row.kind) == (
        "aten::copy_", "aten::to", "cudaMemcpyAsync + cudaStreamSynchronize", "pageable_copy",
    )  # fmt: skip
    assert (row.count, row.bytes, row.source) == (2.0, 19_267_840, "resnet50_profiler_api.py(44): <module>")
    assert 0 < row.bubble_ns < row.blocked_ns


def launching(waits: str) -> Trace:
    """Five steps of five kernels of 30 us; w: the launch waits for the end of its kernel, r: it returns at once."""
    calls, kernels = {"w": "wwwww.", "r": "w....."}, {"w": ".www..", "r": ".www.."}
    length = 6 * len(waits)
    letters = [chr(ord("A") + place) for place in range(len(waits))]
    drawn = [
        "".join(cells[each].replace("w", letter) for each, letter in zip(waits, letters, strict=True))
        for cells in (calls, kernels)
    ]
    steps = "".join(str(place * 5 // length) for place in range(length))
    return timeline(f"step | {steps} |\nruntime | {drawn[0]} |\nkernel 7 | {drawn[1]} |", cell_ns=10_000)


def test_launches_that_all_wait_for_their_kernels_block_and_others_do_not():
    assert len(blocking_launches(launching("w" * 25))) == 25
    assert len(blocking_launches(launching("w" * 24 + "r"))) == 24
    assert len(blocking_launches(launching("w" * 23 + "rr"))) == 0
    assert len(blocking_launches(launching("w" * 19))) == 0  # as many may wait by chance


def test_a_process_whose_launches_all_wait_is_told_of_the_variable_that_makes_them():
    insight = sure(launching("w" * 25), "sync_bubble")
    assert insight.how == "unset CUDA_LAUNCH_BLOCKING"
    assert 140_000 <= insight.gain_ns <= 150_000  # the GPU is idle for half of each 60 us
    assert card(launching("r" * 25), "sync_bubble") is None
