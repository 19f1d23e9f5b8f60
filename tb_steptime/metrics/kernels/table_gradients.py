"""Dense gradients of embeddings on a GPU, and the kernel time that goes into rows of their tables that a batch does not
need.

node      |- EmbeddingBackward0 -|
op           |- fill_ [V,64] -|      |- _foreach_lerp_ [[V,64], ...] -| |- _foreach_mul_ ...    of the optimizer
kernel          |fill|                  |multi_tensor_apply|               |multi_tensor_apply|
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import KernelSite, kernel_site
from tb_steptime.metrics.gpu.utilization import kernel_rows_in_window
from tb_steptime.metrics.host.embedding_tables import has_tables, spared_rows
from tb_steptime.metrics.kernels.stream_kernels import begin_in
from tb_steptime.metrics.phases.assignment import optimizer_class, site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Kind, is_in

#: Ops of an update that need all rows of a table, by optimizer. Weight decay, which uses an out-of-place `add`, changes
#: each row, and AMSGrad keeps a maximum of each. SGD with momentum multiplies its averages.
_NEEDS_ALL_ROWS = {
    "Adam": expression(r"aten::(_foreach_)?(add|maximum_?)$"),
    "SGD": expression(r"(?!aten::(_foreach_)?add_$)"),
}
#: Norms of gradients, as for clipping, which sparse gradients do not support. A model's own norms run in its passes.
_NORM = expression(r"aten::(linalg_vector_norm|norm|_foreach_norm)$")
_PASSES = tuple(PHASES.index(phase) for phase in ("forward", "backward"))


class TableGradients(msgspec.Struct, frozen=True):
    """Kernels that fill gradients of tables with zeros, or update tables by these gradients; means per step.

    saved_ns    part of their time that sparse gradients save
    tables      number of these gradients
    rows        number of rows of the largest table
    indices     number of indices of a batch in that table
    site        where the kernels come from
    """

    saved_ns: float
    tables: float
    rows: int
    indices: int
    site: KernelSite


def table_gradients(trace: Trace, device: int, steps: Steps | None = None) -> TableGradients | None:
    """Returns the kernels that start in the steps; None without such gradients, without recorded shapes, and if a norm
    or the update needs all rows. steps: None for all."""
    needs_all_rows = _NEEDS_ALL_ROWS.get(optimizer_class(trace) or "")
    chosen = steps or find_steps(trace)
    if needs_all_rows is None or trace.events.shapes is None or not has_tables(trace) or _takes_norms(trace):
        return None
    rows, origins = kernel_rows_in_window(trace, device), kernel_origins(trace)
    rows = rows[(origins.op[rows] >= 0) & begin_in(trace, chosen, rows)]
    ops, place = np.unique(origins.op[rows].astype(np.int64), return_inverse=True)
    updates = SITE_PHASE[site_of(trace, ops)] == PHASES.index("optimizer")
    spared = spared_rows(trace, ops, updates)
    if spared is None or are_named(trace, ops[updates], needs_all_rows.match).any():
        return None
    share = spared.share[place]
    dur = steady_activity_ns(trace, trace.kernels.event[rows])
    if not share.any():
        return None
    saved_ns = float((share * dur).sum()) / len(chosen.steps)
    site = kernel_site(trace, rows[share > 0])
    return TableGradients(saved_ns, spared.tables / len(chosen.steps), spared.rows, spared.indices, site)


def _takes_norms(trace: Trace) -> bool:
    norms = rows_named(trace, (Kind.CPU_OP,), _NORM.match)
    return not is_in(SITE_PHASE[site_of(trace, norms)], _PASSES).all()
