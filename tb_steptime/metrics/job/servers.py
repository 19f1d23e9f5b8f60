"""The server that runs an inference, recognised by the names of its code. What a script would change is one of its
options.

frame    vllm/worker/gpu_model_runner.py(1514): execute_model        vLLM
op       vllm::unified_attention_with_output                         vLLM
range    execute_context_0(0)_generation_16(16)                      vLLM
frame    /sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(740): run_batch     SGLang, which runs kernels
range    step[DECODE bs=16]                                          SGLang                of vLLM, too
"""

from __future__ import annotations

import re
from typing import Literal

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Kind

Server = Literal["vllm", "sglang"]

#: Names of each server's code. SGLang also runs kernels of vLLM, so it comes first, and kernels show neither.
_CODE: dict[Server, re.Pattern[str]] = {
    "sglang": expression(r"(?:.*/)?sglang/\S+\.py\(|sgl_kernel::|step\[[A-Z_]+ bs="),
    "vllm": expression(r"(?:.*/)?vllm/\S+\.py\(|vllm::|execute_(?:\d+_)?context_\d|gpu_model_runner: "),
}

#: Code that runs only if the next batch is scheduled while the device works: SGLang's overlap schedule, and vLLM's
#: asynchronous scheduling.
_AHEAD = expression(r"(?:.*/)?sglang/\S+\.py\(\d+\): event_loop_overlap|(?:.*/)?vllm/\S+/async_scheduler\.py\(")


def schedules_ahead(trace: Trace) -> bool:
    """Returns whether frames show that the server schedules the next batch while the device works."""
    return _has(trace, _AHEAD)


def server_of(trace: Trace) -> Server | None:
    """Returns the server; None for a script."""
    return next((server for server, names in _CODE.items() if _has(trace, names)), None)


def _has(trace: Trace, names: re.Pattern[str]) -> bool:
    return len(rows_named(trace, (Kind.PYTHON, Kind.CPU_OP, Kind.USER), names.match)) > 0
