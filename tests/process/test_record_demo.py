"""The script that records the demo logs. It needs torch."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tb_steptime.analyses import data_loading
from tb_steptime.trace.kineto import read_trace
from tests import PROJECT

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

pytestmark = pytest.mark.live

SCRIPT = PROJECT / "examples" / "record_demo.py"


def test_a_recording_holds_the_asked_steps_and_no_machine(tmp_path: Path):
    arguments = ["--out", str(tmp_path), "--device", "cpu", "--experiments", "transforms", "--steps", "2"]
    subprocess.run([sys.executable, str(SCRIPT), *arguments], check=True, capture_output=True)
    spans = sorted(tmp_path.glob("cpu_transforms/cpu.*.pt.trace.json.gz"))
    assert len(spans) == 2
    for path in spans:
        assert str(tmp_path).encode() not in gzip.decompress(path.read_bytes())
        trace = read_trace(path)
        assert trace.job.simulated is None
        assert len(data_loading.analyse(trace).steps) == 2
