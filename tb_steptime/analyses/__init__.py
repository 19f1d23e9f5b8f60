"""One module per view; ANALYSES lists them in the order of the tab."""

from __future__ import annotations

from typing import Any

from tb_steptime.analyses import (
    compare,
    data_loading,
    gpu,
    host,
    memory,
    operators,
    overview,
    ranks,
    tensor_cores,
    timeline,
    trends,
)
from tb_steptime.analyses.base import Analysis

ANALYSES: tuple[Analysis[Any], ...] = (
    overview.ANALYSIS,
    trends.ANALYSIS,
    data_loading.ANALYSIS,
    tensor_cores.ANALYSIS,
    gpu.ANALYSIS,
    host.ANALYSIS,
    operators.ANALYSIS,
    memory.ANALYSIS,
    compare.ANALYSIS,
    ranks.ANALYSIS,
    timeline.ANALYSIS,
)
