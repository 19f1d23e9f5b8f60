"""The ranks of a simulated job: what the tab's server answers, what a report holds, and what the commands print."""

import json
import shutil
import threading

import numpy as np
import pytest

from tb_steptime import cli
from tb_steptime.ingest.names import parse_places
from tb_steptime.serve import ranks
from tb_steptime.serve.ranks import job_figures
from tb_steptime.serve.report.included import included_answers
from tb_steptime.serve.served import UnknownSpan
from tb_steptime.serve.store import Store
from tb_steptime.text.printer import duration, percent, plain
from tests.drawn.demo import measure_all
from tests.drawn.real_traces import real_path
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import PATIENCE_SECONDS, until
from tests.truth.simulate.rank_jobs import Declared, run, write

MS = 1_000_000
#: Rank 1 computes 6 ms longer than the others in each of four steps; the first of them is not matched across ranks.
LATE = Declared(3, steps=4, late={1: 6 * MS})


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    write(run(LATE), folder / "job")
    write(run(Declared(2, steps=4)), folder / "part")
    (folder / "part" / "rank1_trace.json.gz").unlink()
    measure_all(folder)
    return folder


@pytest.fixture(scope="module")
def store(logs):
    made = Store(parse_places(str(logs), ""))
    yield made
    made.close()


def spans_of(store, name):
    (found,) = (run for run in store.index(work=False).runs if run.name == name)
    return [worker.spans[0].id for worker in found.workers]


def matrix(page):
    return np.frombuffer(page.values, "<f4")[1:].reshape(len(page.spans), len(page.steps))


def test_every_span_of_a_job_has_the_page_of_the_job(store):
    spans = spans_of(store, "job")
    page = store.ranks.page(spans[2], work=False)
    assert page.spans == spans
    assert (page.read, page.found) == (3, 3)
    assert page.headline.verdict.template.startswith("[Rank {rank} makes the others wait {wait} a step]")
    assert page.headline.verdict.values["rank"].value == "1"
    assert page.caused_ns == pytest.approx([0, 6 * MS, 0], rel=0.02)
    assert [len(page.causes), page.insights[0].id] == [1, "straggler"]
    first = page.insights[0]
    assert first.gain_ns > 0
    gain = f"up to {duration(first.gain_ns)} a step ({percent(first.gain_fraction)}).".replace("\u00a0", " ")
    assert plain(page.do_first) == f"{plain(first.title)}: {gain}"
    assert page.job.step_time.values == [], "a map has them"
    assert store.ranks.page(spans[0], work=False) == page


def test_of_ranks_that_take_turns_it_says_why_the_late_one_of_each_step_is_late(tmp_path):
    write(run(Declared(3, steps=8, spread_ns=6 * MS)), tmp_path / "turns")
    measure_all(tmp_path)
    made = Store(parse_places(str(tmp_path), ""))
    page = made.ranks.page(spans_of(made, "turns")[0], work=False)
    made.close()
    assert (page.job.balance, len(page.turns)) == ("imbalance", len(page.job.imbalance_causes))
    assert page.turns[0].template == "it computes {more} a step longer"
    assert page.titles["waits"].template.startswith("Different ranks arrive last,")


def test_a_report_says_why_ranks_take_turns_and_which_are_late_together(tmp_path, capsys):
    write(run(Declared(3, steps=8, spread_ns=6 * MS)), tmp_path / "turns")
    write(run(Declared(5, late={1: 6 * MS, 2: 6 * MS})), tmp_path / "together")
    assert cli.main(["ranks", str(tmp_path), "--format", "json"]) == 0
    together, turns = json.loads(capsys.readouterr().out)["jobs"]
    assert (turns["balance"], [each["id"] for each in turns["imbalance_causes"]]) == ("imbalance", ["more_work"])
    assert turns["imbalance_causes"][0]["own_ns"] > turns["imbalance_causes"][0]["others_ns"]
    group = together["late_together"]
    assert (together["balance"], group["ranks"], group["host"], group["first"]) == ("late_ranks", [1, 2], None, 1)
    assert (group["late_steps"], group["steps"], group["causes"][0]["id"]) == (7, 7, "slower_kernels")
    assert group["gain_ns"] == pytest.approx(6 * MS, rel=0.02)


def test_a_metric_has_a_row_for_each_rank_and_a_column_for_each_step(store):
    spans = spans_of(store, "job")
    page = store.ranks.map(spans[1], "kernel_time")
    assert (page.spans, page.steps, page.reason) == (spans, ["5", "6", "7", "8"], None)
    assert (matrix(page)[1] - matrix(page)[0]).tolist() == pytest.approx([6 * MS] * 4, rel=0.02)


def test_of_many_ranks_one_metric_comes_at_once_and_the_others_are_there_soon_after(logs, store, monkeypatch):
    span = spans_of(store, "job")[0]
    expected = {metric: store.ranks.map(span, metric) for metric in ("kernel_time", "step_time", "mfu")}
    monkeypatch.setattr(ranks, "FEW_RANKS", 2)
    made = Store(parse_places(str(logs), ""))
    spans_of(made, "job")
    assert made.ranks.map(span, "kernel_time") == expected["kernel_time"]
    until(lambda: made.ranks.figures._cache.bytes)
    monkeypatch.setattr(ranks, "job_figures", None)  # from here on nothing can be computed
    assert {metric: made.ranks.map(span, metric) for metric in expected} == expected
    made.close()


def test_who_asks_for_another_metric_while_all_are_read_waits_for_them(logs, store, monkeypatch):
    span = spans_of(store, "job")[0]
    expected = store.ranks.map(span, "step_time")
    monkeypatch.setattr(ranks, "FEW_RANKS", 2)
    made = Store(parse_places(str(logs), ""))
    spans_of(made, "job")
    go_on, read = threading.Event(), []

    def counted(spans, metrics=None):
        read.append(metrics)
        assert metrics or go_on.wait(PATIENCE_SECONDS)
        return job_figures(spans, metrics)

    monkeypatch.setattr(ranks, "job_figures", counted)
    made.ranks.map(span, "kernel_time")
    threading.Timer(0.1, go_on.set).start()
    assert made.ranks.map(span, "step_time") == expected
    assert read == [["kernel_time"], None]
    made.close()


def test_waits_are_known_where_collectives_are_matched(store):
    caused, waits = (
        matrix(store.ranks.map(spans_of(store, "job")[0], f"rank_{kind}_ns")) for kind in ("caused", "wait")
    )
    assert np.isnan(caused[:, 0]).all(), "ranks wait for each other's profiler in the first step"
    assert caused[:, 1:].tolist() == [pytest.approx(row, rel=0.02) for row in ([0] * 3, [6 * MS] * 3, [0] * 3)]
    assert waits[:, 1:].tolist() == [pytest.approx(row, rel=0.02) for row in ([6 * MS] * 3, [0] * 3, [6 * MS] * 3)]


def test_what_no_rank_measures_says_why(store):
    page = store.ranks.map(spans_of(store, "job")[0], "mfu")
    assert np.isnan(matrix(page)).all()
    assert page.reason is not None


@pytest.mark.parametrize(("run", "metric"), [("job", "nothing"), ("part", "rank_wait_ns")])
def test_there_is_no_such_metric(store, run, metric):
    with pytest.raises(UnknownSpan):
        store.ranks.map(spans_of(store, run)[0], metric)


def test_one_rank_of_a_job_says_what_is_missing(store):
    page = store.ranks.page(spans_of(store, "part")[0], work=False)
    assert (page.job, page.do_first) == (None, None)
    assert page.headline.verdict.template == "[One of {all} ranks was recorded here.]"


def test_a_job_whose_card_promises_nothing_leaves_the_first_place_to_each_rank(tmp_path):
    (tmp_path / "job").mkdir()
    for rank, recorded in enumerate(sorted(real_path("traces_world/llama_tp2_rtx4090").iterdir())):
        shutil.copy(recorded, tmp_path / "job" / f"rank{rank}_trace.json.gz")
    measure_all(tmp_path)
    made = Store(parse_places(str(tmp_path), ""))
    page = made.ranks.page(spans_of(made, "job")[0], work=False)
    made.close()
    assert [(card.id, card.gain_ns) for card in page.insights] == [("larger_gathers", 0)]
    assert page.do_first is None


def test_a_process_alone_has_nothing_to_be_held_against(tmp_path):
    write_trace(tmp_path / "alone" / "host.1.pt.trace.json.gz")
    measure_all(tmp_path)
    made = Store(parse_places(str(tmp_path), ""))
    page = made.ranks.page(spans_of(made, "alone")[0], work=False)
    made.close()
    assert page.headline.verdict.template.startswith("[One process was recorded,]")
    assert page.headline.action.template.startswith("Record every rank")


def test_two_runs_are_compared_over_all_their_ranks(store, logs, capsys):
    """The job with a late rank is compared with a run that has one of its two
    ranks, so that one's waits are unknown."""
    scaling = store.compare(spans_of(store, "part")[0], spans_of(store, "job")[0], work=False).scaling
    assert scaling.template.startswith("{base} to {ranks} ranks:")
    assert (scaling.values["base"].value, scaling.values["ranks"].value) == (2, 3)
    folders = [str(logs / name) for name in ("part", "job")]
    assert cli.main(["compare", *folders, "--ranks"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 to 3 ranks: ")
    assert cli.main(["compare", *folders, "--format", "json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["scaling"] is None, "all ranks are read only where that is asked for"


def test_ranks_that_are_not_read_yet_are_counted(logs, tmp_path):
    write(run(LATE), tmp_path / "job")
    unread = Store(parse_places(str(tmp_path), ""))
    page = unread.ranks.page(spans_of(unread, "job")[0], work=False)
    unread.close()
    assert (page.job, page.read, page.found) == (None, 0, 3)


def test_a_report_holds_each_job_once_and_its_waits(store):
    answers_in_page = included_answers(store)
    assert [page.spans for page in answers_in_page.jobs] == [spans_of(store, "job"), spans_of(store, "part")]
    assert [page.metric for page in answers_in_page.waits] == ["rank_wait_ns", "rank_caused_ns"]


def test_the_command_prints_the_late_rank_first(logs, capsys):
    assert cli.main(["ranks", str(logs)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "job · 3 ranks · 4 steps"
    assert lines[1].startswith("Rank 1 makes the others wait 6.0 ms a step (13 % of it).")
    first = next(line for line in lines if line.startswith("rank "))
    assert first.split() == ["rank", "1", "47.6", "ms", "0", "ms", "6.0", "ms", "100.0", "%"]


def test_the_summary_has_the_jobs_of_the_command(logs, capsys):
    assert cli.main(["ranks", str(logs), "--format", "json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert cli.main(["summarize", str(logs), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranks"] == jobs
    (job,) = jobs
    assert (job["run"], job["balance"], job["world_size"], job["missing"]) == ("job", "straggler", 3, [])
    assert [row["makes_others_wait_ns"] for row in job["ranks"]] == pytest.approx([0, 6 * MS, 0], rel=0.02)
    assert [step["late"] for step in job["steps"]] == [None, 1, 1, 1]
    assert (job["late_together"], job["imbalance_causes"]) == (None, [])
    assert [row["bus_rate"] for row in job["collectives"]] == pytest.approx([50e9] * len(job["collectives"]), rel=0.02)


def test_without_a_job_the_command_says_so(logs, capsys):
    assert cli.main(["ranks", str(logs / "part")]) == 0
    assert capsys.readouterr().out == (
        "No two ranks of one job were recorded here at the same time. Record all ranks in\nthe same steps.\n"
    )
