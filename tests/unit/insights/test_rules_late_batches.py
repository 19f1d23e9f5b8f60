"""Batches that come late though there are workers enough: which deed is named. Recordings are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.metrics.data_loading.recorded.workers import RecordedWorker
from tb_steptime.terminal.printer import plain
from tests.unit.metrics.data_loading.recorded.test_loading import File, drawn

LATE = "2 µs a step (21 %) leave the step standing"
THOUGH = LATE + ", though `num_workers` keeps up on average: "


@pytest.fixture
def results(tmp_path: Path) -> dict[str, Any]:
    """Two workers that need 4 us per batch of a step of 7 us, all the same each step waits."""
    main = File(tmp_path, "main", in_order=True, iterable=True).began(-40)
    for batch in range(5):
        main.received(batch, asked=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}", in_order=True, iterable=True).began(-40)
        for batch in range(worker, 5, 2):
            file.produced(batch, 7 * batch - 3, 7 * batch - 1, 7 * batch + 1)
        file.write()
    trace = with_records(drawn(tmp_path))[0]
    return {analysis.id: analysis.analyse(trace) for analysis in ANALYSES}


def input_bound(results: dict[str, Any], **changes: Any) -> Insight:
    loading = msgspec.structs.replace(results["data_loading"], **changes)
    return next(each for each in judge(results | {"data_loading": loading}).insights if each.id == "input_bound")


def said(insight: Insight) -> str:
    text = plain(insight.why).replace("\xa0", " ")
    assert len(text) <= 160
    return text


def held_back(loading: DataLoadingResult, passed: float) -> Any:
    """With later batches that lie ready at that share of the late requests, which are all."""
    assert loading.recorded is not None
    queues = [msgspec.structs.replace(each, late_share=1.0, passed_share=passed) for each in loading.recorded.queues]
    return msgspec.structs.replace(loading.recorded, queues=queues)


@pytest.mark.parametrize(
    ("passed", "saved", "deed"),
    [
        (0.0, None, "see the slowest batches, or raise `prefetch_factor`."),
        (0.0, 0, "see the slowest batches."),
        (0.0, 749, "see the slowest batches."),
        (0.0, 1_000, "`prefetch_factor=8` saves est. 1 µs."),
        (0.75, 1_000, "`prefetch_factor=8` saves est. 1 µs, or set `in_order=False`."),
        (0.75, 9_000, "`prefetch_factor=8` saves est. 2 µs, or set `in_order=False`."),
        (0.75, 0, "`in_order=False`, as later batches lie ready at 75 % of the waits."),
        (0.25, 0, "see the slowest batches."),
    ],
)
def test_the_surest_deed_is_named(results, passed: float, saved: int | None, deed: str):
    loading = results["data_loading"]
    insight = input_bound(results, recorded=held_back(loading, passed), deeper_ns=saved)
    late = loading.shares.late_ns
    assert said(insight) == THOUGH + deed
    assert insight.gain_ns == (min(saved or 0, late) if "saves" in deed else late)
    assert plain(insight.gain_formula).endswith("slow ones hold up.") is ("saves" in deed)
    assert plain(insight.title).startswith("Keep more batches" if "saves" in deed else "Make batches faster")


def worker(number: int, batch_ns: int, batches: int = 9) -> RecordedWorker:
    return RecordedWorker(1, number, 100 + number, batches, batch_ns, 0, 0, None, None, 0.5, None, False, None)


@pytest.mark.parametrize(
    ("times", "spread", "batches", "slow"),
    [
        ((4_000, 12_000, 4_000), 4_000, 9, "worker 1 takes 12 µs a batch, the others 4 µs"),
        ((5_000, 4_000, 12_000), 4_000, 4, "worker 2 takes 12 µs a batch, the others 4 µs"),
        ((4_000, 5_900, 4_000), 400, 9, None),  # not much slower
        ((4_000, 6_100, 4_000), 400, 9, "worker 1 takes 6 µs a batch, the others 4 µs"),
        ((4_000, 12_000, 4_000), 9_000, 9, None),  # by chance
        ((4_000, 12_000, 4_000), 400, 2, None),  # two batches
    ],
)
def test_a_worker_that_is_slower_than_the_others_is_named(results, times, spread: int, batches: int, slow: str | None):
    recorded = held_back(results["data_loading"], 1.0)
    workers = [worker(number, time, batches) for number, time in enumerate(times)]
    recorded = msgspec.structs.replace(recorded, workers=workers, production_spread_ns=spread)
    then = "`in_order=False`, as later batches lie ready at 100 % of the waits."
    words = f"{LATE}: {slow}. Make its data cheaper, or set `in_order=False`." if slow else THOUGH + then
    assert said(input_bound(results, recorded=recorded)) == words


@pytest.mark.parametrize("change", [{"iterable": False}, {"iterable": None}, {"in_order": False}])
def test_a_worker_is_not_slow_by_itself_where_any_gets_the_slow_batches_or_none_is_waited_for_in_turn(results, change):
    loading = results["data_loading"]
    loaders = [msgspec.structs.replace(each, **change) for each in loading.recorded.loaders]
    workers = [worker(0, 4_000), worker(1, 12_000)]
    recorded = msgspec.structs.replace(loading.recorded, loaders=loaders, workers=workers, production_spread_ns=400)
    assert said(input_bound(results, recorded=recorded, deeper_ns=0)) == THOUGH + "see the slowest batches."


@pytest.mark.parametrize("gain", [0, 69, 70])
def test_where_more_workers_win_next_to_nothing_another_deed_is_named(results, gain: int):
    loading = results["data_loading"]
    curve = msgspec.structs.replace(loading.curve, recommended=4, gain_ns=gain)
    changed = results | {"data_loading": msgspec.structs.replace(loading, curve=curve, deeper_ns=0)}
    judged = judge(changed)
    cards = {each.id for each in judged.insights}
    assert ("more_workers" in cards, "input_bound" in cards) == (gain == 70, gain < 70)


@pytest.mark.parametrize(("gain", "saved", "workers"), [(900, 1_350, True), (900, 1_351, False), (900, None, True)])
def test_more_batches_in_advance_are_named_where_they_win_clearly_more_than_workers(results, gain, saved, workers):
    loading = results["data_loading"]
    curve = msgspec.structs.replace(loading.curve, recommended=4, gain_ns=gain)
    changed = results | {"data_loading": msgspec.structs.replace(loading, curve=curve, deeper_ns=saved)}
    (card,) = (each for each in judge(changed).insights if each.id in ("more_workers", "input_bound"))
    assert plain(card.title) == ("Use 4 workers" if workers else "Keep more batches in store")
    assert ("prefetch_factor=8" in said(card)) is not workers
