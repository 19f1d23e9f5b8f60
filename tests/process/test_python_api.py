"""`tb_steptime.open` and `tb_steptime.compare`: what they return for recordings, and what a notebook shows of them."""

import contextlib
import doctest
import io
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measure import measure_trace, read_file
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.gpu.counters import COUNTER_METRICS
from tb_steptime.metrics.kernels.table import kernel_table
from tb_steptime.metrics.operators.module_tree import ModuleRow
from tb_steptime.notebook.span import Span
from tests import PROJECT
from tests.drawn.small_trace import small_trace, write_trace

PARTS = ("kernel", "communication", "memcpy", "memset", "data_loader", "runtime", "cpu_exec", "other")
PAGES = ("docs/python_api.md", "docs/getting_started.md")


@pytest.fixture
def run(tmp_path):
    """Two workers, one of them with two spans; a step takes 100 us."""
    for name in ("a.1600000000000", "a.1600000009000", "b.1600000000000"):
        write_trace(tmp_path / "run" / f"{name}.pt.trace.json.gz")
    return tmp_path / "run"


def files(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_spans_of_a_log_directory_a_run_a_worker_and_a_file(run):
    named = [[(span.run, span.worker, span.number) for span in tb_steptime.open(path)] for path in (
        run.parent, run, str(run / "a"), run / "b.1600000000000.pt.trace.json.gz")]  # fmt: skip
    a, b = [("run", "a", 1), ("run", "a", 2)], [("run", "b", 1)]
    assert named == [a + b, a + b, a, b]


def test_spans_are_chosen_by_run_and_worker(run):
    spans = tb_steptime.open(run.parent)
    assert (spans.runs, spans.workers) == (["run"], ["a", "b"])
    assert [span.path for span in spans["run", "b"]] == [str(run / "b.1600000000000.pt.trace.json.gz")]
    with pytest.raises(KeyError, match=r"is not here\. There are a, b\."):
        spans["run", "c"]
    with pytest.raises(KeyError, match=r"is not here\. There are run\."):
        spans["another"]


def test_a_name_that_is_nearly_right_gets_the_right_one(run):
    write_trace(run / "rank_10.pt.trace.json")
    spans = tb_steptime.open(run.parent)
    span = spans[0]
    for ask, meant in (
        (lambda: spans["runs"], "run"),
        (lambda: spans["run", "rank10"], "rank_10"),
        (lambda: span.figures["steptime"], "step_time"),
        (lambda: span.result("data_loadin", OverviewResult), "data_loading"),
    ):
        with pytest.raises(KeyError, match=rf"Did you mean {meant}\?"):
            ask()
    with pytest.raises(TraceError, match=r"Did you mean rank_10\?"):
        tb_steptime.open(run / "rank10")
    assert "steptime" not in span.figures


@pytest.mark.parametrize("name", ["nothing", "run/c"])
def test_what_is_not_there_is_said(run, name):
    with pytest.raises(TraceError, match="There is no such file, folder or worker"):
        tb_steptime.open(run.parent / name)


def test_a_folder_without_traces_is_said(tmp_path):
    with pytest.raises(TraceError, match="There are no traces in this folder"):
        tb_steptime.open(tmp_path)


def test_tables_hold_what_was_measured(run):
    before = files(run)
    span = tb_steptime.open(run)[0]
    assert repr(span) == "Span(run · a · span 1: not read yet)"
    assert sum(span.steps[f"{part}_ns"] for part in PARTS).tolist() == span.steps["duration_ns"].tolist()
    assert span.steps["kernel_ns"].tolist() == [40_000] * 3
    assert span.steps["wait_ns"].tolist() == [30_000] * 3
    idle = np.sum([span.idle[name] for name in span.idle.columns if name.endswith("_ns")], axis=0)
    assert idle.tolist() == span.steps["duration_ns"].tolist()
    (kernel,) = span.kernels
    assert (kernel["name"], kernel["count"], kernel["total_ns"]) == ("volta_sgemm_64x64_nt", 3, 120_000)
    assert [row["op"] for row in span.kernels_by("op")] == ["aten::mm"]
    (op,) = span.operators
    assert (op["name"], op["calls"], op["host_self_ns"] + op["runtime_ns"], op["launches"]) == (
        "aten::mm",
        3,
        30_000,
        3,
    )
    assert [len(span.operators_by(by)) for by in ("phase", "stack")] == [1, 0]
    assert repr(span) == "Span(run · a · span 1: 3 steps of 100 µs)"
    assert files(run) == before, "no file is written"


class _WithModules(Span):
    """A recording of which nothing but these modules is measured."""

    def result(self, view, kind):
        rows = [ModuleRow("Net"), ModuleRow("Block_0", 0, occurrences=2), ModuleRow("Linear_0", 1, allocated_bytes=8)]
        return kind(modules=rows, folded=rows[:1])


def test_modules_are_rows_in_the_order_of_the_tree():
    span = _WithModules(FoundSpan("id", ".", "worker", 1, "file", None, None))
    assert span.modules["path"].tolist() == ["Net", "Net / Block_0", "Net / Block_0 / Linear_0"]
    assert span.modules["occurrences"].tolist() == [0, 2, 0]
    assert span.modules.values("allocated_bytes") == [None, None, 8]
    assert len(span.folded_modules) == 1


def test_every_figure_has_a_unit_and_a_value_or_a_reason(run):
    figures = tb_steptime.open(run)[0].figures
    sampled = {metric.id for metric in COUNTER_METRICS}  # only a GPU that samples its own counters has these
    assert list(figures) == [metric.id for metric in METRICS if metric.id not in sampled]
    assert [figure.id for figure in figures.values() if (figure.value is None) != bool(figure.reason)] == []
    step = figures["step_time"]
    assert (step.value, step.unit, step.steps.tolist(), str(step)) == (100_000.0, "ns", [100_000.0] * 3, "100 µs")
    assert figures.table[0] == {
        "id": "step_time", "label": "Step time", "unit": "ns", "device": None, "value": 100_000.0, "reason": None
    }  # fmt: skip


def test_figures_of_all_spans_are_one_table(run):
    table = tb_steptime.open(run.parent).figures
    assert table["worker"].tolist() == ["a", "a", "b"]
    assert table["step_time"].tolist() == [100_000.0] * 3


def test_events_are_the_columns_of_the_trace(run):
    events = tb_steptime.open(run)[0].events
    (kernels,) = [events.of_kind("kernel")]
    assert len(events) == 15
    assert events.dur_ns[kernels].tolist() == [40_000] * 3
    assert {events.names[name] for name in events.name[kernels]} == {"volta_sgemm_64x64_nt"}
    assert events.stream[kernels].tolist() == [7, 7, 7]
    assert events.table(kernels)[0] == {
        "start_ns": 50_000, "dur_ns": 40_000, "kind": "kernel", "name": "volta_sgemm_64x64_nt", "thread": "0 7",
        "device": 0, "stream": 7, "correlation_id": 5, "external_id": -1,
    }  # fmt: skip
    assert repr(events) == "Events(15: 3 cpu_op, 6 user, 3 runtime, 3 kernel)"


def test_all_but_events_are_had_without_the_trace(measured_demo, tmp_path):
    (summary, *_) = sorted((measured_demo / "transforms_simulated").glob("*.steptime"))
    shutil.copy(summary, tmp_path)
    (span,) = tb_steptime.open(tmp_path)
    whole = tb_steptime.open(measured_demo / "transforms_simulated")[0]
    for table in ("steps", "idle", "kernels", "operators", "modules", "blocking_calls", "copies", "cards"):
        assert getattr(span, table).to_dict() == getattr(whole, table).to_dict()
    assert span.verdict == whole.verdict
    with pytest.raises(TraceError, match="Put the trace next to it"):
        _ = span.events


def test_kernels_of_a_summary_are_all_that_the_trace_has(measured_demo):
    span = tb_steptime.open(measured_demo / "transforms_simulated")[0]
    trace, _ = measure_trace(read_file(span.path), leave_out=("timeline", "gpu"))
    assert span.kernels["total_ns"].tolist() == [row.total_ns for row in kernel_table(trace, "name")]


@pytest.mark.parametrize(
    "names",
    [("baseline_simulated", "num_dataloaders_simulated"), ("resnet50_baseline_simulated", "autocast_simulated")],
)
def test_a_comparison_is_that_of_the_command(measured_demo, names):
    paths = [measured_demo / name for name in names]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        cli.main(["compare", *map(str, paths), "--format", "json"])
    (candidate,) = json.loads(out.getvalue())["candidates"]
    spans = tb_steptime.open(measured_demo)
    for base, other in (paths, [spans[path.name] for path in paths]):
        found = tb_steptime.compare(base, other)
        assert found.to_dict() == candidate
    assert {row["id"]: row["change_ns"] for row in found.parts} == {
        id: row["change_ns"] for id, row in candidate["parts"].items()
    }
    tables = {"kernels": found.kernels, "ops": found.ops, "blocking": found.blocking_calls, "copies": found.copies}
    assert {name: list(table) for name, table in tables.items()} == {name: candidate[name] for name in tables}
    assert found.changes == candidate["changes"]
    followed = [{key: value for key, value in each.items() if key != "residual"} for each in candidate["predictions"]]
    assert list(found.predictions) == followed


def test_spans_of_one_worker_are_compared(run):
    first, second = tb_steptime.open(run / "a")
    found = tb_steptime.compare(first, second)
    assert (found.step_ns.base, found.step_ns.change) == (100_000, 0)


def test_several_runs_are_not_one_side(measured_demo):
    with pytest.raises(ValueError, match="holds 29 runs: choose one of autocast_simulated, "):
        tb_steptime.compare(measured_demo, measured_demo / "cpu_baseline")


class Read(HTMLParser):
    """The elements of a page and its text. Raises if an element is not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen |= {tag, *(name for name, _ in attributes)}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += "" if "style" in self.open else data.replace("\u00a0", " ")


def test_a_notebook_shows_the_step_and_the_cards(measured_demo):
    span = tb_steptime.open(measured_demo / "num_dataloaders_simulated")[0]
    page = Read(span._repr_html_())
    for text in ("not 5.8 ms", "Mean step 5.8 ms", "Data loading 62.7 %", "Use up to 8 workers",
                 "num_workers=min(8, os.cpu_count())", "Simulated"):  # fmt: skip
        assert text in page.text
    assert page.seen & {"script", "src", "href", "onclick", "onload", "link", "iframe"} == set()


def test_a_notebook_shows_comparisons_and_tables(measured_demo):
    found = tb_steptime.compare(measured_demo / "baseline_simulated", measured_demo / "num_dataloaders_simulated")
    assert "Data loading15.4 ms3.7 ms-11.7 ms-12.1 ms to -11.4 ms" in Read(found._repr_html_()).text
    assert "29 runs" in repr(tb_steptime.open(measured_demo))
    page = Read(tb_steptime.open(measured_demo)._repr_html_())
    assert "cpu_baseline" in page.text
    assert "29 more rows of spans" in page.text
    assert "step_time" in Read(tb_steptime.open(measured_demo)[0].figures._repr_html_()).text


def test_names_out_of_a_trace_are_escaped(tmp_path):
    trace = small_trace()
    for event in trace["traceEvents"]:
        if event["name"] == "volta_sgemm_64x64_nt":
            event["name"] = "<img src=x onerror=alert(1)>`<b>`"
    trace["deviceProperties"][0]["name"] = "</style><script>alert(1)</script>"
    (tmp_path / "a.pt.trace.json").write_text(json.dumps(trace))
    span = tb_steptime.open(tmp_path)[0]
    for shown in (span, span.kernels):
        assert Read(shown._repr_html_()).seen & {"script", "img"} == set()


def test_importing_the_package_imports_nothing_else():
    """Training scripts import the package to use the recorder."""
    source = "import sys, tb_steptime; print([name for name in sys.modules if name.startswith('tb_steptime.')])"
    output = subprocess.run(
        [sys.executable, "-c", source + "; print('numpy' in sys.modules)"], check=True, capture_output=True, text=True
    )
    assert output.stdout.split("\n")[:2] == ["[]", "False"]


def test_compare_is_called_whether_or_not_its_room_is_imported():
    source = "import tb_steptime.comparison.sides; tb_steptime.compare('none', 'none')"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("tb_steptime.errors.TraceError: none: There is no such file")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_documentation_are_true(page, measured_demo, monkeypatch):
    monkeypatch.chdir(measured_demo.parent)
    examples = "\n".join(re.findall(r"^```pycon\n(.*?)^```", (PROJECT / page).read_text(), re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    output: list[str] = []
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 0, "".join(output)
