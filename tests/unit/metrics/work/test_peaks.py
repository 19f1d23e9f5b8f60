"""Which GPU a name is of, and what holds for each type of input."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.work.peaks import peaks_of


@pytest.mark.parametrize(
    ("name", "half", "memory"),
    [
        ("NVIDIA A100-SXM4-40GB", 312.0, 1555.0),
        ("NVIDIA A100-SXM4-80GB", 312.0, 2039.0),
        ("NVIDIA A100 80GB PCIe", 312.0, 1935.0),
        ("NVIDIA H100 80GB HBM3", 989.0, 3350.0),
        ("NVIDIA H100 PCIe", 756.0, 2000.0),
        ("NVIDIA H100 NVL", 835.0, 3900.0),
        ("NVIDIA GH200 480GB", 990.0, 4000.0),
        ("NVIDIA B200", 2250.0, 8000.0),
        ("NVIDIA GB200", 2500.0, 8000.0),
        ("Tesla V100-SXM2-16GB", 125.0, 900.0),
        ("Tesla V100-PCIE-32GB", 112.0, 900.0),
        ("NVIDIA GeForce RTX 4090", 165.2, 1008.0),
        ("AMD Instinct MI250X/MI250", 191.5, 1638.0),  # a die
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
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "GPU 0",
    ],
)
def test_others_have_none(name: str):
    assert peaks_of(name) is None


def test_fp32_is_held_against_tf32_only_where_it_is_used():
    h100, mi300 = peaks_of("NVIDIA H100 80GB HBM3"), peaks_of("AMD Instinct MI300X")
    assert h100 is not None
    assert mi300 is not None
    kinds = (("c10::BFloat16", False), ("float", True), ("float", False), ("c10::Float8_e4m3fn", True), ("int", True))
    assert [h100.roof(*kind) for kind in kinds] == [989.0, 494.0, 67.0, 1979.0, None]
    assert [mi300.roof(*kind) for kind in kinds] == [1307.4, 163.4, 163.4, 2614.9, None]
