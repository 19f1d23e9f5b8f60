"""Rows that all-to-alls exchange, from what NCCL records and from the inputs of the op that asks."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.communication.exchanges import exchanges
from tb_steptime.metrics.communication.routed_rows import routed_rows, rows_of_op
from tests.drawn.columns import Exchange
from tests.drawn.timeline import timeline


def alltoall(sent: str | None, received: str | None, elements: int) -> Exchange:
    return Exchange("all_to_allv", "BFloat16", elements, "1", 2, rows_sent=sent, rows_received=received)


@pytest.mark.parametrize(
    ("sent", "received", "elements", "rows"),
    [
        ("[102, 410]", "[102, 102]", 512 * 256, (512, 204, 256)),
        ("[102, 102]", "[102, 410]", 512 * 256, (204, 512, 256)),
        ("[0, 0]", "[3, 4]", 7 * 8, (0, 7, 8)),
        ("[]", "[]", 512 * 256, (-1, -1, -1)),  # equally many: what a row is, is not recorded
        ("[8, 4, ..., 9]", "[2, 2, ..., 2]", 4096, (-1, -1, -1)),
        ("[102, 410]", "[102, 102]", 512 * 256 + 1, (-1, -1, -1)),  # no whole number of elements a row
        (None, None, 512 * 256, (-1, -1, -1)),
    ],
)
def test_rows_are_the_sums_of_the_splits_that_nccl_records(
    sent: str | None, received: str | None, elements: int, rows: tuple[int, int, int]
):
    trace = timeline(
        """
        step     | 000000000000 |
        runtime  | k.r.a....... |
        kernel 7 | .kk......... |
        nccl 9   | ...rrraaa... |
        """,
        exchanges={"r": ("allreduce", "Float", 1024, "0", 2), "a": alltoall(sent, received, elements)},
    )
    found = routed_rows(trace)
    assert list(zip(found.sent.tolist(), found.received.tolist(), found.width.tolist(), strict=True)) == [
        (-1, -1, -1),
        rows,
    ]
    classes = exchanges(trace).classes
    assert [(one.rows_sent, one.rows_received, one.width) for one in classes if one.kind == "all_to_all"] == [
        tuple(None if each < 0 else each for each in rows)
    ]


@pytest.mark.parametrize(
    ("shapes", "splits", "rows"),
    [
        ("[[820,2,128],[512,2,128],[],[],[]]", ("[410, 410]", "[102, 410]"), (512, 820, 256)),
        ("[[820,256],[512,256],[],[],[]]", ("", ""), None),  # equal splits
        ("[[820,256],[512,256],[],[],[]]", ("[410, 410]", "[102, 409]"), None),  # not of this tensor
        ("[[820,256],[512,128],[],[],[]]", ("[410, 410]", "[102, 410]"), None),
        ("[[820],[512],[],[],[]]", ("[410, 410]", "[102, 410]"), None),  # numbers, not rows
        ("[]", ("[410, 410]", "[102, 410]"), None),
    ],
)
def test_rows_of_an_op_are_those_that_its_splits_share_out(
    shapes: str, splits: tuple[str, str], rows: tuple[int, int, int] | None
):
    received, sent = splits
    assert rows_of_op(shapes, f'["","","","{received}","{sent}","-1"]') == rows
