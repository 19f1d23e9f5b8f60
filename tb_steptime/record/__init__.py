"""For training scripts: records what the workers of a DataLoader do, and sets up torch.profiler well.

    loader = LoaderRecorder("logs/run").watch(loader)       # the loader's workers

    with profile_steps("logs/run") as prof:                 # ... and a trace of ten steps, twice
        for batch in prof.watch(loader):
            train(batch)
            prof.step()

Imports torch when it is used, and nothing else of this package. `lightning` and `transformers` have a callback each.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_steptime.record.profiling import StepProfiler, profile_steps
    from tb_steptime.record.recorder import LoaderRecorder

__all__ = ["LoaderRecorder", "StepProfiler", "profile_steps"]

_MODULES = {"LoaderRecorder": "recorder", "StepProfiler": "profiling", "profile_steps": "profiling"}


def __getattr__(name: str) -> Any:
    """Code that only reads recorded files (`format`) imports nothing that a training script needs."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
