"""Peak rates of GPUs, as data: dense, without sparsity, at the boost clock, in TFLOP/s; memory in GB/s.

Sources: the makers' data sheets and white papers, named on each line. Where a device is not listed nothing is computed
from peaks: no gain and no proof.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Peaks(NamedTuple):
    """TFLOP/s, but memory.

    fp32        without tensor cores
    half        FP16 or BF16 with FP32 accumulation on tensor cores
    tf32        FP32 inputs on tensor cores; None where absent
    plain_half  16-bit vectors without tensor cores: the faster of FP16 and BF16
    fp64, fp64_tensor   without and with tensor cores; None where not known or absent
    memory      GB/s
    """

    fp32: float
    half: float
    tf32: float | None
    plain_half: float
    memory: float
    fp64: float | None = None
    fp64_tensor: float | None = None

    def plain(self, dtype: str) -> float | None:
        """What kernels without tensor cores reach at most with inputs of that type; None where not known.

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

#: (pattern of the device's name, peaks); first match wins.
PEAKS = (
    (re.compile(r"V100"), Peaks(15.7, 125.0, None, 31.4, 900.0, 7.8)),  # V100 data sheet, SXM2
    (re.compile(r"\bT4\b"), Peaks(8.1, 65.0, None, 16.2, 320.0)),  # T4 data sheet, Turing white paper
    (re.compile(r"A100|PG509|A800"), Peaks(19.5, 312.0, 156.0, 78.0, 2039.0, 9.7, 19.5)),  # A100 white paper, 80 GB
    (re.compile(r"\bA10\b|A10G"), Peaks(31.2, 125.0, 62.5, 31.2, 600.0)),  # A10 data sheet
    (re.compile(r"\bA30\b"), Peaks(10.3, 165.0, 82.0, 41.2, 933.0, 5.2, 10.3)),  # A30 data sheet
    (re.compile(r"H100.*PCIe"), Peaks(51.0, 756.0, 378.0, 102.4, 2000.0, 26.0, 51.0)),  # H100 data sheet, PCIe
    (re.compile(r"H200"), Peaks(67.0, 989.0, 494.0, 133.8, 4800.0, 34.0, 67.0)),  # H200 data sheet
    (re.compile(r"H100|H800|GH200"), Peaks(67.0, 989.0, 494.0, 133.8, 3350.0, 34.0, 67.0)),  # H100 data sheet, SXM
    (re.compile(r"B200|GB200"), Peaks(75.0, 2250.0, 1125.0, 150.0, 8000.0, 37.0, 37.0)),  # DGX B200 data sheet, per GPU
    (re.compile(r"L40S"), Peaks(91.6, 362.0, 183.0, 91.6, 864.0)),  # L40S data sheet
    (re.compile(r"\bL4\b"), Peaks(30.3, 121.0, 60.0, 30.3, 300.0)),  # L4 data sheet
    (re.compile(r"RTX 3090"), Peaks(35.6, 71.0, 35.6, 35.6, 936.0)),  # GA102 white paper, FP32 accumulation
    (re.compile(r"RTX 4090"), Peaks(82.6, 165.2, 82.6, 82.6, 1008.0)),  # Ada white paper, FP32 accumulation
    (re.compile(r"MI300X"), Peaks(163.4, 1307.4, 653.7, 326.8, 5300.0, 81.7, 163.4)),  # MI300X data sheet
    (re.compile(r"MI250X?"), Peaks(47.9, 383.0, None, 191.5, 3277.0, 47.9, 95.7)),  # MI250X data sheet, both dies
    (re.compile(r"MI210"), Peaks(22.6, 181.0, None, 90.5, 1638.0, 22.6, 45.3)),  # MI210 data sheet
)
# fmt: on


def peaks_of(device_name: str) -> Peaks | None:
    """Peaks of a device by its name; None where the name is not listed."""
    return next((peaks for pattern, peaks in PEAKS if pattern.search(device_name)), None)
