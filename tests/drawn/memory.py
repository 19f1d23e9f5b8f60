"""What an allocator says, for drawn traces.

with_memory(trace, "a +64 @3, b +8 @5, a -64 @9")      address, bytes and microsecond of each, on the main thread
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import MemoryTable

_SAID = re.compile(r"(?P<address>\w+) (?P<bytes>[+-]\d+) @(?P<us>[\d.]+)(?: (?P<thread>\w+))?")
GPU, CPU = (1, 0), (0, -1)


def with_memory(
    trace: Trace,
    drawing: str,
    *,
    before: int = 0,
    reserved: int = 0,
    device: tuple[int, int] = GPU,
    totals: bool = True,
) -> Trace:
    """before: bytes allocated before the first event. reserved: constant, 0 for a device without a caching allocator.
    totals: whether addresses and totals are recorded, as since PyTorch 1.11. Events are added to those of the trace.
    """
    matches = [_SAID.fullmatch(each.strip()) for each in drawing.split(",")]
    rows = [each for each in matches if each]
    assert len(rows) == len(matches), drawing
    rows.sort(key=lambda row: float(row["us"]))
    addresses = {row["address"]: 4096 * place for place, row in enumerate(rows, 1)}
    size = np.array([int(row["bytes"]) for row in rows], np.int64)
    names, unsaid = [thread.tid for thread in trace.threads], np.full(len(rows), -1, np.int64)
    own = MemoryTable(
        ts=np.array([int(float(row["us"]) * 1000) for row in rows], np.int64),
        thread=np.array([names.index(row["thread"] or "main") for row in rows], np.int32),
        device_type=np.full(len(rows), device[0], np.int32),
        device=np.full(len(rows), device[1], np.int32),
        bytes=size,
        addr=np.array([addresses[row["address"]] for row in rows], np.int64) if totals else unsaid,
        allocated=before + np.cumsum(size) if totals else unsaid,
        reserved=np.full(len(rows), reserved, np.int64) if totals else unsaid,
    )
    tables = [trace.memory, own]
    columns = [np.concatenate(pieces) for pieces in zip(*map(msgspec.structs.astuple, tables), strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return replace(trace, memory=MemoryTable(*(column[order] for column in columns)), memo={})
