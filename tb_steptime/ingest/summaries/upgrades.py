"""Summaries of earlier releases -> the types of this one.

A release that renames or adds fields raises `layout.FORMAT` by one and adds one function here, which takes a view's
JSON of the format before and returns it in the new one. What every such change has in common is done by `fitting`:
fields that are gone are dropped, optional ones that are missing get their default, and a sentence that has become a
reason code says that an older release measured it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tb_steptime.ingest.summaries.fitting import fitted
from tb_steptime.ingest.summaries.layout import FORMAT, SummaryHead

R = TypeVar("R", bound=msgspec.Struct)

Json = dict[str, Any]

#: The head is upgraded like a view.
HEAD = "head"


#: Sentences of 0.1.0 that are codes now.
_CODES = {
    "No kernel runs on this device within the steps.": "no_kernels_in_steps",
    "The window has no length.": "empty_window",
    "This GPU has no tensor cores.": "no_tensor_cores",
    "This trace does not say how many blocks per SM its kernels have (AMD GPUs do not record it).": (
        "no_blocks_recorded"
    ),
    "This trace has no GPU activity.": "no_gpu_activity",
    "This trace records no occupancy (AMD GPUs do not).": "no_kineto_occupancy",
    "This trace records no registers and shared memory of its kernels, or no limits of the GPU (AMD GPUs do not).": (
        "no_launch_shapes"
    ),
    "differs from loader to loader": "differs_by_loader",
    "no GPU activity": "no_gpu_activity",
    "no launch calls in this trace": "no_launch_calls",
    "no loader events": "no_loader_events",
    "on another thread": "loader_on_other_thread",
    "one loader or several, not known": "loader_count_unknown",
    "the loader sets the pace": "loader_limits_steps",
    "the workers are not in this trace": "workers_not_in_trace",
    "too few batches are recorded": "few_batches",
}

#: Figures of the Host view that have another id now.
_HOST_FIGURES_1 = {
    "back_pressure": "full_queue_time",
    "gpu_busy": "gpu_busy_time",
    "idle_share": "gpu_idle_share",
    "queue_max": "queue_peak",
    "run_ahead": "run_ahead_p50",
}


def _from_1(view: str, result: Json) -> Json:
    """0.1.0 wrote sentences among the figures, and the Host view's figures with labels and meanings."""
    if view == "host" and result.get("answer"):
        figures = {each["id"]: each["value"]["value"] for each in result["answer"]["figures"]}
        result["figures"] = {_HOST_FIGURES_1.get(id, id): value for id, value in figures.items()}
    return result


#: By the format that they upgrade from; the first argument is the view's id or HEAD.
_STEPS: dict[int, Callable[[str, Json], Json]] = {1: _from_1}


def upgraded(line: bytes, format: int, view: str, kind: type[R]) -> R:
    """A view's result, or the head, of this or an earlier format. Raises ValueError where it does not fit the type."""
    if format == FORMAT:
        return msgspec.json.decode(line, type=kind)
    result = msgspec.json.decode(line)
    if format not in _STEPS or not isinstance(result, dict):
        raise ValueError(f"no release wrote such a result in format {format}")
    for earlier in range(format, FORMAT):
        result = _STEPS[earlier](view, result)
    return msgspec.convert(fitted(result, kind, _CODES), kind)


def upgraded_head(line: bytes, format: int) -> SummaryHead:
    """Raises ValueError where it is no head."""
    return upgraded(line, format, HEAD, SummaryHead)
