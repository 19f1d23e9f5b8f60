"""A last all-gather that takes far longer on all ranks: it gathers more, or it waits for something."""

from __future__ import annotations

import pytest

from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.ranks import ranks_headline
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.spans import RankSpan, rank_span
from tests.drawn.cards import analysed
from tests.drawn.timeline import timeline

MS = 1_000_000
#: Lengths of the last all-gather and of the others, ms.
LAST, OTHERS = 24, 2


def span_of(rank: int, behind: int) -> RankSpan:
    """Inference: an all-gather follows each of nine layers, and a kernel of 3 ms reads it. One more ends the step; the
    kernel that reads it takes so long, ms."""
    layers, length = "kkk....", 7 * 9 + 3 + LAST + behind + 1
    trace = timeline(
        f"""
        step     | {"5" * length} |
        op       | {"m." * 10:.<{length}} |
        runtime  | {"k" + "y" * (length - 1)} |
        kernel 7 | {"." + layers * 9 + "kkk" + "." * LAST + "r" * behind} |
        nccl 7   | {"." + "...cc.." * 9 + "..." + "c" * LAST + "." * behind} |""",
        names={
            "m": "aten::addmm",
            "k": "gemm",
            "r": "CatArrayBatchedCopy",
            "c": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096>)",
        },
        calls={"y": "cudaStreamSynchronize"},
        cell_ns=MS,
    )
    results = analysed(trace)
    return rank_span(results, key=str(rank), worker=f"rank{rank}", rank=rank, host="node0", world_size=2)


@pytest.mark.parametrize(
    ("behind", "more"),
    [((15, 15), True), ((15, 14), False), ((3, 3), False)],
    ids=["on both ranks", "on one rank", "on none"],
)
def test_a_last_all_gather_that_gathers_more_is_a_transfer(behind: tuple[int, int], more: bool):
    job = job_ranks([span_of(rank, each) for rank, each in enumerate(behind)])
    stalled_ns = 0 if more else (LAST - OTHERS) * MS
    (row,) = job.collectives
    assert (row.count, row.transfer_ns) == (10, 2 * (9 * OTHERS + LAST) * MS)
    assert (row.stalled, row.stalled_ns) == (int(not more), 2 * stalled_ns)
    assert (row.larger, row.larger_ns) == (int(more), 2 * LAST * MS * more)
    cards = [each for each in judge_job(job) if each.id == "larger_gathers"]
    assert [(each.about_ns, each.gain_ns) for each in cards] == [(LAST * MS, 0)] * more
    for each in cards:
        assert {name: value.value for name, value in each.why.values.items()} == {
            "last": LAST * MS, "others": OTHERS * MS
        }  # fmt: skip
    assert [note.id for note in job.notes if note.id == "collectives_stalled"] == ["collectives_stalled"] * (not more)
    assert job.exchange is not None
    assert job.exchange.exposed_stall_ns == stalled_ns
    headline = ranks_headline(job).verdict.values
    assert headline["transfer"].value == job.exchange.exposed_transfer_ns - stalled_ns
