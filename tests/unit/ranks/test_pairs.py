"""Which receive belongs to which send, and which side waits."""

from __future__ import annotations

import numpy as np

from tb_steptime.insights.wording.ranks import ranks_headline
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import MessagePair
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text.printer import plain
from tests.drawn.exchanging_ranks import rank

STAGES = (ExchangeGroup("3", 3, "mesh_pp", [0, 1, 2]),)


def message(peer: int, *, sends: bool, size: int = 64) -> ExchangeClass:
    return ExchangeClass("send_receive", 0, size, "Float", "forward.model", peer=peer, sends=sends)


#: The message of each letter: to or from ranks 0, 1 and 2, small or large.
ENDS = {
    **{letter: message(peer, sends=True) for peer, letter in enumerate("abc")},
    **{letter: message(peer, sends=False) for peer, letter in enumerate("xyz")},
    "B": message(1, sends=True, size=900),
    "X": message(0, sends=False, size=900),
}


def stage(number: int, drawn: str, first_number: int | None = None, **lengths: int) -> RankSpan:
    return rank(number, drawn, classes=ENDS, lengths=lengths, groups=STAGES, exposed=40, first_number=first_number)


def pairs(*stages: RankSpan) -> list[MessagePair]:
    return job_ranks(stages).pairs


def told(*stages: RankSpan) -> list[tuple[int, int, int, int]]:
    """Source, target, number of steps, number of messages."""
    return [(pair.source, pair.target, pair.steps, pair.count) for pair in pairs(*stages)]


def test_who_waits_for_whom():
    found = pairs(stage(0, "bb bb", b=100), stage(1, "xcxc xcxc", x=350, c=700), stage(2, "zz yy", y=500))
    assert found == [
        MessagePair("3", 0, 1, 64, steps=2, count=4, transfer_ns=400, sender_wait_ns=0, receiver_wait_ns=1000,
                    exposed_ns=320),
        MessagePair("3", 1, 2, 64, steps=1, count=2, transfer_ns=1000, sender_wait_ns=400, receiver_wait_ns=0,
                    exposed_ns=160),
    ]  # fmt: skip


def test_sizes_have_a_row_each_and_their_order_counts():
    assert told(stage(0, "bB bB"), stage(1, "xX Xx")) == [(0, 1, 1, 1), (0, 1, 1, 1)]
    assert [pair.bytes for pair in pairs(stage(0, "bB"), stage(1, "xX"))] == [64, 900]


def test_a_step_with_more_of_them_on_one_side_is_not_matched():
    assert told(stage(0, "bb bb"), stage(1, "xx x.")) == [(0, 1, 1, 2)]


def test_equally_many_are_not_the_same_where_a_rank_lost_some():
    """The numbers of a rank continue from step to step, and from its sends to its receives."""
    whole = stage(0, "bb bb bb bb", 7), stage(1, "xx xx xx xx", 90)
    assert told(*whole) == [(0, 1, 3, 6)]  # the first of the four steps is left out
    lost = stage(0, "bb .b bb bb", 7), stage(1, "xx x. xx xx", 90)
    assert told(*lost) == [(0, 1, 1, 2)]
    assert told(stage(0, "bb b.b bb"), stage(1, "xx xx xx")) == [(0, 1, 2, 4)]
    assert told(stage(0, "bb b.b bb", 7), stage(1, "xx xx xx", 90)) == [(0, 1, 1, 2)]


def test_what_no_recorded_rank_takes_is_in_the_sum_of_messages_alone():
    job = job_ranks([stage(0, "bc bc"), stage(1, "x. x.")])
    assert [(pair.source, pair.target) for pair in job.pairs] == [(0, 1)]
    assert [(row.count, row.running_ns) for row in job.messages] == [(6, 600)]


def test_a_pipeline_alone_has_no_collectives_and_says_where_its_waits_are():
    headline = ranks_headline(job_ranks([stage(0, "bb bb"), stage(1, "xx xx", x=300)]))
    assert headline.action is not None
    assert [plain(headline.verdict), plain(headline.action)] == [
        "Ranks send to each other; no collectives of them are matched.",
        "A step takes 1.0 ms on the slowest of them. How long each waits for messages is in the table of sends and "
        "receives.",
    ]


def test_integers_stay_integers():
    job = job_ranks([stage(0, "bB bB"), stage(1, "xX xX")])
    for pair in job.pairs:
        assert isinstance(pair.transfer_ns, int) and not isinstance(pair.transfer_ns, np.integer)
        assert 0 <= pair.exposed_ns <= 2 * pair.transfer_ns + pair.sender_wait_ns + pair.receiver_wait_ns
