"""The store on real files and real processes: what it knows at once, what is read, and what happens on failures."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import types

import msgspec
import pytest

from tb_steptime import cli
from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest import reader_process
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.states import SpanState
from tb_steptime.ingest.summaries import SUFFIX, DamagedSummary
from tb_steptime.ingest.summaries.layout import stamp
from tb_steptime.ingest.summaries.reading import StoredResults
from tb_steptime.ingest.summaries.writing import encode_summary
from tb_steptime.serve import directory, reading
from tb_steptime.serve.directory import WHOLE_RECORDING
from tb_steptime.serve.pages import CachedResults
from tb_steptime.serve.served import SpanFailed, SpanNames, UnknownSpan
from tb_steptime.serve.store import Store
from tb_steptime.serve.trends import TrendsRequest
from tb_steptime.serve.wire import RESULTS, SpanPage, Waiting
from tb_steptime.timeline.answers import TimelinePage
from tests.drawn.processes import runs
from tests.drawn.real_traces import REAL, needs, real_trace
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import PATIENCE_SECONDS, all_read, entries, replace_program, until

LAST_VIEW = list(RESULTS)[-1]


pytestmark = pytest.mark.usefixtures("at_once")


def page(made, id, view="overview"):
    return until(lambda: isinstance(answer := made.page(id, view, work=True), SpanPage) and answer)


def test_spans_are_read_and_their_pages_served(logs, opened):
    write_trace(logs / "a" / "host.1.pt.trace.json.gz", first_step=5)
    write_trace(logs / "a" / "host.2.pt.trace.json.gz", first_step=50, rank=3)
    first, second = all_read(opened).values()
    assert (first.number, first.mean_step_ns, first.first_step, first.last_step) == (1, 100_000, "5", "7")
    assert (second.number, second.first_step, second.error) == (2, "50", None)
    answer = page(opened, second.id)
    assert (answer.head.run, answer.head.worker, answer.head.number, answer.head.span_count) == ("a", "host", 2, 2)
    assert (answer.head.rank, answer.head.world_size, answer.head.device_names) == (3, 8, ["Tesla V100-SXM2-16GB"])
    assert [neighbour.id for neighbour in answer.neighbours] == [first.id]
    assert answer.neighbours[0].values["step_time"] == 100_000
    assert answer.neighbours[0].steps["step_time"] == [100_000] * 3
    (run,) = opened.index(work=False).runs
    assert (run.name, run.simulated, run.workers[0].rank) == ("a", False, 3)
    assert (logs / "a" / ("host.2.pt.trace.json.gz" + SUFFIX)).exists()


def test_every_view_has_a_page(logs, opened):
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    for view in RESULTS:
        assert page(opened, entry.id, view).head.id == entry.id
    with pytest.raises(UnknownSpan):
        opened.page(entry.id, "no such view", work=False)
    with pytest.raises(UnknownSpan):
        opened.page("no such span", "overview", work=False)


def test_a_recording_is_served_as_one_step_under_an_id_of_its_own(logs, opened):
    write_trace(logs / "r" / "host.1.pt.trace.json.gz", steps=3)
    (entry,) = all_read(opened).values()
    files = sorted(path.name for path in (logs / "r").iterdir())
    whole = page(opened, entry.id + WHOLE_RECORDING)
    assert (whole.head.steps_by, whole.head.step_count) == ("recording", 1)
    assert whole.head.id == entry.id + WHOLE_RECORDING
    assert [note.id for note in whole.head.notes][-1] == "whole_recording"
    marked = page(opened, entry.id)
    assert (marked.head.steps_by, marked.head.step_count) == ("marks", 3)
    assert [each.id for each in all_read(opened).values()] == [entry.id], "it is in no picker"
    assert sorted(path.name for path in (logs / "r").iterdir()) == files, "nothing more lies next to the trace"
    timeline = until(
        lambda: isinstance(answer := opened.timeline(whole.head.id, (0, 1_000), 1, work=True), TimelinePage) and answer
    )
    assert timeline.tracks[0].label == "Steps"
    with pytest.raises(UnknownSpan):
        opened.page("no such span" + WHOLE_RECORDING, "overview", work=False)


def test_nothing_is_read_without_being_asked(logs, opened):
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = entries(opened, work=False).values()
    assert opened.page(entry.id, "overview", work=False) == Waiting(
        SpanState.UNREAD, "host.1.pt.trace.json", 1, 1, None
    )
    assert opened.trends(SpanNames(), work=False).spans[0].state is SpanState.UNREAD
    time.sleep(0.2)
    assert opened.reader.queue.threads == 0
    assert list(logs.iterdir()) == [logs / "host.1.pt.trace.json"]


def test_summaries_are_enough(logs, opened):
    write_trace(logs / "r" / "host.1.pt.trace.json.gz")
    (entry,) = all_read(opened).values()
    with_trace = {analysis.id: page(opened, entry.id, analysis.id) for analysis in ANALYSES}
    (logs / "r" / "host.1.pt.trace.json.gz").unlink()
    shared = Store([Place("", logs, "logs")])
    (again,) = entries(shared, work=False).values()
    assert (again.id, again.state, again.file_bytes) == (entry.id, SpanState.READY, entry.file_bytes)
    assert {view: shared.page(entry.id, view, work=False) for view in with_trace} == with_trace
    assert shared.reader.queue.threads == 0


def test_a_damaged_summary_without_its_trace_is_a_failure_that_says_so(logs, opened):
    (logs / ("host.1.pt.trace.json.gz" + SUFFIX)).write_bytes(b"nothing of the kind")
    (entry,) = entries(opened).values()
    assert entry.state is SpanState.FAILED
    assert "damaged" in entry.error.problem
    with pytest.raises(SpanFailed):
        opened.page(entry.id, "overview", work=True)


def test_a_damaged_summary_is_made_again(logs, opened):
    trace = write_trace(logs / "host.1.pt.trace.json.gz")
    (entry,) = all_read(opened).values()
    good = page(opened, entry.id, LAST_VIEW)
    summary = logs / (trace.name + SUFFIX)
    content = summary.read_bytes()
    summary.write_bytes(content[:-9])  # the head is complete, the last view is not
    assert page(opened, entry.id, LAST_VIEW) == good
    assert summary.read_bytes() == content


def test_a_summary_that_is_never_whole_is_a_failure_in_the_end(logs, opened, monkeypatch):
    write_trace(logs / "host.1.pt.trace.json.gz")
    (entry,) = all_read(opened).values()
    result = StoredResults.__getitem__

    def cut(results, view):
        result(results, view)
        raise DamagedSummary("always")

    monkeypatch.setattr(StoredResults, "__getitem__", cut)

    def failed():
        try:
            opened.page(entry.id, "overview", work=True)
        except SpanFailed as failure:
            return failure.problem
        return None

    assert until(failed).problem == "The analysis failed"
    assert entries(opened)[entry.file].state is SpanState.FAILED
    monkeypatch.undo()
    opened.retry(entry.id)
    monkeypatch.setattr(reading, "SETTLE_SECONDS", 0.0)
    assert page(opened, entry.id).head.step_count == 3


def test_a_summary_that_goes_away_is_made_again(logs, opened):
    trace = write_trace(logs / "host.1.pt.trace.json.gz")
    (entry,) = all_read(opened).values()
    good = page(opened, entry.id)
    (logs / (trace.name + SUFFIX)).unlink()
    assert page(opened, entry.id, "tensor_cores").head.id == entry.id
    assert page(opened, entry.id) == good


def test_new_files_appear_and_changed_ones_are_read_again(logs, opened):
    trace = write_trace(logs / "host.1.pt.trace.json.gz", steps=3)
    (entry,) = all_read(opened).values()
    before = opened.index(work=True).version
    assert opened.index(work=True).version == before
    write_trace(logs / "host.2.pt.trace.json.gz")
    until(lambda: len(entries(opened)) == 2)
    assert opened.index(work=True).version != before
    write_trace(trace, steps=6)
    until(lambda: entries(opened)[entry.file].last_step == "10")
    trace.unlink()
    (logs / (trace.name + SUFFIX)).unlink()
    until(lambda: len(entries(opened)) == 1)
    with pytest.raises(UnknownSpan):
        opened.page(entry.id, "overview", work=True)


def test_a_file_that_is_still_written_to_is_left_alone(logs, opened, monkeypatch):
    monkeypatch.setattr(reading, "SETTLE_SECONDS", 3600.0)
    write_trace(logs / "host.1.pt.trace.json.gz")
    (entry,) = entries(opened).values()
    assert opened.page(entry.id, "overview", work=True).state is SpanState.UNREAD
    assert opened.reader.queue.threads == 0


def test_a_trace_that_is_written_with_a_pause_is_never_broken_and_appears_when_it_is_whole(logs, opened, monkeypatch):
    """It does not wait until the incomplete file would count as failed, which takes longer than this test."""
    monkeypatch.setattr(reading, "SETTLE_SECONDS", 0.1)
    monkeypatch.setattr(reading, "WHOLE_SECONDS", 10 * PATIENCE_SECONDS)
    whole = write_trace(logs / "x" / "y.json").read_text()
    trace = logs / "host.1.pt.trace.json"
    trace.write_text("{")
    seen = []

    def state():
        seen.append(entries(opened)[trace.name].state)
        return seen[-1]

    until(lambda: opened.directory.find(span_id(opened, trace.name)).waits_until if state() else None)
    trace.write_text(whole)
    until(lambda: state() is SpanState.READY)
    assert SpanState.FAILED not in seen


def span_id(made, file):
    return entries(made)[file].id


def test_a_file_that_stays_broken_is_a_failure(logs, opened, monkeypatch):
    monkeypatch.setattr(reading, "WHOLE_SECONDS", 0.5)
    (logs / "bad.1.pt.trace.json").write_text("this is no trace")
    (bad,) = all_read(opened).values()
    assert bad.state is SpanState.FAILED


def test_a_clock_that_is_set_back_keeps_no_file_waiting(logs, opened, monkeypatch):
    """The process clock is an hour later, and the wall clock a day earlier."""
    monkeypatch.setattr(reading, "WHOLE_SECONDS", 3600.0)
    bad = logs / "bad.1.pt.trace.json"
    bad.write_text("this is no trace")
    until(lambda: opened.directory.find(span_id(opened, bad.name)).waits_until)
    later = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 3601, time=lambda: time.time() - 86_400)
    monkeypatch.setattr(reading, "time", later)
    until(lambda: entries(opened)[bad.name].state is SpanState.FAILED)


def test_a_summary_that_another_program_writes_is_taken(logs, opened, monkeypatch):
    """`tb-steptime index` runs beside TensorBoard."""
    monkeypatch.setattr(reading, "SETTLE_SECONDS", 3600.0)
    trace = write_trace(logs / "host.1.pt.trace.json.gz")
    assert entries(opened)[trace.name].state is SpanState.UNREAD
    summary = encode_summary(stamp(trace), measure_file(trace))
    trace.with_name(trace.name + SUFFIX).write_bytes(summary)
    assert until(lambda: entries(opened)[trace.name].state is SpanState.READY)


def test_an_unreadable_trace_is_a_failure_and_others_stay_usable(logs, opened):
    (logs / "bad.1.pt.trace.json").write_text("this is no trace")
    write_trace(logs / "good.1.pt.trace.json")
    bad, good = all_read(opened).values()
    assert (bad.state, good.state) == (SpanState.FAILED, SpanState.READY)
    assert (bad.error.file, bool(bad.error.hint)) == ("bad.1.pt.trace.json", True)
    with pytest.raises(SpanFailed) as failure:
        opened.page(bad.id, "overview", work=True)
    assert failure.value.problem == bad.error


def test_a_failure_of_earlier_content_says_nothing_about_a_file_that_was_replaced_meanwhile(logs, opened, monkeypatch):
    trace = logs / "host.1.pt.trace.json"
    trace.write_text("this is no trace")
    with monkeypatch.context() as replaced:
        replace_program(replaced, WAIT_FOR_FILE)
        until(lambda: entries(opened)[trace.name].progress)
    id = span_id(opened, trace.name)
    write_trace(trace)
    until(lambda: entries(opened) and opened.directory.get(id).found.bytes == trace.stat().st_size)
    (logs / (trace.name + ".go")).touch()
    assert page(opened, id).head.step_count == 3


def test_retry_reads_again(logs, opened):
    trace = logs / "host.1.pt.trace.json"
    trace.write_text("this is no trace")
    (bad,) = all_read(opened).values()
    stat = trace.stat()
    good = (logs / "elsewhere.txt", write_trace(logs / "x" / "y.json"))[1].read_text()
    trace.write_text(good)
    os.utime(trace, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    waiting = opened.retry(bad.id)
    assert waiting.state in (SpanState.UNREAD, SpanState.READING)
    assert page(opened, bad.id).head.step_count == 3
    with pytest.raises(UnknownSpan):
        opened.retry("no such span")


def test_a_killed_process_is_told_as_want_of_memory(logs, opened, monkeypatch):
    replace_program(monkeypatch, f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})")
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    assert entry.error.problem == "The process that read the trace was killed"
    assert "memory" in entry.error.hint


def test_a_crash_is_told_without_its_traceback(logs, opened, monkeypatch, caplog):
    replace_program(monkeypatch, "raise RuntimeError('secret')")
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    assert entry.error.problem == "The analysis failed"
    assert "report" in entry.error.hint
    assert "secret" not in repr(entry)
    assert "RuntimeError: secret" in caplog.text


def test_the_last_words_of_a_process_that_crashed_at_once_are_kept(monkeypatch, tmp_path):
    """On a busy machine, the process can end before its reader listens to it."""
    replace_program(monkeypatch, "raise RuntimeError('secret')")
    job = reader_process.Job("a", tmp_path / "host.1.pt.trace.json", "host.1.pt.trace.json")
    reader = reader_process.ReaderProcess(job, tmp_path)
    try:
        reader.process.wait()
        assert reader.read(job, tmp_path) is None
        assert "RuntimeError: secret" in reader.last_words()
    finally:
        reader.close()


@pytest.mark.parametrize("output", ["no json at all", '{"type":"unheard of"}'])
def test_nonsense_from_a_process_is_a_failure(logs, opened, monkeypatch, output):
    replace_program(monkeypatch, f"print({output!r})")
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    assert entry.state is SpanState.FAILED


def test_a_silent_process_is_ended(logs, opened, monkeypatch):
    monkeypatch.setattr(reader_process, "SILENCE_SECONDS", 0.5)
    replace_program(monkeypatch, "import time; time.sleep(1000)")
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    assert entry.state is SpanState.FAILED


WAIT_FOR_FILE = """
import os, sys, time
print('{"type":"far","read_bytes":25,"total_bytes":100,"events":7}', flush=True)
while not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.01)
print('{"type":"refused","problem":"It went","hint":"On."}', flush=True)
"""


@pytest.fixture
def waits_for_file(at_once, monkeypatch):
    """Readers that wait and do not end when they are asked to, so they are soon killed."""
    replace_program(monkeypatch, WAIT_FOR_FILE)
    monkeypatch.setattr(reader_process, "_ENDING_SECONDS", 0.2)


@pytest.mark.usefixtures("waits_for_file")
def test_the_focused_span_is_read_first_and_all_tell_how_far_they_are(logs):
    names = [write_trace(logs / f"{letter}.1.pt.trace.json").name for letter in "abcd"]
    made = Store([Place("", logs, "logs")], processes=1)
    found = entries(made)
    until(lambda: entries(made)[names[0]].state is SpanState.READING)
    until(lambda: entries(made)[names[0]].progress is not None)
    progress = entries(made)[names[0]].progress
    assert (progress.read_bytes, progress.total_bytes, progress.events) == (25, 100, 7)
    assert progress.seconds_left == pytest.approx(3 * 25 / progress.bytes_per_second)
    focused = made.page(found[names[3]].id, "overview", work=True)
    assert (focused.state, focused.file_number, focused.file_count) == (SpanState.UNREAD, 2, 4)
    assert made.page(found[names[1]].id, "overview", work=False).file_number == 3
    (logs / (names[0] + ".go")).touch()
    until(lambda: entries(made)[names[3]].state is SpanState.READING)
    assert entries(made)[names[1]].state is SpanState.UNREAD
    assert made.page(found[names[3]].id, "overview", work=False).file_number == 2
    made.close()


@pytest.mark.usefixtures("waits_for_file")
def test_never_more_processes_than_asked_for(logs):
    for letter in "abcdef":
        write_trace(logs / f"{letter}.1.pt.trace.json")
    made = Store([Place("", logs, "logs")], processes=2)
    until(lambda: sum(entry.state is SpanState.READING for entry in entries(made).values()) == 2)
    time.sleep(0.3)
    assert sum(entry.state is SpanState.READING for entry in entries(made).values()) == 2
    running = [job.process for job in made.reader.queue.running.values()]
    made.close()
    assert all(process.wait(PATIENCE_SECONDS) != 0 for process in running)


def test_processes_end_with_the_one_that_began_them(logs):
    """They end even if it is killed and cannot clean up."""
    write_trace(logs / "a.1.pt.trace.json")
    os.mkfifo(logs / "b.1.pt.trace.json")
    began = f"""
import pathlib, tempfile, time
from tb_steptime.ingest.reader_process import Job, start
job = Job("b", pathlib.Path({str(logs / "b.1.pt.trace.json")!r}), "b.1.pt.trace.json")
process = start(job, pathlib.Path("."), tempfile.TemporaryFile())
print(process.pid, flush=True)
time.sleep(1000)
"""
    parent = subprocess.Popen([sys.executable, "-c", began], stdout=subprocess.PIPE)
    child = int(parent.stdout.readline())
    assert runs(child)
    parent.kill()
    parent.wait()
    until(lambda: not runs(child))


def test_a_hundred_spans_with_summaries_open_without_reading_a_trace(logs):
    trace = write_trace(logs / "r0" / "host.1.pt.trace.json.gz", steps=20)
    first = Store([Place("", logs, "logs")])
    all_read(first)
    first.close()
    content, summary = trace.read_bytes(), (logs / "r0" / (trace.name + SUFFIX)).read_bytes()
    for number in range(100):
        folder = logs / f"r{number}"
        folder.mkdir(exist_ok=True)
        (folder / trace.name).write_bytes(content)
        (folder / (trace.name + SUFFIX)).write_bytes(summary)
    made = Store([Place("", logs, "logs")])
    index = made.index(work=True)
    assert (index.spans_ready, index.spans_total) == (100, 100)
    trends = made.trends(SpanNames(), work=True)
    assert sum(span.result is not None for span in trends.spans) == 100
    polls_take_no_memory(made)


def polls_take_no_memory(made, polls=40):
    """As with a tab that stays open for hours: nothing is computed again, and nothing more is kept."""
    index = made.index(work=True)
    tracemalloc.start()
    try:
        grown = [(made.index(work=True), tracemalloc.get_traced_memory()[0])[1] for _ in range(polls)]
    finally:
        tracemalloc.stop()
    assert made.index(work=True).runs is index.runs
    assert grown[-1] - grown[polls // 2] < 10_000


def test_a_page_of_trends_has_what_was_asked_for(logs, opened):
    for number in (1, 2):
        write_trace(logs / "a" / f"host.{number}.pt.trace.json", steps=2 + number)
    all_read(opened)
    whole = opened.trends(SpanNames(), work=True)
    request = TrendsRequest(metrics=["step_time"], strips=1)
    some = opened.trends(SpanNames(), request, work=True)
    assert (some.headline, some.titles, some.changes) == (whole.headline, whole.titles, whole.changes)
    for part, all in zip(some.spans, whole.spans, strict=True):
        assert part.result.steps == all.result.steps
        assert part.result.series == [each for each in all.result.series if each.metric == "step_time"]
    assert sum(bool(span.result.time_bins) for span in some.spans) == 1
    trends = opened.directory.get(whole.spans[0].id).measured.result("trends", TrendsResult)
    close = msgspec.json.decode(msgspec.json.encode(whole.spans[0].result), type=TrendsResult)
    assert [each.metric for each in close.series] == [each.metric for each in trends.series]
    for kept, series in zip(close.series, trends.series, strict=True):
        assert kept.steps == pytest.approx(series.steps, abs=1e-6)
    assert (close.time_bins, close.slow_steps) == (trends.time_bins, trends.slow_steps)
    what_is_kept_is_bounded(opened, [span.id for span in whole.spans])


def what_is_kept_is_bounded(made, ids):
    """At least one result of each kind is kept."""
    pages = [page(made, id) for id in ids]
    before = made.kept.bytes
    made.kept = CachedResults()
    made.kept._trends.max_bytes = made.kept._judgements.max_bytes = 1
    assert [page(made, id) for id in ids] == pages
    assert made.kept.bytes < 0.7 * before


def test_a_metric_that_a_page_left_out_is_asked_for_alone(logs, opened):
    write_trace(logs / "a" / "host.1.pt.trace.json")
    all_read(opened)
    whole = opened.trends(SpanNames(), work=True)
    read = [span for span in whole.spans if span.result]
    for metric in ("step_time", "mfu"):
        found = opened.series(SpanNames(), metric)
        series = [next(each for each in span.result.series if each.metric == metric) for span in read]
        assert found.spans == [span.id for span in read]
        assert found.values == [each.value for each in series]
        assert found.steps == [each.steps for each in series]
        assert found.reasons == {span.id: each.reason for span, each in zip(read, series, strict=True) if each.reason}
    assert opened.series(SpanNames([read[0].run]), "step_time").spans == [read[0].id]
    with pytest.raises(UnknownSpan):
        opened.series(SpanNames(), "no_such_metric")


def test_trends_are_of_the_spans_that_are_named(logs, opened):
    for run in ("a", "b"):
        for worker in ("x", "y"):
            write_trace(logs / run / f"{worker}.1.pt.trace.json")
    found = all_read(opened)

    def named(runs=(), workers=(), ids=()):
        return [(span.run, span.worker) for span in opened.trends(SpanNames(runs, workers, ids), work=True).spans]

    assert named() == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert named(["b"]) == [("b", "x"), ("b", "y")]
    assert named(["a", "b"], ["y"]) == [("a", "y"), ("b", "y")]
    assert named(ids=[found["b/x.1.pt.trace.json"].id]) == [("b", "x")]
    assert named(["nobody"]) == []


def test_where_no_summary_can_be_written_the_page_is_served_all_the_same(logs, opened, monkeypatch):
    trace = write_trace(logs / "host.1.pt.trace.json.gz")
    (logs / (trace.name + SUFFIX)).mkdir()  # so that no file can take this name
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    (entry,) = all_read(opened).values()
    assert page(opened, entry.id).head.step_count == 3
    fallback = opened.reader.queue.fallback.path
    assert len(list(fallback.iterdir())) == 1
    opened.close()
    assert not fallback.exists()


def test_a_tree_that_takes_long_to_scan_is_scanned_seldom(logs, opened, monkeypatch):
    """A scan takes an eighth of a second here, so the next one begins a second after its end."""
    clock = types.SimpleNamespace(now=1000.0, sleep=time.sleep, time=time.time)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(directory, "time", clock)
    monkeypatch.setattr(directory, "SCAN_SHARE", 0.125)
    scans = []
    kind = type(opened.directory._discovery)
    scan = kind.scan

    def takes_long(discovery):
        scans.append(clock.now)
        clock.now += 0.125
        return scan(discovery)

    monkeypatch.setattr(kind, "scan", takes_long)
    for _ in range(20):
        opened.index(work=False)
        clock.now += 0.125
    assert scans == [1000.0, 1001.125, 1002.25]


def test_many_threads_may_ask_at_once(logs, opened):
    for number in range(4):
        write_trace(logs / f"r{number}" / "host.1.pt.trace.json")
    failures = []

    def ask():
        try:
            for _ in range(20):
                for entry in entries(opened).values():
                    opened.page(entry.id, "overview", work=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(entry.state is SpanState.READY for entry in all_read(opened).values())


@needs("traces")
def test_every_real_trace_opens_and_is_summarized(tmp_path, capsys):
    for name in REAL:
        target = tmp_path / "logs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(real_trace(name).read_bytes())
    made = Store([Place("", tmp_path / "logs", "logs")])
    found = all_read(made)
    assert {entry.file: entry.error for entry in found.values() if entry.error} == {}
    assert made.index(work=False).problems == []
    for entry in found.values():
        for view in RESULTS:
            assert page(made, entry.id, view).head.file == entry.file
    made.close()
    assert cli.main(["summarize", str(tmp_path / "logs"), "--format", "json"]) == 0
    printed = capsys.readouterr()
    spans = json.loads(printed.out)["spans"]
    assert (len(spans), printed.err) == (len(found), "")
    for span in spans:
        sums_hold(span)


def sums_hold(span):
    """Check the sums of a span as `summarize` reports it."""
    for each in [*span["steps"], span["mean"]]:
        assert sum(each["parts_ns"].values()) == each["duration_ns"]
        loading = each["data_loading_ns"]
        assert loading["wait"] is None or loading["wait"] == loading["exposed"] + loading["hidden"]
        for device in each["devices"]:
            assert sum(device["idle_ns"].values()) == each["duration_ns"] - device["gpu_busy_ns"]
            assert min(device["idle_ns"].values()) >= 0
    assert sum(phase["host_ns"] for phase in span["phases"]) == span["mean"]["duration_ns"]
    assert sum(call["bubble_ns"] for call in span["blocking_calls"]) <= span["mean"]["duration_ns"]
    for device in span["devices"]:
        split = device["tensor_core"]
        bins = ("tensor_core_ns", "matmul_like_ns", "unknown_ns", "other_ns")
        assert split is None or sum(split[each] for each in bins) == split["kernel_ns"]
        shares = [device[each] for each in ("utilization", "est_sm_efficiency", "est_achieved_occupancy")]
        assert all(share is None or 0 <= share <= 1 for share in shares)
