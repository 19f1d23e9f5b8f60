"""A loader that a thread of its own reads: no mark tells what the steps wait for, a recorder tells of its batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.data_loading import DataLoadingResult, analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.metrics.catalogue import measure
from tb_steptime.metrics.data_loading.background_reader import Unmarked
from tb_steptime.terminal.contract import DataLoadingReport
from tb_steptime.terminal.printer import plain
from tb_steptime.terminal.report import _data_loading
from tb_steptime.text import Phrase, Reason
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline
from tests.unit.metrics.data_loading.recorded.test_loading import ORIGIN, File

#: Four steps of 7 us, and no mark of a loader.
DRAWN = """
    step | 1111111222222233333334444444 |
    op   | ...aaaa...aaaa...aaaa...aaaa |"""

WHY = (
    "The loader is not read on the thread whose steps are recorded, so this trace does not show what the training loop "
    "waits for: neither exposed nor hidden waits are known."
)


def recorded(folder: Path, drawing: str = DRAWN) -> Trace:
    return with_records(replace(timeline(drawing), path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))[0]


def write(
    folder: Path, making: int, *, returned: list[int], waits: int = 2, workers: int = 2, loader: int = 0, cpu: int = 1
) -> None:
    """Workers that need `making` us for a batch, of which 1 collates; the thread waits for each until `returned`."""
    main = File(folder, "main", loader=loader, num_workers=workers)
    for batch, at in enumerate(returned):
        main.received(batch, asked=max(at - waits, 0) if at > 0 else at - waits, there=at - 1, returned=at)
    main.write()
    for worker in range(workers):
        file = File(folder, f"w{worker}", loader=loader, num_workers=workers)
        for batch in range(worker, len(returned), workers):
            end = returned[batch] - 1
            file.produced(batch, end - making, end - 1, end, cpu=cpu)
        file.write()


def one_a_step() -> list[int]:
    return [7 * step + 4 for step in range(4)]


def judged(trace: Trace) -> Judgement:
    return judge({analysis.id: analysis.analyse(trace) for analysis in ANALYSES})


def unmarked(trace: Trace) -> Unmarked:
    told = analyse(trace).unmarked
    assert told is not None
    return told


OTHER_THREAD = Reason("loader_on_other_thread")


def said(phrase: Phrase | None) -> str | None:
    return None if phrase is None else plain(phrase).replace("\xa0", " ")


def test_without_a_recorder_nobody_claims_that_no_loader_is_read():
    result = analyse(timeline(DRAWN))
    assert said(result.unknown) == (
        "This trace has no loader events: no torch DataLoader is read on a recorded thread inside its steps. One that "
        "another thread reads ahead shows once two lines in the script record it."
    )
    assert (result.unmarked, result.recorded, result.tiles) == (None, None, [])


def test_nobody_is_told_to_record_what_is_recorded(tmp_path):
    """The thread took all batches ahead of the first step."""
    write(tmp_path, 14, returned=[-2, 0])
    result = analyse(recorded(tmp_path))
    assert said(result.unknown) == (
        "This trace has no loader events: no torch DataLoader is read on a recorded thread inside its steps. Nor does "
        "the recorder know of a batch that is asked for in them."
    )
    assert (result.unmarked, result.recorded) == (None, None)


def test_files_that_are_of_no_use_say_why(tmp_path):
    write(tmp_path, 14, returned=[900])
    assert [note.id for note in analyse(recorded(tmp_path)).recorder_notes] == ["recorder_not_then"]


def test_a_loader_that_limits_is_told_with_its_pace(tmp_path):
    """Two workers need 14 us for a batch: one every 7 us, as the thread takes them."""
    write(tmp_path, 14, returned=one_a_step(), waits=7)
    told = unmarked(recorded(tmp_path))
    assert (told.workers, told.made_every_ns, told.taken_every_ns, told.limits, told.needed) == (
        2, 7_000, 7_000, True, None,
    )  # fmt: skip
    assert said(told.sentence) == (
        "2 workers make a batch every 7 µs, and one is taken every 7 µs: est., the loader sets the pace."
    )
    assert said(told.advice) == (
        "Try more workers, such as `num_workers=4`, and compare: by how much the steps would be shorter does not show "
        "in this trace."
    )


def test_a_loader_that_keeps_up_is_told_with_how_many_workers_would_do(tmp_path):
    write(tmp_path, 6, returned=one_a_step(), workers=3)
    told = unmarked(recorded(tmp_path))
    assert (told.made_every_ns, told.taken_every_ns, told.limits, told.needed) == (2_000, 7_000, False, 1)
    assert said(told.sentence) == (
        "3 workers make a batch every 2 µs, and one is taken every 7 µs: est., the loader keeps up."
    )
    assert said(told.advice) == "1 worker would do for steps as they are now."


@pytest.mark.parametrize(
    ("making", "waits", "pace", "needed"),
    [(12, 7, "keeps up", 2), (13, 7, "sets the pace", None), (13, 6, "just keeps up", 2)],
)
def test_a_loader_limits_where_it_has_no_time_to_spare_and_its_thread_only_waits(tmp_path, making, waits, pace, needed):
    """A thread that does something else too, as its own queue is full, has batches in store for the steps."""
    write(tmp_path, making, returned=one_a_step(), waits=waits)
    told = unmarked(recorded(tmp_path))
    assert (told.limits, told.needed) == (needed is None, needed)
    assert (said(told.sentence) or "").endswith(f"est., the loader {pace}.")


def test_of_a_lone_batch_nobody_knows_what_its_thread_does(tmp_path):
    write(tmp_path, 13, returned=[9], waits=7)
    trace = recorded(tmp_path)
    told = unmarked(trace)
    assert (told.made_every_ns, told.limits, told.needed, told.sentence) == (6_500, None, None, None)
    assert measure(trace, "needed_workers", None).reason == Reason("few_batches")


def test_no_wait_is_claimed_and_all_else_is_shown(tmp_path):
    write(tmp_path, 4, returned=one_a_step())
    result = analyse(recorded(tmp_path))
    assert (result.steps, result.mean, result.shares, result.curve, result.burst) == ([], None, None, None, None)
    assert {tile.metric: (tile.value, tile.reason) for tile in result.tiles} == {
        "data_loading_exposed": (None, OTHER_THREAD),
        "data_loading_hidden": (None, OTHER_THREAD),
        "batch_time": (4_000, None),
        "step_without_wait": (None, OTHER_THREAD),
        "needed_workers": (1, None),
    }
    assert {key: said(remark) for key, remark in result.tile_remarks.items()} == {
        "batch_time": "to make, in a worker", "needed_workers": "for steps as they are now",
    }  # fmt: skip
    assert result.recorded is not None
    assert (result.recorded.batches, result.recorded.dataset_ns, result.recorded.collate_ns) == (4, 3_000, 1_000)
    assert [lane.worker for lane in result.recorded.lanes] == [0, 1]
    assert [(len(queue.depth) > 1, queue.late_share) for queue in result.recorded.queues] == [(True, 1.0)]
    assert len(result.recorded.slowest) == 4


def test_no_card_is_built_on_waits_and_the_views_say_what_is_known(tmp_path):
    write(tmp_path, 14, returned=one_a_step(), waits=7)
    trace = recorded(tmp_path)
    judgement, told = judged(trace), unmarked(trace)
    assert [insight.id for insight in judgement.insights if insight.view == "data_loading"] == []
    headline = judgement.headlines["data_loading"]
    assert (headline.verdict, headline.action) == (told.sentence, told.advice)
    overview = judgement.headlines["overview"]
    assert (overview.action, overview.view) == (told.sentence, "data_loading")
    bar = judgement.sidebar["data_loading"]
    assert (bar.share, bar.reason) == (None, OTHER_THREAD)
    assert measure(trace, "needed_workers", None).reason == Reason("loader_limits_steps")


@pytest.mark.parametrize(("making", "needed"), [(4, 1), (14, None)])
def test_the_command_line_tells_what_is_recorded(tmp_path, making, needed):
    write(tmp_path, making, returned=one_a_step(), waits=7)
    report = _data_loading(analyse(recorded(tmp_path)))
    assert report.recorded is not None
    assert (report.recorded.batches, report.recorded.collate_ns_mean) == (4, 1_000)
    assert [each.worker for each in report.recorded.per_worker] == [0, 1]
    assert msgspec.structs.replace(report, recorded=None) == DataLoadingReport(
        workers=2, production_ns=1_000 * making, needed_workers=needed, why_unknown=WHY
    )


def per_step(result: DataLoadingResult) -> float | None:
    return None if result.batches_per_step is None else round(result.batches_per_step, 2)


@pytest.mark.parametrize(
    ("returned", "every", "batches"),
    [
        ([3, 8, 17, 22], 7_000, 1.0),  # in rounds of 14: two, then none
        ([2, 9, 16, 23], 7_000, 1.0),
        ([2, 4, 9, 11, 16, 18, 23, 25], 3_500, 2.0),
        ([9], 7_000, 1.0),  # a lone one tells no more than that
    ],
)
def test_time_tells_how_many_batches_a_step_takes(tmp_path, returned, every, batches):
    """Not the steps in which the thread happens to ask."""
    write(tmp_path, 2, returned=returned)
    result = analyse(recorded(tmp_path))
    assert result.unmarked is not None
    assert (result.unmarked.taken_every_ns, per_step(result)) == (every, batches)


def test_a_thread_that_makes_its_batches_itself_is_advised_workers(tmp_path):
    main = File(tmp_path, "main", num_workers=0)
    for step in range(4):
        main.produced(step, 7 * step, 7 * step + 6, 7 * step + 7, cpu=1)
    main.write()
    trace = recorded(tmp_path)
    told = unmarked(trace)
    assert (told.workers, told.made_every_ns, told.taken_every_ns, told.limits) == (0, 7_000, 7_000, True)
    assert said(told.sentence) == (
        "The thread that reads the loader makes a batch every 7 µs, and one is taken every 7 µs: est., the loader sets "
        "the pace."
    )
    assert said(told.advice) == "Worker processes would make batches side by side: `num_workers=2` or more."
    assert said(analyse(trace).tile_remarks["batch_time"]) == "to make, on its thread"


def test_workers_that_compute_on_all_cores_are_not_advised_more_of_them(tmp_path):
    write(tmp_path, 28, returned=one_a_step(), waits=7, workers=4, cpu=27)
    assert said(unmarked(recorded(tmp_path)).advice) == (
        "The workers compute, and the machine has 4 cores: a cheaper dataset would let the steps be shorter."
    )


def test_of_several_loaders_the_one_that_is_spoken_of_is_named(tmp_path):
    write(tmp_path, 14, returned=one_a_step())
    write(tmp_path, 4, returned=[15], loader=1, workers=1)
    told = said(unmarked(recorded(tmp_path)).sentence)
    assert told is not None
    assert told.startswith("Recorded loader 1: 2 workers make a batch every 7 µs")


def test_how_batches_are_made_may_not_be_recorded(tmp_path):
    main = File(tmp_path, "main")
    for batch, at in enumerate(one_a_step()):
        main.received(batch, asked=at - 2, there=at - 1, returned=at)
    main.write()
    trace = recorded(tmp_path)
    told = unmarked(trace)
    assert (told.made_every_ns, told.taken_every_ns, told.limits, told.sentence) == (None, 7_000, None, None)
    assert said(judged(trace).headlines["data_loading"].verdict) == WHY
    assert measure(trace, "batch_time", None).reason == OTHER_THREAD


def test_a_first_batch_that_the_loop_itself_reads_is_no_wait_of_the_steps(tmp_path):
    """A prefetcher reads one ahead when it is made; the steps would seem to wait for nothing."""
    trace_drawn = """
        step   | .....1111111222222233333334444444 |
        loader | lll.............................. |
        op     | ........aaaa...aaaa...aaaa...aaaa |"""
    write(tmp_path, 14, returned=[3, *(5 + at for at in one_a_step())])
    result = analyse(recorded(tmp_path, trace_drawn))
    assert (said(result.unknown), result.mean) == (WHY, None)
    assert result.unmarked is not None
    assert result.recorded is not None
    assert result.recorded.batches == 4


#: All threads are recorded, also one that reads ahead and waits for each batch while the steps have others.
ELSEWHERE = """
    step                | 1111111222222233333334444444 |
    op                  | ...aaaa...aaaa...aaaa...aaaa |
    loader @prefetcher  | lllllllmmmmmmmnnnnnnnooooooo |"""


def test_waits_of_another_thread_are_none_of_the_steps():
    trace = timeline(ELSEWHERE)
    result = analyse(trace)
    assert (said(result.steps_title), said(result.unknown), result.mean) == (
        "The loader is read on another thread",
        "A torch DataLoader is read on another thread than the steps: what these wait for does not show. Two lines in "
        "the script record how fast its batches are made.",
        None,
    )
    assert {insight.id for insight in judged(trace).insights if insight.view == "data_loading"} == set()
    assert measure(trace, "data_loader_time", None).value == 0


def test_what_is_recorded_of_it_is_not_told_of_a_loader_that_the_steps_read(tmp_path):
    """One that nobody recorded: an evaluation, say, whose waits are marked."""
    drawing = f"""
        step   | {"1" * 70 + "2" * 70 + "3" * 70 + "4" * 70} |
        loader | {"".join(mark + 69 * "." for mark in "lmno")} |
        op     | {4 * (30 * "." + 40 * "a")} |"""
    write(tmp_path, 14, returned=[70 * step + 35 for step in range(4)])  # too long after the loop's own
    told = _data_loading(analyse(recorded(tmp_path, drawing)))
    assert told.recorded is not None
    assert told.recorded.batches == 4
    alone = _data_loading(analyse(timeline(drawing)))
    assert msgspec.structs.replace(told, recorded=None) == alone
    result = analyse(recorded(tmp_path, drawing)).recorded
    assert result is not None
    assert (result.consumer_ns, result.taken_every_ns) == (None, 70_000)


def test_a_loader_that_keeps_up_is_no_matter_of_the_overview(tmp_path):
    write(tmp_path, 6, returned=one_a_step(), waits=7)
    headline = judged(recorded(tmp_path)).headlines["overview"]
    assert (headline.action, headline.view) == (None, None)


def test_a_recorder_tells_the_same_of_it_where_all_threads_are_recorded(tmp_path):
    write(tmp_path, 14, returned=one_a_step(), waits=7)
    assert unmarked(recorded(tmp_path, ELSEWHERE)) == unmarked(recorded(tmp_path))
