"""What is said of memory snapshots."""

from __future__ import annotations

from tb_steptime.snapshots.summary import OutOfMemory
from tb_steptime.text import Phrase, count, nbytes, text


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
