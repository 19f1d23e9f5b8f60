"""Reads the recorder's files that belong to a trace, and adds what they recorded to the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.recorder_files import finding, missing
from tb_steptime.ingest.recorder_files.columns import batches_between, begun_between, pace_of, read_line_samples
from tb_steptime.ingest.recorder_files.decoding import RecorderFile, read_all
from tb_steptime.ingest.recorder_files.finding import SeenFile
from tb_steptime.ingest.recorder_files.missing import recorder_note
from tb_steptime.ingest.recorder_files.steps import is_enough, read_files, step_pace
from tb_steptime.record.file import format as layout
from tb_steptime.text import Note, count, text
from tb_steptime.trace.loader_records import LoaderRecords, LoaderSettings
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


def added(trace: Trace, folder: AnyPath, mine: Sequence[str]) -> tuple[Trace, list[SeenFile]]:
    """Returns the trace with what these files of the folder recorded, and the state of each file as it was read."""
    steps = find_steps(trace).steps
    low, high = min(each.host_start_ns for each in steps), max(each.host_end_ns for each in steps)
    of_loaders = [name for name in mine if name.endswith(layout.SUFFIX)]
    of_steps = [name for name in mine if name not in of_loaders]
    stamps = {name: finding.stamp_of(folder / name) for name in mine}
    read, notes = _read_loaders(folder, of_loaders, trace.origin_ns)
    timed = read_files(folder, of_steps)
    beyond = {name: _reaches_beyond(read, name, high) for name in of_loaders}
    beyond |= dict.fromkeys(of_steps, any(is_enough(each, trace.origin_ns + high) for each in timed))
    seen = [
        finding.seen_file(folder / name, stamp, complete=beyond[name])
        for name, stamp in stamps.items()
        if stamp is not None
    ]
    records = _records(trace, [each for each in read if len(each.rows)], (low, high), notes) if of_loaders else None
    pace = next((found for each in timed if (found := step_pace(each))), None)
    return replace(trace, loader_records=records, step_pace=pace), seen


def _read_loaders(folder: AnyPath, names: Sequence[str], origin_ns: int) -> tuple[list[RecorderFile], list[Note]]:
    """Returns the files that can be used, and notes about the others."""
    read, broken = read_all(folder, names, origin_ns)
    notes = []
    if broken:
        named = text(finding.without_host(broken[0]))
        notes.append(recorder_note("recorder_file_unreadable", file=named, files=count(len(broken))))
    if unfinished := len(names) - len(read) - len(broken):
        notes.append(recorder_note("recorder_file_unfinished", files=count(unfinished)))
    if len({each.header.get("host") for each in read}) > 1:
        notes.append(recorder_note("recorder_of_several_machines", files=count(len(read))))
        read = []
    return read, notes


def _reaches_beyond(read: Sequence[RecorderFile], name: str, high: int) -> bool:
    """Whether a file's last row is later than the trace's last step, or its process has ended."""
    rows = next((each.rows for each in read if each.name == name), None)
    if rows is None or not len(rows):
        return False
    timed = rows[np.isin(rows["kind"], (layout.PRODUCED, layout.RECEIVED, layout.ENDED))]
    return bool(len(timed)) and bool(timed["values"][:, 0].max() > high)


def _records(
    trace: Trace, read: Sequence[RecorderFile], window: tuple[int, int], notes: list[Note]
) -> LoaderRecords | None:
    produced, received = batches_between(read, *window)
    used = np.union1d(received.loader, produced.loader).tolist()
    if read and not used:
        notes = [*notes, recorder_note("recorder_not_then")]
    mine = [each for each in read if each.loader in used]
    notes = [*notes, *missing.of_files(mine), *missing.early_end(trace, mine, received)]
    notes += missing.unrecorded_batches(mine, produced, received, *window)
    if not mine and not notes:
        return None
    return LoaderRecords(
        files=len(mine),
        cores=next((cores for each in mine if isinstance(cores := each.header.get("usable_cores"), int)), None),
        loaders=tuple(_settings(mine, number) for number in used),
        produced=produced,
        received=received,
        begun=begun_between(mine, *window),
        lines=read_line_samples(mine),
        killed=missing.killed_workers(mine),
        notes=tuple(notes),
        pace=pace_of(mine, *window),
    )


def _settings(read: Sequence[RecorderFile], number: int) -> LoaderSettings:
    header = next(each.header for each in read if each.loader == number)
    settings = header.get("settings") or {}
    return LoaderSettings(
        loader=number,
        dataset=settings.get("dataset"),
        workers=int(settings.get("num_workers") or 0),
        prefetch=settings.get("prefetch_factor"),
        batch_size=settings.get("batch_size"),
        pin_memory=settings.get("pin_memory"),
        persistent=settings.get("persistent_workers"),
        in_order=settings.get("in_order"),
        iterable=settings.get("iterable"),
    )
