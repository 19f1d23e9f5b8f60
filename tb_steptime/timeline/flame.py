"""The flame graph, from the event file: a tree for each grouping, and for each way of counting the backward pass.

flame.stack.ran.parent, .label, .merged, .calls   each frame; a parent comes before its children
flame.stack.ran.device, .host, ...          including everything below; one column for each measure that the trace has
flame.label.kind, .text                     of each label: place in FRAME_KINDS, number of a string
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.flame import (
    FRAME_KINDS,
    MEASURES,
    SMALLEST,
    FlameBy,
    FlameTree,
    FrameKind,
    Labels,
    Measure,
    flame_tree,
)
from tb_steptime.metrics.operators.keys import OpsRecorded, recorded
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32, Int64


class FlamePage(msgspec.Struct, frozen=True):
    """Call paths folded over the steps. Each column is a text of whole numbers with commas between, one per frame: a
    parent comes before its children, the first is the whole. The tab reads a text many times as fast as a list, and
    only the columns that it draws.

    smallest          frames below 1/smallest of the whole are merged
    parent            place; -1 of the whole
    label             place in kinds and names
    merged            how many frames a frame of kind "smaller" stands for; 0 for others
    calls             how often it was called in the steps; 0 where that is not known
    device_ns, ...    of the frame and all below it; None where the trace does not tell
    """

    by: FlameBy
    where: Where
    smallest: int
    kinds: list[FrameKind]
    names: list[str]
    parent: str
    label: str
    merged: str
    calls: str
    host_ns: str
    device_ns: str | None
    idle_ns: str | None
    allocated_bytes: str | None


def column_text(values: Int32 | Int64) -> str:
    """Returns the numbers with commas between them.

    -1, 0, 1  ->  "-1,0,1"
    """
    return msgspec.json.encode(values.tolist())[1:-1].decode()


def numbers_of(text: str) -> Int64:
    return np.array(msgspec.json.decode(f"[{text}]", type=list[int]), np.int64)


def page_of(
    tree: FlameTree, labels: Sequence[tuple[FrameKind, str]], by: FlameBy, where: Where, smallest: int
) -> FlamePage:
    """Returns the page of a tree. labels: kind and name of each label of the tree."""
    device, host, idle, allocated = (column_text(tree.total[each]) if each in tree.total else None for each in MEASURES)
    return FlamePage(
        by=by,
        where=where,
        smallest=smallest,
        kinds=[kind for kind, _ in labels],
        names=[name for _, name in labels],
        parent=column_text(tree.parent),
        label=column_text(tree.label),
        merged=column_text(tree.merged),
        calls=column_text(tree.calls),
        host_ns=host or "",
        device_ns=device,
        idle_ns=idle,
        allocated_bytes=allocated,
    )


def totals_of(page: FlamePage) -> dict[Measure, Int64]:
    """Returns the totals in the tree's form, for the measures that the page has."""
    columns: dict[Measure, str | None] = {
        "device": page.device_ns, "host": page.host_ns, "idle": page.idle_ns, "bytes": page.allocated_bytes,
    }  # fmt: skip
    return {measure: numbers_of(values) for measure, values in columns.items() if values is not None}


def flame_choices(facts: OpsRecorded) -> list[tuple[FlameBy, Where]]:
    """Returns the trees that a recording has."""
    recorded_by: dict[FlameBy, bool] = {"stack": facts.stacks, "module": facts.modules, "op": facts.ops}
    directions: tuple[Where, ...] = ("ran", "made") if facts.backward else ("ran",)
    return [(by, where) for where in directions for by, is_there in recorded_by.items() if is_there]


def write_flames(trace: Trace, columns: Columns, names: int) -> list[str]:
    """Writes the trees, and returns the strings that they add. names: number of existing strings."""
    labels = Labels()
    for by, where in flame_choices(recorded(trace)):
        tree, stem = flame_tree(trace, by, where, labels), f"flame.{by}.{where}"
        for column in ("parent", "label", "merged", "calls"):
            columns.add(f"{stem}.{column}", getattr(tree, column))
        for measure, values in tree.total.items():
            columns.add(f"{stem}.{measure}", values)
    columns.add("flame.label.kind", np.array([FRAME_KINDS.index(kind) for kind in labels.kinds], np.uint8))
    columns.add("flame.label.text", np.arange(names, names + len(labels.texts), dtype=np.int32))
    return labels.texts


def flame_page(events: EventFile, by: str, where: str) -> FlamePage | None:
    """Returns the page of a tree, or None if there is no such tree. It contains only the labels of this tree."""
    stem = f"flame.{by}.{where}"
    if not events.has(f"{stem}.parent"):
        return None
    used, label = np.unique(events.column(f"{stem}.label"), return_inverse=True)
    kinds, texts = (events.column(f"flame.label.{column}")[used].tolist() for column in ("kind", "text"))
    labels = [(FRAME_KINDS[kind], events.string(text)) for kind, text in zip(kinds, texts, strict=True)]
    parent, merged, calls = (events.column(f"{stem}.{column}") for column in ("parent", "merged", "calls"))
    total = {name: events.column(f"{stem}.{name}") for name in MEASURES if events.has(f"{stem}.{name}")}
    tree = FlameTree(parent, label.reshape(-1).astype(np.int32), merged, calls, total)
    return page_of(tree, labels, by, where, SMALLEST)  # type: ignore[arg-type]
