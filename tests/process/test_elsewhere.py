"""On a system without `/proc`, forks, file locks and system calls of Linux, everything is read and printed as on Linux.

No Mac or Windows machine is available: each test removes what those systems lack, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
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


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """What a command prints on this system; each command is run once."""
    return cache(partial(run, "", cache=tmp_path_factory.mktemp("here")))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("small") / "worker.1.pt.trace.json")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As text it is several parts, each of which any of the processes that read it may take."""
    trace = tmp_path_factory.mktemp("large") / "worker.1.pt.trace.json"
    benchmark_trace(trace, size_of("10MB"), 1)
    return trace


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
@pytest.mark.parametrize("command", ["summarize", "kernels"])
def test_commands_print_the_same(
    taken_away: str, command: str, small: Path, here: Callable[..., str], tmp_path: Path
) -> None:
    arguments = (command, "--format", "json", str(small))
    assert run(taken_away, *arguments, cache=tmp_path) == here(*arguments)


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
def test_a_directory_is_indexed(taken_away: str, tmp_path: Path) -> None:
    """Processes of their own read the traces, as in TensorBoard."""
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    write_trace(folder / "worker.1.pt.trace.json")
    run(taken_away, "index", str(folder.parent), cache=tmp_path)
    assert [each.name for each in folder.glob("*.steptime")] == ["worker.1.pt.trace.json.steptime"]


@pytest.mark.parametrize("taken_away", [MACOS, WINDOWS], ids=["macos", "windows"])
def test_a_trace_that_is_large_enough_for_several_processes(
    taken_away: str, large: Path, here: Callable[..., str], tmp_path: Path
) -> None:
    smaller = "\nfrom tb_steptime.trace.kineto.parts import whole as parts\nparts.LEAST_BYTES = 2**20\n"
    arguments = ("summarize", "--format", "json", str(large))
    output = run(taken_away + smaller, *arguments, cache=tmp_path)
    assert json.loads(output) == json.loads(here(*arguments))


def test_the_keyboard_interrupts_tensorboard_alone() -> None:
    assert apart_from_keyboard("posix") == {"start_new_session": True}
    assert apart_from_keyboard("nt") == {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)}
