"""In which source lines a worker spends its time: another thread samples its stack, in bursts about once a second.

a batch   [__getitem__ .... decode ........ crop .....][collate]
a burst                ^ ^  ^ ^ ^  ^ ^ ^ ^

Python runs another thread only where the first releases the global interpreter lock, or after the switch interval of 5
ms, and a sample that late shows the wrong line. So the interval is short during a burst, and the usual one between
bursts. Tracing each line instead (sys.settrace) makes loops in Python ten times slower, and does not slow the reading
of files. A timer's signal would interrupt the system calls of the dataset, which not every file system handles well.
What remains are some tenths of a millisecond by which Python's own computing may be counted as the line after it: see
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
from tb_steptime.record.file.format import LATE, LINES, LINES_IN_ROW, NAMED, NAMED_BYTES, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.frames import is_path_of_user, is_recorder, is_torch_fetch, name_of

#: Number of samples in a burst. They are at random distances, and the first one comes after a random delay, since
#: Python chose the moment when the burst began.
SAMPLES = 20
MIN_APART_NS, MAX_APART_NS = 500_000, 3_500_000
MAX_DELAY_NS = 20_000_000
SWITCH_INTERVAL_S = 0.00001
#: A sample that is later than LATE_NS mostly ran because the other thread waits: the cores are busy. A burst with more
#: than MAX_LATE such samples does not count.
LATE_NS = 1_000_000
MAX_LATE = SAMPLES // 5
#: Minimum time between two bursts. After one that cost d, none is made for 400 d, so bursts take at most 0.25 % of the
#: time.
PERIOD_NS = 1_000_000_000
BURST_REST = 400
#: The cost of a sample for the sampled thread beyond what is measured: the lock changes hands twice.
HANDOVER_NS = 50_000
#: Maximum number of locations with names: generated code may have any number of lines.
MAX_LOCATIONS = 4096
#: Number of rows after which names are written again, since old rows are overwritten, and names with them.
NAMED_AGAIN = 4096

#: A code object and a line within it.
Location = tuple[CodeType, int]
#: A burst: its time, flags, and the number of samples of each line.
Burst = tuple[int, int, Counter[Location]]


class LineSampler:
    """Samples the stack of the thread that created it, until the journal ends. outer, inner: code objects of the
    recorder around the production of a batch, and within it."""

    def __init__(self, journal: Journal, outer: tuple[CodeType, ...], inner: tuple[CodeType, ...]) -> None:
        self._journal = journal
        self._outer = outer
        self._inner = inner
        self._thread = threading.get_ident()
        self._random = random.Random()  # leaves the program's own random numbers alone
        self._bursts: list[Burst] = []
        self._locations = SourceLocations(journal)

    def start(self) -> None:
        threading.Thread(target=self._run, name="tb_steptime lines", daemon=True).start()

    def write(self) -> None:
        """Writes the bursts since the last call. Called by the thread that writes the journal."""
        while self._bursts:
            at_ns, flags, counts = self._bursts.pop(0)
            pairs = [(self._locations.number(line, at_ns), count) for line, count in counts.items()]
            for first in range(0, max(1, len(pairs)), LINES_IN_ROW):
                flat = [number for pair in pairs[first : first + LINES_IN_ROW] for number in pair]
                self._journal.add(at_ns, LINES, flags, NO_BATCH, (at_ns, *flat))

    def _run(self) -> None:
        rest_ns = self._random.randrange(PERIOD_NS)
        with contextlib.suppress(Exception):  # an error ends only the sampling
            while self._journal.alive:
                self._sleep(rest_ns)
                rest_ns = max(PERIOD_NS, BURST_REST * self._burst())

    def _burst(self) -> int:
        """Takes a burst of samples, and returns its cost in ns."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(min(usual, SWITCH_INTERVAL_S))
        cost_ns = late_count = 0
        counts: Counter[Location] = Counter()
        try:
            self._sleep(self._random.randrange(MAX_DELAY_NS))
            for _ in range(SAMPLES):
                due = now_ns() + self._random.randrange(MIN_APART_NS, MAX_APART_NS)
                self._sleep(due - now_ns())
                before = now_ns()
                late_count += before > due + LATE_NS
                self._sample(counts)
                cost_ns += now_ns() - before + HANDOVER_NS
        finally:
            sys.setswitchinterval(usual)
        if late_count > MAX_LATE:
            self._bursts.append((now_ns(), LATE, Counter()))
        elif counts:
            self._bursts.append((now_ns(), 0, counts))
        return cost_ns

    def _sample(self, counts: Counter[Location]) -> None:
        """Counts the innermost line of the user's code; if there is none, the outermost line, such as that of
        default_collate."""
        frame: FrameType | None = sys._current_frames().get(self._thread)
        innermost: Location | None = None
        outermost: Location | None = None
        while frame is not None and frame.f_code not in self._outer:
            code = frame.f_code
            own = is_recorder(code)
            if own and code not in self._inner:
                return
            line = code, frame.f_lineno or code.co_firstlineno  # some instructions have no line
            if innermost is None and is_path_of_user(code.co_filename):
                innermost = line
            if not own and not is_torch_fetch(code):
                outermost = line
            frame = frame.f_back
        location = innermost or outermost
        if frame is not None and location is not None:
            counts[location] += 1

    def _sleep(self, duration_ns: int) -> None:
        time.sleep(max(0, duration_ns) / 1e9)


class SourceLocations:
    """Source locations by number, from 1. Rows with a location's name are written before the first row that refers to
    it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: dict[Location, int] = {}
        self._named: set[int] = set()
        self._name_again = 0

    def number(self, location: Location, at_ns: int) -> int:
        """Returns the number of a location; 0 if there are too many. at_ns: now, by the monotonic clock."""
        if self._journal.rows >= self._name_again:
            self._named.clear()
            self._name_again = self._journal.rows + NAMED_AGAIN
        number = self._numbers.get(location, 0)
        if not number and len(self._numbers) < MAX_LOCATIONS:
            number = self._numbers[location] = len(self._numbers) + 1
        if number and number not in self._named:
            self._named.add(number)
            self._write(number, name_of(*location), at_ns)
        return number

    def _write(self, number: int, name: str, at_ns: int) -> None:
        content = name.encode(errors="replace") + b"\0"  # marks the end
        for part, start in enumerate(range(0, len(content), NAMED_BYTES)):
            text = content[start : start + NAMED_BYTES].ljust(NAMED_BYTES, b"\0")
            words = (int.from_bytes(text[at : at + 8], "little", signed=True) for at in range(0, NAMED_BYTES, 8))
            self._journal.add(at_ns, NAMED, 0, part, (number, *words))
