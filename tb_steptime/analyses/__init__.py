"""One module per view; ANALYSES lists them in the order of the tab.

A view is imported when it is first needed, so a command that does not print it does not wait for its imports.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from tb_steptime.analyses.base import Analysis

#: Names of the modules.
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
    analysis: Analysis[Any] = import_module(f"{__name__}.{view}").ANALYSIS
    return analysis


def __getattr__(name: str) -> Any:
    if name != "ANALYSES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = tuple(map(_analysis, _VIEWS))
    return globals()[name]
