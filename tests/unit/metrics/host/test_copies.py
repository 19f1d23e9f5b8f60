"""Copies by direction and kinds of memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_steptime.metrics.gpu.activities import CopyDirection, way
from tb_steptime.metrics.host.copies import CopyRow, copy_rows
from tb_steptime.trace.model import Device
from tests.drawn.real_traces import read_real
from tests.drawn.timeline import A100, V100, timeline


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Memcpy HtoD (Pageable -> Device)", ("HtoD", "Pageable", "Device")),
        ("Memcpy DtoH (Device -> Pinned)", ("DtoH", "Device", "Pinned")),
        ("Memcpy PtoP (Device -> Device)", ("PtoP", "Device", "Device")),
        ("Memcpy HtoD (Host -> Device)", ("HtoD", "Host", "Device")),
        ("CopyHostToDevice", ("HtoD", "Host", "Device")),
        ("CopyDeviceToDevice", ("DtoD", "Device", "Device")),
        ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", ("HtoD", "Host", "Device")),
        ("Memcpy D2H", ("DtoH", "Device", "Host")),
        ("Memcpy D2S", ("DtoS", "Device", "Shared")),
        ("Memcpy", ("Memcpy", "Unknown", "Unknown")),
    ],
)
def test_names_of_copies(name: str, told: tuple[str, str, str]):
    assert way(name) == CopyDirection(*told)


def test_copies_by_their_way():
    trace = timeline(
        """
        step          | 00000000000000000000 |
        op            | aaaa................ |
        op            | .bb................. |
        user to_host  | ..........uuuuuu.... |
        runtime       | k.c.d......essss.... |
        kernel 7      | .kkkkk.............. |
        memcpy 9      | ...ccddd....ee...... |""",
        names={
            "a": "aten::to", "b": "aten::copy_", "c": "Memcpy HtoD (Pinned -> Device)",
            "d": "Memcpy HtoD (Pinned -> Device)", "e": "Memcpy DtoH (Device -> Pageable)",
        },
        calls={"s": "cudaStreamSynchronize"},
        nbytes={"c": 1000, "e": 500},
    )  # fmt: skip
    assert copy_rows(trace) == [
        CopyRow("HtoD", "Pinned", "Device", False, 2.0, 5_000, 3_000, 1_000, 0.5e9, 0, "aten::to", in_a_row=1.0),
        CopyRow("DtoH", "Device", "Pageable", True, 1.0, 2_000, 0, 500, 0.25e9, 5_000, "to_host"),
    ]


def test_copies_hide_behind_kernels_of_their_own_device():
    trace = timeline("""
        step          | 0000000000 |
        runtime       | kc........ |
        kernel 7 gpu0 | .kkkkkk... |
        memcpy 7 gpu1 | ...ccc.... |""")
    (row,) = copy_rows(trace)
    assert (row.total_ns, row.hidden_ns, row.bytes, row.bytes_per_second) == (3_000, 0, None, None)


@pytest.mark.parametrize(
    ("device", "least_ns"),
    [
        (V100, 4_000),
        (A100, 2_000),
        (Device(0, "NVIDIA H200", compute_capability=(9, 0)), 1_000),
        (Device(0, "NVIDIA GH200 480GB", compute_capability=(9, 0)), 140),
        (Device(0, "Orin", compute_capability=(8, 7)), None),  # its CPU and GPU share the memory
        (Device(0, "NVIDIA A100-SXM4-80GB"), None),
        (Device(0, "AMD Instinct MI250X", compute_capability=(9, 0)), None),
    ],
)
def test_the_least_time_is_that_of_the_link_to_the_host(device: Device, least_ns: int | None):
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | c.d....... |
        memcpy 9 | .cccc.ddd. |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoD (Device -> Device)"},
        nbytes={"c": 63_000, "d": 63_000},
        devices={0: device},
    )
    assert {row.direction: row.least_ns for row in copy_rows(trace)} == {"HtoD": least_ns, "DtoD": None}


@pytest.mark.parametrize(
    ("kernels", "in_a_row"),
    [
        (".k..............", 3.0),
        (".kkkkkkkkkkkkk..", 3.0),  # it began before them
        ("....k...........", 2.0),
        ("....k..k..k.....", 0.0),
        (".............kk.", 3.0),
    ],
)
def test_copies_in_a_row_have_no_kernel_of_their_device_between(kernels: str, in_a_row: float):
    """A copy back does not end the row."""
    trace = timeline(
        f"""
        step          | 0000000000000000 |
        runtime       | kc.c.c.cdq...... |
        memcpy 9      | ...c.dc..c..c... |
        kernel 7      | {kernels} |
        kernel 7 gpu1 | .......qqqqqqqqq |""",
        names={"c": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoH (Device -> Pageable)"},
    )
    assert {row.direction: row.in_a_row for row in copy_rows(trace)} == {"HtoD": in_a_row, "DtoH": 0.0}


@pytest.mark.parametrize(
    ("op", "runtime", "created"),
    [
        ("ootttvccc.", "......m...", 1),
        ("ootttvvvvvvccc.", "...........m...", 0),  # long before
        ("oottt.ccc.", "......m...", 1),
        ("ooxxxvccc.", "......m...", 0),  # of data
        ("oo......ccc.", "........m...", 0),  # Python may make it meanwhile
        ("oo..dd.ccc.", "....m..m...", 1),  # the first copy is of it
        ("ccc.oo....", "m.........", 0),
        ("sccc......", ".m........", 0),
    ],
)
def test_tensors_that_an_op_makes_right_before_the_copy_are_created(op: str, runtime: str, created: int):
    trace = timeline(
        f"""
        step     | {"0" * 24} |
        op       | {op.ljust(24, ".")} |
        runtime  | {runtime.ljust(24, ".")} |
        memcpy 9 | {("." + runtime).ljust(24, ".")} |""",
        names={
            "o": "aten::ones", "t": "aten::tril", "v": "aten::view", "x": "aten::index", "s": "aten::stack",
            "c": "aten::to", "d": "aten::to", "m": "Memcpy HtoD (Pageable -> Device)",
        },
        cell_ns=20_000,
    )  # fmt: skip
    (row,) = copy_rows(trace)
    assert row.created_ns == 20_000 * created


def test_copies_outside_the_steps_are_left_out():
    trace = timeline("""
        step     | ....000000 |
        runtime  | c....k..d. |
        kernel 7 | .....kkk.. |
        memcpy 9 | .cc.....d. |""")
    (row,) = copy_rows(trace)
    assert (row.count, row.total_ns) == (1.0, 1_000)


def test_a_pageable_batch(trace_path: Callable[[str], object]):
    trace = read_real(trace_path("kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz"))
    (row,) = copy_rows(trace)
    assert (row.direction, row.source, row.target, row.pageable, row.op) == (
        "HtoD", "Pageable", "Device", True, "aten::to",
    )  # fmt: skip
    assert (row.count, row.bytes, row.hidden_ns) == (2.0, 19_267_840, 0)
    assert row.bytes_per_second == pytest.approx(10.06e9, rel=1e-3)


@pytest.mark.parametrize(
    ("loader", "op", "calls", "made_by"),
    [
        ("ll..........", "..iiiiii....", "........hhh.", "aten::index_select"),
        ("llllllllll..", "..iiiiii....", "..........h.", None),  # the loader makes it
        ("ll..........", "..iiiiii....", ".......khhh.", None),  # what launches may make it, too
        ("ll..........", "..iiiiii....", "....k...hhh.", None),  # the op itself launches
        ("ll..........", "........iiii", "..hhh.......", None),  # it comes later
        ("ll..........", "............", "........hhh.", None),
        ("............", "..iiiiii...j", "............", None),  # the copy's call is not recorded
    ],
)
def test_what_is_copied_is_made_by_an_op_of_the_loop(loader: str, op: str, calls: str, made_by: str | None):
    trace = timeline(
        f"""
        step          | {"0" * 12} |
        loader        | {loader} |
        op            | {op} |
        runtime       | {calls} |
        memcpy 9      | ..........h. |
        kernel 7      | .........k.. |""",
        names={"i": "aten::index_select", "h": "Memcpy HtoD (Pageable -> Device)"},
        nbytes={"h": 1 << 20},
        cell_ns=1_000_000,
    )
    (row,) = copy_rows(trace)
    assert row.made_by == made_by
