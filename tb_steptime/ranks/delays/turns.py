"""Why ranks that take turns are late: what takes more time on the late rank of each step than on the median of the
others in that step, as a mean over steps.

              step 6   step 7   step 8
    rank 0    [100]      80       82        the rank that is late in a step computes 100 in it, and the others 81:
    rank 1      81     [101]      79        work differs from step to step and from rank to rank
    rank 2      80       82      [99]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.delays.causes import LEAST_NS, LEAST_SHARE, parts_of, with_share
from tb_steptime.ranks.matrices import matrix_values
from tb_steptime.ranks.result import Cause
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Float64, Int64


def causes_of_turns(spans: Sequence[RankSpan], exposed_ns: Int64, steps: Int64) -> list[Cause]:
    """Returns the causes, the largest first. exposed_ns: (steps, ranks), waits of the others that end with each rank's
    arrival; steps: places of the matched steps."""
    steps = steps[exposed_ns[steps].any(axis=1)]
    if not len(steps):
        return []
    late = exposed_ns[steps].argmax(axis=1)
    delay_ns = round(float(exposed_ns[steps, late].mean()) / (len(spans) - 1))
    found = [
        _cause(Cause(id, 0, 0, 0.0, metrics[0]), _values(spans, metrics)[:, steps], late)
        for id, metrics in parts_of(spans[0], with_kernels=True)
    ]
    worth = max(LEAST_NS, round(LEAST_SHARE * delay_ns))
    longer = [with_share(cause, delay_ns) for cause in found if cause.own_ns - cause.others_ns >= worth]
    return sorted(longer, key=lambda cause: cause.others_ns - cause.own_ns)


def _values(spans: Sequence[RankSpan], metrics: Sequence[str]) -> Float64:
    """Returns (ranks, steps), NaN where one of the metrics is not known."""
    values: Float64 = np.sum([matrix_values(spans, metric) for metric in metrics], axis=0)
    return values


def _cause(cause: Cause, values: Float64, late: Int64) -> Cause:
    """The cause with its times on the rank that is late in each step, and on the others; unchanged, with zero times, if
    no value is known. values: (ranks, steps); late: the late rank of each step."""
    columns = np.arange(len(late))
    own = values[late, columns]
    others = values.copy()
    others[late, columns] = np.nan
    known = ~np.isnan(values).any(axis=0)
    if not known.any():
        return cause
    usual = np.nanmedian(others[:, known], axis=0)
    return Cause(cause.id, round(float(own[known].mean())), round(float(usual.mean())), 0.0, cause.metric)
