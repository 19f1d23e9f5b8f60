"""What is missing in a recorder's files, or was left out of them: notes that the tab shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ingest.recorder_files.decoding import RecorderFile
from tb_steptime.record.file import format as layout
from tb_steptime.text import Note, Quantity, count, nbytes
from tb_steptime.trace.loader_records import Produced, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


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
