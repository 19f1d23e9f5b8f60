"""Batches that come late although there are enough workers: which action is advised. Recordings are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.text.printer import plain
from tests.drawn.cards import analysed
from tests.drawn.recorder_files import File, drawn


@pytest.fixture
def results(tmp_path: Path) -> dict[str, Any]:
    """Two workers that need 4 us per batch, for steps of 7 us; each step waits all the same."""
    main = File(tmp_path, "main").began(-40)
    for batch in range(5):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}").began(-40)
        for batch in range(worker, 5, 2):
            file.produced(batch, 7 * batch - 3, 7 * batch - 1, 7 * batch + 1)
        file.write()
    trace = with_records(drawn(tmp_path))[0]
    return analysed(trace)


def judged(results: dict[str, Any], **changes: Any) -> dict[str, Insight]:
    """The cards by id, where figures of the curve are replaced by the given ones."""
    loading = results["data_loading"]
    curve = msgspec.structs.replace(loading.curve, **changes)
    changed = results | {"data_loading": msgspec.structs.replace(loading, curve=curve)}
    return {each.id: each for each in judge(changed).insights}


def said(insight: Insight) -> str:
    text = plain(insight.why).replace("\xa0", " ")
    assert len(text) <= 160
    return text


def test_where_workers_keep_up_on_average_slow_batches_are_what_to_change(results):
    card = judged(results)["input_bound"]
    assert said(card) == (
        "Workers keep up on average, but slow batches block those behind them. Prefetching more batches helps."
    )
    assert card.gain_ns == results["data_loading"].causes.shares.late_ns
    assert (plain(card.title), card.how) == (
        "Make the slowest batches faster", "DataLoader(..., prefetch_factor=8)",
    )  # fmt: skip


@pytest.mark.parametrize("gain", [0, 69, 70])
def test_where_more_workers_win_next_to_nothing_another_action_is_named(results, gain: int):
    cards = judged(results, recommended=4, gain_ns=gain)
    assert ("more_workers" in cards, "input_bound" in cards) == (gain == 70, gain < 70)
