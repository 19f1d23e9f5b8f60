"""Which GPU a name belongs to, and which peaks hold for each type of input."""

from __future__ import annotations

import pytest

from tb_steptime.errors import TraceError
from tb_steptime.metrics.flops.peaks import CARDS, PEAKS, Peaks, peaks_of
from tb_steptime.metrics.flops.peaks import RATES as RATES_OF_CARDS


@pytest.mark.parametrize(
    ("name", "half", "memory"),
    [
        ("NVIDIA A100-SXM4-40GB", 312.0, 1555.0),
        ("NVIDIA A100-SXM4-80GB", 312.0, 2039.0),
        ("NVIDIA A100 80GB PCIe", 312.0, 1935.0),
        ("NVIDIA H100 80GB HBM3", 989.0, 3350.0),
        ("NVIDIA H100 PCIe", 756.0, 2000.0),
        ("NVIDIA H100 NVL", 835.0, 3900.0),
        ("NVIDIA H200 NVL", 835.0, 4800.0),
        ("NVIDIA H200", 989.0, 4800.0),
        ("NVIDIA H800 PCIe", 756.0, 2000.0),
        ("NVIDIA A800 80GB PCIe", 312.0, 1935.0),
        ("NVIDIA A800-SXM4-80GB", 312.0, 2039.0),
        ("NVIDIA GH200 480GB", 990.0, 4000.0),
        ("NVIDIA B200", 2250.0, 8000.0),
        ("NVIDIA GB200", 2500.0, 8000.0),
        ("Tesla V100-SXM2-16GB", 125.0, 900.0),
        ("Tesla V100-PCIE-32GB", 112.0, 900.0),
        ("NVIDIA GeForce RTX 4090", pytest.approx(165.2, rel=0.005), 1008.0),
        ("AMD Instinct MI250X/MI250", 191.5, 1638.0),  # one die
        ("AMD Instinct MI250", 181.0, 1638.0),
        ("AMD Instinct MI325X", 1307.4, 6000.0),
    ],
)
def test_a_name_leads_to_its_data_sheet(name: str, half: float, memory: float):
    peaks = peaks_of(name)
    assert peaks is not None
    assert (peaks.half, peaks.memory) == (half, memory)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA A10G",
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA A100-SXM-64GB",
        "NVIDIA H100 64GB HBM2",
        "Tesla V100-FHHL-16GB",
        "Iluvatar BI-V100",
        "MR-V100",
        "NVIDIA GeForce RTX 5090 D",
        "NVIDIA GeForce GTX 1080 Ti",
        "GPU 0",
    ],
)
def test_others_have_none(name: str):
    assert peaks_of(name) is None


def test_peaks_may_be_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(
        "TB_STEPTIME_PEAKS", "a10g: half=70 fp32=31.2 memory=600 ; MIG 3g.20gb: half=134 fp32=8 memory=872 tf32=67;"
    )
    a10g, mig = peaks_of("NVIDIA A10G"), peaks_of("NVIDIA A100-SXM4-40GB MIG 3g.20gb")
    assert a10g == Peaks(31.2, 70.0, None, 4 * 31.2, 600.0)
    assert mig == Peaks(8.0, 134.0, 67.0, 32.0, 872.0)
    assert peaks_of("NVIDIA GeForce RTX 5090 D") is None
    assert peaks_of("NVIDIA B200") is not None


@pytest.mark.parametrize(
    "text",
    [
        "A10G",
        "A10G: half=70",
        "A10G: half=70 fp32=many memory=600",
        ": half=70 fp32=31.2 memory=600",
        "A10G: half=70 fp32=31.2 memory=0",
        "A10G: half=70 fp32=31.2 memory=600 fp65=1",
    ],
)
def test_what_was_told_in_other_words_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TB_STEPTIME_PEAKS", text)
    with pytest.raises(TraceError, match=r"TB_STEPTIME_PEAKS: The peak rates '.*' cannot be read"):
        peaks_of("NVIDIA A10G")


def test_fp32_is_held_against_tf32_only_where_it_is_used():
    h100, mi300 = peaks_of("NVIDIA H100 80GB HBM3"), peaks_of("AMD Instinct MI300X")
    assert h100 is not None
    assert mi300 is not None
    kinds = ("c10::BFloat16", 0), ("float", 1), ("float", 3), ("float", 0), ("c10::Float8_e4m3fn", 1), ("int", 1)
    assert [h100.roof(*kind) for kind in kinds] == [989.0, 494.0, 494.0 / 3, 67.0, 1979.0, None]
    assert [mi300.roof(*kind) for kind in kinds] == [1307.4, 163.4, 163.4, 163.4, 2614.9, None]


#: FLOPs per clock of an SM or compute unit: fp32, half, tf32, plain_half, fp64, fp64_tensor, fp8, fp32_matrix. From the
#: vendors' white papers; a multiply and an add count as two. The H800 has less FP64 than its chip could have.
RATES = {
    "Volta": (128, 1024, None, 256, 64, None, None, None),
    "Turing": (128, 1024, None, 256, None, None, None, None),
    "GA100": (128, 2048, 1024, 512, 64, 128, None, None),
    "GA102, A10": (256, 1024, 512, 256, None, None, None, None),
    "Hopper": (256, 4096, 2048, 512, 128, 256, 8192, None),
    "Hopper, H800": (256, 4096, 2048, 512, None, None, 8192, None),
    "Ada": (256, 1024, 512, 256, None, None, 2048, None),
    "Blackwell": (256, 8192, 4096, 512, 128, 128, 16384, None),
    "CDNA 2": (256, 1024, None, 512, 128, 256, None, 256),
    "CDNA 3": (256, 2048, 1024, 512, 128, 256, 4096, 256),
}
#: SMs or compute units, boost clock, and clock of the tensor cores, in MHz; for an MI250, of one die. The tensor cores'
#: clock of the NVL cards and both clocks of the GB200 are not published: they are derived from one rate of the data
#: sheet, and the other rates agree with them.
CHIPS = {
    "Tesla V100S-PCIE-32GB": ("Volta", 80, 1597, 1597),
    "Tesla V100-PCIE-16GB": ("Volta", 80, 1380, 1380),
    "Tesla V100-SXM2-32GB": ("Volta", 80, 1530, 1530),
    "Tesla T4": ("Turing", 40, 1590, 1590),
    "NVIDIA A100-SXM4-40GB": ("GA100", 108, 1410, 1410),
    "NVIDIA A100 80GB PCIe": ("GA100", 108, 1410, 1410),
    "NVIDIA A100-SXM4-80GB": ("GA100", 108, 1410, 1410),
    "NVIDIA A30": ("GA100", 56, 1440, 1440),
    "NVIDIA A10": ("GA102, A10", 72, 1695, 1695),
    "NVIDIA H100 PCIe": ("Hopper", 114, 1755, 1620),
    "NVIDIA H100 NVL": ("Hopper", 132, 1785, 1545),
    "NVIDIA H200 NVL": ("Hopper", 132, 1785, 1545),
    "NVIDIA H100 80GB HBM3": ("Hopper", 132, 1980, 1830),
    "NVIDIA H800 PCIe": ("Hopper, H800", 114, 1755, 1620),
    "NVIDIA H800": ("Hopper, H800", 132, 1980, 1830),
    "NVIDIA H200": ("Hopper", 132, 1980, 1830),
    "NVIDIA GH200 480GB": ("Hopper", 132, 1980, 1830),
    "NVIDIA GH200 144G HBM3e": ("Hopper", 132, 1980, 1830),
    "NVIDIA B200": ("Blackwell", 148, 1980, 1860),
    "NVIDIA GB200": ("Blackwell", 152, 2062, 2010),
    "NVIDIA L40S": ("Ada", 142, 2520, 2520),
    "NVIDIA L4": ("Ada", 58, 2040, 2040),
    "AMD Instinct MI325X": ("CDNA 3", 304, 2100, 2100),
    "AMD Instinct MI300X": ("CDNA 3", 304, 2100, 2100),
    "AMD Instinct MI250X": ("CDNA 2", 110, 1700, 1700),
    "AMD Instinct MI250": ("CDNA 2", 104, 1700, 1700),
    "AMD Instinct MI210": ("CDNA 2", 104, 1700, 1700),
}
#: Vector units run at the boost clock, matrix units at the tensor cores' clock; FP64 tensor cores (Hopper) at the
#: former.
CLOCKED = (
    ("fp32", 0), ("half", 1), ("tf32", 1), ("plain_half", 0), ("fp64", 0), ("fp64_tensor", 0), ("fp8", 1),
    ("fp32_matrix", 1),
)  # fmt: skip


@pytest.mark.parametrize("name", CHIPS)
def test_rates_are_units_by_clock_by_operations(name: str):
    architecture, units, *clocks = CHIPS[name]
    peaks = peaks_of(name)
    assert peaks is not None
    for (field, clock), rate in zip(CLOCKED, RATES[architecture], strict=True):
        if rate is not None:
            assert getattr(peaks, field) == pytest.approx(units * clocks[clock] * rate / 1e6, rel=0.02), field
        elif architecture != "Hopper, H800":
            assert getattr(peaks, field) is None, field


def test_every_listed_gpu_is_derived():
    used = {next(pattern for pattern, _ in PEAKS if pattern.search(name)) for name in CHIPS}
    assert used == {pattern for pattern, _ in PEAKS}


#: TFLOP/s of FP32, and of FP16 on tensor cores with FP32 accumulation, as the chips' white papers and the data sheets
#: print them. For Turing, those of the Founders Edition.
PRINTED = {
    "GeForce RTX 2080 Ti": (14.2, 56.9),
    "NVIDIA TITAN RTX": (16.3, 130.5),
    "Quadro RTX 8000": (16.3, 130.5),
    "NVIDIA GeForce RTX 3070": (20.3, 40.6),
    "NVIDIA GeForce RTX 3080 Ti": (34.1, 68.2),
    "NVIDIA GeForce RTX 3090": (35.6, 71.0),
    "NVIDIA A16": (4.5, 17.9),
    "NVIDIA A40": (37.4, 149.7),
    "NVIDIA RTX A2000 12GB": (8.0, 31.9),
    "NVIDIA RTX A4500": (23.7, 94.6),
    "NVIDIA RTX A5500": (34.1, 136.4),
    "NVIDIA RTX A6000": (38.7, 154.8),
    "NVIDIA L40": (90.5, 181.0),
    "NVIDIA RTX 2000 Ada Generation": (12.0, 48.0),
    "NVIDIA RTX 6000 Ada Generation": (91.1, 364.2),
    "NVIDIA GeForce RTX 4080": (48.7, 97.5),
    "NVIDIA GeForce RTX 4090": (82.6, 165.2),
    "NVIDIA GeForce RTX 5080": (56.3, 112.6),
    "NVIDIA GeForce RTX 5090": (104.8, 209.5),
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": (125.0, 503.8),
}


@pytest.mark.parametrize("name", PRINTED)
def test_graphics_cards_reach_what_their_maker_prints(name: str):
    peaks = peaks_of(name)
    assert peaks is not None
    assert (peaks.fp32, peaks.half) == pytest.approx(PRINTED[name], rel=0.01)


@pytest.mark.parametrize(
    ("name", "faster"),
    [("NVIDIA GeForce RTX 3060", False), ("NVIDIA L40", False), ("NVIDIA RTX A6000", True), ("NVIDIA A10", True)],
)
def test_tf32_is_no_faster_than_fp32_on_geforce_cards(name: str, faster: bool):
    peaks = peaks_of(name)
    assert peaks is not None
    assert peaks.tf32_is_faster == faster


def test_every_chip_of_a_graphics_card_has_rates():
    assert {card.chip for card in CARDS.values()} == RATES_OF_CARDS.keys()
