"""A rank that waits for others: what its own CPU and loader save only makes it wait longer.

host   |loader   |launch|  wait for the device         |      the GPU is idle while the loader makes its batch; then
GPU               |k|[collective waits for others ]|==|       it waits for a rank that is late in any case
"""

from __future__ import annotations

import pytest

from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight, Severity
from tb_steptime.metrics.idle.bottleneck import Bound
from tests.drawn.cards import analysed
from tests.drawn.timeline import NCCL_NAME, timeline

CELL = 1_000_000
ALL_REDUCE = ("allreduce", "Float", 1024, "0", 2)


def judged(waits: int) -> tuple[Bound, Insight]:
    """The verdict and the loader's card of four steps; in each an all-reduce takes one cell, and one so much longer."""
    steps = 4
    device = "...........kk" + "n" * (1 + waits) + "m....."
    length = len(device)
    host = "..........knmq" + "q" * (length - 19)
    trace = timeline(
        f"""
        step          | {"".join(str(step) * length for step in range(steps))} |
        loader single | {("l" * 10).ljust(length, ".") * steps} |
        op            | {"..........oooo".ljust(length, ".") * steps} |
        runtime       | {host.ljust(length, ".").replace("q", ".") * steps} |
        runtime       | {host.ljust(length, ".").replace("k", ".").replace("n", ".").replace("m", ".") * steps} |
        kernel 7      | {device.replace("n", ".").replace("m", ".") * steps} |
        nccl 7        | {device.replace("k", ".") * steps} |""",
        names={"n": NCCL_NAME, "m": NCCL_NAME},
        calls={"q": "cudaDeviceSynchronize"},
        exchanges={"n": ALL_REDUCE, "m": ALL_REDUCE},
        cell_ns=CELL,
    )
    judgement = judge(analysed(trace))
    return judgement.verdict.bound, next(card for card in judgement.insights if card.part == "data_loader")


@pytest.mark.parametrize(
    ("waits", "bound", "severity", "now", "later"),
    [(2, Bound.INPUT, Severity.MAJOR, 10_000_000, None), (40, Bound.COMMUNICATION, Severity.MINOR, 0, 10_000_000)],
)
def test_batches_in_time_gain_later_where_the_rank_waits_longer_for_others(
    waits: int, bound: Bound, severity: Severity, now: int, later: int | None
):
    found, card = judged(waits)
    assert (found, card.severity, card.gain_ns, card.later_ns) == (bound, severity, now, later)
