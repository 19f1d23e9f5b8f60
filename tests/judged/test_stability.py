"""Variants of a recording do not change the job, and conclusions that move are found."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tb_steptime.insights.base import Confidence, Judgement, Severity
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tests.drawn.demo import DEMO
from tests.drawn.host_result import US, host_result, judged, site
from tests.drawn.replayed import MS, section, training
from tests.judged.found import judgement_of
from tests.judged.stability import Moved, encoded, moved, moved_in, read
from tests.judged.variants import variants, windows
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate

_DAY_US = 86_400_000_000


def _event(cat: str, name: str, start: int, end: int, **args: Any) -> dict[str, Any]:
    event = {"ph": "X", "cat": cat, "name": name, "ts": Decimal(start), "dur": Decimal(end - start), "pid": 1, "tid": 1}
    return event | {"args": args}


def _steps() -> dict[str, Any]:
    """Three steps of 10 us on the host; the device runs the kernel of each step one step later."""
    marks = [_event("user_annotation", f"ProfilerStep#{n}", 10 * n, 10 * n + 10) for n in range(3)]
    calls = [_event("cuda_runtime", "cudaLaunchKernel", 10 * n + 1, 10 * n + 2, correlation=n + 1) for n in range(3)]
    kernels = [_event("kernel", f"k{n}", 10 * n + 12, 10 * n + 20, correlation=n + 1, device=0) for n in range(3)]
    return {"traceEvents": [*marks, *calls, *kernels], "deviceProperties": []}


def _names(variant: str) -> list[str]:
    return [event["name"] for event in dict(variants(_steps()))[variant]["traceEvents"]]


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        ("without the first step", ["ProfilerStep#1", "ProfilerStep#2", *["cudaLaunchKernel"] * 2, "k0", "k1", "k2"]),
        ("without the last step", ["ProfilerStep#0", "ProfilerStep#1", *["cudaLaunchKernel"] * 2, "k0", "k1"]),
        ("the middle step alone", ["ProfilerStep#1", "cudaLaunchKernel", "k0", "k1"]),
        ("the first half", ["ProfilerStep#0", "ProfilerStep#1", *["cudaLaunchKernel"] * 2, "k0", "k1"]),
        ("the last half", ["ProfilerStep#1", "ProfilerStep#2", *["cudaLaunchKernel"] * 2, "k0", "k1", "k2"]),
        ("begun within a step", ["ProfilerStep#1", "ProfilerStep#2", *["cudaLaunchKernel"] * 2, "k0", "k1", "k2"]),
        ("ended within a step", [*(f"ProfilerStep#{n}" for n in range(3)), *["cudaLaunchKernel"] * 3, "k0"]),
        ("no step marks", [*["cudaLaunchKernel"] * 3, "k0", "k1", "k2"]),
    ],
)
def test_a_profiler_that_starts_later_still_sees_what_runs_then(variant: str, names: list[str]):
    """A profiler that is stopped waits for launched work; a recording that breaks off only has finished work."""
    assert _names(variant) == names


def test_times_and_order_may_be_others_and_the_events_the_same():
    found = dict(variants(_steps()))
    shifted = [event | {"ts": event["ts"] - _DAY_US} for event in found["a day later"]["traceEvents"]]
    assert shifted == _steps()["traceEvents"]
    assert sorted(event["name"] for event in found["shuffled"]["traceEvents"]) == sorted(_names("not packed"))
    assert found["reversed"]["traceEvents"] == _steps()["traceEvents"][::-1]
    slower = [(event["ts"], event["dur"]) for event in found["half as fast"]["traceEvents"]]
    assert slower == [(2 * event["ts"], 2 * event["dur"]) for event in _steps()["traceEvents"]]
    assert "no shapes" not in found, "it has none"


def _judgement(us: int = 300, bound: Bound = Bound.HOST) -> Judgement:
    return judged(host_result([site("forward.model", IdleNs(cpu_work=us * US))], bound=bound))


def test_what_moved_is_found():
    before, less = _judgement(), _judgement(200)
    assert list(moved(before, before)) == []
    assert list(moved(before, less)) == [Moved("gain moved", "launch_graphs major 30.0% -> major 20.0%")]
    assert list(moved(before, _judgement(bound=Bound.INPUT))) == [
        Moved("other cause", "verdict host -> input"),
        Moved("weaker", "launch_graphs major 30.0% -> minor 30.0%"),
    ]
    assert list(moved(_judgement(9), before)) == [Moved("new card", "launch_graphs none -> major 30.0%")]
    (card,) = before.insights
    minor = msgspec.structs.replace(card, severity=Severity.MINOR, confidence=Confidence.LOW)
    unsaid = msgspec.structs.replace(before, insights=[minor])
    assert list(moved(before, unsaid)) == [Moved("weaker, not said why", "launch_graphs major 30.0% -> minor 30.0%")]


@pytest.mark.parametrize(("workers", "batch_ns"), [(2, 4 * MS), (3, 5 * MS)])
def test_a_few_steps_of_a_job_that_waits_for_its_workers_wait_for_them(tmp_path: Path, workers: int, batch_ns: int):
    """Workers deliver in turns, so in most steps a batch is ready. No step is like the mean."""
    declared = training(section(20, 40_000), loader=Loader(batch_ns, workers=workers))
    (span,) = simulate(declared)
    recorded, cut = tmp_path / "simulated.pt.trace.json.gz", tmp_path / "cut.pt.trace.json"
    write(recorded, declared, span)
    found = set()
    for document in windows(read(recorded), 3):
        cut.write_bytes(encoded(document))
        judgement = judgement_of(cut)
        found.add((judgement.verdict.bound, judgement.insights[0].view))
    assert found == {(Bound.INPUT, "data_loading")}


def test_conclusions_on_a_job_do_not_depend_on_how_it_was_recorded():
    """The loader is an exception, because only its own range shows it."""
    path = min((DEMO / "baseline_simulated").glob("*.trace.json.gz"))
    found = {variant: {each.change for each in changes} for variant, changes in moved_in(path) if changes}
    assert found == {
        "no annotations": {"other cause", "new card", "weaker, not said why"},
        "the middle step alone": {"weaker"},
        "no CPU activity": {"weaker"},
        "no device activity": {"weaker"},
    }
