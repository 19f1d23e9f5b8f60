"""Event files as the store keeps them: made on request, for two spans at once, bounded, and gone with the process."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tb_steptime.ingest.states import SpanState
from tb_steptime.serve.served import SpanFailed, UnknownEvent
from tb_steptime.serve.wire import Waiting
from tb_steptime.timeline import event_file as event_files
from tb_steptime.timeline.answers import EventDetail, TimelinePage
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFiles
from tests.drawn.graph_job import write_captured, write_eager
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import all_read, entries, replace_program, until
from tests.drawn.timeline import timeline
from tests.fuzz.mutations import turned

pytestmark = pytest.mark.usefixtures("at_once")

TRACE = """
    step      | 1111111111 |
    op        | .aaaa..... |
    runtime   | ..k....... |
    kernel 7  | ....kkk... |"""


def page(made, id):
    return until(lambda: isinstance(answer := made.timeline(id, (0, 300_000), 1, work=True), TimelinePage) and answer)


def test_two_spans_at_once(logs, opened):
    for number in (1, 2):
        write_trace(logs / f"host.{number}.pt.trace.json", steps=number)
    first, second = (entry.id for entry in all_read(opened).values())
    waits = [opened.timeline(id, (0, 300_000), 1, work=True) for id in (first, second)]
    assert [type(each) for each in waits] == [Waiting, Waiting]
    assert sum(page(opened, first).boxes.count) < sum(page(opened, second).boxes.count)
    assert isinstance(opened.event(first, 0, work=False), EventDetail)
    with pytest.raises(UnknownEvent):
        opened.event(first, -1, work=False)


def test_nothing_is_read_without_being_asked(logs, opened):
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    assert opened.timeline(entry.id, (0, 1000), 1, work=False) == Waiting(SpanState.UNREAD, entry.file, 1, 1, None)
    time.sleep(0.2)
    assert opened.reader.events.folder is None


def test_a_changed_trace_is_read_again(logs, opened):
    trace = write_trace(logs / "host.1.pt.trace.json", steps=1)
    (entry,) = all_read(opened).values()
    before = sum(page(opened, entry.id).boxes.count)
    write_trace(trace, steps=3)
    until(lambda: entries(opened)[entry.file].last_step == "7")
    assert sum(page(opened, entry.id).boxes.count) == 3 * before


def test_events_are_named_again_when_the_recording_that_names_them_changes(logs, opened):
    eager = write_eager(logs / "eager" / "host_2.1700000000000.pt.trace.json")
    captured = write_captured(logs / "graphs" / "host_1.1700000900000.pt.trace.json")
    key = f"graphs/{captured.name}"
    found = {entry.file: entry.id for entry in all_read(opened).values()}
    id = next(found[file] for file in found if file.endswith(key))
    assert page(opened, id)
    before = opened.directory.get(id)
    assert before.measured.names.file
    files_before = set(opened.reader.events.files)
    write_eager(eager, op_us=7)

    def named_again():
        all_read(opened)
        span = opened.directory.get(id)
        return span.measured is not None and span.measured.names.digest not in ("", before.measured.names.digest)

    until(named_again)
    assert page(opened, id)
    assert set(opened.reader.events.files) - files_before != set()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", "killed"),
        ("raise RuntimeError('secret')", "The analysis failed"),
        ("""print('{"type":"refused","problem":"It went","hint":"On."}')""", "It went"),
        ("""print('{"type":"done","path":"/nowhere"}')""", "could not be kept"),
    ],
)
def test_a_failure_is_told_and_other_views_stay_usable(logs, opened, monkeypatch, source, problem):
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    replace_program(monkeypatch, source)

    def failed():
        try:
            opened.timeline(entry.id, (0, 1000), 1, work=True)
        except SpanFailed as failure:
            return failure.problem
        return None

    told = until(failed)
    assert problem in told.problem
    assert (told.file, "secret" in repr(told)) == (entry.file, False)
    assert opened.page(entry.id, "overview", work=False).head.id == entry.id
    assert list(opened.reader.events.folder.path.iterdir()) == []
    monkeypatch.undo()
    assert opened.retry(entry.id).state is SpanState.READY
    assert page(opened, entry.id)


def test_no_room_in_the_temporary_folder_is_told(logs, opened, monkeypatch):
    write_trace(logs / "host.1.pt.trace.json")
    (entry,) = all_read(opened).values()

    def full(key):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(opened.reader.events, "new_folder", full)
    with pytest.raises(SpanFailed) as failure:
        opened.timeline(entry.id, (0, 1000), 1, work=True)
    assert "No space left" in failure.value.problem.problem


def test_a_full_disk_is_not_told_as_a_fault_of_the_trace(logs, tmp_path):
    trace = write_trace(logs / "host.1.pt.trace.json")
    command = [
        sys.executable,
        "-m",
        "tb_steptime.ingest.read_one",
        str(trace),
        "events",
        str(tmp_path / "no such folder"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        last = json.loads(process.stdout.read().splitlines()[-1])
    assert (last["type"], last["problem"]) == (
        "refused",
        "What was read of it cannot be kept: No such file or directory",
    )


def add(files, key):
    folder = files.new_folder(key)
    write_events(timeline(TRACE), folder)
    assert files.add(folder)
    return folder


def test_the_longest_unused_makes_room():
    files = EventFiles()
    for key in "ab":
        add(files, key)
    files.max_bytes = 2 * files.sizes["a"]
    events = files.get("a")
    add(files, "c")
    assert files.get("a") is events
    assert (files.get("b"), sorted(files.files)) == (None, ["a", "c"])
    assert sum(files.sizes.values()) <= files.max_bytes
    folder = files.folder.path
    files.close()
    assert (files.get("a"), files.folder, folder.exists()) == (None, None, False)
    assert events.string(0)  # a reader that still holds it may continue


def test_a_killed_process_leaves_nothing_behind():
    files = EventFiles()
    folder = add(files, "a")
    assert (folder.exists(), list(files.folder.path.iterdir())) == (False, [])
    assert files.get("a").string(0)
    files.close()


def test_no_more_files_are_open_than_allowed(monkeypatch):
    monkeypatch.setattr(event_files, "MAX_FILES", 2)
    files = EventFiles()
    for key in "abc":
        add(files, key)
    assert list(files.files) == ["b", "c"]
    files.close()


def test_what_is_larger_than_all_the_room_is_kept_alone():
    files = EventFiles(max_bytes=1)
    add(files, "a")
    add(files, "b")
    assert list(files.files) == ["b"]
    files.close()


def test_a_folder_without_an_event_file_is_not_taken():
    files = EventFiles()
    folder = files.new_folder("a")
    assert files.add(folder) is False
    assert (files.get("a"), folder.exists()) == (None, False)
    files.close()


def test_an_event_file_that_is_not_what_was_written_is_never_opened(tmp_path):
    """It was cut anywhere, has changed bytes, or lacks one of its parts. Its folder is deleted."""
    whole, draw = tmp_path / "whole", random.Random(1)
    whole.mkdir()
    write_events(timeline(TRACE), whole)
    content = {path.name: path.read_bytes() for path in whole.iterdir()}
    assert {*content} == {"head.json", "columns", "check"}
    damaged = [{name: each for name, each in content.items() if name != gone} for gone in content]
    for name, each in content.items():
        damaged += [content | {name: each[:size]} for size in range(0, len(each), max(1, len(each) // 50))]
        damaged += [content | {name: other} for _ in range(100) if (other := turned(draw, each)) != each]
    files = EventFiles()
    for written in damaged:
        folder = files.new_folder("key")
        for name, each in written.items():
            (folder / name).write_bytes(each)
        assert not files.add(folder)
        assert files.get("key") is None and not folder.exists()
    files.close()
