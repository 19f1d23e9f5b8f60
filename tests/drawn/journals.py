"""The header of a recorder's file, and a file that cannot be written."""

from __future__ import annotations

HEADER = {"host": "a", "settings": {"num_workers": 2}}


def refuse(reason: str) -> None:
    raise AssertionError(reason)
