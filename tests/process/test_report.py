"""`tb-steptime report`: one page that holds the answers and nothing about the machine, and what is refused."""

import base64
import errno
import gzip
import hashlib
import json
import re

import pytest

from tb_steptime import cli
from tb_steptime.ingest.summaries import SUFFIX
from tb_steptime.serve import bundle
from tb_steptime.serve.report import extras
from tb_steptime.serve.report.included import thinned
from tb_steptime.serve.report.page import pack
from tb_steptime.serve.scalars import ScalarSeries
from tb_steptime.timeline.flame import numbers_of
from tests.drawn.demo import measure_all
from tests.drawn.packed import in_rows
from tests.drawn.replayed import MS, section, training
from tests.drawn.small_trace import write_trace
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write as write_simulated
from tests.truth.simulate.demo import simulate

PROGRAM = b"// the program\n"


pytestmark = pytest.mark.usefixtures("at_once")


@pytest.fixture(autouse=True)
def program(tmp_path, monkeypatch):
    """A stand-in for the built front end, which not every checkout has."""
    monkeypatch.setattr(bundle, "STATIC", tmp_path / "static")
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "report.js").write_bytes(PROGRAM)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def measured(logs):
    """Write a trace together with its summary, so that it need not be read again."""
    write_trace(logs / "a" / "gpu.1.pt.trace.json.gz")
    measure_all(logs)


def report(capsys, *arguments):
    """Exit code, lines of stdout, lines of stderr."""
    code = cli.main(["report", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out.replace("\u00a0", " ").splitlines(), output.err.splitlines()


def block(page, id):
    return base64.b64decode(re.search(f'id="{id}">([A-Za-z0-9+/=]*)<', page)[1])


def answers_in(page):
    return in_rows(json.loads(gzip.decompress(block(page, "answers"))))


def test_a_page_holds_the_answers_under_a_policy_that_lets_nothing_else_in(logs, capsys, tmp_path):
    hostile = "</script><script>alert(1)</script><!--"
    for run, op_us in (("slow", 20), ("fast", 10)):
        trace = write_trace(logs / run / "host_4711.1.pt.trace.json", op_us=op_us)
        trace.write_text(trace.read_text().replace('"volta_sgemm_64x64_nt"', json.dumps(hostile)))
    page_file = tmp_path / "out" / "page.html"
    page_file.parent.mkdir()
    code, output, lines = report(capsys, logs, "-o", page_file)
    assert (code, lines) == (0, [])
    assert re.fullmatch(rf"{page_file}: 2 runs, 2 spans, \d+ kB", output[0])
    page = page_file.read_text()
    assert hostile not in page
    assert page.count("<script") == page.count("</script>") == 3
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    loader = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    for script in (loader.encode(), gzip.decompress(block(page, "program"))):
        assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy
    answers = answers_in(page)
    spans = {run["name"]: run["workers"][0]["spans"][0]["id"] for run in answers["index"]["runs"]}
    assert set(answers["pages"]) == set(spans.values())
    assert {"overview", "gpu", "host", "timeline"} <= set(answers["pages"][spans["slow"]])
    assert {(pair["base"]["run"], pair["candidate"]["run"]) for pair in answers["pairs"]} == {
        ("slow", "fast"), ("fast", "slow"),
    }  # fmt: skip
    text = json.dumps(answers)
    assert hostile in text
    assert str(logs) not in text
    assert "host_4711" not in text
    assert answers["index"]["runs"][0]["workers"][0]["name"] == "worker_4711"
    assert answers["pages"][spans["slow"]]["overview"]["head"]["file"] == "slow/worker_4711.1.pt.trace.json"


#: What profilers write beside the events: the first two are by PyTorch 2.14, the others are set by the user.
METADATA = {
    "host_name": "telltale-machine.example",
    "trace_id": "telltale0BAE4CE882D44068A7D72CA4",
    "traceName": "/home/telltale-user/logs/trace.json",
    "user": "telltale-user",
    "env": {"TOKEN": "telltale-secret"},
}


def test_metadata_of_the_machine_and_the_user_is_in_no_summary_and_no_page(logs, capsys, tmp_path):
    trace = write_trace(logs / "a" / "rank0.1.pt.trace.json", **METADATA)
    assert trace.read_text().count("telltale") == len(METADATA)
    page = tmp_path / "page.html"
    assert report(capsys, logs, "-o", page, "--timeline")[0] == 0
    assert cli.main(["index", str(logs)]) == 0
    text = page.read_text()
    blocks = re.findall(r'id="((?!program)[\w-]+)">[A-Za-z0-9+/=]+<', text)
    assert {"answers"} < set(blocks)  # the other blocks are the events
    parts = [gzip.decompress(block(text, id)) for id in blocks]
    (summary,) = trace.parent.glob(f"*{SUFFIX}")
    parts.append(gzip.decompress(summary.read_bytes()))
    assert not any(b"telltale" in each for each in [text.encode(), *parts])


def test_what_cannot_be_read_is_a_line_and_the_rest_is_written(logs, capsys, tmp_path):
    write_trace(logs / "a" / "gpu.1.pt.trace.json.gz")
    (logs / "a" / "gpu.2.pt.trace.json").write_text("no trace")
    code, output, lines = report(capsys, logs, "-o", tmp_path / "page.html")
    assert (code, len(output), len(lines)) == (1, 1, 1)
    assert lines[0].startswith(f"{logs}/a/gpu.2.pt.trace.json: ")
    answers = answers_in((tmp_path / "page.html").read_text())
    states = [span["state"] for span in answers["index"]["runs"][0]["workers"][0]["spans"]]
    assert states == ["ready", "failed"]


def events_in(page):
    """The events in the page, by span ID."""
    return {
        id: in_rows(json.loads(gzip.decompress(block(page, f"events-{id}"))))
        for id in re.findall(r'"events-(\w+)"', page)
    }


def test_a_timeline_is_that_of_the_headlines_step_or_of_the_steps_asked_for(logs, capsys, tmp_path, monkeypatch):
    trace = write_trace(logs / "a" / "host_4711.1.pt.trace.json")
    trace.write_text(trace.read_text().replace('"volta_sgemm_64x64_nt"', '"/home/me/job/train.py(5): gemm"'))
    page = tmp_path / "page.html"
    code, _, (line,) = report(capsys, logs, "-o", page, "--steps", "1")
    assert (code, line) == (2, "--steps names steps of the Timeline. Add --timeline, or leave --steps out.")
    code, _, (line,) = report(capsys, logs, "-o", page, "--timeline", "--steps", "900-910")
    assert (code, line) == (2, f"{logs}: No span has the steps 900 to 910.")
    assert not page.exists()
    code, (sentence,), lines = report(capsys, logs, "-o", page, "--timeline")
    assert (code, lines) == (0, [])
    assert re.search(r": 1 run, 1 span, events of 1 step, \d+ kB", sentence)
    answers, events = answers_in(page.read_text()), events_in(page.read_text())
    ((id, events_of_span),) = events.items()
    assert "/home/me" not in json.dumps(events)
    timeline = answers["pages"][id]["timeline"]
    steps = {step["name"]: step for step in timeline["result"]["steps"]}
    (name,) = events_of_span["held"]["steps"]
    assert name == timeline["shown_step"] or timeline["shown_step"] is None
    assert (
        events_of_span["held"]["start_ns"]
        <= steps[name]["start_ns"]
        < steps[name]["end_ns"]
        <= events_of_span["held"]["end_ns"]
    )
    boxes = events_of_span["folded"]["boxes"]
    assert events_of_span["held"]["joined"] == sum(boxes["count"]) - len(boxes["count"])
    assert {each["event"] for each in events_of_span["described"]} == set(boxes["event"])
    assert any(each["name"] == "train.py(5): gemm" for each in events_of_span["described"])
    monkeypatch.setattr(extras, "MOST_BOXES", 12)
    numbers = sorted(map(int, steps))
    assert report(capsys, logs, "-o", page, "--timeline", "--steps", f"{numbers[0]}-{numbers[-1]}")[0] == 0
    (fewer,) = events_in(page.read_text()).values()
    assert fewer["held"]["steps"] == list(steps)
    assert (
        len(fewer["folded"]["boxes"]["event"]) <= 12 < len(fewer["folded"]["boxes"]["event"]) + fewer["held"]["joined"]
    )


def test_flame_graphs_are_held_with_fewer_frames_and_none_is_left_out(logs, capsys, tmp_path, monkeypatch):
    trace = write_trace(logs / "a" / "host_4711.1.pt.trace.json")
    trace.write_text(trace.read_text().replace('"aten::mm"', '"/home/me/job/train.py(5): mm"'))
    page = tmp_path / "page.html"
    code, (sentence,), lines = report(capsys, logs, "-o", page, "--flame")
    assert (code, lines) == (0, [])
    assert re.search(r": 1 run, 1 span, flame graphs of 1 span, \d+ kB", sentence)
    (span,) = answers_in(page.read_text())["pages"]
    flames = in_rows(json.loads(gzip.decompress(block(page.read_text(), f"flame-{span}"))))
    assert {(each["by"], each["where"]) for each in flames["pages"]} >= {("op", "ran")}
    for each in flames["pages"]:
        assert each["smallest"] == 500
        parent, device_ns = (numbers_of(each[column]).tolist() for column in ("parent", "device_ns"))
        assert sum(own(parent, device_ns)) == device_ns[0] > 0
    assert "train.py(5): mm" in flames["pages"][0]["names"]
    assert "/home/me" not in json.dumps(flames)
    monkeypatch.setattr(extras, "_MOST_JSON_BYTES", 10)
    code, (sentence,), lines = report(capsys, logs, "-o", page, "--flame")
    assert (code, lines, "flame graphs" in sentence, "flame-" in page.read_text()) == (0, [], False, False)


def own(parents, totals):
    """For each frame, the part of its total that is in none of its children."""
    left = list(totals)
    for parent, total in zip(parents[1:], totals[1:], strict=True):
        left[parent] -= total
    return left


def test_what_the_job_logged_is_in_it_in_a_few_hundred_points(logs, capsys, tmp_path):
    write_trace(logs / "a" / "gpu.1.pt.trace.json.gz")
    write_scalars(logs / "a", {"loss": [1 / (1 + step) for step in range(700)], "speed": [3.0]})
    assert report(capsys, logs, "-o", tmp_path / "page.html")[0] == 0
    scalars = answers_in((tmp_path / "page.html").read_text())["scalars"]["a"]
    assert scalars["tags"] == ["loss", "speed"]
    loss, speed = scalars["series"]
    assert (loss["steps"][0], loss["steps"][-1], len(loss["steps"])) == (0, 699, 300)
    assert loss["values"] == pytest.approx([1 / (1 + step) for step in loss["steps"]])
    assert (speed["steps"], speed["values"]) == ([0], [3.0])


def write_scalars(folder, values):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for tag, each in values.items():
        for step, value in enumerate(each):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(wall_time=1_700_000_000 + step, step=step, summary=summary))
    writer.close()


def test_points_are_thinned_evenly_with_both_ends():
    numbers = list(range(5))
    thin = thinned(ScalarSeries("a", "loss", numbers, numbers, numbers), 3)
    assert (thin.steps, thin.wall_ns, thin.values) == ([0, 2, 4], [0, 2, 4], [0, 2, 4])
    assert thinned(thin, 3) is thin


def test_an_empty_folder_writes_nothing(logs, capsys, tmp_path):
    logs.mkdir(exist_ok=True)
    code, output, (line,) = report(capsys, logs, "-o", tmp_path / "page.html")
    assert (code, output) == (1, [])
    assert line.startswith(f"{logs}: There are no traces in this folder. ")
    assert not (tmp_path / "page.html").exists()


def test_a_report_is_written_over_and_no_other_file(measured, logs, capsys, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html> my own")
    code, output, (line,) = report(capsys, logs, "-o", page)
    assert (code, output, page.read_text()) == (2, [], "<!DOCTYPE html> my own")
    assert line == f"{page}: The file is there, and is no report. Name another one, or write over it with --force."
    assert report(capsys, logs, "-o", page, "--force")[0] == 0
    assert report(capsys, logs, "-o", page)[0] == 0


def test_a_place_that_cannot_be_written_to_is_one_line(measured, logs, capsys, tmp_path, monkeypatch):
    for place, code in ((tmp_path, 2), (tmp_path / "none" / "page.html", 2)):
        assert report(capsys, logs, "-o", place)[:2] == (code, [])
    monkeypatch.setattr("os.replace", refuse)
    code, output, (line,) = report(capsys, logs, "-o", tmp_path / "page.html")
    assert (code, output) == (1, [])
    assert line == f"{tmp_path / 'page.html'}: It cannot be written: No space left on device. Name another place."


def refuse(_, place):
    raise OSError(errno.ENOSPC, "No space left on device", str(place))


def test_what_is_no_folder_is_refused(capsys, tmp_path):
    code, output, (line,) = report(capsys, tmp_path / "none")
    assert (code, output, line) == (2, [], f"{tmp_path / 'none'}: This is no folder. Name a log directory.")


def test_without_the_front_end_it_says_what_to_do(measured, logs, capsys, tmp_path):
    (tmp_path / "static" / "report.js").unlink()
    code, _, (line,) = report(capsys, logs, "-o", tmp_path / "page.html")
    assert code == 1
    assert "without its front end. In the source folder, run `make demo`" in line


@pytest.mark.parametrize(
    "content",
    [
        None,
        [1, 2.5, "a", True, [], {}],
        {"rows": [{"a": n, "b": "the same long text in every row"} for n in range(5)]},
        [[{"a": 1, "b": 2}] * 4, [{"a": 1, "b": 2}] * 4, {"often": ["a long text that comes again"] * 3}],
        {"=": 1, "#": ["x"], "'": {"=": "a long text that comes again"}, "v": "a long text that comes again"},
        [{"'": n, "#": n, "=": n} for n in range(4)],
    ],
)
def test_what_is_packed_is_what_is_read(content):
    assert in_rows(json.loads(json.dumps(pack(content)))) == content


@pytest.fixture
def behind_a_loader(logs):
    """A run whose batches come late, and in which kernel launches would be the next limit."""
    declared = training(section(120, 5_000), loader=Loader(9 * MS, workers=1))
    (span,) = simulate(declared)
    path = logs / "a" / "gpu.1.pt.trace.json.gz"
    path.parent.mkdir(parents=True)
    write_simulated(path, declared, span)
    measure_all(logs)
    return logs


def ticked_in(page):
    (pages,) = answers_in(page.read_bytes().decode())["pages"].values()
    return pages["overview"]["tried"]["ticked"]


def test_the_first_cards_are_ticked_or_those_that_are_asked_for(behind_a_loader, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert report(capsys, behind_a_loader, "-o", page)[0] == 0
    assert ticked_in(page) == ["input_bound"]  # launches gain nothing while batches come late
    assert report(capsys, behind_a_loader, "-o", page, "--try", "launch_graphs")[0] == 0
    assert ticked_in(page) == ["launch_graphs"]
    code, _, errors = report(capsys, behind_a_loader, "-o", tmp_path / "none.html", "--try", "more_gpus")
    assert (code, (tmp_path / "none.html").exists()) == (2, False)
    these = "input_bound, launch_graphs, tensor_cores_unused"
    assert errors == [f"{behind_a_loader}: No card more_gpus can be ticked. These can: {these}."]
