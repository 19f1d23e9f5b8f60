"""One module per view; ANALYSES lists them in the order of the tab.

A view is imported when it is first needed, so a command that does not print it does not wait for its imports.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tb_steptime.analyses.base import Analysis

_VIEWS = (
    "overview", "trends", "data_loading", "tensor_cores", "gpu", "host", "operators", "memory", "compare", "ranks",
    "timeline",
)  # fmt: skip

#: All analyses, imported on first access.
ANALYSES: tuple[Analysis[Any], ...]


def analyses_without(leave_out: Collection[str]) -> list[Analysis[Any]]:
    """Returns all analyses except these, which are not imported."""
    if loaded := globals().get("ANALYSES"):
        return [each for each in loaded if each.id not in leave_out]
    return [_analysis(view) for view in _VIEWS if view not in leave_out]


def _analysis(view: str) -> Analysis[Any]:
    """Imports a view. The imports are written out, so that tools that read imports find them."""
    match view:
        case "overview":
            from tb_steptime.analyses import overview

            return overview.ANALYSIS
        case "trends":
            from tb_steptime.analyses import trends

            return trends.ANALYSIS
        case "data_loading":
            from tb_steptime.analyses import data_loading

            return data_loading.ANALYSIS
        case "tensor_cores":
            from tb_steptime.analyses import tensor_cores

            return tensor_cores.ANALYSIS
        case "gpu":
            from tb_steptime.analyses import gpu

            return gpu.ANALYSIS
        case "host":
            from tb_steptime.analyses import host

            return host.ANALYSIS
        case "operators":
            from tb_steptime.analyses import operators

            return operators.ANALYSIS
        case "memory":
            from tb_steptime.analyses import memory

            return memory.ANALYSIS
        case "compare":
            from tb_steptime.analyses import compare

            return compare.ANALYSIS
        case "ranks":
            from tb_steptime.analyses import ranks

            return ranks.ANALYSIS
        case "timeline":
            from tb_steptime.analyses import timeline

            return timeline.ANALYSIS
        case _:
            raise KeyError(view)


def __getattr__(name: str) -> Any:
    if name != "ANALYSES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = tuple(map(_analysis, _VIEWS))
    return globals()[name]
