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


def snapshot_headline(found: DeviceSnapshot | None) -> Headline:
    """Of a device; None: the snapshot has none."""
    if found is None:
        return Headline(phrase("No memory of a GPU was reserved, and nothing was allocated."))
    if found.out_of_memory:
        last = found.out_of_memory[-1]
        return Headline(_failed(last), _expandable() if last.expandable_helps else None)
    holder, held_bytes = _most_at_peak(found)
    values = {
        "peak": nbytes(found.peak_in_use_bytes),
        "reserved": nbytes(found.peak_reserved_bytes),
        "holder": text(holder),
        "bytes": nbytes(held_bytes),
    }
    words = "At most {peak} is in use and {reserved} reserved"
    return Headline(
        filled(words + (": [{holder} holds {bytes} at the peak]." if held_bytes else "."), values), _kept(found)
    )


def _most_at_peak(found: DeviceSnapshot) -> tuple[str, int]:
    """Returns the category or the line of code that holds most at the peak, and its bytes; 0 where none is known. A
    category wins where both hold the same."""
    labels = {part.id: part.label[:1].lower() + part.label[1:] for part in MEMORY_PARTS}
    of_categories = [
        (labels[each.category], each.bytes) for each in found.peak_by_category if each.category not in _SAY_LITTLE
    ]
    of_lines = [(each.line, each.bytes) for each in found.peak_by_line if each.line]
    return max([*of_categories, *of_lines], key=lambda each: each[1], default=("", 0))


def _kept(found: DeviceSnapshot) -> Phrase | None:
    if found.kept_bytes < MUCH_KEPT * max(1, found.reserved_bytes):
        return None
    return phrase(
        "At the end {kept} ({share} of what is reserved) is free memory that blocks in use keep.",
        kept=nbytes(found.kept_bytes),
        share=fraction(found.kept_bytes / found.reserved_bytes),
    )


def out_of_memory_text(found: OutOfMemory) -> Phrase:
    """One sentence, or two where another setting would have helped."""
    return joined(_failed(found), _expandable()) if found.expandable_helps else _failed(found)


def _failed(found: OutOfMemory) -> Phrase:
    template = "Out of memory: {asked} asked" + (" at {line}" if found.line else "") + ", {device} free on the GPU"
    if found.free_bytes is not None:
        template += ", {free} free in segments"
        template += " in {pieces} pieces, the largest {largest}" if found.pieces else ""
    values = {
        "asked": nbytes(found.asked_bytes),
        "device": nbytes(found.device_free_bytes),
        "line": text(found.line or ""),
        "free": nbytes(found.free_bytes),
        "pieces": count(found.pieces),
        "largest": nbytes(found.largest_bytes),
    }
    if found.device_free_bytes >= found.asked_bytes:
        template += (
            ". The GPU had room: the process reached a limit of its own, such as set_per_process_memory_fraction sets"
        )
    return filled(template + ".", values)


def _expandable() -> Phrase:
    return phrase("With {setting} it would have fitted (est.).", setting=code(_EXPANDABLE))
