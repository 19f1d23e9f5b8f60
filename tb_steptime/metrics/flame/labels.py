"""Labels of frames: each combination of kind and text has one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from tb_steptime.trace.table import Int32, Int64, distinct_in

#: outside: no recorded op did it; smaller: frames that are too small to show separately, merged into one.
FrameKind = Literal["all", "python", "module", "op", "runtime", "kernel", "collective", "copy", "outside", "smaller"]
FRAME_KINDS: tuple[FrameKind, ...] = get_args(FrameKind)


class Labels:
    """Numbers of kinds and texts. 0 is the whole, 1 is the merged smaller frames."""

    def __init__(self) -> None:
        self._number = dict[tuple[FrameKind, str], int]()
        self.whole, self.smaller = self.number("all", "all"), self.number("smaller", "(smaller)")

    def number(self, kind: FrameKind, text: str) -> int:
        return self._number.setdefault((kind, text), len(self._number))

    def of(self, kind: FrameKind, name: Int32 | Int64, texts: Sequence[str], shown: Callable[[str], str]) -> Int64:
        """Label numbers of these rows of texts. Each distinct text is worded once."""
        numbers = np.full(len(texts) + 1, -1, np.int64)
        for each in distinct_in(name).tolist():
            numbers[each] = self.number(kind, shown(texts[each]))
        return numbers[name]

    @property
    def kinds(self) -> list[FrameKind]:
        return [kind for kind, _ in self._number]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self._number]
