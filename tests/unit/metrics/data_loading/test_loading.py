"""A recorder's files beside a trace: which of them are read, and what they show. Written row by row."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.data_loading import analyse
from tb_steptime.ingest.discovery import RECORDS_PATIENCE_NS, Discovery, Place
from tb_steptime.ingest.recorder_files import SeenRecords, are_current, with_records
from tb_steptime.ingest.recorder_files.finding import digest_of
from tb_steptime.metrics.data_loading import recorded as loading
from tb_steptime.metrics.data_loading.loaders import between_epochs_ns
from tb_steptime.metrics.data_loading.recorded import Recorded, what_is_recorded
from tb_steptime.metrics.data_loading.recorded_workers import COLLATE, DATASET, TRANSFER, WAIT
from tb_steptime.metrics.data_loading.throughput import find_throughput
from tb_steptime.record.file import format as record_format
from tb_steptime.record.file.format import (
    FAILED,
)
from tb_steptime.terminal.report import _data_loading
from tb_steptime.trace.model import Trace
from tests.drawn.recorder_files import ORIGIN, PID, File, drawn, recorded, write_two_workers
from tests.drawn.timeline import timeline


def write_and_record(folder: Path) -> Recorded:
    write_two_workers(folder)
    return recorded(drawn(folder))


def needed(trace: Trace) -> int:
    throughput = find_throughput(with_records(trace)[0])
    assert throughput is not None
    return throughput.needed


def notes(trace: Trace) -> list[str]:
    records = with_records(trace)[0].loader_records
    return [note.id for note in records.notes] if records else []


def test_the_way_of_a_batch_is_split(tmp_path):
    write_two_workers(tmp_path)
    result = recorded(drawn(tmp_path))
    assert (result.files, result.batches) == (3, 4)
    assert (result.dataset_ns, result.collate_ns, result.production_ns) == (12_000, 2_000, 14_000)
    assert (result.transfer_ns, result.ready_ns, result.wait_ns) == (1_000, 0, 3_000)
    assert (result.cpu_share, result.kind) == (pytest.approx(3 / 14), "io")
    assert (result.bytes, result.samples, result.cores) == (4096, 8, 4)


def test_the_number_of_workers_and_of_those_needed_is_exact(tmp_path):
    write_two_workers(tmp_path)
    trace, _ = with_records(drawn(tmp_path))
    throughput = find_throughput(trace)
    assert throughput is not None
    assert (throughput.workers, throughput.production.mean_ns, throughput.needed) == (2, 14_000, 3)
    assert throughput.consumer_ns == 5_000  # a step of 7, less a wait of 3, of which 1 is spent taking the batch over


def test_each_workers_first_batch_of_a_pass_is_not_what_batches_take(tmp_path):
    """A first batch includes opening files. It counts only where there are no other batches."""
    write_two_workers(tmp_path)
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}").produced(worker, 7 * worker - 40, 7 * worker - 1, 7 * worker + 1)
        for batch in range(worker + 2, 5, 2):
            file.produced(batch, 7 * batch - 13, 7 * batch - 1, 7 * batch + 1)
        file.write()
    result = recorded(drawn(tmp_path))
    assert (result.production_ns, result.production_spread_ns) == (14_000, 0)
    assert needed(drawn(tmp_path)) == 3


def test_lanes_show_dataset_collate_and_waits_on_the_traces_clock(tmp_path):
    write_two_workers(tmp_path)
    lane = recorded(drawn(tmp_path)).lanes[1]
    pieces = list(zip(lane.part, lane.batch, lane.start_ns, lane.end_ns, strict=True))
    assert lane.worker == 1
    assert pieces[:4] == [
        (DATASET, 1, 0, 6_000), (COLLATE, 1, 6_000, 8_000), (DATASET, 3, 8_000, 20_000), (COLLATE, 3, 20_000, 22_000),
    ]  # fmt: skip
    assert {TRANSFER, WAIT} >= {part for part, *_ in pieces[4:]}
    assert all(end <= start for (_, _, _, end), (_, _, start, _) in itertools.pairwise(pieces))


@pytest.mark.parametrize(
    ("begun", "making"), [((8, 14), [0, 6, 0]), ((12, 16), [0, 2, 0]), ((5, 9), [2, 2, 0]), ((14, 17), [0, 0, 0])]
)
def test_beginning_a_pass_with_kept_workers_is_no_part_of_the_step_that_they_keep_up_with(tmp_path, begun, making):
    """The workers hand over what they made for the previous pass, which was broken off without any mark. Whatever lies
    within a mark is a part of that mark's wait."""
    trace = timeline("""
        step   | 1111111222222222222223333333 |
        loader | lll...........mmm....nnn.... |
        op     | ...aaaa..........aaaa...aaaa |""")
    main = File(tmp_path, "main", persistent_workers=True).received(6, requested=0, there=2, returned=3).began(*begun)
    main.received(0, requested=14, there=16, returned=17).received(1, requested=21, there=23, returned=24).write()
    trace, _ = with_records(replace(trace, path=str(tmp_path / "host_1.5.pt.trace.json"), origin_ns=ORIGIN))
    assert between_epochs_ns(trace).tolist() == [1_000 * each for each in making]


def test_the_queue_counts_batches_that_lie_ready(tmp_path):
    write_two_workers(tmp_path)
    (queue,) = recorded(drawn(tmp_path)).queues
    assert (queue.at_ns[:4], queue.depth[:4]) == ([0, 2_000, 3_000, 9_000], [0, 1, 0, 1])
    assert queue.late_share == 1.0


def test_each_worker_has_its_row(tmp_path):
    write_two_workers(tmp_path)
    rows = [(row.worker, row.pid, row.batches, row.ended) for row in recorded(drawn(tmp_path)).workers]
    assert rows == [(0, 100, 3, None), (1, 101, 2, None)]


def test_the_slowest_batches_come_first(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").produced(3, -3, 20, 22, cpu=25).write()
    slowest = recorded(drawn(tmp_path)).slowest[0]
    assert (slowest.batch, slowest.worker, slowest.step, slowest.total_ns) == (3, 1, "4", 25_000)


def test_without_files_nothing_is_recorded(tmp_path):
    trace, seen = with_records(drawn(tmp_path))
    assert trace.loader_records is None
    assert what_is_recorded(trace) is None
    assert seen == SeenRecords([PID], [], digest_of("host"))


@pytest.mark.parametrize("start", [ORIGIN, ORIGIN + 10**9])
def test_files_of_another_rank_or_run_are_left_out_without_a_word(tmp_path, start):
    write_two_workers(tmp_path)
    write_two_workers(tmp_path, pid=77, start=start)
    assert notes(drawn(tmp_path)) == []
    assert recorded(drawn(tmp_path)).files == 3


def test_files_of_another_time_are_left_out_with_a_note(tmp_path):
    File(tmp_path, "main").received(0, requested=900, there=901, returned=902).write()
    assert notes(drawn(tmp_path)) == ["recorder_not_then"]
    assert what_is_recorded(with_records(drawn(tmp_path))[0]) is None


def test_a_file_that_ends_inside_a_row_is_read_up_to_there(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").produced(1, -6, 6, 8).produced(3, 8, 20, 22).write(cut=40)
    assert notes(drawn(tmp_path)) == ["recorder_file_damaged", "recorder_worker_missing"]
    assert [row.batches for row in recorded(drawn(tmp_path)).workers] == [3, 1]


def test_a_file_without_a_header_is_left_out_with_a_note(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").path.write_bytes(b"no recording")
    assert notes(drawn(tmp_path)) == ["recorder_file_unreadable", "recorder_worker_missing"]
    assert recorded(drawn(tmp_path)).files == 2


@pytest.mark.parametrize("size", [0, 20, 60])
def test_a_file_that_is_being_created_holds_nothing_yet(tmp_path, size):
    write_two_workers(tmp_path)
    path = File(tmp_path, "w1").path
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    assert notes(drawn(tmp_path)) == ["recorder_file_unfinished", "recorder_worker_missing"]
    assert recorded(drawn(tmp_path)).files == 2
    _, seen = with_records(drawn(tmp_path))
    path.write_bytes(whole)
    assert not are_current(seen, tmp_path)
    assert notes(drawn(tmp_path)) == []


def test_a_recording_that_ends_before_its_span_says_how_many_steps_are_missing(tmp_path):
    write_two_workers(tmp_path)
    main = File(tmp_path, "main")
    for batch in range(2):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    records = with_records(drawn(tmp_path))[0].loader_records
    assert records is not None
    (note,) = records.notes
    assert note.id == "recorder_ended_early"
    assert note.values["missing"].value == 2
    early, needed_early = recorded(drawn(tmp_path)), needed(drawn(tmp_path))
    whole = write_and_record(tmp_path)
    assert (early.batches, whole.batches) == (2, 4)
    assert (early.consumer_ns, early.batches_per_step) == (whole.consumer_ns, whole.batches_per_step)
    assert needed_early == needed(drawn(tmp_path))


@pytest.mark.parametrize("lost", ["w0", "main"])
def test_a_file_that_is_missing_is_told(tmp_path, lost):
    write_two_workers(tmp_path)
    File(tmp_path, lost).path.unlink()
    records = with_records(drawn(tmp_path))[0].loader_records
    assert records is not None
    notes_here = {note.id: [value.value for value in note.values.values()] for note in records.notes}
    assert notes_here == ({"recorder_worker_missing": [2, 4]} if lost == "w0" else {"recorder_main_missing": []})


def test_a_file_that_was_full_is_told(tmp_path, monkeypatch):
    """Row 7 has overwritten row 1, which was about a batch that the loop received."""
    monkeypatch.setattr(record_format, "FIRST_ROWS", 1)
    monkeypatch.setattr(record_format, "LATEST_ROWS", 6)
    write_two_workers(tmp_path)
    file = File(tmp_path, "w1").produced(1, -6, 6, 8).produced(3, 8, 20, 22)
    for batch in range(5, 10):
        file.produced(batch, 30, 31, 32)
    file.rows[1] = file.rows.pop()
    file.write()
    assert notes(drawn(tmp_path)) == ["recorder_full"]


def test_two_recorders_of_a_process_each_count_their_loaders(tmp_path):
    write_two_workers(tmp_path)
    alone, enough = recorded(drawn(tmp_path)), needed(drawn(tmp_path))
    main, worker = (File(tmp_path, process, start=ORIGIN + 5, num_workers=1) for process in ("main", "w0"))
    for batch in range(4):
        main.received(batch, requested=7 * batch + 3, there=7 * batch + 3, returned=7 * batch + 3, ready=1)
        worker.produced(batch, 7 * batch, 7 * batch + 1, 7 * batch + 2)
    for file in (main, worker):
        file.write()
    both = recorded(drawn(tmp_path))
    assert [(each.loader, each.workers, each.batches) for each in both.loaders] == [
        (1, 2, 4), (2, 1, 4),
    ]  # fmt: skip
    assert (both.production_ns, needed(drawn(tmp_path))) == (alone.production_ns, enough)


def test_the_first_batch_of_an_evaluation_makes_it_not_the_loader_that_is_waited_for(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "main", loader=1, num_workers=1).received(0, requested=3, there=26, returned=27).write()
    assert recorded(drawn(tmp_path)).main == 1


def test_an_evaluation_in_one_step_is_not_what_the_others_wait_for(tmp_path):
    write_two_workers(tmp_path)
    evaluation = File(tmp_path, "main", loader=1, num_workers=1)
    for batch in range(3):
        evaluation.received(batch, requested=21 + batch, there=25 + batch, returned=26 + batch)
    evaluation.write()
    assert recorded(drawn(tmp_path)).main == 1


def test_the_same_process_number_on_two_machines_is_left_out_with_a_note(tmp_path):
    """The trace's file has a name chosen by the user, which does not show which machine the files belong to."""
    write_two_workers(tmp_path, host="a")
    write_two_workers(tmp_path, host="b")
    records = with_records(replace(drawn(tmp_path), path=str(tmp_path / "mine.pt.trace.json")))[0].loader_records
    assert records is not None
    assert (records.files, [note.id for note in records.notes]) == (0, ["recorder_of_several_machines"])


def test_a_trace_that_is_named_for_its_machine_takes_that_ones_files(tmp_path):
    write_two_workers(tmp_path)
    write_two_workers(tmp_path, host="other")
    trace, seen = with_records(drawn(tmp_path))
    assert {each.file for each in seen.files} == {digest_of(each.name) for each in tmp_path.glob("host_*.loader")}
    assert notes(trace) == []
    assert are_current(seen, tmp_path)


def test_workers_that_compute_are_not_the_loops_own_work(tmp_path):
    """A worker that computes hands a batch's memory over late; the step with enough workers excludes that time."""
    write_two_workers(tmp_path)
    late = recorded(drawn(tmp_path))
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}")
        for batch in range(worker, 5, 2):
            file.produced(batch, 7 * batch - 13, 7 * batch - 1, 7 * batch + 1, cpu=14)
        file.write()
    computing = recorded(drawn(tmp_path))
    assert (late.overhead_ns, late.consumer_ns) == (1_000, 5_000)
    assert (computing.overhead_ns, computing.consumer_ns) == (None, 4_000)


def test_a_clock_that_was_set_is_told(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").produced(1, -6, 6, 8).clock_was_set().write()
    assert notes(drawn(tmp_path)) == ["clock_step"]


def test_a_worker_without_an_end_was_killed_if_its_pass_has_one(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").began(-40).produced(1, -6, 6, 8).produced(3, 8, 20, 22).ended(27).write()
    assert notes(drawn(tmp_path)) == []
    File(tmp_path, "main").received(0, 0, 2, 3).ended(27, FAILED).write()
    assert notes(drawn(tmp_path)) == ["worker_killed"]
    assert [row.ended for row in recorded(drawn(tmp_path)).workers] == [False, None]


def test_workers_that_persist_outlive_a_pass(tmp_path):
    write_two_workers(tmp_path, persistent_workers=True)
    File(tmp_path, "main", persistent_workers=True).received(0, 0, 2, 3).ended(27).write()
    assert notes(drawn(tmp_path)) == []


def test_batches_that_failed_are_no_batches(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "w1").produced(1, -6, 6, 8, flags=FAILED).produced(3, 8, 20, 22).write()
    assert [row.batches for row in recorded(drawn(tmp_path)).workers] == [3, 1]


def test_workers_that_compute_and_wait_for_cores_are_limited_by_them(tmp_path):
    main = File(tmp_path, "main", num_workers=8)
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in range(8):
        File(tmp_path, f"w{worker}", num_workers=8).produced(worker, 0, 26, 28, cpu=14, core_wait=10).write()
    trace, _ = with_records(drawn(tmp_path))
    result, throughput = recorded(drawn(tmp_path)), find_throughput(trace)
    assert {row.kind for row in result.workers} == {"cores"}
    assert throughput is not None
    assert (throughput.production.mean_ns, throughput.busy, throughput.cores) == (18_000, True, 4)
    assert throughput.loader_ns(4) == 18_000 / 4
    assert throughput.loader_ns(8) == 14_000 / 4, "four cores compute a batch in that time, with any number of workers"


@pytest.mark.parametrize(
    ("cpu", "core_wait", "kind", "shares"),
    [
        (20, 0, "cpu", (20 / 28, 0)),
        (5, 1, "io", (5 / 28, 1 / 28)),
        (5, 15, "cores", (5 / 28, 15 / 28)),  # one worker, while other processes use all cores
        (10, 5, "mixed", (10 / 28, 5 / 28)),
        (10, -1, None, (10 / 28, None)),  # it may wait for files or for a core
        (20, -1, "cpu", (20 / 28, None)),
        (-1, -1, None, (None, None)),
    ],
)
def test_what_holds_a_worker_up_is_told_by_its_cpu_time_and_its_wait_for_a_core(tmp_path, cpu, core_wait, kind, shares):
    main = File(tmp_path, "main", num_workers=1)
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    worker = File(tmp_path, "w0", num_workers=1).produced(0, 0, 26, 28, cpu=cpu, core_wait=core_wait)
    worker.produced(1, 28, 40, 42, cpu=-1).write()  # not sampled, so nothing is known about its CPU time
    result = recorded(drawn(tmp_path))
    (row,) = result.workers
    assert (row.kind, result.kind) == (kind, kind)
    assert (row.cpu_share, row.core_wait_share) == (pytest.approx(shares[0]), pytest.approx(shares[1]))


@pytest.mark.parametrize(
    ("cpu", "arrived", "returned", "held"),
    [
        (11, 2, 3, 3_000),
        (11, 0, 4, 4_000),
        (11, 1, 2, None),
        (11, 0, 1, None),
        (2, 2, 3, None),
    ],
    ids=[
        "holds the interpreter",
        "gives the memory away late",
        "was there when the loop looked",
        "was sent at once",
        "waits for files",
    ],
)
def test_a_worker_that_computes_in_python_sends_what_it_produced_late(
    tmp_path, monkeypatch, cpu, arrived, returned, held
):
    """Each batch is ready 1 us before the loop asks for it; the loop has it this many us after asking. Drawn in us."""
    monkeypatch.setattr(loading, "HELD_NS", 2_000)
    monkeypatch.setattr(loading, "READ_NS", 1_000)
    monkeypatch.setattr(loading, "COPIED", 1e9)
    main = File(tmp_path, "main", num_workers=2, pin_memory=False)
    for batch in range(4):
        at = 7 * batch
        main.unpickled(batch, at, arrived=at + arrived, there=at + returned, returned=at + returned)
    main.write()
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}", num_workers=2, pin_memory=False)
        for batch in range(worker, 4, 2):
            file.produced(batch, 7 * batch - 13, 7 * batch - 2, 7 * batch - 1, cpu=cpu, core_wait=0)
        file.write()
    result, throughput = recorded(drawn(tmp_path)), find_throughput(with_records(drawn(tmp_path))[0])
    assert result.held_ns == held
    assert throughput is not None
    if held:
        assert result.late_ns == 3_000, "the loader's, and no time that the step takes"
        assert throughput.consumer_ns == 4_000


@pytest.mark.parametrize(("cores", "receiving"), [(4, 3_000), (2, None)])
def test_where_workers_leave_no_core_it_is_not_known_what_receiving_takes(tmp_path, cores, receiving):
    main = File(tmp_path, "main", num_workers=2)
    main.header["usable_cores"] = cores
    for batch in range(4):
        main.received(batch, requested=7 * batch, there=7 * batch, returned=7 * batch + 3)
    main.write()
    for worker in (0, 1):
        file = File(tmp_path, f"w{worker}", num_workers=2)
        for batch in range(worker, 4, 2):
            file.produced(batch, 7 * batch - 13, 7 * batch - 2, 7 * batch - 1, cpu=11)
        file.write()
    assert recorded(drawn(tmp_path)).overhead_ns == receiving


@pytest.mark.parametrize("pins", [False, True])
def test_a_loader_without_workers_is_the_training_process(tmp_path, pins):
    main = File(tmp_path, "main", num_workers=0)
    for batch in range(4):
        main.produced(batch, 7 * batch, 7 * batch + 2, 7 * batch + 3)
        if pins:
            main.received(batch, requested=7 * batch, there=7 * batch + 4, returned=7 * batch + 4)
    main.write()
    result = recorded(drawn(tmp_path))
    assert [(row.worker, row.batches) for row in result.workers] == [(-1, 4)]
    assert (result.batches, result.production_ns, result.queues) == (4, 3_000, [])
    assert (result.wait_ns, result.overhead_ns) == (4_000 if pins else 3_000, None)


def test_two_loaders_are_told_apart(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "main", loader=1, num_workers=0).received(0, 24, 25, 25).write()
    result = recorded(drawn(tmp_path))
    assert [(each.loader, each.workers, each.batches) for each in result.loaders] == [
        (1, 2, 4), (2, 0, 1),
    ]  # fmt: skip


# A summary belongs to the recorder files that were there when it was made.


def test_a_summary_is_of_the_files_that_it_was_made_with(tmp_path):
    write_two_workers(tmp_path)
    _, seen = with_records(drawn(tmp_path))
    assert [file.file for file in seen.files] == [digest_of(each.name) for each in sorted(tmp_path.glob("*.loader"))]
    assert are_current(seen, tmp_path)


def test_a_file_that_appears_later_is_missing_in_the_summary(tmp_path):
    _, seen = with_records(drawn(tmp_path))
    assert are_current(seen, tmp_path)
    write_two_workers(tmp_path)
    os.utime(tmp_path, ns=(0, 1))  # folders of tests change within one tick of their times
    assert not are_current(seen, tmp_path)


def test_what_is_added_after_the_traces_end_is_of_no_concern(tmp_path):
    write_two_workers(tmp_path)
    main = File(tmp_path, "main").received(0, 0, 2, 3).received(1, requested=90, there=91, returned=92).write()
    _, seen = with_records(drawn(tmp_path))
    main.received(2, requested=95, there=96, returned=97).write()
    assert are_current(seen, tmp_path)


def test_what_is_added_within_the_traces_time_is_missing_in_the_summary(tmp_path):
    main = File(tmp_path, "main").received(0, 0, 2, 3).write()
    _, seen = with_records(drawn(tmp_path))
    assert are_current(seen, tmp_path)
    main.received(1, requested=7, there=9, returned=10).write()
    assert not are_current(seen, tmp_path)


def test_files_with_new_times_are_those_that_were_seen_as_long_as_they_hold_the_same(tmp_path):
    """A folder that was copied has such times."""
    main = File(tmp_path, "main").received(0, 0, 2, 3).write()
    _, seen = with_records(drawn(tmp_path))
    (path,) = tmp_path.glob("*.main.loader")
    os.utime(path, (1, 1))
    assert are_current(seen, tmp_path)
    size = path.stat().st_size
    main.rows[-1] = File(tmp_path, "main").received(0, 0, 2, 4).rows[-1]
    main.write()
    assert path.stat().st_size == size
    assert not are_current(seen, tmp_path)


def test_files_of_others_do_not_make_a_summary_old(tmp_path):
    write_two_workers(tmp_path)
    _, seen = with_records(drawn(tmp_path))
    write_two_workers(tmp_path, pid=77)
    os.utime(tmp_path, ns=(0, 2))
    assert are_current(seen, tmp_path)


def stamp(folder: Path) -> tuple[bool, int, int, int]:
    (span,) = Discovery([Place("", folder, str(folder))]).scan().spans
    return span.stamp


def test_a_span_is_read_again_when_files_appear_or_grow_into_its_time(tmp_path):
    trace = tmp_path / "host_1.5.pt.trace.json"
    trace.write_text("{}")
    now = trace.stat().st_mtime_ns
    before = stamp(tmp_path)
    file = File(tmp_path, "main").received(0, 0, 2, 3).write()
    os.utime(file.path, ns=(now, now - 1))
    appeared = stamp(tmp_path)
    os.utime(file.path, ns=(now, now + 1))
    grown = stamp(tmp_path)
    os.utime(file.path, ns=(now, now + RECORDS_PATIENCE_NS))
    passed = stamp(tmp_path)
    os.utime(file.path, ns=(now, now + 2 * RECORDS_PATIENCE_NS))
    assert len({before, appeared, grown, passed}) == 4
    assert stamp(tmp_path) == passed


# The command line.


def test_the_command_line_tells_of_the_loader_that_is_waited_for(tmp_path):
    write_two_workers(tmp_path)
    File(tmp_path, "main", loader=1, num_workers=1).received(0, 25, 26, 26).write()
    File(tmp_path, "w0", loader=1, num_workers=1).produced(0, 20, 24, 25, cpu=1).write()
    assert msgspec.to_builtins(_data_loading(analyse(with_records(drawn(tmp_path))[0]))) == {
        "iterator": "_MultiProcessingDataLoaderIter",
        "workers": 2,
        "wait_ns_mean": 3_000,
        "exposed_ns_mean": 3_000,
        "hidden_ns_mean": 0,
        "period": None,
        "production_ns": 14_000,
        "consumer_ns": 5_000,
        "needed_workers": 3,
        "predicted_step_ns": {"1": 14_750, "2": 7_750} | {str(n): 5_500 for n in range(3, 9)},
        "why_unknown": None,
        "recorded": {
            "batches": 4,
            "dataset_ns_mean": 12_000,
            "collate_ns_mean": 2_000,
            "cpu_share": 3 / 14,
            "looked_batches": 4,
            "per_worker": [
                {"worker": worker, "pid": 100 + worker, "batches": batches, "dataset_ns_mean": 12_000,
                 "collate_ns_mean": 2_000, "cpu_share": 3 / 14, "looked_batches": batches}
                for worker, batches in ((0, 3), (1, 2))  # one more batch is made for the next span
            ],
        },
    }  # fmt: skip
