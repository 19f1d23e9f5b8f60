"""Reads the recorder's files that belong to a trace, and adds what they recorded to the trace.

Its rows become columns: of the batches that were produced and received during a trace, of the passes over the data
that the training loop began in it, and of the samples of source lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.recorder_files import finding
from tb_steptime.ingest.recorder_files.finding import SeenFile, content_of
from tb_steptime.ingest.recorder_files.steps import is_enough, read_files, step_pace
from tb_steptime.record.file import LOADER_SUFFIX
from tb_steptime.record.file import format as layout
from tb_steptime.record.file.header import FormatError, UnfinishedError
from tb_steptime.text import Note, Quantity, count, nbytes, text
from tb_steptime.trace.loader_records import (
    UNKNOWN_TIME,
    LineSamples,
    LoaderPasses,
    LoaderRecords,
    LoaderSettings,
    Pace,
    ProducedBatches,
    ReceivedBatches,
)
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Rows of dtype `layout.ROW_FIELDS`.
Rows = npt.NDArray[Any]
ROW = np.dtype(layout.ROW_FIELDS)
_AHEAD = 1  # index in the values of a CLOCK row


class RecorderFile(msgspec.Struct, frozen=True, eq=False):
    """The content of a file that can still be read.

    loader             its number in its process, from 1, counted over all recorders; 0 until all files are read
    header             see `record.recordings`
    rows               in order of sequence number, with times in ns from an origin; unknown times are UNKNOWN_TIME
    clock_steps        how often the wall clock was set meanwhile
    lost_bytes         bytes that failed their checksum or were cut off
    overwritten_rows   rows that later ones replaced because the file was full
    """

    name: str
    loader: int
    header: dict[str, Any]
    rows: Rows
    clock_steps: int
    lost_bytes: int
    overwritten_rows: int


def read_all(folder: AnyPath, names: Sequence[str], origin_ns: int = 0) -> tuple[list[RecorderFile], list[str]]:
    """Returns the files that can be read, with times relative to an origin in epoch ns, and the names of those that
    cannot be read. Neither list includes files that hold nothing yet: a process creates a file, and writes its header
    next."""
    read: list[RecorderFile] = []
    broken: list[str] = []
    for name in names:
        try:
            read.append(decode(content_of(folder / name), name, origin_ns))
        except UnfinishedError:
            continue
        except (OSError, FormatError):
            broken.append(name)
    return _numbered(read), broken


def _numbered(read: Sequence[RecorderFile]) -> list[RecorderFile]:
    """Numbers the loaders of a process over all its recorders, since each recorder counts its own loaders from 0."""
    keys = [(file.header.get("recorder_start_ns", 0), file.header.get("loader", 0)) for file in read]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)), 1)}
    return [msgspec.structs.replace(file, loader=numbers[key]) for file, key in zip(read, keys, strict=True)]


def decode(content: bytes, name: str = "", origin_ns: int = 0) -> RecorderFile:
    """Decodes the content of a file. Raises FormatError where the header cannot be used."""
    header = layout.LOADER.decode_header(content)
    rows_at = layout.LOADER.rows_begin(content)
    rows = _valid_rows(content, rows_at)
    written = int(rows["sequence"][-1]) + 1 if len(rows) else 0
    return RecorderFile(
        name=name,
        loader=0,
        header=header,
        rows=_on_wall_clock(rows, origin_ns),
        clock_steps=int(((rows["kind"] == layout.CLOCK) & ((rows["flags"] & layout.STEPPED) != 0)).sum()),
        lost_bytes=len(content) - rows_at - rows.nbytes,
        overwritten_rows=max(0, written - layout.FIRST_ROWS - layout.LATEST_ROWS),
    )


def _valid_rows(content: bytes, rows_at: int) -> Rows:
    """Returns the rows whose checksum is right and that are in their own place, by sequence number."""
    size = layout.ROW.size
    begins = range(rows_at, len(content) - size + 1, size)
    valid = [
        position
        for position, begin in enumerate(begins)
        if layout.sequence_of(content[begin : begin + size], position) is not None
    ]
    rows: Rows = np.frombuffer(content, ROW, len(begins), rows_at)[valid]
    return rows[np.argsort(rows["sequence"], kind="stable")]


def _on_wall_clock(rows: Rows, origin_ns: int) -> Rows:
    ahead = _ahead_ns(rows) - origin_ns
    for kind, times in layout.TIMES.items():
        of_kind = np.flatnonzero(rows["kind"] == kind)
        values = rows["values"][of_kind, :times]
        rows["values"][of_kind, :times] = np.where(values == 0, UNKNOWN_TIME, values + ahead[of_kind, None])
    return rows


def _ahead_ns(rows: Rows) -> Int64:
    """Returns the time to add to those of each row, according to the last CLOCK row before it, or the first one after
    it."""
    clocks = np.flatnonzero(rows["kind"] == layout.CLOCK)
    if not len(clocks):
        return np.zeros(len(rows), np.int64)
    last = np.searchsorted(clocks, np.arange(len(rows)), "right") - 1
    return rows["values"][clocks[np.maximum(last, 0)], _AHEAD]


def added(trace: Trace, folder: AnyPath, file_names: Sequence[str]) -> tuple[Trace, list[SeenFile]]:
    """Returns the trace with what these files of the folder recorded, and the state of each file as it was read."""
    steps = find_steps(trace).steps
    low = min(step.host_start_ns for step in steps)
    high = max(step.host_end_ns for step in steps)
    of_loaders = [name for name in file_names if name.endswith(LOADER_SUFFIX)]
    of_steps = [name for name in file_names if name not in of_loaders]
    stamps = {name: finding.stamp_of(folder / name) for name in file_names}
    read, notes = _read_loaders(folder, of_loaders, trace.origin_ns)
    timed = read_files(folder, of_steps)
    beyond = {name: _reaches_beyond(read, name, high) for name in of_loaders}
    beyond |= dict.fromkeys(of_steps, any(is_enough(file, trace.origin_ns + high) for file in timed))
    seen = [
        finding.seen_file(folder / name, stamp, complete=beyond[name])
        for name, stamp in stamps.items()
        if stamp is not None
    ]
    records = _records(trace, [file for file in read if len(file.rows)], (low, high), notes) if of_loaders else None
    pace = next((measured_pace for file in timed if (measured_pace := step_pace(file))), None)
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
    if len({file.header.get("host") for file in read}) > 1:
        notes.append(recorder_note("recorder_of_several_machines", files=count(len(read))))
        read = []
    return read, notes


def _reaches_beyond(read: Sequence[RecorderFile], name: str, high: int) -> bool:
    """Returns whether a file's last row, which may be that of its process's end, is later than the trace's last
    step."""
    rows = next((file.rows for file in read if file.name == name), None)
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
    used_files = [each for each in read if each.loader in used]
    notes = [*notes, *of_files(used_files), *early_end(trace, used_files, received)]
    notes += unrecorded_batches(used_files, produced, received, *window)
    if not used_files and not notes:
        return None
    return LoaderRecords(
        files=len(used_files),
        cores=next((cores for file in used_files if isinstance(cores := file.header.get("usable_cores"), int)), None),
        loaders=tuple(_settings(used_files, number) for number in used),
        produced=produced,
        received=received,
        begun=passes_between(used_files, *window),
        lines=read_line_samples(used_files),
        killed=killed_workers(used_files),
        notes=tuple(notes),
        pace=pace_of(used_files, *window),
    )


def _settings(read: Sequence[RecorderFile], number: int) -> LoaderSettings:
    header = next(file.header for file in read if file.loader == number)
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
    lost = sum(file.lost_bytes for file in read)
    killed = killed_workers(read)
    values_by_note = {
        "recorder_file_damaged": {"lost": nbytes(lost)} if lost else None,
        "clock_step": {} if any(file.clock_steps for file in read) else None,
        "worker_killed": {"killed": count(len(killed))} if killed else None,
    }
    return [recorder_note(id, **values) for id, values in values_by_note.items() if values is not None]


def early_end(trace: Trace, read: Sequence[RecorderFile], received: ReceivedBatches) -> list[Note]:
    """Reports steps after the last row of the main process, although its pass over the data has not ended: the disk was
    full, or the recorder was closed. Where the clock was set, rows may belong to the span and not look so, so nothing
    is reported."""
    mains = [file.rows for file in read if file.header.get("process") == "main"]
    clock_steps = any(file.clock_steps for file in read)
    if clock_steps or not len(received) or any(len(rows) and rows["kind"][-1] == layout.ENDED for rows in mains):
        return []
    last = int(received.returned_ns.max())
    missing = sum(step.host_start_ns > last for step in find_steps(trace).steps)
    return [recorder_note("recorder_ended_early", missing=count(missing))] if missing else []


def unrecorded_batches(
    read: Sequence[RecorderFile], produced: ProducedBatches, received: ReceivedBatches, low: int, high: int
) -> list[Note]:
    """Reports batches that the loop received and that are missing in the workers' files, or no longer in them, and the
    other way round."""
    if len(produced) and not any(file.header.get("process") == "main" for file in read):
        return [recorder_note("recorder_main_missing")]
    if killed_workers(read) or any(file.clock_steps for file in read):
        return []  # another note says so, with the reason
    requested = (received.next_called_ns >= low) & (received.next_called_ns < high) & (received.batch >= 0)
    missing = int((requested & ~np.isin(received.keys, produced.keys)).sum())
    if not missing:
        return []
    if any(file.overwritten_rows for file in read):
        return [recorder_note("recorder_full")]
    return [recorder_note("recorder_worker_missing", missing=count(missing), batches=count(int(requested.sum())))]


def killed_workers(read: Sequence[RecorderFile]) -> frozenset[int]:
    """Returns the pids of workers that wrote no end although the pass over the data that they worked for failed."""
    latest: dict[int, tuple[int, int]] = {}  # pid -> its latest loader and pass
    ended: set[int] = set()
    failed: set[tuple[int, int]] = set()
    for file in read:
        rows = file.rows[file.rows["kind"] != layout.CLOCK]
        passes = [(file.loader, number) for number in rows["pass_number"].tolist()]
        latest |= zip(rows["pid"].tolist(), passes, strict=True)
        ends = rows["kind"] == layout.ENDED
        ended |= set(rows["pid"][ends].tolist())
        failed |= {passes[row] for row in np.flatnonzero(ends & ((rows["flags"] & layout.FAILED) != 0))}
    return frozenset(pid for pid, number in latest.items() if number in failed and pid not in ended)


def batches_between(read: Sequence[RecorderFile], low: int, high: int) -> tuple[ProducedBatches, ReceivedBatches]:
    """Returns the batches that were produced, or that the loop waited for, between these times. A batch that has both
    rows is returned with both."""
    produced = _produced(read)
    received = _received([file for file in read if file.header.get("process") == "main"])
    is_produced = (produced.end_ns > low) & (produced.start_ns < high)
    is_received = (received.returned_ns > low) & (received.next_called_ns < high)
    is_produced, is_received = (
        is_produced | np.isin(produced.keys, received.keys[is_received]),
        is_received | np.isin(received.keys, produced.keys[is_produced]),
    )
    return produced.where(is_produced).by("start_ns"), received.where(is_received).by("returned_ns")


#: Minimum numbers of batches outside and inside the span. Fewer outside may be those of the job's first steps, or of
#: another recording.
LEAST_OUTSIDE, LEAST_INSIDE = 100, 3


def pace_of(read: Sequence[RecorderFile], low: int, high: int) -> Pace | None:
    """Returns the pace of the loader that hands over most batches between these times."""
    received = _received([file for file in read if file.header.get("process") == "main"])
    inside = (received.returned_ns > low) & (received.returned_ns < high)
    if not inside.any():
        return None
    loaders, number = np.unique(received.loader[inside], return_counts=True)
    of_loader = received.loader == loaders[int(number.argmax())]
    returned = np.sort(received.returned_ns[of_loader])
    length, of_span = np.diff(returned), (returned[:-1] > low) & (returned[1:] < high)
    if of_span.sum() < LEAST_INSIDE or (~of_span).sum() < LEAST_OUTSIDE:
        return None
    medians = (int(np.median(length[chosen])) for chosen in (of_span, ~of_span))
    within, around = medians
    return Pace(within, int(of_span.sum()), around, int((~of_span).sum()))


def passes_between(read: Sequence[RecorderFile], low: int, high: int) -> LoaderPasses:
    """Returns the passes over the data that the loop began between these times."""
    loader, rows = _rows(read, layout.BEGAN)
    passes = LoaderPasses(loader, *rows["values"][:, :2].T)
    inside = (rows["worker"] == layout.NO_WORKER) & (passes.ready_ns > low) & (passes.begin_ns < high)
    return passes.where(inside).by("begin_ns")


def _produced(read: Sequence[RecorderFile]) -> ProducedBatches:
    loader, rows = _rows(read, layout.PRODUCED)
    fields = _fields(rows, "pass_number", "batch", "worker", "pid")
    return ProducedBatches(loader, *fields, *rows["values"][:, 1:].T).where(rows["flags"] == 0)


def _received(mains: Sequence[RecorderFile]) -> ReceivedBatches:
    """Returns the received batches. mains: files of the training process, which has a batch of a loader without workers
    as soon as it is produced. There is no second row for such a batch, since the loop pins it itself, or it is not
    pinned at all."""
    loader, rows = _rows(mains, layout.RECEIVED)
    received = ReceivedBatches(loader, *_fields(rows, "pass_number", "batch"), *rows["values"][:, 1:6].T)
    loader, rows = _rows(mains, layout.PRODUCED)
    number, batch = _fields(rows, "pass_number", "batch")
    requested, end = rows["values"][:, 0], rows["values"][:, 3]
    alone = ReceivedBatches(loader, number, batch, requested, end, end, np.full_like(end, UNKNOWN_TIME), end)
    alone = alone.where((rows["flags"] == 0) & ~np.isin(alone.keys, received.keys))
    return received.followed_by(alone)


def _rows(read: Sequence[RecorderFile], kind: int) -> tuple[Int64, Rows]:
    """Returns the rows of one kind in all files, and the loader of each row."""
    parts = [(file.loader, file.rows[file.rows["kind"] == kind]) for file in read]
    loader = np.repeat([number for number, _ in parts], [len(rows) for _, rows in parts]).astype(np.int64)
    return loader, np.concatenate([np.empty(0, ROW), *(rows for _, rows in parts)])


def _fields(rows: Rows, *names: str) -> list[Int64]:
    return [rows[name].astype(np.int64) for name in names]


def read_line_samples(read: Sequence[RecorderFile]) -> LineSamples:
    """Reads the line samples in workers' files."""
    locations: dict[str, int] = {}
    parts: list[tuple[Int64, ...]] = [(np.empty(0, np.int64),) * 5]
    late_count = 0
    for file in read:
        rows = file.rows[file.rows["kind"] == layout.LINES]
        late_count += int(((rows["flags"] & layout.LATE) != 0).sum())
        number = _numbers(rows, names_of(file.rows), locations)
        pairs = rows["values"][:, 1:].reshape(len(rows), layout.LINES_IN_ROW, 2)
        row, column = np.nonzero(pairs[:, :, 1])
        loader = np.full(len(row), file.loader, np.int64)
        worker, at_ns = rows["worker"][row].astype(np.int64), rows["values"][row, 0]
        parts.append((loader, worker, at_ns, number[row, column], pairs[row, column, 1]))
    loader, worker, at_ns, location, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LineSamples(loader, worker, at_ns, location, count, tuple(locations), late_count)


def names_of(rows: Rows) -> dict[tuple[int, int], str]:
    """Returns the name of each location by its pid and number, except names of which a part is lost."""
    parts: dict[tuple[int, int], dict[int, bytes]] = defaultdict(dict)
    for row in rows[rows["kind"] == layout.NAMED]:
        text = row["values"][1:].astype("<i8").tobytes()
        parts[int(row["pid"]), int(row["values"][0])][int(row["batch"])] = text
    return {key: name for key, own in parts.items() if (name := _joined(own)) is not None}


def _joined(parts: dict[int, bytes]) -> str | None:
    """Joins the parts of a name. Returns None where a part is missing, in the middle or at the end: only the last part
    is padded with zeros."""
    content = b"".join(parts[number] for number in sorted(parts))
    whole = sorted(parts) == list(range(len(parts))) and content.endswith(b"\0")
    return content.rstrip(b"\0").decode(errors="replace") if whole else None


def _numbers(rows: Rows, names: dict[tuple[int, int], str], locations: dict[str, int]) -> Int64:
    """Returns the number of the location of each pair in each row, and -1 for none. New locations are added to
    `locations`."""
    number = np.full((len(rows), layout.LINES_IN_ROW), -1, np.int64)
    for at, (pid, values) in enumerate(zip(rows["pid"].tolist(), rows["values"][:, 1::2].tolist(), strict=True)):
        for column, location in enumerate(values):
            name = names.get((pid, location))
            if name is not None:
                number[at, column] = locations.setdefault(name, len(locations))
    return number
