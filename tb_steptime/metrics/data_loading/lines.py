"""What the main process does inside a loader without workers, and on which lines.

wait      llllllllllllllllllll
frames     gggggggggggggggg          cifar.py(120): __getitem__
               rrrr                  a frame of Python's library: its time is that of the line around it
ops                 aaaa bb          what is neither is Python without an op
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import find_batches, main_loader
from tb_steptime.text import Reason, count
from tb_steptime.trace.frames import is_file, is_source, short_frame
from tb_steptime.trace.host_ranges import loader_names, loader_rows
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_records import LineSamples, LoaderRecords
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import innermost, self_time_ns
from tb_steptime.trace.sources import words_of
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, Kind, distinct, is_in, values_at

#: Maximum number of lines that are shown of an activity, and of the user's code.
MOST_LINES = 8


class LoaderLine(msgspec.Struct, frozen=True):
    """A line inside the loader, as frames name it: "cifar.py(120): __getitem__", and its self time per batch."""

    line: str
    ns_per_batch: int


class Activity(msgspec.Struct, frozen=True):
    """Work of the training thread inside the loader. name: that of an op; None for Python outside any op. ns_per_batch:
    its self time. lines: the lines from which it is called, longest first, as far as call stacks show them; together
    they take at most as long as the activity."""

    name: str | None
    ns_per_batch: int
    lines: list[LoaderLine]


class LoaderWork(msgspec.Struct, frozen=True, eq=False):
    """The work inside the waits. There is one entry for each wait and for each op and frame inside a wait; their self
    times sum to all waits.

    op        name of the op, a row of the string table; -1 if Python runs outside any op
    line      place in `lines`; -1 if none is known
    """

    op: Int32
    line: Int32
    self_ns: Int64
    lines: Sequence[str]
    batches: int


@shared
def loader_work(trace: Trace) -> LoaderWork:
    """Returns the work of the waiting threads, for the loader with the longest total wait. The line of an op or a frame
    is the user's innermost one inside the loader or, if there is none, torch's, such as `default_collate`."""
    batches, main = find_batches(trace), main_loader(trace)
    several = main is not None and len(batches.loaders) > 1
    events = trace.events
    marks = batches.row[batches.loader == main.loader] if main and several else loader_rows(trace)
    ops = _inside_waits(trace, marks, events.rows(Kind.CPU_OP))
    ops = ops[~loader_names(trace)[events.name[ops]]]
    frames = _inside_waits(trace, marks, events.rows(Kind.PYTHON))
    rows = np.sort(np.concatenate((marks, ops, frames)))
    op = np.where(is_in(rows, ops), events.name[rows], -1).astype(np.int32)
    words = words_of(_frame_names(trace, frames, rows), trace.strings.strings, short_frame)
    self_ns = self_time_ns(events.start_ns[rows], events.ends(rows))
    return LoaderWork(op, words.number, self_ns, words.texts, len(marks))


def loader_activities(trace: Trace) -> list[Activity]:
    """Returns the self time per wait of each op, and of Python, longest first. The sum is the mean wait."""
    work = loader_work(trace)
    kinds, place = np.unique(work.op, return_inverse=True)
    totals = np.bincount(place, work.self_ns, len(kinds)).astype(np.int64) // max(work.batches, 1)
    return [
        Activity(trace.strings[int(kinds[i])] if kinds[i] >= 0 else None, int(totals[i]), _lines(work, place == i))
        for i in np.argsort(-totals, kind="stable").tolist()
    ]


def slow_lines(trace: Trace) -> list[LoaderLine]:
    """Returns the user's lines inside the loader, longest first."""
    work = loader_work(trace)
    of_user = np.array([*map(is_source, work.lines), False])  # the last entry stands for no line
    return _lines(work, of_user[work.line])


def _lines(work: LoaderWork, chosen: Bool) -> list[LoaderLine]:
    """Returns the lines of the chosen entries, longest first."""
    with_line = chosen & (work.line >= 0)
    totals = np.bincount(work.line[with_line], work.self_ns[with_line], len(work.lines)).astype(np.int64) // max(
        work.batches, 1
    )
    order = sorted(np.flatnonzero(totals).tolist(), key=lambda line: (-totals[line], work.lines[line]))
    return [LoaderLine(work.lines[line], int(totals[line])) for line in order[:MOST_LINES]]


def _inside_waits(trace: Trace, marks: Int64, rows: Int64) -> Int64:
    """Returns those of `rows` that lie entirely within a wait, on a thread that waits."""
    events = trace.events
    waits = Intervals.of_events(events, marks)
    rows = rows[is_in(events.thread[rows], distinct(events.thread[marks]))]
    wait = np.searchsorted(waits.start, events.start_ns[rows], side="right") - 1
    return rows[(wait >= 0) & (events.ends(rows) <= waits.end[np.maximum(wait, 0)])] if len(waits.start) else rows[:0]


def _frame_names(trace: Trace, inside: Int64, rows: Int64) -> Int32:
    """Returns the name of each row's innermost frame in a file of the user, or else in any file."""
    of_user, of_file = (
        innermost(trace, np.intersect1d(inside, rows_named(trace, (Kind.PYTHON,), is_shown), assume_unique=True), rows)
        for is_shown in (is_source, is_file)
    )
    return values_at(trace.events.name, np.where(of_user >= 0, of_user, of_file)).astype(np.int32)


# The lines of the dataset on which the workers spend their time are estimated from the recorder's samples.
#
# samples   [a a b a]   [a a a a]   [b c a a]     three bursts; 12 samples: a 75 % of producing a batch, b 17 %, c 8 %
# share a     75 %        100 %       50 %        how the bursts differ shows how far it may be off by chance

#: Minimum number of bursts for which shares are shown. Bursts count and not samples, because the samples of one burst
#: see the same batch.
LEAST_BURSTS = 5
#: Maximum number of lines that are shown.
MOST_RECORDED_LINES = 10


class RecordedLine(msgspec.Struct, frozen=True):
    """The innermost line outside torch and Python's library, as frames name it: "data.py(41): __getitem__".

    share          estimated share of the time in which batches are produced
    error          one standard deviation of share, from the differences between bursts (between clusters, Cochran,
                   Sampling Techniques, 3rd ed., 9A.1)
    ns_per_batch   share of the time of a batch
    """

    line: str
    share: float
    error: float
    ns_per_batch: int


class RecordedLines(msgspec.Struct, frozen=True):
    """The lines of source code in which workers spend their time.

    lines             longest first; if there are none, `why` says why
    samples, bursts   number of samples, and of bursts of samples, that they are based on
    whole             whether they cover the whole recording, because the span has too few samples
    """

    lines: list[RecordedLine]
    samples: int
    bursts: int
    whole: bool
    why: Reason | None


def recorded_lines(
    records: LoaderRecords, loader: int, production_ns: int | None, window: tuple[int, int]
) -> RecordedLines:
    """Returns the lines of the workers of one loader. production_ns: the mean production time of a batch."""
    samples = records.lines
    of_loader = samples.loader == loader
    inside = of_loader & (samples.at_ns >= window[0]) & (samples.at_ns < window[1])
    whole = _bursts(samples, inside)[1] < LEAST_BURSTS
    chosen = of_loader if whole else inside
    bursts, total = _bursts(samples, chosen)[1], int(samples.count[chosen].sum())
    if bursts < LEAST_BURSTS or production_ns is None:
        return RecordedLines([], total, bursts, whole, _why(samples, bursts))
    lines = [
        RecordedLine(
            short_frame(samples.locations[each.location]), each.share, each.error, round(each.share * production_ns)
        )
        for each in line_shares(samples, chosen)[:MOST_RECORDED_LINES]
    ]
    return RecordedLines(lines, total, bursts, whole, None)


class LineShare(msgspec.Struct, frozen=True):
    """The share of one location in the samples of workers that produce batches. error: as in `RecordedLine`."""

    location: int
    share: float
    error: float


def line_shares(samples: LineSamples, chosen: Bool) -> list[LineShare]:
    """Returns the shares in the chosen rows, largest first. The rows must come from several bursts. Locations without a
    name count towards the total."""
    burst, _ = _bursts(samples, chosen)
    location, number_of = samples.location[chosen], samples.count[chosen]
    of_burst = np.bincount(burst, number_of).astype(np.float64)
    shares = []
    for number in distinct(location[location >= 0]).tolist():
        by_burst = np.bincount(burst, number_of * (location == number)).astype(np.float64)
        share = float(by_burst.sum() / of_burst.sum())
        shares.append(LineShare(number, share, _error(by_burst, of_burst, share)))
    return sorted(shares, key=lambda each: (-each.share, samples.locations[each.location]))


def _bursts(samples: LineSamples, chosen: Bool) -> tuple[Int64, int]:
    """Returns the burst of each chosen row, and how many there are."""
    keys = np.stack((samples.worker[chosen], samples.at_ns[chosen]), axis=1)
    distinct_keys, burst = np.unique(keys, axis=0, return_inverse=True)
    return burst.reshape(-1).astype(np.int64), len(distinct_keys)


def _error(part: Float64, whole: Float64, share: float) -> float:
    bursts = len(whole)
    return float(np.sqrt(bursts / (bursts - 1) * ((part - share * whole) ** 2).sum()) / whole.sum())


def _why(samples: LineSamples, bursts: int) -> Reason:
    if samples.late and samples.late >= bursts:
        return Reason("machine_too_busy_to_sample_lines")
    return Reason("too_few_line_samples", {"bursts": count(bursts), "least": count(LEAST_BURSTS)})
