"""Messages that one NCCL kernel exchanges, of ops that asked for them before its launch."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.communication.exchanges import exchanges
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Reason
from tb_steptime.trace.model import Job, ProcessGroup, Trace
from tests.drawn.columns import Exchange
from tests.drawn.exchanging_ranks import rank
from tests.drawn.timeline import timeline

RANKS = 3
KERNEL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def message(name: str, peer: int, elements: int = 100) -> Exchange:
    return Exchange(name, "Half", elements, "7", RANKS, "[0, 1, 2]", "mesh_pp", peer=peer)


#: S, s: sends; R, r: receives; large letters to and from the next rank, small ones the previous.
def asked(number: int) -> dict[str, Exchange]:
    return {
        "S": message("send", number + 1), "s": message("send", number - 1, 7),
        "R": message("recv", number + 1, 7), "r": message("recv", number - 1),
    }  # fmt: skip


def drawn(number: int, ops: str, kernels: str = "bb", first: str = "..") -> Trace:
    """One step of one batch: its ops, its launch, and its kernel."""
    return timeline(
        f"""
        step    | {"0" * 24} |
        op      | {ops:.<23s}. |
        runtime | {"." * 16}b....... |
        nccl 9  | {"." * 17}{first}{kernels:.<5s} |
        """,
        names={**dict.fromkeys("SsRr", "record_param_comms"), "b": KERNEL},
        exchanges=asked(number),
        job=Job(rank=number, world_size=RANKS, groups=(ProcessGroup("7", "mesh_pp", (0, 1, 2)),)),
    )


@pytest.mark.parametrize(
    ("number", "ops", "peer", "sends", "size", "batched"),
    [
        (0, "SSS", 1, True, 200, False),  # one op, drawn three cells wide
        (1, "rr", 0, False, 200, False),
        (0, "S.S", 1, True, 400, True),
        (1, "r.r", 0, False, 400, True),
        (0, "S.R", 1, True, 214, True),  # in both directions: sent by the rank with the lower number
        (1, "r.s", 0, False, 214, True),
        (1, "s.r", 0, False, 214, True),
        (1, "S.r", -1, True, 400, True),  # with two ranks
    ],
)
def test_a_kernel_exchanges_what_was_asked_for_before_its_launch(
    number: int, ops: str, peer: int, sends: bool, size: int, batched: bool
):
    found = find_collectives(drawn(number, ops))
    assert [found.peer.tolist(), found.bytes.tolist(), found.batched.tolist()] == [[peer], [size], [batched]]
    assert peer < 0 or found.sends.tolist() == [sends]
    (one,) = exchanges(drawn(number, ops)).classes
    assert (one.kind, one.peer, one.bytes, one.batched) == ("send_receive", None if peer < 0 else peer, size, batched)
    assert [group.name for group in exchanges(drawn(number, ops)).groups] == ["7"]


def test_messages_with_a_launch_of_their_own_are_not_of_a_batch():
    trace = timeline(
        """
        step    | 000000000000000000000000 |
        op      | SSSS.R.r................ |
        runtime | ..p......b..b........... |
        nccl 9  | ...pppp...bbb..bbb...... |
        """,
        names={**dict.fromkeys("SRr", "record_param_comms"), "b": KERNEL, "p": KERNEL},
        exchanges=asked(1),
        job=Job(rank=1, world_size=RANKS),
    )
    found = find_collectives(trace)
    assert found.peer.tolist() == [2, -1, -1]  # the second batch has no ops: nothing is recorded of it
    assert found.batched.tolist() == [False, True, False]


def job_of(*ops: str) -> JobRanks:
    """Three ranks, each with the same batch in three steps."""
    spans = []
    for number, own in enumerate(ops):
        (one,) = exchanges(drawn(number, own)).classes
        groups = tuple(exchanges(drawn(number, own)).groups)
        lengths = {"b": 100 + 50 * number}
        spans.append(rank(number, "b b b", classes={"b": one}, groups=groups, lengths=lengths))
    return job_ranks(spans)


def test_batches_of_two_ranks_are_matched_in_both_directions():
    job = job_of("S.R", "r.s")
    assert [(each.source, each.target, each.bytes, each.count) for each in job.pairs] == [(0, 1, 214, 2)]
    (pair,) = job.pairs
    assert (pair.transfer_ns, pair.sender_wait_ns, pair.receiver_wait_ns) == (200, 0, 100)


def test_batches_with_several_ranks_say_why_they_are_not_matched():
    job = job_of("S", "S.r", "r")
    assert (job.pairs, job.what_if) == ([], None)
    assert job.what_if_reason == Reason("messages_with_several_ranks")
