"""Cards about a job: what they fire on, what they gain, and that healthy jobs have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.rules.ranks import JOB_RULES, judge_job
from tb_steptime.insights.wording.ranks import path_text, ranks_headline, ranks_titles
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import (
    Cause,
    CauseId,
    DecidingPath,
    JobChange,
    JobCollective,
    JobRanks,
    JobReplay,
    PathRank,
    Role,
)
from tb_steptime.text import phrase
from tb_steptime.text.printer import plain
from tests.drawn.exchanging_ranks import rank
from tests.drawn.simulated_ranks import MS, job_of, job_on_hosts
from tests.truth.simulate.rank_jobs import Declared, run

HEALTHY = Declared(8, spread_ns=100_000, bucket_bytes=(4_194_304,) * 3)


def cards(declared: Declared) -> dict[str, Insight]:
    return {card.id: card for card in judge_job(job_of(run(declared)))}


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_a_healthy_job_has_no_card(ranks: int):
    assert cards(replace(HEALTHY, ranks=ranks)) == {}


def test_the_rank_that_is_last_most_often_is_named_though_others_wait_longer_for_another():
    job = job_of(run(Declared(3, steps=8, spread_ns=6 * MS)))
    assert job.balance == "imbalance"
    longest, other = (
        msgspec.structs.replace(job.late[0], rank=rank, last_share=share) for rank, share in ((0, 0.4), (1, 0.5))
    )
    title = ranks_titles(msgspec.structs.replace(job, late=[longest, other]))["waits"]
    assert plain(title) == "Different ranks arrive last, most often rank 1: at 50 % of the collectives"


def test_a_late_rank_heads_the_cards():
    """Why it is late is below the headline alone, above the cards. The headline fits one line."""
    job = job_of(run(replace(HEALTHY, late={3: 10 * MS})))
    found = {card.id: card for card in judge_job(job)}
    card = found["straggler"]
    assert next(iter(found)) == "straggler"
    assert (plain(card.title), card.severity) == ("Check the GPU of rank 3: its kernels are slower", Severity.MAJOR)
    assert plain(card.why) == "Each other rank waits 10.0 ms a step for rank 3, the latest in 7 of 7 steps."
    below = ranks_headline(job).action
    assert below is not None and len(plain(ranks_headline(job).verdict)) <= 84
    assert plain(below).startswith("Rank 3's GPU takes 10.0 ms a step longer for the same work.")
    assert card.gain_ns == pytest.approx(10 * MS, rel=0.03)
    assert (card.confidence, card.view) == (Confidence.HIGH, "ranks")


def test_a_late_host_has_a_card_of_its_own():
    late = dict.fromkeys(range(4, 8), 10 * MS)
    job = job_on_hosts(run(replace(HEALTHY, ranks=16, late=late)), 4)
    card, *_ = judge_job(job)
    assert (card.id, card.severity) == ("late_ranks", Severity.MAJOR)
    assert plain(card.title) == "Check the GPUs of host node1"
    assert plain(card.why) == "Each other rank waits 10.1 ms a step for host node1, in 7 of 7 steps."
    below = ranks_headline(job).action
    assert below is not None
    assert ", most of all: its GPU takes 10.0 ms a step longer for the same work." in plain(below)
    assert card.gain_ns == pytest.approx(10 * MS, rel=0.03)


def test_ranks_on_cpus_wait_for_cores():
    """Different ranks are late in turn, and nothing shows that one of them has more to do."""
    job = job_of(run(Declared(8, steps=30, spread_ns=6 * MS)))
    assert [card.id for card in judge_job(msgspec.structs.replace(job, on_device=False))] == []
    loads = msgspec.structs.replace(job, on_device=False, imbalance_causes=[Cause("data_loading", 9 * MS, MS, 1.0)])
    assert [card.id for card in judge_job(loads)] == ["imbalance"]


@pytest.mark.parametrize(
    ("cause", "title"),
    [
        ("data_loading", "Load batches faster on rank 1"),
        ("more_work", "Give rank 1 as much work as the others"),
        ("host", "Find what delays the CPU of rank 1"),
        (None, "Find what delays rank 1"),
    ],
)
def test_the_card_says_what_to_do_about_the_cause(cause: CauseId | None, title: str):
    job = job_of(run(replace(HEALTHY, late={1: 8 * MS})))
    causes = [Cause(cause, 9 * MS, MS, 1.0)] if cause else []
    late = msgspec.structs.replace(job.late[0], causes=causes)
    (card,) = (each for each in judge_job(msgspec.structs.replace(job, late=[late])) if each.id == "straggler")
    assert plain(card.title) == title
    assert card.confidence is (Confidence.HIGH if cause else Confidence.MEDIUM)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_what_one_rank_has_too_much_is_shared_by_all(ranks: int):
    """The gain is what a job saves whose ranks share the same total of work equally."""
    uneven, even = (
        run(replace(HEALTHY, ranks=ranks, late=late))
        for late in ({1: 8 * MS}, dict.fromkeys(range(ranks), 8 * MS // ranks))
    )
    job = job_of(uneven)
    late = msgspec.structs.replace(job.late[0], causes=[Cause("more_work", 9 * MS, MS, 1.0)])
    card, *_ = judge_job(msgspec.structs.replace(job, late=[late]))
    gained = (uneven.step_end[-1] - even.step_end[-1]) / len(uneven.step_end)
    assert card.gain_ns == pytest.approx(gained, rel=0.05)


def test_slower_ops_on_a_cpu_are_a_hint():
    """Ranks on a CPU share cores, and another program may run on them."""
    job = job_of(run(replace(HEALTHY, late={1: 8 * MS})))
    late = msgspec.structs.replace(job.late[0], causes=[Cause("cpu_work", 9 * MS, MS, 1.0)])
    card = next(each for each in judge_job(msgspec.structs.replace(job, late=[late])) if each.id == "straggler")
    assert (card.severity, card.confidence) == (Severity.MINOR, Confidence.LOW)


def test_ranks_that_take_turns_are_to_be_balanced():
    found = cards(Declared(8, steps=30, spread_ns=6 * MS))
    assert "straggler" not in found
    assert plain(found["imbalance"].title) == "Give all ranks the same amount of work in each step"
    assert found["imbalance"].severity in (Severity.WARNING, Severity.MAJOR)
    why = plain(found["imbalance"].why)
    assert "(of the late one: it computes" in why
    assert "larger inputs" not in why  # that is not known: no kernels are compared


def test_a_slow_link_is_a_matter_of_transfers():
    found = cards(Declared(8, bus_rate=5e9, late={2: 3 * MS}))
    assert list(found) == ["exposed_transfers", "straggler"]
    assert plain(found["exposed_transfers"].title) == "Overlap transfers with computation"
    truth = sum(2 * 7 / 8 * size / 5e9 * 1e9 for size in Declared(8).bucket_bytes)
    assert found["exposed_transfers"].gain_ns == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize(
    ("sizes", "cap"), [((2_097_152,) * 3, "=1)"), ((25_000_000, 25_000_000, 1_000_000), "=8)"), ((48_000_000,), "=10)")]
)
def test_advised_buckets_are_half_of_the_mean_one(sizes: tuple[int, ...], cap: str):
    """A row of the table holds the buckets of one size."""
    how = cards(Declared(8, bus_rate=5e9, bucket_bytes=sizes))["exposed_transfers"].how
    assert how is not None
    assert f"bucket_cap_mb{cap}" in how


def test_ranks_on_cpus_get_no_advice_on_transfers():
    """Their computation shares the cores with the exchange."""
    job = job_of(run(Declared(8, bus_rate=5e9)))
    assert [card.id for card in judge_job(job)] == ["exposed_transfers"]
    assert judge_job(msgspec.structs.replace(job, on_device=False)) == []


@pytest.mark.parametrize(("hosts", "how"), [(("a", "a"), "reshard_after_forward"), (("a", "b"), "init_device_mesh")])
def test_parameters_are_gathered_within_a_machine_where_there_are_several(hosts: tuple[str, str], how: str):
    job = job_of(run(Declared(2, bus_rate=1e9)))
    rows = [msgspec.structs.replace(row, host=host) for row, host in zip(job.ranks, hosts, strict=True)]
    gathers = [
        msgspec.structs.replace(row, kind="all_gather", role="fsdp", dtype="BFloat16") for row in job.collectives
    ]
    busy = msgspec.structs.replace(job.exchange, free_compute_ns=0)
    (card,) = judge_job(msgspec.structs.replace(job, ranks=rows, collectives=gathers, exchange=busy))
    assert plain(card.title) == "Send fewer bytes between ranks"
    assert how in (card.how or "")


def test_ranks_that_are_missing_make_it_less_sure():
    job = job_of(run(replace(HEALTHY, late={3: 10 * MS})))
    card = judge_job(msgspec.structs.replace(job, missing=[8, 9]))[0]
    assert (card.id, card.confidence) == ("straggler", Confidence.MEDIUM)


def test_two_steps_are_a_hint():
    (card, *_) = judge_job(job_of(run(replace(HEALTHY, steps=2, late={3: 10 * MS}))))
    assert (card.id, card.confidence, card.severity) == ("straggler", Confidence.LOW, Severity.WARNING)


def groups_of(transfers: list[int]) -> JobRanks:
    """A job with groups of two ranks each, given the transfer time of each group in ns."""
    job = job_of(run(HEALTHY))
    rows = [
        JobCollective(
            kind="all_reduce", label="all-reduce", group=str(number), ranks=2, members=[2 * number, 2 * number + 1],
            dtype="BFloat16", bytes=8_000_000, role="tensor_parallel", count=700, transfer_ns=1400 * ns, wait_ns=0,
            running_ns=1400 * ns, exposed_ns=1400 * ns, hidden_ns=0, transfer_p50_ns=ns,
        )
        for number, ns in enumerate(transfers)
    ]  # fmt: skip
    return msgspec.structs.replace(job, collectives=rows, exchange=None, what_if=None)


def test_a_group_with_a_slower_link_is_named():
    (card,) = judge_job(groups_of([50_000, 51_000, 100_000, 49_000]))
    assert plain(card.title) == "Check the link between ranks 4 to 5"
    assert card.gain_ns == pytest.approx(50_000 * 100, rel=0.02)  # 100 of these a step


@pytest.mark.parametrize("transfers", [[50_000, 100_000], [50_000, 60_000, 70_000], [50_000, 100_000, 100_000]])
def test_no_link_is_slow_where_groups_are_few_or_several_are_alike(transfers: list[int]):
    assert judge_job(groups_of(transfers)) == []


def test_nothing_is_said_where_nothing_is_matched():
    job = job_ranks([rank(0, "..."), rank(1, "...")])
    assert job.unmatched is not None
    assert judge_job(job) == []


def test_titles_have_ten_words_at_most():
    found = {**cards(replace(HEALTHY, late={3: 10 * MS})), **cards(Declared(8, bus_rate=5e9))}
    found |= cards(replace(HEALTHY, ranks=64, late=dict.fromkeys((1, 9, 25, 42, 63), 10 * MS)))
    assert len(JOB_RULES) == 8  # the title of `layers_over_machines` is tested with its card
    assert [card.id for card in found.values() if len(plain(card.title).split()) > 10] == []


def deciding(*ranks: PathRank) -> JobRanks:
    """A job in which different ranks are late in turn, with the path that decides its step of 100 ms (10 of
    transfers)."""
    job = job_of(run(Declared(8, steps=30, spread_ns=6 * MS)))
    work = 90 * MS - sum(each.late_ns for each in ranks)
    path = DecidingPath(30, 100 * MS, work, 10 * MS, list(ranks))
    path = msgspec.structs.replace(path, gain_ns=sum(each.late_ns for each in path.deciders))
    return msgspec.structs.replace(job, path=path, what_if=None)


STOPS = [Cause("cpu_interrupted", 31 * MS, MS, 1.0)]


def test_several_ranks_may_decide():
    job = deciding(PathRank(0, 30 * MS, STOPS), PathRank(6, 20 * MS, STOPS), PathRank(2, MS))
    card = next(each for each in judge_job(job) if each.id == "imbalance")
    assert (plain(card.title), card.gain_ns) == ("Give ranks 0 and 6 CPU cores of their own", 50 * MS)
    why = "Rank 0's CPU spends 30.0 ms a step more in calls that otherwise take far less, so it is interrupted."
    assert plain(card.why) == "50.0 ms a step are waits for late arrivals of ranks 0 and 6."
    verdict = "Ranks 0 and 6 decide how long a step is: 50.0 ms of it (50 %) are late arrivals."
    headline = ranks_headline(job)
    assert headline.action is not None
    assert plain(headline.verdict) == verdict
    assert plain(headline.action).startswith(f"{why} Without these waits a step takes up to 50.0 ms less")
    path = path_text(job)
    assert path is not None
    assert plain(path) == (
        "A step of 100.0 ms is 39.0 ms of work, 10.0 ms of transfers, and waits for late ranks: 30.0 ms for rank 0, "
        "20.0 ms for rank 6, 1.0 ms for others."
    )


@pytest.mark.parametrize(("gain", "sentence"), [(50, ""), (49, ""), (48, "2.0 ms"), (0, "50.0 ms")])
def test_waits_in_which_others_need_the_time_themselves_are_told(gain: int, sentence: str):
    """Of the waits of 50 ms for two ranks, this much is gained; the rest is what the others need by themselves."""
    job = deciding(PathRank(0, 30 * MS, STOPS), PathRank(6, 20 * MS, STOPS), PathRank(2, MS))
    limited = msgspec.structs.replace(job, path=msgspec.structs.replace(job.path, gain_ns=gain * MS))
    whole, path = path_text(job), path_text(limited)
    assert whole is not None
    assert path is not None
    more = plain(path).removeprefix(plain(whole))
    assert (
        more.startswith(f" During {sentence} of these waits, the CPU of another rank is at work")
        if sentence
        else not more
    )


@pytest.mark.parametrize(("later_ms", "said"), [(100, False), (99, True)])
def test_the_path_of_a_step_says_that_it_holds_one_time_work(later_ms: int, said: bool):
    job = deciding(PathRank(0, 30 * MS, STOPS))
    path = path_text(
        msgspec.structs.replace(job, what_if=msgspec.structs.replace(replayed(), later_step_ns=later_ms * MS))
    )
    assert path is not None
    assert ("one-time work" in path.template) is said


def replayed(*changes: JobChange, trusted: bool = True) -> JobReplay:
    return JobReplay(4, 30, 100 * MS, 100 * MS, 0.0, trusted, True, 100 * MS, list(changes))


@pytest.mark.parametrize(
    ("causes", "title", "gain_ns"),
    [
        (STOPS, "Give all ranks CPU cores of their own", 30 * MS),
        ([Cause("blocking", 31 * MS, MS, 1.0)], "Remove blocking calls of ranks 0 and 6", 20 * MS),
    ],
)
def test_where_ranks_are_replayed_together_they_promise_what_that_gains(causes: list[Cause], title: str, gain_ns: int):
    """Which rank's CPU is interrupted is chance, so that card is about all ranks."""
    what_if = replayed(
        JobChange("late_ranks", [0, 6], 80 * MS, 20 * MS, 20 * MS),
        JobChange("no_interruptions", [], 60 * MS, 40 * MS, 30 * MS),
    )
    job = msgspec.structs.replace(deciding(PathRank(0, 30 * MS, causes), PathRank(6, 20 * MS, causes)), what_if=what_if)
    card = next(each for each in judge_job(job) if each.id == "imbalance")
    assert (plain(card.title), card.gain_ns) == (title, gain_ns)
    without = "interruptions on any rank" if causes is STOPS else "these waits"
    assert f". Without {without} a step takes up to" in plain(ranks_headline(job).action or phrase(""))


def test_a_late_rank_whose_others_need_as_long_by_themselves_promises_nothing():
    path = [PathRank(0, 30 * MS, STOPS), PathRank(6, 20 * MS, STOPS)]
    job = deciding(*path)
    nothing, unknown = (msgspec.structs.replace(job, what_if=replayed(trusted=each)) for each in (True, False))
    assert not [card for card in judge_job(nothing) if card.id == "imbalance"]
    card = next(card for card in judge_job(unknown) if card.id == "imbalance")
    assert (card.gain_ns, "amount of work" in plain(card.title)) == (50 * MS, False)


@pytest.mark.parametrize("late", [PathRank(0, 9 * MS, STOPS), PathRank(0, 40 * MS)])
def test_a_rank_decides_by_a_tenth_of_the_step_and_for_a_reason_that_shows(late: PathRank):
    card = next(each for each in judge_job(deciding(late)) if each.id == "imbalance")
    assert plain(card.title) == "Give all ranks the same amount of work in each step"


@pytest.mark.parametrize(
    ("role", "how"), [("ddp", "DistributedDataParallel"), ("tensor_parallel", "_micro_pipeline_tp"), ("unknown", None)]
)
def test_advice_for_ddp_is_for_ddp_alone(role: Role, how: str | None):
    job = job_of(run(Declared(8, bus_rate=2e9)))
    rows = [msgspec.structs.replace(row, role=role) for row in job.collectives]
    card = next(card for card in judge_job(msgspec.structs.replace(job, collectives=rows))
                if card.id == "exposed_transfers")  # fmt: skip
    assert plain(card.title) == "Overlap transfers with computation"
    assert card.how is None if how is None else how in (card.how or "")
    assert (card.severity is Severity.MINOR) is (role == "tensor_parallel")  # the next layer needs the result


@pytest.mark.parametrize(
    ("kind", "role", "code"),
    [
        ("all_reduce", "fsdp", "fully_shard"),  # between replicas of a sharded model
        ("all_gather", "tensor_parallel", "_micro_pipeline_tp"),
        ("broadcast", "buffers", "broadcast_buffers"),
        ("broadcast", "unknown", None),
    ],
)
def test_advice_is_for_what_is_exchanged(kind: str, role: Role, code: str | None):
    job = job_of(run(Declared(8, bus_rate=2e9)))
    rows = [msgspec.structs.replace(row, kind=kind, role=role) for row in job.collectives]
    card = next(
        card for card in judge_job(msgspec.structs.replace(job, collectives=rows)) if card.id == "exposed_transfers"
    )
    assert card.how is None if code is None else code in (card.how or "")


def test_in_inference_nothing_hides_a_transfer():
    job = job_of(run(Declared(8, bus_rate=2e9)))
    assert [card.id for card in judge_job(job)] == ["exposed_transfers"]
    assert judge_job(msgspec.structs.replace(job, infers=True)) == []


@pytest.mark.parametrize(
    ("ranks_each", "exchanges", "changes", "split"),
    [
        (4, 6, {}, 2),
        (2, 6, {}, 4),
        (8, 6, {}, None),  # one machine
        (1, 6, {}, None),  # no other GPU in a machine
        (4, 3, {}, None),  # too few for the layers of a model
        (4, 6, {"role": "fsdp"}, None),
        (4, 6, {"kind": "all_to_all"}, None),
    ],
)
def test_layers_of_an_inference_are_split_within_a_machine(
    ranks_each: int, exchanges: int, changes: dict[str, Any], split: int | None
):
    job = job_on_hosts(run(Declared(8, bus_rate=2e9, bucket_bytes=(4_194_304,) * exchanges)), ranks_each)
    rows = [msgspec.structs.replace(row, **changes) for row in job.collectives]
    found = judge_job(msgspec.structs.replace(job, collectives=rows, infers=True))
    assert [(card.id, card.gain_ns, card.why.values["machines"].value) for card in found] == (
        [("layers_over_machines", 0, split)] if split else []
    )
    assert all(len(plain(card.title).split()) <= 10 for card in found)
    assert "layers_over_machines" not in [card.id for card in judge_job(job)]


@pytest.mark.parametrize("stalls", [0, 2])
def test_transfers_of_few_bytes_are_latency(stalls: int):
    """They are not hidden by starting them earlier: their result is needed at once. Nor do calls that stall, for more
    than their exposed time here, leave a transfer."""
    job = job_of(run(Declared(8, bus_rate=2e9)))
    assert job.exchange is not None
    rows = [
        msgspec.structs.replace(row, bytes=2_000, stalled_exposed_ns=stalls * row.exposed_ns) for row in job.collectives
    ]
    stalled_ns = job.exchange.exposed_transfer_ns if stalls else 0
    exchange = msgspec.structs.replace(job.exchange, exposed_stall_ns=stalled_ns)
    assert judge_job(msgspec.structs.replace(job, collectives=rows, exchange=exchange)) == []


def test_only_the_backward_pass_hides_more_of_its_gradients():
    job = job_of(run(Declared(8, bus_rate=2e9)))
    assert job.exchange is not None
    rows = [msgspec.structs.replace(row, role="ddp") for row in job.collectives]
    exchange = msgspec.structs.replace(job.exchange, free_backward_ns=MS)
    (card,) = judge_job(msgspec.structs.replace(job, collectives=rows, exchange=exchange))
    assert plain(card.title) == "Send fewer bytes between ranks"
    assert card.gain_ns == job.exchange.exposed_transfer_ns // 2
    exposed_ns = job.exchange.exposed_transfer_ns
    compiled = msgspec.structs.replace(exchange, before_gradients_ns=round(0.75 * exposed_ns))
    (card,) = judge_job(msgspec.structs.replace(job, collectives=rows, exchange=compiled))
    assert "torch.compile(DistributedDataParallel" in (card.how or "")
    assert card.gain_ns == round(0.75 * exposed_ns)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"role": "fsdp", "kind": "all_gather", "phases": ["backward", "forward"]}, "reshard_after_forward"),
        ({"role": "fsdp", "kind": "all_gather", "phases": ["forward"]}, "set_requires_gradient_sync"),
        ({"role": "fsdp", "kind": "all_gather", "phases": ["optimizer", "other"]}, "overlap-param-gather"),
        ({"role": "unknown", "kind": "all_to_all", "dtype": "BFloat16"}, "larger batch"),
        ({"role": "unknown", "kind": "all_to_all", "dtype": None}, None),  # not launched by torch.distributed
    ],
)
def test_advice_fits_the_passes_that_exchange(changes: dict[str, Any], code: str | None):
    job = job_of(run(Declared(8, bus_rate=2e9)))
    rows = [msgspec.structs.replace(row, **({"dtype": "BFloat16"} | changes)) for row in job.collectives]
    exchange = msgspec.structs.replace(job.exchange, free_compute_ns=0)
    (card,) = judge_job(msgspec.structs.replace(job, collectives=rows, exchange=exchange))
    assert (card.how is None) if code is None else code in (card.how or "")


def test_a_rank_promises_no_more_than_it_is_late_on_the_path_that_decides():
    """Its gain is limited by its own lateness on that path, whatever other ranks add."""
    job = job_of(run(replace(HEALTHY, spread_ns=3 * MS, late={3: 6 * MS})))
    assert job.path is not None
    late_ns = {each.rank: each.late_ns for each in job.path.ranks}
    assert (job.late[0].rank, len(late_ns) > 1) == (3, True)
    assert all(each.gain_ns <= late_ns.get(each.rank, 0) for each in job.late)
    assert job.late[0].gain_ns >= 2 * MS


@pytest.mark.parametrize(
    ("wait_ns", "rest"),
    [(60 * MS, ""), (90 * MS, "; for the other 60.0 ms its trace does not show why")],
    ids=["half is explained", "a third is explained"],
)
def test_what_a_cause_does_not_explain_is_said(wait_ns: int, rest: str):
    job = job_of(run(replace(HEALTHY, late={3: 10 * MS})))
    late = msgspec.structs.replace(job.late[0], wait_ns=wait_ns, causes=STOPS)
    below = ranks_headline(msgspec.structs.replace(job, late=[late, *job.late[1:]])).action
    assert below is not None
    assert f"so it is interrupted{rest}. " in plain(below)


@pytest.mark.parametrize("stalled", [0.0, 0.5, 1.0])
def test_calls_that_stall_on_all_ranks_promise_nothing(stalled: float):
    """stalled: the share of the exposed transfers beyond the usual length of a call."""
    job = job_of(run(Declared(2, bus_rate=1e9)))
    assert job.exchange is not None
    exposed_ns = job.exchange.exposed_transfer_ns
    exchange = msgspec.structs.replace(job.exchange, exposed_stall_ns=round(stalled * exposed_ns), free_compute_ns=0)
    gains = [card.gain_ns for card in judge_job(msgspec.structs.replace(job, exchange=exchange))]
    assert gains == ([] if stalled == 1 else [pytest.approx((1 - stalled) * exposed_ns / 2, abs=1)])


def test_fewer_bytes_are_advised_only_where_bytes_are_recorded():
    job = job_of(run(Declared(2, bus_rate=1e9)))
    unsized = [msgspec.structs.replace(row, bytes=None, bus_rate=None) for row in job.collectives]
    busy = msgspec.structs.replace(job.exchange, free_compute_ns=0)
    found = [judge_job(msgspec.structs.replace(job, collectives=rows, exchange=busy))
             for rows in (job.collectives, unsized)]  # fmt: skip
    assert [[plain(card.title) for card in cards] for cards in found] == [["Send fewer bytes between ranks"], []]


@pytest.mark.parametrize(
    ("late_ms", "begins"),
    [
        ((0, 0, 400, 0), "Rank 3 delays the others only in step 7:"),
        ((0, 200, 200, 0), "Rank 3 delays the others only in steps 6 and 7:"),
        ((0, 200, 200, 200), "No rank delays the others:"),
        ((0, 130, 140, 130), "No rank delays the others:"),
    ],
)
def test_a_wait_in_one_step_is_not_one_of_each(late_ms: tuple[int, ...], begins: str):
    """As for a checkpoint: each rank waits 25 ms a step as a mean, but nobody waits in the usual step."""
    job = job_of(run(replace(HEALTHY, steps=4)))
    steps = [
        msgspec.structs.replace(step, late=3, late_ns=late * MS) for step, late in zip(job.steps, late_ms, strict=True)
    ]
    rows = [msgspec.structs.replace(row, exposed_wait_ns=25 * MS * job.matched_steps) for row in job.ranks]
    headline = ranks_headline(msgspec.structs.replace(job, steps=steps, ranks=rows))
    assert (job.balance, plain(headline.verdict).startswith(begins)) == ("balanced", True)


@pytest.mark.parametrize(
    ("late", "begins"),
    [
        ((3, 3, 3), "Rank 3 delays the others only in steps 6, 9 and 12:"),
        ((3, 1, 3), "No rank delays the others:"),
    ],
)
def test_an_evaluation_on_one_rank_delays_the_others_in_few_steps(late: tuple[int, ...], begins: str):
    job = job_of(run(replace(HEALTHY, steps=9)))
    ranks = dict(zip((1, 4, 7), late, strict=True))
    steps = [
        msgspec.structs.replace(step, late=ranks[place], late_ns=150 * MS) if place in ranks else step
        for place, step in enumerate(job.steps)
    ]
    rows = [msgspec.structs.replace(row, exposed_wait_ns=50 * MS * job.matched_steps) for row in job.ranks]
    headline = ranks_headline(msgspec.structs.replace(job, steps=steps, ranks=rows))
    assert (job.balance, plain(headline.verdict).startswith(begins)) == ("balanced", True)


def test_a_mean_wait_is_a_share_of_the_mean_step():
    """The usual step waits for nobody, and a mean over long steps may be longer than it."""
    job = job_of(run(replace(HEALTHY, steps=9)))
    assert job.path is not None
    usual_ns = int(np.median([step.slowest_ns for step in job.steps]))
    path = msgspec.structs.replace(job.path, step_ns=3 * usual_ns)
    rows = [msgspec.structs.replace(row, exposed_wait_ns=2 * usual_ns * job.matched_steps) for row in job.ranks]
    headline = ranks_headline(msgspec.structs.replace(job, path=path, ranks=rows))
    assert "(67 % of it)" in plain(headline.verdict)


def test_waits_for_a_rank_are_a_share_of_the_steps_that_exchange():
    job = job_of(run(replace(HEALTHY, steps=9, late={3: 10 * MS})))
    assert job.balance == "straggler" and job.path is not None
    usual_ns = int(np.median([step.slowest_ns for step in job.steps]))
    path = msgspec.structs.replace(job.path, step_ns=2 * usual_ns)
    late = [msgspec.structs.replace(job.late[0], wait_ns=usual_ns // 5)]
    headline = ranks_headline(msgspec.structs.replace(job, late=late, path=path))
    assert "(10 % of it)" in plain(headline.verdict)


def test_transfers_are_a_share_of_the_steps_that_exchange():
    """With accumulation, a step of two micro-batches in eight takes twice as long as the median one, and exchanges."""
    job = job_of(run(replace(HEALTHY, steps=9)))
    assert job.exchange is not None and job.path is not None
    usual_ns = int(np.median([step.slowest_ns for step in job.steps]))
    exchange = msgspec.structs.replace(job.exchange, exposed_transfer_ns=usual_ns // 2, exposed_stall_ns=0)
    path = msgspec.structs.replace(job.path, step_ns=2 * usual_ns)
    headline = ranks_headline(msgspec.structs.replace(job, exchange=exchange, path=path))
    assert "(25 % of it)" in plain(headline.verdict)
