"""The scripts that reproduce questions from forums. They need torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import find_steps
from tests import PROJECT

pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

pytestmark = pytest.mark.live

SCRIPTS = PROJECT / "examples" / "forum"


@pytest.mark.parametrize(
    ("script", "size", "variants"),
    [
        ("preloaded_vs_workers.py", ("--batch-size", "8"), ("preloaded_item", "workers2")),
        ("sparse_multi_gpu.py", ("--nodes", "64"), ("dense_one", "sparse_one")),
    ],
)
def test_each_variant_is_recorded(tmp_path: Path, script: str, size: tuple[str, ...], variants: tuple[str, ...]):
    arguments = ["--out", str(tmp_path), "--device", "cpu", "--steps", "2", *size, "--variants", *variants]
    subprocess.run([sys.executable, str(SCRIPTS / script), *arguments], check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(variants)
    for variant in variants:
        (path,) = (tmp_path / variant).glob("cpu.*.pt.trace.json.gz")
        assert len(find_steps(read_trace(path)).steps) == 2
