"""On a system without `/proc`, forks, file locks and system calls of Linux, everything is read and printed as on Linux.

No Mac or Windows machine is available: each test removes what those systems lack, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.generate import size_of
from benchmarks.generate import write_trace as benchmark_trace
from tb_steptime.ingest.reader_process import apart_from_keyboard
from tests.drawn.small_trace import write_trace

#: macOS has no /proc, no files in memory and no list of usable cores.
MACOS = """
import os, pathlib
for name in ("memfd_create", "sched_getaffinity"):
    delattr(os, name)
from tb_steptime.processes import children
children._THREADS = children._OPEN_FILES = pathlib.Path("/none/of/these")
"""
#: Windows, as far as it can be imitated while Python's own library runs on Linux: no forks, no locks, no reads at an
#: offset, no niceness, no owner of a process, no madvise, and only one process reads a file.
WINDOWS = (
    """
import sys
sys.modules["fcntl"] = None
"""
    + MACOS
    + """
for name in ("fork", "register_at_fork", "pread", "nice", "getuid", "geteuid", "O_NONBLOCK", "O_NOFOLLOW", "setsid"):
    delattr(os, name)
os.supports_dir_fd = set()
sys.modules.pop("shutil", None)  # it looks at what the system can do when it is imported
import mmap
for name in [each for each in dir(mmap) if each.startswith("MADV_")]:
    delattr(mmap, name)
from tb_steptime.trace.kineto.parts import whole
whole.os = type("os", (), {"name": "nt", "fstat": os.fstat})
"""
)
#: Text whose encoding is left to the system is an error, as it differs there.
_STRICT = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
_RUN = """
import contextlib, io, sys
from tb_steptime.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(taken_away: str, *arguments: str, cache: Path) -> str:
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, *_STRICT, "-c", taken_away + _RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
@pytest.mark.parametrize("command", ["summarize", "kernels"])
def test_commands_print_the_same(taken_away: str, command: str, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "worker.1.pt.trace.json")
    arguments = (command, "--format", "json", str(trace))
    assert run(taken_away, *arguments, cache=tmp_path) == run("", *arguments, cache=tmp_path)


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
def test_a_directory_is_indexed(taken_away: str, tmp_path: Path) -> None:
    """Processes of their own read the traces, as in TensorBoard."""
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    write_trace(folder / "worker.1.pt.trace.json")
    run(taken_away, "index", str(folder.parent), cache=tmp_path)
    assert [each.name for each in folder.glob("*.steptime")] == ["worker.1.pt.trace.json.steptime"]


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
def test_a_trace_that_is_large_enough_for_several_processes(taken_away: str, tmp_path: Path) -> None:
    trace = tmp_path / "worker.1.pt.trace.json"
    benchmark_trace(trace, size_of("20MB"), 1)
    smaller = "\nfrom tb_steptime.trace.kineto.parts import whole as parts\nparts.LEAST_BYTES = 2**20\n"
    arguments = ("summarize", "--format", "json", str(trace))
    output = run(taken_away + smaller, *arguments, cache=tmp_path)
    assert json.loads(output) == json.loads(run("", *arguments, cache=tmp_path))


def test_the_keyboard_interrupts_tensorboard_alone() -> None:
    assert apart_from_keyboard("posix") == {"start_new_session": True}
    assert apart_from_keyboard("nt") == {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)}
