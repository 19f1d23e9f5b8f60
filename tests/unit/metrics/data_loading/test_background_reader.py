"""A loader that a thread of its own reads: no mark shows what steps wait for, but a recorder knows its batches."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.catalogue import measure
from tb_steptime.terminal.contract import DataLoadingReport
from tb_steptime.terminal.report import _data_loading
from tb_steptime.text import Reason
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged
from tests.drawn.recorder_files import ORIGIN, File
from tests.drawn.timeline import timeline

#: Four steps of 7 us, without any mark of a loader.
DRAWN = """
    step | 1111111222222233333334444444 |
    op   | ...aaaa...aaaa...aaaa...aaaa |"""


def recorded(folder: Path, drawing: str = DRAWN) -> Trace:
    return with_records(replace(timeline(drawing), path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))[0]


def write(
    folder: Path,
    production: int,
    *,
    returned: list[int],
    waits: int = 2,
    workers: int = 2,
    loader: int = 0,
    cpu: int = 1,
) -> None:
    """Workers that need `production` us per batch, 1 us of it to collate; the thread waits until `returned`."""
    main = File(folder, "main", num_workers=workers)
    for batch, at in enumerate(returned):
        main.received(batch, requested=max(at - waits, 0) if at > 0 else at - waits, there=at - 1, returned=at)
    main.write()
    for worker in range(workers):
        file = File(folder, f"w{worker}", num_workers=workers)
        for batch in range(worker, len(returned), workers):
            end = returned[batch] - 1
            file.produced(batch, end - production, end - 1, end, cpu=1)
        file.write()


def one_a_step() -> list[int]:
    return [7 * step + 4 for step in range(4)]


OTHER_THREAD, NO_EVENTS = Reason("loader_on_other_thread"), Reason("no_loader_events")


def test_without_marks_and_a_recorder_no_loader_is_known():
    result = analyse(timeline(DRAWN))
    assert (result.unknown, result.recorded, result.tiles) == (NO_EVENTS, None, [])


def test_batches_that_were_all_taken_before_the_first_step_are_of_no_use(tmp_path):
    write(tmp_path, 14, returned=[-2, 0])
    result = analyse(recorded(tmp_path))
    assert (result.unknown, result.recorded) == (NO_EVENTS, None)


def test_files_that_are_of_no_use_say_why(tmp_path):
    write(tmp_path, 14, returned=[900])
    assert [note.id for note in analyse(recorded(tmp_path)).recorder_notes] == ["recorder_not_then"]


def test_no_wait_is_claimed_and_all_else_is_shown(tmp_path):
    write(tmp_path, 4, returned=one_a_step())
    result = analyse(recorded(tmp_path))
    assert result.unknown == result.why_unknown == OTHER_THREAD
    assert (result.steps, result.mean, result.causes, result.curve, result.burst) == ([], None, None, None, None)
    assert {tile.metric: (tile.value, tile.reason) for tile in result.tiles} == {
        "data_loading_exposed": (None, OTHER_THREAD),
        "data_loading_hidden": (None, OTHER_THREAD),
        "batch_time": (4_000, None),
        "step_without_wait": (None, OTHER_THREAD),
        "needed_workers": (None, OTHER_THREAD),
    }
    assert result.recorded is not None
    assert result.recorded.consumer_ns is None
    assert (result.recorded.batches, result.recorded.dataset_ns, result.recorded.collate_ns) == (4, 3_000, 1_000)
    assert [lane.worker for lane in result.recorded.lanes] == [0, 1]
    assert [(len(queue.depth) > 1, queue.late_share) for queue in result.recorded.queues] == [(True, 1.0)]
    assert len(result.recorded.slowest) == 4


def test_no_card_is_built_on_waits_and_the_views_say_what_is_known(tmp_path):
    write(tmp_path, 14, returned=one_a_step(), waits=7)
    judgement = judged(recorded(tmp_path))
    assert [insight.id for insight in judgement.insights if insight.view == "data_loading"] == []
    headline = judgement.headlines["data_loading"]
    assert plain(headline.verdict) == "The loader is read on another thread."
    assert headline.action is None
    assert plain(judgement.titles["data_loading"]["steps"]) == "The loader is read on another thread"
    bar = judgement.sidebar["data_loading"]
    assert (bar.share, bar.reason) == (None, OTHER_THREAD)


def test_the_command_line_says_what_is_recorded(tmp_path):
    write(tmp_path, 14, returned=one_a_step(), waits=7)
    report = _data_loading(analyse(recorded(tmp_path)))
    assert report.recorded is not None
    assert (report.recorded.batches, report.recorded.collate_ns_mean) == (4, 1_000)
    assert [each.worker for each in report.recorded.per_worker] == [0, 1]
    assert msgspec.structs.replace(report, recorded=None) == DataLoadingReport(
        workers=2, production_ns=14_000, needed_workers=None, why_unknown="The loader is read on another thread."
    )


def test_production_may_not_be_recorded(tmp_path):
    main = File(tmp_path, "main")
    for batch, at in enumerate(one_a_step()):
        main.received(batch, requested=at - 2, there=at - 1, returned=at)
    main.write()
    trace = recorded(tmp_path)
    assert analyse(trace).batch_ns is None
    assert measure(trace, "batch_time", None).reason == OTHER_THREAD


def test_a_first_batch_that_the_loop_itself_reads_is_no_wait_of_the_steps(tmp_path):
    """A prefetcher reads one batch ahead when it is created, so the steps would seem to wait for nothing."""
    trace_drawn = """
        step   | .....1111111222222233333334444444 |
        loader | lll.............................. |
        op     | ........aaaa...aaaa...aaaa...aaaa |"""
    write(tmp_path, 14, returned=[3, *(5 + at for at in one_a_step())])
    result = analyse(recorded(tmp_path, trace_drawn))
    assert (result.unknown, result.mean) == (OTHER_THREAD, None)
    assert result.recorded is not None
    assert result.recorded.batches == 4


#: All threads are recorded, among them one that reads ahead and waits for a batch while the steps use earlier ones.
OTHER = """
    step                | 1111111222222233333334444444 |
    op                  | ...aaaa...aaaa...aaaa...aaaa |
    loader @prefetcher  | lllllllmmmmmmmnnnnnnnooooooo |"""


def test_waits_of_another_thread_are_none_of_the_steps():
    trace = timeline(OTHER)
    result = analyse(trace)
    assert (result.unknown, result.mean, result.tiles) == (OTHER_THREAD, None, [])
    headline = judged(trace).headlines["data_loading"]
    assert headline.action is not None
    assert plain(headline.action) == "Two lines in the script record how fast its batches are produced."
    assert {insight.id for insight in judged(trace).insights if insight.view == "data_loading"} == set()
    assert measure(trace, "data_loader_time", None).value == 0


def test_what_is_recorded_of_it_is_not_of_a_loader_that_the_steps_read(tmp_path):
    """The steps read a loader that nobody recorded, an evaluation for example, whose waits are marked."""
    drawing = f"""
        step   | {"1" * 70 + "2" * 70 + "3" * 70 + "4" * 70} |
        loader | {"".join(mark + 69 * "." for mark in "lmno")} |
        op     | {4 * (30 * "." + 40 * "a")} |"""
    write(tmp_path, 14, returned=[70 * step + 35 for step in range(4)])  # too long after the loop's own waits
    told = _data_loading(analyse(recorded(tmp_path, drawing)))
    assert told.recorded is not None
    assert told.recorded.batches == 4
    alone = _data_loading(analyse(timeline(drawing)))
    assert msgspec.structs.replace(told, recorded=None) == alone
    result = analyse(recorded(tmp_path, drawing)).recorded
    assert result is not None
    assert result.consumer_ns is None
