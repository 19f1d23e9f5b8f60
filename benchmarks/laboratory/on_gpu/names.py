"""The programs by name, with their recorded changes: everything that judging needs, without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Named:
    """changes: by card, the program's own changes that follow the card; empty if it is not to be followed. Under "" are
    the changes for which no card is known. A program without changes is healthy."""

    name: str
    changes: Mapping[str, Sequence[str]]

    @property
    def folder(self) -> str:
        return "".join(letter if letter.isalnum() else "_" for letter in self.name).replace("__", "_")

    @property
    def all_changes(self) -> list[str]:
        return list(dict.fromkeys(change for changes in self.changes.values() for change in changes))


def recorded_programs() -> dict[str, Named]:
    rows = map(json.loads, (RECORDED / "programs.jsonl").read_text().splitlines())
    return {row["name"]: Named(**row) for row in rows}
