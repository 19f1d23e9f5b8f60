"""What `tb-steptime snapshot` prints of memory snapshots.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.insights.wording.snapshots import out_of_memory_text
from tb_steptime.metrics.memory.categories import MEMORY_PARTS
from tb_steptime.snapshots.lines import DeviceGrowth, LineGrowth, LineRow
from tb_steptime.snapshots.summary import DeviceSnapshot, SnapshotSummary
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned
from tb_steptime.text.printer import UNKNOWN, duration, plain, printable
from tb_steptime.text.printer import nbytes as in_bytes

#: Maximum number of rows of a printed table; JSON has more.
_ROWS = 10


class SnapshotReport(msgspec.Struct, frozen=True):
    snapshots: list[SnapshotSummary]
    errors: list[ErrorReport]


def snapshot_text(found: SnapshotSummary) -> str:
    """Returns the tables for a terminal, without a line end at the end."""
    lines = [printable(any_path(found.path).name)]
    for device in found.devices:
        lines += ["", *_device(device)]
    for grown in found.growth:
        lines += ["", *_growth(grown)]
    if not found.devices:
        lines += ["", "No memory of a GPU was reserved, and nothing was allocated."]
    lost = [f"{number:,} {kind}" for kind, number in found.lost.items()]
    return "\n".join(
        [*lines, *(["", f"Not read, because they are not as PyTorch writes them: {', '.join(lost)}."] if lost else [])]
    )


def _device(found: DeviceSnapshot) -> Iterator[str]:
    yield f"GPU {found.device}"
    for each in found.out_of_memory:
        yield plain(out_of_memory_text(each))
    rows = [
        ("Peak in use", found.peak_in_use_bytes),
        ("Peak reserved", found.peak_reserved_bytes),
        ("At the end: in use", found.in_use_bytes),
        ("  rounding of blocks", found.rounding_bytes),
        ("  free in segments with blocks in use", found.kept_bytes),
        ("  free in empty segments", found.releasable_bytes),
        ("  reserved, the sum", found.reserved_bytes),
    ]
    yield from aligned([(name, in_bytes(value)) for name, value in rows])
    yield ""
    labels = {part.id: part.label for part in MEMORY_PARTS}
    yield from aligned(
        [
            ("In use at the peak", "bytes"),
            *((labels[each.category], in_bytes(each.bytes)) for each in found.peak_by_category),
        ]
    )
    yield ""
    yield from aligned(
        [
            ("In use at the peak, by line", "bytes", "allocations", "at the end", "mean lifetime"),
            *(
                (
                    _where(each),
                    in_bytes(each.bytes),
                    f"{each.count:,}",
                    in_bytes(each.end_bytes),
                    UNKNOWN if each.lifetime_us is None else duration(1_000 * each.lifetime_us),
                )
                for each in found.peak_by_line[:_ROWS]
                if each.bytes or each.end_bytes
            ),
        ]
    )
    if found.fragmented:
        yield ""
        yield from aligned(
            [
                ("Free memory that blocks in use keep", "free", "pieces", "segment", "largest block in use"),
                *(
                    (
                        each.address,
                        in_bytes(each.free_bytes),
                        f"{each.pieces:,}",
                        in_bytes(each.bytes),
                        each.kept_by or UNKNOWN,
                    )
                    for each in found.fragmented[:_ROWS]
                ),
            ]
        )


def _growth(found: DeviceGrowth) -> Iterator[str]:
    yield f"GPU {found.device}: {_change(found.more_bytes)} in use, {_change(found.more_reserved_bytes)} reserved"
    if found.lines:
        yield from aligned(
            [
                ("In use at the end", "before", "now", "change", "allocations"),
                *(
                    (
                        _where(each),
                        in_bytes(each.before_bytes),
                        in_bytes(each.after_bytes),
                        _change(each.after_bytes - each.before_bytes),
                        f"{each.after_count - each.before_count:+,}",
                    )
                    for each in found.lines[:_ROWS]
                ),
            ]
        )


def _change(value: int) -> str:
    return f"{'+' if value >= 0 else '-'}{in_bytes(abs(value))}"


def _where(row: LineRow | LineGrowth) -> str:
    if row.line is None:
        return "not recorded"
    return row.line if row.function in (None, row.line) else f"{row.line} {row.function}"
