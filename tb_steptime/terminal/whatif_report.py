"""What `tb-steptime whatif` prints: the steady step of each span and what changes would make of it.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.replay.whatif import MOST_ERROR, NO_GAIN, WhatIf
from tb_steptime.tables.base import report_of
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import OfSpan, aligned, span_heading
from tb_steptime.terminal.ranks.contract import JobWhatIfReport
from tb_steptime.terminal.ranks.jobs import FoundJob
from tb_steptime.terminal.ranks.report import what_if_report
from tb_steptime.text.printer import duration, maybe, percent_exact

WIDTH = 100
#: Why a change gains more here than its card says: the card's gain may be added to those of other cards.
_WHY_MORE = (
    "These gains can exceed those of the cards, because they include work that then runs in parallel, such as loading "
    "a batch while the GPU is busy. Cards about the CPU and the loader count only idle time that their change removes. "
    "Except for cards about copies, no two of them count the same idle time."
)
#: Changes with such cards.
_OF_HOST = ("launch_graphs", "between_graphs", "fused_optimizer", "sync_bubble", "input_bound", "more_workers")
#: What is different in the replayed step, by change.
CHANGED = {
    "launch_graphs": "ops are launched as graphs.",
    "between_graphs": "the CPU takes no time between graph launches.",
    "fused_optimizer": "each update of the optimizer is one launch.",
    "sync_bubble": "no call waits for the GPU, except for results that the job needs.",
    "input_bound": "every batch is ready when the step asks for it.",
    "more_workers": "worker processes load the batches.",
    "tensor_cores_unused": "matrix products run on tensor cores.",
    "exposed_communication": "exchanges between ranks run beside computation.",
    "eager_attention": "attention is one kernel, without kernels and launches between its products.",
    "needless_checkpoints": "activations are kept, and not computed again.",
}
#: Names of what a gain is inferred from; see `rests_on` of the JSON.
_INFERRED = {"crossing": "order of streams", "return": "end of blocking calls", "observer": "cost of the observer"}
_PARTS = {
    "host": "Without the host's own time",
    "device": "With an instant GPU",
    "loader": "Without waits for batches",
    "communication": "Without exchanges between ranks",
    "blocking": "Without waits of calls for the GPU",
    "host_and_device": "Without host time and GPU work",
}


class SpanWhatIf(WhatIf, frozen=True, kw_only=True):
    """One span, and what is found of it. Durations in ns, shares from 0 to 1."""

    run: str
    worker: str
    span: int
    trace: str


class RunWhatIf(JobWhatIfReport, frozen=True, kw_only=True):
    """The ranks of a run that were recorded together."""

    run: str
    of_ranks: list[int]


class WhatIfReport(msgspec.Struct, frozen=True):
    """Spans without work on a device are left out. jobs: those whose ranks are replayed together."""

    spans: list[SpanWhatIf]
    errors: list[ErrorReport]
    jobs: list[RunWhatIf] = []


def span_what_if(span: FoundSpan, result: WhatIf) -> SpanWhatIf:
    return report_of(SpanWhatIf, result, run=span.run, worker=span.worker, span=span.number, trace=span.path)


def job_what_ifs(jobs: Sequence[FoundJob]) -> list[RunWhatIf]:
    """Returns the jobs, without those that cannot be replayed."""
    return [
        report_of(
            RunWhatIf, what_if_report(job.ranks.what_if), run=job.run, of_ranks=[row.rank for row in job.ranks.ranks]
        )
        for job in jobs
        if job.ranks.what_if is not None
    ]


def what_if_text(span: SpanWhatIf) -> str:
    """Returns the tables for a terminal, without a trailing newline."""
    step = span.steady_step_ns
    heading = span_heading(OfSpan(span.run, span.worker, span.span, span.trace))
    lines = [heading, "", f"Undisturbed step: {duration(span.median_step_ns)}", ""]
    parts = [("One step, repeated", step), *((label, getattr(span.sensitivity, id)) for id, label in _PARTS.items())]
    rows = [(name, duration(value), percent_exact(value / max(step, 1))) for name, value in parts]
    lines += aligned([("Replayed", "est. step", "share"), *rows])
    trust = [
        ("Share of the step that nothing explains", percent_exact(span.unexplained)),
        ("Error of replayed blocking calls", maybe(percent_exact, span.wait_error, "no such calls")),
    ]
    lines += ["", *aligned(trust), "", *_remarks(span)]
    if not span.changes:
        return "\n".join([*lines, "No change that can be replayed makes the step shorter."])
    table: list[tuple[str, ...]] = [("Change", "est. gain", "low", "high", "after those above", "inferred from")]
    for gain in span.changes:
        times = (maybe(duration, each) for each in (gain.gain_ns, gain.low_ns, gain.high_ns, gain.gain_after_ns))
        table.append((gain.id, *times, ", ".join(_INFERRED[each] for each in gain.rests_on)))
    of_host = any(gain.id in _OF_HOST and gain.gain_ns for gain in span.changes)
    meanings = [f"{gain.id}: {CHANGED[gain.id]}" for gain in span.changes]
    why_more = ["", *textwrap.wrap(_WHY_MORE, WIDTH)] if of_host else []
    return "\n".join([*lines, *aligned(table), "", *meanings, *why_more])


def _remarks(span: SpanWhatIf) -> list[str]:
    """Returns the lines of the remarks, one paragraph each."""
    remarks = [] if span.trusted else [f"Do not rely on this replay: {_why_not(span)}"]
    if span.observed_ns:
        remarks.append(
            "Something besides the profiler observes each op, such as ExecutionTraceObserver: it takes est. "
            f"{duration(span.observed_ns)} of a step. The rows above and the est. gains include that time; cards leave "
            "it out. The low end of a gain that rests on the observer is the gain without it."
        )
    if span.for_ranks_ns:
        remarks.append(
            f"Its collectives wait for other ranks for {duration(span.for_ranks_ns)} of the step. The rows above "
            "assume that all ranks are alike; a change below is made on this rank alone and removes none of that wait."
        )
    return [line for remark in remarks for line in (*textwrap.wrap(remark, WIDTH), "")]


def _why_not(span: SpanWhatIf) -> str:
    if span.unexplained > NO_GAIN:
        return f"nothing recorded explains {percent_exact(span.unexplained)} of the step, too much for a gain."
    if span.unlinked > NO_GAIN:
        return f"{percent_exact(span.unlinked)} of the GPU's work has no launch in the recording."
    if span.wrong_by > MOST_ERROR:
        return (
            f"a step takes {duration(span.replayed_step_ns)} when it is replayed, and took "
            f"{duration(span.recorded_step_ns)} when it was recorded."
        )
    if span.pace == Bound.UNKNOWN.value:
        return "nothing that can be replayed sets the pace of the step."
    return "it lacks most of what the recorded steps take: time that comes once, or waits for batches of other steps."
