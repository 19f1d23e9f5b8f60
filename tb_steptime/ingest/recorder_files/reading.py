"""Reads the recorder files that belong to a trace, and adds what they recorded to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tb_steptime.ingest.recorder_files.columns import (
    begun_rows,
    from_origin,
    produced_rows,
    read_line_samples,
    received_rows,
)
from tb_steptime.ingest.recorder_files.decoding import RecorderFile, read_all
from tb_steptime.ingest.recorder_files.finding import (
    MAX_FILES,
    SeenFile,
    SeenRecords,
    files_of,
    host_of,
    process_ids,
    recorder_files,
    stamp_of,
)  # fmt: skip
from tb_steptime.ingest.recorder_files.missing import (
    early_end,
    killed_workers,
    of_files,
    recorder_note,
    unrecorded_batches,
)
from tb_steptime.record.file import format as layout
from tb_steptime.text import Note, count, text
from tb_steptime.trace.loader_records import Begun, LoaderRecords, LoaderSettings, Produced, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


def with_records(trace: Trace) -> tuple[Trace, SeenRecords]:
    """The trace with what the files in its folder recorded, and which those are."""
    pids = process_ids(trace)
    folder = Path(trace.path).absolute().parent
    names = recorder_files(folder)
    host = host_of(trace, pids)
    mine = files_of(names, pids, host)[:MAX_FILES]
    stamps = [stamp_of(folder / name) for name in mine]
    read, broken = read_all(folder, mine)
    notes = []
    if broken:
        notes.append(recorder_note("recorder_file_unreadable", file=text(broken[0]), files=count(len(broken))))
    if len({each.header.get("host") for each in read}) > 1:
        notes.append(recorder_note("recorder_of_several_machines", files=count(len(read))))
        read = []
    low, high = window_of(trace)
    seen = [
        SeenFile(name, stamp.st_size, stamp.st_mtime_ns, _reaches_beyond(read, name, trace.origin_ns + high))
        for name, stamp in zip(mine, stamps, strict=True)
        if stamp is not None
    ]
    records = _records(trace, [each for each in read if len(each.rows)], (low, high), notes)
    return (replace(trace, loader_records=records) if records else trace), SeenRecords(pids, seen, host)


def window_of(trace: Trace) -> tuple[int, int]:
    steps = find_steps(trace).steps
    return min(each.host_start_ns for each in steps), max(each.host_start_ns + each.host_ns for each in steps)


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
    low, high = (trace.origin_ns + each for each in window)
    received = received_rows([each for each in read if each.header.get("process") == "main"], low, high)
    produced = produced_rows(read, received, low, high)
    used = sorted({int(number) for number in np.unique(np.concatenate((received[0], produced[0])))})
    if read and not len(received[0]) and not len(produced[0]):
        notes = [*notes, recorder_note("recorder_not_then")]
    mine = [each for each in read if each.loader in used]
    notes = [*notes, *of_files(mine), *early_end(trace, mine, received)]
    notes += unrecorded_batches(mine, produced, received, low, high)
    if not mine and not notes:
        return None
    return LoaderRecords(
        files=len(mine),
        cores=next((cores for each in mine if isinstance(cores := each.header.get("usable_cores"), int)), None),
        loaders=tuple(_settings(mine, number) for number in used),
        produced=Produced(*from_origin(produced, range(5, 9), trace.origin_ns)),
        received=Received(*from_origin(received, range(3, 9), trace.origin_ns)),
        begun=Begun(*from_origin(begun_rows(mine, low, high), range(1, 3), trace.origin_ns)),
        lines=read_line_samples(mine, trace.origin_ns),
        killed=killed_workers(mine),
        notes=tuple(notes),
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
