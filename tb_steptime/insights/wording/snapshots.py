"""What is said of memory snapshots."""

from __future__ import annotations

from tb_steptime.insights.base import Headline
from tb_steptime.snapshots.summary import DeviceSnapshot, OutOfMemory
from tb_steptime.text import Phrase, code, count, filled, fraction, joined, nbytes, phrase, text

_EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
#: Minimum share of the reserved memory to be mentioned.
MUCH_KEPT = 0.1


def snapshot_headline(found: DeviceSnapshot | None) -> Headline:
    """Of a device; None: the snapshot has none."""
    if found is None:
        return Headline(phrase("No memory of a GPU was reserved, and nothing was allocated."))
    if found.out_of_memory:
        last = found.out_of_memory[-1]
        return Headline(_failed(last), _expandable() if last.expandable_helps else None)
    first = next((each for each in found.peak_by_line if each.line), None)
    values = {
        "peak": nbytes(found.peak_in_use_bytes),
        "reserved": nbytes(found.peak_reserved_bytes),
        "line": text((first and first.line) or ""),
        "bytes": nbytes(first.bytes if first else 0),
    }
    words = "At most {peak} is in use and {reserved} reserved"
    return Headline(
        filled(words + (": [{line} holds {bytes} at the peak]." if first and first.bytes else "."), values),
        _kept(found),
    )


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
    said = "Out of memory: {asked} asked" + (" at {line}" if found.line else "") + ", {device} free on the GPU"
    if found.free_bytes is not None:
        said += ", {free} free in segments"
        said += " in {pieces} pieces, the largest {largest}" if found.pieces else ""
    values = {
        "asked": nbytes(found.asked_bytes),
        "device": nbytes(found.device_free_bytes),
        "line": text(found.line or ""),
        "free": nbytes(found.free_bytes),
        "pieces": count(found.pieces),
        "largest": nbytes(found.largest_bytes),
    }
    if found.device_free_bytes >= found.asked_bytes:
        said += (
            ". The GPU had room: the process reached a limit of its own, such as set_per_process_memory_fraction sets"
        )
    return filled(said + ".", values)


def _expandable() -> Phrase:
    return phrase("With {setting} it would have fitted (est.).", setting=code(_EXPANDABLE))
