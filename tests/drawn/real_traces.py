"""The real traces, each read once in a process. They are other projects' files and not part of this one."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tb_steptime.trace.model import Trace
from tb_steptime.trace.reading import read_trace

_BESIDE_THE_CHECKOUT = Path(__file__).parents[2] / ".." / "shared"
#: The folder with `traces/` and `reference/`; it need not be there.
SHARED = Path(os.environ.get("TB_STEPTIME_SHARED", _BESIDE_THE_CHECKOUT)).resolve()

#: All of them, as paths within `traces/`.
REAL = sorted(str(path.relative_to(SHARED / "traces")) for path in SHARED.glob("traces/**/*.json.gz"))

#: The real Perfetto traces of PyTorch, as names within `pftrace/`.
REAL_PFTRACES = sorted(path.name for path in SHARED.glob("pftrace/*.pftrace*"))

#: Those whose waits for batches are tested.
WITH_LOADERS = (
    "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz",
    "kineto_v100_resnet50/workers4/worker0.1623212756351.pt.trace.json.gz",
    "hta_a100_ddp_control",
    "hta_no_gpu_in_trace",
    "tracelens_h100_timesformer",
)


def read_real(path: Path | str) -> Trace:
    """A trace that many tests ask for, with all that the package keeps of it: nothing in it changes."""
    return _read(str(Path(path).resolve()))


@cache
def _read(path: str) -> Trace:
    return read_trace(path)
