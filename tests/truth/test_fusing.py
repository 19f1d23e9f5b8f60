"""What fusing kernels would save, computed again from the file itself, without
the reader or the tables of this package.

Here, a chain is two or more elementwise or reduction kernels that follow each other on a stream. The wait for an
optimizer is the time in which nothing runs on the GPU before one of the optimizer's kernels begins.
"""

from __future__ import annotations

import gzip
import json
import re
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.analyses.host import analyse
from tb_steptime.metrics.kernels.eager_attention import eager_attention
from tb_steptime.metrics.kernels.fusible_chains import STAYS_FRACTION, fusible_chains
from tests.drawn.real_traces import read_real, real_path

TIMESFORMER, HOST_BOUND = "tracelens_h100_timesformer", "hta_a100_ddp_nccl"
PASSES_ON = re.compile(r"elementwise_kernel|reduce_kernel|CatArray|bn_fw_inf")


def events_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return sorted((each for each in events if each.get("ph") == "X"), key=lambda each: float(each["ts"]))


def test_chains_and_attention_of_a_forward_pass(trace_path):
    """TimeSformer in eager mode: there is no compiler and no optimizer, so nothing has to be left out."""
    path = trace_path(TIMESFORMER)
    chains: list[list[float]] = [[]]
    softmax = 0.0
    for event in events_of(path):
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        softmax += event["dur"] if "softmax" in event["name"].lower() else 0
        if PASSES_ON.search(event["name"]):
            chains[-1].append(event["dur"])
        elif chains[-1]:
            chains.append([])
    several = [chain for chain in chains if len(chain) > 1]
    gain_us = sum(min(sum(chain) - max(chain), (1 - STAYS_FRACTION) * sum(chain)) for chain in several)
    trace = read_real(path)
    found, attention = fusible_chains(trace, 0), eager_attention(trace, 0)
    assert sum(each.kernels for each in found.kinds) == sum(map(len, several)) == 151
    assert sum(each.total_ns for each in found.kinds) / 1e3 == pytest.approx(sum(map(sum, several)), abs=0.5)
    assert found.gain_ns / 1e3 == pytest.approx(gain_us, abs=0.5)
    assert attention is not None
    assert attention.softmax_ns / 1e3 == pytest.approx(softmax, abs=0.5)


def test_chains_of_a_convolutional_network_hold_its_batch_norm():
    """Inference in eager mode by cuDNN, whose batch norm takes fixed statistics."""
    path = real_path("traces_world/rtx4090_speedbook.json.gz")
    kernels = [each for each in events_of(path) if each.get("cat") == "kernel"]
    runs = [
        [each["dur"] for each in run]
        for passes_on, run in groupby(kernels, lambda each: bool(PASSES_ON.search(each["name"])))
        if passes_on
    ]
    several = [run for run in runs if len(run) > 1]
    found = fusible_chains(read_real(path), 0)
    assert sum(each.chains for each in found.kinds) == len(several) == 49
    assert sum(each.kernels for each in found.kinds) == sum(map(len, several))
    assert sum(each.total_ns for each in found.kinds) / 1e3 == pytest.approx(sum(map(sum, several)), abs=0.5)
    gains = [min(sum(run) - max(run), (1 - STAYS_FRACTION) * sum(run)) for run in several]
    assert found.gain_ns / 1e3 == pytest.approx(sum(gains), abs=0.5)


def test_attention_in_fp32_between_products_in_fp16():
    """A language model without recorded shapes: the softmax computes in FP32, and its result is converted."""
    path = real_path("traces_world/l40_llm_eager.json.gz")
    kernels = [each for each in events_of(path) if each.get("cat") == "kernel"]
    of_weights: list[dict[str, Any]] = []
    for place, kernel in enumerate(kernels):
        if "SoftMaxForward" in kernel["name"]:
            before = takewhile(lambda each: PASSES_ON.search(each["name"]), reversed(kernels[:place]))
            after = takewhile(lambda each: PASSES_ON.search(each["name"]), kernels[place + 1 :])
            of_weights += [kernel, *before, *after]
    attention = eager_attention(read_real(path), 2)
    assert attention is not None
    assert attention.total_ns / 1e3 == pytest.approx(sum(each["dur"] for each in of_weights), abs=0.5)


def test_what_the_gpu_waits_for_an_optimizer(trace_path):
    """Three steps of SGD with nine launches each, on a GPU that has run out of work."""
    path = trace_path(HOST_BOUND)
    events = events_of(path)
    ranges = [(each["ts"], each["ts"] + each["dur"]) for each in events
              if each["name"].startswith("Optimizer.step") and "gpu" not in each["cat"]]  # fmt: skip
    launched = {each["args"]["correlation"]: each["ts"] for each in events if each.get("cat") == "cuda_runtime"}
    busy_until, waits = 0.0, 0.0
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        start, call = event["ts"], launched.get(event["args"]["correlation"], 0)
        if any(low <= call < high for low, high in ranges):
            waits += max(0.0, start - busy_until)
        busy_until = max(busy_until, start + event["dur"])
    sites = [row for row in analyse(read_real(path)).sites if row.phase == "optimizer"]
    assert sum(row.launches for row in sites) == 9
    idle_ns = sum(row.idle_ns.total_ns for row in sites)
    assert idle_ns / 1e3 == pytest.approx(waits / 3, rel=0.01)
