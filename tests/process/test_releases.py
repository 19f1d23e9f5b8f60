"""Summaries without traces, as earlier releases wrote them, open in every view and on the command line.

Their figures are held against those that a reading of the same recording gives today.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_steptime import cli
from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.compare import CompareResult
from tb_steptime.analyses.operators import OperatorsResult, OutsideOps
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.places import Place
from tb_steptime.ingest.states import SpanState
from tb_steptime.ingest.summaries import SUFFIX, read_summary
from tb_steptime.metrics.idle.reasons import SET_ASIDE
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.job.setup import Setup
from tb_steptime.metrics.operators.outside_modules import OutsideModules
from tb_steptime.metrics.operators.recorded import OpsRecorded
from tb_steptime.serve.served import SpanNames
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import SpanPage
from tests import PROJECT

RELEASES = PROJECT / "tests" / "releases"
#: The recordings that they are of.
TRACES = RELEASES / "traces"
SUMMARIES = sorted(RELEASES.rglob("*" + SUFFIX))

#: By release, the path of fields without the view: what it did not measure yet, or measured in another way.
NOT_YET: dict[str, set[str]] = {
    "0.1.0": {
        "figures.host_floor",  # whole ns
        "segments.nothing_recorded.label",  # "Nothing recorded", as if Python frames were not there
        *CompareResult.__struct_fields__, *(f"setup.{field}" for field in Setup.__struct_fields__),
        *OperatorsResult.__struct_fields__, *(f"recorded.{field}" for field in OpsRecorded.__struct_fields__),
        *(f"outside.{field}" for field in OutsideOps.__struct_fields__),
        *(f"outside_modules.{field}" for field in OutsideModules.__struct_fields__),
        *(f"devices.{table}.persistent" for table in ("details.shape", "tables.rows")),  # small grids were
        "devices.idle",  # when a GPU is idle, in time bins
        # What receiving a batch takes was another figure, and a recorder's times were among those that waits show.
        *(f"{figures}consumer_ns" for figures in ("", "recorded.")),
        "recorded.late_ns",
        "recorded.overhead_ns",
        *(f"causes.overhead.{figure}" for figure in ("gain_ns", "ns")),
        *(f"burst.{figure}" for figure in ("consumer_ns", "production_ns", "spread_ns")),
        *(f"causes.{figure}" for figure in ("overhead.exposed_ns", "shares.late_ns", "shares.overhead_ns")),
        *(f"curve.{figure}" for figure in ("floor_ns", "gain_ns", "points.step_ns")),
        # The host floor was that of the step on the device; it is one of the tiles.
        *(f"{place}.{figure}" for place in ("series.host_floor", "tiles") for figure in ("steps", "value")),
        "steps.slow", "slow_steps",  # among steps that agree by a microsecond any other one was slow
        # What judgement leaves out was not known; the end of a recording was all tail, and steps were slow with it.
        "steps.after_recording_ns", "steps.left_out_ns", "segments.tail.ns",
        *(f"segments.{reason}" for reason in SET_ASIDE),
        *(f"series.idle_tail_time.{figure}" for figure in ("steps", "value")),
        *(f"{row}.{reason}"
          for row in ("devices.mean", "devices.steps", "phases.idle_ns", "sites.idle_ns", "steps.idle_ns")
          for reason in ("tail", "after_recording")),
        "slow_steps.over_median_ns", "grown.excess_ns",
        "unknown.code",  # of memory, which it did not measure
        "cpu",  # what ops compute without a GPU
        "grown",  # slow steps of a job on the CPU
        "ranges.path",  # an optimizer's range has its own name, which was shortened to "step"
        *(f"{of}.sampler_ns" for of in ("recorded", "causes.overhead")),  # drawing rows of a batch
        "devices.tables",  # kernels by module and line
        "devices.roofline", "devices.details.sites",  # limits, and all places that launch a kernel
        "devices.rates", "devices.waste.chains",  # of products, and elementwise kernels that pass data on
        # Optimizers and kernels that loop over their work were among small grids; launching places were not kept.
        *(f"devices.waste.small_grids.{figure}" for figure in ("count", "gain_ns", "total_ns")),
        *(f"devices.waste.{small}.site" for small in ("small_grids", "small_tails")),
        *(f"devices.{table}.short" for table in ("details", "kernels", "opportunities", "tables.rows")),
        *(f"job.{figure}" for figure in JobKind.__struct_fields__),
        *(f"series.{metric}" for metric in ("idle_collective_time", "unrecorded_work_time")),
        *(f"series.{metric}" for metric in ("mfu", "hfu", "model_gflop", "known_flops_share")),
        *(f"series.{metric}" for metric in ("peak_allocated", "peak_reserved")),
        *(f"segments.{reason}" for reason in ("collective_wait", "unrecorded_work")),
    }
}  # fmt: skip


@functools.cache
def measured_now(path: Path) -> MeasuredSpan:
    return measure_file(path)


def named(path: Path) -> str:
    return str(path.relative_to(RELEASES).with_suffix("").with_suffix(""))


def figures(value: Any) -> Any:
    """Numbers, truths, names and reasons; no sentence, whose words and place a release may change. The last digits of a
    float are the machine's."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: figures(each) for key, each in value.items() if not is_said(each)}
    return [figures(each) for each in value] if isinstance(value, (list, tuple)) else value


def is_said(value: Any) -> bool:
    """A phrase or a note, several of them, or nothing."""
    if isinstance(value, list):
        return bool(value) and all(map(is_said, value))
    return value is None or (isinstance(value, dict) and bool(value.keys() & {"template", "qualifies"}))


def by_name(rows: list[Any]) -> dict[str, list[Any]] | None:
    """Rows that have a metric or an id, by it: where a release has more of these, the others must be alike. None where
    rows have neither."""
    named: dict[str, list[Any]] = {}
    for row in rows:
        if not isinstance(row, dict) or not row.keys() & {"metric", "id"}:
            return None
        named.setdefault(row.get("metric", row.get("id")), []).append(row)
    return named


def lacking(then: Any, now: Any, path: str = "") -> set[str]:
    """Paths of the fields that are not alike; rows of a list share a path."""
    if isinstance(then, dict) and isinstance(now, dict):
        return {
            each for key in then.keys() | now.keys() for each in lacking(then.get(key), now.get(key), f"{path}.{key}")
        }
    if isinstance(then, list) and isinstance(now, list) and len(then) != len(now):
        by = by_name(then), by_name(now)
        return {path.lstrip(".")} if None in by else lacking(*by, path)
    if isinstance(then, list) and isinstance(now, list):
        return {each for one, other in zip(then, now, strict=True) for each in lacking(one, other, path)}
    return set() if rounded(then) == rounded(now) else {path.lstrip(".")}


def rounded(value: Any) -> Any:
    """Shares to ten digits: a sum of floats differs in the last ones with the order in which it is made."""
    return float(f"{value:.10g}") if isinstance(value, float) else value


def test_every_release_is_tried() -> None:
    assert {path.name for path in RELEASES.iterdir() if path.is_dir() and path != TRACES} == NOT_YET.keys()
    assert {path.relative_to(RELEASES).parts[0] for path in SUMMARIES} == NOT_YET.keys()


@pytest.mark.parametrize("path", SUMMARIES, ids=named)
def test_its_figures_are_those_of_today(path: Path) -> None:
    release, run, name = path.relative_to(RELEASES).parts
    then, now = read_summary(path), measured_now(TRACES / run / name.removesuffix(SUFFIX))
    assert lacking(*(figures(msgspec.to_builtins(span.facts)) for span in (then, now))) == set()
    for view in now.results:
        pair = (figures(msgspec.to_builtins(span.results[view])) for span in (then, now))
        assert lacking(*pair) - NOT_YET[release] == set(), view


@pytest.mark.parametrize("release", sorted(NOT_YET))
@pytest.mark.usefixtures("at_once")
def test_the_tab_opens_them(release: str) -> None:
    store = Store([Place("", RELEASES / release, release)])
    spans = [span for run in store.index(work=False).runs for worker in run.workers for span in worker.spans]
    assert spans
    assert {span.state for span in spans} == {SpanState.READY}
    for span in spans:
        for analysis in ANALYSES:
            page = store.page(span.id, analysis.id, work=False)
            assert isinstance(page, SpanPage)
            assert page.headline.verdict.template
    assert all(row.result for row in store.trends(SpanNames(), work=False).spans)
    store.close()


def without_judgement(value: Any) -> Any:
    """What 0.1.0 knew, `rounded`: it did not tell the end of a recording from a tail, and called other steps slow."""
    if isinstance(value, list):
        return [without_judgement(each) for each in value]
    if not isinstance(value, dict):
        return rounded(value)
    value = {key: without_judgement(each) for key, each in value.items() if key not in ("after_recording_ns", "slow")}
    if "after_recording" in value:
        value["tail"] += value.pop("after_recording")
    return value


@pytest.mark.parametrize("release", sorted(NOT_YET))
def test_the_command_line_opens_them(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["summarize", str(RELEASES / release), "--format", "json"]) == 0
    then = json.loads(capsys.readouterr().out)["spans"]
    traces = [TRACES / span["run"] / Path(span["trace"]).name.removesuffix(SUFFIX) for span in then]
    assert cli.main(["summarize", *map(str, traces), "--format", "json"]) == 0
    now = json.loads(capsys.readouterr().out)["spans"]
    kept = ("steps", "mean", "devices", "phases", "blocking_calls", "queue_depth")
    assert [[without_judgement(span[key]) for key in kept] for span in then] == [
        [without_judgement(span[key]) for key in kept] for span in now
    ]
    assert [[each["id"] for each in span["insights"]] for span in then] == [
        [each["id"] for each in span["insights"]] for span in now
    ]
