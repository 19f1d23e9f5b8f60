"""A recording with no more of the CPU than its launch calls does not say why they come late."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_steptime.analyses.quality import notes
from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.facts import ONLY_LAUNCHES
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind
from tests.drawn.cards import judged
from tests.drawn.timeline import timeline


def recording(op: str, runtime: str, kernel: str) -> Trace:
    """Ten times the same, in cells of 1 ms. op: what the CPU does besides; "" if that is not recorded."""
    drawn = f"runtime | {runtime * 10} |\nkernel 7 | {kernel * 10} |"
    return timeline(f"op | {op * 10} |\n{drawn}" if op else drawn, cell_ns=1_000_000)


def late(op: str) -> Trace:
    return recording(op, "k.........", ".k........")


def one_long_gap(op: str) -> Trace:
    return recording(op, "abcdefgh..................", ".abcdefgh.................")


def card(trace: Trace, id: str) -> Insight | None:
    return next((each for each in judged(trace).insights if each.id == id), None)


def test_the_verdict_says_that_the_cause_is_not_recorded():
    known, unknown = late("ooooooooo."), late("")
    assert judged(known).verdict.bound is Bound.HOST
    assert judged(unknown).verdict.bound is Bound.UNKNOWN
    sentence = plain(judged(unknown).verdict.text).replace("\xa0", " ")
    assert (
        sentence
        == "The GPU is idle for 89 % of the step. Why is not known: CPU activity besides launch calls is not recorded."
    )
    assert ["launches_only" in [note.id for note in notes(each)] for each in (known, unknown)] == [False, True]


def test_long_gaps_may_be_anything():
    known = card(one_long_gap("........oooooooooooooooooo"), "long_stretches")
    assert known is not None
    assert known.severity is Severity.WARNING
    assert card(one_long_gap(""), "long_stretches") is None


def test_a_gpu_that_is_busy_sets_the_pace_whatever_the_cpu_does():
    trace = recording("", "kq......", "qkkkkkkk")
    assert judged(trace).verdict.bound is Bound.GPU
    assert "launches_only" in [note.id for note in notes(trace)]


@pytest.mark.parametrize(
    ("op", "severity", "sure"),
    [("o.........", Severity.WARNING, "Steps recorded: 1."), ("", Severity.MINOR, plain(ONLY_LAUNCHES))],
)
def test_late_launches_of_the_only_step_may_come_once(op: str, severity: Severity, sure: str):
    found = card(late(op), "launch_graphs")
    assert found is not None
    assert (found.severity, found.confidence) == (severity, Confidence.LOW)
    assert plain(found.why_confidence).startswith(sure)


@pytest.mark.parametrize(("threads", "bound"), [(("main", "main"), Bound.HOST), (("main", "worker"), Bound.UNKNOWN)])
def test_a_profiler_records_no_ops_of_other_threads(threads: tuple[str, str], bound: Bound):
    """The thread that starts it only waits for the one that launches."""
    marks, launches = threads
    judgement = judged(timeline(f"""
        user wait @{marks}  | {"uuuuuuuuu." * 10} |
        runtime {launches}  | {"k........." * 10} |
        kernel 7            | {".k........" * 10} |""", cell_ns=1_000_000))  # fmt: skip
    assert judgement.verdict.bound is bound
    action = judgement.headlines["overview"].action
    assert action is not None
    assert ("in the thread that launches" in plain(action)) is (bound is Bound.UNKNOWN)


@pytest.mark.parametrize("numbers", ["none", "others"])
def test_launches_that_are_recorded_are_not_to_be_recorded(numbers: str):
    """Kernels without numbers cannot be tied to the launches beside them; those with others had other launches."""
    recorded = late("ooooooooo.")
    events = recorded.events
    kernels = events.kind == Kind.KERNEL
    ids = np.where(kernels, -1 if numbers == "none" else events.correlation_id + 1_000, events.correlation_id)
    trace = replace(recorded, events=replace(events, correlation_id=ids), memo={})
    judgement, untied = judged(trace), numbers == "none"
    assert judgement.verdict.bound is Bound.UNKNOWN
    assert (card(trace, "trace_quality") is None) is untied
    assert ("not in this trace" in plain(judgement.verdict.text)) is not untied
    assert ("missing in this trace" in plain(judgement.verdict.why_confidence)) is not untied
