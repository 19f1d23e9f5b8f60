"""Times every step of a job at next to no cost, to find slow steps and moments that are worth a recorded span.

- `torch.profiler` sees ten steps; what happens once an hour is in none of them. Reading two clocks per step costs a
  microsecond or two, so it is done for all steps.
- A step ends where `step()` is called and the next begins where that returns: what the profiler and the recorder do in
  between belongs to neither.
- Waits such as `.item()` are not timed by themselves: torch offers no hook that compiled code would survive. They are
  part of the thread's time off the CPU, without its waits for batches, if the driver sleeps; if the driver spins, they
  are CPU time.
- No fixed limit suits every job. A slow step takes three times the usual time; a change is defined as in Trends, three
  robust deviations of medians. Recording for either is rationed, so that a job whose steps always differ is not
  recorded for ever.

A single step is slow, or all are from some step on:

one step       | | |   |   | | |        three times the median of the steps before it
a change       ........::::::::         medians of blocks of steps: the latest three are all above those before

Figures beside the times cost next to nothing to measure: waits for batches, garbage collection, the size of the
process.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import thread_time_ns
from types import FrameType
from typing import Any

from tb_steptime.record.file import STEPS_SUFFIX
from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.steps import SLOW, UNKNOWN, StepFile, TimedStep

_log = logging.getLogger("tb_steptime.record")

#: Maximum number of rows that wait.
MAX_WAITING = 4096
#: Maximum number of lines about slow steps in a job, and minimum time between two of them.
MOST_LINES, LINE_REST_NS = 20, 60_000_000_000
#: Maximum number of slow steps that get a row each: more of them are no exception, and would make the file large.
MOST_SLOW = 1024
#: Minimum share of a slow step's excess time for a cause to be named.
NAMED_FRACTION = 0.1


class StepClock:
    """Times the steps of the thread that creates it. A failure to write ends the timing, with one warning."""

    def __init__(self, directory: Path, describe: Callable[[], dict[str, Any]]) -> None:
        """describe: see `recordings.describe_process`."""
        self.slowness = Slowness()
        self._directory = directory
        self._collections = Collections()
        self._thread = threading.get_ident()
        self._waited_before_ns = waited_ns.get(self._thread, 0)
        self._slow = self._lines = 0
        self._quiet_until_ns = 0
        self.is_slow = False
        self.is_due = False  # a write of waiting rows and a check of triggers are due: a few times a second at most
        self._file: StepFile | None = None
        try:
            header = describe()
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._fail(error.strerror or str(error))
            self.begin_step()
            return
        path = directory.absolute() / "{host}_{main_pid}.{recorder_start_ns}{suffix}".format(
            **header, suffix=STEPS_SUFFIX
        )
        file = StepFile(path, header, rss_bytes, self._fail)
        if file.alive:
            self._file = file
            self._collections.start()
        self.begin_step()

    def begin_step(self) -> None:
        """Begins a step: whatever was done since the last one ended belongs to none. Not needed if that was next to
        nothing."""
        self._waited_ns = waited_ns.get(self._thread, 0)
        self._collected_ns = self._collections.total_ns
        self._cpu_ns = thread_time_ns()
        self._begin_ns = now_ns()

    def end_usual_step(self, step: int) -> bool:
        """Does what `end_step` does without flags, if nothing else has to be done. Otherwise returns False, and the
        step has not ended. Nearly all short steps are usual. Most of the cost is that after the job's own work nothing
        of this is in a cache, so the method touches little memory."""
        end_ns, file, slowness = now_ns(), self._file, self.slowness
        duration_ns = end_ns - self._begin_ns
        if file is None or end_ns >= file.next_write_ns or duration_ns > slowness.limit_ns:
            return False
        waiting = file.waiting
        if len(waiting) >= MAX_WAITING:
            return False
        cpu_ns = thread_time_ns()
        waited = waited_ns.get(self._thread, 0)
        collected_ns = self._collections.total_ns
        wait_ns = UNKNOWN if waited == self._waited_before_ns else waited - self._waited_ns
        facts = (0, step, end_ns, duration_ns, wait_ns, collected_ns - self._collected_ns, cpu_ns - self._cpu_ns)
        waiting.append(TimedStep._make(facts))
        slowness.latest.append(duration_ns)
        self._begin_ns, self._cpu_ns, self._waited_ns, self._collected_ns = end_ns, cpu_ns, waited, collected_ns
        return True

    def end_step(self, step: int, flags: int) -> int:
        """Ends a step and returns its length in ns. is_slow and is_due describe this step until the next one ends."""
        end_ns, cpu_ns = now_ns(), thread_time_ns()
        waited = waited_ns.get(self._thread, 0)
        collected_ns = self._collections.total_ns
        duration_ns = end_ns - self._begin_ns
        self.is_slow = not flags and self.slowness.add(duration_ns)
        timed = TimedStep(
            flags | (SLOW if self.is_slow and self._slow < MOST_SLOW else 0),
            step,
            end_ns,
            duration_ns,
            UNKNOWN if waited == self._waited_before_ns else waited - self._waited_ns,
            collected_ns - self._collected_ns,
            cpu_ns - self._cpu_ns,
        )
        self._begin_ns, self._cpu_ns, self._waited_ns, self._collected_ns = end_ns, cpu_ns, waited, collected_ns
        file = self._file
        if file is not None:
            waiting = file.waiting
            waiting.append(timed)
            self.is_due = end_ns >= file.next_write_ns or len(waiting) >= MAX_WAITING
            if self.is_slow:
                self._slow += 1
                self._tell(timed)
        return duration_ns

    def write(self) -> tuple[float, float] | None:
        """Write the waiting rows. Returns, if steps have become slower, their median before and now."""
        file = self._file
        if file is not None:
            file.flush()
            file.check()
        return self.slowness.follow()

    def close(self) -> None:
        self._collections.stop()
        if self._file is not None:
            self._file.close()

    def abandon(self) -> None:
        """Called in a forked child: its steps would look like its parent's."""
        self._collections.stop()
        if self._file is not None:
            self._file.abandon()

    def _fail(self, reason: str) -> None:
        self._collections.stop()
        self._file = None
        self.is_due = False
        _log.warning("Steps are not timed in %s: %s. Training continues.", self._directory, reason)

    def _tell(self, step: TimedStep) -> None:
        """Logs one line about a slow step, but few lines if there are many."""
        if self._lines >= MOST_LINES or step.end_ns < self._quiet_until_ns:
            return
        self._lines += 1
        self._quiet_until_ns = step.end_ns + LINE_REST_NS
        usual_ns = self.slowness.usual_ns or 0.0
        took = f"{duration_text(step.duration_ns)} (usually {duration_text(usual_ns)})"
        _log.warning("%s.", ": ".join([f"step {step.step:,} took {took}", *filter(None, [_causes(step, usual_ns)])]))


def _causes(step: TimedStep, usual_ns: float) -> str:
    """Returns the causes that matter, largest first."""
    wait_ns = max(0, step.wait_ns)
    parts = [
        ("GC", step.collecting_ns),
        ("waiting for a batch", wait_ns),
        ("otherwise off the CPU", max(0, step.duration_ns - step.cpu_ns - wait_ns)),
    ]
    least_ns = NAMED_FRACTION * (step.duration_ns - usual_ns)
    named = [(what, ns) for what, ns in sorted(parts, key=lambda part: -part[1]) if ns >= least_ns]
    return ", ".join(f"{what} {duration_text(ns)}" for what, ns in named)


def duration_text(ns: float) -> str:
    """
    >>> duration_text(2_100_000_000), duration_text(95_000_000), duration_text(1_234_000)
    ('2.1 s', '95 ms', '1.2 ms')
    """
    if ns >= 1e9:
        return f"{ns / 1e9:.1f} s"
    return f"{ns / 1e6:.0f} ms" if ns >= 1e7 else f"{ns / 1e6:.1f} ms"


#: A slow step takes this many times the usual time ...
SLOW_TIMES = 3
#: ... and at least this much longer: what the system does to a step of a millisecond is no reason to record.
LEAST_NS = 50_000_000
#: Minimum number of steps before any time counts as usual, and how many first steps of a job are ignored because they
#: are slow by nature.
LEAST_STEPS, FIRST_STEPS = 20, 10
#: Number of steps in a block; maximum and minimum number of blocks that define what is usual; number of new blocks that
#: make a change.
BLOCK, MOST_BLOCKS, LEAST_BLOCKS, NEW_BLOCKS = 16, 32, 5, 3
#: Criteria of a change, as in Trends: medians differ by this many robust deviations, and by at least a fifth, since
#: less is no reason to record.
DEVIATIONS, ROBUST, LEAST_CHANGE = 3, 1.4826, 0.2


class Slowness:
    """Receives the lengths of steps without a profiler, in order. usual_ns: their recent median, None at first.
    limit_ns: longer steps are slow; 0 while unknown. latest: lengths that `follow` has not seen; a length up to the
    limit may be appended directly instead of calling `add`."""

    def __init__(self) -> None:
        self.usual_ns: float | None = None
        self.limit_ns = 0.0
        self._seen = 0
        self.latest: list[int] = []
        self._medians: list[float] = []

    def add(self, duration_ns: int) -> bool:
        """Adds a step, and returns whether it was slow. A slow step does not count for what is usual."""
        self._seen += 1
        if self._seen <= FIRST_STEPS:
            return False
        if self.limit_ns and duration_ns > self.limit_ns:
            return True
        self.latest.append(duration_ns)
        return False

    def follow(self) -> tuple[float, float] | None:
        """Called now and then: updates what is usual. If steps have become slower, returns their median before and now,
        once."""
        while len(self.latest) >= BLOCK:
            self._medians.append(median(self.latest[:BLOCK]))
            del self.latest[:BLOCK]
        lately = [*self._medians[-NEW_BLOCKS:], *self.latest]
        if self._seen >= LEAST_STEPS and lately:
            self.usual_ns = median(lately)
            self.limit_ns = max(SLOW_TIMES * self.usual_ns, self.usual_ns + LEAST_NS)
        before, new = self._medians[:-NEW_BLOCKS], self._medians[-NEW_BLOCKS:]
        if len(before) < LEAST_BLOCKS:
            return None
        self._medians = self._medians[-MOST_BLOCKS:]
        level = median(before)
        deviation = ROBUST * median(abs(each - level) for each in before)
        if min(new) <= level + max(DEVIATIONS * deviation, LEAST_CHANGE * level):
            return None
        self._medians = new
        return level, median(new)


#: How long each thread has waited for batches of recorded loaders since the process began. A thread that asked for none
#: has no entry.
waited_ns: defaultdict[int, int] = defaultdict(int)

_SIZE_FILE = "/proc/self/statm"


class Collections:
    """Time in Python's garbage collection. total_ns: in all threads, since this was started."""

    def __init__(self) -> None:
        self.total_ns = 0
        self._began_ns = 0

    def start(self) -> None:
        gc.callbacks.append(self._called)

    def stop(self) -> None:
        if self._called in gc.callbacks:
            gc.callbacks.remove(self._called)

    def _called(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._began_ns = now_ns()
        elif self._began_ns:
            self.total_ns += now_ns() - self._began_ns


def rss_bytes() -> int:
    """Returns the size of the process; UNKNOWN where the system does not report it."""
    try:
        with open(_SIZE_FILE, "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return UNKNOWN


#: What triggers a span: a signal's number, or the path of a file.
What = int | str | os.PathLike[str]


class Trigger:
    """requested: a span is requested, and has not begun yet.

    The signal's previous handler is called as well, and is restored when the recorder ends. The file need not exist:
    `touch` requests a span.
    """

    def __init__(self, what: What | None) -> None:
        self.requested = False
        self._signal = what if isinstance(what, int) else None
        self._file = None if what is None or isinstance(what, int) else Path(what).absolute()
        self._seen_ns = self._changed_ns()
        self._before: Any = None

    def start(self) -> None:
        if self._signal is None:
            return
        try:
            self._before = signal.signal(self._signal, self._received)
        except (ValueError, OSError) as error:  # not the main thread; SIGKILL
            _log.warning("Signal %d starts no span: %s. Training continues.", self._signal, error)
            self._signal = None

    def stop(self) -> None:
        if self._signal is not None and signal.getsignal(self._signal) == self._received:
            signal.signal(self._signal, self._before)
        self._signal = None

    def look(self) -> None:
        """Checks the file; called now and then."""
        if self._file is not None:
            changed_ns = self._changed_ns()
            self.requested = self.requested or changed_ns > self._seen_ns
            self._seen_ns = changed_ns

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if callable(self._before):
            self._before(number, frame)

    def _changed_ns(self) -> int:
        """Returns the file's modification time; 0 where there is no such file."""
        try:
            return self._file.stat().st_mtime_ns if self._file is not None else 0
        except OSError:
            return 0
