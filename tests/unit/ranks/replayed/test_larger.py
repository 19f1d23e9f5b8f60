"""Larger numbers of ranks are predicted where it is known how groups grow and how many bytes collectives send."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.replayed import larger
from tb_steptime.ranks.result import JobReplay
from tb_steptime.ranks.spans import RankSpan
from tests.drawn.recorded_jobs import job_in
from tests.drawn.simulated_ranks import span_of
from tests.truth.simulate.rank_jobs import Declared, run, write


def spans(**of: object) -> list[RankSpan]:
    ran = run(Declared(4, steps=4, **of))  # type: ignore[arg-type]
    return [span_of(ran, rank) for rank in range(4)]


def replay_of(ranks: list[RankSpan]) -> JobReplay:
    found = job_ranks(ranks).what_if
    assert found is not None
    return found


def named(span: RankSpan, name: str, *, sized: bool = True) -> RankSpan:
    """The span of a rank whose group has this name."""
    result = span.results["ranks"]
    assert isinstance(result, RanksResult)
    ranks_exchanges = result.exchanges
    groups = [msgspec.structs.replace(group, name=name) for group in ranks_exchanges.groups]
    classes = [msgspec.structs.replace(each, bytes=each.bytes if sized else None) for each in ranks_exchanges.classes]
    exchanges = msgspec.structs.replace(ranks_exchanges, groups=groups, classes=classes)
    return replace(span, results={**span.results, "ranks": RanksResult(exchanges)})


def test_groups_of_data_parallelism_grow() -> None:
    assert [each.ranks for each in replay_of(spans()).larger] == [8, 16]


@pytest.mark.parametrize(
    ("name", "sized", "code"), [("tp", True, "larger_job_not_of_data"), ("ddp", False, "larger_job_needs_bytes")]
)
def test_what_nothing_says_is_not_predicted(name: str, sized: bool, code: str) -> None:
    found = replay_of([named(span, name, sized=sized) for span in spans()])
    assert (found.trusted, found.larger, found.larger_reason and found.larger_reason.code) == (True, [], code)


def test_ranks_on_cpus_share_their_cores() -> None:
    without = [replace(span, figures={"step_time": span.figures["step_time"]}) for span in spans()]
    assert replay_of(without).larger_reason == larger.Reason("larger_job_shares_cores")


def test_too_many_collectives_are_not_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(larger, "_MOST_CALLS", 100)
    assert replay_of(spans()).larger_reason == larger.Reason("larger_job_has_too_many_calls")


@pytest.mark.parametrize("late", [0, 2])
def test_ranks_that_record_other_steps_do_not_show_what_more_of_them_take(late: int, tmp_path: Path) -> None:
    """The profiler of rank 1 begins so many steps later."""
    ran = run(Declared(4, steps=7, group_name="ddp", waits=True))
    write(ran, tmp_path)
    with gzip.open(tmp_path / "rank1_trace.json.gz", "rt") as file:
        trace = json.load(file)
    begin = [0, *ran.step_end][late] / 1e3
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event["ts"] >= begin]
    with gzip.open(tmp_path / "rank1_trace.json.gz", "wt") as file:
        json.dump(trace, file)
    found = job_in(tmp_path).what_if
    assert found is not None and found.trusted
    reason = found.larger_reason and found.larger_reason.code
    assert (len(found.larger), reason) == ((0, "larger_job_of_other_steps") if late else (2, None))
