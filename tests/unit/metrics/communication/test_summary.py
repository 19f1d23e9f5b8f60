"""Which part of communication is exposed, may be waiting, or is in a row: on drawn traces; its laws on real ones."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.analyses import quality
from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.communication import summary
from tb_steptime.metrics.communication.collectives import KINDS, find_collectives
from tb_steptime.metrics.communication.est_waits import est_wait_ns
from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.communication.summary import CollectiveRow, Communication, InARow, communication
from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.steps.parts import step_breakdown
from tb_steptime.text import count
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

MS = 1_000_000
ALL_REDUCE = ("allreduce", "Float", 250_000, "0", 8)


def test_two_steps_with_a_hidden_and_two_exposed_collectives():
    trace = timeline(
        """
        step      | 00000000000000000000111111111111111111111 |
        runtime   | kabsud..............lqrvwyz.............. |
        kernel 7  | .kkkkkk...ss.uu......lll..vv.wyz......... |
        nccl 40   | ..aaaaaaaa..........................rrrr. |
        nccl 41   | ....bbbb............qqqqq................ |
        memcpy 9  | .................dd.......xx.............. |""",
        exchanges={"a": ALL_REDUCE, "q": ALL_REDUCE, "r": ALL_REDUCE, "b": ("broadcast", "Long", 8, "0", 8)},
        cell_ns=MS,
    )
    assert communication(trace) == Communication(
        running_ns=8_500_000,
        exposed_ns=4_500_000,
        wait_ns=1_500_000,
        steady_wait_ns=None,
        computing_ns=9_000_000,
        free_compute_ns=5_000_000,
        rows=[
            CollectiveRow("all_reduce", "all-reduce", "0", 8, "Float", 1.5, 1_500_000, 2.5e8, 8_500_000, 8_000_000,
                4_000_000, 1_000_000, 0, 0, InARow(
                    count=1.0, exposed_ns=2_000_000, bytes=1_000_000, bytes_p50=1_000_000, ns_p50=6_500_000)),
            CollectiveRow("broadcast", "broadcast", "0", 8, "Long", 0.5, 32, 1.6e4, 2_000_000, 4_000_000,
                500_000, 500_000, 0, 0, InARow(
                    count=0.5, exposed_ns=500_000, bytes=32, bytes_p50=64, ns_p50=4_000_000)),
        ],
        examples=[Evidence("1", 36 * MS, 40 * MS), Evidence("0", 7 * MS, 10 * MS), Evidence("1", 20 * MS, 21 * MS),
                  Evidence("1", 24 * MS, 25 * MS)],
        waits=[Evidence("0", 2 * MS, 10 * MS), Evidence("0", 4 * MS, 8 * MS)],
    )  # fmt: skip


def test_what_is_too_much_for_rows_of_its_own_is_one_row(monkeypatch):
    monkeypatch.setattr(summary, "MOST_ROWS", 2)
    monkeypatch.setattr(quality, "MOST_ROWS", 2)
    trace = timeline(
        """
        step      | 00000000000000000000 |
        runtime   | kabc................ |
        kernel 7  | .k.................. |
        nccl 40   | ..aaaabbccccc....... |""",
        exchanges={"a": ALL_REDUCE, "b": ("broadcast", "Long", 8, "0", 8), "c": ("reduce_scatter", "Half", 8, "1", 4)},
    )
    found = communication(trace)
    assert [(row.kind, row.group, row.ranks, row.dtype, row.running_ns, row.exposed_ns) for row in found.rows] == [
        ("unknown", "0", 8, None, 6_000, 6_000),
        ("reduce_scatter", "1", 4, "Half", 5_000, 5_000),
    ]
    assert sum(row.exposed_ns for row in found.rows) == found.exposed_ns
    (summary_note,) = [note for note in quality.notes(trace) if note.id == "many_collectives"]
    assert summary_note.values == {"count": count(3), "most": count(1)}


def test_a_collective_that_takes_longer_than_its_like_is_estimated_to_wait():
    """This needs three alike with no computation beside them; one with few bytes is estimated from its bytes."""
    trace = timeline(
        """
        step      | 000000000000000000000000000000000000000000000000000000000000 |
        kernel 7  | ...............................kkk............k............. |
        nccl 40   | aa..a..bbb..aaaaa..............aaaaa......ccccc.......ccccc. |
        nccl 41   | ...........................f................................ |""",
        exchanges={
            "a": ALL_REDUCE,
            "b": (*ALL_REDUCE[:2], 1000000, "0", 8),
            "c": (*ALL_REDUCE[:3], "1", 2),
            "f": ("broadcast", "Long", 8, "0", 8),
        },
        cell_ns=1_000_000,
    )
    by_cell = dict(zip((find_collectives(trace).start // 1_000_000).tolist(), est_wait_ns(trace).tolist(), strict=True))
    none = dict.fromkeys((4, 7, 42, 54), 0)
    assert by_cell == none | {0: 1_000_000, 12: 4_000_000, 31: 2_000_000, 27: 500_000}


@pytest.mark.parametrize(
    ("third_step", "waits"),
    [("aaaaaaaa.bbb...", [0, 0, 0, 0, 5_000_000, 0]), ("aaaaaaaaa......", [0] * 5), ("aaaaa.bb.bb....", [0] * 7)],
)
def test_collectives_of_unknown_size_are_compared_with_those_at_their_place_in_other_steps(third_step, waits):
    """Where steps differ in their number, what is at one place need not be the same exchange."""
    trace = timeline(
        f"""
        step      | 000000000000000111111111111111222222222222222 |
        nccl 40   | aaa....bbbb....aaaa...bbbb.....{third_step[:-1]} |""",
        cell_ns=1_000_000,
    )
    assert est_wait_ns(trace).tolist() == waits


def test_collectives_on_the_stream_of_the_model_and_on_their_own():
    """Stream 9 has less than a tenth of the computing time, so it is not the stream on which the model computes."""
    trace = timeline("""
        step      | 000000000000000000000000000000 |
        kernel 7  | kkkkkkkkkk.....kkkkkkkkkkk.... |
        kernel 9  | ............................k. |
        nccl 7    | ..........aaa................. |
        nccl 9    | .............bb............... |""")
    found = exposure(trace)
    assert (found.on_compute_stream.tolist(), found.in_a_row.tolist()) == ([True, False], [True, True])
    assert communication(trace).rows[0].compute_stream_ns == 3_000


def test_collectives_between_layers_are_not_in_a_row():
    trace = timeline("""
        step      | 0000000000000000000000 |
        kernel 7  | kkk..abc..abc..abcd... |
        nccl 40   | ...nn...nn...nn....nn. |""")
    assert exposure(trace).in_a_row.tolist() == [False] * 4


def test_without_a_gpu_ops_hide_collectives():
    trace = timeline(
        """
        step                    | 00000000000000 |
        op                      | aaaa....bb.rr. |
        user gloo:all_reduce @1 | ..ggggggg..... |""",
        names={"r": "record_param_comms"},
    )
    found = communication(trace)
    assert (found.running_ns, found.exposed_ns, found.free_compute_ns) == (7_000, 4_000, 3_000)


def test_a_trace_without_collectives():
    assert communication(timeline("step | 00 |\n kernel 7 | kk |")) is None


def _excluded_ns(trace: Trace) -> int:
    """The time of the steps that is left out of judgement, on the device that works longest."""
    devices = devices_by_activity(trace)
    steps = find_steps(trace)
    return int((steps.end_ns - steps.start_ns - judged_ns(trace, devices[0] if devices else None)).sum())


@on_real_traces
def test_on_real_traces_exposed_times_are_the_part_of_the_steps(name: str):
    trace = read_real(name)
    found, shown = communication(trace), exposure(trace)
    parts = sum(each.communication for each in step_breakdown(trace))
    if found is None:
        assert parts == 0 or not len(trace.kernels)  # NCCL's marks in a recording of the CPU only
        return
    left_out = parts - int(shown.exposed_ns.sum())
    assert shown.alone.total_ns + left_out == parts
    assert 0 <= left_out <= _excluded_ns(trace)
    assert sum(row.exposed_ns for row in found.rows) == found.exposed_ns <= found.running_ns
    assert (est_wait_ns(trace) <= shown.exposed_ns).all()
    assert {KINDS[kind] for kind in np.unique(find_collectives(trace).kind)} >= {row.kind for row in found.rows}
