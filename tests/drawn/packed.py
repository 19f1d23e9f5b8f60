"""Answers as the tab unpacks them."""

from __future__ import annotations

from typing import Any


def in_rows(value: Any) -> Any:
    """Unpacks in the same way as `frontend/src/server/recorded.ts`."""
    if isinstance(value, list):
        return [in_rows(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "#" in value:
        return [dict(zip(value["#"], row, strict=True)) for row in zip(*map(in_rows, value["v"]), strict=True)]
    fields = value["'"] if "'" in value else value.items()
    return {name: in_rows(each) for name, each in fields}
