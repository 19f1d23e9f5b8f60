"""In which order slow batches and long steps come, and what that does to workers that take turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading.scaling.batch_production import find_making
from tb_steptime.metrics.data_loading.scaling.batch_sequence import ENOUGH, find_rhythm
from tb_steptime.metrics.data_loading.scaling.curve_input import Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, Rhythm, held_up_ns
from tb_steptime.metrics.data_loading.scaling.needed_workers import workers_for
from tb_steptime.metrics.data_loading.scaling.worker_curve import worker_curve
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline
from tests.unit.metrics.data_loading.recorded.test_loading import ORIGIN, File

#: In us: a wait of 2, then work of 4, but of 12 in every fourth step.
WAIT, WORK, LONG = 2, 4, 12
STEPS = 20
#: What the loop does with each batch before it asks for the next one.
USED = [LONG if number % 4 == 3 else WORK for number in range(STEPS)]


def drawn(folder: Path, steps: int = STEPS, loader: str = "loader", device: bool = False) -> Trace:
    rows = {"step": "", loader: "", "op": ""} | ({"kernel 7": ""} if device else {})
    for number, work in enumerate(USED[:steps]):
        rows["step"] += "ab"[number % 2] * (WAIT + work)
        rows[loader] += "l" * WAIT + "." * work
        rows["op"] += "." * WAIT + "o" * work
        if device:
            rows["kernel 7"] += "." * WAIT + "k" * work
    trace = timeline("\n".join(f"{label} | {cells} |" for label, cells in rows.items()))
    return replace(trace, path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN)


def recorded(folder: Path, steps: int = STEPS, passes_end_after: int = STEPS, **settings: Any) -> Trace:
    """Two workers; every fourth batch takes 30 us and the others 10, of which 2 collate."""
    main, workers = File(folder, "main", **settings), [File(folder, f"w{worker}", **settings) for worker in range(2)]
    asked = 0
    for number in range(min(steps, passes_end_after)):
        main.received(number, asked=asked, there=asked, returned=asked + WAIT)
        length = 30 if number % 4 == 3 else 10
        workers[number % 2].produced(number, asked - length, asked - 2, asked)
        asked += WAIT + USED[number]
    for file in (main, *workers):
        file.write()
    return with_records(drawn(folder, steps))[0]


def shares(values: list[int]) -> tuple[float, ...]:
    mean = sum(values) / len(values)
    return tuple(pytest.approx(value / mean) for value in values)


MAKING = shares([30 if number % 4 == 3 else 10 for number in range(STEPS - 1)])
USING = shares(USED[: STEPS - 1])


def test_what_is_recorded_is_known_batch_by_batch(tmp_path):
    assert find_rhythm(recorded(tmp_path)) == Rhythm(MAKING, USING)


def test_a_worker_of_an_iterable_dataset_has_batches_of_its_own(tmp_path):
    """Another number of workers would take them in another order."""
    assert find_rhythm(recorded(tmp_path, iterable=True)) == Rhythm((), USING)


def test_where_any_order_will_do_none_matters(tmp_path):
    in_order, in_any = (find_making(recorded(tmp_path, in_order=in_order)) for in_order in (True, False))
    assert in_order is not None
    assert in_any is not None
    assert (in_order.rhythm, in_any.rhythm) == (Rhythm(MAKING, USING), EVEN)
    assert in_any.spread_ns == 0 < in_order.spread_ns


def test_few_batches_have_no_rhythm(tmp_path):
    assert find_rhythm(recorded(tmp_path, ENOUGH)) == EVEN
    assert find_rhythm(recorded(tmp_path, ENOUGH + 1)) != EVEN


def test_a_trace_alone_knows_what_the_loop_does_and_how_its_own_process_makes_batches(tmp_path):
    assert find_rhythm(drawn(tmp_path)) == Rhythm((), USING)
    assert find_rhythm(drawn(tmp_path, loader="loader single")) == Rhythm(shares([WAIT] * (STEPS - 1)), USING)


def test_a_host_that_runs_ahead_of_its_device_asks_in_a_rhythm_that_costs_nothing(tmp_path):
    assert find_rhythm(drawn(tmp_path, device=True)) == EVEN


def test_a_batch_between_two_passes_is_left_out(tmp_path):
    """The 12 recorded ones are too few; of the others the trace tells nothing that they do not."""
    assert find_rhythm(recorded(tmp_path, passes_end_after=12)) == EVEN


def test_slow_batches_that_meet_one_worker_hold_up_more_than_those_that_meet_all():
    """Every fourth takes four times as long: of four workers always the same one has them."""
    rhythm = Rhythm(making=(4 / 1.75, 1 / 1.75, 1 / 1.75, 1 / 1.75))
    held = [held_up_ns(125_000, 93_000, 40_000, workers, 2, rhythm) for workers in (3, 4, 5, 6)]
    steps = [max(125 / workers, 40) + each / 1000 for workers, each in zip((3, 4, 5, 6), held, strict=True)]
    assert steps == [pytest.approx(step, abs=0.3) for step in (45.7, 71.4, 40, 40)]
    making = Making(3, 125_000, 40_000, 5, cores=8, spread_ns=93_000, rhythm=rhythm)
    curve = worker_curve(making, MeanStep(45_700, late_ns=5_700))
    assert [point.step_ns / 1000 for point in curve.points[2:6]] == [pytest.approx(step, abs=0.3) for step in steps]


def test_long_steps_need_more_workers_than_their_mean():
    """Workers make two batches each in the long step, and too few in the short ones."""
    using = (0.25,) * 9 + (7.75,)
    assert workers_for(100_000, 0, 25_000) == 4
    assert workers_for(100_000, 0, 25_000, 2, Rhythm(using=using)) == 5
    assert held_up_ns(100_000, 0, 25_000, 4, 2, Rhythm(using=using)) > 0.05 * 25_000
    assert held_up_ns(100_000, 0, 25_000, 4, 4, Rhythm(using=using)) == 0


def test_known_batches_are_replayed_and_others_drawn():
    even = Rhythm(making=(1.0,) * 20)
    assert held_up_ns(100_000, 50_000, 25_000, 4, 2, even) == 0
    assert held_up_ns(100_000, 50_000, 25_000, 4, 2) > 2_000


def test_the_tab_says_what_the_rhythm_does(tmp_path):
    """Two workers do by the means, 15 us a batch and 8 to use it; a slow batch in four needs another one."""
    trace = recorded(tmp_path, num_workers=1)
    result, making = analyse(trace), find_making(trace)
    assert making is not None
    assert result.curve is not None
    assert (making.production_ns, making.consumer_ns) == (15_000, 8_000)
    assert workers_for(15_000, 0, 8_000) == 2
    assert result.needed_workers == making.needed == result.curve.recommended == 3
