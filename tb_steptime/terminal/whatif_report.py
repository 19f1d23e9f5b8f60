"""What `tb-steptime whatif` prints: the steady step of each span and what changes would make of it.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.replay.sensitivity import Sensitivity
from tb_steptime.replay.whatif import WhatIf
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned
from tb_steptime.text.printer import UNKNOWN, duration, percent_exact, printable

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


class WhatIfReport(msgspec.Struct, frozen=True):
    """Spans without work on a device are left out."""

    spans: list[SpanWhatIf]
    errors: list[ErrorReport]


def span_what_if(found: FoundSpan, said: WhatIf) -> SpanWhatIf:
    return SpanWhatIf(
        run=found.run, worker=found.worker, span=found.number, trace=found.path, **msgspec.structs.asdict(said)
    )


def what_if_text(span: SpanWhatIf) -> str:
    """The tables for a terminal, without a line end at the end."""
    run = span.run if span.run != "." else any_path(span.trace).absolute().parent.name
    step = span.steady_step_ns
    lines = [printable(f"{run} · {span.worker} · span {span.span}"), ""]
    parts = [("Steady step, replayed", step), *_parts(span.sensitivity)]
    lines += aligned([(name, duration(value), percent_exact(value / max(step, 1))) for name, value in parts])
    lines += ["", *aligned(_how_good(span)), ""]
    if not span.changes:
        return "\n".join([*lines, "No change that can be replayed makes the step shorter."])
    rows: list[tuple[str, ...]] = [("Change", "est. gain", "low", "high", "after those above", "rests on")]
    rows += [
        (
            gain.id,
            *(_or_unknown(value) for value in (gain.gain_ns, gain.low_ns, gain.high_ns, gain.gain_after_ns)),
            ", ".join(gain.rests_on),
        )
        for gain in span.changes
    ]
    lines += aligned(rows)
    if any(gain.gain_ns is None for gain in span.changes):
        lines += ["", f"{percent_exact(span.unexplained)} of the step is unexplained: too much for a gain."]
    return "\n".join(lines)


def _parts(said: Sensitivity) -> list[tuple[str, int]]:
    return [(words, getattr(said, name)) for name, words in _PARTS.items()]


def _how_good(span: SpanWhatIf) -> list[tuple[str, ...]]:
    """How far the figures can be trusted."""
    waits = "no such calls" if span.wait_error is None else percent_exact(span.wait_error)
    return [
        ("Share of the step that nothing explains", percent_exact(span.unexplained)),
        ("Error of replayed blocking calls", waits),
    ]


def _or_unknown(value: int | None) -> str:
    return UNKNOWN if value is None else duration(value)
