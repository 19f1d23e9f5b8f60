"""Which collectives of different ranks are the same collective."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup
from tb_steptime.metrics.communication.packed import packed
from tb_steptime.ranks.arrivals import arrivals, on_shared_clocks
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.matching import Matching, instances_of, match
from tb_steptime.ranks.spans import RankSpan, step_names
from tb_steptime.text import Reason, count
from tests.drawn.exchanging_ranks import STEP_NS, A, B, rank
from tests.drawn.met_ranks import CLOCKS, REDUCE, met_group

EXCHANGED = {"a": A, "b": B}


def matching(*spans: RankSpan) -> Matching:
    names = step_names(spans)
    return match(instances_of(spans, names), len(names))


def told(found: Matching) -> list[list[tuple[int, str]]]:
    """For each group, the step and the kind of every matched collective."""
    return [
        [(int(step), each.classes[number].kind) for step, number in zip(each.step, each.of, strict=True)]
        for each in found.matched
    ]


def test_the_nth_of_a_group_in_a_step_is_the_nth_on_the_others():
    found = matching(rank(0, "ab ab", lengths={"a": 300}), rank(1, "ab ab", lengths={"b": 200}))
    assert told(found) == [[(0, "all_reduce"), (0, "all_gather"), (1, "all_reduce"), (1, "all_gather")]]
    assert found.matched[0].length.tolist() == [[300, 100], [100, 200], [300, 100], [100, 200]]
    assert (found.unlike, found.alone) == (0, 0)


def test_steps_are_the_same_by_their_names():
    found = matching(rank(0, "a b a"), rank(1, "b a", first_step=2))
    assert told(found) == [[(1, "all_gather"), (2, "all_reduce")]]


def test_a_step_with_more_of_them_on_one_rank_is_not_matched():
    found = matching(rank(0, "ab ab"), rank(1, "ab aab"))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (0, "all_gather")]], 3)


def test_other_kinds_at_one_place_are_not_matched():
    found = matching(rank(0, "aab"), rank(1, "aba"))
    assert (told(found), found.unlike) == ([[(0, "all_reduce")]], 2)


def test_other_sizes_are_not_matched_but_where_ranks_may_send_what_they_like():
    other = ExchangeClass("all_reduce", 0, 4000, "Float", "backward.hooks")
    found = matching(rank(0, "a"), rank(1, "a", classes={"a": other}))
    assert (told(found), found.unlike) == ([[]], 1)
    few, many = (ExchangeClass("all_to_all", 0, size, "Float", "forward.model") for size in (100, 900))
    found = matching(rank(0, "a", classes={"a": few}), rank(1, "a", classes={"a": many}))
    assert (told(found), found.matched[0].alike.tolist()) == ([[(0, "all_to_all")]], [False])


def test_with_numbers_a_rank_that_starts_later_is_matched_from_there():
    late = rank(1, "..b ab", first_number=7, lengths={"b": 300})
    found = matching(rank(0, "aab ab", first_number=7), late)
    assert (told(found), found.unlike) == ([[(1, "all_reduce"), (1, "all_gather")]], 3)  # the first step is incomplete
    assert found.matched[0].length.tolist() == [[100, 100], [100, 300]]
    found = matching(rank(0, "aab", first_number=7), rank(1, "..b", first_number=7, lengths={"b": 300}))
    assert (told(found), found.unlike) == ([[(0, "all_gather")]], 2)


def test_with_numbers_all_but_what_a_rank_lost_is_matched():
    found = matching(*(rank(place, drawn, first_number=41) for place, drawn in enumerate(["aaab", "a.ab", "aaa."])))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (0, "all_reduce")]], 2)


def test_equally_many_are_not_the_same_where_their_numbers_differ():
    """Each rank lost one collective, but not the same one."""
    drawn = ["aa.a", "a.aa"]
    found = matching(*(rank(place, letters, first_number=0) for place, letters in enumerate(drawn)))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (0, "all_reduce")]], 2)
    assert told(matching(rank(0, "aa", first_number=0), rank(1, "aa", first_number=90))) == [[]]


def test_ranks_of_a_release_without_numbers_are_matched_in_order():
    found = matching(rank(0, "ab aab", first_number=3), rank(1, "ab ab"))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (0, "all_gather")]], 3)


def test_a_number_in_another_step_is_another_collective():
    found = matching(rank(0, "aa a", first_number=0), rank(1, "a aa", first_number=0))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (1, "all_reduce")]], 2)


def test_of_a_number_that_several_have_all_are_matched_or_none():
    """`_coalescing_manager` runs such collectives as one."""
    both = [rank(0, "aab", first_number=0), rank(1, "aab", first_number=0)]
    same = [with_numbers(span, [5, 5, 6]) for span in both]
    assert told(matching(*same)) == [[(0, "all_reduce"), (0, "all_reduce"), (0, "all_gather")]]
    found = matching(same[0], with_numbers(rank(1, "ab", first_number=0), [5, 6]))
    assert (told(found), found.unlike) == ([[(0, "all_gather")]], 2)


def replays(letters: str, numbers: list[int], place: int) -> RankSpan:
    return with_numbers(rank(place, letters, first_number=0), numbers)


def test_replays_of_a_graph_repeat_their_numbers_and_are_matched_in_order():
    both = [replays("aabaab", [41, 42, 43] * 2, place) for place in range(2)]
    kinds = ["all_reduce", "all_reduce", "all_gather"]
    found = matching(*both)
    # collectives with the same number are adjacent, the first replay's before the second's
    assert sorted(told(found)[0]) == sorted((0, kind) for kind in kinds * 2)
    start = found.matched[0].start
    assert ((start[:, 0] - start[0, 0]) == (start[:, 1] - start[0, 1])).all()


def test_of_replays_that_lost_different_ones_nothing_is_matched_by_number_alone():
    """Each rank has one 42 left, from different replays; only the second step is complete."""
    lost = [
        replays("aabab aab", [41, 42, 43, 41, 43, 41, 42, 43], 0),
        replays("abaab aab", [41, 43, *[41, 42, 43] * 2], 1),
    ]
    found = matching(*lost)
    assert told(found) == [[(1, "all_reduce"), (1, "all_reduce"), (1, "all_gather")]]
    assert found.unlike == 5


def test_numbers_match_what_ranks_start_in_another_order_on_two_streams():
    found = matching(replays("aab", [1, 3, 2], 0), replays("aba", [1, 2, 3], 1))
    assert (told(found), found.unlike) == ([[(0, "all_reduce"), (0, "all_gather"), (0, "all_reduce")]], 0)


def with_numbers(span: RankSpan, numbers: list[int]) -> RankSpan:
    """Replaces the sequence number of each collective."""
    result = span.results["ranks"]
    assert isinstance(result, RanksResult)
    exchanges = msgspec.structs.replace(result.exchanges, sequence=packed(np.array(numbers, np.int64)))
    return replace(span, results={"ranks": RanksResult(exchanges)})


def test_groups_are_told_apart_by_name_and_ranks():
    pairs = [(ExchangeGroup("1", 2, "", [0, 1]),), (ExchangeGroup("1", 2, "", [2, 3]),)]
    found = matching(*(rank(number, "a", groups=pairs[number // 2]) for number in range(4)))
    assert [each.members.tolist() for each in found.matched] == [[0, 1], [2, 3]]


def test_groups_of_one_name_whose_ranks_are_not_listed_may_be_several():
    found = matching(*(rank(number, "aa", groups=(ExchangeGroup("1", 2),)) for number in range(4)))
    assert (found.matched, found.alone) == ([], 2)


@pytest.mark.parametrize(("world_size", "matched"), [(4, 0), (2, 1), (None, 1)])
def test_two_ranks_of_a_larger_job_may_be_of_two_groups_of_one_name(world_size: int | None, matched: int):
    """These are ranks 0 and 2 of four, where ranks 0 and 1 form one group, and ranks 2 and 3 the other."""
    spans = [replace(rank(number, "aa", groups=(ExchangeGroup("1", 2),)), world_size=world_size) for number in (0, 2)]
    job = job_ranks(spans)
    assert (job.matched_steps, "collectives_alone" in [note.id for note in job.notes]) == (matched, not matched)


def test_sends_and_what_no_name_tells_are_not_matched():
    sent = ExchangeClass("send_receive", 0, 64, "Float", "forward.model")
    unknown = ExchangeClass("unknown", 0, None, None, "forward.model")
    job = job_ranks([rank(number, "su", classes={"s": sent, "u": unknown}, exposed=40) for number in (0, 1)])
    assert job.unmatched == Reason("no_matched_collectives")
    assert [(row.bytes, row.count, row.running_ns, row.exposed_ns, row.hidden_ns) for row in job.messages] == [
        (64, 2, 200, 80, 120)
    ]


def test_ranks_of_a_host_that_number_their_steps_differently_are_not_matched():
    """What rank 0 calls step 1 is step 4 on rank 1, so that steps of the same name are three steps apart."""
    first, late = rank(0, "aa aa aa aa aa"), replace(rank(1, "aa aa aa aa aa"), origin_ns=3 * STEP_NS)
    job = job_ranks([replace(first, host="node1"), replace(late, host="node1")])
    assert (job.unmatched, [note.id for note in job.notes]) == (
        Reason("no_matched_collectives"), ["ranks_number_steps_differently"]
    )  # fmt: skip
    assert job.notes[0].values == {"count": count(8)}
    on_two_hosts = job_ranks([replace(first, host="node1"), replace(late, host="node2")])
    assert [job.matched_steps for job in (on_two_hosts, job_ranks([first, late]))] == [4, 4]


def test_the_first_of_many_steps_is_left_out():
    """In the first step, ranks wait for each other's profiler to start."""
    spans = [rank(0, "a a a", lengths={"a": 900}), rank(1, "a a a")]
    assert (job_ranks(spans).matched_steps, job_ranks(spans).ranks[0].wait_ns) == (2, 1600)


def test_what_is_not_matched_is_said():
    job = job_ranks([rank(0, "a a ab"), rank(1, "a a aab")])
    assert [(note.id, note.values) for note in job.notes] == [
        ("collectives_unlike", {"count": count(3), "all": count(4)})
    ]


def test_a_broadcast_does_not_show_who_is_late():
    """The root of a broadcast may finish before the others arrive."""
    sent = ExchangeClass("broadcast", 0, 64, "Float", "forward.buffer_broadcast")
    job = job_ranks([rank(number, "b b", classes={"b": sent}, lengths={"b": 100 + 900 * number}) for number in (0, 1)])
    assert [row.wait_ns for row in job.ranks] == [0, 0]
    assert [(row.role, row.transfer_ns, row.wait_ns, row.running_ns) for row in job.collectives] == [
        ("buffers", 400, 1800, 2200)
    ]


@pytest.mark.parametrize(
    ("lengths", "waits", "transfers"),
    [
        ((900, 100), (800, 0), 200),  # rank 1 is sent more, and arrives last: the other waits
        ((100, 900), (0, 0), 1_000),  # all of the difference may be what rank 1 is sent
    ],
)
def test_a_rank_that_is_sent_more_may_need_longer_and_does_not_wait_then(
    lengths: tuple[int, int], waits: tuple[int, int], transfers: int
):
    """MoE and embedding tables send unequally. What a rank waits is a part of its all-to-all all the same."""
    sent = [ExchangeClass("all_to_all", 0, size, "Float", "forward.model") for size in (1_000, 4_000)]
    job = job_ranks(
        [rank(number, "x", classes={"x": sent[number]}, lengths={"x": lengths[number]}) for number in (0, 1)]
    )
    assert [row.wait_ns for row in job.ranks] == list(waits)
    assert [(row.transfer_ns, row.wait_ns, row.running_ns) for row in job.collectives] == [
        (transfers, sum(waits), sum(lengths))
    ]


def test_of_unknown_bytes_unequal_exchanges_show_no_waits():
    known, unknown = (ExchangeClass("all_to_all", 0, size, "Float", "forward.model") for size in (1_000, None))
    spans = [rank(0, "x", classes={"x": known}, lengths={"x": 900}), rank(1, "x", classes={"x": unknown})]
    assert [row.wait_ns for row in job_ranks(spans).ranks] == [0, 0]


@pytest.mark.parametrize(
    ("hosts", "ahead_ns", "waits"),
    [
        (("node", "node"), 0, [[0, 4], [0, 0]]),
        (("node", "node"), 1_000_000, [[0, 4], [0, 5]]),
        (("node", "other"), 0, [[0, 4], [0, 5]]),
        ((None, None), 0, [[0, 4], [0, 5]]),
    ],
    ids=["one clock", "two clocks on one host", "two hosts", "hosts not known"],
)
def test_ranks_that_share_a_clock_wait_no_longer_than_until_the_last_one_begins(
    hosts: tuple[str | None, str | None], ahead_ns: int, waits: list[list[int]]
):
    """Both begin the second collective together, and rank 1 takes longer by itself."""
    found = met_group("....==.....==......",
                      "======.....=======.")  # fmt: skip
    found = replace(found, start=found.start - np.array(CLOCKS[:2]) + np.array([0, ahead_ns]))
    (bounded,) = on_shared_clocks(Matching([found], 0, 0), hosts).matched
    assert bounded.wait_ns.tolist() == waits
    assert bounded.off_ns.tolist() == [[0, 0], [0, 5 - waits[1][1]]]


@pytest.mark.parametrize(
    ("root", "others", "hosts", "waits"),
    [
        ("....==", "======", "node", [0, 4]),  # the root comes last: the others wait for it
        ("==....", "....==", "node", [0, 0]),  # the root left before the others came
        ("....==", "======", None, [0, 0]),  # without a common clock it is not known which of both it was
    ],
)
def test_ranks_wait_in_a_broadcast_that_nobody_left_before_all_had_come(
    root: str, others: str, hosts: str | None, waits: list[int]
):
    sent = msgspec.structs.replace(REDUCE, kind="broadcast")
    found = met_group(root, others)
    found = replace(found, classes=[sent], start=found.start - np.array(CLOCKS[:2]))
    matching = Matching([replace(found, later_ns=found.start.max() - found.start) if hosts else found], 0, 0)
    assert arrivals(matching.matched, 2, 1).exposed_wait_ns.tolist() == waits
