"""Peak rates of GPUs, as data: dense, without sparsity, in TFLOP/s. Sources: the makers' data sheets.

Only ratios are used, for the most that tensor cores could win; where a device is not listed no gain is computed.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Peaks(NamedTuple):
    """fp32: without tensor cores; half: FP16 or BF16 with FP32 accumulation on tensor cores; tf32: None where
    absent."""

    fp32: float
    half: float
    tf32: float | None


#: (pattern of the device's name, peaks); first match wins.
PEAKS = (
    (re.compile(r"V100"), Peaks(15.7, 125.0, None)),  # V100 SXM2 data sheet
    (re.compile(r"\bT4\b"), Peaks(8.1, 65.0, None)),  # T4 data sheet
    (re.compile(r"A100|PG509"), Peaks(19.5, 312.0, 156.0)),  # A100 data sheet
    (re.compile(r"A800"), Peaks(19.5, 312.0, 156.0)),
    (re.compile(r"\bA10\b|A10G"), Peaks(31.2, 125.0, 62.5)),  # A10 data sheet
    (re.compile(r"\bA30\b"), Peaks(10.3, 165.0, 82.0)),  # A30 data sheet
    (re.compile(r"H100.*PCIe"), Peaks(51.0, 756.0, 378.0)),  # H100 data sheet, PCIe column without sparsity
    (
        re.compile(r"H100|H200|H800|GH200"),
        Peaks(67.0, 989.0, 494.0),
    ),  # H100 and H200 data sheets, SXM, without sparsity
    (re.compile(r"B200|GB200"), Peaks(75.0, 2250.0, 1125.0)),  # DGX B200 data sheet, per GPU, without sparsity
    (re.compile(r"L40S"), Peaks(91.6, 362.0, 183.0)),  # L40S data sheet
    (re.compile(r"\bL4\b"), Peaks(30.3, 121.0, 60.0)),  # L4 data sheet, without sparsity
    (re.compile(r"RTX 3090"), Peaks(35.6, 71.0, 35.6)),  # GA102 white paper, FP32 accumulation
    (re.compile(r"RTX 4090"), Peaks(82.6, 165.2, 82.6)),  # Ada white paper, FP32 accumulation
    (re.compile(r"MI300X"), Peaks(163.4, 1307.4, 653.7)),  # MI300X data sheet
    (re.compile(r"MI250X?"), Peaks(47.9, 383.0, None)),  # MI250X data sheet, both dies
    (re.compile(r"MI210"), Peaks(22.6, 181.0, None)),  # MI210 data sheet
)


def peaks_of(device_name: str) -> Peaks | None:
    """Peaks of a device by its name; None where the name is not listed."""
    return next((peaks for pattern, peaks in PEAKS if pattern.search(device_name)), None)
