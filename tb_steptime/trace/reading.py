"""One file -> a Trace, whatever its format. The format is recognised by the first bytes, not by the file's name.

"{" or "["          JSON, as Kineto and everything that writes like it               trace.kineto
0a, a length, ...   packets of Perfetto: `.pftrace` of PyTorch's second backend      trace.perfetto
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.text import Note, count
from tb_steptime.trace import kineto
from tb_steptime.trace.file_names import rank_in_name
from tb_steptime.trace.kineto import OnProgress, ReadProgress, ignore_progress
from tb_steptime.trace.kineto.source import head_of, looks_like_json_trace
from tb_steptime.trace.perfetto.recognition import is_perfetto, is_pytorch

if TYPE_CHECKING:
    from tb_steptime.trace.kineto.slices import SlicePlan
    from tb_steptime.trace.model import Trace

__all__ = [
    "OnProgress", "ReadProgress", "ignore_progress", "is_pftrace", "looks_like_trace", "plan_slice", "read_trace",
]  # fmt: skip

#: Bytes that suffice to distinguish the formats.
_OPENING_BYTES = 64


def read_trace(
    path: str | AnyPath,
    on_progress: OnProgress = ignore_progress,
    processes: int = 1,
    meanwhile: Callable[[], None] = lambda: None,
) -> Trace:
    """Reads a whole trace of any format, gzip or not. Raises TraceError if the file is not a trace or has no event.

    See `kineto.reader.read_trace`; a `.pftrace` is read by one process, whatever `processes` says.
    """
    if is_pftrace(path):
        from tb_steptime.trace.perfetto.reader import read_perfetto  # needs protobuf, which is slow to import

        meanwhile()
        return read_perfetto(any_path(path), on_progress)
    trace = kineto.read_trace(path, on_progress, processes, meanwhile)
    named = rank_in_name(any_path(path).name)
    if named is None or trace.job.rank in (None, named):
        return trace
    note = Note("rank-in-name", {"named": count(named), "rank": count(trace.job.rank)})
    return replace(trace, notes=(*trace.notes, note))


def is_pftrace(path: str | AnyPath) -> bool:
    """Returns whether the file opens as a Perfetto trace. Raises TraceError where it cannot be read."""
    return is_perfetto(head_of(any_path(path), _OPENING_BYTES))


def looks_like_trace(path: str | AnyPath) -> bool:
    """Returns whether the file's first part looks like a trace of PyTorch's profiler. Returns False for a file that
    cannot be read at all."""
    try:
        head = head_of(any_path(path))
    except TraceError:
        return False
    return is_pytorch(head) if is_perfetto(head) else looks_like_json_trace(head)


def plan_slice(path: str | AnyPath, first: int, last: int, on_progress: OnProgress = ignore_progress) -> SlicePlan:
    """Plans a slice as `kineto.slices` does. Raises TraceError for a `.pftrace`, too: steps are cut out of JSON
    alone."""
    if is_pftrace(path):
        hint = "Open the whole file at ui.perfetto.dev, or record JSON: export_chrome_trace('trace.json.gz')."
        raise TraceError("Steps cannot be cut out of a .pftrace file", path, hint)
    from tb_steptime.trace.kineto import slices

    return slices.plan_slice(path, first, last, on_progress)
