"""What `tb-steptime fit` prints, the memory at other batches and the largest batch that fits; and what `tb-steptime
snapshot` prints of memory snapshots.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.insights.wording.snapshots import out_of_memory_text
from tb_steptime.metrics.memory.categories import MEMORY_PARTS
from tb_steptime.metrics.memory.fit.fit import MARGIN
from tb_steptime.metrics.memory.fit.predictions import DeviceFit
from tb_steptime.snapshots.lines import DeviceGrowth, LineGrowth, LineRow
from tb_steptime.snapshots.summary import DeviceSnapshot, SnapshotSummary
from tb_steptime.tables.memory import FITS, MODULES
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import OfSpan, aligned, span_heading, span_names, table_cells, wrapped
from tb_steptime.text.printer import UNKNOWN, duration, maybe, nbytes, percent, plain, printable, rate

NOT_RECORDED = "Allocations were not recorded: profile(..., profile_memory=True, record_shapes=True) records them."


class SpanFit(OfSpan, frozen=True):
    """One span, and what would fit of each device whose memory was recorded; none without profile_memory=True."""

    devices: list[DeviceFit]


class FitReport(msgspec.Struct, frozen=True):
    """margin: of each estimate either way, as a share."""

    spans: list[SpanFit]
    margin: float
    errors: list[ErrorReport]


def span_fit(span: FoundSpan, devices: list[DeviceFit]) -> SpanFit:
    return SpanFit(*span_names(span), devices)


def fit_text(span: SpanFit, width: int, code: bool = False) -> str:
    """Returns the text for a terminal, without a trailing newline. width: of a line of text. code: whether to add the
    code of the settings that no other one beats, and of those whose time is unknown."""
    lines = [span_heading(span)]
    if not span.devices:
        lines += ["", *wrapped(NOT_RECORDED, width)]
    for device in span.devices:
        lines += ["", *_device(device, width)]
        if code:
            lines += _code(device)
    return "\n".join(lines)


def _device(device: DeviceFit, width: int) -> list[str]:
    name = printable(device.device)
    if device.unknown is not None:
        return wrapped(f"{name}: {plain(explain(device.unknown))}", width)
    batches = (f"{each.batch}{', recorded' if each.batch == device.batch else ''}" for each in device.peaks)
    cells = table_cells(FITS, device.peaks)
    table = [(name, *row) for name, row in zip(("Batch", *batches), cells, strict=True)]
    sentence = wrapped(f"{name}: {_sentence(device)}", width)
    return [*sentence, "", *aligned(table), *_modules(device, width), *_settings(device, width)]


#: Labels of memory that no module, range or op allocated, by kind.
MADE = {"outside": "outside of ops", "others": "others", "before": "before the recording"}


def _modules(device: DeviceFit, width: int) -> list[str]:
    """Returns the lines that say what fills the peak."""
    if not device.modules:
        return []
    names = (printable(row.path) if row.path is not None else MADE[row.kind] for row in device.modules)
    cells = table_cells(MODULES, device.modules)
    table = [(name, *row) for name, row in zip(("Peak, allocated in", *names), cells, strict=True)]
    unnamed = [] if device.unnamed is None else wrapped(plain(explain(device.unnamed)), width)
    return ["", *aligned(table), *unnamed]


#: Place of the first of the two columns of copies, which stand only where a setting copies.
_COPIED = 3


def _settings(device: DeviceFit, width: int) -> list[str]:
    """Returns the table of settings, which marks those that no other setting beats in both memory and time."""
    if not device.settings:
        return []
    table: list[tuple[str, ...]] = [
        ("Setting", "peak, est.", "recompute", "copied", "copies, est.", "step, est.", "largest batch", "best")
    ]
    for setting in device.settings:
        table.append((
            printable(setting.label),
            maybe(nbytes, setting.peak_bytes),
            maybe(duration, setting.again_ns or None),
            maybe(nbytes, setting.copied_bytes),
            maybe(duration, setting.copy_ns),
            maybe(duration, setting.step_ns),
            maybe(str, setting.largest),
            "yes" if setting.best else "",
        ))  # fmt: skip
    reasons = {plain(explain(why)): None for each in device.settings for why in (each.unknown, each.no_time) if why}
    if all(setting.copied_bytes is None for setting in device.settings):
        table = [(*row[:_COPIED], *row[_COPIED + 2 :]) for row in table]
    lines = ["", *aligned(table)]
    if device.rates is not None:
        to_device, to_host = rate(device.rates.to_device), rate(device.rates.to_host)
        memory = "pinned" if device.rates.pinned else "pageable"
        rates = f"Copies from and to {memory} memory keep their recorded rates: {to_device} to the GPU, {to_host} back."
        lines += wrapped(rates, width)
    return [*lines, *(line for reason in reasons for line in wrapped(reason, width))]


def _code(device: DeviceFit) -> list[str]:
    lines = []
    for setting in device.settings:
        if setting.code is not None and (setting.best or setting.no_time is not None):
            code = (f"    {line}".rstrip() for line in setting.code.split("\n"))
            lines += ["", f"{printable(setting.label)}:", "", *code]
    return lines


def _sentence(device: DeviceFit) -> str:
    margin = f"The margin is {percent(MARGIN)}: workspaces and fragmentation are not known."
    if device.unused_bytes is not None:
        margin += f" At the recorded peak, another {nbytes(device.unused_bytes)} were reserved and not used."
    if device.limit_bytes is None:
        return f"the size of its memory is not recorded. With --memory 24GB the largest batch is estimated. {margin}"
    limit = nbytes(device.limit_bytes)
    if device.largest is None:
        return f"nothing in the recording grows with the batch. {margin}"
    if device.largest == 0:
        return f"no batch fits in {limit}, est. {margin}"
    most = device.largest_high if device.largest_high is not None else device.largest
    return f"the largest batch that fits in {limit} is {device.largest} ({device.largest_low} to {most}), est. {margin}"


#: Maximum number of rows of a printed table; JSON has more.
_SNAPSHOT_ROWS = 10


class SnapshotReport(msgspec.Struct, frozen=True):
    snapshots: list[SnapshotSummary]
    errors: list[ErrorReport]


def snapshot_text(snapshot: SnapshotSummary) -> str:
    """Returns the tables for a terminal, without a trailing newline."""
    lines = [printable(any_path(snapshot.path).name)]
    for device in snapshot.devices:
        lines += ["", *_snapshot_device(device)]
    for grown in snapshot.growth:
        lines += ["", *_growth(grown)]
    if not snapshot.devices:
        lines += ["", "No memory of a GPU was reserved, and nothing was allocated."]
    lost = ", ".join(f"{number:,} {kind}" for kind, number in snapshot.lost.items())
    return "\n".join(
        [*lines, *(["", f"Not read, because they are not as PyTorch writes them: {lost}."] if lost else [])]
    )


def _snapshot_device(device: DeviceSnapshot) -> Iterator[str]:
    yield f"GPU {device.device}"
    for each in device.out_of_memory:
        yield plain(out_of_memory_text(each))
    rows = [
        ("Peak in use", device.peak_in_use_bytes),
        ("Peak reserved", device.peak_reserved_bytes),
        ("At the end: in use", device.in_use_bytes),
        ("  rounding of blocks", device.rounding_bytes),
        ("  free in segments with blocks in use", device.kept_bytes),
        ("  free in empty segments", device.releasable_bytes),
        ("  reserved, the sum", device.reserved_bytes),
    ]
    yield from aligned([(name, nbytes(value)) for name, value in rows])
    yield ""
    labels = {part.id: part.label for part in MEMORY_PARTS}
    parts = [(labels[each.category], nbytes(each.bytes)) for each in device.peak_by_category]
    yield from aligned([("In use at the peak", "bytes"), *parts])
    yield ""
    by_line = [
        (_where(each), nbytes(each.bytes), f"{each.count:,}", nbytes(each.end_bytes),
         UNKNOWN if each.lifetime_us is None else duration(1_000 * each.lifetime_us))
        for each in device.peak_by_line[:_SNAPSHOT_ROWS] if each.bytes or each.end_bytes
    ]  # fmt: skip
    yield from aligned([
        ("In use at the peak, by line", "bytes", "allocations", "at the end", "mean lifetime"), *by_line
    ])  # fmt: skip
    if device.fragmented:
        yield ""
        free = [
            (each.address, nbytes(each.free_bytes), f"{each.pieces:,}", nbytes(each.bytes), each.kept_by or UNKNOWN)
            for each in device.fragmented[:_SNAPSHOT_ROWS]
        ]
        yield from aligned([
            ("Free memory that blocks in use keep", "free", "pieces", "segment", "largest block in use"), *free
        ])  # fmt: skip


def _growth(growth: DeviceGrowth) -> Iterator[str]:
    yield f"GPU {growth.device}: {_change(growth.more_bytes)} in use, {_change(growth.more_reserved_bytes)} reserved"
    if growth.lines:
        rows = [
            (_where(each), nbytes(each.before_bytes), nbytes(each.after_bytes),
             _change(each.after_bytes - each.before_bytes), f"{each.after_count - each.before_count:+,}")
            for each in growth.lines[:_SNAPSHOT_ROWS]
        ]  # fmt: skip
        yield from aligned([("In use at the end", "before", "now", "change", "allocations"), *rows])


def _change(value: int) -> str:
    return f"{'+' if value >= 0 else '-'}{nbytes(abs(value))}"


def _where(row: LineRow | LineGrowth) -> str:
    if row.line is None:
        return "not recorded"
    return row.line if row.function in (None, row.line) else f"{row.line} {row.function}"
