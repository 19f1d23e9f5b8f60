"""Hardware counters of GPUs, sampled about every millisecond: samples in the order of the file -> columns sorted by
time.

    {"ph": "C", "pid": "GPU 0 Counters", "name": "SM Active (%)", "ts": 12.345, "args": {"": 61.5}}

Written by CUPTI's monitor, and by Kineto if metrics were requested. Counters from other sources, such as MTIA's queues,
have numeric process ids.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.device_tables import CounterTable
from tb_steptime.trace.kineto.inputs import Words
from tb_steptime.trace.kineto.numbers import floats, time_ns
from tb_steptime.trace.kineto.row_types import Counter

#: Maximum number of samples of a trace: a hundred seconds of ten counters. If there are more, every second one is
#: dropped until few enough are left.
MOST_SAMPLES = 2**20
#: Upper limit of a sample: far beyond what a GPU measures in any unit.
_MOST = 1e18

_GPU = expression(r"GPU (\d{1,3})(?: Counters)?")


def is_of_gpu(row: Counter) -> bool:
    return isinstance(row.pid, str) and isinstance(row.name, str) and _GPU.fullmatch(row.pid) is not None


class CounterColumns:
    """Columns that grow while a file is read, in its order. names: the counters' names. Samples without a time or
    number are left out."""

    def __init__(self) -> None:
        self._ts, self._value = array("q"), array("d")
        self._device, self._name = array("i"), array("i")
        self.names = Words()

    def add(self, rows: Sequence[Counter]) -> None:
        for row in rows:
            time, value = time_ns(row.ts), _value_of(row.args)
            device = _GPU.fullmatch(row.pid)
            if time is not None and value is not None and device is not None:
                self._ts.append(time)
                self._value.append(value)
                self._device.append(int(device[1]))
                self._name.append(self.names.number(row.name))

    def table(self, origin_ns: int, last_ns: int) -> CounterTable:
        """Samples within the recording, which begins at origin_ns and is last_ns long."""
        if not self._ts:
            empty = np.empty(0, np.int32)
            return CounterTable(empty, empty, np.empty(0, np.int64), np.empty(0, np.float64))
        ts = np.frombuffer(self._ts, np.int64) - origin_ns
        device, name = np.frombuffer(self._device, np.int32), np.frombuffer(self._name, np.int32)
        order = np.lexsort((ts, name, device))
        table = CounterTable(device, name, ts, np.frombuffer(self._value, np.float64)).where(order)
        table = table.where((table.ts >= 0) & (table.ts <= last_ns))
        while len(table) > MOST_SAMPLES:
            table = table.where(np.arange(0, len(table), 2))
        return table


def _value_of(args: object) -> float | None:
    """The only value, whatever its key: Kineto and the monitor write an empty one."""
    if not isinstance(args, dict) or len(args) != 1:
        return None
    (value,) = floats(list(args.values()))
    return value if math.isfinite(value) and abs(value) < _MOST else None
