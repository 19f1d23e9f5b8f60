"""The host's named ranges as a tree: how long each is open, and the cost of the work launched inside it.

thread   |-------- forward --------|          path ["forward"]           self = host - what is inside
           |- encoder -| |- head -|           path ["forward", "encoder"], path ["forward", "head"]
device        kkkk  kkk     kkk               launched inside: the union of its time

Marks of steps are left out. Those of torch.optim and of the loader are included under their short names.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np

from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE, PhaseId
from tb_steptime.metrics.phases.threads import autograd_threads, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import among_largest, exact_sums
from tb_steptime.trace.host_ranges import loader_names, short_range, user_ranges
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.nesting import depth_first, innermost, open_at, parent_places, with_inner
from tb_steptime.trace.sources import Words
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, is_in, places_in, values_at

#: Maximum number of paths in the tree. The paths with the most host time are kept, and launches inside the others count
#: for the paths around them.
RANGE_ROWS = 100

#: The name of the wait for the loader in a path.
LOADER_RANGE = "DataLoader"


class RangeRow(msgspec.Struct, frozen=True):
    """A named range of the host, such as a record_function, within the ranges around it; means per step.

    path        the names from the outermost range to this one; a path that occurs in two phases has two rows
    host_ns     time in which the range is open, summed over the threads
    self_ns     the part of it in which no range inside it is open
    device_ns   time in which work that was launched inside it runs (union over streams and devices)
    idle_ns     idle time of the devices that this work ends
    launches    number of device activities launched inside it
    """

    path: list[str]
    phase: PhaseId
    count: float
    host_ns: int
    self_ns: int
    device_ns: int
    idle_ns: int
    launches: float


class _Tree(msgspec.Struct, frozen=True, eq=False):
    """The paths. An outer path comes before its inner ones. label, phase: those of its innermost range.

    rows, path: the ranges as rows of the event table, ascending, and the path of each.
    """

    rows: Int64
    path: Int64
    parent: Int64
    label: list[str]
    phase: list[PhaseId]


class _Sums(msgspec.Struct, frozen=True, eq=False):
    """Sums over the span for each path. The last three cover all work that is launched inside it."""

    begun: Int64
    host_ns: Int64
    self_ns: Int64
    device_ns: Int64
    idle_ns: Int64
    launches: Int64


def range_rows(trace: Trace, idle_of_activity: Int64 | None = None) -> list[RangeRow]:
    """Returns the rows depth first; of siblings those with the most host time come first. idle_of_activity: ns for each
    row of `find_launches`."""
    tree = _tree(trace)
    if not len(tree.rows):
        return []
    begin_counts, host_ns, self_ns = _host_sums(trace, tree)
    # Outer paths are at least as long as inner ones, and come first.
    kept = among_largest(host_ns, host_ns > 0, RANGE_ROWS)
    launched = _launched(trace, tree, _nearest(tree.parent, kept), idle_of_activity)
    sums = _Sums(begin_counts, host_ns, self_ns, *launched)
    return [
        _row(trace, tree, sums, path)
        for path in depth_first(tree.parent, np.argsort(-host_ns, kind="stable"))
        if kept[path]
    ]


def _tree(trace: Trace) -> _Tree:
    rows = np.setdiff1d(trace.events.rows(Kind.USER), step_marks(trace), assume_unique=True)
    around, labels, label = _around(trace, rows), *_labels(trace, rows)
    phase = SITE_PHASE[site_of(trace, rows)].astype(np.int64)
    key = label * len(PHASES) + phase
    path = np.full(len(rows), -1, np.int64)
    parent = [np.empty(0, np.int64)]
    keys = [np.empty(0, np.int64)]
    size = len(labels) * len(PHASES)
    level, path_count = around < 0, 0
    while level.any():
        outer = values_at(path, around[level])
        distinct, place = np.unique((outer + 1) * size + key[level], return_inverse=True)
        path[level] = path_count + place
        parent.append(distinct // size - 1)
        keys.append(distinct % size)
        path_count += len(distinct)
        level = (around >= 0) & level[around]
    of_path = np.concatenate(keys).tolist()
    names = [labels[k // len(PHASES)] for k in of_path]
    phases = [PHASES[k % len(PHASES)] for k in of_path]
    return _Tree(rows, path, np.concatenate(parent), names, phases)


def _around(trace: Trace, rows: Int64) -> Int64:
    """Returns for each range the place in `rows` of the range around it; -1 for none. The training thread waits for the
    autograd engine, so its open range encloses the work of the engine's threads."""
    around = parent_places(trace, rows).astype(np.int64)
    without_range = np.flatnonzero((around < 0) & is_in(trace.events.thread[rows], autograd_threads(trace)))
    waiting = _range_of_waiting(trace, rows, trace.events.start_ns[rows[without_range]])
    around[without_range] = places_in(rows, waiting)
    return around


def _range_of_waiting(trace: Trace, rows: Int64, instants: Int64) -> Int64:
    """Returns the innermost of these ranges that is open on the training thread at each instant; -1 for none."""
    rows_here = rows[is_in(trace.events.thread[rows], training_threads(trace)[:1])]
    return values_at(rows_here, open_at(trace.events.start_ns[rows_here], trace.events.ends(rows_here), instants))


def _labels(trace: Trace, rows: Int64) -> tuple[list[str], Int64]:
    """Returns the distinct labels of ranges, and the label number of each range."""
    names, place = np.unique(trace.events.name[rows], return_inverse=True)
    is_wait, ranges = loader_names(trace), range_names(trace)
    in_tree = [LOADER_RANGE if is_wait[name] else short_range(ranges[name] or "") for name in names.tolist()]
    labels = {word: number for number, word in enumerate(dict.fromkeys(in_tree))}
    return list(labels), np.array([labels[word] for word in in_tree], np.int64)[place.reshape(-1)]


_NUMBER = expression(r"\d+")
#: Maximum number of digits that are read. Longer numbers count nothing, and Python refuses to convert the longest ones.
_DIGITS = 18


@shared
def range_names(trace: Trace) -> Words:
    """Returns the name of a range for each text of the string table. It is the text itself, or one name for ranges that
    count the steps, "iter #" for "iter 12". Ranges with numbers may also be parts of a step, such as layers. So ranges
    count the steps only if their names differ in numbers alone that grow from step to step, each name is in one step,
    and each step has one of them.

    step     |----- 3 ------|----- 4 ------|
    range     [   iter 12  ]  [   iter 13  ]     iter #
    range      [ l0 ][ l1 ]     [ l0 ][ l1 ]     l0, l1
    """
    texts, rows = trace.strings.strings, user_ranges(trace)
    name = trace.events.name[rows].astype(np.int64)
    step = find_steps(trace).holding_on_host(trace.events.start_ns[rows])
    first, last = np.full(len(texts), np.iinfo(np.int64).max), np.full(len(texts), -1)
    np.minimum.at(first, name, step)
    np.maximum.at(last, name, step)
    alike: dict[str, list[int]] = {}
    for number in np.flatnonzero((first == last) & (last >= 0)).tolist():
        counted = _NUMBER.sub("#", texts[number])
        if counted != texts[number]:
            alike.setdefault(counted, []).append(number)
    named, words = np.arange(len(texts), dtype=np.int32), list(texts)
    for counted, numbers in alike.items():
        numbers.sort(key=lambda number: int(first[number]))
        counts = [[int(digits[:_DIGITS]) for digits in _NUMBER.findall(texts[number])] for number in numbers]
        grows = all(before < after for before, after in pairwise(counts))
        if len(numbers) > 1 and grows and (np.diff(first[numbers]) > 0).all():
            named[numbers] = len(words)
            words.append(counted)
    return Words(named, words)


def _host_sums(trace: Trace, tree: _Tree) -> tuple[Int64, Int64, Int64]:
    """Returns three columns by path: the number of ranges that begin in the steps, the time for which they are open
    there, and that time without the ranges inside."""
    size = len(tree.parent)
    start, end = trace.events.start_ns[tree.rows], trace.events.ends(tree.rows)
    windows = find_steps(trace).intervals
    begins = windows.overlap_ns(start, start + 1) > 0
    open_ns = windows.overlap_ns(start, end)
    host_ns = exact_sums(tree.path, open_ns, size)
    inside = tree.parent[tree.path] >= 0
    children_ns = exact_sums(tree.parent[tree.path[inside]], open_ns[inside], size)
    return exact_sums(tree.path, begins.astype(np.int64), size), host_ns, np.maximum(host_ns - children_ns, 0)


def _nearest(parent: Int64, kept: Bool) -> Int64:
    """Returns for each path the path itself if it is kept, otherwise the nearest kept one around it; -1 for none."""
    nearest: list[int] = []
    for path, around in enumerate(parent.tolist()):
        nearest.append(path if kept[path] else nearest[around] if around >= 0 else -1)
    return np.array(nearest, np.int64)


def _launched(trace: Trace, tree: _Tree, nearest: Int64, idle_of_activity: Int64 | None) -> tuple[Int64, Int64, Int64]:
    """Returns the device time, the attributed idle time and the number of activities of the kept paths, including what
    is inside them."""
    launches, size = find_launches(trace), len(tree.parent)
    row = _range_of_call(trace, tree.rows, launches.call)
    inside = np.flatnonzero(row >= 0)
    path = nearest[tree.path[np.searchsorted(tree.rows, row[inside])]]
    inside, path = inside[path >= 0], path[path >= 0]
    order = np.argsort(path, kind="stable")
    inside, path = inside[order], path[order]
    start = trace.events.start_ns[launches.activity[inside]]
    windows = find_steps(trace).intervals
    begins = (windows.overlap_ns(start, start + 1) > 0).astype(np.int64)
    idle = np.zeros(len(inside), np.int64) if idle_of_activity is None else idle_of_activity[inside]
    running = _running(start, trace.events.ends(launches.activity[inside]), path, tree.parent)
    device_ns = np.zeros(size, np.int64)
    for each, intervals in running.items():
        device_ns[each] = (intervals & windows).total_ns
    idle_ns, begin_counts = (with_inner(exact_sums(path, values, size), tree.parent) for values in (idle, begins))
    return device_ns, idle_ns, begin_counts


def _range_of_call(trace: Trace, rows: Int64, call: Int32) -> Int64:
    """Returns the innermost range around each call; if an engine's thread calls outside of any range, the one in which
    the training thread waits for it; -1 for none."""
    row = innermost(trace, rows, call.astype(np.int64))
    without_range = np.flatnonzero((row < 0) & (call >= 0) & is_in(trace.events.thread[call], autograd_threads(trace)))
    row[without_range] = _range_of_waiting(trace, rows, trace.events.start_ns[call[without_range]])
    return row


def _running(start: Int64, end: Int64, path: Int64, parent: Int64) -> dict[int, Intervals]:
    """Returns when the work launched inside each path runs. The rows must be sorted by path."""
    paths, first = np.unique(path, return_index=True)
    bounds = np.append(first, len(path)).tolist()
    running = {
        each: Intervals.union(start[bounds[i] : bounds[i + 1]], end[bounds[i] : bounds[i + 1]])
        for i, each in enumerate(paths.tolist())
    }
    for each in range(len(parent) - 1, -1, -1):
        around = int(parent[each])
        if each in running and around >= 0:
            running[around] = running.get(around, Intervals.empty()) | running[each]
    return running


def _row(trace: Trace, tree: _Tree, sums: _Sums, path: int) -> RangeRow:
    steps = len(find_steps(trace).steps)
    names, around = [tree.label[path]], int(tree.parent[path])
    while around >= 0:
        names.insert(0, tree.label[around])
        around = int(tree.parent[around])

    def mean_ns(total_ns: Int64) -> int:
        return whole_mean(int(total_ns[path]), steps)

    return RangeRow(
        path=names,
        phase=tree.phase[path],
        count=int(sums.begun[path]) / steps,
        host_ns=mean_ns(sums.host_ns),
        self_ns=mean_ns(sums.self_ns),
        device_ns=mean_ns(sums.device_ns),
        idle_ns=mean_ns(sums.idle_ns),
        launches=int(sums.launches[path]) / steps,
    )
