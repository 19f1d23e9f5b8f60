"""`tb-steptime index` writes the tab's summary files where the tab expects
them, whole ones only, and reports on them."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tb_steptime import cli
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.summaries import SUFFIX, fresh_summary, read_summary
from tb_steptime.terminal.indexing import _IndexBar
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import PATIENCE_SECONDS, until


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tb_steptime"


def index(capsys, *arguments):
    """Exit code, lines of stdout, lines of stderr."""
    code = cli.main(["index", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out.splitlines(), output.err.splitlines()


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_writes_what_is_missing_or_stale_where_the_tab_looks_for_it(logs, capsys):
    first = write_trace(logs / "a" / "host.1.pt.trace.json")
    second = write_trace(logs / "b" / "host.1.pt.trace.json.gz")
    code, output, lines = index(capsys, logs, logs)
    assert (code, output) == (0, ["2 summary files written, 0 up to date, 0 failed"])
    assert {line.partition("  ")[0] for line in lines} == {"1 of 2", "2 of 2"}
    assert {line.partition("  ")[2] for line in lines} == {f"{first}{SUFFIX}", f"{second}{SUFFIX}"}
    assert index(capsys, logs) == (0, ["0 summary files written, 2 up to date, 0 failed"], [])
    assert fresh_summary(first)
    assert fresh_summary(second)
    write_trace(first, steps=4)
    assert index(capsys, logs)[1] == ["1 summary file written, 1 up to date, 0 failed"]
    assert read_summary(Path(f"{first}{SUFFIX}")).facts.step_count == 4


def test_what_fails_is_a_line_with_the_file_the_fact_and_the_way_out(logs, capsys):
    write_trace(logs / "a" / "host.1.pt.trace.json")
    empty = logs / "a" / "host.2.pt.trace.json"
    empty.write_bytes(b"")
    alone = logs / "b" / f"host.1.pt.trace.json{SUFFIX}"
    alone.parent.mkdir()
    alone.write_bytes(b"damaged")
    missing = logs / "none.json"
    code, output, lines = index(capsys, logs, missing)
    assert (code, output) == (1, ["1 summary file written, 0 up to date, 3 failed"])
    assert lines[1:] == [
        f"{alone}: The summary file is damaged. Put the trace next to it, or copy the summary file again.",
        f"{missing}: There is no such file. Check the path.",
        f"{empty}: The file is empty. Was it still being written, or did its job end while it wrote? Record it again.",
    ]


def test_a_summary_whose_trace_is_gone_stays(logs, capsys):
    trace = write_trace(logs / "host.1.pt.trace.json")
    index(capsys, logs)
    trace.unlink()
    assert index(capsys, logs) == (0, ["0 summary files written, 1 up to date, 0 failed"], [])


@pytest.mark.parametrize("places", ["cache", "none"])
def test_a_folder_that_takes_no_file(logs, cache, capsys, places):
    """Root may write everywhere, so a folder in the place of each file stops root, too."""
    trace = write_trace(logs / "host.1.pt.trace.json")
    Path(f"{trace}{SUFFIX}").mkdir()
    if places == "none":
        cache.parent.mkdir()
        cache.write_bytes(b"")
    code, output, lines = index(capsys, trace)
    if places == "cache":
        assert (code, len(list(cache.iterdir()))) == (0, 1)
        assert output[1:] == ["1 of them in the cache directory, because the trace's folder is read-only."]
        assert index(capsys, trace)[1] == ["0 summary files written, 1 up to date, 0 failed"]
    else:
        assert (code, output) == (1, ["0 summary files written, 0 up to date, 1 failed"])
        assert lines[-1].startswith(f"{trace}: Neither its folder nor the cache directory can be written to. Make one")


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_a_number_of_processes_that_is_none(logs, capsys, jobs):
    with pytest.raises(SystemExit) as left:
        cli.main(["index", str(logs), f"--jobs={jobs}"])
    assert left.value.code == 2
    assert f'"{jobs}" is not a number of processes, such as 4' in capsys.readouterr().err


#: An interrupt arrives before all of these are read, although two processes read them and the test may be slow.
COUNT = 60


def test_an_interrupt_leaves_whole_files_and_no_process(logs, capsys):
    traces = [write_trace(logs / f"{number}" / "host.1.pt.trace.json", steps=100) for number in range(COUNT)]
    command = [sys.executable, "-m", "tb_steptime.cli", "index", str(logs), "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith(f"1 of {COUNT}  ")
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    written = [trace for trace in traces if fresh_summary(trace)]
    assert printed.splitlines()[0].endswith(" up to date, 0 failed")
    assert printed.splitlines()[1] == "Interrupted. Run it again for the rest."
    assert 1 <= len(written) < COUNT
    assert len(files(logs)) == COUNT + len(written), "a temporary file is left"
    until(lambda: not _processes_of(logs))
    for trace in sorted(set(traces) - set(written))[1:]:
        trace.unlink()
    assert index(capsys, logs)[1] == [f"1 summary file written, {len(written)} up to date, 0 failed"]


def _processes_of(folder):
    """The command lines of the processes that still work on these traces."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(entry.read_bytes())
        except OSError:
            continue
    return [line for line in found if os.fsencode(folder) in line and b"tb_steptime" in line]


SLOW_DISK = """
import os, sys, time
from tb_steptime.ingest import read_one
replace = os.replace
def slowly(source, target):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(0.5)
    replace(source, target)
os.replace = slowly
read_one.main(sys.argv[1:])
"""


def test_a_process_that_is_asked_to_end_finishes_the_file_that_it_writes(logs):
    trace = write_trace(logs / "host.1.pt.trace.json")
    command = [sys.executable, "-c", SLOW_DISK, str(trace), "summary", str(logs)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stderr.readline() == b"writing\n"
        process.stdin.close()
        process.wait(PATIENCE_SECONDS)
    assert files(logs) == [trace.name, trace.name + SUFFIX]
    assert fresh_summary(trace)


def test_a_terminal_sees_files_bytes_and_the_time_left(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with _IndexBar({"a": 50_000_000, "b": 150_000_000}) as bar:
        bar.began -= 10
        bar.ended(Job("a", tmp_path, "a"), tmp_path)
        bar.show({"b": 100_000_000})
    shown, wiped = terminal.getvalue().replace("\u00a0", " ").split("\r")[1:]
    assert shown == "████████████░░░░░░░░░░░ 1 of 2 files, 150 MB of 200 MB, 10 s left, 15.0 MB/s, b\033[K"
    assert wiped == "\033[K"
