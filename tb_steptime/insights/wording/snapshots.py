"""What is said of memory snapshots."""

from __future__ import annotations

from tb_steptime.insights.base import Headline
from tb_steptime.metrics.memory.categories import MEMORY_PARTS
from tb_steptime.snapshots.summary import DeviceSnapshot, OutOfMemory
from tb_steptime.text import Phrase, code, count, filled, fraction, joined, nbytes, phrase, text

_EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
#: Categories that do not say what memory is for.
_SAY_LITTLE = ("temporary", "unknown", "before_recording")
#: Minimum share of the reserved memory to be mentioned.
MUCH_KEPT = 0.1


def snapshot_headline(snapshot: DeviceSnapshot | None) -> Headline:
    """Returns the headline of a device; None: the snapshot has none."""
    if snapshot is None:
        return Headline(phrase("No memory of a GPU was reserved, and nothing was allocated."))
    if snapshot.out_of_memory:
        last = snapshot.out_of_memory[-1]
        return Headline(_failed(last), _expandable() if last.expandable_helps else None)
    holder, held_bytes = _most_at_peak(snapshot)
    values = {
        "peak": nbytes(snapshot.peak_in_use_bytes),
        "reserved": nbytes(snapshot.peak_reserved_bytes),
        "holder": text(holder),
        "bytes": nbytes(held_bytes),
    }
    template = "At most {peak} is in use and {reserved} reserved"
    return Headline(
        filled(template + (": [{holder} holds {bytes} at the peak]." if held_bytes else "."), values),
        _reserved_unused(snapshot),
    )


def _most_at_peak(snapshot: DeviceSnapshot) -> tuple[str, int]:
    """Returns the category or the line of code that holds most at the peak, and its bytes; 0 where none is known. A
    category wins where both hold the same."""
    labels = {part.id: part.label[:1].lower() + part.label[1:] for part in MEMORY_PARTS}
    of_categories = [
        (labels[each.category], each.bytes) for each in snapshot.peak_by_category if each.category not in _SAY_LITTLE
    ]
    of_lines = [(each.line, each.bytes) for each in snapshot.peak_by_line if each.line]
    return max([*of_categories, *of_lines], key=lambda each: each[1], default=("", 0))


def _reserved_unused(snapshot: DeviceSnapshot) -> Phrase | None:
    if snapshot.kept_bytes < MUCH_KEPT * max(1, snapshot.reserved_bytes):
        return None
    return phrase(
        "At the end {kept} ({share} of what is reserved) is free memory that blocks in use keep.",
        kept=nbytes(snapshot.kept_bytes),
        share=fraction(snapshot.kept_bytes / snapshot.reserved_bytes),
    )


def out_of_memory_text(failure: OutOfMemory) -> Phrase:
    """Returns one sentence, or two where another setting would have helped."""
    return joined(_failed(failure), _expandable()) if failure.expandable_helps else _failed(failure)


def _failed(failure: OutOfMemory) -> Phrase:
    template = "Out of memory: {asked} asked" + (" at {line}" if failure.line else "") + ", {device} free on the GPU"
    if failure.free_bytes is not None:
        template += ", {free} free in segments"
        template += " in {pieces} pieces, the largest {largest}" if failure.pieces else ""
    values = {
        "asked": nbytes(failure.asked_bytes),
        "device": nbytes(failure.device_free_bytes),
        "line": text(failure.line or ""),
        "free": nbytes(failure.free_bytes),
        "pieces": count(failure.pieces),
        "largest": nbytes(failure.largest_bytes),
    }
    if failure.device_free_bytes >= failure.asked_bytes:
        template += (
            ". The GPU had room: the process reached a limit of its own, such as set_per_process_memory_fraction sets"
        )
    return filled(template + ".", values)


def _expandable() -> Phrase:
    return phrase("With {setting} it would have fitted (est.).", setting=code(_EXPANDABLE))
