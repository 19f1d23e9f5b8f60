"""One span: its trace file -> its facts and the result of every analysis. Where they go is the caller's business."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from tb_steptime.analyses import ANALYSES, quality
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.ingest.measured import MeasuredSpan, SpanFacts
from tb_steptime.ingest.private_paths import without_private_paths
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import as_one_step, find_steps

if TYPE_CHECKING:
    import msgspec

    from tb_steptime.trace.kineto import ReadProgress
    from tb_steptime.trace.model import Trace


#: Views that are measured first, as they need most memory for a while: 60 MB for a trace of 1 GB, with columns of its
#: million ops. Later they would need it beside all that measurements share.
_WIDE = ("operators", "host")


def measure_file(
    path: str | AnyPath,
    on_progress: Callable[[ReadProgress], None] | None = None,
    leave_out: Collection[str] = (),
    *,
    whole_recording: bool = False,
    keep_paths: bool = False,
    processes: int = 1,
) -> MeasuredSpan:
    """Read and analyse one trace file, but for the views to leave out; whole_recording: as one step; keep_paths: see
    `measure_trace`; processes: how many may read it. Raises TraceError with text for the user."""
    trace = read_file(path, on_progress, whole_recording=whole_recording, processes=processes)
    return measure_trace(trace, leave_out, keep_paths=keep_paths)[1]


def measure_trace(
    trace: Trace, leave_out: Collection[str] = (), *, keep_paths: bool = False
) -> tuple[Trace, MeasuredSpan]:
    """A trace that was read, with what a recorder's files add to it, and all that is known of it. keep_paths: under the
    whole paths of files, which name users and machines (see `ingest.private_paths`)."""
    trace, records = with_records(trace)
    facts = facts_of(trace)
    measured = MeasuredSpan(facts, _results(trace, leave_out), records, keep_paths)
    return trace, measured if keep_paths else without_private_paths(measured)


def _results(trace: Trace, leave_out: Collection[str]) -> dict[str, msgspec.Struct]:
    """By view, in the order of the tab."""
    wanted = [each for each in ANALYSES if each.id not in leave_out]
    found = {each.id: each.analyse(trace) for each in sorted(wanted, key=lambda each: each.id not in _WIDE)}
    return {each.id: found[each.id] for each in wanted}


def read_file(
    path: str | AnyPath,
    on_progress: Callable[[ReadProgress], None] | None = None,
    *,
    whole_recording: bool = False,
    processes: int = 1,
) -> Trace:
    """Read one trace file. Raises TraceError with text for the user."""
    trace = read_trace(path, on_progress, processes)
    return as_one_step(trace) if whole_recording else trace


def facts_of(trace: Trace) -> SpanFacts:
    steps = find_steps(trace)
    names = [step.name for step in steps.steps if step.number is not None]
    durations = [step.duration_ns for step in steps.steps]
    devices = sorted(trace.devices.values(), key=lambda device: device.id)
    return SpanFacts(
        file=any_path(trace.path).name,
        file_bytes=trace.file_bytes,
        json_bytes=trace.json_bytes,
        events=trace.event_count,
        origin_ns=trace.origin_ns,
        step_count=len(durations),
        steps_by=steps.by,
        first_step=names[0] if names else None,
        last_step=names[-1] if names else None,
        mean_step_ns=round(sum(durations) / len(durations)) if durations else None,
        device_names=list(dict.fromkeys(device.name for device in devices)),
        sm_count=devices[0].sm_count if devices else None,
        rank=trace.job.rank,
        world_size=trace.job.world_size,
        simulated=trace.job.simulated,
        notes=quality.notes(trace),
    )
