"""What leaves the memory of a drawn GPU for that of the host, how much is copied, and how long that takes."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.memory import device_fits
from tb_steptime.metrics.memory.curves import Place
from tb_steptime.metrics.memory.fit.checkpoints import NO_MODULES
from tb_steptime.metrics.memory.fit.predictions import FitSetting
from tb_steptime.metrics.memory.fit.states import NO_COPIES, NO_TIME, CopiedBytes, CopyRates, copy_rates
from tb_steptime.terminal.memory_report import SpanFit, fit_text
from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, GPU
from tests.drawn.module_training import DRAWN, NAMES, training

DEVICE = Place(*GPU)
STEPPED = "\n    user Optimizer.step#AdamW.step | .......................o |"
COPIES = "\n    memcpy 7 | ccccdd.................. |"
LARGE = {"c": 1_000_000, "d": 1_000_000}
TO_DEVICE, TO_HOST = "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"


def on_gpu(
    names: dict[str, str] | None = None, nbytes: dict[str, int] | None = None, device: tuple[int, int] = GPU
) -> Trace:
    """With the optimizer's step, and copies of 4 us to the GPU and of 2 us to the host."""
    drawn = DRAWN + STEPPED + COPIES
    return training(
        {**NAMES, "c": TO_DEVICE, "d": TO_HOST, **(names or {})}, device=device, drawn=drawn, nbytes=nbytes or LARGE
    )


def offloaded(trace: Trace) -> dict[str, FitSetting]:
    (fit,) = device_fits(trace)
    return {each.label: each for each in fit.settings if "on the CPU" in each.label}


def test_activations_leave_with_the_call_of_their_block_and_are_back_for_their_nodes():
    """p and t leave at 7 us and are back at 18, r and s leave at 13 and are back at 14: at 5 us, 1 000 + 400 + 1 600 +
    3 200 + 1 600 bytes are left, and at 20 us 4 more of the loss and 1 600 of v instead of q. 8 000 bytes are copied
    each way, at 250 and at 500 GB/s: 32 + 16 ns."""
    found = offloaded(on_gpu())["Activations on the CPU"]
    assert (found.peak_bytes, found.low_bytes, found.high_bytes) == (7_804, 7_023, 8_585)
    assert (found.copied_bytes, found.copy_ns, found.step_ns, found.no_time) == (16_000, 48, 24_048, None)
    assert found.code is not None and "save_on_cpu(pin_memory=True)" in found.code


def test_state_and_parameters_on_the_cpu():
    """192 bytes of parameters and twice that of AdamW's state are part of the 11 004. A rank of FSDP copies its shard
    back twice and its gradients out; of two layers, two of up to three are whole: 192 bytes."""
    found = offloaded(on_gpu())
    assert {
        label: (each.peak_bytes, each.copied_bytes, each.copy_ns, each.step_ns, each.no_time)
        for label, each in found.items()
        if label != "Activations on the CPU"
    } == {
        "Optimizer state on the CPU": (11_004 - 384, 384, 1, None, NO_TIME),
        "FSDP over 1 GPU, parameters on the CPU": (11_004 - 576 + 192, 576, 2, None, NO_TIME),
        "FSDP over 2 GPUs, parameters on the CPU": (11_004 - 576 + 192, 288, 1, None, NO_TIME),
        "FSDP over 8 GPUs, parameters on the CPU": (11_004 - 576 + 192, 72, 0, None, NO_TIME),
    }
    code = found["FSDP over 2 GPUs, parameters on the CPU"].code
    assert code is not None
    assert "fully_shard(block, offload_policy=CPUOffloadPolicy())" in code


@pytest.mark.parametrize(
    ("names", "nbytes", "rates"),
    [
        ({}, LARGE, CopyRates(2.5e11, 5e11, True)),
        ({}, LARGE | {"d": 999_999}, CopyRates(2.5e11, 2.5e11, True)),
        ({"c": "Memcpy HtoD (Pageable -> Device)"}, LARGE, CopyRates(5e11, 5e11, True)),
        ({"c": "CopyHostToDevice", "d": "CopyDeviceToHost"}, LARGE, CopyRates(2.5e11, 5e11, False)),
        ({}, {"c": 4, "d": 4}, None),
        ({"c": "Memcpy DtoD (Device -> Device)", "d": "Memcpy PtoP (Device -> Device)"}, LARGE, None),
    ],
)
def test_rates_are_those_of_large_copies(names: dict[str, str], nbytes: dict[str, int], rates: CopyRates | None):
    assert copy_rates(on_gpu(names, nbytes), DEVICE) == rates


def test_without_large_copies_bytes_are_known_and_times_are_not():
    found = offloaded(on_gpu(nbytes={"c": 4, "d": 4}))
    assert [(each.copy_ns, each.step_ns, each.no_time) for each in found.values()] == [(None, None, NO_COPIES)] * 5
    assert [each.copied_bytes for each in found.values()].count(16_000) == 1
    assert not any(each.best for each in found.values())


def test_without_modules_it_is_not_known_when_an_activation_leaves():
    names = {"M": "train.py(3): net", "B": "train.py(7): first", "C": "train.py(8): second"}
    found = offloaded(on_gpu(names))["Activations on the CPU"]
    assert (found.peak_bytes, found.copied_bytes, found.unknown) == (None, None, NO_MODULES)


def test_a_training_on_the_cpu_has_nowhere_to_copy_to():
    assert offloaded(on_gpu(device=CPU)) == {}


def test_both_directions_take_their_own_rate():
    assert CopyRates(2e9, 1e9, True).ns(CopiedBytes(to_host=1_000, to_device=4_000)) == 3_000


def test_the_terminal_has_bytes_times_and_rates_of_copies():
    text = fit_text(SpanFit("run", "host_1", 1, "x.json", device_fits(on_gpu())), 200)
    (row,) = [line for line in text.splitlines() if line.startswith("Activations on the CPU")]
    assert [each.strip() for each in row.split("  ") if each.strip()] == [
        "Activations on the CPU", "8\u00a0kB", "–", "16\u00a0kB", "48\u00a0ns", "24\u00a0µs", "–", "yes"
    ]  # fmt: skip
    assert "pinned memory keep their recorded rates: 250.0\u00a0GB/s to the GPU, 500.0\u00a0GB/s back." in text
