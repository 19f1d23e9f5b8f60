"""One module per view; ANALYSES lists them in the order of the tab.

A view is imported when it is asked for: a command that prints nothing of it does not wait for what measures it.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any

from tb_steptime.analyses.base import Analysis

#: A module each, named like its view.
_VIEWS = (
    "overview", "trends", "data_loading", "tensor_cores", "gpu", "host", "operators", "memory", "compare", "ranks",
    "timeline",
)  # fmt: skip

#: All of them, imported when it is first read.
ANALYSES: tuple[Analysis[Any], ...]


def analyses_without(leave_out: Collection[str]) -> list[Analysis[Any]]:
    """All but these views, which are not imported for that."""
    if known := globals().get("ANALYSES"):
        return [each for each in known if each.id not in leave_out]
    return [_analysis(view) for view in _VIEWS if view not in leave_out]


def _analysis(view: str) -> Analysis[Any]:
    found: Analysis[Any] = importlib.import_module(f"{__name__}.{view}").ANALYSIS
    return found


def __getattr__(name: str) -> Any:
    if name != "ANALYSES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = tuple(map(_analysis, _VIEWS))
    return globals()[name]
