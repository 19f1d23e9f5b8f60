"""`tb-steptime slice`: what the file holds, that its steps measure the same, and what is refused."""

import gzip
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tb_steptime import cli
from tb_steptime.analyses import overview
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import find_steps, only_steps
from tb_steptime.trace.table import DEVICE_KINDS
from tests.drawn.demo import DEMO, demo_runs
from tests.drawn.long_trace import write_long_trace
from tests.drawn.real_traces import real_trace
from tests.drawn.small_trace import LOADER, write_trace
from tests.drawn.stores import PATIENCE_SECONDS, until
from tests.drawn.trace_schema import faults

SLICED = "tb_steptime_sliced_steps"


def cut(capsys, *arguments):
    """Exit code, stdout, lines of stderr."""
    code = cli.main(["slice", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out.replace("\u00a0", " "), output.err.splitlines()


def event(cat, name, start, length, tid, **more):
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, "pid": 1, "tid": tid, **more}


def mark(number, start):
    return event("user_annotation", f"ProfilerStep#{number}", start, 100, "main")


def launch(id, start):
    return event("cuda_runtime", "cudaLaunchKernel", start, 5, "main", args={"correlation": id})


def kernel(id, start, length):
    return event("kernel", f"k{id}", start, length, "stream 7", args={"correlation": id, "device": 0, "stream": 7})


def flow(ph, cat, id, ts):
    return {"ph": ph, "cat": cat, "name": cat, "id": id, "ts": ts, "pid": 1, "tid": "any"}


def half(ph, name, ts):
    return {"ph": ph, "cat": "cpu_op", "name": name, "ts": ts, "pid": 1, "tid": "other"}


#: Steps 3 to 5, 100 us each. Names that end with IN belong to a slice of step 4, [100, 200), whose kernels end at 230.
NAMES = [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": "main", "args": {"name": "python"}},
    {"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 0, "args": {"sort_index": 5}},
]
OP_OF_3, OP_ACROSS_IN, OP_OF_5 = (event("cpu_op", "op", at, 20, "main") for at in (40, 195, 250))
LAUNCH_3, LAUNCH_3_LONG_IN, LAUNCH_4_IN, LAUNCH_5 = launch(30, 10), launch(31, 60), launch(40, 110), launch(50, 240)
KERNEL_3, KERNEL_3_LONG_IN, KERNEL_4_IN = kernel(30, 20, 10), kernel(31, 70, 50), kernel(40, 190, 40)
KERNEL_5 = kernel(50, 245, 10)
FLOWS_IN = [
    flow("s", "ac2g", 31, 60),
    flow("f", "ac2g", 31, 70),
    flow("s", "ac2g", 40, 110),
    flow("f", "ac2g", 40, 190),
]
FORWARD_IN = [flow("s", "fwdbwd", 1, 120), flow("f", "fwdbwd", 1, 180)]
FORWARD_BEFORE = [flow("s", "fwdbwd", 2, 90), flow("f", "fwdbwd", 2, 185)]
FLOWS_OUT = [
    flow("s", "ac2g", 30, 10),
    flow("f", "ac2g", 30, 20),
    flow("s", "ac2g", 50, 240),
    flow("f", "ac2g", 50, 245),
]
HALVES_IN = [half("B", "begun", 150), half("B", "inner", 160), half("E", "inner", 170), half("E", "begun", 290)]
HALVES_OUT = [half("B", "before", 50), half("E", "before", 140)]
INSTANTS = [{"ph": "i", "name": "now", "ts": at, "pid": 1, "tid": "main", "s": "t"} for at in (99, 150, 250)]
HEAD = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "baseTimeNanoseconds": 7_000}
TAIL = {"traceName": "a \\ path", "displayTimeUnit": "ms"}
ALL = [*NAMES, mark(3, 0), mark(4, 100), mark(5, 200), OP_OF_3, OP_ACROSS_IN, OP_OF_5, LAUNCH_3, LAUNCH_3_LONG_IN,
       LAUNCH_4_IN, LAUNCH_5, KERNEL_3, KERNEL_3_LONG_IN, KERNEL_4_IN, KERNEL_5, *FLOWS_OUT[:2], *FLOWS_IN,
       *FLOWS_OUT[2:], *FORWARD_IN, *FORWARD_BEFORE, *HALVES_OUT, *HALVES_IN, *INSTANTS]  # fmt: skip
IN = [*NAMES, mark(4, 100), OP_ACROSS_IN, LAUNCH_3_LONG_IN, LAUNCH_4_IN, KERNEL_3_LONG_IN, KERNEL_4_IN, *FLOWS_IN,
      *FORWARD_IN, *HALVES_IN, INSTANTS[1]]  # fmt: skip


@pytest.fixture
def three_steps(tmp_path):
    trace = tmp_path / "host.1.pt.trace.json"
    trace.write_text(json.dumps(HEAD | {"traceEvents": ALL} | TAIL))
    return trace


def test_the_slice_is_what_overlaps_the_step_and_what_belongs_to_that(three_steps, tmp_path, capsys):
    out = tmp_path / "out.json"
    code, output, lines = cut(capsys, three_steps, "--steps", "4", "-o", out)
    content = json.loads(out.read_text())
    assert content["traceEvents"] == IN
    assert faults(IN) == []
    # Kernel 31 of step 3 ends at 120 us, where step 4 starts.
    steps = {SLICED: {"first": 4, "last": 4, "start_ns": 7_000 + 120_000}}
    assert {key: value for key, value in content.items() if key != "traceEvents"} == steps | HEAD | TAIL
    assert (code, lines) == (0, [])
    assert output == f"{out}: step 4, {len(IN)} events, {out.stat().st_size / 1000:.0f} kB\n"
    (step,) = find_steps(read_trace(out)).steps
    assert (step.name, step.duration_ns) == ("4", 110_000)


def test_the_name_decides_whether_it_is_packed(three_steps, tmp_path, capsys):
    plain, packed = tmp_path / "out.json", tmp_path / "out.json.gz"
    cut(capsys, three_steps, "--steps", "3-4", "-o", plain)
    cut(capsys, three_steps, "--steps", "3-4", "-o", packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["host.1.pt.trace.json", "out.json", "out.json.gz"]


def test_what_is_no_json_is_mended(three_steps, tmp_path, capsys):
    text = three_steps.read_text().replace('"name": "op"', '"name": "a\\qb", "x": NaN')
    three_steps.write_text(text.replace('"traceName": "a \\\\ path"', '"traceName": nan'))
    cut(capsys, three_steps, "--steps", "4", "-o", tmp_path / "out.json")
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["traceName"] is None
    assert [(each["name"], each["x"]) for each in content["traceEvents"] if "x" in each] == [("a\\qb", None)]


def figures(trace):
    """For each step: the measurements of the overview, and the activities that start within it."""
    events, rows = trace.events, trace.events.rows(*DEVICE_KINDS)
    activities = [
        Counter(
            (trace.strings[name], length)
            for name, start, length in zip(
                events.name[rows].tolist(), events.start_ns[rows].tolist(), events.dur_ns[rows].tolist(), strict=True
            )
            if step.start_ns <= start < step.end_ns
        )
        for step in find_steps(trace).steps
    ]
    measured = [(row.name, row.duration_ns, row.host_ns, row.parts_ns) for row in overview.analyse(trace).steps]
    return measured, activities


def assert_a_slice_measures_the_same(path, tmp_path, capsys):
    trace = read_trace(path)
    names = [int(step.name) for step in find_steps(trace).steps]
    middle = len(names) // 2
    for first, last in {(names[0], names[0]), (names[max(0, middle - 1)], names[middle]), (names[-1], names[-1])}:
        out = tmp_path / f"{first}.json.gz"
        assert cut(capsys, path, "--steps", f"{first}-{last}", "-o", out, "--force")[0] == 0
        assert figures(read_trace(out)) == figures(only_steps(trace, first, last)), (first, last)
    written, all_of = (Counter(map(_text, json.loads(gzip.decompress(one.read_bytes()))["traceEvents"]))
                       for one in (out, path))  # fmt: skip
    assert written <= all_of, "something is there that is not in the trace, or twice"
    assert faults(list(map(json.loads, written.elements()))) == []


def _text(event):
    return json.dumps(event, sort_keys=True)


RUNS = [run for run in demo_runs() if run in (
    "baseline_simulated", "transforms_simulated", "forum_sparse_multi_gpu_simulated", "cpu_baseline")]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_the_steps_of_a_demo_log_measure_the_same(run, tmp_path, capsys):
    assert_a_slice_measures_the_same(min((DEMO / run).glob("*.json.gz")), tmp_path, capsys)


@pytest.mark.parametrize(
    "name",
    [
        "hta_mi250_toy",
        "tracelens_h100_bert",
        pytest.param("hta_a100_ddp_nccl", marks=pytest.mark.live),
        pytest.param("kineto_v100_resnet50/workers4/worker0.1623212756351.pt.trace.json.gz", marks=pytest.mark.live),
    ],
)
def test_the_steps_of_a_real_trace_measure_the_same(name, tmp_path, capsys):
    assert_a_slice_measures_the_same(real_trace(name), tmp_path, capsys)


def test_a_trace_without_marks_has_the_steps_that_repeated_calls_show(tmp_path, capsys):
    path = write_trace(tmp_path / "host.1.pt.trace.json", steps=8)
    path.write_text(path.read_text().replace("ProfilerStep#", "Range "))
    assert find_steps(read_trace(path)).by == "inferred"
    out = tmp_path / "out.json"
    assert cut(capsys, path, "--steps", "3-4", "-o", out)[0] == 0
    names = Counter(event["name"] for event in json.loads(out.read_text())["traceEvents"])
    assert names == {LOADER: 2, "Range 7": 1, "Range 8": 1, "aten::mm": 2, "cudaLaunchKernel": 2,
                     "volta_sgemm_64x64_nt": 2, "process_name": 1}  # fmt: skip


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    return write_long_trace(tmp_path_factory.mktemp("long") / "20.json", 20_000_000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process its peak")
def test_memory_does_not_grow_with_the_trace(long_trace, tmp_path):
    short = write_long_trace(tmp_path / "2.json", 2_000_000)
    assert long_trace.stat().st_size > 18_000_000
    assert _peak_bytes(long_trace) - _peak_bytes(short) < 6_000_000


#: Runs a command, and then prints the peak memory of the process in kB. The peak that a parent is told includes the
#: parent's own memory.
_PEAK = """
import sys
from pathlib import Path
from tb_steptime import cli

assert cli.main(sys.argv[1:]) == 0
(peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
print(peak.split()[1])
"""


def _peak_bytes(trace):
    """The peak memory of a process that cuts out a step."""
    command = [sys.executable, "-c", _PEAK, "slice", trace, "--steps", "2", "-o", trace.with_suffix(".out")]
    return 1024 * int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def test_what_is_refused(three_steps, tmp_path, capsys):
    out, other = tmp_path / "out.json", tmp_path / "other.json"
    other.write_text('{"a": 1}')
    assert cut(capsys, three_steps, "--steps", "7-9", "-o", out) == (
        2, "", [f"{three_steps}: It has no steps 7 to 9. Its steps are 3 to 5."])  # fmt: skip
    code, _, lines = cut(capsys, other, "--steps", "1", "-o", out)
    assert (code, lines[0].startswith(f"{other}: The file has no traceEvents. It is no profiler trace.")) == (1, True)
    assert cut(capsys, tmp_path / "none", "--steps", "1", "-o", out)[0] == 1
    assert cut(capsys, three_steps, "--steps", "4", "-o", tmp_path)[::2] == (
        2, [f"{tmp_path}: This is a folder. Name a file in it."])  # fmt: skip
    nowhere = tmp_path / "no" / "out.json"
    assert cut(capsys, three_steps, "--steps", "4", "-o", nowhere)[::2] == (
        1, [f"{nowhere}: It cannot be written: No such file or directory. Name another place."])  # fmt: skip
    assert not out.exists()
    assert cut(capsys, three_steps, "--steps", "4", "-o", three_steps, "--force")[::2] == (
        2, [f"{three_steps}: This is the trace itself. Name another file."])  # fmt: skip
    assert cut(capsys, three_steps, "--steps", "4", "-o", other)[::2] == (
        2, [f"{other}: The file is there. Name another one, or write over it with --force."])  # fmt: skip
    assert other.read_text() == '{"a": 1}'
    assert cut(capsys, three_steps, "--steps", "4", "-o", other, "--force")[0] == 0
    assert json.loads(other.read_text())["traceEvents"] == IN


@pytest.mark.parametrize("steps", ["found", "4-3", "x"])
def test_steps_that_are_none(three_steps, capsys, steps):
    with pytest.raises(SystemExit) as left:
        cli.main(["slice", str(three_steps), "--steps", steps, "-o", "out.json"])
    assert left.value.code == 2
    assert f'cannot read "{steps}": give the numbers of steps, such as 10 or 10-20' in capsys.readouterr().err


#: Runs a command that never gets further than to a part of the slice that it writes.
_STOPS = """
import sys, time
from tb_steptime import cli
from tb_steptime.trace.kineto import slices

whole = slices.write_slice

def stops(*given, **named):
    return whole(*given, **named | {"on_progress": lambda progress: time.sleep(3600)})

slices.write_slice = stops
sys.exit(cli.main(sys.argv[1:]))
"""


def test_an_interrupt_leaves_no_file(long_trace, tmp_path):
    out = tmp_path / "out.json"
    command = [sys.executable, "-c", _STOPS, "slice", long_trace, "--steps", "0-3", "-o", out]
    with subprocess.Popen(command) as process:
        try:
            until(lambda: any(path.stat().st_size for path in tmp_path.glob(".*.tmp")))
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
