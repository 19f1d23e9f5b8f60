"""Numbers for the combinations of category, name and track that many events share, and what each combination means."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from tb_steptime.trace.kineto.categories import LEFT_OUT, category_of, is_window, kind_of
from tb_steptime.trace.kineto.further import BARE
from tb_steptime.trace.kineto.inputs import Numbers, keeps_inputs, keeps_settings
from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.table import CALL_KINDS, Kind, is_in

#: Mask over Kind numbers.
IS_A_CALL = is_in(np.arange(256), CALL_KINDS)


class Labels(dict[tuple[Any, ...], int]):
    """Numbers the combinations of category, name and track that many events share: one look-up per event instead of
    three.

    bare: copies whose name does not say what they copy;  shaped: calls that may record the shape of the kernel that
    they launch, which CUDA's calls never do
    windows: rows of the profiler that say when it recorded
    categories: distinct ones, as the file spells them
    of_autograd: whether ops are those of an export of the autograd profiler
    """

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.kept_inputs, self.kept_settings, self.bare, self.shaped, self.windows = (
            array("B") for _ in range(6)
        )
        self.names, self.threads = array("i"), array("i")
        self.name_numbers, self.thread_numbers = Numbers(), Numbers()
        self.categories: set[Any] = set()
        self.of_autograd = False

    def __missing__(self, label: tuple[Any, ...]) -> int:
        written, name, pid, tid = label
        number = self[label] = len(self)
        category = category_of(written, name or "", pid)
        self.of_autograd |= category != written
        self.categories.add(category)
        kind = kind_of(category, name or "")
        left_out = kind == LEFT_OUT
        self.kinds.append(kind)
        self.kept_inputs.append(kind != LEFT_OUT and keeps_inputs(Kind(kind), name or ""))
        self.kept_settings.append(self.kept_inputs[-1] and keeps_settings(name or ""))
        self.bare.append(name in BARE and kind in (Kind.MEMCPY, Kind.MEMSET))
        self.shaped.append(bool(IS_A_CALL[kind]) and not (name or "").startswith("cu"))
        self.windows.append(is_window(category))
        self.names.append(UNKNOWN if left_out else self.name_numbers[name or ""])
        self.threads.append(UNKNOWN if left_out else self.thread(pid, tid))
        return number

    def thread(self, pid: object, tid: object) -> int:
        return self.thread_numbers[track_text(pid), track_text(tid)]


def track_text(track: object) -> str:
    if isinstance(track, float) and track.is_integer():
        track = int(track)
    return "" if track is None else str(track)
