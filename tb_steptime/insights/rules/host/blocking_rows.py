"""Groups of blocking calls by their card (each group belongs to one card), and their names in cards."""

from __future__ import annotations

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights.rules.host.waiting_ops import waiting_op
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.phases.marks import without_engine
from tb_steptime.text import shortened
from tb_steptime.text.patterns import expression

#: Maximum lengths of names of ops and of places. Longer names would push the number out of a card's two lines.
NAME_LENGTH, PLACE_LENGTH = 28, 36

_FOLDER = expression(r"^.*[/\\]")


def allocations(host: HostResult) -> list[BlockingRow]:
    return [row for row in host.blocking if row.kind == "allocator"]


def hidden(host: HostResult, phase: str) -> list[BlockingRow]:
    """Returns calls that are not visible in the training script: those inside a backward pass or an optimizer step."""
    return [row for row in host.blocking if row.kind != "allocator" and _hidden_in(row) == phase]


def pageable(host: HostResult) -> list[BlockingRow]:
    """Returns copies of pageable memory to the device. Copies back to the host are left out: they wait for the GPU's
    results, whether the memory is pinned or not."""
    return [row for row in host.blocking if _is_pageable(row)]


def exchanged(host: HostResult, job: JobKind) -> list[BlockingRow]:
    """Returns waits of a training script for data that the ranks exchange just before."""
    return [row for row in _asked_for(host) if _is_exchanged(row, job)]


def plain(host: HostResult, job: JobKind) -> list[BlockingRow]:
    """Returns all other calls: waits that the training script itself makes."""
    return [row for row in _asked_for(host) if not _is_exchanged(row, job)]


def _asked_for(host: HostResult) -> list[BlockingRow]:
    rows = [row for row in host.blocking if row.kind != "allocator" and _hidden_in(row) is None]
    return [row for row in rows if not _is_pageable(row)]


def _is_exchanged(row: BlockingRow, job: JobKind) -> bool:
    """Whether the call waits for data that ranks exchange. False at inference: there the ranks agree on what to compute
    next, and this exchange cannot be postponed."""
    return row.collective is not None and job.purpose != "inference"


def bubble_ns(rows: list[BlockingRow]) -> int:
    return sum(row.bubble_ns for row in rows)


def name_of(row: BlockingRow) -> str:
    """Returns the op that reads the GPU's results, whatever op it is in. Otherwise returns the outermost op, which the
    user knows; an autograd node is skipped, because no script calls it."""
    outer = row.outer_op if row.outer_op and row.outer_op.startswith("aten::") else None
    return brief(row.reads or outer or row.op or row.call)


def place_of(row: BlockingRow) -> str | None:
    """Returns the line of the call, else the module, range or other op around it. In the backward pass, the line,
    module or op of the forward pass comes first."""
    within = row.outer_op if row.reads and row.outer_op and row.outer_op not in (row.reads, row.op) else None
    known = (row.forward_source, row.forward_module, row.forward_op, row.source, row.user_range, row.module, within)
    name = next((name for name in known if name), None)
    return brief(name, PLACE_LENGTH) if name else None


def brief(name: str, length: int = NAME_LENGTH) -> str:
    """Returns the name as it fits a card: without folders and the engine's prefix, shortened in the middle."""
    return shortened(without_engine(_FOLDER.sub("", name)), length)


def _hidden_in(row: BlockingRow) -> str | None:
    if row.phase == "optimizer":
        return "optimizer"
    return "backward" if row.phase == "backward" and row.site != "backward.loss" else None


def _is_pageable(row: BlockingRow) -> bool:
    to_device = row.kind == "pageable_copy" and row.direction == "HtoD"
    return to_device and _hidden_in(row) is None and waiting_op(row).id == "copy"
