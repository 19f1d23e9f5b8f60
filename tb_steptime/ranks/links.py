"""Peak rates of links that the user states in the environment variable `TB_STEPTIME_LINKS`: a trace does not say how
GPUs are connected.

TB_STEPTIME_LINKS="machine=450 network=50"
                   -----------              within a machine: NVLink of an H100 carries 450 GB/s each way
                               ----------   between machines: a GPU's share of the network, 400 Gbit/s each way

A process group on several machines is compared with the network, the slower part of its path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

VARIABLE = "TB_STEPTIME_LINKS"
_RATE = re.compile(r"(machine|network)=(\d{1,7}(?:\.\d{1,6})?)")
_BYTES = 1e9


class Links(msgspec.Struct, frozen=True):
    """Bytes a second of each GPU in one direction; None where not stated. odd: the text cannot be read."""

    machine: float | None = None
    network: float | None = None
    odd: bool = False

    def peak(self, hosts: Sequence[str | None]) -> float | None:
        """Returns the peak rate for a group, given the machine of each of its ranks. Where a machine is unknown (None),
        returns the stated rate if only one is stated.

        >>> Links(450e9, 50e9).peak(["a", "a"]), Links(450e9, 50e9).peak(["a", "b"]), Links(450e9).peak([None, None])
        (450000000000.0, 50000000000.0, 450000000000.0)
        """
        known = {host for host in hosts if host is not None}
        if len(known) > 1:
            return self.network
        if len(known) == 1 and None not in hosts:
            return self.machine
        rates = [rate for rate in (self.machine, self.network) if rate is not None]
        return rates[0] if len(rates) == 1 else None


def user_links() -> Links:
    return links_of(os.environ.get(VARIABLE, ""))


def links_of(text: str) -> Links:
    """Reads the peak rates of links that the environment states.

    >>> links_of("machine=450"), links_of("450")
    (Links(machine=450000000000.0, network=None, odd=False), Links(machine=None, network=None, odd=True))
    """
    found = [_RATE.fullmatch(each) for each in text.split()]
    rates = {each[1]: float(each[2]) * _BYTES for each in found if each}
    if None in found or not all(rates.values()):
        return Links(odd=True)
    return Links(rates.get("machine"), rates.get("network"))
