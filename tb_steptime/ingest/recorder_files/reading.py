"""Reads the recorder's files that belong to a trace, and adds what they recorded to the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.recorder_files import finding
from tb_steptime.ingest.recorder_files.columns import batches_between, begun_between, pace_of, read_line_samples
from tb_steptime.ingest.recorder_files.decoding import RecorderFile, read_all
from tb_steptime.ingest.recorder_files.finding import SeenFile
from tb_steptime.ingest.recorder_files.steps import is_enough, read_files, step_pace
from tb_steptime.record.file import format as layout
from tb_steptime.text import Note, Quantity, count, nbytes, text
from tb_steptime.trace.loader_records import LoaderRecords, LoaderSettings, Produced, Received
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
    notes = [*notes, *of_files(mine), *early_end(trace, mine, received)]
    notes += unrecorded_batches(mine, produced, received, *window)
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
        killed=killed_workers(mine),
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


def recorder_note(id: str, **values: Quantity) -> Note:
    return Note(id, values, ("data_loading",))


def of_files(read: Sequence[RecorderFile]) -> list[Note]:
    """Returns notes about what is missing in the files that were used."""
    lost = sum(each.lost_bytes for each in read)
    killed = killed_workers(read)
    found = {
        "recorder_file_damaged": {"lost": nbytes(lost)} if lost else None,
        "clock_step": {} if any(each.clock_steps for each in read) else None,
        "worker_killed": {"killed": count(len(killed))} if killed else None,
    }
    return [recorder_note(id, **values) for id, values in found.items() if values is not None]


def early_end(trace: Trace, read: Sequence[RecorderFile], received: Received) -> list[Note]:
    """Reports steps after the last row of the main process, although its pass over the data has not ended: the disk was
    full, or the recorder was closed. Where the clock was set, rows may belong to the span and not look so, so nothing
    is reported."""
    mains = [each.rows for each in read if each.header.get("process") == "main"]
    clock_steps = any(each.clock_steps for each in read)
    if clock_steps or not len(received) or any(len(rows) and rows["kind"][-1] == layout.ENDED for rows in mains):
        return []
    last = int(received.returned_ns.max())
    missing = sum(step.host_start_ns > last for step in find_steps(trace).steps)
    return [recorder_note("recorder_ended_early", missing=count(missing))] if missing else []


def unrecorded_batches(
    read: Sequence[RecorderFile], produced: Produced, received: Received, low: int, high: int
) -> list[Note]:
    """Reports batches that the loop received and that are missing in the workers' files, or no longer in them, and the
    other way round."""
    if len(produced) and not any(each.header.get("process") == "main" for each in read):
        return [recorder_note("recorder_main_missing")]
    if killed_workers(read) or any(each.clock_steps for each in read):
        return []  # another note says so, with the reason
    requested = (received.asked_ns >= low) & (received.asked_ns < high) & (received.batch >= 0)
    missing = int((requested & ~np.isin(received.keys, produced.keys)).sum())
    if not missing:
        return []
    if any(each.overwritten_rows for each in read):
        return [recorder_note("recorder_full")]
    return [recorder_note("recorder_worker_missing", missing=count(missing), batches=count(int(requested.sum())))]


def killed_workers(read: Sequence[RecorderFile]) -> frozenset[int]:
    """Returns the pids of workers that wrote no end although the pass over the data that they worked for failed."""
    latest: dict[int, tuple[int, int]] = {}  # pid -> its latest loader and pass
    ended: set[int] = set()
    failed: set[tuple[int, int]] = set()
    for each in read:
        rows = each.rows[each.rows["kind"] != layout.CLOCK]
        passes = [(each.loader, number) for number in rows["pass_number"].tolist()]
        latest |= zip(rows["pid"].tolist(), passes, strict=True)
        ends = rows["kind"] == layout.ENDED
        ended |= set(rows["pid"][ends].tolist())
        failed |= {passes[row] for row in np.flatnonzero(ends & ((rows["flags"] & layout.FAILED) != 0))}
    return frozenset(pid for pid, number in latest.items() if number in failed and pid not in ended)
