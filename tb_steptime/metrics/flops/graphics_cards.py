"""Peak rates of NVIDIA's graphics cards: multiprocessors x boost clock x operations of one multiprocessor per clock.

Sources: the specifications that NVIDIA prints for each GeForce and workstation card (CUDA cores, boost clock, memory
bandwidth), and the white papers of TU102, GA102, AD102 and RTX Blackwell for the operations per clock. The clock of a
laptop GPU depends on the laptop, so the highest printed boost clock is used. Of two cards with one name (RTX 3060 and
3060 Ti with two kinds of memory, RTX 3080 with 10 and 12 GB) the faster one is used. So a peak is never too low, and a
gain that is computed from it remains a bound.
"""

from __future__ import annotations

from typing import NamedTuple


class Rates(NamedTuple):
    """Operations of one multiprocessor per clock; a multiply and an add count as two. None: it has no such unit.

    half, tf32 and fp8 are those of the tensor cores with FP32 accumulation, which GeForce cards do at half the rate of
    workstation cards.
    """

    fp32: int
    half: int
    tf32: int | None
    plain_half: int
    fp8: int | None = None


RATES = {
    "Turing": Rates(128, 512, None, 256),
    "Turing, workstation": Rates(128, 1024, None, 256),
    "GA10x": Rates(256, 512, 256, 256),
    "GA10x, workstation": Rates(256, 1024, 512, 256),
    "Ada": Rates(256, 512, 256, 256, 1024),
    "Ada, workstation": Rates(256, 1024, 512, 256, 2048),
    "Blackwell": Rates(256, 512, 256, 256, 1024),
}


class Card(NamedTuple):
    """A graphics card. boost: clock in MHz; memory: bandwidth in GB/s."""

    chip: str
    multiprocessors: int
    boost: int
    memory: float


# fmt: off

#: By the device's name without the maker's.
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
    "A40": Card("GA10x, workstation", 84, 1740, 696.0),
    "RTX A4000": Card("GA10x, workstation", 48, 1560, 448.0),
    "RTX A5000": Card("GA10x, workstation", 64, 1695, 768.0),
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
    "L40": Card("Ada", 142, 2490, 864.0),  # at the rate of a GeForce card, as its data sheet says: 181 TFLOP/s
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
}
# fmt: on


def card_rates(device_name: str) -> dict[str, float | None] | None:
    """TFLOP/s by field of `Peaks`, and GB/s of memory; None if the name does not belong to a listed card."""
    card = CARDS.get(device_name.removeprefix("NVIDIA "))
    if card is None:
        return None
    tera = card.multiprocessors * card.boost / 1e6
    rates = {field: None if each is None else each * tera for field, each in RATES[card.chip]._asdict().items()}
    return {**rates, "memory": card.memory}
