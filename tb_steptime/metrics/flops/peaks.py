"""The peak rates of GPUs, as data: without sparsity, at the boost clock, in TFLOP/s, and memory in GB/s.

Sources are the makers' data sheets and white papers, named on each line. Where these print a rate with sparsity, half
of it is used. Rates are SMs x boost clock x operations per clock, which the tests check within 2 %:

    H100 SXM   132 SMs x 1.83 GHz x 4096 = 989 TFLOP/s of BF16 on tensor cores

If a device is not listed, and the user has not given its peaks (`user_rates`), nothing is computed from them: no
proof, and no gain except that of tensor cores, for which a ratio of rates is enough (`device_ratios`). A part of a GPU
(MIG) has no peaks. The same holds for models of one data centre that share a name (A100 and H100 with 64 GB) and for
slower cards (V100 FHHL). GeForce and workstation cards have a table of their own.

The user may give peak rates in the environment variable `TB_STEPTIME_PEAKS`, for GPUs that are not listed or instead
of the rates of the data sheet.

TB_STEPTIME_PEAKS="A10G: half=70 fp32=31.2 memory=600; MIG 3g.20gb: half=134 fp32=8.4 memory=872"
                   ----  ------------------------------
                   part of the device's name, in any case      TFLOP/s, memory in GB/s: fields of `Peaks`

The rates of NVIDIA's graphics cards are multiprocessors x boost clock x operations of one multiprocessor per clock.
Sources are the specifications that NVIDIA prints for each GeForce and workstation card (CUDA cores, boost clock, memory
bandwidth), and the white papers of TU102, GA102, AD102 and RTX Blackwell for the operations per clock. The clock of a
laptop GPU depends on the laptop, so the highest printed boost clock is used. Of two cards with one name (RTX 3060 and
3060 Ti with two kinds of memory, RTX 3080 with 10 and 12 GB) the faster one is used. So a peak is never too low, and a
gain that is computed from it remains a bound.
"""

from __future__ import annotations

import functools
import math
import os
import re

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.text.patterns import expression
from tb_steptime.trace.compute_capability import vendor_of
from tb_steptime.trace.model import Trace


class Peaks(msgspec.Struct, frozen=True):
    """The peak rates of a device, in TFLOP/s except memory.

    fp32        without tensor cores
    half        FP16 or BF16 with FP32 accumulation on tensor cores
    tf32        FP32 inputs on tensor cores; None if the device has none
    plain_half  16-bit vectors without tensor cores: the faster of FP16 and BF16. AMD prints none for BF16, so the value
                is twice what two FP16 per lane would reach, so that a kernel without matrix cores is never taken for
                one with them
    fp64, fp64_tensor   without and with tensor cores; None if not known or absent
    memory      GB/s
    fp8         8-bit floats on tensor cores; None if not known or absent
    fp32_matrix FP32 on AMD's matrix cores; None if not known or absent
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
        """Whether TF32 is faster than FP32. GeForce cards multiply TF32 no faster than FP32 without tensor cores."""
        return self.tf32 is not None and self.tf32 > 1.1 * self.fp32

    def roof(self, dtype: str, products: int) -> float | None:
        """Returns the highest rate that a kernel with inputs of that type may reach; None if unknown.

        Halves and 8-bit floats are compared with tensor cores, whatever the kernel runs on. FP32 is compared with TF32
        only if the kernel uses it, because whether rounding is allowed is not a question of speed. products: the number
        of products on tensor cores for each one of the op, 0 without tensor cores.
        """
        if dtype in HALVES:
            return self.half
        if dtype.startswith("c10::Float8"):
            return self.fp8
        if dtype == "double":
            return self.fp64_tensor or self.fp64
        if dtype != "float" or self.fp32_matrix:
            return self.fp32_matrix if dtype == "float" else None
        return self.tf32 / products if products and self.tf32 else self.fp32

    def plain(self, dtype: str) -> float | None:
        """Returns the highest rate that kernels without tensor cores reach with inputs of that type; None if unknown.

        16-bit inputs may be widened and multiplied as FP32, so the faster of the two rates counts.
        """
        if dtype == "float":
            return self.fp32
        if dtype in HALVES:
            return max(self.fp32, self.plain_half)
        return self.fp64 if dtype == "double" else None


#: 16-bit floats as the profiler names them.
HALVES = ("c10::Half", "c10::BFloat16")

# fmt: off

#: (pattern of the device's name, peaks); the first match counts. A die of an MI250 is a device of its own. BI-V100 and
#: MR-V100 are Iluvatar's.
PEAKS = (
    (expression(r"(?<!BI-|MR-)V100S\b"), Peaks(16.4, 130.0, None, 32.8, 1134.0, 8.2)),  # V100 data sheet, V100S PCIe
    (expression(r"(?<!BI-|MR-)V100.*PCIE", re.I), Peaks(14.0, 112.0, None, 28.0, 900.0, 7.0)),  # V100 data sheet, PCIe
    (expression(r"(?<!BI-|MR-)V100(?!-FHHL)"), Peaks(15.7, 125.0, None, 31.4, 900.0, 7.8)),  # V100 data sheet, SXM2
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
    """Returns the peaks of one of the trace's devices; None if it is not described, or its name has none."""
    properties = trace.devices.get(device)
    return peaks_of(properties.name) if properties else None


def peaks_of(device_name: str) -> Peaks | None:
    """Returns the peaks of a device by its name: those that the user gives, or else those of its data sheet; None if
    the name is not listed, and for a part of a GPU (`... MIG 3g.20gb`). Raises TraceError if the user's text cannot be
    parsed."""
    by_user = user_rates(device_name)
    if by_user is not None:
        return Peaks(tf32=by_user.get("tf32"), **{name: rate for name, rate in by_user.items() if name != "tf32"})
    if " MIG " in device_name:
        return None
    card = card_rates(device_name)
    if card is not None:
        return Peaks(**card)  # type: ignore[arg-type]  # only tf32 and fp8 may be None
    return next((peaks for pattern, peaks in PEAKS if pattern.search(device_name)), None)


#: The least rates by compute capability, as multiples of FP32. Models of one capability differ, so these are of the
#: slowest: GeForce cards (7.5, 8.6, 8.9, 12.0) have half of the tensor-core rate of workstation cards (`RATES`), H20
#: (9.0) has 44 TFLOP/s of FP32 and 148 of BF16. No such model of B200 and B300 (10.0, 10.3) is known; half of B200's
#: ratio leaves room for one. The bandwidth of the memory is not known.
LEAST_RATIOS = {
    (7, 0): Peaks(1.0, 8.0, None, 2.0, math.inf),
    (7, 5): Peaks(1.0, 4.0, None, 2.0, math.inf),
    (8, 0): Peaks(1.0, 16.0, 8.0, 4.0, math.inf),
    (8, 6): Peaks(1.0, 2.0, 1.0, 1.0, math.inf),
    (8, 9): Peaks(1.0, 2.0, 1.0, 1.0, math.inf),
    (9, 0): Peaks(1.0, 3.0, 1.5, 2.0, math.inf),
    (10, 0): Peaks(1.0, 15.0, 7.5, 2.0, math.inf),
    (10, 3): Peaks(1.0, 15.0, 7.5, 2.0, math.inf),
    (12, 0): Peaks(1.0, 2.0, 1.0, 1.0, math.inf),
}
#: Models whose units are partly turned off, such as FP32 in mining cards and tensor cores in some MX cards.
_CUT_DOWN = expression(r"\b(?:CMP|MX\d+)\b")


def device_ratios(trace: Trace, device: int) -> Peaks | None:
    """Returns rates of which only the ratios mean anything, for a device with tensor cores whose peaks are not known:
    the least of its compute capability, or for a part of a GPU (MIG) those of the whole one. None if not known."""
    properties = trace.devices.get(device)
    if properties is None or properties.compute_capability is None:
        return None
    name, capability = properties.name, properties.compute_capability
    if vendor_of(name) != "nvidia" or _CUT_DOWN.search(name):
        return None
    whole = name.partition(" MIG ")[0]
    return (peaks_of(whole) if whole != name else None) or LEAST_RATIOS.get(capability)


VARIABLE = "TB_STEPTIME_PEAKS"

#: Required rates; the others are optional.
NEEDED = ("half", "fp32", "memory")
RATE_FIELDS = (*NEEDED, "tf32", "fp8", "fp64", "fp64_tensor", "fp32_matrix", "plain_half")

#: Multiple of FP32 that plain_half is if it is not given. It is the highest one of any listed GPU, so that a kernel
#: without tensor cores is never taken for one with them.
_PLAIN_HALF = 4.0
_RATE = expression(r"(\w+)=(\d+(?:\.\d+)?)")

Rates = dict[str, float]


def user_text() -> str:
    """Returns the value of the environment variable. Summaries that were measured under another value are measured
    again."""
    return os.environ.get(VARIABLE, "")


def user_rates(device_name: str) -> Rates | None:
    """Returns the user's rates by field of `Peaks`; None if the user gives none for such a device. Raises TraceError if
    the text is malformed."""
    declared = _read(user_text())
    return next((rates for name, rates in declared if name in device_name.lower()), None)


@functools.lru_cache(maxsize=8)
def _read(text: str) -> tuple[tuple[str, Rates], ...]:
    return tuple(_entry_rates(entry) for entry in text.split(";") if entry.strip())


def _entry_rates(entry: str) -> tuple[str, Rates]:
    name, _, text = entry.rpartition(":")
    matches = [_RATE.fullmatch(each) for each in text.split()]
    rates = {each[1]: float(each[2]) for each in matches if each}
    is_odd = None in matches or not name.strip() or not rates.keys() <= set(RATE_FIELDS)
    if is_odd or any(rates.get(each, 0.0) <= 0 for each in NEEDED):
        raise TraceError(
            f"The peak rates {entry.strip()!r} cannot be read",
            VARIABLE,
            'Write "part of the GPU\'s name: half=70 fp32=31.2 memory=600", in TFLOP/s and GB/s; '
            'several with ";" between.',
        )
    return name.strip().lower(), {"plain_half": _PLAIN_HALF * rates["fp32"], **rates}


class SmRates(msgspec.Struct, frozen=True):
    """Operations of one multiprocessor per clock. A multiply and an add count as two; None means that it has no such
    unit.

    half, tf32 and fp8 are those of the tensor cores with FP32 accumulation, which GeForce cards do at half the rate of
    workstation cards.
    """

    fp32: int
    half: int
    tf32: int | None
    plain_half: int
    fp8: int | None = None


RATES = {
    "Turing": SmRates(128, 512, None, 256),
    "Turing, workstation": SmRates(128, 1024, None, 256),
    "GA10x": SmRates(256, 512, 256, 256),
    "GA10x, workstation": SmRates(256, 1024, 512, 256),
    "Ada": SmRates(256, 512, 256, 256, 1024),
    "Ada, workstation": SmRates(256, 1024, 512, 256, 2048),
    "Blackwell": SmRates(256, 512, 256, 256, 1024),
    "Blackwell, workstation": SmRates(256, 1024, 512, 256, 2048),
}


class Card(msgspec.Struct, frozen=True):
    """A graphics card. boost: clock in MHz; memory: bandwidth in GB/s."""

    chip: str
    multiprocessors: int
    boost: int
    memory: float


# fmt: off

#: The cards, by the device's name without the maker's.
CARDS = {
    "GeForce RTX 2060": Card("Turing", 30, 1680, 336.0),
    "GeForce RTX 2060 SUPER": Card("Turing", 34, 1650, 448.0),
    "GeForce RTX 2070": Card("Turing", 36, 1710, 448.0),
    "GeForce RTX 2070 SUPER": Card("Turing", 40, 1770, 448.0),
    "GeForce RTX 2080": Card("Turing", 46, 1800, 448.0),
    "GeForce RTX 2080 SUPER": Card("Turing", 48, 1815, 496.0),
    "GeForce RTX 2080 Ti": Card("Turing", 68, 1635, 616.0),
    "TITAN RTX": Card("Turing, workstation", 72, 1770, 672.0),
    "Quadro RTX 5000": Card("Turing, workstation", 48, 1815, 448.0),
    "Quadro RTX 6000": Card("Turing, workstation", 72, 1770, 672.0),
    "Quadro RTX 8000": Card("Turing, workstation", 72, 1770, 672.0),
    "GeForce RTX 3050": Card("GA10x", 20, 1777, 224.0),
    "GeForce RTX 3050 Laptop GPU": Card("GA10x", 16, 1740, 192.0),
    "GeForce RTX 3050 Ti Laptop GPU": Card("GA10x", 20, 1695, 192.0),
    "GeForce RTX 3060": Card("GA10x", 28, 1777, 360.0),
    "GeForce RTX 3060 Laptop GPU": Card("GA10x", 30, 1703, 336.0),
    "GeForce RTX 3060 Ti": Card("GA10x", 38, 1665, 608.0),
    "GeForce RTX 3070": Card("GA10x", 46, 1725, 448.0),
    "GeForce RTX 3070 Laptop GPU": Card("GA10x", 40, 1620, 448.0),
    "GeForce RTX 3070 Ti": Card("GA10x", 48, 1770, 608.0),
    "GeForce RTX 3070 Ti Laptop GPU": Card("GA10x", 46, 1485, 448.0),
    "GeForce RTX 3080": Card("GA10x", 70, 1710, 912.0),
    "GeForce RTX 3080 Laptop GPU": Card("GA10x", 48, 1710, 448.0),
    "GeForce RTX 3080 Ti": Card("GA10x", 80, 1665, 912.0),
    "GeForce RTX 3080 Ti Laptop GPU": Card("GA10x", 58, 1590, 512.0),
    "GeForce RTX 3090": Card("GA10x", 82, 1695, 936.0),
    "GeForce RTX 3090 Ti": Card("GA10x", 84, 1860, 1008.0),
    "A2": Card("GA10x, workstation", 10, 1770, 200.0),
    "A16": Card("GA10x, workstation", 10, 1755, 200.0),  # one of its four GPUs
    "A40": Card("GA10x, workstation", 84, 1740, 696.0),
    "RTX A2000": Card("GA10x, workstation", 26, 1200, 288.0),
    "RTX A2000 12GB": Card("GA10x, workstation", 26, 1200, 288.0),
    "RTX A4000": Card("GA10x, workstation", 48, 1560, 448.0),
    "RTX A4500": Card("GA10x, workstation", 56, 1650, 640.0),
    "RTX A5000": Card("GA10x, workstation", 64, 1695, 768.0),
    "RTX A5500": Card("GA10x, workstation", 80, 1665, 768.0),
    "RTX A6000": Card("GA10x, workstation", 84, 1800, 768.0),
    "GeForce RTX 4050 Laptop GPU": Card("Ada", 20, 2370, 192.0),
    "GeForce RTX 4060": Card("Ada", 24, 2460, 272.0),
    "GeForce RTX 4060 Laptop GPU": Card("Ada", 24, 2370, 256.0),
    "GeForce RTX 4060 Ti": Card("Ada", 34, 2535, 288.0),
    "GeForce RTX 4070": Card("Ada", 46, 2475, 504.0),
    "GeForce RTX 4070 Laptop GPU": Card("Ada", 36, 2175, 256.0),
    "GeForce RTX 4070 SUPER": Card("Ada", 56, 2475, 504.0),
    "GeForce RTX 4070 Ti": Card("Ada", 60, 2610, 504.0),
    "GeForce RTX 4070 Ti SUPER": Card("Ada", 66, 2610, 672.0),
    "GeForce RTX 4080": Card("Ada", 76, 2505, 717.0),
    "GeForce RTX 4080 Laptop GPU": Card("Ada", 58, 2280, 432.0),
    "GeForce RTX 4080 SUPER": Card("Ada", 80, 2550, 736.0),
    "GeForce RTX 4090": Card("Ada", 128, 2520, 1008.0),
    "GeForce RTX 4090 D": Card("Ada", 114, 2520, 1008.0),
    "GeForce RTX 4090 Laptop GPU": Card("Ada", 76, 2040, 576.0),
    "L40": Card("Ada", 142, 2490, 864.0),  # its data sheet prints the rate of a GeForce card, 181 TFLOP/s
    "RTX 2000 Ada Generation": Card("Ada, workstation", 22, 2130, 224.0),
    "RTX 4000 Ada Generation": Card("Ada, workstation", 48, 2175, 360.0),
    "RTX 4500 Ada Generation": Card("Ada, workstation", 60, 2580, 432.0),
    "RTX 5000 Ada Generation": Card("Ada, workstation", 100, 2550, 576.0),
    "RTX 6000 Ada Generation": Card("Ada, workstation", 142, 2505, 960.0),
    "GeForce RTX 5050": Card("Blackwell", 20, 2572, 320.0),
    "GeForce RTX 5060": Card("Blackwell", 30, 2497, 448.0),
    "GeForce RTX 5060 Laptop GPU": Card("Blackwell", 26, 2497, 384.0),
    "GeForce RTX 5060 Ti": Card("Blackwell", 36, 2572, 448.0),
    "GeForce RTX 5070": Card("Blackwell", 48, 2512, 672.0),
    "GeForce RTX 5070 Laptop GPU": Card("Blackwell", 36, 2347, 384.0),
    "GeForce RTX 5070 Ti": Card("Blackwell", 70, 2452, 896.0),
    "GeForce RTX 5070 Ti Laptop GPU": Card("Blackwell", 46, 2220, 672.0),
    "GeForce RTX 5080": Card("Blackwell", 84, 2617, 960.0),
    "GeForce RTX 5080 Laptop GPU": Card("Blackwell", 60, 2287, 896.0),
    "GeForce RTX 5090": Card("Blackwell", 170, 2407, 1792.0),
    "GeForce RTX 5090 Laptop GPU": Card("Blackwell", 82, 2160, 896.0),
    "RTX PRO 6000 Blackwell Workstation Edition": Card("Blackwell, workstation", 188, 2617, 1792.0),
}
# fmt: on


def card_rates(device_name: str) -> dict[str, float | None] | None:
    """Returns the rates by field of `Peaks`, in TFLOP/s, memory in GB/s; None if the name does not belong to a listed
    card."""
    card = CARDS.get(device_name.removeprefix("NVIDIA "))
    if card is None:
        return None
    tera = card.multiprocessors * card.boost / 1e6
    of_chip = msgspec.structs.asdict(RATES[card.chip])
    rates = {field: None if each is None else each * tera for field, each in of_chip.items()}
    return {**rates, "memory": card.memory}
