"""The discrete model: a host that makes calls, a stream on each device that works them off in order, a bounded queue
between.

    host     [call a][call b]      [call c]         a call ends; its activity starts `latency` later, or `gap` after
    stream       [aaaaaaaaaa][bbbb]    [cccc]       the one before it, whichever is later

Backward ops run on the autograd engine's thread while the main thread waits, so one clock is enough for the host. Where
the engine's threads of two devices run at the same time, the clock is set back for the second.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from random import Random

from tests.truth.simulate.causes import Activity, Call, Loader, Op, Row, Section, Span, Training
from tests.truth.simulate.loading import Workers

#: The profiler's own work at the beginning of a window, before the first recorded step.
PROFILER_START_NS = 2_000_000

#: From the last event inside an annotation to its end.
CLOSE_NS = 1_500


@dataclass(frozen=True)
class Place:
    """Where an op runs: on a thread of the host, for a device."""

    thread: str
    device: int = 0


MAIN = Place("main")

#: A device and the number of one of its streams.
Stream = tuple[int, int]


class Machine:
    """Runs a training step by step; `rows` collects while a window is recorded."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.random = Random(training.seed)
        self.now_ns = 1_000_000_000
        self.free_ns: defaultdict[Stream, int] = defaultdict(int)  # when a stream has finished its work
        self.not_before_ns: defaultdict[Stream, int] = defaultdict(int)  # until when it waits for other streams
        self.waiting: defaultdict[Stream, deque[int]] = defaultdict(deque)  # start times of launched work
        self.before: list[Row] = []  # launched while nothing was recorded
        self.span: Span | None = None
        self.next_external = 1
        self.next_correlation = 1
        self.next_sequence = 1
        self.sequences: dict[str, int] = {}  # number of the newest forward op of each link
        self.workers = Workers(training.loader or Loader(0), self.random, self.now_ns)

    def run(self) -> list[Span]:
        """Train through all windows of the schedule; returns the recorded ones."""
        spans, number = [], 0
        for _ in range(self.training.spans):
            for _ in range(self.training.wait + self.training.warmup):
                self.step(number)
                number += 1
            self.span = self._start_window()
            for _ in range(self.training.active):
                self.step(number)
                number += 1
            self._end_window(self.span)
            spans.append(self.span)
            self.span = None
        return spans

    def step(self, number: int) -> None:
        """The loop's body under its mark; then the loop itself, outside of it."""
        mark = self._mark(f"ProfilerStep#{number}")
        start_ns = began_ns = self.now_ns
        self._load()
        for section in self.training.sections:
            if not section.steps or number in section.steps:
                began_ns = began_ns if section.aside else self.now_ns
                ended_ns, self.now_ns = self.now_ns, began_ns
                self._section(section)
                self.now_ns = max(self.now_ns, ended_ns)
        self._pass(CLOSE_NS)
        mark.end_ns = self.now_ns
        if self.span:
            self.span.marks.append((number, start_ns, self.now_ns))
        self.now_ns += self.training.between_steps_ns

    def _mark(self, name: str) -> Row:
        """The mark of a step; a loop that does not call the profiler leaves none."""
        if self.training.recording.marks:
            return self._open("user_annotation", name, MAIN)
        return Row("user_annotation", name, "main", self.now_ns, self.now_ns)

    def _start_window(self) -> Span:
        """Starting to record waits for the device, so a window begins with an idle one, unless it is declared not to
        wait: then the device still works on what was launched before."""
        if self.training.recording.head == "drained":
            self.now_ns = max([self.now_ns, *self.free_ns.values()])
        self.now_ns += PROFILER_START_NS
        span = Span(self.now_ns - PROFILER_START_NS // 2)
        if self.training.recording.head == "unlinked":
            span.rows += [row for row in self.before if row.end_ns > span.start_ns]
        return span

    def _end_window(self, span: Span) -> None:
        """The profiler's own wait for the device, after the last step; or no wait, and work that has not started is
        lost.
        """
        if self.training.recording.tail == "cut":
            span.rows = [row for row in span.rows if row.start_ns < self.now_ns]
        else:
            for device in range(self.training.devices):
                self._call(Call("cudaDeviceSynchronize", blocks=True), Place("main", device), -1)
        span.end_ns = self.now_ns

    def _load(self) -> None:
        loader = self.training.loader
        if loader is None:
            return
        mark = self._open("user_annotation", f"enumerate(DataLoader)#{loader.iterator}.__next__", MAIN)
        self.now_ns = self.workers.next_batch(self.now_ns)
        mark.end_ns = self.now_ns

    def _section(self, section: Section) -> None:
        place = Place("backward" if section.backward else "main", section.device)
        frames = [self._open("python_function", frame, MAIN) for frame in section.frames]
        mark = self._open("user_annotation", section.mark, place) if section.mark else None
        regions = [self._open("cpu_op", region, place) for region in section.regions]
        for op in section.ops:
            self._pass(section.python_ns, op.exact)
            frame = self._open("python_function", op.frame, MAIN) if op.frame else None
            self._op(op, place)
            if frame:
                frame.end_ns = self.now_ns
        if section.stop_ns:
            self._stop(section)
        for region in regions:
            region.end_ns = self.now_ns
        if mark:
            self._pass(CLOSE_NS)
            mark.end_ns = self.now_ns
        for frame in reversed(frames):
            frame.end_ns = self.now_ns

    def _stop(self, section: Section) -> None:
        collection = self._open("python_function", "Python GC", MAIN) if section.collects else None
        if self.span:
            self.span.stops.append((self.now_ns, self.now_ns + section.stop_ns))
        self._pass(section.stop_ns, exact=True)
        if collection:
            collection.end_ns = self.now_ns

    def _op(self, op: Op, place: Place) -> None:
        rows: list[Row] = []
        share = round(self.training.host_factor * op.host_ns) // (2 * len(op.names) + len(op.calls))
        sequence = self._sequence(op, place)
        for depth, name in enumerate(op.names):
            rows.append(self._open("cpu_op", name, place, op))
            rows[-1].sequence = sequence if place.thread == "main" or depth < 2 else -1
            self._pass(share, op.exact)
        for call in op.calls:
            self._call(call, place, rows[-1].external_id if rows else -1, op.exact)
            self._pass(share, op.exact)
        for row in reversed(rows):
            self._pass(share, op.exact)
            row.end_ns = self.now_ns

    def _sequence(self, op: Op, place: Place) -> int:
        """The number that a forward op and the node created by it share; -1 for an op without a node."""
        if op.link is None:
            return -1
        if place.thread == "main":
            self.sequences[op.link] = self.next_sequence
            self.next_sequence += 1
        return self.sequences[op.link]

    def _call(self, call: Call, place: Place, external: int, exact: bool = False) -> None:
        if not call.name:
            self._pass(call.host_ns or 0, exact=True)
            return
        category = "cuda_driver" if call.driver else "cuda_runtime"
        row = self._row(Row(category, call.name, place.thread, self.now_ns, self.now_ns, external))
        row.correlation_id, row.blocks, row.device = self.next_correlation, call.blocks, place.device
        self.next_correlation += 1
        stream = (place.device, call.activity.stream if call.activity else 0)
        self._wait_for_room(self.waiting[stream])
        if call.host_ns is None:
            self._pass(self.training.call_ns, exact)
        else:
            self._pass(call.host_ns, exact=True)
        for activity in (*([call.activity] if call.activity else []), *call.nodes):
            self._launch(activity, row, exact)
        self._join(call, place.device)
        if call.blocks:
            everything = call.name == "cudaDeviceSynchronize"
            self.now_ns = max(self.now_ns, self._device_free_ns(place.device) if everything else self.free_ns[stream])
        row.end_ns = self.now_ns

    def _wait_for_room(self, waiting: deque[int]) -> None:
        while waiting and waiting[0] <= self.now_ns:
            waiting.popleft()
        if len(waiting) >= self.training.queue_limit:
            self.now_ns = waiting.popleft()

    def _join(self, call: Call, device: int) -> None:
        if call.joins:
            stream, other = ((device, number) for number in call.joins)
            self.not_before_ns[stream] = max(self.not_before_ns[stream], self.free_ns[other])

    def _device_free_ns(self, device: int) -> int:
        """When all streams of the device have finished."""
        return max((free_ns for (each, _), free_ns in self.free_ns.items() if each == device), default=0)

    def _launch(self, activity: Activity, call: Row, exact: bool) -> None:
        stream = (call.device, activity.stream)
        start_ns = max(self.now_ns + self.training.latency_ns, self.free_ns[stream] + self.training.gap_ns)
        start_ns = max(start_ns, self.not_before_ns[stream])
        if activity.waits_for is not None:
            start_ns = max(start_ns, self._device_free_ns(activity.waits_for) + self.training.gap_ns)
        end_ns = start_ns + (activity.dur_ns if exact else self._varied(activity.dur_ns, self.training.device_jitter))
        self.free_ns[stream] = end_ns
        self.waiting[stream].append(start_ns)
        row = Row(activity.kind, activity.name, "stream", start_ns, end_ns, call.external_id)
        row.correlation_id, row.activity, row.device = call.correlation_id, activity, call.device
        if activity.recorded:
            (self.span.rows if self.span else self.before).append(row)

    def _open(self, category: str, name: str, place: Place, op: Op | None = None) -> Row:
        row = Row(category, name, place.thread, self.now_ns, self.now_ns, self.next_external, op=op)
        row.device = place.device
        self.next_external += 1
        return self._row(row)

    def _row(self, row: Row) -> Row:
        if self.span:
            self.span.rows.append(row)
        return row

    def _pass(self, length_ns: int, exact: bool = False) -> None:
        self.now_ns += length_ns if exact else self._varied(length_ns, self.training.host_jitter)

    def _varied(self, length_ns: int, jitter: float) -> int:
        return round(length_ns * max(0.5, 1 + jitter * self.random.gauss(0, 1)))
