"""The discrete model: a host that makes calls, a stream that works them off in order, a bounded queue between.

    host     [call a][call b]      [call c]         a call ends; its activity starts `latency` later, or `gap` after
    stream       [aaaaaaaaaa][bbbb]    [cccc]       the one before it, whichever is later

Backward ops run on the autograd engine's thread while the main thread waits, so one clock is enough for the host.
"""

from __future__ import annotations

from collections import deque
from random import Random

from tests.simulate.causes import Call, Op, Row, Section, Span, Training
from tests.simulate.loading import Workers

#: What the profiler itself does at the beginning of a window, before the first recorded step.
PROFILER_START_NS = 2_000_000

#: From the last thing inside an annotation to its end.
CLOSE_NS = 1_500


class Machine:
    """Runs a training step by step; `rows` collects while a window is recorded."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.random = Random(training.seed)
        self.now_ns = 1_000_000_000
        self.stream_free_ns = 0
        self.waiting: deque[int] = deque()  # start times of what has been launched
        self.span: Span | None = None
        self.next_external = 1
        self.next_correlation = 1
        self.workers = Workers(training.loader, self.random, self.now_ns)

    def run(self) -> list[Span]:
        """Train through all windows of the schedule; the recorded ones."""
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
        mark = self._open("user_annotation", f"ProfilerStep#{number}", "main")
        start_ns = self.now_ns
        self._load()
        for section in self.training.sections:
            self._section(section)
        self._pass(CLOSE_NS)
        mark.end_ns = self.now_ns
        if self.span:
            self.span.marks.append((number, start_ns, self.now_ns))
        self.now_ns += self.training.between_steps_ns

    def _start_window(self) -> Span:
        """Starting to record waits for the device, so a window begins with an idle one."""
        self.now_ns = max(self.now_ns, self.stream_free_ns) + PROFILER_START_NS
        return Span(self.now_ns - PROFILER_START_NS // 2)

    def _end_window(self, span: Span) -> None:
        """The profiler's own wait for the device, after the last step."""
        self._call(Call("cudaDeviceSynchronize", blocks=True), "main", -1)
        span.end_ns = self.now_ns

    def _load(self) -> None:
        loader = self.training.loader
        mark = self._open("user_annotation", f"enumerate(DataLoader)#{loader.iterator}.__next__", "main")
        self.now_ns = self.workers.next_batch(self.now_ns)
        mark.end_ns = self.now_ns

    def _section(self, section: Section) -> None:
        thread = "backward" if section.backward else "main"
        mark = self._open("user_annotation", section.mark, thread) if section.mark else None
        for op in section.ops:
            self._pass(section.python_ns)
            self._op(op, thread)
        if mark:
            self._pass(CLOSE_NS)
            mark.end_ns = self.now_ns

    def _op(self, op: Op, thread: str) -> None:
        rows = []
        share = round(self.training.host_factor * op.host_ns) // (2 * len(op.names) + len(op.calls))
        for name in op.names:
            rows.append(self._open("cpu_op", name, thread, op))
            self._pass(share)
        for call in op.calls:
            self._call(call, thread, rows[-1].external_id)
            self._pass(share)
        for row in reversed(rows):
            self._pass(share)
            row.end_ns = self.now_ns

    def _call(self, call: Call, thread: str, external: int) -> None:
        row = self._row(Row("cuda_runtime", call.name, thread, self.now_ns, self.now_ns, external, blocks=call.blocks))
        row.correlation_id = self.next_correlation
        self.next_correlation += 1
        self._wait_for_room()
        self._pass(self.training.call_ns)
        if call.activity:
            self._launch(call, row)
        if call.blocks:
            self.now_ns = max(self.now_ns, self.stream_free_ns)
        row.end_ns = self.now_ns

    def _wait_for_room(self) -> None:
        while self.waiting and self.waiting[0] <= self.now_ns:
            self.waiting.popleft()
        if len(self.waiting) >= self.training.queue_limit:
            self.now_ns = self.waiting.popleft()

    def _launch(self, call: Call, row: Row) -> None:
        activity = call.activity
        assert activity
        start_ns = max(self.now_ns + self.training.latency_ns, self.stream_free_ns + self.training.gap_ns)
        self.stream_free_ns = start_ns + self._varied(activity.dur_ns, self.training.device_jitter)
        self.waiting.append(start_ns)
        self._row(
            Row(
                activity.kind,
                activity.name,
                "stream",
                start_ns,
                self.stream_free_ns,
                row.external_id,
                row.correlation_id,
                activity,
            )
        )

    def _open(self, category: str, name: str, thread: str, op: Op | None = None) -> Row:
        row = self._row(Row(category, name, thread, self.now_ns, self.now_ns, self.next_external, op=op))
        self.next_external += 1
        return row

    def _row(self, row: Row) -> Row:
        if self.span:
            self.span.rows.append(row)
        return row

    def _pass(self, length_ns: int) -> None:
        self.now_ns += self._varied(length_ns, self.training.host_jitter)

    def _varied(self, length_ns: int, jitter: float) -> int:
        return round(length_ns * max(0.5, 1 + jitter * self.random.gauss(0, 1)))
