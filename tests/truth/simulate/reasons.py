"""The truth in full: why each device is idle, by the twelve reasons, and what each blocking call costs.

One gap after the other, one call after the other, over lists of pairs: slow, plain, and another way than the package's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.truth.simulate.causes import Row, Span, Training
from tests.truth.simulate.pairs import Pair, both, first_of, total, union, without
from tests.truth.simulate.truth import DEVICE, step_windows

REASONS = (
    "data_loading", "blocking_call", "allocator", "cpu_work", "nothing_recorded",
    "launch_latency", "queued", "collective_wait", "dependency", "unrecorded_work", "unknown", "tail",
)  # fmt: skip

#: A gap between two activities that were both launched earlier: up to this length the hardware's, beyond it a wait.
HARDWARE_GAP_NS = 10_000

#: A launch that has returned and whose work does not start for this long waits for something else.
REACHED_NS = 50_000

ALLOCATOR = ("cudaMalloc", "cudaFree")


@dataclass(frozen=True)
class Idle:
    """A range in which a device is idle, and why."""

    start_ns: int
    end_ns: int
    reason: str


@dataclass
class Group:
    """Blocking calls under one op: how long they block the host, and when the device idles because of that."""

    calls: list[Row]
    op: Row | None
    bubble: list[Pair]

    @property
    def start_ns(self) -> int:
        return self.calls[0].start_ns

    @property
    def end_ns(self) -> int:
        return self.calls[-1].end_ns


class Reasons:
    """Analyses the model's records of one span."""

    def __init__(self, training: Training, span: Span) -> None:
        self.span = span
        self.devices = range(training.devices)
        self.windows = step_windows(span)
        self.window = (self.windows[0][0], self.windows[-1][1])
        self.calls = {row.correlation_id: row for row in span.rows if row.category == "cuda_runtime"}
        self.ops = {row.external_id: row for row in span.rows if row.category == "cpu_op"}
        self.loads = self._pairs(lambda row: row.name.startswith("enumerate(DataLoader)"))
        self.on_thread: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in sorted(span.rows, key=lambda row: row.start_ns):
            if row.category in ("cpu_op", "cuda_runtime"):
                self.on_thread[_thread(row)].append(row)
        self.longest_ns = {
            thread: max(row.end_ns - row.start_ns for row in rows) for thread, rows in self.on_thread.items()
        }
        on_devices = [row for row in span.rows if row.category in DEVICE]
        self.activities = {device: [row for row in on_devices if row.device == device] for device in self.devices}
        self.pageable = {row.correlation_id for row in span.rows if row.activity and "Pageable" in row.name}

    def busy_ns(self, device: int, window: Pair) -> int:
        return total(both([window], [(row.start_ns, row.end_ns) for row in self.activities[device]]))

    def idle_of_step(self, device: int) -> list[dict[str, int]]:
        """For each step the idle time of a device by reason."""
        sums = [dict.fromkeys(REASONS, 0) for _ in self.windows]
        for idle in self.idle(device):
            for number, (start, end) in enumerate(self.windows):
                sums[number][idle.reason] += max(0, min(end, idle.end_ns) - max(start, idle.start_ns))
        return sums

    def idle(self, device: int) -> Iterator[Idle]:
        """Every idle range of a device in the window, split where its reason changes."""
        for start, end, following in self.gaps(device):
            for idle in self._why(start, end, following):
                pair = [(idle.start_ns, idle.end_ns)]
                yield from (Idle(*piece, "data_loading") for piece in both(pair, self.loads))
                yield from (Idle(*piece, idle.reason) for piece in without(pair, self.loads))

    def gaps(self, device: int) -> Iterator[tuple[int, int, Row | None]]:
        """Start, end and the activity that ended it."""
        free, last = self.window
        for activity in self.activities[device]:
            if free < activity.start_ns and activity.start_ns <= last:
                yield free, activity.start_ns, activity
            free = max(free, activity.end_ns)
        if free < last:
            yield free, last, None

    def _why(self, start: int, end: int, following: Row | None) -> Iterator[Idle]:
        if following is None:
            yield Idle(start, end, "tail")
            return
        call = self.calls[following.correlation_id]
        if call.start_ns <= start:
            yield Idle(start, end, "queued" if end - start <= HARDWARE_GAP_NS else "dependency")
            return
        late = min(call.start_ns, end)
        yield from self._host_did(call, (start, late))
        if self._blocks(call):
            yield Idle(late, end, "blocking_call")
            return
        reached = min(max(late, call.end_ns + REACHED_NS), end)
        yield Idle(late, reached, "launch_latency")
        if reached < end:  # everything that these devices do is recorded
            yield Idle(reached, end, "dependency")

    def _host_did(self, call: Row, pair: Pair) -> Iterator[Idle]:
        """What the launching thread did meanwhile, then what the others did that it waited for.

        Where two things overlap, the first of these counts.
        """
        own, rest = _thread(call), [pair]
        others = [thread for thread in self.on_thread if thread != own]
        for threads in ([own], others):
            rows = [row for thread in threads for row in self._around(thread, pair)]
            for reason, chosen in (
                ("blocking_call", [row for row in rows if self._blocks(row)]),
                ("allocator", [row for row in rows if row.name in ALLOCATOR]),
                ("cpu_work", rows),
            ):
                pieces = both(rest, union([(row.start_ns, row.end_ns) for row in chosen]))
                yield from (Idle(*piece, reason) for piece in pieces)
                rest = without(rest, pieces)
        yield from (Idle(*piece, "nothing_recorded") for piece in rest)

    def _around(self, thread: tuple[str, int], pair: Pair) -> list[Row]:
        """Ops and calls of a thread that may share time with the pair."""
        rows = self.on_thread[thread]
        first = bisect_left(rows, pair[0] - self.longest_ns[thread], key=lambda row: row.start_ns)
        return rows[first : bisect_left(rows, pair[1], key=lambda row: row.start_ns)]

    def _blocks(self, row: Row) -> bool:
        """Whether this call waits for the device. One that stages pageable memory is assumed to."""
        if row.category != "cuda_runtime" or row.name in ALLOCATOR:
            return False
        return row.blocks or row.correlation_id in self.pageable

    def groups(self, device: int) -> list[Group]:
        """Blocking and allocating calls of the steps, grouped by op, and the bubble that each leaves."""
        groups: dict[tuple[int, int], Group] = {}
        for row in sorted(self.calls.values(), key=lambda row: row.start_ns):
            if (self._blocks(row) or row.name in ALLOCATOR) and self._in_steps(row):
                key = (row.external_id, row.correlation_id if row.external_id < 0 else 0)
                groups.setdefault(key, Group([], self.ops.get(row.external_id), [])).calls.append(row)
        found = list(groups.values())
        for place, group in enumerate(found):
            until = found[place + 1].start_ns if place + 1 < len(found) else self.window[1]
            group.bubble = self._bubble(group, device, until)
        return found

    def _in_steps(self, row: Row) -> bool:
        return any(start <= row.start_ns < end for _, start, end in self.span.marks)

    def _bubble(self, group: Group, device: int, until: int) -> list[Pair]:
        """The device's idle time from its drain, or the call's start, to the first activity launched afterwards.

        No more than the host was held up for: that is all that it would be ahead by.
        """
        before, after = [], []
        for activity in self.activities[device]:
            launched = self.calls[activity.correlation_id].start_ns
            if launched < group.start_ns:
                before.append(activity)
            elif launched >= group.end_ns:
                after.append(activity)
        drain = max([group.start_ns, *(activity.end_ns for activity in before)])
        end = min([until, *(activity.start_ns for activity in after)])
        if drain >= end:
            return []
        busy = [(row.start_ns, row.end_ns) for row in self.activities[device]]
        idle = without(without(both(self.windows, [(drain, end)]), busy), self.loads)
        return first_of(idle, sum(call.end_ns - call.start_ns for call in group.calls))

    def idle_in_stops_ns(self, device: int) -> int:
        """How long a device idles while Python is stopped, excluding waits for data."""
        idle = [(idle.start_ns, idle.end_ns) for idle in self.idle(device) if idle.reason != "data_loading"]
        return total(both(both(self.windows, union(idle)), self.span.stops))

    def _pairs(self, chosen: Any) -> list[Pair]:
        return [(row.start_ns, row.end_ns) for row in self.span.rows if chosen(row)]


def _thread(row: Row) -> tuple[str, int]:
    return row.thread, row.device if row.thread != "main" else 0


def full_truth(training: Training, span: Span) -> dict[str, Any]:
    """Devices with their steps, and the blocking calls by op; the main device is the one that is busy longest."""
    reasons = Reasons(training, span)
    devices = [_device_truth(reasons, device) for device in reasons.devices]
    main = max(reasons.devices, key=lambda device: (reasons.busy_ns(device, reasons.window), -device))
    return {
        "cause": training.cause,
        "seed": training.seed,
        "steps": [
            {"name": str(number), "duration_ns": window[1] - window[0], "host_ns": end - start}
            for (number, start, end), window in zip(span.marks, reasons.windows, strict=True)
        ],
        "main_device": main,
        "devices": devices,
        "blocking_calls": _blocking_truth(reasons, main),
        "idle_in_stops_ns": reasons.idle_in_stops_ns(main),
    }


def _device_truth(reasons: Reasons, device: int) -> dict[str, Any]:
    busy = [reasons.busy_ns(device, window) for window in reasons.windows]
    return {"device": device, "busy_ns": busy, "idle_ns": reasons.idle_of_step(device)}


def _blocking_truth(reasons: Reasons, device: int) -> list[dict[str, Any]]:
    """Sums over the span's steps, by op and calls."""
    rows: dict[tuple[str | None, str], dict[str, Any]] = {}
    for group in reasons.groups(device):
        names = group.op.op.names if group.op and group.op.op else (None,)
        call = " + ".join(row.name for row in group.calls)
        new = {"op": names[-1], "outer_op": names[0], "call": call, "thread": group.calls[0].thread}
        row = rows.setdefault((names[-1], call), {**new, "count": 0, "blocked_ns": 0, "bubble_ns": 0})
        row["count"] += 1
        row["blocked_ns"] += sum(call.end_ns - call.start_ns for call in group.calls)
        row["bubble_ns"] += total(group.bubble)
    return sorted(rows.values(), key=lambda row: -row["bubble_ns"])
