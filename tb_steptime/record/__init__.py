"""For training scripts: records what the workers of a DataLoader do, and sets up torch.profiler well.

    loader = LoaderRecorder("logs/run").watch(loader)       # the loader's workers

    with profile_steps("logs/run") as prof:                 # ... and a trace of ten steps, twice
        for batch in prof.watch(loader):
            train(batch)
            prof.step()

Imports torch when it is used, and nothing else of this package. `lightning` and `transformers` have a callback each.

Decisions and their reasons:

- It is present only while it is needed. A loader's `worker_init_fn` is ours while the loader makes an iterator, and the
  user's before and after. So a framework that inspects it (Lightning sets up seeding where there is none) sees the same
  as without us, and a function that it sets is called. A loader is recognized by its dataset, which stays the same when
  a framework makes a new loader.
- Iterators get a subclass, not wrapped methods. A wrapped method would refer to the iterator that holds it; its
  workers would live until the next garbage collection. The subclass has the same name, so marks in traces stay as
  they are.
- No function of the user's receives the number of a batch. It is read from the worker's queue of requests; the worker's
  loop, which has that queue, is found once among the callers of the init function. Without it rows say -1.
- Rows have monotonic times, and the file has the wall clock next to them. Setting the clock distorts no duration, and
  traces from before and after both match.
- A file is a fixed beginning followed by a ring. Traces are recorded during the first steps, or much later; a file of 3
  MiB serves both.
- Writing is rationed by what it costs: after a write that took d, none for 200 d. On a slow file system that is one
  write per second and not one per batch; a killed process loses what was not written yet, a quarter of a second on a
  local disk.
- Sampling is rationed, too: the wall clock is read for every batch; CPU time, wait for a core and size as often as a
  quarter of a percent of the time allows. At ten batches a second that is all of them if a sample takes 25 µs, and one
  in four if it takes 100 µs. So each share of CPU time comes with its number of batches. Fewer than five batches that
  are less than half of all do not show what limits the worker: the other batches cannot reverse what half of them show,
  and if every other batch is of another kind, five are alike by chance once in 32 times.
- Waiting for a core is not the same as waiting for files. The share of CPU time alone cannot separate them, and only
  waiting for files is helped by more workers. Linux counts the time that a thread could have run (`schedstat`).
- Lines are sampled by another thread, in bursts, with a short switch interval of Python meanwhile. Compared on a worker
  whose parts have known lengths: samples with the usual interval miss whatever computes for less than 5 ms;
  `sys.settrace` reports a tight loop as ten times too long; a timer's signal interrupts what a dataset waits for, and
  some file systems in user space fail then. On a busy machine samples come late, above all while the worker waits: such
  bursts do not count.
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
    """Imports lazily, so that code that only reads recorded files (`format`) imports nothing that a training script
    needs."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
