"""What must hold for any file: figures, each of them possible, or one clear refusal. Nothing else."""

from __future__ import annotations

import logging
import math
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import measure_trace
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import stamp
from tb_steptime.ingest.summaries.reading import read_summary, whole
from tb_steptime.ingest.summaries.writing import encode_summary
from tb_steptime.insights import judge
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.serve.wire import encode
from tb_steptime.text import Unit
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import flame_page
from tb_steptime.timeline.page import timeline_page
from tb_steptime.timeline.search import Search, search_page
from tb_steptime.trace.reading import read_trace

#: Rounding of sums of fractions.
ROUNDING = 1e-9
_SHARES = frozenset(metric.id for metric in METRICS if metric.unit is Unit.FRACTION)
#: More than its peak is what a GPU can do by clocks or by algorithms that the formulas do not know: see docs.
_MAY_EXCEED = frozenset({"mfu", "hfu"})


def finding(path: Path) -> str | None:
    """What is wrong with how the file is handled, in one line that is the same for the same cause; None: nothing."""
    failures = _Failures()
    logging.getLogger("tb_steptime").addHandler(failures)
    try:
        trace = read_trace(path)
        _, measured = measure_trace(trace)
        judge(measured.results, measured.facts.gaps)
        with tempfile.TemporaryDirectory() as folder:
            summary = Path(folder) / "summary.steptime"
            summary.write_bytes(encode_summary(stamp(path), measured))
            whole(read_summary(summary), "summary that was just written")
            write_events(trace, Path(folder))
            _ask_events(EventFile.open(Path(folder)))
    except TraceError as refused:
        return _about(refused, path)
    except Exception as error:  # noqa: BLE001 - any of them is a finding
        return place(error)
    finally:
        logging.getLogger("tb_steptime").removeHandler(failures)
    return next(iter(failures.found), None) or next(_impossible(measured), None)


def _about(refused: TraceError, path: Path) -> str | None:
    """A refusal in words is right of the trace, not of what was just made of it."""
    if str(path) not in str(refused):
        return f"a refusal of what was just written: {refused!r}"
    return None if refused.problem and refused.hint else f"a refusal without words: {refused!r}"


def _ask_events(events: EventFile) -> None:
    """What the Timeline and the flame graphs ask for first: values that were written may still fail to be drawn."""
    first, last = events.head.first_ns, events.head.last_ns
    encode(timeline_page(events, first, last + 1, 1))
    encode(search_page(events, Search("e", first)))
    encode(flame_page(events, "stack", "ran"))


class _Failures(logging.Handler):
    """What failed without taking anything else with it: one analysis, one rule. Here it is a finding like any other."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.found.append(place(record.exc_info[1]))


def place(error: BaseException) -> str:
    """The kind of error and the lines of the package that it came through last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tb_steptime" in frame.filename]
    last = " < ".join(f"{_short(frame.filename)}:{frame.lineno}" for frame in reversed(frames[-3:]))
    return f"{type(error).__name__} at {last}"


def _short(filename: str) -> str:
    return filename.rpartition("tb_steptime/")[2]


def _impossible(measured: MeasuredSpan) -> Iterator[str]:
    """Figures that cannot be."""
    for view, result in measured.results.items():
        for series in _series(result):
            for value in (series.value, *series.steps):
                if value is not None and not _possible(series.metric, value):
                    yield f"{view} says that {series.metric} is {_how(value)}"
        if b":-9223372036854775808" in msgspec.json.encode(result):
            yield f"{view} has a number that overflowed"


def _possible(metric: str, value: float) -> bool:
    if not math.isfinite(value) or value < 0:
        return False
    return metric not in _SHARES or metric in _MAY_EXCEED or value <= 1 + ROUNDING


def _how(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    return "negative" if value < 0 else "above 1"


def _series(value: object) -> Iterator[Series]:
    """Every series in a result, however deep."""
    if isinstance(value, Series):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _series(getattr(value, name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from _series(each)
    elif isinstance(value, list | tuple) and value and not isinstance(value[0], int | float | str):
        for each in value:
            yield from _series(each)
