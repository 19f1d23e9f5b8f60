"""All tables of the tab, and their heads with their meanings."""

from __future__ import annotations

from typing import Any

from tb_steptime.metrics.base import Metric
from tb_steptime.tables import collectives, data_loading, host, memory, ranks, tensor_cores
from tb_steptime.tables.base import Table
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.operators import LINES, MODULES, OPERATORS

_LISTED = (KERNELS, OPERATORS, LINES, MODULES)
_ROOMS = (tensor_cores, host, data_loading, collectives, memory, ranks)

#: Tables whose rows are types of results.
TABLES: tuple[Table[Any], ...] = (
    *_LISTED,
    *(each for room in _ROOMS for each in vars(room).values() if isinstance(each, Table)),
)
HEADS: tuple[Metric, ...] = (
    *(head for table in _LISTED for head in table.heads),
    *(metric for room in _ROOMS for metric in room.COLUMNS),
)
