"""The committed summaries of the demo equal today's measurements: a changed
figure must be declared in `DEFINITIONS`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.summaries import fresh_summary, read_summary, writing
from tb_steptime.ingest.summaries.layout import DEFINITIONS
from tests.drawn.demo import copy_demo
from tools import demo_summaries
from tools.demo_summaries import DEMO, RAISE, WRITE, changed_fields, described, summary_path

pytestmark = pytest.mark.skipif(not DEMO.is_dir(), reason="the demo is not in this checkout")


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_committed_summaries_open_as_they_are() -> None:
    stale = [str(trace.relative_to(DEMO)) for trace in demo_summaries.demo_traces() if fresh_summary(trace) is None]
    assert not stale, f"{len(stale)} summaries of the demo are stale, as {stale[0]}'s. {WRITE}"


def test_they_hold_what_is_measured_today(measured_demo: Path) -> None:
    found = {}
    for trace in demo_summaries.demo_traces():
        now = read_summary(summary_path(measured_demo / trace.relative_to(DEMO)))
        found[trace] = list(changed_fields(read_summary(summary_path(trace)), now))
    changed = [described(trace, changes) for trace, changes in found.items() if changes]
    assert not changed, "\n".join([*changed, RAISE])


RUN = "forum_preloaded_simulated"


def test_a_change_that_was_not_told_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_summaries, "DEMO", copy_demo(tmp_path / "logs", [RUN]))
    (trace,) = demo_summaries.demo_traces()
    assert [demo_summaries.main(), demo_summaries.main()] == [0, 0]
    lines = [line.partition(" summaries")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["1 of 1", "0 of 1"]
    content = summary_path(trace).read_bytes()

    now = measure_file(trace)
    more = msgspec.structs.replace(now.facts, step_count=now.facts.step_count + 1)
    monkeypatch.setattr(demo_summaries, "measure_file", lambda _: msgspec.structs.replace(now, facts=more))
    assert demo_summaries.main() == 1
    assert capsys.readouterr().err == f"{RUN}/{trace.name}: facts.step_count\n{RAISE}\n"
    assert summary_path(trace).read_bytes() == content

    for module in (demo_summaries, writing):
        monkeypatch.setattr(module, "DEFINITIONS", DEFINITIONS + 1)
    assert demo_summaries.main() == 0
    assert read_summary(summary_path(trace)).facts.step_count == more.step_count


def test_a_summary_without_its_trace_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_summaries, "DEMO", copy_demo(tmp_path / "logs", [RUN]))
    demo_summaries.main()
    (trace,) = demo_summaries.demo_traces()
    trace.unlink()
    assert demo_summaries.main() == 0
    assert not summary_path(trace).exists()
