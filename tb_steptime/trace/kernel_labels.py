"""Labels of kernels: the op, module, source line and phase of the kernels that a CUDA graph runs. The launch call of a
graph does not show these.

There are two sources. An annotation, which the user made while the graph was captured, names the module and the phase.
An eager recording of the same job, aligned with the graph's kernels, also names the op and the line. An annotation
belongs to this very kernel, so it takes precedence.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import MODULE_SEPARATOR, Int32, KernelLabels, StringTable, values_at


@shared
def annotated(trace: Trace) -> KernelLabels | None:
    """Returns the labels that annotations give, or None if there are no annotations. A module is named by its qualified
    name, or by the innermost scope if only that was annotated."""
    table, size = trace.annotations, len(trace.kernels)
    row = np.searchsorted(table.event, trace.kernels.event)
    row[row == len(table)] = -1
    row = np.where((row >= 0) & (table.event[row] == trace.kernels.event), row, -1) if len(table) else row
    module, name, phase = (
        values_at(column, row).astype(np.int32) for column in (table.module, table.name, table.phase)
    )
    modules = np.where(module >= 0, module, name)
    if not ((modules >= 0) | (phase >= 0)).any():
        return None
    none = np.full(size, -1, np.int32)
    texts = [text.replace(".", MODULE_SEPARATOR) for text in trace.annotation_texts.strings]  # "layers.0" -> "layers/0"
    return KernelLabels(
        op=none,
        call=none,
        shapes=none,
        dtypes=none,
        settings=none,
        is_same=none >= 0,
        modules=modules,
        line=none,
        phase=phase,
        texts=StringTable(texts),
    )


@shared
def kernel_labels(trace: Trace) -> KernelLabels | None:
    """Returns the labels of this recording's kernels, or None where no kernel has one."""
    noted = annotated(trace)
    if noted is None or trace.kernel_labels is None:
        return noted or trace.kernel_labels
    return _over(noted, trace.kernel_labels)


def _over(labels: KernelLabels, others: KernelLabels) -> KernelLabels:
    """Returns the given labels, or those of `others` where they are empty."""
    first = len(labels.texts)

    def chosen(own: Int32, other: Int32) -> Int32:
        return np.where(own >= 0, own, np.where(other >= 0, other + first, -1)).astype(np.int32)

    return replace(
        others,
        modules=chosen(labels.modules, others.modules),
        line=chosen(labels.line, others.line),
        phase=chosen(labels.phase, others.phase),
        texts=StringTable([*labels.texts.strings, *others.texts.strings]),
    )
