"""What is missing in a recorder's files, or was left out of them, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tb_steptime.ingest.recorder_files.finding import NAME, stamp_of
from tb_steptime.ingest.recorder_files.rows import ReadFile, batch_key
from tb_steptime.record.file import format as layout
from tb_steptime.text import Note, count, nbytes, phrase, text
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Where the notes stand.
_QUALIFIES = ("data_loading",)


def of_files(read: Sequence[ReadFile], low: int, high: int) -> list[Note]:
    """What is missing in the files that were used."""
    notes = []
    lost = sum(each.file.lost_bytes for each in read)
    if lost:
        notes.append(_lost(lost))
    if any(_forgot(each, low, high) for each in read):
        notes.append(_FULL)
    if any(each.file.clock_steps for each in read):
        notes.append(_CLOCK)
    if killed := killed_workers(read):
        notes.append(_ended(len(killed)))
    return notes


def early_end(trace: Trace, read: Sequence[ReadFile], received: Sequence[Int64]) -> list[Note]:
    """Steps after the last row of the training process, although its pass over the data has not ended: the disk was
    full, or the recorder was closed. Where the clock was set, rows may be of the span and not look so."""
    mains = [each.rows for each in read if each.header.get("process") == "main"]
    clock_steps = any(each.file.clock_steps for each in read)
    if clock_steps or not len(received[0]) or any(len(rows) and rows["kind"][-1] == layout.ENDED for rows in mains):
        return []
    last = int(received[8].max()) - trace.origin_ns
    missing = sum(step.host_start_ns > last for step in find_steps(trace).steps)
    return [_ended_early(missing)] if missing else []


def untold_batches(
    read: Sequence[ReadFile], produced: Sequence[Int64], received: Sequence[Int64], low: int, high: int
) -> list[Note]:
    """Batches that the training process took and no worker's file tells of, or the other way round."""
    if len(produced[0]) and not any(each.header.get("process") == "main" for each in read):
        return [_NO_MAIN]
    if killed_workers(read) or any(_forgot(each, low, high) or each.file.clock_steps for each in read):
        return []  # told already, with the reason
    asked = (received[4] >= low) & (received[4] < high) & (received[2] >= 0)
    made = np.isin(batch_key(*received[:3]), batch_key(produced[0], produced[3], produced[4]))
    untold = int((asked & ~made).sum())
    return [_untold(untold, int(asked.sum()))] if untold else []


def _forgot(read: ReadFile, low: int, high: int) -> bool:
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


def killed_workers(read: Sequence[ReadFile]) -> frozenset[int]:
    """Workers that wrote no end although the pass that they worked for has one. Those that persist outlive a pass, so
    of them only a pass that failed tells."""
    ended = {int(pid) for each in read for pid in each.rows["pid"][each.rows["kind"] == layout.ENDED]}
    killed: set[int] = set()
    for each in read:
        if each.header.get("process") != "worker":
            continue
        over = _passes_over(read, each)
        rows = each.rows[each.rows["kind"] != layout.CLOCK]
        for pid in np.unique(rows["pid"]).tolist():
            last = int(rows["pass_number"][rows["pid"] == pid].max())
            if last in over and pid not in ended:
                killed.add(pid)
    return frozenset(killed)


def _passes_over(read: Sequence[ReadFile], worker: ReadFile) -> set[int]:
    persistent = bool((worker.header.get("settings") or {}).get("persistent_workers"))
    over: set[int] = set()
    for each in read:
        if each.header.get("process") == "main" and each.loader == worker.loader:
            ends = each.rows[each.rows["kind"] == layout.ENDED]
            wanted = (ends["flags"] & layout.FAILED) != 0 if persistent else np.ones(len(ends), bool)
            over |= {int(number) for number in ends["pass_number"][wanted]}
    return over


def of_others(folder: Path, names: Sequence[str], low: int) -> list[Note]:
    """Files of processes that ended before the trace began, or started later, are of another run; of other ranks
    nothing is to be said."""
    processes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name in names:
        if match := NAME.fullmatch(name):
            processes[match["host"], match["pid"], match["start"]].append(name)
    files = sum(
        len(mine) for (_, _, start), mine in processes.items() if _is_of_another_time(folder, int(start), mine, low)
    )
    return [_another_run(files)] if files else []


def _is_of_another_time(folder: Path, start: int, names: Sequence[str], low: int) -> bool:
    if start > low:
        return True
    stamps = [stamp.st_mtime_ns for name in names if (stamp := stamp_of(folder / name))]
    return bool(stamps) and max(stamps) < low


def _note(id: str, cause: str, effect: str, **values: Any) -> Note:
    return Note(id, phrase(cause, **values), phrase(effect, **values), _QUALIFIES)


def unread(names: Sequence[str], read: Sequence[ReadFile], broken: Sequence[str]) -> list[Note]:
    """What is told of the files that are not among those that were read. An empty one tells that its process began."""
    known = {*broken, *(each.name for each in read)}
    unbegun = [name for name in names if name not in known]
    return [note(found) for note, found in ((_unreadable, broken), (_unbegun, unbegun)) if found]


def _unbegun(names: Sequence[str]) -> Note:
    return _note(
        "recorder_file_empty", "A recorder's file is empty.", "{file} and {others} others: a process was killed as it "
        "began, or the disk was full.", file=text(names[0]), others=count(len(names) - 1),
    )  # fmt: skip


def _unreadable(names: Sequence[str]) -> Note:
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


def _untold(untold: int, batches: int) -> Note:
    return _note(
        "recorder_worker_missing", "A worker's file is missing, or ends early.", "How {untold} of {batches} batches "
        "were made is not recorded; means are of the others.", untold=count(untold), batches=count(batches),
    )  # fmt: skip


def _another_run(files: int) -> Note:
    return _note(
        "recorder_of_another_run", "Files of another run lie here.", "Recorder's files left out: {files}.",
        files=count(files),
    )  # fmt: skip


def several_machines(files: int) -> Note:
    return _note(
        "recorder_of_several_machines", "Recorder's files of several machines are of processes with the same number.",
        "Which belong to this trace cannot be told, so {files} are left out.", files=count(files),
    )  # fmt: skip


NOT_THEN = _note(
    "recorder_not_then",
    "The recorder's files tell nothing of this span.",
    "They are of this process, and of another time.",
)


_NO_MAIN = _note(
    "recorder_main_missing",
    "The training process's recorder file is missing.",
    "Which steps took the batches that workers made is not known.",
)


_FULL = _note(
    "recorder_full", "A recorder's file was full.", "Batches of this span are missing: the first ones of the job and "
    "the latest are kept.",
)  # fmt: skip


_CLOCK = _note(
    "clock_step", "The machine's clock was set while it was recorded.", "Batches before or after that may be missing, "
    "or be shifted against the steps.",
)  # fmt: skip
