"""An analysis that fails removes only its own view, and a rule that fails only its own card. Both are reported."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

import tb_steptime
from tb_steptime import analyses, cli, insights
from tb_steptime.analyses import ANALYSES
from tb_steptime.errors import TraceError
from tb_steptime.ingest.compared import compared_side
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.summaries import SUFFIX, layout
from tb_steptime.ingest.summaries.layout import stamp
from tb_steptime.ingest.summaries.reading import fresh_summary
from tb_steptime.ingest.summaries.writing import encode_summary
from tb_steptime.insights import RULES, judge
from tb_steptime.serve import bundle
from tb_steptime.serve.store import SpanNames
from tb_steptime.serve.wire import encode
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.logs import Logs, SpanChoice
from tb_steptime.text.printer import plain
from tests.drawn.small_trace import small_trace, with_allocations
from tests.fuzz.checks import finding

pytestmark = pytest.mark.usefixtures("at_once")

NAMED = SpanNames()
VIEWS = [each.id for each in ANALYSES]


def failing(trace):
    raise OverflowError("secret of the trace")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("gaps") / "host.1.pt.trace.json"
    path.write_text(json.dumps(with_allocations(small_trace(rank=3))))
    return path


@pytest.fixture(scope="module")
def undamaged(source):
    return measure_file(source)


@pytest.fixture(scope="module")
def damaged(source):
    """By view, the measurement in which the analysis of that view fails."""
    return {view: measured_without(source, view) for view in VIEWS}


def measured_without(source, view):
    broken = [replace(each, analyse=failing) if each.id == view else each for each in ANALYSES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyses, "ANALYSES", broken)
        return measure_file(source)


@pytest.fixture
def path(logs, source):
    (logs / "a").mkdir()
    return Path(shutil.copy2(source, logs / "a"))


def keep(path, measured):
    path.with_name(path.name + SUFFIX).write_bytes(encode_summary(stamp(path), measured))


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_fails_leaves_the_others_as_they_are(view, path, undamaged, damaged, opened):
    measured = damaged[view]
    assert measured.facts.gaps == {view: "OverflowError"}
    for each in VIEWS:
        assert each == view or measured.results[each] == undamaged.results[each]
    keep(path, measured)
    assert fresh_summary(path).facts.gaps == {view: "OverflowError"}
    (span,) = opened.index(work=True).runs[0].workers[0].spans
    for each in VIEWS:
        page = opened.page(span.id, each, work=True)
        assert page.gap is (each == view)
        text = encode(page).decode()
        assert "secret" not in text and "Traceback" not in text
        assert "view-not-computed" in {note.id for note in page.head.notes}
        if each == view:
            assert plain(page.headline.verdict) == (
                "This view could not be computed, because its analysis failed on this file (OverflowError); "
                "the others stand."
            )
        else:
            assert json.loads(bytes(page.result)) == json.loads(encode(undamaged.results[each]))
    opened.trends(NAMED, work=True)
    opened.ranks.page(span.id, work=False)
    opened.ranks.map(span.id, "step_time")


@pytest.mark.parametrize("view", VIEWS)
def test_commands_say_what_is_missing_and_print_the_rest(view, path, damaged, capsys):
    keep(path, damaged[view])
    folder = str(path.parent.parent)
    title = next(each.title for each in ANALYSES if each.id == view)
    for command in (["summarize", folder], ["summarize", "--format", "json", folder]):
        assert cli.main(command) == 0
        printed = capsys.readouterr()
        assert f"The view {title} could not be computed" in " ".join(printed.out.split())
        assert "Traceback" not in printed.out + printed.err
    cli.main(["ranks", folder])


@pytest.mark.parametrize("view", VIEWS)
def test_notebooks_and_agents_say_what_is_missing_and_have_the_rest(view, path, undamaged, damaged):
    keep(path, damaged[view])
    problem = f"The view {title_of(view)} could not be computed: its analysis failed on this file (OverflowError)."
    (span,) = tb_steptime.open(path.parent)
    assert [note for note in span.notes if note.startswith(problem)]
    answer = answers.summary(Logs(path.parent), SpanChoice())
    assert [note for note in answer.notes if note.startswith(problem)]
    if view != "overview":
        assert span.steps["duration_ns"].mean() == undamaged.facts.mean_step_ns
        assert answer.step_ms == undamaged.facts.mean_step_ns / 1e6


def test_a_report_holds_what_is_missing_and_the_rest(path, damaged, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bundle, "STATIC", tmp_path / "static")
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "report.js").write_bytes(b"// the program")
    keep(path, damaged["gpu"])
    assert cli.main(["report", str(path.parent.parent), "-o", str(tmp_path / "report.html")]) == 0
    match = re.search(r'id="answers">([A-Za-z0-9+/=]*)<', (tmp_path / "report.html").read_text())
    answers_held = gzip.decompress(base64.b64decode(match[1])).decode()
    assert "The view {view} could not be computed: its analysis failed on this file ({error})." in answers_held
    assert "secret" not in answers_held + capsys.readouterr().err


def title_of(view):
    return next(each.title for each in ANALYSES if each.id == view)


@pytest.mark.parametrize("view", VIEWS)
def test_what_needs_a_missing_result_is_not_said(view, undamaged, damaged, caplog):
    """No rule, title or headline fails because of it: those that need the result
    are left out, the others are unchanged."""
    before, measured = judge(undamaged.results), damaged[view]
    judged = judge(measured.results, measured.facts.gaps)
    assert caplog.records == []
    assert {card.id for card in judged.insights} <= {card.id for card in before.insights}
    cards = {card.id: card for card in before.insights}
    assert [card for card in judged.insights if card != cards[card.id]] == []
    assert judged.headlines.keys() == before.headlines.keys() | {view}
    needed = {"overview", "host"} | ({"trends"} if before.verdict.bound.value != "cpu" else set())
    assert judged.verdict == before.verdict or view in needed


@pytest.mark.parametrize("broken", list(RULES), ids=lambda rule: rule.__name__)
def test_a_rule_that_fails_takes_its_own_card(broken, undamaged, monkeypatch, caplog):
    results = undamaged.results
    before = judge(results)

    def fails(facts):
        raise ZeroDivisionError("secret of the trace")

    fails.__name__ = broken.__name__
    monkeypatch.setattr(insights, "RULES", {fails if rule is broken else rule: RULES[rule] for rule in RULES})
    judged = judge(results)
    gone = broken(insights.Facts(results))
    assert {card.id for card in before.insights} - {card.id for card in judged.insights} == (
        {gone.id} if gone else set()
    )
    assert (judged.verdict, judged.titles, judged.sidebar) == (before.verdict, before.titles, before.sidebar)
    (note,) = judged.notes["overview"]
    assert plain(note.cause) == f"1 rule failed on this file ({broken.__name__})."
    assert broken.__name__ in caplog.text


def test_a_comparison_needs_what_it_compares(damaged):
    with pytest.raises(TraceError, match="It cannot be compared: of Compare the analysis failed"):
        compared_side("a", [damaged["compare"]])
    assert compared_side("a", [damaged["memory"]]).spans


def test_a_summary_with_a_gap_is_of_this_release_alone(path, damaged, monkeypatch):
    """A newer release may have fixed the failure, so it measures again."""
    keep(path, damaged["memory"])
    assert fresh_summary(path) is not None
    monkeypatch.setattr(layout, "__version__", "99.0.0")
    assert fresh_summary(path) is None


def test_a_gap_counts_as_a_finding_of_the_fuzzer(source, monkeypatch):
    assert finding(source) is None
    monkeypatch.setattr(analyses, "ANALYSES", [replace(each, analyse=failing) for each in ANALYSES])
    assert finding(source).startswith("OverflowError at ingest/analysing.py")


def test_the_log_has_the_error_and_the_name_of_the_file(source, caplog):
    measured_without(source, "memory")
    assert "the view memory of" in caplog.text
    assert source.name in caplog.text
    assert "secret of the trace" in caplog.text


@pytest.mark.parametrize("error", [MemoryError, OSError("disk"), TraceError("worded", "file", "hint")])
def test_what_concerns_the_whole_reading_is_no_gap(error, source, monkeypatch):
    def fails(trace):
        raise error

    monkeypatch.setattr(analyses, "ANALYSES", [replace(ANALYSES[0], analyse=fails)])
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        measure_file(source)
