"""All tables of the tab, and their heads with their meanings."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from tb_steptime.metrics.base import Metric
from tb_steptime.tables import collectives, data_loading, host, memory, ranks, tensor_cores
from tb_steptime.tables.base import Table
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.operators import LINES, MODULES, OPERATORS

_LISTED = (KERNELS, OPERATORS, LINES, MODULES)
_ROOMS = (tensor_cores, host, data_loading, collectives, memory, ranks)


def _tables(room: ModuleType) -> list[Table[Any]]:
    return [each for each in vars(room).values() if isinstance(each, Table)]


def _heads(tables: Iterable[Table[Any]]) -> list[Metric]:
    return [head for table in tables for head in table.heads]


#: Tables whose rows are types of results.
TABLES: tuple[Table[Any], ...] = (*_LISTED, *(table for room in _ROOMS for table in _tables(room)))
#: The heads of all columns. A module with COLUMNS has heads that belong to no table, too, and sets the order there.
HEADS: tuple[Metric, ...] = (
    *_heads(_LISTED),
    *(metric for room in _ROOMS for metric in getattr(room, "COLUMNS", None) or _heads(_tables(room))),
)
