"""Two processes that measure one trace pass on results of shared measurements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.drawn.real_traces import real_trace
from tests.drawn.stores import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are forked on Linux alone")

#: Two processes with one exchange. The second one measures what the first one waits for, and then what `deed` says; the
#: first one measures after it, and prints who measured what.
_BESIDE = """
import json, mmap, os, sys
import numpy as np
from tb_steptime.ingest import exchange
from tb_steptime.processes.children import fork_child
from tb_steptime.trace.model import measured_with, shared
from tb_steptime.trace.on_disk import _owner
from tests.drawn.timeline import timeline

exchange.LEAST_SECONDS = 0
trace, deed, first = timeline("op | a.b.c |"), sys.argv[1], os.getpid()

def here():
    return "first" if os.getpid() == first else "second"

@shared
def columns(trace, size=30_000):
    return here(), np.arange(size), np.arange(3, dtype=np.int16), [np.array(["a"], object)]

@shared
def lambdas(trace):
    return here(), (lambda: None)

@shared
def fails_in_second(trace):
    if here() == "second":
        raise OverflowError
    return here()

@shared
def awaited(trace):
    if deed == "fails":
        fails_in_second(trace)
    if deed == "ends" and here() == "second":
        os._exit(1)
    return here()

def second():
    both.begin(second=True)
    with measured_with(trace, both):
        columns(trace, 9)
        columns(trace)
        lambdas(trace)
        awaited(trace)

with exchange.Exchange([awaited]) as both:
    if deed == "full disk":
        both._files[1].close()
        both._files[1] = open("/dev/full", "wb", 0)
    child = fork_child(second, both.files)
    both.begin()
    with measured_with(trace, both):
        by = {"awaited": awaited(trace), "lambdas": lambdas(trace)[0], "small": columns(trace, 9)[0]}
        by["large"], large, few, objects = columns(trace)
    child.wait()
    mapped = isinstance(_owner(large), mmap.mmap)
assert large.tolist() == list(range(30_000)) and few.tolist() == [0, 1, 2] and few.dtype == np.int16
assert [each.tolist() for each in objects] == [["a"]]
print(json.dumps(by | {"mapped": mapped}))
"""


def _printed(script: str, argument: str) -> str:
    """Returns what the script prints, as a process that may fork: with one thread, as `tb-steptime` is started."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command, patience = [sys.executable, "-c", script, argument], 10 * PATIENCE_SECONDS
    found = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    return found.stdout


def _measured_by(deed: str = "") -> dict[str, Any]:
    result: dict[str, Any] = json.loads(_printed(_BESIDE, deed))
    return result


def test_what_one_process_has_measured_the_other_one_takes() -> None:
    """A result that cannot be pickled is measured by both."""
    taken = dict.fromkeys(("awaited", "small", "large"), "second")
    assert _measured_by() == {**taken, "lambdas": "first", "mapped": True}


@pytest.mark.parametrize("deed", ["fails", "ends"])
def test_a_measurement_that_does_not_come_is_made_here(deed: str) -> None:
    """The first process does not wait for what failed, nor for a process that has ended."""
    taken = dict.fromkeys(("small", "large"), "second")
    assert _measured_by(deed) == {**taken, "awaited": "first", "lambdas": "first", "mapped": True}


def test_on_a_full_disk_each_process_measures_for_itself() -> None:
    alone = dict.fromkeys(("awaited", "small", "large", "lambdas"), "first")
    assert _measured_by("full disk") == {**alone, "mapped": False}


#: Measures a trace with one process, and with two that pass on whatever they can; and the same with columns on disk.
_ALIKE = """
import msgspec, sys
from tb_steptime.ingest import analysing, exchange
from tb_steptime.ingest.measure import measure_trace
from tb_steptime.trace import on_disk
from tb_steptime.trace.kineto import reader
from tb_steptime.trace.reading import read_trace

analysing.LEAST_ROWS = exchange.LEAST_SECONDS = 0
exchange._SMALL_BYTES = 1
taken, take = [], exchange.Exchange._take
def counted(*arguments):
    result = take(*arguments)
    taken.extend([1] * (result is not None))
    return result
exchange.Exchange._take = counted
results = []
for processes in (1, 2, 2):
    trace = read_trace(sys.argv[1])
    results.append(msgspec.msgpack.encode(measure_trace(trace, processes=processes)[1].results))
    reader.LARGE_ROWS, on_disk._SMALL_BYTES = 0, 1
print(len(taken), results[0] == results[1] == results[2])
"""


@pytest.mark.parametrize(
    "name",
    ["hta_a100_ddp_nccl", "hta_cpu_gloo", "tracelens_b200_eager", "tracelens_h100_timesformer"],
)
def test_two_processes_find_in_real_traces_what_one_finds(name: str) -> None:
    taken, are_alike = _printed(_ALIKE, str(real_trace(name))).split()
    assert are_alike == "True"
    assert int(taken) >= 2, "the first process waits for two measurements of the second one"
