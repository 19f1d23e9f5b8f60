"""What `tb-steptime fit` prints: the memory at other batches, and the largest batch that fits.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.memory.fit.asked import DeviceFit
from tb_steptime.metrics.memory.fit.fit import MARGIN
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned
from tb_steptime.text.printer import nbytes, percent, plain, printable

NOT_RECORDED = "Allocations were not recorded: profile(..., profile_memory=True, record_shapes=True) records them."


class SpanFit(msgspec.Struct, frozen=True):
    """One span, and what would fit of each device whose memory was recorded; none without profile_memory=True."""

    run: str
    worker: str
    span: int
    trace: str
    devices: list[DeviceFit]


class FitReport(msgspec.Struct, frozen=True):
    """margin: of each estimate either way, as a share."""

    spans: list[SpanFit]
    margin: float
    errors: list[ErrorReport]


def span_fit(found: FoundSpan, devices: list[DeviceFit]) -> SpanFit:
    return SpanFit(found.run, found.worker, found.number, found.path, devices)


def fit_text(span: SpanFit) -> str:
    """For a terminal, without a line end at the end."""
    run = span.run if span.run != "." else any_path(span.trace).absolute().parent.name
    lines = [printable(f"{run} · {span.worker} · span {span.span}")]
    if not span.devices:
        lines += ["", NOT_RECORDED]
    for device in span.devices:
        lines += ["", *_device(device)]
    return "\n".join(lines)


def _device(device: DeviceFit) -> list[str]:
    name = printable(device.device)
    if device.unknown is not None:
        return [f"{name}: {plain(explain(device.unknown))}"]
    table: list[tuple[str, ...]] = [("Batch", "peak, est.", "low", "high")]
    for peak in device.peaks:
        sizes = (nbytes(size) for size in (peak.peak_bytes, peak.low_bytes, peak.high_bytes))
        recorded = ", recorded" if peak.batch == device.batch else ""
        table.append((f"{peak.batch}{recorded}", *sizes))
    return [f"{name}: {_sentence(device)}", "", *aligned(table)]


def _sentence(device: DeviceFit) -> str:
    margin = f"The margin is {percent(MARGIN)}: workspaces and fragmentation are not known."
    if device.limit_bytes is None:
        return f"how large it may be is not recorded; --memory 24GB asks for the largest batch. {margin}"
    limit = nbytes(device.limit_bytes)
    if device.largest is None:
        return f"nothing in the recording grows with the batch. {margin}"
    if device.largest == 0:
        return f"no batch fits in {limit}, est. {margin}"
    most = device.largest_high if device.largest_high is not None else device.largest
    return f"the largest batch that fits in {limit} is {device.largest} ({device.largest_low} to {most}), est. {margin}"
