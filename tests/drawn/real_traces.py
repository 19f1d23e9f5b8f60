"""Where real traces lie, and the only place that knows it. They are other projects' files and not part of this one.

The folder is the one that TB_STEPTIME_SHARED names; without the variable `shared` beside the checkout, if it has
traces; otherwise what `make traces` has fetched. A test whose file is missing is skipped, and the closing lines of
pytest count these.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.metrics.data_loading import throughput
from tb_steptime.trace.model import Trace
from tb_steptime.trace.reading import read_trace
from tools.real_traces import FETCHED, rows

_VARIABLE = "TB_STEPTIME_SHARED"
_BESIDE_THE_CHECKOUT = Path(__file__).parents[2] / ".." / "shared"


def _folder() -> Path:
    if named := os.environ.get(_VARIABLE):
        return Path(named).resolve()
    return _BESIDE_THE_CHECKOUT.resolve() if (_BESIDE_THE_CHECKOUT / "traces").is_dir() else FETCHED


#: Contains `traces/` and others; it need not exist.
_FOLDER = _folder()

#: The beginning of the reason of every skip for want of a real file. The path of the file follows.
WAITS = "real traces are missing: "


def is_there(path: str) -> bool:
    """path: within the folder, such as `reference/operators.json`."""
    return (_FOLDER / path).exists()


def real_path(path: str) -> Path:
    """A file or folder within the folder; where it is missing the test is skipped."""
    if not is_there(path):
        pytest.skip(WAITS + path)
    return _FOLDER / path


def real_trace(name: str) -> Path:
    """The trace `name`: a path within `traces/`, or a folder there that contains one file."""
    path = real_path(f"traces/{name}")
    if path.is_dir():
        (path,) = sorted(file for file in path.iterdir() if ".json" in file.name)
    return path


def is_real_trace_there(name: str) -> bool:
    return is_there(f"traces/{name}")


#: All that exist here, as paths within `traces/`.
REAL = tuple(sorted(str(path.relative_to(_FOLDER / "traces")) for path in _FOLDER.glob("traces/**/*.json.gz")))


def cases(names: Iterable[str], path: str = "traces") -> list[Any]:
    """The parameters of a test: the names, or if there are none, one case that is skipped for want of `path`."""
    return list(names) or [pytest.param("none", marks=pytest.mark.skip(reason=WAITS + path))]


#: A test with a parameter `name` runs on each of them.
on_real_traces = pytest.mark.parametrize("name", cases(REAL))

#: Includes those of other people's jobs in `traces_world/`, as paths for `real_path`.
EVERY = tuple(sorted(str(path.relative_to(_FOLDER)) for path in _FOLDER.glob("traces*/**/*.json.gz")))
#: A test with a parameter `path` runs on each of them.
on_every_real_trace = pytest.mark.parametrize("path", cases(EVERY))


#: Memory snapshots that others recorded, as paths for `real_path`.
SNAPSHOTS = tuple(sorted(str(path.relative_to(_FOLDER)) for path in _FOLDER.glob("snapshots/*.pickle")))
#: A test with a parameter `path` runs on each of them.
on_real_snapshots = pytest.mark.parametrize("path", cases(SNAPSHOTS, "snapshots"))


#: Dumps of a job whose ranks 12 and 14 had a faulty GPU, as a path for `real_path`.
DUMPS_OF_16_RANKS = "flight_recorder/fr_gpu_error_1st_16rank"


def world(name: str) -> str:
    """A trace of other people's jobs, as a path for `real_path`."""
    return f"traces_world/{name}.json.gz"


def needs(path: str) -> pytest.MarkDecorator:
    """Marks a test that is skipped where this file is missing."""
    return pytest.mark.skipif(not is_there(path), reason=WAITS + path)


def reference(file: str) -> dict[str, Any]:
    """Reference values of real traces, by trace; empty where the file is missing."""
    path = _FOLDER / "reference" / file
    return dict(json.loads(path.read_text())) if path.is_file() else {}


#: The real Perfetto traces of PyTorch, as paths for `real_path`.
PFTRACES = tuple(sorted(str(path.relative_to(_FOLDER)) for path in _FOLDER.glob("pftrace/*.pftrace*")))
PFTRACE_OF_A_LOOP = "pftrace/hello_world_training_loop.pftrace"
#: A test with a parameter `path` runs on each of them.
on_real_pftraces = pytest.mark.parametrize("path", cases(PFTRACES, "pftrace"))
#: The same on those and on all of `traces/`.
on_traces_of_all_formats = pytest.mark.parametrize("path", cases((*(f"traces/{name}" for name in REAL), *PFTRACES)))

#: Traces whose waits for batches are tested.
WITH_LOADERS = (
    "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz",
    "kineto_v100_resnet50/workers4/worker0.1623212756351.pt.trace.json.gz",
    "hta_a100_ddp_control",
    "hta_no_gpu_in_trace",
    "tracelens_h100_timesformer",
)


def read_real(trace: Path | str) -> Trace:
    """A trace that many tests ask for, with all that the package keeps of it: nothing in it changes.

    trace: a path, or a name as `real_trace` takes it.
    """
    path = trace.resolve() if isinstance(trace, Path) else real_trace(trace)
    return _read(path, throughput.HANDOVER_NS)


@cache
def _read(path: Path, handover_ns: int) -> Trace:
    """handover_ns: the cost of a batch that tests set, see `drawn_in_microseconds`; cached values of a trace depend on
    it.
    """
    return read_trace(path)


def how_to_get(reasons: Iterable[str]) -> str | None:
    """One of the closing lines of pytest: how many of these reasons of skips wait for real traces, and how to get them.
    None where none does.
    """
    waiting = [found[1] for reason in reasons if (found := re.search(rf"{WAITS}([^'\"]*)", reason))]
    if not waiting:
        return None
    public = [row.name for row in rows()]
    fetched = sum(any(name.startswith(path) for name in public) for path in waiting)
    one = len(waiting) == 1
    whose = f"{fetched} of them need" if fetched < len(waiting) else "it needs" if one else "they need"
    ways = []
    if _FOLDER != FETCHED:
        ways.append(f"looked for in {_FOLDER}")
    if fetched:
        ways.append(("without that folder " if ways else "") + f"`make traces` brings what {whose}")
    phrase = "test waits for real traces and was" if one else "tests wait for real traces and were"
    return f"{len(waiting)} {phrase} skipped: {'; '.join(ways) or 'their files are not public'}"
