"""Start-up takes most of the time of a short command, so a command imports only what it needs, when it needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.generate import size_of
from benchmarks.generate import write_trace as benchmark_trace
from tests.drawn.real_traces import real_trace
from tests.drawn.small_trace import write_trace

_COMMAND = """
import contextlib, io, sys
from tb_steptime.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(*sys.modules)
"""


def imported_by(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", _COMMAND, *arguments]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("arguments", [["--help"], ["summarize", "--help"]], ids=" ".join)
def test_help_needs_neither_columns_nor_results(arguments: list[str]) -> None:
    imported = imported_by(*arguments)
    assert "tb_steptime.terminal.commands.summarize" in imported
    unneeded = {"numpy", "msgspec", "tb_steptime.trace.model", "tb_steptime.analyses", "tempfile", "datetime"}
    assert not unneeded & imported


@pytest.mark.parametrize("format", ["json", "table"])
def test_summarize_imports_no_view_that_it_does_not_print(format: str, tmp_path: Path) -> None:
    imported = imported_by("summarize", "--format", format, str(write_trace(tmp_path / "w.1.pt.trace.json")))
    assert {"tb_steptime.analyses.host", "tb_steptime.analyses.overview", "tb_steptime.insights"} <= imported
    unneeded = {
        *("tb_steptime.analyses.gpu", "tb_steptime.analyses.operators", "tb_steptime.analyses.timeline"),
        *("tb_steptime.metrics.operators.op_tree", "tb_steptime.metrics.kernels.table"),
        *("tb_steptime.ranks.job", "tb_steptime.ranks.spans", "tb_steptime.serve", "tb_steptime.timeline"),
        *("tb_steptime.trace.kineto.slices", "tb_steptime.trace.kineto.parts.team"),
        *("tb_steptime.trace.mangled.parser", "tb_steptime.metrics.flame"),
        # numpy's masked arrays are imported by np.median, np.unique and np.isin
        *("numpy.ma", "tempfile", "statistics", "concurrent.futures", "subprocess", "csv", "gzip", "json"),
        *("tb_steptime.record.file.format", "tb_steptime.record.file.steps"),
        # a dataclass takes forty times as long to create as a struct
        "dataclasses",
    }
    assert not unneeded & imported


def test_summarize_of_a_larger_trace_imports_no_masked_arrays(tmp_path: Path) -> None:
    """The small trace above has too few events for some of the checks of a recording."""
    trace = tmp_path / "worker.1.pt.trace.json"
    benchmark_trace(trace, size_of("1MB"), 1)
    assert not {"numpy.ma", "tb_steptime.trace.mangled.parser"} & imported_by("summarize", str(trace))


@pytest.mark.parametrize("name", ["tracelens_h100_bert", "hta_a100_alexnet_cudasync"])
def test_summarize_of_a_recording_imports_no_masked_arrays(name: str) -> None:
    """Recordings have copies over a known link, call stacks and loaders, which the generated traces lack."""
    assert "numpy.ma" not in imported_by("summarize", str(real_trace(name)))
