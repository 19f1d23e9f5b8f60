"""The demo recordings, copied with their summaries, so that a store opens them without reading a trace."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.summaries.layout import SUFFIX, stamp
from tb_steptime.ingest.summaries.writing import encode_summary, places_for, write_summary
from tests import PROJECT

DEMO = PROJECT / "demo_logs"


def demo_runs() -> list[str]:
    """Names of the runs; empty where the recordings are not in this checkout."""
    return sorted(folder.name for folder in DEMO.iterdir() if folder.is_dir()) if DEMO.is_dir() else []


def copy_demo(folder: Path, runs: Iterable[str] | None = None) -> Path:
    """These runs, or all, in a new folder: traces and recorders' files, without summaries of earlier visits."""
    for run in demo_runs() if runs is None else runs:
        shutil.copytree(DEMO / run, folder / run, ignore=shutil.ignore_patterns(f"*{SUFFIX}"))
    return folder


def measure_all(logdir: Path) -> None:
    """Write a summary beside every trace, in this process: three seconds for all recordings of the demo."""
    for trace in sorted(logdir.rglob("*trace.json.gz")):
        write_summary(encode_summary(stamp(trace), measure_file(trace)), places_for(trace)[:1])
