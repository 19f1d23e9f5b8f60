"""Groups of blocking calls by their card (each group belongs to one card), and their names in cards."""

from __future__ import annotations

from typing import Literal

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


#: The card of a group of calls. Calls inside the backward pass and the optimizer's step are not visible in the script.
CallsOf = Literal["allocator", "backward", "optimizer", "pageable", "exchanged", "plain"]


def calls_of(host: HostResult, job: JobKind, card: CallsOf) -> list[BlockingRow]:
    return [row for row in host.blocking if _card_of(row, job) == card]


def _card_of(row: BlockingRow, job: JobKind) -> CallsOf:
    if row.kind == "allocator":
        return "allocator"
    if row.phase == "optimizer":
        return "optimizer"
    if row.phase == "backward" and row.site != "backward.loss":
        return "backward"
    # copies back to the host wait for the GPU's results, whether the memory is pinned or not
    if row.kind == "pageable_copy" and row.direction == "HtoD" and waiting_op(row).id == "copy":
        return "pageable"
    # at inference ranks agree on what to compute next, and this exchange cannot be postponed
    return "exchanged" if row.collective is not None and job.purpose != "inference" else "plain"


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
