"""CPU time and the wait for a core are known only for the sampled batches, and the result says how many these are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.recorded_workers import (
    COMPUTES_FRACTION,
    MOST_FRACTION,
    READS_FRACTION,
    SampledShares,
)
from tests.drawn.cards import card_sentence, judged
from tests.drawn.recorder_files import File, drawn, recorded

NOT_SAMPLED = -1


def record(folder: Path, *workers: str) -> Recorded:
    """What each worker does, batch by batch: c computes, r reads, . is not sampled. Batches take 4 us each."""
    File.write(main_of(folder, sum(len(each) for each in workers), len(workers)))
    for worker, batches in enumerate(workers):
        file = File(folder, f"w{worker}", num_workers=len(workers))
        for turn, does in enumerate(batches):
            number, start = turn * len(workers) + worker, 4 * turn
            file.produced(
                number, start, start + 3, start + 4, cpu={"c": 4, "r": 0, ".": NOT_SAMPLED}[does], core_wait=0
            )
        file.write()
    return recorded(drawn(folder))


def main_of(folder: Path, batches: int, workers: int) -> File:
    main = File(folder, "main", num_workers=workers)
    for batch in range(batches):
        main.received(batch, requested=batch, there=batch, returned=batch + 1)
    return main


@pytest.mark.parametrize(
    ("sampled", "batches", "kind"),
    [(1, 3, None), (2, 4, "cpu"), (4, 9, None), (5, 1000, "cpu"), (0, 1, None), (0, 0, None), (1, 1, "cpu")],
)
def test_less_than_five_and_less_than_half_show_no_limit(sampled: int, batches: int, kind: str | None):
    assert SampledShares(sampled, 1.0 if sampled else None, None, 0, None).kind_of(batches) == kind


@pytest.mark.parametrize(
    ("waited", "waited_cpu", "kind"),
    [(2, 0.45, "cores"), (1, 0.45, None), (2, 0.9, None), (5, 0.9, "cores"), (0, None, None)],
    ids=["as the others", "one", "unlike the others", "enough", "the system does not tell"],
)
def test_few_waits_for_a_core_are_believed_where_they_are_of_batches_like_the_others(waited, waited_cpu, kind):
    shares = SampledShares(12, 0.5, 0.4 if waited else None, waited, waited_cpu)
    assert shares.kind_of(12) == kind


def test_half_of_the_batches_cannot_be_turned_around_by_the_others():
    others = 1 - MOST_FRACTION
    assert READS_FRACTION * MOST_FRACTION + others < COMPUTES_FRACTION
    assert COMPUTES_FRACTION * MOST_FRACTION > READS_FRACTION


def test_each_worker_says_of_how_many_batches_its_limit_is(tmp_path: Path):
    result = record(tmp_path, "c.....", "rrr...", "......")
    assert [(row.batches, row.sampled, row.kind) for row in result.workers] == [
        (6, 1, None), (6, 3, "io"), (6, 0, None),
    ]  # fmt: skip


def test_workers_that_are_alike_vouch_for_one_another(tmp_path: Path):
    """Each worker has too few samples, but all of them together have enough."""
    result = record(tmp_path, "rr....", "r.....", "rr....")
    assert {row.kind for row in result.workers} == {None}
    assert (result.batches, result.sampled, result.kind) == (18, 5, "io")


def test_the_limit_of_all_is_that_of_their_share_and_not_of_the_first_of_workers_that_differ(tmp_path: Path):
    """Each worker has one batch; that of the second one takes nine times as long."""
    main_of(tmp_path, 2, 2).write()
    File(tmp_path, "w0").produced(0, 0, 1, 2, cpu=0, core_wait=0).write()
    File(tmp_path, "w1").produced(1, 0, 10, 18, cpu=18, core_wait=0).write()
    result = recorded(drawn(tmp_path))
    assert [row.kind for row in result.workers] == ["io", "cpu"]
    assert (result.cpu_share, result.kind, result.sampled) == (pytest.approx(0.9), "cpu", 2)


@pytest.mark.parametrize(("sampled", "named"), [(2, False), (3, True)])
def test_few_samples_name_no_cause(tmp_path: Path, sampled: int, named: bool):
    main = File(tmp_path, "main", num_workers=6)
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.received(4, requested=26, there=26, returned=27).received(5, requested=27, there=27, returned=27).write()
    for worker in range(6):
        cpu, waited = (14, 14) if worker < sampled else (NOT_SAMPLED, NOT_SAMPLED)
        File(tmp_path, f"w{worker}", num_workers=6).produced(worker, 0, 26, 28, cpu=cpu, core_wait=waited).write()
    cards = {each.id: card_sentence(each) for each in judged(with_records(drawn(tmp_path))[0]).insights}
    sentence = f"The workers compute, and for 50 % of their time they wait for a core ({sampled} sampled batches)."
    assert any(each.endswith(sentence) for each in cards.values()) is named
