"""The recorder's files beside a trace -> `LoaderRecords` of the trace's own process and time.

    host_3113936.1790812801133511828.l0.main.loader      of the process that wrote the trace: its pid is in both
    host_3113936.1790812801133511828.l0.w3.loader
    host_4711.1690000000000000000.l0.main.loader         of another run or rank: left out

A summary says which files it saw, so that one that appears later, or grows into the trace's time, is read, too.
"""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.phrases import Note, count, nbytes, phrase, text
from tb_steptime.record import format as layout
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords, LoaderSettings, Produced, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in

_NAME = re.compile(
    r"(?P<host>.+)_(?P<pid>\d+)\.(?P<start>\d+)\.l(?P<loader>\d+)\.(?:main|w\d+)" + re.escape(layout.SUFFIX)
)
_ROW = np.dtype(layout.ROW_FIELDS)
#: No loader has so many workers; more files than these are not opened.
MAX_FILES = 2048
#: Workers begin ahead of the first step, and a recorder's last rows may be written a moment after the last one.
_QUALIFIES = ("data_loading",)

Rows = npt.NDArray[Any]


class SeenFile(msgspec.Struct, frozen=True):
    """A recorder's file as it was when the trace was analysed. complete: it told of times after the trace's end, so
    what is added to it is of no concern."""

    file: str
    bytes: int
    mtime_ns: int
    complete: bool


class SeenRecords(msgspec.Struct, frozen=True):
    """Which processes' files belong to a trace, and which there were."""

    pids: list[int] = []
    files: list[SeenFile] = []


@dataclass(frozen=True)
class _Read:
    """A file that could be read. rows: with times in epoch ns."""

    name: str
    header: dict[str, Any]
    rows: Rows
    file: layout.RecordedFile


def with_records(trace: Trace) -> tuple[Trace, SeenRecords]:
    """The trace with what the files beside it tell, and which those are."""
    pids = process_ids(trace)
    folder = Path(trace.path).absolute().parent
    names = recorder_files(folder)
    mine = files_of(names, pids)[:MAX_FILES]
    stamps = [_stamp(folder / name) for name in mine]
    read, notes = _read_all(folder, mine)
    low, high = _window(trace)
    seen = [
        SeenFile(name, stamp.st_size, stamp.st_mtime_ns, _tells_beyond(read, name, trace.origin_ns + high))
        for name, stamp in zip(mine, stamps, strict=True)
        if stamp is not None
    ]
    notes += _of_others(folder, [name for name in names if name not in set(mine)], trace.origin_ns + low)
    records = _records(trace, [each for each in read if len(each.rows)], (low, high), notes)
    return (replace(trace, loader_records=records) if records else trace), SeenRecords(pids, seen)


def are_current(seen: SeenRecords, folder: Path) -> bool:
    """Whether the files that belong to a trace are those that its summary was made with, as far as that matters."""
    known = {each.file: each for each in seen.files}
    for name in files_of(recorder_files(folder), seen.pids)[:MAX_FILES]:
        if name not in known:
            return False
        if not known[name].complete:
            stamp = _stamp(folder / name)
            if stamp and (stamp.st_size, stamp.st_mtime_ns) != (known[name].bytes, known[name].mtime_ns):
                return False
    return True


def recorder_files(folder: Path) -> tuple[str, ...]:
    """Names of the recorder's files in a folder; none where it cannot be read."""
    try:
        return _listed(str(folder), folder.stat().st_mtime_ns)
    except OSError:
        return ()


@functools.lru_cache(maxsize=64)
def _listed(folder: str, changed_ns: int) -> tuple[str, ...]:
    """A folder's time changes when files come or go, and thousands of its traces may ask."""
    with os.scandir(folder) as entries:
        return tuple(sorted(entry.name for entry in entries if _NAME.fullmatch(entry.name)))


def files_of(names: Iterable[str], pids: Sequence[int]) -> list[str]:
    """Those that processes with these numbers wrote, or their workers."""
    found = ((name, _NAME.fullmatch(name)) for name in names)
    return [name for name, match in found if match and int(match["pid"]) in pids]


def process_ids(trace: Trace) -> list[int]:
    """Of the processes whose ops are in the trace; mostly one."""
    rows = trace.events.rows(Kind.CPU_OP, Kind.USER)
    threads = distinct_in(trace.events.thread[rows]).tolist()
    return sorted({int(trace.threads[each].pid) for each in threads if trace.threads[each].pid.isdecimal()})


def _stamp(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _read_all(folder: Path, names: Sequence[str]) -> tuple[list[_Read], list[Note]]:
    read: list[_Read] = []
    broken: list[str] = []
    for name in names:
        try:
            file = layout.read_file(folder / name)
        except (OSError, layout.FormatError):
            broken.append(name)
        else:
            read.append(_Read(name, file.header, _epoch_rows(file), file))
    return read, [_broken(broken)] if broken else []


def _epoch_rows(file: layout.RecordedFile) -> Rows:
    """Rows with their times in epoch ns; unknown times are UNKNOWN_TIME."""
    rows: Rows = np.frombuffer(file.records, _ROW).copy()
    begin = np.array([position for position, _ in file.ahead] + [len(rows)], np.int64)
    ahead = np.repeat(np.array([ns for _, ns in file.ahead], np.int64), np.diff(begin))
    ahead = np.concatenate((np.zeros(len(rows) - len(ahead), np.int64), ahead))
    for kind, times in layout.TIMES.items():
        mine = np.flatnonzero(rows["kind"] == kind)
        values = rows["values"][mine, :times]
        rows["values"][mine, :times] = np.where(values == 0, UNKNOWN_TIME, values + ahead[mine, None])
    return rows


def _window(trace: Trace) -> tuple[int, int]:
    steps = find_steps(trace).steps
    return min(each.host_start_ns for each in steps), max(each.host_start_ns + each.host_ns for each in steps)


def _tells_beyond(read: Sequence[_Read], name: str, high: int) -> bool:
    """Whether a file's last row is later than the trace's last step, or its process has ended."""
    rows = next((each.rows for each in read if each.name == name), None)
    if rows is None or not len(rows):
        return False
    told = rows[np.isin(rows["kind"], (layout.PRODUCED, layout.RECEIVED, layout.ENDED))]
    return bool(len(told)) and bool(told["values"][:, 0].max() > high)


def _records(trace: Trace, read: Sequence[_Read], window: tuple[int, int], notes: list[Note]) -> LoaderRecords | None:
    low, high = (trace.origin_ns + each for each in window)
    received = _received([each for each in read if each.header.get("process") == "main"], low, high)
    produced = _produced(read, received, low, high)
    used = sorted({int(number) for number in np.unique(np.concatenate((received[0], produced[0])))})
    if read and not len(received[0]) and not len(produced[0]):
        notes = [*notes, _NOT_THEN]
    mine = [each for each in read if int(each.header.get("loader", -1)) in used]
    notes = [*notes, *_of_files(mine, low, high), *_early_end(trace, mine, received)]
    if not mine and not notes:
        return None
    return LoaderRecords(
        files=len(mine),
        cores=_cores(mine),
        loaders=tuple(_settings(mine, number) for number in used),
        produced=Produced(*_shifted(produced, range(5, 9), trace.origin_ns)),
        received=Received(*_shifted(received, range(3, 9), trace.origin_ns)),
        killed=_killed(mine),
        notes=tuple(notes),
    )


def _columns(read: Sequence[_Read], kind: int, fields: Sequence[str], values: Sequence[int]) -> list[Int64]:
    """int64 columns of all files: the loader's number, fields of a row, numbers of a row."""
    parts = [(int(each.header.get("loader", -1)), each.rows[each.rows["kind"] == kind]) for each in read]
    loader = np.concatenate([np.full(len(rows), number, np.int64) for number, rows in parts] or [np.empty(0, np.int64)])
    rows = np.concatenate([rows for _, rows in parts] or [np.empty(0, _ROW)])
    return [loader, *(rows[name].astype(np.int64) for name in fields), *(rows["values"][:, at] for at in values)]


def _received(read: Sequence[_Read], low: int, high: int) -> list[Int64]:
    """Batches that the loop asked for in the trace's time, or that were under way at its end."""
    columns = _columns(read, layout.RECEIVED, ("pass_number", "batch"), range(8))
    requested, asked, returned = columns[3], columns[4], columns[8]
    requested = np.where(requested == UNKNOWN_TIME, asked, requested)
    inside = np.flatnonzero((returned > low) & (np.minimum(requested, asked) < high))
    return _sorted([column[inside] for column in columns], by=8)


def _produced(read: Sequence[_Read], received: Sequence[Int64], low: int, high: int) -> list[Int64]:
    """Batches that were made in the trace's time, or were handed over in it."""
    columns = _columns(
        read, layout.PRODUCED, ("worker", "pid", "pass_number", "batch", "flags"), (0, 1, 2, 3, 4, 5, 7, 8)
    )
    flags = columns.pop(5)
    loader, passage, batch = columns[0], columns[3], columns[4]
    wanted = (columns[8] > low) & (columns[6] < high)
    wanted |= np.isin(_batch_key(loader, passage, batch), _batch_key(*received[:3]))
    return _sorted([column[wanted & (flags == 0)] for column in columns], by=6)


def _batch_key(loader: Int64, passage: Int64, batch: Int64) -> Int64:
    key: Int64 = (loader << 56) + (passage << 32) + batch
    return key


def _sorted(columns: list[Int64], by: int) -> list[Int64]:
    order = np.argsort(columns[by], kind="stable")
    return [column[order] for column in columns]


def _shifted(columns: Sequence[Int64], times: range, origin_ns: int) -> list[Int64]:
    return [
        np.where(column == UNKNOWN_TIME, UNKNOWN_TIME, column - origin_ns) if place in times else column
        for place, column in enumerate(columns)
    ]


def _settings(read: Sequence[_Read], number: int) -> LoaderSettings:
    header = next(each.header for each in read if each.header.get("loader") == number)
    settings = header.get("settings") or {}
    return LoaderSettings(
        number=number,
        dataset=settings.get("dataset"),
        workers=int(settings.get("num_workers") or 0),
        prefetch=settings.get("prefetch_factor"),
        batch_size=settings.get("batch_size"),
        pin_memory=settings.get("pin_memory"),
        persistent=settings.get("persistent_workers"),
        in_order=settings.get("in_order"),
    )


def _cores(read: Sequence[_Read]) -> int | None:
    for each in read:
        cores = each.header.get("usable_cores") or each.header.get("cores")
        if isinstance(cores, int):
            return cores
    return None


def _killed(read: Sequence[_Read]) -> frozenset[int]:
    """Workers that wrote no end although the pass that they worked for has one. Those that persist outlive a pass, so
    of them only a pass that failed tells."""
    ended = {int(pid) for each in read for pid in each.rows["pid"][each.rows["kind"] == layout.ENDED]}
    killed: set[int] = set()
    for each in read:
        if each.header.get("process") != "worker":
            continue
        over = _passes_over(read, each.header)
        rows = each.rows[each.rows["kind"] != layout.CLOCK]
        for pid in np.unique(rows["pid"]).tolist():
            last = int(rows["pass_number"][rows["pid"] == pid].max())
            if last in over and pid not in ended:
                killed.add(pid)
    return frozenset(killed)


def _passes_over(read: Sequence[_Read], worker: dict[str, Any]) -> set[int]:
    persistent = bool((worker.get("settings") or {}).get("persistent_workers"))
    over: set[int] = set()
    for each in read:
        if each.header.get("process") == "main" and each.header.get("loader") == worker.get("loader"):
            ends = each.rows[each.rows["kind"] == layout.ENDED]
            wanted = (ends["flags"] & layout.FAILED) != 0 if persistent else np.ones(len(ends), bool)
            over |= {int(number) for number in ends["pass_number"][wanted]}
    return over


def _of_files(read: Sequence[_Read], low: int, high: int) -> list[Note]:
    """What is missing in the files that were used."""
    notes = []
    lost = sum(each.file.lost_bytes for each in read)
    if lost:
        notes.append(_lost(lost))
    if any(_forgot(each, low, high) for each in read):
        notes.append(_FULL)
    if any(each.file.clock_steps for each in read):
        notes.append(_CLOCK)
    if killed := _killed(read):
        notes.append(_ended(len(killed)))
    return notes


def _early_end(trace: Trace, read: Sequence[_Read], received: Sequence[Int64]) -> list[Note]:
    """Steps after the last row of the training process, although its pass over the data has not ended: the disk was
    full, or the recorder was closed."""
    mains = [each.rows for each in read if each.header.get("process") == "main"]
    if not len(received[0]) or any(len(rows) and rows["kind"][-1] == layout.ENDED for rows in mains):
        return []
    last = int(received[8].max()) - trace.origin_ns
    missing = sum(step.host_start_ns > last for step in find_steps(trace).steps)
    return [_ended_early(missing)] if missing else []


def _forgot(read: _Read, low: int, high: int) -> bool:
    """Whether rows of the trace's time were overwritten: the gap is after the rows that stay."""
    if not read.file.forgotten_rows:
        return False
    rows = read.rows[np.isin(read.rows["kind"], (layout.PRODUCED, layout.RECEIVED))]
    first, later = (
        rows[where] for where in (rows["sequence"] < layout.FIRST_ROWS, rows["sequence"] >= layout.FIRST_ROWS)
    )
    begin = int(first["values"][:, 1].max(initial=low))
    end = int(later["values"][:, 1].min(initial=high))
    return begin < high and end > low


def _of_others(folder: Path, names: Sequence[str], low: int) -> list[Note]:
    """Files of processes that ended before the trace began, or started later, are of another run; of other ranks
    nothing is to be said."""
    processes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name in names:
        if match := _NAME.fullmatch(name):
            processes[match["host"], match["pid"], match["start"]].append(name)
    files = sum(
        len(mine) for (_, _, start), mine in processes.items() if _is_of_another_time(folder, int(start), mine, low)
    )
    return [_another_run(files)] if files else []


def _is_of_another_time(folder: Path, start: int, names: Sequence[str], low: int) -> bool:
    if start > low:
        return True
    stamps = [stamp.st_mtime_ns for name in names if (stamp := _stamp(folder / name))]
    return bool(stamps) and max(stamps) < low


def _note(id: str, cause: str, effect: str, **values: Any) -> Note:
    return Note(id, phrase(cause, **values), phrase(effect, **values), _QUALIFIES)


def _broken(names: Sequence[str]) -> Note:
    return _note(
        "recorder_file_unreadable", "A recorder's file cannot be read.", "{file} and {others} others are left out.",
        file=text(names[0]), others=count(len(names) - 1),
    )  # fmt: skip


def _lost(lost: int) -> Note:
    return _note(
        "recorder_file_damaged", "A recorder's file is damaged.", "{lost} of it are left out, the rest is sound.",
        lost=nbytes(lost),
    )  # fmt: skip


def _ended(killed: int) -> Note:
    return _note(
        "worker_killed", "A worker process was killed.", "Workers that ended without a word: {killed}. What they made "
        "last may be missing.", killed=count(killed),
    )  # fmt: skip


def _ended_early(missing: int) -> Note:
    return _note(
        "recorder_ended_early", "The recorder's files end before this span does.", "Steps without a record: {missing}. "
        "Was the disk full, or the recorder closed?", missing=count(missing),
    )  # fmt: skip


def _another_run(files: int) -> Note:
    return _note(
        "recorder_of_another_run", "Files of another run lie here.", "Recorder's files left out: {files}.",
        files=count(files),
    )  # fmt: skip


_NOT_THEN = _note(
    "recorder_not_then",
    "The recorder's files tell nothing of this span.",
    "They are of this process, and of another time.",
)
_FULL = _note(
    "recorder_full", "A recorder's file was full.", "Batches of this span are missing: the first ones of the job and "
    "the latest are kept.",
)  # fmt: skip
_CLOCK = _note(
    "clock_step", "The machine's clock was set while it was recorded.", "Lanes of the workers may be shifted against "
    "the steps before that.",
)  # fmt: skip
