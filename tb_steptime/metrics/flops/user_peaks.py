"""Peak rates given by the user in the environment variable `TB_STEPTIME_PEAKS`: for GPUs that are not listed, or
instead of the rates of the data sheet.

TB_STEPTIME_PEAKS="A10G: half=70 fp32=31.2 memory=600; MIG 3g.20gb: half=134 fp32=8.4 memory=872"
                   ----  ------------------------------
                   part of the device's name, in any case      TFLOP/s, memory in GB/s: fields of `Peaks`
"""

from __future__ import annotations

import functools
import os

from tb_steptime.errors import TraceError
from tb_steptime.text.patterns import expression

VARIABLE = "TB_STEPTIME_PEAKS"

#: Required rates; the others are optional.
NEEDED = ("half", "fp32", "memory")
MAY_BE_TOLD = (*NEEDED, "tf32", "fp8", "fp64", "fp64_tensor", "fp32_matrix", "plain_half")

#: Value of plain_half if it is not given: the highest multiple of FP32 on any listed GPU, so that a kernel without
#: tensor cores is never taken for one with them.
_PLAIN_HALF = 4.0
_RATE = expression(r"(\w+)=(\d+(?:\.\d+)?)")

Rates = dict[str, float]


def user_text() -> str:
    """The value of the environment variable; summaries that were measured under another value are made again."""
    return os.environ.get(VARIABLE, "")


def user_rates(device_name: str) -> Rates | None:
    """The rates by field of `Peaks`; None if the user gives none for such a device. Raises TraceError if the text is
    malformed."""
    declared = _read(user_text())
    return next((rates for name, rates in declared if name in device_name.lower()), None)


@functools.lru_cache(maxsize=8)
def _read(text: str) -> tuple[tuple[str, Rates], ...]:
    return tuple(_one(entry) for entry in text.split(";") if entry.strip())


def _one(entry: str) -> tuple[str, Rates]:
    name, _, text = entry.rpartition(":")
    found = [_RATE.fullmatch(each) for each in text.split()]
    rates = {each[1]: float(each[2]) for each in found if each}
    is_odd = None in found or not name.strip() or not rates.keys() <= set(MAY_BE_TOLD)
    if is_odd or any(rates.get(each, 0.0) <= 0 for each in NEEDED):
        raise TraceError(
            f"The peak rates {entry.strip()!r} cannot be read",
            VARIABLE,
            'Write "part of the GPU\'s name: half=70 fp32=31.2 memory=600", in TFLOP/s and GB/s; '
            'several with ";" between.',
        )
    return name.strip().lower(), {"plain_half": _PLAIN_HALF * rates["fp32"], **rates}
