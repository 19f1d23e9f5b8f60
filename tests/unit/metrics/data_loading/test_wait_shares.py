"""What waits for a loader are for: shares that sum, the start of an epoch as one, and one arithmetic of gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.data_loading import DataLoadingResult, analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight
from tb_steptime.metrics.data_loading.epoch_marks import between_epochs_ns
from tb_steptime.metrics.data_loading.epoch_starts import EpochStarts, LoaderStarts, find_epoch_starts
from tb_steptime.metrics.data_loading.overhead import Jitter, Overhead, find_jitter
from tb_steptime.metrics.data_loading.scaling.batch_production import burst_of
from tb_steptime.metrics.data_loading.scaling.curve_input import Beside, Making, MeanStep, used_every_ns
from tb_steptime.metrics.data_loading.scaling.worker_curve import WorkerCurve, worker_curve
from tb_steptime.metrics.data_loading.wait_shares import WaitShares, shared_out
from tb_steptime.terminal.printer import plain
from tb_steptime.text import Phrase, Quantity, Unit, count, phrase
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline
from tests.unit.metrics.data_loading.recorded.test_loading import ORIGIN, File, drawn, write_two_workers
from tests.unit.metrics.data_loading.scaling.test_bursts import FEED, simulated, steps_that_wait
from tests.unit.metrics.data_loading.test_loaders import NAMES, chains
from tests.unit.metrics.data_loading.test_waits import REAL

#: A new iterator's seed, and a sampler's.
SEEDS = {"s": "aten::random_", "t": "aten::random_"}


def epochs(
    waits: Sequence[Sequence[int]], work: int = 4, seeds: str = "s.", loader: str = "loader", extra: str = ""
) -> Trace:
    """A step for each wait, in us; from the second epoch on, the first one is asked for after 1 us of the end of the
    epoch before and 2 us in which an iterator is made.

    loader   l....l....e..llllllll....
    op       .oooo.oooo.s.........oooo
    """
    rows = {"step": "", loader: "", "op": ""}
    number = 0
    for epoch, theirs in enumerate(waits):
        for place, wait in enumerate(theirs):
            opens = "e.." if epoch and not place else ""
            rows["step"] += "ab"[number % 2] * (len(opens) + wait + work)
            rows[loader] += opens + "l" * wait + "." * work
            rows["op"] += ("." + seeds if opens else "") + "." * wait + "o" * work
            number += 1
    length = len(rows["step"])
    lines = [f"{label} | {cells} |" for label, cells in rows.items()]
    lines += [f"{line} | {'f' * length} |" for line in extra.split(",") if line]
    return timeline("\n".join(lines), names=SEEDS | {"f": FEED})


#: Three epochs of four steps of 5 us, and 11 us more, of which 9 are waited, where the later two begin.
EPOCHS = [[1, 1, 1, 1], [9, 1, 1, 1], [9, 1, 1, 1]]


def test_the_start_of_an_epoch_is_told_apart():
    trace = epochs(EPOCHS)
    theirs = LoaderStarts(
        loader=0,
        batches=2,
        whole=1,
        wait_ns=9_000,
        exposed_ns=20_000 // 12,
        making_ns=4_000 // 12,
        workers=True,
        anew=None,
        steps=["4", "8"],
        produced_ns=None,
        processes_ns=6_000 // 12,
    )
    assert find_epoch_starts(trace) == EpochStarts(2, 20_000 // 12, 4_000 // 12, [theirs])
    assert between_epochs_ns(trace).tolist() == [0, 0, 0, 0, 3_000, 0, 0, 0, 3_000, 0, 0, 0]
    assert find_epoch_starts(epochs(EPOCHS[:1])) is None


def test_what_the_device_works_beside_costs_nothing():
    on_cpu = """
        step     | 111122222222223333 |
        loader   | l...m.lll.....l... |
        op       | .aaa.....aaaaa.aaa |"""
    device = """
        runtime  | .k.......q.....r.. |
        kernel 7 | ..kkkkkkkkqqqqqqrr |"""
    starts = [find_epoch_starts(timeline(each)) for each in (on_cpu, on_cpu + device)]
    assert [each.exposed_ns for each in starts if each] == [4_000 // 3, 0]
    assert [each.loaders[0].wait_ns for each in starts if each] == [3_000, 3_000]


@pytest.mark.parametrize(("seeds", "anew"), [("..", False), ("s.", None), ("st", True)])
def test_seeds_tell_whether_workers_start_anew(seeds: str, anew: bool | None):
    """One seed is of a new iterator or of a sampler that shuffles; without any the iterator is the old one."""
    starts = find_epoch_starts(epochs(EPOCHS, seeds=seeds))
    assert starts is not None
    (own,) = starts.loaders
    assert (own.batches, own.anew, own.making_ns) == (2, anew, 0 if seeds == ".." else 4_000 // 12)


def test_without_workers_nothing_starts_anew():
    starts = find_epoch_starts(epochs(EPOCHS, seeds="st", loader="loader single"))
    assert starts is not None
    assert [(each.workers, each.anew) for each in starts.loaders] == [(False, None)]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_recorder_tells_whether_workers_stay(tmp_path: Path, persistent: bool):
    write_two_workers(tmp_path, persistent_workers=persistent)
    starts = find_epoch_starts(with_records(drawn(tmp_path))[0])
    assert starts is not None
    assert [(each.batches, each.anew) for each in starts.loaders] == [(1, not persistent)]


def both_begin(training: str = "st", evaluation: str = "st") -> Trace:
    """After the second step's batch an evaluation of two, then the training loader's next epoch; seeds of each.

    e, m: asked once more, an evaluation and the training have no batch.
    """
    return timeline(
        f"""
        step   | 11111222222222222222222233333333334444455555 |
        loader | ll...oo.....fffff.vv.ee.m..nnnn...ll...oo... |
        op     | ..bbb..bbb{evaluation}.....a..a....{training}....bbb..bbb..bbb |""",
        names=NAMES | SEEDS,
    )


def test_passes_of_two_loaders_are_told_apart():
    """Of 5 steps. The evaluation: 5 us for its first batch, 2 to its end, its iterator 2; the training: 4, 1 and 2."""
    starts = find_epoch_starts(both_begin())
    training = LoaderStarts(0, 1, 0, 4_000, 1_000, 400, True, True, ["3"], None, 600)
    evaluation = LoaderStarts(1, 1, 1, 5_000, 1_400, 400, True, True, ["2"], None, 800)
    assert starts == EpochStarts(2, 2_400, 800, [training, evaluation])


@pytest.mark.parametrize(("training", "evaluation"), [("st", "s."), ("s.", "st"), ("st", "st"), ("s.", "s.")])
def test_whether_workers_start_anew_is_told_of_each_loader(training: str, evaluation: str):
    starts = find_epoch_starts(both_begin(training, evaluation))
    assert starts is not None
    assert [each.anew for each in starts.loaders] == [{"st": True, "s.": None}[each] for each in (training, evaluation)]


def test_what_passes_of_several_loaders_cost_sums_to_the_share_of_epoch_starts():
    result = analyse(both_begin())
    assert result.shares is not None
    assert result.mean is not None
    assert result.starts is not None
    assert sum(each.exposed_ns for each in result.starts.loaders) == result.shares.first_ns
    shares = result.shares
    each = (shares.first_ns, shares.late_ns, shares.jitter_ns, shares.overhead_ns, shares.elsewhere_ns)
    assert sum(each) == result.mean.exposed_ns


JITTER = Jitter(typical_ns=100, long_ns=900, long_count=1, exposed_ns=30, steps=["1"])
OVERHEAD = Overhead(20, 20, "ready", None, None, None)
STARTS = EpochStarts(1, 40, 0, [])


def test_shares_are_disjoint_and_sum_to_the_exposed_wait():
    assert shared_out(100, STARTS, JITTER, OVERHEAD) == WaitShares(40, 10, 30, 20, 0)
    assert shared_out(100, STARTS, JITTER, OVERHEAD, 7) == WaitShares(40, 3, 30, 20, 7)
    assert shared_out(100, None, None, None) == WaitShares(0, 100, 0, 0, 0)
    assert shared_out(50, STARTS, JITTER, OVERHEAD, 7) == WaitShares(40, 0, 0, 3, 7)


@pytest.mark.parametrize("name", REAL)
def test_on_real_traces_shares_sum_to_the_exposed_wait(trace_path: Callable[[str], Path], name: str):
    result = analyse(read_trace(trace_path(name)))
    if result.mean is None or result.shares is None:
        pytest.skip("no loader events")
    shares = result.shares
    each = (shares.first_ns, shares.late_ns, shares.jitter_ns, shares.overhead_ns, shares.elsewhere_ns)
    assert min(each) >= 0
    assert sum(each) == result.mean.exposed_ns


def test_waits_without_a_period_are_of_all_epochs_and_the_step_between_them():
    """Of 12 steps of 77 us together, 26 are waited and 6 are between epochs: the rest of a step is 4 us."""
    burst = burst_of(epochs(EPOCHS))
    assert burst is not None
    assert burst.consumer_ns == 4_000


def test_too_few_workers_have_no_store_that_bridges_a_long_wait():
    """Two workers, whose threads are seen: each round waits, and one wait is longer than the others."""
    waits = [8, 8, 8, 8, 8, 30, 8, 8, 8]
    alone = steps_that_wait(waits, work=2)
    told = steps_that_wait(waits, 2, extra="python @f1,python @f2", names={"f": FEED})
    burst = burst_of(told)
    assert burst is not None
    assert burst.needed_workers is not None
    assert burst.needed_workers > 2
    assert find_jitter(told, burst) is None
    assert find_jitter(alone, burst_of(alone)) is not None


def test_a_batch_that_the_training_process_makes_is_no_jitter():
    waits = [8, 8, 8, 8, 8, 30, 8, 8, 8]
    assert find_jitter(steps_that_wait(waits, work=2, loader="loader single"), None) is None


# The curve: every point is a whole step of the span.


def test_a_curve_holds_the_first_batches_of_epochs_in_every_point():
    mean = MeanStep(44_000, late_ns=10_000, first_ns=11_000)
    curve = worker_curve(Making(3, 99_000, 23_000, needed=5), mean)
    assert [point.step_ns for point in curve.points[:6]] == [110_000, 60_500, 44_000, 35_750, 34_000, 34_000]
    assert (curve.measured_step_ns, curve.recommended, curve.floor_ns, curve.gain_ns) == (44_000, 5, 34_000, 10_000)
    assert curve.apart_ns == 11_000
    assert curve.apart is not None
    assert curve.apart.values == {"first": Quantity(11_000, Unit.NS)}
    assert worker_curve(Making(3, 99_000, 23_000, needed=5), MeanStep(44_000, 10_000)).apart is None


def test_waits_that_the_pace_does_not_explain_end_where_there_is_room_for_them():
    """3 workers keep up on average, and 6 us are waited all the same; 5 workers leave room for slow batches."""
    curve = worker_curve(Making(3, 60_000, 22_000, needed=5), MeanStep(28_000, late_ns=6_000))
    assert [point.step_ns for point in curve.points[:6]] == [66_000, 36_000, 28_000, 25_000, 22_000, 22_000]
    assert (curve.recommended, curve.gain_ns) == (5, 6_000)


def test_waits_beside_enough_workers_stay_whatever_their_number():
    curve = worker_curve(Making(5, 60_000, 22_000, needed=3), MeanStep(28_000, late_ns=6_000))
    assert [point.step_ns for point in curve.points[:6]] == [66_000, 36_000, 28_000, 28_000, 28_000, 28_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (3, 28_000, 0)


def anew(processes_ns: int | None, workers: int = 2, production_ns: int = 60_000) -> WorkerCurve:
    """A step of 10 us, 20 of late batches and 30 where epochs begin."""
    mean = MeanStep(60_000, late_ns=20_000, first_ns=30_000, processes_ns=processes_ns)
    return worker_curve(Making(workers, production_ns, 10_000, needed=6), mean)


def test_what_more_workers_take_longer_to_start_is_in_each_point():
    curve = anew(8_000)
    assert [point.step_ns for point in curve.points[:6]] == [86_000, 60_000, 54_000, 53_000, 54_000, 56_000]
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (4, 53_000, 7_000)
    assert (curve.apart_ns, curve.started_ns) == (22_000, 4_000)


@pytest.mark.parametrize(
    ("processes_ns", "needs", "limit"),
    [
        (
            8_000,
            60_000,
            "More workers take longer to start in each epoch than they save; with `persistent_workers=True` 6 would "
            "pay.",
        ),
        (
            1_000,
            60_000,
            "More workers take longer to start in each epoch, which `persistent_workers=True` would spare.",
        ),
        (
            None,
            60_000,
            "If workers start anew for each epoch, more of them take longer to; `persistent_workers=True` keeps them.",
        ),
        (500, 60_000, ""),
        (0, 60_000, ""),
    ],
)
def test_a_curve_says_that_more_workers_start_for_longer(processes_ns: int | None, needs: int, limit: str):
    said = anew(processes_ns, production_ns=needs).limit
    assert said is not None
    opens = "As far as cores and disk allow: this trace does not say how many cores the machine has."
    assert in_words(said) == f"{opens} {limit}".rstrip()


def test_what_each_worker_takes_to_start_is_told_apart_from_what_none_ends():
    apart = anew(8_000).apart
    assert apart is not None
    assert in_words(apart) == (
        "In each step, measured or predicted: 22 µs for epochs that begin, which no number of workers ends, and 4 µs "
        "for each worker that starts anew."
    )


def test_a_curve_says_why_fewer_workers_than_keep_up_are_best():
    assert in_words(anew(8_000).title) == "4 workers leave a step of about 53 µs: more would start for too long"
    best = worker_curve(Making(4, 60_000, 10_000, needed=6), MeanStep(45_000, 5_000, 30_000, processes_ns=16_000))
    assert [point.step_ns for point in best.points[2:6]] == [46_000, 45_000, 46_000, 48_000]
    assert in_words(best.title) == "4 workers are best: more would start for too long in each epoch"
    assert (best.recommended, best.gain_ns) == (4, 0)


@pytest.mark.parametrize(("seeds", "started"), [("st", 3_000 // 24 // 3), ("s.", 0), ("..", 0)])
def test_what_workers_take_to_start_is_that_of_the_judged_loader(seeds: str, started: int):
    curve = curve_of(analyse(epochs([[9, 1, 1] * 5, [12, 1, 1] + [9, 1, 1] * 2], work=2, seeds=seeds)))
    assert (curve.measured_workers, curve.started_ns) == (3, started)


def test_of_epochs_of_few_batches_those_that_come_with_the_first_are_not_late():
    """Each fourth batch is the first of an epoch: of two workers half of the batches come with it, of four all."""
    making, mean = Making(2, 60_000, 10_000, needed=6), MeanStep(40_000, 10_000, 20_000, first_share=0.25)
    points = [point.step_ns for point in worker_curve(making, mean).points]
    assert points[:6] == [30_000 + 50_000 * 3 // 4, 40_000, 30_000 + 10_000 // 4, 30_000, 30_000, 30_000]


LOADER_2 = phrase("loader {beside_place}", beside_place=count(2))


def held_up(workers: int, batches: float, production_ns: int = 34_000) -> WorkerCurve:
    """Two workers that need 80 us a batch, the rest of the step 12 us, and another loader beside them."""
    beside = Beside(LOADER_2, workers, production_ns, batches)
    needed = -(-80_000 // used_every_ns(12_000, 1.0, beside))
    return worker_curve(Making(2, 80_000, 12_000, needed, beside=beside), MeanStep(40_000, late_ns=28_000))


def test_no_step_is_shorter_than_what_another_loader_needs_for_its_batches():
    curve = held_up(workers=1, batches=1.0)
    assert [point.step_ns for point in curve.points] == [80_000, 40_000] + [34_000] * 6
    assert (curve.recommended, curve.floor_ns, curve.gain_ns) == (3, 34_000, 6_000)
    assert in_words(curve.title) == "3 workers would leave a step of about 34 µs"


@pytest.mark.parametrize(
    ("workers", "batches", "floor_ns", "limit"),
    [
        (1, 1.0, 34_000, "Then loader 2 limits: its 1 worker needs 34 µs per batch."),
        (2, 1.0, 17_000, "Then loader 2 limits: its 2 workers need 17 µs for the batches of a step."),
        (2, 2.0, 34_000, "Then loader 2 limits: its 2 workers need 34 µs for the batches of a step."),
        (1, 0.5, 17_000, "Then loader 2 limits: its 1 worker needs 17 µs for the batches of a step."),
        (3, 1.0, 12_000, "As far as cores and disk allow: this trace does not say how many cores the machine has."),
        (1, 2.0, 68_000, "Then loader 2 limits: its 1 worker needs 68 µs for the batches of a step."),
    ],
)
def test_a_curve_says_that_another_loader_limits(workers: int, batches: float, floor_ns: int, limit: str):
    curve = held_up(workers, batches)
    assert curve.limit is not None
    assert (curve.floor_ns, in_words(curve.limit), curve.beside is None) == (floor_ns, limit, workers == 3)


def test_more_workers_than_another_loader_lets_be_used_are_not_asked_for():
    """It needs as long as the step takes already."""
    curve = held_up(workers=1, batches=1.0, production_ns=40_000)
    assert (curve.recommended, curve.gain_ns) == (2, 0)
    assert in_words(curve.title) == "2 workers are enough, more would not help"


def in_words(said: Phrase) -> str:
    return plain(said).replace("\xa0", " ")


@pytest.mark.parametrize(
    ("workers", "production", "needed", "limits"),
    [(1, 9, 3, True), (2, 18, 3, True), (1, 5, 4, False), (0, 1, 4, False)],
)
def test_a_recorder_tells_of_the_loader_beside(
    tmp_path: Path, workers: int, production: int, needed: int, limits: bool
):
    result = analyse(recorded_zipped(tmp_path, workers, production))
    curve, floor_ns = curve_of(result), 9_000 if limits else 6_000
    steps = [point.step_ns for point in curve.points]
    assert steps == [max(each, floor_ns) for each in (24_000, 12_000, 8_000, *[6_000] * 5)]
    assert (result.needed_workers, curve.recommended, curve.beside is not None) == (needed, needed, limits)
    remark = "24 µs / 9 µs of loader 2" if limits else "24 µs / 6 µs, rounded up"
    assert in_words(result.tile_remarks["needed_workers"]) == remark


def test_what_only_some_steps_take_is_not_beside(tmp_path: Path):
    result = analyse(recorded_zipped(tmp_path, beside=[False, True, False, False] * 2))
    assert result.recorded is not None
    assert [each.batches_per_step for each in result.recorded.loaders] == [1.0, None]
    assert (curve_of(result).beside, result.needed_workers) == (None, 5)


def test_card_and_sentence_name_the_loader_that_limits(tmp_path: Path):
    results = {analysis.id: analysis.analyse(recorded_zipped(tmp_path)) for analysis in ANALYSES}
    result = results["data_loading"]
    assert isinstance(result, DataLoadingResult)
    assert result.burst is not None
    assert result.burst.sentence is not None
    assert in_words(result.burst.sentence).endswith(
        "2 workers need 24 µs per batch, the rest of the step 6 µs, and loader 2 lets one be used every 9 µs: "
        "batches come late, 3 workers would end it."
    )
    card = next(each for each in judge(results).insights if each.id == "more_workers")
    assert in_words(card.why).endswith("`num_workers=3`; then loader 2 limits: its 1 worker needs 9 µs per batch.")
    code = judge(results).headlines["data_loading"].code
    assert code is not None
    assert code.splitlines()[:2] == ["# Loader 1", "loader = DataLoader(dataset, num_workers=3,"]


def recorded_pair(folder: Path, **settings: object) -> Trace:
    write_two_workers(folder, **settings)
    return with_records(drawn(folder))[0]


def recorded_jitter(folder: Path) -> Trace:
    """Two workers that need 14 us a batch and a step of 4 us without waits; one batch comes much later."""
    waits = [3, 3, 30, 3, 3, 3, 3, 3]
    main, files = File(folder, "main").began(-40), [File(folder, f"w{worker}") for worker in (0, 1)]
    at = 0
    for batch, wait in enumerate(waits):
        main.received(batch, asked=at, there=at + wait - 1, returned=at + wait)
        files[batch % 2].produced(batch, at + wait - 15, at + wait - 3, at + wait - 1)
        at += wait + 4
    for file in (main, *files):
        file.write()
    trace = steps_that_wait(waits, work=4)
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


def recorded_zipped(folder: Path, workers: int = 1, production: int = 9, beside: Sequence[bool] = (True,) * 8) -> Trace:
    """A loader with two workers that need 24 us a batch, in a step of 4 us that takes one of another loader, too.

    loader 1   lllllll.....lllllll.....     waits of 7 us, of which 1 is its own
    loader 2   .......m...........m....     where `beside` has it
    work       ........bbbb........bbbb
    """
    main = File(folder, "main", loader=0).began(-60)
    other = File(folder, "main", loader=1, num_workers=workers).began(-60)
    files = [File(folder, f"w{worker}", loader=0) for worker in (0, 1)]
    others = [File(folder, f"w{worker}", loader=1) for worker in range(workers)] or [other]
    at, number = 0, 2  # none is the first of its pass
    for batch, takes in enumerate(beside, 2):
        main.received(batch, asked=at, there=at + 6, returned=at + 7)
        files[batch % 2].produced(batch, at - 18, at + 4, at + 6, cpu=1)
        at += 7
        if takes:
            if workers:
                other.received(number, asked=at, there=at, returned=at + 1)
            others[number % len(others)].produced(
                number, at + (not workers) - production, at, at + (not workers), cpu=1
            )
            at, number = at + 1, number + 1
        at += 4
    for file in (main, *files, *others, other):
        file.write()
    trace = timeline(chains([(7, 1) if takes else (7,) for takes in beside], "loader", work=4), names=NAMES)
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


def other_recorded(
    folder: Path, production: int, own: str = "loader", waits: Sequence[int] = (9, 1) * 6, takes: int = 1
) -> Trace:
    """A loader whose two workers no recorder knows need 20 us a batch, in a step of 4 us; and one with a worker that is
    recorded, of which every so many steps take a batch.

    loader 1   lllllllll.....l.....     or the training process makes its batches
    loader 2   .........m.....m....
    """
    main, worker = File(folder, "main", loader=1, num_workers=1).began(-60), File(folder, "w0", loader=1)
    rows = {"step": "", own: "", "loader": "", "op": ""}
    for step, wait in enumerate(waits):
        at, other = len(rows["step"]) + wait, "m" if step % takes == 0 else ""
        if other:
            main.received(2 + step // takes, asked=at, there=at, returned=at + 1)
            worker.produced(2 + step // takes, at - production, at - 1, at, cpu=1)
        length = wait + len(other) + 4
        cells = {"step": "xy"[step % 2] * length, "op": "bbbb".rjust(length, ".")}
        cells |= {"loader": ("." * wait + other).ljust(length, ".")}
        cells[own] = "l" * wait + cells["loader"][wait:] if own == "loader" else ("l" * wait).ljust(length, ".")
        rows = {label: row + cells[label] for label, row in rows.items()}
    for file in (main, worker):
        file.write()
    trace = timeline("\n".join(f"{label} | {cells} |" for label, cells in rows.items()), names=NAMES)
    return with_records(replace(trace, path=drawn(folder).path, origin_ns=ORIGIN))[0]


@pytest.mark.parametrize(("production", "needed", "floor_ns"), [(9, 3, 9_000), (5, 4, 6_000)])
def test_a_recorded_loader_bounds_what_workers_of_another_can_do(
    tmp_path: Path, production: int, needed: int, floor_ns: int
):
    result = analyse(other_recorded(tmp_path, production))
    curve, limits = curve_of(result), production == 9
    assert result.burst is not None
    assert result.burst.sentence is not None
    assert (result.burst.workers_from, result.burst.production_ns, result.burst.consumer_ns) == (
        "period",
        20_000,
        6_000,
    )
    assert (result.needed_workers, result.burst.needed_workers, curve.recommended) == (needed, needed, needed)
    assert (curve.measured_workers, curve.floor_ns, curve.beside is not None) == (2, floor_ns, limits)
    assert ("and loader 2 lets one be used every 9 µs" in in_words(result.burst.sentence)) == limits
    assert curve.limit is not None
    assert in_words(curve.limit).startswith("Then loader 2 limits: its 1 worker needs 9 µs" if limits else "As far as")


def test_a_recorded_loader_bounds_one_that_the_training_process_makes(tmp_path: Path):
    """12 us a batch and 5 us of the step: 3 workers would do, of which the other loader lets 2 be of use."""
    result = analyse(other_recorded(tmp_path, 9, own="loader single", waits=[12] * 8))
    curve = curve_of(result)
    assert (curve.measured_workers, result.needed_workers, curve.floor_ns) == (0, 2, 9_000)
    assert curve.beside is not None


def test_a_recorded_loader_that_few_steps_take_does_not_bound_another(tmp_path: Path):
    result = analyse(other_recorded(tmp_path, 60, takes=3))
    assert curve_of(result).beside is None


CASES: dict[str, Callable[[Path], Trace]] = {
    "bursts": lambda _: steps_that_wait([9, 1, 1] * 4, work=2),
    "bursts in epochs": lambda _: epochs([[9, 1, 1] * 4, [12, 1, 1] + [9, 1, 1] * 2], work=2),
    "in epochs, anew": lambda _: epochs([[9, 1, 1] * 4, [12, 1, 1] + [9, 1, 1] * 2], work=2, seeds="st"),
    "known workers and a long wait": lambda _: steps_that_wait(
        [8, 8, 8, 8, 8, 30, 8, 8, 8], 2, extra="python @f1,python @f2", names={"f": FEED}
    ),
    "one process": lambda _: steps_that_wait([6] * 6, loader="loader single"),
    "one process in epochs": lambda _: epochs(EPOCHS, loader="loader single"),
    "in store": lambda _: steps_that_wait([1, 1, 1, 1, 1, 1] + [9, 1, 1] * 4, work=2),
    "simulated": lambda _: simulated(3, 0.1)[1],
    "recorded": recorded_pair,
    "recorded with a long wait": recorded_jitter,
    "recorded, and zipped with a slower one": recorded_zipped,
    "beside a slower one that is recorded": lambda folder: other_recorded(folder, 9),
    "recorded, enough": lambda folder: recorded_pair(folder, num_workers=4),
}


def curve_of(result: DataLoadingResult) -> WorkerCurve:
    assert result.curve is not None
    return result.curve


@pytest.mark.parametrize("case", CASES)
def test_curve_title_sentence_and_cards_are_of_one_arithmetic(tmp_path: Path, case: str):
    results = {analysis.id: analysis.analyse(CASES[case](tmp_path)) for analysis in ANALYSES}
    result = results["data_loading"]
    assert isinstance(result, DataLoadingResult)
    assert result.shares is not None
    curve, shares = curve_of(result), result.shares
    point = {each.workers: each.step_ns for each in curve.points}
    steps = [each.step_ns for each in curve.points]
    assert curve.started_ns or steps == sorted(steps, reverse=True)
    assert curve.floor_ns == point[curve.recommended]
    more = curve.recommended > curve.measured_workers
    assert curve.gain_ns == (max(0, curve.measured_step_ns - curve.floor_ns) if more else 0)
    assert curve.gain_ns <= shares.late_ns
    if curve.measured_workers:  # today's number: never faster than measured
        assert point[curve.measured_workers] >= curve.measured_step_ns
    said = curve.title.values
    assert said["number"].value == curve.recommended
    assert "{left}" not in curve.title.template or said["left"].value == curve.floor_ns
    if result.burst:
        assert result.burst.needed_workers == result.needed_workers
    if result.burst and result.burst.sentence and "would end it" in result.burst.sentence.template:
        assert result.burst.sentence.values["needed"].value == curve.recommended
    _agree(judge(results).insights, result)


def _agree(insights: Sequence[Insight], result: DataLoadingResult) -> None:
    gain = {each.id: each.gain_ns for each in insights}
    shares, curve = result.shares, curve_of(result)
    assert shares is not None
    asked = gain.get("more_workers", gain.get("no_workers"))
    assert asked is None or asked == curve.gain_ns
    known = {"epoch_starts": shares.first_ns, "loader_jitter": shares.jitter_ns, "loader_overhead": shares.overhead_ns}
    for card, share in known.items():
        assert gain.get(card, share) == share
    if curve.recommended > curve.measured_workers:
        assert "input_bound" not in gain
        assert result.jitter is None


def test_what_a_recorder_says_of_too_few_workers_asks_for_as_many_as_the_curve(tmp_path: Path):
    result = analyse(recorded_pair(tmp_path))
    assert result.burst is not None
    assert result.burst.sentence is not None
    assert plain(result.burst.sentence).replace("\xa0", " ") == (
        "2 workers need 14 µs per batch, the rest of the step 5 µs: batches come late, 3 workers would end it."
    )
    assert plain(curve_of(result).title).startswith("3 workers would leave a step of about ")
