"""In which lines a worker makes its batches: its stack, looked at by another thread, in bursts about once a second.

making a batch   [__getitem__ .... decode ........ crop .....][collate]
a burst                       ^ ^  ^ ^ ^  ^ ^ ^ ^

Python lets another thread in only where the first gives its lock away, or after the switch interval of 5 ms, and a
look that comes so late sees the wrong line. So that interval is short while a burst lasts, and as it was in between.
Following each line instead (sys.settrace) makes loops in Python ten times as slow as they are, and reading files not at
all. A timer's signal would interrupt what the dataset waits for, which not every file system takes well. What is left
are some tenths of a millisecond by which Python's own computing may be counted as the line after it: see
`benchmarks/lines.py`.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time
from collections import Counter
from types import CodeType, FrameType

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import LATE, LINES, LINES_IN_ROW, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.file.source_locations import Place, Places, is_followed, is_recorder, is_torch_fetch

#: Looks of a burst, from some ms apart to some more; the first some while after its beginning, which Python chose.
LOOKS = 20
LEAST_APART_NS, MOST_APART_NS = 500_000, 3_500_000
MOST_AHEAD_NS = 20_000_000
SWITCH_INTERVAL_S = 0.00001
#: A look that comes later was let in above all because the other thread waits: the machine is full. Where more of a
#: burst do, it does not count.
LATEST_NS = 1_000_000
MOST_LATE = LOOKS // 5
#: Between two bursts, at least. After one that cost d, none is made for 400 d: at most 0.25 % of the time is spent so.
PERIOD_NS = 1_000_000_000
BURST_REST = 400
#: What a look costs the thread that makes batches beyond what is measured: the lock changes hands twice.
HANDOVER_NS = 50_000

#: When, flags, and how often each line was met.
Burst = tuple[int, int, Counter[Place]]


class LineSampler:
    """Looks at the thread that made it, until the journal ends. outer, inner: the recorder's own code around the making
    of a batch, and within it."""

    def __init__(self, journal: Journal, outer: tuple[CodeType, ...], inner: tuple[CodeType, ...]) -> None:
        self._journal = journal
        self._outer = outer
        self._inner = inner
        self._thread = threading.get_ident()
        self._own = random.Random()  # the program's own random numbers stay as they are
        self._followed: dict[CodeType, bool] = {}
        self._bursts: list[Burst] = []
        self._places = Places(journal)

    def start(self) -> None:
        threading.Thread(target=self._run, name="tb_steptime lines", daemon=True).start()

    def write(self) -> None:
        """The bursts since the last call: by the thread that writes the journal."""
        while self._bursts:
            at_ns, flags, counts = self._bursts.pop(0)
            pairs = [(self._places.number(place, at_ns), count) for place, count in counts.items()]
            for first in range(0, max(1, len(pairs)), LINES_IN_ROW):
                flat = [number for pair in pairs[first : first + LINES_IN_ROW] for number in pair]
                self._journal.add(at_ns, LINES, flags, NO_BATCH, (at_ns, *flat))

    def _run(self) -> None:
        rest_ns = self._own.randrange(PERIOD_NS)
        with contextlib.suppress(Exception):  # what goes wrong here ends the looks, and is nobody's concern
            while self._journal.alive:
                self._sleep(rest_ns)
                rest_ns = max(PERIOD_NS, BURST_REST * self._burst())

    def _burst(self) -> int:
        """What it cost, ns."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(min(usual, SWITCH_INTERVAL_S))
        cost_ns = late = 0
        counts: Counter[Place] = Counter()
        try:
            self._sleep(self._own.randrange(MOST_AHEAD_NS))
            for _ in range(LOOKS):
                wanted = now_ns() + self._own.randrange(LEAST_APART_NS, MOST_APART_NS)
                self._sleep(wanted - now_ns())
                before = now_ns()
                late += before > wanted + LATEST_NS
                self._look(counts)
                cost_ns += now_ns() - before + HANDOVER_NS
        finally:
            sys.setswitchinterval(usual)
        if late > MOST_LATE:
            self._bursts.append((now_ns(), LATE, Counter()))
        elif counts:
            self._bursts.append((now_ns(), 0, counts))
        return cost_ns

    def _look(self, counts: Counter[Place]) -> None:
        """Count the innermost line that is followed. Without one, the outermost: default_collate, say."""
        frame: FrameType | None = sys._current_frames().get(self._thread)
        innermost: Place | None = None
        outermost: Place | None = None
        while frame is not None and frame.f_code not in self._outer:
            code = frame.f_code
            own = is_recorder(code)
            if own and code not in self._inner:
                return
            if innermost is None and self._is_followed(code):
                innermost = code, frame.f_lineno
            if not own and not is_torch_fetch(code):
                outermost = code, frame.f_lineno
            frame = frame.f_back
        line = innermost or outermost
        if frame is not None and line is not None:
            counts[line] += 1

    def _is_followed(self, code: CodeType) -> bool:
        followed = self._followed.get(code)
        if followed is None:
            followed = self._followed[code] = is_followed(code)
        return followed

    def _sleep(self, duration_ns: int) -> None:
        time.sleep(max(0, duration_ns) / 1e9)
