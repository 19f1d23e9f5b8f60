"""The user's module and line from which each kernel comes; for a backward kernel, those of the op that created its
node.

thread     |- train.py(9): step, Linear_0 -|
             |- aten::linear -|                         k: Linear_0, train.py(9)
autograd                            |- AddmmBackward0 -|     j: of the addmm inside linear, so Linear_0, train.py(9)
device             kkkk                     jjjj
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.shared import shared
from tb_steptime.trace.sources import Words, modules, sources, words_of
from tb_steptime.trace.table import MODULE_SEPARATOR, Int64


class KernelMakers(NamedTuple):
    """One entry per row of the kernel table.

    module   the innermost nn.Module; line: the innermost one outside torch; -1 where there is none, or none is recorded
    """

    module: Words
    line: Words


@shared
def kernel_makers(trace: Trace) -> KernelMakers:
    """The module and line of each kernel of the recording."""
    user, labels = _made_by(trace), kernel_labels(trace)
    module, line = modules(trace, user), sources(trace, user)
    if labels is None:
        return KernelMakers(module, line)
    innermost_module = words_of(labels.modules, labels.texts.strings, lambda path: path.rpartition(MODULE_SEPARATOR)[2])
    return KernelMakers(innermost_module.over(module), words_of(labels.line, labels.texts.strings, str).over(line))


def kernel_module_rows(trace: Trace) -> Int64:
    """For each kernel the row of the innermost module frame around its maker; -1 for none."""
    return innermost(trace, module_frames, _made_by(trace))


def _made_by(trace: Trace) -> Int64:
    """For each kernel the row of its launch or op; for a backward kernel, of the op that created its node."""
    origins = kernel_origins(trace)
    anchor = np.where(origins.call >= 0, origins.call, origins.op)
    made = forward_of(trace, anchor)
    return np.where(made >= 0, made, anchor).astype(np.int64)
