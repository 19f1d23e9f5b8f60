"""`profile_steps`: torch.profiler set up for the tab in three lines, and a recorder of DataLoaders with it.

with profile_steps("logs/run") as prof:
    for batch in prof.watch(loader):
        train(batch)
        prof.step()

step     0 ....... skip_first | wait | warmup | active | wait | warmup | active | no more recording
                                               span 1                   span 2

Traces are written while the training goes on: torch writes the text, a thread compresses it.

    training   |-- steps --|-- text --|-- steps ---------------------
    thread                            |-- compresses --| run/host_4711.1700000000.pt.trace.json.gz

torch's own handler compresses while the training waits, line by line and at the highest level: that takes several times
as long as the text. The text itself cannot be written in a thread, because torch holds Python's lock meanwhile.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tb_steptime.record.file.clock import wall_ns
from tb_steptime.record.file.steps import AFTER_SPAN, RECORDED, WARMING_UP
from tb_steptime.record.memory import TIMES, MemorySnapshots, When
from tb_steptime.record.recorder import LoaderRecorder
from tb_steptime.record.recordings import describe_process
from tb_steptime.record.sources import SourceSnapshot
from tb_steptime.record.steps import StepClock, Trigger, What, duration_text

_Loader = TypeVar("_Loader")
_log = logging.getLogger("tb_steptime.record")

#: The values in this message: directory, steps, steps needed.
TOO_FEW_STEPS = (
    "No trace was written to %s: the training had %d steps, and the first span ends after %d. Train longer, or pass a "
    "smaller skip_first, wait, warmup or active."
)
#: The value in this message: directory.
NO_STEP = "No trace was written to %s: step() of the profiler was never called. Call it at the end of each step."
#: Key in a trace's metadata with the number of the unfinished step, written where the loop ended inside a span. torch
#: ends that step's mark with the recording, so it looks like any other.
UNFINISHED_STEP = "tb_steptime_unfinished_step"

#: Number of steps that are timed after the last span if `watch` is off: together with those between the spans they show
#: what profiling costs.
STEPS_AFTER = 50
#: Maximum number of spans that slow steps may begin, and minimum number of steps between two of them: what recurs is in
#: the first ones.
MOST_BY_ITSELF, REST_STEPS = 4, 1_000
#: A recorded step that takes HEAVY_TIMES the usual time and HEAVY_NS longer is reported at once.
HEAVY_TIMES, HEAVY_NS = 5, 200_000_000
#: Maximum time that recording stacks may cost a job; then stacks are turned off.
STACKS_NS = 10_000_000_000
#: Minimum length of a stop of the training that is reported.
LONG_STOP_SECONDS = 1.0


class StepProfiler:
    """torch.profiler with a recorder of loaders; a context manager. By default it records two spans of ten steps.

    Writes `<host>_<pid>.<time>.pt.trace.json.gz` for each span, and the recorder's files into the same folder.
    `profiler` is torch's own, for what this class does not offer; None outside of the `with` block.

    skip_first: steps in which compilers and caches warm up. wait: steps at full speed between the spans; the loader's
    queue fills again. warmup: steps in which the profiler runs and its events are discarded, as it is slow at first.

    Records the CPU and each accelerator that torch's profiler knows. shapes, stack and memory cost time and megabytes,
    so they are off: shapes show which matrix products could use tensor cores, stacks the source lines of blocking
    calls, memory how near its limit it is. Not enabled (say, on all ranks but one), everything does nothing.

    Steps are timed, in a file beside the traces: until shortly after the last span, which tells what profiling costs;
    with watch to the end of the job, and steps that become slow begin another span. trigger: a signal's number, or a
    file to be touched, that begins one in a running job.

    snapshot: also write what fills the GPU's memory, "on_oom" where memory runs out, "at_span" with each span.

    sources: also write the text of the job's own source files, without those of installed packages: with stack the tab
    shows what each line costs in it.
    """

    #: The profiler that was started last.
    _latest: ClassVar[StepProfiler | None] = None

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        skip_first: int = 10,
        wait: int = 2,
        warmup: int = 3,
        active: int = 10,
        repeat: int = 2,
        shapes: bool = False,
        stack: bool = False,
        memory: bool = False,
        watch: bool = False,
        trigger: What | None = None,
        snapshot: When | None = None,
        sources: bool = False,
        enabled: bool = True,
    ) -> None:
        self.directory = Path(directory)
        self.recorder = LoaderRecorder(directory, enabled=enabled)
        self.profiler: Any = None
        self.clock: StepClock | None = None
        self._schedule = {"wait": wait, "warmup": warmup, "active": active}
        self._skip_first = skip_first
        self._options = {"record_shapes": shapes, "with_stack": stack, "profile_memory": memory}
        self._first_end = skip_first + wait + warmup + active
        self._left = repeat or None  # spans that the running profiler still writes; None: to the end
        self._watch = watch
        self._trigger = Trigger(trigger)
        self._to_the_end = watch or trigger is not None
        if snapshot not in (None, *TIMES):
            raise ValueError(f"snapshot is one of {', '.join(TIMES)}, and not {snapshot!r}")
        self._snapshots = snapshot and MemorySnapshots(self.directory, snapshot, lambda: self._steps)
        self._sources = SourceSnapshot(self.directory) if sources else None
        self._traces = TraceWriter(self.directory)
        self._enabled = enabled
        self._steps = 0
        self._written = 0
        self._ended_at = 0  # the step at which the profiler was switched off
        self._by_itself = 0  # number of spans that slow steps began
        self._stacks_ns = 0  # what recording stacks has cost
        self._just_wrote = False
        self._latest_events: Any = None  # what torch has of the span that was just written
        self._why = ""  # why a span begins with the next step; empty if none does
        self._of_parent: Any = None

    def watch(self, loader: _Loader) -> _Loader:
        """Record what the loader's workers do. Returns the loader."""
        return self.recorder.watch(loader)

    def step(self) -> None:
        """Called when a training step has ended."""
        clock = self.clock
        if clock is not None:
            busy = self.profiler or self._just_wrote or self._why or self._trigger.requested or not self._to_the_end
            if not busy and clock.end_usual_step(self._steps):
                self._steps += 1
                return  # the usual case
            self._time_step(clock)
        self._steps += 1
        if self.profiler is not None:
            self._step_profiler(self.profiler)
        elif clock is not None:
            self._look_around()
        if clock is not None:
            clock.begin_step()

    def start(self) -> StepProfiler:
        """Does what `with` does; for callbacks, which have two hooks instead of a block."""
        if self._enabled and self.profiler is None:
            earlier, StepProfiler._latest = StepProfiler._latest, self
            if earlier is not None:
                earlier._stop_for_next()
            self._begin(self._skip_first)
            self._trigger.start()
            if self._snapshots:
                self._snapshots.start()
            if self._sources:
                self._sources.start()
            self.clock = StepClock(self.directory, lambda: describe_process(wall_ns()))
        return self

    def stop(self) -> None:
        try:
            self._leave(unfinished=True)
        finally:
            self._traces.finish()
        self._stop_clock()
        self._trigger.stop()
        if self._snapshots:
            self._snapshots.stop()
        self.recorder.close()
        if self._enabled and not self._written:
            too_few = (TOO_FEW_STEPS, self.directory, self._steps, self._first_end)
            _log.warning(*too_few if self._steps else (NO_STEP, self.directory))
        self._enabled = False

    def __enter__(self) -> StepProfiler:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _stop_for_next(self) -> None:
        """Ends a profiler that an earlier training may have left running: torch runs one at a time."""
        try:
            self.stop()
        except Exception as error:  # noqa: BLE001 - of a training that has ended
            _log.warning("The last trace was not written to %s: %s.", self.directory, error)

    def _abandon(self) -> None:
        """Called in a forked child: torch's profiler belongs to its parent. Ending or freeing it would wait for ever
        for threads that the child does not have."""
        self._of_parent, self.profiler = self.profiler, None
        self._enabled = False
        if self._snapshots:
            self._snapshots.abandon()
        if self.clock is not None:
            self.clock.abandon()
            self.clock = None

    def _time_step(self, clock: StepClock) -> None:
        flags = _flags(self.profiler) | (AFTER_SPAN if self._just_wrote else 0)
        self._just_wrote = False
        duration_ns = clock.end_step(self._steps, flags)
        if flags & RECORDED:
            self._weigh(clock, duration_ns)
        elif clock.is_slow and self._watch:
            self._ask_by_itself(f"Step {self._steps:,} was slow")
        if clock.is_due:
            slower = clock.write()
            if slower and self._watch:
                before, now = map(duration_text, slower)
                self._ask_by_itself(f"Steps take {now} of late, and took {before} before")

    def _weigh(self, clock: StepClock, duration_ns: int) -> None:
        """Measures the cost of a recorded step. If stacks cost too much, ends the span and turns stacks off."""
        usual_ns = clock.slowness.usual_ns
        if not usual_ns or duration_ns < max(HEAVY_TIMES * usual_ns, usual_ns + HEAVY_NS):
            return
        stacks = self._options["with_stack"]
        if not self._stacks_ns:
            why = ", as stacks are recorded" if stacks else ""
            _log.warning("A recorded step takes %s, %.0f times the usual %s%s.", duration_text(duration_ns),
                         duration_ns / usual_ns, duration_text(usual_ns), why)  # fmt: skip
        self._stacks_ns += round(duration_ns - usual_ns)
        if stacks and self._stacks_ns >= STACKS_NS:
            cost = duration_text(self._stacks_ns)
            _log.warning("Recording stacks has cost %s: this span ends here, and later ones have none.", cost)
            self._options["with_stack"] = False
            self._leave()
            if self._left != 0:
                self._begin(skip_first=1)  # the step that has just ended

    def _ask_by_itself(self, why: str) -> None:
        rested = self._steps - self._ended_at >= REST_STEPS or not self._by_itself
        if self.profiler is None and self._by_itself < MOST_BY_ITSELF and rested:
            self._by_itself += 1
            self._why = why

    def _look_around(self) -> None:
        """Called between two steps while no profiler runs."""
        self._trigger.look()
        if self._trigger.requested:
            self._trigger.requested, self._why = False, "It was asked for"
        if self._why:
            why, self._why = self._why, ""
            self._begin_span(why)
        elif not self._to_the_end and self._steps - self._ended_at >= STEPS_AFTER:
            self._stop_clock()  # further steps then cost nothing

    def _begin_span(self, why: str) -> None:
        """Begins one more span with the next step."""
        self._left = 1
        try:
            self._begin(0, wait=0)
        except Exception as error:  # noqa: BLE001 - another profiler may run; the training goes on
            self.profiler = None
            _log.warning("No span begins: %s. Training continues.", error)
            return
        _log.warning("%s: a span of %d steps is recorded from step %s on.", why, self._schedule["active"],
                     f"{self._steps + self._schedule['warmup']:,}")  # fmt: skip

    def _step_profiler(self, profiler: Any) -> None:
        with self._told_if_long():
            profiler.step()
            if self._left == 0:
                self._leave()

    @contextlib.contextmanager
    def _told_if_long(self) -> Iterator[None]:
        """Logs one line if writing a span stops the training for long."""
        before = time.perf_counter()
        yield
        took = time.perf_counter() - before
        results, self._latest_events = self._latest_events, None
        if self._just_wrote and took >= LONG_STOP_SECONDS:
            events = len(results.events()) if results is not None else 0  # only now: counting takes long as well
            _log.warning(
                "Writing a span of %s events (%s a step) stopped the training for %.1f s. Fewer steps or flags make it "
                "shorter.",
                f"{events:,}", f"{events // self._schedule['active']:,}", took,
            )  # fmt: skip

    def _leave(self, *, unfinished: bool = False) -> None:
        """unfinished: the loop may have ended inside a step."""
        profiler, self.profiler = self.profiler, None
        self._ended_at = self._steps
        if profiler is not None:
            if unfinished:
                _mark_unfinished(profiler)
            profiler.__exit__(None, None, None)

    def _stop_clock(self) -> None:
        clock, self.clock = self.clock, None
        if clock is not None:
            clock.close()

    def _begin(self, skip_first: int, wait: int | None = None) -> None:
        """Starts a profiler for the spans that are left; it uses the job's step numbers."""
        from torch import profiler

        schedule = {**self._schedule, **({} if wait is None else {"wait": wait})}
        plan = _shifted(profiler.schedule(skip_first=skip_first, repeat=self._left or 0, **schedule), self._steps)
        new = profiler.profile(schedule=plan, on_trace_ready=self._write, **self._options)
        new.step_num = self._steps
        self.profiler = new.__enter__()

    def _write(self, profiler: Any) -> None:
        """Writes a span. If it cannot be written (the disk is full), the training goes on."""
        if not self._options["with_stack"]:
            profiler.add_metadata_json("with_stack", "0")  # torch keeps the value from an earlier span
        try:
            self._traces.write(profiler)
        except (OSError, RuntimeError) as error:
            _log.warning(NOT_WRITTEN, self.directory, error)
        if self._snapshots:
            self._snapshots.span_ended()
        if self._sources:
            self._sources.span_ended()
        # None where this torch keeps them elsewhere
        self._latest_events = getattr(getattr(profiler, "profiler", None), "kineto_results", None)
        self._written += 1
        self._left = None if self._left is None else self._left - 1
        self._just_wrote = True


def _shifted(plan: Callable[[int], Any], first: int) -> Callable[[int], Any]:
    """Returns the plan for a profiler that begins with this step of the job."""
    return lambda step: plan(max(0, step - first))


def _flags(profiler: Any) -> int:
    """Returns the flags of the step that ends."""
    if profiler is None:
        return 0
    from torch.profiler import ProfilerAction

    action = profiler.current_action
    if action == ProfilerAction.NONE:
        return 0
    return WARMING_UP if action == ProfilerAction.WARMUP else RECORDED


def _mark_unfinished(profiler: Any) -> None:
    """Marks the last step as unfinished if the loop ended inside a span. A span without any finished step is not
    written."""
    from torch.profiler import ProfilerAction

    recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    if profiler.current_action not in recorded:
        return
    number = profiler.step_num
    if number and profiler.schedule(number - 1) == ProfilerAction.RECORD:
        marked = profiler.step_rec_fn.name  # "ProfilerStep#3"; step_num of torch 2.0 is one less
        profiler.add_metadata_json(UNFINISHED_STEP, marked.rpartition("#")[2])
    else:
        profiler.on_trace_ready = None


def _abandon_latest() -> None:
    """Abandons the latest profiler; no other one runs."""
    if StepProfiler._latest is not None:
        StepProfiler._latest._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_latest)


#: The name that a training script uses.
profile_steps = StepProfiler


#: What is said where a trace cannot be written. The values: directory, error.
NOT_WRITTEN = "No trace was written to %s: %s. Training continues."
#: Level at which the text compresses four times as fast as at the highest one, to 7 % more bytes.
_LEVEL = 6
_CHUNK = 1 << 20


class TraceWriter:
    """Writes `<host>_<pid>.<time>.pt.trace.json.gz`, as torch's `tensorboard_trace_handler` names it. A file appears
    under this name when it is complete."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._threads: list[threading.Thread] = []

    def write(self, profiler: Any) -> None:
        """Writes the recording of a torch.profiler.profile. Raises OSError, and RuntimeError, which torch raises."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}.pt.trace.json.gz"
        number, text = tempfile.mkstemp(".json")
        os.close(number)
        try:
            profiler.export_chrome_trace(text)
        except BaseException:
            os.unlink(text)
            raise
        # not a daemon: Python waits for it, should the training end without `finish`
        thread = threading.Thread(target=self._compress, args=(text, path), name="tb_steptime compress")
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._compress(text, path)
        else:
            self._threads.append(thread)

    def finish(self) -> None:
        """Waits until all files are complete."""
        while self._threads:
            self._threads[-1].join()
            self._threads.pop()

    def _compress(self, text: str, path: Path) -> None:
        unfinished = path.with_name(path.name + ".tmp")
        try:
            with open(text, "rb") as source, gzip.open(unfinished, "wb", _LEVEL) as target:
                shutil.copyfileobj(source, target, _CHUNK)
            os.replace(unfinished, path)
        except OSError as error:
            _log.warning(NOT_WRITTEN, self._directory, error)
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
        finally:
            os.unlink(text)
