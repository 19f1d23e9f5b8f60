"""The header of a recording: which process and loader, and how the loader was set up."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any


def describe_process(recorder_start_ns: int) -> dict[str, Any]:
    """What is the same for all loaders of a process."""
    return {
        "host": socket.gethostname(),
        "main_pid": os.getpid(),
        "recorder_start_ns": recorder_start_ns,
        "usable_cores": _usable_cores(),
        "torch": str(sys.modules["torch"].__version__),
    }


def describe_loader(loader: Any) -> dict[str, Any]:
    """Settings that readers need, and that distinguish loaders; None where a version of torch has no such setting."""
    sampler = getattr(loader, "batch_sampler", None)
    batch_size = getattr(loader, "batch_size", None)
    return {
        "class": _name(type(loader)),
        "dataset": _dataset(loader.dataset),
        "iterable": bool(loader._dataset_kind),
        "collate_fn": _name(loader.collate_fn),
        "batch_size": batch_size if batch_size is not None else getattr(sampler, "batch_size", None),
        "batch_sampler": _name(type(sampler)) if sampler is not None else None,
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor if loader.num_workers else None,
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(loader.persistent_workers),
        "in_order": getattr(loader, "in_order", True),
        "drop_last": bool(loader.drop_last),
    }


def _usable_cores() -> int | None:
    """Fewer than the machine has, where the process is bound to some."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _dataset(dataset: Any) -> str:
    """Its class; of a subset also the class of the whole: Subset(ImageFolder)."""
    inner = getattr(dataset, "dataset", None)
    name = _name(type(dataset))
    return name if inner is None or isinstance(inner, str) else f"{name}({_name(type(inner))})"


def _name(item: Any) -> str:
    """module.name of a class or function; the class of what has no name."""
    qualified = getattr(item, "__qualname__", None)
    if qualified is None:
        return _name(type(item))
    module = getattr(item, "__module__", None)
    return qualified if module in (None, "builtins", "__main__") else f"{module}.{qualified}"
