"""Sends and receives, which two ranks share: not matched, but summed apart from what whole groups exchange."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.instances import Instances
from tb_steptime.ranks.result import Messages
from tb_steptime.trace.table import Int64


def messages(ranks: Sequence[Instances]) -> list[Messages]:
    """By group and size, most exposed first."""
    sums: dict[tuple[str | None, int | None], list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in ranks:
        for number, one in enumerate(each.classes):
            if one.kind == "send_receive":
                rows = np.flatnonzero(each.of == number)
                _add(sums[_group(each, rows), one.bytes], each, rows)
    found = [
        Messages(*key, count, running, exposed, running - exposed) for key, (count, running, exposed) in sums.items()
    ]
    return sorted(found, key=lambda row: (-row.exposed_ns, row.group or "", row.bytes or 0))


def _group(each: Instances, rows: Int64) -> str | None:
    return each.groups[int(each.group[rows[0]])].name if len(rows) else None


def _add(sums: list[int], each: Instances, rows: Int64) -> None:
    sums[0] += len(rows)
    sums[1] += int(each.length[rows].sum())
    sums[2] += int(each.exposed[rows].sum())
