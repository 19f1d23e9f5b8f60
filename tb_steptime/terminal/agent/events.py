"""The events of a window of one recording, from its trace."""

from __future__ import annotations

import numpy as np

from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, Which
from tb_steptime.terminal.agent.numbers import ms
from tb_steptime.text import shortened
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Maximum length of an event's name, since names of C++ templates can fill pages.
_NAME_CHARACTERS = 120


def window(
    logs: Logs, which: Which, step: str | None, between_ms: tuple[float | None, float | None], limit: int
) -> contract.Window:
    """Returns the window of a step, or between two times from the beginning of the recording. Without both, it is the
    window of the first step. Raises RefusalError."""
    trace = logs.trace(logs.find(which))
    low, high = _bounds(trace, step, between_ms)
    events = trace.events
    within = np.minimum(events.start_ns + events.dur_ns, high) - np.maximum(events.start_ns, low)
    within[step_marks(trace)] = 0
    touching = np.flatnonzero(within > 0)
    longest = touching[np.argsort(-within[touching], kind="stable")[:limit]]
    return contract.Window(
        ms(low), ms(high), [_event(trace, row) for row in np.sort(longest).tolist()], len(touching) - len(longest)
    )


def _bounds(trace: Trace, step: str | None, between_ms: tuple[float | None, float | None]) -> tuple[int, int]:
    """Raises RefusalError."""
    start, end = between_ms
    if start is not None and end is not None:
        if start >= end:
            raise RefusalError("The window ends before it begins.")
        return round(start * 1e6), round(end * 1e6)
    steps = find_steps(trace).steps
    wanted = steps[0].name if step is None else step
    found = next((each for each in steps if each.name == wanted), None)
    if found is None:
        names = ", ".join(each.name for each in steps[:20])
        raise RefusalError(f'There is no step "{wanted}". The steps are: {names}.')
    return found.start_ns, found.end_ns


def _event(trace: Trace, row: int) -> contract.EventLine:
    events = trace.events
    kind = Kind(int(events.kind[row]))
    thread = trace.threads[int(events.thread[row])]
    stream = f"{trace.job.accelerator} {int(events.device[row])}, stream {int(events.stream[row])}"
    return contract.EventLine(
        kind=kind.name.lower(),
        name=shortened(short_frame(trace.name_of(row)), _NAME_CHARACTERS),
        track=stream if kind in DEVICE_KINDS else thread.name or f"thread {thread.tid}",
        start_ms=round(float(events.start_ns[row]) / 1e6, 4),
        duration_ms=ms(float(events.dur_ns[row])),
    )
