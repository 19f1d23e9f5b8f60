"""The kind of code that launches most of a model and that torch.compile leaves as it is.

op       |------ aten::lstm ------|  aten::linear      "recurrent"
op       |- tensorrt::execute_engine -|  aten::argmax  "tensorrt"
frame    |- AOTICompiledModel.__call__ -|              "exported"
launch     l l l l l l l l l l l       l
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import FSDP
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Kind, is_in

#: torch.compile leaves layers for sequences as they are (torch/_dynamo/config.py: allow_rnn), and refuses scripted
#: modules (torch/_dynamo/eval_frame.py). It compiles modules of FSDP between FSDP's hooks, which it leaves as they are,
#: and no graph holds their weights: FSDP frees these and allocates them again (`_dynamo_disable` and `alloc_storage` in
#: torch/distributed/fsdp/_fully_shard).
#: Engines of other libraries run without ops of their layers; ONNX Runtime without any op of PyTorch. A model that was
#: exported and compiled ahead of time runs in C++, so only call stacks show it.
LeftAsIs = Literal["recurrent", "scripted", "sharded", "tensorrt", "exported", "onnxruntime"]
_LEFT_AS_IS: dict[LeftAsIs, re.Pattern[str]] = {
    "recurrent": expression(r"aten::(lstm|gru|rnn_tanh|rnn_relu)$"),
    # TorchScript records the functions that it runs, and the forward pass of each graph that it differentiates.
    "scripted": expression(r"(forward|<forward op>)$"),
    "tensorrt": expression(r"tensorrt::execute_engine"),
    # AOTICompiledModel.__call__, which moved in PyTorch 2.8, and what torch._export.aot_load returned before
    "exported": expression(
        r"(.*/)?torch/(_inductor/package/package|export/pt2_archive/_package)\.py\(\d+\): __call__$"
        r"|(.*/)?torch/_export/__init__\.py\(\d+\): optimized$"
    ),
}
#: Kinds that torch.compile does not accept at all.
NOT_TAKEN = ("scripted", "tensorrt", "exported", "onnxruntime")
_ONNXRUNTIME_KERNEL = expression(r"\bonnxruntime::")
#: Phases of the model itself. If nothing tells the phases apart, all launches count.
_OF_MODEL = tuple(PHASES.index(phase) for phase in ("forward", "unknown"))


def left_as_is(trace: Trace) -> LeftAsIs | None:
    """Returns the kind of code that launches most of the forward pass, or on the CPU holds most of its ops, and that
    torch.compile does not compile. The result is "onnxruntime" if kernels of it run and most launches are in no op, and
    "sharded" if the hooks of FSDP divide another model. It is None for all other models, including those in which such
    code is a smaller part."""
    for what, names in _LEFT_AS_IS.items():
        parts = rows_named(trace, (Kind.CPU_OP, Kind.PYTHON), names.match)
        if not len(parts):
            continue
        calls = find_launches(trace).call
        work = calls[calls >= 0].astype(np.int64) if (calls >= 0).any() else trace.events.rows(Kind.CPU_OP)
        forward = work[is_in(SITE_PHASE[site_of(trace, work)], _OF_MODEL)]
        if 2 * np.count_nonzero(innermost(trace, parts, forward) >= 0) > len(forward):
            return what
    if len(rows_named(trace, (Kind.KERNEL,), _ONNXRUNTIME_KERNEL.search)):
        calls = find_launches(trace).call
        around = innermost(trace, trace.events.rows(Kind.CPU_OP), calls[calls >= 0].astype(np.int64))
        if 2 * np.count_nonzero(around >= 0) < len(around):
            return "onnxruntime"
    return "sharded" if len(rows_named(trace, (Kind.USER,), FSDP.match)) else None
