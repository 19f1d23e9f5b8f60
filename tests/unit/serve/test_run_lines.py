"""One line per run, and which runs do the same work."""

import msgspec
import pytest

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measure import measure_file
from tb_steptime.insights import judge
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.run_advice import agreement, run_advice, span_advice
from tb_steptime.serve.jobs import Jobs, find_job
from tb_steptime.serve.pages import CachedResults
from tb_steptime.serve.run_lines import RunLines
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text.printer import plain
from tests.golden.compare import DEMO

RUNS = ("cpu_baseline", "cpu_transforms", "cpu_resnet50_baseline")


@pytest.fixture(scope="module")
def spans():
    found = []
    for run in RUNS:
        for number, trace in enumerate(sorted((DEMO / run).glob("*.pt.trace.json.gz")), 1):
            place = FoundSpan(f"{run} {number}", run, "cpu", number, trace.name, trace, None, mtime_ns=number)
            found.append(ServedSpan(place, measured=measure_file(trace)))
    return found


def test_runs_of_the_same_work_share_a_number(spans):
    page = RunLines(CachedResults(), Jobs()).page(spans, budget_seconds=600)
    works = {line.run: line.work for line in page.lines}
    assert (page.left, list(works)) == (0, list(RUNS))
    assert plain(page.headline) == "The CPU sets the pace in all 3 runs.", "none has a GPU that could"
    assert works["cpu_baseline"] == works["cpu_transforms"] != works["cpu_resnet50_baseline"]


@pytest.mark.parametrize(("second", "others"), [("cpu_transforms", 0), ("cpu_resnet50_baseline", 1)])
def test_a_line_says_how_many_processes_of_its_run_do_other_work(spans, second, others):
    mixed = [
        ServedSpan(msgspec.structs.replace(span.found, run="mixed", worker=span.found.run), measured=span.measured)
        for span in spans
        if span.found.run in ("cpu_baseline", second)
    ]
    (line,) = RunLines(CachedResults(), Jobs()).page(mixed, budget_seconds=600).lines
    assert (line.worker, line.others) == ("cpu_baseline", others)


def _first_card(measured):
    return next((card for card in judge(measured.results).insights if card.gain_ns > 0), None)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_line_is_of_the_span_whose_card_it_has_else_of_the_newest_and_its_trend_of_all(spans, run, newest_first):
    of_run = [span for span in spans if span.found.run == run][:: -1 if newest_first else 1]
    (line,) = RunLines(CachedResults(), Jobs()).page(of_run, budget_seconds=600).lines
    (shown,) = (span for span in of_run if span.found.id == line.span)
    card = _first_card(shown.measured)
    if card is None:
        assert shown is of_run[-1]
    said = (card.title, card.gain_ns, card.gain_fraction) if card else (None, 0, 0.0)
    assert (line.fix, line.gain_ns, line.gain_fraction) == said
    assert line.number == shown.found.number
    assert line.step_ns == shown.measured.facts.mean_step_ns == sum(msgspec.structs.astuple(line.parts_ns))
    assert line.bound == judge(shown.measured.results).verdict.bound
    assert line.trend_ns == [span.measured.facts.mean_step_ns for span in of_run]


def test_a_line_has_the_one_recommendation_of_its_spans(spans):
    lines = RunLines(CachedResults(), Jobs()).page(spans, budget_seconds=600).lines
    for line in lines:
        of_run = [span.measured for span in spans if span.found.run == line.run]
        firsts = [_first_card(each) for each in of_run]
        advice = run_advice(
            [span_advice(*each) for each in zip(firsts, (each.results for each in of_run), strict=True)]
        )
        assert (line.fix, line.gain_ns) == ((advice.card.title, advice.card.gain_ns) if advice.card else (None, 0))
        assert line.agreement == agreement(advice)
        curves = {each.results["data_loading"].curve.recommended for each in of_run} if advice.workers else set()
        assert advice.workers == ((min(curves), max(curves)) if curves else None)
    assert any(line.agreement for line in lines)


def test_the_line_of_a_job_has_the_first_card_of_the_job():
    """Rank by rank: the line is made again with each rank that is read, and the first rank alone only knows that it
    waits."""
    found = [
        FoundSpan(f"rank {number}", "job", f"rank{number}", 1, trace.name, trace, None, mtime_ns=number)
        for number, trace in enumerate(sorted((DEMO / "cpu_late_rank").glob("*.pt.trace.json.gz")))
    ]
    spans, lines = [ServedSpan(place) for place in found], RunLines(CachedResults(), Jobs())
    fixes = []
    for place, span in enumerate(spans):
        spans[place] = ServedSpan(span.found, measured=measure_file(span.found.trace))
        (line,) = lines.page(spans, budget_seconds=600).lines
        fixes.append((line.fix, line.gain_ns))
        if line.ranks == 1:  # what it says is of the first rank
            assert line.step_ns == spans[0].measured.facts.mean_step_ns
    cards = judge_job(Jobs().get(find_job(spans[0], spans)).ranks)
    assert fixes[-1] == (cards[0].title, cards[0].gain_ns) != fixes[0]
    # the step is the one of which the gain is a share, and the line says whose it is
    assert line.ranks == len(spans)
    assert line.gain_fraction == cards[0].gain_fraction == pytest.approx(line.gain_ns / line.step_ns)
    assert line.agreement is None


def test_what_one_answer_has_no_time_for_comes_with_the_next(spans):
    lines = RunLines(CachedResults(), Jobs())
    assert (lines.page(spans, budget_seconds=-1).lines, lines.page(spans, budget_seconds=-1).left) == ([], len(RUNS))
    made = lines.page(spans, budget_seconds=600)
    assert lines.page(spans, budget_seconds=-1) == made  # the lines are cached, so no time is needed


def test_a_run_that_is_not_read_has_no_line():
    found = FoundSpan("id", "run", "worker0", 1, "w.json", None, None, mtime_ns=77)
    page = RunLines(CachedResults(), Jobs()).page([ServedSpan(found)])
    assert (page.headline, page.lines, page.left) == (None, [], 0)
