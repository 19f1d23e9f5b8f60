"""Small recordings of real DataLoaders, with the truth on each; `python -m tools.make_recordings` makes them.

Tests replay them where a live loader takes seconds to start, or torch is not installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def names() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir() if (path / "truth.json").exists())


def truth(name: str) -> dict[str, Any]:
    """settings: of the loader. passes: of each the samples of each batch, as the loop got them. Of `lines` only shares:
    of each function, by its own clock."""
    content: dict[str, Any] = json.loads((FOLDER / name / "truth.json").read_text())
    return content
