"""What `tb-steptime snapshot` prints of memory snapshots.

The JSON is a contract with other programs: fields may be added, never renamed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.snapshots.summary import DeviceSnapshot, LineRow, OutOfMemory, SnapshotSummary
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import aligned
from tb_steptime.text import Phrase, count, nbytes, text
from tb_steptime.text.printer import UNKNOWN, plain, printable
from tb_steptime.text.printer import nbytes as in_bytes

#: Rows of a table for people; JSON has more.
_ROWS = 10


class SnapshotReport(msgspec.Struct, frozen=True):
    snapshots: list[SnapshotSummary]
    errors: list[ErrorReport]


def snapshot_text(found: SnapshotSummary) -> str:
    """The tables for a terminal, without a line end at the end."""
    lines = [printable(any_path(found.path).name)]
    for device in found.devices:
        lines += ["", *_device(device)]
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
    yield from aligned(
        [
            ("In use at the peak", "bytes", "allocations"),
            *(
                (
                    _where(each),
                    in_bytes(each.bytes),
                    f"{each.count:,}",
                )
                for each in found.peak_by_line[:_ROWS]
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


def _where(row: LineRow) -> str:
    if row.line is None:
        return "not recorded"
    return row.line if row.function in (None, row.line) else f"{row.line} {row.function}"


def out_of_memory_text(found: OutOfMemory) -> Phrase:
    """One sentence, or two where another setting would have helped."""
    values = {
        "asked": nbytes(found.asked_bytes),
        "device": nbytes(found.device_free_bytes),
        "line": text(found.line or ""),
        "free": nbytes(found.free_bytes),
        "pieces": count(found.pieces),
        "largest": nbytes(found.largest_bytes),
    }
    said = "Out of memory: {asked} asked" + (" at {line}" if found.line else "") + ", {device} free on the GPU"
    if found.free_bytes is not None:
        said += ", {free} free in segments"
        said += " in {pieces} pieces, the largest {largest}" if found.pieces else ""
    said += "."
    if found.expandable_helps:
        said += " With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True it would have fitted (est.)."
    return Phrase(said, {name: value for name, value in values.items() if f"{{{name}}}" in said})
