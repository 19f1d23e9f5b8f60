"""One span: its trace file -> its facts and the result of every analysis. The caller decides where they are stored."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.ingest.analysing import analyse
from tb_steptime.ingest.measured import GraphNames, MeasuredSpan, SpanFacts
from tb_steptime.ingest.names import NamePlaces
from tb_steptime.ingest.private_paths import without_private_paths
from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.text import Note, text
from tb_steptime.trace.ops import graph_kernels
from tb_steptime.trace.reading import OnProgress, ignore_progress, read_trace
from tb_steptime.trace.steps import as_one_step, find_steps

if TYPE_CHECKING:
    from tb_steptime.trace.model import Trace


def measure_file(
    path: str | AnyPath,
    on_progress: OnProgress = ignore_progress,
    leave_out: Collection[str] = (),
    *,
    whole_recording: bool = False,
    keep_paths: bool = False,
    processes: int = 1,
    needed_then: Sequence[str] = (),
    names: NamePlaces | None = None,
) -> MeasuredSpan:
    """Reads and analyses one trace file, except the views in leave_out. whole_recording: whether it is treated as one
    step; keep_paths: see `measure_trace`; processes: the maximum number of processes; needed_then: modules that the
    caller needs for the result, which are imported while other processes read a large file; names: see `read_file`.
    Raises TraceError with text for the user."""
    trace = read_file(
        path,
        on_progress,
        whole_recording=whole_recording,
        processes=processes,
        meanwhile=partial(_get_ready, leave_out, needed_then),
        names=names,
    )
    return measure_trace(trace, leave_out, keep_paths=keep_paths, processes=processes)[1]


def measure_trace(
    trace: Trace, leave_out: Collection[str] = (), *, keep_paths: bool = False, processes: int = 1
) -> tuple[Trace, MeasuredSpan]:
    """Measures a trace that was read. Returns it with what a recorder's files add to it, and everything that is known
    of it. keep_paths: whether the whole paths of files are kept, which name users and machines (see
    `ingest.private_paths`); processes: the maximum number of processes."""
    from tb_steptime.analyses import analyses_without

    trace, records = with_records(trace)
    results, gaps = analyse(trace, analyses_without(leave_out), processes)
    measured = MeasuredSpan(_with_gaps(facts_of(trace), gaps), results, records, keep_paths, _names_of(trace))
    return trace, measured if keep_paths else without_private_paths(measured)


def _get_ready(leave_out: Collection[str], needed_then: Sequence[str]) -> None:
    """Imports the modules that measure while other processes already read the file. The import takes as long as reading
    100 MB."""
    from tb_steptime.analyses import analyses_without

    analyses_without(leave_out)
    for module in needed_then:
        importlib.import_module(module)


def _with_gaps(facts: SpanFacts, gaps: dict[str, str]) -> SpanFacts:
    """Adds the failed views, each with a note that every view and command prints."""
    if not gaps:
        return facts
    from tb_steptime.analyses import ANALYSES

    titles = {each.id: each.title for each in ANALYSES}
    notes = [Note("view-not-computed", {"view": text(titles[view]), "error": text(gaps[view])}) for view in gaps]
    return msgspec.structs.replace(facts, gaps=gaps, notes=[*notes, *facts.notes])


def read_file(
    path: str | AnyPath,
    on_progress: OnProgress = ignore_progress,
    *,
    whole_recording: bool = False,
    processes: int = 1,
    meanwhile: Callable[[], None] = lambda: None,
    names: NamePlaces | None = None,
) -> Trace:
    """Reads one trace file. Kernels that run in CUDA graphs get the names that an eager recording of the job has for
    them. meanwhile: see `read_trace`; names: where to look for that recording. Raises TraceError with text for the
    user."""
    trace = read_trace(path, on_progress, processes, meanwhile)
    if graph_kernels(trace).any():
        from tb_steptime.ingest.graph_names import with_graph_names

        trace = with_graph_names(trace, names)
    return as_one_step(trace) if whole_recording else trace


def _names_of(trace: Trace) -> GraphNames:
    if not graph_kernels(trace).any():
        return GraphNames()
    from tb_steptime.ingest.graph_names import graph_names

    return graph_names(trace)


def facts_of(trace: Trace) -> SpanFacts:
    from tb_steptime.analyses import quality

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
