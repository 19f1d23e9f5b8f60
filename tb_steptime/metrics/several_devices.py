"""One process that drives several GPUs: do they work at the same time, and who holds whom up?

gpu0   kkkkkk      kkkkkk           concurrency = sum of busy / busy of the union: 1 in series, D perfect
gpu1         kkkkkk      kkkkkk
"""

from __future__ import annotations

import msgspec


class Holder(msgspec.Struct, frozen=True):
    """An op on behalf of one device that blocked the launching thread while another device was idle; ns per step."""

    op: str
    by_device: int
    idle_device: int
    idle_ns: int


class SeveralDevices(msgspec.Struct, frozen=True):
    """concurrency: mean number of devices at work while any works. busy_ns by device, per step."""

    devices: list[int]
    concurrency: float
    busy_ns: list[int]
    union_busy_ns: int
    holders: list[Holder]
