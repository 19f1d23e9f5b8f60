"""Peak rates of GPUs, as data: dense, without sparsity, at the boost clock, in TFLOP/s; memory in GB/s.

Sources: the makers' data sheets and white papers, named on each line. Where these print a rate with sparsity, half of
it is used. Rates are SMs x boost clock x operations per clock, which the tests check within 2 %:

    H100 SXM   132 SMs x 1.83 GHz x 4096 = 989 TFLOP/s of BF16 on tensor cores

If a device is not listed, and the user has not given its peaks (`user_rates`), nothing is computed from them: no gain,
no proof. A part of a GPU (MIG) has no peaks, nor do models of one data centre that share a name (A100 and H100 with 64
GB) and slower cards (V100 FHHL). GeForce and workstation cards are in `graphics_cards`.

The user may give peak rates in the environment variable `TB_STEPTIME_PEAKS`, for GPUs that are not listed or instead
of the rates of the data sheet.

TB_STEPTIME_PEAKS="A10G: half=70 fp32=31.2 memory=600; MIG 3g.20gb: half=134 fp32=8.4 memory=872"
                   ----  ------------------------------
                   part of the device's name, in any case      TFLOP/s, memory in GB/s: fields of `Peaks`
"""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple

from tb_steptime.errors import TraceError
from tb_steptime.metrics.flops.graphics_cards import card_rates
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace


class Peaks(NamedTuple):
    """Rates in TFLOP/s, except memory.

    fp32        without tensor cores
    half        FP16 or BF16 with FP32 accumulation on tensor cores
    tf32        FP32 inputs on tensor cores; None where absent
    plain_half  16-bit vectors without tensor cores: the faster of FP16 and BF16. AMD prints none for BF16, so the value
                is twice what two FP16 per lane would reach, so that a kernel without matrix cores is never taken for
                one with them
    fp64, fp64_tensor   without and with tensor cores; None where not known or absent
    memory      GB/s
    fp8         8-bit floats on tensor cores; fp32_matrix: FP32 on AMD's matrix cores; None where not known or absent
    """

    fp32: float
    half: float
    tf32: float | None
    plain_half: float
    memory: float
    fp64: float | None = None
    fp64_tensor: float | None = None
    fp8: float | None = None
    fp32_matrix: float | None = None

    @property
    def tf32_is_faster(self) -> bool:
        """Whether TF32 is faster than FP32: GeForce cards multiply TF32 no faster than FP32 without tensor cores."""
        return self.tf32 is not None and self.tf32 > 1.1 * self.fp32

    def roof(self, dtype: str, tensor_cores: bool) -> float | None:
        """The rate that a kernel with inputs of that type may reach at most; None if unknown.

        Halves and 8-bit floats are compared with tensor cores whatever the kernel runs on, FP32 with TF32
        only where the kernel uses it: whether rounding is allowed is not a question of speed.
        """
        if dtype in HALVES:
            return self.half
        if dtype.startswith("c10::Float8"):
            return self.fp8
        if dtype == "double":
            return self.fp64_tensor or self.fp64
        if dtype != "float" or self.fp32_matrix:
            return self.fp32_matrix if dtype == "float" else None
        return self.tf32 if tensor_cores and self.tf32 else self.fp32

    def plain(self, dtype: str) -> float | None:
        """The rate that kernels without tensor cores reach at most with inputs of that type; None if unknown.

        16-bit inputs may be widened and multiplied as FP32, so the faster of both counts.
        """
        if dtype == "float":
            return self.fp32
        if dtype in HALVES:
            return max(self.fp32, self.plain_half)
        return self.fp64 if dtype == "double" else None


#: 16-bit floats as the profiler names them.
HALVES = ("c10::Half", "c10::BFloat16")

# fmt: off

#: (pattern of the device's name, peaks); the first match counts. A die of an MI250 is a device of its own.
PEAKS = (
    (expression(r"V100S\b"), Peaks(16.4, 130.0, None, 32.8, 1134.0, 8.2)),  # V100 data sheet, V100S PCIe
    (expression(r"V100.*PCIE", re.I), Peaks(14.0, 112.0, None, 28.0, 900.0, 7.0)),  # V100 data sheet, PCIe
    (expression(r"V100(?!-FHHL)"), Peaks(15.7, 125.0, None, 31.4, 900.0, 7.8)),  # V100 data sheet, SXM2
    (expression(r"\bT4\b"), Peaks(8.1, 65.0, None, 16.2, 320.0)),  # T4 data sheet, Turing white paper
    (expression(r"A[18]00.*40GB"), Peaks(19.5, 312.0, 156.0, 78.0, 1555.0, 9.7, 19.5)),  # A100 data sheet, 40 GB
    (expression(r"A[18]00.*PCIe"), Peaks(19.5, 312.0, 156.0, 78.0, 1935.0, 9.7, 19.5)),  # A100 data sheet, 80 GB PCIe
    (expression(r"A[18]00(?!-SXM-64GB)|PG509"), Peaks(19.5, 312.0, 156.0, 78.0, 2039.0, 9.7, 19.5)),  # A100 data sheet
    (expression(r"\bA10\b"), Peaks(31.2, 125.0, 62.5, 31.2, 600.0)),  # A10 data sheet
    (expression(r"\bA30\b"), Peaks(10.3, 165.0, 82.0, 41.2, 933.0, 5.2, 10.3)),  # A30 data sheet
    (expression(r"H100 NVL"), Peaks(60.0, 835.0, 417.0, 120.0, 3900.0, 30.0, 60.0, 1671.0)),  # H100 data sheet, NVL
    (expression(r"H100.*PCIe"), Peaks(51.0, 756.0, 378.0, 102.4, 2000.0, 26.0, 51.0, 1513.0)),  # H100 data sheet, PCIe
    (expression(r"GH200.*144G"), Peaks(67.0, 990.0, 494.0, 133.8, 4900.0, 34.0, 67.0, 1979.0)),  # GH200 data sheet
    (expression(r"GH200"), Peaks(67.0, 990.0, 494.0, 133.8, 4000.0, 34.0, 67.0, 1979.0)),  # GH200 data sheet, 96 GB
    (expression(r"H200 NVL"), Peaks(60.0, 835.0, 417.0, 120.0, 4800.0, 30.0, 60.0, 1671.0)),  # H200 data sheet, NVL
    (expression(r"H200"), Peaks(67.0, 989.0, 494.0, 133.8, 4800.0, 34.0, 67.0, 1979.0)),  # H200 data sheet
    (expression(r"H800.*PCIe"), Peaks(51.0, 756.0, 378.0, 102.4, 2000.0, 0.8, 0.8, 1513.0)),  # H800 data sheet, PCIe
    (expression(r"H800"), Peaks(67.0, 989.0, 494.0, 133.8, 3350.0, 1.0, 1.0, 1979.0)),  # H800 data sheet, SXM
    (expression(r"H100(?! 64GB)"), Peaks(67.0, 989.0, 494.0, 133.8, 3350.0, 34.0, 67.0, 1979.0)),  # H100, SXM
    (expression(r"GB200"), Peaks(80.0, 2500.0, 1250.0, 160.0, 8000.0, 40.0, 40.0, 5000.0)),  # GB200 NVL72, per GPU
    (expression(r"B200"), Peaks(75.0, 2250.0, 1125.0, 150.0, 8000.0, 37.0, 37.0, 4500.0)),  # DGX B200, per GPU
    (expression(r"L40S"), Peaks(91.6, 362.0, 183.0, 91.6, 864.0, fp8=733.0)),  # L40S data sheet
    (expression(r"\bL4\b"), Peaks(30.3, 121.0, 60.0, 30.3, 300.0, fp8=242.0)),  # L4 data sheet
    # MI325X, MI300X, MI250X, MI250 and MI210 data sheets; FP32 on matrix cores after FP8. FP32 of CDNA 2 is that of
    # packed instructions (CDNA 2 white paper), twice what the data sheets print for vectors.
    (expression(r"MI325X"), Peaks(163.4, 1307.4, 653.7, 326.8, 6000.0, 81.7, 163.4, 2614.9, 163.4)),
    (expression(r"MI300X"), Peaks(163.4, 1307.4, 653.7, 326.8, 5300.0, 81.7, 163.4, 2614.9, 163.4)),
    (expression(r"MI250X"), Peaks(47.9, 191.5, None, 95.7, 1638.0, 23.9, 47.9, None, 47.9)),
    (expression(r"MI250"), Peaks(45.3, 181.0, None, 90.5, 1638.0, 22.6, 45.3, None, 45.3)),
    (expression(r"MI210"), Peaks(45.3, 181.0, None, 90.5, 1638.0, 22.6, 45.3, None, 45.3)),
)
# fmt: on


def device_peaks(trace: Trace, device: int) -> Peaks | None:
    """Peaks of one of the trace's devices; None if it is not described, or has none by its name."""
    known = trace.devices.get(device)
    return peaks_of(known.name) if known else None


def peaks_of(device_name: str) -> Peaks | None:
    """Peaks of a device by its name: those given by the user, or else those of its data sheet. None if the name is not
    listed, or for a part of a GPU (`... MIG 3g.20gb`). Raises TraceError if the user's text cannot be parsed."""
    by_user = user_rates(device_name)
    if by_user is not None:
        return Peaks(tf32=by_user.get("tf32"), **{name: rate for name, rate in by_user.items() if name != "tf32"})
    if " MIG " in device_name:
        return None
    card = card_rates(device_name)
    if card is not None:
        return Peaks(**card)  # type: ignore[arg-type]  # only tf32 and fp8 may be None
    return next((peaks for pattern, peaks in PEAKS if pattern.search(device_name)), None)


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
