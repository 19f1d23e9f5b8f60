"""Two traces of one file: are they the same, to the last bit of each column?"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tb_steptime.trace.table import StringTable


def differences(one: Any, other: Any, where: str = "trace") -> list[str]:
    """Where they differ; types of columns count."""
    if type(one) is not type(other):
        return [f"{where}: {type(one)} and {type(other)}"]
    if isinstance(one, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        return [] if alike else [f"{where}: {one.dtype}{one.shape} and {other.dtype}{other.shape}"]
    if isinstance(one, StringTable):
        return [] if one.strings == other.strings else [where]
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return [
            each for name in names for each in differences(getattr(one, name), getattr(other, name), f"{where}.{name}")
        ]
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]
