"""The heads of the tab's tables, with what they mean."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.tables import collectives, data_loading, host, memory, ranks, roofline, tensor_cores
from tb_steptime.tables.blocking import BLOCKING
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.modules import MODULES
from tb_steptime.tables.operators import OPERATORS

_TABLES = (KERNELS, OPERATORS, MODULES, BLOCKING)
#: Those that only the tab shows.
_ROOMS = (roofline, tensor_cores, host, data_loading, collectives, memory, ranks)

HEADS: tuple[Metric, ...] = (
    *(head for table in _TABLES for head in table.heads),
    *(metric for room in _ROOMS for metric in room.COLUMNS),
)
